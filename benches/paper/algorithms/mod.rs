//! The six algorithms of the paper: every mode in turn, against the time that scanning X and computing take at least, and
//! what compilation costs.

pub(crate) mod data;
pub(crate) mod workloads;

use crate::bars::{self, Bar, Group};
use crate::conditions::{self, assert_equal_conditions};
use crate::deciding::{in_turn_until, is_undecided};
use crate::document::{Part, digits, time};
use crate::experiments::claims::SLOWDOWN;
use crate::machine::{MULTIPLY_ADDS, multiply_add_flops, multiply_adds};
use crate::rounds::{Contender, Times};
use crate::workload::{BASE, Data, FUSED, GEN, READ, Way};
use crate::workloads::Scale;
use fuseline::ir::DataType;
use fuseline::{
    BackendKind, CompileOptions, Dense, Error, LlvmLevel, Mode, Outcome, PreparedScript, ScriptInterface, Session,
    Statistics,
};
use fuseline_runtime::HitRate;
use std::hint::black_box;
use std::time::Instant;
use workloads::{COLUMNS, Needs, Workload, workloads};

/// How models may differ: iterations carry rounding on.
const TOLERANCE: f64 = 1e-4;

/// Seconds that an algorithm runs at most to tell whether Gen takes longer.
const MOST_SECONDS: f64 = 40.0;

/// Rounds that are few on purpose: of what is to be quick, or takes minutes.
const FEW_ROUNDS: usize = 3;

pub(crate) const FUSE_ALL: &str = "Gen-FA";
pub(crate) const NO_REDUNDANCY: &str = "Gen-FNR";
pub(crate) const MODES: [Way; 5] = [
    Way::of(BASE, Mode::Base),
    Way::of(FUSED, Mode::Fused),
    Way::of(GEN, Mode::Gen),
    Way::of(FUSE_ALL, Mode::GenFuseAll),
    Way::of(NO_REDUNDANCY, Mode::GenFuseNoRedundancy),
];

/// What was measured of an algorithm in several modes.
pub(crate) struct InModes {
    /// Of the modes that can run it, and of reading X and multiply-adds in registers beside them.
    pub(crate) times: Vec<Times>,
    /// Of the first run, by mode, with everything compiled for it.
    pub(crate) first: Vec<(&'static str, Statistics)>,
    /// What the timed runs spent, by mode.
    spent: Vec<(&'static str, Spent)>,
    /// Modes that cannot run it, and why.
    pub(crate) failures: Vec<(&'static str, Error)>,
    /// The largest distance of a cell of the models from that of the first mode, as a share of the largest cell.
    pub(crate) distance: f64,
    /// That of the products of X with the models, where there are such: where columns say nearly the same, models may
    /// differ by more than what they say.
    pub(crate) distance_on_data: Option<f64>,
}

/// What was measured of it.
pub(crate) struct Measured {
    workload: Workload,
    modes: InModes,
    /// What was measured of Gen where runs wait for LLVM.
    waiting: Waiting,
    /// What its iterations needed, for all rows of X.
    needs: Option<Needs>,
}

/// First runs that wait for LLVM.
pub(crate) struct Waiting {
    pub(crate) direct: Statistics,
    /// With the code that an earlier session kept.
    pub(crate) warm: Statistics,
    /// With LLVM's whole pipeline.
    pub(crate) optimised: Statistics,
    /// Without a plan cache.
    pub(crate) uncached: Statistics,
}

/// Measures one algorithm after the other, and shows all that is measured after each.
pub(crate) fn measure_each(
    scale: Scale,
    rounds: usize,
    is_wanted: impl Fn(&str) -> bool,
    mut show: impl FnMut(&[Measured]),
) {
    let mut measured = Vec::new();
    for workload in workloads(scale, rounds).into_iter().filter(|workload| is_wanted(workload.name)) {
        eprintln!("{} on {}", workload.name, workload.on);
        measured.push(measure(workload));
        show(&measured);
    }
}

pub(crate) fn section(measured: &[Measured]) -> Vec<Part> {
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
        let data = workload.data.generate();
        visit(&format!("{}, {}", workload.name, workload.on), &|session| {
            prepare(session, &workload, &workload.script, &data)
        });
    }
}

fn measure(workload: Workload) -> Measured {
    let data = workload.data.generate();
    let modes = in_modes(&workload, &data, &MODES);
    let Workload { name, on, .. } = &workload;
    assert!(modes.failures.is_empty(), "{name} on {on}: {:?}", modes.failures);
    assert!(modes.distance <= TOLERANCE, "{name} on {on}: models differ by {} of their cells", modes.distance);
    let waiting = Waiting::of(&workload, &data);
    let needs = needs(&workload, &data);
    Measured { modes, waiting, needs, workload }
}

/// Runs an algorithm in each of some modes, compares the models, and times the modes in turn.
pub(crate) fn in_modes(workload: &Workload, data: &Data, modes: &[Way]) -> InModes {
    let first_session = Session::new(conditions::options()).expect("a session");
    let session = |way: &Way| first_session.reconfigured(way.options()).expect("a session");
    let sessions: Vec<_> = modes.iter().map(|way| (way.name, session(way))).collect();
    assert_equal_conditions(sessions.iter().map(|(_, session)| session), data.blocks());
    let (mut scripts, mut first, mut failures) = (Vec::new(), Vec::new(), Vec::new());
    let mut models = Vec::new();
    for (name, session) in &sessions {
        let mut script = prepare(session, workload, &workload.script, data);
        match script.execute(&mut std::io::sink()) {
            Ok(outcome) => {
                models.push(outcome.matrix("M").expect("a model").to_dense().into_owned());
                first.push((*name, outcome.statistics));
                scripts.push((*name, script));
            }
            Err(error) => failures.push((*name, error)),
        }
    }
    let mut spent = vec![Spent::default(); scripts.len()];
    let mut contenders =
        vec![Contender::new(READ, || _ = black_box(data.read_one("X"))), Contender::new(MULTIPLY_ADDS, multiply_adds)];
    for ((name, script), spent) in scripts.iter_mut().zip(&mut spent) {
        contenders.push(Contender::new(*name, || {
            spent.add(|| script.execute(&mut std::io::sink()).expect("it ran before").statistics);
        }));
    }
    let most_seconds = if workload.rounds > FEW_ROUNDS { MOST_SECONDS } else { 0.0 };
    let times = in_turn_until(&mut contenders, workload.rounds, most_seconds, is_gen_decided);
    drop(contenders);
    let spent = first.iter().zip(spent).map(|((name, _), spent)| (*name, spent)).collect();
    let (first_model, others) = models.split_first().expect("a mode runs it");
    let distance = greatest(others.iter().map(|model| distance(model, first_model)));
    let says = |model: &Dense| product(&first_session, data, model);
    let distance_on_data = (first_model.rows() == data.cols("X")).then(|| {
        let expected = says(first_model);
        greatest(others.iter().map(|model| self::distance(&says(model), &expected)))
    });
    InModes { times, first, spent, failures, distance, distance_on_data }
}

/// Whether the rounds decide for each other mode if Gen is slower than it may be.
fn is_gen_decided(times: &[Times]) -> bool {
    let Some(own) = times.iter().find(|times| times.name == GEN) else { return true };
    let mut modes = times.iter().filter(|times| MODES.iter().any(|way| times.name == way.name));
    !modes.any(|other| other.name != GEN && is_undecided(own, other, 1.0 / SLOWDOWN))
}

/// The product of X with a model.
fn product(session: &Session, data: &Data, model: &Dense) -> Dense {
    let inputs = &[("X", DataType::MATRIX), ("M", DataType::MATRIX)];
    let interface = ScriptInterface { inputs, outputs: &["P"], ..ScriptInterface::default() };
    let mut script = session.prepare_script("<product>", "P = X %*% M", &interface).expect("the script is right");
    data.bind(&mut script, &["X"]);
    script.bind("M", model.clone()).expect("the script has this input");
    let outcome = script.execute(&mut std::io::sink()).unwrap_or_else(|error| panic!("{error}"));
    outcome.matrix("P").expect("a product").to_dense().into_owned()
}

/// Seconds that pass in some runs, that all processors together work meanwhile, and that matrix products take.
#[derive(Clone, Default)]
struct Spent {
    seconds: f64,
    processors: f64,
    products: f64,
}

impl Spent {
    fn add(&mut self, run: impl FnOnce() -> Statistics) {
        let (start, before) = (Instant::now(), processor_time());
        let statistics = run();
        self.products += statistics.heavy_hitters.get("ba(+*)").map_or(0.0, |hitter| hitter.seconds);
        self.seconds += start.elapsed().as_secs_f64();
        self.processors += processor_time() - before;
    }
}

/// Seconds that the processors have worked for this program, all together.
pub(crate) fn processor_time() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}

/// The largest distance of a cell from that of another matrix, as a share of the largest cell.
fn distance(model: &Dense, expected: &Dense) -> f64 {
    let pairs = model.values().iter().zip(expected.values());
    greatest(pairs.map(|(a, b)| (a - b).abs())) / greatest(expected.values().iter().map(|value| value.abs()))
}

/// The greatest of values that are not negative; no number if one of them is none.
fn greatest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, |most, value| if value > most || value.is_nan() { value } else { most })
}

impl Waiting {
    pub(crate) fn of(workload: &Workload, data: &Data) -> Waiting {
        let statistics = |options: CompileOptions| compiled_anew(workload, data, options);
        let llvm = CompileOptions { backend: BackendKind::Llvm, ..CompileOptions::default() };
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let keeping = CompileOptions { code_folder: Some(folder.path().to_owned()), ..llvm.clone() };
        Waiting {
            direct: statistics(keeping.clone()),
            warm: statistics(keeping),
            optimised: statistics(CompileOptions { llvm: LlvmLevel::O3, ..llvm.clone() }),
            uncached: statistics(CompileOptions { plan_cache: false, ..llvm }),
        }
    }
}

/// The counters of a run in a new session.
pub(crate) fn compiled_anew(workload: &Workload, data: &Data, options: CompileOptions) -> Statistics {
    let session = Session::new(options).expect("a session");
    run(workload, &mut prepare(&session, workload, &workload.script, data), &mut std::io::sink()).statistics
}

/// What the iterations of an algorithm need, for all rows of X, where that is known.
pub(crate) fn needs(workload: &Workload, data: &Data) -> Option<Needs> {
    let needs = workload.needs?;
    let verbose = workload.script.replace("verbose=FALSE", "verbose=TRUE");
    let session = Session::new(CompileOptions::default()).expect("a session");
    let mut printed = Vec::new();
    run(workload, &mut prepare(&session, workload, &verbose, data), &mut printed);
    let (outer, steps) = iterations(&String::from_utf8_lossy(&printed));
    let needs = needs(outer, steps);
    Some(Needs { flops: needs.flops * data.rows("X") as f64, ..needs })
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

impl InModes {
    /// The times of a mode that runs the algorithm, or of what runs beside.
    pub(crate) fn times_of(&self, name: &str) -> Option<&Times> {
        self.times.iter().find(|times| times.name == name)
    }

    /// The counters of the first run of a mode.
    pub(crate) fn first_of(&self, name: &str) -> Option<&Statistics> {
        self.first.iter().find(|(mode, _)| *mode == name).map(|(_, statistics)| statistics)
    }

    /// How many threads were busy on average while a mode ran.
    pub(crate) fn busy_threads(&self, name: &str) -> Option<f64> {
        self.spent_by(name).map(|spent| spent.processors / spent.seconds)
    }

    /// How many times as fast as a mode its matrix products are, if all else took no time.
    pub(crate) fn products_alone(&self, name: &str) -> Option<f64> {
        self.spent_by(name).map(|spent| spent.seconds / spent.products)
    }

    fn spent_by(&self, name: &str) -> Option<&Spent> {
        self.spent.iter().find(|(mode, _)| *mode == name).map(|(_, spent)| spent)
    }

    /// How many times as long one mode takes as another, where both run.
    pub(crate) fn slowdown(&self, name: &str, over: &str) -> Option<f64> {
        Some(1.0 / self.times_of(name)?.speedup_over(self.times_of(over)?))
    }

    /// The time of scanning X and what is beside it, and of computing, that the iterations take at least.
    pub(crate) fn bounds(&self, needs: Needs) -> Option<(f64, f64)> {
        let scanning = (needs.scans + needs.columns / COLUMNS) * self.times_of(READ)?.median();
        let computing = needs.flops / multiply_add_flops() * self.times_of(MULTIPLY_ADDS)?.median();
        Some((scanning, scanning + computing))
    }
}

impl Measured {
    fn of(&self, name: &str) -> &Times {
        self.modes.times_of(name).expect("all modes are timed")
    }
}

fn times(measured: &[Measured]) -> Part {
    let mut header = vec!["algorithm", "data"];
    header.extend(MODES.map(|way| way.name));
    header.extend(["spread", "slowdown", "scans of X", "scan bound", "and FLOPs", "Gen / both"]);
    let rows = measured.iter().map(|row| {
        let own = row.of(GEN);
        let mut cells = vec![row.workload.name.to_owned(), row.workload.on.clone()];
        cells.extend(MODES.map(|way| time(row.of(way.name).median())));
        let slowdowns = MODES.iter().map(|way| 1.0 / own.speedup_over(row.of(way.name)));
        cells.push(format!("{:.0} %", 100.0 * own.spread()));
        cells.push(format!("{:.2}", slowdowns.fold(0.0, f64::max)));
        match row.needs {
            Some(needs) => {
                let (scanning, bound) = row.modes.bounds(needs).expect("reading is timed, too");
                cells.extend([
                    format!("{:.0}", needs.scans),
                    time(scanning),
                    time(bound),
                    digits(own.median() / bound),
                ]);
            }
            None => cells.extend(["-"; 4].map(str::to_owned)),
        }
        cells
    });
    Part::table(&header, rows.collect())
}

fn plot(measured: &[Measured]) -> Part {
    let series: Vec<String> = MODES.iter().map(|way| way.name.to_owned()).collect();
    let group = |row: &Measured| Group {
        name: format!("{}, {}", row.workload.name, row.workload.on),
        bars: MODES
            .iter()
            .map(|way| {
                let name = way.name;
                let speed = row.of(name).speedup_over(row.of(BASE));
                Some(Bar { length: speed, label: format!("{speed:.2}") })
            })
            .collect(),
    };
    let title = "Speed of algorithms as a multiple of basic operators'".to_owned();
    let svg = bars::plot(&title, &series, &measured.iter().map(group).collect::<Vec<_>>());
    Part::Plot { name: "algorithms".into(), title, svg }
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
        let first = row.modes.first_of(GEN).expect("Gen runs everything");
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
