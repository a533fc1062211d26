//! Sketches of matrices: non-zeros per row and per column, from which the non-zeros of intermediates are
//! estimated (after the MNC sketches of matrix non-zero counts).
//!
//! Sizes carry worst-case numbers of non-zeros, which later stages rely on; estimates serve the cost model alone, as a
//! table beside the DAG. Like the bounds they take it that no sum cancels and that operations that keep zeros keep
//! nothing else. What is estimated is
//!
//! * exact for products in which every row of the left, or every column of the right, has at most one non-zero
//!   (selections, permutations, diagonals), for transposes, concatenations and operations that keep the pattern;
//! * by the signs of some of the cells for minima, maxima and comparisons, which may be zero where one operand is not: that of
//!   a sparse matrix and a dense one above zero has non-zeros of the sparse one alone;
//! * never above the worst case, since [`crate::facts::Context::expected_size`] takes the smaller of the two.

mod counts;
mod estimates;
mod operations;
mod remembered;
#[cfg(test)]
mod tests;

pub use counts::Counts;
pub use estimates::{InputSketches, SparsityEstimates, inputs_worth_a_sketch};

use fuseline_ir::ops::math;
use remembered::Remembered;

/// How the non-zeros of a matrix are spread over its rows and columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Sketch {
    /// Non-zeros of each row.
    rows: Counts,
    /// Non-zeros of each column.
    cols: Counts,
    /// Whether the counts are those of the matrix rather than expectations.
    is_exact: bool,
    /// The share of the non-zeros that is expected to be negative.
    negative: f64,
}

/// What is taken to be negative of values of which nothing is known.
const HALF: f64 = 0.5;

impl Sketch {
    /// The sketch of a matrix whose non-zeros were counted.
    pub fn exact(rows: impl Into<Counts>, cols: impl Into<Counts>) -> Self {
        Sketch { rows: rows.into(), cols: cols.into(), is_exact: true, negative: HALF }
    }

    /// The sketch of a matrix of which these counts are expected.
    pub fn expected(rows: impl Into<Counts>, cols: impl Into<Counts>) -> Self {
        Sketch { rows: rows.into(), cols: cols.into(), is_exact: false, negative: HALF }
    }

    /// This sketch of a matrix of whose non-zeros such a share is expected to be negative.
    pub fn with_negative(self, negative: f64) -> Self {
        Sketch { negative, ..self }
    }

    /// A matrix without any structure.
    pub fn uniform(rows: u64, cols: u64, non_zeros: f64) -> Self {
        let each = |length: u64| Counts::uniform(length as usize, non_zeros / (length as f64).max(1.0));
        Sketch::expected(each(rows), each(cols))
    }

    /// A matrix without zeros.
    pub fn dense(rows: u64, cols: u64) -> Self {
        let each = |length: u64, count: u64| Counts::uniform(length as usize, count as f64);
        Sketch::exact(each(rows, cols), each(cols, rows))
    }

    /// Non-zeros of each row.
    pub fn rows(&self) -> &Counts {
        &self.rows
    }

    /// Non-zeros of each column.
    pub fn cols(&self) -> &Counts {
        &self.cols
    }

    /// Number of non-zeros.
    pub fn non_zeros(&self) -> f64 {
        self.rows.sum()
    }

    /// The share of the non-zeros that is expected to be negative.
    pub fn negative(&self) -> f64 {
        self.negative
    }

    /// Whether the counts are those of the matrix.
    pub fn is_exact(&self) -> bool {
        self.is_exact
    }

    fn cells(&self) -> f64 {
        self.rows.len() as f64 * self.cols.len() as f64
    }

    /// Whether every row surely has at most one non-zero.
    fn selects_by_row(&self) -> bool {
        self.is_exact && self.rows.max() <= 1.0
    }

    /// Whether every column surely has at most one non-zero.
    fn selects_by_column(&self) -> bool {
        self.is_exact && self.cols.max() <= 1.0
    }

    /// Rows that are expected to have non-zeros.
    fn occupied_rows(&self) -> f64 {
        self.row_occupancies().sum()
    }

    /// Columns that are expected to have non-zeros.
    fn occupied_cols(&self) -> f64 {
        self.transpose().occupied_rows()
    }

    /// The probability that each row has a non-zero: that not all of its cells are zero, of which each is one with the
    /// probability that the expected count says. A row of a single cell has one with just this probability.
    fn row_occupancies(&self) -> Counts {
        if self.is_exact {
            return self.rows.map(|count| count.min(1.0));
        }
        // Rows without cells have no non-zeros.
        let cells = self.cols.len().max(1) as f64;
        let occupied = |count: f64| -math::expm1(cells * math::log1p(-(count / cells).min(1.0)));
        let mut probability = Remembered::new(occupied);
        self.rows.map(|count| probability.of(count))
    }
}
