//! Contingency tables.

use crate::blocks::in_best_format;
use crate::generate::{check_sparse_cols, checked_dims};
use crate::sort::sorted;
use crate::{KernelContext, KernelError, Operand};
use fuseline_matrix::run_context::check_stop;
use fuseline_matrix::{Csr, CsrRows, Dense, Growing, MatrixBlock, MemoryKind, StopListener};
use rayon::prelude::*;
use std::borrow::Cow;
use std::ops::Range;

/// An entry: 0-based row and column of the table, and a weight.
type Entry = (usize, usize, f64);

/// Positions that one task looks at.
const TASK: usize = 1 << 16;

/// The dimensions that a table is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableDims {
    /// Rows.
    pub rows: i64,
    /// Columns.
    pub cols: i64,
    /// Whether values below 1 are an error; else they count nowhere, like those beyond the last row or column.
    pub refuses_small: bool,
}

/// A matrix whose cell (a, b) is the sum of the weights at the positions where `rows` is a and `cols` is b. Scalars
/// stand for the same value everywhere; of vectors, one may be a row and another a column. Fractions are cut off; a position with a NaN counts nowhere. With `dims` the
/// table has that many rows and columns, and what lies outside counts nowhere; else it is as large as the values say.
/// Cells are summed in the order of positions.
///
/// # Errors
/// Operands of different sizes or without a matrix, values below 1 where these do not count nowhere, or dimensions
/// that cannot be.
pub fn table(
    context: &KernelContext<'_>,
    rows: Operand<'_>,
    cols: Operand<'_>,
    weights: Operand<'_>,
    dims: Option<TableDims>,
) -> Result<MatrixBlock, KernelError> {
    let refuses_small = dims.is_none_or(|dims| dims.refuses_small);
    let dims = dims.map(|dims| checked_dims("table", dims.rows, dims.cols)).transpose()?;
    let positions = Positions::new(rows, cols, weights, refuses_small, dims)?;
    if let Some((height, width)) = dims
        && positions.rows_ascend()
    {
        return context.pool.install(|| {
            Ok(if MatrixBlock::best_format(height, width, positions.len).is_sparse() {
                positions.row_by_row(context, height, width)?.into()
            } else {
                in_best_format(context, positions.dense_row_by_row(context, height, width)?.into())
            })
        });
    }
    let entries = positions.entries(0..positions.len)?;
    let (height, width) = match dims {
        Some(dims) => dims,
        None => {
            let extent = |of: fn(&Entry) -> usize| entries.iter().map(of).max().map_or(0, |last| last + 1);
            let (height, width) = (extent(|entry| entry.0), extent(|entry| entry.1));
            checked_dims("table", height as i64, width as i64)?
        }
    };
    Ok(if MatrixBlock::best_format(height, width, entries.len()).is_sparse() {
        sparse(context, entries, height, width)?.into()
    } else {
        let mut result = Dense::zeros(height, width);
        for &(i, j, weight) in entries.iter() {
            result.values_mut()[i * width + j] += weight;
        }
        in_best_format(context, result.into())
    })
}

fn argument(problem: String) -> KernelError {
    KernelError::Argument { operation: "table", problem }
}

/// The cells of an operand.
enum Cells<'a> {
    Each(Cow<'a, Dense>),
    All(f64),
}

impl<'a> Cells<'a> {
    fn new(operand: Operand<'a>) -> Self {
        match operand {
            Operand::Matrix(block) => Cells::Each(block.to_dense()),
            Operand::Scalar(value) => Cells::All(value),
        }
    }

    fn get(&self, position: usize) -> f64 {
        match self {
            Cells::Each(dense) => dense.values()[position],
            Cells::All(value) => *value,
        }
    }
}

/// Rows that follow each other, and the positions of their entries.
struct Task {
    rows: Range<usize>,
    positions: Range<usize>,
}

/// The operands, position by position.
struct Positions<'a> {
    rows: Cells<'a>,
    cols: Cells<'a>,
    weights: Cells<'a>,
    len: usize,
    refuses_small: bool,
    /// The dimensions of the table, where they are given.
    dims: Option<(usize, usize)>,
}

impl<'a> Positions<'a> {
    fn new(
        rows: Operand<'a>,
        cols: Operand<'a>,
        weights: Operand<'a>,
        refuses_small: bool,
        table_dims: Option<(usize, usize)>,
    ) -> Result<Self, KernelError> {
        let mut dims = None;
        for operand in [rows, cols, weights] {
            let Operand::Matrix(block) = operand else { continue };
            let first = *dims.get_or_insert(block.dims());
            if !have_same_positions(first, block.dims()) {
                return Err(KernelError::Shapes {
                    operation: "table".to_owned(),
                    left: first,
                    right: block.dims(),
                    rule: "the vectors must have equal lengths, the matrices equal sizes",
                });
            }
        }
        let (height, width) = dims.ok_or_else(|| argument("one of the operands must be a matrix".to_owned()))?;
        let [rows, cols, weights] = [rows, cols, weights].map(Cells::new);
        Ok(Positions { rows, cols, weights, len: height * width, refuses_small, dims: table_dims })
    }

    /// The entry at a position, if it counts.
    fn entry(&self, at: usize) -> Result<Option<Entry>, KernelError> {
        let (row, col, weight) = (self.rows.get(at), self.cols.get(at), self.weights.get(at));
        if row.is_nan() || col.is_nan() || weight.is_nan() {
            return Ok(None);
        }
        if let Some((height, width)) = self.dims
            && (self.is_outside(row, height) || self.is_outside(col, width))
        {
            return Ok(None);
        }
        Ok(Some((position(row)?, position(col)?, weight)))
    }

    /// Whether a row or column lies outside of a table of this extent, and is left out for that.
    fn is_outside(&self, value: f64, extent: usize) -> bool {
        value < 1.0 && !self.refuses_small || value >= extent as f64 + 1.0
    }

    /// Whether rows are positions that never fall, as those of `seq(1, n)`.
    fn rows_ascend(&self) -> bool {
        match &self.rows {
            Cells::Each(dense) => {
                let values = dense.values();
                values.is_sorted() && [values.first(), values.last()].into_iter().flatten().all(|&end| is_position(end))
            }
            Cells::All(value) => is_position(*value),
        }
    }

    /// The row that a position names.
    fn row(&self, at: usize) -> Result<usize, KernelError> {
        position(self.rows.get(at))
    }

    /// Ranges of positions of about the size of a task, each with its first row; no row is in two of them.
    fn tasks(&self) -> Result<Vec<(usize, Range<usize>)>, KernelError> {
        let (mut tasks, mut start) = (Vec::new(), 0);
        while start < self.len {
            let mut end = (start + TASK).min(self.len);
            while end < self.len && self.row(end)? == self.row(end - 1)? {
                end += 1;
            }
            tasks.push((self.row(start)?, start..end));
            start = end;
        }
        Ok(tasks)
    }

    /// The entries at these positions that count, in their order.
    fn entries(&self, positions: Range<usize>) -> Result<Growing<Entry>, KernelError> {
        let mut entries = Growing::with_capacity(MemoryKind::Scratch, positions.len());
        let stop = StopListener::current();
        for position in positions {
            stop.check();
            entries.extend(self.entry(position)?);
        }
        Ok(entries)
    }

    /// All rows of a table of so many, where those of positions ascend.
    fn rows_of_tasks(&self, height: usize) -> Result<Vec<Task>, KernelError> {
        let mut ranges = self.tasks()?;
        if ranges.is_empty() {
            ranges.push((0, 0..0));
        }
        // The first task has the rows before its own, too, and each has those up to the next one's.
        let ends: Vec<usize> = ranges[1..].iter().map(|(row, _)| height.min(*row)).chain([height]).collect();
        let starts = [0].into_iter().chain(ends.clone());
        let tasks =
            starts.zip(ends).zip(ranges).map(|((start, end), (_, positions))| Task { rows: start..end, positions });
        Ok(tasks.collect())
    }

    /// The sparse table of ascending rows.
    fn row_by_row(&self, context: &KernelContext<'_>, height: usize, width: usize) -> Result<Csr, KernelError> {
        check_sparse_cols("table", width)?;
        let blocks = self.rows_of_tasks(height)?.into_par_iter().map(|Task { rows, positions }| {
            check_stop();
            let mut entries = self.entries(positions)?;
            // The sort is stable: entries of one cell stay in the order of positions.
            entries.sort_by_key(|&(i, j, _)| (i, j));
            Ok(rows_of(&entries, rows))
        });
        let blocks: Vec<Result<CsrRows, KernelError>> = blocks.collect();
        let blocks: Vec<CsrRows> = blocks.into_iter().collect::<Result<_, _>>()?;
        Ok(Csr::from_blocks_in(context.buffers, width, &blocks))
    }

    /// The dense table of ascending rows.
    fn dense_row_by_row(&self, context: &KernelContext<'_>, height: usize, width: usize) -> Result<Dense, KernelError> {
        let mut result = Dense::uninit_in(context.buffers, height, width);
        let (mut rest, mut blocks) = (result.values_mut(), Vec::new());
        for Task { rows, positions } in self.rows_of_tasks(height)? {
            let (block, later) = rest.split_at_mut(rows.len() * width);
            rest = later;
            blocks.push((block, rows.start, positions));
        }
        blocks.into_par_iter().try_for_each(|(block, first, positions)| {
            check_stop();
            block.fill(0.0);
            for at in positions {
                if let Some((i, j, weight)) = self.entry(at)? {
                    block[(i - first) * width + j] += weight;
                }
            }
            Ok::<(), KernelError>(())
        })?;
        Ok(result)
    }
}

/// Whether matrices of these sizes have the same positions: equal sizes, or vectors of equal lengths.
fn have_same_positions(one: (usize, usize), other: (usize, usize)) -> bool {
    let are_vectors = [one, other].iter().all(|dims| dims.0 == 1 || dims.1 == 1);
    one == other || are_vectors && one.0 * one.1 == other.0 * other.1
}

/// Whether a value names a row or column of some table.
fn is_position(value: f64) -> bool {
    (1.0..9.0e15).contains(&value)
}

/// The 0-based position that a value names.
fn position(value: f64) -> Result<usize, KernelError> {
    if !is_position(value) {
        return Err(argument(format!("{value} is no row or column of a table")));
    }
    Ok(value as usize - 1)
}

fn sparse(context: &KernelContext<'_>, entries: Growing<Entry>, rows: usize, cols: usize) -> Result<Csr, KernelError> {
    check_sparse_cols("table", cols)?;
    let entries = sorted(context, entries, |x, y| (x.0, x.1).cmp(&(y.0, y.1)));
    Ok(Csr::from_blocks_in(context.buffers, cols, &[rows_of(&entries, 0..rows)]))
}

/// These rows of a table, from all their entries in order.
fn rows_of(entries: &[Entry], rows: Range<usize>) -> CsrRows {
    let mut result = CsrRows::of_empty_rows(rows.len());
    for cell in entries.chunk_by(|x, y| (x.0, x.1) == (y.0, y.1)) {
        let sum = cell.iter().fold(0.0, |sum, &(_, _, weight)| sum + weight);
        if sum != 0.0 {
            result.lengths[cell[0].0 - rows.start] += 1;
            result.columns.push(cell[0].1 as u32);
            result.values.push(sum);
        }
    }
    result
}
