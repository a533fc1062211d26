//! The second form of loops over vectors, and over cells that belong to rows or columns, for units of narrow rows: one run over
//! all of their cells.
//!
//! Row by row, a loop over a few cells would fill a part of a register, and merge 32 lanes for their aggregate. So where
//! rows are narrow ([`fuseline_ir::work::narrow_below`]), whatever such a loop reads lies in gapless tiles:
//! [`super::Step::Pack`] copies rows that lie apart and repeats values of rows. What the loop aggregates it writes to a tile,
//! too, and leaves the rest to primitives.

use super::{Extent, FusedLoop};
use fuseline_ir::cplan::{CNode, CNodeId, COutput, CPlan, Length};
use fuseline_ir::ops::AggOp;
use fuseline_ir::template::Space;
use fuseline_ir::work::{is_binary_function, is_unary_function, narrow_below};

/// Rows of a plan are narrow if they have fewer cells than this.
pub(crate) fn narrow_cells(plan: &CPlan) -> u32 {
    narrow_below(plan.nodes.values().any(is_function), seeks_extremes(plan)) as u32
}

/// Whether the least or the largest value of each row is sought.
fn seeks_extremes(plan: &CPlan) -> bool {
    let in_row = |node: &CNode| matches!(node, CNode::RowAgg(AggOp::Min | AggOp::Max, _));
    let of_cells = |output: &COutput| matches!(output, COutput::RowAgg(AggOp::Min | AggOp::Max, _));
    plan.nodes.values().any(in_row) || plan.outputs.iter().any(of_cells)
}

/// Whether a node is a function such as `exp`.
fn is_function(node: &CNode) -> bool {
    match *node {
        CNode::Unary(op, _) => is_unary_function(op),
        CNode::Binary(op, ..) => is_binary_function(op),
        _ => false,
    }
}

impl FusedLoop {
    /// Whether the loop aggregates, or stores, what it computes.
    pub(crate) fn has_aggregates(&self) -> bool {
        !(self.row_aggs.is_empty() && self.outputs.is_empty())
    }

    /// Whether the loop has a form for narrow rows: its rows may be narrow, and it aggregates, or computes enough to be worth
    /// packing for. To repeat a vector for each row is not, in Row plans, which have a form for rows of a register, unless
    /// values go through a function, whose dozens of instructions should have all lanes.
    pub(crate) fn has_narrow_form(&self, plan: &CPlan) -> bool {
        let may_be_narrow = match self.extent {
            Extent::Vector(Length::Const(cells)) => cells < narrow_cells(plan),
            Extent::Vector(_) => true,
            // Where cells belong to no row and no column they are one run anyway.
            Extent::Cells => {
                let keeps_apart = plan.keeps_rows() || plan.keeps_columns();
                return plan.space() == Space::Cells && keeps_apart && self.takes_cells(plan) && !self.finds_rows(plan);
            }
            Extent::One | Extent::Rows | Extent::Positions => false,
        };
        let mut operands = self.nodes.iter().flat_map(|&id| plan.nodes[id].operands());
        let repeats_vectors = operands.any(|id| matches!(plan.nodes[id], CNode::SideVector(_)));
        let is_worth_packing = || self.nodes.len() >= 2 && (!repeats_vectors || self.has_functions(plan));
        may_be_narrow && (self.has_aggregates() || is_worth_packing())
    }

    /// Whether values go through a function such as `exp`.
    fn has_functions(&self, plan: &CPlan) -> bool {
        self.functions(plan) > 0
    }

    /// How many functions such as `exp` the loop computes of each value.
    pub(crate) fn functions(&self, plan: &CPlan) -> usize {
        self.nodes.iter().filter(|&&id| is_function(&plan.nodes[id])).count()
    }

    /// Whether what is stored or aggregated has a value for each cell, in the loop or where it lies.
    fn takes_cells(&self, plan: &CPlan) -> bool {
        self.outputs.iter().map(|&index| plan.outputs[index].node()).all(|id| {
            let is_cell = matches!(plan.nodes[id], CNode::Main | CNode::SideCell(_) | CNode::SideColScalar(_));
            is_cell || self.nodes.binary_search(&id).is_ok()
        })
    }

    /// The values of the loop that it aggregates.
    pub(crate) fn aggregated(&self, plan: &CPlan) -> Vec<CNodeId> {
        let operands = self.row_aggs.iter().flat_map(|&id| plan.nodes[id].operands());
        let outputs = self.outputs.iter().map(|&index| plan.outputs[index].node());
        let mut values: Vec<CNodeId> =
            operands.chain(outputs).filter(|id| self.nodes.binary_search(id).is_ok()).collect();
        values.sort_unstable();
        values.dedup();
        values
    }
}
