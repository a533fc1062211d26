//! Arc sine, arc cosine and arc tangent.

use super::arithmetic::{polynomial, select};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

/// What `FRAC_PI_2` leaves of pi/2.
const FRAC_PI_2_LOW: f64 = 6.123_233_995_736_766e-17;

/// The arc tangent: arguments beyond tan(pi/8) and tan(3pi/8) are turned by pi/4 and pi/2.
#[inline(always)]
pub fn atan(x: f64) -> f64 {
    let magnitude = x.abs();
    let is_turned = magnitude > 0.414_213_562_373_095_03;
    let is_inverted = magnitude > 2.414_213_562_373_095;
    let numerator = select(is_turned, magnitude - 1.0, magnitude);
    let denominator = select(is_turned, magnitude + 1.0, 1.0);
    let numerator = select(is_inverted, -1.0, numerator);
    let denominator = select(is_inverted, magnitude, denominator);
    let base = select(is_inverted, FRAC_PI_2, select(is_turned, FRAC_PI_4, 0.0));
    let base_low = select(is_inverted, FRAC_PI_2_LOW, select(is_turned, 0.5 * FRAC_PI_2_LOW, 0.0));
    let z = numerator / denominator;
    let square = z * z;
    // (atan(z) - z) / z^3 for |z| <= tan(pi/8), within 2^-52.
    let quotient = polynomial!(
        square,
        -3.333_333_333_333_333e-1,
        1.999_999_999_999_551_3e-1,
        -1.428_571_428_466_482e-1,
        1.111_111_101_511_762_6e-1,
        -9.090_904_572_487_347e-2,
        7.692_183_059_894_114e-2,
        -6.664_509_603_255_386e-2,
        5.858_132_894_427_922e-2,
        -5.085_365_922_344_248e-2,
        3.922_923_713_835_943e-2,
        -1.917_392_228_554_793e-2,
    );
    (base + (z + (z * square).mul_add(quotient, base_low))).copysign(x)
}

/// The arc sine of `root + rest`, given its square of at most 1/4.
#[inline(always)]
fn arc_sine(root: f64, rest: f64, square: f64) -> (f64, f64) {
    // (asin(z) - z) / z^3 for |z| <= 1/2, within 2^-52.
    let quotient = polynomial!(
        square,
        1.666_666_666_666_666_9e-1,
        7.499_999_999_998_425e-2,
        4.464_285_714_637_338e-2,
        3.038_194_413_708_521_6e-2,
        2.237_217_300_200_559_6e-2,
        1.735_239_126_590_922_7e-2,
        1.397_123_530_112_453_9e-2,
        1.147_895_269_025_738_7e-2,
        1.032_431_828_874_411_3e-2,
        5.450_878_187_720_55e-3,
        1.741_935_796_488_485_6e-2,
        -1.488_140_939_281_806_6e-2,
        2.877_844_261_259_304e-2,
    );
    (root, (root * square).mul_add(quotient, rest))
}

/// For `|x| <= 1/2` the arc sine of `|x|`, else that of `sqrt((1 - |x|) / 2)`; as a large and a small part.
#[inline(always)]
fn half_arc(x: f64) -> (f64, f64) {
    let magnitude = x.abs();
    let is_far = magnitude > 0.5;
    let square = select(is_far, 0.5 * (1.0 - magnitude), magnitude * magnitude);
    let root = square.sqrt();
    // What the root leaves of its square.
    let rest = root.mul_add(-root, square) / (2.0 * root);
    let rest = select(square == 0.0, 0.0, rest);
    let (root, rest) = (select(is_far, root, magnitude), select(is_far, rest, 0.0));
    arc_sine(root, rest, square)
}

/// The arc sine: `pi/2 - 2 asin(sqrt((1 - x) / 2))` beyond 1/2.
#[inline(always)]
pub fn asin(x: f64) -> f64 {
    let (large, small) = half_arc(x);
    let near = large + small;
    let far = FRAC_PI_2 - (2.0 * large - 2.0f64.mul_add(-small, FRAC_PI_2_LOW));
    (select(x.abs() > 0.5, far, near)).copysign(x)
}

/// The arc cosine: `2 asin(sqrt((1 - x) / 2))` beyond 1/2, and its supplement below -1/2.
#[inline(always)]
pub fn acos(x: f64) -> f64 {
    let (large, small) = half_arc(x);
    let (large_signed, small_signed) = (large.copysign(x), small.copysign(x));
    let near = FRAC_PI_2 - (large_signed - (FRAC_PI_2_LOW - small_signed));
    let right = 2.0 * (large + small);
    let left = PI - 2.0 * (large - (FRAC_PI_2_LOW - small));
    let far = select(x < 0.0, left, right);
    select(x.abs() > 0.5, far, near)
}
