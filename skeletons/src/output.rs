//! Outputs: disjoint parts that threads write directly, private accumulators and their merging, sparse results.

use crate::Execution;
use crate::transpose::transpose;
use crate::visited::VisitedRows;
use fuseline_ir::ops::AggOp;
use fuseline_ir::work::BASIC_BLOCK_CELLS;
use fuseline_matrix::run_context::is_alone;
use fuseline_matrix::{Buffer, BufferPool, Csr, Dense, MatrixBlock, NanWatch};
use fuseline_vecprims::Tile;
use rayon::prelude::*;
use std::sync::Arc;

/// Cells that one task merges.
const MERGE_CELLS: usize = 8192;
/// Cells that one task fills.
const FILL_CELLS: usize = 1 << 17;

/// Cuts `values` into consecutive parts of these lengths, which add up to all of it.
pub(crate) fn split_parts(mut values: &mut [f64], lengths: impl Iterator<Item = usize>) -> Vec<&mut [f64]> {
    lengths
        .map(|length| {
            let (part, rest) = std::mem::take(&mut values).split_at_mut(length);
            values = rest;
            part
        })
        .collect()
}

/// An accumulator of `len` cells that hold the neutral element of `agg`.
pub(crate) fn accumulator(pool: &Arc<BufferPool>, len: usize, agg: AggOp) -> Dense {
    if agg.neutral() == 0.0 {
        return Dense::zeros_in(pool, 1, len);
    }
    let mut accumulator = Dense::uninit_in(pool, 1, len);
    accumulator.values_mut().fill(agg.neutral());
    accumulator
}

/// Merges accumulators cell by cell, in their order; the neutral element where there is none.
pub(crate) fn merge(env: &Execution<'_>, partials: Vec<Dense>, len: usize, agg: AggOp) -> Dense {
    let mut partials = partials.into_iter();
    let Some(mut merged) = partials.next() else { return accumulator(env.buffers, len, agg) };
    let others: Vec<Dense> = partials.collect();
    let nan = NanWatch::default();
    let merge_part = |(part, cells): (usize, &mut [f64])| {
        for other in &others {
            let values = Tile::new(&other.values()[part * MERGE_CELLS..], cells.len());
            env.primitives.col_agg(agg.of_partials(), 1, cells.len(), values, cells);
        }
        nan.look(cells);
    };
    if !others.is_empty() {
        for_each_part(env, merged.values_mut(), MERGE_CELLS, merge_part);
        merged.set_nan_free(nan.saw_none());
    }
    merged
}

/// The transpose of a `rows` x `cols` matrix held in `values`.
pub(crate) fn transposed(env: &Execution<'_>, values: &Dense, rows: usize, cols: usize) -> Dense {
    let mut out = Dense::uninit_in(env.buffers, cols, rows);
    transpose(values.values(), rows, cols, out.values_mut());
    out.set_nan_free(values.is_nan_free());
    out
}

/// A matrix of all rows, given the visited ones; the others hold `fill`.
pub(crate) fn expand_rows(env: &Execution<'_>, compact: Dense, visited: &VisitedRows<'_>, fill: f64) -> Dense {
    let Some(numbers) = visited.listed() else { return compact };
    let (rows, cols) = (visited.csr().rows(), compact.cols());
    let mut out = Dense::uninit_in(env.buffers, rows, cols);
    let block_rows = (FILL_CELLS / cols.max(1)).max(1);
    let fill_block = |(block, cells): (usize, &mut [f64])| {
        cells.fill(fill);
        let first = block * block_rows;
        let start = numbers.partition_point(|&number| number < first);
        for (visited, &number) in numbers.iter().enumerate().skip(start) {
            match cells.get_mut((number - first) * cols..(number - first + 1) * cols) {
                Some(row) => row.copy_from_slice(compact.row(visited)),
                None => break,
            }
        }
    };
    for_each_part(env, out.values_mut(), (block_rows * cols).max(1), fill_block);
    out.set_nan_free(compact.is_nan_free() && !fill.is_nan());
    out
}

/// Calls `each` with every part of so many cells and its number: on the threads of the pool where there are several.
fn for_each_part(
    env: &Execution<'_>,
    cells: &mut [f64],
    part_cells: usize,
    each: impl Fn((usize, &mut [f64])) + Sync + Send,
) {
    if cells.len() <= part_cells || is_alone() {
        cells.chunks_mut(part_cells).enumerate().for_each(each);
    } else {
        env.pool.install(|| cells.par_chunks_mut(part_cells).enumerate().for_each(each));
    }
}

/// A matrix of the dimensions of `pattern` with these values at its positions and `fill` elsewhere.
pub(crate) fn filled_pattern(env: &Execution<'_>, pattern: &Csr, values: &[f64], fill: f64) -> Dense {
    let cells = pattern.rows().saturating_mul(pattern.cols());
    on_threads_for(env, cells, || pattern.filled_in(env.buffers, values, fill))
}

/// One value for each non-zero of a matrix.
pub(crate) struct ValuesByPosition {
    pub(crate) values: Buffer,
    /// Whether any of them is zero.
    pub(crate) have_zeros: bool,
    /// Whether it is known that none of them is NaN.
    pub(crate) are_nan_free: bool,
}

/// A sparse result with the positions of `pattern`, which the two share. Zeros are not stored, and the format is the one that
/// suits the number of non-zeros.
pub(crate) fn with_pattern(env: &Execution<'_>, pattern: &Csr, by_position: ValuesByPosition) -> MatrixBlock {
    let csr = pattern.with_values(by_position.values).with_nan_free(by_position.are_nan_free);
    let without_zeros = || on_threads_for(env, csr.nnz(), || csr.without_stored_zeros_in(env.buffers));
    in_best_format(env, if by_position.have_zeros { without_zeros() } else { csr }.into())
}

/// The matrix in the format that suits the number of its non-zeros. Threads share the work if it is more than a block.
pub(crate) fn in_best_format(env: &Execution<'_>, matrix: MatrixBlock) -> MatrixBlock {
    // There is nothing to share where nothing is converted.
    let cells = if matrix.stays_sparse() { 0 } else { matrix.rows().saturating_mul(matrix.cols()) };
    on_threads_for(env, cells, || matrix.in_best_format_in(env.buffers))
}

/// Work on so many cells or non-zeros: by the threads of the pool where it is more than a block. Waking them takes longer than
/// most that is less.
pub(crate) fn on_threads_for<T: Send>(env: &Execution<'_>, cells: usize, work: impl FnOnce() -> T + Send) -> T {
    if cells > BASIC_BLOCK_CELLS && !is_alone() { env.pool.install(work) } else { work() }
}
