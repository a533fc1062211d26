//! Ctrl-C.

use fuseline::Session;

/// The exit status of a program that a signal ended.
pub(crate) const INTERRUPTED: u8 = 130;

/// Lets Ctrl-C, and the signal to terminate, end the session's run before its next operator, so that nothing unfinished
/// stays behind.
pub(crate) fn end_on_signal(session: &Session) -> Result<(), String> {
    let interrupter = session.interrupter();
    ctrlc::set_handler(move || interrupter.interrupt()).map_err(|error| format!("cannot handle signals: {error}"))
}
