//! The operators of Rust on matrices, scalars and numbers, by value and by reference.

use super::expr::Expr;
use super::failure::Place;
use super::matrix::Matrix;
use super::operand::Operand;
use super::scalar::Scalar;
use fuseline_ir::ops::{BinaryOp, UnaryOp};
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Rem, Sub, SubAssign};
use std::panic::Location;

macro_rules! operator {
    ($trait:ident, $method:ident, $op:ident: $($left:ty, $right:ty => $result:ident;)*) => {$(
        impl $trait<$right> for $left {
            type Output = $result;
            #[track_caller]
            fn $method(self, other: $right) -> $result {
                let place = Place::Rust(Location::caller());
                let (left, right) = (Operand::into_expr(self, place.clone()), Operand::into_expr(other, place.clone()));
                $result::of(Expr::apply_at(BinaryOp::$op, &[&left, &right], place))
            }
        }
    )*};
}

macro_rules! operators {
    ($($trait:ident, $method:ident, $op:ident;)*) => {$(
        operator! { $trait, $method, $op:
            Matrix, Matrix => Matrix;
            Matrix, &Matrix => Matrix;
            &Matrix, Matrix => Matrix;
            &Matrix, &Matrix => Matrix;
            Matrix, Scalar => Matrix;
            Matrix, &Scalar => Matrix;
            &Matrix, Scalar => Matrix;
            &Matrix, &Scalar => Matrix;
            Scalar, Matrix => Matrix;
            Scalar, &Matrix => Matrix;
            &Scalar, Matrix => Matrix;
            &Scalar, &Matrix => Matrix;
            Scalar, Scalar => Scalar;
            Scalar, &Scalar => Scalar;
            &Scalar, Scalar => Scalar;
            &Scalar, &Scalar => Scalar;
            Matrix, f64 => Matrix;
            &Matrix, f64 => Matrix;
            f64, Matrix => Matrix;
            f64, &Matrix => Matrix;
            Scalar, f64 => Scalar;
            &Scalar, f64 => Scalar;
            f64, Scalar => Scalar;
            f64, &Scalar => Scalar;
        }
    )*};
}

operators! {
    Add, add, Plus;
    Sub, sub, Minus;
    Mul, mul, Mult;
    Div, div, Div;
    Rem, rem, Modulus;
}

macro_rules! negation {
    ($($type:ident),*) => {$(
        impl Neg for &$type {
            type Output = $type;
            #[track_caller]
            fn neg(self) -> $type {
                $type::of(Expr::apply(UnaryOp::Neg, &[self.as_expr()]))
            }
        }

        impl Neg for $type {
            type Output = $type;
            #[track_caller]
            fn neg(self) -> $type {
                -&self
            }
        }
    )*};
}

negation!(Matrix, Scalar);

macro_rules! assignments {
    ($($trait:ident, $assign:ident, $operator:ident, $method:ident;)*) => {$(
        impl<T> $trait<T> for Matrix
        where
            for<'a> &'a Matrix: $operator<T, Output = Matrix>,
        {
            #[track_caller]
            fn $assign(&mut self, other: T) {
                *self = $operator::$method(&*self, other);
            }
        }
    )*};
}

assignments! {
    AddAssign, add_assign, Add, add;
    SubAssign, sub_assign, Sub, sub;
    MulAssign, mul_assign, Mul, mul;
    DivAssign, div_assign, Div, div;
}
