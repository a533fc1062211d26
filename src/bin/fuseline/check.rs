//! `fuseline check`.

use crate::arguments::CheckArguments;
use crate::{Failure, run};
use fuseline::{BackendKind, CompileOptions, Session};
use std::io::IsTerminal;

pub(crate) fn check(arguments: &CheckArguments) -> Result<(), Failure> {
    let session = Session::new(CompileOptions {
        backend: BackendKind::Interp,
        library_folders: arguments.script.library_folders()?,
        ..CompileOptions::default()
    })?;
    let script = run::compile(&session, &arguments.script)?;
    eprint!("{}", script.warnings().render(std::io::stderr().is_terminal()));
    Ok(())
}
