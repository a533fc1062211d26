//! Gaussian elimination with partial pivoting, in blocks of columns whose bulk is one product each.

use crate::gemm::{Output, Strided, gemm_add};
use crate::multiply_add::add_scaled;
use fuseline_ir::schedule::product::Extents;
use fuseline_matrix::Dense;
use fuseline_vecprims::{Isa, primitives};
use std::ops::Range;

/// Columns of a block.
pub(super) const BLOCK: usize = 64;

/// `matrix[origin, ] = lower %*% upper`, of a square matrix.
#[derive(Clone, Debug)]
pub(super) struct Elimination {
    /// For each row of the factors the row that it was.
    pub(super) origin: Vec<usize>,
    /// Whether the order of the rows is an odd permutation.
    is_odd: bool,
    /// Both factors in one square: below the diagonal the lower one, without its ones.
    pub(super) factors: Dense,
}

impl Elimination {
    /// Of a square matrix. Columns without a pivot are passed over; their cell on the diagonal is zero.
    pub(super) fn of(matrix: &Dense) -> Self {
        let n = matrix.rows();
        let mut result = Elimination { origin: (0..n).collect(), is_odd: false, factors: matrix.clone() };
        for first in (0..n).step_by(BLOCK) {
            let block = first..(first + BLOCK).min(n);
            result.eliminate_within(block.clone());
            result.eliminate_behind(block);
        }
        result
    }

    /// Whether some column has no pivot.
    pub(super) fn is_singular(&self) -> bool {
        self.diagonal().any(|pivot| pivot == 0.0)
    }

    /// The determinant.
    pub(super) fn determinant(&self) -> f64 {
        self.diagonal().fold(if self.is_odd { -1.0 } else { 1.0 }, |product, pivot| product * pivot)
    }

    fn diagonal(&self) -> impl Iterator<Item = f64> {
        (0..self.factors.rows()).map(|i| self.factors.get(i, i))
    }

    /// The solution of `matrix %*% x = right`.
    pub(super) fn solve(&self, right: &Dense) -> Dense {
        let (n, cols) = (right.rows(), right.cols());
        let mut x = Dense::from_fn(n, cols, |i, j| right.get(self.origin[i], j));
        let blocks = (0..n).step_by(BLOCK).map(|first| first..(first + BLOCK).min(n));
        for block in blocks.clone() {
            let (above, rest) = x.values_mut().split_at_mut(block.start * cols);
            self.subtract(rest, &block, 0..block.start, Strided::rows(above, cols), cols);
            for i in block.clone() {
                let (above, row) = rest.split_at_mut((i - block.start) * cols);
                for (k, known) in (block.start..i).zip(above.chunks_exact(cols)) {
                    add_scaled(&mut row[..cols], -self.factors.get(i, k), known);
                }
            }
        }
        for block in blocks.rev() {
            let (rest, below) = x.values_mut().split_at_mut(block.end * cols);
            let rest = &mut rest[block.start * cols..];
            self.subtract(rest, &block, block.end..n, Strided::rows(below, cols), cols);
            for i in block.clone().rev() {
                let (row, below) = rest[(i - block.start) * cols..].split_at_mut(cols);
                for (k, known) in (i + 1..block.end).zip(below.chunks_exact(cols)) {
                    add_scaled(row, -self.factors.get(i, k), known);
                }
                let pivot = self.factors.get(i, i);
                row.iter_mut().for_each(|cell| *cell /= pivot);
            }
        }
        x
    }

    /// Subtracts the factors in these rows and columns times `right` from rows of `cols` cells.
    fn subtract(&self, out: &mut [f64], rows: &Range<usize>, inner: Range<usize>, right: Strided<'_>, cols: usize) {
        let left = negated(&self.factors, rows.clone(), inner.clone());
        let extents = Extents { rows: rows.len(), inner: inner.len(), cols };
        gemm_add(primitives(Isa::detect()), Output::new(out, cols), extents, Strided::of(&left), right);
    }

    /// Eliminates below the diagonal in these columns; other columns only follow the exchanges of rows.
    fn eliminate_within(&mut self, block: Range<usize>) {
        let n = self.factors.rows();
        for k in block.clone() {
            let cells = self.factors.values_mut();
            // NaN is taken before any number, so that no pivot of zero hides it.
            let larger = |best: usize, i: usize| {
                let (largest, cell) = (cells[best * n + k].abs(), cells[i * n + k].abs());
                if cell > largest || cell.is_nan() { i } else { best }
            };
            let row = (k + 1..n).fold(k, larger);
            let pivot = cells[row * n + k];
            if pivot == 0.0 {
                continue;
            }
            if row != k {
                let (above, below) = cells.split_at_mut(row * n);
                above[k * n..(k + 1) * n].swap_with_slice(&mut below[..n]);
                self.origin.swap(k, row);
                self.is_odd = !self.is_odd;
            }
            let (above, below) = cells.split_at_mut((k + 1) * n);
            let known = &above[k * n + k + 1..k * n + block.end];
            for row in below.chunks_exact_mut(n) {
                row[k] /= pivot;
                let factor = row[k];
                add_scaled(&mut row[k + 1..block.end], -factor, known);
            }
        }
    }

    /// Eliminates behind these columns: first in the rows of their block, then in all below.
    fn eliminate_behind(&mut self, block: Range<usize>) {
        let (n, end) = (self.factors.rows(), block.end);
        if end == n {
            return;
        }
        let left = negated(&self.factors, end..n, block.clone());
        let (above, below) = self.factors.values_mut().split_at_mut(end * n);
        for i in block.clone() {
            let (above, row) = above.split_at_mut(i * n);
            for k in block.start..i {
                let factor = row[k];
                add_scaled(&mut row[end..n], -factor, &above[k * n + end..(k + 1) * n]);
            }
        }
        let extents = Extents { rows: n - end, inner: block.len(), cols: n - end };
        let right = Strided::rows(&above[block.start * n + end..], n);
        gemm_add(primitives(Isa::detect()), Output::new(&mut below[end..], n), extents, Strided::of(&left), right);
    }
}

/// The cells in these rows and columns, with the other sign.
pub(super) fn negated(matrix: &Dense, rows: Range<usize>, cols: Range<usize>) -> Dense {
    Dense::from_fn(rows.len(), cols.len(), |i, j| -matrix.get(rows.start + i, cols.start + j))
}
