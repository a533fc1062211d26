//! Bounds: a dual proof, the messages of an elimination, checked one by one.
//!
//! The cost of a plan is a sum of functions of what is materialised, one for each group. A message takes the place of all
//! functions that mention one group: if it never exceeds their least sum over both values of that group, the sum of what
//! is left never exceeds the cost, and in the end what is left is a number. So the proof holds whatever made the
//! messages. That the operators listed for a group are all that may compute it, or undercut the others, is the one part
//! that is taken as given here; tests compare it with a naive enumeration.

use super::{CertificateError, is_at_most};
use crate::cost::CostModel;
use crate::cover::Operator;
use crate::facts::Context;
use fuseline_ir::hop::HopId;
use std::collections::{BTreeMap, BTreeSet};

/// What proves a lower bound of the cost of a partition.
#[derive(Clone, Debug, Default)]
pub(crate) struct Certificate {
    /// By group that may be materialised, the operators that may compute it.
    pub(crate) operators: BTreeMap<HopId, Vec<Operator>>,
    /// The groups that every plan materialises.
    pub(crate) required: BTreeSet<HopId>,
    /// The groups that no plan need materialise, in the order in which that is shown.
    pub(crate) given_up: Vec<HopId>,
    /// The eliminations of all others, in order.
    pub(crate) steps: Vec<Step>,
}

/// The elimination of a group.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) group: HopId,
    /// The groups that the message depends on.
    pub(crate) scope: Vec<HopId>,
    /// Seconds, by which groups of the scope are materialised, the first being the lowest bit.
    pub(crate) message: Vec<f64>,
}

/// An operator as the proof sees it: its cost, and what it reads of the groups that may or may not be there.
struct Priced {
    seconds: f64,
    reads: BTreeSet<HopId>,
}

/// A function of what is materialised.
enum Function<'a> {
    /// The cost of the cheapest operator of a group, if that is materialised.
    Group(HopId, Vec<Priced>),
    Message(&'a Step),
}

/// The seconds that the certificate proves no plan to undercut.
///
/// # Errors
/// A step that proves nothing.
pub(crate) fn proven_bound(
    context: &Context<'_>,
    model: &CostModel,
    certificate: &Certificate,
) -> Result<f64, CertificateError> {
    let functions = without_given_up(certificate, priced(context, model, certificate))?;
    let is_free = |group: HopId| !certificate.required.contains(&group);
    let mut left: Vec<Function<'_>> =
        functions.into_iter().map(|(group, operators)| Function::Group(group, operators)).collect();
    for step in &certificate.steps {
        let mentions = |function: &Function<'_>| function.scope(&is_free).contains(&step.group);
        let (bucket, others): (Vec<_>, Vec<_>) = left.into_iter().partition(mentions);
        check_step(step, &bucket, &is_free)?;
        left = others;
        left.push(Function::Message(step));
    }
    let nothing = BTreeSet::new();
    let open = left.iter().find_map(|function| function.scope(&is_free).first().copied());
    match open {
        Some(group) => Err(CertificateError::Message(group)),
        None => Ok(left.iter().map(|function| function.at(&nothing, &is_free)).sum()),
    }
}

/// The operators of each group with their costs.
fn priced(context: &Context<'_>, model: &CostModel, certificate: &Certificate) -> BTreeMap<HopId, Vec<Priced>> {
    let reads = |operator: &Operator| {
        let may_be_absent =
            |id: &&HopId| certificate.operators.contains_key(*id) && !certificate.required.contains(*id);
        operator.inputs.iter().filter(may_be_absent).copied().collect()
    };
    let price =
        |operator: &Operator| Priced { seconds: model.operator_seconds(context, operator), reads: reads(operator) };
    certificate.operators.iter().map(|(&group, operators)| (group, operators.iter().map(price).collect())).collect()
}

/// The groups that are left when those given up are gone, each after a proof: whatever a reader uses in its place costs
/// no more, all readers together, than the group.
fn without_given_up(
    certificate: &Certificate,
    mut functions: BTreeMap<HopId, Vec<Priced>>,
) -> Result<BTreeMap<HopId, Vec<Priced>>, CertificateError> {
    for &group in &certificate.given_up {
        let own = functions.remove(&group).unwrap_or_default();
        let cost = own.iter().map(|operator| operator.seconds).fold(f64::INFINITY, f64::min);
        let mut loss = 0.0;
        for operators in functions.values_mut() {
            let (reading, others): (Vec<_>, Vec<_>) =
                std::mem::take(operators).into_iter().partition(|operator| operator.reads.contains(&group));
            let replacement = |lost: &Priced| {
                let possible = others.iter().filter(|operator| operator.reads.is_subset(&lost.reads));
                possible.map(|operator| operator.seconds).fold(f64::INFINITY, f64::min) - lost.seconds
            };
            loss += reading.iter().map(replacement).fold(0.0, f64::max);
            *operators = others;
        }
        if certificate.required.contains(&group) || !is_at_most(loss, cost) {
            return Err(CertificateError::GivenUp(group));
        }
    }
    Ok(functions)
}

impl Function<'_> {
    /// The free groups that the function depends on.
    fn scope(&self, is_free: &dyn Fn(HopId) -> bool) -> BTreeSet<HopId> {
        match self {
            Function::Group(group, operators) => {
                let reads = operators.iter().flat_map(|operator| operator.reads.iter().copied());
                reads.chain(Some(*group).filter(|&group| is_free(group))).collect()
            }
            Function::Message(step) => step.scope.iter().copied().collect(),
        }
    }

    /// Its value where these free groups are materialised.
    fn at(&self, materialized: &BTreeSet<HopId>, is_free: &dyn Fn(HopId) -> bool) -> f64 {
        match self {
            Function::Group(group, _) if is_free(*group) && !materialized.contains(group) => 0.0,
            Function::Group(_, operators) => {
                let possible = operators.iter().filter(|operator| operator.reads.is_subset(materialized));
                possible.map(|operator| operator.seconds).fold(f64::INFINITY, f64::min)
            }
            Function::Message(step) => {
                let bits = step.scope.iter().enumerate();
                step.message[bits.map(|(bit, group)| usize::from(materialized.contains(group)) << bit).sum::<usize>()]
            }
        }
    }
}

/// Checks that the message depends on all that the functions of the bucket do but the group itself, and nowhere exceeds
/// the least of their sums.
fn check_step(step: &Step, bucket: &[Function<'_>], is_free: &dyn Fn(HopId) -> bool) -> Result<(), CertificateError> {
    let scope: BTreeSet<HopId> = step.scope.iter().copied().chain([step.group]).collect();
    let fits = |function: &Function<'_>| function.scope(is_free).is_subset(&scope);
    if !bucket.iter().all(fits) || step.scope.contains(&step.group) || step.message.len() != 1 << step.scope.len() {
        return Err(CertificateError::Message(step.group));
    }
    for (number, &message) in step.message.iter().enumerate() {
        let chosen = step.scope.iter().enumerate().filter(|(bit, _)| number >> bit & 1 == 1);
        let without: BTreeSet<HopId> = chosen.map(|(_, &group)| group).collect();
        let mut with = without.clone();
        with.insert(step.group);
        let sum = |materialized| bucket.iter().map(|function| function.at(materialized, is_free)).sum::<f64>();
        if !is_at_most(message, sum(&without).min(sum(&with))) {
            return Err(CertificateError::Message(step.group));
        }
    }
    Ok(())
}
