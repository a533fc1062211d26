//! Plans that no policy needs: Row plans that do a Cell plan's work, and Outer plans that lead nowhere.

use crate::cover::{is_row_aggregate, is_row_operation};
use crate::facts::Context;
use crate::template;
use cranelift_entity::EntitySet;
use fuseline_ir::Space;
use fuseline_ir::hop::HopId;
use fuseline_ir::memo::{MemoEntry, MemoTable};
use smallvec::SmallVec;

/// Removes entries that one of a simpler template with the same references can replace, from groups that no chain of
/// Row references connects with an operation that only Row operators do.
pub(crate) fn prune_rows_without_row_operations(context: &Context<'_>, memo: &mut MemoTable) {
    let relevant = connected_with_row_operations(context, memo);
    let groups: Vec<HopId> = memo.groups().map(|(group, _)| group).filter(|&group| !relevant.contains(group)).collect();
    for group in groups {
        let entries: SmallVec<[MemoEntry; 8]> = SmallVec::from_slice(memo.entries(group));
        memo.retain(group, |entry| {
            let simpler = template::of(entry.ttype).simpler();
            let replaces = |other: &MemoEntry| Some(other.ttype) == simpler && other.inputs == entry.inputs;
            !entries.iter().any(replaces)
        });
    }
}

/// Removes Outer entries that no operator contains: those of groups that no valid Outer plan reaches by references. The
/// product of two factors opens Outer plans wherever it is, and few of them find a sparse matrix to drive them.
pub(crate) fn prune_outer_without_driver(memo: &mut MemoTable) {
    let groups: Vec<HopId> = memo.groups().map(|(group, _)| group).collect();
    let mut reached = EntitySet::new();
    // Groups ascend, so those that refer to one come before it in this order.
    for &group in groups.iter().rev() {
        let driven = memo.entries(group).iter().filter(|entry| is_driven(entry));
        let used = driven.filter(|entry| reached.contains(group) || entry.close.is_valid() && entry.has_references());
        let references: SmallVec<[HopId; 16]> = used.flat_map(MemoEntry::references).collect();
        references.into_iter().for_each(|reference| {
            reached.insert(reference);
        });
    }
    for group in groups.into_iter().filter(|&group| !reached.contains(group)) {
        memo.retain(group, |entry| !is_driven(entry) || entry.close.is_valid() && entry.has_references());
    }
}

fn is_driven(entry: &MemoEntry) -> bool {
    template::of(entry.ttype).is_driven()
}

/// The groups above (by references upwards) or below (downwards) of such an operation.
fn connected_with_row_operations(context: &Context<'_>, memo: &MemoTable) -> EntitySet<HopId> {
    let mut row_edges: Vec<(HopId, HopId)> = Vec::new();
    for (group, entries) in memo.groups() {
        for entry in entries.iter().filter(|entry| entry.ttype.space() == Space::Rows) {
            row_edges.extend(entry.references().map(|reference| (group, reference)));
        }
    }
    let mut above = EntitySet::new();
    let mut below = EntitySet::new();
    for (group, _) in memo.groups() {
        if is_row_operation(context, group) {
            above.insert(group);
            below.insert(group);
        }
    }
    for &(_, producer) in row_edges.iter().filter(|(_, producer)| is_row_aggregate(context, *producer)) {
        above.insert(producer);
        below.insert(producer);
    }
    // Groups ascend, so one sweep up and one down follow every chain.
    for &(consumer, producer) in &row_edges {
        if above.contains(producer) {
            above.insert(consumer);
        }
    }
    for &(consumer, producer) in row_edges.iter().rev() {
        if below.contains(consumer) {
            below.insert(producer);
        }
    }
    below.keys().for_each(|id| {
        above.insert(id);
    });
    above
}
