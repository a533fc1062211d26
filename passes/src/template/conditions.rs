//! Conditions on operators that several templates share.

use super::Context;
use fuseline_ir::hop::{HopDag, HopId, HopOp, ReorgOp};
use fuseline_ir::ops::AggOp;

/// An element-wise operation with a matrix result of known dimensions whose matrix inputs have the result's
/// dimensions, its rows and one column, or its columns and one row. Single cells count as neither, so operations with
/// 1 x 1 results or 1 x 1 operands are left alone.
pub(crate) fn is_elementwise(dag: &HopDag, id: HopId) -> bool {
    let hop = &dag[id];
    if !matches!(hop.op, HopOp::Unary(_) | HopOp::Binary(_) | HopOp::Ternary(_)) || !hop.is_matrix() {
        return false;
    }
    let Some((rows, cols)) = hop.size.known_dims() else { return false };
    if rows.saturating_mul(cols) <= 1 {
        return false;
    }
    hop.inputs.iter().all(|&input| {
        let input = &dag[input];
        if input.is_scalar() {
            return input.data_type != fuseline_ir::DataType::STR;
        }
        let dims = input.size.known_dims();
        let fits = dims == Some((rows, cols)) || dims == Some((rows, 1)) || dims == Some((1, cols));
        input.is_matrix() && fits && !input.size.is_single()
    })
}

/// A transpose of a matrix of known dimensions.
pub(crate) fn is_transpose(dag: &HopDag, id: HopId) -> bool {
    dag[id].op == HopOp::Reorg(ReorgOp::Transpose) && dag[id].size.known_dims().is_some()
}

/// The input of a transpose.
pub(crate) fn untransposed(dag: &HopDag, id: HopId) -> Option<HopId> {
    is_transpose(dag, id).then(|| dag[id].inputs[0])
}

/// A product that is large compared with its factors: more rows than the rank and fewer ranks than columns.
pub(crate) fn is_outer_product_like(context: &Context<'_>, id: HopId) -> bool {
    let hop = context.hop(id);
    if hop.op != HopOp::MatMul {
        return false;
    }
    let (left, right) = (context.hop(hop.inputs[0]).size, context.hop(hop.inputs[1]).size);
    match (left.known_dims(), right.known_dims()) {
        (Some((rows, rank)), Some((_, cols))) => {
            let limits = context.limits;
            rows > rank && rank < cols && rank > 0 && rows > limits.outer_rows && cols > limits.outer_cols
        }
        _ => false,
    }
}

/// `A %*% B` with rows of A as units: A a matrix that is no transpose, and B a column or narrow.
pub(crate) fn is_row_product(context: &Context<'_>, id: HopId) -> bool {
    let hop = context.hop(id);
    if hop.op != HopOp::MatMul || is_transpose(context.dag, hop.inputs[0]) {
        return false;
    }
    let (left, right) = (context.hop(hop.inputs[0]).size, context.hop(hop.inputs[1]).size);
    match (left.known_dims(), right.known_dims()) {
        (Some((rows, inner)), Some((_, cols))) if rows > 1 && inner > 1 => {
            cols == 1 || is_skinny(context, rows, inner, cols)
        }
        _ => false,
    }
}

/// `t(A) %*% B` as a sum over rows, with A and B of the same rows, A a matrix, and B a column or one of both narrow:
/// gives A and B. The product of a matrix with itself is better left to a symmetric kernel.
pub(crate) fn transposed_product(context: &Context<'_>, id: HopId) -> Option<(HopId, HopId)> {
    let hop = context.hop(id);
    if hop.op != HopOp::MatMul {
        return None;
    }
    let (left, right) = (untransposed(context.dag, hop.inputs[0])?, hop.inputs[1]);
    let (rows, left_cols) = context.hop(left).size.known_dims()?;
    let (_, right_cols) = context.hop(right).size.known_dims()?;
    let narrow = right_cols == 1
        || is_skinny(context, left_cols, rows, right_cols)
        || is_skinny(context, right_cols, rows, left_cols);
    (left != right && rows > 1 && left_cols > 1 && narrow).then_some((left, right))
}

fn is_skinny(context: &Context<'_>, rows: u64, inner: u64, cols: u64) -> bool {
    rows > cols && inner > cols && cols > 1 && cols < context.limits.skinny_cols
}

/// The columns `first..last` (0-based, half open) of an index over all rows with literal columns, at least two.
pub(crate) fn column_range(dag: &HopDag, id: HopId) -> Option<(u32, u32)> {
    let hop = &dag[id];
    if hop.op != HopOp::Index {
        return None;
    }
    let (rows, cols) = hop.size.known_dims()?;
    let (source_rows, source_cols) = dag[hop.inputs[0]].size.known_dims()?;
    let first = dag.literal_f64(hop.inputs[3])?;
    if rows != source_rows || rows < 2 || cols < 2 || first < 1.0 || first.fract() != 0.0 {
        return None;
    }
    let first = first as u64 - 1;
    let last = first.checked_add(cols).filter(|&last| last <= source_cols)?;
    Some((u32::try_from(first).ok()?, u32::try_from(last).ok()?))
}

/// Aggregations that merge partial results of cells; a mean is none.
pub(crate) fn is_mergeable(op: AggOp) -> bool {
    matches!(op, AggOp::Sum | AggOp::SumSq | AggOp::Min | AggOp::Max)
}
