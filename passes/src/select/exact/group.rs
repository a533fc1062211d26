//! The groups of a partition with their entries, indexed by member for operators to grow along.

use super::super::entry::{ByMember, Entry, EntryIndex, Member, slice};
use super::super::search::PartitionSearch;
use crate::facts::Context;
use crate::hops::is_elementwise;
use bumpalo::Bump;
use cranelift_entity::EntityRef;
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::memo::TemplateType;
use smallvec::SmallVec;
use std::cmp::Reverse;

/// One group of a partition.
pub(super) struct Group<'a> {
    pub(super) id: HopId,
    pub(super) entries: &'a [Entry<'a>],
    /// The open entries of each template, those with more references first.
    pub(super) open: [&'a [EntryIndex]; TemplateType::ALL.len()],
    /// The entries of each template that operators start with, those with more references first.
    pub(super) starts: [&'a [EntryIndex]; TemplateType::ALL.len()],
    /// Whether the open entries of each template have all sets of some references, the empty one included.
    pub(super) continues_freely: [bool; TemplateType::ALL.len()],
    /// Whether the entries of each template that operators start with have all sets of some references but the empty one.
    pub(super) starts_freely: [bool; TemplateType::ALL.len()],
    /// The groups that entries refer to.
    pub(super) references: &'a [Member],
    /// The operator's inputs, with the members that they are.
    pub(super) inputs: &'a [(HopId, Option<Member>)],
    /// Whether all operators over cells that contain the group, or start there, have a matrix to be their main input.
    pub(super) has_main: bool,
}

impl<'a> Group<'a> {
    /// A group, given those before it.
    pub(super) fn new(search: &PartitionSearch<'a>, id: HopId, before: &ByMember<'a, Group<'a>>) -> Group<'a> {
        let PartitionSearch { context, scratch, .. } = *search;
        let entries = Entry::all_of(search, id);
        let all = entries.iter().flat_map(|entry| entry.references.iter().copied());
        let mut references: SmallVec<[Member; 16]> = all.collect();
        references.sort_unstable();
        references.dedup();
        let hop = context.hop(id);
        let inputs = slice(scratch, hop.inputs.iter().map(|&input| (input, search.member(input))));
        let open = by_template(scratch, entries, |entry| entry.is_open);
        let starts = by_template(scratch, entries, |entry| entry.is_start);
        Group {
            id,
            entries,
            continues_freely: open.map(|indices| indices.len() == number_of_sets(entries, indices)),
            starts_freely: starts.map(|indices| indices.len() + 1 == number_of_sets(entries, indices)),
            open,
            starts,
            references: slice(scratch, references),
            has_main: has_main(context, id, inputs, before),
            inputs,
        }
    }

    pub(super) fn entry(&self, index: EntryIndex) -> &Entry<'a> {
        &self.entries[index.index()]
    }
}

/// Whether all operators over cells that contain a group, or start there, have a matrix to be their main input, given its
/// inputs and the groups before it.
fn has_main(
    context: &Context<'_>,
    id: HopId,
    inputs: &[(HopId, Option<Member>)],
    before: &ByMember<'_, Group<'_>>,
) -> bool {
    let hop = context.hop(id);
    let is_aggregate = matches!(hop.op, HopOp::AggUnary(..));
    if !is_aggregate && !is_elementwise(context.dag, id) {
        return false;
    }
    // A cell of the main input is read wherever the operator ends, at this group or below.
    let space = if is_aggregate { context.hop(hop.inputs[0]).size } else { hop.size };
    inputs.iter().any(|&(input, member)| {
        let group = member.map(|member| &before[member]);
        context.hop(input).size.same_dims(&space)
            && group.is_none_or(|group| group.has_main && is_elementwise(context.dag, group.id))
    })
}

/// Whether the best Row entry and the best Cell entry of a group have the same references, whichever of these are usable;
/// or no Row entry is usable, and the Cell entry is taken for lack of one.
///
/// So it is where every Row entry has a Cell entry with its references, and one without such a counterpart has more
/// references together with any Row entry, as a Row entry again: it is never the best where a Row entry is usable.
pub(super) fn are_alike(rows: &[&Entry<'_>], cells: &[&Entry<'_>]) -> bool {
    rows.iter().all(|row| has_twin(row, cells))
        && cells
            .iter()
            .filter(|cell| !has_twin(cell, rows))
            .all(|cell| rows.iter().all(|row| rows.iter().any(|both| has_references_of(both, row, cell))))
}

/// Whether another entry has the references of this one.
fn has_twin(entry: &Entry<'_>, others: &[&Entry<'_>]) -> bool {
    others.iter().any(|other| other.references == entry.references)
}

/// By template: the entries that meet a condition, those with more references first.
fn by_template<'a>(
    scratch: &'a Bump,
    entries: &[Entry<'_>],
    meets: impl Fn(&Entry<'_>) -> bool,
) -> [&'a [EntryIndex]; TemplateType::ALL.len()] {
    let mut found: [&[EntryIndex]; TemplateType::ALL.len()] = Default::default();
    for &template in TemplateType::ALL {
        let of_template = entries.iter().enumerate().filter(|(_, entry)| entry.ttype == template && meets(entry));
        let mut indices: SmallVec<[EntryIndex; 8]> = of_template.map(|(index, _)| EntryIndex::new(index)).collect();
        indices.sort_unstable_by_key(|&index| (Reverse(entries[index.index()].references.len()), index));
        found[template as usize] = slice(scratch, indices);
    }
    found
}

/// How many sets there are of the references of these entries.
fn number_of_sets(entries: &[Entry<'_>], indices: &[EntryIndex]) -> usize {
    let mut references: SmallVec<[Member; 16]> = SmallVec::new();
    for reference in indices.iter().flat_map(|index| entries[index.index()].references) {
        if !references.contains(reference) {
            references.push(*reference);
        }
    }
    1_usize.checked_shl(references.len() as u32).unwrap_or(usize::MAX)
}

/// Whether the references of an entry are those of two other ones.
fn has_references_of(both: &Entry<'_>, one: &Entry<'_>, other: &Entry<'_>) -> bool {
    one.references.iter().chain(other.references).all(|reference| both.references.contains(reference))
        && both.references.iter().all(|it| one.references.contains(it) || other.references.contains(it))
}
