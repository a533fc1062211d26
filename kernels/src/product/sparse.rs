//! Products with a sparse operand.

use super::accumulate;
use crate::blocks::{
    BLOCK_CELLS, MAX_PARTIALS, add_to, average_row, balanced_ranges, block_rows, build_csr, even_ranges, fill_blocks,
    for_each_block, rows_of, transpose_csr,
};
use crate::multiply_add::{SparseRows, add_row_products, add_scaled_at, add_scaled_rows_at, dot_nonzeros};
use crate::{KernelContext, push_nonzero};
use fuseline_ir::ops::math;
use fuseline_ir::schedule::Strips;
use fuseline_ir::schedule::product::{Extents, TransposedSparse, adds_row_products};
use fuseline_ir::work::{UNIT_CELLS, csr_row_bytes, even_blocks, weight_in_cells};
use fuseline_matrix::run_context::check_stop;
use fuseline_matrix::{Buffer, Csr, CsrRows, Dense, Growing, MemoryKind, strips};
use fuseline_vecprims::{CsrTile, Tile, TileMut};
use std::ops::Range;

/// Rows that are added before somebody may stop that.
const STEP: usize = 1024;

/// Rows whose products are added before somebody may stop that.
const ROWS_OF_PRODUCTS: usize = 64;

/// `t(left) %*% right`, strip by strip.
pub(super) fn transposed_times_dense(context: &KernelContext<'_>, left: &Csr, right: &Dense) -> Dense {
    let (n, k) = (left.cols(), right.cols());
    let row_bytes = csr_row_bytes(left.rows() as u64, left.nnz() as u64);
    let strips = Strips::new(left.rows(), row_bytes, context.strip_bytes, n * k);
    let of_strip = |rows: Range<usize>| RowSums { left, right, rows }.sum(context);
    strips::reduce(context.pool, strips, of_strip, |mut sums, others| {
        add_to(sums.values_mut(), others.values());
        sums
    })
}

/// The sum of the outer products of some rows of two matrices.
struct RowSums<'a> {
    left: &'a Csr,
    right: &'a Dense,
    rows: Range<usize>,
}

impl RowSums<'_> {
    fn sum(&self, context: &KernelContext<'_>) -> Dense {
        let RowSums { left, right, ref rows } = *self;
        let non_zeros = left.row_offsets()[rows.end] - left.row_offsets()[rows.start];
        let extents = Extents { rows: left.cols(), inner: rows.len(), cols: right.cols() };
        match TransposedSparse::of(non_zeros, extents) {
            TransposedSparse::Adds(count) => self.by_rows(context, count),
            TransposedSparse::Transposes if rows.len() == left.rows() => {
                times_dense(context, &transpose_csr(context, left), right)
            }
            // All columns are one range of rows, too. A strip that is short, or nearly empty, has little to add.
            TransposedSparse::Columns(1) | TransposedSparse::Transposes => self.by_rows(context, 1),
            TransposedSparse::Columns(count) => self.by_columns(context, count),
        }
    }

    /// So many ranges of rows each have a result of their own.
    fn by_rows(&self, context: &KernelContext<'_>, count: usize) -> Dense {
        let RowSums { left, right, ref rows } = *self;
        let (n, k, unit) = (left.cols(), right.cols(), unit_rows(left));
        let sums = accumulate(context, even_ranges(rows.clone(), count), n * k, |range, acc| {
            for start in range.clone().step_by(unit) {
                let rows = start..(start + unit).min(range.end);
                self.add(context, rows_of(left, &rows), rows, acc);
            }
        });
        Dense::from_buffer(n, k, sums)
    }

    /// So many ranges of columns of the left side, which are rows of the result, each go over all rows.
    fn by_columns(&self, context: &KernelContext<'_>, count: usize) -> Dense {
        let RowSums { left, right, ref rows } = *self;
        let (n, k) = (left.cols(), right.cols());
        let step = n.div_ceil(count).max(1);
        let ranges = ColumnRanges::new(context, left, rows.clone(), step);
        let mut result = Dense::uninit_in(context.buffers, n, k);
        fill_blocks(context, &mut result, step * k, |range, out| {
            out.fill(0.0);
            let (first, mut columns) = ((range * step) as u32, Growing::new(MemoryKind::Scratch));
            for start in rows.clone().step_by(STEP) {
                check_stop();
                for row in start..(start + STEP).min(rows.end) {
                    let positions = ranges.positions(row, range);
                    if positions.is_empty() {
                        continue;
                    }
                    columns.clear();
                    columns.reserve(positions.len());
                    columns.vec_mut().extend(left.columns()[positions.clone()].iter().map(|column| column - first));
                    let row_offsets = [0, positions.len()];
                    let part =
                        CsrTile { row_offsets: &row_offsets, columns: &columns, values: &left.values()[positions] };
                    self.add_products(context, part, row..row + 1, out);
                }
            }
        });
        result
    }

    /// Adds the products of some rows to sums, given the non-zeros of the left side that count.
    fn add(&self, context: &KernelContext<'_>, left: CsrTile<'_>, rows: Range<usize>, sums: &mut [f64]) {
        check_stop();
        self.add_products(context, left, rows, sums);
    }

    fn add_products(&self, context: &KernelContext<'_>, left: CsrTile<'_>, rows: Range<usize>, sums: &mut [f64]) {
        let k = self.right.cols();
        let right = Tile::new(&self.right.values()[rows.start * k..rows.end * k], k);
        context.primitives.sparse_outer_mult_add(left, k, right, TileMut::new(sums, k));
    }
}

/// Where the non-zeros of some rows lie that belong to ranges of columns.
struct ColumnRanges {
    rows: Range<usize>,
    /// Row by row: the first position of each range, and where the last one ends.
    starts: Buffer<usize>,
    /// Ranges of a row.
    count: usize,
}

impl ColumnRanges {
    /// Ranges of `step` columns.
    fn new(context: &KernelContext<'_>, csr: &Csr, rows: Range<usize>, step: usize) -> Self {
        let count = csr.cols().div_ceil(step);
        let mut starts = Buffer::<usize>::recycled(context.buffers, rows.len() * (count + 1));
        let height = block_rows(rows.len(), average_row(csr) + count);
        for_each_block(context, &mut starts, height * (count + 1), |block, starts| {
            for (r, starts) in starts.chunks_exact_mut(count + 1).enumerate() {
                let row = rows.start + block * height + r;
                let positions = csr.row_offsets()[row]..csr.row_offsets()[row + 1];
                let mut position = positions.start;
                for (range, start) in starts[..count].iter_mut().enumerate() {
                    let first = range * step;
                    position += csr.columns()[position..positions.end].partition_point(|&j| (j as usize) < first);
                    *start = position;
                }
                starts[count] = positions.end;
            }
        });
        ColumnRanges { rows, starts, count }
    }

    /// The positions of a row in a range.
    fn positions(&self, row: usize, range: usize) -> Range<usize> {
        let start = (row - self.rows.start) * (self.count + 1) + range;
        self.starts[start]..self.starts[start + 1]
    }
}

/// A sparse matrix times a dense one.
pub(super) fn times_dense(context: &KernelContext<'_>, left: &Csr, right: &Dense) -> Dense {
    times_rows(context, left, right.values(), right.cols())
}

/// A sparse matrix times rows of so many values.
fn times_rows(context: &KernelContext<'_>, left: &Csr, right: &[f64], cols: usize) -> Dense {
    let rows = left.rows();
    let mut result = Dense::uninit_in(context.buffers, rows, cols);
    let (step, unit) = (block_rows(rows, weight_in_cells(average_row(left)) * cols), unit_rows(left));
    fill_blocks(context, &mut result, step * cols, |block, out| {
        for (number, out) in out.chunks_mut((unit * cols).max(1)).enumerate() {
            let first = block * step + number * unit;
            let tile = rows_of(left, &(first..first + out.len() / cols));
            if cols == 1 {
                context.primitives.sparse_dot_product(tile, Tile::new(right, 0), TileMut::new(out, 1));
            } else {
                let (b, out) = (Tile::new(right, cols), TileMut::new(out, cols));
                context.primitives.sparse_vect_mat_mult(tile, cols, b, out);
            }
        }
    });
    result
}

/// Rows that a primitive is given at a time, about a unit of a fused operator: it asks for the next ones while it is at these.
fn unit_rows(csr: &Csr) -> usize {
    (UNIT_CELLS / average_row(csr)).clamp(1, STEP)
}

/// Whether a dense matrix times a sparse one is sooner computed as the transpose of the product whose sparse operand comes
/// first: for each row of the dense one, the cells that are transposed are no more than the non-zeros that are gone through. A row
/// is no other matrix than its transpose.
pub(super) fn is_sooner_transposed((rows, inner): (usize, usize), right: &Csr) -> bool {
    rows == 1 || right.nnz() >= inner.saturating_add(right.cols())
}

/// A dense matrix times a sparse one, row by row.
pub(super) fn dense_times(context: &KernelContext<'_>, left: &Dense, right: &Csr) -> Dense {
    let (rows, cols) = (left.rows(), right.cols());
    let mut result = Dense::uninit_in(context.buffers, rows, cols);
    let step = block_rows(rows, cols.max(left.cols()));
    fill_blocks(context, &mut result, step * cols, |block, out| {
        for (r, out) in out.chunks_exact_mut(cols.max(1)).enumerate() {
            out.fill(0.0);
            for (k, &factor) in left.row(block * step + r).iter().enumerate() {
                if factor != 0.0 {
                    let (columns, values) = right.row(k);
                    add_scaled_at(out, factor, columns, values);
                }
            }
        }
    });
    result
}

/// The product of two sparse matrices.
pub(super) fn times_sparse(context: &KernelContext<'_>, left: &Csr, right: &Csr) -> Csr {
    if right.cols() == 1 {
        return times_sparse_column(context, left, right);
    }
    let mut starts = Buffer::recycled(context.buffers, left.nnz());
    starts.fill(0);
    row_by_row(context, &Gustavson::new(left, right, starts, false))
}

/// `t(left) %*% right` as the sum of the products of their rows, without the transpose, where [`adds_row_products`] says so.
/// With `is_upper`, where both are the same matrix, what is on and above the diagonal.
pub(super) fn sum_of_row_products(
    context: &KernelContext<'_>,
    left: &Csr,
    right: &Csr,
    is_upper: bool,
) -> Option<Dense> {
    let (n, k) = (left.cols(), right.cols());
    let cells = n.saturating_mul(k);
    let (of_left, of_right) = (SparseRows::of(left), SparseRows::of(right));
    let terms_of = |row: usize| of_left.positions(row).len() * of_right.positions(row).len();
    let terms = (0..left.rows()).fold(0_usize, |terms, row| terms.saturating_add(terms_of(row)));
    if !adds_row_products(terms, cells) {
        return None;
    }
    let count = even_blocks(terms, BLOCK_CELLS).min(MAX_PARTIALS).min(1 << (terms / cells).ilog2());
    let sums = accumulate(context, balanced_ranges(left, left.nnz().div_ceil(count), count), cells, |range, sums| {
        for start in range.clone().step_by(ROWS_OF_PRODUCTS) {
            check_stop();
            for row in start..(start + ROWS_OF_PRODUCTS).min(range.end) {
                add_row_products(sums, k, left.row(row).into(), right.row(row).into(), is_upper);
            }
        }
    });
    Some(Dense::from_buffer(n, k, sums))
}

/// The product with a sparse column, which is spread out: its rows have a value or none.
fn times_sparse_column(context: &KernelContext<'_>, left: &Csr, right: &Csr) -> Csr {
    let column = right.to_dense();
    let cost = left.nnz().div_ceil(left.rows().max(1)).max(1);
    build_csr(
        context,
        [left.rows(), 1],
        cost,
        || (),
        |i, (), result| {
            let (columns, values) = left.row(i);
            push_nonzero(result, 0, dot_nonzeros(column.values(), columns, values));
        },
    )
}

/// A product of sparse matrices by Gustavson's algorithm: each row of it is a sum of rows of the right, in the order of the
/// left's columns.
pub(super) struct Gustavson<'a> {
    left: SparseRows<'a>,
    right: SparseRows<'a>,
    /// Columns of the right, and of the product.
    cols: usize,
    /// For each non-zero of the left, the position in the row of the right from which on it counts.
    starts: Buffer<u32>,
    /// Whether rows begin at the diagonal.
    is_upper: bool,
}

impl<'a> Gustavson<'a> {
    fn new(left: &'a Csr, right: &'a Csr, starts: Buffer<u32>, is_upper: bool) -> Self {
        Gustavson { left: SparseRows::of(left), right: SparseRows::of(right), cols: right.cols(), starts, is_upper }
    }

    /// The upper triangle of the product of a matrix and its transpose, either way round.
    ///
    /// Row `k` of the right has a position for each row of the left that has column `k`, in their order: the first one is
    /// that of the first such row, and so on.
    pub(super) fn upper_triangle(context: &KernelContext<'_>, left: &'a Csr, right: &'a Csr) -> Self {
        let mut next = Buffer::<u32>::recycled(context.buffers, right.rows());
        next.fill(0);
        let mut starts = Buffer::<u32>::recycled(context.buffers, left.nnz());
        for (start, &k) in starts.iter_mut().zip(left.columns()) {
            *start = next[k as usize];
            next[k as usize] += 1;
        }
        Gustavson::new(left, right, starts, true)
    }

    /// The first column of a row that is computed.
    fn first_column(&self, row: usize) -> usize {
        if self.is_upper { row } else { 0 }
    }

    /// The multiply-adds of a row.
    fn terms(&self, row: usize) -> usize {
        let positions = self.left.positions(row);
        let columns = &self.left.columns[positions.clone()];
        let length = |(&column, &start): (&u32, &u32)| self.right.positions(column as usize).len() - start as usize;
        columns.iter().zip(&self.starts[positions]).map(length).sum()
    }

    /// Adds all terms of a row to the sums of its columns.
    fn add_row(&self, row: usize, sums: &mut [f64]) {
        let positions = self.left.positions(row);
        let (rows, factors) = (&self.left.columns[positions.clone()], &self.left.values[positions.clone()]);
        add_scaled_rows_at(sums, factors, rows, &self.starts[positions], &self.right);
    }

    /// The non-zeros that are expected, where terms fall into columns independently of each other.
    pub(super) fn expected_non_zeros(&self) -> f64 {
        let of_row = |row: usize| {
            let room = (self.cols - self.first_column(row)) as f64;
            room * -math::expm1(-(self.terms(row) as f64) / room.max(1.0))
        };
        (0..self.left.len()).map(of_row).sum()
    }

    /// The product as a dense matrix; of an upper triangle, with zeros below it.
    pub(super) fn dense(&self, context: &KernelContext<'_>) -> Dense {
        let (rows, cols) = (self.left.len(), self.cols);
        let mut result = Dense::uninit_in(context.buffers, rows, cols);
        let step = block_rows(rows, cols);
        fill_blocks(context, &mut result, step * cols, |block, out| {
            for (r, out) in out.chunks_exact_mut(cols).enumerate() {
                out.fill(0.0);
                self.add_row(block * step + r, out);
            }
        });
        result
    }

    /// Multiply-adds of a row, on average.
    fn cost(&self) -> usize {
        let per_row = [self.left, self.right].map(|rows| rows.columns.len().div_ceil(rows.len().max(1)));
        (per_row[0] * per_row[1]).max(1)
    }
}

/// Columns for each term of a row below which all of them are looked through for its non-zeros.
const COLUMNS_OF_TERM: usize = 8;

/// A product row by row.
pub(super) fn row_by_row(context: &KernelContext<'_>, product: &Gustavson<'_>) -> Csr {
    let Gustavson { left, right, cols, .. } = *product;
    let scratch = || Accumulator::new(cols);
    build_csr(context, [left.len(), cols], product.cost(), scratch, |i, row, result| {
        let positions = left.positions(i);
        if positions.is_empty() {
            return;
        }
        let first = product.first_column(i);
        if product.terms(i) * COLUMNS_OF_TERM >= cols - first {
            product.add_row(i, &mut row.cells);
            row.drain_all_into(first, result);
            return;
        }
        for (position, &start) in positions.clone().zip(&product.starts[positions]) {
            let of_right = right.positions(left.columns[position] as usize);
            let counted = of_right.start + start as usize..of_right.end;
            row.add(left.values[position], &right.columns[counted.clone()], &right.values[counted]);
        }
        row.drain_into(result);
    })
}

/// A row of a product under construction: zeros and no columns between rows.
struct Accumulator {
    cells: Vec<f64>,
    touched: ColumnSet,
}

impl Accumulator {
    fn new(cols: usize) -> Self {
        Accumulator { cells: vec![0.0; cols], touched: ColumnSet::of_width(cols) }
    }

    /// Adds `factor` times a row.
    fn add(&mut self, factor: f64, columns: &[u32], values: &[f64]) {
        add_scaled_at(&mut self.cells, factor, columns, values);
        columns.iter().for_each(|&column| self.touched.insert(column));
    }

    /// Moves all sums from a column on, before which there are none, whether columns were noted or not.
    fn drain_all_into(&mut self, first: usize, result: &mut CsrRows) {
        for (j, cell) in self.cells.iter_mut().enumerate().skip(first) {
            push_nonzero(result, j as u32, std::mem::take(cell));
        }
    }

    fn drain_into(&mut self, result: &mut CsrRows) {
        let cells = &mut self.cells;
        self.touched.drain(|j| push_nonzero(result, j, std::mem::take(&mut cells[j as usize])));
    }
}

/// Columns of a row, a bit for each: they are found in their order without sorting, and where there are none at once.
struct ColumnSet {
    /// By 64 columns.
    words: Vec<u64>,
    /// By 64 words: those that are not zero.
    of_words: Vec<u64>,
}

impl ColumnSet {
    /// No columns, of so many.
    fn of_width(cols: usize) -> Self {
        let words = cols.div_ceil(64);
        ColumnSet { words: vec![0; words], of_words: vec![0; words.div_ceil(64)] }
    }

    #[inline]
    fn insert(&mut self, column: u32) {
        let word = column as usize / 64;
        self.words[word] |= 1 << (column % 64);
        self.of_words[word / 64] |= 1 << (word % 64);
    }

    /// Takes all columns, in their order.
    fn drain(&mut self, mut take: impl FnMut(u32)) {
        for (group, of_words) in self.of_words.iter_mut().enumerate() {
            for word in ones(std::mem::take(of_words)) {
                let word = group * 64 + word;
                let columns = ones(std::mem::take(&mut self.words[word]));
                columns.for_each(|column| take((word * 64 + column) as u32));
            }
        }
    }
}

/// The places of the ones among these bits.
fn ones(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = (bits != 0).then_some(bits.trailing_zeros() as usize);
        bits &= bits.wrapping_sub(1);
        place
    })
}
