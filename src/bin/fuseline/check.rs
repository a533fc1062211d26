//! `fuseline check`.

use crate::arguments::CheckArguments;
use crate::{Failure, run};
use fuseline::{BackendKind, CompileOptions, Session};

pub(crate) fn check(arguments: &CheckArguments) -> Result<(), Failure> {
    let session = Session::new(CompileOptions {
        backend: BackendKind::Interp,
        library_folders: arguments.script.library_folders()?,
        ..CompileOptions::default()
    })?;
    run::compile(&session, &arguments.script).map(|_| ())
}
