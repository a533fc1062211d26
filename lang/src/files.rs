//! Script files.

use fuseline_allocator::fallible;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Bytes that a script file has at most: what never ends, as some devices, is none.
const LONGEST: u64 = 64 << 20;

/// Bytes that a file is read by at first; then by as many as there are.
const READ_AT_ONCE: usize = 1 << 16;

/// Room that reading to an end asks for beyond it.
const PROBED: usize = 64;

/// The bytes of a script file.
///
/// # Errors
/// It cannot be read, is longer than any script, or than the memory that the system has.
pub fn read_script(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut bytes = Vec::with_capacity(READ_AT_ONCE + PROBED);
    loop {
        let count = (bytes.capacity() - bytes.len() - PROBED) as u64;
        if (&mut file).take(count).read_to_end(&mut bytes)? == 0 {
            return Ok(bytes);
        }
        if bytes.len() as u64 > LONGEST {
            let problem = format!("it is longer than {} MB, which no script is", LONGEST >> 20);
            return Err(io::Error::new(ErrorKind::FileTooLarge, problem));
        }
        fallible(|| bytes.try_reserve(bytes.len() + PROBED + 1))?;
    }
}

/// The text of a script file.
///
/// # Errors
/// It cannot be read, is longer than any script, or is not UTF-8.
pub fn read_script_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read_script(path)?).map_err(|error| io::Error::new(ErrorKind::InvalidData, error.utf8_error()))
}
