//! Numbers of about 106 bits as unevaluated sums of two doubles, by error-free transformations.

/// `high + low`, with `low` at most half a unit in the last place of `high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DoubleDouble {
    pub(crate) high: f64,
    pub(crate) low: f64,
}

/// Relative error of one operation, generously.
pub(crate) const RELATIVE_ERROR: f64 = 1.0 / (1_u128 << 100) as f64;

/// Below this, products of the parts of a number are not exact any more: 2^-900.
const TINY: f64 = f64::from_bits((1023 - 900) << 52);
/// 2^200.
const SCALE: f64 = f64::from_bits((1023 + 200) << 52);

fn two_sum(x: f64, y: f64) -> DoubleDouble {
    let high = x + y;
    let part = high - x;
    DoubleDouble { high, low: (x - (high - part)) + (y - part) }.or_high_alone()
}

fn two_product(x: f64, y: f64) -> DoubleDouble {
    let high = x * y;
    DoubleDouble { high, low: x.mul_add(y, -high) }.or_high_alone()
}

impl DoubleDouble {
    pub(crate) const ZERO: DoubleDouble = DoubleDouble { high: 0.0, low: 0.0 };

    pub(crate) fn new(value: f64) -> Self {
        DoubleDouble { high: value, low: 0.0 }
    }

    /// Without the correction where it is not a number: infinities and NaN are all in `high`.
    fn or_high_alone(self) -> Self {
        if self.high.is_finite() && self.low.is_finite() { self } else { DoubleDouble::new(self.high) }
    }

    pub(crate) fn add(self, other: DoubleDouble) -> Self {
        let sum = two_sum(self.high, other.high);
        if !sum.high.is_finite() {
            return sum;
        }
        let low = two_sum(self.low, other.low);
        let sum = two_sum(sum.high, sum.low + low.high);
        two_sum(sum.high, sum.low + low.low)
    }

    pub(crate) fn neg(self) -> Self {
        DoubleDouble { high: -self.high, low: -self.low }
    }

    pub(crate) fn mul(self, other: DoubleDouble) -> Self {
        let product = two_product(self.high, other.high);
        if !product.high.is_finite() {
            return product;
        }
        two_sum(product.high, product.low + self.high.mul_add(other.low, self.low * other.high))
    }

    pub(crate) fn div(self, other: DoubleDouble) -> Self {
        // What is left of a tiny numerator would lose its last bits: divide a multiple of it.
        if self.high.abs() < TINY && self.high != 0.0 {
            let scaled = DoubleDouble { high: self.high * SCALE, low: self.low * SCALE }.div(other);
            return DoubleDouble { high: scaled.high / SCALE, low: scaled.low / SCALE };
        }
        let first = self.high / other.high;
        if !first.is_finite() || first == 0.0 || !other.high.is_finite() {
            return DoubleDouble::new(first);
        }
        let rest = self.add(other.mul(DoubleDouble::new(first)).neg());
        let second = rest.high / other.high;
        let rest = rest.add(other.mul(DoubleDouble::new(second)).neg());
        two_sum(first, second).add(DoubleDouble::new(rest.high / other.high))
    }

    /// Whether the number is below the other.
    pub(crate) fn less(self, other: DoubleDouble) -> bool {
        self.high < other.high || self.high == other.high && self.low < other.low
    }

    /// `self - other`, rounded once or twice.
    pub(crate) fn distance(self, other: f64) -> f64 {
        ((self.high - other) + self.low).abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_keep_what_one_double_loses() {
        let tiny = DoubleDouble::new(1e-25);
        let sum = DoubleDouble::new(1.0).add(tiny);
        assert_eq!(sum.high, 1.0);
        assert_eq!(sum.add(DoubleDouble::new(-1.0)).high, 1e-25);
        let third = DoubleDouble::new(1.0).div(DoubleDouble::new(3.0));
        let error = third.mul(DoubleDouble::new(3.0)).add(DoubleDouble::new(-1.0));
        assert!(error.high.abs() < RELATIVE_ERROR, "{error:?}");
        let x = DoubleDouble::new(1.0 + f64::EPSILON);
        let square = x.mul(x);
        assert_eq!((square.high, square.low), (1.0 + 2.0 * f64::EPSILON, f64::EPSILON * f64::EPSILON));
    }

    #[test]
    fn quotients_of_subnormal_numbers_are_as_good_as_others() {
        // 3 / 7 in units of the smallest subnormal, and of one.
        let unit = f64::from_bits(1);
        let small = DoubleDouble::new(3.0 * unit).div(DoubleDouble::new(7.0 * unit));
        let plain = DoubleDouble::new(3.0).div(DoubleDouble::new(7.0));
        assert!(small.add(plain.neg()).high.abs() < RELATIVE_ERROR, "{small:?}");
    }

    #[test]
    fn infinities_stay() {
        let infinity = DoubleDouble::new(f64::INFINITY);
        assert_eq!(infinity.add(DoubleDouble::new(1.0)).high, f64::INFINITY);
        assert!(infinity.add(infinity.neg()).high.is_nan());
        assert_eq!(DoubleDouble::new(1.0).div(infinity).high, 0.0);
        assert_eq!(DoubleDouble::new(1.0).div(DoubleDouble::ZERO).high, f64::INFINITY);
    }
}
