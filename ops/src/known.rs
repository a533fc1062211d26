//! What operations give where some of their operands are known: the analysis of zeros, of a fused operator's driver above
//! all, goes by these.
//!
//! Under the default meaning of zeros a zero annihilates in `*`, `&` and as the numerator of `/`, whatever the other
//! operand is, known or not: whether a plan may skip it must not hang on how far the other operand is followed.
//! Wherever else the table says so it annihilates operands of which nothing is known. A `strict` evaluation follows
//! IEEE: a zero annihilates only where the operation gives zero for every other operand, NaN and infinities included.

use crate::{BinaryOp, BinaryZero, TernaryOp, UnaryOp};

/// What is known of an operand.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Known {
    /// Nothing.
    #[default]
    Nothing,
    /// The value of its cells, which follows from zeros of a matrix: where it is zero itself, it annihilates.
    Cells(f64),
    /// The value of a scalar: where it is zero, it annihilates nothing that is known.
    Scalar(f64),
}

impl Known {
    /// A scalar, if its value is known.
    pub fn scalar(value: Option<f64>) -> Known {
        value.map_or(Known::Nothing, Known::Scalar)
    }

    /// Cells, if their value is known.
    pub fn cells(value: Option<f64>) -> Known {
        value.map_or(Known::Nothing, Known::Cells)
    }

    /// The value.
    pub fn value(self) -> Option<f64> {
        match self {
            Known::Nothing => None,
            Known::Cells(value) | Known::Scalar(value) => Some(value),
        }
    }

    /// Whether it is a zero that annihilates what stands beside it.
    fn annihilates(self, strict: bool) -> bool {
        !strict && self == Known::Cells(0.0)
    }

    /// The value of an operation on these operands.
    fn of(operands: &[Known], value: Option<f64>) -> Known {
        let are_scalars = operands.iter().all(|operand| matches!(operand, Known::Scalar(_)));
        if are_scalars { Known::scalar(value) } else { Known::cells(value) }
    }
}

impl UnaryOp {
    /// What is known of the value.
    pub fn eval_known(self, x: Known) -> Known {
        Known::of(&[x], x.value().map(|x| self.eval(x)))
    }
}

impl BinaryOp {
    /// Whether a zero gives zero with every other operand, NaN and infinities included.
    fn always_annihilates(self) -> bool {
        matches!(
            self,
            BinaryOp::And
                | BinaryOp::BitwAnd
                | BinaryOp::BitwShiftL
                | BinaryOp::BitwShiftR
                | BinaryOp::LogNzBase
                | BinaryOp::MinusNz
        )
    }

    /// What is known of the value, where the operands that are known decide it.
    pub fn eval_known(self, x: Known, y: Known, strict: bool) -> Known {
        Known::of(&[x, y], self.value_of_known(x, y, strict))
    }

    fn value_of_known(self, x: Known, y: Known, strict: bool) -> Option<f64> {
        let [of_left, of_right] = [x, y].map(|operand| operand.annihilates(strict));
        let annihilates = || (!strict || self.always_annihilates()).then_some(0.0);
        match (self.zero(), x.value(), y.value()) {
            (BinaryZero::Annihilates, ..) if of_left || of_right => Some(0.0),
            _ if self == BinaryOp::Div && of_left => Some(0.0),
            _ if self == BinaryOp::Minus1Mult && (of_left || of_right) => Some(1.0),
            (_, Some(x), Some(y)) => Some(self.eval(x, y)),
            (BinaryZero::Annihilates, Some(0.0), None) | (BinaryZero::Annihilates, None, Some(0.0)) => annihilates(),
            (BinaryZero::LeftAnnihilates, Some(0.0), None) => annihilates(),
            (_, Some(0.0), None) | (_, None, Some(0.0)) if self == BinaryOp::Minus1Mult && !strict => Some(1.0),
            _ => None,
        }
    }
}

impl TernaryOp {
    /// Whether it adds to an operand, rather than to choose or replace values.
    pub fn is_sum(self) -> bool {
        matches!(self, TernaryOp::PlusMult | TernaryOp::MinusMult)
    }

    /// What is known of the value, where the operands that are known decide it.
    pub fn eval_known(self, a: Known, b: Known, c: Known, strict: bool) -> Known {
        Known::of(&[a, b, c], self.value_of_known(a, b, c, strict))
    }

    fn value_of_known(self, a: Known, b: Known, c: Known, strict: bool) -> Option<f64> {
        let is_sum = self.is_sum();
        match (self, a.value(), b.value(), c.value()) {
            (_, a, ..) if is_sum && (b.annihilates(strict) || c.annihilates(strict)) => a,
            (_, Some(a), Some(b), Some(c)) => Some(self.eval(a, b, c)),
            (_, a, Some(0.0), None) | (_, a, None, Some(0.0)) if is_sum && !strict => a,
            // What does not match the pattern stays, whatever would replace it.
            (TernaryOp::Replace, Some(a), Some(b), None) => (a != b && !(a.is_nan() && b.is_nan())).then_some(a),
            (TernaryOp::IfElse, Some(condition), b, c) => {
                if condition != 0.0 {
                    b
                } else {
                    c
                }
            }
            (TernaryOp::IfElse, None, Some(b), Some(c)) if b == c => Some(b),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZERO: Known = Known::Cells(0.0);

    /// What is known of an operand takes nothing away from what a zero beside it does.
    #[test]
    fn a_zero_annihilates_known_operands_and_unknown_ones() {
        let values = [3.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0];
        let others = values.into_iter().flat_map(|value| [Known::Cells(value), Known::Scalar(value)]);
        for other in others.chain([Known::Nothing]) {
            assert_eq!(BinaryOp::Mult.eval_known(ZERO, other, false), ZERO, "0 * {other:?}");
            assert_eq!(BinaryOp::Mult.eval_known(other, ZERO, false), ZERO, "{other:?} * 0");
            assert_eq!(BinaryOp::Div.eval_known(ZERO, other, false), ZERO, "0 / {other:?}");
            let one = Known::Cells(1.0);
            assert_eq!(TernaryOp::PlusMult.eval_known(one, other, ZERO, false), one, "1 + {other:?} * 0");
            assert_eq!(TernaryOp::MinusMult.eval_known(one, ZERO, other, false), one, "1 - 0 * {other:?}");
        }
        assert_eq!(BinaryOp::Div.eval_known(Known::Cells(1.0), ZERO, false), Known::Cells(f64::INFINITY));
        assert_eq!(BinaryOp::Plus.eval_known(ZERO, Known::Scalar(2.0), false), Known::Cells(2.0));
    }

    #[test]
    fn scalar_zeros_annihilate_nothing_that_is_known() {
        let product = BinaryOp::Mult.eval_known(Known::Scalar(0.0), Known::Cells(f64::NEG_INFINITY), false);
        assert!(product.value().is_some_and(f64::is_nan), "{product:?}");
        let product = BinaryOp::Mult.eval_known(Known::Scalar(0.0), Known::Scalar(2.0), false);
        assert_eq!(product, Known::Scalar(0.0));
    }

    #[test]
    fn a_strict_evaluation_is_that_of_ieee() {
        let product = |x, y| BinaryOp::Mult.eval_known(x, y, true);
        assert_eq!(product(ZERO, Known::Cells(3.0)), ZERO);
        assert_eq!(product(ZERO, Known::Nothing), Known::Nothing);
        assert!(product(ZERO, Known::Cells(f64::INFINITY)).value().is_some_and(f64::is_nan));
        assert!(BinaryOp::Div.eval_known(ZERO, ZERO, true).value().is_some_and(f64::is_nan));
    }
}
