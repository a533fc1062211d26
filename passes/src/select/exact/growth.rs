//! How operators grow along the references of the memo table, from a root to all that is not cut off.
//!
//! Going upwards, every group chooses the best open entry that leads on to groups with such entries; going down from the
//! root, the chosen entries say what the operator covers. Of one branch to the next little changes, so that only those
//! groups choose again that something is decided about, or that refer to one that chose differently.

use super::super::entry::Entry;
use super::branch::{Branch, Decisions};
use super::group::{Group, are_alike};
use super::group_set::GroupSet;
use super::operators::Position;
use crate::cover::{Hops, Operator};
use crate::facts::Context;
use crate::partition::{InterestingPoint, PlanPartition};
use crate::template::{self, PART, Template};
use crate::walk::{follow, leads_on};
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use fuseline_ir::hop::HopId;
use fuseline_ir::memo::{MemoTable, TemplateType};
use smallvec::{SmallVec, smallvec};

/// The entries that a growing operator continues with: its own template's or, for lack of these, those of its parts; and
/// those that its parts continue with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Choice {
    own: Option<u32>,
    part: Option<u32>,
}

impl Choice {
    /// For an operator, or a part of it, of this template.
    fn of(self, ttype: TemplateType) -> Option<u32> {
        if ttype == PART { self.part } else { self.own }
    }
}

/// What an operator covers of a partition, with the template that it is built as.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Cover {
    pub(super) template: TemplateType,
    pub(super) members: GroupSet,
}

/// An operator that has grown.
pub(super) struct Grown {
    pub(super) cover: Cover,
    /// None where it was known.
    pub(super) operator: Option<Operator>,
}

/// The groups of a partition by position, with the choices of the operator that grows.
pub(super) struct Growth<'a> {
    context: &'a Context<'a>,
    groups: BumpVec<'a, Group<'a>>,
    /// By id, from that of the first member on.
    positions: BumpVec<'a, Option<u32>>,
    first: HopId,
    /// The groups that may be cut off from the operators that refer to them.
    interesting: GroupSet,
    choices: BumpVec<'a, Choice>,
    /// What they are where nothing is decided.
    undecided: BumpVec<'a, Choice>,
    /// The groups that chose differently.
    changed: BumpVec<'a, Position>,
    is_changed: BumpVec<'a, bool>,
    /// The groups that references lead to from the root at hand, ascending, the root included.
    below: BumpVec<'a, Position>,
    /// Groups visited so far.
    pub(super) visited: u64,
}

impl<'a> Growth<'a> {
    pub(super) fn new(
        context: &'a Context<'a>,
        memo: &MemoTable,
        partition: &'a PlanPartition,
        scratch: &'a Bump,
    ) -> Self {
        let count = partition.members.len();
        let (first, last) = (partition.members[0], partition.members[count - 1]);
        let mut positions = bumpalo::vec![in scratch; None; (last.as_u32() - first.as_u32()) as usize + 1];
        for (position, &member) in partition.members.iter().enumerate() {
            positions[(member.as_u32() - first.as_u32()) as usize] = Some(position as u32);
        }
        let position = |id: HopId| position_of(&positions, first, id);
        let mut groups: BumpVec<'_, Group<'_>> = BumpVec::with_capacity_in(count, scratch);
        for &id in &partition.members {
            let group = Group::new(scratch, context, memo, id, &position, &groups);
            groups.push(group);
        }
        let producers = partition.points.iter().filter_map(|&InterestingPoint { producer, .. }| position(producer));
        Growth {
            context,
            groups,
            interesting: producers.collect(),
            choices: bumpalo::vec![in scratch; Choice::default(); count],
            undecided: bumpalo::vec![in scratch; Choice::default(); count],
            changed: BumpVec::with_capacity_in(count, scratch),
            is_changed: bumpalo::vec![in scratch; false; count],
            below: BumpVec::with_capacity_in(count, scratch),
            visited: 0,
            positions,
            first,
        }
    }

    pub(super) fn position(&self, id: HopId) -> Option<Position> {
        position_of(&self.positions, self.first, id)
    }

    /// Whether operators of a template may start at a group.
    pub(super) fn starts(&self, root: Position, template: TemplateType) -> bool {
        !self.groups[root].starts[template as usize].is_empty()
    }

    /// Turns to the operators of another root.
    pub(super) fn turn_to(&mut self, root: Position) {
        let mut met = GroupSet::from_iter([root]);
        let mut pending: SmallVec<[Position; 32]> = SmallVec::from_slice(&[root]);
        while let Some(position) = pending.pop() {
            self.visited += 1;
            pending.extend(self.groups[position].references.iter().copied().filter(|&reference| met.insert(reference)));
        }
        self.below.clear();
        self.below.extend(met.iter());
    }

    /// Chooses entries where nothing is decided, for operators of this template.
    pub(super) fn start(&mut self, template: TemplateType) {
        self.changed.clear();
        for number in 0..self.below.len() {
            let position = self.below[number];
            self.is_changed[position] = false;
            self.choices[position] = self.choose(position, template, &Branch::default());
            self.undecided[position] = self.choices[position];
        }
    }

    /// The operators of a branch, and what there is to decide about them. There are several where no entry of the root has
    /// the references of all others. Follows [`Growth::turn_to`] the root and [`Growth::start`] with the template.
    pub(super) fn grow(
        &mut self,
        root: Position,
        template: TemplateType,
        branch: &Branch,
        is_known: impl Fn(&Cover) -> bool,
    ) -> (SmallVec<[Grown; 1]>, Decisions) {
        self.visited += self.below.len() as u64;
        self.choose_again(template, branch);
        let mut decisions = Decisions::default();
        let mut operators = SmallVec::new();
        let mut taken: SmallVec<[u32; 4]> = SmallVec::new();
        for &number in self.groups[root].starts[template as usize] {
            if !self.is_usable(&self.groups[root].entries[number as usize]) {
                continue;
            }
            let references = |number: u32| self.groups[root].entries[number as usize].references;
            let contains = |&other: &u32| references(number).iter().all(|id| references(other).contains(id));
            if taken.iter().any(contains) {
                continue;
            }
            let cover = Cover { template, members: self.members(root, number, &mut decisions) };
            if is_known(&cover) {
                taken.push(number);
                operators.push(Grown { cover, operator: None });
            } else if let Some(operator) = self.constructible(root, &cover) {
                taken.push(number);
                let cover = Cover { template: operator.template.unwrap_or(template), ..cover };
                operators.push(Grown { cover, operator: Some(operator) });
            }
        }
        decisions.entries.sort_unstable();
        decisions.entries.dedup();
        (operators, decisions)
    }

    /// Whether operators of a simpler template from a root are all that those of a template come to in a branch and those
    /// that it leads to.
    ///
    /// So it is where nothing that the operator may come to include needs the template, and has entries of both that are
    /// alike: of these both templates choose the same references, whatever else is cut off.
    pub(super) fn is_simpler_work(&self, root: Position, template: &dyn Template, branch: &Branch) -> bool {
        let Some(simpler) = template.simpler().filter(|_| self.groups[root].has_main) else { return false };
        let mut met = GroupSet::from_iter([root]);
        let mut pending: SmallVec<[Position; 16]> = SmallVec::from_slice(&[root]);
        while let Some(position) = pending.pop() {
            let is_root = position == root;
            let [own, other] =
                [template.ttype(), simpler].map(|ttype| self.entries_in(position, ttype, is_root, branch));
            if !are_alike(&own, &other) {
                return false;
            }
            let references = own.iter().chain(&other).flat_map(|entry| entry.references.iter().copied());
            pending.extend(references.filter(|&reference| met.insert(reference)));
        }
        let id = self.groups[root].id;
        !met.iter().any(|position| template.is_needed(self.context, self.groups[position].id, id))
    }

    /// The entries of a template that start an operator at a group, or continue one, and refer to nothing that is cut off.
    fn entries_in(
        &self,
        position: Position,
        ttype: TemplateType,
        is_root: bool,
        branch: &Branch,
    ) -> SmallVec<[&Entry<'a>; 8]> {
        let has_role = |entry: &&Entry<'_>| if is_root { entry.is_start } else { entry.is_open };
        let of_template = self.groups[position].entries.iter().filter(|entry| entry.ttype == ttype).filter(has_role);
        of_template.filter(|entry| !entry.references.iter().any(|&reference| branch.cut.contains(reference))).collect()
    }

    /// Chooses the entries of a branch.
    fn choose_again(&mut self, template: TemplateType, branch: &Branch) {
        while let Some(position) = self.changed.pop() {
            self.choices[position] = self.undecided[position];
            self.is_changed[position] = false;
        }
        let decided = branch.decided();
        // Groups below all that is decided choose as they do where nothing is.
        let below = &self.below;
        let first = decided.iter().next().map_or(below.len(), |first| below.partition_point(|&group| group < first));
        for number in first..self.below.len() {
            let position = self.below[number];
            let is_affected = decided.contains(position)
                || self.groups[position].references.iter().any(|&reference| self.is_changed[reference]);
            if is_affected {
                let choice = self.choose(position, template, branch);
                if choice != self.undecided[position] {
                    self.choices[position] = choice;
                    self.is_changed[position] = true;
                    self.changed.push(position);
                }
            }
        }
    }

    /// The best usable open entries of a group, for operators of this template and for parts of them.
    fn choose(&self, position: Position, template: TemplateType, branch: &Branch) -> Choice {
        if branch.cut.contains(position) {
            return Choice::default();
        }
        let part = self.best(position, PART, branch);
        let own = if template == PART { part } else { self.best(position, template, branch).or(part) };
        Choice { own, part }
    }

    /// The best usable open entry of a template.
    fn best(&self, position: Position, template: TemplateType, branch: &Branch) -> Option<u32> {
        let group = &self.groups[position];
        let mut open = group.open[template as usize].iter().copied();
        open.find(|&number| {
            !branch.refused.contains(&(position, number)) && self.is_usable(&group.entries[number as usize])
        })
    }

    fn is_usable(&self, entry: &Entry<'_>) -> bool {
        leads_on(entry, |reference| self.continued(reference, entry.ttype))
    }

    /// The entry that a group continues operators, or parts, of this template with.
    fn continued(&self, position: Position, ttype: TemplateType) -> Option<&Entry<'a>> {
        self.choices[position].of(ttype).map(|number| &self.groups[position].entries[number as usize])
    }

    /// Whether another open entry of the group has references that this one, of a driven template, lacks.
    fn has_alternative(&self, position: Position, number: u32) -> bool {
        let group = &self.groups[position];
        let own = &group.entries[number as usize];
        if !template::of(own.ttype).is_driven() {
            return false;
        }
        let mut others = group.open[own.ttype as usize].iter().map(|&other| &group.entries[other as usize]);
        others.any(|other| {
            other.references.iter().any(|reference| !own.references.contains(reference)) && self.is_usable(other)
        })
    }

    /// The members of the operator that an entry of a group starts; collects what there is to decide about it.
    fn members(&self, root: Position, number: u32, decisions: &mut Decisions) -> GroupSet {
        let mut members = GroupSet::default();
        follow(&self.groups[root].entries[number as usize], |reference, ttype| {
            if !members.insert(reference) {
                return None;
            }
            let number = self.choices[reference].of(ttype)?;
            if self.has_alternative(reference, number) {
                decisions.entries.push((reference, number));
            }
            Some(&self.groups[reference].entries[number as usize])
        });
        decisions.producers = decisions.producers.union(&members.within(&self.interesting));
        members.insert(root);
        members
    }

    /// The operator with a cover, if it can be constructed.
    fn constructible(&self, root: Position, cover: &Cover) -> Option<Operator> {
        let operator = self.operator(root, cover);
        if cover.template == PART && self.groups[root].has_main {
            return Some(operator);
        }
        operator.constructible(self.context)
    }

    /// The operator with a cover.
    fn operator(&self, root: Position, Cover { template, members }: &Cover) -> Operator {
        let groups = || members.iter().map(|position| &self.groups[position]);
        let is_outside = |(_, position): &&(HopId, Option<Position>)| !position.is_some_and(|it| members.contains(it));
        let outside = groups().flat_map(|group| group.inputs.iter().filter(is_outside));
        let mut inputs = Hops::with_capacity(members.len());
        for &(id, _) in outside {
            // Members ascend, and so do most of their inputs: the place is not far from the end.
            let place = inputs.iter().rposition(|&known| known <= id).map_or(0, |before| before + 1);
            if place == 0 || inputs[place - 1] != id {
                inputs.insert(place, id);
            }
        }
        let mut ids = Hops::with_capacity(members.len());
        ids.extend(groups().map(|group| group.id));
        Operator { template: Some(*template), roots: smallvec![self.groups[root].id], members: ids, inputs }
    }
}

/// The position of an operator in a partition whose first member is given.
fn position_of(positions: &[Option<u32>], first: HopId, id: HopId) -> Option<Position> {
    let place = id.as_u32().checked_sub(first.as_u32())?;
    positions.get(place as usize).copied().flatten().map(|position| position as usize)
}
