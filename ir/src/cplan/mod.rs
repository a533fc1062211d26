//! Code generation plans (section 2.2): fused operators, independent of any backend.
//!
//! A CPlan is a template variant, a list of inputs and a DAG of basic operations ([`CNode`]) in topological order: the
//! order of execution. It names no HOP, no variable and no pointer, so equal plans are equal values with equal hashes,
//! and the plan cache finds them across DAGs. What a CPlan mentions is exactly what its code is specialised on.
//!
//! Values are scalars (one per cell in Cell, MAgg and Outer; one per row in Row) or, in Row, vectors (one per row).
//! The execution model, the same for every backend: a *unit* of work is a tile of rows (or a run of cells or
//! non-zeros); each node computes its value for the whole unit before the next node does.

use crate::ops::math::with_one_nan;
use crate::ops::{AggOp, BinaryOp, TernaryOp, UnaryOp, WindowOp, Windows};
use crate::template::{Space, TemplateType};
use crate::types::Element;
use cranelift_entity::{PrimaryMap, entity_impl};
use std::fmt;
use std::ops::Range;

mod buffers;
mod hash;
mod output;
mod positions;
mod shapes;
#[cfg(test)]
mod tests;
mod text;
mod variant;
mod verify;

pub use buffers::RowBuffers;
pub use output::{COutput, ProductOrder, StatedOutput};
pub use positions::{Positions, SCATTER_FLOPS, fewest};
pub use shapes::{Shape, Shapes};
pub use text::{parse, parse_all};
pub use variant::{CellType, OuterType, RowType, Variant};
pub use verify::{VerifiedCPlan, VerifierErrors};

/// A node of a CPlan.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CNodeId(u32);
entity_impl!(CNodeId, "%");

/// An input of a CPlan.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CInputId(u32);
entity_impl!(CInputId, "in");

/// The main input of Cell, Row and MAgg plans, and the sparse driver X of Outer plans.
pub const MAIN: CInputId = CInputId(0);
/// The left factor U (m x r) of Outer plans.
pub const FACTOR_U: CInputId = CInputId(1);
/// The right factor V (n x r, so that the product is `U %*% t(V)`) of Outer plans.
pub const FACTOR_V: CInputId = CInputId(2);

/// A bit-exact double, so that plans have equality and hashes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Bits(u64);

impl Bits {
    /// Wraps a value; every NaN becomes the same.
    pub fn new(value: f64) -> Self {
        Bits(with_one_nan(value).to_bits())
    }

    /// The value.
    pub fn get(self) -> f64 {
        f64::from_bits(self.0)
    }
}

impl fmt::Debug for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.get())
    }
}

/// What an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CInput {
    /// A matrix or vector of cells of this type.
    Matrix(Element),
    /// A scalar passed at execution.
    Scalar,
}

impl CInput {
    /// A matrix or vector of doubles.
    pub const MATRIX: CInput = CInput::Matrix(Element::F64);

    /// Whether this is a matrix or vector.
    pub fn is_matrix(self) -> bool {
        matches!(self, CInput::Matrix(_))
    }
}

/// Columns that a node reads of a side input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnRange {
    /// All that the input has.
    All,
    /// `first..end`, 0-based.
    Part {
        /// The first column.
        first: u32,
        /// One past the last column.
        end: u32,
    },
}

impl ColumnRange {
    /// The columns, 0-based, of an input that has `cols` of them.
    pub fn of(self, cols: usize) -> Range<usize> {
        match self {
            ColumnRange::All => 0..cols,
            ColumnRange::Part { first, end } => first as usize..end as usize,
        }
    }
}

/// The filters of a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Filters {
    /// How many filters there are.
    pub count: u32,
    /// How many windows they are multiplied with.
    pub windows: u32,
}

/// A basic operation.
///
/// "Cell (i, j)" is the cell of the current unit; in Row plans `i` is the current row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CNode {
    /// Cell, MAgg, Outer: cell (i, j) of the main input. Row: row i of the main input, a vector of length n.
    Main,
    /// A scalar input.
    Scalar(CInputId),
    /// A constant.
    Literal(Bits),
    /// Cell, MAgg, Outer: cell (i, j) of a side matrix of the main input's dimensions. A scalar.
    SideCell(CInputId),
    /// Cell (i, j) of a side matrix with as many rows as the main input, for a fixed column j (0-based; 0 for column
    /// vectors). A scalar.
    SideRowScalar(CInputId, u32),
    /// The number i of the current row, 0-based, as a double. A scalar.
    RowIndex,
    /// Cell, MAgg, Outer: cell (0, j) of a side row vector with as many columns as the main input. A scalar.
    SideColScalar(CInputId),
    /// Row: row i of a side matrix with as many rows as the main input, or some columns of it. A vector.
    SideRow(CInputId, ColumnRange),
    /// Row: a whole side vector, the same for every row: a 1 x k row, or a k x 1 column read as a vector.
    SideVector(CInputId),
    /// Outer: the dot product of row i of U and row j of V. A scalar.
    OuterProduct,
    /// An element-wise operation.
    Unary(UnaryOp, CNodeId),
    /// An element-wise operation; a scalar operand is broadcast along a vector.
    Binary(BinaryOp, CNodeId, CNodeId),
    /// An element-wise operation; scalar operands are broadcast along vectors.
    Ternary(TernaryOp, CNodeId, CNodeId, CNodeId),
    /// Row: a vector aggregated to a scalar.
    RowAgg(AggOp, CNodeId),
    /// Row: the partial aggregates of a vector, from its first cell to each. A vector of its length.
    RowCumulative(AggOp, CNodeId),
    /// Row: one value after the other: vectors, and scalars as vectors of length 1. A vector.
    Cbind(CNodeId, CNodeId),
    /// Row: the dot product of two vectors of one length. A scalar.
    DotProduct(CNodeId, CNodeId),
    /// Row: a vector of length l times a whole side matrix (l x k). A vector of length k.
    VectMatMult(CNodeId, CInputId),
    /// Row: a vector that has one cell per position of a sparse main row, laid out for all columns of the main input, with a
    /// scalar in those without a position. A vector. The form for sparse units alone has such nodes ([`CPlan::sparse_form`]).
    Scatter(CNodeId, CNodeId),
    /// Row: what is computed of the windows of an image, which is a vector. A vector.
    Windows(WindowOp, CNodeId, Windows),
    /// Row: a whole side matrix of filters (f x l) times a vector that is an unfolded image (l x k, row by row). A vector
    /// of length f * k.
    Convolve(CNodeId, CInputId, Filters),
}

impl CNode {
    /// The operand nodes, by position.
    pub fn operands(&self) -> smallvec::SmallVec<[CNodeId; 3]> {
        use smallvec::smallvec;
        match *self {
            CNode::Unary(_, a)
            | CNode::RowAgg(_, a)
            | CNode::RowCumulative(_, a)
            | CNode::VectMatMult(a, _)
            | CNode::Windows(_, a, _)
            | CNode::Convolve(a, ..) => smallvec![a],
            CNode::Binary(_, a, b) | CNode::DotProduct(a, b) | CNode::Cbind(a, b) | CNode::Scatter(a, b) => {
                smallvec![a, b]
            }
            CNode::Ternary(_, a, b, c) => smallvec![a, b, c],
            CNode::Main
            | CNode::Scalar(_)
            | CNode::Literal(_)
            | CNode::SideCell(_)
            | CNode::SideRowScalar(..)
            | CNode::RowIndex
            | CNode::SideColScalar(_)
            | CNode::SideRow(..)
            | CNode::SideVector(_)
            | CNode::OuterProduct => smallvec![],
        }
    }

    /// Whether the value is computed cell by cell.
    pub fn is_element_wise(&self) -> bool {
        matches!(self, CNode::Unary(..) | CNode::Binary(..) | CNode::Ternary(..))
    }

    /// Flops for a cell of an element-wise operation; none of others.
    pub fn flops(&self) -> f64 {
        match self {
            CNode::Unary(op, _) => op.flops(),
            CNode::Binary(op, ..) => op.flops(),
            CNode::Ternary(op, ..) => op.flops(),
            _ => 0.0,
        }
    }

    /// The operation on other operands.
    pub fn map_operands(self, mut map: impl FnMut(CNodeId) -> CNodeId) -> CNode {
        match self {
            CNode::Unary(op, a) => CNode::Unary(op, map(a)),
            CNode::RowAgg(op, a) => CNode::RowAgg(op, map(a)),
            CNode::RowCumulative(op, a) => CNode::RowCumulative(op, map(a)),
            CNode::Cbind(a, b) => CNode::Cbind(map(a), map(b)),
            CNode::Scatter(a, b) => CNode::Scatter(map(a), map(b)),
            CNode::VectMatMult(a, input) => CNode::VectMatMult(map(a), input),
            CNode::Windows(op, a, windows) => CNode::Windows(op, map(a), windows),
            CNode::Convolve(a, input, filters) => CNode::Convolve(map(a), input, filters),
            CNode::Binary(op, a, b) => CNode::Binary(op, map(a), map(b)),
            CNode::DotProduct(a, b) => CNode::DotProduct(map(a), map(b)),
            CNode::Ternary(op, a, b, c) => CNode::Ternary(op, map(a), map(b), map(c)),
            leaf => leaf,
        }
    }

    /// The input that the node reads.
    pub fn input(&self) -> Option<CInputId> {
        match *self {
            CNode::Main => Some(MAIN),
            CNode::Scalar(input)
            | CNode::SideCell(input)
            | CNode::SideRowScalar(input, _)
            | CNode::SideColScalar(input)
            | CNode::SideRow(input, _)
            | CNode::SideVector(input)
            | CNode::VectMatMult(_, input)
            | CNode::Convolve(_, input, _) => Some(input),
            CNode::Literal(_)
            | CNode::RowIndex
            | CNode::OuterProduct
            | CNode::Unary(..)
            | CNode::Binary(..)
            | CNode::Ternary(..)
            | CNode::RowAgg(..)
            | CNode::RowCumulative(..)
            | CNode::Cbind(..)
            | CNode::DotProduct(..)
            | CNode::Scatter(..)
            | CNode::Windows(..) => None,
        }
    }
}

/// The length of a vector value, in terms that hold for any execution of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Length {
    /// The number of columns of the main input.
    Main,
    /// The number of columns of a side matrix.
    Cols(CInputId),
    /// The number of cells of a side vector.
    Cells(CInputId),
    /// A constant.
    Const(u32),
    /// The lengths of the operands of this `Cbind` node, added.
    Cbind(CNodeId),
}

/// A code generation plan.
///
/// Equality and hash are structural. Build one freely; backends and skeletons take a [`VerifiedCPlan`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CPlan {
    /// Template and variant.
    pub variant: Variant,
    /// The inputs: main first (Outer: X, U, V), then side matrices, then scalars.
    pub inputs: PrimaryMap<CInputId, CInput>,
    /// The operations, operands before users.
    pub nodes: PrimaryMap<CNodeId, CNode>,
    /// The outputs: one, or several for MAgg and Row's `MultiAgg`.
    pub outputs: Vec<COutput>,
    /// The value of every output node is zero where the cell (Row: the row) of the main input is, so that skeletons may
    /// skip these cells: results are zero there, sums ignore them, and aggregates that zeros count in take one zero.
    /// Outer plans that are not run over all cells of X.
    pub sparse_safe: bool,
}

impl CPlan {
    /// A plan of this variant, without nodes.
    pub fn new(variant: Variant) -> Self {
        CPlan {
            variant,
            inputs: PrimaryMap::new(),
            nodes: PrimaryMap::new(),
            outputs: Vec::new(),
            sparse_safe: variant.space() == Space::Factors,
        }
    }

    /// The template.
    pub fn template(&self) -> TemplateType {
        self.variant.template()
    }

    /// What its values belong to: cells, rows, or cells with rows of two factors.
    pub fn space(&self) -> Space {
        self.variant.space()
    }

    /// How many inputs come first and have a role of their own: X, or X, U and V.
    pub fn leading_inputs(&self) -> usize {
        match self.space() {
            Space::Cells | Space::Rows => 1,
            Space::Factors => 3,
        }
    }

    /// Whether a value belongs to one row: what runs the plan then keeps rows apart, where it may otherwise run through them.
    pub fn keeps_rows(&self) -> bool {
        self.outputs.iter().any(|output| matches!(output, COutput::RowAgg(..)))
            || self.nodes.values().any(|node| matches!(node, CNode::SideRowScalar(..) | CNode::RowIndex))
    }

    /// Whether a value belongs to one column.
    pub fn keeps_columns(&self) -> bool {
        self.space() != Space::Rows && self.outputs.iter().any(|output| matches!(output, COutput::ColAgg(..)))
            || self.nodes.values().any(|node| matches!(node, CNode::SideColScalar(_)))
    }

    /// The operations that do work: everything but inputs and constants.
    pub fn operations(&self) -> impl Iterator<Item = (CNodeId, &CNode)> {
        self.nodes.iter().filter(|(_, node)| !node.operands().is_empty() || matches!(node, CNode::OuterProduct))
    }

    /// The scalar inputs, in input order.
    pub fn scalars(&self) -> impl Iterator<Item = CInputId> + '_ {
        self.inputs.iter().filter(|(_, input)| **input == CInput::Scalar).map(|(id, _)| id)
    }
}
