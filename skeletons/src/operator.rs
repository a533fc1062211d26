//! Running blocks on threads, and units through genexec: what all skeletons share.

use crate::Execution;
use crate::abi::{Context, Main, Output, Side, Unit};
use crate::binding::{Binding, Cells, SideInput};
use crate::blocks::{Segment, Tile};
use crate::layout::{BuiltRows, Positions, gather_cells, gather_columns, scatter_tile};
use crate::roles::Role;
use fuseline_ir::memo::TemplateType;
use fuseline_matrix::{Buffer, BufferPool, Csr, Dense, MatrixBlock};
use rayon::prelude::*;
use smallvec::SmallVec;
use std::sync::{Mutex, PoisonError};

/// The most inputs whose layouts are kept on the stack.
const INLINE: usize = 8;

/// An operator in execution.
pub(crate) struct Operator<'a> {
    pub(crate) binding: Binding<'a>,
    pub(crate) env: &'a Execution<'a>,
    /// Columns of the grid that dense tiles are cut from: those of the main input, or all its cells in one row.
    pub(crate) grid_cols: usize,
}

/// The memory of a thread while it runs blocks.
pub(crate) struct Workspace {
    scratch: Buffer,
    /// By input id: what is scattered or gathered for the current unit.
    laid_out: Vec<Buffer>,
    /// Rows built for the current unit.
    pub(crate) built: BuiltRows,
    tally: Tally,
}

#[derive(Clone, Copy, Default)]
struct Tally {
    calls: u64,
    rows: u64,
    cells: u64,
}

/// A unit before its inputs are laid out.
#[derive(Clone, Copy)]
pub(crate) enum UnitOf<'a> {
    /// Dense cells of the grid.
    Tile(Tile),
    /// Positions of a CSR main input.
    Segment(&'a Csr, Segment),
    /// The rows in [`Workspace::built`], which are those of a tile of the main input.
    Built(Tile),
}

impl<'a> Operator<'a> {
    /// Runs every block, in parallel where there are several. Results are in block order. `states` has one entry per
    /// block: what the block alone may write.
    pub(crate) fn run<S: Send, T: Send>(
        &self,
        states: Vec<S>,
        each: impl Fn(&mut Workspace, usize, S) -> T + Send + Sync,
    ) -> Vec<T> {
        let idle: Mutex<Vec<Workspace>> = Mutex::default();
        let lock = || idle.lock().unwrap_or_else(PoisonError::into_inner);
        let task = |(block, state)| {
            let recycled = lock().pop();
            let mut workspace = recycled.unwrap_or_else(|| Workspace::new(self.binding.sides.len()));
            let result = each(&mut workspace, block, state);
            lock().push(workspace);
            result
        };
        let results = if states.len() <= 1 {
            states.into_iter().enumerate().map(task).collect()
        } else {
            self.env.pool.install(|| states.into_par_iter().enumerate().map(task).collect())
        };
        for workspace in idle.into_inner().unwrap_or_else(PoisonError::into_inner) {
            self.env.counters.add(workspace.tally.calls, workspace.tally.rows, workspace.tally.cells);
        }
        results
    }

    /// Lays a unit out and runs the plan on it.
    pub(crate) fn genexec(&self, workspace: &mut Workspace, unit: UnitOf<'_>, outputs: &mut [Output<'_>]) {
        match unit {
            UnitOf::Tile(tile) => self.run_tile(workspace, tile, outputs),
            UnitOf::Segment(csr, segment) => {
                let range = segment.start..segment.end;
                let run = [segment.start, segment.end];
                let offsets = &csr.row_offsets()[segment.first_row..];
                let sparse = SparseUnit {
                    rows: segment.rows,
                    first_col: 0,
                    cols: csr.cols(),
                    columns: &csr.columns()[range.clone()],
                    row_offsets: if segment.rows == 1 { &run } else { &offsets[..=segment.rows] },
                    values: &csr.values()[range.clone()],
                    positions: Positions {
                        first_row: segment.first_row,
                        offsets,
                        start: segment.start,
                        end: segment.end,
                        columns: &csr.columns()[range],
                    },
                };
                self.run_sparse(workspace, sparse, outputs);
            }
            UnitOf::Built(tile) => {
                let built = std::mem::take(&mut workspace.built);
                let sparse = SparseUnit {
                    rows: built.rows(),
                    first_col: tile.first_col,
                    cols: tile.cols,
                    row_offsets: &built.offsets,
                    columns: &built.relative,
                    values: &built.values,
                    positions: Positions {
                        first_row: tile.first_row,
                        offsets: &built.offsets,
                        start: 0,
                        end: built.values.len(),
                        columns: &built.columns,
                    },
                };
                self.run_sparse(workspace, sparse, outputs);
                workspace.built = built;
            }
        }
    }

    fn run_tile(&self, workspace: &mut Workspace, tile: Tile, outputs: &mut [Output<'_>]) {
        let Workspace { scratch, laid_out, tally, .. } = workspace;
        if let MatrixBlock::Sparse(csr) = self.binding.main {
            let cells = self.reserve(&mut laid_out[0], tile.rows * tile.cols);
            scatter_tile(csr, self.grid_cols, tile, cells);
        }
        for (side, buffer) in self.binding.sides.iter().zip(laid_out.iter_mut()) {
            if let Some(SideInput { role, cells: Cells::Sparse(csr), cols, .. }) = side {
                self.scatter_side(csr, *role, *cols, tile, buffer);
            }
        }
        let main = match self.binding.main {
            MatrixBlock::Dense(dense) => {
                Main::Dense { values: self.cells_of(dense.values(), tile), row_stride: self.grid_cols }
            }
            MatrixBlock::Sparse(_) => {
                Main::Dense { values: &laid_out[0][..tile.rows * tile.cols], row_stride: tile.cols }
            }
        };
        let sides: SmallVec<[Side<'_>; INLINE]> = self
            .binding
            .sides
            .iter()
            .zip(laid_out.iter())
            .map(|(side, buffer)| side.as_ref().map_or(Side::EMPTY, |side| self.side_of_tile(side, tile, buffer)))
            .collect();
        let unit = Unit {
            rows: tile.rows,
            cols: tile.cols,
            first_row: tile.first_row,
            first_col: tile.first_col,
            main,
            sides: &sides,
        };
        tally.add(tile.rows, tile.rows * tile.cols);
        let longest = self.longest_vector(tile.cols);
        self.call(scratch, tile.rows, longest, &unit, outputs);
    }

    fn run_sparse(&self, workspace: &mut Workspace, sparse: SparseUnit<'_>, outputs: &mut [Output<'_>]) {
        let Workspace { scratch, laid_out, tally, .. } = workspace;
        let count = sparse.values.len();
        for (side, buffer) in self.binding.sides.iter().zip(laid_out.iter_mut()) {
            let Some(side) = side else { continue };
            match (side.role, &side.cells) {
                (Role::Cell, cells) => gather_cells(cells, sparse.positions, self.reserve(buffer, count)),
                (Role::ColScalar, _) => {
                    gather_columns(side.values(), sparse.positions.columns, self.reserve(buffer, count));
                }
                (Role::Row, Cells::Sparse(csr)) => {
                    let rows = Tile { first_row: sparse.positions.first_row, rows: sparse.rows, first_col: 0, cols: 0 };
                    self.scatter_side(csr, Role::Row, side.cols, rows, buffer);
                }
                _ => {}
            }
        }
        let sides: SmallVec<[Side<'_>; INLINE]> = self
            .binding
            .sides
            .iter()
            .zip(laid_out.iter())
            .map(|(side, buffer)| side.as_ref().map_or(Side::EMPTY, |side| side_of_positions(side, &sparse, buffer)))
            .collect();
        let unit = Unit {
            rows: sparse.rows,
            cols: sparse.cols,
            first_row: sparse.positions.first_row,
            first_col: sparse.first_col,
            main: Main::Sparse { row_offsets: sparse.row_offsets, columns: sparse.columns, values: sparse.values },
            sides: &sides,
        };
        tally.add(sparse.rows, count);
        let is_row = self.binding.plan.template() == TemplateType::Row;
        let (extent, longest) =
            if is_row { (sparse.rows, self.longest_vector(0)) } else { (count.max(sparse.rows), 1) };
        self.call(scratch, extent, longest, &unit, outputs);
    }

    fn call(&self, scratch: &mut Buffer, extent: usize, longest: usize, unit: &Unit<'_>, outputs: &mut [Output<'_>]) {
        let len = self.binding.kernel.scratch_len(extent, longest);
        let scratch = self.reserve(scratch, len);
        let mut context = Context { scalars: &self.binding.scalars, scratch };
        self.binding.kernel.genexec(&mut context, unit, outputs);
    }

    /// The longest vector that code may hold: only Row plans have vectors besides the cells of the unit.
    fn longest_vector(&self, tile_cols: usize) -> usize {
        match self.binding.plan.template() {
            TemplateType::Row => self.binding.longest_vector(),
            _ => tile_cols.max(1),
        }
    }

    /// A buffer of at least this many values, of unspecified content.
    fn reserve<'b>(&self, buffer: &'b mut Buffer, len: usize) -> &'b mut [f64] {
        if buffer.len() < len {
            *buffer = BufferPool::take(self.env.buffers, len.next_power_of_two());
        }
        &mut buffer[..len]
    }

    /// The cells of a dense matrix of the grid's shape from the tile's first to its last.
    fn cells_of<'v>(&self, values: &'v [f64], tile: Tile) -> &'v [f64] {
        if tile.rows == 0 || tile.cols == 0 {
            return &[];
        }
        let start = tile.first_row * self.grid_cols + tile.first_col;
        &values[start..start + (tile.rows - 1) * self.grid_cols + tile.cols]
    }

    fn scatter_side(&self, csr: &Csr, role: Role, cols: usize, tile: Tile, buffer: &mut Buffer) {
        if role == Role::Row {
            let rows = Tile { first_col: 0, cols, ..tile };
            scatter_tile(csr, cols, rows, self.reserve(buffer, tile.rows * cols));
        } else {
            scatter_tile(csr, self.grid_cols, tile, self.reserve(buffer, tile.rows * tile.cols));
        }
    }

    fn side_of_tile<'s>(&self, side: &'s SideInput<'_>, tile: Tile, buffer: &'s Buffer) -> Side<'s> {
        match (side.role, &side.cells) {
            (Role::Cell, Cells::Dense(dense)) => Side {
                values: self.cells_of(dense.values(), tile),
                row_stride: self.grid_cols,
                cols: tile.cols,
                transposed: &[],
            },
            (Role::Cell, Cells::Sparse(_)) => {
                let values = &buffer[..tile.rows * tile.cols];
                Side { values, row_stride: tile.cols, cols: tile.cols, transposed: &[] }
            }
            (Role::ColScalar, _) => {
                let values = &side.values()[tile.first_col..tile.first_col + tile.cols];
                Side { values, row_stride: 0, cols: tile.cols, transposed: &[] }
            }
            _ => side_of_rows(side, tile.first_row, tile.rows, buffer),
        }
    }
}

/// Side inputs that tiles and sparse units lay out alike.
fn side_of_rows<'s>(side: &'s SideInput<'_>, first_row: usize, rows: usize, buffer: &'s Buffer) -> Side<'s> {
    let cols = side.cols;
    match (side.role, &side.cells) {
        (Role::Row, Cells::Sparse(_)) => {
            Side { values: &buffer[..rows * cols], row_stride: cols, cols, transposed: &[] }
        }
        (Role::RowScalar | Role::Row | Role::FactorU, _) => Side {
            values: &side.values()[first_row * cols..(first_row + rows) * cols],
            row_stride: cols,
            cols,
            transposed: &[],
        },
        (Role::Vector, _) => {
            let values = side.values();
            Side { values, row_stride: 0, cols: values.len(), transposed: &[] }
        }
        _ => Side { values: side.values(), row_stride: cols, cols, transposed: &side.transposed },
    }
}

fn side_of_positions<'s>(side: &'s SideInput<'_>, sparse: &SparseUnit<'_>, buffer: &'s Buffer) -> Side<'s> {
    match side.role {
        Role::Cell | Role::ColScalar => {
            let values = &buffer[..sparse.values.len()];
            Side { values, row_stride: 0, cols: values.len(), transposed: &[] }
        }
        // The unit's columns count from its first one, and so do the rows of V.
        Role::FactorV => {
            let values = &side.values()[sparse.first_col * side.cols..(sparse.first_col + sparse.cols) * side.cols];
            Side { values, row_stride: side.cols, cols: side.cols, transposed: &[] }
        }
        _ => side_of_rows(side, sparse.positions.first_row, sparse.rows, buffer),
    }
}

/// A sparse unit before its sides are laid out.
#[derive(Clone, Copy)]
struct SparseUnit<'a> {
    rows: usize,
    first_col: usize,
    cols: usize,
    /// Columns of the positions, counted from `first_col`.
    columns: &'a [u32],
    row_offsets: &'a [usize],
    values: &'a [f64],
    positions: Positions<'a>,
}

impl Workspace {
    fn new(inputs: usize) -> Self {
        Workspace {
            scratch: Buffer::zeroed(0),
            laid_out: (0..inputs).map(|_| Buffer::zeroed(0)).collect(),
            built: BuiltRows::default(),
            tally: Tally::default(),
        }
    }

    /// Builds the rows of a tile of a dense main input, and says how many non-zeros they have.
    pub(crate) fn build_from_dense(&mut self, dense: &Dense, tile: Tile) -> usize {
        self.built.clear();
        for row in tile.first_row..tile.first_row + tile.rows {
            self.built.push_dense(tile.first_col, &dense.row(row)[tile.first_col..tile.first_col + tile.cols]);
        }
        self.built.values.len()
    }
}

impl Tally {
    fn add(&mut self, rows: usize, cells: usize) {
        self.calls += 1;
        self.rows += rows as u64;
        self.cells += cells as u64;
    }
}
