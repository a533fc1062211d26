//! What compilation costs on the six algorithms (the paper's section 5.3), on data like Mnist.

use super::findings::Findings;
use super::setting::Setting;
use crate::algorithms::data::Source;
use crate::algorithms::workloads::{ALS_CG, AUTOENCODER, Algorithm, GLM, KMEANS, L2SVM, MLOGREG, Workload};
use crate::algorithms::{Waiting, compiled_anew};
use crate::document::{Part, time};
use crate::workload::Data;
use fuseline::generate::{Kind, Specification};
use fuseline::{BackendKind, CompileOptions, LlvmLevel, Statistics};
use std::time::Instant;

const ALGORITHMS: [(&str, &Algorithm); 6] = [
    ("P180", &L2SVM),
    ("P181", &MLOGREG),
    ("P182", &GLM),
    ("P183", &KMEANS),
    ("P184", &ALS_CG),
    ("P185", &AUTOENCODER),
];

/// What was measured of an algorithm.
struct Measured {
    item: &'static str,
    algorithm: &'static Algorithm,
    words: String,
    /// Runs in new sessions, and their times, the fastest first.
    runs: Vec<(f64, Statistics)>,
    /// A run that interprets operators until they are compiled, as runs do by default.
    interpreted_meanwhile: Statistics,
    /// One without the plan cache.
    interpreted_uncached: Statistics,
    waiting: Waiting,
    /// Seconds of a run without the plan cache.
    uncached_seconds: f64,
    /// With LLVM's whole pipeline, and without the plan cache.
    optimised_uncached: Statistics,
    /// A run of as many batches as the paper's, where there are batches: each looks all its plans up.
    of_all_batches: Option<Statistics>,
}

/// Rows of the paper's data.
const PAPERS_ROWS: usize = 60_000;

pub(super) fn run(setting: Option<Setting>, findings: &mut Findings) -> Vec<Part> {
    let mut measured = Vec::new();
    if let Some(setting) = setting {
        let scale = setting.scale.pick([0.02, 0.05, 1.0]);
        let source = Source::LookAlike(Specification { scale, ..Specification::new(Kind::Mnist) }, "Y = 1 + (Y > 5)");
        let data = source.generate();
        for (item, algorithm) in ALGORITHMS {
            eprintln!("{}", algorithm.name);
            let row = measure(item, algorithm, &data, setting.scale.pick([1, 9, 9]));
            record(&row, findings);
            measured.push(row);
        }
    }
    section(&measured)
}

fn measure(item: &'static str, algorithm: &'static Algorithm, data: &Data, runs: usize) -> Measured {
    let words = format!("like Mnist, {}", data.words("X"));
    let workload = algorithm.workload(words.clone(), Source::Script(String::new()), 1);
    let llvm = CompileOptions { backend: BackendKind::for_measurement(), ..CompileOptions::default() };
    let mut runs: Vec<_> = (0..runs).map(|_| timed(&workload, data, llvm.clone())).collect();
    runs.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let interpreted_meanwhile = compiled_anew(&workload, data, CompileOptions::default());
    let without_cache = CompileOptions { plan_cache: false, ..CompileOptions::default() };
    let interpreted_uncached = compiled_anew(&workload, data, without_cache);
    let waiting = Waiting::of(&workload, data);
    let uncached = CompileOptions { plan_cache: false, ..llvm.clone() };
    let (uncached_seconds, _) = timed(&workload, data, uncached.clone());
    let optimised_uncached = compiled_anew(&workload, data, CompileOptions { llvm: LlvmLevel::O3, ..uncached });
    let of_all_batches = with_all_batches(workload, data).map(|workload| compiled_anew(&workload, data, llvm));
    Measured {
        item,
        algorithm,
        words,
        runs,
        interpreted_meanwhile,
        interpreted_uncached,
        waiting,
        uncached_seconds,
        optimised_uncached,
        of_all_batches,
    }
}

/// An algorithm that goes by batches, with as many epochs over fewer rows as make the paper's batches.
fn with_all_batches(workload: Workload, data: &Data) -> Option<Workload> {
    const EPOCHS: &str = "max_epochs=1,";
    let epochs = PAPERS_ROWS.div_ceil(data.rows("X").max(1));
    let script = workload.script.replace(EPOCHS, &format!("max_epochs={epochs},"));
    workload.script.contains(EPOCHS).then_some(Workload { script, ..workload })
}

/// A run in a new session with its seconds.
fn timed(workload: &Workload, data: &Data, options: CompileOptions) -> (f64, Statistics) {
    let start = Instant::now();
    let statistics = compiled_anew(workload, data, options);
    (start.elapsed().as_secs_f64(), statistics)
}

impl Measured {
    /// The run of the median time.
    fn run(&self) -> &(f64, Statistics) {
        &self.runs[self.runs.len() / 2]
    }

    fn words(&self) -> String {
        format!("{}, {}", self.algorithm.name, self.words)
    }

    /// The run whose plans are counted as the paper counts those of its own.
    fn counted(&self) -> &Statistics {
        self.of_all_batches.as_ref().unwrap_or(&self.run().1)
    }

    /// The share of plans that were found, over that of the paper.
    fn hits_over_the_papers(&self) -> f64 {
        self.counted().plans_found().share() / self.papers_share()
    }

    /// That share with each operator that the run needs compiled once.
    fn most_hits_over_the_papers(&self) -> f64 {
        let run = self.counted();
        let needed = run.plans_found().of as f64;
        (needed - run.operators_compiled as f64) / needed / self.papers_share()
    }

    fn papers_share(&self) -> f64 {
        let (hits, plans) = self.algorithm.paper_hits;
        f64::from(hits) / f64::from(plans)
    }
}

/// Seconds in the optimizer and waiting for code.
fn compiling(statistics: &Statistics) -> f64 {
    statistics.optimize_seconds + statistics.codegen_seconds
}

fn record(row: &Measured, findings: &mut Findings) {
    let words = row.words();
    let (seconds, run) = row.run();
    findings.value(row.item, "compilation", &words, compiling(run));
    findings.value(row.item, "compilation, interpreted meanwhile", &words, compiling(&row.interpreted_meanwhile));
    findings.value(row.item, "compilation with code that was kept", &words, compiling(&row.waiting.warm));
    findings.value(row.item, "whole run", &words, *seconds);
    findings.value(row.item, "DAGs optimized", &words, run.dags_optimized as f64);
    findings.value("P186", "compilation", &words, compiling(run));
    let counters = [
        run.dags_optimized as f64,
        run.cplans as f64,
        run.operators_compiled as f64,
        run.optimize_seconds,
        run.codegen_seconds,
    ];
    let count = counters.iter().filter(|counter| **counter > 0.0).count() as f64;
    findings.value("P187", "counters of compilation that say something, of 5", &words, count);
    let Waiting { direct, optimised, uncached, .. } = &row.waiting;
    let ratio = |slow: &Statistics, fast: &Statistics| slow.codegen_seconds / fast.codegen_seconds;
    for (what, ratio) in [
        ("wait for LLVM's whole pipeline over that of a run by default", ratio(optimised, &row.interpreted_meanwhile)),
        ("the same without the plan cache", ratio(&row.optimised_uncached, &row.interpreted_uncached)),
        ("wait for LLVM's whole pipeline over that without passes", ratio(optimised, direct)),
    ] {
        findings.value("P188", what, &words, ratio);
    }
    let most = (Some(row.most_hits_over_the_papers()), "compiling each operator once");
    let what = "share of plans found over the paper's";
    findings.value_within("P189", what, &words, Some(row.hits_over_the_papers()), most);
    let found = run.plans_found();
    let compiled = run.operators_compiled as f64 / (found.of - found.hits) as f64;
    findings.value("P190", "operators compiled for each plan not found", &words, compiled);
    if row.algorithm.name == ALS_CG.name {
        let what = "wait for code without the plan cache over that with it";
        let hits = run.plan_hits();
        let most = (Some(hits.of as f64 / (hits.of - hits.hits) as f64), "compiling again all that is looked up");
        findings.value_within("P191", what, &words, Some(ratio(uncached, direct)), most);
        let what = "run without the plan cache over that with it";
        findings.value("P191", what, &words, row.uncached_seconds / seconds);
    }
}

fn section(measured: &[Measured]) -> Vec<Part> {
    let header = [
        "algorithm",
        "data",
        "run",
        "DAGs",
        "CPlans",
        "compiled",
        "optimizer",
        "code",
        "code, kept",
        "code, O3",
        "code, no cache",
        "code, O3, no cache",
        "plans found",
        "of",
        "over the paper's share",
    ];
    let rows = measured.iter().map(|row| {
        let (seconds, run) = row.run();
        let Waiting { warm, optimised, uncached, .. } = &row.waiting;
        let found = row.counted().plans_found();
        let code = |statistics: &Statistics| time(statistics.codegen_seconds);
        vec![
            row.algorithm.name.to_owned(),
            row.words.clone(),
            time(*seconds),
            run.dags_optimized.to_string(),
            run.cplans.to_string(),
            run.operators_compiled.to_string(),
            time(run.optimize_seconds),
            code(run),
            code(warm),
            code(optimised),
            code(uncached),
            code(&row.optimised_uncached),
            found.hits.to_string(),
            found.of.to_string(),
            format!("{:.2}", row.hits_over_the_papers()),
        ]
    });
    vec![
        Part::heading("Compilation"),
        Part::text(
            "First runs in new sessions that wait for LLVM: the whole run, DAGs optimized, CPlans constructed and operators \
             compiled, the time in the optimizer, and the time that the run waits for *code*: with nothing compiled, with \
             code that an earlier session *kept* in a folder, with LLVM's whole pipeline (*O3*) and without the plan cache; \
             and the plans that were found compiled, with their blocks or in the cache, by AutoEncoder in a run of as many \
             batches as the paper's.",
        ),
        Part::table(&header, rows.collect()),
    ]
}
