//! Exact selection: the cheapest plan of a partition with a proof, beyond `MPSkipEnum` (section 4.4).
//!
//! The space contains every plan of the paper's, which assign true or false to each interesting point, and more: the
//! template of an operator is part of the choice, and two operators may decide differently about the same point.
//! [`problem`] states it over groups to materialise, with the operators that [`operators`] finds for each;
//! [`elimination`] solves it. All budgets are counted, none is a time; where one ends, the best plan so far comes with
//! the lower bound that is proven.

mod elimination;
mod factor;
mod operators;
mod problem;
#[cfg(test)]
mod tests;

use crate::cost::{CostModel, Operator};
use crate::partition::PlanPartition;
use crate::template::Context;
use elimination::Elimination;
use fuseline_ir::memo::MemoTable;
use operators::Groups;
use problem::Problem;

/// The operators chosen for a partition.
#[derive(Clone, Debug)]
pub(super) struct Solution {
    /// One for each materialised group, by ascending root.
    pub(super) operators: Vec<Operator>,
    /// Their cost.
    pub(super) seconds: f64,
    /// What no plan undercuts; the cost itself where it is proven best.
    pub(super) bound: f64,
    /// Operators priced.
    pub(super) priced: u64,
}

/// The best plan of a partition, or none where it is too large to be stated. At most `limit` branches are taken to find
/// operators, and as many to choose among them.
pub(super) fn solve(
    context: &Context<'_>,
    memo: &MemoTable,
    partition: &PlanPartition,
    model: &CostModel,
    limit: u64,
) -> Option<Solution> {
    let mut groups = Groups::new(context, memo, partition, model);
    let problem = Problem::new(&mut groups, limit)?;
    let count = problem.free().len();
    let seconds = |assignment: &[bool]| problem.seconds(assignment);
    let (factors, is_exact) = problem.factors(false);
    let best = Elimination::new(count, factors, is_exact).minimum(limit, &seconds);
    let bound = if problem.is_complete() {
        best.bound
    } else {
        let (factors, _) = problem.factors(true);
        Elimination::new(count, factors, false).bound
    };
    let operators = problem.plan(&best.assignment)?.into_iter().map(|candidate| candidate.operator.clone()).collect();
    Some(Solution { operators, seconds: best.value, bound: bound.min(best.value), priced: groups.priced })
}
