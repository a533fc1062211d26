//! Conditions on operators that several templates share.

use super::Context;
use fuseline_ir::hop::{DataGenOp, HopDag, HopId, HopOp, NaryOp, ReorgOp};

/// An element-wise operation with a matrix result of known dimensions whose matrix inputs have the result's
/// dimensions, its rows and one column, its columns and one row, or a single cell. Operations with 1 x 1 results are
/// left alone.
pub(crate) fn is_elementwise(dag: &HopDag, id: HopId) -> bool {
    let hop = &dag[id];
    let by_cells = match hop.op {
        HopOp::Unary(_) | HopOp::Binary(_) | HopOp::Ternary(_) | HopOp::Outer(_) => true,
        HopOp::Nary(op) => op.fold().is_some(),
        _ => false,
    };
    if !by_cells || !hop.is_matrix() {
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
        input.is_matrix() && [(rows, cols), (rows, 1), (1, cols), (1, 1)].into_iter().any(|fit| dims == Some(fit))
    })
}

/// A transpose of a matrix of known dimensions.
pub(crate) fn is_transpose(dag: &HopDag, id: HopId) -> bool {
    dag[id].op == HopOp::Reorg(ReorgOp::Transpose) && dag[id].size.known_dims().is_some()
}

/// A transpose of a column of several rows.
pub(crate) fn is_column_transpose(dag: &HopDag, id: HopId) -> bool {
    is_transpose(dag, id) && dag[id].size.is_row_vector()
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

/// The columns `first..last` (0-based, half open) of an index over all rows, at least two, with a literal first column.
fn literal_columns(dag: &HopDag, id: HopId) -> Option<(u32, u32)> {
    let hop = &dag[id];
    if hop.op != HopOp::Index {
        return None;
    }
    let (rows, cols) = hop.size.known_dims()?;
    let (source_rows, source_cols) = dag[hop.inputs[0]].size.known_dims()?;
    let first = dag.literal_f64(hop.inputs[3])?;
    if rows != source_rows || rows < 2 || cols < 1 || first < 1.0 || first.fract() != 0.0 {
        return None;
    }
    let first = first as u64 - 1;
    let last = first.checked_add(cols).filter(|&last| last <= source_cols)?;
    Some((u32::try_from(first).ok()?, u32::try_from(last).ok()?))
}

/// The columns `first..last` (0-based, half open) of an index over all rows with literal columns, at least two.
pub(crate) fn column_range(dag: &HopDag, id: HopId) -> Option<(u32, u32)> {
    literal_columns(dag, id).filter(|(first, last)| last - first > 1)
}

/// The column (0-based) of an index over all rows with one literal column.
pub(crate) fn single_column(dag: &HopDag, id: HopId) -> Option<u32> {
    literal_columns(dag, id).filter(|(first, last)| last - first == 1).map(|(first, _)| first)
}

/// First value and increment of a sequence of several values between literals: the value in row `i` is
/// `from + i * by`, rounded once.
pub(crate) fn literal_sequence(dag: &HopDag, id: HopId) -> Option<(f64, f64)> {
    let hop = &dag[id];
    if hop.op != HopOp::DataGen(DataGenOp::Seq) || hop.size.rows.is_none_or(|rows| rows < 2) {
        return None;
    }
    let [from, _to, by] = [0, 1, 2].map(|position| dag.literal_f64(hop.inputs[position]));
    Some((from?, by?))
}

/// Matrices of the same, known number of rows, several, side by side.
pub(crate) fn is_concatenation(dag: &HopDag, id: HopId) -> bool {
    let hop = &dag[id];
    let Some((rows, _)) = hop.size.known_dims().filter(|(rows, _)| *rows > 1) else { return false };
    let fits = |&input: &HopId| matches!(dag[input].size.known_dims(), Some((own, cols)) if own == rows && cols > 0);
    hop.op == HopOp::Nary(NaryOp::Cbind) && hop.inputs.len() > 1 && hop.inputs.iter().all(fits)
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
    let is_inner_transpose = |id: HopId| {
        is_transpose(context.dag, id)
            && matches!(context.hop(context.hop(id).inputs[0]).size.known_dims(), Some((rows, cols)) if rows > 1 && cols > 1)
    };
    let feeds = |id: HopId, condition: &dyn Fn(HopId) -> bool| context.single_consumer(id).is_some_and(condition);
    let is_sum = |id: HopId| {
        matches!(context.hop(id).op, HopOp::Cumulative(_))
            && is_inner_transpose(context.hop(id).inputs[0])
            && feeds(context.hop(id).inputs[0], &|consumer| consumer == id)
            && feeds(id, &|consumer| is_transpose(context.dag, consumer))
    };
    match context.hop(id).op {
        HopOp::Cumulative(_) if is_sum(id) => Some(CumulativeStep::Cumulative),
        HopOp::Reorg(_) if is_transpose(context.dag, id) && is_sum(context.hop(id).inputs[0]) => {
            Some(CumulativeStep::Result)
        }
        HopOp::Reorg(_) if is_inner_transpose(id) && feeds(id, &is_sum) => Some(CumulativeStep::Operand),
        _ => None,
    }
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
    let fits = |left: HopId| right.is_col_vector() && context.hop(left).size.same_dims(right);
    untransposed(context.dag, hop.inputs[0]).is_some_and(fits)
}

/// An aggregation of several cells whose partial results merge, so that operators over cells can end in it.
pub(crate) fn is_cell_aggregate(context: &Context<'_>, id: HopId) -> bool {
    let hop = context.hop(id);
    let HopOp::AggUnary(op, _) = hop.op else { return false };
    let input = context.hop(hop.inputs[0]);
    op.merges() && input.is_matrix() && input.size.cells().is_some_and(|cells| cells > 1)
}
