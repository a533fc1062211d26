//! Distinct values. All NaN are one value, and so are both zeros.

use super::order::ascending;
use fuseline_ir::ops::Direction;
use fuseline_matrix::{Dense, MatrixBlock};

/// The distinct values of a matrix in ascending order, NaN at the end, as a column; or those of each row, as rows, or of
/// each column, as columns, all as long as the longest, with zeros behind the shorter ones.
pub fn unique(matrix: &MatrixBlock, direction: Direction) -> MatrixBlock {
    let lines = distinct(matrix, direction);
    let longest = lines.iter().map(Vec::len).max().unwrap_or(0);
    let cell = |line: usize, at: usize| lines[line].get(at).copied().unwrap_or(0.0);
    match direction {
        Direction::Row => Dense::from_fn(lines.len(), longest, cell),
        Direction::Full | Direction::Col => Dense::from_fn(longest, lines.len(), |at, line| cell(line, at)),
    }
    .into()
}

/// How many distinct values a matrix has (1 x 1), or each of its rows (m x 1) or columns (1 x n).
pub fn count_distinct(matrix: &MatrixBlock, direction: Direction) -> MatrixBlock {
    let counts: Vec<f64> = distinct(matrix, direction).iter().map(|line| line.len() as f64).collect();
    match direction {
        Direction::Full => Dense::from_vec(1, 1, counts),
        Direction::Row => Dense::from_vec(counts.len(), 1, counts),
        Direction::Col => Dense::from_vec(1, counts.len(), counts),
    }
    .into()
}

/// The distinct values of all cells, or of each row or column.
fn distinct(matrix: &MatrixBlock, direction: Direction) -> Vec<Vec<f64>> {
    let cells = matrix.to_dense();
    match direction {
        Direction::Full => vec![distinct_values(cells.values().iter().copied())],
        Direction::Row => (0..cells.rows()).map(|i| distinct_values(cells.row(i).iter().copied())).collect(),
        Direction::Col => {
            (0..cells.cols()).map(|j| distinct_values((0..cells.rows()).map(|i| cells.get(i, j)))).collect()
        }
    }
}

fn distinct_values(cells: impl Iterator<Item = f64>) -> Vec<f64> {
    // A zero has no sign of its own here.
    let mut values: Vec<f64> = cells.map(|value| value + 0.0).collect();
    values.sort_by(|x, y| ascending(*x, *y));
    values.dedup_by(|x, y| x == y || x.is_nan() && y.is_nan());
    values
}
