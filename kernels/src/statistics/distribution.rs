//! Probability distributions: distribution functions, through the special functions of `statrs`, and their inverses.

use super::argument;
use crate::{KernelContext, KernelError};
use fuseline_ir::ops::math::{self, normal_cdf};
use fuseline_matrix::{Dense, MatrixBlock};
use statrs::function::beta::beta_reg;
use statrs::function::gamma::{gamma_lr, gamma_ur};
use std::ops::RangeInclusive;

/// A distribution of a real number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Normal.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation, positive.
        deviation: f64,
    },
    /// Exponential.
    Exponential {
        /// Events per unit, positive.
        rate: f64,
    },
    /// Chi-squared.
    ChiSquared {
        /// Degrees of freedom, positive.
        freedom: f64,
    },
    /// Student's t.
    StudentT {
        /// Degrees of freedom, positive.
        freedom: f64,
    },
    /// Fisher's F.
    FisherF {
        /// Degrees of freedom of the numerator, positive.
        numerator: f64,
        /// Degrees of freedom of the denominator, positive.
        denominator: f64,
    },
}

/// The degrees of freedom for which the special functions are exact, and end.
const FREEDOM: RangeInclusive<f64> = 1e-6..=1e8;

impl Distribution {
    /// Checks the parameters.
    fn check(self, operation: &'static str) -> Result<Self, KernelError> {
        let positive = |what: &str, value: f64| match value {
            value if value > 0.0 && value.is_finite() => Ok(()),
            value => Err(argument(operation, format!("the {what} must be positive, not {value}"))),
        };
        let freedom = |what: &str, value: f64| match value {
            value if FREEDOM.contains(&value) => Ok(()),
            value => {
                let (least, most) = (FREEDOM.start(), FREEDOM.end());
                Err(argument(operation, format!("the {what} must be from {least:e} to {most:e}, not {value}")))
            }
        };
        match self {
            Distribution::Normal { mean, deviation } => {
                positive("standard deviation", deviation)?;
                if !mean.is_finite() {
                    return Err(argument(operation, format!("the mean must be finite, not {mean}")));
                }
            }
            Distribution::Exponential { rate } => positive("rate", rate)?,
            Distribution::ChiSquared { freedom: value } | Distribution::StudentT { freedom: value } => {
                freedom("number of degrees of freedom", value)?;
            }
            Distribution::FisherF { numerator, denominator } => {
                freedom("first number of degrees of freedom", numerator)?;
                freedom("second number of degrees of freedom", denominator)?;
            }
        }
        Ok(self)
    }

    /// The probability of a value of at most `x`.
    fn lower(self, x: f64) -> f64 {
        match self {
            _ if x.is_nan() => f64::NAN,
            Distribution::Normal { mean, deviation } => normal_cdf((x - mean) / deviation),
            Distribution::StudentT { .. } if x > 0.0 => 1.0 - self.upper(x),
            Distribution::StudentT { freedom } => tail_of_t(freedom, x),
            _ if x <= 0.0 => 0.0,
            _ if x == f64::INFINITY => 1.0,
            Distribution::Exponential { rate } => -math::expm1(-rate * x),
            Distribution::ChiSquared { freedom } => gamma_lr(0.5 * freedom, half(x)),
            Distribution::FisherF { numerator, denominator } => {
                let scaled = numerator * x;
                beta_reg(0.5 * numerator, 0.5 * denominator, share(scaled, denominator))
            }
        }
    }

    /// The probability of a value above `x`, without the cancellation of `1 - lower`.
    fn upper(self, x: f64) -> f64 {
        match self {
            _ if x.is_nan() => f64::NAN,
            Distribution::Normal { mean, deviation } => normal_cdf((mean - x) / deviation),
            Distribution::StudentT { .. } if x < 0.0 => 1.0 - self.lower(x),
            Distribution::StudentT { freedom } => tail_of_t(freedom, x),
            _ if x <= 0.0 => 1.0,
            _ if x == f64::INFINITY => 0.0,
            Distribution::Exponential { rate } => math::exp(-rate * x),
            Distribution::ChiSquared { freedom } => gamma_ur(0.5 * freedom, half(x)),
            Distribution::FisherF { numerator, denominator } => {
                let scaled = numerator * x;
                beta_reg(0.5 * denominator, 0.5 * numerator, share(denominator, scaled))
            }
        }
    }

    /// The value that another is at most with this probability.
    fn quantile(self, probability: f64) -> f64 {
        match self {
            Distribution::Normal { mean, deviation } => {
                let standard = Distribution::Normal { mean: 0.0, deviation: 1.0 };
                deviation.mul_add(standard.symmetric_quantile(probability), mean)
            }
            Distribution::StudentT { .. } => self.symmetric_quantile(probability),
            Distribution::Exponential { rate } => -math::log1p(-probability) / rate,
            Distribution::ChiSquared { .. } | Distribution::FisherF { .. } => self.positive_quantile(probability),
        }
    }

    /// The quantile of a distribution that is symmetric about 0.
    fn symmetric_quantile(self, probability: f64) -> f64 {
        // Above one half `1 - probability` is exact.
        let tail = probability.min(1.0 - probability);
        let distance = if tail == 0.0 { f64::INFINITY } else { least(|x| self.upper(x) <= tail) };
        if probability < 0.5 { -distance } else { distance }
    }

    /// The quantile, of those that are not negative.
    fn positive_quantile(self, probability: f64) -> f64 {
        if probability >= 1.0 {
            return f64::INFINITY;
        }
        // The smaller of the two tails has the greater precision.
        let is_reached = |x: f64| {
            if probability < 0.5 { self.lower(x) >= probability } else { self.upper(x) <= 1.0 - probability }
        };
        least(is_reached)
    }
}

/// The least number from 0 on for which a monotonic condition holds, by bisection of the bits of doubles.
fn least(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0_u64, f64::INFINITY.to_bits());
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(f64::from_bits(middle)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    f64::from_bits(low)
}

/// The probability of a value beyond `x`, on the side of `x`, under Student's t.
fn tail_of_t(freedom: f64, x: f64) -> f64 {
    let square = x * x;
    if x.is_infinite() {
        0.0
    } else if square < freedom {
        // The share of the freedom is near 1, where its complement loses digits.
        0.5 * (1.0 - beta_reg(0.5, 0.5 * freedom, share(square, freedom)))
    } else {
        0.5 * beta_reg(0.5 * freedom, 0.5, share(freedom, square))
    }
}

/// Half of a positive number, which the special functions need to be positive, too.
fn half(x: f64) -> f64 {
    (0.5 * x).max(f64::from_bits(1))
}

/// The share of `part` in the sum of the two.
fn share(part: f64, other: f64) -> f64 {
    if other.is_infinite() { 0.0 } else { 1.0 / (1.0 + other / part) }
}

/// Per cell the probability of a value of at most the cell (`lower_tail`) or above it, in the size of the matrix.
///
/// # Errors
/// Parameters of the distribution that are not positive.
pub fn distribution_function(
    context: &KernelContext<'_>,
    distribution: Distribution,
    lower_tail: bool,
    matrix: &MatrixBlock,
) -> Result<MatrixBlock, KernelError> {
    let distribution = distribution.check("cdf")?;
    let probability = |x| if lower_tail { distribution.lower(x) } else { distribution.upper(x) };
    Ok(map(context, matrix, probability))
}

/// Per cell the quantile for the probability in it, in the size of the matrix.
///
/// # Errors
/// Parameters of the distribution that are not positive, or cells outside of 0 to 1.
pub fn quantile_function(
    context: &KernelContext<'_>,
    distribution: Distribution,
    matrix: &MatrixBlock,
) -> Result<MatrixBlock, KernelError> {
    let distribution = distribution.check("icdf")?;
    match matrix.to_dense().values().iter().find(|cell| !(0.0..=1.0).contains(*cell)) {
        Some(cell) => Err(argument("icdf", format!("{cell} is no probability"))),
        None => Ok(map(context, matrix, |probability| distribution.quantile(probability))),
    }
}

fn map(context: &KernelContext<'_>, matrix: &MatrixBlock, of: impl Fn(f64) -> f64) -> MatrixBlock {
    let mut result = Dense::uninit_in(context.buffers, matrix.rows(), matrix.cols());
    result.values_mut().iter_mut().zip(matrix.to_dense().values()).for_each(|(cell, &value)| *cell = of(value));
    result.into()
}
