//! Rates of the compiler and of fused operators: scripts, and what the statistics say of their operators.

use super::CELL_BYTES;
use super::hardware::cache_bytes;
use super::rounds::Sample;
use super::scripts::{
    FACTOR_NON_ZEROS, FEW_NON_ZEROS, FOUND_COLUMNS, GATHERED, GATHERED_ROWS, LONG, MANY_NON_ZEROS, MANY_ROWS, NARROW,
    OPERATIONS, RANK, ROW_LOOPS, ROW_OPERATIONS, SHORT, SIDE, TALL, TINY, TINY_CELLS, TINY_ROWS, after_others,
    arithmetic_rows_script, arithmetic_script, block_script, cell_rows_script, factors_script, found_script,
    gathered_script, half_cache_rows, many_non_zeros_script, short_rows_script, sparse_rows_script, tiny_script,
    written_script,
};
use crate::error::Error;
use crate::options::{BackendKind, CompileOptions};
use crate::session::Session;
use fuseline_passes::cost::BLOCK_CELLS;
use fuseline_passes::facts::IN_REGISTER_SHARE;
use fuseline_passes::machine::LINE_BYTES;
use fuseline_passes::program::ProgramOptions;
use fuseline_runtime::{Mode, Statistics, Variables};

/// The statistics' names of the operators that the scripts run.
const FUSED: &str = "spoof(cell)";
/// Basic operators on a tiny matrix, by name.
const TINY_BASIC: [(&str, &str); 4] =
    [("b(*)", "Y = X * i"), ("ua(C+)", "R = colSums(X)"), ("r(t)", "T = t(X)"), ("b(>)", "U = X > Y")];
/// Basic operators on a tiny matrix that give a single value, by name.
const TINY_SCALAR: [(&str, &str); 2] = [("ua(RCmin)", "m = min(X)"), ("rix", "v = X[1, 1]")];
const BY_ROWS: &str = "spoof(row)";
const OUTER: &str = "spoof(outer)";
const DOUBLE: &str = "b(*)";
/// How often a script runs after its first run.
const RUNS: usize = 5;
/// Operators of one thread between those that threads share.
const OTHERS: usize = 2;
/// How often operators with a single value run in a row: scripts have several of them after what takes long.
const SCALARS: usize = 3;

/// What scripts told.
pub(super) struct Compiled {
    /// Floating-point operations per second of one thread.
    pub(super) arithmetic: Sample,
    /// Seconds to start a basic operator.
    pub(super) start_basic: Sample,
    /// Seconds to start a basic operator with a single value.
    pub(super) start_scalar: Sample,
    /// Seconds to start a fused operator.
    pub(super) start_fused: Sample,
    /// Seconds to start a fused operator over rows.
    pub(super) start_fused_rows: Sample,
    /// Seconds to share the work of a fused operator among threads.
    pub(super) start_parallel: Sample,
    /// Seconds of one thread for a row of [`LONG`] cells, each of which takes [`ROW_OPERATIONS`].
    pub(super) arithmetic_rows: Sample,
    /// Seconds of one thread for a row of [`NARROW`] cells, each of which takes [`ROW_OPERATIONS`].
    pub(super) narrow_rows: Sample,
    /// Seconds of one thread for a row of [`SHORT`] values, with which there are two products.
    pub(super) short_row: Sample,
    /// Seconds of one thread to sum up a row of [`SHORT`] cells, each of which takes two operations.
    pub(super) cell_row: Sample,
    /// Seconds of one thread for a row of a sparse matrix with about [`FEW_NON_ZEROS`], with which there are two products.
    pub(super) sparse_row: Sample,
    /// Seconds of one thread to walk through a non-zero of rows with many once more.
    pub(super) again: Sample,
    /// Seconds of one thread for a non-zero that is multiplied with a cell of a dense matrix.
    pub(super) gathered: Sample,
    /// Seconds of one thread for a non-zero that is multiplied with the product of rows of [`RANK`] values.
    pub(super) factors: Sample,
    /// Seconds of all threads to read a matrix of [`half_cache_rows`].
    pub(super) found: Sample,
    /// Seconds of all threads to double a matrix of [`half_cache_rows`].
    pub(super) doubled: Sample,
    /// Seconds to compile a fused operator.
    pub(super) compile: Sample,
}

impl Compiled {
    /// Bytes of a matrix from which on nothing of it is found in the cache that threads share: at most the `whole` cache.
    /// Matrices of `capacity` are found whole. At the bandwidth of the cache and that of memory.
    pub(super) fn reach(&self, [capacity, whole]: [f64; 2], bandwidths: [f64; 2]) -> f64 {
        let bytes = found_bytes();
        reach(bytes, self.found.seconds(), capacity, bandwidths).min(whole.max(capacity))
    }

    /// Bytes of a matrix that is written from which on nothing of it is found there, given the bandwidths at which it is, and
    /// the seconds to read as many bytes. What is written stays in the cache until others need the room: at most twice as much as there is.
    pub(super) fn write_reach(&self, [capacity, whole]: [f64; 2], bandwidths: [f64; 2], read: f64) -> f64 {
        let bytes = found_bytes();
        let seconds = (self.doubled.seconds() - read).max(0.0);
        reach(bytes, seconds, capacity, bandwidths).min(2.0 * whole.max(capacity))
    }

    /// Seconds to start a run: what two products with a row of few values take besides their operations, at this many of
    /// them per second.
    pub(super) fn run_seconds(&self, products: f64) -> f64 {
        let operations = (4 * SHORT) as f64 * IN_REGISTER_SHARE;
        ((self.short_row.seconds() - operations / products) / 2.0).max(0.0)
    }

    /// Cells per second of one thread that loops over rows go over, two of which start a run: at most as many as chains do
    /// operations.
    pub(super) fn row_cells(&self, run: f64) -> f64 {
        let operations = (ROW_OPERATIONS * LONG) as f64 / self.arithmetic.rate();
        let seconds = (self.arithmetic_rows.seconds() - 2.0 * run - operations).max(f64::MIN_POSITIVE);
        ((ROW_LOOPS * LONG) as f64 / seconds).min(self.arithmetic.rate())
    }

    /// Seconds of an operation on a narrow row besides its floating-point operations, of so many per second, and runs.
    pub(super) fn narrow_seconds(&self, run: f64) -> f64 {
        let operations = (ROW_OPERATIONS * NARROW) as f64 / self.arithmetic.rate();
        let loops = (ROW_LOOPS * NARROW) as f64 / self.row_cells(run);
        ((self.narrow_rows.seconds() - 2.0 * run - operations - loops) / ROW_OPERATIONS as f64).max(0.0)
    }

    /// Seconds of a row of cells besides its operations, the sum among them.
    pub(super) fn cell_row_seconds(&self) -> f64 {
        (self.cell_row.seconds() - (3 * SHORT) as f64 / self.arithmetic.rate()).max(0.0)
    }

    /// Seconds to visit a non-zero once more, which takes no longer than the first time.
    pub(super) fn again_seconds(&self, non_zero: f64) -> f64 {
        self.again.seconds().clamp(0.0, non_zero)
    }

    /// Seconds to fetch a cache line of a factor for a non-zero: what its product takes besides its visit, its share of the
    /// beginning of a row, the run and its operations, at this many per second.
    pub(super) fn line_seconds(&self, non_zero: f64, row: f64, run: f64, products: f64) -> f64 {
        let known = non_zero + row / FACTOR_NON_ZEROS as f64 + run + (2 * RANK) as f64 / products;
        let beyond = 1.0 - cache_bytes()[1] / (CELL_BYTES * (SIDE * RANK) as f64);
        (self.factors.seconds() - known).max(0.0)
            / (RANK as f64 * CELL_BYTES / LINE_BYTES + 1.0)
            / beyond.clamp(0.5, 1.0)
    }

    /// Seconds to fetch a cell of a dense matrix for a non-zero: what its product takes besides its visit and its share of
    /// the beginning of a row.
    pub(super) fn gather_seconds(&self, non_zero: f64, row: f64) -> f64 {
        (self.gathered.seconds() - non_zero - row / GATHERED as f64).max(0.0)
    }

    /// Seconds to begin a row of a sparse matrix: what two products with a row of few non-zeros take besides these.
    pub(super) fn sparse_row_seconds(&self, run: f64, non_zero: f64) -> f64 {
        let visits = FEW_NON_ZEROS as f64 * (non_zero + self.again_seconds(non_zero));
        (self.sparse_row.seconds() - 2.0 * run - visits).max(0.0)
    }
}

/// What the scripts told, by round.
#[derive(Debug, Default)]
pub(super) struct CompiledRounds {
    rates: Vec<f64>,
    basic: Vec<f64>,
    scalar: Vec<f64>,
    fused: Vec<f64>,
    fused_rows: Vec<f64>,
    parallel: Vec<f64>,
    arithmetic_rows: Vec<f64>,
    narrow_rows: Vec<f64>,
    short_rows: Vec<f64>,
    cell_rows: Vec<f64>,
    sparse_rows: Vec<f64>,
    again: Vec<f64>,
    gathered: Vec<f64>,
    factors: Vec<f64>,
    found: Vec<f64>,
    doubled: Vec<f64>,
    compile: Vec<f64>,
}

impl CompiledRounds {
    /// Runs each script once, on the threads of this session.
    pub(super) fn add(&mut self, session: &Session) -> Result<(), Error> {
        let run = |options: &CompileOptions, text: &str| run(session, options, text);
        // What is fused must not depend on prices.
        let fused_options = options(Mode::GenFuseAll);
        let threads = fused_options.threads();
        let basic = |operators: &[(&'static str, &str)], times: usize| {
            let texts: Vec<&str> = operators.iter().map(|&(_, text)| text).collect();
            let tiny = run(&options(Mode::Base), &after_others(&texts, TINY, times))?;
            let seconds = operators.iter().map(|&(name, _)| per_operator(&tiny, name));
            Ok::<f64, Error>(seconds.sum::<Result<f64, Error>>()? / operators.len() as f64)
        };
        self.basic.push(basic(&TINY_BASIC, 1)?);
        self.scalar.push(basic(&TINY_SCALAR, SCALARS)?);
        let fused =
            |texts: &[&str], dims, name| per_operator(&run(&fused_options, &after_others(texts, dims, 1))?, name);
        self.fused.push(fused(&TINY_CELLS, TINY, FUSED)?);
        self.fused_rows.push(fused(&TINY_ROWS, TALL, BY_ROWS)?);
        // Of what follows operators that run again and again are the difference.
        let tiny = run(&fused_options, &tiny_script())?;
        let start = per_operator(&tiny, FUSED)?;
        let [one_block, blocks] = [1, threads].map(|count| run(&fused_options, &block_script(count, OTHERS)));
        let parallel = (per_operator(&blocks?, FUSED)? - per_operator(&one_block?, FUSED)?).max(0.0);
        self.parallel.push(parallel);
        let chain = run(&fused_options, &arithmetic_script())?;
        let seconds = (per_operator(&chain, FUSED)? - start).max(1e-9);
        self.rates.push((OPERATIONS * BLOCK_CELLS) as f64 / seconds);
        let by_rows = |script: &str| per_operator(&run(&fused_options, script)?, BY_ROWS);
        for (cols, seconds) in [(LONG, &mut self.arithmetic_rows), (NARROW, &mut self.narrow_rows)] {
            let rows = BLOCK_CELLS / cols;
            seconds.push((by_rows(&arithmetic_rows_script(rows, cols))? - start).max(0.0) / rows as f64);
        }
        let rows = BLOCK_CELLS / SHORT;
        self.short_rows.push((by_rows(&short_rows_script(rows))? - start).max(0.0) / rows as f64);
        let cells = run(&fused_options, &cell_rows_script(rows))?;
        self.cell_rows.push((per_operator(&cells, FUSED)? - start).max(0.0) / rows as f64);
        let rows = BLOCK_CELLS * threads;
        let seconds = (by_rows(&sparse_rows_script(rows))? - start - parallel).max(0.0);
        self.sparse_rows.push(seconds * threads as f64 / rows as f64);
        let [once, twice] = ["u", "rowMaxs(X)"].map(|value| by_rows(&many_non_zeros_script(value)));
        self.again.push((twice? - once?) * threads as f64 / (MANY_ROWS * MANY_NON_ZEROS) as f64);
        let gathered = run(&fused_options, &gathered_script())?;
        let seconds = (per_operator(&gathered, FUSED)? - start - parallel).max(0.0);
        self.gathered.push(seconds * threads as f64 / (GATHERED_ROWS * GATHERED) as f64);
        let factors = run(&fused_options, &factors_script())?;
        let seconds = (per_operator(&factors, OUTER)? - start - parallel).max(0.0);
        self.factors.push(seconds * threads as f64 / (SIDE * FACTOR_NON_ZEROS) as f64);
        let found = run(&fused_options, &found_script(half_cache_rows()))?;
        self.found.push((per_operator(&found, FUSED)? - start - parallel).max(0.0));
        let doubled = run(&options(Mode::Base), &written_script(half_cache_rows()))?;
        self.doubled.push((per_operator(&doubled, DOUBLE)? - start - parallel).max(0.0));
        self.compile.extend([&tiny, &chain].map(per_compilation));
        Ok(())
    }

    /// The medians of all rounds.
    pub(super) fn summary(&self) -> Compiled {
        Compiled {
            arithmetic: Sample::of(self.rates.clone()),
            start_basic: Sample::of(self.basic.clone()),
            start_scalar: Sample::of(self.scalar.clone()),
            start_fused: Sample::of(self.fused.clone()),
            start_fused_rows: Sample::of(self.fused_rows.clone()),
            start_parallel: Sample::of(self.parallel.clone()),
            arithmetic_rows: Sample::of(self.arithmetic_rows.clone()),
            narrow_rows: Sample::of(self.narrow_rows.clone()),
            short_row: Sample::of(self.short_rows.clone()),
            cell_row: Sample::of(self.cell_rows.clone()),
            sparse_row: Sample::of(self.sparse_rows.clone()),
            again: Sample::of(self.again.clone()),
            gathered: Sample::of(self.gathered.clone()),
            factors: Sample::of(self.factors.clone()),
            found: Sample::of(self.found.clone()),
            doubled: Sample::of(self.doubled.clone()),
            compile: Sample::of(self.compile.clone()),
        }
    }
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

/// The first run of a script, and the others, which find the memory and the code of the first one.
struct Runs {
    first: Statistics,
    others: Vec<Statistics>,
}

fn run(session: &Session, options: &CompileOptions, text: &str) -> Result<Runs, Error> {
    let session = session.reconfigured(options.clone())?;
    let script = session.compile_script("calibrate", text, &[])?;
    let run = || Ok(session.run(&script, Variables::new(), &mut std::io::sink())?.statistics);
    let first = run()?;
    let others = (0..RUNS).map(|_| run()).collect::<Result<_, Error>>()?;
    Ok(Runs { first, others })
}

/// Mean seconds of the operators of this name in the median run: what interrupts a run now and then counts for nothing.
fn per_operator(runs: &Runs, name: &'static str) -> Result<f64, Error> {
    let of_run = |statistics: &Statistics| {
        let hitter = statistics.heavy_hitters.get(name).ok_or(Error::NotMeasured(name))?;
        Ok(hitter.seconds / hitter.count as f64)
    };
    let seconds = runs.others.iter().map(of_run).collect::<Result<Vec<f64>, Error>>()?;
    Ok(Sample::of(seconds).median)
}

fn per_compilation(runs: &Runs) -> f64 {
    let statistics = &runs.first;
    statistics.codegen_seconds / statistics.operators_compiled.max(1) as f64
}

/// Bytes of a matrix of [`half_cache_rows`].
pub(super) fn found_bytes() -> f64 {
    CELL_BYTES * (half_cache_rows() * FOUND_COLUMNS) as f64
}

/// Where the share of a matrix that a cache holds, which falls evenly from the capacity on, comes to nothing, given the
/// seconds to read so many bytes; infinity if all of these were there.
fn reach(bytes: f64, seconds: f64, capacity: f64, [cache, memory]: [f64; 2]) -> f64 {
    let [held, missed] = [bytes / cache, bytes / memory];
    let missing = ((seconds - held) / (missed - held).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    // What the share is at these bytes says where the line through it ends.
    if missing > 0.0 { (capacity + (bytes - capacity) / missing).max(capacity) } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::reach;

    #[test]
    fn reach_follows_from_the_share_that_was_found() {
        let of = |seconds: f64| reach(16e6, seconds, 4e6, [80e9, 20e9]);
        // All of it from the cache, half of it, nothing.
        assert_eq!([of(0.1e-3), of(0.2e-3)], [f64::INFINITY; 2]);
        assert!((of(0.5e-3) / 28e6 - 1.0).abs() < 1e-12);
        assert!((of(0.8e-3) / 16e6 - 1.0).abs() < 1e-12 && of(5.0) == of(0.8e-3));
        // A cache no faster than memory.
        assert_eq!(reach(16e6, 1.0, 4e6, [20e9, 20e9]), 16e6);
    }
}
