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

use super::reachability::{Points, ReachabilityGraph};
use crate::cost::CostModel;
use crate::cover::{Hops, Operator, constructible};
use crate::facts::Context;
use crate::partition::{InterestingPoint, PlanPartition};
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use fixedbitset::FixedBitSet;
use fuseline_ir::hop::HopId;
use fuseline_ir::memo::{MemoEntry, MemoTable, TemplateType};
use smallvec::{SmallVec, smallvec};

/// An entry with its references as positions in the partition.
struct Entry {
    entry: MemoEntry,
    references: SmallVec<[usize; 3]>,
    /// Interesting points that invalidate the entry when materialised.
    points: SmallVec<[usize; 3]>,
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
    entries: BumpVec<'a, BumpVec<'a, Entry>>,
}

/// The rank in which templates are preferred.
fn rank(ttype: TemplateType) -> usize {
    match ttype {
        TemplateType::MAgg => 0,
        TemplateType::Outer => 1,
        TemplateType::Row => 2,
        TemplateType::Cell => 3,
    }
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
        let index = |consumer: HopId, entry: &MemoEntry| Entry {
            entry: *entry,
            references: entry.references().filter_map(position).collect(),
            points: entry
                .references()
                .filter_map(|producer| partition.points.binary_search(&InterestingPoint { consumer, producer }).ok())
                .collect(),
        };
        let indexed = |&member: &HopId| {
            let entries = memo.entries(member).iter().map(|entry| index(member, entry));
            let mut entries = BumpVec::from_iter_in(entries, scratch);
            // The order of exploration decides nothing.
            entries.sort_unstable_by_key(|entry| entry.entry);
            entries
        };
        let entries = BumpVec::from_iter_in(partition.members.iter().map(indexed), scratch);
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
        let is_start = |entry: &Entry| entry.entry.close.is_valid() && !entry.references.is_empty();
        self.entries[group].iter().any(|entry| entry.entry.ttype == template && is_start(entry))
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
            for (number, candidate) in entries.iter().enumerate() {
                if !candidate.entry.close.is_open() || !self.is_usable(candidate, assignment, choices) {
                    continue;
                }
                let ttype = candidate.entry.ttype;
                let count = candidate.references.len();
                for template in TemplateType::ALL {
                    let slot = &mut choice[*template as usize];
                    let is_better = match slot.map(|best| &entries[best]) {
                        _ if ttype != *template && ttype != TemplateType::Cell => false,
                        None => true,
                        Some(best) => {
                            (ttype == *template, count) > (best.entry.ttype == *template, best.references.len())
                        }
                    };
                    if is_better {
                        *slot = Some(number);
                    }
                }
            }
            choices.push(choice);
        }
    }

    fn is_usable(&self, candidate: &Entry, assignment: &Points, choices: &[Choice]) -> bool {
        let template = candidate.entry.ttype;
        let resumed =
            |position: usize| choices[position][template as usize].map(|number| &self.entries[position][number]);
        // An Outer operator must reach its product, which only Outer entries lead to.
        let reaches_product = template != TemplateType::Outer
            || candidate.references.is_empty()
            || candidate
                .references
                .iter()
                .any(|&reference| resumed(reference).is_some_and(|entry| entry.entry.ttype == TemplateType::Outer));
        reaches_product
            && !candidate.points.iter().any(|&point| assignment.contains(point))
            && candidate.references.iter().all(|&reference| resumed(reference).is_some())
    }

    /// The operator that starts at a group: fused by the best entry that gives one which can be constructed, else basic.
    pub(crate) fn operator(&self, start: usize, assignment: &Points, reading: &mut Reading) -> Operator {
        let mut refused: SmallVec<[usize; 4]> = SmallVec::new();
        while let Some(number) = self.start_entry(start, assignment, &reading.choices, &refused) {
            let operator = self.fused(start, number, reading);
            if let Some(operator) = constructible(self.context, operator) {
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
            let entry = &entries[number];
            entry.entry.close.is_valid()
                && !entry.references.is_empty()
                && !refused.contains(&number)
                && self.is_usable(entry, assignment, choices)
        };
        let key = |&number: &usize| {
            let entry = &entries[number];
            (rank(entry.entry.ttype), usize::MAX - entry.references.len())
        };
        (0..entries.len()).filter(is_start).min_by_key(key)
    }

    /// The operator that an entry of a group starts.
    fn fused(&self, start: usize, number: usize, reading: &mut Reading) -> Operator {
        let root = self.partition.members[start];
        let template = self.entries[start][number].entry.ttype;
        reading.operators += 1;
        let mut members: Hops = smallvec![root];
        let mut inputs = Hops::new();
        let mut pending: SmallVec<[(usize, usize); 16]> = SmallVec::from_slice(&[(start, number)]);
        while let Some((position, number)) = pending.pop() {
            let entry = &self.entries[position][number];
            for &input in &self.context.hop(self.partition.members[position]).inputs {
                let reference = entry.references.iter().find(|&&reference| self.partition.members[reference] == input);
                let Some(&reference) = reference else {
                    inputs.push(input);
                    continue;
                };
                if reading.is_new(reference) {
                    members.push(input);
                    // A Cell entry inside of another template continues with Cell entries.
                    let resume = reading.choices[reference][entry.entry.ttype as usize];
                    pending.extend(resume.map(|number| (reference, number)));
                }
            }
        }
        members.sort_unstable();
        inputs.sort_unstable();
        inputs.dedup();
        inputs.retain(|input| members.binary_search(input).is_err());
        Operator { template: Some(template), roots: smallvec![root], members, inputs }
    }
}
