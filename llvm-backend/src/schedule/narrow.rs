//! The second form of loops that aggregate vectors, for units of narrow rows: one run over all of their cells.
//!
//! Row by row, an aggregate of a few cells would merge 32 lanes for them. So where rows are narrow, whatever such a loop
//! reads lies in gapless tiles: [`Step::Pack`] copies rows that lie apart and repeats values of rows. What the loop
//! aggregates it writes to a tile, too, and leaves the rest to primitives.

use super::slots::reads;
use super::{Extent, FusedLoop, Step};
use cranelift_entity::SecondaryMap;
use fuseline_ir::cplan::{CNodeId, CPlan};

/// Rows are narrow if they have fewer cells than accumulators have lanes.
pub(crate) const NARROW: u32 = 32;

impl FusedLoop {
    /// Whether the loop has a form for narrow rows. Without aggregates, packing would take more time than it saves.
    pub(crate) fn has_narrow_form(&self) -> bool {
        matches!(self.extent, Extent::Vector(_)) && !(self.row_aggs.is_empty() && self.outputs.is_empty())
    }

    /// The values of the loop that it aggregates.
    pub(crate) fn aggregated(&self, plan: &CPlan) -> Vec<CNodeId> {
        let operands = self.row_aggs.iter().flat_map(|&id| plan.nodes[id].operands());
        let outputs = self.outputs.iter().map(|&index| plan.outputs[index].node);
        let mut values: Vec<CNodeId> =
            operands.chain(outputs).filter(|id| self.nodes.binary_search(id).is_ok()).collect();
        values.sort_unstable();
        values.dedup();
        values
    }
}

/// Puts steps that pack before the first loop that reads their result.
pub(super) fn with_packs(
    plan: &CPlan,
    extents: &SecondaryMap<CNodeId, Extent>,
    is_computed: impl Fn(CNodeId) -> bool,
    steps: Vec<Step>,
) -> Vec<Step> {
    let mut packed: Vec<Step> = Vec::new();
    let mut result = Vec::new();
    for step in steps {
        if let Step::Loop(fused) = &step
            && fused.has_narrow_form()
        {
            let lies_apart = |&id: &CNodeId| match extents[id] {
                Extent::One => false,
                Extent::Vector(_) => !is_computed(id),
                Extent::Rows | Extent::Cells | Extent::Positions => true,
            };
            let mut apart: Vec<CNodeId> = reads(plan, &step).into_iter().filter(lies_apart).collect();
            apart.sort_unstable();
            apart.dedup();
            for id in apart {
                let pack = Step::Pack(id, fused.extent);
                if !packed.contains(&pack) {
                    packed.push(pack.clone());
                    result.push(pack);
                }
            }
        }
        result.push(step);
    }
    result
}
