//! Statistical reference data of the NIST, which the package `scipy` brings: certified results of an analysis of variance
//! and of a straight line, and how many digits of ours agree.

use crate::environment::folder;
use crate::long::is_long;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Digits that must agree.
const DIGITS: f64 = 8.0;

/// Data sets of which fewer digits can agree.
const HARD: &[&str] = &["SmLs07.dat", "SmLs08.dat", "SmLs09.dat"];

/// Responses of [`HARD`] have thirteen constant digits before those that differ: as doubles they are known to four.
const HARD_DIGITS: f64 = 2.9;

/// How the certified values of an analysis of variance are headed.
const BETWEEN: &str = "Between";
const WITHIN: &str = "Within";

#[test]
fn variances_have_certified_digits() {
    if !is_long() {
        return;
    }
    let sets = files("nist_anova");
    assert_eq!(sets.len(), 11, "{sets:?}");
    for set in sets {
        let text = fs::read_to_string(&set).expect("the data set is readable");
        let row = |start| certified_row(&text, start);
        let (between, within) = (row(BETWEEN), row(WITHIN));
        let deviation = row("Standard Deviation")[0];
        let share = row("Certified R-Squared")[0];
        let certified = [between[1], within[1], between[3], share, deviation, between[1] + within[1]];
        let name = set.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let least = if HARD.contains(&name.as_str()) { HARD_DIGITS } else { DIGITS };
        check(&name, &run("anova.dml", &text, 60), &certified, least);
    }
}

#[test]
fn a_line_has_certified_digits() {
    if !is_long() {
        return;
    }
    let sets = files("nist_linregress");
    let text = fs::read_to_string(&sets[0]).expect("the data set is readable");
    let row = |start| certified_row(&text, start)[0];
    let certified = [row("B0"), row("B1"), row("Standard Deviation"), row("R-Squared")];
    check("Norris.dat", &run("line.dml", &text, 60), &certified, DIGITS);
}

/// The numbers of the first line that begins so and has some.
fn certified_row(text: &str, start: &str) -> Vec<f64> {
    let mut lines = text.lines().filter_map(|line| line.trim().strip_prefix(start)).map(numbers);
    lines.find(|numbers| !numbers.is_empty()).unwrap_or_else(|| panic!("no certified {start}"))
}

/// Our results for the data behind the first lines of a set.
fn run(script: &str, text: &str, header: usize) -> Vec<f64> {
    let data: String = text
        .lines()
        .skip(header)
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(","))
        .filter(|line| !line.is_empty())
        .map(|line| line + "\n")
        .collect();
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let path = folder.path().join("data.csv");
    fs::write(&path, data).expect("the folder is ours");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracles/drivers/nist").join(script);
    let mut command = Command::new(env!("CARGO_BIN_EXE_fuseline"));
    command.arg("run").arg(script).arg("--nvargs").arg(format!("data={}", path.display()));
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    numbers(&String::from_utf8_lossy(&output.stdout))
}

fn check(name: &str, ours: &[f64], certified: &[f64], least: f64) {
    assert_eq!(ours.len(), certified.len(), "{name}: {ours:?}");
    let digits: Vec<f64> =
        ours.iter().zip(certified).map(|(&ours, &certified)| common_digits(ours, certified)).collect();
    println!("{name}: {digits:.1?}");
    assert!(
        digits.iter().all(|&digits| digits >= least),
        "{name}: {digits:.1?} digits of {ours:?}, not of {certified:?}"
    );
}

fn common_digits(ours: f64, certified: f64) -> f64 {
    if ours == certified { 16.0 } else { -((ours - certified).abs() / certified.abs()).log10() }
}

fn numbers(text: &str) -> Vec<f64> {
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// The files of a folder of reference data, by name.
fn files(name: &str) -> Vec<PathBuf> {
    let entries = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        entries.map(|entry| entry.expect("entries are readable").path()).collect()
    };
    let libraries = entries(&folder().join("lib"));
    let python = libraries.first().expect("the environment has a library");
    let mut files = entries(&python.join("site-packages/scipy/stats/tests/data").join(name));
    files.retain(|path| path.extension().is_some_and(|extension| extension == "dat"));
    files.sort();
    files
}
