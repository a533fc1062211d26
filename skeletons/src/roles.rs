//! What a plan reads of each input, and whether it can run over non-zeros: facts of the plan alone.

use crate::error::SkeletonError;
use fuseline_ir::cplan::{CInputId, CNode, COutput, CPlan, FACTOR_U, FACTOR_V};
use fuseline_ir::template::Space;

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
        CNode::VectMatMult(..) => Role::Matrix,
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
        | CNode::DotProduct(..) => Role::None,
    }
}

/// The role of each input, by id.
///
/// # Errors
/// An input has two roles.
pub(crate) fn roles(plan: &CPlan) -> Result<Vec<Role>, SkeletonError> {
    let mut roles = vec![Role::None; plan.inputs.len()];
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

/// Whether a value belongs to one row: a skeleton then keeps rows apart, where it may otherwise run through them.
pub(crate) fn needs_rows(plan: &CPlan) -> bool {
    plan.outputs.iter().any(|output| matches!(output, COutput::RowAgg(..)))
        || plan.nodes.values().any(|node| matches!(node, CNode::SideRowScalar(..) | CNode::RowIndex))
}

/// Whether a node is the number of the row.
pub(crate) fn reads_row_index(plan: &CPlan) -> bool {
    plan.nodes.values().any(|node| matches!(node, CNode::RowIndex))
}

/// Whether a value belongs to one column.
pub(crate) fn needs_columns(plan: &CPlan) -> bool {
    plan.space() != Space::Rows && plan.outputs.iter().any(|output| matches!(output, COutput::ColAgg(..)))
        || plan.nodes.values().any(|node| matches!(node, CNode::SideColScalar(_)))
}

/// Whether the plan has a sparse entry: code for units whose main input is CSR. That is a rule for all backends, since the
/// two entries may round differently.
///
/// Cell, MAgg and Outer plans always have. Row plans have, if they use the main row only where a sparse vector can
/// stand: aggregated, in a product with a dense vector or a side matrix, or accumulated by an output.
pub fn has_sparse_entry(plan: &CPlan) -> bool {
    if plan.space() != Space::Rows {
        return true;
    }
    let is_main = |id| matches!(plan.nodes[id], CNode::Main);
    let nodes_suit = plan.nodes.values().all(|node| match *node {
        CNode::RowAgg(..) | CNode::VectMatMult(..) => true,
        CNode::DotProduct(left, right) => !(is_main(left) && is_main(right)),
        _ => !node.operands().into_iter().any(is_main),
    });
    nodes_suit && plan.outputs.iter().all(|output| output_suits(plan, output))
}

/// Whether an output of a Row plan takes the main row, if it does, as a sparse vector.
fn output_suits(plan: &CPlan, output: &COutput) -> bool {
    let is_main = |id| matches!(plan.nodes[id], CNode::Main);
    match *output {
        // Products of the main row with a dense vector.
        COutput::RowProduct { long, short, .. } if plan.shapes().is_vector(short) => is_main(long) != is_main(short),
        COutput::RowProduct { .. } => true,
        // The zeros of a row count in extremes, but not in sums.
        COutput::ColAgg(agg, node) | COutput::FullAgg(agg, node) => !is_main(node) || agg.ignores_zeros(),
        COutput::Store(node)
        | COutput::RowAgg(_, node)
        | COutput::TimesFactor(node)
        | COutput::TransposedTimesFactor(node) => !is_main(node),
    }
}

/// Whether a Row plan multiplies cells of the main row, those that are zero included: in its sparse entry a zero
/// annihilates whatever it would be multiplied with.
pub(crate) fn multiplies_main(plan: &CPlan) -> bool {
    let is_main = |id| matches!(plan.nodes[id], CNode::Main);
    let in_nodes = plan.nodes.values().any(|node| match *node {
        CNode::DotProduct(left, right) => is_main(left) || is_main(right),
        CNode::VectMatMult(operand, _) => is_main(operand),
        _ => false,
    });
    let multiplies = |output: &COutput| output.left().is_some_and(|left| is_main(left) || is_main(output.node()));
    in_nodes || plan.outputs.iter().any(multiplies)
}

/// Whether dense vectors are multiplied with side matrices, which then must be transposed: all vectors are dense in
/// dense entries, all but the main row in sparse ones.
pub(crate) fn multiplies_dense_vectors(plan: &CPlan, input: CInputId, sparse_entry: bool) -> bool {
    plan.nodes.values().any(|node| match *node {
        CNode::VectMatMult(operand, matrix) => {
            matrix == input && !(sparse_entry && matches!(plan.nodes[operand], CNode::Main))
        }
        _ => false,
    })
}
