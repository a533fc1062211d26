//! Matrices and scalars of the oracle, and the comparison of actual results with them.

use super::cell::OracleCell;
use fuseline_ir::Value;
use fuseline_matrix::MatrixBlock;
use std::fmt;
use thiserror::Error;

/// A matrix of cells with error radii, row after row.
#[derive(Clone, Debug, PartialEq)]
pub struct OracleMatrix {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// The cells.
    pub cells: Vec<OracleCell>,
}

/// The value of a variable or operator.
#[derive(Clone, Debug, PartialEq)]
pub enum OracleValue {
    /// A matrix.
    Matrix(OracleMatrix),
    /// A number or truth value.
    Scalar(OracleCell),
    /// A text.
    Text(String),
}

/// Cells of a matrix, or of a scalar that repeats.
#[derive(Clone, Copy)]
pub(super) enum Operand<'a> {
    /// The cells of a matrix.
    Matrix(&'a OracleMatrix),
    /// One cell everywhere.
    Scalar(OracleCell),
}

impl<'a> Operand<'a> {
    /// The cells of a value; none of a text.
    pub(super) fn of(value: &'a OracleValue) -> Option<Self> {
        match value {
            OracleValue::Scalar(cell) => Some(Operand::Scalar(*cell)),
            OracleValue::Matrix(matrix) => Some(Operand::Matrix(matrix)),
            OracleValue::Text(_) => None,
        }
    }

    /// The cell for (i, j) of a result that may be larger in a direction in which the operand has one cell.
    pub(super) fn get(&self, i: usize, j: usize) -> OracleCell {
        match self {
            Operand::Scalar(cell) => *cell,
            Operand::Matrix(matrix) => {
                matrix.get(if matrix.rows == 1 { 0 } else { i }, if matrix.cols == 1 { 0 } else { j })
            }
        }
    }
}

/// A result that no legal evaluation gives.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// Other dimensions.
    #[error("the result is {} x {}, not {} x {}", actual.0, actual.1, expected.0, expected.1)]
    Dimensions {
        /// Rows and columns that are right.
        expected: (usize, usize),
        /// Rows and columns of the result.
        actual: (usize, usize),
    },
    /// A cell beyond its error radius.
    #[error("cell ({row}, {col}) is {actual:e}, not {expected:e} with radius {radius:e}")]
    Cell {
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        col: usize,
        /// The right value.
        expected: f64,
        /// The radius; 0 where the result must be equal.
        radius: f64,
        /// The value in the result.
        actual: f64,
    },
    /// A result of another kind: a scalar, a matrix or a text.
    #[error("the result is a {actual}, not a {expected}")]
    Kind {
        /// The right kind.
        expected: &'static str,
        /// The kind of the result.
        actual: &'static str,
    },
    /// Another text.
    #[error("the result is {actual:?}, not {expected:?}")]
    Text {
        /// The right text.
        expected: String,
        /// The text of the result.
        actual: String,
    },
}

impl OracleMatrix {
    /// A matrix whose cell (i, j) is `cell(i, j)`.
    pub fn from_fn(rows: usize, cols: usize, mut cell: impl FnMut(usize, usize) -> OracleCell) -> Self {
        let cells = (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j))).map(|(i, j)| cell(i, j)).collect();
        OracleMatrix { rows, cols, cells }
    }

    /// The cell in row `i` and column `j`.
    pub fn get(&self, i: usize, j: usize) -> OracleCell {
        self.cells[i * self.cols + j]
    }

    /// Whether every legal evaluation gives the same integers.
    pub fn is_exact(&self) -> bool {
        self.cells.iter().all(OracleCell::is_exact)
    }

    /// The share of tainted cells, about which legal plans may disagree.
    pub fn tainted_share(&self) -> f64 {
        let tainted = self.cells.iter().filter(|cell| cell.is_tainted()).count();
        if self.cells.is_empty() { 0.0 } else { tainted as f64 / self.cells.len() as f64 }
    }

    /// The matrix in strict IEEE arithmetic, where no zero annihilates what is not finite.
    pub fn strict_ieee(self) -> Self {
        let cells = self.cells.into_iter().map(OracleCell::strict_ieee).collect();
        OracleMatrix { cells, ..self }
    }

    /// Checks a result.
    ///
    /// # Errors
    /// Its dimensions are others, or a cell that is not tainted lies beyond its radius (exact cells: is not equal).
    pub fn accepts(&self, actual: &MatrixBlock) -> Result<(), Mismatch> {
        let expected = (self.rows, self.cols);
        if actual.dims() != expected {
            return Err(Mismatch::Dimensions { expected, actual: actual.dims() });
        }
        let dense = actual.to_dense();
        for (position, (cell, &actual)) in self.cells.iter().zip(dense.values()).enumerate() {
            if !cell.accepts(actual) {
                let (row, col) = (position / self.cols, position % self.cols);
                return Err(Mismatch::Cell { row, col, expected: cell.value(), radius: cell.radius(), actual });
            }
        }
        Ok(())
    }
}

impl OracleValue {
    fn kind(&self) -> &'static str {
        match self {
            OracleValue::Matrix(_) => "matrix",
            OracleValue::Scalar(_) => "scalar",
            OracleValue::Text(_) => "text",
        }
    }

    /// The value in strict IEEE arithmetic, where no zero annihilates what is not finite.
    pub fn strict_ieee(self) -> Self {
        match self {
            OracleValue::Matrix(matrix) => OracleValue::Matrix(matrix.strict_ieee()),
            OracleValue::Scalar(cell) => OracleValue::Scalar(cell.strict_ieee()),
            OracleValue::Text(text) => OracleValue::Text(text),
        }
    }

    /// Checks a matrix.
    ///
    /// # Errors
    /// No legal evaluation gives it.
    pub fn accepts(&self, actual: &MatrixBlock) -> Result<(), Mismatch> {
        match self {
            OracleValue::Matrix(matrix) => matrix.accepts(actual),
            _ => Err(Mismatch::Kind { expected: self.kind(), actual: "matrix" }),
        }
    }

    /// Checks a scalar.
    ///
    /// # Errors
    /// No legal evaluation gives it.
    pub fn accepts_scalar(&self, actual: &Value) -> Result<(), Mismatch> {
        match (self, actual, actual.as_f64()) {
            (OracleValue::Text(expected), Value::Str(actual), _) if expected == actual => Ok(()),
            (OracleValue::Text(expected), Value::Str(actual), _) => {
                Err(Mismatch::Text { expected: expected.clone(), actual: actual.clone() })
            }
            (OracleValue::Scalar(cell), _, Some(actual)) if cell.accepts(actual) => Ok(()),
            (OracleValue::Scalar(cell), _, Some(actual)) => {
                Err(Mismatch::Cell { row: 0, col: 0, expected: cell.value(), radius: cell.radius(), actual })
            }
            (_, Value::Str(_), _) => Err(Mismatch::Kind { expected: self.kind(), actual: "text" }),
            _ => Err(Mismatch::Kind { expected: self.kind(), actual: "scalar" }),
        }
    }
}

/// A given matrix.
impl From<&MatrixBlock> for OracleValue {
    fn from(block: &MatrixBlock) -> Self {
        let cells = block.to_dense().values().iter().map(|&value| OracleCell::given(value)).collect();
        OracleValue::Matrix(OracleMatrix { rows: block.rows(), cols: block.cols(), cells })
    }
}

/// A given scalar.
impl From<&Value> for OracleValue {
    fn from(value: &Value) -> Self {
        match (value, value.as_f64()) {
            (Value::Str(text), _) => OracleValue::Text(text.clone()),
            (_, number) => OracleValue::Scalar(OracleCell::given(number.unwrap_or(f64::NAN))),
        }
    }
}

impl fmt::Display for OracleCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let taint = if self.is_tainted() { " tainted" } else { "" };
        write!(f, "{:e} ±{:e}{taint}", self.value(), self.radius())
    }
}
