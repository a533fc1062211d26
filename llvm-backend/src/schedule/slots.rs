//! Scratch memory: where values live between steps.
//!
//! A *slot* holds one value of a node's extent: one number, one per row, one per position, or a whole tile (vectors, cells).
//! Some tiles are there for narrow rows alone.
//! Slots of values that nobody reads any more are used again, so a chain of any length needs two. A unit's scratch
//! memory holds first the single numbers, then the columns of numbers per row, runs over positions, and the tiles; code finds the offsets
//! at run time from the unit's real extents, which can only be smaller than what [`ScratchNeed::values`] reserves.

use super::packs::{reads, reads_packed};
use super::{Entry, Extent, Step};
use cranelift_entity::SecondaryMap;
use fuseline_ir::cplan::{CNodeId, CPlan};
use fuseline_ir::work::NARROW_ROW;
use fuseline_skeletons::abi::UnitSize;
use std::collections::HashMap;

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
    Positions,
    Tile,
    /// A tile of narrow rows; empty where rows are not.
    NarrowTile,
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
    /// Tiles of narrow rows.
    pub(crate) narrow_tiles: usize,
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
                SlotClass::NarrowTile => need.narrow_tiles += 1,
                SlotClass::Positions => need.positions += 1,
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
            narrow_tiles: largest.narrow_tiles.max(need.narrow_tiles),
            positions: largest.positions.max(need.positions),
        })
    }

    /// The values for a unit.
    pub(crate) fn values(self, unit: UnitSize) -> usize {
        let of_slot = |values: usize| values.next_multiple_of(SLOT_ALIGNMENT);
        let UnitSize { rows, positions, longest } = unit;
        self.ones * of_slot(1)
            + self.rows * of_slot(rows)
            + self.positions * of_slot(positions)
            + self.tiles * of_slot(rows * longest)
            + self.narrow_tiles * of_slot(rows * longest.min(NARROW_ROW - 1))
    }
}

fn class(extent: Extent) -> SlotClass {
    match extent {
        Extent::One => SlotClass::One,
        Extent::Rows => SlotClass::Rows,
        Extent::Positions => SlotClass::Positions,
        Extent::Cells | Extent::Vector(_) => SlotClass::Tile,
    }
}

/// The nodes that a step can leave in memory.
fn computes(step: &Step) -> Vec<CNodeId> {
    match step {
        Step::Call(id) => vec![*id],
        Step::Output(_) | Step::Pack(..) => vec![],
        Step::Loop(fused) => fused.nodes.iter().chain(&fused.row_aggs).copied().collect(),
    }
}

/// Where values live.
pub(super) struct Assignment {
    pub(super) places: SecondaryMap<CNodeId, Option<Place>>,
    pub(super) packed: HashMap<(CNodeId, Extent), usize>,
    pub(super) slots: Vec<Slot>,
}

/// Gives every value that a later step reads a place.
pub(super) fn assign(
    plan: &CPlan,
    entry: Entry,
    extents: &SecondaryMap<CNodeId, Extent>,
    steps: &[Step],
    located: Option<CNodeId>,
) -> Assignment {
    let mut last_read: SecondaryMap<CNodeId, Option<usize>> = SecondaryMap::new();
    let mut last_read_packed = HashMap::new();
    for (index, step) in steps.iter().enumerate() {
        for id in reads(plan, step) {
            last_read[id] = Some(index);
        }
        last_read_packed.extend(reads_packed(plan, entry, extents, step).into_iter().map(|value| (value, index)));
    }
    let mut places = SecondaryMap::new();
    let mut packed = HashMap::new();
    let mut slots = Slots::default();
    for (index, step) in steps.iter().enumerate() {
        for id in computes(step) {
            if located == Some(id) {
                places[id] = Some(Place::Output);
            } else if last_read[id].is_some() {
                places[id] = Some(Place::Slot(slots.take(class(extents[id]), extents[id])));
            }
        }
        // Only now, so that no step writes what it still reads.
        let mut free = Vec::new();
        match step {
            Step::Pack(id, extent) => {
                let class = if *extent == Extent::Positions { SlotClass::Positions } else { SlotClass::NarrowTile };
                packed.insert((*id, *extent), slots.take(class, *extent));
            }
            Step::Loop(fused) if fused.has_narrow_form(plan) => {
                for id in fused.aggregated(plan).into_iter().filter(|&id| places[id].is_none()) {
                    let slot = slots.take(SlotClass::NarrowTile, fused.extent);
                    packed.insert((id, fused.extent), slot);
                    free.push(slot);
                }
            }
            Step::Loop(_) | Step::Call(_) | Step::Output(_) => {}
        }
        let of_nodes = reads(plan, step).into_iter().filter(|&id| last_read[id] == Some(index));
        free.extend(of_nodes.filter_map(|id| match places[id] {
            Some(Place::Slot(slot)) => Some(slot),
            Some(Place::Output) | None => None,
        }));
        let of_packed =
            reads_packed(plan, entry, extents, step).into_iter().filter(|value| last_read_packed[value] == index);
        free.extend(of_packed.filter_map(|value| packed.get(&value).copied()));
        slots.release(free);
    }
    Assignment { places, packed, slots: slots.all }
}

/// Slots, and those of them that nobody reads any more.
#[derive(Default)]
struct Slots {
    all: Vec<Slot>,
    free: Vec<usize>,
}

impl Slots {
    /// A slot for a value of this extent.
    fn take(&mut self, class: SlotClass, extent: Extent) -> usize {
        let all = &mut self.all;
        if let Some(position) = self.free.iter().position(|&slot| all[slot].class == class) {
            let slot = self.free.swap_remove(position);
            if !all[slot].extents.contains(&extent) {
                all[slot].extents.push(extent);
            }
            return slot;
        }
        all.push(Slot { class, extents: vec![extent] });
        all.len() - 1
    }

    /// Frees slots, which may be listed twice.
    fn release(&mut self, mut slots: Vec<usize>) {
        slots.sort_unstable();
        slots.dedup();
        self.free.extend(slots);
    }
}
