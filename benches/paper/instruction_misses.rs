//! Misses of the first-level instruction cache while the operators of section `footprint` run: counted by the machine
//! where it lets us, else simulated by cachegrind where that is installed.
//!
//! Cachegrind runs this program again, as `paper footprint-run CODE OPERATIONS ROWS`, with two numbers of rows: the
//! difference leaves out compilation. It simulates 32 KiB in lines of 64 bytes, and a processor that has AVX2 at most. By
//! hand: `valgrind --tool=cachegrind --cache-sim=yes target/release/deps/paper-* footprint-run shared 1000 64`.

use std::fmt;
use std::process::Command;

/// The argument that has the program run one operator.
pub(crate) const RUN: &str = "footprint-run";

/// Rows of the shorter simulated run, and row operations by which the longer one exceeds it: cachegrind takes its time.
const FEW_ROWS: usize = 64;
const SIMULATED: usize = 64_000;

/// Misses for each row and operation.
#[derive(Clone, Copy)]
pub(crate) enum Misses {
    Counted(f64),
    Simulated(f64),
    Unknown,
}

impl Misses {
    pub(crate) fn known(self) -> Option<f64> {
        match self {
            Misses::Counted(misses) | Misses::Simulated(misses) => Some(misses),
            Misses::Unknown => None,
        }
    }
}

impl fmt::Display for Misses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misses::Counted(misses) => write!(f, "{misses:.3}"),
            Misses::Simulated(misses) => write!(f, "{misses:.3} (simulated)"),
            Misses::Unknown => f.write_str("not counted here"),
        }
    }
}

/// Misses of this thread while something runs; none where the machine does not count them.
#[cfg(target_os = "linux")]
pub(crate) fn counted(run: impl FnOnce()) -> Option<u64> {
    use perf_event::Builder;
    use perf_event::events::{Cache, CacheId, CacheOp, CacheResult};
    let misses = Cache { which: CacheId::L1I, operation: CacheOp::READ, result: CacheResult::MISS };
    let mut counter = Builder::new(misses).build().ok()?;
    counter.enable().ok()?;
    run();
    counter.disable().ok()?;
    counter.read().ok()
}

/// Misses of this thread while something runs: nobody counts them here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn counted(_run: impl FnOnce()) -> Option<u64> {
    None
}

/// Misses for each row and operation as cachegrind simulates them; none without cachegrind.
pub(crate) fn simulated(code: &str, operations: usize) -> Option<f64> {
    let more = SIMULATED / operations;
    let [few, many] = [FEW_ROWS, FEW_ROWS + more].map(|rows| simulated_misses(code, operations, rows));
    // What compilation misses is not quite the same each time.
    Some((many? - few?).max(0.0) / (more * operations) as f64)
}

/// Misses of a whole run.
fn simulated_misses(code: &str, operations: usize, rows: usize) -> Option<f64> {
    let program = std::env::current_exe().ok()?;
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=cachegrind", "--cache-sim=yes", "--I1=32768,8,64", "--cachegrind-out-file=/dev/null"]);
    let run = [RUN, code, &operations.to_string(), &rows.to_string()];
    let output = valgrind.arg(program).args(run).output().ok().filter(|output| output.status.success())?;
    let summary = String::from_utf8_lossy(&output.stderr);
    let line = summary.lines().find_map(|line| line.split_once("I1  misses:"))?.1;
    line.trim().replace(',', "").parse().ok()
}
