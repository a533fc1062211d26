//! Libraries of functions written in DML, one file per function.

use fuseline_ir::program::Source;
use std::io;
use std::path::PathBuf;

/// Finds the files of library functions.
///
/// The file of a function `name` defines its entry as `m_name`, `s_name`, `f_name` or `l_name`, for a first argument
/// that is a matrix, scalar, frame or list, or as `name`. Its other functions are its own; what it calls beyond them is
/// looked up like what a script calls.
pub trait Library {
    /// The file of this function, when there is one.
    ///
    /// # Errors
    /// The file is there, but cannot be read.
    fn find(&self, function: &str) -> io::Result<Option<Source>>;

    /// The folders that sourced files are looked for in, too.
    fn folders(&self) -> &[PathBuf] {
        &[]
    }

    /// The functions that there are, to suggest one for a misspelt name.
    fn names(&self) -> Vec<String>;
}

/// A library without functions.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLibrary;

impl Library for NoLibrary {
    fn find(&self, _function: &str) -> io::Result<Option<Source>> {
        Ok(None)
    }

    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}
