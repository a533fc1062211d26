//! Differential tests: random DAGs on the oracle, unfused, and fused under every policy and under random valid plans, on
//! every backend, instruction set and number of threads.
//!
//! Each case draws a few configurations. Within one plan all results have the same bits; every result is one that the
//! oracle accepts: equal where every legal evaluation gives the same integers, and else within the error radius. A
//! failure is reduced and printed as a file for `tests/regressions/`.
//!
//! `FUSELINE_LONG=1` runs more cases and adds a line to `tests/differential/ledger.csv`, `FUSELINE_SEED=N` starts at
//! another seed, `FUSELINE_CASES=N` and `FUSELINE_LLVM_CASES=N` set the numbers of cases; the first alone keeps the share of
//! the second.

// `tests/regressions.rs` shares the harness and uses the rest of it.
#[allow(dead_code)]
#[path = "differential/mod.rs"]
mod harness;
#[path = "support/long.rs"]
mod long;

use fuseline_ir::hop::{FusedOp, HopOp};
use fuseline_ir::ops::BinaryOp;
use harness::case::{Case, Node};
use harness::check::{Checker, Failure, accepted};
use harness::configuration::{Configuration, HAS_LLVM, Plan, Rules, draw, hand_coded};
use harness::generate::{Generated, generate};
use harness::motifs::MOTIFS;
use harness::shrink::shrink;
use harness::tally::Tally;
use long::is_long;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Cases of a usual run, and how many of these run on LLVM, too.
const CASES: (u64, u64) = (3_000, 400);
/// Cases of a long run.
const LONG_CASES: (u64, u64) = (200_000, 20_000);
/// Cases from which every value of every axis must have been drawn.
const ENOUGH_CASES: u64 = 2_000;

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text}")))
}

/// Seeds that workers take one by one.
struct Run {
    first: u64,
    cases: u64,
    /// Every case with a number that divides by this runs on LLVM.
    llvm_every: Option<u64>,
    next: AtomicU64,
    failures: Mutex<Vec<String>>,
    tally: Mutex<Tally>,
}

impl Run {
    fn of_environment() -> Run {
        let (usual, usual_with_llvm) = if is_long() { LONG_CASES } else { CASES };
        let cases = variable("FUSELINE_CASES").unwrap_or(usual);
        let llvm_cases = variable("FUSELINE_LLVM_CASES").unwrap_or(cases * usual_with_llvm / usual);
        Run {
            first: variable("FUSELINE_SEED").unwrap_or(0),
            cases,
            llvm_every: (HAS_LLVM && llvm_cases > 0).then(|| (cases / llvm_cases).max(1)),
            next: AtomicU64::new(0),
            failures: Mutex::default(),
            tally: Mutex::default(),
        }
    }

    /// Checks cases until none is left, or several failed.
    fn work(&self) {
        let mut checker = Checker::default();
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.cases || self.failures.lock().expect("no worker panics").len() >= 5 {
                break;
            }
            let seed = self.first + number;
            let with_llvm = self.llvm_every.is_some_and(|every| number.is_multiple_of(every));
            let Generated { case, expected } = generate(seed, &mut checker.tally);
            checker.tally.llvm_cases += u64::from(with_llvm);
            let configurations = draw(seed, with_llvm);
            if let Err(failure) = checker.check(&case, &expected, &configurations) {
                let report = report(&mut checker, case, seed, &configurations, &failure);
                self.failures.lock().expect("no worker panics").push(report);
            }
        }
        self.tally.lock().expect("no worker panics").merge(checker.tally);
    }
}

#[test]
fn random_dags_agree() {
    let run = Run::of_environment();
    let start = Instant::now();
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| run.work());
        }
    });
    let (tally, failures) = (run.tally.lock().expect("they ended"), run.failures.lock().expect("they ended"));
    let rate = tally.cases as f64 / start.elapsed().as_secs_f64();
    println!(
        "seeds {}..{}, {rate:.1} cases/s on {workers} workers: {}",
        run.first,
        run.first + run.cases,
        tally.text()
    );
    if is_long() {
        record(&run, &tally, failures.len());
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    let complaints = tally.complaints();
    assert!(run.cases < ENOUGH_CASES || complaints.is_empty(), "{complaints:#?}");
}

/// The configurations that show the failure again: those of its plan; a random plan under every seed, since what a
/// seed draws changes with the DAG.
fn focused(configurations: &[Configuration], failure: &Failure) -> Vec<Configuration> {
    let Some(failing) = failure.configuration else { return configurations.to_vec() };
    let tiers = configurations.iter().filter(|configuration| configuration.plan == failing.plan);
    match failing.plan {
        Plan::Random(_) => {
            let tiers: Vec<Configuration> = tiers.copied().collect();
            let plan = |seed| tiers.iter().map(move |&tier| Configuration { plan: Plan::Random(seed), ..tier });
            (0..8).flat_map(plan).collect()
        }
        _ => tiers.copied().collect(),
    }
}

/// Shrinks the case and tells all that is known of its failure.
fn report(
    checker: &mut Checker,
    case: Case,
    seed: u64,
    configurations: &[Configuration],
    original: &Failure,
) -> String {
    let configurations = focused(configurations, original);
    let mut failure = original.clone();
    let shrunk = shrink(case, &mut |candidate| match checker.check_case(candidate, &configurations) {
        Err(found) if found.kind == original.kind => {
            failure = found;
            true
        }
        _ => false,
    });
    let configuration = failure.configuration.or(original.configuration);
    let plan = configuration.map_or(String::new(), |configuration| checker.explain(&shrunk, configuration));
    let place = configuration.map_or("the oracle".to_owned(), |configuration| configuration.to_string());
    format!(
        "seed {seed} (FUSELINE_SEED={seed} FUSELINE_CASES=1) fails on {place}: {:?}: {}\nfirst seen as: {}\n{shrunk}\n{plan}",
        failure.kind, failure.message, original.message
    )
}

/// Adds a line to the ledger of long runs.
fn record(run: &Run, tally: &Tally, failures: usize) {
    let git = std::process::Command::new("git").args(["rev-parse", "--short", "HEAD"]).output();
    let commit = git.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    let (first, last) = (run.first, run.first + run.cases - 1);
    let Tally { cases, llvm_cases, executions, .. } = tally;
    let line = format!("{first},{last},{commit},{cases},{llvm_cases},{executions},{failures},{}", tally.line());
    let ledger = OpenOptions::new().append(true).open("tests/differential/ledger.csv");
    ledger.and_then(|mut file| writeln!(file, "{line}")).expect("the ledger takes a line");
}

/// Cases of each hand-coded operator, of a usual and of a long run; a usual run takes more until the operator was met.
const HAND_CODED_CASES: (u64, u64) = (24, 1_000);

/// The definition of a hand-coded operator as a motif: its inputs by the roles of leaves of such shapes. Products of
/// positive factors have logarithms, and can be divided by.
fn motif_of(op: FusedOp, positive_factors: bool) -> String {
    let has_factors = op.definition_text().contains("(matmul ?U (t ?V))");
    let role = |name: &str| match (op, name) {
        (_, "U") if has_factors && positive_factors => "u",
        (_, "V") if has_factors && positive_factors => "f",
        (_, "e") => "s",
        (FusedOp::MatrixChain(_), "V") => "v",
        (FusedOp::MatrixChain(_), "Y") | (FusedOp::OuterAggregate(..), "U") => "w",
        (FusedOp::OuterAggregate(..), "V") => "r",
        (_, "X") => "X",
        (_, "Y" | "W") => "Y",
        (_, "Z") => "Z",
        (_, "U") => "U",
        (_, "V") => "V",
        (op, name) => panic!("{op} has an input {name}"),
    };
    let names = op.inputs().iter();
    let body = names.fold(op.definition_text(), |text, name| text.replace(&format!("?{name}"), role(name)));
    format!("(let u (plus (abs U) 1) (let f (plus (abs V) 1) {body}))")
}

/// Every hand-coded operator, in the place of its definition.
#[test]
fn hand_coded_operators_agree() {
    let mut checker = Checker::default();
    let cases = if is_long() { HAND_CODED_CASES.1 } else { HAND_CODED_CASES.0 };
    let first = variable("FUSELINE_SEED").unwrap_or(0);
    for op in FusedOp::all() {
        for number in 0..HAND_CODED_CASES.1 {
            if number >= cases && checker.tally.count_of("hand-coded", &op.to_string()) > 0 {
                break;
            }
            let seed = first + number;
            let motif = motif_of(op, seed.is_multiple_of(3));
            let Some(case) = harness::generate::with_motif(seed, &motif) else { continue };
            let rules = Rules { strict_ieee: seed % 5 == 4, rewrites: seed.is_multiple_of(2) };
            let configurations = hand_coded(rules);
            if let Err(failure) = checker.check_case(&case, &configurations) {
                panic!("{op}: {}", report(&mut checker, case, seed, &configurations, &failure));
            }
        }
    }
    let unmet: Vec<String> = FusedOp::all()
        .into_iter()
        .map(|op| op.to_string())
        .filter(|name| checker.tally.count_of("hand-coded", name) == 0)
        .collect();
    assert!(unmet.is_empty(), "{unmet:?} were not run");
}

#[test]
fn motifs_can_be_read() {
    assert!(MOTIFS.len() >= 40);
    let mut unmet: Vec<&str> = Vec::new();
    for motif in MOTIFS {
        let fits = |seed| harness::generate::with_motif(seed, motif).is_some();
        if !(0..200).any(fits) {
            unmet.push(motif);
        }
    }
    assert!(unmet.is_empty(), "{unmet:#?}");
}

#[test]
fn cases_read_back_from_their_text() {
    let mut tally = Tally::default();
    for seed in 0..200 {
        let case = generate(seed, &mut tally).case;
        let text = case.to_string();
        let read = Case::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        // Only names differ: they follow from positions.
        assert_eq!(read.nodes.len(), case.nodes.len());
        assert_eq!(read.to_string(), Case::parse(&read.to_string()).unwrap().to_string(), "seed {seed}");
    }
}

/// The case with every maximum replaced by a minimum: a wrong evaluator.
fn with_planted_bug(case: &Case) -> Case {
    let mut wrong = case.clone();
    for node in &mut wrong.nodes {
        match node {
            Node::Operator { op, .. } if *op == HopOp::Binary(BinaryOp::Max) => *op = HopOp::Binary(BinaryOp::Min),
            _ => {}
        }
    }
    wrong
}

fn is_unlike_the_oracle(case: &Case) -> bool {
    let wrong = with_planted_bug(case);
    let values = |case: &Case| case.dag().and_then(|dag| case.expected(&dag).ok());
    let (Some(expected), Some(actual)) = (values(case), values(&wrong)) else { return false };
    let variables = actual.into_iter().filter_map(|(name, value)| Some((name, harness::case::runtime_value(&value)?)));
    accepted(&expected, &variables.collect(), false).is_err()
}

#[test]
fn a_planted_bug_is_reduced_to_a_few_operators_and_cells() {
    let (mut found, mut reduced) = (0, 0);
    for seed in 0..4_000 {
        let case = generate(seed, &mut Tally::default()).case;
        if case.operators() < 5 || !is_unlike_the_oracle(&case) {
            continue;
        }
        found += 1;
        let shrunk = shrink(case, &mut is_unlike_the_oracle);
        assert!(is_unlike_the_oracle(&shrunk));
        let blocks = || shrunk.nodes.iter().filter_map(Node::matrix);
        let is_small = shrunk.operators() <= 2 && blocks().all(|block| block.rows() <= 5 && block.cols() <= 5);
        reduced += u32::from(is_small);
        if found == 40 {
            break;
        }
    }
    assert!(found >= 20, "only {found} cases meet the bug");
    assert!(reduced * 20 >= found * 19, "{reduced} of {found} cases were reduced");
}
