//! The paper's cost vector: the output, the computation and the distinct inputs of one operator, counted from sizes.

use super::BLOCK_CELLS;
use super::outer::{TRANSFERS_OF_SUMS, count_factors};
use super::product::{FormedTranspose, bytes_of_sums, has_several_blocks, lines_of_row, moved_cells, passes, rows_met};
use super::schedule::Scheduled;
use super::sparse_rows::{SparseRows, begun_share};
use super::sweeps::{Sweep, sums_by_column, swept};
use super::vectors::Vectors;
use super::work::{
    JOINED_ROW_START, MET_ROW_START, Work, basic_class, cell_flops, cell_runs, dense_flops, flops, fused_class,
    is_column_aggregate, is_matrix_product, is_pooling, product_share, repeats_vector, row_cells, runs, share_of_merge,
    takes_short_rows, tile_class,
};
use crate::cover::{Hops, Operator};
use crate::facts::{
    Context, SCALAR_BYTES, bytes_of, cells, has_short_rows, is_outer_product_like, sparsity, stored_non_zeros,
    stored_rows,
};
use crate::hops::{over_windows, untransposed};
use crate::machine::OperationClass;
use crate::zeros::Zeros;
use fuseline_ir::hop::{Hop, HopId, HopOp};
use fuseline_ir::ops::{BinaryZero, Direction, UnaryZero};
use fuseline_ir::schedule::{Driver, Flow};
use fuseline_ir::work;
use fuseline_ir::{SizeInfo, Space};
use smallvec::SmallVec;

/// The share of cells from which on Outer operators compute the products of factors in tiles
/// ([`work::multiplies_whole_tile`]).
const TILED_SPARSITY: f64 = 1.0 / work::SAMPLE_CELLS as f64;

/// Cells of a block of most basic operators.
pub(super) const BASIC_BLOCK_CELLS: f64 = work::BASIC_BLOCK_CELLS as f64;

/// What starting a sparse row costs a single product or aggregation, relative to the machine's `sparse.row`, which was
/// measured with two products per row. Fitted.
const SINGLE_USE_ROW_START: f64 = 0.75;

/// The share of the non-zeros of a driver from which on a result is taken to have all of them: estimates are not exact.
const SHARED_PATTERN: f64 = 0.99;

/// What visiting a non-zero, or starting a sparse row, costs an operator that merges its pattern with other matrices,
/// relative to the machine's `sparse.non_zero` and `sparse.row`. Fitted.
const MERGED_PATTERN_VISIT: f64 = 0.75;

/// What starting a sparse row costs an aggregation that asks for values alone, relative to the machine's `sparse.row`.
/// Fitted.
const VALUES_ONLY_ROW_START: f64 = 0.5;

/// Bytes of sums of all blocks from which on it matters to merge them, and, one block's, to go through them again and again:
/// those that the caches of a core hold do not.
const LARGE_SUMS: f64 = (1_u64 << 20) as f64;

/// Values of a row up to which what belongs to the row is repeated for its cells, so that rows run on as one; in longer ones
/// registers hold the cells of one row alone. Fitted: below the 16 and 32 values at which primitives and generated code
/// change between the two.
const MOST_REPEATED_VALUES: f64 = 8.0;

/// What storing a cell of a narrow row of a Row operator's output costs, in cells that a transposition moves one by one.
/// Fitted.
const NARROW_STORE_IN_MOVES: f64 = 0.5;

/// What a cell of a sparse row costs that is laid out for all columns, in cells that a transposition moves one by one: most are
/// zeros, which are filled in. Fitted.
const SCATTER_IN_MOVES: f64 = 0.3;

/// What a cell of a result costs that is computed for all cells and stored sparse, in cells that a transposition moves one by
/// one: it is counted and copied while it is in a cache. Set on one machine.
const COMPACT_IN_MOVES: f64 = 0.3;

/// What a cell of a tile of the product of two factors costs besides its operations, relative to the machine's `start.run`: it is
/// stored, and read again. Set on one machine.
const CELL_OF_TILE: f64 = 0.4;

/// What a search of a sparse row costs, in visits of non-zeros. Set on one machine.
const SEARCH_IN_VISITS: f64 = 24.0;

/// What starting a run costs for one of several short rows that a basic operator takes side by side, relative to the
/// machine's `start.run`. Fitted.
const SIDE_BY_SIDE_RUN_START: f64 = 0.4;

/// What a cell of an unfolded image costs, in cells that a transposition moves one by one: those of a row of windows are
/// neighbours in the image, too. Estimated, not measured; fused and basic convolutions unfold alike.
const UNFOLD_IN_MOVES: f64 = 0.3;

/// What repeating a value for a cell of its narrow row costs, in cells that a transposition moves one by one. Fitted.
const REPEAT_IN_MOVES: f64 = 0.8;

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
    /// that of the driver; of two sparse ones the other leaves out some of the driver's.
    fn count_stored(&mut self, context: &Context<'_>, root: HopId) {
        let is_sparse = |read: &&InputRead| stored_rows(context, read.id) > 0.0;
        if let Some(driver) = self.driver
            && self.inputs.iter().filter(is_sparse).count() == 1
        {
            let share = visits_of_pattern(self.inputs.len());
            let is_row = |id: HopId| context.hop(id).size.rows == Some(1);
            let asks_for_rows = self.inputs.iter().any(|read| read.id != driver && !is_row(read.id));
            self.work.non_zeros *= share;
            self.work.sparse_rows *= if asks_for_rows { share } else { 0.0 };
            return;
        }
        self.work.count_stored(stored_non_zeros(context, root), stored_rows(context, root));
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
        Space::Rows => whole_inputs(context, operator),
        Space::Cells | Space::Factors => by_cell(context, operator, space)?,
    };
    // Whatever lines are fetched of for the same non-zeros shares the caches.
    let fetched = vector.inputs.iter().filter(|read| read.lines > 0.0);
    vector.work.line_bytes += fetched.map(|read| read.bytes).sum::<f64>();
    Some(vector)
}

/// What an operator over cells writes, computes and reads.
fn by_cell(context: &Context<'_>, operator: &Operator, space: Space) -> Option<CostVector> {
    let pass = CellPass::new(context, operator)?;
    let mut vector = pass.cost_vector(context);
    if operator.template.is_none() {
        pass.count_basic(context, &mut vector);
        return Some(vector);
    }
    let scheduled = Scheduled::over_cells(context, operator, &pass.space, pass.driver, pass.visited.clone());
    vector.is_shared = scheduled.is_some_and(|scheduled| scheduled.is_shared());
    vector.private_sums = scheduled.map_or(0.0, |scheduled| scheduled.private_sums(vector.output));
    match (space, &scheduled) {
        (Space::Factors, Some(scheduled)) if !pass.is_tiled => {
            count_factors(context, operator, scheduled, &mut vector.work);
        }
        (Space::Factors, _) => {}
        (Space::Cells | Space::Rows, scheduled) => pass.count_rows(context, scheduled.as_ref(), &mut vector),
    }
    if let Some(scheduled) = scheduled.filter(|_| space == Space::Cells) {
        if !scheduled.asks_for_rows() {
            vector.work.sparse_rows = 0.0;
        }
        if !scheduled.asks_for_columns() {
            vector.work.non_zeros = 0.0;
        }
    }
    if space == Space::Cells && scheduled.is_some_and(|scheduled| scheduled.stores_cells()) {
        pass.count_new_pattern(context, &mut vector.work);
    }
    Some(vector)
}

/// How an operator goes through cells.
struct CellPass<'a> {
    operator: &'a Operator,
    /// The size whose cells these are.
    space: SizeInfo,
    /// The input whose zeros are skipped.
    driver: Option<HopId>,
    /// Inputs at whose non-zeros the operator is computed; none where there is a driver.
    visited: Hops,
    /// The share of the cells that is visited.
    share: f64,
    /// Whether products of factors are computed in tiles, in the place of one by one.
    is_tiled: bool,
}

impl<'a> CellPass<'a> {
    /// None for an operator that must be driven by a matrix, and by none is.
    fn new(context: &Context<'_>, operator: &'a Operator) -> Option<CellPass<'a>> {
        let space = operator.space(context);
        let template = operator.template();
        let is_driven = operator.is_driven();
        let may_skip = is_driven || has_zeros_to_skip(context, &operator.inputs, &space);
        let driver = may_skip.then(|| operator.driver(context, &space)).flatten();
        if is_driven && driver.is_none() && operator.main_input(context).is_none() {
            return None;
        }
        let share_of = |id: HopId| template.map_or_else(|| sparsity(context, id), |it| it.visited_share(context, id));
        let looks = driver.is_none() && may_skip;
        let mut visited = if looks { operator.visited_inputs(context, &space) } else { None }.unwrap_or_default();
        if template.is_none() && !goes_by_non_zeros(context, operator.root(), &visited) {
            visited.clear();
        }
        let share_of_visited = if visited.is_empty() { 1.0 } else { visited.iter().map(|&id| share_of(id)).sum() };
        let share = driver.map_or(share_of_visited, share_of).min(1.0);
        Some(CellPass { operator, space, driver, visited, share, is_tiled: is_driven && share >= TILED_SPARSITY })
    }

    /// What the members write, compute and read.
    fn cost_vector(&self, context: &Context<'_>) -> CostVector {
        let CellPass { operator, ref space, driver, share, is_tiled, .. } = *self;
        let mut work = Work::default();
        for &id in &operator.members {
            let class = if is_tiled { tile_class(context, id) } else { fused_class(context, id) };
            work.add(class, cell_flops(context, id, space, self.share_computed(context, id)));
            // A tile is multiplied with a factor as a whole.
            let begun = match is_tiled && is_matrix_product(context, id) {
                true if is_outer_product_like(context, id) => CELL_OF_TILE,
                true => 0.0,
                false => 1.0,
            };
            work.runs += begun * cell_runs(context, id, space, share);
        }
        let read = |id: HopId| match self.share_searched(context, id) {
            _ if self.is_visited_in_part(context, id) => share,
            searched => searched.unwrap_or(1.0),
        };
        let mut inputs = matrices(context, &operator.inputs, read);
        if share == 1.0 {
            let is_laid_out =
                |read: &&InputRead| stored_rows(context, read.id) > 0.0 && context.hop(read.id).size.same_dims(space);
            work.moved = SCATTER_IN_MOVES * cells(space) * inputs.iter().filter(is_laid_out).count() as f64;
        }
        for read in inputs.iter_mut().filter(|read| read.touched < read.bytes) {
            read.gathers = cells(space) * share;
        }
        if share < 1.0 {
            // Where rows meet, a row vector is read at what is left of them.
            let computed = operator.members.iter().map(|&id| self.share_computed(context, id)).fold(share, f64::min);
            let vectors = Vectors::of(context, operator);
            for read in inputs.iter_mut().filter(|read| vectors.belongs_to_columns(read.id, space)) {
                read.lines = cells(space) * computed;
            }
            self.count_spread(context, &vectors, &mut work);
        }
        work.non_zeros = non_zeros(context, &inputs);
        // Basic operators go through all rows.
        let skipping = driver.filter(|_| operator.template.is_some() && share < 1.0);
        let begun_share = skipping.map_or(1.0, |driver| begun_share(context, driver));
        work.sparse_rows = begun_share * inputs.iter().map(|read| stored_rows(context, read.id)).sum::<f64>();
        if share < 1.0 && is_column_aggregate(context, operator.root()) {
            work.lines = TRANSFERS_OF_SUMS * cells(space) * share;
            work.line_bytes = bytes_of(context, operator.root());
        }
        self.count_combined(context, &inputs, &mut work);
        if self.operator.template().is_none() {
            // Results are stored wherever either matrix has a position, and zeros among them left out then.
            work.moved += work.joined;
        }
        let compacted = if share == 1.0 { self.compacted_cells(context) } else { 0.0 };
        work.moved += COMPACT_IN_MOVES * compacted;
        let output = outputs_bytes(context, operator);
        let is_shared = cells(space) * share > BLOCK_CELLS as f64;
        let sweeps = SmallVec::new();
        let private_sums = 0.0;
        CostVector {
            output,
            work,
            inputs,
            sweeps,
            private_sums,
            sparsity: share,
            driver,
            is_shared,
            computes_apart: false,
        }
    }

    /// The cells that are all computed before those that are not zero are stored.
    fn compacted_cells(&self, context: &Context<'_>) -> f64 {
        let is_compacted = |root: &&HopId| stored_rows(context, **root) > 0.0;
        self.operator.roots.iter().filter(is_compacted).map(|&root| cells(&context.hop(root).size)).sum()
    }

    /// Counts the rows of a fused operator. Narrow ones are one run, with loops beside it. What skips the zeros of a driver goes by
    /// non-zeros.
    fn count_rows(&self, context: &Context<'_>, scheduled: Option<&Scheduled>, vector: &mut CostVector) {
        if vector.sparsity < 1.0 || !scheduled.is_some_and(goes_by_rows) {
            return;
        }
        let (rows, values) = self.space.known_dims().unwrap_or_default();
        let work = &mut vector.work;
        work.runs = 0.0;
        work.rows = rows as f64;
        if is_narrow(context, self.operator, values) {
            work.row_cells = self.loops_beside(context) as f64 * cells(&self.space);
        } else {
            work.fill_by_row(values as f64);
        }
    }

    /// The loops over the cells of narrow rows beside that which computes them: they repeat vectors, and aggregate what was
    /// stored.
    fn loops_beside(&self, context: &Context<'_>) -> usize {
        let has_loop = |&&id: &&HopId| matches!(context.hop(id).op, HopOp::AggUnary(..)) || repeats_vector(context, id);
        self.operator.members.iter().filter(has_loop).count()
    }

    /// Counts what it takes to combine the rows of several sparse matrices.
    fn count_combined(&self, context: &Context<'_>, inputs: &[InputRead], work: &mut Work) {
        let is_walked =
            |read: &&InputRead| stored_rows(context, read.id) > 0.0 && context.hop(read.id).size.same_dims(&self.space);
        // What is laid out for all cells is read one by one.
        let is_laid_out = self.driver.is_none() && self.visited.is_empty();
        if is_laid_out || inputs.iter().filter(is_walked).count() < 2 {
            return;
        }
        let joins = self.visited.len() > 1;
        let (joined, met): (SmallVec<[InputRead; 4]>, SmallVec<[InputRead; 4]>) = inputs
            .iter()
            .copied()
            .filter(|read| is_walked(&read))
            .partition(|read| joins && self.visited.contains(&read.id));
        let share = share_of_merge(!self.joins_in_any_order(context), &self.space);
        work.joined = share * non_zeros(context, &joined);
        work.met = non_zeros(context, &met);
        let rows: f64 = inputs.iter().filter(is_walked).map(|read| stored_rows(context, read.id)).sum();
        work.combined_rows = rows * if joins { JOINED_ROW_START } else { MET_ROW_START };
    }

    /// Counts what it takes to give values of rows to the non-zeros of a driver. What is computed of values of rows alone is, before
    /// that.
    fn count_spread(&self, context: &Context<'_>, vectors: &Vectors<'_>, work: &mut Work) {
        let Some(driver) = self.driver.filter(|_| self.operator.template().is_some()) else { return };
        let by_cell = self.operator.members.iter().map(|&id| context.hop(id)).filter(|hop| {
            matches!(hop.op, HopOp::Unary(_) | HopOp::Binary(_) | HopOp::Ternary(_)) && hop.size.same_dims(&self.space)
        });
        let mut spread: Hops = by_cell.flat_map(|hop| hop.inputs.iter().copied()).collect();
        spread.retain(|&mut id| vectors.belongs_to_rows(id, &self.space));
        spread.sort_unstable();
        spread.dedup();
        let number = spread.len() as f64;
        work.spread = number * cells(&self.space) * self.share;
        work.spread_rows = number * stored_rows(context, driver) * begun_share(context, driver);
    }

    /// The share of the cells that a member is computed for: of a fused operator over cells those where all meet that are
    /// sparse, which is what makes values of fewer non-zeros than the driver has.
    fn share_computed(&self, context: &Context<'_>, id: HopId) -> f64 {
        let hop = context.hop(id);
        let meets = self.driver.is_some() && self.operator.template.is_some() && !self.is_tiled;
        match hop.op {
            _ if !meets => self.share,
            // Products of factors are computed for what is left, too.
            HopOp::MatMul => self.share_met(context),
            HopOp::AggUnary(..) => self.share.min(sparsity(context, hop.inputs[0])),
            HopOp::Unary(_) | HopOp::Binary(_) | HopOp::Ternary(_) | HopOp::Nary(_) => {
                self.share.min(sparsity(context, id))
            }
            _ => self.share,
        }
    }

    /// The share of the cells that is left where all meet that are sparse.
    fn share_met(&self, context: &Context<'_>) -> f64 {
        let inputs = self.operator.inputs.iter().filter(|&&id| context.hop(id).size.same_dims(&self.space));
        let zeros_alone = |&&id: &&HopId| self.operator.is_zero_with(context, id, Zeros::Cell);
        let met: SmallVec<[HopId; 4]> = inputs.filter(zeros_alone).copied().collect();
        share_where_all_meet(context, &met).min(self.share)
    }

    /// Whether of an input only those cells are read in which the driver is not zero. What is sparse is walked through,
    /// whichever of its non-zeros meet those of the driver.
    fn is_visited_in_part(&self, context: &Context<'_>, id: HopId) -> bool {
        Some(id) != self.driver && context.hop(id).size.same_dims(&self.space) && sparsity(context, id) == 1.0
    }

    /// Whether nothing asks for the columns of joined rows in their order: no result is stored by cell, and beside what
    /// is joined there are neither row vectors nor sparse matrices.
    fn joins_in_any_order(&self, context: &Context<'_>) -> bool {
        let aggregates = |&root: &HopId| matches!(context.hop(root).op, HopOp::AggUnary(..) | HopOp::MatMul);
        let is_looked_up = |&id: &HopId| {
            let hop = context.hop(id);
            let is_row = hop.is_matrix() && hop.size.rows == Some(1) && self.space.rows != Some(1);
            is_row || sparsity(context, id) < 1.0 && hop.size.same_dims(&self.space) && !self.visited.contains(&id)
        };
        self.operator.roots.iter().all(aggregates) && !self.operator.inputs.iter().any(is_looked_up)
    }

    /// The share of a sparse input's non-zeros that searches touch for those of a driver that have met what has fewer, where
    /// rows are so much longer that a fused operator searches them.
    fn share_searched(&self, context: &Context<'_>, id: HopId) -> Option<f64> {
        let is_sparse = |&id: &HopId| context.hop(id).size.same_dims(&self.space) && sparsity(context, id) < 1.0;
        let is_driver = |driver: &HopId| *driver != id && sparsity(context, *driver) < 1.0;
        let driver = self.driver.filter(is_driver).filter(|_| self.operator.template.is_some())?;
        let non_zeros = stored_non_zeros(context, id);
        let comes_before = |other: &HopId| stored_non_zeros(context, *other) < non_zeros;
        let others = self.operator.inputs.iter().filter(|&&other| other != driver && other != id);
        let met = others.copied().filter(|id| is_sparse(id) && comes_before(id));
        let met: SmallVec<[HopId; 4]> = [driver].into_iter().chain(met).collect();
        let left = share_where_all_meet(context, &met) * cells(&self.space);
        let ratio = non_zeros / left;
        (is_sparse(&id) && ratio >= work::SEARCHED as f64).then_some((SEARCH_IN_VISITS / ratio).min(1.0))
    }

    /// Counts the non-zeros that a fused operator stores with a pattern of their own: those of joined inputs, and those of a
    /// driver of which some become zero.
    fn count_new_pattern(&self, context: &Context<'_>, work: &mut Work) {
        let root = self.operator.root();
        let shares_pattern = self.driver.is_none_or(|driver| has_all_non_zeros_of(context, root, driver));
        if self.visited.len() > 1 || !shares_pattern {
            work.count_stored(stored_non_zeros(context, root), stored_rows(context, root));
        }
    }

    /// Completes what a basic operator computes: the pattern of its result, and how it takes narrow rows.
    fn count_basic(&self, context: &Context<'_>, vector: &mut CostVector) {
        let root = self.operator.root();
        vector.count_stored(context, root);
        if self.share != 1.0 {
            let rows = self.space.rows.unwrap_or(0) as f64;
            vector.is_shared = cells(&self.space) * self.share + rows > work::BLOCK_NON_ZEROS as f64;
            return;
        }
        vector.is_shared = cells(&self.space) > BASIC_BLOCK_CELLS;
        if let Some(values) = context.operation(root).values_beside_one {
            vector.work.fill_by_row(values);
            // The value of a narrow row is repeated.
            vector.work.moved +=
                if values <= MOST_REPEATED_VALUES { REPEAT_IN_MOVES * cells(&self.space) } else { 0.0 };
        }
    }
}

/// Whether a Cell or multi-aggregate operator takes cells row by row. What aggregates nothing takes a single column as one run
/// over its rows, and reads columns of wider matrices by their stride.
fn goes_by_rows(scheduled: &Scheduled) -> bool {
    let is_by_rows = scheduled.schedule.driver != Driver::Run;
    is_by_rows && !(scheduled.schedule.grid_cols() == 1 && scheduled.schedule.flow == Flow::Cells)
}

/// The share of the cells in which all of some matrices have non-zeros: what has them wherever another one does takes none away.
fn share_where_all_meet(context: &Context<'_>, met: &[HopId]) -> f64 {
    let takes_none = |place: usize, id: HopId| {
        let says_as_much = |(other, &matrix): (usize, &HopId)| {
            other != place && context.lies_within(matrix, id) && (other < place || !context.lies_within(id, matrix))
        };
        met.iter().enumerate().any(says_as_much)
    };
    let taking = met.iter().enumerate().filter(|&(place, &id)| !takes_none(place, id));
    taking.map(|(_, &id)| sparsity(context, id)).product()
}

/// Whether a basic operator goes by the non-zeros of these inputs: kernels take those of one matrix beside scalars, and join
/// those of the two operands of an operation, or of many one after the other.
fn goes_by_non_zeros(context: &Context<'_>, root: HopId, visited: &[HopId]) -> bool {
    let hop = context.hop(root);
    let are_all = hop.inputs.iter().all(|input| !context.hop(*input).is_matrix() || visited.contains(input));
    are_all && (visited.len() == 1 || !matches!(hop.op, HopOp::Ternary(_)))
}

/// Whether an operator over the cells of `space` may have something to skip: finding out which input's zeros these are takes
/// longer.
fn has_zeros_to_skip(context: &Context<'_>, inputs: &[HopId], space: &SizeInfo) -> bool {
    inputs.iter().any(|&id| sparsity(context, id) < 1.0 && context.hop(id).size.same_dims(space))
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

/// Bytes that an operator is expected to write, of all its roots.
fn outputs_bytes(context: &Context<'_>, operator: &Operator) -> f64 {
    operator.roots.iter().map(|&root| expected_output_bytes(context, root)).sum()
}

/// A basic operator, or one over rows: every input is read whole.
fn whole_inputs(context: &Context<'_>, operator: &Operator) -> CostVector {
    let is_fused = operator.template.is_some();
    let written = |root: HopId| {
        let sums = if is_fused { bytes_of_dense_sums(context, root) } else { None };
        sums.unwrap_or_else(|| expected_output_bytes(context, root))
    };
    let output = operator.roots.iter().map(|&root| written(root)).sum();
    let (members, root_id) = (&operator.members, operator.root());
    let basic = (!is_fused).then(|| basic_class(context, root_id));
    let mut work = Work::default();
    let sparse_rows = if is_fused { SparseRows::of(context, operator) } else { None };
    // What belongs to one row keeps the loops over its cells from running on into the next one.
    let by_row = members.iter().find_map(|&id| context.operation(id).values_beside_one);
    let by_row = by_row.filter(|&values| values > MOST_REPEATED_VALUES);
    for &id in members {
        // A transpose inside of an operator is read through.
        if members.len() > 1 && matches!(context.hop(id).op, HopOp::Reorg(_)) {
            continue;
        }
        let share = sparse_rows.as_ref().map(|rows| rows.share_of(context, id));
        if is_fused || is_pooling(context, id) {
            work.row_cells += row_cells(context, operator, id) * share.unwrap_or(1.0);
        }
        if sparse_rows.as_ref().is_some_and(|rows| rows.lies_by_position(id)) {
            work.add(fused_class(context, id), dense_flops(context, id) * share.unwrap_or(1.0));
            continue;
        }
        let class = basic.unwrap_or_else(|| fused_class(context, id));
        let flops = share.map_or_else(|| flops(context, id), |share| dense_flops(context, id) * share);
        work.in_registers += if product_share(context, id, class) < 1.0 { flops } else { 0.0 };
        work.moved += UNFOLD_IN_MOVES * unfolded_cells(context, id);
        match by_row {
            Some(values) if is_fused && is_element_wise(context, id, values) => work.add_by_row(class, flops, values),
            _ => work.add(class, flops),
        }
        if is_fused {
            work.count_short_rows(context, id, |values| is_narrow(context, operator, values));
        }
        if class != OperationClass::MatrixProduct {
            let run_start = if !is_fused && takes_short_rows(context, id) { SIDE_BY_SIDE_RUN_START } else { 1.0 };
            work.runs += run_start * runs(context, id, is_fused);
        }
    }
    let root = context.hop(root_id);
    let share = |id: HopId| match &sparse_rows {
        Some(rows) => rows.share_read(context, id),
        None if is_fused => 1.0,
        None => least_read(context, root_id, id),
    };
    let mut inputs = matrices(context, &operator.inputs, share);
    if let Some(rows) = &sparse_rows {
        for read in &mut inputs {
            (read.gathers, read.lines) =
                (rows.gathers(context, operator, read.id), rows.lines_read(context, operator, read.id));
        }
        work.moved += rows.scattered_cells(context, operator) * SCATTER_IN_MOVES;
        work.moved += rows.compacted_cells(context, operator) * COMPACT_IN_MOVES;
        (work.lines, work.line_bytes) = rows.lines_added_to(context, operator);
    }
    if is_fused && has_short_rows(&root.size) && root.size.cols != Some(1) && root.size.rows != Some(1) {
        work.moved += NARROW_STORE_IN_MOVES * cells(&root.size);
    }
    // A product reads through a transpose.
    let rows =
        |id: HopId| stored_rows(context, if is_fused { id } else { untransposed(context.dag, id).unwrap_or(id) });
    if is_fused || !reads_values_alone(&root.op) {
        if let Some(rows) = &sparse_rows {
            rows.count_combined(context, operator, &mut work);
        }
        let looks_up = sparse_rows.as_ref().is_some_and(|rows| rows.looks_up(context, operator));
        let goes_by_values = is_fused && !looks_up && !asks_for_columns(&work, &inputs);
        work.non_zeros = if goes_by_values { 0.0 } else { non_zeros(context, &inputs) };
        for read in inputs.iter().filter(|read| stored_rows(context, read.id) > 0.0) {
            let is_read = |member: HopId, id: HopId| match &sparse_rows {
                Some(rows) => rows.walks_through(read.id, member, id),
                None => id == read.id,
            };
            let (products, walks) = walks(context, members, is_read);
            let non_zeros = stored_non_zeros(context, read.id);
            // A product with several columns takes as long in a row that is in the nearest cache.
            let whole = (products - 1.0).max(0.0);
            work.non_zeros += whole * non_zeros;
            work.non_zeros_again += (walks - 1.0 - whole).max(0.0) * non_zeros;
        }
    }
    let begun = match root.op {
        HopOp::AggUnary(_, Direction::Full | Direction::Col) | HopOp::Reorg(_) if !is_fused => 0.0,
        HopOp::AggUnary(..) if !is_fused => VALUES_ONLY_ROW_START,
        HopOp::MatMul if !is_fused => SINGLE_USE_ROW_START,
        _ => 1.0,
    };
    let begun_share = sparse_rows.as_ref().map_or(1.0, |rows| rows.begun_share(context));
    work.sparse_rows = begun * begun_share * inputs.iter().map(|read| rows(read.id)).sum::<f64>();
    if !is_fused && is_column_aggregate(context, root_id) {
        work.lines = TRANSFERS_OF_SUMS * stored_non_zeros(context, root.inputs[0]);
        work.line_bytes = output;
    }
    if let (Some(class), HopOp::MatMul) = (basic, &root.op) {
        work.moved += moved_cells(context, root_id, class);
        let (begun, visited) = rows_met(context, root.inputs[0], root.inputs[1]);
        work.sparse_rows += begun;
        work.non_zeros += visited;
        count_lines(context, root_id, &mut inputs, &mut work);
    }
    let formed = if is_fused { None } else { FormedTranspose::of(context, root_id) };
    let is_shared = if is_fused {
        Scheduled::rows_are_shared(context, operator)
    } else {
        work.count_stored(stored_non_zeros(context, root_id), stored_rows(context, root_id));
        if let Some(formed) = formed {
            work.count_transpose(formed, root.op == HopOp::MatMul);
        }
        let largest = || inputs.iter().map(|read| read.bytes).fold(output, f64::max) / SCALAR_BYTES;
        let is_sparse = inputs.iter().any(|read| rows(read.id) > 0.0);
        match basic {
            Some(OperationClass::MatrixProduct) => has_several_blocks(context, root_id),
            _ if root.op == HopOp::Index => output / SCALAR_BYTES > BASIC_BLOCK_CELLS,
            _ if formed.is_some_and(|formed| !formed.is_shared()) => false,
            // Images are the work of one thread each.
            _ if over_windows(context.dag, root_id).is_some() => true,
            _ if root.op == HopOp::MatMul && !is_sparse => dense_flops(context, root_id) > 2.0 * BASIC_BLOCK_CELLS,
            _ => largest() > if is_sparse { BLOCK_CELLS as f64 } else { BASIC_BLOCK_CELLS },
        }
    };
    let computes_apart = if is_fused {
        // The largest input stands for the main one.
        inputs.iter().max_by(|one, other| one.bytes.total_cmp(&other.bytes)).is_some_and(|largest| {
            context.hop(largest.id).size.rows != Some(1) && stored_rows(context, largest.id) == 0.0
        })
    } else {
        // It adds up the rows of the right side.
        root.op == HopOp::MatMul && root.size.rows == Some(1) && root.size.cols != Some(1)
    };
    let held = if is_fused { Held::of(context, operator, sparse_rows.as_ref()) } else { Held::default() };
    let private_sums = if is_shared { held.private_sums } else { 0.0 };
    let sweeps = held.sweeps;
    CostVector { output, work, inputs, sweeps, private_sums, sparsity: 1.0, driver: None, is_shared, computes_apart }
}

/// Whether an operator over rows asks where non-zeros are: rows are combined or laid out, or something else is read or added to
/// there. What it computes of the values of rows alone goes through these.
fn asks_for_columns(work: &Work, inputs: &[InputRead]) -> bool {
    let meets = inputs.iter().any(|read| read.gathers > 0.0 || read.lines > 0.0);
    meets || work.lines > 0.0 || work.joined > 0.0 || work.met > 0.0 || work.moved > 0.0
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
        let mut sweeps = swept(context, operator);
        let laid_out = sparse_rows.into_iter().flat_map(|rows| rows.scattered(context, operator));
        sweeps.extend(sums_by_column(context, operator, laid_out));
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

/// Counts the cache lines that a basic product of a sparse matrix fetches for its non-zeros: of the right side, or, where a
/// transpose is on the left, of the sums.
fn count_lines(context: &Context<'_>, id: HopId, inputs: &mut [InputRead], work: &mut Work) {
    let hop = context.hop(id);
    let non_zeros = stored_non_zeros(context, hop.inputs[0]);
    if untransposed(context.dag, hop.inputs[0]).is_some() {
        work.lines = TRANSFERS_OF_SUMS * non_zeros * lines_of_row(context, id);
        work.line_bytes = bytes_of_sums(context, id);
    } else if let Some(right) = inputs.iter_mut().find(|read| read.id == hop.inputs[1]) {
        right.lines = non_zeros * lines_of_row(context, hop.inputs[1]);
    }
}

/// Whether rows of so many values are one run in the code of a fused operator.
fn is_narrow(context: &Context<'_>, operator: &Operator, values: u64) -> bool {
    let below = |has_functions: bool| values < work::narrow_below(has_functions) as u64;
    below(false) || below(true) && has_functions(context, operator)
}

/// Whether values of an operator go through a function such as `exp`.
fn has_functions(context: &Context<'_>, operator: &Operator) -> bool {
    operator.members.iter().any(|&id| match context.hop(id).op {
        HopOp::Unary(op) => work::is_unary_function(op),
        HopOp::Binary(op) => work::is_binary_function(op),
        _ => false,
    })
}

/// The cells of all unfolded images of a convolution.
fn unfolded_cells(context: &Context<'_>, id: HopId) -> f64 {
    context.operation(id).unfolded * context.hop(id).size.rows.unwrap_or(0) as f64
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
        let mut read = hop.inputs.iter().map(|&input| untransposed(context.dag, input).unwrap_or(input));
        matches!(hop.op, HopOp::MatMul | HopOp::AggUnary(..)) && read.any(|input| is_read(id, input))
    };
    let is_wide = |(_, hop): &(HopId, &Hop)| hop.op == HopOp::MatMul && hop.size.cols.is_some_and(|cols| cols > 1);
    let walking = || members.iter().map(|&id| (id, context.hop(id))).filter(walks);
    (walking().filter(is_wide).count() as f64, walking().count() as f64)
}

/// Whether a basic operator runs over the stored values of a sparse matrix wherever these belong.
fn reads_values_alone(op: &HopOp) -> bool {
    matches!(op, HopOp::AggUnary(_, Direction::Full | Direction::Row))
}

/// The share of the bytes of an input that any operator in which this one is a member reads at least: of a sparse matrix the
/// values, where it asks for nothing else.
pub(crate) fn least_read(context: &Context<'_>, id: HopId, input: HopId) -> f64 {
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
            visits_of_pattern(distinct.filter(|id| is_read(id) && has_columns(*id)).count())
        }
        ref op if reads_values_alone(op) => 0.0,
        _ => 1.0,
    }
}

/// The share of visits of non-zeros, and of beginnings of rows, that a basic operator over one sparse matrix among so many
/// takes: alone, its values are one run.
fn visits_of_pattern(matrices: usize) -> f64 {
    if matrices > 1 { MERGED_PATTERN_VISIT } else { 0.0 }
}

/// The matrices among some inputs, each of which is read to a share.
fn matrices(context: &Context<'_>, inputs: &[HopId], share: impl Fn(HopId) -> f64) -> SmallVec<[InputRead; 4]> {
    let read = |&id: &HopId| {
        let bytes = bytes_of(context, id);
        InputRead { id, bytes, touched: bytes * share(id), gathers: 0.0, lines: 0.0 }
    };
    inputs.iter().filter(|&&id| context.hop(id).is_matrix()).map(read).collect()
}

/// The non-zeros that are visited of sparse inputs.
fn non_zeros(context: &Context<'_>, inputs: &[InputRead]) -> f64 {
    let share = |read: &InputRead| if read.bytes > 0.0 { read.touched / read.bytes } else { 0.0 };
    inputs.iter().map(|read| stored_non_zeros(context, read.id) * share(read)).sum()
}
