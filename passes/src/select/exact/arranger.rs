//! Which aggregates share a pass (X11), decided together with the operators of their partitions.
//!
//! A sharing is a set partition of the aggregates. Under one, the aggregates of each of its sets are one group of
//! the problem of [`super::problem`], whose operators are the unions of one operator of each ([`super::merged`]), so
//! that an operator is chosen that pays only inside of the pass. No sharing saves more over the partitions' own optima than
//! its unions save over their parts: sharings are solved in the order of the lower bounds that this gives, until these reach
//! the best plan.

use super::super::effort::Effort;
use super::super::entry::Member;
use super::super::multi_aggregate::{self, Arranged, Arrangement, Pass, are_independent, outside_partitions};
use super::super::recall::{Arrangeable, RecallFor};
use super::super::search::PartitionSearch;
use super::super::{Chosen, PartitionPlan, ROUNDING, SearchLimits};
use super::components::{Component, components};
use super::group_set::GroupSet;
use super::merged::{Aggregate, Merged, Unions};
use super::operators::{Candidate, Decided, Groups};
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
use std::collections::BTreeMap;

/// The most aggregates of which every set partition is looked at: 52 of five.
const MAX_AGGREGATES: usize = 5;

/// The most unions of one operator of each aggregate where all references are decided about: pricing them is what takes
/// long.
const MAX_UNIONS_OF_ALL: usize = 128;

/// The most sharings of a component that are solved.
const MAX_SOLVED: usize = 16;

/// Decides about multi-aggregates, within these limits for each component.
#[derive(Clone, Copy)]
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

impl Arranger<'_> {
    /// Replaces plans and passes where others are cheaper together, and bounds what all of them take.
    pub(in crate::select) fn arrange(&self, mut chosen: Chosen, recall: &mut RecallFor<'_>) -> Chosen {
        let outside = outside_partitions(self.context, &chosen.partitions);
        chosen.bound = self.unmerged_bound(chosen.partitions.iter(), &outside);
        for component in components(self.context, &chosen.partitions) {
            let unmerged = self.unmerged_bound(component.plans(&chosen.partitions), &component.outside);
            if unmerged.is_infinite() {
                // A constraint forbids every plan, with passes or without.
                return Chosen { bound: f64::INFINITY, ..chosen };
            }
            let arrangeable = Arrangeable {
                plans: component.plans(&chosen.partitions).collect(),
                outside: &component.outside,
                passes: &chosen.passes,
            };
            let (Arranged { bound, better }, visits) =
                recall.arrangement(self.context, self.memo, &arrangeable, self.limits, |limits| {
                    let arranger = Arranger { limits, ..*self };
                    let effort = Effort::of_groups(limits, component.size(&chosen.partitions));
                    let arranged = arranger.arrange_component(&component, &chosen, unmerged, &effort);
                    (arranged, effort.spent())
                });
            chosen.bound += bound - unmerged;
            chosen.visits += visits;
            if let Some(Arrangement { operators, passes }) = better {
                for &number in &component.partitions {
                    self.replace(&mut chosen.partitions[number], &operators);
                }
                chosen.passes = passes;
            }
        }
        chosen
    }

    /// Seconds that nothing undercuts without multi-aggregates.
    fn unmerged_bound<'p>(&self, plans: impl Iterator<Item = &'p PartitionPlan>, outside: &[Operator]) -> f64 {
        let outside = outside.iter().map(|operator| self.model.operator_seconds(self.context, operator));
        plans.map(|plan| plan.bound).chain(outside).sum()
    }

    /// [`Self::arrange`] for one component, whose parts take at least `unmerged` seconds without multi-aggregates.
    fn arrange_component(&self, component: &Component, chosen: &Chosen, unmerged: f64, effort: &Effort) -> Arranged {
        let known = self.known(component, chosen);
        let state = |decided, slack| {
            effort.in_half(|effort| Joint::new(self, component, &chosen.partitions, effort, slack, decided))
        };
        // No better plan spends more on what not every plan materialises.
        let whole = state(Decided::All, known * (1.0 + ROUNDING));
        // What follows looks at the whole DAG.
        let all = effort.half();
        all.spend(self.context.dag.hops.len() as u64);
        let is_possible = !all.is_spent() && whole.as_ref().is_none_or(Joint::has_few_aggregates);
        if is_possible {
            effort.spend(all.spent());
        }
        if let Some(whole) = whole.as_ref().filter(|whole| is_possible && whole.is_small()) {
            return self.share_passes(whole, component, chosen, known, unmerged, effort);
        }
        let bound = whole.map_or(0.0, |whole| whole.lower_bound(effort));
        if !is_possible {
            return Arranged { bound, better: None };
        }
        // What is too large with all references may not be so with interesting points alone. That proves nothing.
        let points = state(Decided::Points, f64::INFINITY);
        let points = points.filter(|points| points.has_few_aggregates() && points.problem.is_complete());
        let arranged = points.map(|points| self.share_passes(&points, component, chosen, known, unmerged, effort));
        Arranged { bound, better: arranged.and_then(|arranged| arranged.better) }
    }

    /// Seconds of a component with the aggregates merged that are so far.
    fn known(&self, component: &Component, chosen: &Chosen) -> f64 {
        let own: Vec<Pass> = chosen.passes.iter().filter(|pass| component.has_aggregate_of(pass)).cloned().collect();
        let plans = component.plans(&chosen.partitions);
        multi_aggregate::seconds(self.context, self.model, plans, &component.outside, &own)
    }

    /// The best passes of a component, whose operators are all known, where a plan of so many seconds is known, too.
    fn share_passes(
        &self,
        joint: &Joint<'_>,
        component: &Component,
        chosen: &Chosen,
        known: f64,
        unmerged: f64,
        effort: &Effort,
    ) -> Arranged {
        let others: Vec<Pass> =
            chosen.passes.iter().filter(|pass| !component.has_aggregate_of(pass)).cloned().collect();
        let mut best_seconds = known;
        let (mut bound, mut better) = (best_seconds, None);
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
            let problem = joint.problem_under(sharing, &merged);
            let optimum = effort.in_half(|effort| minimize(problem, effort, &tables));
            tables.reset();
            let Some(optimum) = optimum else { continue };
            bound = bound.min(optimum.bound);
            if undercuts(optimum.seconds, best_seconds) {
                let arrangement = self.arrangement(optimum.operators, &others);
                if are_independent(self.context, &arrangement.passes, effort) {
                    (best_seconds, better) = (optimum.seconds, Some(arrangement));
                }
            }
        }
        if !is_complete {
            bound = bound.min(joint.lower_bound(effort));
        }
        Arranged { bound: if undercuts(bound, best_seconds) { bound } else { best_seconds }, better }
    }

    /// A plan of a component, of whose operators several are one multi-aggregate, beside these passes.
    fn arrangement(&self, chosen: Vec<SmallVec<[Operator; 1]>>, others: &[Pass]) -> Arrangement {
        let mut arrangement = Arrangement { operators: vec![], passes: others.to_vec() };
        for operators in chosen {
            let forms = operators.iter().filter_map(|operator| {
                Pass::of(self.context, operator, self.model.operator_seconds(self.context, operator))
            });
            let forms: SmallVec<[Pass; 1]> = forms.collect();
            let forms: SmallVec<[&Pass; 8]> = forms.iter().collect();
            arrangement.passes.extend(Pass::all(self.context, self.model, &forms));
            arrangement.operators.extend(operators);
        }
        arrangement
    }

    /// The plan with those of the operators that are the partition's.
    fn replace(&self, plan: &mut PartitionPlan, operators: &[Operator]) {
        let members = &plan.partition.members;
        let own = operators.iter().filter(|operator| members.binary_search(&operator.root()).is_ok());
        plan.operators = own.cloned().collect();
        plan.operators.sort_by_key(Operator::root);
        plan.assignment = assignment(&plan.partition, &plan.operators);
        plan.seconds = plan.operators.iter().map(|operator| self.model.operator_seconds(self.context, operator)).sum();
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
        slack: f64,
        decided: Decided,
    ) -> Option<Joint<'a>> {
        let Arranger { context, memo, model, .. } = *arranger;
        let mut joint = Joint { arranger, problem: Problem::default(), members: vec![], aggregates: vec![] };
        let mut scratch = Bump::new();
        for PartitionPlan { partition, .. } in component.plans(partitions) {
            let search = PartitionSearch::new(context, memo, partition, model, &scratch);
            let problem = Problem::with_passes(&mut Groups::new(&search, effort, slack, decided))?;
            let first = joint.members.len();
            joint.members.extend_from_slice(&partition.members);
            for variable in problem.variables {
                joint.add_variable(variable.moved_by(first));
            }
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

    /// Whether every set partition of the aggregates can be looked at.
    fn has_few_aggregates(&self) -> bool {
        self.aggregates.len() <= MAX_AGGREGATES
    }

    /// Whether all is known, and few unions of operators are to be priced.
    fn is_small(&self) -> bool {
        let forms = self.aggregates.iter().map(Aggregate::number_of_forms);
        self.problem.is_complete() && forms.fold(1, usize::saturating_mul) <= MAX_UNIONS_OF_ALL
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
        let mergeable: Vec<bool> =
            (0..self.aggregates.len()).map(|number| self.may_be_merged(number, effort)).collect();
        for (aggregate, is_mergeable) in std::mem::take(&mut self.aggregates).into_iter().zip(mergeable) {
            if is_mergeable {
                self.aggregates.push(aggregate);
            } else {
                self.problem.variables.push(Variable::required(aggregate.group, aggregate.by_itself()));
            }
        }
    }

    /// Whether an aggregate can be merged with another one, as far as the effort says.
    fn may_be_merged(&self, number: usize, effort: &Effort) -> bool {
        let (aggregate, context) = (&self.aggregates[number], self.arranger.context);
        (0..self.aggregates.len()).filter(|&other| other != number).any(|other| {
            effort.spend(1);
            effort.is_spent() || aggregate.can_merge(context, &self.aggregates[other])
        })
    }

    /// Seconds that no plan undercuts, whatever its multi-aggregates save.
    fn lower_bound(&self, effort: &Effort) -> f64 {
        let mut problem = self.problem.clone();
        for variable in problem.variables.iter_mut().filter(|variable| variable.floor.is_some()) {
            // An aggregate whose operators are not all known may be merged, too.
            if can_share_pass(self.arranger.context, self.members[variable.group.index()]) {
                variable.candidates.iter_mut().for_each(|candidate| candidate.seconds = 0.0);
                variable.floor = Some(0.0);
            }
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
        let mut all = BTreeMap::new();
        let mut unions: BTreeMap<AggregateSet, Unions> = BTreeMap::new();
        let mut is_complete = true;
        for set in (1..1_u32 << self.aggregates.len()).filter(|set| set.count_ones() > 1) {
            let aggregates: Vec<&Aggregate> = elements(set).map(|number| &self.aggregates[number]).collect();
            let without_last = unions.get(&(set & !(1 << set.ilog2())));
            let (merged, of_set) = Merged::new(context, model, &aggregates, &free, without_last);
            unions.insert(set, of_set);
            is_complete &= merged.is_complete;
            if !merged.candidates.is_empty() {
                all.insert(set, merged);
            }
        }
        (all, is_complete)
    }

    /// All ways to share passes, those of the lowest bound first.
    fn sharings(&self, merged: &BTreeMap<AggregateSet, Merged>, unmerged: f64) -> Vec<Sharing> {
        let mut sharings = Vec::new();
        for passes in set_partitions(self.aggregates.len()) {
            let savings: Option<Vec<f64>> = passes.iter().map(|&set| saving(merged, set)).collect();
            if let Some(savings) = savings {
                sharings.push(Sharing { lower_bound: unmerged - savings.iter().sum::<f64>(), passes });
            }
        }
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

/// The most seconds that a pass of these aggregates saves; none if there is no such pass.
fn saving(merged: &BTreeMap<AggregateSet, Merged>, set: AggregateSet) -> Option<f64> {
    if set.is_power_of_two() { Some(0.0) } else { merged.get(&set).map(|merged| merged.saving) }
}

/// The numbers of the bits of a set.
fn elements(set: AggregateSet) -> impl Iterator<Item = usize> {
    (0..32).filter(move |&number| set >> number & 1 == 1)
}

/// All partitions of a set of this size into sets.
pub(super) fn set_partitions(size: usize) -> Vec<Vec<AggregateSet>> {
    let mut all: Vec<Vec<AggregateSet>> = vec![vec![]];
    for element in 0..size {
        let mut larger = Vec::new();
        for sets in all {
            // In one of the sets, or in one of its own.
            for joined in 0..sets.len() {
                let mut sets = sets.clone();
                sets[joined] |= 1 << element;
                larger.push(sets);
            }
            larger.push([sets.as_slice(), &[1 << element]].concat());
        }
        all = larger;
    }
    all
}
