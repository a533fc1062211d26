//! What a fusion plan executes: its fused operators and the basic ones between them.

use super::report::ExploitedSparsity;
use crate::cost::cost_vector;
use crate::cover::Operator;
use crate::facts::Context;
use cranelift_entity::{EntitySet, SecondaryMap};
use fuseline_ir::hop::{FusionCover, HopId, HopOp};

/// The input whose zeros an operator skips, if any.
pub(crate) fn exploited_sparsity(context: &Context<'_>, operator: &Operator) -> Option<ExploitedSparsity> {
    let vector = cost_vector(context, operator)?;
    let driver = vector.driver.filter(|_| vector.sparsity < 1.0 || operator.is_driven())?;
    Some(ExploitedSparsity { driver: driver.as_u32(), share: vector.sparsity })
}

/// Whether an operator reads or computes matrices, so that the cost model has something to say of it.
pub(crate) fn is_on_matrices(context: &Context<'_>, operator: &Operator) -> bool {
    operator.inputs.iter().chain(&operator.roots).any(|&id| context.hop(id).is_matrix())
}

/// The operators that the outputs and effects of a DAG need where these are fused, in ascending order of their first
/// roots. Reads and literals are none.
pub(crate) fn execution(context: &Context<'_>, covers: &[FusionCover]) -> Vec<Operator> {
    let fused: Vec<Operator> = covers.iter().map(|cover| Operator::of_cover(context, cover)).collect();
    execution_with(context, &fused, |root| Operator::basic(context, root))
}

/// [`execution`] where `missing` gives the operators of what no fused operator computes.
pub(crate) fn execution_with(
    context: &Context<'_>,
    fused: &[Operator],
    missing: impl Fn(HopId) -> Operator,
) -> Vec<Operator> {
    let mut operator_of = SecondaryMap::<HopId, Option<u32>>::new();
    for (number, operator) in fused.iter().enumerate() {
        for &root in &operator.roots {
            operator_of[root] = Some(number as u32);
        }
    }
    let mut is_taken = vec![false; fused.len()];
    let mut seen = EntitySet::new();
    let mut pending = context.dag.roots();
    let mut operators = Vec::new();
    while let Some(id) = pending.pop() {
        if !seen.insert(id) || matches!(context.hop(id).op, HopOp::Read(_) | HopOp::Literal(_)) {
            continue;
        }
        let operator = match operator_of[id] {
            Some(number) if std::mem::replace(&mut is_taken[number as usize], true) => continue,
            Some(number) => fused[number as usize].clone(),
            None => missing(id),
        };
        pending.extend(operator.inputs.iter().copied());
        operators.push(operator);
    }
    operators.sort_by(|one, other| one.roots.cmp(&other.roots));
    operators
}
