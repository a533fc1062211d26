//! Blocks of work, shared among threads: of what sizes they are, a function of shapes and patterns alone, and how they run.
//! A single block is done by the thread that asks for it: handing it over takes longer than most such blocks. So are all
//! blocks of work that is to stay on its thread (`run_context::is_alone`). After a request
//! to stop the blocks that are left are skipped, and who waits for them unwinds: once, since that takes as long as many blocks.
//! The pool calls what it runs through a pointer, once per block: its own code is compiled once, and not for each kernel.

use crate::KernelContext;
use fuseline_ir::ops::AggOp;
use fuseline_ir::schedule::Strips;
use fuseline_ir::work::{self, CELL_BYTES, csr_row_bytes, even_blocks};
pub(crate) use fuseline_ir::work::{BASIC_BLOCK_CELLS as BLOCK_CELLS, MAX_PARTIALS, block_rows, most_block_rows};
use fuseline_matrix::affinity::keep_apart;
use fuseline_matrix::run_context::is_alone;
use fuseline_matrix::{
    Buffer, BufferPool, Csr, CsrRows, Dense, Layout, MatrixBlock, NanWatch, StopListener, SuitedRows, strips,
};
use fuseline_vecprims::{CsrTile, Tile, TileMut};
use rayon::ThreadPool;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Cells that are computed at a time where they are read again at once: to be counted, or copied past the caches. They and rows of
/// operands that are laid out beside them stay in the caches of a core.
pub(crate) const PART_CELLS: usize = 1 << 13;

/// At most [`MAX_PARTIALS`] even ranges of some rows, several only of more than a block of work.
pub(crate) fn partial_ranges(rows: Range<usize>, cells_per_row: usize) -> Vec<Range<usize>> {
    let count = work::partial_ranges(rows.len(), cells_per_row);
    even_ranges(rows, count)
}

/// At most so many even ranges of some rows.
pub(crate) fn even_ranges(rows: Range<usize>, count: usize) -> Vec<Range<usize>> {
    ranges_within(rows.clone(), rows.len().div_ceil(count))
}

/// Ranges of this many rows.
pub(crate) fn row_ranges(rows: usize, step: usize) -> Vec<Range<usize>> {
    ranges_within(0..rows, step)
}

/// Ranges of this many among some rows.
pub(crate) fn ranges_within(rows: Range<usize>, step: usize) -> Vec<Range<usize>> {
    rows.clone().step_by(step.max(1)).map(|start| start..(start + step).min(rows.end)).collect()
}

/// At most `most` ranges of all rows, as [`balanced_within`] cuts them.
pub(crate) fn balanced_ranges(csr: &Csr, weight: usize, most: usize) -> Vec<Range<usize>> {
    balanced_within(csr, 0..csr.rows(), weight, most)
}

/// At most `most` ranges of some rows, each with about `weight` non-zeros and no row more than that takes, where a row counts
/// as one more non-zero: rows of real data are skewed. A function of the pattern alone.
pub(crate) fn balanced_within(csr: &Csr, rows: Range<usize>, weight: usize, most: usize) -> Vec<Range<usize>> {
    let offsets = &csr.row_offsets()[rows.start..=rows.end];
    let ranges = ranges_by_weight(rows.len(), |row| offsets[row] - offsets[0] + row, weight, most);
    ranges.into_iter().map(|range| rows.start + range.start..rows.start + range.end).collect()
}

/// The CSR parts of a range of rows.
pub(crate) fn rows_of<'a>(matrix: &'a Csr, range: &Range<usize>) -> CsrTile<'a> {
    let row_offsets = &matrix.row_offsets()[range.start..=range.end];
    let positions = row_offsets[0]..row_offsets[row_offsets.len() - 1];
    CsrTile { row_offsets, columns: &matrix.columns()[positions.clone()], values: &matrix.values()[positions] }
}

/// Bytes of a row of a matrix, on average.
pub(crate) fn row_bytes(layout: &Layout<'_>) -> u64 {
    match layout {
        Layout::Dense(dense) => dense.cols() as u64 * CELL_BYTES,
        Layout::Sparse(csr) => csr_row_bytes(csr.rows() as u64, csr.nnz() as u64),
    }
}

/// About what a row of the matrix costs, in cells.
pub(crate) fn average_row(csr: &Csr) -> usize {
    csr.nnz().checked_div(csr.rows()).unwrap_or(0) + 1
}

/// Partial results merged cell by cell into the first, in their order; none of none.
pub(crate) fn merge_partials(
    context: &KernelContext<'_>,
    partials: Vec<Buffer>,
    merge: impl Fn(&mut [f64], &[f64]) + Sync,
) -> Option<Buffer> {
    let mut partials = partials.into_iter();
    let (mut merged, others) = (partials.next()?, partials.as_slice());
    if !others.is_empty() {
        for_each_block(context, &mut merged, BLOCK_CELLS, |block, cells| {
            let run = block * BLOCK_CELLS..block * BLOCK_CELLS + cells.len();
            others.iter().for_each(|partial| merge(cells, &partial[run.clone()]));
        });
    }
    Some(merged)
}

/// Sums of so many cells over rows of so many bytes, strip by strip: `strip` has the sums of the rows of one.
pub(crate) fn sum_strips(
    context: &KernelContext<'_>,
    rows: usize,
    row_bytes: u64,
    cells: usize,
    strip: impl Fn(Range<usize>) -> Buffer + Sync,
) -> Buffer {
    let strips = Strips::new(rows, row_bytes, context.strip_bytes, cells);
    strips::reduce(context.pool, strips, strip, |mut left, right| {
        add_to(&mut left, &right);
        left
    })
}

/// Adds values to sums.
pub(crate) fn add_to(sums: &mut [f64], values: &[f64]) {
    for (sum, &value) in sums.iter_mut().zip(values) {
        *sum += value;
    }
}

/// At most `most` ranges of rows, each of about this weight, given the weight before each row.
pub(crate) fn ranges_by_weight(
    rows: usize,
    before: impl Fn(usize) -> usize,
    weight: usize,
    most: usize,
) -> Vec<Range<usize>> {
    let total = before(rows);
    let weight = total.div_ceil(even_blocks(total, weight.max(1)).min(most)).max(1);
    let mut ranges = Vec::new();
    let mut start = 0;
    while start < rows {
        let goal = before(start) + weight;
        let (mut end, mut enough) = (start, rows);
        while end + 1 < enough {
            let middle = end.midpoint(enough);
            if before(middle) < goal { end = middle } else { enough = middle }
        }
        ranges.push(start..enough);
        start = enough;
    }
    ranges
}

/// A sparse matrix built row by row, where a row costs about `cost` cells: `row(i, scratch, result)` appends columns
/// and values. Threads share scratch between rows, so a row leaves it as it was.
pub(crate) fn build_csr<S>(
    context: &KernelContext<'_>,
    [rows, cols]: [usize; 2],
    cost: usize,
    scratch: impl Fn() -> S + Sync + Send,
    row: impl Fn(usize, &mut S, &mut CsrRows) + Sync,
) -> Csr {
    let step = block_rows(rows, cost);
    let blocks = map_parts_with(context, row_ranges(rows, step), &scratch, |scratch, range| {
        let mut result = CsrRows::default();
        for i in range {
            let start = result.values.len();
            row(i, scratch, &mut result);
            result.lengths.push(result.values.len() - start);
        }
        result
    });
    on_threads_for(context, blocks.len(), || Csr::from_blocks_in(context.buffers, cols, &blocks))
}

/// Work on so many blocks: inside of the pool, whose threads share it, where there are several.
pub(crate) fn on_threads_for<T: Send>(
    context: &KernelContext<'_>,
    blocks: usize,
    work: impl FnOnce() -> T + Send,
) -> T {
    if blocks <= 1 || is_alone() {
        return work();
    }
    let (mut work, mut result) = (Some(work), None);
    install(context.pool, &mut || result = work.take().map(|work| work()));
    result.expect("the pool called it")
}

/// The matrix in the format that suits its density.
pub fn in_best_format(context: &KernelContext<'_>, matrix: MatrixBlock) -> MatrixBlock {
    // There is nothing to share where nothing is converted.
    let cells = if matrix.stays_sparse() { 0 } else { matrix.rows().saturating_mul(matrix.cols()) };
    on_threads_for(context, cells.div_ceil(BLOCK_CELLS), || matrix.in_best_format_in(context.buffers))
}

/// A matrix in the format that suits its density, of which `compute` gives the cells of some rows from one cell on. Cells are
/// computed where they belong if the last block had many non-zeros, and beside it if it had few: blocks are mostly alike.
pub(crate) fn suited_rows(
    context: &KernelContext<'_>,
    rows: usize,
    cols: usize,
    compute: impl Fn(usize, &mut [f64]) + Sync + Send,
) -> MatrixBlock {
    let mut dense = Dense::uninit_in(context.buffers, rows, cols);
    let block = block_rows(rows, cols) * cols;
    let write = PartByPart::new(context, rows * cols, cells_of_rows(cols));
    if !MatrixBlock::best_format(rows, cols, 0).is_sparse() {
        write_blocks(context, &mut dense, block, &write, compute);
        return dense.into();
    }
    let expects_few = AtomicBool::new(true);
    let places = dense.values_mut().chunks_mut(block).enumerate().collect();
    let blocks = map_parts(context, places, |(number, place): (usize, &mut [f64])| {
        let compute = |first: usize, cells: &mut [f64]| compute(number * block + first, cells);
        let suited = if expects_few.load(Ordering::Relaxed) {
            let mut cells = BufferPool::take(context.buffers, place.len());
            write.through(&mut cells, compute);
            SuitedRows::new(context.buffers, cols, &cells, |cells| write.copy(cells, place))
        } else {
            let mut non_zeros = 0;
            write.cells(place, |first, cells| {
                compute(first, cells);
                let len = cells.len();
                non_zeros += context.primitives.full_agg(AggOp::Nnz, 1, len, Tile::new(cells, len)) as usize;
            });
            SuitedRows::in_place(context.buffers, cols, place, non_zeros)
        };
        expects_few.store(suited.are_few(), Ordering::Relaxed);
        suited
    });
    dense.set_nan_free(write.nan.saw_none());
    on_threads_for(context, blocks.len(), || SuitedRows::put_together(context.buffers, dense, blocks))
}

/// Cells of whole rows that are computed at a time.
pub(crate) fn cells_of_rows(cols: usize) -> usize {
    (PART_CELLS / cols.max(1)).max(1) * cols
}

/// Computes the cells of a dense result in blocks of `block` cells, in each so many at a time from one on as `write` says.
pub(crate) fn write_blocks(
    context: &KernelContext<'_>,
    result: &mut Dense,
    block: usize,
    write: &PartByPart<'_>,
    compute: impl Fn(usize, &mut [f64]) + Sync,
) {
    for_each_block(context, result.values_mut(), block, |number, cells| {
        write.cells(cells, |first, cells| compute(number * block + first, cells));
    });
    result.set_nan_free(write.nan.saw_none());
}

/// Computes the cells of a dense result: `each` has every run of `length` of them, the last one maybe shorter, and its number.
pub(crate) fn fill_blocks(
    context: &KernelContext<'_>,
    result: &mut Dense,
    length: usize,
    each: impl Fn(usize, &mut [f64]) + Sync,
) {
    let nan = NanWatch::default();
    for_each_block(context, result.values_mut(), length, |block, cells| {
        each(block, cells);
        nan.look(cells);
    });
    result.set_nan_free(nan.saw_none());
}

/// Copies as many cells as there is room for.
pub(crate) fn copy_cells(context: &KernelContext<'_>, cells: &[f64], out: &mut Dense) {
    let write = PartByPart::new(context, out.values().len(), PART_CELLS);
    write_blocks(context, out, BLOCK_CELLS, &write, |first, out| out.copy_from_slice(&cells[first..first + out.len()]));
}

/// How the cells of a dense result are written, some at a time: where they belong or, if the result is larger than the caches,
/// past them.
pub(crate) struct PartByPart<'a> {
    context: &'a KernelContext<'a>,
    part: usize,
    streams: bool,
    nan: NanWatch,
}

impl<'a> PartByPart<'a> {
    /// For a result of so many cells, of which so many are written at a time.
    pub(crate) fn new(context: &'a KernelContext<'a>, cells: usize, part: usize) -> PartByPart<'a> {
        let streams = context.primitives.isa().streams(cells.saturating_mul(size_of::<f64>()));
        PartByPart { context, part: part.max(1), streams: streams && part <= BLOCK_CELLS, nan: NanWatch::default() }
    }

    /// Where each cell takes so many flops, and a value of so many matrices.
    pub(crate) fn of_flops(self, flops: f64, matrices: usize) -> PartByPart<'a> {
        PartByPart { streams: self.streams && !work::outlasts_reading(flops, matrices), ..self }
    }

    /// Calls `each` with every part of a block, and the number of its first cell.
    fn by_part(&self, block: &mut [f64], mut each: impl FnMut(usize, &mut [f64])) {
        let parts = block.chunks_mut(self.part).enumerate();
        parts.for_each(|(number, cells)| each(number * self.part, cells));
    }

    /// Computes the cells of a block where they belong.
    fn through(&self, block: &mut [f64], mut compute: impl FnMut(usize, &mut [f64])) {
        self.by_part(block, |first, cells| {
            compute(first, cells);
            self.nan.look(cells);
        });
    }

    /// Computes the cells of a block, which has its place in the result.
    fn cells(&self, block: &mut [f64], mut compute: impl FnMut(usize, &mut [f64])) {
        if !self.streams {
            return self.through(block, compute);
        }
        let mut computed = BufferPool::take(self.context.buffers, self.part.min(block.len()));
        self.by_part(block, |first, place| {
            let cells = &mut computed[..place.len()];
            compute(first, cells);
            self.nan.look(cells);
            self.copy(cells, place);
        });
    }

    /// Copies cells that were computed in a cache to their place in the result.
    fn copy(&self, cells: &[f64], place: &mut [f64]) {
        if self.streams {
            let len = cells.len();
            self.context.primitives.stream(1, len, Tile::new(cells, len), TileMut::new(place, len));
        } else {
            place.copy_from_slice(cells);
        }
    }
}

/// Does this inside of the pool.
fn install(pool: &ThreadPool, work: &mut (dyn FnMut() + Send)) {
    pool.install(work);
}

/// The transpose of a sparse matrix, by all threads where there is work for several.
pub(crate) fn transpose_csr(context: &KernelContext<'_>, csr: &Csr) -> Csr {
    on_threads_for(context, csr.nnz().div_ceil(BLOCK_CELLS), || csr.transpose_in(context.buffers))
}

/// Calls `each` with every run of `length` values, the last one maybe shorter, and its number.
pub(crate) fn for_each_block<T: Send>(
    context: &KernelContext<'_>,
    values: &mut [T],
    length: usize,
    each: impl Fn(usize, &mut [T]) + Sync,
) {
    let stop = StopListener::current();
    if values.len() <= length || is_alone() {
        return values.chunks_mut(length.max(1)).enumerate().for_each(|(block, values)| {
            stop.check();
            each(block, values);
        });
    }
    for_each_run(context.pool, values, length.max(1), &|block, values| {
        if !stop.hears() {
            each(block, values);
        }
    });
    stop.check();
}

/// Calls `each` with every run of `length` values and its number, inside of the pool.
fn for_each_run<T: Send>(pool: &ThreadPool, values: &mut [T], length: usize, each: &(dyn Fn(usize, &mut [T]) + Sync)) {
    let runs = values.par_chunks_mut(length).enumerate();
    let each = |(number, values): (usize, &mut [T])| {
        keep_apart();
        each(number, values);
    };
    pool.install(|| runs.for_each(each));
}

/// What `each` makes of every part, in the order of the parts.
pub(crate) fn map_parts<P: Send, T: Send>(
    context: &KernelContext<'_>,
    parts: Vec<P>,
    each: impl Fn(P) -> T + Sync + Send,
) -> Vec<T> {
    map_parts_with(context, parts, || (), |(), part| each(part))
}

/// Maps parts as [`map_parts`] does, where those that run one after the other share scratch.
pub(crate) fn map_parts_with<P: Send, S, T: Send>(
    context: &KernelContext<'_>,
    parts: Vec<P>,
    scratch: impl Fn() -> S + Sync + Send,
    each: impl Fn(&mut S, P) -> T + Sync + Send,
) -> Vec<T> {
    let stop = StopListener::current();
    if parts.len() <= 1 || is_alone() {
        let mut shared = None;
        let one_by_one = parts.into_iter().map(|part| {
            stop.check();
            each(shared.get_or_insert_with(&scratch), part)
        });
        return one_by_one.collect();
    }
    let parts: Vec<Slot<P>> = parts.into_iter().map(Slot::of).collect();
    let results: Vec<Slot<T>> = parts.iter().map(|_| Slot::default()).collect();
    for_each_number(context.pool, parts.len(), &|| {
        let mut scratch = scratch();
        let (stop, each, parts, results) = (&stop, &each, &parts, &results);
        Box::new(move |number| {
            if !stop.hears() {
                results[number].fill(each(&mut scratch, parts[number].taken()));
            }
        })
    });
    stop.check();
    results.iter().map(Slot::taken).collect()
}

/// What one block has, or makes: one thread puts it there, one takes it.
struct Slot<T>(Mutex<Option<T>>);

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Slot(Mutex::new(None))
    }
}

impl<T> Slot<T> {
    fn of(value: T) -> Slot<T> {
        Slot(Mutex::new(Some(value)))
    }

    fn fill(&self, value: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    }

    fn taken(&self) -> T {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().expect("it was put there, and is taken once")
    }
}

/// What a thread calls with the numbers of the blocks that it runs one after the other.
type Worker<'a> = Box<dyn FnMut(usize) + 'a>;

/// Calls workers with all numbers below `count`, inside of the pool.
fn for_each_number<'a>(pool: &ThreadPool, count: usize, worker: &(dyn Fn() -> Worker<'a> + Sync)) {
    let numbers = (0..count).into_par_iter();
    let each = |worker: &mut Worker<'a>, number| {
        keep_apart();
        worker(number);
    };
    pool.install(|| numbers.for_each_init(worker, each));
}
