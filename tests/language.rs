//! The language, seen from outside: a script per feature with what it prints, and wrong scripts with their messages.
//!
//! `language/features` holds scripts that print the same without fusion and with it; `language/wrong` scripts that
//! are refused, or fail while they run. Arguments of a script stand in its first line (`# test: prints n=3`);
//! `language/library` is a folder of library functions for all of them.

#[path = "support/filetest.rs"]
mod filetest;

use filetest::{Input, Subtests, run_folder};
use fuseline::{BackendKind, CompileOptions, Mode, Session, Variables};
use std::path::Path;

/// Runs a script; returns what it printed, and the message of its error.
fn run(input: &Input<'_>, mode: Mode) -> Result<(String, Option<String>), String> {
    let options = CompileOptions {
        mode,
        backend: BackendKind::Interp,
        threads: 1,
        library_folders: vec!["tests/language/library".into()],
        ..CompileOptions::default()
    };
    let session = Session::new(options).map_err(|error| error.to_string())?;
    let arguments: Vec<(&str, &str)> = input.options.iter().map(|(name, value)| (*name, *value)).collect();
    let mut printed = Vec::new();
    let outcome = session
        .compile_script(&input.path.display().to_string(), input.text, &arguments)
        .and_then(|script| session.run(&script.for_effects(), Variables::new(), &mut printed));
    let printed = String::from_utf8(printed).map_err(|error| error.to_string())?;
    Ok((printed, outcome.err().map(|error| error.render(false))))
}

/// What a script prints, in every mode.
fn prints(input: &Input<'_>) -> Result<String, String> {
    let base = run(input, Mode::Base)?;
    let fused = run(input, Mode::Gen)?;
    if base != fused {
        return Err(format!("without fusion: {base:?}\nwith fusion: {fused:?}"));
    }
    match base {
        (printed, None) => Ok(printed),
        (printed, Some(message)) => Err(format!("after printing {printed:?}: {message}")),
    }
}

/// The messages of a script that is wrong.
fn fails(input: &Input<'_>) -> Result<String, String> {
    match run(input, Mode::Gen)? {
        (printed, Some(message)) => Ok(printed + &message),
        (printed, None) => Err(format!("the script ran, and printed {printed:?}")),
    }
}

const SUBTESTS: &Subtests = &[("prints", prints), ("fails", fails)];

fn check(folder: &str, least: usize) {
    let bless = std::env::var_os("FUSELINE_BLESS").is_some_and(|value| value == "1");
    match run_folder(&Path::new("tests/language").join(folder), SUBTESTS, bless) {
        Ok(count) => assert!(count >= least, "{folder} has {count} scripts"),
        Err(report) => panic!("{report}"),
    }
}

#[test]
fn each_feature_does_what_its_example_shows() {
    check("features", 30);
}

#[test]
fn each_mistake_has_its_message() {
    check("wrong", 40);
}
