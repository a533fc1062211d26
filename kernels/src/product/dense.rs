//! Products of dense matrices.

use super::accumulate;
use crate::KernelContext;
use crate::blocks::{
    PartByPart, add_to, block_rows, cells_of_rows, even_ranges, fill_blocks, partial_ranges, sum_strips, write_blocks,
};
use crate::gemm::{Output, Strided, gemm_into};
use fuseline_ir::schedule::Strips;
use fuseline_ir::schedule::product::{Extents, PackedBlocks, ProductLoop, short_block_rows};
use fuseline_ir::work::{self, CELL_BYTES};
use fuseline_matrix::run_context::check_stop;
use fuseline_matrix::{BufferPool, Dense, NarrowCells, NarrowDense, strips, zeros};
use fuseline_vecprims::{Tile, TileMut, adds_up_rows};
use std::ops::Range;

pub(super) fn product(context: &KernelContext<'_>, left: &Dense, right: &Dense) -> Dense {
    let extents = Extents { rows: left.rows(), inner: left.cols(), cols: right.cols() };
    match ProductLoop::plain(extents) {
        ProductLoop::ScaledRows => row_times_matrix(context, left, right),
        ProductLoop::Dots => times_vector(context, left.into(), right.values()),
        ProductLoop::ShortRows if adds_up_rows(right.cols()) => short(context, left, right.cols(), right.values()),
        ProductLoop::ShortRows => short(context, left, right.cols(), back(right).values()),
        ProductLoop::RowProducts | ProductLoop::Packed => gemm(context, extents, Strided::of(left), Strided::of(right)),
    }
}

/// `t(left) %*% right`.
pub(super) fn transposed_product(context: &KernelContext<'_>, left: &Dense, right: &Dense) -> Dense {
    let extents = Extents { rows: left.cols(), inner: left.rows(), cols: right.cols() };
    match ProductLoop::with_transposed_left(extents) {
        ProductLoop::RowProducts if has_large_sums(context, left, right.cols()) => {
            // Each column by itself, as long as it is.
            let shape = ColumnTile { columns: block_rows(left.cols(), left.rows()), rows: left.rows() };
            transposed_by_columns(context, left, right, shape)
        }
        ProductLoop::RowProducts if !extents.has_near_sums() => {
            let columns = extents.rows.div_ceil(extents.near_ranges());
            transposed_by_columns(context, left, right, ColumnTile { columns, rows: STREAMED_ROWS })
        }
        ProductLoop::RowProducts => transposed_times_skinny(context, left.into(), right),
        ProductLoop::ScaledRows => row_times_matrix(context, left, right),
        ProductLoop::Dots | ProductLoop::ShortRows | ProductLoop::Packed => {
            gemm(context, extents, Strided::of(left).transposed(), Strided::of(right))
        }
    }
}

/// The general product, strip by strip of the inner dimension.
pub(super) fn gemm(context: &KernelContext<'_>, extents: Extents, left: Strided<'_>, right: Strided<'_>) -> Dense {
    let Extents { rows, inner, cols } = extents;
    let strips = Strips::new(inner, rows.max(cols) as u64 * CELL_BYTES, context.strip_bytes, rows * cols);
    let of_strip = |part: Range<usize>| {
        let (left, right) = (left.starting_at(0, part.start), right.starting_at(part.start, 0));
        gemm_of_strip(context, Extents { inner: part.len(), ..extents }, left, right)
    };
    strips::reduce(context.pool, strips, of_strip, |mut sums, others| {
        add_to(sums.values_mut(), others.values());
        sums
    })
}

/// Blocks of rows, or where these are few and long, ranges of the inner dimension.
fn gemm_of_strip(context: &KernelContext<'_>, extents: Extents, left: Strided<'_>, right: Strided<'_>) -> Dense {
    let Extents { rows, inner, cols } = extents;
    let step = match PackedBlocks::of(extents) {
        PackedBlocks::Rows(step) => step,
        PackedBlocks::Inner(count) => {
            let sums = accumulate(context, even_ranges(0..inner, count), rows * cols, |range, acc| {
                let extents = Extents { rows, inner: range.len(), cols };
                let (left, right) = (left.starting_at(0, range.start), right.starting_at(range.start, 0));
                gemm_into(context.primitives, Output::new(acc, cols), extents, left, right);
            });
            return Dense::from_buffer(rows, cols, sums);
        }
    };
    let mut result = Dense::uninit_in(context.buffers, rows, cols);
    fill_blocks(context, &mut result, step * cols, |block, out| {
        let extents = Extents { rows: out.len() / cols.max(1), inner, cols };
        let left = left.starting_at(block * step, 0);
        gemm_into(context.primitives, Output::new(out, cols), extents, left, right);
    });
    result
}

/// A matrix of short rows times the transpose of another one.
pub(super) fn short_transposed(context: &KernelContext<'_>, left: &Dense, right: &Dense) -> Dense {
    let cols = right.rows();
    if adds_up_rows(cols) {
        short(context, left, cols, back(right).values())
    } else {
        short(context, left, cols, right.values())
    }
}

/// The transpose of a small matrix.
fn back(matrix: &Dense) -> Dense {
    Dense::from_fn(matrix.cols(), matrix.rows(), |i, j| matrix.get(j, i))
}

/// The rows of a matrix, one after the other, times a matrix of so many columns, whose cells are given as the primitive takes them.
fn short(context: &KernelContext<'_>, left: &Dense, cols: usize, factor: &[f64]) -> Dense {
    let (rows, inner) = (left.rows(), left.cols());
    let mut result = Dense::uninit_in(context.buffers, rows, cols);
    let step = short_block_rows(Extents { rows, inner, cols });
    let write = PartByPart::new(context, rows * cols, cells_of_rows(cols));
    write_blocks(context, &mut result, step * cols, &write, |first, out| {
        let rows = out.len() / cols;
        let a = Tile::new(&left.values()[first / cols * inner..], inner);
        context.primitives.vect_mat_mult(rows, inner, cols, a, factor, TileMut::new(out, cols));
    });
    result
}

/// A matrix times a column of these values.
pub(super) fn times_vector(context: &KernelContext<'_>, left: Rows<'_>, right: &[f64]) -> Dense {
    let Rows { rows, cols: inner, .. } = left;
    let mut result = Dense::uninit_in(context.buffers, rows, 1);
    let step = block_rows(rows, inner);
    fill_blocks(context, &mut result, step, |block, out| {
        let start = block * step;
        let cells = start * inner..(start + out.len()) * inner;
        match left.cells {
            Cells::Doubles(values) => {
                let (a, b) = (Tile::new(&values[cells], inner), Tile::new(right, 0));
                context.primitives.dot_product(out.len(), inner, a, b, TileMut::new(out, 1));
            }
            Cells::Narrow(narrow) => match narrow.cells(cells) {
                NarrowCells::F32(values) => context.primitives.dot_f32(values, right, out),
                NarrowCells::I32(values) => context.primitives.dot_i32(values, right, out),
                NarrowCells::U8(values) => context.primitives.dot_u8(values, right, out),
            },
        }
    });
    result
}

/// A row, or a column in place of it, times a matrix: the sum of the rows of the right, each scaled.
pub(super) fn row_times_matrix(context: &KernelContext<'_>, left: &Dense, right: &Dense) -> Dense {
    let (inner, cols) = (right.rows(), right.cols());
    let sums = sum_strips(context, inner, cols as u64 * CELL_BYTES, cols, |part| {
        accumulate(context, partial_ranges(part, cols), cols, |rows, sums| {
            add_outer_products(context, right.into(), left.values(), rows, sums);
        })
    });
    Dense::from_buffer(1, cols, sums)
}

/// Cells of a tile that stays in the cache while each column of the other matrix passes over it.
const TILE_CELLS: usize = 4096;

/// Rows of such a tile.
fn tile_rows(cols: usize) -> usize {
    (TILE_CELLS / cols.max(1)).max(1)
}

/// The rows of a dense matrix, which may be narrow.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    rows: usize,
    cols: usize,
    cells: Cells<'a>,
}

#[derive(Clone, Copy)]
enum Cells<'a> {
    Doubles(&'a [f64]),
    Narrow(&'a NarrowDense),
}

impl<'a> From<&'a Dense> for Rows<'a> {
    fn from(dense: &'a Dense) -> Self {
        Rows { rows: dense.rows(), cols: dense.cols(), cells: Cells::Doubles(dense.values()) }
    }
}

impl<'a> From<&'a NarrowDense> for Rows<'a> {
    fn from(narrow: &'a NarrowDense) -> Self {
        Rows { rows: narrow.rows(), cols: narrow.cols(), cells: Cells::Narrow(narrow) }
    }
}

impl Rows<'_> {
    /// Visits tiles of some of these rows, which stay in the cache, with their cells as doubles.
    fn for_each_tile(self, rows: Range<usize>, mut visit: impl FnMut(Range<usize>, &[f64])) {
        let step = tile_rows(self.cols);
        let mut buffer = match self.cells {
            Cells::Doubles(_) => Vec::new(),
            Cells::Narrow(_) => zeros(step * self.cols),
        };
        for start in rows.clone().step_by(step) {
            let tile = start..(start + step).min(rows.end);
            let cells = tile.start * self.cols..tile.end * self.cols;
            match self.cells {
                Cells::Doubles(values) => visit(tile, &values[cells]),
                Cells::Narrow(narrow) => {
                    let wide = &mut buffer[..cells.len()];
                    narrow.widen(cells.start, wide);
                    visit(tile, wide);
                }
            }
        }
    }
}

/// Adds the outer products of rows of one matrix, of `n` values, with those of another one, of fewer: as many rows of `n` sums.
fn add_outer_products(
    context: &KernelContext<'_>,
    long: Rows<'_>,
    short: &[f64],
    rows: Range<usize>,
    sums: &mut [f64],
) {
    let (n, k) = (long.cols, short.len() / long.rows.max(1));
    let mut add = |rows: Range<usize>, first: usize, columns: usize, cells: &[f64]| {
        check_stop();
        let (a, b) = (Tile::new(cells, n), Tile::new(&short[rows.start * k..rows.end * k], k));
        context.primitives.outer_mult_add(rows.len(), columns, k, a, b, TileMut::new(&mut sums[first..], n));
    };
    match long.cells {
        Cells::Doubles(values) if tile_rows(n) < STREAMED_ROWS => {
            for start in rows.clone().step_by(STREAMED_ROWS) {
                let rows = start..(start + STREAMED_ROWS).min(rows.end);
                for first in (0..n).step_by(STREAMED_COLUMNS) {
                    let columns = STREAMED_COLUMNS.min(n - first);
                    add(rows.clone(), first, columns, &values[start * n + first..(rows.end - 1) * n + first + columns]);
                }
            }
        }
        _ => long.for_each_tile(rows, |rows, cells| add(rows, 0, n, cells)),
    }
}

/// Cells of a matrix that are read in the time in which a private sum is filled, and added to another one.
const CELLS_PER_SUM: usize = 4;

/// Whether private sums of ranges of rows would have nearly as many cells as the rows themselves, all of one strip.
fn has_large_sums(context: &KernelContext<'_>, left: &Dense, k: usize) -> bool {
    let (rows, n) = (left.rows(), left.cols());
    let ranges = work::partial_ranges(rows, n * k);
    let strips = Strips::new(rows, n as u64 * CELL_BYTES, context.strip_bytes, n * k);
    ranges > 1 && ranges * k * CELLS_PER_SUM > rows && strips.len() == 1
}

/// Rows whose parts of a range of columns are read side by side. Sums are read and written once for all of them: of fewer rows, the
/// more often. Set on one machine, among 8, 16, 32 and 64.
const STREAMED_ROWS: usize = 32;

/// Columns of long rows that are: each stream is as long as a page, and the cells of a tile stay in the second-level cache.
const STREAMED_COLUMNS: usize = 512;

/// Columns of a range, and the rows that are read of them at a time.
#[derive(Clone, Copy)]
struct ColumnTile {
    columns: usize,
    rows: usize,
}

/// `t(left) %*% right` for few columns on the right, each range of columns of `left` by itself: its sums stay in the cache.
fn transposed_by_columns(context: &KernelContext<'_>, left: &Dense, right: &Dense, shape: ColumnTile) -> Dense {
    let (rows, n, k) = (left.rows(), left.cols(), right.cols());
    let mut result = Dense::uninit_in(context.buffers, n, k);
    fill_blocks(context, &mut result, shape.columns * k, |block, out| {
        let (columns, first) = (out.len() / k, block * shape.columns);
        let mut sums = BufferPool::take_zeroed(context.buffers, columns * k);
        for row in (0..rows).step_by(shape.rows) {
            check_stop();
            let count = shape.rows.min(rows - row);
            let (a, b) = (Tile::new(&left.values()[row * n + first..], n), Tile::new(&right.values()[row * k..], k));
            context.primitives.outer_mult_add(count, columns, k, a, b, TileMut::new(&mut sums, columns));
        }
        for (i, cells) in out.chunks_exact_mut(k).enumerate() {
            cells.iter_mut().enumerate().for_each(|(j, cell)| *cell = sums[j * columns + i]);
        }
    });
    result
}

/// `t(left) %*% right` for few columns on the right: the sum over rows of outer products, accumulated with the long
/// dimension contiguous.
pub(super) fn transposed_times_skinny(context: &KernelContext<'_>, left: Rows<'_>, right: &Dense) -> Dense {
    let (Rows { rows, cols: n, .. }, k) = (left, right.cols());
    let sums = sum_strips(context, rows, n as u64 * CELL_BYTES, n * k, |rows| {
        accumulate(context, partial_ranges(rows, n * k), n * k, |rows, sums| {
            add_outer_products(context, left, right.values(), rows, sums);
        })
    });
    let mut result = Dense::uninit_in(context.buffers, n, k);
    let step = block_rows(n, k);
    fill_blocks(context, &mut result, step * k, |block, out| {
        for (i, cells) in (block * step..).zip(out.chunks_exact_mut(k)) {
            cells.iter_mut().enumerate().for_each(|(j, cell)| *cell = sums[j * n + i]);
        }
    });
    result
}
