//! `t(X) %*% (X %*% v)` and its weighted forms: each row of `X` is read once, since it stays in cache between its two
//! products.

use super::check;
use crate::blocks::{BLOCK_CELLS, MAX_PARTIALS, average_row, balanced_within, partial_ranges, rows_of, sum_strips};
use crate::product::accumulate;
use crate::{KernelContext, KernelError};
use fuseline_ir::hop::ChainWeight;
use fuseline_ir::work::{CELL_BYTES, csr_row_bytes};
use fuseline_matrix::run_context::check_stop;
use fuseline_matrix::{Buffer, Csr, Dense, Layout, MatrixBlock};
use fuseline_vecprims::{Primitives, Tile, TileMut};
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
    let chain =
        Chain { primitives: context.primitives, v: v.values(), weight, y: y.as_ref().map_or(&[], |y| y.values()) };
    let sums = match x.layout() {
        Layout::Sparse(x) if !context.strict_ieee => chain.over_sparse(context, &x),
        x => chain.over_dense(context, &x.into_dense()),
    };
    Ok(Dense::from_buffer(cols, 1, sums).into())
}

/// What a chain does with rows of the matrix.
struct Chain<'a> {
    primitives: &'a Primitives,
    v: &'a [f64],
    weight: ChainWeight,
    /// A weight for each row; empty without weights.
    y: &'a [f64],
}

impl Chain<'_> {
    /// Weighs the products of rows from this one on.
    fn weigh(&self, inner: &mut [f64], start: usize) {
        match self.weight {
            ChainWeight::None => {}
            ChainWeight::Times => inner.iter_mut().zip(&self.y[start..]).for_each(|(inner, y)| *inner *= y),
            ChainWeight::Minus => inner.iter_mut().zip(&self.y[start..]).for_each(|(inner, y)| *inner -= y),
        }
    }

    fn over_dense(&self, context: &KernelContext<'_>, x: &Dense) -> Buffer {
        let (rows, cols) = (x.rows(), x.cols());
        sum_strips(context, rows, cols as u64 * CELL_BYTES, cols, |rows| {
            accumulate(context, partial_ranges(rows, cols), cols, |rows, sums| self.add_dense(x, rows, sums))
        })
    }

    /// Adds what some rows of a dense matrix give, tile by tile.
    fn add_dense(&self, x: &Dense, rows: Range<usize>, sums: &mut [f64]) {
        let cols = x.cols();
        let tile_rows = (TILE / cols.max(1)).max(1);
        let mut inner = vec![0.0; tile_rows];
        for start in rows.clone().step_by(tile_rows) {
            check_stop();
            let end = (start + tile_rows).min(rows.end);
            let (inner, tile) = (&mut inner[..end - start], Tile::new(&x.values()[start * cols..end * cols], cols));
            self.primitives.dot_product(end - start, cols, tile, Tile::new(self.v, 0), TileMut::new(inner, 1));
            self.weigh(inner, start);
            let (weights, sums) = (Tile::new(inner, 1), TileMut::new(sums, cols));
            self.primitives.outer_mult_add(end - start, cols, 1, tile, weights, sums);
        }
    }

    fn over_sparse(&self, context: &KernelContext<'_>, x: &Csr) -> Buffer {
        let (rows, cols) = (x.rows(), x.cols());
        sum_strips(context, rows, csr_row_bytes(rows as u64, x.nnz() as u64), cols, |rows| {
            // Private results cost memory traffic of their own: only as many as the work pays for.
            let ranges = balanced_within(x, rows, BLOCK_CELLS.max(cols), MAX_PARTIALS);
            accumulate(context, ranges, cols, |rows, sums| self.add_sparse(x, rows, sums))
        })
    }

    /// Adds what some rows of a sparse matrix give, tile by tile.
    fn add_sparse(&self, x: &Csr, rows: Range<usize>, sums: &mut [f64]) {
        let per_row = average_row(x);
        let tile_rows = (TILE / per_row).max(1);
        let mut inner = vec![0.0; tile_rows];
        for start in rows.clone().step_by(tile_rows) {
            check_stop();
            let end = (start + tile_rows).min(rows.end);
            let (inner, tile) = (&mut inner[..end - start], rows_of(x, &(start..end)));
            self.primitives.sparse_dot_product(tile, Tile::new(self.v, 0), TileMut::new(inner, 1));
            self.weigh(inner, start);
            self.primitives.sparse_outer_mult_add(tile, 1, Tile::new(inner, 1), TileMut::new(sums, 1));
        }
    }
}
