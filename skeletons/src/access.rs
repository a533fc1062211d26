//! What the units of a bound plan read of its inputs: the [`Access`] that the schedule states, and runs count.

use crate::binding::Binding;
use crate::roles::{INLINE_INPUTS, Role};
use crate::side::{Columns, SideInput};
use fuseline_ir::cplan::{CInputId, CNode, CNodeId, COutput};
use fuseline_ir::schedule::Access;
use smallvec::SmallVec;

/// How units read each input, by id.
pub(crate) fn accesses(binding: &Binding<'_>) -> SmallVec<[Access; INLINE_INPUTS]> {
    let sides = binding.plan.inputs.keys().zip(&binding.sides);
    let mut accesses: SmallVec<[Access; INLINE_INPUTS]> =
        sides.map(|(id, side)| side.as_ref().map_or(Access::Unread, |side| of_side(binding, id, side))).collect();
    accesses[0] = Access::Main { reads_cells: binding.fit.reads_main };
    accesses
}

fn of_side(binding: &Binding<'_>, id: CInputId, side: &SideInput<'_>) -> Access {
    let plan = binding.plan;
    let output = plan.outputs[0];
    let reads_rows_of_u = binding.fit.reads_products || matches!(output, COutput::TransposedTimesFactor(_));
    let reads_rows_of_v = binding.fit.reads_products || matches!(output, COutput::TimesFactor(_));
    match side.role {
        Role::None => Access::Unread,
        Role::Cell => Access::Cells,
        Role::ColScalar => Access::Columns(1),
        Role::Row | Role::RowScalar => Access::Rows(side.columns.len()),
        Role::FactorU if reads_rows_of_u => Access::Rows(side.cols),
        Role::FactorV if reads_rows_of_v => Access::Columns(side.cols),
        Role::FactorU | Role::FactorV => Access::Unread,
        Role::Matrix if meets_positions_alone(binding, id) => Access::Columns(side.cols),
        Role::Vector if meets_positions_alone(binding, id) => Access::Columns(1),
        Role::Matrix | Role::Vector => Access::Whole(side.values().len()),
    }
}

/// Whether a vector or a matrix meets what lies by position and nothing else, so that what belongs to positions is fetched.
fn meets_positions_alone(binding: &Binding<'_>, input: CInputId) -> bool {
    let (plan, positions) = (binding.plan, &binding.fit.positions);
    let is_vector = |id| matches!(plan.nodes[id], CNode::SideVector(side) if side == input);
    let mut nodes = plan.nodes.iter();
    nodes.all(|(id, node)| match *node {
        CNode::VectMatMult(operand, matrix) => matrix != input || positions.contains(operand),
        CNode::Convolve(_, matrix, _) => matrix != input,
        CNode::DotProduct(left, right) => {
            let reads = is_vector(left) || is_vector(right);
            !reads || positions.contains(left) || positions.contains(right)
        }
        _ => positions.contains(id) || !node.operands().into_iter().any(is_vector),
    }) && !plan.outputs.iter().any(|output| reads(output, is_vector))
}

/// Whether an output takes a node of which this holds.
fn reads(output: &COutput, is_node: impl Fn(CNodeId) -> bool) -> bool {
    is_node(output.node()) || output.left().is_some_and(is_node)
}

impl Columns {
    /// How many columns there are.
    fn len(&self) -> usize {
        match self {
            Columns::Range(range) => range.len(),
            Columns::Single { columns, .. } => columns.len(),
        }
    }
}
