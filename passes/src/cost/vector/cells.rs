//! Operators over cells, Cell, multi-aggregates, Outer and the basic ones: they skip what is zero in a driver, or go by the
//! non-zeros of several inputs.

use super::{
    BASIC_BLOCK_CELLS, CostVector, InputRead, LOOKED_UP_VISIT, MOST_REPEATED_VALUES, SPREAD_ALONE,
    VALUES_ONLY_ROW_START, expected_output_bytes, has_all_non_zeros_of, has_new_zeros, is_narrow, matrices, non_zeros,
    seeks_extremes,
};
use crate::cost::BLOCK_CELLS;
use crate::cost::outer::{TRANSFERS_OF_SUMS, count_factors};
use crate::cost::schedule::Scheduled;
use crate::cost::sparse_rows::begun_share;
use crate::cost::vectors::Vectors;
use crate::cost::work::{
    JOINED_ROW_START, MET_ROW_START, Work, cell_flops, cell_runs, fused_class, is_column_aggregate, is_matrix_product,
    repeats_vector, share_of_merge, tile_class,
};
use crate::cover::{Hops, Operator};
use crate::facts::{
    Context, SCALAR_BYTES, bytes_of, cells, is_outer_product_like, sparsity, stored_non_zeros, stored_rows,
};
use crate::zeros::Zeros;
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::schedule::{Driver, Flow};
use fuseline_ir::work;
use fuseline_ir::{SizeInfo, Space};
use smallvec::SmallVec;

/// The share of cells from which on Outer operators compute the products of factors in tiles
/// ([`work::multiplies_whole_tile`]).
const TILED_SPARSITY: f64 = 1.0 / work::SAMPLE_CELLS as f64;

/// What a cell of a tile of the product of two factors costs besides its operations, relative to the machine's `start.run`: it is
/// stored, and read again. Set on one machine.
const CELL_OF_TILE: f64 = 0.4;

/// What a search of a sparse row costs, in visits of non-zeros. Set on one machine.
const SEARCH_IN_VISITS: f64 = 24.0;

/// What a row of cells costs of which the least or the largest is sought, relative to the machine's `start.row`, which is that of
/// a sum: each step across the lanes of a register minds NaNs. Set on one machine.
const EXTREME_ROW_START: f64 = 3.5;

/// What repeating a value for a cell of its narrow row costs, in cells that a transposition moves one by one. Fitted.
const REPEAT_IN_MOVES: f64 = 0.8;

/// What an operator over cells writes, computes and reads.
pub(super) fn by_cell(context: &Context<'_>, operator: &Operator, space: Space) -> Option<CostVector> {
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
        let (row_start, visit) = if pass.share == 1.0 {
            (1.0, 1.0)
        } else if scheduled.has_vectors_alone() {
            (SPREAD_ALONE, LOOKED_UP_VISIT)
        } else if scheduled.aggregates_values_of_rows() {
            (VALUES_ONLY_ROW_START, 1.0)
        } else {
            (1.0, 1.0)
        };
        vector.work.sparse_rows *= if scheduled.asks_for_rows() { row_start } else { 0.0 };
        vector.work.non_zeros *= if scheduled.asks_for_columns() { visit } else { 0.0 };
    }
    if space == Space::Cells && scheduled.is_some_and(|scheduled| scheduled.stores_cells()) {
        pass.count_new_pattern(context, &mut vector.work);
        pass.count_filled(context, &mut vector);
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
            work.laid_out = cells(space) * inputs.iter().filter(is_laid_out).count() as f64;
        }
        for read in inputs.iter_mut().filter(|read| read.touched < read.bytes) {
            read.gathers = cells(space) * share;
        }
        if share < 1.0 {
            // Where rows meet, a row vector is read at what is left of them.
            let computed = operator.members.iter().map(|&id| self.share_computed(context, id)).fold(share, f64::min);
            let vectors = Vectors::of(context, operator);
            let looked_up = |read: &&mut InputRead| vectors.belongs_to_columns(read.id, space);
            for (place, read) in inputs.iter_mut().filter(looked_up).enumerate() {
                read.lines = cells(space) * computed;
                work.looked_up += if place > 0 { read.lines } else { 0.0 };
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
        work.compacted += compacted;
        let output = outputs_bytes(context, operator);
        let is_shared = cells(space) * share > BLOCK_CELLS as f64;
        let sweeps = SmallVec::new();
        let private_sums = 0.0;
        CostVector {
            output,
            work,
            inputs,
            sweeps,
            copied: 0.0,
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
        let narrow = is_narrow(context, self.operator, values);
        // Narrow rows are one run, of which each register holds values of several rows.
        work.rows =
            rows as f64 * if !narrow && seeks_extremes(context, self.operator) { EXTREME_ROW_START } else { 1.0 };
        if narrow {
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
        let read: Hops = by_cell.flat_map(|hop| hop.inputs.iter().copied()).collect();
        let rows = stored_rows(context, driver) * begun_share(context, driver);
        work.count_spread(vectors.of_rows(read, &self.space), cells(&self.space) * self.share, rows);
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
        if stored_rows(context, root) == 0.0 {
            return;
        }
        let makes_zeros = || self.operator.members.iter().any(|&id| has_new_zeros(context, id));
        let shares_pattern = self.driver.is_none_or(|driver| has_all_non_zeros_of(context, root, driver));
        if self.visited.len() > 1 {
            // Zeros among what is joined are stored, too, and left out then.
            let joined: f64 = self.visited.iter().map(|&id| stored_non_zeros(context, id)).sum();
            work.moved += (joined - stored_non_zeros(context, root)).max(0.0);
        }
        if self.visited.len() > 1 || !shares_pattern || makes_zeros() {
            work.count_stored(stored_non_zeros(context, root), stored_rows(context, root));
        }
    }

    /// Counts what it takes besides to write a result for all cells that is computed for non-zeros alone: the values of these are
    /// stored and read again, and each is brought to its place.
    fn count_filled(&self, context: &Context<'_>, vector: &mut CostVector) {
        let pattern = self.driver.or(self.visited.first().copied());
        let is_dense = stored_rows(context, self.operator.root()) == 0.0;
        let Some(pattern) = pattern.filter(|_| is_dense && self.share < 1.0) else { return };
        let non_zeros = cells(&self.space) * self.share;
        vector.copied += non_zeros * SCALAR_BYTES;
        vector.work.non_zeros += non_zeros;
        vector.work.sparse_rows += stored_rows(context, pattern);
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

/// Bytes that an operator is expected to write, of all its roots.
fn outputs_bytes(context: &Context<'_>, operator: &Operator) -> f64 {
    operator.roots.iter().map(|&root| expected_output_bytes(context, root)).sum()
}
