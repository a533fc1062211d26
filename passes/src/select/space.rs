//! The search space of one partition, indexed for fast costing of many assignments.
//!
//! Under an assignment entries whose references cross a materialised point are unusable, and so are entries that refer
//! to a group without a usable compatible entry. One ascending sweep finds for each group and template the best entry
//! to continue an operator with. Reading the plan then follows references from the roots; every materialised group
//! starts one operator (the paper's `getPlanCost`, where the pairs of operator and cost vector that it memoises are the
//! members of one operator here), with the best entry that gives an operator with a main input.
//!
//! The order among entries is total: to start an operator, entries with references come first, then Outer before Row
//! before Cell, then more references; to continue one, its own template before Cell, then more references; what
//! remains equal is decided by the order of exploration.

use super::PlanAssignment;
use super::prune::needs_rows;
use crate::construct::is_constructible;
use crate::cost::{self, CostModel, Operator};
use crate::partition::{InterestingPoint, PlanPartition};
use crate::template::Context;
use cranelift_entity::SecondaryMap;
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::HopId;
use fuseline_ir::memo::{MemoEntry, MemoTable, TemplateType};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::collections::BTreeMap;

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

/// Working memory of one costing.
#[derive(Default)]
struct Scratch {
    choices: Vec<Choice>,
    /// The costing in which a group was last materialised.
    materialized: Vec<u32>,
    costings: u32,
    /// The operator that a group was last a member of.
    member_of: Vec<u64>,
    operators: u64,
}

/// A partition prepared for search.
pub(crate) struct SearchSpace<'a> {
    pub(crate) context: &'a Context<'a>,
    pub(crate) partition: &'a PlanPartition,
    pub(crate) model: &'a CostModel,
    entries: Vec<Vec<Entry>>,
    positions: SecondaryMap<HopId, Option<u32>>,
    bound: Bound,
    scratch: RefCell<Scratch>,
}

/// The parts of the static lower bound, in seconds.
struct Bound {
    read: f64,
    compute: f64,
    write: f64,
    /// Seconds of writing, and least seconds of reading, when a point's producer is materialised.
    producers: Vec<(HopId, f64, f64)>,
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
    ) -> Self {
        let mut positions = SecondaryMap::<HopId, Option<u32>>::new();
        for (position, &member) in partition.members.iter().enumerate() {
            positions[member] = Some(position as u32);
        }
        let index = |consumer: HopId, entry: &MemoEntry| Entry {
            entry: *entry,
            references: entry.references().filter_map(|id| positions[id]).map(|position| position as usize).collect(),
            points: entry
                .references()
                .filter_map(|producer| partition.points.binary_search(&InterestingPoint { consumer, producer }).ok())
                .collect(),
        };
        let entries = partition
            .members
            .iter()
            .map(|&member| memo.entries(member).iter().map(|entry| index(member, entry)).collect())
            .collect();
        let bound = Bound::new(context, memo, partition, model);
        SearchSpace { context, partition, model, entries, positions, bound, scratch: RefCell::default() }
    }

    /// Number of interesting points.
    pub(crate) fn points(&self) -> usize {
        self.partition.points.len()
    }

    /// Seconds that no plan with these points materialised (and possibly more) can undercut.
    pub(crate) fn lower_bound(&self, assignment: &[bool]) -> f64 {
        let Bound { mut read, mut write, compute, .. } = self.bound;
        let mut counted: SmallVec<[HopId; 16]> = SmallVec::new();
        for (&(producer, written, least_read), _) in
            self.bound.producers.iter().zip(assignment).filter(|(_, materialized)| **materialized)
        {
            if !counted.contains(&producer) {
                counted.push(producer);
                write += written;
                read += least_read;
            }
        }
        // A hair below, so that rounding never lifts it over the cost of a plan that attains it.
        (write + read.max(compute)) * (1.0 - 1e-12)
    }

    /// Seconds of the plan under an assignment, or `None` as soon as they exceed `limit`.
    pub(crate) fn cost(&self, assignment: &[bool], limit: f64) -> Option<f64> {
        let mut seconds = 0.0;
        let completed = self.visit(assignment, |operator| {
            seconds += self.model.operator_seconds(self.context, operator);
            seconds <= limit
        });
        completed.then_some(seconds)
    }

    /// The basic and fused operators of the plan under an assignment.
    pub(crate) fn operators(&self, assignment: &PlanAssignment) -> Vec<Operator> {
        let mut operators = Vec::new();
        self.visit(assignment, |operator| {
            operators.push(operator.clone());
            true
        });
        operators
    }

    /// The assignment that materialises every point whose producer several operators consume.
    pub(crate) fn without_redundancy(&self) -> PlanAssignment {
        let shared = |id| self.context.consumer_count(id) > 1;
        self.partition.points.iter().map(|point| shared(point.producer)).collect()
    }

    /// Visits each operator of the plan once, until `visitor` says stop; whether it went to the end.
    fn visit(&self, assignment: &[bool], mut visitor: impl FnMut(&Operator) -> bool) -> bool {
        let scratch = &mut *self.scratch.borrow_mut();
        self.choose(assignment, &mut scratch.choices);
        scratch.costings += 1;
        scratch.materialized.resize(self.entries.len(), 0);
        scratch.member_of.resize(self.entries.len(), 0);
        let starts = self.partition.roots.iter().chain(&self.partition.externally_consumed);
        let mut pending: Vec<usize> = starts.filter_map(|&id| self.position(id)).collect();
        pending.reverse();
        while let Some(position) = pending.pop() {
            if std::mem::replace(&mut scratch.materialized[position], scratch.costings) == scratch.costings {
                continue;
            }
            let operator = self.operator(position, assignment, scratch);
            if !visitor(&operator) {
                return false;
            }
            pending.extend(operator.inputs.iter().rev().filter_map(|&id| self.position(id)));
        }
        true
    }

    fn position(&self, id: HopId) -> Option<usize> {
        self.positions[id].map(|position| position as usize)
    }

    /// The best usable open entries of every group.
    fn choose(&self, assignment: &[bool], choices: &mut Vec<Choice>) {
        choices.clear();
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

    fn is_usable(&self, candidate: &Entry, assignment: &[bool], choices: &[Choice]) -> bool {
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
            && !candidate.points.iter().any(|&point| assignment[point])
            && candidate.references.iter().all(|&reference| resumed(reference).is_some())
    }

    /// The operator that starts at a group: fused by the best entry that gives one which can be constructed, else basic.
    fn operator(&self, start: usize, assignment: &[bool], scratch: &mut Scratch) -> Operator {
        let mut refused: SmallVec<[usize; 4]> = SmallVec::new();
        while let Some(number) = self.start_entry(start, assignment, &scratch.choices, &refused) {
            let operator = self.fused(start, number, scratch);
            if let Some(operator) = constructible(self.context, operator) {
                return operator;
            }
            refused.push(number);
        }
        let root = self.partition.members[start];
        let mut inputs = self.context.hop(root).inputs.to_vec();
        inputs.sort_unstable();
        inputs.dedup();
        Operator { template: None, root, members: vec![root], inputs }
    }

    /// The best usable entry with references to start an operator with, besides the refused ones.
    fn start_entry(&self, start: usize, assignment: &[bool], choices: &[Choice], refused: &[usize]) -> Option<usize> {
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
    fn fused(&self, start: usize, number: usize, scratch: &mut Scratch) -> Operator {
        let choices = &scratch.choices;
        let root = self.partition.members[start];
        let template = self.entries[start][number].entry.ttype;
        scratch.operators += 1;
        let mut members = vec![root];
        let mut inputs: Vec<HopId> = Vec::new();
        let mut pending: SmallVec<[(usize, usize); 16]> = SmallVec::from_slice(&[(start, number)]);
        while let Some((position, number)) = pending.pop() {
            let entry = &self.entries[position][number];
            for &input in &self.context.hop(self.partition.members[position]).inputs {
                let reference = entry.references.iter().find(|&&reference| self.partition.members[reference] == input);
                let Some(&reference) = reference else {
                    inputs.push(input);
                    continue;
                };
                if std::mem::replace(&mut scratch.member_of[reference], scratch.operators) != scratch.operators {
                    members.push(input);
                    // A Cell entry inside of another template continues with Cell entries.
                    let resume = choices[reference][entry.entry.ttype as usize];
                    pending.extend(resume.map(|number| (reference, number)));
                }
            }
        }
        members.sort_unstable();
        inputs.sort_unstable();
        inputs.dedup();
        inputs.retain(|input| members.binary_search(input).is_err());
        Operator { template: Some(template), root, members, inputs }
    }
}

/// The operator if it can be constructed, as a Cell operator where that does a Row operator's work.
fn constructible(context: &Context<'_>, operator: Operator) -> Option<Operator> {
    if operator.template == Some(TemplateType::Row) && !needs_rows(context, &operator.members, operator.root) {
        let cell = Operator { template: Some(TemplateType::Cell), ..operator.clone() };
        if is_constructible(context, &cell) {
            return Some(cell);
        }
    }
    is_constructible(context, &operator).then_some(operator)
}

impl Bound {
    fn new(context: &Context<'_>, memo: &MemoTable, partition: &PlanPartition, model: &CostModel) -> Self {
        let is_outer = |entry: &MemoEntry| entry.ttype == TemplateType::Outer;
        let has_outer = partition.members.iter().any(|&id| memo.entries(id).iter().any(is_outer));
        let sparsity = |id: HopId| {
            let sparsity = cost::sparsity(context, id);
            if has_outer { sparsity.min(cost::driver_sparsity(context, id)) } else { sparsity }
        };
        let mut least: BTreeMap<(u64, u64), f64> = BTreeMap::new();
        let key = |size: &SizeInfo| size.known_dims().map(|(rows, cols)| (rows.min(cols), rows.max(cols)));
        for &id in partition.members.iter().chain(&partition.inputs) {
            if let Some(key) = key(&context.hop(id).size) {
                let slot = least.entry(key).or_insert(1.0);
                *slot = slot.min(sparsity(id));
            }
        }
        let least_sparsity = |size: &SizeInfo| key(size).and_then(|key| least.get(&key)).copied().unwrap_or(1.0);
        let bytes = |id: HopId| cost::bytes_of(context, id);
        let least_read = |id: HopId| model.machine.read_time(bytes(id) * least_sparsity(&context.hop(id).size));
        let write = |id: HopId| model.machine.write_time(bytes(id));
        let always_written = || partition.roots.iter().chain(&partition.externally_consumed).copied();
        let written = |id: HopId| if always_written().any(|written| written == id) { 0.0 } else { write(id) };
        Bound {
            read: partition.inputs.iter().map(|&id| least_read(id)).sum(),
            compute: partition.members.iter().map(|&id| model.least_compute_time(context, id, least_sparsity)).sum(),
            write: always_written().map(write).sum(),
            producers: partition
                .points
                .iter()
                .map(|point| (point.producer, written(point.producer), least_read(point.producer)))
                .collect(),
        }
    }
}
