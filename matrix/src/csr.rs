//! Sparse matrices in compressed sparse row format.

use crate::borrowed::Borrowed;
use crate::budget::MemoryKind;
use crate::buffer::{Buffer, BufferPool};
use crate::dense::{Dense, count_nonzeros};
use crate::error::{BorrowError, CsrError};
use crate::growing::Growing;
use crate::memory::Memory;
use crate::nan::NanWatch;
use crate::nonzero_bits::count_nonzeros_of_rows;
use crate::pattern::{Pattern, all_are_columns, check_positions};
use crate::run_context::StopListener;
use crate::shared::{copy_in, each, split};
use crate::sparse_row::{CELLS_NEAR, SparseRow};
use bytemuck::{Pod, cast_slice};
use fuseline_ir::Format;
use fuseline_vecprims::{Isa, primitives};
use rayon::ThreadPool;
use sprs::CsMatI;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Non-zeros and rows that one thread frees of zeros at a time.
const FREED_AT_ONCE: usize = 1 << 14;

/// A sparse matrix: row `i` owns positions `row_offsets[i]..row_offsets[i + 1]` of `columns` and `values`.
///
/// Columns ascend strictly within a row. NaN is a non-zero; zeros of either sign may be stored explicitly but never
/// are by our own operations.
#[derive(Clone, Debug)]
pub struct Csr {
    rows: usize,
    cols: usize,
    pattern: Arc<Pattern>,
    values: Buffer,
    /// Whether zeros are stored, once that was asked: operators ask whenever they run.
    has_stored_zeros: OnceLock<bool>,
    /// Whether it is known that no value is NaN.
    is_nan_free: bool,
}

impl<'a> From<(&'a [u32], &'a [f64])> for SparseRow<'a> {
    fn from(row: (&'a [u32], &'a [f64])) -> Self {
        SparseRow { columns: row.0, values: row.1 }
    }
}

/// Cells that a thread goes through at a time: where non-zeros are put among all cells, or told from them.
const CELLS_AT_A_TIME: usize = 1 << 17;

/// A dense matrix, cut into blocks of rows of which a thread goes through one at a time.
struct RowBlocks<'a> {
    /// Where memory lies is found out once, and not for each row.
    cells: &'a [f64],
    cols: usize,
    /// Rows of each block but the last, which may have fewer.
    height: usize,
    heights: Vec<usize>,
}

impl<'a> RowBlocks<'a> {
    fn of(dense: &'a Dense) -> Self {
        let (rows, cols) = (dense.rows(), dense.cols());
        let height = (CELLS_AT_A_TIME / cols.max(1)).max(1);
        let heights = (0..rows).step_by(height).map(|first| height.min(rows - first)).collect();
        RowBlocks { cells: dense.values(), cols, height, heights }
    }

    fn rows(&self, block: usize) -> impl Iterator<Item = &'a [f64]> {
        self.cells[block * self.height * self.cols..].chunks_exact(self.cols.max(1)).take(self.height)
    }

    /// Writes the non-zeros of each row of a block.
    fn count(&self, block: usize, lengths: &mut [usize]) {
        // A matrix without columns has rows all the same.
        lengths.fill(0);
        self.rows(block).zip(lengths).for_each(|(row, length)| *length = count_nonzeros(row));
    }

    /// Writes the non-zeros of a block.
    fn copy(&self, block: usize, columns: &mut [u32], values: &mut [f64]) {
        let (primitives, mut kept) = (primitives(Isa::detect()), 0);
        for row in self.rows(block) {
            kept += primitives.compress(row, &mut columns[kept..], &mut values[kept..]);
        }
    }
}

/// The offsets of rows before they are added up, in memory of a pool: nothing, then what `lengths(block, out)` writes for each row of
/// blocks of these heights.
fn lengths_in(
    pool: &Arc<BufferPool>,
    heights: &[usize],
    lengths: impl Fn(usize, &mut [usize]) + Send + Sync,
) -> Buffer<usize> {
    let rows = heights.iter().fold(0, |rows: usize, &height| rows.saturating_add(height));
    let mut out = Buffer::<usize>::recycled(pool, rows.saturating_add(1));
    out[0] = 0;
    each(split(&mut out[1..], heights.iter().copied()), |(block, out)| lengths(block, out));
    out
}

/// Non-zeros of a row that is short: nobody could foretell how often a loop over them runs.
const SHORT_ROW: usize = 8;

/// For each of the positions between these offsets the cell at which its row begins, of rows of so many cells one behind the other;
/// and some more.
fn starts_of_rows(offsets: &[usize], cols: usize) -> Vec<usize> {
    let first = offsets[0];
    let mut starts = vec![0; offsets[offsets.len() - 1] - first + SHORT_ROW];
    for (row, bounds) in offsets.windows(2).enumerate() {
        let (own, start) = (&mut starts[bounds[0] - first..], row * cols);
        // What is too much here belongs to the next rows, which come later.
        own[..SHORT_ROW].fill(start);
        let length = bounds[1] - bounds[0];
        if length > SHORT_ROW {
            own[SHORT_ROW..length].fill(start);
        }
    }
    starts
}

impl PartialEq for Csr {
    fn eq(&self, other: &Self) -> bool {
        let dims = |csr: &Self| (csr.rows, csr.cols);
        dims(self) == dims(other) && self.pattern == other.pattern && self.values == other.values
    }
}

/// Consecutive rows of a sparse matrix under construction.
#[derive(Clone, Debug)]
pub struct CsrRows {
    /// Non-zeros of each row.
    pub lengths: Growing<usize>,
    /// Column of each non-zero, ascending within a row.
    pub columns: Growing<u32>,
    /// Value of each non-zero.
    pub values: Growing<f64>,
}

impl CsrRows {
    /// No rows, and room for so many with so many non-zeros in all.
    pub fn with_capacity(rows: usize, nonzeros: usize) -> Self {
        CsrRows {
            lengths: Growing::with_capacity(MemoryKind::Scratch, rows),
            columns: Growing::with_capacity(MemoryKind::Scratch, nonzeros),
            values: Growing::with_capacity(MemoryKind::Scratch, nonzeros),
        }
    }

    /// So many rows, without non-zeros yet.
    pub fn of_empty_rows(rows: usize) -> Self {
        CsrRows { lengths: Growing::filled(MemoryKind::Scratch, rows, 0), ..CsrRows::default() }
    }

    /// Gives a row, behind those that have some, the non-zeros among all its cells.
    pub fn fill(&mut self, row: usize, cells: &[f64]) {
        let (before, non_zeros) = (self.values.len(), count_nonzeros(cells));
        self.columns.extend_with(non_zeros, 0);
        self.values.extend_with(non_zeros, 0.0);
        primitives(Isa::detect()).compress(cells, &mut self.columns[before..], &mut self.values[before..]);
        self.lengths[row] = non_zeros;
    }
}

impl Default for CsrRows {
    fn default() -> Self {
        CsrRows::with_capacity(0, 0)
    }
}

impl Csr {
    /// A matrix from its parts.
    ///
    /// # Errors
    /// The parts do not form a matrix.
    pub fn new(
        rows: usize,
        cols: usize,
        row_offsets: Vec<usize>,
        columns: Vec<u32>,
        values: Vec<f64>,
    ) -> Result<Self, CsrError> {
        if u32::try_from(cols).is_err() {
            return Err(CsrError::TooManyColumns { cols });
        }
        Csr::checked(rows, cols, row_offsets.into(), columns.into(), values.into())
    }

    /// A matrix from its parts, if they form one. There may be more columns than can be numbered, without non-zeros.
    fn checked(
        rows: usize,
        cols: usize,
        row_offsets: Buffer<usize>,
        columns: Buffer<u32>,
        values: Buffer,
    ) -> Result<Self, CsrError> {
        let pattern = Pattern::checked(rows, cols, row_offsets, columns, values.len())?;
        Ok(Csr::of_pattern(cols, Arc::new(pattern), values))
    }

    /// A matrix of parts that other owners keep, without copying.
    ///
    /// # Errors
    /// The parts do not form a matrix.
    pub fn borrowed(
        rows: usize,
        cols: usize,
        row_offsets: Borrowed<usize>,
        columns: Borrowed<u32>,
        values: Borrowed<f64>,
    ) -> Result<Self, BorrowError> {
        if u32::try_from(cols).is_err() {
            return Err(CsrError::TooManyColumns { cols }.into());
        }
        Ok(Csr::checked(rows, cols, row_offsets.into(), columns.into(), values.into())?)
    }

    /// A matrix that reads the parts of a shared matrix of `sprs` where they are.
    ///
    /// # Errors
    /// It is not in row-major order, or its parts do not form a matrix of ours (indexes that are not sorted).
    pub fn borrow_sprs(matrix: &Arc<CsMatI<f64, u32, usize>>) -> Result<Self, BorrowError> {
        if !matrix.is_csr() {
            return Err(BorrowError::Order);
        }
        let row_offsets = Borrowed::new(Arc::clone(matrix), |matrix| cast_slice(matrix.indptr().into_raw_storage()))?;
        let columns = Borrowed::new(Arc::clone(matrix), |matrix| cast_slice(matrix.indices()))?;
        let values = Borrowed::new(Arc::clone(matrix), |matrix| cast_slice(matrix.data()))?;
        Csr::borrowed(matrix.rows(), matrix.cols(), row_offsets, columns, values)
    }

    /// Whether the values are in memory of another owner.
    pub fn is_borrowed(&self) -> bool {
        self.values.is_borrowed()
    }

    /// Whether another owner may change positions or values between evaluations.
    pub(crate) fn may_change(&self) -> bool {
        self.pattern.may_change() || self.values.may_change()
    }

    /// Checks positions anew that another owner may have changed. Inside of a rayon pool, its threads share the work.
    ///
    /// # Errors
    /// They do not form a matrix any more.
    pub(crate) fn check_borrowed(&self) -> Result<(), CsrError> {
        if !self.pattern.may_change() {
            return Ok(());
        }
        check_positions(self.cols, self.row_offsets(), self.columns(), self.values.len())
    }

    /// Copies of the matrix what another owner may change. The threads of a pool share the work.
    pub(crate) fn detach(this: &mut Arc<Self>, threads: &ThreadPool, buffers: &Arc<BufferPool>) {
        let copied = this.values.may_change().then(|| copy_in(threads, buffers, &this.values));
        let pattern = if this.pattern.may_change() {
            Arc::new(this.pattern.copy_in(threads, buffers))
        } else {
            Arc::clone(&this.pattern)
        };
        let (cols, is_nan_free) = (this.cols, this.is_nan_free);
        let values = copied.unwrap_or_else(|| match Arc::get_mut(this) {
            Some(own) => std::mem::take(&mut own.values),
            None => copy_in(threads, buffers, &this.values),
        });
        *this = Arc::new(Csr::of_pattern(cols, pattern, values).with_nan_free(is_nan_free));
    }

    /// A matrix from parts that an operation built, which therefore form one.
    ///
    /// # Panics
    /// They do not: [`Csr::new`] tells why.
    pub fn from_parts(rows: usize, cols: usize, row_offsets: Vec<usize>, columns: Vec<u32>, values: Vec<f64>) -> Self {
        match Csr::checked(rows, cols, row_offsets.into(), columns.into(), values.into()) {
            Ok(matrix) => matrix,
            Err(error) => panic!("{error}"),
        }
    }

    /// A matrix from parts that were checked, or that are right by the way in which they were made.
    pub(crate) fn from_memory(cols: usize, row_offsets: Buffer<usize>, columns: Buffer<u32>, values: Buffer) -> Self {
        Csr::of_pattern(cols, Arc::new(Pattern::new(row_offsets, columns)), values)
    }

    /// A matrix with one value for each of these positions.
    pub(crate) fn of_pattern(cols: usize, pattern: Arc<Pattern>, values: Buffer) -> Self {
        Csr { rows: pattern.rows(), cols, pattern, values, has_stored_zeros: OnceLock::new(), is_nan_free: false }
    }

    /// A matrix with other values at the same positions, which both share.
    ///
    /// # Panics
    /// The number of values is another one.
    pub fn with_values(&self, values: Buffer) -> Self {
        assert_eq!(values.len(), self.nnz(), "one value for each position");
        Csr::of_pattern(self.cols, Arc::clone(&self.pattern), values)
    }

    /// A matrix of blocks of rows below each other, as threads build them. Inside of a rayon pool, its threads put them
    /// together.
    ///
    /// # Panics
    /// The blocks do not form a matrix.
    pub fn from_blocks(cols: usize, blocks: &[CsrRows]) -> Self {
        Csr::from_blocks_in(&BufferPool::new(0), cols, blocks)
    }

    /// The matrix of these blocks of rows, in memory of a pool.
    ///
    /// # Panics
    /// The blocks do not form a matrix.
    pub fn from_blocks_in(pool: &Arc<BufferPool>, cols: usize, blocks: &[CsrRows]) -> Self {
        let heights: Vec<usize> = blocks.iter().map(|block| block.lengths.len()).collect();
        let lengths = |block: usize, out: &mut [usize]| out.copy_from_slice(&blocks[block].lengths);
        Csr::build_in(pool, cols, &heights, lengths, |block, columns, values| {
            columns.copy_from_slice(&blocks[block].columns);
            values.copy_from_slice(&blocks[block].values);
        })
    }

    /// A matrix of blocks of rows of these heights, in memory of a pool: `lengths(block, out)` writes the non-zeros of each
    /// row of a block, then `fill(block, columns, values)` these themselves. Inside of a rayon pool, its threads do so.
    ///
    /// # Panics
    /// The columns of a row do not ascend, or do not stay below `cols`.
    pub fn build_in(
        pool: &Arc<BufferPool>,
        cols: usize,
        heights: &[usize],
        lengths: impl Fn(usize, &mut [usize]) + Send + Sync,
        fill: impl Fn(usize, &mut [u32], &mut [f64]) + Send + Sync,
    ) -> Self {
        Csr::fill_in(pool, cols, heights, lengths_in(pool, heights, lengths), fill)
    }

    /// A matrix of blocks of rows of these heights, given the non-zeros of each row as [`lengths_in`] writes them.
    ///
    /// # Panics
    /// The columns of a row do not ascend, or do not stay below `cols`.
    fn fill_in(
        pool: &Arc<BufferPool>,
        cols: usize,
        heights: &[usize],
        lengths: Buffer<usize>,
        fill: impl Fn(usize, &mut [u32], &mut [f64]) + Send + Sync,
    ) -> Self {
        let (mut row_offsets, mut position) = (lengths, 0);
        for offset in &mut row_offsets[1..] {
            position = usize::saturating_add(position, *offset);
            *offset = position;
        }
        let mut row = 0;
        // The offsets of each block, that of the row behind it included.
        let offsets: Vec<&[usize]> = heights
            .iter()
            .map(|height| {
                let first = row;
                row += height;
                &row_offsets[first..=row]
            })
            .collect();
        let counts = || offsets.iter().map(|offsets| offsets[offsets.len() - 1] - offsets[0]);
        let (mut columns, mut values) = (Buffer::recycled(pool, position), Buffer::recycled(pool, position));
        let parts = split(&mut columns, counts()).into_iter().zip(split(&mut values, counts())).collect();
        let nan = NanWatch::default();
        each(parts, |((block, columns), (_, values))| {
            fill(block, columns, values);
            // What was just written is still in the cache.
            nan.look(values);
            let fits = all_are_columns(offsets[block], columns, cols);
            assert!(fits, "the columns of a row ascend and stay below {cols}");
        });
        Csr::from_memory(cols, row_offsets, columns, values).with_nan_free(nan.saw_none())
    }

    /// A matrix without non-zeros.
    pub fn empty(rows: usize, cols: usize) -> Self {
        Csr::from_memory(cols, Buffer::zeroed(rows.saturating_add(1)), Buffer::default(), Buffer::default())
    }

    /// The non-zeros of a dense matrix.
    ///
    /// # Panics
    /// It has more columns than 32-bit indexes tell apart.
    pub fn from_dense(dense: &Dense) -> Self {
        let (pattern, values) = nonzeros_of(dense.rows(), dense.cols(), dense.values());
        Csr::of_pattern(dense.cols(), Arc::new(pattern), values.into())
    }

    /// The non-zeros of a dense matrix, in memory of a pool. Inside of a rayon pool, its threads share the work.
    ///
    /// # Panics
    /// It has more columns than 32-bit indexes tell apart.
    pub fn from_dense_in(pool: &Arc<BufferPool>, dense: &Dense) -> Self {
        let cols = dense.cols();
        assert!(u32::try_from(cols).is_ok(), "{}", CsrError::TooManyColumns { cols });
        let blocks = RowBlocks::of(dense);
        let lengths = |block: usize, out: &mut [usize]| blocks.count(block, out);
        Csr::build_in(pool, cols, &blocks.heights, lengths, |block, columns, values| {
            blocks.copy(block, columns, values);
        })
    }

    /// The non-zeros of a dense matrix, in memory of a pool, where they are so few that a sparse format suits them. Inside of a
    /// rayon pool, its threads share the work, which ends once it is known that there are too many.
    pub(crate) fn from_few_in(pool: &Arc<BufferPool>, dense: &Dense) -> Option<Self> {
        let (rows, cols) = (dense.rows(), dense.cols());
        let suits = |nonzeros: usize| Format::suited_to(rows as f64, cols as f64, nonzeros as f64).is_sparse();
        if u32::try_from(cols).is_err() || !suits(0) {
            return None;
        }
        let (blocks, nonzeros) = (RowBlocks::of(dense), AtomicUsize::new(0));
        let lengths = lengths_in(pool, &blocks.heights, |block, out| {
            if suits(nonzeros.load(Ordering::Relaxed)) {
                blocks.count(block, out);
                nonzeros.fetch_add(out.iter().sum(), Ordering::Relaxed);
            }
        });
        let copy = |block: usize, columns: &mut [u32], values: &mut [f64]| blocks.copy(block, columns, values);
        suits(nonzeros.into_inner()).then(|| Csr::fill_in(pool, cols, &blocks.heights, lengths, copy))
    }

    /// Whether zeros are stored explicitly.
    pub fn has_stored_zeros(&self) -> bool {
        if self.values.may_change() {
            return has_zero(&self.values);
        }
        *self.has_stored_zeros.get_or_init(|| has_zero(&self.values))
    }

    /// The matrix without explicitly stored zeros.
    pub fn without_stored_zeros(&self) -> Csr {
        self.without_stored_zeros_in(&BufferPool::new(0))
    }

    /// The matrix without explicitly stored zeros, in memory of a pool. Inside of a rayon pool, its threads share the work.
    pub fn without_stored_zeros_in(&self, pool: &Arc<BufferPool>) -> Csr {
        let ranges = self.even_ranges((self.nnz() + self.rows).div_ceil(FREED_AT_ONCE).max(1));
        let heights: Vec<usize> = ranges.iter().map(ExactSizeIterator::len).collect();
        // Where memory lies is found out once, and not for each row.
        let (offsets, all_columns, all_values) = (self.row_offsets(), self.columns(), self.values());
        let lengths = |block: usize, out: &mut [usize]| {
            count_nonzeros_of_rows(&offsets[ranges[block].start..=ranges[block].end], all_values, |row, kept| {
                out[row] = kept;
            });
        };
        let fill = |block: usize, columns: &mut [u32], values: &mut [f64]| {
            let positions = offsets[ranges[block].start]..offsets[ranges[block].end];
            let run = SparseRow { columns: &all_columns[positions.clone()], values: &all_values[positions] };
            run.write_nonzeros(columns, values);
        };
        Csr::build_in(pool, self.cols, &heights, lengths, fill)
    }

    /// All cells.
    pub fn to_dense(&self) -> Dense {
        let mut dense = Dense::zeros(self.rows, self.cols);
        let stop = StopListener::current();
        for i in 0..self.rows {
            stop.check();
            let (columns, values) = self.row(i);
            let row = &mut dense.values_mut()[i * self.cols..(i + 1) * self.cols];
            for (&j, &value) in columns.iter().zip(values) {
                row[j as usize] = value;
            }
        }
        dense
    }

    /// All cells, in memory of a pool: these values at the positions of the matrix, and `fill` elsewhere. Inside of a rayon
    /// pool, its threads share the work.
    ///
    /// # Panics
    /// There is not one value for each position.
    pub fn filled_in(&self, pool: &Arc<BufferPool>, values: &[f64], fill: f64) -> Dense {
        assert_eq!(values.len(), self.nnz(), "one value for each position");
        let mut dense = Dense::uninit_in(pool, self.rows, self.cols);
        let height = (CELLS_AT_A_TIME / self.cols.max(1)).max(1);
        let parts = dense.values_mut().chunks_mut((height * self.cols).max(1)).enumerate().collect();
        let nan = NanWatch::default();
        each(parts, |(block, cells)| {
            let rows = block * height..block * height + cells.len() / self.cols;
            nan.look(&values[self.row_offsets()[rows.start]..self.row_offsets()[rows.end]]);
            self.write_rows(rows.start, values, fill, cells);
        });
        dense.set_nan_free(nan.saw_none() && !fill.is_nan());
        dense
    }

    /// All cells of as many rows as there is room for, from this one on.
    pub fn write_cells(&self, first_row: usize, cells: &mut [f64]) {
        self.write_rows(first_row, self.values(), 0.0, cells);
    }

    /// These values at the positions of the matrix, of which there is one for each, and `fill` elsewhere, in as many rows as there
    /// is room for.
    fn write_rows(&self, first_row: usize, values: &[f64], fill: f64, cells: &mut [f64]) {
        let cols = self.cols.max(1);
        let height = cells.len() / cols;
        let offsets = &self.row_offsets()[first_row..=first_row + height];
        let all = SparseRow { columns: self.columns(), values };
        if offsets[height] - offsets[0] >= SHORT_ROW * height {
            let rows = cells.chunks_exact_mut(cols).zip(offsets.windows(2));
            rows.for_each(|(row, bounds)| all.part(bounds[0]..bounds[1]).write_row(fill, row));
            return;
        }
        let rows_near = (CELLS_NEAR / cols).max(1);
        for (group, cells) in cells.chunks_mut(rows_near * cols).enumerate() {
            let offsets = &offsets[group * rows_near..][..=cells.len() / cols];
            let rows = all.part(offsets[0]..offsets[offsets.len() - 1]);
            cells.fill(fill);
            let starts = starts_of_rows(offsets, self.cols);
            for ((&start, &j), &value) in starts.iter().zip(rows.columns).zip(rows.values) {
                cells[start + j as usize] = value;
            }
        }
    }

    /// A matrix of `sprs`, without copying when it is in row-major order.
    ///
    /// # Errors
    /// The parts do not form a matrix of ours (indexes that are not sorted).
    pub fn from_sprs(matrix: CsMatI<f64, u32, usize>) -> Result<Self, CsrError> {
        let matrix = if matrix.is_csr() { matrix } else { matrix.to_csr() };
        let (rows, cols) = matrix.shape();
        let (row_offsets, columns, values) = matrix.into_raw_storage();
        Csr::new(rows, cols, row_offsets, columns, values)
    }

    /// The matrix as one of `sprs`, without copying what came from vectors and is not shared.
    pub fn into_sprs(self) -> CsMatI<f64, u32, usize> {
        let Pattern { row_offsets, columns } = Arc::unwrap_or_clone(self.pattern);
        CsMatI::new((self.rows, self.cols), row_offsets.into_vec(), columns.into_vec(), self.values.into_vec())
    }

    /// A view as a matrix of `sprs`.
    pub fn view(&self) -> sprs::CsMatViewI<'_, f64, u32, usize> {
        sprs::CsMatViewI::new((self.rows, self.cols), self.row_offsets(), self.columns(), &self.values)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Number of stored positions.
    pub fn nnz(&self) -> usize {
        self.values.len()
    }

    /// Row offsets, one more than rows.
    #[inline]
    pub fn row_offsets(&self) -> &[usize] {
        &self.pattern.row_offsets
    }

    /// Column of each position.
    #[inline]
    pub fn columns(&self) -> &[u32] {
        &self.pattern.columns
    }

    /// Value of each position.
    #[inline]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Value of each position, to be replaced by others that are not zero either.
    pub(crate) fn values_mut(&mut self) -> &mut [f64] {
        self.is_nan_free = false;
        &mut self.values
    }

    /// Whether it is known that no value is NaN.
    pub fn is_nan_free(&self) -> bool {
        self.is_nan_free
    }

    /// The matrix with a note whether it is known that no value is NaN.
    pub fn with_nan_free(self, is_known: bool) -> Self {
        Csr { is_nan_free: is_known, ..self }
    }

    /// Columns and values of row `i`.
    #[inline]
    pub fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let row_offsets = self.row_offsets();
        let range = row_offsets[i]..row_offsets[i + 1];
        (&self.columns()[range.clone()], &self.values[range])
    }

    /// The cell in row `i` and column `j`, by binary search: for tests and single lookups only.
    pub fn get(&self, i: usize, j: usize) -> f64 {
        self.pattern.position(i, j).map_or(0.0, |position| self.values[position])
    }
}

/// The non-zeros among these cells, row after row.
///
/// # Panics
/// There are more columns than 32-bit indexes tell apart.
pub(crate) fn nonzeros_of<T: Pod + PartialEq>(rows: usize, cols: usize, cells: &[T]) -> (Pattern, Memory<T>) {
    assert!(u32::try_from(cols).is_ok(), "{}", CsrError::TooManyColumns { cols });
    let nnz = count_nonzeros(cells);
    let mut columns = Growing::with_capacity(MemoryKind::Matrix, nnz);
    let mut values = Growing::with_capacity(MemoryKind::Matrix, nnz);
    let mut row_offsets = Growing::with_capacity(MemoryKind::Matrix, rows + 1);
    row_offsets.push(0);
    let stop = StopListener::current();
    for i in 0..rows {
        stop.check();
        for (j, &value) in cells[i * cols..(i + 1) * cols].iter().enumerate() {
            if value != T::zeroed() {
                columns.push(j as u32);
                values.push(value);
            }
        }
        row_offsets.push(values.len());
    }
    (Pattern::new(row_offsets.into(), columns.into()), values.into())
}

/// Whether one of the values is zero, told by many at a time: borrowed values are looked through in each evaluation.
fn has_zero(values: &[f64]) -> bool {
    /// Values that are compared before a zero among them is of interest.
    const TOGETHER: usize = 1 << 10;
    values.chunks(TOGETHER).any(|part| primitives(Isa::detect()).contains_zero(part))
}
