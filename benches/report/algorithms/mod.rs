//! The six algorithms of the paper: every mode in turn, against the time that scanning X and computing take at least, and
//! what compilation costs.

mod workloads;

use crate::bars::{self, Bar, Group};
use crate::document::{Part, digits, time};
use crate::machine::{MULTIPLY_ADDS, multiply_add_flops, multiply_adds};
use crate::rounds::{Contender, Times, in_turn};
use crate::workload::{Data, READ};
use crate::workloads::Scale;
use fuseline::ir::DataType;
use fuseline::{
    BackendKind, CompileOptions, LlvmLevel, Mode, Outcome, PreparedScript, ScriptInterface, Session, Statistics,
};
use fuseline_runtime::HitRate;
use std::hint::black_box;
use workloads::{Needs, Workload, workloads};

/// How models may differ: iterations carry rounding on.
const TOLERANCE: f64 = 1e-4;

const GEN: &str = "Gen";
const MODES: [(&str, Mode); 5] = [
    ("Base", Mode::Base),
    ("Fused", Mode::Fused),
    (GEN, Mode::Gen),
    ("Gen-FA", Mode::GenFuseAll),
    ("Gen-FNR", Mode::GenFuseNoRedundancy),
];

/// What was measured of it.
struct Measured {
    workload: Workload,
    times: Vec<Times>,
    /// Of the first run, by mode, with everything compiled for it.
    first: Vec<Statistics>,
    /// The same of Gen where runs wait for LLVM.
    waiting: Waiting,
    /// What its iterations needed, for all rows of X.
    needs: Option<Needs>,
}

/// First runs that wait for LLVM.
struct Waiting {
    direct: Statistics,
    /// With the code that an earlier session kept.
    warm: Statistics,
    /// With LLVM's whole pipeline.
    optimised: Statistics,
    /// Without a plan cache.
    uncached: Statistics,
}

/// Measures one algorithm after the other, and shows the section as it is after each.
pub(crate) fn section(scale: Scale, rounds: usize, is_wanted: impl Fn(&str) -> bool, mut show: impl FnMut(Vec<Part>)) {
    let mut measured = Vec::new();
    for workload in workloads(scale, rounds).into_iter().filter(|workload| is_wanted(workload.name)) {
        eprintln!("{} on {}", workload.name, workload.on);
        measured.push(measure(workload));
        show(parts(&measured));
    }
}

fn parts(measured: &[Measured]) -> Vec<Part> {
    vec![
        Part::heading("Algorithms"),
        Part::text(
            "The script library as the paper's table 2 configures it, data in memory: runs of prepared scripts, without \
             compilation, the modes in turn. *slowdown* is the largest ratio of Gen's time to that of another mode. The \
             scan bound is the time of reading X as often as the algorithm must; *and FLOPs* adds the operations of \
             products with X and of functions (20 each) at the rate of multiply-adds in registers, measured in turn.",
        ),
        times(measured),
        plot(measured),
        Part::heading("Compilation"),
        Part::text(
            "The first run of each script in a new session with nothing compiled: the time in the optimizer, and the \
             time that the run waited for code, where units are interpreted meanwhile (the default), where nothing \
             runs until LLVM is done (*LLVM alone*), with the code that an earlier session kept in a folder, with \
             LLVM's whole pipeline (*O3*) and without a plan cache; the operators *compiled* for the script, the *CPlans* \
             that were constructed and looked up, those of them that were found *in cache*, and their share (*hits*). \
             Executions of blocks *needed* more plans, most of which came *with block*, since it was compiled already for \
             its sizes and constructed none; *found* is the share of both. The paper's system compiles blocks again when \
             they are executed, and constructs and looks up all of these plans: its share is the last column. What plans are enumerated is the subject of `docs/optimizer.md`.",
        ),
        compilation(measured),
    ]
}

/// Visits each algorithm on its data, with what prepares its script in a session.
pub(crate) fn each(scale: Scale, mut visit: impl FnMut(&str, &dyn for<'s> Fn(&'s Session) -> PreparedScript<'s>)) {
    for workload in workloads(scale, 1) {
        let data = Data::generate(&workload.data);
        visit(&format!("{}, {}", workload.name, workload.on), &|session| {
            prepare(session, &workload, &workload.script, &data)
        });
    }
}

fn measure(workload: Workload) -> Measured {
    let data = Data::generate(&workload.data);
    let first = Session::new(CompileOptions::default()).expect("a session");
    let session = |options: CompileOptions| first.reconfigured(options).expect("a session");
    let sessions = MODES.map(|(_, mode)| session(CompileOptions { mode, ..CompileOptions::default() }));
    let mut scripts = sessions.each_ref().map(|session| prepare(session, &workload, &workload.script, &data));
    let outcomes = scripts.each_mut().map(|script| run(&workload, script, &mut std::io::sink()));
    for ((name, _), outcome) in MODES.iter().zip(&outcomes) {
        let models =
            [outcome, &outcomes[0]].map(|outcome| outcome.matrix("M").expect("a model").to_dense().into_owned());
        let largest = models[1].values().iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
        let pairs = models[0].values().iter().zip(models[1].values());
        let error = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(
            error <= TOLERANCE * largest,
            "{} on {}: {name} is off by {error} of {largest}",
            workload.name,
            workload.on
        );
    }
    let statistics = |options: CompileOptions| {
        let session = session(options);
        run(&workload, &mut prepare(&session, &workload, &workload.script, &data), &mut std::io::sink()).statistics
    };
    let llvm = CompileOptions { backend: BackendKind::Llvm, ..CompileOptions::default() };
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let keeping = CompileOptions { code_folder: Some(folder.path().to_owned()), ..llvm.clone() };
    let waiting = Waiting {
        direct: statistics(keeping.clone()),
        warm: statistics(keeping),
        optimised: statistics(CompileOptions { llvm: LlvmLevel::O3, ..llvm.clone() }),
        uncached: statistics(CompileOptions { plan_cache: false, ..llvm }),
    };
    let mut contenders =
        vec![Contender::new(READ, || _ = black_box(data.read_one("X"))), Contender::new(MULTIPLY_ADDS, multiply_adds)];
    for ((name, _), script) in MODES.iter().zip(&mut scripts) {
        contenders.push(Contender::new(*name, || _ = script.execute(&mut std::io::sink()).expect("it ran before")));
    }
    let times = in_turn(&mut contenders, workload.rounds);
    drop(contenders);
    let needs = workload.needs.map(|needs| {
        let verbose = workload.script.replace("verbose=FALSE", "verbose=TRUE");
        let mut printed = Vec::new();
        run(&workload, &mut prepare(&sessions[0], &workload, &verbose, &data), &mut printed);
        let (outer, steps) = iterations(&String::from_utf8_lossy(&printed));
        let needs = needs(outer, steps);
        Needs { flops: needs.flops * data.rows("X") as f64, ..needs }
    });
    let first = outcomes.map(|outcome| outcome.statistics).into();
    Measured { times, first, waiting, needs, workload }
}

fn run(workload: &Workload, script: &mut PreparedScript<'_>, output: &mut (dyn std::io::Write + Send)) -> Outcome {
    script.execute(output).unwrap_or_else(|error| panic!("{}: {error}", workload.name))
}

fn prepare<'s>(session: &'s Session, workload: &Workload, text: &str, data: &Data) -> PreparedScript<'s> {
    let interface = ScriptInterface {
        inputs: &[("X", DataType::MATRIX), ("Y", DataType::MATRIX)],
        outputs: &["M"],
        ..ScriptInterface::default()
    };
    let script = session.prepare_script(workload.name, text, &interface);
    let mut script = script.unwrap_or_else(|error| panic!("{}: {error}", workload.name));
    data.bind(&mut script, &["X", "Y"]);
    script
}

/// The outer iterations, and all steps within them, that an algorithm reports.
fn iterations(printed: &str) -> (f64, f64) {
    let lines = || printed.lines().filter(|line| line.contains("iteration "));
    let steps = lines().filter_map(|line| line.split_once("steps = ")?.1.trim().parse::<f64>().ok());
    (lines().count() as f64, steps.sum())
}

impl Measured {
    fn of(&self, name: &str) -> &Times {
        self.times.iter().find(|times| times.name == name).expect("all modes are timed")
    }

    fn first_of_gen(&self) -> &Statistics {
        let place = MODES.iter().position(|(name, _)| *name == GEN);
        &self.first[place.expect("Gen is a mode")]
    }
}

fn times(measured: &[Measured]) -> Part {
    let mut header = vec!["algorithm", "data"];
    header.extend(MODES.map(|(name, _)| name));
    header.extend(["spread", "slowdown", "scans of X", "scan bound", "and FLOPs", "Gen / both"]);
    let rows = measured.iter().map(|row| {
        let own = row.of(GEN);
        let mut cells = vec![row.workload.name.to_owned(), row.workload.on.clone()];
        cells.extend(MODES.map(|(name, _)| time(row.of(name).median())));
        let slowdowns = MODES.iter().map(|(name, _)| 1.0 / own.speedup_over(row.of(name)));
        cells.push(format!("{:.0} %", 100.0 * own.spread()));
        cells.push(format!("{:.2}", slowdowns.fold(0.0, f64::max)));
        match row.needs {
            Some(Needs { scans, flops }) => {
                let scanning = scans * row.of(READ).median();
                let bound = scanning + flops / multiply_add_flops() * row.of(MULTIPLY_ADDS).median();
                cells.extend([format!("{scans:.0}"), time(scanning), time(bound), digits(own.median() / bound)]);
            }
            None => cells.extend(["-"; 4].map(str::to_owned)),
        }
        cells
    });
    Part::table(&header, rows.collect())
}

fn plot(measured: &[Measured]) -> Part {
    let series: Vec<String> = MODES.iter().map(|(name, _)| (*name).to_owned()).collect();
    let group = |row: &Measured| Group {
        name: format!("{}, {}", row.workload.name, row.workload.on),
        bars: MODES
            .iter()
            .map(|(name, _)| {
                let speed = row.of(name).speedup_over(row.of("Base"));
                Some(Bar { length: speed, label: format!("{speed:.2}") })
            })
            .collect(),
    };
    let title = "Speed of algorithms as a multiple of basic operators'".to_owned();
    let svg = bars::plot(&title, &series, &measured.iter().map(group).collect::<Vec<_>>());
    Part::Plot { name: "algorithms", title, svg }
}

fn compilation(measured: &[Measured]) -> Part {
    let header = [
        "algorithm",
        "data",
        "optimizer",
        "waits for code",
        "LLVM alone",
        "LLVM, code kept",
        "LLVM, O3",
        "LLVM, no cache",
        "compiled",
        "CPlans",
        "in cache",
        "hits",
        "needed",
        "with block",
        "found",
        "paper's hits",
    ];
    let rows = measured.iter().map(|row| {
        let first = row.first_of_gen();
        let (hits, plans) = row.workload.paper_hits;
        let share = |rate: HitRate| format!("{:.1} %", 100.0 * rate.share());
        let found = first.plans_found();
        vec![
            row.workload.name.to_owned(),
            row.workload.on.clone(),
            time(first.optimize_seconds),
            time(first.codegen_seconds),
            time(row.waiting.direct.codegen_seconds),
            time(row.waiting.warm.codegen_seconds),
            time(row.waiting.optimised.codegen_seconds),
            time(row.waiting.uncached.codegen_seconds),
            first.operators_compiled.to_string(),
            first.cplans.to_string(),
            first.plan_hits().hits.to_string(),
            share(first.plan_hits()),
            found.of.to_string(),
            first.plans_of_found_blocks.to_string(),
            share(found),
            share(HitRate { hits: hits.into(), of: plans.into() }),
        ]
    });
    Part::table(&header, rows.collect())
}
