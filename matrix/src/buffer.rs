//! Aligned memory for the values and positions of matrices, recycled where it is of a pool.
//!
//! Fresh pages cost as much as the computation that fills them, so buffers of freed matrices are handed out again.
//! Alignment to 64 bytes doubles the throughput of cached vector code; it is a property of our allocations, never an
//! assumption of code.

use crate::borrowed::Borrowed;
use crate::budget::Budget;
use crate::growing::Growing;
use crate::memory::Memory;
use crate::refusal::AllocationFailure;
use crate::run_context::MemorySource;
use bytemuck::{Pod, cast_slice, cast_slice_mut};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Buffers below this many values are left to the allocator.
const SMALLEST_RECYCLED: usize = 4096;

/// A run of numbers that is read and written like a slice, in memory of its own or of a pool.
pub struct Buffer<T: 'static = f64> {
    source: Source<T>,
}

enum Source<T: 'static> {
    Own(Memory<T>),
    /// So many values at the beginning of what a pool keeps.
    Recycled(Recycled, usize),
}

/// Memory that returns to its pool when dropped.
struct Recycled {
    memory: Memory<f64>,
    pool: Arc<BufferPool>,
}

impl Drop for Recycled {
    fn drop(&mut self) {
        self.pool.give_back(std::mem::take(&mut self.memory));
    }
}

impl<T: Pod> Buffer<T> {
    /// Zeros, not recycled. Unwinds with [`crate::AllocationFailure`] where the memory is refused.
    pub fn zeroed(len: usize) -> Self {
        Memory::zeroed(len).into()
    }

    /// Unspecified content, from a pool. Unwinds with [`crate::AllocationFailure`] where the memory is refused.
    pub fn recycled(pool: &Arc<BufferPool>, len: usize) -> Self {
        let Some(bytes) = len.checked_mul(size_of::<T>()) else { AllocationFailure::raise::<T>(len) };
        let (memory, _) = pool.find(bytes.div_ceil(size_of::<f64>()));
        Buffer { source: Source::Recycled(Recycled { memory, pool: Arc::clone(pool) }, len) }
    }

    /// Whether the values are in memory of another owner.
    pub(crate) fn is_borrowed(&self) -> bool {
        matches!(&self.source, Source::Own(memory) if memory.is_borrowed())
    }

    /// Whether another owner may change the values between evaluations.
    pub(crate) fn may_change(&self) -> bool {
        matches!(&self.source, Source::Own(memory) if memory.may_change())
    }

    /// The values as a vector; copied unless they came as one.
    pub(crate) fn into_vec(self) -> Vec<T> {
        match self.source {
            Source::Own(memory) => memory.into_vec(),
            Source::Recycled(..) => self.to_vec(),
        }
    }
}

impl<T: Pod> From<Memory<T>> for Buffer<T> {
    fn from(memory: Memory<T>) -> Self {
        Buffer { source: Source::Own(memory) }
    }
}

impl<T: Pod> From<Vec<T>> for Buffer<T> {
    fn from(values: Vec<T>) -> Self {
        Memory::from(values).into()
    }
}

impl<T: Pod> From<Growing<T>> for Buffer<T> {
    fn from(values: Growing<T>) -> Self {
        Memory::from(values).into()
    }
}

impl<T: Pod> From<Borrowed<T>> for Buffer<T> {
    fn from(values: Borrowed<T>) -> Self {
        Memory::from(values).into()
    }
}

impl<T: Pod> Default for Buffer<T> {
    fn default() -> Self {
        Memory::default().into()
    }
}

impl<T: Pod> Deref for Buffer<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        match &self.source {
            Source::Own(memory) => memory,
            Source::Recycled(recycled, len) => &cast_slice(&recycled.memory)[..*len],
        }
    }
}

impl<T: Pod> DerefMut for Buffer<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.source {
            Source::Own(memory) => memory,
            Source::Recycled(recycled, len) => &mut cast_slice_mut(&mut recycled.memory)[..*len],
        }
    }
}

impl<T: Pod> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        match &self.source {
            Source::Own(memory) => memory.clone().into(),
            Source::Recycled(recycled, len) => {
                let mut copy = Buffer::recycled(&recycled.pool, *len);
                copy.copy_from_slice(self);
                copy
            }
        }
    }
}

impl<T: Pod + PartialEq> PartialEq for Buffer<T> {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// What a pool has handed out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStatistics {
    /// Buffers handed out.
    pub buffers: u64,
    /// Bytes handed out, recycled or fresh.
    pub bytes: u64,
    /// Bytes of fresh memory.
    pub fresh_bytes: u64,
}

/// Recycles the memory of matrices, up to a limit of idle bytes and to twice what was in use at a time: runs whose sizes
/// change keep no more than that of sizes that do not come back. What was idle for longest goes first.
#[derive(Debug)]
pub struct BufferPool {
    /// What all memory of the runs that use the pool is reserved from, that of idle buffers included.
    budget: Arc<Budget>,
    free: Mutex<FreeLists>,
    limit: usize,
    buffers: AtomicU64,
    bytes: AtomicU64,
    fresh_bytes: AtomicU64,
}

/// Idle buffers. Capacities are numbers of values.
#[derive(Debug, Default)]
struct FreeLists {
    /// The buffers of each capacity, with when they were given back, the last of them behind.
    by_capacity: BTreeMap<usize, VecDeque<(u64, Memory<f64>)>>,
    /// The capacity of every buffer by when it was given back.
    by_age: BTreeMap<u64, usize>,
    /// Buffers that were given back so far.
    given_back: u64,
    /// The capacity of all idle buffers.
    values: usize,
    /// The capacity of the buffers that are handed out, and the most that it was.
    in_use: usize,
    most_in_use: usize,
}

/// Idle values that are kept however few were in use at a time.
const LEAST_IDLE: usize = (64 << 20) / size_of::<f64>();

impl FreeLists {
    /// The smallest buffer that holds `len` values without wasting more than half of its memory.
    fn take(&mut self, len: usize) -> Option<Memory<f64>> {
        let (&capacity, _) = self.by_capacity.range(len..=len.saturating_mul(2)).next()?;
        let list = self.by_capacity.get_mut(&capacity)?;
        let (age, memory) = list.pop_back()?;
        self.forget(capacity, age);
        Some(memory)
    }

    fn keep(&mut self, capacity: usize, memory: Memory<f64>) {
        self.by_capacity.entry(capacity).or_default().push_back((self.given_back, memory));
        self.by_age.insert(self.given_back, capacity);
        self.given_back += 1;
        self.values += capacity;
    }

    /// The buffer that was idle for longest.
    fn take_oldest(&mut self) -> Option<Memory<f64>> {
        let (&age, &capacity) = self.by_age.first_key_value()?;
        // Within a capacity they are in the order of their age.
        let (_, memory) = self.by_capacity.get_mut(&capacity)?.pop_front()?;
        self.forget(capacity, age);
        Some(memory)
    }

    fn forget(&mut self, capacity: usize, age: u64) {
        self.by_age.remove(&age);
        if self.by_capacity.get(&capacity).is_some_and(VecDeque::is_empty) {
            self.by_capacity.remove(&capacity);
        }
        self.values -= capacity;
    }

    fn note_use(&mut self, capacity: usize) {
        self.in_use += capacity;
        self.most_in_use = self.most_in_use.max(self.in_use);
    }

    /// Values that may be idle under a limit.
    fn allowance(&self, limit: usize) -> usize {
        limit.min(self.most_in_use.saturating_mul(2).max(LEAST_IDLE))
    }
}

impl BufferPool {
    /// A pool that keeps at most this many idle bytes, beside a budget that refuses nothing.
    pub fn new(limit_bytes: usize) -> Arc<Self> {
        BufferPool::within(Budget::unlimited(), limit_bytes)
    }

    /// A pool that keeps at most this many idle bytes, beside a budget.
    pub fn within(budget: Arc<Budget>, limit_bytes: usize) -> Arc<Self> {
        Arc::new(BufferPool {
            budget,
            free: Mutex::default(),
            limit: limit_bytes,
            buffers: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            fresh_bytes: AtomicU64::new(0),
        })
    }

    /// A buffer of `len` values of unspecified content.
    pub fn take(pool: &Arc<Self>, len: usize) -> Buffer {
        Buffer::recycled(pool, len)
    }

    /// A buffer of `len` zeros.
    pub fn take_zeroed(pool: &Arc<Self>, len: usize) -> Buffer {
        let (mut memory, is_fresh) = pool.find(len);
        if !is_fresh {
            memory.fill(0.0);
        }
        Buffer { source: Source::Recycled(Recycled { memory, pool: Arc::clone(pool) }, len) }
    }

    /// The budget of the runs that use the pool.
    pub fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// Gives all idle memory back to the system.
    pub fn give_up(&self) {
        let mut free = self.lists();
        let idle = std::mem::take(&mut free.by_capacity);
        (free.by_age, free.values) = (BTreeMap::new(), 0);
        drop(free);
        // Without the lock.
        drop(idle);
    }

    /// Counts since the pool was made.
    pub fn statistics(&self) -> PoolStatistics {
        PoolStatistics {
            buffers: self.buffers.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            fresh_bytes: self.fresh_bytes.load(Ordering::Relaxed),
        }
    }

    /// A buffer of this length, and whether it is fresh (all zeros).
    fn find(&self, len: usize) -> (Memory<f64>, bool) {
        let bytes = len.saturating_mul(size_of::<f64>()) as u64;
        self.buffers.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if len >= SMALLEST_RECYCLED
            && let Some(memory) = self.pop(len)
        {
            return (memory.with_len(len), false);
        }
        self.fresh_bytes.fetch_add(bytes, Ordering::Relaxed);
        let memory = Memory::zeroed(len);
        if memory.capacity() >= SMALLEST_RECYCLED {
            self.lists().note_use(memory.capacity());
        }
        (memory, true)
    }

    fn lists(&self) -> MutexGuard<'_, FreeLists> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An idle buffer that holds `len` values.
    fn pop(&self, len: usize) -> Option<Memory<f64>> {
        let mut free = self.lists();
        let memory = free.take(len)?;
        free.note_use(memory.capacity());
        Some(memory)
    }

    fn give_back(&self, memory: Memory<f64>) {
        let capacity = memory.capacity();
        if capacity < SMALLEST_RECYCLED {
            return;
        }
        let mut free = self.lists();
        free.in_use = free.in_use.saturating_sub(capacity);
        // What a clone in another session's run reserved there must not be kept here.
        if !memory.is_recyclable() || !memory.is_within(&self.budget) {
            return;
        }
        free.keep(capacity, memory);
        let allowance = free.allowance(self.limit / size_of::<f64>());
        let mut gone = Vec::new();
        while free.values > allowance {
            gone.extend(free.take_oldest());
        }
        drop(free);
        // Without the lock.
        drop(gone);
    }
}

impl MemorySource for BufferPool {
    fn budget(&self) -> &Arc<Budget> {
        BufferPool::budget(self)
    }

    fn give_up(&self) {
        BufferPool::give_up(self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_a_pool_return_to_it() {
        let pool = BufferPool::new(1 << 24);
        for len in [0, 1, 9001, 9002] {
            let mut columns = Buffer::<u32>::recycled(&pool, len);
            assert_eq!(columns.len(), len);
            columns.fill(7);
            let copy = columns.clone();
            drop(columns);
            assert!(copy.iter().all(|&column| column == 7));
        }
        drop(Buffer::<usize>::recycled(&pool, 9000));
        let fresh = pool.statistics().fresh_bytes;
        assert_eq!(Buffer::<usize>::recycled(&pool, 8999).len(), 8999);
        assert_eq!(pool.statistics().fresh_bytes, fresh);
    }

    /// Bytes that a pool keeps of what it is given back.
    fn idle_bytes(pool: &BufferPool) -> usize {
        pool.lists().values * size_of::<f64>()
    }

    /// Sizes that never come back leave at most twice what was in use at a time.
    #[test]
    fn changing_sizes_leave_little_idle() {
        let pool = BufferPool::new(4 << 30);
        let most = LEAST_IDLE;
        for step in 0..64 {
            drop(BufferPool::take(&pool, most + 3 * SMALLEST_RECYCLED * step * most / (64 * SMALLEST_RECYCLED)));
            let in_use = pool.lists().most_in_use * size_of::<f64>();
            assert!(idle_bytes(&pool) <= 2 * in_use, "{} idle beside {in_use}", idle_bytes(&pool));
        }
        assert_eq!(pool.lists().in_use, 0);
        pool.give_up();
        assert_eq!((idle_bytes(&pool), pool.lists().by_age.len()), (0, 0));
    }

    /// What was idle for longest goes, so that the sizes of now are recycled.
    #[test]
    fn the_oldest_go_first() {
        let len = 2 * SMALLEST_RECYCLED;
        let pool = BufferPool::new(10 * len * size_of::<f64>());
        for number in 1..=5 {
            drop(BufferPool::take(&pool, number * len));
        }
        // The first ones made room for the last one, which is found again.
        let fresh = pool.statistics().fresh_bytes;
        drop(BufferPool::take(&pool, 5 * len));
        assert_eq!(pool.statistics().fresh_bytes, fresh);
        drop(BufferPool::take(&pool, len));
        assert!(pool.statistics().fresh_bytes > fresh);
        assert!(idle_bytes(&pool) <= 10 * len * size_of::<f64>());
    }
}
