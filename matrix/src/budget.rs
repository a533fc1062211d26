//! The memory that runs may take: one account, from which everything large is reserved before it is allocated.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What memory is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKind {
    /// Cells, columns and row offsets of matrices, those kept for reuse included.
    Matrix,
    /// Columns of frames.
    Frame,
    /// Texts.
    Text,
    /// What is read of a file before it is a matrix or a frame.
    File,
    /// What an operator needs besides its inputs and its output.
    Scratch,
}

impl MemoryKind {
    /// All kinds.
    pub const ALL: [MemoryKind; 5] =
        [MemoryKind::Matrix, MemoryKind::Frame, MemoryKind::Text, MemoryKind::File, MemoryKind::Scratch];
}

impl fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MemoryKind::Matrix => "matrices",
            MemoryKind::Frame => "frames",
            MemoryKind::Text => "texts",
            MemoryKind::File => "files",
            MemoryKind::Scratch => "scratch",
        })
    }
}

/// Bytes that are held now, and that were at most.
#[derive(Debug, Default)]
struct Account {
    held: AtomicU64,
    peak: AtomicU64,
}

impl Account {
    /// Adds bytes, unless more than `limit` would be held; then says how many are.
    fn add(&self, bytes: u64, limit: u64) -> Result<(), u64> {
        let sum = |held: u64| held.checked_add(bytes).filter(|&sum| sum <= limit);
        let before = self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum)?;
        self.peak.fetch_max(before + bytes, Ordering::Relaxed);
        Ok(())
    }

    fn subtract(&self, bytes: u64) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn restart_peak(&self) {
        self.peak.store(self.held.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// A budget that has not so many bytes left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted {
    /// Bytes that are reserved already.
    pub held: u64,
    /// Bytes that there are in all.
    pub limit: u64,
}

/// A number of bytes that may be reserved in all.
#[derive(Debug)]
pub struct Budget {
    limit: u64,
    all: Account,
    kinds: [Account; MemoryKind::ALL.len()],
}

impl Budget {
    /// A budget of so many bytes.
    pub fn new(limit: u64) -> Arc<Self> {
        Arc::new(Budget { limit, all: Account::default(), kinds: Default::default() })
    }

    /// A budget that refuses nothing.
    pub fn unlimited() -> Arc<Self> {
        Budget::new(u64::MAX)
    }

    /// Bytes that there are in all.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Bytes that are reserved now.
    pub fn held(&self) -> u64 {
        self.all.held.load(Ordering::Relaxed)
    }

    /// Takes bytes out of the budget until the reservation is dropped.
    ///
    /// # Errors
    /// So many are not left.
    pub fn reserve(self: &Arc<Self>, kind: MemoryKind, bytes: u64) -> Result<Reservation, Exhausted> {
        self.take(kind, bytes, self.limit)?;
        Ok(Reservation { budget: Arc::clone(self), kind, bytes })
    }

    /// Counts memory that is there already, even where it exceeds the budget.
    pub fn count(self: &Arc<Self>, kind: MemoryKind, bytes: u64) -> Reservation {
        // Nobody holds more bytes than there are addresses.
        let taken = self.take(kind, bytes, u64::MAX);
        Reservation { budget: Arc::clone(self), kind, bytes: if taken.is_ok() { bytes } else { 0 } }
    }

    fn take(&self, kind: MemoryKind, bytes: u64, limit: u64) -> Result<(), Exhausted> {
        self.all.add(bytes, limit).map_err(|held| Exhausted { held, limit: self.limit })?;
        // What all of them hold fits, so what one of them holds does.
        self.kinds[kind as usize].add(bytes, u64::MAX).map_err(|held| Exhausted { held, limit: self.limit })
    }

    /// The most bytes that each kind held since the peaks were restarted.
    pub fn peaks(&self) -> impl Iterator<Item = (MemoryKind, u64)> + '_ {
        MemoryKind::ALL.into_iter().map(|kind| (kind, self.kinds[kind as usize].peak.load(Ordering::Relaxed)))
    }

    /// The most bytes that all kinds together held since the peaks were restarted.
    pub fn peak(&self) -> u64 {
        self.all.peak.load(Ordering::Relaxed)
    }

    /// Restarts the peaks from what is held now.
    pub fn restart_peaks(&self) {
        self.kinds.iter().chain([&self.all]).for_each(Account::restart_peak);
    }
}

/// Bytes of a budget, until it is dropped.
#[derive(Debug)]
pub struct Reservation {
    budget: Arc<Budget>,
    kind: MemoryKind,
    bytes: u64,
}

impl Reservation {
    /// Whether its bytes are of this budget.
    pub(crate) fn is_of(&self, budget: &Arc<Budget>) -> bool {
        Arc::ptr_eq(&self.budget, budget)
    }

    /// Its bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds another one of the same kind and budget.
    pub(crate) fn absorb(&mut self, mut other: Reservation) {
        debug_assert!(other.kind == self.kind && Arc::ptr_eq(&other.budget, &self.budget), "one account");
        self.bytes += std::mem::take(&mut other.bytes);
    }
}

/// Copies of what is held are held, too.
impl Clone for Reservation {
    fn clone(&self) -> Self {
        self.budget.count(self.kind, self.bytes)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.all.subtract(self.bytes);
        self.budget.kinds[self.kind as usize].subtract(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reserved_returns_when_it_is_dropped() {
        let budget = Budget::new(100);
        let first = budget.reserve(MemoryKind::Matrix, 60).expect("it fits");
        assert_eq!(budget.reserve(MemoryKind::Text, 41).err(), Some(Exhausted { held: 60, limit: 100 }));
        assert_eq!(budget.reserve(MemoryKind::Text, u64::MAX).err(), Some(Exhausted { held: 60, limit: 100 }));
        let second = budget.reserve(MemoryKind::Text, 40).expect("it fits to the byte");
        assert_eq!(budget.held(), 100);
        drop(first);
        assert_eq!(budget.held(), 40);
        drop(second);
        assert_eq!(budget.held(), 0);
    }

    #[test]
    fn peaks_are_kept_by_kind() {
        let budget = Budget::new(100);
        let peaks = |budget: &Budget| budget.peaks().map(|(_, bytes)| bytes).collect::<Vec<_>>();
        drop(budget.reserve(MemoryKind::Matrix, 70));
        let text = budget.reserve(MemoryKind::Text, 30).expect("it fits");
        assert_eq!((budget.peak(), peaks(&budget)), (70, vec![70, 0, 30, 0, 0]));
        budget.restart_peaks();
        assert_eq!((budget.peak(), peaks(&budget)), (30, vec![0, 0, 30, 0, 0]));
        drop(text);
    }

    /// What is there already counts, whether or not it fits; then nothing else does.
    #[test]
    fn what_is_there_counts_beyond_the_limit() {
        let budget = Budget::new(100);
        let held = budget.count(MemoryKind::Frame, 90);
        let copy = held.clone();
        assert_eq!((budget.held(), copy.bytes()), (180, 90));
        assert!(budget.reserve(MemoryKind::Matrix, 1).is_err());
        drop((held, copy));
        assert!(budget.reserve(MemoryKind::Matrix, 100).is_ok());
    }
}
