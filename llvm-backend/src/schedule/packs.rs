//! What steps read, some of it in other tiles than those in which it lies: gapless ones of narrow rows (module `narrow`), and one
//! value for each position of sparse rows, which element-wise steps over positions read of values of rows and of vectors.
//! Outputs of Cell and Outer plans aggregate such values, too.

use super::{Entry, Extent, FusedLoop, Step};
use cranelift_entity::SecondaryMap;
use fuseline_ir::cplan::{CNodeId, CPlan};
use fuseline_ir::template::Space;

/// Puts steps that pack before the first step that reads their result.
pub(super) fn with_packs(
    plan: &CPlan,
    entry: Entry,
    extents: &SecondaryMap<CNodeId, Extent>,
    is_computed: impl Fn(CNodeId) -> bool,
    steps: Vec<Step>,
) -> Vec<Step> {
    let mut packed: Vec<(CNodeId, Extent)> = Vec::new();
    let mut result = Vec::new();
    for step in steps {
        let lies_apart = |&(id, extent): &(CNodeId, Extent)| match extents[id] {
            Extent::One => extent == Extent::Positions,
            Extent::Vector(_) => extent == Extent::Positions || !is_computed(id),
            Extent::Rows | Extent::Cells | Extent::Positions => true,
        };
        let mut apart: Vec<(CNodeId, Extent)> =
            reads_packed(plan, entry, extents, &step).into_iter().filter(lies_apart).collect();
        apart.sort_unstable_by_key(|&(id, _)| id);
        apart.dedup();
        for (id, extent) in apart {
            if !packed.contains(&(id, extent)) {
                packed.push((id, extent));
                result.push(Step::Pack(id, extent));
            }
        }
        result.push(step);
    }
    result
}

/// The values that a step reads in tiles of an extent, if they do not lie so already.
pub(super) fn reads_packed(
    plan: &CPlan,
    entry: Entry,
    extents: &SecondaryMap<CNodeId, Extent>,
    step: &Step,
) -> Vec<(CNodeId, Extent)> {
    let extent = match step {
        Step::Output(index) if takes_positions(plan, entry) => {
            let node = plan.outputs[*index].node();
            return if extents[node] == Extent::Positions { vec![] } else { vec![(node, Extent::Positions)] };
        }
        Step::Loop(fused) if fused.has_narrow_form(plan) => fused.extent,
        Step::Loop(fused) if fused.extent == Extent::Positions => Extent::Positions,
        Step::Call(id) if extents[*id] == Extent::Positions => Extent::Positions,
        _ => return vec![],
    };
    let is_packed = |id: &CNodeId| extent != Extent::Positions || needs_positions(extents[*id]);
    reads(plan, step).into_iter().filter(is_packed).map(|id| (id, extent)).collect()
}

/// Whether outputs take one value for each position of sparse rows, whatever they aggregate.
pub(crate) fn takes_positions(plan: &CPlan, entry: Entry) -> bool {
    entry == Entry::Sparse && plan.space() != Space::Rows
}

/// Whether values of this extent are gathered or repeated for positions.
pub(crate) fn needs_positions(extent: Extent) -> bool {
    matches!(extent, Extent::Rows | Extent::Vector(_))
}

/// The nodes that a step reads from memory.
pub(super) fn reads(plan: &CPlan, step: &Step) -> Vec<CNodeId> {
    match step {
        Step::Call(id) => plan.nodes[*id].operands().to_vec(),
        Step::Pack(id, _) => vec![*id],
        Step::Output(index) => plan.outputs[*index].operands().to_vec(),
        Step::Loop(FusedLoop { nodes, row_aggs, outputs, .. }) => {
            let operations = nodes.iter().chain(row_aggs).flat_map(|&id| plan.nodes[id].operands());
            let outputs = outputs.iter().flat_map(|&index| plan.outputs[index].operands());
            operations.chain(outputs).filter(|id| nodes.binary_search(id).is_err()).collect()
        }
    }
}
