//! R as an oracle, where DML follows R.

use crate::compare::{Answer, difference, parse};
use crate::long::is_long;
use crate::peer::{our_answer, session};
use crate::r_templates::{R_CALLS, R_DIFFERENCES};
use crate::values::fill;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Seeds for each template.
const SEEDS: u64 = 8;

/// How much cells may differ, relative to the larger one or to 1: both compute in doubles, in different orders.
const TOLERANCE: f64 = 1e-9;

#[test]
fn calls_give_what_r_gives() {
    if !is_long() {
        return;
    }
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let instances = R_CALLS.iter().enumerate().flat_map(|(at, call)| (0..SEEDS).map(move |seed| (at, call, seed)));
    let mut calls = Vec::new();
    for (at, (values, dml, r), seed) in instances {
        let values = fill(values, seed * 1000 + at as u64).replace("; ", "\n");
        let name = format!("{at:03}_{seed}");
        fs::write(folder.path().join(format!("{name}.R")), format!("{values}\n{r}\n")).expect("the folder is ours");
        let expression = if dml.contains("R = ") { dml.replace("; ", "\n") } else { format!("R = {dml}") };
        calls.push((name, *dml, format!("{values}\n{expression}")));
    }
    run_r(folder.path());
    let session = session();
    let mut failures = BTreeMap::new();
    for (name, dml, script) in &calls {
        let theirs = r_answer(folder.path(), name);
        assert!(theirs.is_ok(), "R has no answer to {dml}: {theirs:?}\n{script}");
        if let Some(difference) = difference(&our_answer(&session, script), &theirs, TOLERANCE) {
            failures.entry(*dml).or_insert_with(|| format!("{difference}\n{script}"));
        }
    }
    println!("{} calls with an answer of R", calls.len());
    let stale: Vec<_> = R_DIFFERENCES.iter().filter(|(dml, _)| !failures.contains_key(dml)).collect();
    assert!(stale.is_empty(), "these agree by now: {stale:#?}");
    failures.retain(|dml, _| R_DIFFERENCES.iter().all(|(known, _)| known != dml));
    let report: Vec<String> = failures.iter().map(|(dml, why)| format!("{dml}\n{why}\n")).collect();
    assert!(report.is_empty(), "{} templates differ:\n{}", report.len(), report.join("\n"));
}

fn run_r(folder: &Path) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracles/drivers/run_r.R");
    let output = Command::new("Rscript").arg(script).arg(folder).output();
    let output = output.expect("Rscript starts: ./x test --long installs R");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn r_answer(folder: &Path, name: &str) -> Answer {
    match fs::read_to_string(folder.join(format!("{name}.csv"))) {
        Ok(text) => Ok(parse(&text)),
        Err(_) => Err(fs::read_to_string(folder.join(format!("{name}.error"))).unwrap_or_default()),
    }
}
