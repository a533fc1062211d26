//! The paper's cost vector: the output, the computation and the distinct inputs of one operator, counted from sizes.

use super::Operator;
use super::sparsity::{bytes, bytes_of, cells, driver_sparsity, iteration_space, sparse_driver, sparsity};
use super::work::{Work, basic_class, cell_flops, cell_runs, flops, fused_class, runs};
use crate::machine::OperationClass;
use crate::template::Context;
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::memo::TemplateType;
use smallvec::SmallVec;

/// Bytes of a scalar.
pub(super) const SCALAR_BYTES: f64 = 8.0;

/// What one basic or fused operator writes, computes and reads.
#[derive(Clone, Debug, PartialEq)]
pub struct CostVector {
    /// Bytes of the output.
    pub output: f64,
    /// The computation.
    pub work: Work,
    /// The matrices that are read.
    pub inputs: SmallVec<[InputRead; 4]>,
    /// The share of the cells that the operator visits.
    pub sparsity: f64,
    /// The input whose zeros it skips, so that `sparsity` is its.
    pub driver: Option<HopId>,
}

impl CostVector {
    /// Bytes read of all inputs.
    pub fn input(&self) -> f64 {
        self.inputs.iter().map(|read| read.touched).sum()
    }
}

/// How one input is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InputRead {
    /// The input.
    pub id: HopId,
    /// Its bytes as stored.
    pub bytes: f64,
    /// Bytes that are read of it.
    pub touched: f64,
    /// Dense cells that are fetched one by one, for the non-zeros of another matrix.
    pub gathers: f64,
}

/// What the operator writes, computes and reads; `None` for an Outer operator without a driver, which is impossible.
pub fn cost_vector(context: &Context<'_>, operator: &Operator) -> Option<CostVector> {
    let output = output_bytes(context, operator.root);
    let Some(template) = operator.template.filter(|&template| template != TemplateType::Row) else {
        return Some(whole_inputs(context, operator, output));
    };
    let space = iteration_space(context, &operator.members, operator.root);
    let could_exploit = template == TemplateType::Outer
        || operator.inputs.iter().any(|&id| sparsity(context, id) < 1.0 && context.hop(id).size.same_dims(&space));
    let driver = could_exploit
        .then(|| sparse_driver(context, &operator.members, &[operator.root], &operator.inputs, &space))
        .flatten();
    let scale = match (template, driver) {
        (TemplateType::Outer, driver) => driver_sparsity(context, driver?),
        (_, driver) => driver.map_or(1.0, |driver| sparsity(context, driver)),
    };
    Some(over_cells(context, &operator.members, &operator.inputs, &space, (driver, scale), output))
}

/// Bytes that the operator with this root writes.
pub(crate) fn output_bytes(context: &Context<'_>, root: HopId) -> f64 {
    if context.hop(root).is_scalar() { SCALAR_BYTES } else { bytes_of(context, root) }
}

/// Full aggregates over the cells of `space` in one pass.
pub(crate) fn multi_aggregate_vector(
    context: &Context<'_>,
    space: &SizeInfo,
    roots: &[HopId],
    members: &[HopId],
    inputs: &[HopId],
) -> CostVector {
    let driver = sparse_driver(context, members, roots, inputs, space);
    let scale = driver.map_or(1.0, |driver| sparsity(context, driver));
    over_cells(context, members, inputs, space, (driver, scale), SCALAR_BYTES * roots.len() as f64)
}

/// A basic operator, or one over rows: every input is read whole.
fn whole_inputs(context: &Context<'_>, operator: &Operator, output: f64) -> CostVector {
    let is_fused = operator.members.len() > 1;
    let mut work = Work::default();
    for &id in &operator.members {
        // A transpose inside of an operator is read through.
        if is_fused && matches!(context.hop(id).op, HopOp::Reorg(_)) {
            continue;
        }
        let class = if operator.template.is_some() { fused_class(context, id) } else { basic_class(context, id) };
        work.add(class, flops(context, id));
        if class != OperationClass::MatrixProduct {
            work.runs += runs(context, id, operator.template.is_some());
        }
    }
    let inputs = matrices(context, &operator.inputs, |_| 1.0);
    work.non_zeros = non_zeros(context, &inputs);
    CostVector { output, work, inputs, sparsity: 1.0, driver: None }
}

/// An operator over the cells of `space` that a driver is not zero at, a share `scale` of them.
fn over_cells(
    context: &Context<'_>,
    members: &[HopId],
    inputs: &[HopId],
    space: &SizeInfo,
    (driver, scale): (Option<HopId>, f64),
    output: f64,
) -> CostVector {
    let mut work = Work::default();
    for &id in members {
        work.add(fused_class(context, id), cell_flops(context, id, space, scale));
        work.runs += cell_runs(context, id, space, scale);
    }
    let is_visited_in_part = |id: HopId| Some(id) != driver && context.hop(id).size.same_dims(space);
    let mut inputs = matrices(context, inputs, |id| if is_visited_in_part(id) { scale } else { 1.0 });
    for read in inputs.iter_mut().filter(|read| read.touched < read.bytes && sparsity(context, read.id) == 1.0) {
        read.gathers = cells(space) * scale;
    }
    work.non_zeros = non_zeros(context, &inputs);
    CostVector { output, work, inputs, sparsity: scale, driver }
}

/// The matrices among some inputs, each of which is read to a share.
fn matrices(context: &Context<'_>, inputs: &[HopId], share: impl Fn(HopId) -> f64) -> SmallVec<[InputRead; 4]> {
    let read = |&id: &HopId| {
        let bytes = bytes(&context.expected_size(id));
        InputRead { id, bytes, touched: bytes * share(id), gathers: 0.0 }
    };
    inputs.iter().filter(|&&id| context.hop(id).is_matrix()).map(read).collect()
}

/// The non-zeros that are visited of sparse inputs.
fn non_zeros(context: &Context<'_>, inputs: &[InputRead]) -> f64 {
    let share = |read: &InputRead| if read.bytes > 0.0 { read.touched / read.bytes } else { 0.0 };
    inputs.iter().map(|read| stored_non_zeros(context, read.id) * share(read)).sum()
}

/// The non-zeros of a matrix in a sparse format; zero for a dense one.
pub(crate) fn stored_non_zeros(context: &Context<'_>, id: HopId) -> f64 {
    let size = context.expected_size(id);
    if sparsity(context, id) < 1.0 { cells(&size) * size.sparsity() } else { 0.0 }
}
