//! Passes over many values, which threads share where one alone would take longer than others need to begin.

use crate::buffer::{Buffer, BufferPool};
use crate::run_context::{StopListener, is_alone};
use bytemuck::Pod;
use rayon::ThreadPool;
use rayon::prelude::*;
use std::sync::Arc;

/// Values that one thread has gone through before others could begin.
pub(crate) const ALONE: usize = 1 << 18;

/// Bytes that a thread copies at a time.
const COPIED_AT_ONCE: usize = 1 << 18;

/// Whether threads share a pass over so many values.
pub(crate) fn is_shared(values: usize) -> bool {
    values > ALONE && !is_alone()
}

/// Does something with so many values: inside of a pool, whose threads share it, where it pays.
pub(crate) fn on_threads_for<T: Send>(threads: &ThreadPool, values: usize, work: impl FnOnce() -> T + Send) -> T {
    if is_shared(values) { threads.install(work) } else { work() }
}

/// Does something with each part: on the threads of the rayon pool that this runs in, if any.
pub(crate) fn each<P: Send>(parts: Vec<P>, work: impl Fn(P) + Send + Sync) {
    match rayon::current_thread_index() {
        Some(_) => {
            let stop = StopListener::current();
            parts.into_par_iter().filter(|_| !stop.hears()).for_each(work);
            stop.check();
        }
        None => parts.into_iter().for_each(work),
    }
}

/// Numbered consecutive parts of these lengths.
pub(crate) fn split<T>(mut rest: &mut [T], lengths: impl Iterator<Item = usize>) -> Vec<(usize, &mut [T])> {
    let cut = |length: usize| {
        let (part, behind) = std::mem::take(&mut rest).split_at_mut(length);
        rest = behind;
        part
    };
    lengths.map(cut).enumerate().collect()
}

/// Rows of so many cells, cut into parts of `width` columns: for each part its cells row by row.
pub fn parts_of_columns(cells: &mut [f64], cols: usize, width: usize) -> Vec<Vec<&mut [f64]>> {
    let rows = cells.len() / cols;
    let mut parts: Vec<Vec<&mut [f64]>> = (0..cols.div_ceil(width)).map(|_| Vec::with_capacity(rows)).collect();
    for row in cells.chunks_exact_mut(cols) {
        row.chunks_mut(width).zip(&mut parts).for_each(|(cells, part)| part.push(cells));
    }
    parts
}

/// A copy of values in memory of a pool.
pub(crate) fn copy_in<T: Pod + Send + Sync>(
    threads: &ThreadPool,
    buffers: &Arc<BufferPool>,
    values: &[T],
) -> Buffer<T> {
    let mut copy = Buffer::recycled(buffers, values.len());
    if !is_shared(values.len()) {
        copy.copy_from_slice(values);
        return copy;
    }
    let step = COPIED_AT_ONCE / size_of::<T>();
    threads.install(|| {
        copy.par_chunks_mut(step).zip(values.par_chunks(step)).for_each(|(out, part)| out.copy_from_slice(part));
    });
    copy
}
