//! Basic operators that read their inputs whole: products, aggregations, and what moves cells.

use super::{
    BASIC_BLOCK_CELLS, CostVector, InputRead, VALUES_ONLY_ROW_START, expected_output_bytes, least_read, matrices,
    non_zeros, reads_values_alone, unfolding,
};
use crate::cost::BLOCK_CELLS;
use crate::cost::outer::TRANSFERS_OF_SUMS;
use crate::cost::product::{
    FormedTranspose, bytes_of_sums, has_several_blocks, lines_of, lines_of_row, moved_cells,
    multiplies_formed_transpose, of_transposed_sparse, rows_met, sparse_right_of_dense,
};
use crate::cost::work::{
    Work, basic_class, flops, is_column_aggregate, is_pooling, product_share, row_cells, runs, share_of_right,
    takes_short_rows,
};
use crate::cover::Operator;
use crate::facts::{Context, SCALAR_BYTES, bytes_of, cells, stored_non_zeros, stored_rows};
use crate::hops::{over_windows, untransposed};
use crate::machine::OperationClass;
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::ops::Direction;
use fuseline_ir::schedule::product::TransposedSparse;
use smallvec::SmallVec;

/// What starting a sparse row costs a single product, relative to the machine's `sparse.row`, which was measured with two products
/// per row: hardly more than an aggregation of its values. Fitted.
const SINGLE_USE_ROW_START: f64 = 0.55;

/// What starting a run costs for one of several short rows that a basic operator takes side by side, relative to the
/// machine's `start.run`. Fitted.
const SIDE_BY_SIDE_RUN_START: f64 = 0.4;

/// What a basic operator that reads its inputs whole writes, computes and reads.
pub(super) fn whole_inputs(context: &Context<'_>, operator: &Operator) -> CostVector {
    let id = operator.root();
    let root = context.hop(id);
    let class = basic_class(context, id);
    let output = expected_output_bytes(context, id);
    let transposed_sparse = of_transposed_sparse(context, id);
    let forms_transpose = transposed_sparse == Some(TransposedSparse::Transposes);
    let mut work = work_of(context, operator, class);
    let mut inputs = matrices(context, &operator.inputs, |input| least_read(context, id, input));
    let rows = |read: &InputRead| {
        let share = if root.op == HopOp::Index { least_read(context, id, read.id) } else { 1.0 };
        // It begins the rows of the transpose.
        let is_transposed = forms_transpose && rows_read(context, read.id) > 0.0;
        if is_transposed { root.size.rows.unwrap_or(0) as f64 } else { share * rows_read(context, read.id) }
    };
    work.sparse_rows = begun(&root.op) * inputs.iter().map(rows).sum::<f64>();
    if !reads_values_alone(&root.op) {
        work.non_zeros = non_zeros(context, &inputs);
    }
    if is_column_aggregate(context, id) {
        work.lines = TRANSFERS_OF_SUMS * stored_non_zeros(context, root.inputs[0]);
        work.line_bytes = output;
    }
    if root.op == HopOp::MatMul {
        work.moved += moved_cells(context, id, class);
        let (begun, visited) = rows_met(context, root.inputs[0], root.inputs[1]);
        work.sparse_rows += begun;
        work.non_zeros += visited;
        count_lines(context, id, &mut inputs, &mut work);
        work.compacted += compacted_cells(context, id);
    }
    work.count_stored(stored_non_zeros(context, id), stored_rows(context, id));
    let formed = FormedTranspose::of(context, id);
    if let Some(formed) = formed {
        work.count_transpose(formed, root.op == HopOp::MatMul);
    }
    let largest = inputs.iter().map(|read| read.bytes).fold(output, f64::max) / SCALAR_BYTES;
    let is_sparse = inputs.iter().any(|read| rows_read(context, read.id) > 0.0);
    let is_shared = match root.op {
        HopOp::MatMul if !is_sparse => has_several_blocks(context, id),
        HopOp::Index => output / SCALAR_BYTES > BASIC_BLOCK_CELLS,
        // The transpose takes less than what is done with it.
        HopOp::MatMul if forms_transpose => largest > BLOCK_CELLS as f64,
        _ if formed.is_some_and(|formed| !formed.is_shared()) => false,
        _ if transposed_sparse.is_some_and(|way| !way.is_shared()) => false,
        // Images are the work of one thread each.
        _ if over_windows(context.dag, id).is_some() => true,
        _ => largest > if is_sparse { BLOCK_CELLS as f64 } else { BASIC_BLOCK_CELLS },
    };
    // It adds up the rows of the right side.
    let computes_apart = root.op == HopOp::MatMul && root.size.rows == Some(1) && root.size.cols != Some(1);
    let (sweeps, private_sums) = (SmallVec::new(), 0.0);
    CostVector {
        output,
        work,
        inputs,
        sweeps,
        copied: 0.0,
        private_sums,
        sparsity: 1.0,
        driver: None,
        is_shared,
        computes_apart,
    }
}

/// What its only member computes.
fn work_of(context: &Context<'_>, operator: &Operator, class: OperationClass) -> Work {
    let id = operator.root();
    let flops = flops(context, id) * share_of_right(context, id);
    let mut work = Work::default();
    if is_pooling(context, id) {
        work.row_cells = row_cells(context, operator, id);
    }
    work.in_registers = if product_share(context, id, class) < 1.0 { flops } else { 0.0 };
    work.moved = unfolding(context, id);
    work.add(class, flops);
    if class != OperationClass::MatrixProduct {
        let run_start = if takes_short_rows(context, id) { SIDE_BY_SIDE_RUN_START } else { 1.0 };
        work.runs = run_start * runs(context, id, false);
    }
    work
}

/// What starting a sparse row costs, relative to the machine's `sparse.row`.
fn begun(op: &HopOp) -> f64 {
    match op {
        HopOp::AggUnary(_, Direction::Full | Direction::Col) | HopOp::Reorg(_) => 0.0,
        HopOp::AggUnary(..) => VALUES_ONLY_ROW_START,
        HopOp::MatMul => SINGLE_USE_ROW_START,
        _ => 1.0,
    }
}

/// The stored rows of an input: a product reads through a transpose.
fn rows_read(context: &Context<'_>, id: HopId) -> f64 {
    stored_rows(context, untransposed(context.dag, id).unwrap_or(id))
}

/// The cells of a product of a sparse and a dense matrix that is stored sparse: it is computed dense.
fn compacted_cells(context: &Context<'_>, id: HopId) -> f64 {
    let is_dense = |&input: &HopId| rows_read(context, input) == 0.0;
    let is_computed_dense = context.hop(id).inputs.iter().any(is_dense);
    if is_computed_dense && stored_rows(context, id) > 0.0 { cells(&context.hop(id).size) } else { 0.0 }
}

/// Counts the cache lines that a basic product of a sparse matrix fetches for its non-zeros: of the right side, or, where a
/// transpose is on the left that is not formed, of the sums. Of a dense and a sparse one it is the transposed product, sparse side first.
fn count_lines(context: &Context<'_>, id: HopId, inputs: &mut [InputRead], work: &mut Work) {
    let hop = context.hop(id);
    if let Some(right) = sparse_right_of_dense(context, id) {
        let rows = hop.size.rows.unwrap_or(0);
        work.lines = TRANSFERS_OF_SUMS * stored_non_zeros(context, right) * lines_of(rows);
        work.line_bytes = bytes_of(context, id);
        return;
    }
    let non_zeros = stored_non_zeros(context, hop.inputs[0]);
    if untransposed(context.dag, hop.inputs[0]).is_some() && !multiplies_formed_transpose(context, id) {
        work.lines = TRANSFERS_OF_SUMS * non_zeros * lines_of_row(context, id);
        work.line_bytes = bytes_of_sums(context, id);
    } else if let Some(right) = inputs.iter_mut().find(|read| read.id == hop.inputs[1]) {
        right.lines = non_zeros * lines_of_row(context, hop.inputs[1]);
    }
}
