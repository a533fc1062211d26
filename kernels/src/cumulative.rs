//! Cumulative aggregates down the columns: strictly in order, so that a column has the same bits however it is stored.

use crate::blocks::{in_best_format, map_parts, row_ranges};
use crate::elementwise::union_row;
use crate::{KernelContext, KernelError};
use fuseline_ir::ops::AggOp;
use fuseline_matrix::{Csr, CsrRows, Dense, Layout, MatrixBlock, NanWatch, SparseRow, parts_of_columns};
use std::ops::Range;

/// The partial aggregates of each column, from its first cell to each: `cumsum`, `cumprod`, `cummin`, `cummax`.
///
/// # Panics
/// The function has no cumulative form.
pub fn cumulative(context: &KernelContext<'_>, op: AggOp, matrix: &MatrixBlock) -> MatrixBlock {
    match op {
        AggOp::Sum => scan(context, matrix, |x, y| AggOp::Sum.merge(x, y)),
        AggOp::Prod => scan(context, matrix, |x, y| AggOp::Prod.merge(x, y)),
        AggOp::Min => scan(context, matrix, |x, y| AggOp::Min.merge(x, y)),
        AggOp::Max => scan(context, matrix, |x, y| AggOp::Max.merge(x, y)),
        AggOp::SumSq | AggOp::Nnz | AggOp::Mean | AggOp::Var => panic!("{op} has no cumulative form"),
    }
}

fn scan(context: &KernelContext<'_>, matrix: &MatrixBlock, merge: impl Fn(f64, f64) -> f64 + Sync) -> MatrixBlock {
    match matrix.layout() {
        Layout::Dense(dense) => scan_dense(context, &dense, merge).into(),
        Layout::Sparse(csr) => in_best_format(context, scan_sparse(&csr, merge).into()),
    }
}

/// Rows whose cells are about so many are gone through before threads meet again.
const TILE_CELLS: usize = 1 << 18;

/// Columns of which a thread has as many, or more: those of a cache line.
const LEAST_COLUMNS: usize = 8;

/// The cells of some columns, row by row.
type Cells<'a> = Vec<&'a mut [f64]>;

fn scan_dense(context: &KernelContext<'_>, dense: &Dense, merge: impl Fn(f64, f64) -> f64 + Sync) -> Dense {
    let (rows, cols) = (dense.rows(), dense.cols());
    let mut result = Dense::uninit_in(context.buffers, rows, cols);
    let width = cols.div_ceil(context.pool.current_num_threads()).next_multiple_of(LEAST_COLUMNS);
    if width >= cols || rows * cols <= TILE_CELLS {
        scan_rows(dense, result.values_mut(), merge);
    } else {
        scan_columns(context, dense, result.values_mut(), width, merge);
    }
    // What is NaN stays so.
    let nan = NanWatch::default();
    nan.look(&result.values()[rows.saturating_sub(1) * cols..]);
    result.set_nan_free(nan.saw_none());
    result
}

fn scan_rows(dense: &Dense, out: &mut [f64], merge: impl Fn(f64, f64) -> f64) {
    let cols = dense.cols();
    let first = cols.min(out.len());
    out[..first].copy_from_slice(&dense.values()[..first]);
    for i in 1..dense.rows() {
        let (done, rest) = out.split_at_mut(i * cols);
        let before = &done[(i - 1) * cols..];
        for ((out, &before), &cell) in rest[..cols].iter_mut().zip(before).zip(dense.row(i)) {
            *out = merge(before, cell);
        }
    }
}

/// Threads have so many columns each: no cell of one hangs on those of another.
fn scan_columns(
    context: &KernelContext<'_>,
    dense: &Dense,
    out: &mut [f64],
    width: usize,
    merge: impl Fn(f64, f64) -> f64 + Sync,
) {
    let cols = dense.cols();
    let ranges = row_ranges(cols, width);
    let height = (TILE_CELLS / cols).max(1);
    // Aggregates of each range down to the row above a tile.
    let mut above: Vec<Vec<f64>> = ranges.iter().map(|_| Vec::new()).collect();
    for (tile, cells) in out.chunks_mut(height * cols).enumerate() {
        let parts = ranges.iter().zip(above).zip(parts_of_columns(cells, cols, width)).collect();
        above = map_parts(context, parts, |((columns, mut above), out): ((&Range<usize>, Vec<f64>), Cells<'_>)| {
            for (r, out) in out.into_iter().enumerate() {
                let cells = &dense.row(tile * height + r)[columns.clone()];
                if above.is_empty() {
                    above.extend_from_slice(cells);
                } else {
                    above.iter_mut().zip(cells).for_each(|(above, &cell)| *above = merge(*above, cell));
                }
                out.copy_from_slice(&above);
            }
            above
        });
    }
}

/// Each row of the result merges the one before with a row of the input: all four functions keep joint zeros.
fn scan_sparse(csr: &Csr, merge: impl Fn(f64, f64) -> f64) -> Csr {
    let mut result = CsrRows::default();
    let (mut before, mut row) = (CsrRows::default(), CsrRows::default());
    for i in 0..csr.rows() {
        let (columns, values) = csr.row(i);
        row.columns.clear();
        row.values.clear();
        if i == 0 {
            row.columns.extend_from_slice(columns);
            row.values.extend_from_slice(values);
        } else {
            let before = SparseRow { columns: &before.columns, values: &before.values };
            union_row(&merge, before, SparseRow { columns, values }, &mut row);
        }
        result.lengths.push(row.values.len());
        result.columns.extend_from_slice(&row.columns);
        result.values.extend_from_slice(&row.values);
        std::mem::swap(&mut before, &mut row);
    }
    Csr::from_blocks(csr.cols(), &[result])
}

/// For a matrix of two columns (n x 2) the column y (n x 1) with `y[i] = x[i, 1] + x[i, 2] * y[i - 1]`, from 0 on.
///
/// # Errors
/// Another number of columns.
pub fn cumulative_sum_product(context: &KernelContext<'_>, matrix: &MatrixBlock) -> Result<MatrixBlock, KernelError> {
    let (rows, cols) = matrix.dims();
    if cols != 2 {
        let problem = format!("the matrix must have 2 columns, not {cols}");
        return Err(KernelError::Argument { operation: "cumsumprod", problem });
    }
    let mut result = Dense::uninit_in(context.buffers, rows, 1);
    let cells = matrix.to_dense();
    let mut before = 0.0;
    for (out, pair) in result.values_mut().iter_mut().zip(cells.values().chunks_exact(2)) {
        before = pair[0] + pair[1] * before;
        *out = before;
    }
    Ok(result.into())
}
