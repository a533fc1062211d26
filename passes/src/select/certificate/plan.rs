//! Plans: complete, executable, and as expensive as they say.

use super::{CertificateError, is_at_most};
use crate::cost::CostModel;
use crate::cover::{Operator, outside_inputs};
use crate::facts::Context;
use crate::select::multi_aggregate::outside_partitions;
use crate::select::{FusionPlan, PartitionPlan};
use crate::template::verify_cover;
use fuseline_ir::hop::{FusionCover, HopId};
use std::collections::{BTreeMap, BTreeSet};

/// Checks that every cover can be constructed, that what the DAG's outputs and effects need is computed exactly once, by
/// a cover or a basic operator, that no operator waits for itself, and that each partition's operators are among these,
/// cost what the partition says, and no less than its bound, and that everything together costs what the plan says, and no
/// less than its bound.
///
/// # Errors
/// The first rule that is broken: a defect of selection.
pub fn check_plan(context: &Context<'_>, model: &CostModel, plan: &FusionPlan) -> Result<(), CertificateError> {
    let mut cover_of: BTreeMap<HopId, usize> = BTreeMap::new();
    for (number, cover) in plan.covers.iter().enumerate() {
        verify_cover(context, cover).map_err(|error| CertificateError::Cover { root: cover.roots[0], error })?;
        for &root in &cover.roots {
            if cover_of.insert(root, number).is_some() {
                return Err(CertificateError::ComputedTwice(root));
            }
        }
    }
    let needs = |id: HopId| match cover_of.get(&id) {
        Some(&number) => outside_inputs(context.dag, &plan.covers[number].members).to_vec(),
        None => context.dag.evaluated_inputs(context.hop(id)).to_vec(),
    };
    let computed = computed(context, &needs)?;
    if let Some((&root, _)) = cover_of.iter().find(|(root, _)| !computed.contains(root)) {
        return Err(CertificateError::Unneeded(root));
    }
    if !is_at_most(plan.bound, plan.seconds) {
        return Err(CertificateError::Bound { claimed: plan.bound, proven: plan.seconds });
    }
    let is_needed = |id: HopId| computed.contains(&id);
    plan.partitions.iter().try_for_each(|partition| check_partition(context, model, plan, partition, &is_needed))?;
    check_seconds(context, model, plan, &is_needed)
}

/// Checks that the plan costs what its multi-aggregates and all other operators do that are needed.
fn check_seconds(
    context: &Context<'_>,
    model: &CostModel,
    plan: &FusionPlan,
    is_needed: &dyn Fn(HopId) -> bool,
) -> Result<(), CertificateError> {
    let passes: Vec<&FusionCover> = plan.covers.iter().filter(|cover| cover.roots.len() > 1).collect();
    let is_unmerged = |operator: &&Operator| {
        is_needed(operator.root()) && !passes.iter().any(|pass| pass.roots.contains(&operator.root()))
    };
    let outside = outside_partitions(context, &plan.partitions);
    let operators = plan.partitions.iter().flat_map(|partition| &partition.operators).chain(&outside);
    let unmerged = operators.filter(is_unmerged).map(|operator| model.operator_seconds(context, operator));
    let together = passes.iter().map(|cover| model.cover_seconds(context, cover));
    check_sum(plan.seconds, unmerged.chain(together).sum())
}

fn check_sum(claimed: f64, found: f64) -> Result<(), CertificateError> {
    if is_at_most(claimed, found) && is_at_most(found, claimed) {
        return Ok(());
    }
    Err(CertificateError::Cost { claimed, found })
}

/// The operators whose values are needed, in an order in which each can be computed.
fn computed(context: &Context<'_>, needs: &dyn Fn(HopId) -> Vec<HopId>) -> Result<BTreeSet<HopId>, CertificateError> {
    let mut entered = BTreeSet::new();
    let mut left = BTreeSet::new();
    let mut pending = context.dag.roots();
    while let Some(&id) = pending.last() {
        if left.contains(&id) {
            pending.pop();
        } else if entered.insert(id) {
            pending.extend(needs(id).into_iter().filter(|input| !left.contains(input)));
        } else if needs(id).iter().all(|input| left.contains(input)) {
            left.insert(id);
            pending.pop();
        } else {
            return Err(CertificateError::Cycle(id));
        }
    }
    Ok(left)
}

/// What an operator reads: by itself, a product reads through transposes.
fn read_by(context: &Context<'_>, operator: &Operator) -> Vec<HopId> {
    match operator.template {
        Some(_) => outside_inputs(context.dag, &operator.members).to_vec(),
        None => context.dag.evaluated_inputs(context.hop(operator.root())).to_vec(),
    }
}

fn check_partition(
    context: &Context<'_>,
    model: &CostModel,
    plan: &FusionPlan,
    partition: &PartitionPlan,
    is_needed: &dyn Fn(HopId) -> bool,
) -> Result<(), CertificateError> {
    let mut roots = BTreeSet::new();
    for operator in &partition.operators {
        if !roots.insert(operator.root()) {
            return Err(CertificateError::ComputedTwice(operator.root()));
        }
        let contains = |cover: &FusionCover| {
            (cover.roots.len() > 1 || Some(cover.template) == operator.template)
                && cover.roots.contains(&operator.root())
                && operator.members.iter().all(|member| cover.members.contains(member))
        };
        if is_needed(operator.root()) && operator.is_worth_fusing(context) && !plan.covers.iter().any(contains) {
            return Err(CertificateError::Uncovered(operator.root()));
        }
    }
    let inside = &partition.partition;
    let read = partition.operators.iter().flat_map(|operator| read_by(context, operator));
    let read: BTreeSet<HopId> = read.filter(|input| inside.members.contains(input)).collect();
    let required = inside.roots.iter().chain(&inside.externally_consumed);
    let needed: BTreeSet<HopId> = read.into_iter().chain(required.copied()).collect();
    if let Some(&missing) = needed.difference(&roots).next() {
        return Err(CertificateError::Missing(missing));
    }
    if let Some(&unneeded) = roots.difference(&needed).next() {
        return Err(CertificateError::Unneeded(unneeded));
    }
    let found: f64 = partition.operators.iter().map(|operator| model.operator_seconds(context, operator)).sum();
    let claimed = partition.seconds;
    check_sum(claimed, found)?;
    if partition.bound > claimed {
        return Err(CertificateError::Bound { claimed: partition.bound, proven: claimed });
    }
    Ok(())
}
