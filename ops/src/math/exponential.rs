//! The exponential function, `exp(x) - 1`, and the functions made of them.

use super::arithmetic::{
    LN_2_HI, LN_2_LO, Pair, ROUND_SHIFT, fast_two_sum, polynomial, power_of_two, scale, select, two_sum,
};

/// An exponential as `(1 + rest + curve) * 2^k`.
#[derive(Clone, Copy)]
pub(super) struct Exponential {
    /// The reduced argument, at most half of ln 2 in magnitude.
    rest: f64,
    /// What `exp(rest)` exceeds `1 + rest` by, and the part of the reduced argument that `rest` has no room for.
    curve: f64,
    /// An integer.
    pub(super) k: f64,
}

impl Exponential {
    /// The exponential of `high + low`, both of them at most 1100 and `low` tiny beside `high`.
    #[inline(always)]
    pub(super) fn new(high: f64, low: f64) -> Exponential {
        let k = high.mul_add(std::f64::consts::LOG2_E, ROUND_SHIFT) - ROUND_SHIFT;
        // The first difference is exact.
        let reduced = two_sum(k.mul_add(-LN_2_HI, high), k.mul_add(-LN_2_LO, low));
        let (rest, low) = (reduced.high, reduced.low);
        // (exp(r) - 1 - r) / r^2 for |r| <= ln(2) / 2, within 2^-57.
        let quotient = polynomial!(
            rest,
            5.0e-1,
            1.666_666_666_666_667e-1,
            4.166_666_666_666_667e-2,
            8.333_333_333_326_084e-3,
            1.388_888_888_888_371_1e-3,
            1.984_126_987_500_228e-4,
            2.480_158_732_567_746e-5,
            2.755_725_517_000_089e-6,
            2.755_727_347_871_858e-7,
            2.510_531_272_962_210_3e-8,
            2.091_475_532_589_32e-9,
        );
        Exponential { rest, curve: (rest * rest).mul_add(quotient, low.mul_add(rest, low)), k }
    }

    /// The factor of `2^k`, between sqrt(1/2) and sqrt(2), with a few more bits than a double has.
    #[inline(always)]
    pub(super) fn mantissa_pair(self) -> Pair {
        let sum = fast_two_sum(1.0, self.rest);
        Pair::new(sum.high, sum.low + self.curve)
    }

    /// The factor of `2^k`.
    #[inline(always)]
    fn mantissa(self) -> f64 {
        let Pair { high, low } = self.mantissa_pair();
        high + low
    }

    /// The exponential.
    #[inline(always)]
    pub(super) fn value(self) -> f64 {
        scale(self.mantissa(), self.k)
    }

    /// A quarter of the exponential, for `-1020 <= k <= 1025`.
    #[inline(always)]
    fn quarter(self) -> f64 {
        self.mantissa() * power_of_two(self.k - 2.0 + ROUND_SHIFT)
    }

    /// A quarter of the exponential less one, for `-100 <= k <= 1025`.
    #[inline(always)]
    fn quarter_less_one(self) -> f64 {
        let power = power_of_two(self.k - 2.0 + ROUND_SHIFT);
        (self.rest + self.curve).mul_add(power, power - 0.25)
    }
}

/// The exponential function: Cody-Waite reduction by ln 2, a polynomial of degree 13, and scaling in two steps so that
/// overflow and gradual underflow round once.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    // Beyond these bounds the result is Inf or 0; NaN compares false and passes through.
    let x = select(x > 710.0, 710.0, x);
    let x = select(x < -746.0, -746.0, x);
    let k = x.mul_add(std::f64::consts::LOG2_E, ROUND_SHIFT) - ROUND_SHIFT;
    let r = k.mul_add(-LN_2_LO, k.mul_add(-LN_2_HI, x));
    let p = polynomial!(
        r,
        1.0,
        1.0,
        0.5,
        1.0 / 6.0,
        1.0 / 24.0,
        1.0 / 120.0,
        1.0 / 720.0,
        1.0 / 5_040.0,
        1.0 / 40_320.0,
        1.0 / 362_880.0,
        1.0 / 3_628_800.0,
        1.0 / 39_916_800.0,
        1.0 / 479_001_600.0,
        1.0 / 6_227_020_800.0,
    );
    scale(p, k)
}

/// `exp(x) - 1`.
#[inline(always)]
pub fn expm1(x: f64) -> f64 {
    // Beyond these bounds the result is Inf or -1.
    let bounded = select(x > 710.0, 710.0, x);
    let bounded = select(bounded < -50.0, -50.0, bounded);
    let result = 4.0 * Exponential::new(bounded, 0.0).quarter_less_one();
    // Subnormals would lose bits, and zero its sign.
    select(x.abs() < 1e-17, x, result)
}

/// The logistic function `1 / (1 + exp(-x))`, for negative numbers `exp(x) / (1 + exp(x))`.
#[inline(always)]
pub fn sigmoid(x: f64) -> f64 {
    let z = exp(-x.abs());
    let numerator = select(x < 0.0, z, 1.0);
    numerator / (1.0 + z)
}

/// Below this magnitude `sinh(x)`, `tanh(x)` and their like round to `x`.
const LINEAR: f64 = 1e-9;

/// The hyperbolic sine: `(e + e / (e + 1)) / 2` for `e = exp(|x|) - 1`.
#[inline(always)]
pub fn sinh(x: f64) -> f64 {
    let bounded = select(x.abs() > 710.6, 710.6, x.abs());
    let quarter = Exponential::new(bounded, 0.0).quarter_less_one();
    let result = (2.0 * quarter + quarter / (2.0 * quarter + 0.5)).copysign(x);
    select(x.abs() < LINEAR, x, result)
}

/// The hyperbolic cosine: `(e + 1 / e) / 2` for `e = exp(|x|)`.
#[inline(always)]
pub fn cosh(x: f64) -> f64 {
    let bounded = select(x.abs() > 710.6, 710.6, x.abs());
    let quarter = Exponential::new(bounded, 0.0).quarter();
    2.0 * quarter + 0.125 / quarter
}

/// The hyperbolic tangent: `e / (e + 2)` for `e = exp(2 |x|) - 1`.
#[inline(always)]
pub fn tanh(x: f64) -> f64 {
    // Beyond this bound the result is 1.
    let bounded = select(x.abs() > 22.0, 22.0, x.abs());
    let quarter = Exponential::new(2.0 * bounded, 0.0).quarter_less_one();
    let result = (quarter / (quarter + 0.5)).copysign(x);
    select(x.abs() < LINEAR, x, result)
}
