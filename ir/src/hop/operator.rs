//! The kinds of high-level operators.

use super::{FrameFunction, FusedOp, NumericFunction};
use crate::ops::{AggOp, BinaryOp, Direction, TernaryOp, UnaryOp};
use crate::template::TemplateType;
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
    /// Columns side by side; of a list and values: the list with these values at its end.
    Cbind,
    /// Rows below each other.
    Rbind,
    /// The smallest of the inputs, cell by cell, with scalars, row and column vectors broadcast.
    Min,
    /// The largest of the inputs, cell by cell.
    Max,
    /// The sum of the inputs, cell by cell, from left to right.
    Plus,
}

impl NaryOp {
    /// The element-wise operation that the inputs are folded with, from left to right; none for the concatenations.
    pub fn fold(self) -> Option<BinaryOp> {
        match self {
            NaryOp::Cbind | NaryOp::Rbind => None,
            NaryOp::Min => Some(BinaryOp::Min),
            NaryOp::Max => Some(BinaryOp::Max),
            NaryOp::Plus => Some(BinaryOp::Plus),
        }
    }
}

/// A reorganisation of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ReorgOp {
    /// Transpose.
    Transpose,
    /// Rows in reverse order.
    Rev,
    /// The diagonal of a square matrix as a column, or a column as the diagonal of a square matrix.
    Diag,
}

/// Generation of a matrix from scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DataGenOp {
    /// Inputs: value, rows, columns. The value is a scalar (every cell), a text of numbers (row by row) or a matrix
    /// (reshaped row by row).
    Matrix,
    /// Inputs: from, to, increment. A column from `from` to at most `to`.
    Seq,
    /// Inputs: rows, columns, minimum (`"poisson"`: the mean), maximum, sparsity, seed (-1: drawn), density function
    /// (`"uniform"`, `"normal"` or `"poisson"`).
    Rand,
    /// Inputs: vector, columns. A row in which each cell of the vector repeats equally often, to fill the columns: a
    /// bias per channel, as a bias per column.
    Expand,
}

/// A fact of the shape of a matrix, frame or list (a column of its elements), as an integer scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ShapeOp {
    /// Number of rows.
    Nrow,
    /// Number of columns.
    Ncol,
    /// Number of cells.
    Length,
}

/// A change of type. A list of a single element is converted as that element.
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
    /// The columns of a matrix as a list of columns; a list of a single list to that list; other lists pass.
    AsList,
    /// Matrix or scalar to a frame; frames pass.
    AsFrame,
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
    /// Ends the program unless its input is true, with the text of `message` if there is one. An effect.
    Assert,
    /// A matrix or scalar as text.
    ToString,
    /// Nanoseconds since an arbitrary start.
    Time,
    /// A list. Inputs: the elements; the last of them may have names.
    List,
    /// A list without one element. Inputs: list, position or name. Results: the rest, a list of the element.
    Remove,
    /// A frame as numbers. Inputs: frame, specification (JSON). Results: matrix, frame of what was learnt of it.
    TransformEncode,
    /// A frame as numbers, with what was learnt of another. Inputs: frame, specification, learnt frame.
    TransformApply,
    /// The frame that was encoded. Inputs: matrix, specification, learnt frame.
    TransformDecode,
    /// The types of a frame's columns, as a frame of one row.
    TypeOf,
    /// Rows sorted by a column. Inputs: matrix, then `by` (1), `decreasing` (FALSE), `index.return` (FALSE).
    Order,
    /// A matrix or frame without its empty rows or columns. Inputs: matrix, then `margin`, `select` (a vector of what stays),
    /// `empty.return` (TRUE: one empty row or column where nothing stays).
    RemoveEmpty,
    /// A contingency table: cell (a, b) sums the weights of the positions with these values. Inputs: a, b, weights
    /// (vectors or scalars), then the dimensions `dim1`, `dim2` and `ignore` (TRUE: with dimensions, values below 1
    /// count nowhere, like those beyond the last).
    Table,
    /// For each row the 1-based column of its largest cell, the last of equals.
    RowIndexMax,
    /// For each row the 1-based column of its smallest cell, the last of equals.
    RowIndexMin,
    /// A function of matrices and numbers.
    Numeric(NumericFunction),
    /// A function of frames.
    Frame(FrameFunction),
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
    /// Partial aggregates down each column: `cumsum`, `cumprod`, `cummin`, `cummax`.
    Cumulative(AggOp),
    /// An element-wise operation of each cell of a column (m x 1) with each cell of a row (1 x n): m x n.
    Outer(BinaryOp),
    /// The matrix product.
    MatMul,
    /// A reorganisation.
    Reorg(ReorgOp),
    /// A range of a matrix, a frame or (by position or name, in the place of rows) a list. Inputs: matrix, first row, last row, first column, last column; 1-based and inclusive.
    Index,
    /// A matrix, frame or list with a range replaced. Inputs: it, the replacement (matrix or scalar; of a list any
    /// value), then the range as in `Index`.
    LeftIndex,
    /// Generation of a matrix.
    DataGen(DataGenOp),
    /// A fact of a shape.
    Shape(ShapeOp),
    /// A change of type.
    Cast(CastOp),
    /// Concatenation of two scalars as text.
    Concat,
    /// The result at this position, from 0, of an operator that gives several as a list.
    Item(usize),
    /// A function with effects or named arguments; `names` are those of the last inputs.
    Parameterized {
        /// The function.
        function: Function,
        /// Names of the last `names.len()` inputs.
        names: Vec<String>,
    },
    /// A hand-coded fused operator. Inputs as [`FusedOp::inputs`] says.
    Fused(FusedOp),
    /// A generated fused operator. Inputs follow the operator's CPlan: main input first, scalars last.
    SpoofOp {
        /// The compiled operator.
        operator: OperatorId,
        /// Its template.
        template: TemplateType,
    },
}

/// Text names of the variants of an operator, of which some may wrap other kinds that have names of their own.
macro_rules! mnemonics {
    ($type:ident { $($variant:ident = $mnemonic:literal),* $(,)? } $(+ $wrapper:ident($inner:ident))*) => {
        impl $type {
            /// Every variant, save those of a kind within.
            pub const ALL: &[$type] = &[$($type::$variant),*];

            /// The text mnemonic.
            pub fn mnemonic(self) -> &'static str {
                match self {
                    $($type::$variant => $mnemonic,)*
                    $($type::$wrapper(inner) => inner.mnemonic(),)*
                }
            }

            /// The variant with this mnemonic.
            pub fn from_mnemonic(mnemonic: &str) -> Option<Self> {
                let found = Self::ALL.iter().copied().find(|op| op.mnemonic() == mnemonic);
                $(let found = found.or_else(|| $inner::from_mnemonic(mnemonic).map($type::$wrapper));)*
                found
            }
        }
    };
}

mnemonics!(NaryOp { Cbind = "cbind", Rbind = "rbind", Min = "nary_min", Max = "nary_max", Plus = "nary_plus" });
mnemonics!(ReorgOp { Transpose = "t", Rev = "rev", Diag = "diag" });
mnemonics!(DataGenOp { Matrix = "matrix", Seq = "seq", Rand = "rand", Expand = "expand" });
mnemonics!(ShapeOp { Nrow = "nrow", Ncol = "ncol", Length = "length" });
mnemonics!(CastOp {
    AsScalar = "as.scalar",
    AsMatrix = "as.matrix",
    AsDouble = "as.double",
    AsInteger = "as.integer",
    AsLogical = "as.logical",
    AsList = "as.list",
    AsFrame = "as.frame",
});
mnemonics!(Function {
    Read = "fread",
    Write = "fwrite",
    Print = "print",
    Stop = "stop",
    Assert = "assert",
    ToString = "toString",
    Time = "time",
    List = "list",
    Remove = "remove",
    TransformEncode = "transformencode",
    TransformApply = "transformapply",
    TransformDecode = "transformdecode",
    TypeOf = "typeof",
    Order = "order",
    RemoveEmpty = "removeEmpty",
    Table = "table",
    RowIndexMax = "rowIndexMax",
    RowIndexMin = "rowIndexMin",
} + Numeric(NumericFunction) + Frame(FrameFunction));
mnemonics!(FrameFunction {
    Make = "frame",
    ColumnNames = "colnames",
    Map = "map",
    Tokenize = "tokenize",
    DetectSchema = "detectSchema",
    DropInvalidType = "dropInvalidType",
    DropInvalidLength = "dropInvalidLength",
    Replicate = "freplicate",
    ReplaceCells = "replace_cells",
    Compare = "compare",
});
mnemonics!(NumericFunction {
    Solve = "solve",
    Inverse = "inv",
    Determinant = "det",
    Cholesky = "cholesky",
    Eigen = "eigen",
    Svd = "svd",
    Lu = "lu",
    Qr = "qr",
    Quantile = "quantile",
    Median = "median",
    InterQuartileMean = "interQuartileMean",
    Unique = "unique",
    GroupedAggregate = "aggregate",
    Sample = "sample",
    Roll = "roll",
    LowerTriangle = "lower.tri",
    UpperTriangle = "upper.tri",
    CumulativeSumProduct = "cumsumprod",
    DistributionFunction = "cdf",
    QuantileFunction = "icdf",
    Conv2d = "conv2d",
    MaxPool = "max_pool",
    AvgPool = "avg_pool",
    Conv2dBackwardFilter = "conv2d_backward_filter",
    Conv2dBackwardData = "conv2d_backward_data",
    MaxPoolBackward = "max_pool_backward",
    AvgPoolBackward = "avg_pool_backward",
    CountDistinct = "countDistinct",
    Fourier = "fft",
    InverseFourier = "ifft",
    MatrixRoot = "sqrtMatrix",
});

impl Function {
    /// How many inputs a function takes by position (a list takes any number more); the others have names.
    pub fn positional_inputs(self) -> usize {
        match self {
            Function::Numeric(function) => function.positional_inputs(),
            Function::Frame(function) => function.positional_inputs(),
            Function::Time | Function::List => 0,
            Function::Read | Function::Print | Function::Stop | Function::Assert | Function::ToString => 1,
            Function::TypeOf => 1,
            Function::Order | Function::RemoveEmpty | Function::RowIndexMax | Function::RowIndexMin => 1,
            Function::Write | Function::Remove | Function::TransformEncode => 2,
            Function::Table | Function::TransformApply | Function::TransformDecode => 3,
        }
    }

    /// How many results the function gives: where they are several, its value is a list of them, for
    /// [`HopOp::Item`].
    pub fn results(self) -> usize {
        match self {
            Function::Numeric(function) => function.results(),
            Function::Remove | Function::TransformEncode => 2,
            _ => 1,
        }
    }
}

impl HopOp {
    /// The paper's label, as memo tables and plans print it: `ba(+*)`, `b(*)`, `ua(R+)`, `r(t)`, `rix`.
    pub fn label(&self) -> String {
        match self {
            HopOp::Read(name) => format!("TRead {name}"),
            HopOp::Literal(value) => format!("LIT {value}"),
            HopOp::Unary(op) => op.label().to_owned(),
            HopOp::Binary(op) => op.label().to_owned(),
            HopOp::Ternary(op) => op.label().to_owned(),
            HopOp::Nary(op) => match op.fold() {
                Some(fold) => fold.label().replacen('b', "n", 1),
                None => format!("n({})", op.mnemonic()),
            },
            HopOp::AggUnary(op, direction) => format!("ua({}{})", direction.label(), op.label()),
            HopOp::Cumulative(op) => format!("u(cum{})", op.mnemonic()),
            HopOp::Outer(op) => op.label().replacen('b', "bo", 1),
            HopOp::MatMul => "ba(+*)".to_owned(),
            HopOp::Reorg(op) => format!("r({})", op.mnemonic()),
            HopOp::Index => "rix".to_owned(),
            HopOp::LeftIndex => "lix".to_owned(),
            HopOp::DataGen(op) => format!("dg({})", op.mnemonic()),
            HopOp::Shape(op) => format!("u({})", op.mnemonic()),
            HopOp::Cast(op) => format!("u({})", op.mnemonic()),
            HopOp::Concat => "b(concat)".to_owned(),
            HopOp::Item(position) => format!("item({position})"),
            HopOp::Parameterized { function, .. } => format!("p({})", function.mnemonic()),
            HopOp::Fused(op) => op.label(),
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
                    | HopOp::Parameterized { function: Function::Numeric(NumericFunction::Sample), .. }
                    | HopOp::Parameterized { function: Function::Read | Function::Time, .. }
            )
    }
}
