//! What pages and tables say of where they come from: the command, the state of the sources, and the machine.

use crate::host;
use std::process::Command;

/// The sentence that says how a page or a table was made.
pub(crate) fn made_by(command: &str, sources: &str) -> String {
    format!("Made by `{command}` (`{sources}`){} on {}.", commit(), host::description())
}

/// The commit of the sources as part of a sentence; nothing where git does not know it.
fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(env!("CARGO_MANIFEST_DIR")).args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else { return String::new() };
    // Pages are no part of what makes them.
    let changed = git(&["status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs"]);
    let note = if changed.is_none_or(|files| files.is_empty()) { "" } else { " with changes" };
    format!(" at commit {commit}{note}")
}
