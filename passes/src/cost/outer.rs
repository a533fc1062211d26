//! What tells Outer operators over non-zeros from other ones over cells: factors, of which they fetch a row for each
//! non-zero, and sums of `t(W) %*% U`, which non-zeros of one row add to rows far apart.

use super::BLOCK_CELLS;
use super::vector::{CostVector, SCALAR_BYTES};
use crate::cover::Operator;
use crate::facts::{Context, cells};
use crate::hops::untransposed;
use crate::machine::LINE_BYTES;
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::work;

/// Rank up to which blocks of an Outer operator over non-zeros have as many of these as others have cells.
const BLOCK_RANK: f64 = 8.0;

/// Private sums of `t(W) %*% U`, one for each of so many blocks, where non-zeros are enough and sums have at most
/// [`PRIVATE_CELLS`].
const PRIVATE_SUMS: f64 = work::MAX_PARTIALS as f64;

/// Cells of private sums, at most; else the skeleton cuts columns into ranges, each of which meets all rows.
const PRIVATE_CELLS: f64 = work::PRIVATE_SUM_CELLS as f64;

/// Ranges of columns, at most; rows of few non-zeros have two.
const MOST_RANGES: f64 = work::MAX_PARTIALS as f64;

/// Multiplications of a factor's values in the time in which the Outer skeleton visits a non-zero.
const VISIT_FLOPS: f64 = work::VISIT_FLOPS as f64;

/// Multiplications of a factor's values in the time in which it finds the part of a row that lies in a range: it makes as
/// many ranges as the non-zeros of a row pay for.
const ROW_FLOPS: f64 = work::FIND_RANGE_FLOPS as f64;

/// The beginning of a row, with the row of a factor that belongs to it.
const BEGUN: f64 = 2.0;

/// Finding the part of a row that lies in a range takes as long as beginning so many rows.
const PART_ROWS: f64 = 2.5;

/// A line that is added to is read and written.
const ADDED: f64 = 2.0;

/// Completes what an Outer operator over non-zeros computes, given what any operator over these cells does.
pub(super) fn count_factors(context: &Context<'_>, operator: &Operator, space: &SizeInfo, vector: &mut CostVector) {
    let rank = rank(context, operator);
    let work = &mut vector.work;
    work.lines = work.non_zeros * lines(context, operator);
    work.line_bytes = rank * SCALAR_BYTES * space.cols.unwrap_or(0) as f64;
    vector.cells *= rank / BLOCK_RANK;
    let rows = work.sparse_rows;
    work.sparse_rows *= BEGUN;
    if !is_left_product(context, operator.root()) {
        return;
    }
    let sums = cells(&context.hop(operator.root()).size);
    let multiplied = work.non_zeros * rank;
    let is_private = sums <= PRIVATE_CELLS && multiplied >= PRIVATE_SUMS * (2.0 * sums).max(BLOCK_CELLS as f64);
    if !is_private {
        let paid = work.non_zeros * (rank + VISIT_FLOPS) / (ROW_FLOPS * rows.max(1.0));
        work.sparse_rows += rows * paid.clamp(2.0, MOST_RANGES) * PART_ROWS;
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
    fetched + if is_added_to { ADDED * lines(context.hop(operator.root()).size.cols) } else { 0.0 }
}

/// The columns of the factors.
fn rank(context: &Context<'_>, operator: &Operator) -> f64 {
    let products = operator.members.iter().map(|&id| context.hop(id)).filter(|hop| hop.op == HopOp::MatMul);
    products.filter_map(|hop| context.hop(hop.inputs[0]).size.cols).min().unwrap_or(0) as f64
}

/// Whether the operator is `t(W) %*% U`.
fn is_left_product(context: &Context<'_>, id: HopId) -> bool {
    let hop = context.hop(id);
    hop.op == HopOp::MatMul && untransposed(context.dag, hop.inputs[0]).is_some()
}
