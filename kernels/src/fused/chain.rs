//! `t(X) %*% (X %*% v)` and its weighted forms: each row of `X` is read once, since it stays in cache between its two
//! products.

use super::check;
use crate::blocks::{BLOCK_CELLS, MAX_PARTIALS, balanced_within, partial_ranges, rows_of, sum_strips};
use crate::product::accumulate;
use crate::{KernelContext, KernelError};
use fuseline_ir::hop::ChainWeight;
use fuseline_ir::work::{CELL_BYTES, csr_row_bytes};
use fuseline_matrix::run_context::check_stop;
use fuseline_matrix::{Csr, Dense, Layout, MatrixBlock};
use fuseline_vecprims::{Tile, TileMut};
use std::ops::Range;

/// Cells, or non-zeros, of rows that stay in the second level of cache; the result is read and written once for them.
const TILE: usize = 1 << 14;

/// `t(X) %*% (X %*% v)`, with the inner product multiplied with `y`, or `y` subtracted from it: n x 1.
///
/// # Errors
/// `v` is no column of as many rows as `X` has columns, or `y` no column of as many as it has rows.
pub(super) fn matrix_chain(
    context: &KernelContext<'_>,
    weight: ChainWeight,
    x: &MatrixBlock,
    v: &MatrixBlock,
    y: Option<&MatrixBlock>,
) -> Result<MatrixBlock, KernelError> {
    let (rows, cols) = x.dims();
    check("mmchain", x, v, v.dims() == (cols, 1), "the vector has a row for each column of the matrix")?;
    if let Some(y) = y {
        check(
            "mmchain",
            x,
            y,
            y.dims() == (rows, 1),
            "the weights are a column, with a row for each row of the matrix",
        )?;
    }
    let (v, y) = (v.to_dense(), y.map(MatrixBlock::to_dense));
    let weigh = |inner: &mut [f64], start: usize| {
        let Some(y) = &y else { return };
        let cells = inner.iter_mut().zip(&y.values()[start..]);
        match weight {
            ChainWeight::None => {}
            ChainWeight::Times => cells.for_each(|(inner, y)| *inner *= y),
            ChainWeight::Minus => cells.for_each(|(inner, y)| *inner -= y),
        }
    };
    let sums = match x.layout() {
        Layout::Sparse(x) if !context.strict_ieee => sparse_chain(context, &x, v.values(), weigh),
        x => dense_chain(context, &x.into_dense(), v.values(), weigh),
    };
    Ok(Dense::from_vec(cols, 1, sums).into())
}

fn dense_chain(
    context: &KernelContext<'_>,
    x: &Dense,
    v: &[f64],
    weigh: impl Fn(&mut [f64], usize) + Sync,
) -> Vec<f64> {
    let (rows, cols) = (x.rows(), x.cols());
    let tile_rows = (TILE / cols.max(1)).max(1);
    let add = |range: Range<usize>, acc: &mut [f64]| {
        let mut inner = vec![0.0; tile_rows];
        for start in range.clone().step_by(tile_rows) {
            check_stop();
            let end = (start + tile_rows).min(range.end);
            let (inner, tile) = (&mut inner[..end - start], Tile::new(&x.values()[start * cols..end * cols], cols));
            context.primitives.dot_product(end - start, cols, tile, Tile::new(v, 0), TileMut::new(inner, 1));
            weigh(inner, start);
            context.primitives.outer_mult_add(end - start, cols, 1, tile, Tile::new(inner, 1), TileMut::new(acc, cols));
        }
    };
    sum_strips(context, rows, cols as u64 * CELL_BYTES, cols, |rows| {
        accumulate(context, partial_ranges(rows, cols), cols, add)
    })
}

fn sparse_chain(context: &KernelContext<'_>, x: &Csr, v: &[f64], weigh: impl Fn(&mut [f64], usize) + Sync) -> Vec<f64> {
    let (rows, cols) = (x.rows(), x.cols());
    let per_row = x.nnz().checked_div(rows).unwrap_or(0) + 1;
    let tile_rows = (TILE / per_row).max(1);
    let add = |range: Range<usize>, acc: &mut [f64]| {
        let mut inner = vec![0.0; tile_rows];
        for start in range.clone().step_by(tile_rows) {
            check_stop();
            let end = (start + tile_rows).min(range.end);
            let (inner, tile) = (&mut inner[..end - start], rows_of(x, &(start..end)));
            context.primitives.sparse_dot_product(tile, Tile::new(v, 0), TileMut::new(inner, 1));
            weigh(inner, start);
            context.primitives.sparse_outer_mult_add(tile, 1, Tile::new(inner, 1), TileMut::new(acc, 1));
        }
    };
    sum_strips(context, rows, csr_row_bytes(rows as u64, x.nnz() as u64), cols, |rows| {
        // Private results cost memory traffic of their own: only as many as the work pays for.
        accumulate(context, balanced_within(x, rows, BLOCK_CELLS.max(cols), MAX_PARTIALS), cols, add)
    })
}
