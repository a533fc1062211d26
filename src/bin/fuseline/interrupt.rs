//! Ctrl-C.

use fuseline::Session;

/// The exit status of a program that a signal ended.
pub(crate) const INTERRUPTED: u8 = 130;

/// Lets Ctrl-C, and the signal to terminate, end the session's run at its next block of work, so that nothing unfinished
/// stays behind. A second one ends the program at once.
pub(crate) fn end_on_signal(session: &Session) -> Result<(), String> {
    let interrupter = session.interrupter();
    let mut is_second = false;
    let handler = move || {
        if std::mem::replace(&mut is_second, true) {
            std::process::exit(i32::from(INTERRUPTED));
        }
        interrupter.interrupt();
    };
    ctrlc::set_handler(handler).map_err(|error| format!("cannot handle signals: {error}"))
}
