//! Errors of readers and writers, each with its place.

use crate::refusal::AllocationFailure;
use crate::run_context::{Abort, Stopped, caught, check_stop};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A file that cannot be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum IoError {
    /// The operating system says no, or compressed data is damaged.
    #[error("cannot {action} {}: {source}", path.display())]
    System {
        /// `open`, `read`, `create` or `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Memory that is refused.
    #[error("cannot {action} {}: that needs {failure}", path.display())]
    Memory {
        /// `read` or `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What was asked for.
        failure: AllocationFailure,
    },
    /// A directory where a file is needed.
    #[error("{} is a directory, not a file", path.display())]
    Directory {
        /// The path.
        path: PathBuf,
    },
    /// Text that is not what the format says.
    #[error("{}:{line}:{column}: {problem}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// 1-based.
        line: u64,
        /// 1-based, in bytes.
        column: u64,
        /// What is wrong.
        problem: String,
    },
    /// Binary data that is not what the format says.
    #[error("{}: byte {offset}: {problem}", path.display())]
    Binary {
        /// The file.
        path: PathBuf,
        /// From the start of the file or, in an archive, of the array.
        offset: u64,
        /// What is wrong.
        problem: String,
    },
    /// A file that contradicts its description, or a description that makes no sense.
    #[error("{}: {problem}", path.display())]
    Description {
        /// The data file or its metadata file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

impl IoError {
    pub(crate) fn system(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        IoError::System { action, path: path.to_owned(), source }
    }

    /// Whether reading ended for a request to stop.
    fn is_stop(&self) -> bool {
        let IoError::System { source, .. } = self else { return false };
        matches!(source.get_ref(), Some(inner) if inner.is::<Stopped>())
    }

    pub(super) fn content(path: &Path, line: u64, problem: Problem) -> Self {
        let column = problem.offset as u64 + 1;
        IoError::Content { path: path.to_owned(), line, column, problem: problem.message }
    }

    pub(super) fn binary(path: &Path, offset: u64, problem: impl Into<String>) -> Self {
        IoError::Binary { path: path.to_owned(), offset, problem: problem.into() }
    }

    pub(crate) fn description(path: &Path, problem: impl Into<String>) -> Self {
        IoError::Description { path: path.to_owned(), problem: problem.into() }
    }
}

/// Reads or writes a file; memory that is refused meanwhile is an error. A request to stop goes on.
pub(super) fn within_memory<T>(
    action: &'static str,
    path: &Path,
    work: impl FnOnce() -> Result<T, IoError>,
) -> Result<T, IoError> {
    let heard = || {
        let result = work();
        check_stop();
        // Another run may have lowered the flag since.
        if matches!(&result, Err(error) if error.is_stop()) {
            resume_unwind(Box::new(Stopped));
        }
        result
    };
    caught(heard).unwrap_or_else(|abort| match abort {
        Abort::Memory(failure) => Err(IoError::Memory { action, path: path.to_owned(), failure }),
        Abort::Stopped => resume_unwind(Box::new(Stopped)),
    })
}

/// What is wrong within a line.
#[derive(Debug)]
pub(super) struct Problem {
    /// Bytes of the line before the place.
    pub(super) offset: usize,
    pub(super) message: String,
}

impl Problem {
    pub(super) fn at(offset: usize, message: impl Into<String>) -> Self {
        Problem { offset, message: message.into() }
    }
}

/// Characters of the data that a message shows at most.
const SHOWN: usize = 40;

/// A piece of data as messages show it: one line, not too long, whatever the bytes are.
pub(super) fn shown(bytes: &[u8]) -> String {
    // More bytes than can be shown only cost time.
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * SHOWN)]);
    let mut shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().count() > SHOWN {
        shown.push('…');
    }
    shown
}
