//! Aligned, recycled memory for dense values.
//!
//! Fresh pages cost as much as the computation that fills them, so buffers of freed matrices are handed out again.
//! Alignment to 64 bytes doubles the throughput of cached vector code; it is a property of our allocations, never an
//! assumption of code.

use crate::budget::Budget;
use crate::memory::Memory;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Buffers below this many values are left to the allocator.
const SMALLEST_RECYCLED: usize = 4096;

/// A run of doubles that returns to its pool when dropped.
pub struct Buffer {
    memory: Memory<f64>,
    pool: Option<Arc<BufferPool>>,
}

impl Buffer {
    /// Zeros, not recycled.
    pub fn zeroed(len: usize) -> Self {
        Memory::zeroed(len).into()
    }

    /// The values of a vector, without copying them.
    pub fn from_vec(values: Vec<f64>) -> Self {
        Memory::from(values).into()
    }

    /// Whether the values are in memory of another owner.
    pub(crate) fn is_borrowed(&self) -> bool {
        self.memory.is_borrowed()
    }

    /// Whether another owner may change the values between evaluations.
    pub(crate) fn may_change(&self) -> bool {
        self.memory.may_change()
    }
}

impl From<Memory<f64>> for Buffer {
    fn from(memory: Memory<f64>) -> Self {
        Buffer { memory, pool: None }
    }
}

impl Deref for Buffer {
    type Target = [f64];
    #[inline]
    fn deref(&self) -> &[f64] {
        &self.memory
    }
}

impl DerefMut for Buffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.memory
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Self {
        let mut copy = match &self.pool {
            Some(pool) => BufferPool::take(pool, self.len()),
            None => Buffer::zeroed(self.len()),
        };
        copy.copy_from_slice(self);
        copy
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.take() {
            pool.give_back(std::mem::take(&mut self.memory));
        }
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

/// Recycles the memory of dense matrices, up to a limit of idle bytes.
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
        Buffer { memory: pool.find(len).0, pool: Some(Arc::clone(pool)) }
    }

    /// A buffer of `len` zeros.
    pub fn take_zeroed(pool: &Arc<Self>, len: usize) -> Buffer {
        let (mut memory, is_fresh) = pool.find(len);
        if !is_fresh {
            memory.fill(0.0);
        }
        Buffer { memory, pool: Some(Arc::clone(pool)) }
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
