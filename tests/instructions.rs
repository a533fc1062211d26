//! The instructions that the compiler's stages take are those of `tests/instructions/counts.txt`, within 10 %: a stage
//! that takes more fails. `FUSELINE_BLESS=1` writes the file anew.
//!
//! `./x test` counts what takes callgrind half a minute, `./x test --long` all: code generation, and blocks of many
//! operators.
//!
//! Callgrind counts one stage after the other, in a run of this program under Valgrind. The counts are those of the `dev`
//! profile without `CARGO_INCREMENTAL`, in which continuous integration runs, and of the pinned compiler: an incremental
//! build inlines other functions, and may differ by a quarter. The processor hardly matters: Valgrind hides AVX-512, plans
//! are made for the default machine, code for x86-64-v3. Seeds, addresses and threads change less than the tolerance. What
//! LLVM does differs between its versions, and is counted with LLVM 22 alone.
#![cfg(all(target_os = "linux", target_arch = "x86_64", feature = "llvm"))]

#[path = "../benches/compile/cases.rs"]
mod cases;
#[path = "support/long.rs"]
mod long;
#[path = "../benches/compile/stages.rs"]
mod stages;
#[path = "../benches/support/workloads.rs"]
mod workloads;

use cases::{Case, FAMILIES};
use fuseline::ir::hop::{self, HopDag};
use stages::{Runner, Stage};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};
use workloads::WORKLOADS;

/// The counts that are checked in.
const COUNTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/instructions/counts.txt");

/// Command that accepts the counts of this machine.
const BLESS_COMMAND: &str = "CARGO_INCREMENTAL=0 FUSELINE_BLESS=1 cargo test --workspace --test instructions";

/// The part of its instructions by which a stage may differ: a tenth; a quarter in builds that inline other functions than
/// that of the counts that are checked in.
fn tolerance() -> u64 {
    if option_env!("CARGO_INCREMENTAL") == Some("0") { 10 } else { 4 }
}

/// The variable that names the folder of the cases to the run under Valgrind.
const FOLDER: &str = "FUSELINE_COUNTED_CASES";

/// The folder's file with the names of the stages that ran, a line each.
const STAGES: &str = "stages.txt";

/// Instructions by case and stage.
type Counts = BTreeMap<String, u64>;

#[test]
fn no_stage_takes_more_instructions() {
    if let Some(folder) = env::var_os(FOLDER) {
        return run_stages(Path::new(&folder));
    }
    if !cfg!(debug_assertions) {
        println!("left out: the counts are those of the dev profile");
        return;
    }
    if !has_valgrind() {
        assert!(!long::is_long(), "Valgrind is missing: ./x test --long installs it");
        println!("left out: there is no Valgrind here");
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let cases = cases();
    write_cases(folder.path(), &cases);
    let counts = counted(folder.path());
    let checked_in = parsed(&fs::read_to_string(COUNTS).unwrap_or_default());
    let (expected, others): (Counts, Counts) =
        checked_in.into_iter().partition(|(stage, _)| is_expected(stage, &cases));
    if env::var_os("FUSELINE_BLESS").is_some() {
        let others = if long::is_long() && cfg!(feature = "llvm22") { Counts::new() } else { others };
        fs::write(COUNTS, text_of(&others.into_iter().chain(counts).collect())).expect("the counts can be written");
        return;
    }
    let differences = differences(&expected, &counts, tolerance());
    differences.less.iter().for_each(|less| println!("{less}; to check that in: {BLESS_COMMAND}"));
    assert!(differences.more.is_empty(), "{}\nto accept: {BLESS_COMMAND}", differences.more.join("\n"));
}

/// What is counted: all algorithms, and of what grows the smallest of each kind, in the short form without blocks of many
/// operators.
fn cases() -> Vec<Case> {
    let algorithms = WORKLOADS.iter().map(|workload| cases::algorithm(workload.name));
    let families = FAMILIES.iter().filter(|family| family.is_checked_only || long::is_long());
    algorithms.chain(families.map(|family| family.case(family.sizes[0]))).collect()
}

/// Whether a stage is counted that no other one builds on.
fn is_counted(case: &str, stage: Stage) -> bool {
    match stage {
        // Its parts are counted.
        Stage::Pipeline => false,
        Stage::Generate => cfg!(feature = "llvm22") && long::is_long(),
        // Its search takes ten times what those of the others do together.
        Stage::Optimize => case != "autoencoder_2layer" || long::is_long(),
        _ => true,
    }
}

/// Whether the run is to count what is checked in: a stage of one of its cases.
fn is_expected(stage: &str, cases: &[Case]) -> bool {
    let (case, stage) = stage.split_once(' ').expect("a case and a stage");
    let optional = [Stage::Optimize, Stage::Generate].into_iter().find(|optional| optional.name() == stage);
    cases.iter().any(|known| known.name == case) && optional.is_none_or(|stage| is_counted(case, stage))
}

/// What the cases are, as comments.
fn descriptions() -> String {
    let algorithms = WORKLOADS.iter().map(|workload| format!("# {}: {}\n", workload.name, workload.configuration));
    let families = FAMILIES.iter().map(|family| {
        let size = family.sizes[0];
        format!("# {}: {size} {}\n", family.case_name(size), family.meaning)
    });
    algorithms.chain(families).collect()
}

/// Writes cases down for the run under Valgrind: running the algorithms to see their blocks would take it too long.
fn write_cases(folder: &Path, cases: &[Case]) {
    for (number, case) in cases.iter().enumerate() {
        let blocks: Vec<String> = case.blocks.iter().map(|dag| dag.display_named("block").to_string()).collect();
        let files = [("name", &case.name), ("dml", &case.text), ("hop", &blocks.join("\n"))];
        for (extension, text) in files {
            fs::write(folder.join(format!("{number}.{extension}")), text).expect("the folder is ours");
        }
    }
}

/// Reads the case of a number; none where there are no more.
fn read_case(folder: &Path, number: usize) -> Option<Case> {
    let read = |extension: &str| fs::read_to_string(folder.join(format!("{number}.{extension}")));
    let (name, text, blocks) = (read("name").ok()?, read("dml").expect("written"), read("hop").expect("written"));
    let blocks = if blocks.is_empty() { Vec::new() } else { hop::parse(&blocks).expect("printed by us") };
    Some(Case { name, text, blocks: blocks.into_iter().map(|(_, dag)| dag).collect::<Vec<HopDag>>() })
}

/// Runs each stage of a case once.
struct Once<'a> {
    case: &'a str,
    stages: &'a mut String,
}

impl Runner for Once<'_> {
    fn run<T>(&mut self, stage: Stage, work: impl Fn() -> T) -> T {
        let _ = writeln!(self.stages, "{} {}", self.case, stage.name());
        let mut result = None;
        counted_stage(&mut || result = Some(work()));
        result.expect("the work was done")
    }

    fn wants(&self, stage: Stage) -> bool {
        is_counted(self.case, stage)
    }
}

/// Does what callgrind counts: from its call to its return. No other function may have its name as a part of its own.
#[inline(never)]
fn counted_stage(work: &mut dyn FnMut()) {
    work();
    // Else the call would be a jump, from which nothing returns here.
    black_box(());
}

/// The run under Valgrind.
fn run_stages(folder: &Path) {
    let mut stages = String::new();
    for case in (0..).map_while(|number| read_case(folder, number)) {
        stages::compile(&case.text, &case.blocks, &mut Once { case: &case.name, stages: &mut stages });
    }
    fs::write(folder.join(STAGES), stages).expect("the folder is ours");
}

/// Runs the cases of a folder under Valgrind.
fn counted(folder: &Path) -> Counts {
    let profile = folder.join("profile");
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--quiet", "--zero-before=*::counted_stage", "--dump-after=*::counted_stage"])
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(env::current_exe().expect("this program has a path"))
        .args(["--exact", "no_stage_takes_more_instructions", "--test-threads=1"])
        .env(FOLDER, folder);
    let output = command.output().expect("Valgrind starts");
    assert!(output.status.success(), "under Valgrind: {output:?}");
    let stages = fs::read_to_string(folder.join(STAGES)).expect("the run wrote which stages ran");
    let count = |(number, stage): (usize, &str)| {
        // Parts are numbered from 1, in the order in which they end.
        let part = profile.with_extension((number + 1).to_string());
        let text = fs::read_to_string(&part).unwrap_or_else(|error| panic!("{}: {error}", part.display()));
        (stage.to_owned(), total(&text))
    };
    stages.lines().enumerate().map(count).collect()
}

/// The instructions of a part of callgrind's output.
fn total(part: &str) -> u64 {
    let total = part.lines().find_map(|line| line.strip_prefix("totals:"));
    total.and_then(|total| total.trim().parse().ok()).expect("callgrind writes a total")
}

fn text_of(counts: &Counts) -> String {
    let lines: String = counts.iter().map(|(stage, count)| format!("{stage} {count}\n")).collect();
    format!(
        "# Instructions of the compiler's stages, as tests/instructions.rs counts them.\n{}\n{lines}",
        descriptions()
    )
}

fn parsed(text: &str) -> Counts {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let count = |line: &str| {
        let (stage, count) = line.rsplit_once(' ').expect("a stage and its count");
        (stage.to_owned(), count.parse().expect("a number"))
    };
    lines.map(count).collect()
}

/// What differs by more than the tolerance, as sentences.
#[derive(Debug, Default, PartialEq)]
struct Differences {
    /// Stages that take more, or are not the same ones.
    more: Vec<String>,
    less: Vec<String>,
}

/// What differs by more than one part of so many.
fn differences(expected: &Counts, actual: &Counts, tolerance: u64) -> Differences {
    let mut differences = Differences::default();
    let gone = expected.keys().filter(|stage| !actual.contains_key(*stage));
    differences.more.extend(gone.map(|stage| format!("{stage}: checked in, and not counted any more")));
    for (stage, count) in actual {
        let Some(expected) = expected.get(stage) else {
            differences.more.push(format!("{stage}: {count} instructions, and none are checked in"));
            continue;
        };
        let percent = 100.0 * count.abs_diff(*expected) as f64 / *expected as f64;
        let sentence = |how: &str| format!("{stage}: {count} instructions, {percent:.1} % {how} than {expected}");
        let tolerance = expected / tolerance;
        if *count > expected + tolerance {
            differences.more.push(sentence("more"));
        } else if *count < expected - tolerance {
            differences.less.push(sentence("less"));
        }
    }
    differences
}

#[test]
fn a_tenth_more_is_too_much() {
    let counts = |counts: &[(&str, u64)]| counts.iter().map(|(stage, count)| ((*stage).to_owned(), *count)).collect();
    let expected: Counts = counts(&[("a parse", 1000), ("b parse", 1000), ("c parse", 1000), ("e parse", 1)]);
    assert_eq!(differences(&expected, &expected, 10), Differences::default());
    let actual = counts(&[("a parse", 1100), ("b parse", 1101), ("c parse", 899), ("d parse", 1)]);
    let Differences { more, less } = differences(&expected, &actual, 10);
    assert_eq!(
        more,
        [
            "e parse: checked in, and not counted any more",
            "b parse: 1101 instructions, 10.1 % more than 1000",
            "d parse: 1 instructions, and none are checked in"
        ]
    );
    assert_eq!(less, ["c parse: 899 instructions, 10.1 % less than 1000"]);
    assert_eq!(parsed(&text_of(&actual)), actual);
}

fn has_valgrind() -> bool {
    let status = Command::new("valgrind").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
