//! Why an expression cannot be: what does not fit, and where it and its operands were written.

use fuseline_ir::DataType;
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::infer::ShapeError;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use thiserror::Error;

/// Where an expression was written.
///
/// ```
/// use fuseline::{Matrix, Place};
/// use std::sync::Arc;
///
/// let x = Matrix::full(2, 2, 0.5);
/// assert!(matches!(x.as_expr().place(), Place::Rust(location) if location.line() > 0));
/// assert_eq!(Place::Foreign(Arc::new("cell 3")).to_string(), "cell 3");
/// ```
#[derive(Clone)]
pub enum Place {
    /// In a Rust program.
    Rust(&'static Location<'static>),
    /// In a program of another language, which tells where.
    Foreign(Arc<dyn fmt::Display + Send + Sync>),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Rust(location) => write!(f, "{location}"),
            Place::Foreign(place) => write!(f, "{place}"),
        }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// An operation whose operands do not fit.
///
/// ```
/// use fuseline::Matrix;
///
/// let product = Matrix::full(2, 3, 1.0).dot(Matrix::full(2, 3, 1.0));
/// let failure = product.as_expr().failure().expect("3 columns do not meet 2 rows");
/// assert!(failure.to_string().contains("operand 1, [2x3]"), "{failure}");
/// ```
#[derive(Clone, Debug, Error)]
#[error("{error}\n  at {place}{}", Listed(operands))]
pub struct ExprError {
    /// What does not fit.
    pub error: ShapeError,
    /// Where the operation was written.
    pub place: Place,
    pub(super) operands: Vec<Described>,
}

/// An operand as a message tells it.
#[derive(Clone, Debug)]
pub(super) struct Described {
    pub(super) data_type: DataType,
    pub(super) size: SizeInfo,
    pub(super) place: Place,
}

struct Listed<'a>(&'a [Described]);

/// One line for each operand.
impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, operand) in self.0.iter().enumerate() {
            let Described { data_type, size, place } = operand;
            let number = position + 1;
            if data_type.is_matrix() {
                write!(f, "\n  operand {number}, {}, from {place}", size.without_nnz())?;
            } else {
                write!(f, "\n  operand {number}, {data_type}, from {place}")?;
            }
        }
        Ok(())
    }
}
