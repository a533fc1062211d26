//! THE op table (design: "declare an op once").
//!
//! One row per element-wise operation in `table` gives everything that any stage needs to know of it: the enum
//! variant, its text mnemonic and the paper's label, the DML spelling, the scalar reference, zero behaviour, algebra,
//! cost and lowering. Adding an operation is one row; the tests at the end of this folder iterate the table, so a
//! wrong fact (above all a wrong zero behaviour, the most dangerous mistake in this compiler) does not survive them.
//!
//! Other crates know this one as `fuseline_ir::ops`; the vector primitives depend on it alone.
#![forbid(unsafe_code)]

mod aggregate;
mod known;
mod lowering;
pub mod math;
mod table;
#[cfg(test)]
mod tests;
mod windows;

pub use aggregate::{AggOp, Direction};
pub use known::Known;
pub use lowering::{FloatOp, Lowering, Predicate, Step};
pub use table::{BinaryOp, TernaryOp, UnaryOp};
pub use windows::{WindowOp, Windows};

/// What a unary operation does to a zero cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryZero {
    /// `f(0) = 0`: the operation is sparse-safe.
    Preserves,
    /// `f(0) != 0`.
    Fills,
}

/// What a binary operation does to zero cells.
///
/// `0` here compares equal to zero, so `-0.0` counts. Which operand may be exploited under which zero semantics is
/// decided by the passes; the table only states the mathematical fact for finite other operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryZero {
    /// `f(0, y) = f(x, 0) = 0` for finite `x`, `y` (`*`, `&`).
    Annihilates,
    /// `f(0, y) = 0` for finite `y != 0` (`/`).
    LeftAnnihilates,
    /// Only `f(0, 0) = 0` (`+`, `-`, `min`, `max`, `<`, `>`, `!=`, `|`).
    Joint,
    /// `f(0, 0) != 0` or undefined (`==`, `<=`, `^`, `%%`).
    Fills,
}

/// Algebraic properties of a binary operation that rewrites and canonical forms may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Algebra {
    /// `f(x, y) = f(y, x)`, bit for bit up to the sign of zero and NaN payloads.
    pub commutative: bool,
    /// The result is always 0 or 1.
    pub boolean: bool,
}

/// How far a result may lie from the correctly rounded one (`IEEE` operations: not at all).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ErrorBound {
    /// Correctly rounded or exact: the same bits everywhere.
    Exact,
    /// At most this many units in the last place.
    Ulp(f64),
}

macro_rules! common_impls {
    ($type:ident, $noun:literal) => {
        impl $type {
            /// The operation with this text mnemonic.
            pub fn from_mnemonic(mnemonic: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|op| op.mnemonic() == mnemonic)
            }

            /// The position in [`Self::ALL`]; indexes kernel tables.
            pub fn index(self) -> usize {
                self as usize
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.mnemonic())
            }
        }

        impl std::str::FromStr for $type {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                Self::from_mnemonic(text).ok_or_else(|| format!(concat!("`{}` is no ", $noun), text))
            }
        }
    };
}

impl UnaryOp {
    /// Whether [`Self::eval_ordinary`] serves this operand. Nearly every operand of every operation is ordinary.
    #[inline(always)]
    pub fn is_ordinary(self, x: f64) -> bool {
        match self {
            UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Tan => math::is_ordinary(x),
            _ => true,
        }
    }

    /// The scalar reference of an ordinary operand, bit for bit: straight-line code, so that a loop over it vectorises.
    #[inline(always)]
    pub fn eval_ordinary(self, x: f64) -> f64 {
        match self {
            UnaryOp::Sin => math::sin_ordinary(x),
            UnaryOp::Cos => math::cos_ordinary(x),
            UnaryOp::Tan => math::tan_ordinary(x),
            _ => self.eval(x),
        }
    }

    /// Whether many non-zeros become zeros, as of `round` and of questions; of `sin` hardly any do.
    pub fn makes_zeros(self) -> bool {
        // Of both signs, and on both sides of one.
        [-2.75, -0.25, 0.25, 2.75].into_iter().any(|x| self.eval(x) == 0.0)
    }
}

impl BinaryOp {
    /// Whether many non-zeros become zeros beside a value other than zero, on either side of it, as of comparisons and of whole
    /// quotients; that non-zeros are equal to it, or differ by nothing, is rare.
    pub fn makes_zeros(self) -> bool {
        let values = [-2.75, -0.25, 0.25, 2.75];
        values.into_iter().any(|x| [-0.5, 0.5].into_iter().any(|y| self.eval(x, y) == 0.0))
    }
}

common_impls!(UnaryOp, "unary operation");
common_impls!(BinaryOp, "binary operation");
common_impls!(TernaryOp, "ternary operation");
