//! Scalar references of the operations that are more than one instruction.
//!
//! Every function is branch-free straight-line arithmetic with explicit fused multiply-adds, so that a loop over it
//! vectorises and every lane, tail and instruction set gives the same bits: these *are* the vector kernels, run one
//! lane at a time. (Sine, cosine and tangent have such a form for ordinary arguments, and a branch for huge ones.)
//! Polynomials interpolate at Chebyshev nodes. The op table bounds the errors, and `tests/accuracy` measures them
//! against a reference of about 100 bits: `exp`, `log`, `pow`, `sin`, `cos` and `acos` stay below 1 unit in the last
//! place, the others below 3.

mod arithmetic;
mod error_function;
mod exponential;
mod inverse_trigonometric;
mod logarithm;
mod power;
mod trigonometric;

use arithmetic::select;

pub use error_function::{erf, normal_cdf};
pub use exponential::{cosh, exp, expm1, sigmoid, sinh, tanh};
pub use inverse_trigonometric::{acos, asin, atan};
pub use logarithm::{log, log1p};
pub use power::pow;
pub use trigonometric::{cos, sin, tan};
pub(crate) use trigonometric::{cos_ordinary, is_ordinary, sin_ordinary, tan_ordinary};

/// The smaller operand; NaN propagates; the second operand on ties.
#[inline(always)]
pub fn min(x: f64, y: f64) -> f64 {
    select((x < y) | x.is_nan(), x, y)
}

/// The larger operand; NaN propagates; the second operand on ties.
#[inline(always)]
pub fn max(x: f64, y: f64) -> f64 {
    select((x > y) | x.is_nan(), x, y)
}

/// The bits of the NaN that stands for every other one outside of kernels.
const ONE_NAN: u64 = 0x7ff8_0000_0000_0000;

/// The value; of NaN always the same one. Sign and payload of a NaN depend on the instructions that made it and on the
/// order of their operands, so that no value leaves for a file or a caller without this.
#[inline(always)]
pub fn with_one_nan(x: f64) -> f64 {
    if x.is_nan() { f64::from_bits(ONE_NAN) } else { x }
}

/// 1.0 for true and 0.0 for false.
#[inline(always)]
pub fn indicator(condition: bool) -> f64 {
    if condition { 1.0 } else { 0.0 }
}

/// The nearest integer, halves towards positive infinity: `floor(x + 0.5)` but for the rounding of that sum. NaN gives 0,
/// as in Java, by which loops of scripts end.
#[inline(always)]
pub fn round(x: f64) -> f64 {
    let below = x.floor();
    // Exact, but near zero from below, where it rounds to what is no less than one half, too.
    let nearest = below + indicator(x - below >= 0.5);
    select(x.is_nan(), 0.0, nearest)
}

/// The sign as -1, 0 or 1; NaN for NaN.
#[inline(always)]
pub fn sign(x: f64) -> f64 {
    select(x.is_nan(), x, indicator(x > 0.0) - indicator(x < 0.0))
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

/// `log(x)` where `x` is not zero, else 0.
#[inline(always)]
pub fn log_nz(x: f64) -> f64 {
    select(x != 0.0, log(x), 0.0)
}

/// The logarithm to base `y` where `x` is not zero, else 0.
#[inline(always)]
pub fn log_nz_base(x: f64, y: f64) -> f64 {
    select(x != 0.0, log(x) / log(y), 0.0)
}

/// `x - y` where `x` is not zero, else 0.
#[inline(always)]
pub fn minus_nz(x: f64, y: f64) -> f64 {
    select(x != 0.0, x - y, 0.0)
}

/// Bitwise and of both operands as 64-bit integers: truncated towards zero, saturated, 0 for NaN.
#[inline(always)]
pub fn bitw_and(x: f64, y: f64) -> f64 {
    (x as i64 & y as i64) as f64
}

/// Bitwise or of both operands as integers, as in [`bitw_and`].
#[inline(always)]
pub fn bitw_or(x: f64, y: f64) -> f64 {
    (x as i64 | y as i64) as f64
}

/// Bitwise exclusive or of both operands as integers, as in [`bitw_and`].
#[inline(always)]
pub fn bitw_xor(x: f64, y: f64) -> f64 {
    (x as i64 ^ y as i64) as f64
}

/// `x` as an integer, shifted up by the lowest six bits of `y`; what leaves at the top is lost.
#[inline(always)]
pub fn bitw_shift_left(x: f64, y: f64) -> f64 {
    (x as i64).wrapping_shl(y as i64 as u32) as f64
}

/// `x` as an integer, shifted down by the lowest six bits of `y`; copies of the sign come in at the top.
#[inline(always)]
pub fn bitw_shift_right(x: f64, y: f64) -> f64 {
    (x as i64).wrapping_shr(y as i64 as u32) as f64
}

/// `replacement` where `x` equals `pattern` or both are NaN, else `x`.
#[inline(always)]
pub fn replace(x: f64, pattern: f64, replacement: f64) -> f64 {
    let matches = (x == pattern) | (x.is_nan() & pattern.is_nan());
    select(matches, replacement, x)
}
