//! The operators that may compute a group: what the search chooses among.
//!
//! An operator grows from its root along the references of the memo table. At every interesting producer (one that some
//! interesting point leads to) it either includes the producer or reads it, so the operators of a root are found by
//! branching: grow, then for each interesting producer among the members cut it off, include for good the producers that
//! come after it, and grow again. What is cut off further down lies below or beside it, so that it stays an input, and
//! hardly an operator is met twice. In contrast to the paper's assignments two operators may
//! decide differently about the same producer, and every template that can start at the root gets its turn.
//!
//! Where a plan is known, operators are left out that no better one has: whatever is materialised besides what every plan
//! materialises must be written in what the known plan costs more than the bound.

use super::super::bound::least_seconds_to_write;
use super::super::space::constructible;
use super::branch::{Branch, Decisions};
use super::group_set::GroupSet;
use crate::cost::{CostModel, Operator};
use crate::partition::{InterestingPoint, PlanPartition};
use crate::template::Context;
use cranelift_entity::SecondaryMap;
use fuseline_ir::hop::HopId;
use fuseline_ir::memo::{MemoEntry, MemoTable, TemplateType};
use smallvec::{SmallVec, smallvec};
use std::collections::BTreeMap;

/// Templates that an operator can start with, in the order in which they are tried.
const STARTS: [TemplateType; 3] = [TemplateType::Outer, TemplateType::Row, TemplateType::Cell];

/// A position among the members of the partition.
pub(super) type Position = usize;

/// An operator that may compute a group.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// The operator; several are one multi-aggregate.
    pub(super) operators: SmallVec<[Operator; 1]>,
    /// The price.
    pub(super) seconds: f64,
    /// The groups of the partition that it reads.
    pub(super) reads: GroupSet,
}

/// The candidates of one group.
#[derive(Clone, Debug, Default)]
pub(super) struct Candidates {
    /// In the order in which they were found.
    pub(super) list: Vec<Candidate>,
    /// Whether these are all.
    pub(super) is_complete: bool,
}

struct Entry {
    ttype: TemplateType,
    is_open: bool,
    is_valid: bool,
    references: SmallVec<[Position; 3]>,
}

/// The entries of each template (its own and those of Cell) that a growing operator continues with.
type Choice = [Option<u32>; TemplateType::ALL.len()];

/// The groups of a partition with their entries, indexed by position.
pub(super) struct Groups<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) partition: &'a PlanPartition,
    model: &'a CostModel,
    entries: Vec<Vec<Entry>>,
    positions: SecondaryMap<HopId, Option<u32>>,
    /// Seconds by group to materialise it at least, zero where every plan does.
    write: Vec<f64>,
    /// Seconds that a plan has for materialising groups that not every plan materialises.
    slack: f64,
    /// Whether a group may be cut off from the operators that refer to it.
    is_interesting: Vec<bool>,
    /// By position, the last growth that cut the group off, and the last that has it as a member.
    cut: Vec<u64>,
    member: Vec<u64>,
    choices: Vec<Choice>,
    /// The same where nothing is decided.
    undecided: Vec<Choice>,
    growths: u64,
    /// Branches of the search for operators so far.
    pub(super) branches: u64,
    /// Operators priced so far.
    pub(super) priced: u64,
    /// Groups visited so far.
    pub(super) visited: u64,
}

impl<'a> Groups<'a> {
    pub(super) fn new(
        context: &'a Context<'a>,
        memo: &MemoTable,
        partition: &'a PlanPartition,
        model: &'a CostModel,
        slack: f64,
    ) -> Self {
        let count = partition.members.len();
        let mut positions = SecondaryMap::<HopId, Option<u32>>::new();
        for (position, &member) in partition.members.iter().enumerate() {
            positions[member] = Some(position as u32);
        }
        let position = |id: HopId| positions[id].map(|position| position as usize);
        let index = |entry: &MemoEntry| Entry {
            ttype: entry.ttype,
            is_open: entry.close.is_open(),
            is_valid: entry.close.is_valid() && entry.has_references(),
            references: entry.references().filter_map(position).collect(),
        };
        let indexed = |&member: &HopId| {
            let mut entries = memo.entries(member).to_vec();
            // The order of exploration decides nothing.
            entries.sort_unstable();
            entries.iter().map(index).collect()
        };
        let entries = partition.members.iter().map(indexed).collect();
        let mut is_interesting = vec![false; count];
        for &InterestingPoint { producer, .. } in &partition.points {
            if let Some(position) = position(producer) {
                is_interesting[position] = true;
            }
        }
        let (cut, member, choices) = (vec![0; count], vec![0; count], vec![Choice::default(); count]);
        let (growths, branches, priced, visited) = (0, 0, 0, 0);
        let mut groups = Groups {
            context,
            partition,
            model,
            entries,
            positions,
            write: partition.members.iter().map(|&id| least_seconds_to_write(model, context, id)).collect(),
            slack,
            is_interesting,
            cut,
            member,
            undecided: choices.clone(),
            choices,
            growths,
            branches,
            priced,
            visited,
        };
        for position in groups.required() {
            groups.write[position] = 0.0;
        }
        groups
    }

    pub(super) fn position(&self, id: HopId) -> Option<Position> {
        self.positions[id].map(|position| position as usize)
    }

    /// The groups that every plan materialises, ascending.
    pub(super) fn required(&self) -> Vec<Position> {
        let starts = self.partition.roots.iter().chain(&self.partition.externally_consumed);
        let mut required: Vec<Position> = starts.filter_map(|&id| self.position(id)).collect();
        required.sort_unstable();
        required
    }

    /// Seconds that no operator of this group can undercut: it writes the group's value.
    pub(super) fn floor(&self, position: Position) -> f64 {
        least_seconds_to_write(self.model, self.context, self.partition.members[position])
    }

    /// Whether a plan that materialises a group and these others may be better than the known one.
    fn is_affordable(&self, root: Position, reads: &[Position]) -> bool {
        self.write[root] + reads.iter().map(|&read| self.write[read]).sum::<f64>() <= self.slack
    }

    /// The operators of a group, found in at most `limit` branches.
    pub(super) fn candidates(&mut self, root: Position, limit: u64) -> Candidates {
        let below = self.below(root);
        let last = self.branches + limit;
        let mut found = Candidates { list: Vec::new(), is_complete: true };
        // By operator: the templates as which it grew, with what was left to decide. Row operators that do a Cell operator's
        // work grow to others than Cell operators when something is cut off.
        let mut seen: BTreeMap<_, Vec<(TemplateType, GroupSet)>> = BTreeMap::new();
        let mut is_always_fused = false;
        for template in STARTS {
            let is_start = |entry: &Entry| entry.ttype == template && entry.is_valid;
            if !self.entries[root].iter().any(is_start) {
                continue;
            }
            self.choose_undecided(template, &below);
            let mut pending = vec![Branch::default()];
            while let Some(branch) = pending.pop() {
                if self.branches >= last {
                    found.is_complete = false;
                    break;
                }
                self.branches += 1;
                let (operators, decisions) = self.grow(root, template, &below, &branch);
                // Nothing is left to be cut off: the group has a fused operator whatever is materialised.
                is_always_fused |= decisions.producers.is_empty() && !operators.is_empty();
                let open = branch.undecided(&decisions);
                let mut leads_on = operators.is_empty();
                for operator in operators {
                    let earlier = seen.entry((operator.template, operator.members.clone())).or_default();
                    leads_on |= !earlier.iter().any(|(grown_as, all)| *grown_as == template && open.is_subset(all));
                    let is_new = earlier.is_empty();
                    earlier.push((template, open.clone()));
                    if is_new {
                        self.list(root, operator, &mut found);
                    }
                }
                if leads_on {
                    branch.split(&open, &decisions.entries, &mut pending);
                }
            }
        }
        // Where the budget ended, a fused operator that is always there may be among those that were not found.
        if found.list.is_empty() || found.is_complete && !is_always_fused {
            let basic = self.basic(root);
            self.list(root, basic, &mut found);
        }
        found
    }

    /// Adds an operator of a group to the candidates unless only plans have it that are worse than the known one.
    fn list(&mut self, root: Position, operator: Operator, found: &mut Candidates) {
        let reads: GroupSet = operator.inputs.iter().filter_map(|&id| self.position(id)).collect();
        if self.is_affordable(root, &reads) {
            self.priced += 1;
            let seconds = self.model.operator_seconds(self.context, &operator);
            found.list.push(Candidate { operators: smallvec![operator], seconds, reads });
        }
    }

    /// The basic operator of a group.
    pub(super) fn basic(&self, position: Position) -> Operator {
        let root = self.partition.members[position];
        let mut inputs = self.context.hop(root).inputs.to_vec();
        inputs.sort_unstable();
        inputs.dedup();
        Operator { template: None, root, members: vec![root], inputs }
    }

    /// The groups that references lead to from here, ascending, this one included.
    fn below(&mut self, root: Position) -> Vec<Position> {
        self.growths += 1;
        let mut below = vec![root];
        let mut next = 0;
        self.member[root] = self.growths;
        while let Some(&position) = below.get(next) {
            next += 1;
            for &reference in self.entries[position].iter().flat_map(|entry| &entry.references) {
                if std::mem::replace(&mut self.member[reference], self.growths) != self.growths {
                    below.push(reference);
                }
            }
        }
        self.visited += below.len() as u64;
        below.sort_unstable();
        below
    }

    /// The operators of a branch, and what there is to decide about them. There are several where no entry of the root
    /// has the references of all others.
    fn grow(
        &mut self,
        root: Position,
        template: TemplateType,
        below: &[Position],
        branch: &Branch,
    ) -> (SmallVec<[Operator; 1]>, Decisions) {
        self.growths += 1;
        self.visited += below.len() as u64;
        for &position in &branch.cut {
            self.cut[position] = self.growths;
        }
        // Groups below all that is decided choose as they do where nothing is.
        let first = branch.first_decided();
        for &position in below {
            let is_unchanged = first.is_none_or(|first| position < first);
            self.choices[position] =
                if is_unchanged { self.undecided[position] } else { self.choose(position, template, branch) };
        }
        let mut decisions = Decisions::default();
        let mut operators = SmallVec::new();
        let mut taken: SmallVec<[usize; 4]> = SmallVec::new();
        for number in self.starts(root, template) {
            let references = |number: usize| &self.entries[root][number].references;
            let contains = |other: &usize| references(number).iter().all(|id| references(*other).contains(id));
            if taken.iter().any(contains) {
                continue;
            }
            let fused = self.fused(root, number, &mut decisions);
            if let Some(operator) = constructible(self.context, fused) {
                taken.push(number);
                operators.push(operator);
            }
        }
        decisions.producers.sort_unstable();
        decisions.producers.dedup();
        decisions.entries.sort_unstable();
        decisions.entries.dedup();
        (operators, decisions)
    }

    /// The usable entries of a template to start an operator with, those with more references first.
    fn starts(&self, root: Position, template: TemplateType) -> SmallVec<[usize; 8]> {
        let entries = &self.entries[root];
        let is_start = |&number: &usize| {
            let entry = &entries[number];
            entry.ttype == template && entry.is_valid && self.is_usable(entry)
        };
        let mut starts: SmallVec<[usize; 8]> = (0..entries.len()).filter(is_start).collect();
        starts.sort_by_key(|&number| usize::MAX - entries[number].references.len());
        starts
    }

    /// Chooses entries where nothing is decided.
    fn choose_undecided(&mut self, template: TemplateType, below: &[Position]) {
        self.growths += 1;
        for &position in below {
            self.choices[position] = self.choose(position, template, &Branch::default());
            self.undecided[position] = self.choices[position];
        }
    }

    /// The best usable open entries of a group, for operators of this template and for Cell parts of them.
    fn choose(&self, position: Position, template: TemplateType, branch: &Branch) -> Choice {
        let mut choice = Choice::default();
        if self.cut[position] == self.growths {
            return choice;
        }
        let entries = &self.entries[position];
        for (number, entry) in entries.iter().enumerate() {
            if !entry.is_open || branch.refused.contains(&(position, number)) || !self.is_usable(entry) {
                continue;
            }
            for continued in [template, TemplateType::Cell] {
                let slot = &mut choice[continued as usize];
                let key = |entry: &Entry| (entry.ttype == continued, entry.references.len());
                let fits = entry.ttype == continued || entry.ttype == TemplateType::Cell;
                if fits && slot.is_none_or(|best| key(entry) > key(&entries[best as usize])) {
                    *slot = Some(number as u32);
                }
            }
        }
        choice
    }

    fn is_usable(&self, entry: &Entry) -> bool {
        let resumed = |&position: &Position| {
            self.choices[position][entry.ttype as usize].map(|number| &self.entries[position][number as usize])
        };
        // An Outer operator must reach its product, which only Outer entries lead to.
        let reaches_product = entry.ttype != TemplateType::Outer
            || entry.references.is_empty()
            || entry.references.iter().filter_map(resumed).any(|entry| entry.ttype == TemplateType::Outer);
        reaches_product && entry.references.iter().all(|reference| resumed(reference).is_some())
    }

    /// Whether another open Outer entry of the group has references that this one lacks.
    fn has_alternative(&self, position: Position, number: usize) -> bool {
        let entries = &self.entries[position];
        let own = &entries[number];
        let lacks = |other: &Entry| other.references.iter().any(|reference| !own.references.contains(reference));
        own.ttype == TemplateType::Outer
            && entries
                .iter()
                .any(|other| other.ttype == own.ttype && other.is_open && lacks(other) && self.is_usable(other))
    }

    /// The operator that an entry of a group starts; collects what there is to decide about it.
    fn fused(&mut self, root: Position, number: usize, decisions: &mut Decisions) -> Operator {
        self.growths += 1;
        let mut members = vec![self.partition.members[root]];
        let mut inputs: Vec<HopId> = Vec::new();
        let mut pending: SmallVec<[(Position, usize); 16]> = SmallVec::from_slice(&[(root, number)]);
        while let Some((position, number)) = pending.pop() {
            let entry = &self.entries[position][number];
            for &input in &self.context.hop(self.partition.members[position]).inputs {
                let reference = entry.references.iter().find(|&&reference| self.partition.members[reference] == input);
                let Some(&reference) = reference else {
                    inputs.push(input);
                    continue;
                };
                if std::mem::replace(&mut self.member[reference], self.growths) != self.growths {
                    members.push(input);
                    if self.is_interesting[reference] {
                        decisions.producers.push(reference);
                    }
                    // A Cell entry inside of another template continues with Cell entries.
                    if let Some(number) = self.choices[reference][entry.ttype as usize] {
                        let resume = (reference, number as usize);
                        if self.has_alternative(reference, number as usize) {
                            decisions.entries.push(resume);
                        }
                        pending.push(resume);
                    }
                }
            }
        }
        let template = Some(self.entries[root][number].ttype);
        let root = self.partition.members[root];
        members.sort_unstable();
        inputs.sort_unstable();
        inputs.dedup();
        inputs.retain(|input| members.binary_search(input).is_err());
        Operator { template, root, members, inputs }
    }
}
