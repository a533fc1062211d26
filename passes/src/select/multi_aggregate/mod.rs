//! Composition of multi-aggregates: aggregates that share an input are computed in one pass.
//!
//! Full aggregates over cells of equal sizes make a pass over cells (MAgg): fused Cell operators that end in one, and
//! basic ones, of all partitions; inner products `t(x) %*% y` are sums of cells, too. Beyond the paper, whatever
//! aggregates the same number of rows makes a pass over these (Row): fused Row operators that end in an aggregate or in
//! a product `t(X) %*% S`, and aggregates by column.
//! Given the operators, they are merged greedily ([`greedy`]). The exact solver decides about both at once.

mod arranged;
mod greedy;
mod independence;
mod pass;

use super::PartitionPlan;
use crate::cost::CostModel;
use crate::cover::Operator;
use crate::facts::{Context, can_share_pass};
use cranelift_entity::{EntitySet, SecondaryMap};
use fuseline_ir::hop::{FusionCover, HopId};

pub(super) use arranged::{Arranged, Arrangement};
pub(super) use greedy::greedy;
pub(super) use independence::are_independent;
pub(super) use pass::Pass;

/// The aggregates outside of the partitions, as operators to merge.
pub(super) fn outside_partitions(context: &Context<'_>, partitions: &[PartitionPlan]) -> Vec<Operator> {
    let mut inside = EntitySet::new();
    inside.extend(partitions.iter().flat_map(|plan| plan.partition.members.iter().copied()));
    let is_outside = |&id: &HopId| !inside.contains(id) && context.is_live(id) && can_share_pass(context, id);
    context.dag.hops.keys().filter(is_outside).map(|id| Operator::basic(context, id)).collect()
}

/// The operators of the partitions that no pass computes and something still needs. (One whose only reader is inside a
/// pass that computes its value, too, is left out.)
pub(super) fn unmerged_operators<'p>(
    context: &Context<'_>,
    partitions: impl Iterator<Item = &'p PartitionPlan>,
    passes: &[Pass],
) -> Vec<&'p Operator> {
    let mut pass_of = SecondaryMap::<HopId, Option<&Pass>>::new();
    for pass in passes.iter().filter(|pass| pass.is_shared()) {
        pass.operator.roots.iter().for_each(|&root| pass_of[root] = Some(pass));
    }
    let mut operators: Vec<&Operator> =
        partitions.flat_map(|plan| &plan.operators).filter(|operator| pass_of[operator.root()].is_none()).collect();
    let mut operator_of = SecondaryMap::<HopId, Option<&Operator>>::new();
    operators.iter().for_each(|operator| operator_of[operator.root()] = Some(operator));
    let mut needed = EntitySet::new();
    let mut pending = context.dag.roots();
    while let Some(id) = pending.pop() {
        if needed.insert(id) {
            match (pass_of[id], operator_of[id]) {
                (Some(pass), _) => pending.extend_from_slice(&pass.operator.inputs),
                (None, Some(operator)) => pending.extend_from_slice(&operator.inputs),
                (None, None) => pending.extend(context.dag.evaluated_inputs(context.hop(id))),
            }
        }
    }
    operators.retain(|operator| needed.contains(operator.root()));
    operators
}

/// The covers of the chosen operators, aggregates in these passes.
pub(super) fn covers(context: &Context<'_>, partitions: &[PartitionPlan], passes: &[Pass]) -> Vec<FusionCover> {
    let others = unmerged_operators(context, partitions.iter(), passes).into_iter();
    let others = others.filter(|operator| operator.is_worth_fusing(context));
    let others = others.filter_map(|operator| operator.cover(context));
    passes
        .iter()
        .filter(|pass| pass.is_shared())
        .filter_map(|pass| pass.operator.cover(context))
        .chain(others)
        .collect()
}

/// Seconds of the partitions' operators and of these aggregates outside, those of a pass together.
pub(super) fn seconds<'p>(
    context: &Context<'_>,
    model: &CostModel,
    partitions: impl Iterator<Item = &'p PartitionPlan>,
    outside: &[Operator],
    passes: &[Pass],
) -> f64 {
    let shared = || passes.iter().filter(|pass| pass.is_shared());
    let mut merged = EntitySet::new();
    merged.extend(shared().flat_map(|pass| pass.operator.roots.iter().copied()));
    let outside = outside.iter().filter(|aggregate| !merged.contains(aggregate.root()));
    let unmerged = unmerged_operators(context, partitions, passes).into_iter().chain(outside);
    let unmerged = unmerged.map(|operator| model.operator_seconds(context, operator));
    unmerged.chain(shared().map(|pass| pass.seconds)).sum()
}
