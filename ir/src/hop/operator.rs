//! The kinds of high-level operators.

use crate::memo::TemplateType;
use crate::ops::{AggOp, BinaryOp, Direction, TernaryOp, UnaryOp};
use crate::types::Value;
use cranelift_entity::entity_impl;
use serde::{Deserialize, Serialize};

/// A compiled fused operator; indexes the run time's operator table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperatorId(u32);
entity_impl!(OperatorId, "op");

/// An operation of any number of inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum NaryOp {
    /// Columns side by side.
    Cbind,
    /// Rows below each other.
    Rbind,
}

/// A reorganisation of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ReorgOp {
    /// Transpose.
    Transpose,
}

/// Generation of a matrix from scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DataGenOp {
    /// Inputs: value, rows, columns. The value is a scalar (every cell), a text of numbers (row by row) or a matrix
    /// (reshaped row by row).
    Matrix,
    /// Inputs: from, to, increment. A column from `from` to at most `to`.
    Seq,
    /// Inputs: rows, columns, minimum, maximum, sparsity, seed (-1: drawn), density function (`"uniform"` or
    /// `"normal"`).
    Rand,
}

/// A fact of the shape of a matrix, as an integer scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ShapeOp {
    /// Number of rows.
    Nrow,
    /// Number of columns.
    Ncol,
    /// Number of cells.
    Length,
}

/// A change of type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CastOp {
    /// 1 x 1 matrix to scalar; scalars pass.
    AsScalar,
    /// Scalar to 1 x 1 matrix; matrices pass.
    AsMatrix,
    /// To a double scalar.
    AsDouble,
    /// To an integer scalar, towards zero.
    AsInteger,
    /// To a truth value.
    AsLogical,
}

/// A function with effects or named arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Function {
    /// Reads a matrix or scalar from a file. Inputs: file name, then named arguments.
    Read,
    /// Writes a matrix or scalar to a file. Inputs: value, file name, then named arguments. An effect.
    Write,
    /// Prints a scalar or a text. An effect.
    Print,
    /// Ends the program with an error message. An effect.
    Stop,
    /// Ends the program unless its input is true. An effect.
    Assert,
    /// A matrix or scalar as text.
    ToString,
    /// Nanoseconds since an arbitrary start.
    Time,
}

/// What a high-level operator computes.
#[derive(Clone, Debug, PartialEq)]
pub enum HopOp {
    /// The value of a variable at the start of the block.
    Read(String),
    /// A constant.
    Literal(Value),
    /// An element-wise operation of one input, on a matrix or a scalar.
    Unary(UnaryOp),
    /// An element-wise operation of two inputs, with scalars, row and column vectors broadcast.
    Binary(BinaryOp),
    /// An element-wise operation of three inputs.
    Ternary(TernaryOp),
    /// An operation of any number of inputs.
    Nary(NaryOp),
    /// An aggregation; `Full` gives a scalar.
    AggUnary(AggOp, Direction),
    /// The matrix product.
    MatMul,
    /// A reorganisation.
    Reorg(ReorgOp),
    /// A range of a matrix. Inputs: matrix, first row, last row, first column, last column; 1-based and inclusive.
    Index,
    /// A matrix with a range replaced. Inputs: matrix, replacement (matrix or scalar), then the range as in `Index`.
    LeftIndex,
    /// Generation of a matrix.
    DataGen(DataGenOp),
    /// A fact of a shape.
    Shape(ShapeOp),
    /// A change of type.
    Cast(CastOp),
    /// Concatenation of two scalars as text.
    Concat,
    /// A function with effects or named arguments; `names` are those of the last inputs.
    Parameterized {
        /// The function.
        function: Function,
        /// Names of the last `names.len()` inputs.
        names: Vec<String>,
    },
    /// A fused operator. Inputs follow the operator's CPlan: main input first, scalars last.
    SpoofOp {
        /// The compiled operator.
        operator: OperatorId,
        /// Its template.
        template: TemplateType,
    },
}

macro_rules! mnemonics {
    ($type:ident { $($variant:ident = $mnemonic:literal),* $(,)? }) => {
        impl $type {
            /// Every variant.
            pub const ALL: &[$type] = &[$($type::$variant),*];

            /// The text mnemonic.
            pub fn mnemonic(self) -> &'static str {
                match self { $($type::$variant => $mnemonic),* }
            }

            /// The variant with this mnemonic.
            pub fn from_mnemonic(mnemonic: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|op| op.mnemonic() == mnemonic)
            }
        }
    };
}

mnemonics!(NaryOp { Cbind = "cbind", Rbind = "rbind" });
mnemonics!(ReorgOp { Transpose = "t" });
mnemonics!(DataGenOp { Matrix = "matrix", Seq = "seq", Rand = "rand" });
mnemonics!(ShapeOp { Nrow = "nrow", Ncol = "ncol", Length = "length" });
mnemonics!(CastOp {
    AsScalar = "as.scalar",
    AsMatrix = "as.matrix",
    AsDouble = "as.double",
    AsInteger = "as.integer",
    AsLogical = "as.logical",
});
mnemonics!(Function {
    Read = "fread",
    Write = "fwrite",
    Print = "print",
    Stop = "stop",
    Assert = "assert",
    ToString = "toString",
    Time = "time",
});

impl HopOp {
    /// The paper's label, as memo tables and plans print it: `ba(+*)`, `b(*)`, `ua(R+)`, `r(t)`, `rix`.
    pub fn label(&self) -> String {
        match self {
            HopOp::Read(name) => format!("TRead {name}"),
            HopOp::Literal(value) => format!("LIT {value}"),
            HopOp::Unary(op) => op.label().to_owned(),
            HopOp::Binary(op) => op.label().to_owned(),
            HopOp::Ternary(op) => op.label().to_owned(),
            HopOp::Nary(op) => format!("n({})", op.mnemonic()),
            HopOp::AggUnary(op, direction) => format!("ua({}{})", direction.label(), op.label()),
            HopOp::MatMul => "ba(+*)".to_owned(),
            HopOp::Reorg(ReorgOp::Transpose) => "r(t)".to_owned(),
            HopOp::Index => "rix".to_owned(),
            HopOp::LeftIndex => "lix".to_owned(),
            HopOp::DataGen(op) => format!("dg({})", op.mnemonic()),
            HopOp::Shape(op) => format!("u({})", op.mnemonic()),
            HopOp::Cast(op) => format!("u({})", op.mnemonic()),
            HopOp::Concat => "b(concat)".to_owned(),
            HopOp::Parameterized { function, .. } => format!("p({})", function.mnemonic()),
            HopOp::SpoofOp { template, .. } => format!("spoof({template})"),
        }
    }

    /// Whether the operation has an effect besides its value, so that it must not be removed, merged or reordered.
    pub fn is_effect(&self) -> bool {
        matches!(
            self,
            HopOp::Parameterized {
                function: Function::Write | Function::Print | Function::Stop | Function::Assert,
                ..
            }
        )
    }

    /// Whether two equal operations on equal inputs give equal values, so that common subexpressions may be merged.
    pub fn is_pure(&self) -> bool {
        !self.is_effect()
            && !matches!(
                self,
                HopOp::DataGen(DataGenOp::Rand)
                    | HopOp::Parameterized { function: Function::Read | Function::Time, .. }
            )
    }
}
