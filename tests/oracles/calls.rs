//! Calls of the functions of our script library beside SystemDS': those of `tests/algorithms/calls.txt`, on data that seeds
//! move, with each parameter at its usual value and off its default.

use crate::compare::{Answer, Value, difference, parse};
use crate::environment::{run_python, run_python_in};
use crate::long::is_long;
use fuseline::Dense;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

const CALLS: &str = include_str!("../algorithms/calls.txt");
const SIGNATURES: &str = include_str!("../algorithms/signatures.txt");

/// Data sets of a call; the values of its trigonometric functions move with the number.
const SEEDS: usize = 4;

/// How much results may differ, relative to the larger one or to 1: they iterate, and stop by thresholds.
const TOLERANCE: f64 = 1e-6;

/// Functions that are called by drivers alone, with the reason.
const NOT_COMPARED: &[(&str, &str)] = &[
    ("alsCG kmeans pnmf pageRank", "begin at random numbers"),
    ("alsTopkPredict", "SystemDS 3.4 names the best item K times (ADR 0026)"),
    ("autoencoder_2layer", "SystemDS 3.4 has other values in the hidden layers than its script says (ADR 0026)"),
    ("glm multiLogReg", "these calls end by their limits before they converge"),
    (
        "imputeByMean imputeByMedian imputeByMode",
        "categories of these calls are no codes from 1 on, which SystemDS expects",
    ),
];

/// Calls to which the systems answer differently, by function and what is off its default, with the reason.
const DIFFERENCES: &[(&str, &str)] = &[
    ("glmPredict intercept=TRUE", "as many coefficients as features are refused here"),
    ("lmPredict icpt=1", "as many coefficients as features are refused here"),
    (
        "pca center=FALSE",
        "SystemDS 3.4 leaves the means in the covariance; over our runtime its script gives what ours does",
    ),
];

/// A call, as a script that leaves its results in variables.
struct Call {
    function: &'static str,
    /// What is off its default.
    off: &'static str,
    script: String,
    /// The variables of results, and whether each is a matrix.
    results: Vec<(String, bool)>,
}

impl Call {
    /// The script with statements that write its results.
    fn text(&self, name: &str) -> String {
        let write = |(result, is_matrix): &(String, bool)| {
            let value = if *is_matrix { result.clone() } else { format!("matrix({result}, rows=1, cols=1)") };
            format!("write({value}, $folder + \"/{name}.{result}.csv\", format=\"csv\")\n")
        };
        format!("{}{}", self.script, self.results.iter().map(write).collect::<String>())
    }

    /// The function and what is off its default, which is how `DIFFERENCES` names a call.
    fn shown(&self) -> String {
        format!("{} {}", self.function, self.off)
    }
}

#[test]
fn calls_of_our_library_give_what_systemds_gives() {
    if !is_long() {
        return;
    }
    let calls = calls();
    let folders = tempfile::tempdir().expect("there is room for a folder");
    let [library, theirs, ours] = ["library", "theirs", "ours"].map(|name| folders.path().join(name));
    for folder in [&theirs, &ours] {
        fs::create_dir_all(folder).expect("the folder is ours");
        for (name, call) in &calls {
            fs::write(folder.join(format!("{name}.dml")), call.text(name)).expect("the folder is ours");
        }
    }
    run_python("extract_library.py", &library);
    run_python_in(&library, "run_systemds.py", &theirs);
    let mut known: BTreeSet<&str> = DIFFERENCES.iter().map(|(call, _)| *call).collect();
    let (mut compared, mut failures, mut expected) = (0, Vec::new(), BTreeSet::new());
    for (name, call) in &calls {
        let message = run(&ours, name);
        let answers = call.results.iter().filter_map(|(result, _)| {
            let theirs = answer(&theirs, name, result).ok()?;
            let ours = answer(&ours, name, result).map_err(|_| message.clone());
            Some(difference(&ours.map(unsigned(call)), &Ok(unsigned(call)(theirs)), TOLERANCE))
        });
        let answers: Vec<Option<String>> = answers.collect();
        compared += usize::from(!answers.is_empty());
        let Some(difference) = answers.into_iter().flatten().next() else { continue };
        match DIFFERENCES.iter().find(|(known, _)| *known == call.shown()) {
            Some((known, _)) => _ = expected.insert(*known),
            None => failures.push(format!("{name}, {}: {difference}\n{}", call.shown(), call.script)),
        }
    }
    println!("{} calls of our library, {compared} with an answer of SystemDS", calls.len());
    known.retain(|call| !expected.contains(call));
    assert!(known.is_empty(), "these agree by now: {known:?}");
    assert!(compared >= 150 && compared * 10 >= calls.len() * 8, "{compared} of {}", calls.len());
    assert!(failures.is_empty(), "{} calls differ:\n{}", failures.len(), failures.join("\n"));
}

/// Principal components have no sign of their own.
fn unsigned(call: &Call) -> impl Fn(Value) -> Value {
    let has_signs = call.function != "pca";
    move |value| match value {
        Value::Matrix(matrix) if !has_signs => {
            let cells = matrix.values().iter().map(|cell| cell.abs()).collect();
            Value::Matrix(Dense::from_vec(matrix.rows(), matrix.cols(), cells))
        }
        other => other,
    }
}

/// Runs a script with ours; what it says where it fails.
fn run(folder: &Path, name: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fuseline"));
    command.arg("run").arg(folder.join(format!("{name}.dml"))).args(["--backend", "interp", "--threads", "1"]);
    command.arg("--nvargs").arg(format!("folder={}", folder.display()));
    let output = command.output().expect("the program starts");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn answer(folder: &Path, name: &str, result: &str) -> Answer {
    let text = fs::read_to_string(folder.join(format!("{name}.{result}.csv")));
    text.map(|text| parse(&text)).map_err(|error| error.to_string())
}

/// The calls that are compared, by names for files.
fn calls() -> BTreeMap<String, Call> {
    let is_compared =
        |function: &str| !NOT_COMPARED.iter().any(|(names, _)| names.split(' ').any(|name| name == function));
    let paragraphs = CALLS.split("\n\n").map(|paragraph| paragraph.trim().split_once('\n').expect("a name and lines"));
    paragraphs.filter(|(function, _)| is_compared(function)).flat_map(|(function, lines)| of(function, lines)).collect()
}

fn of(function: &'static str, lines: &'static str) -> Vec<(String, Call)> {
    let starting = |start: &'static str| lines.lines().filter_map(move |line| line.strip_prefix(start));
    let base = starting("call ").next().expect("a call");
    let is_setup = |line: &&str| !["call ", "off ", "idle "].iter().any(|start| line.starts_with(start));
    let setup: String = lines.lines().filter(is_setup).map(|line| format!("{line}\n")).collect();
    let results = results(function);
    let names: Vec<&str> = results.iter().map(|(name, _)| &**name).collect();
    let mut found = Vec::new();
    for (number, off) in std::iter::once("").chain(starting("off ")).enumerate() {
        let (off, with) = off.split_once(" with ").unwrap_or((off, ""));
        let arguments = replaced(replaced(arguments(base), with), off);
        let call = format!("[{}] = {function}({})\n", names.join(", "), arguments.join(", "));
        let script = setup.clone() + &call;
        let moved = |seed: usize| {
            let script = ["sin", "cos"].iter().fold(script.clone(), |text, name| {
                text.replace(&format!("{name}(seq("), &format!("{name}({seed} + seq("))
            });
            Call { function, off, script, results: results.clone() }
        };
        // Data without such functions stay.
        let seeds = if moved(0).script == moved(1).script { 1 } else { SEEDS };
        found.extend((0..seeds).map(|seed| (format!("{function}_{number}_{seed}"), moved(seed))));
    }
    found
}

/// The results that a signature declares.
fn results(function: &str) -> Vec<(String, bool)> {
    let is_its = |line: &&str| line.strip_prefix(function).is_some_and(|rest| rest.starts_with('('));
    let (_, declared) = SIGNATURES.lines().find(is_its).and_then(|line| line.rsplit_once("-> ")).expect("a signature");
    let result = |(number, part): (usize, &str)| (format!("result_{}", number + 1), part.trim().starts_with("Matrix"));
    declared.split(',').enumerate().map(result).collect()
}

/// The arguments of a call, as `name=value`: parts between commas outside of brackets and texts.
fn arguments(text: &str) -> Vec<String> {
    let (mut depth, mut is_text, mut parts) = (0, false, vec![String::new()]);
    for letter in text.chars() {
        match letter {
            '"' => is_text = !is_text,
            '(' | '[' if !is_text => depth += 1,
            ')' | ']' if !is_text => depth -= 1,
            _ => {}
        }
        match parts.last_mut() {
            Some(part) if letter != ',' || depth > 0 || is_text => part.push(letter),
            _ => parts.push(String::new()),
        }
    }
    parts.iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// The arguments with some replaced or added.
fn replaced(mut known: Vec<String>, others: &str) -> Vec<String> {
    for other in arguments(others) {
        let name = |argument: &str| argument.split('=').next().map(|name| name.trim().to_owned());
        known.retain(|argument| name(argument) != name(&other));
        known.push(other);
    }
    known
}
