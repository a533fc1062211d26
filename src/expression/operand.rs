//! What may stand as the second operand of an operation.

use super::expr::Expr;
use super::failure::Place;
use super::matrix::Matrix;
use super::scalar::Scalar;
use fuseline_ir::Value;

/// A matrix, a scalar or a number, by value or by reference.
///
/// ```
/// use fuseline::{Matrix, Operand, Session, where_};
///
/// /// What is negative in a matrix, replaced.
/// fn mended(x: &Matrix, replacement: impl Operand) -> Matrix {
///     where_(&x.lt(0.0), replacement, x)
/// }
/// let x = Matrix::full(2, 2, -1.0);
/// let (by_number, by_matrix) = Session::builder().build()?.eval((mended(&x, 0.5).sum(), mended(&x, x.abs()).sum()))?;
/// assert_eq!((by_number, by_matrix), (2.0, 4.0));
/// # Ok::<(), fuseline::Error>(())
/// ```
pub trait Operand {
    /// The operand as an expression; a number was written at this place.
    ///
    /// ```
    /// use fuseline::{Expr, Operand};
    ///
    /// let place = Expr::value(1.0).place().clone();
    /// assert!(2.5.into_expr(place).known_value().is_some());
    /// ```
    fn into_expr(self, place: Place) -> Expr;
}

/// An operand with which an operation on a `T` gives a `T`: for a matrix any, for a scalar a scalar or a number.
///
/// ```
/// use fuseline::{Matrix, OperandOf, Session};
///
/// fn clipped(x: &Matrix, least: impl OperandOf<Matrix>) -> Matrix {
///     x.maximum(least)
/// }
/// let x = Matrix::full(2, 2, -1.0);
/// assert_eq!(Session::builder().build()?.eval(clipped(&x, x.mean() + 1.5).sum())?, 2.0);
/// # Ok::<(), fuseline::Error>(())
/// ```
pub trait OperandOf<T>: Operand {}

macro_rules! operands {
    ($($type:ty: |$value:ident, $place:pat_param| $expr:expr, $($of:ident),+;)*) => {$(
        impl Operand for $type {
            fn into_expr(self, $place: Place) -> Expr {
                let $value = self;
                $expr
            }
        }
        $(impl OperandOf<$of> for $type {})+
    )*};
}

operands! {
    &Matrix: |matrix, _| matrix.as_expr().clone(), Matrix;
    Matrix: |matrix, _| matrix.into(), Matrix;
    &Scalar: |scalar, _| scalar.as_expr().clone(), Matrix, Scalar;
    Scalar: |scalar, _| scalar.into(), Matrix, Scalar;
    f64: |number, place| Expr::value_at(Value::F64(number), place), Matrix, Scalar;
}
