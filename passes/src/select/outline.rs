//! What is known of an operator before all points are decided (section 4.4, cost-based pruning).
//!
//! Over a reference that no decision can cut any more, an operator that contains the reader computes what it reads wherever
//! their templates leave no choice (see [`super::inseparable`]). So the operator that starts at a group has some members for
//! certain, each with its computation, and reads what a true point cuts off from all that it may contain. What its members
//! read over the other references it computes or reads, too: which of these is open.

use super::entry::{Member, Point};
use super::reachability::Points;
use super::space::SearchSpace;
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;
use smallvec::SmallVec;

/// What all operators that start at a group have in common, whatever is decided about the open points.
#[derive(Debug)]
pub(crate) struct Outline {
    pub(crate) start: Member,
    /// Groups that it computes.
    pub(crate) members: FixedBitSet,
    /// Groups that it reads.
    pub(crate) inputs: FixedBitSet,
    /// Groups that it reads or computes.
    pub(crate) either: FixedBitSet,
}

impl Outline {
    /// Of the operator that starts at a group, with the points of an assignment true and the others of those that are decided
    /// false.
    pub(crate) fn of(space: &SearchSpace<'_>, start: Member, assignment: &Points, decided: &Points) -> Outline {
        let groups = space.search.partition.members.len();
        let [members, inputs, either] = [(); 3].map(|()| FixedBitSet::with_capacity(groups));
        let mut outline = Outline { start, members, inputs, either };
        let mut pending: SmallVec<[Member; 32]> = SmallVec::from_slice(&[start]);
        outline.members.insert(start.index());
        while let Some(reader) = pending.pop() {
            for (number, reference) in space.graph.numbered_references_of(reader) {
                let producer = reference.producer.index();
                let is_true = |point: Point| assignment.contains(point.index());
                if space.graph.read_through.contains(producer) {
                    continue;
                }
                if reference.point.is_some_and(is_true) {
                    outline.inputs.insert(producer);
                } else if reference.point.is_none_or(|point| decided.contains(point.index()))
                    && space.inseparable().is_fused(number)
                {
                    if !outline.members.put(producer) {
                        pending.push(reference.producer);
                    }
                } else {
                    outline.either.insert(producer);
                }
            }
        }
        outline.inputs.difference_with(&possible_members(space, start, assignment));
        outline.either.difference_with(&outline.members);
        outline
    }
}

/// The groups that an operator which starts at a group may contain.
fn possible_members(space: &SearchSpace<'_>, start: Member, assignment: &Points) -> FixedBitSet {
    let mut possible = FixedBitSet::with_capacity(space.search.partition.members.len());
    let mut pending: SmallVec<[Member; 32]> = SmallVec::from_slice(&[start]);
    possible.insert(start.index());
    while let Some(reader) = pending.pop() {
        for reference in space.graph.references_of(reader) {
            let is_cut = reference.point.is_some_and(|point| assignment.contains(point.index()));
            if !is_cut && !possible.put(reference.producer.index()) {
                pending.push(reference.producer);
            }
        }
    }
    possible
}
