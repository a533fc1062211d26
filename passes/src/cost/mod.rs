//! The analytical cost model (section 4.3): `C = sum over operators of T_write + max(T_read, T_compute)`.
//!
//! Reads and writes are sizes over bandwidths, each distinct input of a fused operator counted once; computation is
//! floating-point operations over the compute rate. Refinements of the paper's model: sparse matrices count with their
//! stored bytes; sparse-safe Cell operators are scaled like Outer ones; and of a sparsity-exploiting operator the main
//! input and the factors are read whole, while computation and other inputs of its size scale with the main input's
//! sparsity. A value of fewer cells inside of a Cell operator is computed once per cell of the main input.

#[cfg(test)]
mod tests;

use crate::machine::Machine;
use crate::template::{Context, literal_sequence, untransposed};
use crate::zeros::{Zeros, is_sparse_safe};
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::{HopId, HopOp, NaryOp};
use fuseline_ir::memo::TemplateType;
use fuseline_ir::ops::Direction;

/// Above this share of non-zeros matrices are dense.
pub const DENSE_SPARSITY: f64 = 0.4;

/// The share of non-zeros that an Outer operator is expected to visit where the number of non-zeros is unknown.
pub const UNKNOWN_DRIVER_SPARSITY: f64 = 0.1;

/// What the cost model counts of one basic or fused operator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CostVector {
    /// Bytes of the output.
    pub output: f64,
    /// Floating-point operations.
    pub compute: f64,
    /// Bytes read of distinct inputs.
    pub input: f64,
}

/// The cost model of a machine.
#[derive(Clone, Debug, Default)]
pub struct CostModel {
    /// Its rates.
    pub machine: Machine,
}

impl CostModel {
    /// A model of this machine.
    pub fn new(machine: Machine) -> Self {
        CostModel { machine }
    }

    /// Seconds of one basic or fused operator of a plan; infinite where a constraint forbids it.
    pub fn operator_seconds(&self, context: &Context<'_>, operator: &Operator) -> f64 {
        self.seconds(&cost_vector(context, operator))
    }

    /// Seconds of a multi-aggregate: full aggregates over the cells of `space` in one pass.
    pub(crate) fn multi_aggregate_seconds(
        &self,
        context: &Context<'_>,
        space: &SizeInfo,
        roots: &[HopId],
        members: &[HopId],
        inputs: &[HopId],
    ) -> f64 {
        let driver = sparse_driver(context, members, roots, inputs, space);
        let scale = driver.map_or(1.0, |driver| sparsity(context, driver));
        let output = 8.0 * roots.len() as f64;
        self.seconds(&cells_cost(context, members, inputs, space, (driver, scale), output))
    }

    /// The fewest seconds that any plan computes on an operator, given the smallest sparsity by size.
    pub(crate) fn least_compute_time(
        &self,
        context: &Context<'_>,
        id: HopId,
        least_sparsity: impl Fn(&SizeInfo) -> f64,
    ) -> f64 {
        self.machine.compute_time(least_flops(context, id, least_sparsity))
    }

    /// Seconds of an operator: write, and the longer of read and compute, which overlap.
    pub fn seconds(&self, cost: &CostVector) -> f64 {
        let read = self.machine.read_time(cost.input);
        self.machine.write_time(cost.output) + read.max(self.machine.compute_time(cost.compute))
    }
}

/// A basic operator (without template, one member) or fused operator, as a plan has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Operator {
    /// The template of a fused operator.
    pub template: Option<TemplateType>,
    /// The member whose value leaves.
    pub root: HopId,
    /// The covered operators, ascending.
    pub members: Vec<HopId>,
    /// Distinct inputs, ascending, scalars included.
    pub inputs: Vec<HopId>,
}

/// Bytes of a matrix as stored: dense, or CSR when few cells are non-zero; 0 for scalars and where unknown.
pub fn bytes(size: &SizeInfo) -> f64 {
    let Some(cells) = size.cells() else { return 0.0 };
    let sparsity = size.sparsity();
    if sparsity < DENSE_SPARSITY {
        sparsity * cells as f64 * 12.0 + size.rows.unwrap_or(0) as f64 * 8.0
    } else {
        cells as f64 * 8.0
    }
}

/// Bytes of an operator's value as it is stored.
pub fn bytes_of(context: &Context<'_>, id: HopId) -> f64 {
    bytes(&context.hop(id).size)
}

fn cells(size: &SizeInfo) -> f64 {
    size.cells().unwrap_or(0) as f64
}

/// Floating-point operations of an operator by itself on dense operands.
pub fn dense_flops(context: &Context<'_>, id: HopId) -> f64 {
    let hop = context.hop(id);
    let output = cells(&hop.size);
    let input = || cells(&context.hop(hop.inputs[0]).size);
    match &hop.op {
        HopOp::Unary(op) if hop.is_matrix() => op.flops() * output,
        HopOp::Binary(op) | HopOp::Outer(op) if hop.is_matrix() => op.flops() * output,
        HopOp::Ternary(op) if hop.is_matrix() => op.flops() * output,
        HopOp::Nary(NaryOp::Min | NaryOp::Max | NaryOp::Plus) => hop.inputs.len() as f64 * output,
        HopOp::AggUnary(op, _) => op.flops() * input(),
        HopOp::MatMul => 2.0 * output * context.hop(hop.inputs[0]).size.cols.unwrap_or(0) as f64,
        HopOp::Nary(_) | HopOp::Cumulative(_) | HopOp::Reorg(_) | HopOp::Index | HopOp::DataGen(_) => output,
        _ => 0.0,
    }
}

/// Floating-point operations of an operator by itself, sparse operands of products and aggregates exploited.
pub fn flops(context: &Context<'_>, id: HopId) -> f64 {
    let hop = context.hop(id);
    match hop.op {
        HopOp::MatMul | HopOp::AggUnary(..) => dense_flops(context, id) * sparsity(context, hop.inputs[0]),
        _ => dense_flops(context, id),
    }
}

/// The share of non-zeros that a sparse format exploits; 1 for dense matrices.
pub(crate) fn sparsity(context: &Context<'_>, id: HopId) -> f64 {
    let sparsity = context.hop(id).size.sparsity();
    if sparsity < DENSE_SPARSITY { sparsity } else { 1.0 }
}

/// The share of the cells that an Outer operator with this driver visits.
pub(crate) fn driver_sparsity(context: &Context<'_>, driver: HopId) -> f64 {
    match context.hop(driver).size.nnz {
        Some(_) => sparsity(context, driver),
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
    let mut candidates: Vec<HopId> = inputs_by_cell(context, members, inputs, space).collect();
    candidates
        .sort_by(|&one, &other| sparsity(context, one).total_cmp(&sparsity(context, other)).then(one.cmp(&other)));
    candidates.into_iter().find(|&id| is_driver(context, members, roots, id))
}

/// Whether the cells of all roots are zero with those of an input.
pub(crate) fn is_driver(context: &Context<'_>, members: &[HopId], roots: &[HopId], input: HopId) -> bool {
    let strict = context.limits.strict_ieee;
    roots.iter().all(|&root| is_sparse_safe(context.dag, members, root, input, Zeros::Cell, strict))
}

/// What the operator writes, computes and reads. An Outer operator without a driver is impossible: infinite.
pub fn cost_vector(context: &Context<'_>, operator: &Operator) -> CostVector {
    let output = match context.hop(operator.root) {
        hop if hop.is_scalar() => 8.0,
        hop => bytes(&hop.size),
    };
    let read = |id: &HopId| bytes(&context.hop(*id).size);
    // A transpose inside of an operator is read through.
    let is_free = |id: HopId| operator.members.len() > 1 && matches!(context.hop(id).op, HopOp::Reorg(_));
    match operator.template {
        None | Some(TemplateType::Row) => CostVector {
            output,
            compute: operator.members.iter().filter(|&&id| !is_free(id)).map(|&id| flops(context, id)).sum(),
            input: operator.inputs.iter().map(read).sum(),
        },
        Some(template) => {
            let space = iteration_space(context, &operator.members, operator.root);
            let could_exploit = template == TemplateType::Outer
                || operator
                    .inputs
                    .iter()
                    .any(|&id| sparsity(context, id) < 1.0 && context.hop(id).size.same_dims(&space));
            let driver = if could_exploit {
                sparse_driver(context, &operator.members, &[operator.root], &operator.inputs, &space)
            } else {
                None
            };
            let scale = match (template, driver) {
                (TemplateType::Outer, None) => {
                    return CostVector { output, compute: f64::INFINITY, input: 0.0 };
                }
                (TemplateType::Outer, Some(driver)) => driver_sparsity(context, driver),
                (_, driver) => driver.map_or(1.0, |driver| sparsity(context, driver)),
            };
            cells_cost(context, &operator.members, &operator.inputs, &space, (driver, scale), output)
        }
    }
}

/// The cost of an operator over the cells of `space` that a driver is not zero at, a share `scale` of them.
fn cells_cost(
    context: &Context<'_>,
    members: &[HopId],
    inputs: &[HopId],
    space: &SizeInfo,
    (driver, scale): (Option<HopId>, f64),
    output: f64,
) -> CostVector {
    let read = |id: &HopId| {
        let size = &context.hop(*id).size;
        bytes(size) * if Some(*id) != driver && size.same_dims(space) { scale } else { 1.0 }
    };
    CostVector {
        output,
        compute: members.iter().map(|&id| cell_flops(context, id, space, scale)).sum(),
        input: inputs.iter().map(read).sum(),
    }
}

/// Floating-point operations of one member of an operator that visits the share `scale` of the cells of `space`.
fn cell_flops(context: &Context<'_>, id: HopId, space: &SizeInfo, scale: f64) -> f64 {
    let hop = context.hop(id);
    let own = dense_flops(context, id);
    let by_cell = match hop.op {
        HopOp::AggUnary(..) | HopOp::MatMul | HopOp::Reorg(_) => false,
        HopOp::DataGen(_) => literal_sequence(context.dag, id).is_some(),
        _ => true,
    };
    let is_smaller = by_cell && !hop.size.same_dims(space);
    if is_smaller {
        let repeated = own / cells(&hop.size).max(1.0) * cells(space) * scale;
        return own.max(repeated);
    }
    // A transpose inside of an operator is free.
    if matches!(hop.op, HopOp::Reorg(_)) { 0.0 } else { own * scale }
}

/// The fewest floating-point operations that any plan spends on an operator, given the smallest sparsity by size.
fn least_flops(context: &Context<'_>, id: HopId, least_sparsity: impl Fn(&SizeInfo) -> f64) -> f64 {
    let hop = context.hop(id);
    let scale = match hop.op {
        HopOp::MatMul => {
            let left = &context.hop(hop.inputs[0]).size;
            let right = &context.hop(hop.inputs[1]).size;
            least_sparsity(left).min(least_sparsity(&hop.size)).min(least_sparsity(right))
        }
        HopOp::AggUnary(_, Direction::Full | Direction::Row | Direction::Col) => {
            least_sparsity(&context.hop(hop.inputs[0]).size)
        }
        HopOp::Reorg(_) => 0.0,
        _ => least_sparsity(&hop.size),
    };
    dense_flops(context, id) * scale
}
