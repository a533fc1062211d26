//! What experiments run on: their scale, and what fits into the memory of this machine.

use crate::workloads::Scale;

/// How much is measured.
#[derive(Clone, Copy)]
pub(crate) struct Setting {
    pub(crate) scale: Scale,
    /// The memory of a shared machine becomes twice as fast or half as fast within seconds: the median of a few rounds is the
    /// luck of one.
    pub(crate) rounds: usize,
}

impl Setting {
    pub(crate) fn of(scale: Scale) -> Setting {
        Setting { scale, rounds: scale.pick([3, 9, 9]) }
    }

    /// Rounds of runs that take seconds, and in full scale minutes.
    pub(crate) fn long_rounds(self) -> usize {
        self.scale.pick([3, 7, 3])
    }

    /// The largest of some numbers of rows with which so many bytes for each row fit into memory.
    pub(crate) fn fitting(rows: f64, bytes_per_row: f64) -> f64 {
        rows.min(SHARE_OF_MEMORY * memory() / bytes_per_row)
    }

    pub(crate) fn fits(bytes: f64) -> bool {
        bytes <= SHARE_OF_MEMORY * memory()
    }
}

/// The share of the memory that data and intermediates may take.
const SHARE_OF_MEMORY: f64 = 0.75;

/// Bytes of memory, where the system does not say: few.
const UNKNOWN_MEMORY: f64 = (8_u64 << 30) as f64;

fn memory() -> f64 {
    let total = || {
        let text = std::fs::read_to_string("/proc/meminfo").ok()?;
        let line = text.lines().find(|line| line.starts_with("MemTotal"))?;
        line.split_whitespace().nth(1)?.parse::<f64>().ok()
    };
    total().map_or(UNKNOWN_MEMORY, |kib| kib * 1024.0)
}
