//! Running blocks on threads, and units through genexec: what all skeletons share.

use crate::abi::{Context, Main, Output, Side, Unit, UnitSize};
use crate::access::accesses;
use crate::backend::CompiledCPlan;
use crate::binding::Binding;
use crate::built::BuiltRows;
use crate::by_row::RowCopy;
use crate::combined::{CombinedRows, Joining};
use crate::dense_row::DenseRow;
use crate::fit::{Course, Fit};
use crate::known::Layouts;
use crate::layout::gather_columns;
use crate::profile::{leaves_rows_out, profile, row_bytes, skips_empty_units};
use crate::roles::{INLINE_INPUTS, INLINE_SIDES, Role};
use crate::sampled::sample;
use crate::side::SideInput;
use crate::source::Source;
use crate::sparse_unit::SparseUnit;
use crate::visited::{RowNumbers, VisitedRows};
use crate::work::{TileProducts, UnitOf, Work};
use crate::zeros::ZeroValues;
use crate::{Execution, Scheduled, SkeletonError};
use fuseline_ir::cplan::COutput;
use fuseline_ir::schedule::{Access, Driver, Extent, Rows, Schedule, Strips, Tile};
use fuseline_ir::template::Space;
use fuseline_matrix::affinity::keep_apart;
use fuseline_matrix::run_context::is_alone;
use fuseline_matrix::{Buffer, BufferPool, MatrixBlock, StopListener, strips};
use rayon::prelude::*;
use smallvec::{SmallVec, smallvec};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Values of code's own that lie beside a unit's layout: units of few cells need no more, and take none from the pool.
const FEW_VALUES: usize = 256;

/// An operator in execution.
pub(crate) struct Operator<'a> {
    pub(crate) binding: Binding<'a>,
    pub(crate) env: &'a Execution<'a>,
    /// How it runs.
    pub(crate) schedule: Schedule,
    /// [`Schedule::grid_cols`].
    pub(crate) grid_cols: usize,
    /// Whether units of positions that have none are left out.
    skips_empty_units: bool,
    /// How units read each input, by id.
    accesses: SmallVec<[Access; INLINE_INPUTS]>,
    /// Looked at before every unit.
    pub(crate) stop: StopListener,
}

/// The memory of a thread while it runs blocks.
pub(crate) struct Workspace {
    /// For the current unit.
    pub(crate) layout: UnitLayout,
    /// Rows built for a unit.
    pub(crate) built: BuiltRows,
}

/// The memory that a unit is laid out and run in.
pub(crate) struct UnitLayout {
    scratch: Scratch,
    /// By input id: what is copied, scattered or gathered for the current unit.
    laid_out: SmallVec<[Buffer; INLINE_SIDES]>,
    /// For rows of sparse side inputs.
    dense_row: DenseRow,
    /// The combined rows of the last unit, where rows are joined or met.
    pub(crate) combined: CombinedRows,
    /// Products of factors by position.
    products: Buffer,
    /// Output of a unit that does not go to its final place at once.
    pub(crate) output: Buffer,
    tally: Tally,
}

/// Memory of code's own.
struct Scratch {
    few: [f64; FEW_VALUES],
    many: Buffer,
}

/// What blocks have done.
#[derive(Clone, Default)]
pub(crate) struct Tally {
    pub(crate) blocks: u64,
    pub(crate) calls: u64,
    pub(crate) rows: u64,
    pub(crate) cells: u64,
    /// Bytes that units read of each input, by id.
    pub(crate) read: SmallVec<[u64; INLINE_INPUTS]>,
}

impl<'a> Operator<'a> {
    /// An operator ready to run.
    ///
    /// # Errors
    /// The inputs do not fit the plan. The main input has more cells than can be addressed, and runs over all of them, or
    /// sums have.
    pub(crate) fn new(
        compiled: &'a CompiledCPlan,
        inputs: &'a [MatrixBlock],
        scalars: &[f64],
        env: &'a Execution<'a>,
    ) -> Result<Self, SkeletonError> {
        let layouts = Layouts::of(inputs, scalars, env.strict_ieee);
        let known = compiled.last_known().on(&layouts);
        let fit = known.as_ref().map(|known| Arc::clone(&known.fit));
        let binding = Binding::new(compiled, inputs, scalars, env.strict_ieee, fit)?;
        let course = match known {
            Some(known) => known.course.clone(),
            None => {
                let course = course(&binding)?;
                compiled.last_known().keep(layouts, &binding.fit, &course);
                course
            }
        };
        let Course { schedule, skips_empty_units, accesses } = course;
        let grid_cols = schedule.grid_cols();
        Ok(Operator { binding, env, schedule, grid_cols, skips_empty_units, accesses, stop: StopListener::current() })
    }
}

/// How a bound plan runs.
///
/// # Errors
/// The main input has more cells than can be addressed, and runs over all of them, or sums have.
fn course(binding: &Binding<'_>) -> Result<Course, SkeletonError> {
    let schedule = Schedule::of(&profile(binding)?);
    if schedule.driver == Driver::Run {
        binding.cells()?;
    }
    Ok(Course { schedule, skips_empty_units: skips_empty_units(binding), accesses: accesses(binding) })
}

impl Operator<'_> {
    /// The visited rows of a sparse main input; `None` where the rows of its dense form are.
    pub(crate) fn visited(&self) -> Option<VisitedRows<'_>> {
        let csr = self.binding.main.csr()?;
        let joined = self.binding.joined_matrices();
        let all = || if joined.is_empty() { VisitedRows::all(csr) } else { VisitedRows::joined(&joined) };
        if self.schedule.skips_empty_rows {
            return Some(all().nonempty(self.strips(), self.env.pool));
        }
        let visits_rows = leaves_rows_out(&self.binding) || self.binding.fit.runs_sparse_entry;
        visits_rows.then(all)
    }

    /// The work of all rows, each of which has outputs of its own.
    pub(crate) fn work<'w>(&self, visited: Option<&'w VisitedRows<'_>>) -> Work<'w> {
        self.strip(visited, 0..self.binding.fit.rows)
    }

    /// The work of some rows, those among them that are visited.
    fn strip<'w>(&self, visited: Option<&'w VisitedRows<'_>>, rows: Range<usize>) -> Work<'w> {
        let rows = match visited {
            Some(visited) => Rows::Sparse(visited.within(rows)),
            None => Rows::Dense { first_row: rows.start, rows: rows.len() },
        };
        Work { partition: self.schedule.cut(rows), visited }
    }

    /// What a run will do.
    pub(crate) fn scheduled(&self) -> Scheduled {
        Scheduled {
            schedule: self.schedule,
            strips: self.strips(),
            skips_empty_units: self.skips_empty_units,
            accesses: self.accesses.to_vec(),
            joined: self.binding.fit.joined.clone(),
            met: self.binding.fit.met.clone(),
        }
    }

    /// Whether a unit has no positions, and contributes nothing.
    pub(crate) fn leaves_out(&self, unit: UnitOf<'_>) -> bool {
        self.skips_empty_units && unit.has_no_positions()
    }

    /// The strips that rows are reduced in.
    fn strips(&self) -> Strips {
        self.schedule.strips(row_bytes(&self.binding), self.env.strip_bytes)
    }

    /// Reduces all strips: each by itself, in whatever order and by whichever threads, and then neighbours in their tree.
    pub(crate) fn reduce<T: Send>(
        &self,
        visited: Option<&VisitedRows<'_>>,
        strip: impl Fn(&Work<'_>) -> T + Sync,
        merge: impl Fn(T, T) -> T + Sync,
    ) -> T {
        let strips = self.strips();
        self.env.counters.reduce(strips.len());
        strips::reduce(self.env.pool, strips, |rows| strip(&self.strip(visited, rows)), merge)
    }

    /// Runs every block, in parallel where there are several and the thread may share them. Results are in block order.
    /// `states` has one entry per block: what the block alone may write.
    pub(crate) fn run<S: Send, T: Send>(
        &self,
        states: Vec<S>,
        each: impl Fn(&mut Workspace, usize, S) -> T + Send + Sync,
    ) -> Vec<T> {
        if states.len() > 1 && !is_alone() {
            return self.run_in_parallel(states, each);
        }
        let mut workspace = Workspace::new(self.binding.sides.len());
        let run = |(block, state)| {
            self.stop.check();
            workspace.layout.tally.blocks += 1;
            each(&mut workspace, block, state)
        };
        let results = states.into_iter().enumerate().map(run).collect();
        self.env.counters.add(&workspace.layout.tally);
        results
    }

    fn run_in_parallel<S: Send, T: Send>(
        &self,
        states: Vec<S>,
        each: impl Fn(&mut Workspace, usize, S) -> T + Send + Sync,
    ) -> Vec<T> {
        // Boxes, which a thread takes and returns once per block: a workspace itself is some KiB.
        let idle: Mutex<Vec<Box<Workspace>>> = Mutex::default();
        let lock = || idle.lock().unwrap_or_else(PoisonError::into_inner);
        let task = |(block, state)| {
            if self.stop.hears() {
                return None;
            }
            keep_apart();
            let recycled = lock().pop();
            let mut workspace = recycled.unwrap_or_else(|| Box::new(Workspace::new(self.binding.sides.len())));
            workspace.layout.tally.blocks += 1;
            let result = each(&mut workspace, block, state);
            lock().push(workspace);
            Some(result)
        };
        let results = self.env.pool.install(|| states.into_par_iter().enumerate().map(task).while_some().collect());
        // Once for all blocks that were skipped: unwinding takes as long as many of them.
        self.stop.check();
        for workspace in idle.into_inner().unwrap_or_else(PoisonError::into_inner) {
            self.env.counters.add(&workspace.layout.tally);
        }
        results
    }

    /// How many positions a unit that was laid out has; none if it is a tile.
    pub(crate) fn positions(&self, layout: &UnitLayout, unit: UnitOf<'_>) -> usize {
        match unit {
            UnitOf::Segment(..) if self.binding.combines_rows() => layout.combined.columns().len(),
            UnitOf::Segment(segment, _) => segment.end - segment.start,
            UnitOf::Built { rows, .. } => rows.values.len(),
            UnitOf::Tile(..) | UnitOf::WholeTile { .. } => 0,
        }
    }

    /// What each output has where units have no positions; of those that are aggregated, the aggregate of one such cell.
    pub(crate) fn zero_values(&self) -> ZeroValues {
        let outputs = self.binding.plan.outputs.iter().zip(&self.binding.fit.elsewhere);
        outputs.map(|(output, &value)| output.agg().map_or(value, |agg| agg.of_one(value))).collect()
    }

    /// Lays a unit out and runs the plan on it.
    pub(crate) fn genexec(&self, layout: &mut UnitLayout, unit: UnitOf<'_>, outputs: &mut [Output<'_>]) {
        self.stop.check();
        match unit {
            UnitOf::Tile(tile, visited) => {
                let rows = unit.rows();
                let numbers = visited.map_or(RowNumbers::From(tile.first_row), |visited| visited.numbers(rows));
                self.run_tile(layout, tile, numbers, TileProducts::NONE, outputs);
            }
            UnitOf::WholeTile { tile, products } => {
                self.run_tile(layout, tile, RowNumbers::From(tile.first_row), products, outputs);
            }
            UnitOf::Segment(segment, visited) if self.binding.combines_rows() => {
                let mut combined = std::mem::take(&mut layout.combined);
                let numbers = visited.numbers_from(segment.first_row);
                if self.binding.fit.joined.is_empty() {
                    combined.meet(segment, visited, &self.binding.matrices(&self.binding.fit.met));
                } else {
                    let joining =
                        Joining { ascends: self.binding.needs_ascending_columns(), width: self.binding.fit.cols };
                    combined.join(&self.binding.joined_matrices(), numbers, segment.rows, joining);
                }
                let unit = SparseUnit::of_combined(&combined, numbers, segment.rows, self.binding.fit.cols);
                self.run_sparse(layout, unit, outputs);
                layout.combined = combined;
            }
            UnitOf::Segment(segment, visited) => {
                let run = [segment.start, segment.end];
                self.run_sparse(layout, SparseUnit::of_segment(segment, &run, visited), outputs);
            }
            UnitOf::Built { rows, tile } => self.run_sparse(layout, SparseUnit::of_built(rows, tile), outputs),
        }
    }

    fn run_tile(
        &self,
        layout: &mut UnitLayout,
        tile: Tile,
        numbers: RowNumbers<'_>,
        known: TileProducts<'_>,
        outputs: &mut [Output<'_>],
    ) {
        let UnitLayout { scratch, laid_out, tally, .. } = layout;
        if self.binding.fit.reads_main {
            self.lay_out_tile(&*self.binding.main, tile, numbers, &mut laid_out[0]);
        }
        for (side, buffer) in self.binding.sides.iter().zip(laid_out.iter_mut()) {
            match side {
                Some(side) if side.role == Role::Cell => self.lay_out_tile(&*side.source, tile, numbers, buffer),
                Some(side) => self.copy_rows(side, numbers, tile.rows, buffer),
                None => {}
            }
        }
        let main = if self.binding.fit.reads_main {
            let (values, row_stride) = self.cells_of_tile(&*self.binding.main, tile, &laid_out[0]);
            Main::Dense { values, row_stride }
        } else {
            Main::Dense { values: &[], row_stride: tile.cols }
        };
        let sides: SmallVec<[Side<'_>; INLINE_INPUTS]> = self
            .binding
            .sides
            .iter()
            .zip(laid_out.iter())
            .map(|(side, buffer)| {
                side.as_ref().map_or(Side::EMPTY, |side| self.side_of_tile(side, tile, numbers, buffer))
            })
            .collect();
        let (rows, cols) = if known.is_run { (1, tile.rows * tile.cols) } else { (tile.rows, tile.cols) };
        let unit = Unit {
            rows,
            cols,
            first_row: numbers.get(0),
            first_col: tile.first_col,
            main,
            sides: &sides,
            products: known.products,
            next_unit: known.next_unit,
        };
        tally.add(Extent::Tile { rows: tile.rows, cols: tile.cols }, &self.accesses);
        let size = UnitSize { rows, positions: 0, longest: self.longest_vector(cols) };
        self.call(scratch, size, &unit, outputs);
    }

    fn run_sparse(&self, layout: &mut UnitLayout, sparse: SparseUnit<'_>, outputs: &mut [Output<'_>]) {
        let UnitLayout { scratch, laid_out, dense_row, products, tally, .. } = layout;
        let (count, numbers) = (sparse.values.len(), sparse.row_numbers());
        for (input, (side, buffer)) in self.binding.sides.iter().zip(laid_out.iter_mut()).enumerate() {
            let Some(side) = side else { continue };
            match side.role {
                Role::Cell if sparse.combined.is_some() && self.combined_place(input).is_some() => {}
                Role::Cell => side.source.gather(sparse.positions, dense_row, self.reserve(buffer, count)),
                Role::ColScalar => {
                    let out = self.reserve(buffer, count);
                    gather_columns(self.env.primitives, side.values(), sparse.positions, out);
                }
                Role::FactorU if !self.reads_rows_of_u() => {}
                _ => self.copy_rows(side, numbers, sparse.rows, buffer),
            }
        }
        let sides: SmallVec<[Side<'_>; INLINE_INPUTS]> = self
            .binding
            .sides
            .iter()
            .zip(laid_out.iter())
            .enumerate()
            .map(|(input, (side, buffer))| match (side, sparse.combined, self.combined_place(input)) {
                (Some(_), Some(combined), Some(place)) => by_position(combined.values(place)),
                (Some(side), ..) => self.side_of_positions(side, &sparse, numbers, buffer),
                (None, ..) => Side::EMPTY,
            })
            .collect();
        let products: &[f64] = if self.binding.fit.reads_products && sparse.products.is_empty() {
            let products = self.reserve(products, count);
            sample(&self.binding, self.env.primitives, &sparse, products);
            products
        } else {
            sparse.products
        };
        let takes_zeros = matches!(self.binding.plan.outputs[0], COutput::RowAgg(..));
        let unit = Unit {
            rows: sparse.rows,
            cols: if takes_zeros { 0 } else { sparse.cols },
            first_row: numbers.get(0),
            first_col: sparse.first_col,
            main: Main::Sparse { row_offsets: sparse.row_offsets, columns: sparse.columns, values: sparse.values },
            sides: &sides,
            products,
            next_unit: 0,
        };
        tally.add(sparse.extent(), &self.accesses);
        let is_row = self.binding.plan.space() == Space::Rows;
        // Neither rows of the main input nor vectors of a side are laid out, so that they may be as long as they like.
        let longest = if is_row { self.binding.longest_computed_vector() } else { 1 };
        self.call(scratch, UnitSize { rows: sparse.rows, positions: count, longest }, &unit, outputs);
    }

    fn call(&self, scratch: &mut Scratch, size: UnitSize, unit: &Unit<'_>, outputs: &mut [Output<'_>]) {
        let len = self.binding.kernel.scratch_len(size);
        let scratch = if len <= FEW_VALUES { &mut scratch.few[..len] } else { self.reserve(&mut scratch.many, len) };
        let mut context = Context { scalars: &self.binding.scalars, scratch };
        self.binding.kernel.genexec(&mut context, unit, outputs);
    }

    /// The longest vector that code may hold: only Row plans have vectors besides the cells of the unit.
    fn longest_vector(&self, tile_cols: usize) -> usize {
        match self.binding.plan.space() {
            Space::Rows => self.binding.longest_vector(),
            Space::Cells | Space::Factors => tile_cols.max(1),
        }
    }

    /// A buffer of at least this many values, of unspecified content.
    pub(crate) fn reserve<'b>(&self, buffer: &'b mut Buffer, len: usize) -> &'b mut [f64] {
        if buffer.len() < len {
            *buffer = BufferPool::take(self.env.buffers, len.next_power_of_two());
        }
        &mut buffer[..len]
    }

    /// Writes a tile of a matrix of the grid's shape, if it is not read in place.
    fn lay_out_tile(&self, source: &dyn Source, tile: Tile, numbers: RowNumbers<'_>, buffer: &mut Buffer) {
        if source.dense().is_none() {
            let cells = self.reserve(buffer, tile.rows * tile.cols);
            source.write_tile(self.grid_cols, numbers, tile, cells);
        }
    }

    /// The cells of a tile, in place or laid out, and the distance of its rows.
    fn cells_of_tile<'v>(&self, source: &'v dyn Source, tile: Tile, buffer: &'v Buffer) -> (&'v [f64], usize) {
        match source.dense() {
            Some(dense) => (self.cells_of(dense.values(), tile), self.grid_cols),
            None => (&buffer[..tile.rows * tile.cols], tile.cols),
        }
    }

    /// The cells of a dense matrix of the grid's shape from the tile's first to its last.
    fn cells_of<'v>(&self, values: &'v [f64], tile: Tile) -> &'v [f64] {
        if tile.rows == 0 || tile.cols == 0 {
            return &[];
        }
        let start = tile.first_row * self.grid_cols + tile.first_col;
        &values[start..start + (tile.rows - 1) * self.grid_cols + tile.cols]
    }

    /// Copies the rows of a side for a unit, if it is read by row and not in place.
    fn copy_rows(&self, side: &SideInput<'_>, numbers: RowNumbers<'_>, rows: usize, buffer: &mut Buffer) {
        if let Some(copy) = RowCopy::new(side, numbers, rows) {
            copy.write(numbers, self.reserve(buffer, copy.len));
        }
    }

    fn side_of_positions<'s>(
        &self,
        side: &'s SideInput<'_>,
        sparse: &SparseUnit<'_>,
        numbers: RowNumbers<'_>,
        buffer: &'s Buffer,
    ) -> Side<'s> {
        let count = sparse.values.len();
        match side.role {
            Role::Cell | Role::ColScalar => by_position(&buffer[..count]),
            Role::FactorV => side_of_columns(side, sparse.first_col, sparse.cols),
            Role::FactorU if !self.reads_rows_of_u() => Side::EMPTY,
            _ => side_of_rows(side, numbers, sparse.rows, buffer),
        }
    }

    /// The place of a side input among the matrices whose rows are combined, the main input's being the first.
    fn combined_place(&self, input: usize) -> Option<usize> {
        let Fit { joined, met, .. } = &*self.binding.fit;
        joined.iter().chain(met).position(|&combined| combined == input).map(|place| place + 1)
    }

    /// Whether code reads the rows of U besides their products.
    fn reads_rows_of_u(&self) -> bool {
        matches!(self.binding.plan.outputs[0], COutput::TransposedTimesFactor(_))
    }

    fn side_of_tile<'s>(
        &self,
        side: &'s SideInput<'_>,
        tile: Tile,
        numbers: RowNumbers<'_>,
        buffer: &'s Buffer,
    ) -> Side<'s> {
        match side.role {
            Role::Cell => {
                let (values, row_stride) = self.cells_of_tile(&*side.source, tile, buffer);
                Side { values, row_stride, cols: tile.cols, factor: &[] }
            }
            Role::ColScalar => {
                let values = &side.values()[tile.first_col..tile.first_col + tile.cols];
                Side { values, row_stride: 0, cols: tile.cols, factor: &[] }
            }
            Role::FactorV => side_of_columns(side, tile.first_col, tile.cols),
            _ => side_of_rows(side, numbers, tile.rows, buffer),
        }
    }
}

/// A side with one value for each position.
fn by_position(values: &[f64]) -> Side<'_> {
    Side { values, row_stride: 0, cols: values.len(), factor: &[] }
}

/// The rows of V for a unit's columns: they count from its first one, too.
fn side_of_columns<'s>(side: &'s SideInput<'_>, first_col: usize, cols: usize) -> Side<'s> {
    let values = &side.values()[first_col * side.cols..(first_col + cols) * side.cols];
    Side { values, row_stride: side.cols, cols: side.cols, factor: &[] }
}

/// Side inputs that tiles and sparse units lay out alike.
fn side_of_rows<'s>(side: &'s SideInput<'_>, numbers: RowNumbers<'_>, rows: usize, buffer: &'s Buffer) -> Side<'s> {
    let cols = side.cols;
    if let Some(copy) = RowCopy::new(side, numbers, rows) {
        return Side { values: &buffer[..copy.len], row_stride: copy.row_stride, cols, factor: &[] };
    }
    if side.is_by_row() {
        let first = numbers.get(0);
        let values = &side.values()[first * cols..(first + rows) * cols];
        return Side { values, row_stride: cols, cols, factor: &[] };
    }
    let values = side.values();
    match side.role {
        Role::Vector => Side { values, row_stride: 0, cols: values.len(), factor: &[] },
        _ => Side { values, row_stride: cols, cols, factor: side.factor() },
    }
}

impl Workspace {
    fn new(inputs: usize) -> Self {
        let layout = UnitLayout {
            scratch: Scratch { few: [0.0; FEW_VALUES], many: Buffer::default() },
            laid_out: (0..inputs).map(|_| Buffer::default()).collect(),
            dense_row: DenseRow::default(),
            combined: CombinedRows::default(),
            products: Buffer::default(),
            output: Buffer::default(),
            tally: Tally::of_inputs(inputs),
        };
        Workspace { layout, built: BuiltRows::default() }
    }
}

impl Tally {
    fn of_inputs(inputs: usize) -> Self {
        Tally { read: smallvec![0; inputs], ..Tally::default() }
    }

    /// Adds a unit.
    fn add(&mut self, unit: Extent, accesses: &[Access]) {
        self.calls += 1;
        self.rows += unit.rows() as u64;
        self.cells += unit.cells() as u64;
        for (read, access) in self.read.iter_mut().zip(accesses) {
            *read += access.bytes(unit);
        }
    }
}
