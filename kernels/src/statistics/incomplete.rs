//! The regularised incomplete gamma and beta functions, on the elementary functions of the op table, so that their bits
//! hang on no C library.
//!
//! Both are a density times a series or continued fraction. The density is taken by its distance from the mode (C. Loader,
//! "Fast and accurate computation of binomial probabilities", 2000): the logarithms of gamma functions, which large
//! parameters make large, cancel on paper and not in floating point. A result is good to some units in the last place
//! times the logarithm of the density, and to fewer digits where parameters above some 10^4 take many terms: to ten where
//! these are 5 10^7. Small shapes have a series for the other side, too, which would be lost in the difference from one (W.
//! Gautschi, "A computational procedure for incomplete gamma functions", 1979; that of the beta function is alike).

use fuseline_ir::ops::math;
use std::f64::consts::TAU;

/// Both sides of a distribution of positive numbers at a point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tails {
    /// The probability of less.
    pub(super) lower: f64,
    /// The probability of more.
    pub(super) upper: f64,
    /// The derivative of `lower` by the logarithm of the point.
    pub(super) slope: f64,
}

impl Tails {
    /// Seen from the other end.
    fn reversed(self) -> Self {
        Tails { lower: self.upper, upper: self.lower, slope: self.slope }
    }
}

/// Below this shape most of a distribution lies so near to its end that the other side is lost in `1 - lower`.
const SMALL: f64 = 0.5;

/// The gamma distribution of this shape and scale 1 at a positive finite number.
pub(super) fn gamma_tails(shape: f64, x: f64) -> Tails {
    let ratio = x / shape;
    if ratio.is_infinite() {
        return Tails { lower: 1.0, upper: 0.0, slope: 0.0 };
    }
    // x^shape exp(-x) / Gamma(shape), which is the slope.
    let exponent = stirling_error(shape) + shape * deviance(ratio, (x - shape) / shape);
    let slope = math::exp(-exponent) * (shape / TAU).sqrt();
    if x < shape + 1.0 {
        let lower = slope / shape * gamma_series(shape, x);
        let upper = if shape < SMALL {
            let exponent = shape * math::log(x) - log_gamma_ratio(1.0, shape);
            upper_of_small(shape, exponent, |k| -x / k)
        } else {
            1.0 - lower
        };
        Tails { lower, upper, slope }
    } else {
        let upper = slope * gamma_fraction(shape, x);
        Tails { lower: 1.0 - upper, upper, slope }
    }
}

/// The beta distribution with parameters `a` and `b` at the share of `a f` in `a f + b`, by positive finite `f`, which is
/// the F distribution with degrees of freedom `2 a` and `2 b`. Slopes are by `f`.
pub(super) fn beta_tails(a: f64, b: f64, f: f64) -> Tails {
    // Shares keep their digits on either side of 1, and so does what sets them apart.
    let (first, second, excess) = if f <= 1.0 { (f, 1.0, f - 1.0) } else { (1.0, 1.0 / f, (f - 1.0) / f) };
    let sum = a * first + b * second;
    let (x, y) = (a * first / sum, b * second / sum);
    let deviation =
        a * deviance((a + b) / sum * first, b * excess / sum) + b * deviance((a + b) / sum * second, -a * excess / sum);
    // x^a y^b / B(a, b), which is the slope.
    let exponent = stirling_error(a) + stirling_error(b) - stirling_error(a + b) + deviation;
    let slope = math::exp(-exponent) * (a / (a + b) * b / TAU).sqrt();
    // A share that underflows has its logarithm.
    if x * (a + b + 2.0) < a + 1.0 {
        beta_tails_near(a, b, Share { share: x, log: math::log(first) + math::log(a / sum) }, slope)
    } else {
        beta_tails_near(b, a, Share { share: y, log: math::log(second) + math::log(b / sum) }, slope).reversed()
    }
}

/// A share and its logarithm.
struct Share {
    share: f64,
    log: f64,
}

/// The beta distribution with parameters `a` and `b` and this slope at a share that is hardly above its mean.
fn beta_tails_near(a: f64, b: f64, Share { share, log }: Share, slope: f64) -> Tails {
    let lower = slope / a * beta_fraction(a, b, share);
    let upper = if a < SMALL {
        let exponent = a * log - log_gamma_ratio(1.0, a) + log_gamma_ratio(b, a);
        upper_of_small(a, exponent, |k| (k - b) / k * share)
    } else {
        1.0 - lower
    };
    Tails { lower, upper, slope }
}

/// The upper side of a distribution whose lower one is `exp(exponent) (1 + a t(1) / (a + 1) + a t(2) / (a + 2) + ...)`, where
/// `t(k)` is the product of the first `k` factors: each part is small where `a` is.
fn upper_of_small(a: f64, exponent: f64, factor: impl Fn(f64) -> f64) -> f64 {
    let (mut sum, mut term, mut k) = (0.0_f64, 1.0_f64, 0.0);
    loop {
        k += 1.0;
        term *= factor(k);
        sum += term / (a + k);
        if term.abs() <= sum.abs() * f64::EPSILON / 16.0 {
            break -math::expm1(exponent) - math::exp(exponent) * a * sum;
        }
    }
}

/// From here on the terms of Stirling's series suffice.
const LARGE: f64 = 16.0;
/// Bernoulli numbers by their places: `B(2 k) / (2 k (2 k - 1))`, the coefficients of Stirling's series in odd powers.
const TERMS: [f64; 6] = [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360_360.0];

/// What Stirling's formula lacks: `log Gamma(a + 1) - (a + 1/2) log a + a - log(2 pi) / 2`.
fn stirling_error(a: f64) -> f64 {
    let (mut argument, mut below) = (a, 0.0);
    while argument < LARGE {
        below += (argument + 0.5) * math::log1p(1.0 / argument) - 1.0;
        argument += 1.0;
    }
    let square = 1.0 / (argument * argument);
    below + TERMS.iter().rev().fold(0.0, |sum: f64, term| sum.mul_add(square, *term)) / argument
}

/// `log(Gamma(b + a) / Gamma(b))`: the difference of Stirling's series, each part of which is small where `a` is.
fn log_gamma_ratio(b: f64, a: f64) -> f64 {
    let (mut argument, mut below) = (b, 0.0);
    while argument < LARGE {
        below += math::log1p(a / argument);
        argument += 1.0;
    }
    let growth = math::log1p(a / argument);
    let (mut power, mut series) = (argument, 0.0);
    for (term, order) in TERMS.iter().zip([1.0, 3.0, 5.0, 7.0, 9.0, 11.0]) {
        series += term / power * math::expm1(-order * growth);
        power *= argument * argument;
    }
    a * math::log(argument + a) + ((argument - 0.5) * growth - a) + series - below
}

/// `r - 1 - log r`, for a ratio and its distance from 1, which may have more digits than the ratio keeps of it.
fn deviance(ratio: f64, distance: f64) -> f64 {
    if distance.abs() > 0.5 {
        return distance - math::log(ratio);
    }
    // log(1 + d) is twice the odd series in d / (2 + d), whose first term leaves d v of d.
    let v = distance / (2.0 + distance);
    let square = v * v;
    // v^2 is at most 1/9: the series ends within 2^-54.
    let series = (1..=17).rev().fold(0.0, |sum: f64, k| sum.mul_add(square, 1.0 / f64::from(2 * k + 1)));
    (2.0 * v * square).mul_add(-series, distance * v)
}

/// `1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + ...`
fn gamma_series(a: f64, x: f64) -> f64 {
    let (mut sum, mut term, mut divisor) = (1.0, 1.0, a);
    while term > sum * f64::EPSILON / 16.0 {
        divisor += 1.0;
        term *= x / divisor;
        sum += term;
    }
    sum
}

/// `1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / (x + 5 - a - ...)))`
fn gamma_fraction(a: f64, x: f64) -> f64 {
    let mut fraction = Fraction::new(x + 1.0 - a);
    let mut k = 0.0;
    while !fraction.is_settled {
        k += 1.0;
        fraction.extend(k * (a - k), 2.0f64.mul_add(k, x + 1.0 - a));
    }
    1.0 / fraction.value
}

/// `1 / (1 + d(1) / (1 + d(2) / (1 + ...)))` with the coefficients `d` of the incomplete beta function.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    let mut fraction = Fraction::new(1.0);
    let mut k = 0.0;
    while !fraction.is_settled {
        let place = 2.0f64.mul_add(k, a);
        fraction.extend(-(a + k) * (a + b + k) / (place * (place + 1.0)) * x, 1.0);
        k += 1.0;
        let place = 2.0f64.mul_add(k, a);
        fraction.extend(k * (b - k) / ((place - 1.0) * place) * x, 1.0);
    }
    1.0 / fraction.value
}

/// A continued fraction from its front on, by Lentz's method.
struct Fraction {
    value: f64,
    /// The quotient of subsequent numerators.
    numerators: f64,
    /// The quotient of subsequent denominators, the other way round.
    denominators: f64,
    /// Whether the last part changed nothing.
    is_settled: bool,
}

/// A value that something is divided by: a tiny one in the place of zero.
fn or_least(value: f64) -> f64 {
    if value == 0.0 { 1e-300 } else { value }
}

impl Fraction {
    fn new(first: f64) -> Self {
        Fraction { value: first, numerators: first, denominators: 0.0, is_settled: false }
    }

    /// Appends `+ over / (under + ...)`.
    fn extend(&mut self, over: f64, under: f64) {
        self.denominators = 1.0 / or_least(over.mul_add(self.denominators, under));
        self.numerators = or_least(under + over / self.numerators);
        let factor = self.numerators * self.denominators;
        self.value *= factor;
        self.is_settled = (factor - 1.0).abs() <= f64::EPSILON;
    }
}
