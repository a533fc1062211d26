//! The six algorithms of the paper: every mode in turn, against the time that scanning X takes, and what compilation
//! costs.

use crate::bars::{self, Bar, Group};
use crate::document::{Part, digits, time};
use crate::rounds::{Contender, Times, in_turn};
use crate::workload::{Data, READ};
use crate::workloads::Scale;
use fuseline::ir::DataType;
use fuseline::{
    BackendKind, CompileOptions, LlvmLevel, Mode, Outcome, PreparedScript, ScriptInterface, Session, Statistics,
};
use std::hint::black_box;

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

/// An algorithm on some data.
struct Workload {
    name: &'static str,
    on: String,
    /// Assigns `X` and `Y`.
    data: String,
    /// Assigns the model `M`.
    script: String,
    /// Scans of X that the algorithm needs, by its outer iterations and all steps within them.
    scans: Option<fn(f64, f64) -> f64>,
    /// The paper's hits of the plan cache, and its plans.
    paper_hits: (u32, u32),
    rounds: usize,
}

/// What was measured of it.
struct Measured {
    workload: Workload,
    times: Vec<Times>,
    /// Of the first run, by mode, with everything compiled for it.
    first: Vec<Statistics>,
    /// The same of Gen where runs wait for LLVM.
    waiting: Waiting,
    scans: Option<f64>,
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

pub(crate) fn section(scale: Scale, rounds: usize, is_wanted: impl Fn(&str) -> bool) -> Vec<Part> {
    let wanted = workloads(scale, rounds).into_iter().filter(|workload| is_wanted(workload.name));
    let measured: Vec<Measured> = wanted
        .map(|workload| {
            eprintln!("{} on {}", workload.name, workload.on);
            measure(workload)
        })
        .collect();
    if measured.is_empty() {
        return Vec::new();
    }
    vec![
        Part::heading("Algorithms"),
        Part::text(
            "The script library as the paper's table 2 configures it, data in memory: runs of prepared scripts, without \
             compilation, the modes in turn. *slowdown* is the largest ratio of Gen's time to that of another mode. The \
             scan bound is the time of reading X as often as the algorithm must.",
        ),
        times(&measured),
        plot(&measured),
        Part::heading("Compilation"),
        Part::text(
            "The first run of each script in a new session with nothing compiled: the time in the optimizer, and the \
             time that the run waited for code, where units are interpreted meanwhile (the default), where nothing \
             runs until LLVM is done (*LLVM alone*), with the code that an earlier session kept in a folder, with \
             LLVM's whole pipeline (*O3*) and without a plan cache; the share of constructed plans that were found in \
             the plan cache, beside the paper's. What plans are enumerated is the subject of `docs/optimizer.md`.",
        ),
        compilation(&measured),
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

/// The same script for every size of data.
fn workloads(scale: Scale, rounds: usize) -> Vec<Workload> {
    let workload = |name, (on, data): (String, String), script: &str, scans, paper_hits| Workload {
        name,
        on,
        data,
        script: script.to_owned(),
        scans,
        paper_hits,
        rounds,
    };
    let (rows, more_rows, sparse_rows) = match scale {
        Scale::Quick => (100_000, None, 2_000),
        Scale::Full => (1_000_000, Some(10_000_000), 60_000),
    };
    let ratings = if scale == Scale::Full { (20_000, 10_000) } else { (1_000, 1_000) };
    let images = if scale == Scale::Full { 10_000 } else { 600 };
    let mut all = Vec::new();
    let sizes = [Some((rows, rounds, "")), more_rows.map(|rows| (rows, 3, ", 4 iterations"))];
    for (rows, rounds, shortened) in sizes.into_iter().flatten() {
        let on = |classes: usize, note: &str| {
            labelled(&format!("dense, {rows} x 10{note}{shortened}"), rows, 10, "1", classes)
        };
        let workload = |name, on, script: &str, scans, paper_hits| {
            // More iterations would show the same, in five times the time.
            let script =
                if shortened.is_empty() { script.to_owned() } else { script.replace("maxIter=20", "maxIter=4") };
            Workload { rounds, ..workload(name, on, &script, Some(scans), paper_hits) }
        };
        all.extend([
            workload("L2SVM", on(2, ""), L2SVM, |outer, _| 1.0 + 2.0 * outer, (4, 20)),
            workload("MLogreg", on(5, ", 5 classes"), MLOGREG, |outer, steps| 1.0 + 2.0 * outer + steps, (1494, 1520)),
            workload("GLM", on(2, ""), GLM, |outer, steps| 2.0 + 2.0 * outer + steps, (88, 145)),
            workload("KMeans", on(2, ""), KMEANS, |outer, _| 2.0 + outer, (27, 45)),
        ]);
    }
    let sparse = || labelled(&format!("sparse 0.2, {sparse_rows} x 784"), sparse_rows, 784, "0.2", 2);
    all.extend([
        workload("L2SVM", sparse(), L2SVM, None, (4, 20)),
        workload("MLogreg", sparse(), MLOGREG, None, (1494, 1520)),
        workload("GLM", sparse(), GLM, None, (88, 145)),
        workload("KMeans", sparse(), KMEANS, None, (27, 45)),
        workload("ALS-CG", rated(ratings), ALS_CG, None, (5636, 5657)),
        workload(
            "AutoEncoder",
            labelled(&format!("dense, {images} x 784"), images, 784, "1", 2),
            AUTOENCODER,
            None,
            (2242, 2259),
        ),
    ]);
    all
}

const L2SVM: &str =
    "M = l2svm(X=X, Y=Y, intercept=FALSE, reg=0.001, tol=1e-12, maxIter=20, maxInnerIter=1000, verbose=FALSE)";
const MLOGREG: &str =
    "M = multiLogReg(X=X, Y=Y, intercept=0, reg=0.001, tol=1e-12, maxIter=20, maxInnerIter=10, verbose=FALSE)";
const GLM: &str =
    "M = glm(X=X, Y=Y, dfam=2, link=3, yneg=1, reg=0.001, tol=1e-12, maxIter=20, maxInnerIter=10, verbose=FALSE)";
const KMEANS: &str = "[M, Z] = kmeans(X=X, k=5, runs=1, maxIter=20, tol=1e-12, seed=1, verbose=FALSE)";
const ALS_CG: &str = "[M, V] = alsCG(X=X, rank=20, regType='wL2', reg=0.001, maxIter=20, check=TRUE, threshold=1e-12)";
/// The weights to start from are part of the script, since the algorithm draws others at random.
const AUTOENCODER: &str = "W1 = rand(rows=500, cols=ncol(X), min=-1, max=1, seed=1)
    W2 = rand(rows=2, cols=500, min=-1, max=1, seed=2)
    W3 = rand(rows=500, cols=2, min=-1, max=1, seed=3)
    W4 = rand(rows=ncol(X), cols=500, min=-1, max=1, seed=4)
    places = rand(rows=nrow(X), cols=1, min=0, max=1, seed=5)
    [M, b1, V2, b2, V3, b3, V4, b4, H] = autoencoder_2layer(X=X, numHidden1=500, numHidden2=2, epochs=1, batchSize=512,
        W1=W1, W2=W2, W3=W3, W4=W4, Order=places)";

/// Data in words and its script: labels follow from linear scores with some noise.
fn labelled(on: &str, rows: usize, cols: usize, sparsity: &str, classes: usize) -> (String, String) {
    let data = format!(
        "X = rand(rows={rows}, cols={cols}, min=-1, max=1, sparsity={sparsity}, seed=1)
         S = X %*% matrix(cos(seq(1, {cells})), rows={cols}, cols={classes})
         Y = rowIndexMax(S + rand(rows={rows}, cols={classes}, min=-0.5, max=0.5, seed=2))",
        cells = cols * classes
    );
    (on.to_owned(), data)
}

fn rated((rows, cols): (usize, usize)) -> (String, String) {
    let data = format!(
        "X = rand(rows={rows}, cols={cols}, min=1, max=5, sparsity=0.01, seed=1)
         Y = matrix(1, rows={rows}, cols=1)"
    );
    (format!("sparse 0.01, {rows} x {cols}"), data)
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
    let mut contenders = vec![Contender::new(READ, || _ = black_box(data.read_one("X")))];
    for ((name, _), script) in MODES.iter().zip(&mut scripts) {
        contenders.push(Contender::new(*name, || _ = script.execute(&mut std::io::sink()).expect("it ran before")));
    }
    let times = in_turn(&mut contenders, workload.rounds);
    drop(contenders);
    let scans = workload.scans.map(|scans| {
        let verbose = workload.script.replace("verbose=FALSE", "verbose=TRUE");
        let mut printed = Vec::new();
        run(&workload, &mut prepare(&sessions[0], &workload, &verbose, &data), &mut printed);
        let (outer, steps) = iterations(&String::from_utf8_lossy(&printed));
        scans(outer, steps)
    });
    let first = outcomes.map(|outcome| outcome.statistics).into();
    Measured { times, first, waiting, scans, workload }
}

fn run(workload: &Workload, script: &mut PreparedScript<'_>, output: &mut dyn std::io::Write) -> Outcome {
    script.execute(output).unwrap_or_else(|error| panic!("{}: {error}", workload.name))
}

fn prepare<'s>(session: &'s Session, workload: &Workload, text: &str, data: &Data) -> PreparedScript<'s> {
    let interface = ScriptInterface {
        inputs: &[("X", DataType::Matrix), ("Y", DataType::Matrix)],
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
    header.extend(["spread", "slowdown", "scans of X", "scan bound", "Gen / scan bound"]);
    let rows = measured.iter().map(|row| {
        let own = row.of(GEN);
        let mut cells = vec![row.workload.name.to_owned(), row.workload.on.clone()];
        cells.extend(MODES.map(|(name, _)| time(row.of(name).median())));
        let slowdowns = MODES.iter().map(|(name, _)| 1.0 / own.speedup_over(row.of(name)));
        cells.push(format!("{:.0} %", 100.0 * own.spread()));
        cells.push(format!("{:.2}", slowdowns.fold(0.0, f64::max)));
        match row.scans {
            Some(scans) => {
                let bound = scans * row.of(READ).median();
                let ratio = row.of(READ).speedup_over(own) / scans;
                cells.extend([format!("{scans:.0}"), time(bound), digits(ratio)]);
            }
            None => cells.extend(["-"; 3].map(str::to_owned)),
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
        "plans",
        "hits",
        "paper's hits",
    ];
    let rows = measured.iter().map(|row| {
        let first = row.first_of_gen();
        let (hits, plans) = row.workload.paper_hits;
        let share = |hits: f64, plans: f64| format!("{:.0} %", 100.0 * hits / plans.max(1.0));
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
            share(first.plan_cache_hits as f64, first.cplans as f64),
            share(f64::from(hits), f64::from(plans)),
        ]
    });
    Part::table(&header, rows.collect())
}
