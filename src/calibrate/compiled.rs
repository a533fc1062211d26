//! Rates of the compiler and of fused operators: scripts, and what the statistics say of their operators.

use super::rounds::Sample;
use crate::error::Error;
use crate::options::{BackendKind, CompileOptions};
use crate::session::Session;
use fuseline_passes::program::ProgramOptions;
use fuseline_runtime::{Mode, Statistics, Variables};

/// Multiplications and additions of the polynomial of [`arithmetic_script`].
const CHAIN: usize = 24;
/// All operations per cell: the last product and the sum, too.
const OPERATIONS: usize = CHAIN + 2;
/// Cells of its matrix, which stays in the second-level cache of every thread.
const CELLS_PER_THREAD: usize = 32_768;
/// Columns of the matrix of short rows.
const SHORT: usize = 8;
/// The statistics' names of the operators that the scripts run.
const BASIC: &str = "b(*)";
const FUSED: &str = "spoof(cell)";
const BY_ROWS: &str = "spoof(row)";
/// How often each operator runs.
const REPEATS: usize = 100;

/// What scripts told.
pub(super) struct Compiled {
    /// Floating-point operations per second of all threads.
    pub(super) arithmetic: Sample,
    /// Seconds to start a basic operator.
    pub(super) start_basic: Sample,
    /// Seconds to start a fused operator.
    pub(super) start_fused: Sample,
    /// Seconds of one thread for a row of [`SHORT`] values, with which there are two products.
    pub(super) short_row: Sample,
    /// Seconds to compile a fused operator.
    pub(super) compile: Sample,
}

impl Compiled {
    /// Seconds to start a run: what two products with a row of few values take besides their operations, at this many of
    /// them per second.
    pub(super) fn run_seconds(&self, products: f64) -> f64 {
        ((self.short_row.median - (4 * SHORT) as f64 / products) / 2.0).max(0.0)
    }
}

/// Runs the scripts in turn, round after round.
pub(super) fn measure(rounds: usize) -> Result<Compiled, Error> {
    let gen_options = options(Mode::Gen);
    let threads = gen_options.threads();
    let cells = CELLS_PER_THREAD * threads;
    let [mut rates, mut basic, mut fused, mut short_rows, mut compile] = [const { Vec::new() }; 5];
    for _ in 0..rounds {
        let tiny_basic = run(&options(Mode::Base), &tiny_script())?;
        let start_basic = per_operator(&tiny_basic, BASIC)?;
        let tiny_fused = run(&gen_options, &tiny_script())?;
        let start_fused = per_operator(&tiny_fused, FUSED)?;
        let chain = run(&gen_options, &arithmetic_script(threads))?;
        let seconds = (per_operator(&chain, FUSED)? - start_fused).max(1e-9);
        rates.push((OPERATIONS * cells) as f64 / seconds);
        let rows = per_operator(&run(&gen_options, &short_rows_script(threads))?, BY_ROWS)? - start_fused;
        short_rows.push(rows.max(0.0) * (threads * SHORT) as f64 / cells as f64);
        basic.push(start_basic);
        fused.push(start_fused);
        compile.extend([&tiny_fused, &chain].map(per_compilation));
    }
    Ok(Compiled {
        arithmetic: Sample::of(rates),
        start_basic: Sample::of(basic),
        start_fused: Sample::of(fused),
        short_row: Sample::of(short_rows),
        compile: Sample::of(compile),
    })
}

/// Nothing is simplified, so that what is written is what runs.
fn options(mode: Mode) -> CompileOptions {
    CompileOptions {
        mode,
        backend: BackendKind::for_measurement(),
        rewrites: false,
        program: ProgramOptions::NONE,
        ..CompileOptions::default()
    }
}

fn run(options: &CompileOptions, text: &str) -> Result<Statistics, Error> {
    let session = Session::new(options.clone())?;
    let script = session.compile_script("calibrate", text, &[])?;
    Ok(session.run(&script, Variables::new(), &mut std::io::sink())?.statistics)
}

/// Mean seconds of the operators of this name.
fn per_operator(statistics: &Statistics, name: &'static str) -> Result<f64, Error> {
    let hitter = statistics.heavy_hitters.get(name).ok_or(Error::NotMeasured(name))?;
    Ok(hitter.seconds / hitter.count as f64)
}

fn per_compilation(statistics: &Statistics) -> f64 {
    statistics.codegen_seconds / statistics.operators_compiled.max(1) as f64
}

/// A sum of products of tiny matrices.
fn tiny_script() -> String {
    format!("X = rand(rows=4, cols=4, seed=1)\nfor (i in 1:{REPEATS}) {{\n  s = sum(X * X * (X + i))\n}}\n")
}

/// Two products with a matrix of short rows, in one pass over them.
fn short_rows_script(threads: usize) -> String {
    let rows = CELLS_PER_THREAD * threads / SHORT;
    format!(
        "X = rand(rows={rows}, cols={SHORT}, seed=1)\nv = rand(rows={SHORT}, cols=1, seed=2)\n\
         for (i in 1:{REPEATS}) {{\n  v = t(X) %*% (X %*% v) / {rows}\n}}\n"
    )
}

/// The sum of a polynomial, by Horner's rule.
fn arithmetic_script(threads: usize) -> String {
    let rows = CELLS_PER_THREAD * threads / 64;
    let polynomial = (1..CHAIN / 2).fold("(X * 0.5 + 0.25)".to_owned(), |inner, _| format!("({inner} * X + 0.5)"));
    format!("X = rand(rows={rows}, cols=64, seed=1)\nfor (i in 1:{REPEATS}) {{\n  s = sum({polynomial} * i)\n}}\n")
}
