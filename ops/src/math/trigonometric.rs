//! Sine, cosine and tangent.
//!
//! Two reductions to an eighth turn serve them. Ordinary arguments subtract quarter turns of 159 bits (after Cody and
//! Waite). Beyond, `x = m * 2^e` for an integer `m`, and a table gives `2^e` in turns without the whole ones (after Payne
//! and Hanek), so that `m` times the entry is the angle in turns. Table look-ups make slow vectors, so loops take the
//! ordinary form alone and mend what is not ordinary, one value at a time.

use super::arithmetic::{Pair, ROUND_SHIFT, polynomial, select, two_product, two_sum};
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

/// `2^e / (2 pi)` without its whole part, for `e` from 0 to 1023: four parts of 52 bits each.
static TURNS: [[f64; 1024]; 4] = [turns(0), turns(52), turns(104), turns(156)];

/// The bits of `1 / (2 pi)` after the binary point.
const INVERSE_TURN: [u64; 20] = [
    0x28be_60db_9391_054a,
    0x7f09_d5f4_7d4d_3770,
    0x36d8_a566_4f10_e410,
    0x7f94_58ea_f7ae_f158,
    0x6dc9_1b8e_9093_74b8,
    0x0192_4bba_8274_6487,
    0x3f87_7ac7_2c4a_69cf,
    0xba20_8d7d_4bae_d121,
    0x3a67_1c09_ad17_df90,
    0x4e64_758e_60d4_ce7d,
    0x2721_17e2_ef7e_4a0e,
    0xc7fe_25ff_f781_6603,
    0xfbcb_c462_d682_9b47,
    0xdb4d_9fb3_c9f2_c26d,
    0xd3d1_8fd9_a797_fa8b,
    0x5d49_eeb1_faf9_7c5e,
    0xcf41_ce7d_e294_a4ba,
    0x9afe_d7ec_47e3_5742,
    0x1580_cc11_bf1e_daea,
    0xfc33_ef08_26bd_0d87,
];

/// Bits `e + first .. e + first + 52` of `1 / (2 pi)`, at their place after the point, for every `e`.
const fn turns(first: usize) -> [f64; 1024] {
    let mut turns = [0.0; 1024];
    let mut e = 0;
    while e < 1024 {
        let (word, shift) = ((e + first) / 64, (e + first) % 64);
        let pair = (INVERSE_TURN[word] as u128) << 64 | INVERSE_TURN[word + 1] as u128;
        let bits = (pair << shift >> (128 - 52)) as u64;
        let unit = f64::from_bits((1023 - 52 - first as u64) << 52);
        turns[e] = bits as f64 * unit;
        e += 1;
    }
    turns
}

/// An angle as quarter turns and a rest of at most an eighth.
struct Angle {
    /// The number of quarter turns in the lowest two bits.
    quarters: u64,
    /// The rest in radians.
    rest: Pair,
}

/// Whether the functions of this file have an ordinary form of `x`; NaN has.
#[inline(always)]
pub(crate) fn is_ordinary(x: f64) -> bool {
    (x.abs() < 268_435_456.0) | x.is_nan()
}

/// Reduces ordinary arguments.
#[inline(always)]
fn reduce_ordinary(x: f64) -> Angle {
    let shifted = x.mul_add(FRAC_2_PI, ROUND_SHIFT);
    let quarters = shifted - ROUND_SHIFT;
    // Exact: both terms are multiples of 2^-53, and their difference is below 1.
    let first = quarters.mul_add(-FRAC_PI_2, x);
    let second = two_product(quarters, QUARTER_MIDDLE);
    let rest = two_sum(first, -second.high);
    let low = quarters.mul_add(-QUARTER_LOW, rest.low - second.low);
    Angle { quarters: shifted.to_bits(), rest: Pair::new(rest.high, low) }
}

/// What `FRAC_PI_2` leaves of a quarter turn, in two parts.
const QUARTER_MIDDLE: f64 = 6.123_233_995_736_766e-17;
const QUARTER_LOW: f64 = -1.497_384_904_859_169_8e-33;

/// Reduces `x >= 1`; infinite angles give numbers without meaning.
fn reduce_far(x: f64) -> Angle {
    const MANTISSA: u64 = 0x000f_ffff_ffff_ffff;
    const TWO_52: f64 = 4_503_599_627_370_496.0;
    let bits = x.to_bits();
    let is_integer = x >= TWO_52;
    let exponent = (bits >> 52).wrapping_sub(1023 + 52) & 1023;
    let exponent = select(is_integer, exponent, 0);
    let mantissa = f64::from_bits(bits & MANTISSA | TWO_52.to_bits());
    let m = select(is_integer, mantissa, x);
    let [first, second, third, fourth] = [0, 1, 2, 3].map(|part| TURNS[part][exponent as usize]);
    let (first, second, third) = (two_product(m, first), two_product(m, second), two_product(m, third));
    // Without whole turns: of the largest products the rounding leaves even numbers of them, at most one too few.
    let whole = (first.high + ROUND_SHIFT) - ROUND_SHIFT;
    let large = two_sum(first.high - whole, first.low);
    let sum = two_sum(large.high, second.high);
    let shifted = sum.high.mul_add(4.0, ROUND_SHIFT);
    // Exact: both terms are multiples of the last place of the sum.
    let eighth = (shifted - ROUND_SHIFT).mul_add(-0.25, sum.high);
    let (low, lower) = (two_sum(large.low, sum.low), two_sum(second.low, third.high));
    let small = two_sum(low.high, lower.high);
    let turns = two_sum(eighth, small.high);
    let rest = (low.low + lower.low) + (small.low + m.mul_add(fourth, third.low));
    let low = turns.low + rest;
    // In radians.
    let radians = two_product(turns.high, TAU.high);
    let low = turns.high.mul_add(TAU.low, low.mul_add(TAU.high, radians.low));
    Angle { quarters: shifted.to_bits(), rest: Pair::new(radians.high, low) }
}

/// 2 pi.
const TAU: Pair = Pair::new(std::f64::consts::TAU, 2.449_293_598_294_706_4e-16);

impl Angle {
    /// The sine of the rest.
    #[inline(always)]
    fn rest_sine(&self) -> f64 {
        let Pair { high: r, low } = self.rest;
        let z = r * r;
        // (sin(r) - r) / r^3 for |r| <= pi/4, within 2^-52.
        let quotient = polynomial!(
            z,
            -1.666_666_666_666_666_6e-1,
            8.333_333_333_330_946e-3,
            -1.984_126_983_675_398_5e-4,
            2.755_731_610_017_207e-6,
            -2.505_113_134_896_025_2e-8,
            1.591_809_356_143_779_5e-10,
        );
        r + (r * z).mul_add(quotient, low * z.mul_add(-0.5, 1.0))
    }

    /// The cosine of the rest.
    #[inline(always)]
    fn rest_cosine(&self) -> f64 {
        let Pair { high: r, low } = self.rest;
        let z = r * r;
        // (cos(r) - 1 + r^2 / 2) / r^4 for |r| <= pi/4, within 2^-54.
        let quotient = polynomial!(
            z,
            4.166_666_666_666_666_4e-2,
            -1.388_888_888_888_739_5e-3,
            2.480_158_729_876_281_6e-5,
            -2.755_731_727_024_068e-7,
            2.087_614_595_808_494e-9,
            -1.138_261_007_099_832_5e-11,
        );
        let half = 0.5 * z;
        let most = 1.0 - half;
        most + ((1.0 - most) - half + (z * z).mul_add(quotient, -(r * low)))
    }

    /// The sine of the angle and `quarters` more quarter turns.
    #[inline(always)]
    fn sine_after(&self, quarters: u64) -> f64 {
        let quarters = self.quarters.wrapping_add(quarters);
        let (sine, cosine) = (self.rest_sine(), self.rest_cosine());
        let value = select(quarters & 1 == 0, sine, cosine);
        f64::from_bits(value.to_bits() ^ (quarters & 2) << 62)
    }
}

/// Below this magnitude the sine and the tangent round to their arguments.
const LINEAR: f64 = 1e-9;

/// `value` with the sign of `x` multiplied in.
#[inline(always)]
fn signed(value: f64, x: f64) -> f64 {
    f64::from_bits(value.to_bits() ^ (x.to_bits() & 1 << 63))
}

/// The tangent of an angle: the sine over the cosine of the rest, or the negative inverse.
#[inline(always)]
fn tangent(angle: &Angle) -> f64 {
    let (sine, cosine) = (angle.rest_sine(), angle.rest_cosine());
    let is_even = angle.quarters & 1 == 0;
    select(is_even, sine, -cosine) / select(is_even, cosine, sine)
}

/// The sine of an ordinary argument.
#[inline(always)]
pub(crate) fn sin_ordinary(x: f64) -> f64 {
    let value = signed(reduce_ordinary(x.abs()).sine_after(0), x);
    select(x.abs() < LINEAR, x, value)
}

/// The cosine of an ordinary argument.
#[inline(always)]
pub(crate) fn cos_ordinary(x: f64) -> f64 {
    reduce_ordinary(x.abs()).sine_after(1)
}

/// The tangent of an ordinary argument.
#[inline(always)]
pub(crate) fn tan_ordinary(x: f64) -> f64 {
    let value = signed(tangent(&reduce_ordinary(x.abs())), x);
    select(x.abs() < LINEAR, x, value)
}

/// `of_angle` of an argument that is not ordinary; NaN for infinities.
#[cold]
fn far(x: f64, of_angle: impl Fn(&Angle) -> f64) -> f64 {
    if x.is_finite() { of_angle(&reduce_far(x.abs())) } else { f64::NAN }
}

/// The sine.
#[inline]
pub fn sin(x: f64) -> f64 {
    if is_ordinary(x) { sin_ordinary(x) } else { signed(far(x, |angle| angle.sine_after(0)), x) }
}

/// The cosine.
#[inline]
pub fn cos(x: f64) -> f64 {
    if is_ordinary(x) { cos_ordinary(x) } else { far(x, |angle| angle.sine_after(1)) }
}

/// The tangent.
#[inline]
pub fn tan(x: f64) -> f64 {
    if is_ordinary(x) { tan_ordinary(x) } else { signed(far(x, tangent), x) }
}
