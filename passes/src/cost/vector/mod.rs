//! The paper's cost vector: the output, the computation and the distinct inputs of one operator, counted from sizes.
//!
//! Operators over cells, fused or basic, skip what sparsity lets them (`cells`); Row operators (`rows`) and other basic ones
//! (`basic`) read their inputs whole.

mod basic;
mod cells;
mod rows;

use super::sweeps::Sweep;
use super::work::Work;
use crate::cover::Operator;
use crate::facts::{Context, SCALAR_BYTES, bytes_of, stored_non_zeros, stored_rows};
use crate::machine::LINE_BYTES;
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::ops::{AggOp, BinaryOp, BinaryZero, Direction, UnaryZero};
use fuseline_ir::{Space, work};
use smallvec::SmallVec;

use basic::whole_inputs;
use cells::by_cell;
use rows::by_row;

/// Cells of a block of most basic operators.
pub(super) const BASIC_BLOCK_CELLS: f64 = work::BASIC_BLOCK_CELLS as f64;

/// The share of the non-zeros of a driver from which on a result is taken to have all of them: estimates are not exact.
const SHARED_PATTERN: f64 = 0.99;

/// What visiting a non-zero, or starting a sparse row, costs a basic operator that reads a dense matrix at the positions of a
/// sparse one, relative to the machine's `sparse.non_zero` and `sparse.row`. Fitted.
const MERGED_PATTERN_VISIT: f64 = 0.75;

/// What visiting a non-zero costs a fused operator that looks values of columns up and asks for nothing else at its position,
/// relative to the machine's `sparse.non_zero`: what a basic one stores in between, it has in registers. Set on one machine.
const LOOKED_UP_VISIT: f64 = 0.75;

/// What visiting a non-zero costs a Row operator that does nothing there but compute with the values of vectors that it looks up,
/// relative to the machine's `sparse.non_zero`. Set on one machine.
const VALUE_VISIT: f64 = 0.9;

/// What starting a sparse row costs an operator that asks for rows only to give their values to positions, relative to the
/// machine's `sparse.row` and besides that. Set on one machine.
const SPREAD_ALONE: f64 = 0.35;

/// What starting a sparse row costs an operator with a single aggregation that asks for values alone, relative to the machine's
/// `sparse.row`. Fitted.
const VALUES_ONLY_ROW_START: f64 = 0.5;

/// Values of a row up to which what belongs to the row is repeated for its cells, so that rows run on as one; in longer ones
/// registers hold the cells of one row alone. Fitted: below the 16 and 32 values at which primitives and generated code
/// change between the two.
const MOST_REPEATED_VALUES: f64 = 8.0;

/// What a cell of an unfolded image costs, in cells that a transposition moves one by one: those of a row of windows are
/// neighbours in the image, too. Estimated, not measured; fused and basic convolutions unfold alike.
const UNFOLD_IN_MOVES: f64 = 0.3;

/// What one basic or fused operator writes, computes and reads.
#[derive(Clone, Debug, PartialEq)]
pub struct CostVector {
    /// Bytes of the output.
    pub output: f64,
    /// The computation.
    pub work: Work,
    /// The matrices that are read.
    pub inputs: SmallVec<[InputRead; 4]>,
    /// What it goes through anew for every unit of rows.
    pub sweeps: SmallVec<[Sweep; 2]>,
    /// Bytes of results that are stored twice: copied out of the one matrix in which a pass over rows leaves all of its own, or
    /// computed for non-zeros and brought to their places among all cells.
    pub copied: f64,
    /// Bytes of the sums that blocks keep to themselves until they are merged; none of a single block.
    pub private_sums: f64,
    /// The share of the cells that the operator visits.
    pub sparsity: f64,
    /// The input whose zeros it skips, so that `sparsity` is its.
    pub driver: Option<HopId>,
    /// Whether several threads share the work: whether it is more than one block.
    pub is_shared: bool,
    /// Whether reading and computing hide each other in part alone: the operator passes over dense rows more than once.
    pub computes_apart: bool,
}

impl CostVector {
    /// Bytes read of all inputs.
    pub fn input(&self) -> f64 {
        self.inputs.iter().map(|read| read.touched).sum()
    }

    /// Counts the non-zeros that a basic operator over cells stores with a new pattern. With one sparse input the pattern is
    /// that of the driver, unless zeros are made of its values; of two sparse ones the other leaves out some of the driver's.
    fn count_stored(&mut self, context: &Context<'_>, root: HopId) {
        let is_sparse = |read: &&InputRead| stored_rows(context, read.id) > 0.0;
        if let Some(driver) = self.driver
            && self.inputs.iter().filter(is_sparse).count() == 1
            && !has_new_zeros(context, root)
        {
            self.count_shared_pattern(context, driver);
            return;
        }
        self.work.count_stored(stored_non_zeros(context, root), stored_rows(context, root));
    }
}

impl CostVector {
    /// Counts what a basic operator takes whose result has the positions of its driver. Alone, values are one run; beside
    /// vectors those of rows are given to the positions, and those of columns looked up.
    fn count_shared_pattern(&mut self, context: &Context<'_>, driver: HopId) {
        let cells = &context.hop(driver).size;
        let (mut columns, mut has_row, mut has_matrix) = (0, false, false);
        for read in self.inputs.iter().filter(|read| read.id != driver) {
            let size = &context.hop(read.id).size;
            match (size.rows == cells.rows, size.cols == cells.cols) {
                (true, true) => has_matrix = true,
                (true, false) => columns += 1,
                (false, true) => has_row = true,
                (false, false) => {}
            }
        }
        self.work.count_spread(columns, stored_non_zeros(context, driver), stored_rows(context, driver));
        let (visit, row_start) = if has_matrix {
            (MERGED_PATTERN_VISIT, MERGED_PATTERN_VISIT)
        } else {
            (f64::from(has_row), if columns > 0 { SPREAD_ALONE } else { 0.0 })
        };
        self.work.non_zeros *= visit;
        self.work.sparse_rows *= row_start;
    }

    /// Shares the caches among all that lines are fetched of for the same non-zeros: all of it lies between two times that
    /// one line is fetched, or less where the lines of an input are few and fetched the more often, each.
    fn share_caches(&mut self) {
        let fetched = || self.inputs.iter().filter(|read| read.lines > 0.0);
        self.work.line_bytes += fetched().map(|read| read.bytes).sum::<f64>();
        let (all_bytes, all_lines) =
            (self.work.line_bytes, self.work.lines + fetched().map(|read| read.lines).sum::<f64>());
        for read in self.inputs.iter_mut().filter(|read| read.lines > 0.0) {
            read.line_bytes = (read.bytes * all_lines / read.lines).min(all_bytes);
        }
    }
}

/// How one input is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InputRead {
    /// The input.
    pub id: HopId,
    /// Its bytes as stored.
    pub bytes: f64,
    /// Bytes that are read of it.
    pub touched: f64,
    /// Dense cells that are fetched one by one, for the non-zeros of another matrix of the same dimensions.
    pub gathers: f64,
    /// Cache lines of it that are fetched one by one, for the non-zeros of a matrix: of a row vector, or of the right side of
    /// a product.
    pub lines: f64,
    /// The bytes of the lines that are fetched from one time to the next that one of these is.
    pub line_bytes: f64,
}

/// What the operator writes, computes and reads; `None` for an Outer operator without a main input, which is impossible.
pub fn cost_vector(context: &Context<'_>, operator: &Operator) -> Option<CostVector> {
    let is_by_cell = matches!(context.hop(operator.root()).op, HopOp::Unary(_) | HopOp::Binary(_) | HopOp::Ternary(_));
    let space = match operator.template {
        None if is_by_cell => Space::Cells,
        None => Space::Rows,
        Some(template) => template.space(),
    };
    let mut vector = match space {
        Space::Rows if operator.template.is_none() => whole_inputs(context, operator),
        Space::Rows => by_row(context, operator),
        Space::Cells | Space::Factors => by_cell(context, operator, space)?,
    };
    vector.share_caches();
    Some(vector)
}

/// Bytes that the operator with this root is expected to write.
pub(crate) fn expected_output_bytes(context: &Context<'_>, root: HopId) -> f64 {
    if context.hop(root).is_scalar() {
        return SCALAR_BYTES;
    }
    if shares_pattern(context, root) { SCALAR_BYTES * stored_non_zeros(context, root) } else { bytes_of(context, root) }
}

/// Whether a result has the non-zeros of the one sparse matrix of its size that it is computed of, cell by cell: the two share
/// where these are.
fn shares_pattern(context: &Context<'_>, root: HopId) -> bool {
    let hop = context.hop(root);
    let is_sparse = |&&id: &&HopId| stored_rows(context, id) > 0.0 && context.hop(id).size.same_dims(&hop.size);
    let mut patterns = hop.inputs.iter().filter(is_sparse);
    let (Some(&pattern), None) = (patterns.next(), patterns.next()) else { return false };
    let keeps_zeros = match hop.op {
        HopOp::Unary(op) => op.zero() == UnaryZero::Preserves,
        HopOp::Binary(op) => match op.zero() {
            BinaryZero::Annihilates => true,
            BinaryZero::LeftAnnihilates => hop.inputs[0] == pattern,
            BinaryZero::Joint | BinaryZero::Fills => false,
        },
        _ => false,
    };
    keeps_zeros && stored_rows(context, root) > 0.0 && has_all_non_zeros_of(context, root, pattern)
}

/// Whether a result is taken to have all non-zeros of a matrix.
fn has_all_non_zeros_of(context: &Context<'_>, root: HopId, pattern: HopId) -> bool {
    stored_non_zeros(context, root) >= SHARED_PATTERN * stored_non_zeros(context, pattern)
}

/// Whether an operator makes zeros of non-zeros, which the pattern of its result leaves out. What is compared with zero itself
/// mostly does for none or for all of them.
fn makes_zeros(context: &Context<'_>, id: HopId) -> bool {
    let hop = context.hop(id);
    let is_zero = |&input: &HopId| context.dag.literal_f64(input) == Some(0.0);
    match hop.op {
        HopOp::Unary(op) => op.makes_zeros(),
        HopOp::Binary(op) => op.makes_zeros() && !hop.inputs.iter().any(is_zero),
        _ => false,
    }
}

/// Whether an operator makes zeros of non-zeros, or multiplies these with a vector that was made so.
fn has_new_zeros(context: &Context<'_>, id: HopId) -> bool {
    let hop = context.hop(id);
    let is_vector = |id: HopId| context.hop(id).is_matrix() && !context.hop(id).size.same_dims(&hop.size);
    let is_made = |&input: &HopId| is_vector(input) && makes_zeros(context, input);
    makes_zeros(context, id) || hop.op == HopOp::Binary(BinaryOp::Mult) && hop.inputs.iter().any(is_made)
}

/// Whether rows of so many values are one run in the code of a fused operator.
fn is_narrow(context: &Context<'_>, operator: &Operator, values: u64) -> bool {
    let below = |has_functions, seeks_extremes| values < work::narrow_below(has_functions, seeks_extremes) as u64;
    below(false, false)
        || below(false, true) && seeks_extremes(context, operator)
        || below(true, false) && has_functions(context, operator)
}

/// Whether an operator seeks the least or the largest value of each row.
fn seeks_extremes(context: &Context<'_>, operator: &Operator) -> bool {
    let is_extreme = |op: &HopOp| matches!(op, HopOp::AggUnary(AggOp::Min | AggOp::Max, Direction::Row));
    operator.members.iter().any(|&id| is_extreme(&context.hop(id).op))
}

/// Whether values of an operator go through a function such as `exp`.
fn has_functions(context: &Context<'_>, operator: &Operator) -> bool {
    operator.members.iter().any(|&id| match context.hop(id).op {
        HopOp::Unary(op) => work::is_unary_function(op),
        HopOp::Binary(op) => work::is_binary_function(op),
        _ => false,
    })
}

/// What unfolding the images of a convolution costs, in cells that a transposition moves one by one.
fn unfolding(context: &Context<'_>, id: HopId) -> f64 {
    UNFOLD_IN_MOVES * context.operation(id).unfolded * context.hop(id).size.rows.unwrap_or(0) as f64
}

/// Whether a basic operator runs over the stored values of a sparse matrix wherever these belong.
fn reads_values_alone(op: &HopOp) -> bool {
    matches!(op, HopOp::AggUnary(_, Direction::Full | Direction::Row))
}

/// The share of an input that is read for a range of it: the rows, and of dense ones the cache lines with its columns.
fn share_in_range(context: &Context<'_>, range: HopId, input: HopId) -> f64 {
    let [part, whole] = [range, input].map(|id| context.hop(id).size.known_dims());
    let (Some((rows, cols)), Some((all_rows, all_cols))) = (part, whole) else { return 1.0 };
    let share = |part: f64, whole: u64| (part / whole.max(1) as f64).min(1.0);
    let is_sparse = stored_rows(context, input) > 0.0;
    let of_columns = if is_sparse { 1.0 } else { share(cols as f64 + LINE_BYTES / SCALAR_BYTES - 1.0, all_cols) };
    share(rows as f64, all_rows) * of_columns
}

/// The share of an input that an operator reads of which it takes ranges alone: that of the largest.
fn share_in_ranges(context: &Context<'_>, members: &[HopId], input: HopId) -> f64 {
    let readers = || members.iter().copied().filter(|&id| context.hop(id).inputs.contains(&input));
    if readers().any(|id| context.hop(id).op != HopOp::Index) {
        return 1.0;
    }
    readers().map(|range| share_in_range(context, range, input)).reduce(f64::max).unwrap_or(1.0)
}

/// The share of the bytes of an input that any operator in which this one is a member reads at least: of a sparse matrix the
/// values, where it asks for nothing else.
pub(crate) fn least_read(context: &Context<'_>, id: HopId, input: HopId) -> f64 {
    if context.hop(id).op == HopOp::Index {
        return share_in_range(context, id, input);
    }
    let values = stored_non_zeros(context, input) * SCALAR_BYTES;
    if values > 0.0 && reads_values_alone(&context.hop(id).op) { values / bytes_of(context, input) } else { 1.0 }
}

/// The share of visits of non-zeros that any operator in which this one is a member takes at least. Of an input that is
/// computed the operator may have another matrix that it reads anyway, and then goes by values of one run.
pub(crate) fn least_visits(context: &Context<'_>, id: HopId) -> f64 {
    let hop = context.hop(id);
    match hop.op {
        HopOp::Unary(_) | HopOp::Binary(_) | HopOp::Ternary(_) => {
            let is_first = |&(place, input): &(usize, &HopId)| !hop.inputs[..place].contains(input);
            // Values of rows belong to positions wherever these are.
            let has_columns = |id: HopId| hop.size.cols == Some(1) || context.hop(id).size.cols != Some(1);
            let distinct = hop.inputs.iter().enumerate().filter(is_first).map(|(_, &input)| input);
            let is_read = |&id: &HopId| context.hop(id).is_matrix() && context.hop(id).inputs.is_empty();
            let looks_up = distinct.filter(|id| is_read(id) && has_columns(*id)).count() > 1;
            if looks_up { LOOKED_UP_VISIT.min(MERGED_PATTERN_VISIT) } else { 0.0 }
        }
        ref op if reads_values_alone(op) => 0.0,
        HopOp::Index => LOOKED_UP_VISIT * share_in_range(context, id, hop.inputs[0]),
        _ => VALUE_VISIT,
    }
}

/// The matrices among some inputs, each of which is read to a share.
fn matrices(context: &Context<'_>, inputs: &[HopId], share: impl Fn(HopId) -> f64) -> SmallVec<[InputRead; 4]> {
    let read = |&id: &HopId| {
        let bytes = bytes_of(context, id);
        InputRead { id, bytes, touched: bytes * share(id), gathers: 0.0, lines: 0.0, line_bytes: 0.0 }
    };
    inputs.iter().filter(|&&id| context.hop(id).is_matrix()).map(read).collect()
}

/// The non-zeros that are visited of sparse inputs.
fn non_zeros(context: &Context<'_>, inputs: &[InputRead]) -> f64 {
    let share = |read: &InputRead| if read.bytes > 0.0 { read.touched / read.bytes } else { 0.0 };
    inputs.iter().map(|read| stored_non_zeros(context, read.id) * share(read)).sum()
}
