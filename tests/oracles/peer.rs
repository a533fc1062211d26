//! SystemDS as an oracle: generated calls of every builtin function.

use crate::compare::{Answer, Value, difference, parse};
use crate::environment::run_python;
use crate::long::is_long;
use crate::templates::{CALLS, DIFFERENCES, NOT_CALLED};
use crate::values::fill;
use fuseline::{BackendKind, CompileOptions, RuntimeValue, ScriptInterface, Session, ir};
use fuseline_ir::builtins;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Seeds for each template.
const SEEDS: u64 = 8;

/// How much cells may differ. Both systems compute in doubles, in different orders; on the small matrices of the calls only
/// the functions of linear algebra lose more than a few digits.
const TOLERANCE: f64 = 1e-9;

/// Holds without the oracle.
#[test]
fn every_builtin_is_called_or_says_why_not() {
    let calls = |name: &str| CALLS.iter().any(|template| template.contains(&format!("{name}(")));
    let says = |name: &str| NOT_CALLED.iter().any(|(names, _)| names.split(' ').any(|other| other == name));
    let names: Vec<&str> = builtins::all().map(|builtin| builtin.name).collect();
    let wrong: Vec<&&str> = names.iter().filter(|name| calls(name) == says(name)).collect();
    assert!(wrong.is_empty(), "neither called nor excused, or both: {wrong:?}");
}

#[test]
fn calls_give_what_systemds_gives() {
    if !is_long() {
        return;
    }
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let scripts = scripts();
    for (name, (_, script)) in &scripts {
        let text = format!("{script}\nwrite(R, $folder + \"/{name}.csv\", format=\"csv\")\n");
        fs::write(folder.path().join(format!("{name}.dml")), text).expect("the folder is ours");
    }
    run_python("run_systemds.py", folder.path());
    let session = session();
    let (mut compared, mut failures) = (0, BTreeMap::new());
    for (name, (template, script)) in &scripts {
        let ours = our_answer(&session, script);
        let theirs = their_answer(folder.path(), name, matches!(ours, Ok(Value::Text(_))));
        compared += usize::from(theirs.is_ok());
        if let Some(difference) = difference(&ours, &theirs, TOLERANCE) {
            failures.entry(*template).or_insert_with(|| format!("{difference}\n{script}"));
        }
    }
    println!("{} calls, {compared} with an answer of SystemDS", scripts.len());
    assert!(scripts.len() >= 2000 && compared * 10 >= scripts.len() * 9, "{compared} of {}", scripts.len());
    let known: Vec<&str> = DIFFERENCES.iter().map(|(template, _)| *template).collect();
    let stale: Vec<&&str> = known.iter().filter(|template| !failures.contains_key(*template)).collect();
    assert!(stale.is_empty(), "these agree by now: {stale:#?}");
    failures.retain(|template, _| !known.contains(template));
    let report: Vec<String> = failures.iter().map(|(template, why)| format!("{template}\n{why}\n")).collect();
    assert!(report.is_empty(), "{} templates differ:\n{}", report.len(), report.join("\n"));
}

/// The scripts by name, each with its template.
fn scripts() -> BTreeMap<String, (&'static str, String)> {
    let instances =
        CALLS.iter().enumerate().flat_map(|(at, template)| (0..SEEDS).map(move |seed| (at, template, seed)));
    let script = |(at, template, seed): (usize, &'static &'static str, u64)| {
        let filled = fill(template, seed * 1000 + at as u64).replace("; ", "\n");
        let has_result = template.contains("R = ");
        let text = if has_result { filled } else { format!("R = {filled}") };
        (format!("{at:03}_{seed}"), (*template, text))
    };
    instances.map(script).collect()
}

pub(crate) fn session() -> Session {
    let options = CompileOptions { backend: BackendKind::Interp, threads: 1, ..CompileOptions::default() };
    Session::new(options).expect("a session")
}

pub(crate) fn our_answer(session: &Session, script: &str) -> Answer {
    let interface = ScriptInterface { outputs: &["R"], ..ScriptInterface::default() };
    let outcome = session
        .prepare_script("<call>", script, &interface)
        .and_then(|mut prepared| prepared.execute(&mut std::io::sink()))
        .map_err(|error| error.to_string())?;
    match &outcome.variables["R"] {
        RuntimeValue::Matrix(block) => Ok(Value::Matrix(block.to_dense().into_owned())),
        other => match (other.as_f64(), other) {
            (Some(number), _) => Ok(Value::number(number)),
            (None, RuntimeValue::Scalar(ir::Value::Str(text))) => Ok(Value::Text(text.clone())),
            (None, other) => Err(format!("a {} is no answer", other.data_type())),
        },
    }
}

/// A text where ours is one, be it a number.
fn their_answer(folder: &Path, name: &str, is_text: bool) -> Answer {
    match fs::read_to_string(folder.join(format!("{name}.csv"))) {
        Ok(text) if is_text => Ok(Value::Text(text)),
        Ok(text) => Ok(parse(&text)),
        Err(_) => Err(fs::read_to_string(folder.join(format!("{name}.error"))).unwrap_or_default()),
    }
}
