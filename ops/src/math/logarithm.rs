//! The natural logarithm, `log(1 + x)`, and the logarithm in about 68 bits that powers need.

use super::arithmetic::{
    LN_2_HI, LN_2_LO, Pair, ROUND_SHIFT, fast_two_sum, polynomial, power_of_two, select, two_product, two_sum,
};

/// `x` as `m * 2^k` with `m` in `[sqrt(1/2), sqrt(2))`, for positive finite numbers.
#[inline(always)]
fn split(x: f64) -> (f64, f64) {
    const SQRT_HALF_BITS: u64 = 0x3fe6_a09e_667f_3bcd;
    const EXPONENT_MASK: u64 = 0xfff0_0000_0000_0000;
    const TWO_52: f64 = 4_503_599_627_370_496.0;
    let subnormal = x < f64::MIN_POSITIVE;
    let scaled = x * 18_014_398_509_481_984.0;
    let y = select(subnormal, scaled, x);
    let bits = y.to_bits();
    let offset = bits.wrapping_sub(SQRT_HALF_BITS);
    let m = f64::from_bits(bits.wrapping_sub(offset & EXPONENT_MASK));
    // The exponent, biased by 2048 to be positive, read back through the mantissa of 2^52 + k.
    let biased = (offset.wrapping_add(2048 << 52) >> 52) & 0xfff;
    let k = f64::from_bits(biased | TWO_52.to_bits()) - (TWO_52 + 2048.0);
    let scaled_k = k - 54.0;
    (m, select(subnormal, scaled_k, k))
}

/// `log((1 + f) * 2^k)` for `1 + f` in `[sqrt(1/2), sqrt(2))`: the odd series in `f / (2 + f)`.
#[inline(always)]
fn log_of(f: f64, k: f64) -> f64 {
    let s = f / (2.0 + f);
    let z = s * s;
    let r = z * polynomial!(
        z,
        6.666_666_666_666_735e-1,
        3.999_999_999_940_942e-1,
        2.857_142_874_366_239e-1,
        2.222_219_843_214_978_4e-1,
        1.818_357_216_161_805e-1,
        1.531_383_769_920_937_3e-1,
        1.479_819_860_511_658_6e-1,
    );
    let half_square = 0.5 * f * f;
    let low = s.mul_add(half_square + r, k * LN_2_LO);
    k.mul_add(LN_2_HI, f - (half_square - low))
}

/// The natural logarithm: mantissa reduced to `[sqrt(1/2), sqrt(2))`, then the odd series in `f / (2 + f)`.
#[inline(always)]
pub fn log(x: f64) -> f64 {
    let (m, k) = split(x);
    let result = log_of(m - 1.0, k);
    let result = select(x == f64::INFINITY, f64::INFINITY, result);
    let result = select(x == 0.0, f64::NEG_INFINITY, result);
    select((x < 0.0) | x.is_nan(), f64::NAN, result)
}

/// `log(1 + x)`: the rounding error of the sum joins the reduced argument.
#[inline(always)]
pub fn log1p(x: f64) -> f64 {
    let sum = two_sum(1.0, x);
    let (m, k) = split(sum.high);
    // Where the sum is large its error does not matter, and the power would overflow.
    let shift = select(k > 64.0, -64.0, -k);
    let result = log_of(sum.low.mul_add(power_of_two(shift + ROUND_SHIFT), m - 1.0), k);
    let result = select(x == f64::INFINITY, f64::INFINITY, result);
    let result = select(x == -1.0, f64::NEG_INFINITY, result);
    let result = select((x < -1.0) | x.is_nan(), f64::NAN, result);
    select(x.abs() < 1e-17, x, result)
}

/// The natural logarithm of a positive finite number with a relative error below 2^-64: as [`log`], the first terms of
/// the series in pairs.
#[inline(always)]
pub(super) fn log_pair(x: f64) -> Pair {
    const THIRD: Pair = Pair::new(1.0 / 3.0, 1.850_371_707_708_594e-17);
    const FIFTH: Pair = Pair::new(0.2, -1.110_223_024_625_156_6e-17);
    let (m, k) = split(x);
    let f = m - 1.0;
    // s = f / (2 + f), with the remainder of the division as second part.
    let divisor = two_sum(2.0, f);
    let high = f / divisor.high;
    let low = (high.mul_add(-divisor.high, f) - high * divisor.low) / divisor.high;
    let s = fast_two_sum(high, low);
    let z = s.mul(s);
    // (atanh(s) / s - 1 - z/3 - z^2/5) / z^3, within 2^-50.
    let tail = z.high
        * polynomial!(
            z.high,
            1.428_571_428_571_428_5e-1,
            1.111_111_111_111_147_4e-1,
            9.090_909_090_650_176e-2,
            7.692_307_762_510_03e-2,
            6.666_657_332_457_44e-2,
            5.883_025_350_730_358e-2,
            5.236_442_130_314_114e-2,
            5.308_630_484_722_615e-2,
        );
    let fifth = FIFTH.add(Pair::new(tail, 0.0));
    let third = THIRD.add(z.mul(fifth));
    let series = s.mul(z).mul(third);
    let mantissa = s.add(series);
    let mantissa = Pair::new(2.0 * mantissa.high, 2.0 * mantissa.low);
    // The product with the upper part of ln 2 is exact.
    let low_part = two_product(k, LN_2_LO);
    let exponent = fast_two_sum(k * LN_2_HI, low_part.high);
    let exponent = Pair::new(exponent.high, exponent.low + k.mul_add(LN_2_REST, low_part.low));
    exponent.add(mantissa)
}

/// What `LN_2_HI` and `LN_2_LO` leave of ln 2.
const LN_2_REST: f64 = 1.161_222_722_936_253_2e-26;
