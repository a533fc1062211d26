//! How a fused operator will run, as far as its sizes say: the schedule that skeletons make of its plan and inputs, made of
//! its members.

use super::product::{Passes, passes};
use super::vectors::Vectors;
use super::work::is_by_cell;
use crate::cover::{ByPosition, Hops, Operator};
use crate::facts::{Context, bytes_of, cells, stored_non_zeros, stored_rows};
use crate::hops::untransposed;
use crate::zeros::Zeros;
use fuseline_ir::hop::{HopId, HopOp, NaryOp};
use fuseline_ir::ops::Direction;
use fuseline_ir::schedule::{Driver, Flow, LONG_VECTOR, Outline, Profile, RowProfile, Runs, Schedule, Sums};
use fuseline_ir::work::{BLOCK_CELLS, BLOCK_NON_ZEROS, CELL_BYTES, csr_row_bytes};
use fuseline_ir::{SizeInfo, Space};

/// Blocks' worth of cells, each with the cells of the output, that are the work of several blocks however they are cut. With
/// a larger number answers would be the same ones, and more schedules made.
const CLEARLY_SHARED_BLOCKS: f64 = 16.0;

/// A schedule with the sizes that it is for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scheduled {
    /// How the operator runs.
    pub schedule: Schedule,
    /// The input that drives it.
    pub main: HopId,
    /// The rows that are visited.
    rows: usize,
    /// The non-zeros of a sparse main input.
    non_zeros: usize,
    /// Bytes of a row of the main input, on average.
    row_bytes: u64,
    /// Whether cells of other matrices of the main one's size are computed with its own: read beside it, or joined.
    meets_matrices: bool,
    /// Whether values belong to one column.
    keeps_columns: bool,
}

impl Scheduled {
    /// How a fused operator runs; `None` of basic ones, and of operators without a main input or whose sizes are unknown.
    pub fn of(context: &Context<'_>, operator: &Operator) -> Option<Scheduled> {
        if operator.template?.space() != Space::Rows {
            let space = operator.space(context);
            let driver = operator.driver(context, &space);
            let visited = if driver.is_none() { operator.visited_inputs(context, &space) } else { None };
            return Scheduled::over_cells(context, operator, &space, driver, visited.unwrap_or_default());
        }
        let (main, by_position) = match operator.sparse_rows(context) {
            Some((main, found)) => (main, Some(found)),
            None => (operator.main_input(context)?, None),
        };
        let joined = by_position.as_ref().map(|found| found.joined.clone()).unwrap_or_default();
        Scheduled::with_main(&Members { context, operator, main, has_non_zeros: false, joined, by_position })
    }

    /// How a fused operator over the cells of `space` runs, whose driver is known, or the inputs at whose non-zeros it is computed.
    /// Without either, any input that has these cells stands for the main one: all of them are read densely.
    pub(super) fn over_cells(
        context: &Context<'_>,
        operator: &Operator,
        space: &SizeInfo,
        driver: Option<HopId>,
        mut visited: Hops,
    ) -> Option<Scheduled> {
        let sparsest = (!visited.is_empty()).then(|| visited.remove(0));
        let has_non_zeros = driver.is_some() || sparsest.is_some();
        let main = driver.or(sparsest).or_else(|| operator.densest(context, space))?;
        Scheduled::with_main(&Members { context, operator, main, has_non_zeros, joined: visited, by_position: None })
    }

    fn with_main(members: &Members<'_>) -> Option<Scheduled> {
        let Members { context, main, .. } = *members;
        let profile = members.profile()?;
        let visited = std::iter::once(main).chain(members.joined.iter().copied());
        let non_zeros = visited.map(|id| stored_non_zeros(context, id) as usize).sum();
        let rows = profile.rows;
        Some(Scheduled {
            schedule: Schedule::of(&profile),
            main,
            rows: if profile.skips_empty_rows { rows.min(non_zeros) } else { rows },
            non_zeros,
            meets_matrices: profile.combines_rows || members.reads_cells_beside(),
            keeps_columns: profile.keeps_columns,
            row_bytes: if profile.space == Space::Factors && !members.has_non_zeros {
                profile.cols as u64 * CELL_BYTES
            } else if members.is_sparse() {
                csr_row_bytes(rows as u64, non_zeros as u64)
            } else {
                bytes_of(context, main) as u64 / (rows as u64).max(1)
            },
        })
    }

    /// Whether several threads share the work of an operator over rows. Where its matrices have many times the cells of a
    /// block, or all of them fewer, that is clear without a schedule.
    pub(super) fn rows_are_shared(context: &Context<'_>, operator: &Operator) -> bool {
        let of = |id: &HopId| bytes_of(context, *id) / CELL_BYTES as f64;
        let read = operator.inputs.iter().map(of).fold(0.0, f64::max);
        let output: f64 = operator.roots.iter().map(of).sum();
        if read >= CLEARLY_SHARED_BLOCKS * (BLOCK_CELLS as f64 + output) {
            return true;
        }
        let computed = || operator.members.iter().map(|&id| cells(&context.hop(id).size)).fold(0.0, f64::max);
        if read.max(output) <= BLOCK_NON_ZEROS as f64 && computed() <= BLOCK_CELLS as f64 {
            return false;
        }
        Scheduled::of(context, operator).is_some_and(|scheduled| scheduled.is_shared())
    }

    /// The bytes of the sums that several blocks keep to themselves, of so many each; none where they share them.
    pub(super) fn private_sums(&self, sums: f64) -> f64 {
        match self.sums() {
            Some(Sums::Private(blocks)) if blocks > 1 => blocks as f64 * sums,
            _ => 0.0,
        }
    }

    /// Whether several threads share the work.
    pub(super) fn is_shared(&self) -> bool {
        self.schedule.blocks(self.rows, self.non_zeros) > 1
    }

    /// Whether what is computed for a cell depends on its column: it is aggregated there, or meets other matrices.
    pub(super) fn asks_for_columns(&self) -> bool {
        self.meets_matrices || self.keeps_columns
    }

    /// Whether what is computed for a non-zero depends on its row. Where it does not, units go on from row to row.
    pub(super) fn asks_for_rows(&self) -> bool {
        let crosses_rows = matches!(self.schedule.driver, Driver::NonZeros(Runs { row_weight: None, .. }));
        self.meets_matrices || !crosses_rows
    }

    /// Whether rows and columns of an operator over cells matter for vectors of their values alone, which are given to cells or looked
    /// up.
    pub(super) fn has_vectors_alone(&self) -> bool {
        !self.meets_matrices && matches!(self.schedule.flow, Flow::Cells | Flow::Values)
    }

    /// Whether an operator over cells aggregates rows of values, whichever columns these are in.
    pub(super) fn aggregates_values_of_rows(&self) -> bool {
        self.schedule.flow == Flow::Rows && !self.asks_for_columns()
    }

    /// Whether each cell or non-zero has one of the output.
    pub(super) fn stores_cells(&self) -> bool {
        self.schedule.flow == Flow::Cells
    }

    /// How the sums over rows are kept apart; `None` where there are none.
    pub(super) fn sums(&self) -> Option<Sums> {
        self.schedule.sums(self.rows, self.non_zeros)
    }

    /// Calls of generated code, if non-zeros are spread evenly.
    pub fn even_units(&self) -> usize {
        self.schedule.even_units(self.rows, self.non_zeros, self.row_bytes)
    }

    /// Strips, blocks and private sums.
    pub fn outline(&self) -> Outline {
        self.schedule.outline(self.rows, self.non_zeros, self.row_bytes)
    }
}

/// Whether values of an operator over cells belong to one row, or to one column.
#[derive(Clone, Copy, Default)]
struct Kept {
    rows: bool,
    columns: bool,
}

/// The members of an operator, seen from its main input.
struct Members<'a> {
    context: &'a Context<'a>,
    operator: &'a Operator,
    main: HopId,
    /// Whether an operator over cells is computed at the non-zeros of the main input, and of what is joined with it.
    has_non_zeros: bool,
    /// The sparse inputs whose rows are joined with those of the main one.
    joined: Hops,
    /// What of an operator over sparse rows lies by position, if it goes by these.
    by_position: Option<ByPosition>,
}

impl Members<'_> {
    fn profile(&self) -> Option<Profile> {
        let Members { context, operator, main, .. } = *self;
        let space = operator.template?.space();
        let (rows, cols) = context.hop(main).size.known_dims()?;
        let is_over_cells = space == Space::Cells;
        let kept = if is_over_cells { self.kept() } else { Kept::default() };
        Some(Profile {
            space,
            rows: usize::try_from(rows).ok()?,
            cols: usize::try_from(cols).ok()?,
            runs_over_non_zeros: self.is_sparse() && self.runs_over_non_zeros(space),
            skips_empty_rows: self.is_sparse()
                && (!is_over_cells || kept.rows || self.reads_cells_beside())
                && self.leaves_rows_out(space)
                && !self.any(|id| context.operation(id).is_sequence),
            keeps_rows: kept.rows,
            combines_rows: !self.joined.is_empty() || space != Space::Rows && self.meets_in_stored_cells(space),
            keeps_columns: kept.columns,
            row: if space == Space::Rows { self.row_profile() } else { RowProfile::default() },
            rank: if space == Space::Factors { rank(context, operator) } else { 0 },
            flow: self.flow(space),
        })
    }

    fn any(&self, condition: impl Fn(HopId) -> bool) -> bool {
        self.operator.members.iter().any(|&id| condition(id))
    }

    /// Whether the main input is stored as non-zeros.
    fn is_sparse(&self) -> bool {
        stored_rows(self.context, self.main) > 0.0
    }

    /// What values of an operator over cells belong to: what aggregates, numbers or picks them says so, and so do inputs that
    /// are a row or a column.
    fn kept(&self) -> Kept {
        let Members { context, operator, main, .. } = *self;
        let mut kept = Kept::default();
        for &id in &operator.members {
            match context.hop(id).op {
                HopOp::AggUnary(_, Direction::Row) | HopOp::Index => kept.rows = true,
                HopOp::AggUnary(_, Direction::Col) => kept.columns = true,
                HopOp::DataGen(_) => kept.rows |= context.operation(id).is_sequence,
                _ => {}
            }
        }
        let (cells, vectors) = (&context.hop(main).size, Vectors::of(context, operator));
        for &input in operator.inputs.iter().filter(|&&id| context.hop(id).is_matrix()) {
            kept.rows |= vectors.belongs_to_rows(input, cells);
            kept.columns |= vectors.belongs_to_columns(input, cells);
        }
        kept
    }

    /// Whether an operator over cells reads another matrix of the main input's size.
    fn reads_cells_beside(&self) -> bool {
        let size = &self.context.hop(self.main).size;
        self.operator.inputs.iter().any(|&id| id != self.main && self.context.hop(id).size.same_dims(size))
    }

    /// Whether an operator over the non-zeros of its driver, of cells or of products, stores cells, and another sparse input
    /// leaves some of these out.
    fn meets_in_stored_cells(&self, space: Space) -> bool {
        let Members { context, operator, main, .. } = *self;
        let annihilates = |&id: &HopId| {
            id != main && stored_rows(context, id) > 0.0 && operator.is_zero_with(context, id, Zeros::Cell)
        };
        let stores = self.flow(space) == Flow::Cells;
        stores && self.has_non_zeros && self.joined.is_empty() && operator.inputs.iter().any(annihilates)
    }

    /// Whether units are runs of the non-zeros of a sparse main input.
    fn runs_over_non_zeros(&self, space: Space) -> bool {
        match space {
            Space::Cells | Space::Factors => self.has_non_zeros,
            Space::Rows => self.by_position.is_some(),
        }
    }

    /// Whether rows without non-zeros contribute nothing.
    fn leaves_rows_out(&self, space: Space) -> bool {
        match space {
            Space::Rows => {
                let has_cells = self.context.hop(self.main).size.cols != Some(0);
                has_cells && self.operator.is_zero_with(self.context, self.main, Zeros::Row)
            }
            Space::Cells | Space::Factors => self.runs_over_non_zeros(space),
        }
    }

    /// The lengths of the values of a row: members and inputs of as many rows as the main input.
    fn row_profile(&self) -> RowProfile {
        let Members { context, operator, main, .. } = *self;
        let by_row = |&id: &HopId| {
            let size = context.hop(id).size;
            if size.rows == context.hop(main).size.rows { size.cols.unwrap_or(0) as usize } else { 0 }
        };
        // A convolution has unfolded images besides.
        let computed = |id: &HopId| by_row(id).max(context.operation(*id).unfolded as usize);
        let by_position = self.by_position.as_ref();
        let is_laid_out = |id: &HopId| by_position.is_some_and(|found| found.laid_out.contains(id));
        let lies_by_position = |id: &HopId| by_position.is_some_and(|found| found.contains(*id)) && !is_laid_out(id);
        let is_value = |id: &&HopId| match operator.roots.contains(*id) {
            true => !self.accumulates(**id),
            // A transpose inside of an operator is read through.
            false => !matches!(context.hop(**id).op, HopOp::Reorg(_)),
        };
        let members = operator.members.iter().filter(|&id| !lies_by_position(id)).filter(is_value).map(computed);
        let sides = operator.inputs.iter().filter(|&id| *id != main && !lies_by_position(id)).map(by_row);
        let main_cols = by_row(&main);
        let main_laid_out = if is_laid_out(&main) { main_cols } else { 0 };
        let computed = members.chain(sides.clone()).chain([main_laid_out]);
        let longest_computed = computed.filter(|&cols| cols > 1).max().unwrap_or(0);
        let is_long = |id: &&HopId| by_row(id) >= LONG_VECTOR && !lies_by_position(id);
        let is_swept =
            |of: &Passes| !of.is_sum && context.hop(of.through).size.cols != Some(1) && !lies_by_position(&of.rows_of);
        let swept = operator.members.iter().filter_map(|&id| passes(context, id)).filter(is_swept);
        RowProfile {
            longest_computed,
            long_operations: operator.members.iter().filter(is_long).map(|&id| operations_by_cell(context, id)).sum(),
            widest: longest_computed.max(main_cols),
            inputs: main_cols + sides.filter(|&cols| cols > 1).sum::<usize>(),
            keeps_vectors: self.any(|id| self.keeps_vectors(id)),
            swept: swept.map(|of| cells(&context.hop(of.through).size) as usize).max().unwrap_or(0),
        }
    }

    /// Whether a root adds up rows.
    fn accumulates(&self, root: HopId) -> bool {
        let hop = self.context.hop(root);
        match hop.op {
            HopOp::AggUnary(_, direction) => direction != Direction::Row,
            HopOp::MatMul => untransposed(self.context.dag, hop.inputs[0]).is_some(),
            _ => false,
        }
    }

    /// Whether a member holds a vector or a matrix that serves row after row.
    fn keeps_vectors(&self, id: HopId) -> bool {
        match self.context.hop(id).op {
            HopOp::AggUnary(_, direction) => direction == Direction::Col,
            HopOp::MatMul => self.accumulates(id) || self.context.hop(id).size.cols != Some(1),
            HopOp::Parameterized { .. } => self.context.operation(id).unfolded > 0.0,
            _ => false,
        }
    }

    /// What becomes of the values of units.
    fn flow(&self, space: Space) -> Flow {
        let Members { context, operator, .. } = *self;
        let root = context.hop(operator.root());
        let sums = || operator.roots.iter().map(|&id| cells(&context.hop(id).size).max(1.0) as usize).sum();
        match root.op {
            _ if space == Space::Cells && operator.is_multi_aggregate() => Flow::Values,
            _ if operator.is_multi_aggregate() => Flow::Sums { cells: sums() },
            HopOp::AggUnary(_, Direction::Full) => Flow::Values,
            HopOp::MatMul if space == Space::Cells => Flow::Values,
            _ if self.accumulates(operator.root()) => Flow::Sums { cells: sums() },
            _ if space == Space::Rows => Flow::Rows,
            HopOp::AggUnary(_, Direction::Row) | HopOp::MatMul => Flow::Rows,
            _ => Flow::Cells,
        }
    }
}

/// The element-wise operations of two or three operands that a member is made of: about those of the CPlan, where a product or a
/// square that is added up is no operation of its own.
fn operations_by_cell(context: &Context<'_>, id: HopId) -> usize {
    match &context.hop(id).op {
        HopOp::Nary(NaryOp::Cbind) => 0,
        HopOp::Nary(_) => context.hop(id).inputs.len().saturating_sub(1),
        _ => usize::from(is_by_cell(context, id)),
    }
}

/// The columns of the factors of an Outer operator.
pub(super) fn rank(context: &Context<'_>, operator: &Operator) -> usize {
    let products = operator.members.iter().map(|&id| context.hop(id)).filter(|hop| hop.op == HopOp::MatMul);
    products.filter_map(|hop| context.hop(hop.inputs[0]).size.cols).min().unwrap_or(0) as usize
}
