//! The Cholesky decomposition, in blocks of columns whose bulk is products.

use super::lu::{BLOCK, negated};
use super::{argument, symmetric};
use crate::KernelError;
use crate::gemm::{Output, Strided, gemm_add};
use crate::multiply_add::add_scaled;
use fuseline_ir::schedule::product::Extents;
use fuseline_matrix::{Dense, MatrixBlock};
use fuseline_vecprims::{Isa, primitives};
use std::ops::Range;

/// Rows that take one product, as far as the diagonal.
const STRIPE: usize = 128;

/// The lower triangular L with `matrix = L %*% t(L)`, of a symmetric positive definite matrix.
///
/// # Errors
/// The matrix is not square, not symmetric, or not positive definite.
pub fn cholesky(matrix: &MatrixBlock) -> Result<MatrixBlock, KernelError> {
    let n = symmetric("cholesky", matrix)?;
    let mut cells = matrix.to_dense().into_owned();
    for first in (0..n).step_by(BLOCK) {
        let block = first..(first + BLOCK).min(n);
        factorise_columns(&mut cells, block.clone());
        subtract_behind(&mut cells, block);
    }
    if (0..n).any(|i| !(cells.get(i, i) > 0.0 && cells.get(i, i).is_finite())) {
        return Err(argument("cholesky", "the matrix is not positive definite".to_owned()));
    }
    for (i, row) in cells.values_mut().chunks_exact_mut(n.max(1)).enumerate() {
        row[i + 1..].fill(0.0);
    }
    Ok(cells.into())
}

/// Computes these columns of L, from which the columns before have been subtracted.
fn factorise_columns(cells: &mut Dense, block: Range<usize>) {
    let (n, first) = (cells.rows(), block.start);
    // The transposed block on the diagonal, whose rows lie in order.
    let mut above = Dense::zeros(block.len(), block.len());
    for (i, row) in (first..n).zip(cells.values_mut()[first * n..].chunks_exact_mut(n)) {
        let row = &mut row[first..block.end];
        let is_in_block = i < block.end;
        let before = (i - first).min(row.len());
        let end = before + usize::from(is_in_block);
        for j in 0..before {
            row[j] /= above.get(j, j);
            let factor = row[j];
            if is_in_block {
                above.values_mut()[j * block.len() + before] = factor;
            }
            add_scaled(&mut row[j + 1..end], -factor, &above.row(j)[j + 1..end]);
        }
        if is_in_block {
            row[before] = row[before].sqrt();
            above.values_mut()[before * block.len() + before] = row[before];
        }
    }
}

/// Subtracts the products of these columns from the lower triangle behind them.
fn subtract_behind(cells: &mut Dense, block: Range<usize>) {
    let (n, end) = (cells.rows(), block.end);
    let left = negated(cells, end..n, block.clone());
    let right = Dense::from_fn(n - end, block.len(), |i, j| -left.get(i, j));
    for (stripe, rows) in cells.values_mut()[end * n..].chunks_mut(STRIPE * n).enumerate() {
        let (start, count) = (stripe * STRIPE, rows.len() / n);
        let extents = Extents { rows: count, inner: block.len(), cols: start + count };
        let (left, right) = (Strided::of(&left).starting_at(start, 0), Strided::of(&right).transposed());
        gemm_add(primitives(Isa::detect()), Output::new(&mut rows[end..], n), extents, left, right);
    }
}
