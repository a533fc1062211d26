//! What a plan reads of each input, and whether it can run over non-zeros: facts of the plan alone.

use crate::error::SkeletonError;
use fuseline_ir::cplan::{CInputId, CNode, COutput, CPlan, FACTOR_U, FACTOR_V, Positions};
use fuseline_ir::template::Space;
use smallvec::{SmallVec, smallvec};

/// The most inputs whose layouts, and outputs whose targets, are kept on the stack.
pub(crate) const INLINE_INPUTS: usize = 8;

/// The most inputs that have a buffer each beside a unit's layout.
pub(crate) const INLINE_SIDES: usize = 4;

/// How a plan reads an input, which decides how a skeleton lays it out for a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Not a side input: the main input, a scalar, or not read at all.
    None,
    /// Cell (i, j).
    Cell,
    /// Cells (i, j) for fixed columns j.
    RowScalar,
    /// Cell (0, j).
    ColScalar,
    /// Row i.
    Row,
    /// All cells, as one vector.
    Vector,
    /// The whole matrix, as a factor of products.
    Matrix,
    /// The left factor of Outer plans.
    FactorU,
    /// The right factor of Outer plans.
    FactorV,
}

fn role_of(node: &CNode) -> Role {
    match node {
        CNode::SideCell(_) => Role::Cell,
        CNode::SideRowScalar(..) => Role::RowScalar,
        CNode::SideColScalar(_) => Role::ColScalar,
        CNode::SideRow(..) => Role::Row,
        CNode::SideVector(_) => Role::Vector,
        CNode::VectMatMult(..) | CNode::Convolve(..) => Role::Matrix,
        CNode::Main
        | CNode::Scalar(_)
        | CNode::Literal(_)
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
        | CNode::Windows(..) => Role::None,
    }
}

/// The role of each input, by id.
///
/// # Errors
/// An input has two roles.
pub(crate) fn roles(plan: &CPlan) -> Result<SmallVec<[Role; INLINE_INPUTS]>, SkeletonError> {
    let mut roles = smallvec![Role::None; plan.inputs.len()];
    if plan.space() == Space::Factors {
        roles[index(FACTOR_U)] = Role::FactorU;
        roles[index(FACTOR_V)] = Role::FactorV;
    }
    for node in plan.nodes.values() {
        if let (Some(input), role) = (node.input(), role_of(node))
            && role != Role::None
        {
            let known = &mut roles[index(input)];
            if *known != Role::None && *known != role {
                return Err(SkeletonError::Roles { input });
            }
            *known = role;
        }
    }
    Ok(roles)
}

/// The position of an input in lists by id.
pub(crate) fn index(input: CInputId) -> usize {
    input.as_u32() as usize
}

/// Whether a node is the number of the row.
pub(crate) fn reads_row_index(plan: &CPlan) -> bool {
    plan.nodes.values().any(|node| matches!(node, CNode::RowIndex))
}

/// Whether the plan has a sparse entry: code for units whose main input is CSR. That is a rule for all backends, since the
/// two entries may round differently.
///
/// Cell, MAgg and Outer plans always have. Row plans have, if they have a form for such units ([`CPlan::sparse_form`]).
pub fn has_sparse_entry(plan: &CPlan) -> bool {
    plan.sparse_form().is_some()
}

/// Whether the sparse entry of a Row plan gives what the dense one gives by IEEE, too: no zero of the main row annihilates
/// what is not known.
pub(crate) fn is_strict(plan: &CPlan, positions: &Positions) -> bool {
    let is_factor = |id| positions.contains(id);
    let in_nodes = plan.nodes.values().any(|node| match *node {
        CNode::DotProduct(left, right) => is_factor(left) || is_factor(right),
        CNode::VectMatMult(operand, _) => is_factor(operand),
        _ => false,
    });
    let multiplies = |output: &COutput| output.left().is_some_and(|left| is_factor(left) || is_factor(output.node()));
    !in_nodes && !plan.outputs.iter().any(multiplies) && plan.positions(true).as_ref() == Some(positions)
}

/// Whether dense vectors are multiplied with side matrices: all vectors are dense but those that lie by position.
pub(crate) fn multiplies_dense_vectors(plan: &CPlan, input: CInputId, positions: &Positions) -> bool {
    plan.nodes.values().any(|node| match *node {
        CNode::VectMatMult(operand, matrix) => matrix == input && !positions.contains(operand),
        _ => false,
    })
}
