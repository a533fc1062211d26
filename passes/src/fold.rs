//! Constant folding: the value of an operation on constants, by the scalar references of the op table and DML's types.

use fuseline_ir::hop::{CastOp, HopOp};
use fuseline_ir::ops::math::with_one_nan;
use fuseline_ir::ops::{BinaryOp, TernaryOp};
use fuseline_ir::types::{DataType, ScalarType, Value};

/// Integers from this magnitude on are not exact as doubles, in which the scalar references compute.
const EXACT_INTEGERS: f64 = 9_007_199_254_740_992.0;

/// The value of `op` on these constants, as a scalar of this type; `None` where it is not constant or not exact (an
/// integer that overflows, `%%` by zero).
pub(crate) fn fold(op: &HopOp, data_type: DataType, inputs: &[&Value]) -> Option<Value> {
    let DataType::Scalar(scalar) = data_type else { return None };
    match (op, inputs) {
        (HopOp::Unary(op), [x]) => typed(op.eval(number(x)?), scalar),
        (HopOp::Binary(BinaryOp::Equal), [Value::Str(x), Value::Str(y)]) => Some(Value::Bool(x == y)),
        (HopOp::Binary(BinaryOp::NotEqual), [Value::Str(x), Value::Str(y)]) => Some(Value::Bool(x != y)),
        (HopOp::Binary(op), [x, y]) => typed(op.eval(number(x)?, number(y)?), scalar),
        (HopOp::Ternary(TernaryOp::IfElse), [condition, yes, no]) => {
            let chosen = if number(condition)? != 0.0 { yes } else { no };
            if chosen.scalar_type() == scalar { Some((*chosen).clone()) } else { typed(number(chosen)?, scalar) }
        }
        (HopOp::Ternary(op), [a, b, c]) => typed(op.eval(number(a)?, number(b)?, number(c)?), scalar),
        (HopOp::Cast(op), [x]) => cast(*op, x),
        (HopOp::Concat, [left, right]) => Some(Value::Str(format!("{left}{right}"))),
        _ => None,
    }
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| value.scalar_type() != ScalarType::I64 || number.abs() < EXACT_INTEGERS)
}

fn typed(result: f64, scalar: ScalarType) -> Option<Value> {
    match scalar {
        ScalarType::F64 => Some(Value::F64(with_one_nan(result))),
        ScalarType::I64 => {
            (result.fract() == 0.0 && result.abs() < EXACT_INTEGERS).then_some(Value::I64(result as i64))
        }
        ScalarType::Bool => Some(Value::Bool(result != 0.0)),
        ScalarType::Str => None,
    }
}

fn cast(op: CastOp, value: &Value) -> Option<Value> {
    match op {
        CastOp::AsScalar => Some(value.clone()),
        CastOp::AsMatrix | CastOp::AsList | CastOp::AsFrame => None,
        CastOp::AsDouble => typed(number(value)?, ScalarType::F64),
        CastOp::AsInteger => typed(number(value)?.trunc(), ScalarType::I64),
        CastOp::AsLogical => typed(number(value)?, ScalarType::Bool),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fuseline_ir::hop::infer::scalar_binary_type;
    use fuseline_ir::ops::UnaryOp;

    fn binary(op: BinaryOp, x: &Value, y: &Value) -> Option<Value> {
        let data_type = DataType::Scalar(scalar_binary_type(op, x.scalar_type(), y.scalar_type()));
        fold(&HopOp::Binary(op), data_type, &[x, y])
    }

    #[test]
    fn types_follow_dml() {
        assert_eq!(binary(BinaryOp::Plus, &Value::I64(2), &Value::I64(3)), Some(Value::I64(5)));
        assert_eq!(binary(BinaryOp::Plus, &Value::I64(2), &Value::F64(3.0)), Some(Value::F64(5.0)));
        assert_eq!(binary(BinaryOp::Div, &Value::I64(6), &Value::I64(3)), Some(Value::F64(2.0)));
        assert_eq!(binary(BinaryOp::IntDiv, &Value::I64(-7), &Value::I64(2)), Some(Value::I64(-4)));
        assert_eq!(binary(BinaryOp::Less, &Value::I64(2), &Value::F64(2.5)), Some(Value::Bool(true)));
    }

    #[test]
    fn inexact_integers_stay() {
        assert_eq!(binary(BinaryOp::Plus, &Value::I64(i64::MAX), &Value::I64(1)), None);
        assert_eq!(binary(BinaryOp::Mult, &Value::I64(1 << 40), &Value::I64(1 << 40)), None);
        assert_eq!(binary(BinaryOp::Modulus, &Value::I64(1), &Value::I64(0)), None);
    }

    #[test]
    fn texts_and_choices() {
        let text = |text: &str| Value::Str(text.to_owned());
        assert_eq!(binary(BinaryOp::Equal, &text("a"), &text("b")), Some(Value::Bool(false)));
        assert_eq!(binary(BinaryOp::NotEqual, &text("a"), &text("")), Some(Value::Bool(true)));
        let joined = fold(&HopOp::Concat, DataType::STR, &[&text("n: "), &Value::F64(3.0)]);
        assert_eq!(joined, Some(text("n: 3.0")));
        let choice = HopOp::Ternary(TernaryOp::IfElse);
        assert_eq!(fold(&choice, DataType::STR, &[&Value::Bool(false), &text("a"), &text("b")]), Some(text("b")));
        assert_eq!(
            fold(&choice, DataType::F64, &[&Value::I64(1), &Value::I64(4), &Value::F64(0.5)]),
            Some(Value::F64(4.0))
        );
        assert_eq!(fold(&UnaryOp::Neg.into(), DataType::I64, &[&Value::I64(0)]), Some(Value::I64(0)));
        assert_eq!(fold(&UnaryOp::Neg.into(), DataType::STR, &[&text("a")]), None);
    }
}
