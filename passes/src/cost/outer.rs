//! What tells Outer operators over non-zeros from other ones over cells: factors, of which they fetch a row for each
//! non-zero, and sums of `t(W) %*% U`, which non-zeros of one row add to rows far apart.

use super::schedule::{Scheduled, rank};
use super::work::Work;
use crate::cover::Operator;
use crate::facts::{Context, SCALAR_BYTES};
use crate::hops::untransposed;
use crate::machine::LINE_BYTES;
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::schedule::Sums;

/// Starts of rows that an Outer operator pays for each row of the main input: that row's, and that of the row of a factor
/// that belongs to it.
const STARTS_PER_ROW: f64 = 2.0;

/// What finding the part of a row that lies in a range of columns costs, in starts of sparse rows. Fitted.
const RANGE_IN_ROW_STARTS: f64 = 2.5;

/// Transfers of a cache line that is added to: it is read and written.
pub(super) const TRANSFERS_OF_SUMS: f64 = 2.0;

/// Completes what an Outer operator over non-zeros computes, given what any operator over these cells does.
pub(super) fn count_factors(context: &Context<'_>, operator: &Operator, scheduled: &Scheduled, work: &mut Work) {
    let cols = context.hop(scheduled.main).size.cols.unwrap_or(0) as f64;
    work.lines = work.non_zeros * lines(context, operator);
    work.line_bytes = rank(context, operator) as f64 * SCALAR_BYTES * cols;
    let rows = work.sparse_rows;
    work.sparse_rows *= STARTS_PER_ROW;
    if let Some(Sums::ByColumns(ranges)) = scheduled.sums() {
        work.sparse_rows += rows * ranges as f64 * RANGE_IN_ROW_STARTS;
    }
}

/// The cache lines of factors that an Outer operator fetches for a non-zero: of the row of one that is not the row of the
/// main input, and of the row of `t(W) %*% U` that the non-zero is added to.
fn lines(context: &Context<'_>, operator: &Operator) -> f64 {
    let lines = |rank: Option<u64>| rank.unwrap_or(0) as f64 * SCALAR_BYTES / LINE_BYTES + 1.0;
    let factors = operator.members.iter().filter(|&&id| id != operator.root()).map(|&id| context.hop(id));
    let factors = factors.filter(|hop| hop.op == HopOp::MatMul);
    let fetched: f64 = factors.map(|hop| lines(context.hop(hop.inputs[0]).size.cols)).sum();
    let is_added_to = is_left_product(context, operator.root());
    fetched + if is_added_to { TRANSFERS_OF_SUMS * lines(context.hop(operator.root()).size.cols) } else { 0.0 }
}

/// Whether the operator is `t(W) %*% U`.
fn is_left_product(context: &Context<'_>, id: HopId) -> bool {
    let hop = context.hop(id);
    hop.op == HopOp::MatMul && untransposed(context.dag, hop.inputs[0]).is_some()
}
