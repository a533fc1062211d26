//! What may stand as the second operand of an operation.

use super::expr::Expr;
use super::failure::Place;
use super::matrix::Matrix;
use super::scalar::Scalar;
use fuseline_ir::Value;

/// A matrix, a scalar or a number, by value or by reference.
pub trait Operand {
    /// The operand as an expression; a number was written at this place.
    fn into_expr(self, place: Place) -> Expr;
}

/// An operand with which an operation on a `T` gives a `T`: for a matrix any, for a scalar a scalar or a number.
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
