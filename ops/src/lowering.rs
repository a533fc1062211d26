//! How an operation becomes code: lowering as data, so that a backend knows a handful of forms instead of every op.

use crate::{BinaryOp, TernaryOp, UnaryOp};

/// An IEEE operation that every backend has as one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloatOp {
    /// Negation (flips the sign bit).
    Neg,
    /// Addition.
    Add,
    /// Subtraction.
    Sub,
    /// Multiplication.
    Mul,
    /// Division.
    Div,
    /// Fused multiply-add `b * c + a` of operands `(a, b, c)`, rounded once.
    MulAdd,
    /// Fused negative multiply-add `-(b * c) + a` of operands `(a, b, c)`, rounded once.
    NegMulAdd,
}

/// A comparison; the result is 1.0 where it holds and 0.0 where not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Predicate {
    /// Ordered and equal.
    Equal,
    /// Unordered or not equal.
    NotEqual,
    /// Ordered and less.
    Less,
    /// Ordered and less or equal.
    LessEqual,
    /// Ordered and greater.
    Greater,
    /// Ordered and greater or equal.
    GreaterEqual,
}

/// The lowering of one operation.
#[derive(Clone, Copy, Debug)]
pub enum Lowering {
    /// One IEEE instruction.
    Float(FloatOp),
    /// A compare and a select of 1.0 or 0.0.
    Compare(Predicate),
    /// An LLVM intrinsic that is exact on every target (`llvm.fabs`, `llvm.sqrt`, `llvm.floor`, `llvm.ceil`).
    Intrinsic(&'static str),
    /// `(x < y || isnan(x)) ? x : y`, with `>` for the maximum: propagates NaN, and keeps the second operand on ties.
    MinMax {
        /// The comparison that keeps the first operand.
        keep_first: Predicate,
    },
    /// `a != 0 ? b : c` of operands `(a, b, c)`.
    Select,
    /// A vector math kernel of `vecprims`, named by the mnemonic.
    Call,
    /// Other operations, in postfix order; a backend needs no support of its own.
    Expand(&'static [Step]),
}

/// One step of an expansion in postfix order.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Push the operand with this position.
    Arg(u8),
    /// Push a constant.
    Const(f64),
    /// Pop one value, push the result.
    Unary(UnaryOp),
    /// Pop the right, then the left value, push the result.
    Binary(BinaryOp),
    /// Pop the third, second, then first operand, push the result.
    Ternary(TernaryOp),
}
