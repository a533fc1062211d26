//! Runs scripts in every mode and on every backend.

use crate::results::Results;
use fuseline::{BackendKind, CompileOptions, Mode, Session, Variables};
use std::fs;
use std::path::Path;

/// All modes, the one that the others are compared with first.
pub(crate) const MODES: &[Mode] = &[Mode::Base, Mode::Fused, Mode::Gen, Mode::GenFuseAll, Mode::GenFuseNoRedundancy];

/// Every backend that this build has.
pub(crate) const BACKENDS: &[BackendKind] =
    if cfg!(feature = "llvm") { &[BackendKind::Interp, BackendKind::Llvm] } else { &[BackendKind::Interp] };

pub(crate) fn session(mode: Mode, backend: BackendKind) -> Session {
    Session::new(CompileOptions { mode, backend, ..CompileOptions::default() }).expect("a session")
}

/// Runs a script on these variables.
///
/// # Errors
/// The message of the script's first mistake or failure.
pub(crate) fn run(session: &Session, name: &str, text: &str, arguments: &[(&str, &str)]) -> Result<Results, String> {
    let script = session.compile_script(name, text, arguments).map_err(|error| error.to_string())?;
    let mut printed = Vec::new();
    let outcome = session.run(&script.for_effects(), Variables::new(), &mut printed);
    let printed = String::from_utf8(printed).expect("scripts print UTF-8");
    outcome.map(|_| Results::of_print(&printed)).map_err(|error| format!("{error}\nafter printing\n{printed}"))
}

/// What a script gives in a mode: what it prints, and the matrices that it writes to the folder `$out`. All backends
/// must give the same bits.
#[track_caller]
pub(crate) fn run_everywhere(mode: Mode, name: &str, text: &str, arguments: &[(&str, &str)]) -> Results {
    let mut first: Option<Results> = None;
    for &backend in BACKENDS {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let out = folder.path().display().to_string();
        let arguments = [arguments, &[("out", out.as_str())]].concat();
        let results = run(&session(mode, backend), name, text, &arguments)
            .unwrap_or_else(|error| panic!("{name} {mode:?} {backend:?}: {error}"))
            .with_files(folder.path());
        match &first {
            Some(first) => assert_eq!(*first, results, "{name} {mode:?}: {backend:?} gives other bits"),
            None => first = Some(results),
        }
    }
    first.expect("there is a backend")
}

/// What a driver of `algorithms/reference` gives in a mode.
#[track_caller]
pub(crate) fn run_driver(mode: Mode, driver: &str) -> Results {
    let path = Path::new("algorithms/reference").join(driver).with_extension("dml");
    let text = fs::read_to_string(&path).expect("the driver can be read");
    run_everywhere(mode, &path.display().to_string(), &text, &[])
}
