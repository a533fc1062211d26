//! `fuseline check`.

use crate::arguments::CheckArguments;
use crate::{Failure, run, standard_error};
use fuseline::{BackendKind, CompileOptions, Session};

pub(crate) fn check(arguments: &CheckArguments) -> Result<(), Failure> {
    let session = Session::new(CompileOptions {
        backend: BackendKind::Interp,
        library_folders: arguments.script.library_folders()?,
        ..CompileOptions::default()
    })?;
    let script = run::compile(&session, &arguments.script)?;
    standard_error::print(&script.warnings().render(standard_error::shows_colors()))
}
