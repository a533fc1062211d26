//! Calibration: measures the rates of this machine that the cost model plans with (section 4.3), and keeps them in a
//! file.
//!
//! Every rate is that of our own primitives, kernels, skeletons and compiler. All quantities are measured in turn,
//! round after round, so that what else the machine does falls on all of them; the median counts, of starts the lower
//! quartile, and the spread of the rounds is reported beside it. The example of [`calibrate()`] is that of all here.

mod compiled;
mod file;
mod hardware;
mod kernels;
mod rounds;
mod scripts;

pub use file::{MachineFile, MachineFileError};
pub use rounds::Sample;

use crate::error::Error;
use crate::options::{CompileOptions, machine_threads};
use crate::session::Session;
use compiled::{CompiledRounds, found_bytes};
use fuseline_ir::work;
use fuseline_passes::machine::{
    Bandwidth, Cache, ComputeRates, Machine, OneTimeCosts, PAGE_BYTES, SparseAccess, StartCosts,
};
use fuseline_vecprims::Isa;
use hardware::{cache_bytes, usable_share};
use kernels::Kernels;
use rounds::{Probe, Rounds};
use std::fmt::Write as _;

/// How many rounds are enough on a machine that does little else.
///
/// ```
/// assert!(fuseline::calibrate::ROUNDS > 1);
/// ```
pub const ROUNDS: usize = 15;

/// A measured quantity. As in the example of [`calibrate()`].
#[derive(Clone, Debug)]
pub struct Measurement {
    /// What was measured.
    pub name: String,
    /// The unit of both columns.
    pub unit: &'static str,
    /// With one thread.
    pub one_thread: Option<Sample>,
    /// With all threads together.
    pub all_threads: Option<Sample>,
}

impl Measurement {
    /// What counts of a sample: the quartile of the rounds in which the machine did little else.
    fn undisturbed(&self, sample: Sample) -> f64 {
        if self.unit.ends_with("/s") { sample.rate() } else { sample.seconds() }
    }
}

/// What a calibration found. As in the example of [`calibrate()`].
#[derive(Clone, Debug)]
pub struct Calibration {
    /// The machine, for the cost model.
    pub machine: Machine,
    /// Everything that was measured.
    pub measurements: Vec<Measurement>,
}

/// Measures this machine in so many rounds, at least one. [`ROUNDS`] take some twenty seconds, in which nothing else
/// should run.
///
/// ```
/// use fuseline::calibrate::{MachineFile, calibrate};
/// use fuseline::{Session, io::Output};
///
/// let calibration = calibrate(1)?;
/// let bandwidth = calibration.measurements.iter().find(|measured| measured.name == "read memory").expect("measured");
/// let sample = bandwidth.all_threads.expect("by all threads");
/// assert!(sample.rate() >= sample.median && calibration.to_text().contains("read memory"));
///
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("machine.json");
/// MachineFile::new(calibration.machine.clone()).save(Output::create(&file, false)?)?;
/// let session = Session::builder().machine(MachineFile::load(&file)?).build()?;
/// assert_eq!(session.options().machine, calibration.machine);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The backend cannot serve on this machine, or there are no threads.
pub fn calibrate(rounds: usize) -> Result<Calibration, Error> {
    let mut calibrator = Calibrator::new()?;
    for _ in 0..rounds.max(1) {
        calibrator.round()?;
    }
    Ok(calibrator.finish())
}

/// A calibration in progress, for those who measure other things in turn with it.
#[doc(hidden)]
#[derive(Debug)]
pub struct Calibrator {
    /// With one thread, and with all of them if there are more.
    kernels: Vec<Kernels>,
    kernel_rounds: Rounds,
    /// The session whose threads run all scripts.
    session: Session,
    compiled: CompiledRounds,
}

impl Calibrator {
    /// Prepares what is measured.
    ///
    /// # Errors
    /// The backend cannot serve on this machine, or there are no threads.
    pub fn new() -> Result<Self, Error> {
        let counts = match machine_threads() {
            1 => vec![1],
            threads => vec![1, threads],
        };
        let kernels = counts.into_iter().map(Kernels::new).collect::<Result<Vec<_>, _>>()?;
        let kernel_rounds = Rounds::new(&mut probes(&kernels));
        let session = Session::new(CompileOptions::default())?;
        Ok(Calibrator { kernels, kernel_rounds, session, compiled: CompiledRounds::default() })
    }

    /// The session whose threads run the scripts of the calibration. How long threads take to meet depends on where the
    /// operating system puts them, so that other sessions are compared with the calibration on the same ones.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Measures everything once.
    ///
    /// # Errors
    /// A script of the calibration fails.
    pub fn round(&mut self) -> Result<(), Error> {
        self.kernel_rounds.add(&mut probes(&self.kernels));
        self.compiled.add(&self.session)
    }

    /// Forgets the rounds so far: what is measured from here on is held against the machine as it is from here on.
    pub fn forget(&mut self) {
        self.kernel_rounds.forget();
        self.compiled = CompiledRounds::default();
    }

    /// What the rounds found, of which there was at least one.
    pub fn finish(&self) -> Calibration {
        let mut results = Results { measurements: self.kernel_measurements() };
        let compiled = self.compiled.summary();
        let machine = results.machine(&compiled, machine_threads());
        results.add_compiled(&compiled);
        Calibration { machine, measurements: results.measurements }
    }

    fn kernel_measurements(&self) -> Vec<Measurement> {
        let samples = self.kernel_rounds.samples();
        let probes = self.kernels[0].probes();
        let (one_thread, all_threads) = (&samples[..probes.len()], &samples[samples.len() - probes.len()..]);
        let pairs = probes.iter().zip(one_thread.iter().zip(all_threads));
        pairs
            .map(|(probe, (&one, &all))| Measurement {
                name: probe.name.clone(),
                unit: probe.unit,
                one_thread: Some(one),
                all_threads: Some(all),
            })
            .collect()
    }
}

fn probes(kernels: &[Kernels]) -> Vec<Probe<'_>> {
    kernels.iter().flat_map(Kernels::probes).collect()
}

/// Bytes of a cell.
const CELL_BYTES: f64 = work::CELL_BYTES as f64;

/// The names of the measurements that a machine is made of.
const LEVELS: [&str; 4] = ["L1 cache", "L2 cache", "L3 cache", "memory"];

struct Results {
    measurements: Vec<Measurement>,
}

impl Results {
    fn add_compiled(&mut self, compiled: &compiled::Compiled) {
        let mut add_both = |name: &str, unit: &'static str, one_thread: Option<Sample>, all_threads: Option<Sample>| {
            self.measurements.push(Measurement { name: name.into(), unit, one_thread, all_threads });
        };
        add_both("arithmetic of fused operators", "GFLOP/s", Some(compiled.arithmetic.scaled(1e-9)), None);
        add_both("arithmetic on rows", "ns", Some(compiled.arithmetic_rows.scaled(1e9)), None);
        add_both("arithmetic on narrow rows", "ns", Some(compiled.narrow_rows.scaled(1e9)), None);
        add_both("two products with short rows", "ns", Some(compiled.short_row.scaled(1e9)), None);
        add_both("sums of short rows of cells", "ns", Some(compiled.cell_row.scaled(1e9)), None);
        let mut add = |name: &str, unit: &'static str, sample: Sample| add_both(name, unit, None, Some(sample));
        add("start of a basic operator", "us", compiled.start_basic.scaled(1e6));
        add("start of a basic operator with one value", "us", compiled.start_scalar.scaled(1e6));
        add("start of a fused operator", "us", compiled.start_fused.scaled(1e6));
        add("start of a fused operator over rows", "us", compiled.start_fused_rows.scaled(1e6));
        add("start of threads", "us", compiled.start_parallel.scaled(1e6));
        add("two products with rows of few non-zeros", "ns", compiled.sparse_row.scaled(1e9));
        add("another visit of a non-zero of many", "ns", compiled.again.scaled(1e9));
        add("a non-zero with a dense cell", "ns", compiled.gathered.scaled(1e9));
        add("a product of factors for a non-zero", "ns", compiled.factors.scaled(1e9));
        add("a matrix of half the L3 cache, read", "us", compiled.found.scaled(1e6));
        add("doubled values, written", "us", compiled.doubled.scaled(1e6));
        add("compilation of a fused operator", "ms", compiled.compile.scaled(1e3));
    }

    fn measured(&self, name: &str) -> &Measurement {
        self.measurements.iter().find(|measured| measured.name == name).expect("every kernel is measured")
    }

    fn all_threads(&self, name: &str) -> f64 {
        let measured = self.measured(name);
        measured.all_threads.map_or(0.0, |sample| measured.undisturbed(sample))
    }

    fn one_thread(&self, name: &str) -> f64 {
        let measured = self.measured(name);
        measured.one_thread.map_or(0.0, |sample| measured.undisturbed(sample))
    }

    /// The machine for the cost model. Caches of a core serve one thread; no level counts as slower than a larger one,
    /// since many threads on memory may outrun one in its cache, and bounds need costs that ascend with sizes.
    fn machine(&self, compiled: &compiled::Compiled, threads: usize) -> Machine {
        let rate = |name: &str, level: usize| {
            let name = format!("{name} {}", LEVELS[level]);
            1e9 * if level < 2 { self.one_thread(&name) } else { self.all_threads(&name) }
        };
        let mut levels: [Bandwidth; 4] =
            std::array::from_fn(|level| Bandwidth { read: rate("read", level), write: rate("write", level) });
        let sizes = cache_bytes();
        // Threads that share the work bring their second-level caches along.
        let capacity = |level: usize| usable_share(sizes[level]) * if level == 1 { threads as f64 } else { 1.0 };
        let capacities = [capacity(2), sizes[2]];
        let reach = compiled.reach(capacities, [levels[2].read, levels[3].read]);
        for level in (0..3).rev() {
            levels[level].read = levels[level].read.max(levels[level + 1].read);
            levels[level].write = levels[level].write.max(levels[level + 1].write);
        }
        let shared = Cache { size: sizes[2], capacity: capacity(2), reach, write_reach: reach, bandwidth: levels[2] };
        let read = found_bytes() / shared.shared(found_bytes(), levels[3]).read;
        let write_reach = compiled.write_reach(capacities, [levels[2].write, levels[3].write], read);
        // What goes past the caches finds nothing there, and leaves nothing.
        let streamed = Isa::detect().streams_from().map_or(f64::INFINITY, |bytes| bytes as f64);
        let write_reach = write_reach.min(streamed.max(capacities[0]));
        let shared = Cache { write_reach, ..shared };
        let per_thread = |name: &str| 1e9 * self.all_threads(name) / threads as f64;
        let seconds = |name: &str| self.one_thread(name) * 1e-9;
        // What goes to memory is the work of all threads, which slow each other down.
        let shared_seconds = |name: &str| self.all_threads(name) * threads as f64 * 1e-9;
        // The write is priced by its bytes.
        let besides_write =
            |name: &str| (1.0 / per_thread(name) - CELL_BYTES * threads as f64 / levels[2].write).max(1e-12);
        let run = compiled.run_seconds(per_thread("products of rows"));
        let non_zero = seconds("visit of a non-zero");
        let [store, store_row] = stores(shared_seconds("store of a non-zero"), shared_seconds("store of one of many"));
        let row = compiled.sparse_row_seconds(run, non_zero);
        let typical = Machine::default();
        Machine {
            caches: std::array::from_fn(|level| match level {
                2 => shared,
                // Operators over some megabytes leave nothing in the caches of a core.
                _ => {
                    let (size, reach, write_reach) = (sizes[level], capacity(level), capacity(level));
                    Cache { size, capacity: capacity(level), reach, write_reach, bandwidth: levels[level] }
                }
            }),
            memory: levels[3],
            compute: ComputeRates {
                arithmetic: compiled.arithmetic.rate(),
                division: per_thread("quotients"),
                function: per_thread("functions"),
                product: per_thread("products of rows"),
                matrix_product: per_thread("matrix products"),
                random: 1.0 / besides_write("random values"),
                reorganization: 1.0 / besides_write("transposed cells"),
                row_cells: compiled.row_cells(run),
            },
            lanes: Isa::detect().lanes(),
            // What scripts take besides their other rates would be no more than the errors of these.
            overlap: typical.overlap,
            exposed: typical.exposed,
            hidden_write: typical.hidden_write,
            sparse: SparseAccess {
                non_zero,
                line: compiled.line_seconds(non_zero, row, run, per_thread("products of rows")),
                again: compiled.again_seconds(non_zero),
                gather: compiled.gather_seconds(non_zero, row),
                row,
                store: (store - non_zero).max(0.0),
                store_row,
            },
            start: StartCosts {
                basic: compiled.start_basic.seconds(),
                scalar: compiled.start_scalar.seconds(),
                fused: compiled.start_fused.seconds(),
                fused_rows: compiled.start_fused_rows.seconds(),
                parallel: compiled.start_parallel.seconds(),
                run,
                row: compiled.cell_row_seconds(),
                narrow: compiled.narrow_seconds(run),
            },
            once: OneTimeCosts {
                compile: compiled.compile.seconds(),
                // The write itself is priced by its bytes.
                fresh_page: (self.all_threads("first write to a page") * 1e-6 - PAGE_BYTES / levels[3].write).max(0.0),
            },
            threads,
            memory_budget: None,
            cluster: None,
        }
    }
}

/// Seconds to store a non-zero, and to begin a row, given those for a non-zero of rows of few and of rows of many.
fn stores(few: f64, many: f64) -> [f64; 2] {
    let [rows_of_few, rows_of_many] = [kernels::SPARSE_STEP, kernels::DENSER_STEP].map(kernels::row_share);
    let row = ((few - many) / (rows_of_few - rows_of_many)).max(0.0);
    [(many - row * rows_of_many).max(0.0), row]
}

impl Calibration {
    /// The measurements as a table. As in the example of [`calibrate()`].
    pub fn to_text(&self) -> String {
        let mut text = format!("{:<40} {:>18} {:>18}\n", "median (spread)", "one thread", "all threads");
        for Measurement { name, unit, one_thread, all_threads } in &self.measurements {
            let cell = |sample: &Option<Sample>| sample.map_or("-".to_owned(), |sample| sample.to_string());
            let (one, all) = (cell(one_thread), cell(all_threads));
            writeln!(text, "{:<40} {one:>18} {all:>18}", format!("{name}, {unit}")).expect("strings take writes");
        }
        text
    }
}
