//! Allocations of exploration and of plan selection: their scratch lives in arenas and in buffers that are used again
//! (docs/adr/0001). Counts do not depend on the machine.

#[path = "../benches/support/allocations.rs"]
mod allocations;
#[path = "../benches/support/workloads.rs"]
#[expect(dead_code, reason = "reports print more of a workload than is compiled here")]
mod workloads;

use fuseline::ir::hop::HopDag;
use fuseline::{BackendKind, CompileOptions, Mode};
use fuseline_passes::explore::explore;
use fuseline_passes::pipeline::OptimizerOptions;
use fuseline_passes::rewrite::{RewriteOptions, rewrite};
use fuseline_passes::select::select;
use fuseline_passes::template::TEMPLATES;
use std::fmt::Write;
use workloads::WORKLOADS;

/// The DAGs that a run of a script compiles, after rewriting, each once.
fn dags(name: &str, script: &str) -> Vec<HopDag> {
    let options = CompileOptions { mode: Mode::Gen, backend: BackendKind::Interp, ..CompileOptions::default() };
    let (dags, _) = workloads::run(name, script, options);
    dags.iter().map(|dag| rewrite(dag, &RewriteOptions::default())).collect()
}

/// What exploration and selection of all DAGs of a script allocate.
#[derive(Default)]
struct Allocations {
    dags: usize,
    operators: usize,
    explore: u64,
    select: u64,
    /// The most bytes per operator that selection has at a time, of any DAG of at least [`MANY_OPERATORS`].
    bytes_per_operator: u64,
}

/// Operators from which on the memory of the search is in proportion to them.
const MANY_OPERATORS: usize = 100;

fn of_search(dags: &[HopDag]) -> Allocations {
    let options = OptimizerOptions::default();
    let mut all = Allocations { dags: dags.len(), ..Allocations::default() };
    for dag in dags {
        let context = options.context(dag);
        let (memo, explore) = allocations::during(|| explore(&context, TEMPLATES));
        let (_, select) =
            allocations::during(|| select(&context, &memo, options.policy, &options.model, &options.search_limits));
        all.operators += dag.hops.len();
        all.explore += explore.count;
        all.select += select.count;
        if dag.hops.len() >= MANY_OPERATORS {
            all.bytes_per_operator = all.bytes_per_operator.max(select.peak / dag.hops.len() as u64);
        }
    }
    all
}

/// A block of products with a transposed matrix, each scaled by its own sum: the same few operators over and over, all
/// of which read one matrix.
fn repeated_products(times: usize) -> String {
    let mut script = "X = rand(rows=1000, cols=50, seed=1)\n".to_owned();
    for i in 1..=times {
        writeln!(script, "Y{i} = t(X) %*% (X * {i})\nz{i} = rowSums(Y{i} / sum(Y{i}))").expect("strings grow");
        writeln!(script, "print(sum(z{i}))").expect("strings grow");
    }
    script
}

/// A block of so many aggregates of one matrix, two of which share a value.
fn many_aggregates(aggregates: usize) -> String {
    let mut script = "X = rand(rows=1000, cols=50, seed=1)\ns = 0\n".to_owned();
    for i in 0..aggregates / 2 {
        writeln!(script, "A{i} = X * {i} + 1\ns = s + sum(A{i} ^ 2) + sum(abs(A{i}))").expect("strings grow");
    }
    script + "print(s)\n"
}

/// What exploration and selection allocated before they had arenas, by script. Selection decided about interesting points alone
/// then; it decides about all edges now, and still allocates less.
const BEFORE: &[(&str, u64, u64)] = &[
    ("l2svm", 56, 4_369),
    ("multiLogReg", 113, 7_605),
    ("glm", 170, 12_452),
    ("kmeans", 52, 9_435),
    ("alsCG", 136, 6_636),
    ("autoencoder_2layer", 232, 353_692),
    ("products", 349, 19_587),
    ("aggregates", 285, 12_475),
];

/// The most bytes per operator that selection has at a time.
const MOST_BYTES_PER_OPERATOR: u64 = 64 << 10;

#[test]
fn scratch_of_the_optimizer_is_not_allocated_piece_by_piece() {
    let algorithms = WORKLOADS.iter().map(|workload| (workload.name, workload.script()));
    let synthetic = [("products", repeated_products(100)), ("aggregates", many_aggregates(100))];
    println!("| script | DAGs | operators | exploration before | now | selection before | now | bytes per operator |");
    println!("|---|---|---|---|---|---|---|---|");
    let mut above = Vec::new();
    for (name, script) in algorithms.chain(synthetic) {
        let Allocations { dags, operators, explore, select, bytes_per_operator } = of_search(&dags(name, &script));
        let &(_, explore_before, select_before) =
            BEFORE.iter().find(|(known, ..)| *known == name).expect("each script is known");
        println!(
            "| {name} | {dags} | {operators} | {explore_before} | {explore} | {select_before} | {select} | {bytes_per_operator} |"
        );
        if 3 * explore > explore_before || select > select_before || bytes_per_operator > MOST_BYTES_PER_OPERATOR {
            above.push(name);
        }
    }
    assert!(
        above.is_empty(),
        "{above:?} allocate more than a third of what they did in exploration, as much as they did in selection, or more than \
         64 KiB per operator"
    );
}
