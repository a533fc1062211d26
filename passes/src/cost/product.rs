//! What tells products of matrices by themselves from other basic operators.

use crate::facts::{Context, SCALAR_BYTES, bytes_of, cells, has_few_columns, stored_non_zeros, stored_rows};
use crate::hops::untransposed;
use crate::machine::{LINE_BYTES, OperationClass};
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::schedule::product::{
    Extents, PackedBlocks, ProductLoop, TransposedSparse, adds_row_products, short_block_rows, transposed_ranges,
};
use fuseline_ir::work::BASIC_BLOCK_CELLS;

/// What packing a cell costs a product of matrices, in cells that a transposition moves one by one. Fitted.
const PACK_IN_MOVES: f64 = 0.4;

/// Columns up to which a product of matrices does not pack its left side: two tiles of registers, which have 8 to 24
/// columns, as the instruction set has it.
const UNPACKED_COLUMNS: u64 = 24;

/// What a product extends over.
fn extents(context: &Context<'_>, id: HopId) -> Extents {
    let hop = context.hop(id);
    let extent = |size: Option<u64>| size.unwrap_or(0) as usize;
    let inner = context.hop(hop.inputs[0]).size.cols;
    Extents { rows: extent(hop.size.rows), inner: extent(inner), cols: extent(hop.size.cols) }
}

/// The loop that a basic product runs in over dense matrices, which reads through a transpose.
pub(super) fn loop_of(context: &Context<'_>, id: HopId) -> ProductLoop {
    let is_transposed = |input: HopId| untransposed(context.dag, input).is_some();
    match *context.hop(id).inputs {
        [left, _] if is_transposed(left) => ProductLoop::with_transposed_left(extents(context, id)),
        [_, right] if is_transposed(right) => ProductLoop::with_transposed_right(extents(context, id)),
        _ => ProductLoop::plain(extents(context, id)),
    }
}

/// Whether threads share a product of dense matrices.
pub(super) fn has_several_blocks(context: &Context<'_>, id: HopId) -> bool {
    let extents = extents(context, id);
    match loop_of(context, id) {
        ProductLoop::Packed => PackedBlocks::of(extents).count(extents.rows) > 1,
        ProductLoop::ShortRows => extents.rows > short_block_rows(extents),
        _ => extents.rows.saturating_mul(extents.inner).saturating_mul(extents.cols) > BASIC_BLOCK_CELLS,
    }
}

/// The cells that a basic product of this class moves, in those that a transposition moves one by one in the same time.
///
/// A product of matrices packs both operands, the left one for more than a few columns alone, and stores a result of few
/// columns in parts of registers. A transposed sparse matrix adds to private results, which are merged. Of a dense and a sparse
/// matrix the dense one is transposed where that is on the right, and the result where a transposed dense one is on the left.
pub(super) fn moved_cells(context: &Context<'_>, id: HopId, class: OperationClass) -> f64 {
    let hop = context.hop(id);
    if class == OperationClass::MatrixProduct {
        let [left, right] = [hop.inputs[0], hop.inputs[1]].map(|input| context.hop(input).size);
        let packed_left = if hop.size.cols.is_some_and(|cols| cols <= UNPACKED_COLUMNS) { 0.0 } else { cells(&left) };
        let stored = if has_few_columns(&hop.size) { cells(&hop.size) } else { 0.0 };
        return PACK_IN_MOVES * (packed_left + cells(&right) + stored);
    }
    let [left, right] = [hop.inputs[0], hop.inputs[1]].map(|input| Side::of(context, input));
    match (left.is_transposed, right.is_transposed, left.is_sparse, right.is_sparse) {
        (true, _, true, false) => match of_transposed_sparse(context, id) {
            Some(TransposedSparse::Adds(results)) if results > 1 => results as f64 * cells(&hop.size),
            // Others are the result itself.
            _ => 0.0,
        },
        (true, _, false, true) => cells(&hop.size),
        // The transposes of a row and of a column are where these are.
        (false, _, false, true) if hop.size.rows != Some(1) => cells(&context.hop(left.matrix).size) + cells(&hop.size),
        (false, true, true, false) => cells(&context.hop(right.matrix).size),
        _ => 0.0,
    }
}

/// How a basic product of a transposed sparse matrix and a dense one runs; none of other operators.
pub(super) fn of_transposed_sparse(context: &Context<'_>, id: HopId) -> Option<TransposedSparse> {
    let hop = context.hop(id);
    if hop.op != HopOp::MatMul {
        return None;
    }
    let [left, right] = [hop.inputs[0], hop.inputs[1]].map(|input| Side::of(context, input));
    let non_zeros = stored_non_zeros(context, left.matrix) as usize;
    let is_such = left.is_transposed && left.is_sparse && !right.is_sparse;
    is_such.then(|| TransposedSparse::of(non_zeros, extents(context, id)))
}

/// Whether a basic product forms the transpose of a sparse matrix, and multiplies that with a dense one.
pub(super) fn multiplies_formed_transpose(context: &Context<'_>, id: HopId) -> bool {
    of_transposed_sparse(context, id) == Some(TransposedSparse::Transposes)
}

/// An operand of a product, which reads through a transpose.
struct Side {
    matrix: HopId,
    is_transposed: bool,
    is_sparse: bool,
}

impl Side {
    fn of(context: &Context<'_>, input: HopId) -> Side {
        let transposed = untransposed(context.dag, input);
        let matrix = transposed.unwrap_or(input);
        Side { matrix, is_transposed: transposed.is_some(), is_sparse: stored_rows(context, matrix) > 0.0 }
    }
}

/// The transpose of a sparse matrix that a basic operator forms: its non-zeros and rows.
#[derive(Clone, Copy)]
pub(super) struct FormedTranspose {
    pub(super) non_zeros: f64,
    pub(super) rows: f64,
}

impl FormedTranspose {
    /// What a transpose is, or a product forms of one of its operands; none of other operators.
    pub(super) fn of(context: &Context<'_>, id: HopId) -> Option<FormedTranspose> {
        let hop = context.hop(id);
        let of = |matrix: HopId| FormedTranspose {
            non_zeros: stored_non_zeros(context, matrix),
            rows: context.hop(matrix).size.cols.unwrap_or(0) as f64,
        };
        if let Some(matrix) = untransposed(context.dag, id) {
            return (stored_rows(context, matrix) > 0.0 && !hop.size.is_vector()).then(|| of(matrix));
        }
        if hop.op != HopOp::MatMul {
            return None;
        }
        let [left, right] = [hop.inputs[0], hop.inputs[1]].map(|input| Side::of(context, input));
        if left.is_transposed {
            let rows = stored_rows(context, left.matrix).max(1.0);
            let terms = of(left.matrix).non_zeros * of(right.matrix).non_zeros / rows;
            let is_formed = match of_transposed_sparse(context, id) {
                Some(way) => way == TransposedSparse::Transposes,
                None => left.is_sparse && !adds_row_products(terms as usize, cells(&hop.size) as usize),
            };
            return is_formed.then(|| of(left.matrix));
        }
        (right.is_transposed && right.is_sparse).then(|| of(right.matrix))
    }

    /// Whether threads share the work.
    pub(super) fn is_shared(&self) -> bool {
        transposed_ranges(self.non_zeros as usize, self.rows as usize) > 1
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

/// What a product goes through for each row of its left side.
#[derive(Clone, Copy)]
pub(super) struct Passes {
    /// The matrix whose rows these are.
    pub(super) rows_of: HopId,
    /// The right side, or the product itself where a transpose is on the left: sums, which are written, too.
    pub(super) through: HopId,
    pub(super) is_sum: bool,
}

/// What a product goes through row by row; none of other operators.
pub(super) fn passes(context: &Context<'_>, id: HopId) -> Option<Passes> {
    let hop = context.hop(id);
    let [left, right] = hop.inputs[..] else { return None };
    let passes = match untransposed(context.dag, left) {
        Some(rows_of) => Passes { rows_of, through: id, is_sum: true },
        None => Passes { rows_of: left, through: right, is_sum: false },
    };
    (hop.op == HopOp::MatMul).then_some(passes)
}

/// What a further cache line of a row costs, relative to the first one, which is waited for. Fitted.
const FOLLOWING_LINE: f64 = 0.3;

/// The cache lines of a row of a dense matrix, the right side or the result of a product, that a non-zero of the sparse one
/// fetches, in lines that it waits for; none of a sparse matrix.
pub(super) fn lines_of_row(context: &Context<'_>, dense: HopId) -> f64 {
    let cols = context.hop(dense).size.cols.filter(|_| stored_rows(context, dense) == 0.0);
    cols.map_or(0.0, lines_of)
}

/// The cache lines of so many values beside each other, in lines that are waited for.
pub(super) fn lines_of(values: u64) -> f64 {
    1.0 + FOLLOWING_LINE * values as f64 * SCALAR_BYTES / LINE_BYTES
}

/// The sparse matrix on the right of a dense one in a product: its non-zeros alone are multiplied, each with a column of the
/// left side.
pub(super) fn sparse_right_of_dense(context: &Context<'_>, id: HopId) -> Option<HopId> {
    let hop = context.hop(id);
    if hop.op != HopOp::MatMul {
        return None;
    }
    let [left, right] = [hop.inputs[0], hop.inputs[1]].map(|input| Side::of(context, input));
    (right.is_sparse && !left.is_sparse).then_some(right.matrix)
}

/// The bytes of the sums of a product with a transposed sparse matrix that are added to at a time.
pub(super) fn bytes_of_sums(context: &Context<'_>, id: HopId) -> f64 {
    let ranges = match of_transposed_sparse(context, id) {
        Some(TransposedSparse::Columns(ranges)) => ranges,
        _ => 1,
    };
    bytes_of(context, id) / ranges as f64
}
