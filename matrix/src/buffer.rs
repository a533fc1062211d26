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
use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

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

/// Recycles the memory of matrices, up to a limit of idle bytes.
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

#[derive(Debug, Default)]
struct FreeLists {
    by_capacity: BTreeMap<usize, Vec<Memory<f64>>>,
    values: usize,
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
        let idle = std::mem::take(&mut *self.free.lock().unwrap_or_else(PoisonError::into_inner));
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
        (Memory::zeroed(len), true)
    }

    /// The smallest idle buffer that holds `len` values without wasting more than half of its memory.
    fn pop(&self, len: usize) -> Option<Memory<f64>> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let (&capacity, list) =
            free.by_capacity.range_mut(len..=len.saturating_mul(2)).find(|(_, list)| !list.is_empty())?;
        let memory = list.pop();
        if list.is_empty() {
            free.by_capacity.remove(&capacity);
        }
        free.values -= capacity;
        memory
    }

    fn give_back(&self, memory: Memory<f64>) {
        let capacity = memory.capacity();
        // What a clone in another session's run reserved there must not be kept here.
        if capacity < SMALLEST_RECYCLED || !memory.is_recyclable() || !memory.is_within(&self.budget) {
            return;
        }
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if (free.values + capacity).saturating_mul(size_of::<f64>()) <= self.limit {
            free.values += capacity;
            free.by_capacity.entry(capacity).or_default().push(memory);
        }
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
}
