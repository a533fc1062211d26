//! What tells products of matrices by themselves from other basic operators.

use super::vector::{BASIC_BLOCK_CELLS, SCALAR_BYTES, stored_non_zeros, stored_rows};
use crate::facts::{Context, cells};
use crate::hops::untransposed;
use crate::machine::{LINE_BYTES, OperationClass};
use fuseline_ir::hop::HopId;
use fuseline_ir::work::{FEW_PRODUCT_COLUMNS, LONG_INNER, MAX_PARTIALS, PRODUCT_BLOCK_ROWS, TRANSPOSE_CELLS};

/// What packing a cell costs a product of matrices, in cells that a transposition moves one by one. Fitted.
const PACK_IN_MOVES: f64 = 0.4;

/// The blocks of a product of matrices: of rows, or of a long inner dimension.
pub(super) fn product_blocks(context: &Context<'_>, id: HopId) -> f64 {
    let hop = context.hop(id);
    let inner = context.hop(hop.inputs[0]).size.cols.unwrap_or(0);
    if inner >= LONG_INNER as u64 {
        f64::INFINITY
    } else {
        hop.size.rows.unwrap_or(0) as f64 / PRODUCT_BLOCK_ROWS as f64
    }
}

/// The cells that a basic product of this class moves, in those that a transposition moves one by one in the same time.
///
/// A product of matrices packs both operands, and stores a result of few columns in parts of registers. A transposed sparse
/// matrix adds to private results, which are merged, or is transposed where these have too many cells.
pub(super) fn moved_cells(context: &Context<'_>, id: HopId, class: OperationClass) -> f64 {
    let hop = context.hop(id);
    if class == OperationClass::MatrixProduct {
        let [left, right] = [hop.inputs[0], hop.inputs[1]].map(|input| context.hop(input).size);
        let is_narrow = hop.size.cols.is_some_and(|cols| cols <= FEW_PRODUCT_COLUMNS as u64);
        let stored = if is_narrow { cells(&hop.size) } else { 0.0 };
        return PACK_IN_MOVES * (cells(&left) + cells(&right) + stored);
    }
    match untransposed(context.dag, hop.inputs[0]) {
        Some(left) if stored_rows(context, left) > 0.0 && stored_rows(context, hop.inputs[1]) == 0.0 => {
            let (rows, non_zeros) = (stored_rows(context, left), stored_non_zeros(context, left));
            let multiplied = non_zeros * hop.size.cols.unwrap_or(0) as f64;
            let parts = (multiplied.max(cells(&hop.size)) / BASIC_BLOCK_CELLS)
                .ceil()
                .clamp(1.0, (MAX_PARTIALS as f64).min(rows));
            let (filled, transposed) = (parts * cells(&hop.size), TRANSPOSE_CELLS as f64 * non_zeros);
            if filled > transposed {
                transposed
            } else if parts > 1.0 {
                filled
            } else {
                // A single one is the result itself.
                0.0
            }
        }
        _ => 0.0,
    }
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
    let cols = context
        .hop(right)
        .size
        .cols
        .filter(|&cols| cols > FEW_PRODUCT_COLUMNS as u64 && stored_rows(context, right) == 0.0);
    cols.map_or(0.0, |cols| cols as f64 * SCALAR_BYTES / LINE_BYTES + 1.0)
}
