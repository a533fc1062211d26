//! Passes over many values, which threads share where one alone would take longer than others need to begin.

use crate::buffer::{Buffer, BufferPool};
use crate::run_context::is_alone;
use bytemuck::Pod;
use rayon::ThreadPool;
use rayon::prelude::*;
use std::sync::Arc;

/// Values that one thread has gone through before others could begin.
pub(crate) const ALONE: usize = 1 << 18;

/// Bytes that a thread copies at a time.
const COPIED_AT_ONCE: usize = 1 << 18;

/// Does something with so many values: inside of a pool, whose threads share it, where it pays.
pub(crate) fn on_threads_for<T: Send>(threads: &ThreadPool, values: usize, work: impl FnOnce() -> T + Send) -> T {
    if values > ALONE && !is_alone() { threads.install(work) } else { work() }
}

/// A copy of values in memory of a pool.
pub(crate) fn copy_in<T: Pod + Send + Sync>(
    threads: &ThreadPool,
    buffers: &Arc<BufferPool>,
    values: &[T],
) -> Buffer<T> {
    let mut copy = Buffer::recycled(buffers, values.len());
    if values.len() <= ALONE || is_alone() {
        copy.copy_from_slice(values);
        return copy;
    }
    let step = COPIED_AT_ONCE / size_of::<T>();
    threads.install(|| {
        copy.par_chunks_mut(step).zip(values.par_chunks(step)).for_each(|(out, part)| out.copy_from_slice(part));
    });
    copy
}
