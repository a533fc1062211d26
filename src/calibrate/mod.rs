//! Calibration: measures the rates of this machine that the cost model plans with (section 4.3), and keeps them in a
//! file.
//!
//! Every rate is that of our own primitives, kernels, skeletons and compiler. All quantities are measured in turn,
//! round after round, so that what else the machine does falls on all of them; the median counts, and the spread of
//! the rounds is reported beside it.

mod compiled;
mod file;
mod hardware;
mod kernels;
mod rounds;

pub use file::{MachineFile, MachineFileError};
pub use rounds::Sample;

use crate::error::Error;
use crate::options::machine_threads;
use fuseline_passes::machine::{
    Bandwidth, Cache, ComputeRates, Machine, OneTimeCosts, PAGE_BYTES, SparseAccess, StartCosts,
};
use hardware::{cache_bytes, usable_share};
use kernels::Kernels;
use rounds::{Probe, measure};
use std::fmt::Write as _;

/// How many rounds are enough on a machine that does little else.
pub const ROUNDS: usize = 15;

/// A measured quantity.
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

/// What a calibration found.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// The machine, for the cost model.
    pub machine: Machine,
    /// Everything that was measured.
    pub measurements: Vec<Measurement>,
}

/// Measures this machine in so many rounds, at least one. [`ROUNDS`] take some ten seconds, in which nothing else should
/// run.
///
/// # Errors
/// The backend cannot serve on this machine, or there are no threads.
pub fn calibrate(rounds: usize) -> Result<Calibration, Error> {
    let rounds = rounds.max(1);
    let threads = machine_threads();
    let kernels = [Kernels::new(1)?, Kernels::new(threads)?];
    let mut results = Results { measurements: Vec::new() };
    results.add_kernels(&kernels, threads, rounds);
    let compiled = compiled::measure(rounds)?;
    let machine = results.machine(&compiled, threads);
    results.add_compiled(&compiled);
    Ok(Calibration { machine, measurements: results.measurements })
}

/// The names of the measurements that a machine is made of.
const LEVELS: [&str; 4] = ["L1 cache", "L2 cache", "L3 cache", "memory"];

struct Results {
    measurements: Vec<Measurement>,
}

impl Results {
    /// Measures all kernels with one and with all threads, in alternating rounds.
    fn add_kernels(&mut self, kernels: &[Kernels; 2], threads: usize, rounds: usize) {
        let mut probes: Vec<Probe<'_>> = Vec::new();
        for kernels in &kernels[..if threads > 1 { 2 } else { 1 }] {
            probes.extend(kernels.probes());
        }
        let samples = measure(&mut probes, rounds);
        let per_count = samples.len() / if threads > 1 { 2 } else { 1 };
        for (index, probe) in probes.iter().take(per_count).enumerate() {
            let sample = |round: usize| samples.get(round * per_count + index).copied();
            let (one, all) = (sample(0), if threads > 1 { sample(1) } else { sample(0) });
            let (name, unit) = (probe.name.clone(), probe.unit);
            self.measurements.push(Measurement { name, unit, one_thread: one, all_threads: all });
        }
    }

    fn add_compiled(&mut self, compiled: &compiled::Compiled) {
        let mut add = |name: &str, unit: &'static str, all: Sample| {
            self.measurements.push(Measurement { name: name.into(), unit, one_thread: None, all_threads: Some(all) });
        };
        add("arithmetic of fused operators", "GFLOP/s", compiled.arithmetic.scaled(1e-9));
        add("start of a basic operator", "us", compiled.start_basic.scaled(1e6));
        add("start of a fused operator", "us", compiled.start_fused.scaled(1e6));
        add("two products with short rows", "ns", compiled.short_row.scaled(1e9));
        add("compilation of a fused operator", "ms", compiled.compile.scaled(1e3));
    }

    fn measured(&self, name: &str) -> &Measurement {
        self.measurements.iter().find(|measured| measured.name == name).expect("every kernel is measured")
    }

    fn all_threads(&self, name: &str) -> f64 {
        self.measured(name).all_threads.map_or(0.0, |sample| sample.median)
    }

    fn one_thread(&self, name: &str) -> f64 {
        self.measured(name).one_thread.map_or(0.0, |sample| sample.median)
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
        for level in (0..3).rev() {
            levels[level].read = levels[level].read.max(levels[level + 1].read);
            levels[level].write = levels[level].write.max(levels[level + 1].write);
        }
        let capacities = cache_bytes();
        let per_thread = |name: &str| 1e9 * self.all_threads(name) / threads as f64;
        let seconds = |name: &str| self.one_thread(name) * 1e-9;
        Machine {
            caches: std::array::from_fn(|level| Cache {
                capacity: usable_share(capacities[level]),
                bandwidth: levels[level],
            }),
            memory: levels[3],
            compute: ComputeRates {
                arithmetic: compiled.arithmetic.median / threads as f64,
                function: per_thread("functions (exp)"),
                product: per_thread("products of rows"),
                matrix_product: per_thread("matrix products"),
                random: per_thread("random values"),
            },
            sparse: SparseAccess {
                non_zero: seconds("visit of a non-zero"),
                gather: (seconds("visit with a dense cell") - seconds("visit of a non-zero")).max(0.0),
            },
            start: StartCosts {
                basic: compiled.start_basic.median,
                fused: compiled.start_fused.median,
                run: compiled.run_seconds(per_thread("products of rows")),
            },
            once: OneTimeCosts {
                compile: compiled.compile.median,
                // The write itself is priced by its bytes.
                fresh_page: (self.all_threads("first write to a page") * 1e-6 - PAGE_BYTES / levels[3].write).max(0.0),
            },
            threads,
            memory_budget: None,
            cluster: None,
        }
    }
}

impl Calibration {
    /// The measurements as a table.
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
