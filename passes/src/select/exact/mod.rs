//! Exact selection: the cheapest plan of a partition with a proof, beyond `MPSkipEnum` (section 4.4).
//!
//! The space contains every plan of the paper's, which assign true or false to each interesting point, and more: the
//! template of an operator is part of the choice, and two operators may decide differently about the same point.
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

use super::certificate::{Certificate, Step};
use super::effort::Effort;
use super::entry::Member;
use super::{FoundBy, PartitionPlan, PlanAssignment, SearchStats};
use crate::cost::CostModel;
use crate::cover::Operator;
use crate::facts::Context;
use crate::partition::{InterestingPoint, PlanPartition};
use bumpalo::Bump;
use cranelift_entity::EntityRef;
use elimination::Elimination;
use factor::Factor;
use fuseline_ir::hop::HopId;
use fuseline_ir::memo::MemoTable;
use operators::Groups;
use problem::{MAX_SCOPE, Problem, Variable};
use smallvec::SmallVec;

pub(super) use arranger::Arranger;

/// Tables that an elimination makes per variable, more or less.
const TABLES_PER_VARIABLE: u64 = 4;

/// The best plan of a partition, or none where it is too large to be stated. The effort limits the branches taken to
/// find operators, what they visit, and the choice among them. Plans are left out that spend more than `slack` seconds
/// on writing what not every plan materialises: where a plan is known, more than what it costs above a lower bound. The
/// scratch takes what is needed until the partition is decided.
pub(super) fn solve(
    context: &Context<'_>,
    memo: &MemoTable,
    partition: &PlanPartition,
    model: &CostModel,
    effort: &Effort,
    slack: f64,
    scratch: &Bump,
) -> Option<PartitionPlan> {
    // What finding operators leaves is for the choice among them.
    let finding = effort.half();
    let mut groups = Groups::new(context, memo, partition, model, &finding, slack, scratch);
    let problem = Problem::new(&mut groups, |_| false);
    effort.spend_all_of(&finding);
    let Optimum { operators, seconds, bound } = minimize(problem?, effort, scratch)?;
    let operators: Vec<Operator> = operators.into_iter().flatten().collect();
    let stats = SearchStats {
        points: partition.points.len() as u64,
        operators: groups.priced,
        exhausted: u64::from(bound < seconds),
        ..SearchStats::default()
    };
    let assignment = assignment(partition, &operators);
    Some(PartitionPlan {
        partition: partition.clone(),
        assignment,
        operators,
        seconds,
        bound,
        found_by: FoundBy::Exact,
        stats,
    })
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
    let seconds = |assignment: &[bool]| problem.seconds(assignment);
    let (factors, is_exact) = problem.factors(false, most, scratch);
    let best = Elimination::new(count, factors, most, is_exact, effort).minimum(effort, &seconds);
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
pub(super) fn certify(
    context: &Context<'_>,
    memo: &MemoTable,
    partition: &PlanPartition,
    model: &CostModel,
    limit: u64,
) -> Option<Certificate> {
    let effort = Effort::of_plans(limit);
    let scratch = Bump::new();
    let mut groups = Groups::new(context, memo, partition, model, &effort, f64::INFINITY, &scratch);
    let mut problem = Problem::new(&mut groups, |_| false)?;
    let id = |group: Member| partition.members[group.index()];
    let operators =
        |variable: &Variable| variable.candidates.iter().flat_map(|found| found.operators.iter().cloned()).collect();
    let listed = problem.variables.iter().map(|variable| (id(variable.group), operators(variable))).collect();
    let given_up = problem.give_up_groups(&effort).into_iter().map(id).collect();
    let free: Vec<HopId> = problem.free().map(|number| id(problem.variables[number].group)).collect();
    let (factors, is_exact) = problem.factors(false, MAX_SCOPE, &scratch);
    let elimination = Elimination::new(free.len(), factors, MAX_SCOPE, is_exact, &effort);
    let step = |(variable, message): (usize, &Factor<'_>)| Step {
        group: free[variable],
        scope: message.scope.iter().map(|&variable| free[variable]).collect(),
        message: message.table.to_vec(),
    };
    let steps = elimination.messages().filter(|_| is_exact && problem.is_complete())?.into_iter().map(step).collect();
    let required = groups.required().into_iter().map(id).collect();
    Some(Certificate { operators: listed, required, given_up, steps })
}

/// Operators in terms of interesting points: one is materialised where its producer is, and every operator with the
/// consumer reads it.
fn assignment(partition: &PlanPartition, operators: &[Operator]) -> PlanAssignment {
    let is_materialized = |point: &InterestingPoint| {
        let fuses = |operator: &Operator| {
            let is_member = |id: HopId| operator.members.binary_search(&id).is_ok();
            is_member(point.consumer) && is_member(point.producer)
        };
        operators.iter().any(|operator| operator.root() == point.producer) && !operators.iter().any(fuses)
    };
    partition.points.iter().map(is_materialized).collect()
}
