//! Order statistics. A weight says how often a value counts; NaN sorts behind all numbers.

use super::{Weights, argument, cells};
use crate::sort::{collected, sorted};
use crate::{KernelContext, KernelError};
use fuseline_matrix::{Dense, Growing, MatrixBlock};

/// Values in ascending order with their weights.
struct Sorted {
    entries: Growing<(f64, f64)>,
    /// The sum of the weights.
    total: f64,
}

impl Sorted {
    fn new(
        context: &KernelContext<'_>,
        operation: &'static str,
        values: &MatrixBlock,
        given: Option<&MatrixBlock>,
    ) -> Result<Self, KernelError> {
        let values = cells(operation, values)?;
        let count = values.values().len();
        let weights = Weights::new(operation, given, count)?;
        let total = weights.total();
        if total <= 0.0 {
            return Err(argument(operation, "there are no values".to_owned()));
        }
        let entries = collected(count, |at| (values.values()[at], weights.at(at)));
        // The memory of what was sparse is free for the sort.
        drop((values, weights));
        Ok(Sorted { entries: sorted(context, entries, |(x, _), (y, _)| ascending(*x, *y)), total })
    }

    /// The value at a position from 1 on, where a value of weight w takes w positions.
    fn at(&self, position: f64) -> f64 {
        let mut reached = 0.0;
        let mut last = f64::NAN;
        for &(value, weight) in self.entries.iter().filter(|(_, weight)| *weight > 0.0) {
            reached += weight;
            last = value;
            if reached >= position {
                break;
            }
        }
        last
    }

    /// The position of a quantile, from 0 (for the probability 0) on.
    fn position(&self, probability: f64) -> Result<f64, KernelError> {
        if !(0.0..=1.0).contains(&probability) {
            return Err(argument("quantile", format!("{probability} is no probability")));
        }
        Ok((probability * self.total).ceil())
    }

    /// The value at a position from 1 on; where the total weight is even, the mean of it and of the one that follows.
    fn between(&self, position: f64) -> f64 {
        let value = self.at(position);
        if self.total % 2.0 == 0.0 && position < self.total { 0.5 * (value + self.at(position + 1.0)) } else { value }
    }
}

/// Numbers before NaN.
pub(super) fn ascending(x: f64, y: f64) -> std::cmp::Ordering {
    x.partial_cmp(&y).unwrap_or_else(|| x.is_nan().cmp(&y.is_nan()))
}

/// The `probability`-quantile of a vector of total weight n: the value at position `ceil(probability * n)` in
/// ascending order, or, where n is even, the mean of it and of the one that follows; of the probability 0 the first.
///
/// # Errors
/// A matrix that is no vector, no values, weights that do not fit, or a probability outside of 0 to 1.
pub fn quantile(
    context: &KernelContext<'_>,
    values: &MatrixBlock,
    weights: Option<&MatrixBlock>,
    probability: f64,
) -> Result<f64, KernelError> {
    let sorted = Sorted::new(context, "quantile", values, weights)?;
    let position = sorted.position(probability)?;
    Ok(if position == 0.0 { sorted.at(1.0) } else { sorted.between(position) })
}

/// The quantiles for the k cells of a vector of probabilities: k x 1. They are cells, not means of two: of each
/// probability p the value at position `ceil(p * n)`.
///
/// # Errors
/// The errors of [`quantile`].
pub fn quantiles(
    context: &KernelContext<'_>,
    values: &MatrixBlock,
    weights: Option<&MatrixBlock>,
    probabilities: &MatrixBlock,
) -> Result<MatrixBlock, KernelError> {
    let sorted = Sorted::new(context, "quantile", values, weights)?;
    let probabilities = cells("quantile", probabilities)?;
    let quantile = |&p: &f64| Ok(sorted.at(sorted.position(p)?.max(1.0)));
    let results = probabilities.values().iter().map(quantile).collect::<Result<Vec<_>, _>>()?;
    Ok(Dense::from_vec(results.len(), 1, results).into())
}

/// The value in the middle of a vector; the mean of the two in the middle where the total weight is even.
///
/// # Errors
/// A matrix that is no vector, no values, or weights that do not fit.
pub fn median(
    context: &KernelContext<'_>,
    values: &MatrixBlock,
    weights: Option<&MatrixBlock>,
) -> Result<f64, KernelError> {
    let sorted = Sorted::new(context, "median", values, weights)?;
    Ok(sorted.between((0.5 * sorted.total).ceil()))
}

/// The mean of the middle half of a vector: of the values between the quartiles, where a quartile that falls inside of
/// a value counts the part of it that lies between.
///
/// # Errors
/// A matrix that is no vector, no values, or weights that do not fit.
pub fn inter_quartile_mean(
    context: &KernelContext<'_>,
    values: &MatrixBlock,
    weights: Option<&MatrixBlock>,
) -> Result<f64, KernelError> {
    let sorted = Sorted::new(context, "interQuartileMean", values, weights)?;
    let (first, last) = (0.25 * sorted.total, 0.75 * sorted.total);
    let (mut reached, mut sum) = (0.0_f64, 0.0);
    for &(value, weight) in sorted.entries.iter() {
        let between = (reached + weight).min(last) - reached.max(first);
        if between > 0.0 {
            sum += between * value;
        }
        reached += weight;
    }
    Ok(sum / (last - first))
}
