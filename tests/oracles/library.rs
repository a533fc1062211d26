//! Algorithms: drivers of a few lines over our script library and over SystemDS' own, beside SystemDS itself.
//!
//! `drivers/library/ours.txt` calls functions that both libraries have, `peer.txt` functions of SystemDS' library alone.
//! Each driver begins with `== name`, follows the statements of `data.dml` and leaves its result in `R`. Where a function
//! draws random numbers, `R` is what does not hang on them.

use crate::compare::{Answer, difference, parse};
use crate::environment::{run_python, run_python_in};
use crate::long::is_long;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const DATA: &str = include_str!("drivers/library/data.dml");
const OURS: &str = include_str!("drivers/library/ours.txt");
const PEER: &str = include_str!("drivers/library/peer.txt");

/// How much results of algorithms may differ, relative to the larger one or to 1: they iterate, and stop by thresholds.
const TOLERANCE: f64 = 1e-6;

/// Drivers whose results over our library are others than SystemDS', with the reason.
const DIFFERENCES_OF_OURS: &[(&str, &str)] =
    &[("alsTopkPredict", "SystemDS 3.4 names the best item K times (ADR 0026)"), ("autoencoder_2layer", AUTOENCODER)];

/// Drivers whose results over SystemDS' library are others in our runtime, with the reason.
const DIFFERENCES_OF_PEER: &[(&str, &str)] = &[
    ("autoencoder_2layer", AUTOENCODER),
    (
        "incSliceLine",
        "a branch that does not run has a range outside of an empty matrix, which is refused before it runs",
    ),
    ("raJoin.sort", "calls `outer` of a column with a matrix of as many rows, of which SystemDS reads the first"),
];

const AUTOENCODER: &str = "SystemDS 3.4 has other values in the hidden layers than its script says, even without a step; \
                           tanh of the products by hand is what ours gives";

/// The statements of a driver, by name.
#[derive(Clone)]
struct Driver {
    name: String,
    script: String,
}

/// Scripts of our library that others call.
const INTERNAL: &[&str] = &["glmBinomial", "glmLikelihood"];

/// Holds without the oracle.
#[test]
fn every_function_of_our_library_has_a_driver() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("algorithms");
    let names = fs::read_dir(folder).expect("the library is a folder").map(|entry| {
        let path = entry.expect("entries are readable").path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        (name, path.extension().is_some_and(|extension| extension == "dml"))
    });
    let missing: Vec<String> = names
        .filter(|(name, is_script)| *is_script && !INTERNAL.contains(&name.as_str()))
        .map(|(name, _)| name)
        .filter(|name| !OURS.contains(&format!("{name}(")))
        .collect();
    assert!(missing.is_empty(), "no driver calls {missing:?}");
}

#[test]
fn drivers_give_what_systemds_gives() {
    if !is_long() {
        return;
    }
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let library = folder.path().join("library");
    run_python("extract_library.py", &library);
    let theirs = folder.path().join("theirs");
    let all = [drivers(OURS), drivers(PEER)].concat();
    write_drivers(&theirs, &all);
    run_python_in(&library, "run_systemds.py", &theirs);

    let libraries = ["scripts/builtin", "scripts", ""].map(|path| library.join(path));
    let failures = [
        compare("ours", &drivers(OURS), &theirs, &[], DIFFERENCES_OF_OURS),
        compare("SystemDS'", &all, &theirs, &libraries, DIFFERENCES_OF_PEER),
    ];
    let failures = failures.concat();
    assert!(failures.is_empty(), "{} runs differ:\n{}", failures.len(), failures.join("\n"));
}

/// What differs over one library, and what is said to differ but does not.
fn compare(
    library: &str,
    drivers: &[Driver],
    theirs: &Path,
    folders: &[PathBuf],
    known: &[(&str, &str)],
) -> Vec<String> {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    write_drivers(folder.path(), drivers);
    let mut known: BTreeSet<&str> = known.iter().map(|(name, _)| *name).collect();
    let (mut failures, mut agreeing) = (Vec::new(), 0);
    for Driver { name, .. } in drivers {
        let ours = run(folder.path(), name, folders);
        let theirs =
            answer(theirs, name).unwrap_or_else(|message| panic!("{name} gives nothing in SystemDS: {message}"));
        match difference(&ours, &Ok(theirs), TOLERANCE) {
            None => agreeing += 1,
            Some(_) if known.remove(name.as_str()) => {}
            Some(difference) => failures.push(format!("{name} over {library} library: {difference}")),
        }
    }
    println!("{agreeing} of {} drivers over {library} library agree", drivers.len());
    failures.extend(known.iter().map(|name| format!("{name} over {library} library agrees by now")));
    failures
}

fn run(folder: &Path, name: &str, libraries: &[PathBuf]) -> Answer {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fuseline"));
    command.arg("run").arg(folder.join(format!("{name}.dml")));
    for library in libraries {
        command.arg("--lib").arg(library);
    }
    command.arg("--nvargs").arg(format!("folder={}", folder.display()));
    let output = command.output().expect("the program starts");
    let messages = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { answer(folder, name) } else { Err(messages.into_owned()) }
}

fn answer(folder: &Path, name: &str) -> Answer {
    let path = folder.join(format!("{name}.csv"));
    let missing = |error| format!("{}: {error}", path.display());
    fs::read_to_string(&path).map(|text| parse(&text)).map_err(missing)
}

fn write_drivers(folder: &Path, drivers: &[Driver]) {
    fs::create_dir_all(folder).expect("the folder is ours");
    for Driver { name, script } in drivers {
        let text = format!("{script}write(R, $folder + \"/{name}.csv\", format=\"csv\")\n");
        fs::write(folder.join(format!("{name}.dml")), text).expect("the folder is ours");
    }
}

/// The drivers of a file. `source` stands at the top of a script.
fn drivers(text: &str) -> Vec<Driver> {
    let driver = |text: &str| {
        let (name, statements) = text.split_once('\n').expect("a driver has a name and statements");
        let lines = || statements.lines().map(|line| format!("{line}\n"));
        let is_source = |line: &String| line.starts_with("source(");
        let sources: String = lines().filter(is_source).collect();
        let others: String = lines().filter(|line| !is_source(line)).collect();
        Driver { name: name.to_owned(), script: format!("{sources}{DATA}{others}") }
    };
    // A comparison stands between spaces, a name at the start of a line.
    format!("\n{text}").split("\n== ").skip(1).map(driver).collect()
}
