//! Scalars that are yet to be computed.

use super::expr::Expr;
use super::failure::Place;
use super::matrix::{Matrix, elementwise_methods};
use super::operand::Operand;
use fuseline_ir::hop::{CastOp, HopOp};
use fuseline_ir::ops::{BinaryOp, TernaryOp, UnaryOp};
use fuseline_ir::{DataType, SizeInfo, Value};
use std::panic::Location;

/// A number that is yet to be computed, such as a sum; cheap to clone.
///
/// ```
/// use fuseline::{Matrix, Scalar, Session, ndarray::array};
///
/// let x = Matrix::from(array![[3.0, 4.0]]);
/// let norm: Scalar = x.square().sum().sqrt();
/// assert_eq!(Session::builder().build()?.eval(1.0 + &norm)?, 6.0);
/// # Ok::<(), fuseline::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Scalar(Expr);

impl Scalar {
    /// A number that is bound before each run of what is compiled.
    ///
    /// ```
    /// use fuseline::{Matrix, Scalar, Session, ndarray::array};
    ///
    /// let session = Session::builder().build()?;
    /// let scaled = Matrix::from(array![[1.0, 2.0]]) * Scalar::symbol("rate");
    /// let mut scaled = session.compile(scaled)?;
    /// assert_eq!(scaled.bind("rate", 0.25)?.run()?.get(0, 1), 0.5);
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    #[track_caller]
    pub fn symbol(name: &str) -> Scalar {
        Scalar(Expr::symbol(name, DataType::F64, SizeInfo::UNKNOWN))
    }

    /// The untyped expression. As in the examples of [`Expr`].
    pub fn as_expr(&self) -> &Expr {
        &self.0
    }

    /// The number as a 1 x 1 matrix.
    ///
    /// ```
    /// use fuseline::{Scalar, Session};
    ///
    /// let cell = Session::builder().build()?.eval(Scalar::from(2.0).to_matrix())?;
    /// assert_eq!(cell.dims(), (1, 1));
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    #[track_caller]
    pub fn to_matrix(&self) -> Matrix {
        Matrix::of(Expr::apply(HopOp::Cast(CastOp::AsMatrix), &[&self.0]))
    }

    pub(super) fn of(expr: Expr) -> Scalar {
        Scalar(expr)
    }
}

elementwise_methods!(Scalar, "Scalar::from(", "");

impl From<f64> for Scalar {
    #[track_caller]
    fn from(value: f64) -> Self {
        Scalar(Expr::value(Value::F64(value)))
    }
}

impl From<Scalar> for Expr {
    fn from(scalar: Scalar) -> Self {
        scalar.0
    }
}

/// `yes` where the condition is not zero, else `no`, cell by cell; numbers and vectors are repeated.
///
/// ```
/// use fuseline::{Matrix, Session, ndarray::array, where_};
///
/// let x = Matrix::from(array![[1.0, -2.0]]);
/// let clipped = where_(&x.gt(0.0), &x, 0.0);
/// assert_eq!(Session::builder().build()?.eval(clipped)?.get(0, 1), 0.0);
/// # Ok::<(), fuseline::Error>(())
/// ```
#[track_caller]
pub fn where_(condition: &Matrix, yes: impl Operand, no: impl Operand) -> Matrix {
    let place = Place::Rust(Location::caller());
    let (yes, no) = (yes.into_expr(place.clone()), no.into_expr(place.clone()));
    Matrix::of(Expr::apply_at(HopOp::Ternary(TernaryOp::IfElse), &[condition.as_expr(), &yes, &no], place))
}
