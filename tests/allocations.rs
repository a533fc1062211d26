//! Allocations of exploration and of plan selection: their scratch lives in arenas and in buffers that are used again
//! (docs/adr/0001). Counts do not depend on the machine.

#[path = "../benches/support/workloads.rs"]
#[expect(dead_code, reason = "reports print more of a workload than is compiled here")]
mod workloads;

use fuseline::ir::hop::HopDag;
use fuseline::{BackendKind, CompileOptions, CompileStage, Mode, Session, Variables};
use fuseline_passes::explore::explore_in;
use fuseline_passes::pipeline::OptimizerOptions;
use fuseline_passes::rewrite::{RewriteOptions, rewrite};
use fuseline_passes::select::select_in;
use fuseline_passes::template::TEMPLATES;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt::Write;
use workloads::WORKLOADS;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The system's allocator, with counts by thread.
struct Counting;

/// What a thread has allocated.
#[derive(Clone, Copy, Default)]
struct Counts {
    /// Allocations, growth of one counting as another.
    allocations: u64,
    /// Bytes that are allocated now; a thread may free what another one allocated.
    live: i64,
    /// The most bytes that were.
    peak: i64,
}

thread_local! {
    static COUNTS: Cell<Counts> = const { Cell::new(Counts { allocations: 0, live: 0, peak: 0 }) };
}

/// Counts an allocation that changes the live bytes by so many.
fn count(allocations: u64, bytes: i64) {
    COUNTS.with(|counts| {
        let Counts { allocations: before, live, peak } = counts.get();
        let live = live + bytes;
        counts.set(Counts { allocations: before + allocations, live, peak: peak.max(live) });
    });
}

// SAFETY: every call goes to the system's allocator as it is. Counting allocates nothing: the counts of a thread are
// constants at first and have no destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as i64);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, -(layout.size() as i64));
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(1, size as i64 - layout.size() as i64);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// What some work allocates, its peak counted from where it begins.
fn counted<T>(work: impl FnOnce() -> T) -> (T, Counts) {
    let before = COUNTS.get();
    COUNTS.set(Counts { peak: before.live, ..before });
    let result = work();
    let after = COUNTS.get();
    let allocations = after.allocations - before.allocations;
    (result, Counts { allocations, live: after.live - before.live, peak: after.peak - before.live })
}

/// The DAGs that a run of a script compiles, after rewriting, each once.
fn dags(name: &str, script: &str) -> Vec<HopDag> {
    let options = CompileOptions { mode: Mode::Gen, backend: BackendKind::Interp, ..CompileOptions::default() };
    let session = Session::new(options).expect("a session");
    let script = session.compile_script(name, script, &[]).expect("a script");
    let (mut dags, mut texts) = (Vec::new(), BTreeSet::new());
    let mut observe = |stage: CompileStage<'_>| {
        if let CompileStage::Sized(dag) = stage
            && texts.insert(dag.to_string())
        {
            dags.push(rewrite(dag, &RewriteOptions::default()));
        }
    };
    let script = script.for_effects();
    session.run_observed(&script, Variables::new(), &mut std::io::sink(), &mut observe).expect("a run");
    dags
}

/// What exploration and selection of all DAGs of a script allocate.
#[derive(Default)]
struct Allocations {
    dags: usize,
    operators: usize,
    explore: u64,
    select: u64,
    /// The most bytes per operator that selection has at a time, of any DAG of at least [`MANY_OPERATORS`].
    bytes_per_operator: i64,
}

/// Operators from which on the memory of the search is in proportion to them.
const MANY_OPERATORS: usize = 100;

fn allocations(dags: &[HopDag]) -> Allocations {
    let options = OptimizerOptions::default();
    let mut all = Allocations { dags: dags.len(), ..Allocations::default() };
    for dag in dags {
        let context = options.context(dag);
        let (memo, explore) = counted(|| explore_in(&context, TEMPLATES));
        let (_, select) =
            counted(|| select_in(&context, &memo, options.policy, &options.model, &options.search_limits));
        all.operators += dag.hops.len();
        all.explore += explore.allocations;
        all.select += select.allocations;
        if dag.hops.len() >= MANY_OPERATORS {
            all.bytes_per_operator = all.bytes_per_operator.max(select.peak / dag.hops.len() as i64);
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

/// What exploration and selection allocated before they had arenas, by script.
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
const MOST_BYTES_PER_OPERATOR: i64 = 64 << 10;

#[test]
fn scratch_of_the_optimizer_is_not_allocated_piece_by_piece() {
    let algorithms = WORKLOADS.iter().map(|workload| (workload.name, workload.script()));
    let synthetic = [("products", repeated_products(100)), ("aggregates", many_aggregates(100))];
    println!("| script | DAGs | operators | exploration before | now | selection before | now | bytes per operator |");
    println!("|---|---|---|---|---|---|---|---|");
    let mut above = Vec::new();
    for (name, script) in algorithms.chain(synthetic) {
        let Allocations { dags, operators, explore, select, bytes_per_operator } = allocations(&dags(name, &script));
        let &(_, explore_before, select_before) =
            BEFORE.iter().find(|(known, ..)| *known == name).expect("each script is known");
        println!(
            "| {name} | {dags} | {operators} | {explore_before} | {explore} | {select_before} | {select} | {bytes_per_operator} |"
        );
        if 3 * explore > explore_before || 3 * select > select_before || bytes_per_operator > MOST_BYTES_PER_OPERATOR {
            above.push(name);
        }
    }
    assert!(
        above.is_empty(),
        "{above:?} allocate more than a third of what they did, or more than 64 KiB per operator"
    );
}
