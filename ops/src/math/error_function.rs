//! The error function and the normal distribution.

use super::arithmetic::{Pair, polynomial, scale, select, two_product, two_sum};
use super::exponential::Exponential;
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

/// `exp(-exponent)` times the tail `exp(a^2 / 2) Q(a)` for `0 <= a <= 40`, where `Q` is the upper tail of the standard
/// normal distribution: `(1 + 1.5 a)` times that is smooth and between 1/2 and 0.7.
#[inline(always)]
fn tail(a: f64, exponent: Pair) -> f64 {
    let t = (a - 4.0) / (a + 4.0);
    // Within 2^-55; the last step and the division keep their roundings.
    let slope = polynomial!(
        t,
        -5.985_635_521_556_100_7e-2,
        -4.119_017_558_299_345e-2,
        7.875_424_974_919_538e-2,
        -6.372_915_819_529_648e-2,
        3.115_019_396_054_260_7e-2,
        -7.757_348_923_905_692e-3,
        -7.478_415_723_980_866e-4,
        1.135_937_789_681_403_2e-3,
        -1.188_679_378_331_356_8e-4,
        -1.461_039_357_051_320_8e-4,
        2.955_931_966_739_413_7e-5,
        2.259_203_360_880_744_5e-5,
        -4.733_689_417_075_464e-6,
        -4.249_990_464_759_967e-6,
        5.039_715_176_855_215e-7,
        8.749_023_895_680_24e-7,
        2.819_593_877_044_866_5e-8,
        -1.710_384_000_227_937_8e-7,
        -3.538_984_523_746_160_5e-8,
        2.633_843_189_900_958_5e-8,
        1.012_727_699_804_078_7e-8,
        -2.208_481_996_037_075_7e-9,
        -1.216_437_601_371_275e-9,
    );
    let numerator = two_sum(6.608_744_891_137_825e-1, t * slope);
    let denominator = 1.5f64.mul_add(a, 1.0);
    let denominator_low = 1.5f64.mul_add(a, 1.0 - denominator);
    let quotient = numerator.high / denominator;
    let remainder = quotient.mul_add(-denominator, numerator.high);
    let quotient_low = (quotient.mul_add(-denominator_low, remainder) + numerator.low) / denominator;
    let exponential = Exponential::new(-exponent.high, -exponent.low);
    let mantissa = exponential.mantissa_pair();
    let low = mantissa.high.mul_add(quotient_low, mantissa.low * quotient);
    scale(mantissa.high.mul_add(quotient, low), exponential.k)
}

/// The error function of `0 <= x <= 3/4`.
#[inline(always)]
fn erf_near(x: f64) -> f64 {
    let square = x * x;
    // erf(x) / x - 1 for |x| <= 3/4, within 2^-60.
    let quotient = polynomial!(
        square,
        1.283_791_670_955_126e-1,
        -3.761_263_890_318_371_5e-1,
        1.128_379_167_095_259e-1,
        -2.686_617_064_442_702_7e-2,
        5.223_977_615_402_427e-3,
        -8.548_326_187_473_32e-4,
        1.205_528_951_215_673_7e-4,
        -1.492_419_483_540_994_5e-5,
        1.643_066_067_688_951_4e-6,
        -1.593_985_946_425_86e-7,
        1.147_172_404_632_352_5e-8,
    );
    x.mul_add(quotient, x)
}

/// The error function: a polynomial near zero, one less the tail elsewhere.
#[inline(always)]
pub fn erf(x: f64) -> f64 {
    let magnitude = x.abs();
    // Beyond this bound the result is 1.
    let bounded = select(magnitude > 6.0, 6.0, magnitude);
    let far = 2.0f64.mul_add(-tail(bounded * SQRT_2, two_product(bounded, bounded)), 1.0);
    let near = erf_near(magnitude);
    (select(magnitude < 0.75, near, far)).copysign(x)
}

/// The cumulative distribution function of the standard normal distribution: around the mean by the error function,
/// below by the tail, above by one less the tail.
#[inline(always)]
pub fn normal_cdf(x: f64) -> f64 {
    // Beyond this bound the tail is 0.
    let magnitude = select(x.abs() > 39.0, 39.0, x.abs());
    let square = two_product(magnitude, magnitude);
    let below = tail(magnitude, Pair::new(0.5 * square.high, 0.5 * square.low));
    let above = 1.0 - below;
    let near = 0.5f64.mul_add(erf_near(magnitude * FRAC_1_SQRT_2).copysign(x), 0.5);
    let far = select(x > 0.0, above, below);
    select(x.abs() < 0.6, near, far)
}
