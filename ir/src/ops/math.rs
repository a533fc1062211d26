//! Scalar references of the operations that are more than one instruction.
//!
//! Every function is branch-free straight-line arithmetic with explicit fused multiply-adds, so that a loop over it
//! vectorises and every lane, tail and instruction set gives the same bits: these *are* the vector kernels, run one
//! lane at a time. Errors were measured against a 106-bit reference: `exp` and `log` stay below 1 ULP.

/// 1.5 * 2^52: adding it rounds to the nearest integer and leaves that integer in the low mantissa bits.
const ROUND_SHIFT: f64 = 6_755_399_441_055_744.0;
const LN_2_HI: f64 = 6.931_471_803_691_238e-1;
const LN_2_LO: f64 = 1.908_214_929_270_587_7e-10;

/// `2^k` for `-1022 <= k <= 1023`, given as the bits of `k + 1.5 * 2^52`.
#[inline(always)]
fn power_of_two(shifted_bits: u64) -> f64 {
    f64::from_bits(shifted_bits.wrapping_add(1023) << 52)
}

/// The exponential function: Cody-Waite reduction by ln 2, a polynomial of degree 13, and scaling in two steps so that
/// overflow and gradual underflow round once.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    // Beyond these bounds the result is Inf or 0; NaN compares false and passes through.
    let x = if x > 710.0 { 710.0 } else { x };
    let x = if x < -746.0 { -746.0 } else { x };
    let shifted = x.mul_add(std::f64::consts::LOG2_E, ROUND_SHIFT);
    let k = shifted - ROUND_SHIFT;
    let r = k.mul_add(-LN_2_HI, x);
    let r = k.mul_add(-LN_2_LO, r);
    let mut p: f64 = 1.0 / 6_227_020_800.0;
    p = p.mul_add(r, 1.0 / 479_001_600.0);
    p = p.mul_add(r, 1.0 / 39_916_800.0);
    p = p.mul_add(r, 1.0 / 3_628_800.0);
    p = p.mul_add(r, 1.0 / 362_880.0);
    p = p.mul_add(r, 1.0 / 40_320.0);
    p = p.mul_add(r, 1.0 / 5_040.0);
    p = p.mul_add(r, 1.0 / 720.0);
    p = p.mul_add(r, 1.0 / 120.0);
    p = p.mul_add(r, 1.0 / 24.0);
    p = p.mul_add(r, 1.0 / 6.0);
    p = p.mul_add(r, 0.5);
    p = p.mul_add(r, 1.0);
    p = p.mul_add(r, 1.0);
    // k = half + rest, each within the exponent range.
    let half_shifted = k.mul_add(0.5, ROUND_SHIFT);
    let half = half_shifted - ROUND_SHIFT;
    let rest_shifted = (k - half) + ROUND_SHIFT;
    p * power_of_two(half_shifted.to_bits()) * power_of_two(rest_shifted.to_bits())
}

/// The natural logarithm: mantissa reduced to [sqrt(1/2), sqrt(2)), then the odd series in `f / (2 + f)`.
#[inline(always)]
pub fn log(x: f64) -> f64 {
    const SQRT_HALF_BITS: u64 = 0x3fe6_a09e_667f_3bcd;
    const EXPONENT_MASK: u64 = 0xfff0_0000_0000_0000;
    const TWO_52: f64 = 4_503_599_627_370_496.0;
    let subnormal = x < f64::MIN_POSITIVE;
    let scaled = x * 18_014_398_509_481_984.0;
    let y = if subnormal { scaled } else { x };
    let bits = y.to_bits();
    let offset = bits.wrapping_sub(SQRT_HALF_BITS);
    let m = f64::from_bits(bits.wrapping_sub(offset & EXPONENT_MASK));
    // The exponent, biased by 2048 to be positive, read back through the mantissa of 2^52 + k.
    let biased = (offset.wrapping_add(2048 << 52) >> 52) & 0xfff;
    let k = f64::from_bits(biased | TWO_52.to_bits()) - (TWO_52 + 2048.0);
    let scaled_k = k - 54.0;
    let k = if subnormal { scaled_k } else { k };
    let f = m - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let mut r: f64 = 1.479_819_860_511_658_6e-1;
    r = r.mul_add(z, 1.531_383_769_920_937_3e-1);
    r = r.mul_add(z, 1.818_357_216_161_805e-1);
    r = r.mul_add(z, 2.222_219_843_214_978_4e-1);
    r = r.mul_add(z, 2.857_142_874_366_239e-1);
    r = r.mul_add(z, 3.999_999_999_940_942e-1);
    r = r.mul_add(z, 6.666_666_666_666_735e-1);
    r *= z;
    let half_square = 0.5 * f * f;
    let low = s.mul_add(half_square + r, k * LN_2_LO);
    let result = k.mul_add(LN_2_HI, f - (half_square - low));
    let result = if x == f64::INFINITY { f64::INFINITY } else { result };
    let result = if x == 0.0 { f64::NEG_INFINITY } else { result };
    if x < 0.0 || x.is_nan() { f64::NAN } else { result }
}

/// The logistic function `1 / (1 + exp(-x))`.
#[inline(always)]
pub fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + exp(-x))
}

/// `x^y`. The square is exact multiplication, so that `X^2` and `X*X` agree bit for bit; everything else is the
/// portable `libm` implementation, which is exact where the result is an integer.
#[inline]
pub fn pow(x: f64, y: f64) -> f64 {
    if y == 2.0 { x * x } else { libm::pow(x, y) }
}

/// The smaller operand; NaN propagates; the second operand on ties.
#[inline(always)]
pub fn min(x: f64, y: f64) -> f64 {
    if x < y || x.is_nan() { x } else { y }
}

/// The larger operand; NaN propagates; the second operand on ties.
#[inline(always)]
pub fn max(x: f64, y: f64) -> f64 {
    if x > y || x.is_nan() { x } else { y }
}

/// 1.0 for true and 0.0 for false.
#[inline(always)]
pub fn indicator(condition: bool) -> f64 {
    if condition { 1.0 } else { 0.0 }
}

/// `floor(x + 0.5)`, DML's (and R's) rounding of halves towards positive infinity.
#[inline(always)]
pub fn round(x: f64) -> f64 {
    (x + 0.5).floor()
}

/// The sign as -1, 0 or 1; NaN for NaN.
#[inline(always)]
pub fn sign(x: f64) -> f64 {
    // Computed before it is chosen: a branch around it would keep loops from vectorising.
    let sign = indicator(x > 0.0) - indicator(x < 0.0);
    if x.is_nan() { x } else { sign }
}

/// `floor(x / y)`.
#[inline(always)]
pub fn int_div(x: f64, y: f64) -> f64 {
    (x / y).floor()
}

/// `x - floor(x / y) * y`: the remainder with the sign of the divisor.
#[inline(always)]
pub fn modulus(x: f64, y: f64) -> f64 {
    x - (x / y).floor() * y
}
