//! The second form of loops over vectors, for units of narrow rows: one run over all of their cells.
//!
//! Row by row, a loop over a few cells would fill a part of a register, and merge 32 lanes for their aggregate. So where
//! rows are narrow, whatever such a loop reads lies in gapless tiles: [`super::Step::Pack`] copies rows that lie apart and
//! repeats values of rows. What the loop aggregates it writes to a tile, too, and leaves the rest to primitives.

use super::{Extent, FusedLoop};
use fuseline_ir::cplan::{CNode, CNodeId, CPlan, Length};

/// Rows are narrow if they have fewer cells than accumulators have lanes.
pub(crate) const NARROW: u32 = 32;

impl FusedLoop {
    /// Whether the loop aggregates, or stores, what it computes.
    pub(crate) fn has_aggregates(&self) -> bool {
        !(self.row_aggs.is_empty() && self.outputs.is_empty())
    }

    /// Whether the loop has a form for narrow rows: its rows may be narrow, and it aggregates, or computes enough to be worth
    /// packing for. To repeat a vector for each row is not.
    pub(crate) fn has_narrow_form(&self, plan: &CPlan) -> bool {
        let may_be_narrow = match self.extent {
            Extent::Vector(Length::Const(cells)) => cells < NARROW,
            Extent::Vector(_) => true,
            Extent::One | Extent::Rows | Extent::Cells | Extent::Positions => false,
        };
        let mut operands = self.nodes.iter().flat_map(|&id| plan.nodes[id].operands());
        let repeats_vectors = operands.any(|id| matches!(plan.nodes[id], CNode::SideVector(_)));
        may_be_narrow && (self.has_aggregates() || (self.nodes.len() >= 2 && !repeats_vectors))
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
