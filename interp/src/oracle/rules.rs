//! The rules of element-wise operations on single cells.

use super::cell::OracleCell;
use super::double_double::DoubleDouble;
use super::taint::Taint;
use fuseline_ir::ops::{BinaryOp, BinaryZero, ErrorBound, TernaryOp, UnaryOp};

impl OracleCell {
    /// The result of a unary operation.
    pub(crate) fn unary(op: UnaryOp, x: OracleCell) -> Self {
        let ulps = match op.error() {
            ErrorBound::Exact => 0.0,
            ErrorBound::Ulp(ulps) => ulps,
        };
        match op {
            UnaryOp::Abs => {
                if x.value.less(DoubleDouble::ZERO) {
                    x.neg()
                } else {
                    x
                }
            }
            UnaryOp::Neg => x.neg(),
            UnaryOp::Pow2 => x.mul(x),
            UnaryOp::Sprop => x.mul(OracleCell::given(1.0).add(x.neg())),
            UnaryOp::Mult2 => x.add(x),
            UnaryOp::Exp
            | UnaryOp::Sigmoid
            | UnaryOp::Expm1
            | UnaryOp::Atan
            | UnaryOp::Sinh
            | UnaryOp::Tanh
            | UnaryOp::Erf
            | UnaryOp::NormalCdf => x.monotone(|x| op.eval(x), ulps),
            UnaryOp::Sin | UnaryOp::Cos => {
                // Neither function changes by more than its operand does.
                let reach = if x.is_certain() { 0.0 } else { x.radius + x.value.low.abs() };
                OracleCell::approximate(op.eval(x.value.high), reach, ulps, x.taint)
            }
            UnaryOp::Tan => {
                // Within a branch it increases; beyond one, or across a pole, nothing is known.
                let (low, high) = x.bounds();
                let leaves_branch = !x.is_certain() && (high - low > 1.0 || op.eval(low) > op.eval(high));
                x.monotone(|x| op.eval(x), ulps).with_taint(leaves_branch)
            }
            UnaryOp::Cosh => {
                let (low, high) = x.bounds();
                let turns = if low < 0.0 && high > 0.0 { op.eval(x.value.high) - 1.0 } else { 0.0 };
                let cell = x.monotone(|x| op.eval(x), ulps);
                OracleCell { radius: cell.radius.max(turns + cell.radius), ..cell }
            }
            UnaryOp::Asin | UnaryOp::Acos => {
                let (low, high) = x.bounds();
                let crosses = |edge: f64| low < edge && high > edge;
                let leaves_domain = !x.is_certain() && (crosses(-1.0) || crosses(1.0));
                x.monotone(|x| op.eval(x), ulps).with_taint(leaves_domain)
            }
            UnaryOp::Log1p => {
                let leaves_domain = !x.is_certain() && x.bounds().0 <= -1.0 && x.bounds().1 >= -1.0;
                x.monotone(|x| op.eval(x), ulps).with_taint(leaves_domain)
            }
            UnaryOp::LogNz => x.where_not_zero(OracleCell::unary(UnaryOp::Log, x)),
            UnaryOp::IsNan | UnaryOp::IsInf => OracleCell::decided(op.eval(x.value.high), x.taint),
            UnaryOp::Log | UnaryOp::Sqrt => {
                let leaves_domain = !x.is_certain() && x.bounds().0 <= 0.0 && x.bounds().1 >= 0.0;
                // The logarithm of zero has one value, whatever the zero's sign.
                x.monotone(|x| op.eval(x), ulps).with_taint(leaves_domain)
            }
            UnaryOp::Round | UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Sign => x.step(|x| op.eval(x)),
            UnaryOp::Not => match x.truth() {
                Some(truth) => OracleCell::decided(f64::from(u8::from(!truth)), x.taint),
                None => OracleCell::decided(0.0, Taint::UNSTABLE),
            },
        }
    }

    /// The result of a binary operation.
    pub(crate) fn binary(op: BinaryOp, x: OracleCell, y: OracleCell) -> Self {
        let taint = x.taint | y.taint;
        match op {
            BinaryOp::Plus => x.add(y),
            BinaryOp::Minus => x.add(y.neg()),
            BinaryOp::Mult => x.mul(y),
            BinaryOp::Div => x.div(y),
            BinaryOp::Minus1Mult => OracleCell::given(1.0).add(x.mul(y).neg()),
            BinaryOp::Min | BinaryOp::Max => extreme(op, x, y),
            BinaryOp::LogBase => OracleCell::unary(UnaryOp::Log, x).div(OracleCell::unary(UnaryOp::Log, y)),
            BinaryOp::LogNzBase => x.where_not_zero(OracleCell::binary(BinaryOp::LogBase, x, y)),
            BinaryOp::MinusNz => x.where_not_zero(x.add(y.neg())),
            BinaryOp::BitwAnd | BinaryOp::BitwOr | BinaryOp::BitwXor | BinaryOp::BitwShiftL | BinaryOp::BitwShiftR => {
                let (x, y) = (x.truncated(), y.truncated());
                OracleCell::decided(op.eval(x.value.high, y.value.high), x.taint | y.taint)
            }
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => match (x.truth(), y.truth()) {
                (Some(left), Some(right)) => {
                    let number = |truth: bool| f64::from(u8::from(truth));
                    OracleCell::decided(op.eval(number(left), number(right)), taint)
                }
                _ => OracleCell::decided(0.0, Taint::UNSTABLE),
            },
            BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::LessEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterEqual => compare(op, x, y),
            BinaryOp::IntDiv | BinaryOp::Modulus => quotient(op, x, y),
            BinaryOp::Pow => power(x, y),
        }
    }

    /// The result of a ternary operation.
    pub(crate) fn ternary(op: TernaryOp, a: OracleCell, b: OracleCell, c: OracleCell) -> Self {
        match op {
            TernaryOp::PlusMult => a.add(b.mul(c)),
            TernaryOp::MinusMult => a.add(b.mul(c).neg()),
            TernaryOp::Replace => {
                let equal = compare(BinaryOp::Equal, a, b);
                let both_nan = a.value.high.is_nan() && b.value.high.is_nan();
                let chosen = if both_nan || equal.value.high == 1.0 { c } else { a };
                chosen.with_taint(equal.taint)
            }
            TernaryOp::IfElse => match a.truth() {
                Some(true) => b.with_taint(a.taint),
                Some(false) => c.with_taint(a.taint),
                None => b.with_taint(true),
            },
        }
    }

    /// `result` where the value is not zero, else 0.
    fn where_not_zero(self, result: OracleCell) -> Self {
        match self.truth() {
            Some(true) => result,
            Some(false) => OracleCell::decided(0.0, self.taint),
            None => OracleCell::decided(0.0, Taint::UNSTABLE),
        }
    }

    /// Towards zero, as casts to integers do.
    pub(crate) fn truncated(self) -> Self {
        self.step(f64::trunc)
    }

    /// 1 where the value is not zero.
    pub(crate) fn truth_value(self) -> Self {
        OracleCell::binary(BinaryOp::NotEqual, self, OracleCell::given(0.0))
    }
}

/// The minimum or maximum, which propagates NaN.
pub(crate) fn extreme(op: BinaryOp, x: OracleCell, y: OracleCell) -> OracleCell {
    let keeps_left = if x.value.high.is_nan() || y.value.high.is_nan() {
        x.value.high.is_nan()
    } else if op == BinaryOp::Min {
        x.value.less(y.value)
    } else {
        y.value.less(x.value)
    };
    let kept = if keeps_left { x } else { y };
    let greater = x.magnitude.max(y.magnitude);
    OracleCell {
        value: kept.value,
        radius: x.radius.max(y.radius),
        magnitude: if greater.is_finite() { greater } else { kept.magnitude },
        exact: x.exact && y.exact,
        taint: x.taint | y.taint,
    }
}

/// Whether legal evaluations may order two cells in different ways.
pub(crate) fn may_differ_in_order(x: OracleCell, y: OracleCell) -> bool {
    let reach = x.radius + y.radius;
    reach > 0.0 && x.value.add(y.value.neg()).high.abs() <= reach
}

fn compare(op: BinaryOp, x: OracleCell, y: OracleCell) -> OracleCell {
    let straddles = may_differ_in_order(x, y);
    // Equal numbers compare by the double they are nearest to only if nothing is left below it.
    let (left, right) =
        if x.value.high == y.value.high { (x.value.low, y.value.low) } else { (x.value.high, y.value.high) };
    let is_nan = x.value.high.is_nan() || y.value.high.is_nan();
    let value = if is_nan { op.eval(x.value.high, y.value.high) } else { op.eval(left, right) };
    OracleCell::decided(value, x.taint | y.taint | straddles)
}

/// Floored quotient and remainder.
fn quotient(op: BinaryOp, x: OracleCell, y: OracleCell) -> OracleCell {
    debug_assert_eq!(op.zero(), BinaryZero::LeftAnnihilates, "a zero numerator may be exploited");
    if x.is_certain() && y.is_certain() && y.value.high != 0.0 && x.value.high.is_finite() && y.value.high.is_finite() {
        let value = op.eval(x.value.high, y.value.high);
        return OracleCell::decided(value, x.taint | y.taint);
    }
    let floor = x.div(y).step(f64::floor);
    match op {
        BinaryOp::IntDiv => floor,
        _ => x.add(floor.mul(y).neg()),
    }
}

fn power(x: OracleCell, y: OracleCell) -> OracleCell {
    let taint = x.taint | y.taint;
    let op = BinaryOp::Pow;
    let ulps = 2.0;
    if y.is_certain() && y.value.high == 2.0 {
        return x.mul(x).with_taint(y.taint);
    }
    let (lowest, highest) = x.bounds();
    let value = op.eval(x.value.high, y.value.high);
    if x.is_certain() && y.is_certain() {
        // The sign of a zero decides about the sign of its inverse.
        let depends_on_sign = x.value.high == 0.0 && y.value.high < 0.0;
        return OracleCell::approximate(value, 0.0, ulps, taint | depends_on_sign);
    }
    let is_integer = y.is_certain() && y.value.high == y.value.high.trunc();
    if lowest <= 0.0 && !(is_integer && y.value.high > 0.0) {
        return OracleCell::decided(value, Taint::UNSTABLE);
    }
    // Extremes lie at the corners, and at zero for powers that turn there.
    let (shallow, steep) = y.bounds();
    let corners = [(lowest, shallow), (lowest, steep), (highest, shallow), (highest, steep)];
    let at_zero = if lowest < 0.0 && highest > 0.0 { value.abs() } else { 0.0 };
    let radius = corners.iter().map(|&(x, y)| (op.eval(x, y) - value).abs()).fold(at_zero, f64::max);
    OracleCell::approximate(value, radius, ulps, taint | !radius.is_finite())
}
