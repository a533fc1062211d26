//! Which aggregates share a pass (X11), decided together with the operators of their partitions.
//!
//! A sharing is a set partition of the aggregates. Under one, the aggregates of each of its sets are one group of
//! the problem of [`super::problem`], whose operators are the unions of one operator of each ([`super::merged`]), so
//! that an operator is chosen that pays only inside of the pass. No sharing saves more over the partitions' own optima than
//! its unions save over their parts: sharings are solved in the order of the lower bounds that this gives, until these reach
//! the best plan.

use super::super::effort::Effort;
use super::super::entry::Member;
use super::super::multi_aggregate::{self, Pass, are_independent, outside_partitions};
use super::super::{PartitionPlan, ROUNDING, SearchLimits};
use super::components::{Component, components};
use super::group_set::GroupSet;
use super::merged::{Aggregate, Merged};
use super::operators::{Candidate, Groups};
use super::problem::{Problem, Variable, undominated};
use super::{assignment, minimize};
use crate::cost::CostModel;
use crate::cover::Operator;
use crate::facts::{Context, can_share_pass};
use bumpalo::Bump;
use cranelift_entity::EntityRef;
use fuseline_ir::hop::HopId;
use fuseline_ir::memo::MemoTable;
use smallvec::{SmallVec, smallvec};
use std::collections::{BTreeMap, BTreeSet};

/// The most aggregates of which every set partition is looked at: 52 of five.
const MAX_AGGREGATES: usize = 5;

/// The most sharings of a component that are solved.
const MAX_SOLVED: usize = 16;

/// Decides about multi-aggregates, within these limits for each component.
pub(in crate::select) struct Arranger<'a> {
    pub(in crate::select) context: &'a Context<'a>,
    pub(in crate::select) memo: &'a MemoTable,
    pub(in crate::select) model: &'a CostModel,
    pub(in crate::select) limits: &'a SearchLimits,
}

/// How aggregates share passes, with what no plan that does so undercuts.
struct Sharing {
    /// The aggregates of each pass, as bits.
    passes: Vec<AggregateSet>,
    lower_bound: f64,
}

/// Aggregates of a component, as bits.
type AggregateSet = u32;

/// A plan of a component.
struct Arrangement {
    operators: Vec<Operator>,
    passes: Vec<Pass>,
}

impl Arranger<'_> {
    /// Replaces plans and passes where others are cheaper together. Gives seconds that nothing undercuts, multi-aggregates
    /// included, and the groups visited.
    pub(in crate::select) fn improve(&self, partitions: &mut [PartitionPlan], passes: &mut Vec<Pass>) -> (f64, u64) {
        let mut visits = 0;
        let outside = outside_partitions(self.context, partitions);
        let mut bound = self.unmerged_bound(partitions.iter(), &outside);
        for component in components(self.context, partitions) {
            let plans = component.partitions.iter().map(|&number| &partitions[number]);
            let unmerged = self.unmerged_bound(plans, &component.outside);
            if unmerged.is_infinite() {
                // A constraint forbids every plan, with passes or without.
                return (f64::INFINITY, visits);
            }
            let members = component.partitions.iter().map(|&number| partitions[number].partition.members.len());
            let effort = Effort::of_groups(self.limits, members.sum::<usize>() + component.outside.len());
            bound += self.improve_component(&component, unmerged, partitions, passes, &effort) - unmerged;
            visits += effort.spent();
        }
        (bound, visits)
    }

    /// Seconds that nothing undercuts without multi-aggregates.
    fn unmerged_bound<'p>(&self, plans: impl Iterator<Item = &'p PartitionPlan>, outside: &[Operator]) -> f64 {
        let outside = outside.iter().map(|operator| self.model.operator_seconds(self.context, operator));
        plans.map(|plan| plan.bound).chain(outside).sum()
    }

    /// [`Self::improve`] for one component, whose parts take at least `unmerged` seconds without multi-aggregates.
    fn improve_component(
        &self,
        component: &Component,
        unmerged: f64,
        partitions: &mut [PartitionPlan],
        passes: &mut Vec<Pass>,
        effort: &Effort,
    ) -> f64 {
        let finding = effort.half();
        let joint = Joint::new(self, component, partitions, &finding);
        effort.spend_all_of(&finding);
        let Some(joint) = joint else { return 0.0 };
        // What follows looks at the whole DAG.
        let all = effort.half();
        all.spend(self.context.dag.hops.len() as u64);
        if joint.aggregates.len() > MAX_AGGREGATES || !joint.problem.is_complete() || all.is_spent() {
            return joint.lower_bound(effort);
        }
        effort.spend_all_of(&all);
        let is_inside =
            |pass: &Pass| pass.operator.roots.iter().any(|root| component.aggregates.binary_search(root).is_ok());
        let (own, others): (Vec<Pass>, Vec<Pass>) = passes.iter().cloned().partition(is_inside);
        let plans = component.partitions.iter().map(|&number| &partitions[number]);
        let mut best_seconds = multi_aggregate::seconds(self.context, self.model, plans, &component.outside, &own);

        let (mut bound, mut best) = (best_seconds, None);
        let (merged, is_complete) = joint.merged();
        let sharings = joint.sharings(&merged, unmerged);
        let mut tables = Bump::new();
        let possible = sharings.iter().filter(|sharing| joint.is_possible(sharing, &merged, effort));
        for (solved, sharing) in possible.enumerate() {
            if !undercuts(sharing.lower_bound, best_seconds) {
                break;
            }
            if solved == MAX_SOLVED {
                bound = bound.min(sharing.lower_bound);
                break;
            }
            let part = effort.half();
            let optimum = minimize(joint.problem_under(sharing, &merged), &part, &tables);
            tables.reset();
            effort.spend_all_of(&part);
            let Some(optimum) = optimum else { continue };
            bound = bound.min(optimum.bound);
            if undercuts(optimum.seconds, best_seconds) {
                let arrangement = self.arrangement(&optimum.operators);
                let all = [others.as_slice(), &arrangement.passes].concat();
                if are_independent(self.context, &all, effort) {
                    (best_seconds, best) = (optimum.seconds, Some((arrangement, all)));
                }
            }
        }
        if let Some((arrangement, all)) = best {
            for &number in &component.partitions {
                self.replace(&mut partitions[number], &arrangement.operators);
            }
            *passes = all;
        }
        if !is_complete {
            bound = bound.min(joint.lower_bound(effort));
        }
        if undercuts(bound, best_seconds) { bound } else { best_seconds }
    }

    /// A plan of a component: its operators, of which several are one multi-aggregate, as operators and passes.
    fn arrangement(&self, chosen: &[SmallVec<[Operator; 1]>]) -> Arrangement {
        let mut arrangement = Arrangement { operators: vec![], passes: vec![] };
        for operators in chosen {
            let form = |operator: &Operator| {
                Pass::of(self.context, operator, self.model.operator_seconds(self.context, operator))
            };
            let forms: SmallVec<[Pass; 1]> = operators.iter().filter_map(form).collect();
            let forms: SmallVec<[&Pass; 8]> = forms.iter().collect();
            arrangement.passes.extend(Pass::all(self.context, self.model, &forms));
            arrangement.operators.extend(operators.iter().cloned());
        }
        arrangement
    }

    /// The plan with those of the operators that are the partition's.
    fn replace(&self, plan: &mut PartitionPlan, operators: &[Operator]) {
        let is_own = |operator: &&Operator| plan.partition.members.binary_search(&operator.root()).is_ok();
        plan.operators = operators.iter().filter(is_own).cloned().collect();
        // By itself, an inner product reads the transpose that its pass reads through.
        let is_missing = |&id: &HopId| {
            plan.partition.members.binary_search(&id).is_ok() && plan.operators.iter().all(|other| other.root() != id)
        };
        let missing: BTreeSet<HopId> =
            plan.operators.iter().flat_map(|it| &it.inputs).copied().filter(is_missing).collect();
        plan.operators.extend(missing.into_iter().map(|id| Operator::basic(self.context, id)));
        plan.operators.sort_by_key(Operator::root);
        plan.assignment = assignment(&plan.partition, &plan.operators);
        let seconds = |operator: &Operator| self.model.operator_seconds(self.context, operator);
        plan.seconds = plan.operators.iter().map(seconds).sum();
        // Where the plan is as good as the one before, rounding must not raise the bound above it.
        plan.bound = plan.bound.min(plan.seconds);
    }
}

/// Whether one number is below another by more than rounding.
fn undercuts(one: f64, other: f64) -> bool {
    one < other * (1.0 - ROUNDING)
}

/// The problems of a component's partitions as one, apart from the aggregates that can be merged.
struct Joint<'a> {
    arranger: &'a Arranger<'a>,
    problem: Problem,
    /// The groups, by member of one of the partitions after the other.
    members: Vec<HopId>,
    aggregates: Vec<Aggregate>,
}

impl<'a> Joint<'a> {
    /// None if a partition is too large.
    fn new(
        arranger: &'a Arranger<'a>,
        component: &Component,
        partitions: &[PartitionPlan],
        effort: &Effort,
    ) -> Option<Joint<'a>> {
        let Arranger { context, memo, model, .. } = *arranger;
        let mut joint = Joint { arranger, problem: Problem::default(), members: vec![], aggregates: vec![] };
        let mut scratch = Bump::new();
        for &number in &component.partitions {
            let partition = &partitions[number].partition;
            let mut groups = Groups::new(context, memo, partition, model, effort, f64::INFINITY, &scratch);
            let problem = Problem::new(&mut groups, |id| can_share_pass(context, id))?;
            let first = joint.members.len();
            joint.members.extend_from_slice(&partition.members);
            for variable in problem.variables {
                joint.add_variable(variable.moved_by(first));
            }
            drop(groups);
            scratch.reset();
        }
        for operator in &component.outside {
            let seconds = model.operator_seconds(context, operator);
            let candidate = Candidate { operators: smallvec![operator.clone()], seconds, reads: GroupSet::default() };
            joint.members.push(operator.root());
            let group = Member::new(joint.members.len() - 1);
            joint.aggregates.push(Aggregate::new(context, group, vec![candidate]));
        }
        joint.drop_unmergeable(effort);
        Some(joint)
    }

    /// Puts a variable among the aggregates or the others.
    fn add_variable(&mut self, mut variable: Variable) {
        let context = self.arranger.context;
        let is_known = variable.is_required && variable.floor.is_none();
        if is_known && can_share_pass(context, self.members[variable.group.index()]) {
            self.aggregates.push(Aggregate::new(context, variable.group, variable.candidates));
        } else {
            variable.candidates = undominated(variable.candidates);
            self.problem.variables.push(variable);
        }
    }

    /// Makes aggregates that can be merged with no other one ordinary variables. Where the effort ends, any may be merged.
    fn drop_unmergeable(&mut self, effort: &Effort) {
        let context = self.arranger.context;
        let can_merge = |number: usize| {
            let mut others = (0..self.aggregates.len()).filter(|&other| other != number);
            others.any(|other| {
                effort.spend(1);
                effort.is_spent() || self.aggregates[number].can_merge(context, &self.aggregates[other])
            })
        };
        let mergeable: Vec<bool> = (0..self.aggregates.len()).map(can_merge).collect();
        for (aggregate, is_mergeable) in std::mem::take(&mut self.aggregates).into_iter().zip(mergeable) {
            if is_mergeable {
                self.aggregates.push(aggregate);
            } else {
                self.problem.variables.push(Variable::required(aggregate.group, aggregate.by_itself()));
            }
        }
    }

    /// Seconds that no plan undercuts, whatever its multi-aggregates save.
    fn lower_bound(&self, effort: &Effort) -> f64 {
        let mut problem = self.problem.clone();
        let context = self.arranger.context;
        // An aggregate whose operators are not all known may be merged, too.
        let is_incomplete = |variable: &&mut Variable| {
            variable.floor.is_some() && can_share_pass(context, self.members[variable.group.index()])
        };
        for variable in problem.variables.iter_mut().filter(is_incomplete) {
            variable.candidates.iter_mut().for_each(|candidate| candidate.seconds = 0.0);
            variable.floor = Some(0.0);
        }
        for aggregate in &self.aggregates {
            let mut candidates = aggregate.by_itself();
            candidates.iter_mut().for_each(|candidate| candidate.seconds = 0.0);
            problem.variables.push(Variable::required(aggregate.group, undominated(candidates)));
        }
        minimize(problem, effort, &Bump::new()).map_or(0.0, |optimum| optimum.bound)
    }

    /// The operators of all sets of several aggregates that can be merged, and whether all of them are known.
    fn merged(&self) -> (BTreeMap<AggregateSet, Merged>, bool) {
        let Arranger { context, model, .. } = *self.arranger;
        let free = self.problem.free().map(|number| self.problem.variables[number].group);
        let free: BTreeMap<HopId, Member> = free.map(|group| (self.members[group.index()], group)).collect();
        let several = (1..1_u32 << self.aggregates.len()).filter(|set| set.count_ones() > 1);
        let of = |set: AggregateSet| {
            let aggregates: Vec<&Aggregate> = elements(set).map(|number| &self.aggregates[number]).collect();
            (set, Merged::new(context, model, &aggregates, &free))
        };
        let all: Vec<(AggregateSet, Merged)> = several.map(of).collect();
        let is_complete = all.iter().all(|(_, merged)| merged.is_complete);
        (all.into_iter().filter(|(_, merged)| !merged.candidates.is_empty()).collect(), is_complete)
    }

    /// All ways to share passes, those of the lowest bound first.
    fn sharings(&self, merged: &BTreeMap<AggregateSet, Merged>, unmerged: f64) -> Vec<Sharing> {
        let sharing = |sets: Vec<AggregateSet>| {
            let saving = |&set: &AggregateSet| match set.count_ones() {
                1 => Some(0.0),
                _ => merged.get(&set).map(|merged| merged.saving),
            };
            let savings: Option<Vec<f64>> = sets.iter().map(saving).collect();
            Some(Sharing { lower_bound: unmerged - savings?.iter().sum::<f64>(), passes: sets })
        };
        let mut sharings: Vec<Sharing> =
            set_partitions(self.aggregates.len()).into_iter().filter_map(sharing).collect();
        sharings.sort_by(|one, other| one.lower_bound.total_cmp(&other.lower_bound));
        sharings
    }

    /// Whether no operator of a sharing waits for itself.
    fn is_possible(&self, sharing: &Sharing, merged: &BTreeMap<AggregateSet, Merged>, effort: &Effort) -> bool {
        let examples = sharing.passes.iter().filter_map(|set| merged.get(set)?.example.clone());
        are_independent(self.arranger.context, &examples.collect::<Vec<_>>(), effort)
    }

    /// The problem where aggregates share passes in this way.
    fn problem_under(&self, sharing: &Sharing, merged: &BTreeMap<AggregateSet, Merged>) -> Problem {
        let mut problem = self.problem.clone();
        for &set in &sharing.passes {
            let aggregate = &self.aggregates[set.trailing_zeros() as usize];
            let candidates = match merged.get(&set) {
                Some(merged) => merged.candidates.clone(),
                None => aggregate.by_itself(),
            };
            problem.variables.push(Variable::required(aggregate.group, candidates));
        }
        problem
    }
}

/// The numbers of the bits of a set.
fn elements(set: AggregateSet) -> impl Iterator<Item = usize> {
    (0..32).filter(move |&number| set >> number & 1 == 1)
}

/// All partitions of a set of this size into sets.
pub(super) fn set_partitions(size: usize) -> Vec<Vec<AggregateSet>> {
    let mut all = vec![vec![]];
    for element in 0..size {
        let with = |sets: Vec<AggregateSet>| {
            let joined = (0..sets.len()).map(|joined| {
                let mut sets = sets.clone();
                sets[joined] |= 1 << element;
                sets
            });
            let apart = [sets.as_slice(), &[1 << element]].concat();
            joined.chain([apart]).collect::<Vec<_>>()
        };
        all = all.into_iter().flat_map(with).collect();
    }
    all
}
