//! How operators grow along the references of the memo table, from a root to all that is not cut off.
//!
//! Going upwards, every group chooses the best open entry that leads on to groups with such entries; going down from the
//! root, the chosen entries say what the operator covers. Of one branch to the next little changes, so that only those
//! groups choose again that something is decided about, or that refer to one that chose differently.

use super::super::entry::{ByMember, Entry, EntryIndex, Member};
use super::branch::{Branch, Decisions};
use super::group::{Group, are_alike};
use super::group_set::GroupSet;
use crate::cover::{Hops, Operator};
use crate::facts::Context;
use crate::partition::{InterestingPoint, PlanPartition};
use crate::template::{self, PART, Template};
use crate::walk::{follow, leads_on};
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use cranelift_entity::EntityRef;
use fuseline_ir::hop::HopId;
use fuseline_ir::memo::{MemoTable, TemplateType};
use smallvec::{SmallVec, smallvec};

/// The entries that a growing operator continues with: its own template's or, for lack of these, those of its parts; and
/// those that its parts continue with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Choice {
    own: Option<EntryIndex>,
    part: Option<EntryIndex>,
}

impl Choice {
    /// For an operator, or a part of it, of this template.
    fn of(self, ttype: TemplateType) -> Option<EntryIndex> {
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

/// The groups of a partition, with the choices of the operator that grows.
pub(super) struct Growth<'a> {
    context: &'a Context<'a>,
    groups: ByMember<'a, Group<'a>>,
    /// By id, from that of the first member on.
    by_id: BumpVec<'a, Option<Member>>,
    first: HopId,
    /// The groups that may be cut off from the operators that refer to them.
    interesting: GroupSet,
    choices: ByMember<'a, Choice>,
    /// What they are where nothing is decided.
    undecided: ByMember<'a, Choice>,
    /// The groups that chose differently.
    changed: BumpVec<'a, Member>,
    is_changed: ByMember<'a, bool>,
    /// The groups that references lead to from the root at hand, ascending, the root included.
    below: BumpVec<'a, Member>,
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
        let mut by_id = bumpalo::vec![in scratch; None; (last.as_u32() - first.as_u32()) as usize + 1];
        for (place, &id) in partition.members.iter().enumerate() {
            by_id[(id.as_u32() - first.as_u32()) as usize] = Some(Member::new(place));
        }
        let member_of = |id: HopId| member_of(&by_id, first, id);
        let mut groups: ByMember<'_, Group<'_>> = ByMember::with_capacity(count, scratch);
        for &id in &partition.members {
            let group = Group::new(scratch, context, memo, id, &member_of, &groups);
            groups.push(group);
        }
        let producers = partition.points.iter().filter_map(|&InterestingPoint { producer, .. }| member_of(producer));
        Growth {
            context,
            groups,
            interesting: producers.collect(),
            choices: ByMember::filled(Choice::default(), count, scratch),
            undecided: ByMember::filled(Choice::default(), count, scratch),
            changed: BumpVec::with_capacity_in(count, scratch),
            is_changed: ByMember::filled(false, count, scratch),
            below: BumpVec::with_capacity_in(count, scratch),
            visited: 0,
            by_id,
            first,
        }
    }

    pub(super) fn member(&self, id: HopId) -> Option<Member> {
        member_of(&self.by_id, self.first, id)
    }

    /// Whether operators of a template may start at a group.
    pub(super) fn starts(&self, root: Member, template: TemplateType) -> bool {
        !self.groups[root].starts[template as usize].is_empty()
    }

    /// Turns to the operators of another root.
    pub(super) fn turn_to(&mut self, root: Member) {
        let mut met = GroupSet::from_iter([root]);
        let mut pending: SmallVec<[Member; 32]> = SmallVec::from_slice(&[root]);
        while let Some(member) = pending.pop() {
            self.visited += 1;
            pending.extend(self.groups[member].references.iter().copied().filter(|&reference| met.insert(reference)));
        }
        self.below.clear();
        self.below.extend(met.iter());
    }

    /// Chooses entries where nothing is decided, for operators of this template.
    pub(super) fn start(&mut self, template: TemplateType) {
        self.changed.clear();
        for number in 0..self.below.len() {
            let member = self.below[number];
            self.is_changed[member] = false;
            self.choices[member] = self.choose(member, template, &Branch::default());
            self.undecided[member] = self.choices[member];
        }
    }

    /// The operators of a branch, and what there is to decide about them. There are several where no entry of the root has
    /// the references of all others. Follows [`Growth::turn_to`] the root and [`Growth::start`] with the template.
    pub(super) fn grow(
        &mut self,
        root: Member,
        template: TemplateType,
        branch: &Branch,
        is_known: impl Fn(&Cover) -> bool,
    ) -> (SmallVec<[Grown; 1]>, Decisions) {
        self.visited += self.below.len() as u64;
        self.choose_again(template, branch);
        let mut decisions = Decisions::default();
        let mut operators = SmallVec::new();
        let mut taken: SmallVec<[EntryIndex; 4]> = SmallVec::new();
        for &index in self.groups[root].starts[template as usize] {
            if !self.is_usable(self.groups[root].entry(index)) {
                continue;
            }
            let references = |index: EntryIndex| self.groups[root].entry(index).references;
            let contains = |&other: &EntryIndex| references(index).iter().all(|id| references(other).contains(id));
            if taken.iter().any(contains) {
                continue;
            }
            let cover = Cover { template, members: self.members(root, index, &mut decisions) };
            if is_known(&cover) {
                taken.push(index);
                operators.push(Grown { cover, operator: None });
            } else if let Some(operator) = self.constructible(root, &cover) {
                taken.push(index);
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
    pub(super) fn is_simpler_work(&self, root: Member, template: &dyn Template, branch: &Branch) -> bool {
        let Some(simpler) = template.simpler().filter(|_| self.groups[root].has_main) else { return false };
        let mut met = GroupSet::from_iter([root]);
        let mut pending: SmallVec<[Member; 16]> = SmallVec::from_slice(&[root]);
        while let Some(member) = pending.pop() {
            let is_root = member == root;
            let [own, other] = [template.ttype(), simpler].map(|ttype| self.entries_in(member, ttype, is_root, branch));
            if !are_alike(&own, &other) {
                return false;
            }
            let references = own.iter().chain(&other).flat_map(|entry| entry.references.iter().copied());
            pending.extend(references.filter(|&reference| met.insert(reference)));
        }
        let id = self.groups[root].id;
        !met.iter().any(|member| template.is_needed(self.context, self.groups[member].id, id))
    }

    /// The entries of a template that start an operator at a group, or continue one, and refer to nothing that is cut off.
    fn entries_in(
        &self,
        member: Member,
        ttype: TemplateType,
        is_root: bool,
        branch: &Branch,
    ) -> SmallVec<[&Entry<'a>; 8]> {
        let has_role = |entry: &&Entry<'_>| if is_root { entry.is_start } else { entry.is_open };
        let of_template = self.groups[member].entries.iter().filter(|entry| entry.ttype == ttype).filter(has_role);
        of_template.filter(|entry| !entry.references.iter().any(|&reference| branch.cut.contains(reference))).collect()
    }

    /// Chooses the entries of a branch.
    fn choose_again(&mut self, template: TemplateType, branch: &Branch) {
        while let Some(member) = self.changed.pop() {
            self.choices[member] = self.undecided[member];
            self.is_changed[member] = false;
        }
        let decided = branch.decided();
        // Groups below all that is decided choose as they do where nothing is.
        let below = &self.below;
        let first = decided.iter().next().map_or(below.len(), |first| below.partition_point(|&group| group < first));
        for number in first..self.below.len() {
            let member = self.below[number];
            let is_affected = decided.contains(member)
                || self.groups[member].references.iter().any(|&reference| self.is_changed[reference]);
            if is_affected {
                let choice = self.choose(member, template, branch);
                if choice != self.undecided[member] {
                    self.choices[member] = choice;
                    self.is_changed[member] = true;
                    self.changed.push(member);
                }
            }
        }
    }

    /// The best usable open entries of a group, for operators of this template and for parts of them.
    fn choose(&self, member: Member, template: TemplateType, branch: &Branch) -> Choice {
        if branch.cut.contains(member) {
            return Choice::default();
        }
        let part = self.best(member, PART, branch);
        let own = if template == PART { part } else { self.best(member, template, branch).or(part) };
        Choice { own, part }
    }

    /// The best usable open entry of a template.
    fn best(&self, member: Member, template: TemplateType, branch: &Branch) -> Option<EntryIndex> {
        let group = &self.groups[member];
        let mut open = group.open[template as usize].iter().copied();
        open.find(|&index| !branch.refused.contains(&(member, index)) && self.is_usable(group.entry(index)))
    }

    fn is_usable(&self, entry: &Entry<'_>) -> bool {
        leads_on(entry, |reference| self.continued(reference, entry.ttype))
    }

    /// The entry that a group continues operators, or parts, of this template with.
    fn continued(&self, member: Member, ttype: TemplateType) -> Option<&Entry<'a>> {
        self.choices[member].of(ttype).map(|index| self.groups[member].entry(index))
    }

    /// Whether another open entry of the group has references that this one, of a driven template, lacks.
    fn has_alternative(&self, member: Member, index: EntryIndex) -> bool {
        let group = &self.groups[member];
        let own = group.entry(index);
        if !template::of(own.ttype).is_driven() {
            return false;
        }
        let mut others = group.open[own.ttype as usize].iter().map(|&other| group.entry(other));
        others.any(|other| {
            other.references.iter().any(|reference| !own.references.contains(reference)) && self.is_usable(other)
        })
    }

    /// The members of the operator that an entry of a group starts; collects what there is to decide about it.
    fn members(&self, root: Member, index: EntryIndex, decisions: &mut Decisions) -> GroupSet {
        let mut members = GroupSet::default();
        follow(self.groups[root].entry(index), |reference, ttype| {
            if !members.insert(reference) {
                return None;
            }
            let index = self.choices[reference].of(ttype)?;
            if self.has_alternative(reference, index) {
                decisions.entries.push((reference, index));
            }
            Some(self.groups[reference].entry(index))
        });
        decisions.producers = decisions.producers.union(&members.within(&self.interesting));
        members.insert(root);
        members
    }

    /// The operator with a cover, if it can be constructed.
    fn constructible(&self, root: Member, cover: &Cover) -> Option<Operator> {
        let operator = self.operator(root, cover);
        if cover.template == PART && self.groups[root].has_main {
            return Some(operator);
        }
        operator.constructible(self.context)
    }

    /// The operator with a cover.
    fn operator(&self, root: Member, Cover { template, members }: &Cover) -> Operator {
        let groups = || members.iter().map(|member| &self.groups[member]);
        let is_outside = |(_, member): &&(HopId, Option<Member>)| !member.is_some_and(|it| members.contains(it));
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

/// The member of a partition that an operator of the DAG is, given the members by id, from that of the first one on.
fn member_of(by_id: &[Option<Member>], first: HopId, id: HopId) -> Option<Member> {
    let place = id.as_u32().checked_sub(first.as_u32())?;
    by_id.get(place as usize).copied().flatten()
}
