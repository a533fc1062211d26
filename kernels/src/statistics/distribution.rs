//! Probability distributions: distribution functions and their inverses.

use super::argument;
use super::incomplete::{Tails, beta_tails, gamma_tails};
use crate::blocks::fill_blocks;
use crate::{KernelContext, KernelError};
use fuseline_ir::ops::math::{self, normal_cdf};
use fuseline_matrix::{Dense, MatrixBlock};
use std::f64::consts::TAU;
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

/// The degrees of freedom for which the special functions end: exact to twelve digits up to some 10^4, to ten at the most.
const FREEDOM: RangeInclusive<f64> = 1e-6..=1e8;

fn check_positive(operation: &'static str, what: &str, value: f64) -> Result<(), KernelError> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(argument(operation, format!("the {what} must be positive, not {value}")))
}

fn check_freedom(operation: &'static str, what: &str, value: f64) -> Result<(), KernelError> {
    if FREEDOM.contains(&value) {
        return Ok(());
    }
    let (least, most) = (FREEDOM.start(), FREEDOM.end());
    Err(argument(operation, format!("the {what} must be from {least:e} to {most:e}, not {value}")))
}

impl Distribution {
    /// Checks the parameters.
    fn check(self, operation: &'static str) -> Result<Self, KernelError> {
        match self {
            Distribution::Normal { mean, deviation } => {
                check_positive(operation, "standard deviation", deviation)?;
                if !mean.is_finite() {
                    return Err(argument(operation, format!("the mean must be finite, not {mean}")));
                }
            }
            Distribution::Exponential { rate } => check_positive(operation, "rate", rate)?,
            Distribution::ChiSquared { freedom } | Distribution::StudentT { freedom } => {
                check_freedom(operation, "number of degrees of freedom", freedom)?;
            }
            Distribution::FisherF { numerator, denominator } => {
                check_freedom(operation, "first number of degrees of freedom", numerator)?;
                check_freedom(operation, "second number of degrees of freedom", denominator)?;
            }
        }
        Ok(self)
    }

    /// The probability of a value of at most `x`.
    fn lower(self, x: f64) -> f64 {
        match self {
            _ if x.is_nan() => f64::NAN,
            Distribution::Normal { mean, deviation } => normal_cdf((x - mean) / deviation),
            Distribution::StudentT { .. } if x < 0.0 => self.upper(-x),
            Distribution::StudentT { .. } if x == 0.0 => 0.5,
            _ if x <= 0.0 => 0.0,
            _ if x == f64::INFINITY => 1.0,
            _ => self.tails(x).lower,
        }
    }

    /// The probability of a value above `x`, without the cancellation of `1 - lower`.
    fn upper(self, x: f64) -> f64 {
        match self {
            _ if x.is_nan() => f64::NAN,
            Distribution::Normal { mean, deviation } => normal_cdf((mean - x) / deviation),
            Distribution::StudentT { .. } if x < 0.0 => self.lower(-x),
            Distribution::StudentT { .. } if x == 0.0 => 0.5,
            _ if x <= 0.0 => 1.0,
            _ if x == f64::INFINITY => 0.0,
            _ => self.tails(x).upper,
        }
    }

    /// Both sides of a positive finite number; normal ones are standard.
    fn tails(self, x: f64) -> Tails {
        match self {
            Distribution::Normal { .. } => {
                let slope = x * math::exp(-0.5 * x * x) / TAU.sqrt();
                Tails { lower: normal_cdf(x), upper: normal_cdf(-x), slope }
            }
            Distribution::Exponential { rate } => {
                let upper = math::exp(-rate * x);
                Tails { lower: -math::expm1(-rate * x), upper, slope: rate * x * upper }
            }
            // Half of the smallest number is none.
            Distribution::ChiSquared { freedom } => gamma_tails(0.5 * freedom, (0.5 * x).max(f64::from_bits(1))),
            Distribution::StudentT { freedom } => student_tails(freedom, x),
            Distribution::FisherF { numerator, denominator } => beta_tails(0.5 * numerator, 0.5 * denominator, x),
        }
    }

    /// The value that another is at most with this probability.
    fn quantile(self, probability: f64) -> f64 {
        match self {
            Distribution::Normal { mean, deviation } => deviation.mul_add(self.symmetric_quantile(probability), mean),
            Distribution::StudentT { .. } => self.symmetric_quantile(probability),
            Distribution::Exponential { rate } => -math::log1p(-probability) / rate,
            Distribution::ChiSquared { .. } | Distribution::FisherF { .. } => self.positive_quantile(probability),
        }
    }

    /// The quantile of a distribution that is symmetric about 0; normal ones are standard.
    fn symmetric_quantile(self, probability: f64) -> f64 {
        // Above one half `1 - probability` is exact.
        let tail = probability.min(1.0 - probability);
        let distance = match tail {
            0.0 => f64::INFINITY,
            0.5 => 0.0,
            _ => self.reach(Side::Upper, tail),
        };
        if probability < 0.5 { -distance } else { distance }
    }

    /// The quantile, of those that are not negative.
    fn positive_quantile(self, probability: f64) -> f64 {
        // The smaller of the two tails has the greater precision.
        match probability {
            0.0 => 0.0,
            1.0 => f64::INFINITY,
            _ if probability < 0.5 => self.reach(Side::Lower, probability),
            _ => self.reach(Side::Upper, 1.0 - probability),
        }
    }

    /// The positive number from which on one side has at least (lower) or at most (upper) this probability: by Newton's
    /// method on logarithms, whose curve is nearly straight where probabilities are small, within bounds that bisection of
    /// the bits of doubles closes where its steps lead outside or are short.
    fn reach(self, side: Side, probability: f64) -> f64 {
        /// A step so short, as a share, is the last one: the next would be rounding.
        const LAST: f64 = 1e-11;
        let (mut low, mut high) = (1_u64, f64::INFINITY.to_bits());
        let (mut x, mut steps) = (1.0_f64, 0);
        while low < high {
            let tails = self.tails(x);
            let (here, slope) = match side {
                Side::Lower => (tails.lower, tails.slope),
                Side::Upper => (tails.upper, -tails.slope),
            };
            let is_reached = if side == Side::Lower { here >= probability } else { here <= probability };
            if is_reached {
                high = x.to_bits();
            } else {
                low = x.to_bits() + 1;
            }
            let step = math::log(probability / here) * (here / slope);
            let next = x * math::exp(step);
            let is_within = (low..high).contains(&next.to_bits());
            if step.abs() <= LAST {
                return if is_within { next } else { x };
            }
            steps += 1;
            x = if is_within && steps % 3 != 0 { next } else { f64::from_bits(low + (high - low) / 2) };
        }
        f64::from_bits(high)
    }
}

/// Both sides of Student's t at a positive finite number.
fn student_tails(freedom: f64, x: f64) -> Tails {
    /// From here on the tail is a power of the number, and the square of the number soon is none.
    const FAR: f64 = 1e150;
    let near = x.min(FAR);
    let Tails { lower, upper, slope } = beta_tails(0.5, 0.5 * freedom, (near * near).max(f64::MIN_POSITIVE));
    if x <= FAR {
        return Tails { lower: 0.5 + 0.5 * lower, upper: 0.5 * upper, slope };
    }
    let share = math::pow(x / FAR, -freedom);
    let upper = 0.5 * upper * share;
    Tails { lower: 1.0 - upper, upper, slope: slope * share }
}

/// Which values a probability is of: those below or those above.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Lower,
    Upper,
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

/// The function of each cell.
fn map(context: &KernelContext<'_>, matrix: &MatrixBlock, of: impl Fn(f64) -> f64 + Sync) -> MatrixBlock {
    /// Cells of a block, which is small since a cell may take milliseconds.
    const BLOCK: usize = 64;
    let cells = matrix.to_dense();
    let mut result = Dense::uninit_in(context.buffers, matrix.rows(), matrix.cols());
    fill_blocks(context, &mut result, BLOCK, |block, results| {
        results.iter_mut().zip(&cells.values()[block * BLOCK..]).for_each(|(result, &cell)| *result = of(cell));
    });
    result.into()
}
