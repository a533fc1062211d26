//! Values that the command line gives to a script.

use fuseline_ir::types::Value;

/// The value of a `$name`.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument(pub Value);

impl Argument {
    /// The value that a text stands for, by its form: an integer, a double, `TRUE` or `FALSE`, else the text itself.
    pub fn from_text(text: &str) -> Self {
        let starts_number = text.trim_start_matches(['+', '-']).starts_with(|c: char| c.is_ascii_digit() || c == '.');
        let integer = text.parse().ok().filter(|_| starts_number).map(Value::I64);
        let double = || text.parse().ok().filter(|_| starts_number).map(Value::F64);
        let constant = || match text {
            "TRUE" | "true" => Some(Value::Bool(true)),
            "FALSE" | "false" => Some(Value::Bool(false)),
            "Inf" => Some(Value::F64(f64::INFINITY)),
            "-Inf" => Some(Value::F64(f64::NEG_INFINITY)),
            "NaN" => Some(Value::F64(f64::NAN)),
            _ => None,
        };
        Argument(integer.or_else(double).or_else(constant).unwrap_or_else(|| Value::Str(text.to_owned())))
    }
}

impl From<&str> for Argument {
    fn from(text: &str) -> Self {
        Argument::from_text(text)
    }
}

impl From<Value> for Argument {
    fn from(value: Value) -> Self {
        Argument(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_a_text_decides_its_type() {
        let value = |text: &str| Argument::from_text(text).0;
        assert_eq!(value("10"), Value::I64(10));
        assert_eq!(value("-3"), Value::I64(-3));
        assert_eq!(value("1e-3"), Value::F64(1e-3));
        assert_eq!(value("-.5"), Value::F64(-0.5));
        assert_eq!(value("TRUE"), Value::Bool(true));
        assert_eq!(value("-Inf"), Value::F64(f64::NEG_INFINITY));
        assert_eq!(value("infinity"), Value::Str("infinity".to_owned()));
        assert_eq!(value("1x"), Value::Str("1x".to_owned()));
        assert_eq!(value(""), Value::Str(String::new()));
    }
}
