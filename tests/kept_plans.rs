//! Plans that one session keeps in a folder and another finds there: they are those that it would choose itself, give
//! the same bits, and are found for nothing but what they were chosen for.
//!
//! `FUSELINE_LONG=1` tries more random DAGs.

// The harness serves the differential tests, which use more of it.
#[allow(dead_code)]
#[path = "differential/mod.rs"]
mod harness;
#[path = "support/long.rs"]
mod long;

use fuseline::{BackendKind, CompileOptions, Mode, Outcome, RuntimeValue, Session, Statistics, Variables};
use fuseline_ir::hop::{HopDag, HopOp, Span};
use fuseline_ir::ops::{AggOp, BinaryOp, Direction, UnaryOp};
use fuseline_ir::{SizeInfo, Value};
use fuseline_passes::sketch::{InputSketches, Sketch};
use fuseline_runtime::compile_dag;
use harness::generate::{Generated, generate};
use harness::tally::Tally;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

const MODES: [Mode; 5] = [Mode::Gen, Mode::GenFuseAll, Mode::GenFuseNoRedundancy, Mode::Fused, Mode::Base];

fn options(mode: Mode) -> CompileOptions {
    CompileOptions { mode, backend: BackendKind::Interp, threads: 1, ..CompileOptions::default() }
}

fn keeping(options: CompileOptions, folder: &Path) -> CompileOptions {
    CompileOptions { code_folder: Some(folder.to_owned()), ..options }
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("there is room for a folder")
}

/// What a session compiles a DAG into: operators with places and prices, and the plans of the generated ones. And what
/// it did for that.
fn compiled(session: &Session, dag: &HopDag, sketches: InputSketches) -> (String, Statistics) {
    let mut statistics = Statistics::default();
    let compiled = compile_dag(session.engine(), dag, sketches, &mut statistics, None).expect("it compiles");
    let mut text = String::new();
    for (id, hop) in &compiled.dag.hops {
        writeln!(text, "{hop} {:?} {:?}", hop.span, compiled.predictions[id]).expect("strings take writes");
        if let HopOp::SpoofOp { operator, .. } = hop.op {
            writeln!(text, "{}", session.engine().plan_cache().plan(operator)).expect("strings take writes");
        }
    }
    (text, statistics)
}

fn bits(outcome: &Outcome) -> Vec<(String, Vec<u64>)> {
    let bits = |value: &RuntimeValue| match value {
        RuntimeValue::Matrix(block) => block.to_dense().values().iter().map(|cell| cell.to_bits()).collect(),
        other => vec![other.as_f64().expect("results are numbers and matrices of them").to_bits()],
    };
    outcome.variables.iter().map(|(name, value)| (name.clone(), bits(value))).collect()
}

/// Random DAGs in every mode.
#[test]
fn plans_that_are_found_are_those_that_would_be_chosen() {
    let base = Session::new(options(Mode::Gen)).expect("there are threads");
    let session = |options| base.reconfigured(options).expect("there are threads");
    let folder = folder();
    let (mut restored, mut left_unfused) = (0, 0);
    for seed in 0..if long::is_long() { 5_000 } else { 150 } {
        let Generated { case, .. } = generate(seed, &mut Tally::default());
        let (dag, variables): (HopDag, Variables) = (case.dag().expect("cases form DAGs"), case.variables());
        for mode in MODES {
            let (fresh, kept) = (session(options(mode)), keeping(options(mode), folder.path()));
            let chosen = compiled(&fresh, &dag, InputSketches::default()).0;
            assert_eq!(compiled(&session(kept.clone()), &dag, InputSketches::default()).0, chosen, "{seed} {mode:?}");
            let (found, statistics) = compiled(&session(kept.clone()), &dag, InputSketches::default());
            assert_eq!(found, chosen, "{seed} {mode:?}");
            assert_eq!((statistics.dags_optimized, statistics.dags_restored, statistics.kept_damaged), (0, 1, 0));
            // Once for the sketches and sizes that the run finds, then by what the run before kept.
            let run = |session: &Session| session.run_dag(&dag, variables.clone()).expect("cases run");
            let outcomes = [run(&fresh), run(&session(kept.clone())), run(&session(kept))];
            left_unfused += u64::from(!outcomes[0].statistics.unsupported.is_empty());
            restored += outcomes[2].statistics.dags_restored;
            for other in &outcomes[1..] {
                assert_eq!(bits(other), bits(&outcomes[0]), "{seed} {mode:?}");
                assert_eq!(other.statistics.fused_operators, outcomes[0].statistics.fused_operators);
                assert_eq!(other.statistics.partitions, outcomes[0].statistics.partitions);
                assert_eq!(other.statistics.plan_gap, outcomes[0].statistics.plan_gap);
                assert_eq!(other.statistics.dags_unproven, outcomes[0].statistics.dags_unproven);
            }
        }
    }
    assert_eq!(left_unfused, 0, "no policy chooses what cannot be made");
    assert!(restored >= 5 * 150, "{restored} blocks");
}

/// A block with a product of a sparse matrix, whose sketch may matter.
fn block(name: &str, nnz: u64, literal: f64) -> HopDag {
    let mut dag = HopDag::new();
    let x = dag.read_matrix(name, SizeInfo::with_nnz(1000, 800, nnz));
    let w = dag.read_matrix("W", SizeInfo::dims(800, 20));
    let number = dag.literal(Value::F64(literal));
    let fits = "the operands fit";
    let product = dag.add(HopOp::MatMul, &[x, w], None).expect(fits);
    let scaled = dag.add(BinaryOp::Mult.into(), &[product, number], None).expect(fits);
    let exp = dag.add(UnaryOp::Exp.into(), &[scaled], None).expect(fits);
    let sum = dag.add((AggOp::Sum, Direction::Full).into(), &[exp], None).expect(fits);
    dag.write("s", sum);
    dag
}

fn with_places(mut dag: HopDag, places: &[u32]) -> HopDag {
    for (hop, &start) in dag.hops.values_mut().zip(places) {
        hop.span = Some(Span { source: 0, start, end: start + 1 });
    }
    dag
}

#[test]
fn whatever_decides_a_plan_is_in_its_key() {
    let folder = folder();
    let default = options(Mode::Gen);
    let is_found = |options: &CompileOptions, dag: &HopDag, sketches: &[(&str, &Sketch)]| {
        let session = Session::new(keeping(options.clone(), folder.path())).expect("there are threads");
        let sketch = |&(name, sketch): &(&str, &Sketch)| (name.to_owned(), Arc::new(sketch.clone()));
        compiled(&session, dag, sketches.iter().map(sketch).collect()).1.dags_restored == 1
    };
    let spread = |first: f64| {
        let rows: Vec<f64> = std::iter::once(first).chain(std::iter::repeat_n(1.0, 999)).collect();
        Sketch::exact(rows, vec![(999.0 + first) / 800.0; 800])
    };
    let (one, other, expected) = (spread(1.0), spread(2.0), Sketch::uniform(1000, 800, 1000.0));
    let mut slower = default.machine.clone();
    slower.memory.read /= 2.0;
    let usual = || block("X", 10_000, 0.5);
    let changed = [
        (default.clone(), usual(), vec![]),
        (CompileOptions { mode: Mode::GenFuseAll, ..default.clone() }, usual(), vec![]),
        (CompileOptions { rewrites: false, ..default.clone() }, usual(), vec![]),
        (CompileOptions { strict_ieee: true, ..default.clone() }, usual(), vec![]),
        (CompileOptions { machine: slower, ..default.clone() }, usual(), vec![]),
        (CompileOptions { plan_memory_budget: Some(1 << 20), ..default.clone() }, usual(), vec![]),
        (default.clone(), block("Y", 10_000, 0.5), vec![]),
        (default.clone(), block("X", 10_001, 0.5), vec![]),
        (default.clone(), block("X", 10_000, -0.0), vec![]),
        (default.clone(), block("X", 10_000, 0.0), vec![]),
        (default.clone(), usual(), vec![("X", &one)]),
        (default.clone(), usual(), vec![("X", &other)]),
        (default.clone(), usual(), vec![("X", &expected)]),
        (default.clone(), usual(), vec![("W", &expected)]),
        (default.clone(), with_places(usual(), &[1, 2, 3, 4, 5, 6, 7]), vec![]),
        (default.clone(), with_places(usual(), &[1, 2, 3, 4, 5, 6, 6]), vec![]),
        (default.clone(), with_places(usual(), &[2, 1, 3, 4, 5, 6, 7]), vec![]),
    ];
    for (number, (options, dag, sketches)) in changed.iter().enumerate() {
        assert!(!is_found(options, dag, sketches), "{number}");
        assert!(is_found(options, dag, sketches), "{number}");
    }
    // A script that grows before a block, and what never decides a plan.
    assert!(is_found(&default, &with_places(usual(), &[101, 102, 103, 105, 107, 109, 111]), &[]));
    let other_run = CompileOptions { threads: 2, memory_budget: None, ..default.clone() };
    assert!(is_found(&other_run, &usual(), &[]));
}

/// What a place says is that of the script that runs.
#[test]
fn places_are_those_of_the_script_that_runs() {
    let folder = folder();
    let session = || Session::new(keeping(options(Mode::Gen), folder.path())).expect("there are threads");
    let old = with_places(block("X", 10_000, 0.5), &[1, 2, 3, 4, 5, 6, 7]);
    let new = with_places(block("X", 10_000, 0.5), &[11, 12, 13, 14, 15, 16, 17]);
    let old = compiled(&session(), &old, InputSketches::default()).0;
    let (found, statistics) = compiled(&session(), &new, InputSketches::default());
    let fresh = Session::new(options(Mode::Gen)).expect("there are threads");
    assert_eq!(found, compiled(&fresh, &new, InputSketches::default()).0);
    assert!(found != old && statistics.dags_restored == 1);
}

/// All stages of a block are there for who observes them.
#[test]
fn nothing_is_restored_for_an_observer() {
    let folder = folder();
    let session = || Session::new(keeping(options(Mode::Gen), folder.path())).expect("there are threads");
    let mut stages = [0, 0];
    for count in &mut stages {
        let session = session();
        let script = session.compile_script("<text>", "print(sum(rand(rows=9, cols=9)))", &[]);
        let script = script.expect("the script is right");
        let outcome = session.run_observed(&script, Variables::new(), &mut std::io::sink(), &mut |_| *count += 1);
        assert_eq!(outcome.expect("it runs").statistics.dags_restored, 0);
    }
    assert!(stages[0] > 0 && stages[0] == stages[1], "{stages:?}");
}
