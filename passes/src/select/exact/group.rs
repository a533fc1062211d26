//! The groups of a partition with their entries, indexed by position for operators to grow along.

use super::operators::Position;
use crate::template::{Context, is_elementwise};
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::memo::{MemoEntry, MemoTable, TemplateType};
use smallvec::SmallVec;
use std::cmp::Reverse;

/// An entry with its references as positions in the partition.
pub(super) struct Entry {
    pub(super) ttype: TemplateType,
    pub(super) is_valid: bool,
    pub(super) is_open: bool,
    pub(super) references: Box<[Position]>,
}

/// One group of a partition.
pub(super) struct Group {
    pub(super) id: HopId,
    pub(super) entries: Vec<Entry>,
    /// The open entries of each template, those with more references first.
    pub(super) open: [SmallVec<[u32; 4]>; TemplateType::ALL.len()],
    /// The entries of each template that operators start with, those with more references first.
    pub(super) starts: [SmallVec<[u32; 4]>; TemplateType::ALL.len()],
    /// The groups that entries refer to.
    pub(super) references: Box<[Position]>,
    /// The operator's inputs, with their positions in the partition.
    pub(super) inputs: SmallVec<[(HopId, Option<Position>); 3]>,
    /// Whether all operators over cells that contain the group, or start there, have a matrix to be their main input.
    pub(super) has_main: bool,
}

impl Group {
    /// A group, given those before it.
    pub(super) fn new(
        context: &Context<'_>,
        memo: &MemoTable,
        id: HopId,
        position: &impl Fn(HopId) -> Option<Position>,
        before: &[Group],
    ) -> Group {
        let mut entries = memo.entries(id).to_vec();
        // The order of exploration decides nothing.
        entries.sort_unstable();
        let index = |entry: &MemoEntry| Entry {
            ttype: entry.ttype,
            is_valid: entry.close.is_valid() && entry.has_references(),
            is_open: entry.close.is_open(),
            references: entry.references().filter_map(position).collect(),
        };
        let entries: Vec<Entry> = entries.iter().map(index).collect();
        let open = by_template(&entries, |entry| entry.is_open);
        let starts = by_template(&entries, |entry| entry.is_valid);
        let mut references: Vec<Position> = entries.iter().flat_map(|entry| entry.references.iter().copied()).collect();
        references.sort_unstable();
        references.dedup();
        let hop = context.hop(id);
        let inputs: SmallVec<[(HopId, Option<Position>); 3]> =
            hop.inputs.iter().map(|&input| (input, position(input))).collect();
        // A cell of the main input is read wherever the operator ends, at this group or below.
        let space = if matches!(hop.op, HopOp::AggUnary(..)) { context.hop(hop.inputs[0]).size } else { hop.size };
        let is_main = |&(input, position): &(HopId, Option<Position>)| {
            let is_elementwise = |group: &Group| is_elementwise(context.dag, group.id) && group.has_main;
            context.hop(input).size.same_dims(&space)
                && position.is_none_or(|position| is_elementwise(&before[position]))
        };
        let goes_by_cell = is_elementwise(context.dag, id) || matches!(hop.op, HopOp::AggUnary(..));
        let has_main = goes_by_cell && inputs.iter().any(is_main);
        Group { id, entries, open, starts, references: references.into(), has_main, inputs }
    }
}

/// Whether the best Row entry and the best Cell entry of a group have the same references, whichever of these are usable;
/// or no Row entry is usable, and the Cell entry is taken for lack of one.
///
/// So it is where every Row entry has a Cell entry with its references, and one without such a counterpart has more
/// references together with any Row entry, as a Row entry again: it is never the best where a Row entry is usable.
pub(super) fn are_alike(rows: &[&Entry], cells: &[&Entry]) -> bool {
    let has_twin = |entry: &Entry, others: &[&Entry]| others.iter().any(|other| other.references == entry.references);
    rows.iter().all(|row| has_twin(row, cells))
        && cells
            .iter()
            .filter(|cell| !has_twin(cell, rows))
            .all(|cell| rows.iter().all(|row| rows.iter().any(|both| both.has_references_of(row, cell))))
}

/// By template: the numbers of the entries that meet a condition, those with more references first.
fn by_template(entries: &[Entry], meets: impl Fn(&Entry) -> bool) -> [SmallVec<[u32; 4]>; TemplateType::ALL.len()] {
    let mut numbers: Vec<usize> = (0..entries.len()).filter(|&number| meets(&entries[number])).collect();
    numbers.sort_by_key(|&number| Reverse(entries[number].references.len()));
    let mut found: [SmallVec<[u32; 4]>; TemplateType::ALL.len()] = Default::default();
    for number in numbers {
        found[entries[number].ttype as usize].push(number as u32);
    }
    found
}

impl Entry {
    /// Whether the references are those of two other entries.
    fn has_references_of(&self, one: &Entry, other: &Entry) -> bool {
        one.references.iter().chain(&other.references).all(|reference| self.references.contains(reference))
            && self.references.iter().all(|it| one.references.contains(it) || other.references.contains(it))
    }
}
