//! Scratch memory: where values live between steps.
//!
//! A *slot* holds one value of a node's extent: one number, one per row, or a whole tile (vectors, cells, positions).
//! Slots of values that nobody reads any more are used again, so a chain of any length needs two. A unit's scratch
//! memory holds first the single numbers, then the columns of numbers per row, then the tiles; code finds the offsets
//! at run time from the unit's real extents, which can only be smaller than what [`ScratchNeed::values`] reserves.

use super::{Extent, FusedLoop, Step};
use cranelift_entity::SecondaryMap;
use fuseline_ir::cplan::{CNodeId, CPlan};

/// Slots begin at multiples of this many values, a cache line, so that registers do not straddle lines.
pub(crate) const SLOT_ALIGNMENT: usize = 8;

/// Where a computed value lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In scratch memory.
    Slot(usize),
    /// In the output.
    Output,
}

/// What a slot is measured by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SlotClass {
    One,
    Rows,
    Tile,
}

/// A slot with the extents of all values that it holds in turn.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) class: SlotClass,
    pub(crate) extents: Vec<Extent>,
}

/// The number of slots of each class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScratchNeed {
    /// Single numbers.
    pub(crate) ones: usize,
    /// Columns of one number per row.
    pub(crate) rows: usize,
    /// Tiles of vectors or of dense cells.
    pub(crate) tiles: usize,
    /// Runs over positions.
    pub(crate) positions: usize,
}

impl ScratchNeed {
    /// The need of these slots.
    pub(crate) fn new(slots: &[Slot]) -> ScratchNeed {
        let mut need = ScratchNeed::default();
        for slot in slots {
            match slot.class {
                SlotClass::One => need.ones += 1,
                SlotClass::Rows => need.rows += 1,
                SlotClass::Tile if slot.extents.contains(&Extent::Positions) => need.positions += 1,
                SlotClass::Tile => need.tiles += 1,
            }
        }
        need
    }

    /// The need that covers each of these.
    pub(crate) fn largest(needs: impl Iterator<Item = ScratchNeed>) -> ScratchNeed {
        needs.fold(ScratchNeed::default(), |largest, need| ScratchNeed {
            ones: largest.ones.max(need.ones),
            rows: largest.rows.max(need.rows),
            tiles: largest.tiles.max(need.tiles),
            positions: largest.positions.max(need.positions),
        })
    }

    /// The values for units of this many rows or positions, with vectors of at most this many cells.
    pub(crate) fn values(self, rows_or_positions: usize, max_vector: usize) -> usize {
        let of_slot = |values: usize| values.next_multiple_of(SLOT_ALIGNMENT);
        self.ones * of_slot(1)
            + (self.rows + self.positions) * of_slot(rows_or_positions)
            + self.tiles * of_slot(rows_or_positions * max_vector)
    }
}

fn class(extent: Extent) -> SlotClass {
    match extent {
        Extent::One => SlotClass::One,
        Extent::Rows => SlotClass::Rows,
        Extent::Cells | Extent::Positions | Extent::Vector(_) => SlotClass::Tile,
    }
}

/// The nodes that a step reads from memory.
fn reads(plan: &CPlan, step: &Step) -> Vec<CNodeId> {
    let of_output = |index: usize| [Some(plan.outputs[index].node), plan.outputs[index].left].into_iter().flatten();
    match step {
        Step::Call(id) => plan.nodes[*id].operands().to_vec(),
        Step::Output(index) => of_output(*index).collect(),
        Step::Loop(FusedLoop { nodes, row_aggs, outputs, .. }) => {
            let operations = nodes.iter().chain(row_aggs).flat_map(|&id| plan.nodes[id].operands());
            let outputs = outputs.iter().flat_map(|&index| of_output(index));
            operations.chain(outputs).filter(|id| nodes.binary_search(id).is_err()).collect()
        }
    }
}

/// The nodes that a step can leave in memory.
fn computes(step: &Step) -> Vec<CNodeId> {
    match step {
        Step::Call(id) => vec![*id],
        Step::Output(_) => vec![],
        Step::Loop(fused) => fused.nodes.iter().chain(&fused.row_aggs).copied().collect(),
    }
}

/// Gives every value that a later step reads a place.
pub(super) fn assign(
    plan: &CPlan,
    extents: &SecondaryMap<CNodeId, Extent>,
    steps: &[Step],
    located: Option<CNodeId>,
) -> (SecondaryMap<CNodeId, Option<Place>>, Vec<Slot>) {
    let mut last_read: SecondaryMap<CNodeId, Option<usize>> = SecondaryMap::new();
    for (index, step) in steps.iter().enumerate() {
        for id in reads(plan, step) {
            last_read[id] = Some(index);
        }
    }
    let mut places = SecondaryMap::new();
    let mut slots: Vec<Slot> = Vec::new();
    let mut free: Vec<usize> = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        for id in computes(step) {
            if located == Some(id) {
                places[id] = Some(Place::Output);
            } else if last_read[id].is_some() {
                let slot = take(&mut slots, &mut free, extents[id]);
                places[id] = Some(Place::Slot(slot));
            }
        }
        // Only now, so that no step writes what it still reads.
        let mut read = reads(plan, step);
        read.sort_unstable();
        read.dedup();
        for id in read {
            if let (Some(Place::Slot(slot)), true) = (places[id], last_read[id] == Some(index)) {
                free.push(slot);
            }
        }
    }
    (places, slots)
}

fn take(slots: &mut Vec<Slot>, free: &mut Vec<usize>, extent: Extent) -> usize {
    if let Some(position) = free.iter().position(|&slot| slots[slot].class == class(extent)) {
        let slot = free.swap_remove(position);
        if !slots[slot].extents.contains(&extent) {
            slots[slot].extents.push(extent);
        }
        return slot;
    }
    slots.push(Slot { class: class(extent), extents: vec![extent] });
    slots.len() - 1
}
