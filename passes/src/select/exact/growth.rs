//! How operators grow along the references of the memo table, from a root to all that is not cut off.
//!
//! Going upwards, every group chooses the best open entry that leads on to groups with such entries; going down from the
//! root, the chosen entries say what the operator covers. Of one branch to the next little changes, so that only those
//! groups choose again that something is decided about, or that refer to one that chose differently.

use super::branch::{Branch, Decisions};
use super::group::{Entry, Group, are_alike};
use super::group_set::GroupSet;
use super::operators::Position;
use crate::cover::{Hops, Operator, constructible, needs_rows};
use crate::facts::Context;
use crate::partition::{InterestingPoint, PlanPartition};
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use fuseline_ir::hop::HopId;
use fuseline_ir::memo::{MemoTable, TemplateType};
use smallvec::{SmallVec, smallvec};

/// The entries that a growing operator continues with: its own template's or, for lack of these, Cell's; and those of its
/// Cell parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Choice {
    own: Option<u32>,
    cell: Option<u32>,
}

impl Choice {
    fn of(self, ttype: TemplateType) -> Option<u32> {
        if ttype == TemplateType::Cell { self.cell } else { self.own }
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

    /// Whether Cell operators from a root are all that Row operators come to in a branch and those that it leads to.
    ///
    /// So it is where nothing that the operator may come to include needs rows, and has Row and Cell entries that are alike:
    /// of these both templates choose the same references, whatever else is cut off.
    pub(super) fn is_cell_work(&self, root: Position, branch: &Branch) -> bool {
        if !self.groups[root].has_main {
            return false;
        }
        let mut met = GroupSet::from_iter([root]);
        let mut pending: SmallVec<[Position; 16]> = SmallVec::from_slice(&[root]);
        while let Some(position) = pending.pop() {
            let group = &self.groups[position];
            let is_usable = |entry: &&Entry<'_>| {
                let has_role = if position == root { entry.is_valid } else { entry.is_open };
                has_role && !entry.references.iter().any(|&reference| branch.cut.contains(reference))
            };
            let of = |ttype: TemplateType| group.entries.iter().filter(move |it| it.ttype == ttype).filter(is_usable);
            let [rows, cells] = [TemplateType::Row, TemplateType::Cell].map(|it| of(it).collect::<SmallVec<[_; 8]>>());
            if !are_alike(&rows, &cells) {
                return false;
            }
            let references = rows.iter().chain(&cells).flat_map(|entry| entry.references.iter().copied());
            pending.extend(references.filter(|&reference| met.insert(reference)));
        }
        let ids: SmallVec<[HopId; 32]> = met.iter().map(|position| self.groups[position].id).collect();
        !needs_rows(self.context, &ids, self.groups[root].id)
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

    /// The best usable open entries of a group, for operators of this template and for Cell parts of them.
    fn choose(&self, position: Position, template: TemplateType, branch: &Branch) -> Choice {
        if branch.cut.contains(position) {
            return Choice::default();
        }
        let group = &self.groups[position];
        let best = |ttype: TemplateType| {
            let is_free = |number: u32| !branch.refused.contains(&(position, number));
            let mut open = group.open[ttype as usize].iter().copied();
            open.find(|&number| is_free(number) && self.is_usable(&group.entries[number as usize]))
        };
        let cell = best(TemplateType::Cell);
        let own = if template == TemplateType::Cell { cell } else { best(template).or(cell) };
        Choice { own, cell }
    }

    fn is_usable(&self, entry: &Entry<'_>) -> bool {
        let resumed = |position: Position| self.choices[position].of(entry.ttype);
        let is_outer = |position: Position, number: u32| {
            self.groups[position].entries[number as usize].ttype == TemplateType::Outer
        };
        // An Outer operator must reach its product, which only Outer entries lead to.
        let reaches_product = entry.ttype != TemplateType::Outer
            || entry.references.is_empty()
            || entry.references.iter().any(|&reference| resumed(reference).is_some_and(|it| is_outer(reference, it)));
        reaches_product && entry.references.iter().all(|&reference| resumed(reference).is_some())
    }

    /// Whether another open Outer entry of the group has references that this one lacks.
    fn has_alternative(&self, position: Position, number: u32) -> bool {
        let group = &self.groups[position];
        let own = &group.entries[number as usize];
        let lacks = |other: &Entry<'_>| other.references.iter().any(|reference| !own.references.contains(reference));
        own.ttype == TemplateType::Outer
            && group.open[TemplateType::Outer as usize]
                .iter()
                .map(|&other| &group.entries[other as usize])
                .any(|other| lacks(other) && self.is_usable(other))
    }

    /// The members of the operator that an entry of a group starts; collects what there is to decide about it.
    fn members(&self, root: Position, number: u32, decisions: &mut Decisions) -> GroupSet {
        let mut members = GroupSet::default();
        let mut pending: SmallVec<[(Position, u32); 16]> = SmallVec::from_slice(&[(root, number)]);
        while let Some((position, number)) = pending.pop() {
            let entry = &self.groups[position].entries[number as usize];
            for &reference in entry.references {
                if !members.insert(reference) {
                    continue;
                }
                // A Cell entry inside of another template continues with Cell entries.
                if let Some(number) = self.choices[reference].of(entry.ttype) {
                    if entry.ttype == TemplateType::Outer && self.has_alternative(reference, number) {
                        decisions.entries.push((reference, number));
                    }
                    pending.push((reference, number));
                }
            }
        }
        decisions.producers = decisions.producers.union(&members.within(&self.interesting));
        members.insert(root);
        members
    }

    /// The operator with a cover, if it can be constructed.
    fn constructible(&self, root: Position, cover: &Cover) -> Option<Operator> {
        let operator = self.operator(root, cover);
        if cover.template == TemplateType::Cell && self.groups[root].has_main {
            return Some(operator);
        }
        constructible(self.context, operator)
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
