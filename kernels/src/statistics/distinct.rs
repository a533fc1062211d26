//! Distinct values. All NaN are one value, and so are both zeros.

use super::order::ascending;
use crate::KernelContext;
use crate::sort::{collected, sorted};
use fuseline_ir::ops::Direction;
use fuseline_matrix::{Dense, Growing, MatrixBlock, MemoryKind};

/// The distinct values of a matrix in ascending order, NaN at the end, as a column; or those of each row, as rows, or of
/// each column, as columns, all as long as the longest, with zeros behind the shorter ones.
pub fn unique(context: &KernelContext<'_>, matrix: &MatrixBlock, direction: Direction) -> MatrixBlock {
    let mut values = Growing::new(MemoryKind::Scratch);
    // Where the values of each line begin, and those of the last one end.
    let mut bounds = Growing::filled(MemoryKind::Scratch, 1, 0);
    for_each_line(context, matrix, direction, |line| {
        values.extend_from_slice(line);
        bounds.push(values.len());
    });
    let lines = bounds.len() - 1;
    let longest = bounds.windows(2).map(|line| line[1] - line[0]).max().unwrap_or(0);
    let cell = |line: usize, at: usize| values[bounds[line]..bounds[line + 1]].get(at).copied().unwrap_or(0.0);
    match direction {
        Direction::Row => Dense::from_fn(lines, longest, cell),
        Direction::Full | Direction::Col => Dense::from_fn(longest, lines, |at, line| cell(line, at)),
    }
    .into()
}

/// How many distinct values a matrix has (1 x 1), or each of its rows (m x 1) or columns (1 x n).
pub fn count_distinct(context: &KernelContext<'_>, matrix: &MatrixBlock, direction: Direction) -> MatrixBlock {
    let mut counts = Growing::new(MemoryKind::Scratch);
    for_each_line(context, matrix, direction, |line| counts.push(line.len() as f64));
    match direction {
        Direction::Full => Dense::from_fn(1, 1, |_, _| counts[0]),
        Direction::Row => Dense::from_fn(counts.len(), 1, |i, _| counts[i]),
        Direction::Col => Dense::from_fn(1, counts.len(), |_, j| counts[j]),
    }
    .into()
}

/// Hands over the distinct values of all cells, or of each row or column, one after the other.
fn for_each_line(
    context: &KernelContext<'_>,
    matrix: &MatrixBlock,
    direction: Direction,
    mut each: impl FnMut(&[f64]),
) {
    let cells = matrix.to_dense();
    let (rows, cols) = matrix.dims();
    match direction {
        Direction::Full => {
            each(&distinct_values(context, cells.values().len(), |at| cells.values()[at]));
        }
        Direction::Row => (0..rows).for_each(|i| each(&distinct_values(context, cols, |j| cells.get(i, j)))),
        Direction::Col => (0..cols).for_each(|j| each(&distinct_values(context, rows, |i| cells.get(i, j)))),
    }
}

/// The distinct ones of so many cells, in the room of all.
fn distinct_values(context: &KernelContext<'_>, count: usize, cell: impl Fn(usize) -> f64) -> Growing<f64> {
    // A zero has no sign of its own here.
    let values = collected(count, |at| cell(at) + 0.0);
    let mut values = sorted(context, values, |x, y| ascending(*x, *y));
    values.vec_mut().dedup_by(|x, y| x == y || x.is_nan() && y.is_nan());
    values
}
