//! What tells products of matrices by themselves from other basic operators.

use super::vector::{SCALAR_BYTES, is_dense_with_long_rows, stored_non_zeros, stored_rows};
use super::work::{FEW_COLUMNS, basic_class};
use crate::machine::{LINE_BYTES, OperationClass};
use crate::template::{Context, untransposed};
use fuseline_ir::hop::{HopId, HopOp};

/// Blocks of a product of matrices have so many rows at least, however few columns.
const PRODUCT_ROWS: f64 = 128.0;

/// Inner dimensions from which on threads share a product of few cells by parts of these.
const LONG_INNER: u64 = 4096;

/// Whether a basic product passes over each row with one column after the other, or adds up the rows.
pub(super) fn reads_columns_apart(context: &Context<'_>, id: HopId) -> bool {
    let hop = context.hop(id);
    if hop.op != HopOp::MatMul || basic_class(context, id) != OperationClass::Product {
        return false;
    }
    let has_columns = hop.size.cols.is_some_and(|cols| cols > 1);
    let is_transposed = untransposed(context.dag, hop.inputs[0]).is_some();
    has_columns && (hop.size.rows == Some(1) || !is_transposed && is_dense_with_long_rows(context, hop.inputs[0]))
}

/// The blocks of a product of matrices: of rows, or of a long inner dimension.
pub(super) fn product_blocks(context: &Context<'_>, id: HopId) -> f64 {
    let hop = context.hop(id);
    let inner = context.hop(hop.inputs[0]).size.cols.unwrap_or(0);
    if inner >= LONG_INNER { f64::INFINITY } else { hop.size.rows.unwrap_or(0) as f64 / PRODUCT_ROWS }
}

/// The rows of a sparse matrix that the non-zeros of another one on its left begin in a product, and the non-zeros that they
/// visit there.
pub(super) fn rows_met(context: &Context<'_>, left: HopId, right: HopId) -> (f64, f64) {
    let (rows, non_zeros) = (stored_rows(context, right), stored_non_zeros(context, right));
    if rows == 0.0 {
        return (0.0, 0.0);
    }
    let begun = stored_non_zeros(context, left);
    (begun, begun * non_zeros / rows)
}

/// The cache lines of a row of a dense matrix on the right that a non-zero on the left of a product fetches. Rows of few
/// values are there already.
pub(super) fn lines_of_wide_rows(context: &Context<'_>, right: HopId) -> f64 {
    let cols = context.hop(right).size.cols.filter(|&cols| cols > FEW_COLUMNS && stored_rows(context, right) == 0.0);
    cols.map_or(0.0, |cols| cols as f64 * SCALAR_BYTES / LINE_BYTES + 1.0)
}
