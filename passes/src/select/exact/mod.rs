//! Exact selection: the cheapest plan of a partition with a proof, beyond `MPSkipEnum` (section 4.4).
//!
//! The space contains every plan of the paper's, which assign true or false to each interesting point, and more: every
//! reference is fused or not, the template of an operator is part of the choice, two operators may decide differently about
//! the same producer, and every group may be left to its basic operator, so that the plan without fusion is one of them.
//! [`problem`] states it over groups to materialise, with the operators that [`operators`] finds for each;
//! [`elimination`] solves it. All budgets are counted, none is a time; where one ends, the best plan so far comes with
//! the lower bound that is proven.

mod arranger;
mod branch;
mod components;
mod elimination;
mod factor;
mod group;
mod group_set;
mod growth;
mod merged;
mod operators;
mod problem;
mod read_index;
#[cfg(test)]
mod tests;

use super::bound::least_seconds_to_write;
use super::certificate::{Certificate, Step};
use super::effort::Effort;
use super::search::PartitionSearch;
use super::{Budget, FoundBy, PartitionPlan, PlanAssignment, SearchStats};
use crate::cover::Operator;
use crate::partition::{InterestingPoint, PlanPartition};
use bumpalo::Bump;
use elimination::Elimination;
use fuseline_ir::hop::HopId;
use group_set::GroupSet;
use operators::Groups;
use problem::{MAX_SCOPE, Problem, Variable};
use smallvec::SmallVec;
use std::collections::BTreeMap;

pub(super) use arranger::Arranger;
pub(super) use operators::Decided;

/// Tables that an elimination makes per variable, more or less.
const TABLES_PER_VARIABLE: u64 = 4;

/// The best plan of a partition, or none where it is too large to be stated. The effort limits the branches taken to
/// find operators, what they visit, and the choice among them. Plans are left out that spend more than `slack` seconds
/// on writing what not every plan materialises: where a plan is known, more than what it costs above a lower bound.
///
/// Where interesting points alone are decided about, the bound is that of plans which fuse all other references.
pub(super) fn solve(
    search: &PartitionSearch<'_>,
    effort: &Effort,
    slack: f64,
    decided: Decided,
) -> Option<PartitionPlan> {
    // What finding operators leaves is for the choice among them.
    let (problem, priced) = effort.in_half(|effort| {
        let mut groups = Groups::new(search, effort, slack, decided);
        (Problem::new(&mut groups), groups.priced())
    });
    let Optimum { operators, seconds, bound } = minimize(problem?, effort, search.scratch)?;
    let operators: Vec<Operator> = operators.into_iter().flatten().collect();
    let partition = search.partition;
    let stats = SearchStats {
        points: partition.points.len() as u64,
        operators: priced,
        exhausted: u64::from(bound < seconds),
        ..SearchStats::default()
    };
    Some(PartitionPlan {
        partition: partition.clone(),
        assignment: assignment(partition, &operators),
        operators,
        seconds,
        bound,
        found_by: FoundBy::Exact,
        stats,
    })
}

/// Whether no plan is cheaper that reads what an edge other than an interesting point leads to, given that a plan is known
/// which takes so many seconds more than a lower bound: writing that alone takes longer.
pub(super) fn points_decide(search: &PartitionSearch<'_>, slack: f64) -> bool {
    let decided: GroupSet = search.producers().chain(search.required.iter().copied()).collect();
    let write = |member| least_seconds_to_write(search.model, search.context, search.id(member));
    search.members().filter(|&member| !decided.contains(member)).all(|member| write(member) > slack)
}

/// The best plan of a problem.
struct Optimum {
    /// The chosen operators; several are one multi-aggregate.
    operators: Vec<SmallVec<[Operator; 1]>>,
    seconds: f64,
    /// What no plan undercuts.
    bound: f64,
}

/// Solves a problem within what is left of the effort; none where it has no plan. The scratch takes the tables.
fn minimize(mut problem: Problem, effort: &Effort, scratch: &Bump) -> Option<Optimum> {
    problem.give_up_groups(effort);
    let count = problem.free().count();
    let most = scope(effort, count);
    let (factors, is_exact) = problem.factors(false, most, scratch);
    let elimination = Elimination::new(count, factors, most, is_exact, effort);
    let best = elimination.minimum(effort, &|assignment| problem.seconds(assignment));
    let bound = if problem.is_complete() {
        best.bound
    } else {
        let (factors, _) = problem.factors(true, most, scratch);
        Elimination::new(count, factors, most, false, effort).bound
    };
    let chosen = problem.plan(&best.assignment)?;
    let operators = chosen.into_iter().map(|candidate| candidate.operators.clone()).collect();
    Some(Optimum { operators, seconds: best.value, bound: bound.min(best.value) })
}

/// The most variables of a table, such that the tables of an elimination of so many variables have no more entries than
/// visits are left.
fn scope(effort: &Effort, count: usize) -> usize {
    let entries = effort.left() / (TABLES_PER_VARIABLE * count.max(1) as u64);
    (entries.max(2).ilog2() as usize).min(MAX_SCOPE)
}

/// What proves the bound of [`solve`]; none where the search for operators ended early or a bucket was split, so that no
/// messages are the proof.
pub(super) fn certify(search: &PartitionSearch<'_>, budget: Budget) -> Option<Certificate> {
    let effort = Effort::of_budget(budget);
    let mut problem = Problem::new(&mut Groups::new(search, &effort, f64::INFINITY, Decided::All))?;
    let mut listed = BTreeMap::new();
    for Variable { group, candidates, .. } in &problem.variables {
        let operators = candidates.iter().flat_map(|candidate| candidate.operators.iter().cloned());
        listed.insert(search.id(*group), operators.collect());
    }
    let given_up = problem.give_up_groups(&effort).into_iter().map(|group| search.id(group)).collect();
    let free: Vec<HopId> = problem.free().map(|number| search.id(problem.variables[number].group)).collect();
    let (factors, is_exact) = problem.factors(false, MAX_SCOPE, search.scratch);
    let elimination = Elimination::new(free.len(), factors, MAX_SCOPE, is_exact, &effort);
    let mut steps = Vec::new();
    for (variable, message) in elimination.messages().filter(|_| is_exact && problem.is_complete())? {
        let scope = message.scope.iter().map(|&variable| free[variable]).collect();
        steps.push(Step { group: free[variable], scope, message: message.table.to_vec() });
    }
    let required = search.required.iter().map(|&group| search.id(group)).collect();
    Some(Certificate { operators: listed, required, given_up, steps })
}

/// Operators in terms of interesting points: one is materialised where its producer is, and every operator with the
/// consumer reads it.
pub(super) fn assignment(partition: &PlanPartition, operators: &[Operator]) -> PlanAssignment {
    let mut assignment = PlanAssignment::new();
    for &InterestingPoint { consumer, producer } in &partition.points {
        let is_fused = operators.iter().any(|operator| operator.covers(consumer) && operator.covers(producer));
        assignment.push(!is_fused && operators.iter().any(|operator| operator.root() == producer));
    }
    assignment
}
