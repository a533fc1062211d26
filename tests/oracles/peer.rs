//! SystemDS as an oracle: generated calls of every builtin function.

use crate::compare::{Answer, Value, difference, parse};
use crate::environment::run_python;
use crate::long::is_long;
use crate::templates::{CALLS, DIFFERENCES, Excuse, NOT_CALLED};
use crate::values::fill;
use fuseline::{BackendKind, CompileOptions, RuntimeValue, ScriptInterface, Session, ir};
use fuseline_ir::builtins;
use std::collections::{BTreeMap, BTreeSet};
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
    let calls = calls();
    for (name, call) in &calls {
        let text = format!("{}\nwrite(R, $folder + \"/{name}.csv\", format=\"csv\")\n", call.script);
        fs::write(folder.path().join(format!("{name}.dml")), text).expect("the folder is ours");
    }
    run_python("run_systemds.py", folder.path());
    let session = session();
    let (mut compared, mut differing, mut failures) = (0, BTreeSet::new(), BTreeMap::new());
    for (name, call) in &calls {
        let ours = our_answer(&session, &call.script);
        let theirs = their_answer(folder.path(), name, matches!(ours, Ok(Value::Text(_))));
        compared += usize::from(theirs.is_ok());
        let Some(difference) = difference(&ours, &theirs, TOLERANCE) else { continue };
        differing.insert(call.template);
        if !call.is_excused(&session, &theirs) {
            failures.entry(call.template).or_insert_with(|| format!("{difference}\n{}", call.script));
        }
    }
    println!("{} calls, {compared} with an answer of SystemDS", calls.len());
    assert!(calls.len() >= 2000 && compared * 10 >= calls.len() * 9, "{compared} of {}", calls.len());
    let mut known = DIFFERENCES.iter().map(|known| known.template);
    let stale = known.find(|template| !differing.contains(template));
    assert_eq!(stale, None, "the systems agree by now");
    let report: Vec<String> = failures.iter().map(|(template, why)| format!("{template}\n{why}\n")).collect();
    assert!(report.is_empty(), "{} templates differ:\n{}", report.len(), report.join("\n"));
}

/// A template with its holes filled.
struct Call {
    template: &'static str,
    script: String,
    /// What may be answered differently, with the same values.
    excuse: Option<Excuse<String>>,
}

impl Call {
    /// Whether it is known that SystemDS answers this.
    fn is_excused(&self, session: &Session, theirs: &Answer) -> bool {
        match &self.excuse {
            None => false,
            Some(Excuse::Gives(script)) => difference(&our_answer(session, script), theirs, TOLERANCE).is_none(),
            Some(Excuse::Where(script)) => our_answer(session, script) == Ok(Value::number(1.0)),
        }
    }
}

/// The calls by name.
fn calls() -> BTreeMap<String, Call> {
    let instances =
        CALLS.iter().enumerate().flat_map(|(at, template)| (0..SEEDS).map(move |seed| (at, template, seed)));
    let call = |(at, &template, seed): (usize, &'static &'static str, u64)| {
        let script = |template: &str| {
            let filled = fill(template, seed * 1000 + at as u64).replace("; ", "\n");
            if template.contains("R = ") { filled } else { format!("R = {filled}") }
        };
        let known = DIFFERENCES.iter().find(|known| known.template == template);
        let excuse = known.map(|known| known.excuse.filled(script));
        (format!("{at:03}_{seed}"), Call { template, script: script(template), excuse })
    };
    instances.map(call).collect()
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
