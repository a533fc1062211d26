//! Aggregates that take one pass: partial results of parts of a matrix, merged in order. Variances by row are among them,
//! since a primitive takes a row as a whole.

use crate::KernelContext;
use crate::blocks::{
    BLOCK_CELLS, MAX_PARTIALS, average_row, balanced_within, block_rows, fill_blocks, map_parts, merge_partials,
    partial_ranges, row_bytes, rows_of,
};
use fuseline_ir::ops::AggOp;
use fuseline_ir::schedule::Strips;
use fuseline_matrix::{Buffer, BufferPool, Csr, Dense, Layout, MatrixBlock, strips};
use fuseline_vecprims::{Tile, TileMut};
use std::ops::Range;

/// The function whose partial results make an aggregate: a mean is a sum that is divided at the end.
fn summed(op: AggOp) -> AggOp {
    if op == AggOp::Mean { AggOp::Sum } else { op }
}

/// All cells aggregated to one value.
pub(crate) fn full(context: &KernelContext<'_>, op: AggOp, matrix: &MatrixBlock) -> f64 {
    let cells = matrix.rows() * matrix.cols();
    let sum_op = summed(op);
    let layout = matrix.layout();
    let skipped = match &layout {
        Layout::Dense(_) => 0,
        Layout::Sparse(csr) => cells - csr.nnz(),
    };
    let of_run = |run: &[f64]| context.primitives.full_agg(sum_op, 1, run.len(), Tile::new(run, run.len()));
    let mut result = over_runs(context, &layout, of_run, |x, y| sum_op.merge(x, y)).unwrap_or(sum_op.neutral());
    if skipped > 0 && !sum_op.ignores_zeros() {
        result = sum_op.merge(result, 0.0);
    }
    if op == AggOp::Mean { result / cells as f64 } else { result }
}

/// What runs of the stored values of a matrix give, merged in order within each strip of rows; `None` without values.
pub(crate) fn over_runs(
    context: &KernelContext<'_>,
    layout: &Layout<'_>,
    of_run: impl Fn(&[f64]) -> f64 + Sync + Send,
    merge: impl Fn(f64, f64) -> f64 + Sync,
) -> Option<f64> {
    let (rows, _) = layout.dims();
    let strips = Strips::new(rows, row_bytes(layout), context.strip_bytes, 1);
    strips::reduce(
        context.pool,
        strips,
        |rows| {
            let runs = stored_values(layout, rows).chunks(BLOCK_CELLS).collect();
            map_parts(context, runs, &of_run).into_iter().reduce(&merge)
        },
        |left, right| match (left, right) {
            (Some(left), Some(right)) => Some(merge(left, right)),
            (one, other) => one.or(other),
        },
    )
}

/// The stored values of some rows.
fn stored_values<'a>(layout: &'a Layout<'_>, rows: Range<usize>) -> &'a [f64] {
    match layout {
        Layout::Dense(dense) => &dense.values()[rows.start * dense.cols()..rows.end * dense.cols()],
        Layout::Sparse(csr) => &csr.values()[csr.row_offsets()[rows.start]..csr.row_offsets()[rows.end]],
    }
}

/// Each row aggregated: m x 1.
pub(crate) fn rows(context: &KernelContext<'_>, op: AggOp, matrix: &MatrixBlock) -> Dense {
    match matrix.layout() {
        Layout::Dense(dense) => dense_rows(context, op, &dense),
        Layout::Sparse(csr) => sparse_rows(context, op, &csr),
    }
}

fn dense_rows(context: &KernelContext<'_>, op: AggOp, dense: &Dense) -> Dense {
    let cols = dense.cols();
    let mut result = Dense::uninit_in(context.buffers, dense.rows(), 1);
    let step = block_rows(dense.rows(), cols);
    fill_blocks(context, &mut result, step, |block, out| {
        let start = block * step * cols;
        let tile = &dense.values()[start..start + out.len() * cols];
        context.primitives.row_agg(op, out.len(), cols, Tile::new(tile, cols), TileMut::new(out, 1));
    });
    result
}

fn sparse_rows(context: &KernelContext<'_>, op: AggOp, csr: &Csr) -> Dense {
    let mut result = Dense::uninit_in(context.buffers, csr.rows(), 1);
    let step = block_rows(csr.rows(), average_row(csr));
    fill_blocks(context, &mut result, step, |block, out| {
        let offsets = &csr.row_offsets()[block * step..=block * step + out.len()];
        let values = &csr.values()[offsets[0]..offsets[out.len()]];
        context.primitives.segment_row_agg(op, offsets, values, csr.cols(), TileMut::new(out, 1));
    });
    result
}

/// Ranges among some rows of which each has its own sums of the columns: these cost as much as the cells, or the non-zeros.
pub(crate) fn ranges_to_sum(layout: &Layout<'_>, rows: Range<usize>) -> Vec<Range<usize>> {
    match layout {
        Layout::Dense(dense) => partial_ranges(rows, dense.cols()),
        Layout::Sparse(csr) => balanced_within(csr, rows, BLOCK_CELLS.max(csr.cols()), MAX_PARTIALS),
    }
}

/// Each column aggregated: 1 x n.
pub(crate) fn columns(context: &KernelContext<'_>, op: AggOp, matrix: &MatrixBlock) -> Dense {
    let (rows, cols) = matrix.dims();
    let sum_op = summed(op);
    let layout = matrix.layout();
    let strips = Strips::new(rows, row_bytes(&layout), context.strip_bytes, cols);
    let mut result = strips::reduce(
        context.pool,
        strips,
        |rows| columns_of_strip(context, sum_op, &layout, rows),
        |mut left, right| {
            merge_cells(context, sum_op, &mut left, &right);
            left
        },
    );
    if let (Layout::Sparse(csr), false) = (&layout, sum_op.ignores_zeros()) {
        context.pool.install(|| csr.change_where_zeros_are(&mut result, |cell| sum_op.merge(cell, 0.0)));
    }
    if op == AggOp::Mean {
        result.iter_mut().for_each(|cell| *cell /= rows as f64);
    }
    Dense::from_buffer(1, cols, result)
}

/// The columns of some rows aggregated.
fn columns_of_strip(context: &KernelContext<'_>, op: AggOp, layout: &Layout<'_>, rows: Range<usize>) -> Buffer {
    let cols = layout.dims().1;
    let neutral = || {
        let mut cells = BufferPool::take(context.buffers, cols);
        cells.fill(op.neutral());
        cells
    };
    let partials = map_parts(context, ranges_to_sum(layout, rows), |range: Range<usize>| {
        let mut acc = neutral();
        match layout {
            Layout::Dense(dense) => {
                let tile = &dense.values()[range.start * cols..range.end * cols];
                context.primitives.col_agg(op, range.len(), cols, Tile::new(tile, cols), &mut acc);
            }
            Layout::Sparse(csr) => context.primitives.sparse_col_agg(op, rows_of(csr, &range), &mut acc),
        }
        acc
    });
    merge_partials(context, partials, |cells, values| merge_cells(context, op, cells, values)).unwrap_or_else(neutral)
}

/// Merges partial results into those of the same columns.
fn merge_cells(context: &KernelContext<'_>, op: AggOp, cells: &mut [f64], values: &[f64]) {
    context.primitives.col_agg(op.of_partials(), 1, cells.len(), Tile::new(values, cells.len()), cells);
}
