//! Row operators: every input is read whole, row by row.

use super::{
    CostVector, InputRead, MOST_REPEATED_VALUES, VALUE_VISIT, VALUES_ONLY_ROW_START, expected_output_bytes, is_narrow,
    matrices, non_zeros, share_in_ranges, unfolding,
};
use crate::cost::product::passes;
use crate::cost::schedule::Scheduled;
use crate::cost::sparse_rows::SparseRows;
use crate::cost::sweeps::{Sweep, swept, vectors_of_columns, vectors_of_rows};
use crate::cost::work::{Work, dense_flops, flops, fused_class, is_column_aggregate, product_share, row_cells, runs};
use crate::cover::Operator;
use crate::facts::{Context, SCALAR_BYTES, bytes_of, cells, has_short_rows, stored_non_zeros, stored_rows};
use crate::hops::read_as;
use crate::machine::{LINE_BYTES, OperationClass};
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::{Hop, HopId, HopOp};
use fuseline_ir::work;
use smallvec::SmallVec;

/// Bytes of sums of all blocks from which on it matters to merge them, and, one block's, to go through them again and again:
/// those that the caches of a core hold do not.
const LARGE_SUMS: f64 = (1_u64 << 20) as f64;

/// What storing a row of a Row operator's output costs that has fewer cells than a cache line, in cells that a transposition moves one
/// by one. Set on one machine: rows of 2 and 5 cells take so much longer, rows of 10 and 16 do not.
const NARROW_STORE_IN_MOVES: f64 = 3.0;

/// What a further product with several columns costs for a non-zero of a row that is in the nearest cache, in visits of one.
/// Set on one machine, for 2 to 32 columns.
const FURTHER_PRODUCT: f64 = 0.5;

/// What starting a sparse row costs an operator that does nothing with rows but aggregate them or multiply them with one vector,
/// relative to the machine's `sparse.row`, which was measured with two products per row. Set on one machine.
const SINGLE_WALK_ROW_START: f64 = 0.75;

/// What an operator over rows writes, computes and reads.
pub(super) fn by_row(context: &Context<'_>, operator: &Operator) -> CostVector {
    RowPass { operator, sparse_rows: SparseRows::of(context, operator) }.cost_vector(context)
}

/// How an operator goes through rows.
struct RowPass<'a> {
    operator: &'a Operator,
    /// The rows that stay sparse, where any do.
    sparse_rows: Option<SparseRows>,
}

impl RowPass<'_> {
    fn cost_vector(&self, context: &Context<'_>) -> CostVector {
        let RowPass { operator, ref sparse_rows } = *self;
        let mut work = self.work_of_members(context);
        let share = |id: HopId| {
            let by_position = sparse_rows.as_ref().map_or(1.0, |rows| rows.share_read(context, id));
            by_position.min(share_in_ranges(context, &operator.members, id))
        };
        let mut inputs = matrices(context, &operator.inputs, share);
        if let Some(rows) = sparse_rows {
            count_positions(context, operator, rows, &mut inputs, &mut work);
        }
        self.count_sparse(context, &inputs, &mut work);
        work.moved += narrow_stores(&context.hop(operator.root()).size);
        let is_shared = Scheduled::rows_are_shared(context, operator);
        let Held { sweeps, private_sums } = Held::of(context, operator, sparse_rows.as_ref());
        CostVector {
            output: operator.roots.iter().map(|&root| written(context, root)).sum(),
            work,
            computes_apart: reads_dense_rows(context, &inputs),
            inputs,
            sweeps,
            copied: copied_results(context, operator),
            private_sums: if is_shared { private_sums } else { 0.0 },
            sparsity: 1.0,
            driver: None,
            is_shared,
        }
    }

    /// What the members compute.
    fn work_of_members(&self, context: &Context<'_>) -> Work {
        let RowPass { operator, ref sparse_rows } = *self;
        let mut work = Work::default();
        // What belongs to one row keeps the loops over its cells from running on into the next one.
        let by_row = operator.members.iter().find_map(|&id| context.operation(id).values_beside_one);
        let by_row = by_row.filter(|&values| values > MOST_REPEATED_VALUES);
        for &id in &operator.members {
            // A transpose inside of an operator is read through.
            if operator.members.len() > 1 && matches!(context.hop(id).op, HopOp::Reorg(_)) {
                continue;
            }
            let share = sparse_rows.as_ref().map(|rows| rows.share_of(context, id));
            work.row_cells += row_cells(context, operator, id) * share.unwrap_or(1.0);
            let class = fused_class(context, id);
            let flops = share.map_or_else(|| flops(context, id), |share| dense_flops(context, id) * share);
            if sparse_rows.as_ref().is_some_and(|rows| rows.lies_by_position(id)) {
                work.add(class, flops);
                continue;
            }
            work.in_registers += if product_share(context, id, class) < 1.0 { flops } else { 0.0 };
            work.moved += unfolding(context, id);
            match by_row {
                Some(values) if is_element_wise(context, id, values) => work.add_by_row(class, flops, values),
                _ => work.add(class, flops),
            }
            work.count_short_rows(context, id, |values| is_narrow(context, operator, values));
            if class != OperationClass::MatrixProduct {
                work.runs += runs(context, id, true);
            }
        }
        work
    }

    /// Counts the non-zeros and the rows of sparse inputs.
    fn count_sparse(&self, context: &Context<'_>, inputs: &[InputRead], work: &mut Work) {
        let RowPass { operator, ref sparse_rows } = *self;
        if let Some(rows) = sparse_rows {
            rows.count_combined(context, operator, work);
        }
        let looks_up = sparse_rows.as_ref().is_some_and(|rows| rows.looks_up(context, operator));
        let goes_by_values = !looks_up && !asks_for_columns(work, inputs);
        let looked_up = || inputs.iter().filter(|read| read.lines > 0.0);
        let is_vector = |read: &InputRead| context.hop(read.id).size.is_vector();
        let looks_up_values = || looked_up().next().is_some() && looked_up().all(is_vector);
        let visit = if goes_by_values {
            0.0
        } else if looks_up_values() && !adds_or_lays_out(work, inputs) {
            VALUE_VISIT
        } else {
            1.0
        };
        work.non_zeros = visit * non_zeros(context, inputs);
        let (mut all_walks, mut wide_products) = (0.0, 0.0);
        for read in inputs.iter().filter(|read| stored_rows(context, read.id) > 0.0) {
            let is_read = |member: HopId, id: HopId| match sparse_rows {
                Some(rows) => rows.walks_through(read.id, member, id),
                None => id == read.id,
            };
            let (products, walks) = walks(context, &operator.members, is_read);
            all_walks += walks;
            wide_products += products;
            let non_zeros = stored_non_zeros(context, read.id) * read.touched / read.bytes.max(1.0);
            // A product with several columns takes more in a row that is in the nearest cache than what is visited again.
            let whole = (products - 1.0).max(0.0);
            work.non_zeros += FURTHER_PRODUCT * whole * non_zeros;
            work.non_zeros_again += (walks - 1.0 - whole).max(0.0) * non_zeros;
        }
        let begun_share = sparse_rows.as_ref().map_or(1.0, |rows| rows.begun_share(context));
        let is_walked_once = all_walks == 1.0 && wide_products == 0.0;
        let start = if goes_by_values && all_walks <= 1.0 {
            VALUES_ONLY_ROW_START
        } else if is_walked_once && work.combined_rows == 0.0 && !work.moves_cells() {
            SINGLE_WALK_ROW_START
        } else {
            1.0
        };
        work.sparse_rows = start * begun_share * inputs.iter().map(|read| stored_rows(context, read.id)).sum::<f64>();
    }
}

/// Counts what rows that stay sparse meet at their positions: what is fetched and added to there, and what is laid out.
fn count_positions(
    context: &Context<'_>,
    operator: &Operator,
    rows: &SparseRows,
    inputs: &mut [InputRead],
    work: &mut Work,
) {
    for read in inputs {
        read.gathers = rows.gathers(context, operator, read.id);
        read.lines = rows.lines_read(context, operator, read.id);
    }
    work.laid_out += rows.scattered_cells(context, operator);
    for root in rows.compacted(context, operator) {
        work.compacted += cells(&context.hop(root).size);
        work.count_stored(stored_non_zeros(context, root), stored_rows(context, root));
    }
    (work.lines, work.line_bytes) = rows.lines_added_to(context, operator);
    rows.count_spread(context, operator, work);
}

/// What it takes besides to store rows of so few cells, in cells that a transposition moves one by one.
fn narrow_stores(size: &SizeInfo) -> f64 {
    let is_below_line = |cols: u64| cols > 1 && cols as f64 * SCALAR_BYTES < LINE_BYTES;
    let is_narrow = has_short_rows(size) && size.cols.is_some_and(is_below_line) && size.rows != Some(1);
    if is_narrow { NARROW_STORE_IN_MOVES * size.rows.unwrap_or(0) as f64 } else { 0.0 }
}

/// Bytes of the results of a pass that computes several, each of which is copied out of the column that holds all, and once
/// more into its rows if it has several columns.
fn copied_results(context: &Context<'_>, operator: &Operator) -> f64 {
    if !operator.is_multi_aggregate() {
        return 0.0;
    }
    let copies = |id: HopId| if context.hop(id).size.cols == Some(1) { 1.0 } else { 2.0 };
    operator
        .roots
        .iter()
        .filter(|&&root| context.hop(root).is_matrix())
        .map(|&root| copies(root) * bytes_of(context, root))
        .sum()
}

/// Bytes that are written of a root.
fn written(context: &Context<'_>, root: HopId) -> f64 {
    bytes_of_dense_sums(context, root).unwrap_or_else(|| expected_output_bytes(context, root))
}

/// Whether the main input, for which the largest one stands, has dense rows.
fn reads_dense_rows(context: &Context<'_>, inputs: &[InputRead]) -> bool {
    inputs
        .iter()
        .max_by(|one, other| one.bytes.total_cmp(&other.bytes))
        .is_some_and(|largest| context.hop(largest.id).size.rows != Some(1) && stored_rows(context, largest.id) == 0.0)
}

/// Whether an operator over rows asks where non-zeros are: rows are combined or laid out, or something else is read or added to
/// there. What it computes of the values of rows alone goes through these.
fn asks_for_columns(work: &Work, inputs: &[InputRead]) -> bool {
    inputs.iter().any(|read| read.lines > 0.0) || adds_or_lays_out(work, inputs)
}

/// Whether it asks for more than values of vectors, or rows of a right side, there.
fn adds_or_lays_out(work: &Work, inputs: &[InputRead]) -> bool {
    let meets = inputs.iter().any(|read| read.gathers > 0.0);
    meets || work.moves_cells() || work.lines > 0.0 || work.joined > 0.0 || work.met > 0.0
}

/// The bytes of what rows are added to, all of it, however few non-zeros the result has in the end; none where each row has a result
/// of its own.
fn bytes_of_dense_sums(context: &Context<'_>, root: HopId) -> Option<f64> {
    let is_left_product = || passes(context, root).is_some_and(|passes| passes.is_sum);
    let are_sums = is_column_aggregate(context, root) || is_left_product();
    are_sums.then(|| SCALAR_BYTES * cells(&context.hop(root).size))
}

/// What an operator over rows holds beside them: right sides, and what it adds up.
#[derive(Default)]
struct Held {
    sweeps: SmallVec<[Sweep; 2]>,
    /// Bytes of the sums that blocks keep to themselves.
    private_sums: f64,
}

impl Held {
    fn of(context: &Context<'_>, operator: &Operator, sparse_rows: Option<&SparseRows>) -> Held {
        let sums: f64 = operator.roots.iter().filter_map(|&root| bytes_of_dense_sums(context, root)).sum();
        let mut sweeps = swept(context, operator, sparse_rows);
        sweeps.push(vectors_of_rows(context, operator, sparse_rows));
        sweeps.extend(vectors_of_columns(context, operator, sparse_rows));
        let largest = sweeps.iter().map(|sweep| sweep.bytes).fold(sums, f64::max);
        if largest * work::MAX_PARTIALS as f64 <= LARGE_SUMS {
            return Held { sweeps, private_sums: 0.0 };
        }
        let Some(scheduled) = Scheduled::of(context, operator) else { return Held { sweeps, private_sums: 0.0 } };
        let units = scheduled.even_units();
        sweeps.iter_mut().for_each(|sweep| sweep.times = units.saturating_sub(1) as f64);
        Held { sweeps, private_sums: scheduled.private_sums(sums) }
    }
}

/// Whether an operator computes rows of so many values cell by cell.
fn is_element_wise(context: &Context<'_>, id: HopId, values: f64) -> bool {
    let hop = context.hop(id);
    matches!(hop.op, HopOp::Unary(_) | HopOp::Binary(_) | HopOp::Ternary(_))
        && hop.size.cols.is_some_and(|cols| cols as f64 == values)
}

/// How often an operator over rows walks through the non-zeros of what is read for a product with several columns, and for
/// any product with it or aggregation of it.
fn walks(context: &Context<'_>, members: &[HopId], is_read: impl Fn(HopId, HopId) -> bool) -> (f64, f64) {
    let walks = |&(id, hop): &(HopId, &Hop)| {
        let reads = |&input: &HopId| read_as(context.dag, input).any(|read| is_read(id, read));
        matches!(hop.op, HopOp::MatMul | HopOp::AggUnary(..)) && hop.inputs.iter().any(reads)
    };
    let is_wide = |(_, hop): &(HopId, &Hop)| hop.op == HopOp::MatMul && hop.size.cols.is_some_and(|cols| cols > 1);
    let walking = || members.iter().map(|&id| (id, context.hop(id))).filter(walks);
    (walking().filter(is_wide).count() as f64, walking().count() as f64)
}
