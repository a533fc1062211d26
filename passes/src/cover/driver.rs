//! What an operator over cells runs over, and which input's zeros it exploits.

use crate::facts::{Context, sparsity};
use crate::hops::untransposed;
use crate::zeros::{Zeros, is_sparse_safe, keeps_zeros};
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::{HopId, HopOp};
use smallvec::SmallVec;

/// The share of non-zeros that an Outer operator is expected to visit where the number of non-zeros is unknown and data
/// may be behind it.
pub const UNKNOWN_DRIVER_SPARSITY: f64 = 0.1;

/// The share of the cells that an Outer operator with this driver visits. Where non-zeros are not known the driver may be
/// sparse data, or have its zeros; products sum many values, and `1 - X ^ 2` is zero by chance.
pub(crate) fn driver_sparsity(context: &Context<'_>, driver: HopId) -> f64 {
    match context.expected_size(driver).nnz {
        Some(_) => sparsity(context, driver),
        None if context.hop(driver).op == HopOp::MatMul => 1.0,
        None if !keeps_zeros(context.dag, driver, context.limits.strict_ieee) => 1.0,
        None => UNKNOWN_DRIVER_SPARSITY,
    }
}

/// The size whose cells a Cell, MAgg or Outer operator with this root runs over.
pub(crate) fn iteration_space(context: &Context<'_>, members: &[HopId], root: HopId) -> SizeInfo {
    let hop = context.hop(root);
    match hop.op {
        HopOp::AggUnary(..) => context.hop(hop.inputs[0]).size,
        HopOp::MatMul => {
            let is_member = |id: &&HopId| members.binary_search(*id).is_ok();
            let inner = hop.inputs.iter().rev().find(is_member).copied().unwrap_or(hop.inputs[0]);
            context.hop(untransposed(context.dag, inner).unwrap_or(inner)).size
        }
        _ => hop.size,
    }
}

/// The inputs of an operator over the cells of `space` that are read cell by cell, so that they can be the main input.
/// (An index reads its source otherwise.)
pub(crate) fn inputs_by_cell<'a>(
    context: &'a Context<'_>,
    members: &'a [HopId],
    inputs: &'a [HopId],
    space: &'a SizeInfo,
) -> impl Iterator<Item = HopId> + 'a {
    let by_cell = |id: HopId| {
        members.iter().map(|&member| context.hop(member)).any(|hop| hop.op != HopOp::Index && hop.inputs.contains(&id))
    };
    inputs.iter().copied().filter(move |&id| context.hop(id).size.same_dims(space) && by_cell(id))
}

/// The input that the cells of all roots are zero with, and whose sparsity the operator therefore exploits: the
/// sparsest, and of equally sparse ones the first.
pub(crate) fn sparse_driver(
    context: &Context<'_>,
    members: &[HopId],
    roots: &[HopId],
    inputs: &[HopId],
    space: &SizeInfo,
) -> Option<HopId> {
    let mut candidates: SmallVec<[HopId; 8]> = inputs_by_cell(context, members, inputs, space).collect();
    candidates
        .sort_by(|&one, &other| sparsity(context, one).total_cmp(&sparsity(context, other)).then(one.cmp(&other)));
    candidates.into_iter().find(|&id| is_driver(context, members, roots, id))
}

/// Whether the cells of all roots are zero with those of an input.
pub(crate) fn is_driver(context: &Context<'_>, members: &[HopId], roots: &[HopId], input: HopId) -> bool {
    let strict = context.limits.strict_ieee;
    is_sparse_safe(context.dag, members, roots, input, Zeros::Cell, strict)
}
