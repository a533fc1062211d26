//! How operators grow along the references of the memo table, from a root to all that is not cut off.
//!
//! Going upwards, every group chooses the best open entry that leads on to groups with such entries; going down from the
//! root, the chosen entries say what the operator covers. Of one branch to the next little changes, so that only those
//! groups choose again that something is decided about, or that refer to one that chose differently.

use super::super::entry::{ByMember, Entry, EntryIndex, Member};
use super::super::search::PartitionSearch;
use super::branch::{Branch, Decisions};
use super::group::{Group, are_alike};
use super::group_set::GroupSet;
use crate::cover::{Hops, Operator};
use crate::template::{self, PART, Template};
use crate::walk::{follow, leads_on};
use bumpalo::collections::Vec as BumpVec;
use fuseline_ir::hop::HopId;
use fuseline_ir::memo::TemplateType;
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
    search: PartitionSearch<'a>,
    groups: ByMember<'a, Group<'a>>,
    /// The groups that may be cut off from the operators that refer to them.
    separable: GroupSet,
    choices: ByMember<'a, Choice>,
    /// What they are where nothing is decided.
    undecided: ByMember<'a, Choice>,
    /// The groups that chose differently.
    changed: BumpVec<'a, Member>,
    is_changed: ByMember<'a, bool>,
    /// The groups that references lead to from the root at hand, ascending, the root included.
    below: BumpVec<'a, Member>,
    /// Groups visited so far.
    visited: u64,
}

impl<'a> Growth<'a> {
    /// The groups of which `separable` are those that operators may be told to read.
    pub(super) fn new(search: &PartitionSearch<'a>, separable: GroupSet) -> Self {
        let PartitionSearch { partition, scratch, .. } = *search;
        let count = partition.members.len();
        let mut groups: ByMember<'_, Group<'_>> = ByMember::with_capacity(count, scratch);
        for &id in &partition.members {
            let group = Group::new(search, id, &groups);
            groups.push(group);
        }
        Growth {
            search: *search,
            groups,
            separable,
            choices: ByMember::filled(Choice::default(), count, scratch),
            undecided: ByMember::filled(Choice::default(), count, scratch),
            changed: BumpVec::with_capacity_in(count, scratch),
            is_changed: ByMember::filled(false, count, scratch),
            below: BumpVec::with_capacity_in(count, scratch),
            visited: 0,
        }
    }

    /// The operators that start at a group.
    pub(super) fn from(&mut self, root: Member) -> Rooted<'_, 'a> {
        let mut met = GroupSet::from_iter([root]);
        let mut pending: SmallVec<[Member; 32]> = SmallVec::from_slice(&[root]);
        while let Some(member) = pending.pop() {
            self.visited += 1;
            pending.extend(self.groups[member].references.iter().copied().filter(|&reference| met.insert(reference)));
        }
        self.below.clear();
        self.below.extend(met.iter());
        Rooted { growth: self, root }
    }
}

/// The operators of one root.
pub(super) struct Rooted<'g, 'a> {
    growth: &'g mut Growth<'a>,
    root: Member,
}

impl<'a> Rooted<'_, 'a> {
    /// The operators that start as those of a template; none if no operator of it may start at the root.
    pub(super) fn growing<'t>(&'t mut self, template: &'t dyn Template) -> Option<Growing<'t, 'a>> {
        let Rooted { growth, root } = self;
        if growth.groups[*root].starts[template.ttype() as usize].is_empty() {
            return None;
        }
        // Entries where nothing is decided.
        growth.changed.clear();
        for number in 0..growth.below.len() {
            let member = growth.below[number];
            growth.is_changed[member] = false;
            growth.choices[member] = growth.choose(member, template.ttype(), &Branch::default());
            growth.undecided[member] = growth.choices[member];
        }
        Some(Growing { growth, root: *root, template })
    }
}

/// The operators of one root that start as those of one template: each branch says what is decided about them.
pub(super) struct Growing<'t, 'a> {
    growth: &'t mut Growth<'a>,
    root: Member,
    template: &'t dyn Template,
}

impl Growing<'_, '_> {
    /// The groups visited since this was last asked.
    pub(super) fn take_visits(&mut self) -> u64 {
        std::mem::take(&mut self.growth.visited)
    }

    /// The operators of a branch, and what there is to decide about them. There are several where no entry of the root has
    /// the references of all others.
    pub(super) fn grow(
        &mut self,
        branch: &Branch,
        is_known: impl Fn(&Cover) -> bool,
    ) -> (SmallVec<[Grown; 1]>, Decisions) {
        let (growth, root, template) = (&mut *self.growth, self.root, self.template.ttype());
        growth.visited += growth.below.len() as u64;
        growth.choose_again(template, branch);
        let mut decisions = Decisions::default();
        let mut operators = SmallVec::new();
        let mut taken: SmallVec<[&Entry<'_>; 4]> = SmallVec::new();
        let group = &growth.groups[root];
        for entry in group.starts[template as usize].iter().map(|&index| group.entry(index)) {
            if !growth.is_usable(entry) || taken.iter().any(|other| is_part(entry, other)) {
                continue;
            }
            let cover = Cover { template, members: growth.members(root, entry, &mut decisions) };
            if is_known(&cover) {
                taken.push(entry);
                operators.push(Grown { cover, operator: None });
            } else if let Some(operator) = growth.constructible(root, &cover) {
                taken.push(entry);
                let cover = Cover { template: operator.template.unwrap_or(template), ..cover };
                operators.push(Grown { cover, operator: Some(operator) });
            }
        }
        decisions.entries.sort_unstable();
        decisions.entries.dedup();
        (operators, decisions)
    }

    /// Whether operators of a simpler template from the root are all that those at hand come to in a branch and those that
    /// it leads to.
    ///
    /// So it is where nothing that the operator may come to include needs the template, and has entries of both that are
    /// alike: of these both templates choose the same references, whatever else is cut off.
    pub(super) fn is_simpler_work(&self, branch: &Branch) -> bool {
        let Growing { growth, root, template } = self;
        let Some(simpler) = template.simpler().filter(|_| growth.groups[*root].has_main) else { return false };
        let mut met = GroupSet::from_iter([*root]);
        let mut pending: SmallVec<[Member; 16]> = SmallVec::from_slice(&[*root]);
        while let Some(member) = pending.pop() {
            let [own, other] = [template.ttype(), simpler].map(|ttype| self.entries_in(member, ttype, branch));
            if !are_alike(&own, &other) {
                return false;
            }
            let references = own.iter().chain(&other).flat_map(|entry| entry.references.iter().copied());
            pending.extend(references.filter(|&reference| met.insert(reference)));
        }
        let id = growth.search.id(*root);
        !met.iter().any(|member| template.is_needed(growth.search.context, growth.search.id(member), id))
    }

    /// Whether all that is ever cut off is read by every operator of the branches from there on.
    ///
    /// So it is where the entries of every group have all sets of the references that they have: then an operator covers
    /// what references lead to from the root without what is cut off. What is cut off in a branch was a member, so that a
    /// member refers to it; that one, and a way of references to it, comes after what is cut off, and is never cut off later.
    pub(super) fn reads_what_is_cut(&self) -> bool {
        let Growing { growth, root, template } = self;
        let own = template.ttype() as usize;
        let is_free = |&member: &Member| {
            let group = &growth.groups[member];
            member == *root && group.starts_freely[own]
                || member != *root
                    && [own, PART as usize].iter().all(|&of| group.continues_freely[of] || group.open[of].is_empty())
        };
        !template.is_driven() && growth.below.iter().all(is_free)
    }

    /// The entries of a template that start an operator at the root, or continue one at a group below, and refer to
    /// nothing that is cut off.
    fn entries_in(&self, member: Member, ttype: TemplateType, branch: &Branch) -> SmallVec<[&Entry<'_>; 8]> {
        let entries = self.growth.groups[member]
            .entries
            .iter()
            .filter(|entry| entry.ttype == ttype && if member == self.root { entry.is_start } else { entry.is_open });
        entries.filter(|entry| !entry.references.iter().any(|&reference| branch.cut.contains(reference))).collect()
    }
}

/// Whether all references of an entry are among those of another one.
fn is_part(entry: &Entry<'_>, other: &Entry<'_>) -> bool {
    entry.references.iter().all(|reference| other.references.contains(reference))
}

impl<'a> Growth<'a> {
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
    fn members(&self, root: Member, entry: &Entry<'a>, decisions: &mut Decisions) -> GroupSet {
        let mut members = GroupSet::default();
        follow(entry, |reference, ttype| {
            if !members.insert(reference) {
                return None;
            }
            let index = self.choices[reference].of(ttype)?;
            if self.has_alternative(reference, index) {
                decisions.entries.push((reference, index));
            }
            Some(self.groups[reference].entry(index))
        });
        decisions.producers = decisions.producers.union(&members.within(&self.separable));
        members.insert(root);
        members
    }

    /// The operator with a cover, if it can be constructed.
    fn constructible(&self, root: Member, cover: &Cover) -> Option<Operator> {
        let operator = self.operator(root, cover);
        if cover.template == PART && self.groups[root].has_main {
            return Some(operator);
        }
        operator.constructible(self.search.context)
    }

    /// The operator with a cover.
    fn operator(&self, root: Member, Cover { template, members }: &Cover) -> Operator {
        let mut inputs = Hops::with_capacity(members.len());
        let mut ids = Hops::with_capacity(members.len());
        for group in members.iter().map(|member| &self.groups[member]) {
            ids.push(group.id);
            for &(id, member) in group.inputs {
                if !member.is_some_and(|member| members.contains(member)) {
                    insert(&mut inputs, id);
                }
            }
        }
        Operator { template: Some(*template), roots: smallvec![self.search.id(root)], members: ids, inputs }
    }
}

/// Adds an input to ascending ones. Members ascend, and so do most of their inputs: the place is not far from the end.
fn insert(inputs: &mut Hops, id: HopId) {
    let place = inputs.iter().rposition(|&known| known <= id).map_or(0, |before| before + 1);
    if place == 0 || inputs[place - 1] != id {
        inputs.insert(place, id);
    }
}
