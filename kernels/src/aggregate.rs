//! Aggregations.

use crate::KernelContext;
use crate::sums;
use crate::variance::{variance_columns, variance_full};
use fuseline_ir::ops::{AggOp, Direction};
use fuseline_matrix::MatrixBlock;

/// All cells aggregated to one value.
pub fn aggregate_full(context: &KernelContext<'_>, op: AggOp, matrix: &MatrixBlock) -> f64 {
    match op {
        AggOp::Var => variance_full(context, matrix),
        _ => sums::full(context, op, matrix),
    }
}

/// Each row (`Direction::Row`) or each column (`Direction::Col`) aggregated: an m x 1 or a 1 x n matrix; for
/// `Direction::Full` a 1 x 1 matrix.
pub fn aggregate_vector(
    context: &KernelContext<'_>,
    op: AggOp,
    direction: Direction,
    matrix: &MatrixBlock,
) -> MatrixBlock {
    match direction {
        Direction::Full => MatrixBlock::single(aggregate_full(context, op, matrix)),
        // A primitive computes whole rows, variances included.
        Direction::Row => sums::rows(context, op, matrix).into(),
        Direction::Col if op == AggOp::Var => variance_columns(context, matrix).into(),
        Direction::Col => sums::columns(context, op, matrix).into(),
    }
}
