//! Products of a matrix with its own transpose: half the work, and symmetric to the bit.

use super::accumulate;
use super::dense::{times_vector, transposed_times_skinny};
use super::sparse::{Gustavson, row_by_row, sum_of_row_products};
use crate::KernelContext;
use crate::blocks::{add_to, build_csr, for_each_block, in_best_format, partial_ranges, transpose_csr};
use crate::gemm::{Output, Strided, gemm_into};
use fuseline_ir::schedule::Strips;
use fuseline_ir::schedule::product::{BLOCK_ROWS, Extents, LONG_INNER, PRIVATE_CELLS, ProductLoop};
use fuseline_ir::size::SPARSITY_TURN_POINT;
use fuseline_ir::work::CELL_BYTES;
use fuseline_matrix::{Csr, Dense, Layout, MatrixBlock, strips};
use fuseline_vecprims::Primitives;
use std::ops::Range;

/// Which operand of a product of a matrix with itself is transposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransposedSide {
    /// `t(X) %*% X`.
    Left,
    /// `X %*% t(X)`.
    Right,
}

/// `t(X) %*% X` or `X %*% t(X)`.
pub fn tsmm(context: &KernelContext<'_>, matrix: &MatrixBlock, transposed: TransposedSide) -> MatrixBlock {
    match matrix.layout() {
        Layout::Sparse(csr) if !context.strict_ieee => in_best_format(context, sparse_tsmm(context, &csr, transposed)),
        layout => dense_tsmm(context, &layout.into_dense(), transposed).into(),
    }
}

fn dense_tsmm(context: &KernelContext<'_>, dense: &Dense, transposed: TransposedSide) -> Dense {
    let adds_rows = || {
        let extents = Extents { rows: dense.cols(), inner: dense.rows(), cols: dense.cols() };
        ProductLoop::with_transposed_left(extents) == ProductLoop::RowProducts
    };
    match transposed {
        TransposedSide::Left if adds_rows() => transposed_times_skinny(context, dense.into(), dense),
        TransposedSide::Left => upper_and_mirror(context, dense.cols(), dense.rows(), Strided::of(dense).transposed()),
        TransposedSide::Right if dense.rows() == 1 => times_vector(context, dense.into(), dense.values()),
        TransposedSide::Right => upper_and_mirror(context, dense.rows(), dense.cols(), Strided::of(dense)),
    }
}

/// `left %*% t(left)`, where `left` is n x inner.
fn upper_and_mirror(context: &KernelContext<'_>, n: usize, inner: usize, left: Strided<'_>) -> Dense {
    let strips = Strips::new(inner, n as u64 * CELL_BYTES, context.strip_bytes, n * n);
    let of_strip = |part: Range<usize>| upper_of_strip(context, n, part.len(), left.starting_at(0, part.start));
    let mut result = strips::reduce(context.pool, strips, of_strip, |mut sums, others| {
        add_to(sums.values_mut(), others.values());
        sums
    });
    mirror(result.values_mut(), n);
    result
}

/// The upper triangle of `left %*% t(left)`; below it there may be anything.
fn upper_of_strip(context: &KernelContext<'_>, n: usize, inner: usize, left: Strided<'_>) -> Dense {
    if n * n <= PRIVATE_CELLS && inner >= LONG_INNER {
        let sums = accumulate(context, partial_ranges(0..inner, n), n * n, |range, acc| {
            for (block, out) in acc.chunks_mut(PRIVATE_ROWS * n).enumerate() {
                let extents = Extents { rows: out.len() / n, inner: range.len(), cols: n };
                let left = left.starting_at(0, range.start);
                rows_from_diagonal(context.primitives, left, extents, block * PRIVATE_ROWS, out);
            }
        });
        return Dense::from_buffer(n, n, sums);
    }
    let mut result = Dense::uninit_in(context.buffers, n, n);
    for_each_block(context, result.values_mut(), BLOCK_ROWS * n, |block, out| {
        let extents = Extents { rows: out.len() / n, inner, cols: n };
        rows_from_diagonal(context.primitives, left, extents, block * BLOCK_ROWS, out);
    });
    result
}

/// Writes rows of `left %*% t(left)`, of these extents, from row `first` on; each begins at the diagonal block.
fn rows_from_diagonal(primitives: &Primitives, left: Strided<'_>, extents: Extents, first: usize, out: &mut [f64]) {
    let (rows, columns) = (left.starting_at(first, 0), left.transposed().starting_at(0, first));
    let out = Output::new(&mut out[first..], extents.cols);
    gemm_into(primitives, out, Extents { cols: extents.cols - first, ..extents }, rows, columns);
}

/// Rows of a block of a private part.
const PRIVATE_ROWS: usize = 32;

/// Copies the upper triangle of an n x n matrix to the lower one, tile by tile.
fn mirror(cells: &mut [f64], n: usize) {
    const TILE: usize = 32;
    for top in (0..n).step_by(TILE) {
        for left in (0..=top).step_by(TILE) {
            for i in top..(top + TILE).min(n) {
                for j in left..(left + TILE).min(i) {
                    cells[i * n + j] = cells[j * n + i];
                }
            }
        }
    }
}

fn sparse_tsmm(context: &KernelContext<'_>, csr: &Csr, transposed: TransposedSide) -> MatrixBlock {
    if transposed == TransposedSide::Left
        && let Some(mut upper) = sum_of_row_products(context, csr, csr, true)
    {
        mirror(upper.values_mut(), csr.cols());
        return upper.into();
    }
    let other = transpose_csr(context, csr);
    let product = match transposed {
        TransposedSide::Left => Gustavson::upper_triangle(context, &other, csr),
        TransposedSide::Right => Gustavson::upper_triangle(context, csr, &other),
    };
    let n = if transposed == TransposedSide::Left { csr.cols() } else { csr.rows() };
    let triangle = n as f64 * (n as f64 + 1.0) / 2.0;
    if n > 0 && product.expected_non_zeros() > SPARSITY_TURN_POINT * triangle {
        let mut result = product.dense(context);
        mirror(result.values_mut(), n);
        return result.into();
    }
    mirrored(context, &row_by_row(context, &product)).into()
}

/// The symmetric matrix of an upper triangle.
fn mirrored(context: &KernelContext<'_>, upper: &Csr) -> Csr {
    // Row i of the whole is column i of the upper triangle, then row i from the diagonal on.
    let lower = upper.transpose();
    let n = upper.rows();
    let cost = upper.nnz().checked_div(n).unwrap_or(0) + 1;
    build_csr(
        context,
        [n, n],
        cost,
        || (),
        |i, (), result| {
            let (columns, values) = lower.row(i);
            let below = columns.partition_point(|&j| (j as usize) < i);
            result.columns.extend_from_slice(&columns[..below]);
            result.values.extend_from_slice(&values[..below]);
            let (columns, values) = upper.row(i);
            result.columns.extend_from_slice(columns);
            result.values.extend_from_slice(values);
        },
    )
}
