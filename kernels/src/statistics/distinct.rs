//! Distinct values. All NaN are one value, and so are both zeros.

use super::order::ascending;
use crate::KernelContext;
use crate::sort::{collected, sorted};
use fuseline_ir::ops::Direction;
use fuseline_matrix::{Dense, MatrixBlock};

/// The distinct values of a matrix in ascending order, NaN at the end, as a column; or those of each row, as rows, or of
/// each column, as columns, all as long as the longest, with zeros behind the shorter ones.
pub fn unique(context: &KernelContext<'_>, matrix: &MatrixBlock, direction: Direction) -> MatrixBlock {
    let lines = distinct(context, matrix, direction);
    let longest = lines.iter().map(Vec::len).max().unwrap_or(0);
    let cell = |line: usize, at: usize| lines[line].get(at).copied().unwrap_or(0.0);
    match direction {
        Direction::Row => Dense::from_fn(lines.len(), longest, cell),
        Direction::Full | Direction::Col => Dense::from_fn(longest, lines.len(), |at, line| cell(line, at)),
    }
    .into()
}

/// How many distinct values a matrix has (1 x 1), or each of its rows (m x 1) or columns (1 x n).
pub fn count_distinct(context: &KernelContext<'_>, matrix: &MatrixBlock, direction: Direction) -> MatrixBlock {
    let counts: Vec<f64> = distinct(context, matrix, direction).iter().map(|line| line.len() as f64).collect();
    match direction {
        Direction::Full => Dense::from_vec(1, 1, counts),
        Direction::Row => Dense::from_vec(counts.len(), 1, counts),
        Direction::Col => Dense::from_vec(1, counts.len(), counts),
    }
    .into()
}

/// The distinct values of all cells, or of each row or column.
fn distinct(context: &KernelContext<'_>, matrix: &MatrixBlock, direction: Direction) -> Vec<Vec<f64>> {
    let cells = matrix.to_dense();
    let (rows, cols) = matrix.dims();
    match direction {
        Direction::Full => vec![distinct_values(context, cells.values().len(), |at| cells.values()[at])],
        Direction::Row => (0..rows).map(|i| distinct_values(context, cols, |j| cells.get(i, j))).collect(),
        Direction::Col => (0..cols).map(|j| distinct_values(context, rows, |i| cells.get(i, j))).collect(),
    }
}

fn distinct_values(context: &KernelContext<'_>, count: usize, cell: impl Fn(usize) -> f64) -> Vec<f64> {
    // A zero has no sign of its own here.
    let values = collected(count, |at| cell(at) + 0.0);
    let mut values = sorted(context, values, |x, y| ascending(*x, *y)).into_vec();
    values.dedup_by(|x, y| x == y || x.is_nan() && y.is_nan());
    values
}
