//! Aggregates of groups of rows.

use super::{Weights, argument, cells};
use crate::KernelError;
use crate::generate::checked_dims;
use crate::sort::collected;
use fuseline_matrix::{Dense, Growing, MatrixBlock, zeros};

/// What is computed of each group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupFunction {
    /// The sum of the weights.
    Count,
    /// The sum.
    Sum,
    /// The mean.
    Mean,
    /// The sample variance.
    Variance,
    /// The central moment of this order; NaN without rows.
    CentralMoment(u32),
    /// The smallest cell.
    Min,
    /// The largest cell.
    Max,
}

/// For each group and each column of `target` (n x k), the aggregate of the cells in the rows of the group: g x k.
/// `groups` (n cells) holds the group of each row, from 1 on. With `count` there are that many groups, and what lies
/// beyond counts nowhere; else g is the largest group. Groups without rows give 0,
/// save as moments.
///
/// # Errors
/// Lengths that differ, cells that name no group, or a number of groups that cannot be.
pub fn grouped_aggregate(
    target: &MatrixBlock,
    groups: &MatrixBlock,
    given_weights: Option<&MatrixBlock>,
    function: GroupFunction,
    count: Option<i64>,
) -> Result<MatrixBlock, KernelError> {
    // A row vector is grouped like a column.
    let (rows, cols) = if target.rows() == 1 && groups.rows() * groups.cols() == target.cols() {
        (target.cols(), 1)
    } else {
        target.dims()
    };
    let groups = group_numbers(groups, rows)?;
    let weights = Weights::new("aggregate", given_weights, rows)?;
    let largest = groups.iter().max().map_or(0, |last| last + 1);
    let (count, _) = checked_dims("aggregate", count.unwrap_or(largest as i64), cols as i64)?;
    let cells = target.to_dense();
    let entries = Entries { cells: cells.values(), groups: &groups, weights: &weights, cols, count };
    let totals = entries.sum(|_, _, _| 1.0);
    let result = match function {
        GroupFunction::Count => totals,
        GroupFunction::Sum => entries.sum(|value, _, _| value),
        GroupFunction::Mean => entries.means(&totals),
        GroupFunction::Variance => per_total(entries.deviations(&totals, 2), &totals, 1.0),
        GroupFunction::CentralMoment(order) => {
            let mut moments = per_total(entries.deviations(&totals, order as i32), &totals, 0.0);
            moments
                .iter_mut()
                .zip(&totals)
                .filter(|(_, total)| **total == 0.0)
                .for_each(|(moment, _)| *moment = f64::NAN);
            moments
        }
        GroupFunction::Min => entries.extremes(|value, so_far| value < so_far),
        GroupFunction::Max => entries.extremes(|value, so_far| value > so_far),
    };
    Ok(MatrixBlock::from(Dense::from_vec(count, cols, result)).in_best_format())
}

/// The 0-based group of each row.
fn group_numbers(groups: &MatrixBlock, rows: usize) -> Result<Growing<usize>, KernelError> {
    let groups = cells("aggregate", groups)?;
    let groups = groups.values();
    if groups.len() != rows {
        return Err(argument("aggregate", format!("{} groups do not fit {rows} rows", groups.len())));
    }
    match groups.iter().find(|group| !(1.0..9.0e15).contains(*group)) {
        Some(group) => Err(argument("aggregate", format!("{group} is no group"))),
        None => Ok(collected(rows, |row| groups[row] as usize - 1)),
    }
}

/// Weighted rows of cells with their groups.
struct Entries<'a> {
    cells: &'a [f64],
    groups: &'a [usize],
    weights: &'a Weights<'a>,
    cols: usize,
    count: usize,
}

/// Sums over the weights of their groups, less a correction. A single value has no variance; a group without values has no
/// mean.
fn per_total(mut sums: Vec<f64>, totals: &[f64], correction: f64) -> Vec<f64> {
    for (sum, total) in sums.iter_mut().zip(totals) {
        *sum = if *total > correction { *sum / (total - correction) } else { 0.0 };
    }
    sums
}

impl Entries<'_> {
    /// The mean of each group and column, given the weights of the groups.
    fn means(&self, totals: &[f64]) -> Vec<f64> {
        per_total(self.sum(|value, _, _| value), totals, 0.0)
    }

    /// Sums of powers of the distances from the means.
    fn deviations(&self, totals: &[f64], order: i32) -> Vec<f64> {
        let means = self.means(totals);
        self.sum(|value, group, j| (value - means[group * self.cols + j]).powi(order))
    }

    /// The rows of positive weight that are in a group, with it and the weight.
    fn members(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        let row = |(row, &group): (usize, &usize)| (row, group, self.weights.at(row));
        self.groups.iter().enumerate().map(row).filter(|&(_, group, weight)| group < self.count && weight > 0.0)
    }

    /// Per group and column the weighted sum of `term(value, group, column)`, in the order of rows.
    fn sum(&self, term: impl Fn(f64, usize, usize) -> f64) -> Vec<f64> {
        let mut sums = zeros(self.count * self.cols);
        for (i, group, weight) in self.members() {
            for j in 0..self.cols {
                sums[group * self.cols + j] += weight * term(self.cells[i * self.cols + j], group, j);
            }
        }
        sums
    }

    /// Per group and column the cell of positive weight that is further out than all others, 0 where there is none; NaN
    /// where there is one.
    fn extremes(&self, is_further: impl Fn(f64, f64) -> bool) -> Vec<f64> {
        let mut best: Vec<Option<f64>> = vec![None; self.count * self.cols];
        for (i, group, _) in self.members() {
            for j in 0..self.cols {
                let (value, best) = (self.cells[i * self.cols + j], &mut best[group * self.cols + j]);
                if best.is_none_or(|best| value.is_nan() || is_further(value, best)) {
                    *best = Some(value);
                }
            }
        }
        best.into_iter().map(Option::unwrap_or_default).collect()
    }
}
