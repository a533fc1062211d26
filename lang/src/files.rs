//! Script files.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Bytes that a script file has at most: what never ends, as some devices, is none.
const LONGEST: u64 = 64 << 20;

/// The bytes of a script file.
///
/// # Errors
/// It cannot be read, or is longer than any script.
pub fn read_script(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LONGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST {
        let problem = format!("it is longer than {} MB, which no script is", LONGEST >> 20);
        return Err(io::Error::new(ErrorKind::FileTooLarge, problem));
    }
    Ok(bytes)
}

/// The text of a script file.
///
/// # Errors
/// It cannot be read, is longer than any script, or is not UTF-8.
pub fn read_script_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read_script(path)?).map_err(|error| io::Error::new(ErrorKind::InvalidData, error.utf8_error()))
}
