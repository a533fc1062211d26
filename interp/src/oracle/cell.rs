//! Values with rigorous error radii, and their arithmetic.
//!
//! A cell holds the value in about 106 bits, and the radius within which every legal evaluation in double precision
//! stays: any order of sums, fused multiply-adds or not. A cell is *tainted* where legal plans may disagree by more:
//! where a zero may annihilate NaN, infinity or a division by zero, where an interval straddles a jump, and where sums
//! may overflow. A cell is *exact* where every legal evaluation gives the same integer.

use super::double_double::{DoubleDouble, RELATIVE_ERROR};
use super::taint::Taint;

/// Half a unit in the last place of 1.
pub(crate) const UNIT: f64 = f64::EPSILON / 2.0;
/// The smallest subnormal: what a product may lose by underflow.
pub(crate) const SUBNORMAL: f64 = f64::from_bits(1);
/// Below this, integers are exact.
const EXACT_LIMIT: f64 = 9_007_199_254_740_992.0;

/// A bound that stays finite where its operands are, so that overflow and infinity remain apart.
pub(crate) fn saturate(magnitude: f64, operands_are_finite: bool) -> f64 {
    if operands_are_finite { magnitude.min(f64::MAX) } else { f64::INFINITY }
}

/// A value with its error radius.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OracleCell {
    pub(crate) value: DoubleDouble,
    pub(crate) radius: f64,
    /// Bound on the magnitude of the value and of all partial results, however they are grouped.
    pub(crate) magnitude: f64,
    pub(crate) exact: bool,
    pub(crate) taint: Taint,
}

impl OracleCell {
    /// A value that is given.
    pub fn given(value: f64) -> Self {
        let exact = value.abs() < EXACT_LIMIT && value == value.trunc();
        let value = DoubleDouble::new(value);
        OracleCell { value, radius: 0.0, magnitude: value.high.abs(), exact, taint: Taint::NONE }
    }

    /// The value, rounded to a double.
    pub fn value(&self) -> f64 {
        self.value.high
    }

    /// How far a legal result may lie from the value.
    pub fn radius(&self) -> f64 {
        self.radius
    }

    /// Whether legal plans may disagree about this cell.
    pub fn is_tainted(&self) -> bool {
        self.taint != Taint::NONE
    }

    /// The cell in strict IEEE arithmetic, where no zero annihilates what is not finite.
    pub fn strict_ieee(self) -> Self {
        OracleCell { taint: self.taint.in_strict_arithmetic(), ..self }
    }

    /// Whether every legal evaluation gives exactly this integer.
    pub fn is_exact(&self) -> bool {
        self.exact && !self.is_tainted()
    }

    /// Whether `actual` is a legal result.
    pub fn accepts(&self, actual: f64) -> bool {
        let expected = self.value.high;
        if self.is_tainted() {
            true
        } else if expected.is_nan() || actual.is_nan() {
            expected.is_nan() && actual.is_nan()
        } else if !expected.is_finite() || self.is_exact() {
            actual == expected
        } else {
            // The distance itself is rounded.
            self.value.distance(actual) <= self.radius * (1.0 + 1e-12)
        }
    }

    /// The cell with more taint.
    pub(crate) fn with_taint(self, taint: impl Into<Taint>) -> Self {
        OracleCell { taint: self.taint | taint, ..self }
    }

    /// The result of sums and products of cells: `radius` is that of the operation with rounding, `exact` says that
    /// the operands are.
    pub(crate) fn arithmetic(value: DoubleDouble, radius: f64, magnitude: f64, exact: bool, taint: Taint) -> Self {
        let exact = exact && magnitude < EXACT_LIMIT;
        if !value.high.is_finite() {
            // An overflow of finite operands depends on the order; infinities and NaN among these do not.
            let overflows = magnitude.is_finite();
            return OracleCell { value, radius: 0.0, magnitude, exact: false, taint: taint | overflows };
        }
        let radius = if exact { 0.0 } else { radius + value.high.abs() * RELATIVE_ERROR };
        let is_unstable = magnitude > f64::MAX / 2.0 || !radius.is_finite();
        OracleCell { value, radius, magnitude, exact, taint: taint | is_unstable }
    }

    /// A value that follows from its operands without rounding.
    pub(crate) fn decided(value: f64, taint: Taint) -> Self {
        OracleCell { taint, ..OracleCell::given(value) }
    }

    /// A result of a function that was evaluated in double precision.
    pub(crate) fn approximate(value: f64, radius: f64, ulps: f64, taint: Taint) -> Self {
        // Both the result and our own evaluation may be off by `ulps`.
        let rounding = 4.0 * (ulps + 1.0) * UNIT * value.abs() + SUBNORMAL;
        OracleCell::arithmetic(DoubleDouble::new(value), radius + rounding, value.abs(), false, taint)
    }

    /// Whether zero lies within the radius.
    pub(crate) fn may_be_zero(&self) -> bool {
        self.value.high.abs() <= self.radius
    }

    /// Whether the value is certain to the last bit of a double.
    pub(crate) fn is_certain(&self) -> bool {
        self.radius == 0.0 && self.value.low == 0.0
    }

    /// The least and the greatest double that the value may be.
    pub(crate) fn bounds(&self) -> (f64, f64) {
        if self.is_certain() || !self.value.high.is_finite() {
            return (self.value.high, self.value.high);
        }
        let reach = (self.radius + self.value.low.abs()) * (1.0 + f64::EPSILON);
        ((self.value.high - reach).next_down(), (self.value.high + reach).next_up())
    }

    /// Whether the value is different from zero; `None` where that is not certain.
    pub(crate) fn truth(&self) -> Option<bool> {
        if self.value.high != 0.0 && !self.may_be_zero() || self.value.high.is_nan() {
            Some(true)
        } else if self.radius == 0.0 {
            Some(self.value.high != 0.0)
        } else {
            None
        }
    }

    pub(crate) fn add(self, other: OracleCell) -> Self {
        let value = self.value.add(other.value);
        let radius = self.radius + other.radius;
        let radius = radius + UNIT * (value.high.abs() + radius);
        let are_finite = self.magnitude.is_finite() && other.magnitude.is_finite();
        let magnitude = saturate(self.magnitude + other.magnitude, are_finite);
        let exact = self.exact && other.exact;
        OracleCell::arithmetic(value, radius, magnitude, exact, self.taint | other.taint)
    }

    pub(crate) fn neg(self) -> Self {
        OracleCell { value: self.value.neg(), ..self }
    }

    /// The product, with the radius before it is rounded.
    pub(crate) fn product(self, other: OracleCell) -> (DoubleDouble, f64) {
        let (x, y) = (self.value.high.abs(), other.value.high.abs());
        let spread = |value: f64, radius: f64| if radius == 0.0 { 0.0 } else { value * radius };
        let radius = spread(x, other.radius) + spread(y, self.radius) + self.radius * other.radius;
        (self.value.mul(other.value), radius)
    }

    /// Taint by a zero of one operand that may annihilate what is no number in the other.
    pub(crate) fn annihilation(self, other: OracleCell) -> Taint {
        let of = |x: OracleCell, y: OracleCell| match x.may_be_zero() && !y.value.high.is_finite() {
            // What is not certain to be zero makes NaN or an infinity even where nothing annihilates.
            true if x.is_certain() || y.value.high.is_nan() => Taint::DEFAULT_ARITHMETIC,
            true => Taint::UNSTABLE,
            false => Taint::NONE,
        };
        of(self, other) | of(other, self)
    }

    pub(crate) fn mul(self, other: OracleCell) -> Self {
        let taint = self.taint | other.taint | self.annihilation(other);
        let (value, radius) = self.product(other);
        let radius = radius + UNIT * (value.high.abs() + radius) + SUBNORMAL;
        let are_finite = self.magnitude.is_finite() && other.magnitude.is_finite();
        let magnitude = saturate(self.magnitude * other.magnitude, are_finite);
        let exact = self.exact && other.exact;
        OracleCell::arithmetic(value, radius, magnitude, exact, taint)
    }

    pub(crate) fn div(self, other: OracleCell) -> Self {
        let taint = self.taint | other.taint;
        let quotient = self.value.high / other.value.high;
        if other.may_be_zero() {
            // The sign of zeros is not specified; but zero divided by zero is NaN if nothing annihilates.
            let is_certain = self.is_certain() && other.is_certain() && quotient.is_nan();
            return OracleCell::decided(
                quotient,
                taint | if is_certain { Taint::DEFAULT_ARITHMETIC } else { Taint::UNSTABLE },
            );
        }
        if self.may_be_zero() && !other.value.high.is_finite() {
            return OracleCell::decided(quotient, taint | Taint::DEFAULT_ARITHMETIC);
        }
        let value = self.value.div(other.value);
        // The divisor's relative error first: a small quotient times a subnormal error would underflow.
        let least_divisor = other.value.high.abs() - other.radius;
        let radius = self.radius / least_divisor + value.high.abs() * (other.radius / least_divisor);
        let radius = if radius.is_nan() { 0.0 } else { radius };
        let radius = radius + UNIT * (value.high.abs() + radius) + SUBNORMAL;
        let are_finite = self.magnitude.is_finite() && other.value.high.is_finite();
        // What the numerator is a sum of may be divided term by term.
        let of_terms = (self.magnitude / other.value.high.abs()).max(value.high.abs());
        let magnitude = if are_finite { saturate(of_terms, true) } else { value.high.abs() };
        OracleCell::arithmetic(value, radius, magnitude, false, taint)
    }

    /// A monotone function, by its values at the ends of the interval.
    pub(crate) fn monotone(self, function: impl Fn(f64) -> f64, ulps: f64) -> Self {
        let (low, high) = self.bounds();
        let (least, value, greatest) = (function(low), function(self.value.high), function(high));
        if self.is_certain() || least.to_bits() == greatest.to_bits() {
            return OracleCell::approximate(value, 0.0, ulps, self.taint);
        }
        let radius = (greatest - value).abs().max((value - least).abs());
        OracleCell::approximate(value, radius, ulps, self.taint | !radius.is_finite())
    }

    /// A step function: certain if both ends of the interval lie on one step.
    pub(crate) fn step(self, function: impl Fn(f64) -> f64) -> Self {
        let (low, high) = self.bounds();
        let (low, high) = (function(low), function(high));
        let value = function(self.value.high);
        OracleCell::decided(value, self.taint | (low != high && !value.is_nan()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_by_uncertain_subnormals_are_uncertain() {
        let divisor = OracleCell { radius: 1e-318, exact: false, ..OracleCell::given(1e-310) };
        let quotient = OracleCell::given(1e-318).div(divisor);
        assert!(quotient.accepts(quotient.value() * (1.0 + 5e-9)), "{quotient:?}");
        assert!(!quotient.accepts(quotient.value() * (1.0 + 5e-8)), "{quotient:?}");
    }
}
