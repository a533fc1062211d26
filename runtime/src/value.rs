//! What variables hold at run time.

use fuseline_ir::{DataType, SizeInfo, Value};
use fuseline_matrix::MatrixBlock;
use std::collections::BTreeMap;

/// The value of a variable.
#[derive(Clone, Debug, PartialEq)]
pub enum RuntimeValue {
    /// A matrix.
    Matrix(MatrixBlock),
    /// A scalar.
    Scalar(Value),
}

/// Variables by name.
pub type Variables = BTreeMap<String, RuntimeValue>;

impl RuntimeValue {
    /// The type.
    pub fn data_type(&self) -> DataType {
        match self {
            RuntimeValue::Matrix(_) => DataType::Matrix,
            RuntimeValue::Scalar(value) => DataType::Scalar(value.scalar_type()),
        }
    }

    /// The size; unknown for scalars.
    pub fn size(&self) -> SizeInfo {
        match self {
            RuntimeValue::Matrix(block) => block.size(),
            RuntimeValue::Scalar(_) => SizeInfo::UNKNOWN,
        }
    }

    /// A number: that of a scalar, or the cell of a 1 x 1 matrix.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            RuntimeValue::Matrix(block) if block.dims() == (1, 1) => Some(block.get(0, 0)),
            RuntimeValue::Matrix(_) => None,
            RuntimeValue::Scalar(value) => value.as_f64(),
        }
    }
}

impl From<MatrixBlock> for RuntimeValue {
    fn from(block: MatrixBlock) -> Self {
        RuntimeValue::Matrix(block)
    }
}

impl From<Value> for RuntimeValue {
    fn from(value: Value) -> Self {
        RuntimeValue::Scalar(value)
    }
}

impl From<f64> for RuntimeValue {
    fn from(value: f64) -> Self {
        RuntimeValue::Scalar(Value::F64(value))
    }
}
