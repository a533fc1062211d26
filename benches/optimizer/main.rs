//! The optimizer on the six algorithms of the paper: plans costed under each kind of enumeration (P192, P193, P195, P196:
//! the paper's figure of plan enumeration), in our space of plans and in the paper's, what the exact solver prices instead,
//! interesting points, optimizer times, predicted against measured times of operators, and what rewriting makes of
//! well-known expressions. Writes `docs/optimizer.md`.
//!
//! `./x bench optimizer`; with `--quick` fewer plans are costed where no pruning helps, times are of fewer rounds, and
//! everything is printed alone; with `--columns` the page without measurements is. Fails if a cost-based plan costs more
//! than one of the heuristics.

#[path = "../support/bars.rs"]
mod bars;
#[path = "../support/host.rs"]
mod host;
mod plot;
#[path = "../support/provenance.rs"]
mod provenance;
mod report;
mod rewrites;
#[path = "../support/searches.rs"]
mod searches;
#[path = "../support/svg.rs"]
mod svg;
#[path = "../support/workloads.rs"]
mod workloads;

use fuseline::calibrate::{self, calibrate};
use fuseline::ir::hop::HopDag;
use fuseline::{BackendKind, CompileOptions, Mode, Statistics};
use fuseline_passes::joint::{choose, plan_seconds};
use fuseline_passes::machine::Machine;
use fuseline_passes::partition::PointKinds;
use fuseline_passes::pipeline::{OptimizerOptions, Planned};
use fuseline_passes::rewrite::{RewriteOptions, rewrite};
use fuseline_passes::select::{Enumeration, SearchLimits, SelectPolicy};
use searches::{Searched, searched};
use std::time::Instant;
use workloads::{WORKLOADS, Workload};

/// Equal costs may differ by less than this, relatively.
const TOLERANCE: f64 = 1e-9;

/// How much is measured.
struct Effort {
    /// Plans that are costed per partition at most, or per DAG where it is not partitioned; the exact solver has the
    /// limits that users have.
    plans: u64,
    /// Rounds that times are the medians of.
    rounds: usize,
    /// Rounds of the calibration that predicts times.
    calibration_rounds: usize,
}

impl Effort {
    const QUICK: Effort = Effort { plans: 2_000, rounds: 3, calibration_rounds: 3 };
    const FULL: Effort = Effort { plans: 1 << 18, rounds: 11, calibration_rounds: calibrate::ROUNDS };
}

/// What is known of one algorithm.
struct Measured {
    workload: &'static Workload,
    /// Distinct DAGs.
    dags: usize,
    /// Operators of the largest DAG.
    operators: usize,
    /// Interesting points of every partition, and those by the paper's definition.
    points: Vec<usize>,
    points_of_paper: Vec<usize>,
    /// What each enumeration does, in the order of [`Enumeration::ALL`].
    searches: Vec<Searched>,
    /// What those of the paper do in the space of its points.
    searches_of_paper: Vec<Searched>,
    /// Estimated seconds of all DAGs, by policy.
    gen_seconds: f64,
    fuse_all_seconds: f64,
    fuse_no_redundancy_seconds: f64,
    /// Estimated seconds where rewrites and fusion are one search.
    joint_seconds: f64,
    /// Median seconds of the optimizer per DAG: the slowest and all together, without and with rewrites.
    without_rewrites: Times,
    with_rewrites: Times,
    /// Counters of a run.
    run: Statistics,
}

/// Times over the DAGs of an algorithm.
#[derive(Clone, Copy, Default)]
struct Times {
    slowest: f64,
    total: f64,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_quick = arguments.iter().any(|argument| argument == "--quick");
    if arguments.iter().any(|argument| argument == "--columns") {
        return println!("{}", report::markdown(&[], &Effort::FULL));
    }
    let filter = arguments.iter().find(|argument| !argument.starts_with('-'));
    let effort = if is_quick { Effort::QUICK } else { Effort::FULL };
    let is_wanted = |workload: &&Workload| filter.is_none_or(|filter| workload.name.contains(filter.as_str()));
    let machine = calibrate(effort.calibration_rounds).expect("this machine can be measured").machine;
    let workloads = WORKLOADS.iter().filter(is_wanted);
    let measured: Vec<Measured> = workloads.map(|workload| measure(workload, &machine, &effort)).collect();
    let text = report::markdown(&measured, &effort);
    println!("{text}");
    if !is_quick && filter.is_none() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/docs");
        std::fs::write(format!("{folder}/optimizer.md"), text).expect("the report can be written");
        std::fs::write(format!("{folder}/optimizer.svg"), plot::bars(&measured)).expect("the plot can be written");
    }
}

fn measure(workload: &'static Workload, machine: &Machine, effort: &Effort) -> Measured {
    eprintln!("{}", workload.name);
    let (dags, run) = run(workload, machine);
    let rewrites = RewriteOptions::default();
    let rewritten: Vec<HopDag> = dags.iter().map(|dag| rewrite(dag, &rewrites)).collect();
    let options = OptimizerOptions::default();
    let searches = |points: PointKinds| {
        Enumeration::ALL.iter().map(|&kind| searched(&rewritten, kind, points, effort.plans)).collect()
    };
    let [gen_seconds, fuse_all_seconds, fuse_no_redundancy_seconds] =
        [SelectPolicy::CostBased, SelectPolicy::FuseAll, SelectPolicy::FuseNoRedundancy]
            .map(|policy| costs(&rewritten, &OptimizerOptions { policy, ..options.clone() }))
            .map(|costs| costs.iter().sum());
    check_policies(workload.name, &rewritten, &options);
    let joint = dags.iter().map(|dag| {
        let chosen = choose(dag, &rewrites, &options);
        plan_seconds(&options.context(&chosen.dag), &chosen.planned.plan, &options.model)
    });
    Measured {
        workload,
        dags: dags.len(),
        operators: dags.iter().map(|dag| dag.hops.len()).max().unwrap_or(0),
        points: points(&rewritten, &options, PointKinds::Paying),
        points_of_paper: points(&rewritten, &options, PointKinds::Paper),
        searches: searches(PointKinds::Paying),
        searches_of_paper: searches(PointKinds::Paper),
        gen_seconds,
        fuse_all_seconds,
        fuse_no_redundancy_seconds,
        joint_seconds: joint.sum(),
        without_rewrites: times(&dags, effort, |dag| {
            Planned::of(&options.context(dag), &options);
        }),
        with_rewrites: times(&dags, effort, |dag| {
            choose(dag, &rewrites, &options);
        }),
        run,
    }
}

/// The distinct DAGs, with sizes, that the optimizer meets in a run, and the counters of that run as planned for the
/// machine that it runs on.
fn run(workload: &Workload, machine: &Machine) -> (Vec<HopDag>, Statistics) {
    // The cost model predicts generated code, not what runs meanwhile.
    let backend = BackendKind::for_measurement();
    let options = CompileOptions { mode: Mode::Gen, backend, machine: machine.clone(), ..CompileOptions::default() };
    workload.run(options)
}

/// Estimated seconds of each DAG as a policy fuses it.
fn costs(dags: &[HopDag], options: &OptimizerOptions) -> Vec<f64> {
    let cost = |dag: &HopDag| {
        let context = options.context(dag);
        plan_seconds(&context, &Planned::of(&context, options).plan, &options.model)
    };
    dags.iter().map(cost).collect()
}

/// Checks on every DAG that the cost-based plan costs no more than those of the heuristics.
fn check_policies(name: &str, dags: &[HopDag], options: &OptimizerOptions) {
    let gen_costs = costs(dags, options);
    for policy in [SelectPolicy::FuseAll, SelectPolicy::FuseNoRedundancy] {
        let others = costs(dags, &OptimizerOptions { policy, ..options.clone() });
        for ((dag, cost), other) in dags.iter().zip(&gen_costs).zip(others) {
            let is_no_worse = *cost <= other * (1.0 + TOLERANCE);
            assert!(is_no_worse, "{name}: {cost} s, but {} takes {other} s for\n{dag}", policy.mnemonic());
        }
    }
}

/// The interesting points of all partitions, of these kinds.
fn points(dags: &[HopDag], options: &OptimizerOptions, kinds: PointKinds) -> Vec<usize> {
    let search_limits = SearchLimits { points: kinds, ..options.search_limits.clone() };
    let options = OptimizerOptions { search_limits, ..options.clone() };
    let partitions = dags.iter().flat_map(|dag| {
        let planned = Planned::of(&options.context(dag), &options);
        planned.plan.partitions.into_iter().map(|plan| plan.partition.points.len())
    });
    let mut points: Vec<usize> = partitions.collect();
    points.sort_unstable();
    points
}

/// Median times of some work on each DAG.
fn times(dags: &[HopDag], effort: &Effort, work: impl Fn(&HopDag)) -> Times {
    let median = |dag: &HopDag| {
        let mut seconds: Vec<f64> = (0..effort.rounds)
            .map(|_| {
                let start = Instant::now();
                work(dag);
                start.elapsed().as_secs_f64()
            })
            .collect();
        seconds.sort_by(f64::total_cmp);
        seconds[seconds.len() / 2]
    };
    dags.iter().map(median).fold(Times::default(), |times, seconds| Times {
        slowest: times.slowest.max(seconds),
        total: times.total + seconds,
    })
}
