//! The computation of operators: floating-point operations by class, runs that products and aggregations start, and
//! visits and stores of non-zeros.

use super::product::{FormedTranspose, loop_of, multiplies_formed_transpose, passes};
use crate::cover::Operator;
use crate::facts::{Context, IN_REGISTER_SHARE, cells, has_short_rows, is_inner_product, sparsity};
use crate::hops::{over_windows, untransposed};
use crate::machine::{Machine, OperationClass};
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::{HopId, HopOp, NaryOp};
use fuseline_ir::ops::{Direction, WindowOp};
use fuseline_ir::schedule::product::ProductLoop;
use fuseline_ir::work::PLACED_COLUMNS;

/// What joining rows costs for each of their non-zeros, in visits of one: rows are merged without a branch, and each step waits for
/// the one before. Set on one machine.
const JOIN_IN_VISITS: f64 = 3.5;

/// What joining rows in any order costs, in a merge of them by column. Set on one machine.
const JOIN_IN_ANY_ORDER: f64 = 0.57;

/// What it costs to find out where rows meet, for each of their non-zeros, in visits of one. Fitted.
const MEET_IN_VISITS: f64 = 1.2;

/// What giving each non-zero of a row the value of the row costs, in visits of one. Set on one machine.
const SPREAD_IN_VISITS: f64 = 0.3;

/// What giving each non-zero the value of its column costs, which is looked up in a vector, in visits of one. Set on one machine.
const LOOK_UP_IN_VISITS: f64 = 0.4;

/// What beginning a row costs whose value is given to its non-zeros, relative to the machine's `sparse.row`. Set on one machine.
const SPREAD_ROW_START: f64 = 0.25;

/// What beginning a row costs that is joined with rows of other matrices, relative to the machine's `sparse.row` and besides
/// it: loops over few positions end where no processor expects it. Fitted.
pub(super) const JOINED_ROW_START: f64 = 3.5;

/// That of a row that meets rows of other matrices. Fitted.
pub(super) const MET_ROW_START: f64 = 1.5;

/// What bringing a non-zero to its row of a transpose costs besides storing it, in cells that a transposition of a dense matrix
/// moves one by one. Set on one machine, for some thousand rows: among many more it is up to three times as much.
const TRANSPOSED_IN_MOVES: f64 = 6.0;

/// What a cell of a sparse row costs that is laid out for all columns, in cells that a loop over rows goes over: most are zeros,
/// which are filled in. Set on one machine.
const LAID_OUT_IN_LOOPS: f64 = 4.0;

/// What a cell of a result costs that is computed for all cells and stored sparse, in cells that a loop over rows goes over: it is
/// counted and copied while it is in a cache. Set on one machine.
const COMPACTED_IN_LOOPS: f64 = 4.8;

/// What an operator computes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Floating-point operations, by the position of their class in [`OperationClass::ALL`].
    by_class: [f64; OperationClass::ALL.len()],
    /// Operations among them that fill registers with the values of one row alone, and how many values that are.
    by_row: [f64; OperationClass::ALL.len()],
    row_values: f64,
    /// Operations of products whose factors both stay in registers.
    pub in_registers: f64,
    /// Runs of values that products and aggregations start: one per row, or per cell of an outer product.
    pub runs: f64,
    /// Rows that an operator over cells goes through one by one; none where it takes the cells as one long row.
    pub rows: f64,
    /// Operations of an operator over rows on rows of few values, other than products.
    pub narrow: f64,
    /// Non-zeros visited.
    pub non_zeros: f64,
    /// Non-zeros visited in rows that are joined with rows of other matrices; `non_zeros` counts them too.
    pub joined: f64,
    /// Non-zeros visited to find out which of them rows of several matrices share; `non_zeros` counts them too.
    pub met: f64,
    /// What it takes to join rows of several matrices, or to let them meet, in rows that are begun; `sparse_rows` counts
    /// their own beginnings.
    pub combined_rows: f64,
    /// Visits of non-zeros by further products with the same row, or aggregations of it.
    pub non_zeros_again: f64,
    /// Cache lines of rows of factors, or of the right side of a product, that are fetched for non-zeros.
    pub lines: f64,
    /// The bytes of all that lines are fetched of for non-zeros, inputs included.
    pub line_bytes: f64,
    /// Rows of sparse matrices that are begun.
    pub sparse_rows: f64,
    /// Non-zeros stored with a pattern of their own.
    pub stored: f64,
    /// Rows that these are stored in.
    pub stored_rows: f64,
    /// Non-zeros that are given the values of their rows, once for each vector of such values.
    pub spread: f64,
    /// The rows that these belong to.
    pub spread_rows: f64,
    /// Non-zeros that are given the values of their columns, once for each further vector of such values: what visits a
    /// non-zero for its column looks one of them up.
    pub looked_up: f64,
    /// Cells that products move, apart from their operations.
    pub moved: f64,
    /// Cells that the loops of an operator over rows go over.
    pub row_cells: f64,
    /// Cells of sparse rows that are laid out for all columns.
    pub laid_out: f64,
    /// Cells of results that are computed for all cells and stored sparse.
    pub compacted: f64,
}

impl Work {
    /// Floating-point operations of all classes.
    pub fn flops(&self) -> f64 {
        self.by_class.iter().sum()
    }

    /// Floating-point operations of a class.
    pub fn flops_of(&self, class: OperationClass) -> f64 {
        self.by_class[class as usize]
    }

    /// Whether cells are moved, laid out or compacted, apart from what is computed of them.
    pub(super) fn moves_cells(&self) -> bool {
        self.moved + self.laid_out + self.compacted > 0.0
    }

    /// Adds floating-point operations of a class.
    pub(super) fn add(&mut self, class: OperationClass, flops: f64) {
        self.by_class[class as usize] += flops;
    }

    /// Counts the non-zeros of a new pattern, and the rows that hold any.
    pub(super) fn count_stored(&mut self, non_zeros: f64, rows: f64) {
        self.stored += non_zeros;
        self.stored_rows += rows.min(non_zeros);
    }

    /// Counts so many vectors of values of rows that are each given to the non-zeros of these rows.
    pub(super) fn count_spread(&mut self, vectors: usize, non_zeros: f64, rows: f64) {
        self.spread += vectors as f64 * non_zeros;
        self.spread_rows += vectors as f64 * rows;
    }

    /// Counts what it takes to form the transpose of a sparse matrix: its non-zeros are stored, by themselves where it is not the
    /// result, each in another row than the one before, and all its rows looked at.
    pub(super) fn count_transpose(&mut self, formed: FormedTranspose, is_apart: bool) {
        self.moved += formed.rows + TRANSPOSED_IN_MOVES * formed.non_zeros;
        if is_apart {
            self.moved += formed.non_zeros;
            self.count_stored(formed.non_zeros, formed.rows);
        }
    }

    /// Counts what it takes besides that a member of an operator over rows goes over short ones; products do not count. Narrow
    /// rows, of so many values, are one run, for which vectors are repeated, and others are taken one by one.
    pub(super) fn count_short_rows(&mut self, context: &Context<'_>, id: HopId, is_narrow: impl Fn(u64) -> bool) {
        let hop = context.hop(id);
        let size = match hop.op {
            HopOp::AggUnary(..) => context.hop(hop.inputs[0]).size,
            HopOp::Unary(_) | HopOp::Binary(_) | HopOp::Ternary(_) => hop.size,
            _ => return,
        };
        if size.cols == Some(1) || !has_short_rows(&size) {
            return;
        }
        if !size.cols.is_some_and(is_narrow) {
            self.narrow += size.rows.unwrap_or(0) as f64;
        } else if repeats_vector(context, id) {
            self.row_cells += cells(&size);
        }
    }

    /// Adds operations of a class that fill registers with the values of one row alone, of so many.
    pub(super) fn add_by_row(&mut self, class: OperationClass, flops: f64, row_values: f64) {
        self.add(class, flops);
        self.by_row[class as usize] += flops;
        self.row_values = row_values;
    }

    /// Makes all operations so far ones that fill registers with the values of one row alone, of so many.
    pub(super) fn fill_by_row(&mut self, row_values: f64) {
        self.by_row = self.by_class;
        self.row_values = row_values;
    }

    /// The values of one row that fill registers alone; zero where no operations go by rows.
    pub fn row_values(&self) -> f64 {
        self.row_values
    }

    /// Seconds of this many threads of a machine.
    pub fn seconds(&self, machine: &Machine, threads: f64) -> f64 {
        let unfilled = round_up(self.row_values, machine.lanes as f64) / self.row_values.max(1.0) - 1.0;
        let flops = OperationClass::ALL.into_iter().map(|class| {
            let by_row = self.by_row[class as usize] * unfilled.max(0.0);
            (self.flops_of(class) + by_row) / machine.compute.of(class)
        });
        let saved = (1.0 - IN_REGISTER_SHARE) * self.in_registers / machine.compute.product;
        let sparse = &machine.sparse;
        let combined = JOIN_IN_VISITS * self.joined + MEET_IN_VISITS * self.met;
        let given = SPREAD_IN_VISITS * self.spread + LOOK_UP_IN_VISITS * self.looked_up;
        let visits = (self.non_zeros + combined + given) * sparse.non_zero;
        let visits = visits + self.non_zeros_again * sparse.again;
        let visits = visits
            + self.lines * machine.line_time(self.line_bytes)
            + (self.sparse_rows + self.combined_rows + SPREAD_ROW_START * self.spread_rows) * sparse.row;
        let stores = self.stored * sparse.store + self.stored_rows * sparse.store_row;
        let starts = self.runs * machine.start.run + self.rows * machine.start.row + self.narrow * machine.start.narrow;
        let moves = self.moved / machine.compute.of(OperationClass::Reorganization);
        let passed = self.row_cells + LAID_OUT_IN_LOOPS * self.laid_out + COMPACTED_IN_LOOPS * self.compacted;
        let loops = passed / machine.compute.row_cells;
        (flops.sum::<f64>() - saved + moves + loops + visits + stores + starts) / threads
    }
}

/// What joining rows of a matrix of this size costs, in merges of them by column, where something asks for columns in their
/// order or nothing does.
pub(super) fn share_of_merge(is_ordered: bool, size: &SizeInfo) -> f64 {
    let has_places = size.cols.is_some_and(|cols| cols <= PLACED_COLUMNS as u64);
    if is_ordered || !has_places { 1.0 } else { JOIN_IN_ANY_ORDER }
}

/// The next multiple of a number.
fn round_up(value: f64, number: f64) -> f64 {
    (value / number).ceil() * number
}

/// The cells that loops of an operator over rows go over for a member: an aggregate takes in those of its input, and stored are
/// those of a root, the rows of a product, and those that a product takes in, unless they are a matrix that is read. The loop
/// computes on the way what else it needs.
pub(super) fn row_cells(context: &Context<'_>, operator: &Operator, id: HopId) -> f64 {
    let hop = context.hop(id);
    let of_rows = |id: HopId| if context.hop(id).size.cols == Some(1) { 0.0 } else { cells(&context.hop(id).size) };
    let is_computed = |id: &HopId| operator.covers(*id) && is_by_cell(context, *id);
    match hop.op {
        // Each value of a window is loaded by itself.
        _ if is_pooling(context, id) => dense_flops(context, id),
        HopOp::AggUnary(..) => of_rows(hop.inputs[0]),
        HopOp::MatMul => {
            let read = |input: HopId| untransposed(context.dag, input).unwrap_or(input);
            let taken: f64 = hop.inputs.iter().map(|&input| read(input)).filter(is_computed).map(of_rows).sum();
            let are_stored = passes(context, id).is_some_and(|passes| !passes.is_sum);
            taken + if are_stored { of_rows(id) } else { 0.0 }
        }
        _ if operator.roots.contains(&id) => of_rows(id),
        _ => 0.0,
    }
}

/// Whether an operator computes cells with a vector that has one value for each row, or for each column.
pub(super) fn repeats_vector(context: &Context<'_>, id: HopId) -> bool {
    let hop = context.hop(id);
    let mut inputs = hop.inputs.iter().map(|&input| context.hop(input));
    is_by_cell(context, id) && !hop.size.is_vector() && inputs.any(|input| input.is_matrix() && input.size.is_vector())
}

/// Whether an operator takes in the values of windows.
pub(super) fn is_pooling(context: &Context<'_>, id: HopId) -> bool {
    matches!(over_windows(context.dag, id), Some((WindowOp::MaxPool | WindowOp::AvgPool, _)))
}

/// Whether an operator computes each cell of its result by itself.
pub(super) fn is_by_cell(context: &Context<'_>, id: HopId) -> bool {
    matches!(context.hop(id).op, HopOp::Unary(_) | HopOp::Binary(_) | HopOp::Ternary(_) | HopOp::Nary(_))
}

/// Whether a product or an aggregation of rows takes in those of a dense matrix, which are short.
pub(super) fn takes_short_rows(context: &Context<'_>, id: HopId) -> bool {
    let hop = context.hop(id);
    let is_product = || context.operation(id).product_share < 1.0 && untransposed(context.dag, hop.inputs[0]).is_none();
    matches!(hop.op, HopOp::AggUnary(_, Direction::Row)) && has_short_rows(&context.hop(hop.inputs[0]).size)
        || is_product()
}

/// The class of an operator as a member of a fused one.
pub(super) fn fused_class(context: &Context<'_>, id: HopId) -> OperationClass {
    context.operation(id).class
}

/// The class of an operator by itself.
pub(super) fn basic_class(context: &Context<'_>, id: HopId) -> OperationClass {
    let hop = context.hop(id);
    let is_sparse = || hop.inputs.iter().any(|&input| sparsity(context, input) < 1.0);
    match hop.op {
        HopOp::MatMul if loop_of(context, id) == ProductLoop::Packed && !is_sparse() => OperationClass::MatrixProduct,
        HopOp::Index | HopOp::Nary(NaryOp::Cbind) => OperationClass::Reorganization,
        _ => fused_class(context, id),
    }
}

/// Whether an operator has a sum, or another aggregate, for each column.
pub(super) fn is_column_aggregate(context: &Context<'_>, id: HopId) -> bool {
    matches!(context.hop(id).op, HopOp::AggUnary(_, Direction::Col))
}

/// Whether an operator is a product, but for inner ones.
pub(super) fn is_matrix_product(context: &Context<'_>, id: HopId) -> bool {
    context.hop(id).op == HopOp::MatMul && !is_inner_product(context, id)
}

/// The class of an operator as a member of one over tiles of products, which are multiplied from packed panels.
pub(super) fn tile_class(context: &Context<'_>, id: HopId) -> OperationClass {
    if is_matrix_product(context, id) { OperationClass::MatrixProduct } else { fused_class(context, id) }
}

/// The share of the time of operations of this class that those of an operator take.
pub(super) fn product_share(context: &Context<'_>, id: HopId, class: OperationClass) -> f64 {
    if class == OperationClass::Product { context.operation(id).product_share } else { 1.0 }
}

/// Floating-point operations of an operator by itself on dense operands.
pub(super) fn dense_flops(context: &Context<'_>, id: HopId) -> f64 {
    context.operation(id).dense_flops
}

/// Floating-point operations of an operator by itself, sparse operands of products, aggregates and transposes exploited.
pub(super) fn flops(context: &Context<'_>, id: HopId) -> f64 {
    let hop = context.hop(id);
    match hop.op {
        HopOp::MatMul | HopOp::AggUnary(..) | HopOp::Reorg(_) => {
            dense_flops(context, id) * sparsity(context, hop.inputs[0])
        }
        _ => dense_flops(context, id),
    }
}

/// The share of the operations of a basic product that the zeros of its right side leave.
pub(super) fn share_of_right(context: &Context<'_>, id: HopId) -> f64 {
    let hop = context.hop(id);
    if hop.op == HopOp::MatMul { sparsity(context, hop.inputs[1]) } else { 1.0 }
}

/// The runs that an operator by itself, or as a member of one over rows, starts: one per row that is multiplied or
/// aggregated. A matrix that is aggregated as a whole is a single run, unless the operator goes by rows.
pub(super) fn runs(context: &Context<'_>, id: HopId, is_by_rows: bool) -> f64 {
    let hop = context.hop(id);
    let rows = |id: HopId| context.hop(id).size.rows.unwrap_or(0) as f64;
    match hop.op {
        HopOp::MatMul if is_inner_product(context, id) => 0.0,
        HopOp::MatMul if multiplies_formed_transpose(context, id) => rows(id),
        HopOp::MatMul => rows(untransposed(context.dag, hop.inputs[0]).unwrap_or(hop.inputs[0])),
        HopOp::AggUnary(_, Direction::Full) if !is_by_rows => 0.0,
        HopOp::AggUnary(..) => rows(hop.inputs[0]),
        _ => 0.0,
    }
}

/// The runs of a member of an operator over the share `scale` of the cells of `space`: each cell's product with a factor
/// is one.
pub(super) fn cell_runs(context: &Context<'_>, id: HopId, space: &SizeInfo, scale: f64) -> f64 {
    match context.hop(id).op {
        HopOp::MatMul if is_matrix_product(context, id) => cells(space) * scale,
        HopOp::AggUnary(_, Direction::Row | Direction::Col) => runs(context, id, false),
        _ => 0.0,
    }
}

/// Floating-point operations of one member of an operator that visits the share `scale` of the cells of `space`.
pub(super) fn cell_flops(context: &Context<'_>, id: HopId, space: &SizeInfo, scale: f64) -> f64 {
    let hop = context.hop(id);
    let own = dense_flops(context, id);
    let by_cell = match hop.op {
        HopOp::AggUnary(..) | HopOp::MatMul | HopOp::Reorg(_) => false,
        HopOp::DataGen(_) => context.operation(id).is_sequence,
        _ => true,
    };
    let is_smaller = by_cell && !hop.size.same_dims(space);
    if is_smaller {
        let repeated = own / cells(&hop.size).max(1.0) * cells(space) * scale;
        return own.max(repeated);
    }
    // A transpose inside of an operator is free.
    if matches!(hop.op, HopOp::Reorg(_)) { 0.0 } else { own * scale }
}

/// The fewest seconds that any plan computes on an operator, given the smallest sparsity by size.
pub(super) fn least_seconds(
    context: &Context<'_>,
    id: HopId,
    least_sparsity: impl Fn(&SizeInfo) -> f64,
    machine: &Machine,
) -> f64 {
    let hop = context.hop(id);
    let least = |id: HopId| least_sparsity(&context.hop(id).size);
    let scale = match hop.op {
        HopOp::MatMul => least(id).min(least(hop.inputs[0]) * least(hop.inputs[1])),
        HopOp::AggUnary(_, Direction::Full | Direction::Row | Direction::Col) => least(hop.inputs[0]),
        HopOp::Reorg(_) => 0.0,
        _ => least(id),
    };
    let flops = dense_flops(context, id) * scale;
    [fused_class(context, id), basic_class(context, id), tile_class(context, id)]
        .into_iter()
        .map(|class| machine.compute_time(class, flops * product_share(context, id, class)))
        .fold(f64::INFINITY, f64::min)
}
