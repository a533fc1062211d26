//! Standard error, which may be closed, full, or a pipe that nobody reads: writing to it may fail, but never panics.

use crate::Failure;
use fuseline::io::StreamWriter;
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// How long what nobody asked for waits for room.
const PATIENCE: Duration = Duration::from_millis(100);

/// Writes what was asked for.
///
/// # Errors
/// It cannot be written.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stream = std::io::stderr().lock();
    let written = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
    written.map_err(|error| format!("cannot write to standard error: {error}").into())
}

/// Writes what nobody asked for, if that is possible: an interrupted program must end where nobody reads what it says.
pub(crate) fn tell(text: &str) {
    let _ = StreamWriter::new(std::io::stderr()).within(PATIENCE).write_all(text.as_bytes());
}

/// Whether colours can be seen.
pub(crate) fn shows_colors() -> bool {
    std::io::stderr().is_terminal()
}
