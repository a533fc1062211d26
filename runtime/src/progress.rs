//! How far the runs of an engine are, for who watches them from another thread.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts that go up while programs run.
#[derive(Debug, Default)]
pub(crate) struct ProgressCounters {
    operators: AtomicU64,
    iterations: AtomicU64,
}

/// What the runs of an engine have done since it was made, and what they hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Operators that ended, fused and basic ones.
    pub operators: u64,
    /// Iterations of loops that began.
    pub iterations: u64,
    /// Bytes that are held now.
    pub memory: u64,
}

impl ProgressCounters {
    /// Notes that an operator has ended.
    pub(crate) fn add_operator(&self) {
        self.operators.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that an iteration begins.
    pub(crate) fn add_iteration(&self) {
        self.iterations.fetch_add(1, Ordering::Relaxed);
    }

    /// The counts, beside the bytes that are held.
    pub(crate) fn with_memory(&self, memory: u64) -> Progress {
        let (operators, iterations) = (&self.operators, &self.iterations);
        Progress {
            operators: operators.load(Ordering::Relaxed),
            iterations: iterations.load(Ordering::Relaxed),
            memory,
        }
    }
}
