//! The cells of `P = U %*% t(V)` that a driver needs, block by block.

use super::cells::Cells;
use super::check;
use crate::blocks::{BLOCK_CELLS, MAX_PARTIALS, balanced_within, partial_ranges, ranges_within, rows_of};
use crate::elementwise::RowReader;
use crate::gemm::{Output, Strided, gemm_into};
use crate::{KernelContext, KernelError};
use fuseline_ir::schedule::product::Extents;
use fuseline_matrix::run_context::check_stop;
use fuseline_matrix::{Csr, Dense, Layout, MatrixBlock};
use fuseline_vecprims::{CsrTile, Tile};
use std::borrow::Cow;
use std::ops::Range;

/// Columns of a tile, whose rows are so many that a tile stays in the second level of cache.
const TILE_COLS: usize = 512;

/// Cells that steps run over while they stay in the first level of cache.
const PIECE: usize = 2048;

/// A product of two factors and the matrices of its size that it meets.
#[derive(Debug)]
pub(super) struct Tiles<'a> {
    pub(super) context: &'a KernelContext<'a>,
    /// Says which cells are visited.
    pub(super) driver: Layout<'a>,
    /// Read at the same cells.
    pub(super) other: Option<Layout<'a>>,
    /// m x k.
    pub(super) u: Cow<'a, Dense>,
    /// n x k.
    pub(super) v: Cow<'a, Dense>,
    /// Whether only the non-zeros of the driver are visited.
    by_non_zeros: bool,
}

/// The results of cells that were computed together.
#[derive(Debug)]
pub(super) enum Block<'a> {
    /// A tile, row after row.
    Dense { rows: Range<usize>, cols: Range<usize>, values: &'a [f64] },
    /// The non-zeros of some rows of the driver.
    Sparse { rows: Range<usize>, tile: CsrTile<'a> },
}

/// Memory that blocks share.
#[derive(Debug)]
pub(super) struct Scratch<'a> {
    products: Vec<f64>,
    back: Vec<f64>,
    driver: Vec<f64>,
    other: Vec<f64>,
    reader: Option<RowReader<'a>>,
}

impl<'a> Tiles<'a> {
    /// # Errors
    /// The driver and the other matrix do not have the size of the product, or the factors do not fit.
    pub(super) fn new(
        context: &'a KernelContext<'a>,
        driver: &'a MatrixBlock,
        other: Option<&'a MatrixBlock>,
        u: &'a MatrixBlock,
        v: &'a MatrixBlock,
        may_skip_zeros: bool,
    ) -> Result<Self, KernelError> {
        let operation = "a weighted product";
        check(operation, u, v, u.cols() == v.cols(), "both factors have a column for each rank")?;
        let dims = (u.rows(), v.rows());
        for weight in other.into_iter().chain([driver]) {
            check(operation, weight, u, weight.dims() == dims, "the weights have the size of the factors' product")?;
        }
        let by_non_zeros = may_skip_zeros && driver.format().is_sparse();
        let (driver, other) = (driver.layout(), other.map(MatrixBlock::layout));
        Ok(Tiles { context, driver, other, u: u.to_dense(), v: v.to_dense(), by_non_zeros })
    }

    /// The driver where only its non-zeros are visited.
    pub(super) fn pattern(&self) -> Option<&Csr> {
        match &self.driver {
            Layout::Sparse(csr) if self.by_non_zeros => Some(csr),
            _ => None,
        }
    }

    /// Rows, columns and rank of the product.
    pub(super) fn extents(&self) -> Extents {
        Extents { rows: self.u.rows(), inner: self.u.cols(), cols: self.v.rows() }
    }

    /// Rows among these that threads take at once.
    pub(super) fn blocks(&self, rows: Range<usize>) -> Vec<Range<usize>> {
        if let Some(csr) = self.pattern() {
            return balanced_within(csr, rows, BLOCK_CELLS / self.extents().inner.max(1), usize::MAX);
        }
        let step = self.tile_rows().min(rows.len().div_ceil(MAX_PARTIALS).max(8));
        ranges_within(rows, step)
    }

    /// Rows among these of which each thread adds up a private result of n x k: only as many as the work pays for.
    pub(super) fn private_blocks(&self, rows: Range<usize>) -> Vec<Range<usize>> {
        let Extents { inner, cols, .. } = self.extents();
        match self.pattern() {
            Some(csr) => balanced_within(csr, rows, cols.max(BLOCK_CELLS / inner.max(1)), MAX_PARTIALS),
            None => partial_ranges(rows, cols * inner.max(1)),
        }
    }

    fn tile_rows(&self) -> usize {
        BLOCK_CELLS / self.v.rows().clamp(1, TILE_COLS)
    }

    pub(super) fn scratch(&self) -> Scratch<'_> {
        let dims = self.driver.dims();
        let reader = self.other.as_ref().filter(|_| self.by_non_zeros);
        Scratch {
            products: Vec::new(),
            back: Vec::new(),
            driver: Vec::new(),
            other: Vec::new(),
            reader: reader.map(|other| RowReader::new(other.borrowed(), dims)),
        }
    }

    /// Takes the cells of some rows through `evaluate`, which may sum something, and hands on the results with the sum,
    /// block by block.
    pub(super) fn for_each(
        &self,
        rows: Range<usize>,
        scratch: &mut Scratch<'_>,
        evaluate: &dyn Fn(&mut Cells<'_>) -> f64,
        consume: &mut dyn FnMut(Block<'_>, f64),
    ) {
        if let Some(csr) = self.pattern() {
            let average = csr.nnz().checked_div(csr.rows()).unwrap_or(0) + 1;
            let step = (PIECE / average).max(1);
            for start in rows.clone().step_by(step) {
                check_stop();
                self.non_zeros(csr, start..(start + step).min(rows.end), scratch, evaluate, consume);
            }
            return;
        }
        let cols = self.v.rows();
        for top in rows.clone().step_by(self.tile_rows()) {
            let tile_rows = top..(top + self.tile_rows()).min(rows.end);
            for left in (0..cols).step_by(TILE_COLS) {
                check_stop();
                let tile_cols = left..(left + TILE_COLS).min(cols);
                self.tile(tile_rows.clone(), tile_cols, scratch, evaluate, consume);
            }
        }
    }

    fn non_zeros(
        &self,
        csr: &Csr,
        rows: Range<usize>,
        scratch: &mut Scratch<'_>,
        evaluate: &dyn Fn(&mut Cells<'_>) -> f64,
        consume: &mut dyn FnMut(Block<'_>, f64),
    ) {
        let (tile, rank, primitives) = (rows_of(csr, &rows), self.u.cols(), self.context.primitives);
        let len = tile.values.len();
        let Scratch { products, back, other, reader, .. } = scratch;
        products.resize(len, 0.0);
        back.resize(len, 0.0);
        other.clear();
        if let Some(reader) = reader {
            rows.clone().for_each(|i| reader.gather(i, csr.row(i).0, other));
        }
        let u = Tile::new(&self.u.values()[rows.start * rank..rows.end * rank], rank);
        let v = Tile::new(self.v.values(), rank);
        primitives.sampled_product(tile.row_offsets, tile.columns, rank, u, v, products);
        let (driver, other) = (Tile::new(tile.values, len), Tile::new(other, len));
        let mut cells = Cells { primitives, rows: 1, len, driver, other, front: products, back, is_swapped: false };
        let sum = evaluate(&mut cells);
        cells.finish();
        consume(Block::Sparse { rows, tile: CsrTile { values: products, ..tile } }, sum);
    }

    fn tile(
        &self,
        rows: Range<usize>,
        cols: Range<usize>,
        scratch: &mut Scratch<'_>,
        evaluate: &dyn Fn(&mut Cells<'_>) -> f64,
        consume: &mut dyn FnMut(Block<'_>, f64),
    ) {
        let (len, primitives) = (cols.len(), self.context.primitives);
        let Scratch { products, back, driver, other, .. } = scratch;
        products.resize(rows.len() * len, 0.0);
        let (u, v) = (Strided::of(&self.u), Strided::of(&self.v).transposed());
        let extents = Extents { rows: rows.len(), inner: self.u.cols(), cols: len };
        let (left, right) = (u.starting_at(rows.start, 0), v.starting_at(0, cols.start));
        gemm_into(primitives, Output::new(products, len), extents, left, right);
        let driver = cells_of(&self.driver, &rows, &cols, driver);
        let other = self.other.as_ref().map_or(Tile::new(&[], 0), |matrix| cells_of(matrix, &rows, &cols, other));
        let step = (PIECE / len).max(1);
        back.resize(step * len, 0.0);
        let mut sum = 0.0;
        for (piece, front) in products.chunks_mut(step * len).enumerate() {
            let from = |tile: Tile<'_>| piece * step * tile.row_stride;
            let driver = Tile::new(&driver.values[from(driver)..], driver.row_stride);
            let other = Tile::new(&other.values[from(other)..], other.row_stride);
            let (rows, back) = (front.len() / len, &mut back[..front.len()]);
            let mut cells = Cells { primitives, rows, len, driver, other, front, back, is_swapped: false };
            sum += evaluate(&mut cells);
            cells.finish();
        }
        consume(Block::Dense { rows, cols, values: products }, sum);
    }
}

/// The cells of a part of a matrix; those of a sparse one are filled in.
fn cells_of<'s>(
    matrix: &'s Layout<'_>,
    rows: &Range<usize>,
    cols: &Range<usize>,
    filled: &'s mut Vec<f64>,
) -> Tile<'s> {
    match matrix {
        Layout::Dense(dense) => Tile::new(&dense.values()[rows.start * dense.cols() + cols.start..], dense.cols()),
        Layout::Sparse(csr) => {
            filled.clear();
            filled.resize(rows.len() * cols.len(), 0.0);
            for (row, out) in rows.clone().zip(filled.chunks_exact_mut(cols.len())) {
                let (columns, values) = csr.row(row);
                let first = columns.partition_point(|&j| (j as usize) < cols.start);
                let cells = columns[first..].iter().zip(&values[first..]);
                for (&j, &value) in cells.take_while(|(j, _)| (**j as usize) < cols.end) {
                    out[j as usize - cols.start] = value;
                }
            }
            Tile::new(filled, cols.len())
        }
    }
}
