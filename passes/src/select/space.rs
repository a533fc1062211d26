//! The search space of one partition, indexed for fast reading of many plans.
//!
//! Under an assignment entries whose references cross a materialised point are unusable, and so are entries that refer
//! to a group without a usable compatible entry. One ascending sweep finds for each group and template the best entry
//! to continue an operator with. Reading the plan then follows references from the roots; every materialised group
//! starts one operator, with the best entry that gives an operator with a main input.
//!
//! The order among entries is total: to start an operator, entries with references come first, then Outer before Row
//! before Cell, then more references; to continue one, its own template before Cell, then more references; what
//! remains equal is decided by the order of their references.

use super::entry::{Entry, slice};
use super::reachability::{Points, ReachabilityGraph};
use crate::cost::CostModel;
use crate::cover::{Hops, Operator, outside_inputs};
use crate::facts::Context;
use crate::partition::{InterestingPoint, PlanPartition};
use crate::template;
use crate::walk::{follow, leads_on, preference};
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use fixedbitset::FixedBitSet;
use fuseline_ir::hop::HopId;
use fuseline_ir::memo::{MemoTable, TemplateType};
use smallvec::{SmallVec, smallvec};
use std::cmp::Reverse;

/// An entry with what invalidates it.
#[derive(Clone, Copy)]
struct PointedEntry<'a> {
    entry: Entry<'a>,
    /// The interesting points that it crosses: none of these may be materialised.
    points: &'a [usize],
}

/// The best entries of a group to continue an operator with under an assignment, by template, as positions among its
/// entries.
type Choice = [Option<usize>; TemplateType::ALL.len()];

/// What reading operators off the table needs to know of an assignment.
#[derive(Default)]
pub(crate) struct Reading {
    choices: Vec<Choice>,
    /// The operator that a group was last a member of, by number.
    member_of: Vec<u64>,
    operators: u64,
}

impl Reading {
    /// Whether a group was not met before in the operator at hand.
    fn is_new(&mut self, group: usize) -> bool {
        std::mem::replace(&mut self.member_of[group], self.operators) != self.operators
    }
}

/// Points, in the order in which they are met.
pub(crate) type Influences = SmallVec<[u32; 8]>;

/// A partition prepared for search. Groups are positions in [`PlanPartition::members`], points in
/// [`PlanPartition::points`].
pub(crate) struct SearchSpace<'a> {
    pub(crate) context: &'a Context<'a>,
    pub(crate) partition: &'a PlanPartition,
    pub(crate) model: &'a CostModel,
    pub(crate) graph: ReachabilityGraph,
    /// Memory for what is needed until the partition is decided.
    pub(crate) scratch: &'a Bump,
    entries: BumpVec<'a, &'a [PointedEntry<'a>]>,
}

impl<'a> SearchSpace<'a> {
    pub(crate) fn new(
        context: &'a Context<'a>,
        memo: &MemoTable,
        partition: &'a PlanPartition,
        model: &'a CostModel,
        scratch: &'a Bump,
    ) -> Self {
        let position = |id: HopId| partition.members.binary_search(&id).ok();
        let of_member = |&member: &HopId| {
            let entries = Entry::all_of(memo, member, position, scratch).iter();
            slice(
                scratch,
                entries.map(|&entry| PointedEntry { entry, points: points_of(partition, member, &entry, scratch) }),
            )
        };
        let entries = BumpVec::from_iter_in(partition.members.iter().map(of_member), scratch);
        let graph = ReachabilityGraph::new(context, memo, partition);
        SearchSpace { context, partition, model, graph, entries, scratch }
    }

    /// Number of interesting points.
    pub(crate) fn points(&self) -> usize {
        self.partition.points.len()
    }

    /// The assignment in which nothing is materialised that need not be: maximal fusion.
    pub(crate) fn fuse_all(&self) -> Points {
        Points::with_capacity(self.points())
    }

    /// The assignment that materialises every point whose producer several operators consume.
    pub(crate) fn without_redundancy(&self) -> Points {
        let shared = |id| self.context.consumer_count(id) > 1;
        let points = self.partition.points.iter().enumerate();
        let mut assignment = self.fuse_all();
        assignment.extend(points.filter(|(_, point)| shared(point.producer)).map(|(number, _)| number));
        assignment
    }

    /// Whether a group has plans of a template.
    pub(crate) fn has_template(&self, group: usize, template: TemplateType) -> bool {
        self.entries[group].iter().any(|entry| entry.entry.ttype == template)
    }

    /// Whether an operator of the template may start at a group.
    pub(crate) fn starts(&self, group: usize, template: TemplateType) -> bool {
        self.entries[group].iter().any(|pointed| pointed.entry.ttype == template && pointed.entry.is_start)
    }

    /// Of the points of an assignment, those that determine the operator which starts at a group: what lies below a
    /// materialised point has no influence.
    pub(crate) fn influences(&self, group: usize, assignment: &Points, reading: &mut Reading) -> Influences {
        let mut influences = Influences::new();
        reading.member_of.resize(self.entries.len(), 0);
        reading.operators += 1;
        let mut pending: SmallVec<[usize; 32]> = SmallVec::from_slice(&[group]);
        while let Some(group) = pending.pop() {
            for reference in self.graph.references_of(group) {
                match reference.point.filter(|&point| assignment.contains(point)) {
                    Some(point) => influences.push(point as u32),
                    None if reading.is_new(reference.producer) => pending.push(reference.producer),
                    None => {}
                }
            }
        }
        influences
    }

    /// The basic and fused operators of the plan under an assignment.
    pub(crate) fn operators(&self, assignment: &Points) -> Vec<Operator> {
        let reading = &mut Reading::default();
        self.read(assignment, reading);
        let mut operators = Vec::new();
        let mut materialized = FixedBitSet::with_capacity(self.entries.len());
        let mut pending: SmallVec<[usize; 32]> = self.graph.starts.iter().rev().copied().collect();
        while let Some(group) = pending.pop() {
            if !materialized.put(group) {
                let operator = self.operator(group, assignment, reading);
                pending.extend(self.materialized_inputs(&operator).rev());
                operators.push(operator);
            }
        }
        operators
    }

    /// The groups that an operator reads.
    pub(crate) fn materialized_inputs<'b>(
        &'b self,
        operator: &'b Operator,
    ) -> impl DoubleEndedIterator<Item = usize> + 'b {
        operator.inputs.iter().filter_map(|id| self.partition.members.binary_search(id).ok())
    }

    /// Prepares the reading of operators under an assignment: the best usable open entries of every group.
    pub(crate) fn read(&self, assignment: &Points, reading: &mut Reading) {
        reading.member_of.resize(self.entries.len(), 0);
        self.choose(assignment, &mut reading.choices);
    }

    /// The best usable open entries of every group.
    fn choose(&self, assignment: &Points, choices: &mut Vec<Choice>) {
        choices.clear();
        choices.reserve(self.entries.len());
        for entries in &self.entries {
            let mut choice = Choice::default();
            let usable = entries.iter().enumerate().filter(|(_, pointed)| pointed.entry.is_open);
            for (number, pointed) in usable.filter(|(_, pointed)| self.is_usable(pointed, assignment, choices)) {
                for (slot, &template) in choice.iter_mut().zip(TemplateType::ALL) {
                    if !template::of(template).continues_with(pointed.entry.ttype) {
                        continue;
                    }
                    let own = preference(&pointed.entry, template);
                    if slot.is_none_or(|best| own > preference(&entries[best].entry, template)) {
                        *slot = Some(number);
                    }
                }
            }
            choices.push(choice);
        }
    }

    fn is_usable(&self, pointed: &PointedEntry<'_>, assignment: &Points, choices: &[Choice]) -> bool {
        let ttype = pointed.entry.ttype;
        !pointed.points.iter().any(|&point| assignment.contains(point))
            && leads_on(&pointed.entry, |reference| self.continued(reference, ttype, choices))
    }

    /// The entry that a group continues operators of a template with.
    fn continued(&self, group: usize, template: TemplateType, choices: &[Choice]) -> Option<&Entry<'a>> {
        choices[group][template as usize].map(|number| &self.entries[group][number].entry)
    }

    /// The operator that starts at a group: fused by the best entry that gives one which can be constructed, else basic.
    pub(crate) fn operator(&self, start: usize, assignment: &Points, reading: &mut Reading) -> Operator {
        let mut refused: SmallVec<[usize; 4]> = SmallVec::new();
        while let Some(number) = self.start_entry(start, assignment, &reading.choices, &refused) {
            let operator = self.fused(start, number, reading);
            if let Some(operator) = operator.constructible(self.context) {
                return operator;
            }
            refused.push(number);
        }
        Operator::basic(self.context, self.partition.members[start])
    }

    /// The best usable entry with references to start an operator with, besides the refused ones.
    fn start_entry(&self, start: usize, assignment: &Points, choices: &[Choice], refused: &[usize]) -> Option<usize> {
        let entries = &self.entries[start];
        let is_start = |&number: &usize| {
            let pointed = &entries[number];
            pointed.entry.is_start && !refused.contains(&number) && self.is_usable(pointed, assignment, choices)
        };
        (0..entries.len()).filter(is_start).min_by_key(|&number| {
            let Entry { ttype, references, .. } = entries[number].entry;
            (template::of(ttype).rank(), Reverse(references.len()))
        })
    }

    /// The operator that an entry of a group starts.
    fn fused(&self, start: usize, number: usize, reading: &mut Reading) -> Operator {
        let start_entry = &self.entries[start][number].entry;
        let root = self.partition.members[start];
        reading.operators += 1;
        let mut members: Hops = smallvec![root];
        follow(start_entry, |reference, ttype| {
            if !reading.is_new(reference) {
                return None;
            }
            members.push(self.partition.members[reference]);
            self.continued(reference, ttype, &reading.choices)
        });
        members.sort_unstable();
        let inputs = outside_inputs(self.context.dag, &members);
        Operator { template: Some(start_entry.ttype), roots: smallvec![root], members, inputs }
    }
}

/// The interesting points that an entry of a member crosses.
fn points_of<'a>(partition: &PlanPartition, member: HopId, entry: &Entry<'_>, scratch: &'a Bump) -> &'a [usize] {
    let points = entry.references.iter().filter_map(|&reference| {
        let point = InterestingPoint { consumer: member, producer: partition.members[reference] };
        partition.points.binary_search(&point).ok()
    });
    slice(scratch, points)
}
