//! Operations on scalars, with DML's types: integers stay integers under `+ - * %% %/%`, comparisons and logic give
//! truth values, `/` and `^` give doubles.

use fuseline_ir::hop::CastOp;
use fuseline_ir::hop::infer::scalar_binary_type;
use fuseline_ir::ops::{BinaryOp, TernaryOp, UnaryOp};
use fuseline_ir::{ScalarType, Value};
use fuseline_matrix::TextBuffer;
use std::borrow::Cow;

/// A number as a value of this type.
fn typed(scalar_type: ScalarType, number: f64) -> Value {
    match scalar_type {
        ScalarType::F64 | ScalarType::Str => Value::F64(number),
        ScalarType::I64 => Value::I64(number as i64),
        ScalarType::Bool => Value::Bool(number != 0.0),
    }
}

/// `op` of a scalar; `None` for text.
pub(crate) fn unary(op: UnaryOp, value: &Value) -> Option<Value> {
    let number = value.as_f64()?;
    Some(match (op, value) {
        (UnaryOp::Not, _) => Value::Bool(number == 0.0),
        (UnaryOp::Neg, Value::I64(value)) => value.checked_neg().map_or(Value::F64(-number), Value::I64),
        (UnaryOp::Abs, Value::I64(value)) => value.checked_abs().map_or(Value::F64(number.abs()), Value::I64),
        (UnaryOp::Sign, Value::I64(value)) => Value::I64(value.signum()),
        (UnaryOp::Pow2, Value::I64(value)) => value.checked_mul(*value).map_or(Value::F64(number * number), Value::I64),
        _ => Value::F64(op.eval(number)),
    })
}

/// `op` of two scalars; texts may be compared and concatenated with `+`.
pub(crate) fn binary(op: BinaryOp, left: &Value, right: &Value) -> Option<Value> {
    if let (Value::Str(_), _) | (_, Value::Str(_)) = (left, right) {
        return match op {
            BinaryOp::Plus => Some(concatenated(left, right)),
            _ => text_binary(op, &text_of(left), &text_of(right)),
        };
    }
    let result_type = scalar_binary_type(op, left.scalar_type(), right.scalar_type());
    if let (Value::I64(x), Value::I64(y), ScalarType::I64) = (left, right, result_type)
        && let Some(value) = integer_binary(op, *x, *y)
    {
        return Some(Value::I64(value));
    }
    let number = op.eval(left.as_f64()?, right.as_f64()?);
    // An integer result that does not fit (overflow, division by zero) becomes a double.
    let fits = number.fract() == 0.0 && number.abs() < 9.0e15;
    Some(if result_type == ScalarType::I64 && !fits { Value::F64(number) } else { typed(result_type, number) })
}

/// The text of a scalar.
pub(crate) fn text_of(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Str(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

/// One text behind the other. Unwinds where there is no memory for both.
pub(crate) fn concatenated(left: &Value, right: &Value) -> Value {
    Value::Str(TextBuffer::of_parts(&[&text_of(left), &text_of(right)]).into_string())
}

fn text_binary(op: BinaryOp, left: &str, right: &str) -> Option<Value> {
    Some(match op {
        BinaryOp::Equal => Value::Bool(left == right),
        BinaryOp::NotEqual => Value::Bool(left != right),
        BinaryOp::Less => Value::Bool(left < right),
        BinaryOp::LessEqual => Value::Bool(left <= right),
        BinaryOp::Greater => Value::Bool(left > right),
        BinaryOp::GreaterEqual => Value::Bool(left >= right),
        _ => return None,
    })
}

fn integer_binary(op: BinaryOp, x: i64, y: i64) -> Option<i64> {
    match op {
        BinaryOp::Plus => x.checked_add(y),
        BinaryOp::Minus => x.checked_sub(y),
        BinaryOp::Mult => x.checked_mul(y),
        BinaryOp::Min => Some(x.min(y)),
        BinaryOp::Max => Some(x.max(y)),
        _ => None,
    }
}

/// `op` of three scalars.
pub(crate) fn ternary(op: TernaryOp, a: &Value, b: &Value, c: &Value) -> Option<Value> {
    match op {
        TernaryOp::IfElse => {
            let chosen = if a.as_f64()? != 0.0 { b } else { c };
            let types = [b, c].map(Value::scalar_type);
            Some(match chosen {
                _ if types[0] == types[1] => chosen.clone(),
                _ if types.contains(&ScalarType::Str) => Value::Str(chosen.to_string()),
                // The type must not depend on which is chosen.
                _ => Value::F64(chosen.as_f64()?),
            })
        }
        TernaryOp::PlusMult | TernaryOp::MinusMult | TernaryOp::Replace => {
            Some(Value::F64(op.eval(a.as_f64()?, b.as_f64()?, c.as_f64()?)))
        }
    }
}

/// A scalar converted; texts are read as numbers or truth values.
pub(crate) fn cast(op: CastOp, value: &Value) -> Option<Value> {
    if op == CastOp::AsScalar {
        return Some(value.clone());
    }
    let number = match value {
        Value::Str(text) => match text.trim() {
            word if word.eq_ignore_ascii_case("true") => 1.0,
            word if word.eq_ignore_ascii_case("false") => 0.0,
            other => other.parse().ok()?,
        },
        other => other.as_f64()?,
    };
    Some(match op {
        CastOp::AsScalar | CastOp::AsMatrix => value.clone(),
        CastOp::AsDouble => Value::F64(number),
        CastOp::AsInteger => Value::I64(number as i64),
        CastOp::AsLogical => Value::Bool(number != 0.0),
        CastOp::AsList | CastOp::AsFrame => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_stay_integers_where_dml_says_so() {
        let (six, four) = (Value::I64(6), Value::I64(4));
        assert_eq!(binary(BinaryOp::Plus, &six, &four), Some(Value::I64(10)));
        assert_eq!(binary(BinaryOp::Div, &six, &four), Some(Value::F64(1.5)));
        assert_eq!(binary(BinaryOp::IntDiv, &six, &four), Some(Value::I64(1)));
        assert_eq!(binary(BinaryOp::Modulus, &Value::I64(-7), &four), Some(Value::I64(1)));
        assert_eq!(binary(BinaryOp::Less, &six, &four), Some(Value::Bool(false)));
        assert_eq!(binary(BinaryOp::Plus, &six, &Value::F64(0.5)), Some(Value::F64(6.5)));
        assert_eq!(
            binary(BinaryOp::Plus, &Value::I64(i64::MAX), &Value::I64(1)),
            Some(Value::F64(9_223_372_036_854_775_808.0))
        );
        assert_eq!(unary(UnaryOp::Neg, &six), Some(Value::I64(-6)));
        assert_eq!(unary(UnaryOp::Not, &six), Some(Value::Bool(false)));
    }

    #[test]
    fn texts_concatenate_and_compare_and_nothing_else() {
        let text = Value::Str("n=".into());
        assert_eq!(binary(BinaryOp::Plus, &text, &Value::F64(3.0)), Some(Value::Str("n=3.0".into())));
        assert_eq!(binary(BinaryOp::Plus, &Value::Bool(true), &text), Some(Value::Str("TRUEn=".into())));
        assert_eq!(binary(BinaryOp::Equal, &text, &Value::Str("n=".into())), Some(Value::Bool(true)));
        assert_eq!(binary(BinaryOp::Mult, &text, &text), None);
        assert_eq!(cast(CastOp::AsInteger, &Value::Str("7.9".into())), Some(Value::I64(7)));
        assert_eq!(cast(CastOp::AsLogical, &Value::Str("TRUE".into())), Some(Value::Bool(true)));
        assert_eq!(cast(CastOp::AsDouble, &text), None);
    }
}
