//! Types of values in programs, and literal values.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The type of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ScalarType {
    /// Double-precision floating point.
    F64,
    /// 64-bit signed integer.
    I64,
    /// Truth value.
    Bool,
    /// Text.
    Str,
}

impl ScalarType {
    /// The text mnemonic: `f64`, `i64`, `bool`, `str`.
    pub fn mnemonic(self) -> &'static str {
        match self {
            ScalarType::F64 => "f64",
            ScalarType::I64 => "i64",
            ScalarType::Bool => "bool",
            ScalarType::Str => "str",
        }
    }
}

/// The type of a value: a matrix (of `f64`) or a scalar. `Unknown` only before types are inferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DataType {
    /// A matrix of doubles.
    Matrix,
    /// A scalar.
    Scalar(ScalarType),
    /// Not known before run time.
    Unknown,
}

impl DataType {
    /// A double.
    pub const F64: DataType = DataType::Scalar(ScalarType::F64);
    /// An integer.
    pub const I64: DataType = DataType::Scalar(ScalarType::I64);
    /// A truth value.
    pub const BOOL: DataType = DataType::Scalar(ScalarType::Bool);
    /// A text.
    pub const STR: DataType = DataType::Scalar(ScalarType::Str);

    /// Whether this is a matrix.
    pub fn is_matrix(self) -> bool {
        self == DataType::Matrix
    }

    /// Whether this is a scalar of any type.
    pub fn is_scalar(self) -> bool {
        matches!(self, DataType::Scalar(_))
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DataType::Matrix => "matrix",
            DataType::Scalar(scalar) => scalar.mnemonic(),
            DataType::Unknown => "unknown",
        })
    }
}

/// A scalar value: a literal of a program, or what a variable holds at run time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Value {
    /// A double.
    F64(f64),
    /// An integer.
    I64(i64),
    /// A truth value.
    Bool(bool),
    /// A text.
    Str(String),
}

impl Value {
    /// The value's type.
    pub fn scalar_type(&self) -> ScalarType {
        match self {
            Value::F64(_) => ScalarType::F64,
            Value::I64(_) => ScalarType::I64,
            Value::Bool(_) => ScalarType::Bool,
            Value::Str(_) => ScalarType::Str,
        }
    }

    /// The value as a double, as element-wise operations see it; `None` for text.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::F64(value) => Some(*value),
            Value::I64(value) => Some(*value as f64),
            Value::Bool(value) => Some(f64::from(u8::from(*value))),
            Value::Str(_) => None,
        }
    }

    /// Whether the two are the same bits of the same type (so that NaN equals NaN and 0 differs from -0).
    pub fn same_bits(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::F64(x), Value::F64(y)) => x.to_bits() == y.to_bits(),
            (x, y) => x == y,
        }
    }
}

/// As DML prints scalars: truth values as `TRUE` and `FALSE`, doubles so that they read back exactly (`3.0`, not `3`).
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::F64(value) if value.is_nan() => f.write_str("NaN"),
            Value::F64(value) if value.is_infinite() => {
                f.write_str(if *value > 0.0 { "Infinity" } else { "-Infinity" })
            }
            Value::F64(value) => write!(f, "{value:?}"),
            Value::I64(value) => write!(f, "{value}"),
            Value::Bool(value) => f.write_str(if *value { "TRUE" } else { "FALSE" }),
            Value::Str(value) => f.write_str(value),
        }
    }
}
