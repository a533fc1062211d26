//! The shapes of a plan's values: which are vectors, and how long.

use super::{CNode, CNodeId, CPlan, ColumnRange, Filters, Length};
use crate::ops::{WindowOp, Windows};
use crate::template::Space;
use cranelift_entity::{EntitySet, SecondaryMap};

/// Whether a value is a scalar or a vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Shape {
    /// One value per cell (Cell, MAgg, Outer) or per row (Row).
    #[default]
    Scalar,
    /// One vector per row.
    Vector(Length),
}

/// The shapes of all values of a plan.
///
/// Defined for verified plans; of an ill-formed plan they are what the first vector among the operands says.
#[derive(Clone, Debug, Default)]
pub struct Shapes {
    shapes: SecondaryMap<CNodeId, Shape>,
    long: EntitySet<CNodeId>,
}

impl Shapes {
    /// Whether the value is a scalar or a vector, and how long.
    pub fn of(&self, node: CNodeId) -> Shape {
        self.shapes[node]
    }

    /// Whether the value is a vector.
    pub fn is_vector(&self, node: CNodeId) -> bool {
        self.vector_length(node).is_some()
    }

    /// Whether the value is a vector known to be as long as a row of the main input, whatever length it is named by.
    pub fn is_long(&self, node: CNodeId) -> bool {
        self.long.contains(node)
    }

    /// How long the vector is, by the main input's row if it is known to be as long as that; `None` for scalars.
    pub fn vector_length(&self, node: CNodeId) -> Option<Length> {
        match self.of(node) {
            Shape::Scalar => None,
            Shape::Vector(_) if self.is_long(node) => Some(Length::Main),
            Shape::Vector(length) => Some(length),
        }
    }
}

/// How many values are computed of the windows of an image; 0 of what the verifier refuses.
fn window_values(op: WindowOp, windows: &Windows) -> u32 {
    if windows.is_valid() { u32::try_from(op.cells(windows)).unwrap_or(0) } else { 0 }
}

impl Filters {
    /// How many values a convolution of an image has.
    pub fn values(self) -> u32 {
        self.count.saturating_mul(self.windows)
    }
}

impl CPlan {
    /// The shapes of all values, from operands to users. Row plans alone have vectors.
    pub fn shapes(&self) -> Shapes {
        let mut result = Shapes::default();
        let is_row = self.space() == Space::Rows;
        for (id, node) in &self.nodes {
            let vector = |length| (Shape::Vector(length), false);
            let (shape, is_long) = match *node {
                CNode::Main if is_row => (Shape::Vector(Length::Main), true),
                CNode::Scatter(..) => (Shape::Vector(Length::Main), true),
                CNode::SideRow(_, ColumnRange::Part { first, end }) => vector(Length::Const(end.saturating_sub(first))),
                CNode::SideRow(input, ColumnRange::All) | CNode::VectMatMult(_, input) => vector(Length::Cols(input)),
                CNode::SideVector(input) => vector(Length::Cells(input)),
                CNode::Windows(op, _, windows) => vector(Length::Const(window_values(op, &windows))),
                CNode::Convolve(_, _, filters) => vector(Length::Const(filters.values())),
                CNode::Cbind(..) => vector(Length::Cbind(id)),
                CNode::RowCumulative(..) | CNode::Unary(..) | CNode::Binary(..) | CNode::Ternary(..) => {
                    let operands = node.operands();
                    let first =
                        operands.iter().map(|&operand| result.of(operand)).find(|shape| *shape != Shape::Scalar);
                    (first.unwrap_or_default(), operands.iter().any(|&operand| result.is_long(operand)))
                }
                CNode::Main
                | CNode::Scalar(_)
                | CNode::Literal(_)
                | CNode::SideCell(_)
                | CNode::SideRowScalar(..)
                | CNode::RowIndex
                | CNode::SideColScalar(_)
                | CNode::OuterProduct
                | CNode::RowAgg(..)
                | CNode::DotProduct(..) => (Shape::Scalar, false),
            };
            result.shapes[id] = shape;
            if is_long {
                result.long.insert(id);
            }
        }
        result
    }
}
