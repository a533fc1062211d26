//! Numbers of about 104 bits as unevaluated sums of two doubles.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// `high + low`, where `high` is the rounded sum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DoubleDouble {
    pub(crate) high: f64,
    pub(crate) low: f64,
}

/// A number of a double double, without parts.
pub(crate) fn double(value: f64) -> DoubleDouble {
    DoubleDouble { high: value, low: 0.0 }
}

pub(crate) const fn pair(high: f64, low: f64) -> DoubleDouble {
    DoubleDouble { high, low }
}

pub(crate) fn two_sum(x: f64, y: f64) -> DoubleDouble {
    let high = x + y;
    let part = high - x;
    pair(high, (x - (high - part)) + (y - part))
}

pub(crate) fn two_product(x: f64, y: f64) -> DoubleDouble {
    let high = x * y;
    pair(high, x.mul_add(y, -high))
}

impl DoubleDouble {
    pub(crate) fn sqrt(self) -> DoubleDouble {
        let root = self.high.sqrt();
        let rest = self - two_product(root, root);
        two_sum(root, rest.high / (2.0 * root))
    }

    /// `self * 2^k`, where no part underflows.
    pub(crate) fn scaled(self, k: i32) -> DoubleDouble {
        let power = 2.0_f64.powi(k);
        pair(self.high * power, self.low * power)
    }

    pub(crate) fn recip(self) -> DoubleDouble {
        double(1.0) / self
    }
}

impl Add for DoubleDouble {
    type Output = DoubleDouble;
    fn add(self, other: DoubleDouble) -> DoubleDouble {
        let (sum, low) = (two_sum(self.high, other.high), two_sum(self.low, other.low));
        let sum = two_sum(sum.high, sum.low + low.high);
        two_sum(sum.high, sum.low + low.low)
    }
}

impl Neg for DoubleDouble {
    type Output = DoubleDouble;
    fn neg(self) -> DoubleDouble {
        pair(-self.high, -self.low)
    }
}

impl Sub for DoubleDouble {
    type Output = DoubleDouble;
    fn sub(self, other: DoubleDouble) -> DoubleDouble {
        self + -other
    }
}

impl Mul for DoubleDouble {
    type Output = DoubleDouble;
    fn mul(self, other: DoubleDouble) -> DoubleDouble {
        let product = two_product(self.high, other.high);
        two_sum(product.high, product.low + self.high.mul_add(other.low, self.low * other.high))
    }
}

impl Div for DoubleDouble {
    type Output = DoubleDouble;
    fn div(self, other: DoubleDouble) -> DoubleDouble {
        let first = self.high / other.high;
        let rest = self - other * double(first);
        let second = rest.high / other.high;
        let rest = rest - other * double(second);
        two_sum(first, second) + double(rest.high / other.high)
    }
}

/// `value * 2^k`: what a double has no room for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scaled {
    pub(crate) value: DoubleDouble,
    pub(crate) k: i32,
}

impl From<DoubleDouble> for Scaled {
    fn from(value: DoubleDouble) -> Scaled {
        Scaled { value, k: 0 }
    }
}

impl Scaled {
    /// The nearest double, or one beside it.
    pub(crate) fn to_f64(self) -> f64 {
        self.value.high * 2.0_f64.powi(self.k / 2) * 2.0_f64.powi(self.k - self.k / 2)
    }

    /// The distance of a finite double in units in the last place: the distance of doubles in the binade of the number.
    pub(crate) fn ulps_to(self, actual: f64) -> f64 {
        // Scaling up and down cancels: exact unless the number is far from being a double.
        let k = self.k;
        let scaled = actual * 2.0_f64.powi(-(k / 2)) * 2.0_f64.powi(-(k - k / 2));
        let exponent = ((self.value.high.abs().to_bits() >> 52) as i32).max(1) - 1023;
        let distance = ((self.value.high - scaled) + self.value.low).abs();
        let last_place = (exponent + k).max(-1022) - 52 - k;
        distance * 2.0_f64.powi(-(last_place / 2)) * 2.0_f64.powi(-(last_place - last_place / 2))
    }
}
