//! Powers.

use super::arithmetic::{select, two_product};
use super::exponential::Exponential;
use super::logarithm::log_pair;

/// `x^y` with the special cases of IEEE 754. The square is exact multiplication, so that `X^2` and `X*X` agree bit for
/// bit; everything else is `exp(y log |x|)` with a logarithm of 64 bits, exact where the result is a small integer.
#[inline(always)]
pub fn pow(x: f64, y: f64) -> f64 {
    let magnitude = magnitude_power(x.abs(), y);
    let is_integer = y == y.floor();
    let is_odd = is_integer & (y.abs() < 9_007_199_254_740_992.0) & (0.5 * y != (0.5 * y).floor());
    let negated = -magnitude;
    let result = select(x.is_sign_negative() & is_odd, negated, magnitude);
    let result = select((x < 0.0) & (x != f64::NEG_INFINITY) & !is_integer, f64::NAN, result);
    let result = select((x == 1.0) | (y == 0.0), 1.0, result);
    let result = select(x.is_nan() & (y != 0.0), x, result);
    let square = x * x;
    select(y == 2.0, square, result)
}

/// `x^y` for `x >= 0`.
#[inline(always)]
fn magnitude_power(x: f64, y: f64) -> f64 {
    let logarithm = log_pair(x);
    let product = two_product(y, logarithm.high);
    let low = y.mul_add(logarithm.low, product.low);
    // Zero and infinity have no finite logarithm.
    let high = select(x == 0.0, -y, product.high);
    let high = select(x == f64::INFINITY, y, high);
    let is_special = (x == 0.0) | (x == f64::INFINITY) | (y.abs() == f64::INFINITY);
    // 0^y and Inf^y are 0 or Inf for any y but 0.
    let high = select(is_special & (high > 0.0), 2000.0, high);
    let high = select(is_special & (high < 0.0), -2000.0, high);
    // Beyond these bounds the result is Inf or 0; NaN compares false and passes through.
    let is_bounded = high.abs() <= 746.0;
    let high = select(high > 746.0, 746.0, high);
    let high = select(high < -746.0, -746.0, high);
    let low = select(is_bounded & !is_special, low, 0.0);
    let result = Exponential::new(high, low).value();
    select((x == 1.0) & !y.is_nan(), 1.0, result)
}
