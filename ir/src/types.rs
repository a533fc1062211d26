//! Types of values in programs, and literal values.

use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

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

    /// The name in the schema of a frame, as SystemDS writes it: `FP64`, `INT64`, `BOOLEAN`, `STRING`.
    pub fn schema_name(self) -> &'static str {
        match self {
            ScalarType::F64 => "FP64",
            ScalarType::I64 => "INT64",
            ScalarType::Bool => "BOOLEAN",
            ScalarType::Str => "STRING",
        }
    }
}

/// The type of a matrix's cells.
///
/// Operators compute with doubles alone. The narrower types are what files and memory may hold, and widen exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Element {
    /// Double-precision floating point.
    F64,
    /// Single-precision floating point.
    F32,
    /// 32-bit signed integer.
    I32,
    /// 8-bit unsigned integer.
    U8,
}

/// Matrices of this element type are stored, and widened when they are read, but no operator computes with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("matrices of {0} are stored, not computed with")]
pub struct StoredOnly(pub Element);

impl Element {
    /// Every element type.
    pub const ALL: &[Element] = &[Element::F64, Element::F32, Element::I32, Element::U8];

    /// The name in text forms: `f64`, `f32`, `i32`, `u8`.
    pub const fn name(self) -> &'static str {
        match self {
            Element::F64 => "f64",
            Element::F32 => "f32",
            Element::I32 => "i32",
            Element::U8 => "u8",
        }
    }

    /// The type of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Element::ALL.iter().copied().find(|element| element.name() == name)
    }

    /// Bytes of a cell.
    pub const fn bytes(self) -> u64 {
        match self {
            Element::F64 => 8,
            Element::F32 | Element::I32 => 4,
            Element::U8 => 1,
        }
    }

    /// Checks that operators compute with cells of this type.
    ///
    /// # Errors
    /// [`StoredOnly`] for all but doubles.
    pub fn check_computes(self) -> Result<(), StoredOnly> {
        match self {
            Element::F64 => Ok(()),
            Element::F32 | Element::I32 | Element::U8 => Err(StoredOnly(self)),
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The type of a value: a matrix, a scalar, a list or a frame. `Unknown` only before types are inferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DataType {
    /// A matrix of cells of this type.
    Matrix(Element),
    /// A scalar.
    Scalar(ScalarType),
    /// A list of values of any types, which are not known before run time.
    List,
    /// A table of columns, each of a scalar type of its own. Its size is not known before run time.
    Frame,
    /// Not known before run time.
    Unknown,
}

impl DataType {
    /// A matrix of doubles, the one that operators compute.
    pub const MATRIX: DataType = DataType::Matrix(Element::F64);
    /// A double.
    pub const F64: DataType = DataType::Scalar(ScalarType::F64);
    /// An integer.
    pub const I64: DataType = DataType::Scalar(ScalarType::I64);
    /// A truth value.
    pub const BOOL: DataType = DataType::Scalar(ScalarType::Bool);
    /// A text.
    pub const STR: DataType = DataType::Scalar(ScalarType::Str);

    /// The type of this name, as it is printed.
    pub(crate) fn parse(name: &str) -> Option<DataType> {
        let scalars = [DataType::F64, DataType::I64, DataType::BOOL, DataType::STR];
        let others = [DataType::List, DataType::Frame, DataType::Unknown];
        let matrices = Element::ALL.iter().map(|&element| DataType::Matrix(element));
        matrices.chain(scalars).chain(others).find(|data_type| data_type.to_string() == name)
    }

    /// Whether this is a matrix.
    pub fn is_matrix(self) -> bool {
        matches!(self, DataType::Matrix(_))
    }

    /// Checks that operators compute with values of this type, as far as it is known.
    ///
    /// # Errors
    /// [`StoredOnly`] for matrices of all but doubles.
    pub fn check_computes(self) -> Result<(), StoredOnly> {
        match self {
            DataType::Matrix(element) => element.check_computes(),
            DataType::Scalar(_) | DataType::List | DataType::Frame | DataType::Unknown => Ok(()),
        }
    }

    /// Whether this is a scalar of any type.
    pub fn is_scalar(self) -> bool {
        matches!(self, DataType::Scalar(_))
    }

    /// Whether this is a scalar other than a text.
    pub fn is_number(self) -> bool {
        self.is_scalar() && self != DataType::STR
    }

    /// What is known of the value of a variable that is declared as this type: declarations convert no numbers, so that
    /// any number may be one of any type.
    pub fn declared(self) -> DataType {
        if self.is_number() { DataType::F64 } else { self }
    }
}

/// A matrix of doubles is a `matrix`, of others a `matrix.f32`.
impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DataType::Matrix(Element::F64) => "matrix",
            DataType::Matrix(element) => return write!(f, "matrix.{element}"),
            DataType::Scalar(scalar) => scalar.mnemonic(),
            DataType::List => "list",
            DataType::Frame => "frame",
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

    /// The value as an integer; `None` for doubles and text.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::I64(value) => Some(*value),
            Value::Bool(value) => Some(i64::from(*value)),
            Value::F64(_) | Value::Str(_) => None,
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

/// Prints a scalar like DML: truth values as `TRUE` and `FALSE`, doubles with the fewest digits that read back exactly, as
/// Java's `Double.toString` writes them: `3.0`, `1.0E-5`, `1.2345678E7`, `Infinity`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::F64(value) => write_double(f, *value),
            Value::I64(value) => write!(f, "{value}"),
            Value::Bool(value) => f.write_str(if *value { "TRUE" } else { "FALSE" }),
            Value::Str(value) => f.write_str(value),
        }
    }
}

/// A double with a point and at least one digit after it; with an exponent below 10^-3 and from 10^7 on.
fn write_double(f: &mut fmt::Formatter<'_>, value: f64) -> fmt::Result {
    let magnitude = value.abs();
    if value.is_nan() {
        f.write_str("NaN")
    } else if value.is_infinite() {
        f.write_str(if value > 0.0 { "Infinity" } else { "-Infinity" })
    } else if value == 0.0 || (1e-3..1e7).contains(&magnitude) {
        write!(f, "{value:?}")
    } else {
        let mut text = format!("{value:e}");
        if !text.contains('.') {
            // The closest of two digits, which the smallest numbers have: 4.9E-324 and not 5.0E-324.
            text = format!("{value:.1e}");
        }
        f.write_str(&text.replace('e', "E"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::CELL_BYTES;

    #[test]
    fn elements_have_names_that_read_back_and_bytes() {
        for &element in Element::ALL {
            assert_eq!(Element::from_name(element.name()), Some(element));
        }
        assert_eq!(Element::from_name("f16"), None);
        assert_eq!(Element::ALL.iter().map(|element| element.bytes()).collect::<Vec<_>>(), [CELL_BYTES, 4, 4, 1]);
    }

    #[test]
    fn doubles_alone_are_computed_with() {
        assert_eq!(DataType::MATRIX.check_computes(), Ok(()));
        assert_eq!(DataType::Unknown.check_computes(), Ok(()));
        for &element in &Element::ALL[1..] {
            let error = DataType::Matrix(element).check_computes().expect_err("it is stored");
            assert_eq!(error.to_string(), format!("matrices of {element} are stored, not computed with"));
            assert_ne!(DataType::Matrix(element), DataType::MATRIX);
        }
    }

    #[test]
    fn doubles_print_as_java_prints_them() {
        let cases = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (3.0, "3.0"),
            (-1234567.5, "-1234567.5"),
            (9_999_999.0, "9999999.0"),
            (1e7, "1.0E7"),
            (123_456_789.0, "1.23456789E8"),
            (1e21, "1.0E21"),
            (1e-3, "0.001"),
            (9.99e-4, "9.99E-4"),
            (1e-5, "1.0E-5"),
            (-2.5e-10, "-2.5E-10"),
            (0.1 + 0.2, "0.30000000000000004"),
            (f64::MAX, "1.7976931348623157E308"),
            (f64::from_bits(1), "4.9E-324"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
            (f64::NAN, "NaN"),
        ];
        for (value, text) in cases {
            assert_eq!(Value::F64(value).to_string(), text);
        }
    }
}
