//! Instruction footprint (section 5.2 of the paper): `sum(f(X/rowSums(X)))`, where `f` is a sequence of `n` row
//! operations `X*i`, with calls of shared vector primitives, with inlined code, and by cost.
//!
//! The factors are inputs, so that nothing folds.

use crate::by_hand::dense::scaled_rows;
use crate::document::{Part, time};
use crate::instruction_misses::{Misses, counted, simulated};
use crate::lines;
use crate::rounds::{Contender, Times, in_turn};
use crate::workloads::Scale;
use fuseline::ir::DataType;
use fuseline::{BackendKind, CompileOptions, CompileStage, Dense, MatrixBlock, Mode, ScriptInterface, Session};
use fuseline_ir::cplan::VerifiedCPlan;
use fuseline_ir::work::STRIP_BYTES;
use fuseline_llvm_backend::{LlvmBackend, LlvmOptions, PrimitiveMode};
use fuseline_matrix::BufferPool;
use fuseline_skeletons::{Backend, CompiledCPlan, Counters, Execution};
use std::hint::black_box;

/// The numbers of row operations.
const OPERATIONS: [usize; 11] = [1, 3, 10, 31, 100, 127, 128, 140, 180, 300, 1000];
const MODES: [(&str, PrimitiveMode); 3] =
    [("shared", PrimitiveMode::Shared), ("inlined", PrimitiveMode::Inlined), ("auto", PrimitiveMode::Auto)];
/// Places of the first two.
const SHARED: usize = 0;
const INLINED: usize = 1;
/// A loop that hands vectors on in the first-level cache, as shared code does, without calls.
const BY_HAND: &str = "by hand";
const COLS: usize = 1000;

/// How a sum by hand may differ: it adds in another order, and multiplies in that of the factors.
const TOLERANCE: f64 = 1e-9;

/// The numbers of them whose instruction misses are simulated, where they are.
const SIMULATED: [usize; 3] = [10, 100, 1000];

/// The least number of misses that is told from none in the plot, whose axes are logarithmic.
const LEAST_MISSES: f64 = 1e-3;

/// The most time that the compilation of shared code may take, by the number of operations.
const COMPILE_BOUNDS: [(usize, f64); 2] = [(100, 5e-3), (1000, 15e-3)];

/// What is known of one number of operations.
pub(crate) struct Measured {
    pub(crate) operations: usize,
    rows: usize,
    compiled: Vec<CompiledCPlan>,
    compile_seconds: Vec<f64>,
    times: Vec<Times>,
    by_hand: Times,
    misses: Vec<Misses>,
}

/// Runs one operator once over so many rows, on one thread.
pub(crate) fn run_once(code: &str, operations: &str, rows: &str) {
    let [operations, rows] = [operations, rows].map(|number| number.parse().expect("a number"));
    let (_, prims) = MODES.into_iter().find(|(name, _)| *name == code).expect("shared, inlined or auto");
    let compiled = backend(prims).compile(&plan(operations)).expect("plans of this length compile");
    black_box(Machine::new(rows, 1).run(&compiled, &factors(operations)));
}

fn backend(prims: PrimitiveMode) -> LlvmBackend {
    LlvmBackend::new(LlvmOptions { prims, ..LlvmOptions::default() }).expect("a machine with AVX2")
}

pub(crate) fn measure(scale: Scale, rounds: usize) -> Vec<Measured> {
    let backends = MODES.map(|(_, prims)| {
        let backend = backend(prims);
        // The first plan pays for what LLVM sets up once.
        backend.compile(&plan(1)).expect("plans compile");
        backend
    });
    let of = |operations: usize| {
        eprintln!("footprint, n = {operations}");
        let simulates = scale == Scale::Full && SIMULATED.contains(&operations);
        measure_one(&backends, operations, rows(scale, operations), rounds, simulates)
    };
    OPERATIONS.into_iter().map(of).collect()
}

pub(crate) fn section(measured: &[Measured]) -> Vec<Part> {
    let mut parts = vec![
        Part::heading("Instruction footprint"),
        Part::text(
            "`sum(f(X/rowSums(X)))` with `n` row operations `X*i` in `f`, X dense with 1000 columns: calls of shared \
             vector primitives, inlined code, what is chosen by cost, and a loop by hand that loads and stores a row for \
             every operation. ns are those of one thread, for each cell and \
             operation of `f`. Buffers are the vectors that a thread holds besides rows of X. L1i misses are those of the \
             first-level instruction cache, for each row and operation: counted by the machine, or simulated by cachegrind \
             in the full form of the report (32 KiB, AVX2; `valgrind --tool=cachegrind --cache-sim=yes paper-* \
             footprint-run CODE n ROWS`).",
        ),
        table(measured),
        plot(measured),
        Part::text(
            "Inlined code is one loop over a row, that runs through all of its instructions for each few cells: once it is \
             larger than the cache, every line of it misses each time. Code that calls primitives makes one call for each \
             operation and tile of rows; the loops are those of the primitives and stay in the cache. Many calls are lines of \
             a table, which is no code.",
        ),
    ];
    parts.extend(misses_plot(measured));
    parts.extend([
        Part::text(
            "Bounds: shared code takes at most 1.15 times as long as inlined code, the choice by cost at most 1.05 times \
             as long as the better of the two, and shared code compiles in at most 5 ms (n = 100) and 15 ms (n = 1000).",
        ),
        bounds(measured),
    ]);
    parts
}

/// Fewer rows where there is much to do with each.
fn rows(scale: Scale, operations: usize) -> usize {
    let rows = (10_000_000 / operations).clamp(10_000, 100_000);
    if scale == Scale::Full { rows } else { rows / 10 }
}

/// Close to 1, so that no product overflows or vanishes.
fn factors(operations: usize) -> Vec<f64> {
    (0..operations).map(|index| 1.0 + (index % 7) as f64 / 4096.0 - 3.0 / 4096.0).collect()
}

fn measure_one(
    backends: &[LlvmBackend; 3],
    operations: usize,
    rows: usize,
    rounds: usize,
    simulates: bool,
) -> Measured {
    let (machine, factors) = (Machine::new(rows, rayon::current_num_threads()), factors(operations));
    let plan = plan(operations);
    let (compiled, compile_seconds): (Vec<_>, Vec<_>) = backends
        .iter()
        .map(|backend| {
            let compile = || backend.compile(&plan).expect("plans of this length compile");
            let mut seconds: Vec<f64> = (0..rounds).map(|_| compile().info.duration.as_secs_f64()).collect();
            seconds.sort_by(f64::total_cmp);
            (compile(), seconds[rounds / 2])
        })
        .unzip();
    let results: Vec<u64> = compiled.iter().map(|compiled| machine.run(compiled, &factors).to_bits()).collect();
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "the kinds of code differ");
    let cells = machine.x.to_dense();
    let by_hand = || scaled_rows(cells.values(), COLS, &factors);
    let (sum, expected) = (by_hand(), f64::from_bits(results[0]));
    assert!((sum - expected).abs() <= TOLERANCE * expected.abs(), "by hand {sum}, and {expected}");
    let mut contenders: Vec<Contender<'_>> = MODES
        .iter()
        .zip(&compiled)
        .map(|((name, _), compiled)| {
            let (machine, factors) = (&machine, &factors);
            Contender::new(*name, move || _ = black_box(machine.run(compiled, factors)))
        })
        .collect();
    contenders.push(Contender::new(BY_HAND, || _ = black_box(by_hand())));
    let mut times = in_turn(&mut contenders, rounds);
    drop(contenders);
    let by_hand = times.pop().expect("the last contender");
    let misses = MODES.iter().zip(&compiled).map(|((name, _), compiled)| {
        let run = || machine.misses(compiled, &factors).map(|misses| misses / (rows * operations) as f64);
        let simulate = || simulates.then(|| simulated(name, operations)).flatten();
        run().map(Misses::Counted).or_else(|| simulate().map(Misses::Simulated)).unwrap_or(Misses::Unknown)
    });
    let misses = misses.collect();
    Measured { operations, rows, compiled, compile_seconds, times, by_hand, misses }
}

/// The plan of the script `sum(f(X/rowSums(X)))` with this many operations in `f`, fused as far as possible. Without
/// rewrites, which would multiply the factors first.
fn plan(operations: usize) -> VerifiedCPlan {
    let options = CompileOptions {
        mode: Mode::GenFuseAll,
        rewrites: false,
        backend: BackendKind::Interp,
        threads: 1,
        ..CompileOptions::default()
    };
    let session = Session::new(options).expect("a session");
    let names: Vec<String> = (0..operations).map(|index| format!("i{index}")).collect();
    let text = format!("s = sum(X / rowSums(X) * {})", names.join(" * "));
    let mut inputs: Vec<(&str, DataType)> = names.iter().map(|name| (name.as_str(), DataType::F64)).collect();
    inputs.push(("X", DataType::MATRIX));
    let interface = ScriptInterface { inputs: &inputs, outputs: &["s"], ..ScriptInterface::default() };
    let mut script = session.prepare_script("footprint", &text, &interface).expect("the script is right");
    script.bind("X", Dense::from_fn(10, COLS, |_, _| 1.0)).expect("X is an input");
    for name in &names {
        script.bind(name, 1.0).expect("factors are inputs");
    }
    let mut plans = Vec::new();
    let mut observe = |stage: CompileStage<'_>| {
        if let CompileStage::Operator(_, compiled) = stage {
            plans.push(compiled.plan().clone());
        }
    };
    script.execute_observed(&mut std::io::sink(), &mut observe).expect("the script runs");
    let [plan] = &plans[..] else { panic!("{} operators, where all is one", plans.len()) };
    plan.clone()
}

/// What executions need, and their input.
struct Machine {
    x: MatrixBlock,
    pool: rayon::ThreadPool,
    /// One thread, whose misses are counted.
    single: rayon::ThreadPool,
    buffers: std::sync::Arc<BufferPool>,
    counters: Counters,
}

impl Machine {
    fn new(rows: usize, threads: usize) -> Self {
        let x = Dense::from_fn(rows, COLS, |i, j| ((i * 7 + j * 13) % 17) as f64 / 16.0 + 0.5).into();
        let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a thread pool");
        Machine {
            x,
            pool: pool(threads),
            single: pool(1),
            buffers: BufferPool::new(1 << 30),
            counters: Counters::default(),
        }
    }

    fn run(&self, compiled: &CompiledCPlan, factors: &[f64]) -> f64 {
        self.run_on(&self.pool, compiled, factors)
    }

    /// Misses of the instruction cache in a run on one thread, where they are counted.
    fn misses(&self, compiled: &CompiledCPlan, factors: &[f64]) -> Option<f64> {
        let run = || _ = black_box(self.run_on(&self.single, compiled, factors));
        self.single.install(|| counted(run)).map(|misses| misses as f64)
    }

    fn run_on(&self, pool: &rayon::ThreadPool, compiled: &CompiledCPlan, factors: &[f64]) -> f64 {
        let primitives = fuseline_vecprims::primitives(fuseline_vecprims::Isa::detect());
        let env = Execution {
            pool,
            buffers: &self.buffers,
            counters: &self.counters,
            primitives,
            strict_ieee: false,
            strip_bytes: STRIP_BYTES,
        };
        let sum = fuseline_skeletons::execute(compiled, std::slice::from_ref(&self.x), factors, &env);
        sum.expect("the plan runs").get(0, 0)
    }
}

impl Measured {
    /// Nanoseconds of a thread for each cell and operation, in calls of shared primitives.
    pub(crate) fn shared_nanoseconds(&self) -> f64 {
        self.nanoseconds(&self.times[SHARED])
    }

    /// The time of calls of shared primitives as a multiple of that of inlined code.
    pub(crate) fn shared_over_inlined(&self) -> f64 {
        self.times[INLINED].speedup_over(&self.times[SHARED])
    }

    /// The time of a loop that hands vectors on without calls as a multiple of that of inlined code.
    pub(crate) fn by_hand_over_inlined(&self) -> f64 {
        self.times[INLINED].speedup_over(&self.by_hand)
    }

    /// The vectors that a thread holds besides rows of X, in calls of shared primitives.
    pub(crate) fn shared_buffers(&self) -> usize {
        self.compiled[SHARED].buffers()
    }

    /// Nanoseconds of a thread for each cell and operation.
    fn nanoseconds(&self, times: &Times) -> f64 {
        let threads = rayon::current_num_threads();
        times.median() * 1e9 * threads as f64 / (self.rows * COLS * self.operations) as f64
    }
}

fn table(measured: &[Measured]) -> Part {
    let by_hand = |row: &Measured| {
        let measured = [time(row.by_hand.median()), format!("{:.4}", row.nanoseconds(&row.by_hand))];
        let spread = format!("{:.0} %", 100.0 * row.by_hand.spread());
        let first = [row.operations.to_string(), row.rows.to_string(), BY_HAND.to_owned()];
        first.into_iter().chain(measured).chain([spread]).chain(["-"; 4].map(str::to_owned)).collect::<Vec<_>>()
    };
    let rows = measured.iter().flat_map(|row| {
        let columns = row.times.iter().zip(&row.compiled).zip(&row.compile_seconds).zip(&row.misses);
        let of_code = columns.map(|(((times, compiled), compile), misses)| {
            vec![
                row.operations.to_string(),
                row.rows.to_string(),
                times.name.clone(),
                time(times.median()),
                format!("{:.4}", row.nanoseconds(times)),
                format!("{:.0} %", 100.0 * times.spread()),
                compiled.info.code_bytes.to_string(),
                time(*compile),
                compiled.buffers().to_string(),
                misses.to_string(),
            ]
        });
        of_code.chain([by_hand(row)])
    });
    let header = ["n", "rows", "code", "time", "ns/op", "spread", "code bytes", "compile", "buffers", "L1i misses"];
    Part::table(&header, rows.collect())
}

fn plot(measured: &[Measured]) -> Part {
    let title = "Nanoseconds per cell and operation over the number of operations";
    let point = |row: &Measured, mode: usize| Some(row.nanoseconds(&row.times[mode]));
    plot_of("footprint", title, "ns per cell and operation", measured, point)
}

/// What is known of misses, if anything is.
fn misses_plot(measured: &[Measured]) -> Option<Part> {
    measured.iter().flat_map(|row| &row.misses).find_map(|misses| misses.known())?;
    let title = "L1i misses per row and operation over the number of operations";
    let point = |row: &Measured, mode: usize| row.misses[mode].known().map(|misses| misses.max(LEAST_MISSES));
    Some(plot_of("footprint-misses", title, "misses per row and operation", measured, point))
}

fn plot_of(
    name: &'static str,
    title: &str,
    of: &str,
    measured: &[Measured],
    point: impl Fn(&Measured, usize) -> Option<f64>,
) -> Part {
    let series: Vec<String> = MODES.iter().map(|(name, _)| (*name).to_owned()).collect();
    let line =
        |mode: usize| measured.iter().filter_map(|row| Some((row.operations as f64, point(row, mode)?))).collect();
    let points: Vec<Vec<(f64, f64)>> = (0..series.len()).map(line).collect();
    let svg = lines::plot(title, ["operations", of], &series, &points);
    Part::Plot { name: name.into(), title: title.to_owned(), svg }
}

fn bounds(measured: &[Measured]) -> Part {
    let mut rows = Vec::new();
    let mut add = |row: &Measured, what: &str, most: String, reached: String, holds: bool| {
        let verdict = if holds { "holds" } else { "missed" };
        rows.push(vec![row.operations.to_string(), what.to_owned(), most, reached, verdict.to_owned()]);
    };
    for row in measured.iter().filter(|row| row.operations >= 100) {
        let [shared, inlined, auto] = &row.times[..] else { continue };
        let ratio = inlined.speedup_over(shared);
        add(row, "time, shared / inlined", "1.15".into(), format!("{ratio:.2}"), ratio <= 1.15);
        let ratio = shared.speedup_over(auto).max(inlined.speedup_over(auto));
        add(row, "time, auto / the better", "1.05".into(), format!("{ratio:.2}"), ratio <= 1.05);
        if let Some((_, most)) = COMPILE_BOUNDS.iter().find(|(operations, _)| *operations == row.operations) {
            let seconds = row.compile_seconds[0];
            add(row, "compile, shared", time(*most), time(seconds), seconds <= *most);
        }
    }
    Part::table(&["n", "what", "at most", "reached", ""], rows)
}
