//! Quotients that are rounded down, and their remainders, as NumPy and Python define them: the remainder has the sign of
//! the divisor, and is exact as long as the quotient is.

use crate::broadcast::{binary, if_else};
use crate::capture::{Kind, Operand};
use crate::dtype::DType;
use fuseline::ir::Value;
use fuseline::ir::hop::HopOp;
use fuseline::ir::ops::{BinaryOp, TernaryOp, UnaryOp};
use fuseline::{Expr, Place};

/// Operations on operands of doubles.
struct Terms<'a>(&'a Place);

impl Terms<'_> {
    fn operand(expr: Expr, rank: u8) -> Operand {
        Operand { expr, rank, kind: Kind::Of(DType::F64) }
    }

    fn number(&self, value: f64) -> Operand {
        Terms::operand(Expr::value_at(Value::F64(value), self.0.clone()), 0)
    }

    fn of(&self, op: BinaryOp, left: &Operand, right: &Operand) -> Operand {
        let (expr, rank) = binary(op, left, right, self.0);
        Terms::operand(expr, rank)
    }

    fn map(&self, op: UnaryOp, operand: &Operand) -> Operand {
        Terms::operand(Expr::apply_at(op, &[&operand.expr], self.0.clone()), operand.rank)
    }

    fn choose(&self, condition: &Operand, yes: &Operand, no: &Operand) -> Operand {
        let (expr, rank) = if_else([condition, yes, no], self.0);
        Terms::operand(expr, rank)
    }

    /// Whether two have different signs, and the first is not zero.
    fn opposite(&self, one: &Operand, other: &Operand) -> Operand {
        let zero = self.number(0.0);
        let negative = |operand: &Operand| self.of(BinaryOp::Less, operand, &zero);
        let differ = self.of(BinaryOp::NotEqual, &negative(one), &negative(other));
        self.of(BinaryOp::And, &differ, &self.of(BinaryOp::NotEqual, one, &zero))
    }

    /// An operand in the shape of the result: as it is, and 0 added of the other.
    fn spread(&self, operand: &Operand, other: &Operand) -> Operand {
        let zeros = self.of(BinaryOp::And, &self.map(UnaryOp::IsNan, other), &self.number(0.0));
        self.of(BinaryOp::Plus, operand, &zeros)
    }
}

/// The quotient or the remainder of floating point numbers, and the number of its dimensions.
pub(crate) fn of_floats(op: BinaryOp, left: &Operand, right: &Operand, place: &Place) -> (Expr, u8) {
    let terms = Terms(place);
    // All terms have one shape from here on, so that three of them can be one operation.
    let (left, right) = (&terms.spread(left, right), &terms.spread(right, left));
    let rounded = terms.map(UnaryOp::Floor, &terms.of(BinaryOp::Div, left, right));
    let fused = HopOp::Ternary(TernaryOp::MinusMult);
    let rest = Expr::apply_at(fused, &[&left.expr, &rounded.expr, &right.expr], place.clone());
    let rest = Terms::operand(rest, rounded.rank);
    // A quotient just below an integer was rounded to it: the rest shows that.
    let is_above = terms.opposite(&rest, right);
    let is_infinite = terms.map(UnaryOp::IsInf, right);
    let is_opposite = terms.opposite(left, right);
    // 0 of finite numbers, NaN of infinities.
    let none = terms.of(BinaryOp::Minus, left, left);
    let result = if op == BinaryOp::IntDiv {
        let below = terms.map(UnaryOp::Neg, &is_opposite);
        terms.choose(&is_infinite, &below, &terms.of(BinaryOp::Minus, &rounded, &is_above))
    } else {
        let wrapped = terms.choose(&is_opposite, right, left);
        let rest = terms.choose(&is_above, &terms.of(BinaryOp::Plus, &rest, right), &rest);
        terms.choose(&is_infinite, &wrapped, &rest)
    };
    let result = terms.of(BinaryOp::Plus, &result, &none);
    let result = if op == BinaryOp::IntDiv {
        let is_zero = terms.of(BinaryOp::Equal, right, &terms.number(0.0));
        terms.choose(&is_zero, &rounded, &result)
    } else {
        result
    };
    (result.expr, result.rank)
}

/// The quotient or the remainder of integers, which is 0 where the divisor is.
pub(crate) fn of_integers(op: BinaryOp, left: &Operand, right: &Operand, place: &Place) -> (Expr, u8) {
    let terms = Terms(place);
    let zero = terms.number(0.0);
    let is_zero = terms.of(BinaryOp::Equal, &terms.spread(right, left), &zero);
    let result = terms.choose(&is_zero, &zero, &terms.of(op, left, right));
    (result.expr, result.rank)
}
