//! The compiler's stages on the paper's algorithms and on programs that grow: times by `criterion`, allocations, and
//! whether optimizing stays within what an operator may cost on average. Writes `docs/compile.md`.
//!
//! `./x bench compile [--quick] [CASE][/STAGE]`: with a filter only cases and stages whose names contain its parts. The
//! quick form takes fewer samples; it and filters only print. `--columns` prints the headings of the tables, and measures
//! nothing.

#[path = "../support/allocations.rs"]
mod allocations;
mod cases;
#[path = "../support/estimates.rs"]
mod estimates;
#[path = "../support/host.rs"]
mod host;
mod operators;
#[path = "../support/provenance.rs"]
mod provenance;
mod report;
mod stages;
#[path = "../support/workloads.rs"]
mod workloads;

use allocations::Allocated;
use cases::{Case, FAMILIES};
use criterion::Criterion;
use operators::Operators;
use stages::{Runner, Stage};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;
use workloads::WORKLOADS;

/// What was measured of a stage.
struct Measured {
    stage: Stage,
    /// The median time.
    seconds: f64,
    allocated: Allocated,
}

/// What was measured of a case.
struct Compiled {
    name: String,
    operators: Operators,
    stages: Vec<Measured>,
}

/// Runs stages as benchmarks.
struct Bench {
    criterion: Criterion,
    /// Where criterion keeps what it measures.
    folder: PathBuf,
    /// Parts of the names of the cases and stages that are wanted.
    filter: (String, String),
}

/// The stages of a case, benchmarked.
struct CaseRunner<'a> {
    bench: &'a mut Bench,
    name: &'a str,
    measured: Vec<Measured>,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--columns") {
        return print!("{}", report::COLUMNS);
    }
    let is_quick = arguments.iter().any(|argument| argument == "--quick");
    let filter = arguments.iter().find(|argument| !argument.starts_with('-'));
    let mut bench = Bench::new(is_quick, filter.map_or("", String::as_str));
    let algorithms =
        WORKLOADS.iter().filter_map(|workload| bench.run(workload.name, || cases::algorithm(workload.name)));
    let algorithms: Vec<Compiled> = algorithms.collect();
    let mut family = |family: &cases::Family| {
        let case = |&size: &usize| bench.run(&family.case_name(size), || family.case(size));
        family.sizes.iter().filter_map(case).collect::<Vec<Compiled>>()
    };
    let families: Vec<Vec<Compiled>> = FAMILIES.iter().map(&mut family).collect();
    let text = report::markdown(&algorithms, &families);
    println!("{text}");
    if !is_quick && filter.is_none() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/compile.md");
        std::fs::write(path, text).expect("the report can be written");
    }
}

impl Bench {
    fn new(is_quick: bool, filter: &str) -> Bench {
        let (samples, warm_up, measurement) = if is_quick { (10, 50, 200) } else { (15, 300, 1000) };
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compile");
        let criterion = Criterion::default()
            .without_plots()
            .output_directory(&folder)
            .sample_size(samples)
            .warm_up_time(Duration::from_millis(warm_up))
            .measurement_time(Duration::from_millis(measurement));
        let (case, stage) = filter.split_once('/').unwrap_or((filter, ""));
        Bench { criterion, folder, filter: (case.to_owned(), stage.to_owned()) }
    }

    /// Measures the stages of a case, if it is wanted.
    fn run(&mut self, name: &str, case: impl FnOnce() -> Case) -> Option<Compiled> {
        if !name.contains(&self.filter.0) {
            return None;
        }
        let case = case();
        let mut runner = CaseRunner { bench: self, name, measured: Vec::new() };
        stages::compile(&case.text, &case.blocks, &mut runner);
        let stages = runner.measured;
        Some(Compiled { operators: Operators::of(&case), name: case.name, stages })
    }

    /// The median of the last measurement, in seconds.
    fn median(&self, case: &str, stage: Stage) -> f64 {
        estimates::median(&self.folder.join(case).join(stage.name()))
    }
}

impl Runner for CaseRunner<'_> {
    fn run<T>(&mut self, stage: Stage, work: impl Fn() -> T) -> T {
        if !self.wants(stage) {
            return work();
        }
        let mut group = self.bench.criterion.benchmark_group(self.name);
        group.bench_function(stage.name(), |bencher| bencher.iter(|| black_box(work())));
        group.finish();
        let (result, allocated) = allocations::during(work);
        let seconds = self.bench.median(self.name, stage);
        self.measured.push(Measured { stage, seconds, allocated });
        result
    }

    fn wants(&self, stage: Stage) -> bool {
        stage.name().contains(&self.bench.filter.1)
    }
}
