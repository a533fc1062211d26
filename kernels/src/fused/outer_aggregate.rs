//! Aggregates of the comparison of every cell of a column with every cell of a row, found in the sorted cells of one of
//! them: `(m + n) * log(n)` steps and no matrix of `m * n` cells.

use super::{FusedValue, check};
use crate::blocks::BLOCK_CELLS;
use crate::{KernelContext, KernelError};
use fuseline_ir::hop::OuterAggregate;
use fuseline_ir::ops::{BinaryOp, Direction};
use fuseline_matrix::run_context::check_stop;
use fuseline_matrix::{Dense, MatrixBlock};
use rayon::prelude::*;
use std::cmp::Ordering;

/// The aggregate of `comparison` of the cells of a column `u` (m x 1) with those of a row `v` (1 x n).
///
/// # Errors
/// `u` is no column, or `v` no row.
pub(super) fn outer_aggregate(
    context: &KernelContext<'_>,
    aggregate: OuterAggregate,
    comparison: BinaryOp,
    u: &MatrixBlock,
    v: &MatrixBlock,
) -> Result<FusedValue, KernelError> {
    check("outer", u, v, u.cols() == 1 && v.rows() == 1, "outer takes a column vector and a row vector")?;
    let (u, v) = (u.to_dense(), v.to_dense());
    if aggregate == OuterAggregate::Sum(Direction::Col) {
        // Seen from the row, the column is on the other side.
        let values = counts(context, &Sorted::new(u.values()), mirrored(comparison), v.values());
        return Ok(FusedValue::Matrix(Dense::from_vec(1, values.len(), values).into()));
    }
    let (sorted, cells) = (&Sorted::new(v.values()), u.values());
    let by_row = match aggregate {
        OuterAggregate::Sum(_) => counts(context, sorted, comparison, cells),
        OuterAggregate::RowIndexMax => last_columns(context, sorted, comparison, true, cells),
        OuterAggregate::RowIndexMin => last_columns(context, sorted, comparison, false, cells),
    };
    Ok(if aggregate == OuterAggregate::Sum(Direction::Full) {
        FusedValue::Scalar(by_row.into_iter().sum())
    } else {
        FusedValue::Matrix(Dense::from_vec(by_row.len(), 1, by_row).into())
    })
}

/// The comparison of `y` with `x` that holds where this one of `x` with `y` does.
fn mirrored(comparison: BinaryOp) -> BinaryOp {
    match comparison {
        BinaryOp::Less => BinaryOp::Greater,
        BinaryOp::LessEqual => BinaryOp::GreaterEqual,
        BinaryOp::Greater => BinaryOp::Less,
        BinaryOp::GreaterEqual => BinaryOp::LessEqual,
        symmetric => symmetric,
    }
}

/// The cells of a vector, sorted: how many of them compare in some way with a value, and where the last of these is.
struct Sorted {
    /// The numbers in ascending order, equal ones in their order in the vector.
    numbers: Vec<f64>,
    /// Where each of them is in the vector, 1-based.
    positions: Vec<usize>,
    /// For each rank, the last position of the numbers before it; 0 where there are none.
    last_before: Vec<usize>,
    /// For each rank, the last position of the numbers from it on; 0 where there are none.
    last_from: Vec<usize>,
    /// The number of cells that are no number, and the last position of one.
    not_a_number: Class,
    len: usize,
}

/// Cells that compare with a value in the same way.
#[derive(Clone, Copy)]
struct Class {
    count: usize,
    /// The last position, 1-based; 0 where there are none.
    last: usize,
}

/// Whether a comparison of two numbers holds.
#[inline]
fn holds(comparison: BinaryOp, x: f64, y: f64) -> bool {
    comparison.eval(x, y) != 0.0
}

impl Sorted {
    fn new(cells: &[f64]) -> Self {
        let mut positions: Vec<usize> = (1..=cells.len()).filter(|&position| !cells[position - 1].is_nan()).collect();
        positions.sort_by(|&a, &b| cells[a - 1].partial_cmp(&cells[b - 1]).unwrap_or(Ordering::Equal));
        let mut last_before = vec![0; positions.len() + 1];
        let mut last_from = vec![0; positions.len() + 1];
        for (rank, &position) in positions.iter().enumerate() {
            last_before[rank + 1] = last_before[rank].max(position);
        }
        for (rank, &position) in positions.iter().enumerate().rev() {
            last_from[rank] = last_from[rank + 1].max(position);
        }
        let last = cells.iter().rposition(|cell| cell.is_nan()).map_or(0, |position| position + 1);
        let not_a_number = Class { count: cells.len() - positions.len(), last };
        let numbers = positions.iter().map(|&position| cells[position - 1]).collect();
        Sorted { numbers, positions, last_before, last_from, not_a_number, len: cells.len() }
    }

    /// The cells by how they compare with `x`, each with whether the comparison of `x` with them holds.
    fn classes(&self, comparison: BinaryOp, x: f64) -> [(bool, Class); 4] {
        if x.is_nan() {
            let (all, none) = (Class { count: self.len, last: self.len }, Class { count: 0, last: 0 });
            return [all, none, none, none].map(|class| (holds(comparison, x, 0.0), class));
        }
        let below = self.numbers.partition_point(|&y| y < x);
        let up_to = below + self.numbers[below..].partition_point(|&y| y <= x);
        let last_equal = if up_to > below { self.positions[up_to - 1] } else { 0 };
        let greater = Class { count: self.numbers.len() - up_to, last: self.last_from[up_to] };
        // Two numbers that compare like `x` with each class: constants, which the compiler compares.
        [
            (holds(comparison, 1.0, 0.0), Class { count: below, last: self.last_before[below] }),
            (holds(comparison, 0.0, 0.0), Class { count: up_to - below, last: last_equal }),
            (holds(comparison, 0.0, 1.0), greater),
            (holds(comparison, 0.0, f64::NAN), self.not_a_number),
        ]
    }

    /// How many cells the comparison of `x` with them holds for.
    fn count(&self, comparison: BinaryOp, x: f64) -> usize {
        self.classes(comparison, x).iter().filter(|(holds, _)| *holds).map(|(_, class)| class.count).sum()
    }

    /// The last position of a cell for which the comparison of `x` with it holds, or does not; where there is none, all
    /// cells are equals, of which the last counts.
    fn last(&self, comparison: BinaryOp, wanted: bool, x: f64) -> usize {
        let classes = self.classes(comparison, x);
        let last = classes.iter().filter(|(holds, _)| *holds == wanted).map(|(_, class)| class.last).max();
        last.filter(|&last| last > 0).unwrap_or(self.len)
    }
}

/// For each value the number of sorted cells that it compares with in this way.
fn counts(context: &KernelContext<'_>, sorted: &Sorted, comparison: BinaryOp, values: &[f64]) -> Vec<f64> {
    for_each_value(context, values, |x| sorted.count(comparison, x))
}

/// For each value the last position of those cells for which the comparison holds, or does not.
fn last_columns(
    context: &KernelContext<'_>,
    sorted: &Sorted,
    comparison: BinaryOp,
    wanted: bool,
    values: &[f64],
) -> Vec<f64> {
    for_each_value(context, values, |x| sorted.last(comparison, wanted, x))
}

fn for_each_value(context: &KernelContext<'_>, values: &[f64], result: impl Fn(f64) -> usize + Sync) -> Vec<f64> {
    let step = BLOCK_CELLS >> 4;
    context.pool.install(|| {
        let results = values.par_chunks(step).flat_map_iter(|run| {
            check_stop();
            run.iter().map(|&x| result(x) as f64)
        });
        results.collect()
    })
}
