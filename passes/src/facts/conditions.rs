//! What operators are that fused ones are made of: products and aggregations, over cells and over rows.

use super::{Context, is_outer_product_like, sparsity};
use crate::hops::{is_transpose, untransposed};
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::ops::Direction;

/// `A %*% B` with rows of A as units: A a matrix that is no transpose, and B a column, narrow, or of few rows, so that the
/// product has a low rank.
pub(crate) fn is_row_product(context: &Context<'_>, id: HopId) -> bool {
    let hop = context.hop(id);
    if hop.op != HopOp::MatMul || is_transpose(context.dag, hop.inputs[0]) {
        return false;
    }
    let (left, right) = (context.hop(hop.inputs[0]).size, context.hop(hop.inputs[1]).size);
    match (left.known_dims(), right.known_dims()) {
        (Some((rows, inner)), Some((_, cols))) if rows > 1 && inner > 1 => {
            cols == 1 || is_skinny(context, rows, inner, cols) || has_low_rank(context, id, (rows, inner, cols))
        }
        _ => false,
    }
}

/// `t(A) %*% B` as a sum over rows, with A and B of the same rows, A a matrix, and B a column or one of both narrow:
/// gives A and B. The product of a matrix with itself is better left to a symmetric kernel.
pub(crate) fn transposed_product(context: &Context<'_>, id: HopId) -> Option<(HopId, HopId)> {
    context.transposed_product(id)
}

/// [`transposed_product`], which is asked for whenever an operator is priced: a context keeps the answers.
pub(super) fn find_transposed_product(context: &Context<'_>, id: HopId) -> Option<(HopId, HopId)> {
    let hop = context.hop(id);
    if hop.op != HopOp::MatMul {
        return None;
    }
    // The transpose of a cumulative aggregate is a value by rows of its own.
    if row_cumulative_step(context, hop.inputs[0]) == Some(CumulativeStep::Result) {
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

/// Cells of the right side of such a product, at most: each unit goes through all of them.
const LOW_RANK_CELLS: u64 = 1 << 18;

/// Cells of such a product, at least: a smaller one stays in the caches between two operators.
const LARGE_PRODUCT: u64 = 1 << 19;

fn has_low_rank(context: &Context<'_>, id: HopId, (rows, rank, cols): (u64, u64, u64)) -> bool {
    is_outer_product_like(context, id)
        && rank < context.limits.low_rank
        && rank.saturating_mul(cols) <= LOW_RANK_CELLS
        && rows.saturating_mul(cols) >= LARGE_PRODUCT
}

/// `t(A)` whose only use is as the left of a product that is a sum over rows.
pub(crate) fn is_transpose_of_product(context: &Context<'_>, id: HopId) -> bool {
    is_transpose(context.dag, id)
        && context.single_consumer(id).is_some_and(|consumer| {
            context.hop(consumer).inputs[0] == id && transposed_product(context, consumer).is_some()
        })
}

/// Whether the operator is one of the three of `t(cumsum(t(X)))`, cumulative along the rows of X, the first two of
/// which nothing else uses.
pub(crate) fn row_cumulative_step(context: &Context<'_>, id: HopId) -> Option<CumulativeStep> {
    let hop = context.hop(id);
    match hop.op {
        HopOp::Cumulative(_) if is_between_transposes(context, id) => Some(CumulativeStep::Cumulative),
        HopOp::Reorg(_) if is_transpose(context.dag, id) && is_between_transposes(context, hop.inputs[0]) => {
            Some(CumulativeStep::Result)
        }
        HopOp::Reorg(_) => {
            let consumer = context.single_consumer(id)?;
            let is_operand = is_matrix_transpose(context, id) && is_between_transposes(context, consumer);
            is_operand.then_some(CumulativeStep::Operand)
        }
        _ => None,
    }
}

/// Whether the operator is cumulative down the columns of a value that operators over cells or rows can end with: not of a
/// sparse one, whose partial aggregates the basic operator stores sparse as well.
pub(crate) fn is_cumulative_by_column(context: &Context<'_>, id: HopId) -> bool {
    let hop = context.hop(id);
    matches!(hop.op, HopOp::Cumulative(_))
        && !is_between_transposes(context, id)
        && sparsity(context, hop.inputs[0]) == 1.0
}

/// Whether an operator is a cumulative aggregate of a transpose that nothing else reads, and is transposed alone.
fn is_between_transposes(context: &Context<'_>, id: HopId) -> bool {
    let hop = context.hop(id);
    matches!(hop.op, HopOp::Cumulative(_))
        && is_matrix_transpose(context, hop.inputs[0])
        && context.single_consumer(hop.inputs[0]) == Some(id)
        && context.single_consumer(id).is_some_and(|consumer| is_transpose(context.dag, consumer))
        // A transpose is the end of one such chain or the beginning of another.
        && !untransposed(context.dag, hop.inputs[0]).is_some_and(|inner| is_between_transposes(context, inner))
}

/// Whether an operator is the transpose of a matrix with several rows and columns.
fn is_matrix_transpose(context: &Context<'_>, id: HopId) -> bool {
    let dims = untransposed(context.dag, id).and_then(|input| context.hop(input).size.known_dims());
    dims.is_some_and(|(rows, cols)| rows > 1 && cols > 1)
}

/// The operators of `t(cumsum(t(X)))`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CumulativeStep {
    /// `t(X)`.
    Operand,
    /// The cumulative aggregate.
    Cumulative,
    /// The transpose of that.
    Result,
}

/// `t(x) %*% y` of two columns of the same, known length: an aggregation over cells.
pub(crate) fn is_inner_product(context: &Context<'_>, id: HopId) -> bool {
    let hop = context.hop(id);
    if hop.op != HopOp::MatMul || !hop.size.is_single() {
        return false;
    }
    let right = &context.hop(hop.inputs[1]).size;
    let left = untransposed(context.dag, hop.inputs[0]);
    right.is_col_vector() && left.is_some_and(|left| context.hop(left).size.same_dims(right))
}

/// An aggregation of several cells whose partial results merge, so that operators over cells can end in it.
pub(crate) fn is_cell_aggregate(context: &Context<'_>, id: HopId) -> bool {
    let hop = context.hop(id);
    let HopOp::AggUnary(op, _) = hop.op else { return false };
    let input = context.hop(hop.inputs[0]);
    op.merges() && input.is_matrix() && input.size.cells().is_some_and(|cells| cells > 1)
}

/// An aggregation of a matrix of several rows and columns that Row operators can do: everything along rows, what
/// merges along columns and over all cells.
pub(crate) fn aggregates_rows(context: &Context<'_>, id: HopId) -> bool {
    let hop = context.hop(id);
    match hop.op {
        HopOp::AggUnary(_, Direction::Row) => context.hop(hop.inputs[0]).size.is_matrix(),
        HopOp::AggUnary(op, Direction::Col) => op.merges() && context.hop(hop.inputs[0]).size.is_matrix(),
        HopOp::AggUnary(op, Direction::Full) => {
            op.merges() && context.hop(hop.inputs[0]).size.rows.is_some_and(|rows| rows > 1)
        }
        _ => false,
    }
}

/// The rows that a Row operator which ends here aggregates; none if it has a value for each of them.
pub(crate) fn aggregated_rows(context: &Context<'_>, id: HopId) -> Option<u64> {
    let hop = context.hop(id);
    let is_over_rows = matches!(hop.op, HopOp::AggUnary(_, Direction::Col | Direction::Full));
    let aggregated = match transposed_product(context, id) {
        Some((left, _)) => left,
        None if is_over_rows && aggregates_rows(context, id) => hop.inputs[0],
        None => return None,
    };
    context.hop(aggregated).size.known_dims().map(|(rows, _)| rows)
}

/// An aggregation of all cells into one, in which an operator with several roots over cells may end.
pub(crate) fn aggregates_all_cells(context: &Context<'_>, id: HopId) -> bool {
    match context.hop(id).op {
        HopOp::AggUnary(_, Direction::Full) => is_cell_aggregate(context, id),
        _ => is_inner_product(context, id),
    }
}

/// Whether operators that end here may share a pass with others.
pub(crate) fn can_share_pass(context: &Context<'_>, id: HopId) -> bool {
    aggregates_all_cells(context, id) || aggregated_rows(context, id).is_some()
}
