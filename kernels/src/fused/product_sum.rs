//! Sums of products of two or three matrices, cell by cell, without the products' matrices.

use super::{FusedValue, check};
use crate::blocks::{
    BLOCK_CELLS, MAX_PARTIALS, balanced_within, map_parts, map_parts_with, partial_ranges, ranges_within, rows_of,
    sum_strips,
};
use crate::elementwise::{RowReader, zeros_stay};
use crate::product::accumulate;
use crate::{KernelContext, KernelError, Operand};
use fuseline_ir::ops::{AggOp, BinaryOp, Direction};
use fuseline_ir::schedule::Strips;
use fuseline_ir::work::{CELL_BYTES, csr_row_bytes};
use fuseline_matrix::run_context::check_stop;
use fuseline_matrix::{Buffer, Csr, Dense, Layout, MatrixBlock, strips};
use fuseline_vecprims::{CsrTile, Form, Primitives, Tile, TileMut};
use std::borrow::Cow;
use std::ops::Range;

/// Cells of a product that stay in the first level of cache.
const TILE: usize = 2048;

/// Cells of rows that stay in the second level of cache; sums of columns are read and written once for them.
const ROWS_TILE: usize = 1 << 14;

/// The sum of the product of matrices of one size: of all cells, or down each column (1 x n).
///
/// # Errors
/// The sizes differ.
pub(super) fn product_sum(
    context: &KernelContext<'_>,
    direction: Direction,
    factors: &[&MatrixBlock],
) -> Result<FusedValue, KernelError> {
    for factor in factors {
        check("tak+*", factors[0], factor, factors[0].dims() == factor.dims(), "equal sizes")?;
    }
    if let Some((driver, others)) = sparse_driver(context, factors) {
        return Ok(match direction {
            Direction::Col => row_of(sparse_columns(context, &driver, &others)),
            _ => FusedValue::Scalar(sparse_full(context, &driver, &others)),
        });
    }
    let dense: Vec<_> = factors.iter().map(|factor| factor.to_dense()).collect();
    let dense: Vec<&Dense> = dense.iter().map(AsRef::as_ref).collect();
    Ok(match direction {
        Direction::Col => row_of(dense_columns(context, &dense)),
        _ => FusedValue::Scalar(dense_full(context, &dense)),
    })
}

fn row_of(sums: Buffer) -> FusedValue {
    FusedValue::Matrix(Dense::from_buffer(1, sums.len(), sums).into())
}

/// Multiplies runs of factors until two are left, in `scratch`, and hands these to `last`.
fn with_last_two<R>(
    primitives: &Primitives,
    runs: &[&[f64]],
    scratch: &mut [f64],
    last: impl FnOnce(&[f64], &[f64]) -> R,
) -> R {
    match *runs {
        [x, y] => last(x, y),
        [x, y, z] => {
            multiply(primitives, x, y, scratch);
            last(scratch, z)
        }
        _ => unreachable!("two or three factors"),
    }
}

fn multiply(primitives: &Primitives, x: &[f64], y: &[f64], out: &mut [f64]) {
    let len = out.len();
    let (x, y) = (Tile::new(x, len), Tile::new(y, len));
    primitives.binary(BinaryOp::Mult, Form::VectVect, 1, len, x, y, TileMut::new(out, len));
}

fn dot(primitives: &Primitives, x: &[f64], y: &[f64]) -> f64 {
    let (mut result, len) = ([0.0], x.len());
    primitives.dot_product(1, len, Tile::new(x, len), Tile::new(y, len), TileMut::new(&mut result, 1));
    result[0]
}

fn dense_full(context: &KernelContext<'_>, factors: &[&Dense]) -> f64 {
    let (rows, cols) = (factors[0].rows(), factors[0].cols());
    let strips = Strips::new(rows, cols as u64 * CELL_BYTES, context.strip_bytes, 1);
    strips::reduce(context.pool, strips, |rows| dense_strip(context, factors, rows), |left, right| left + right)
}

/// The sum over some rows.
fn dense_strip(context: &KernelContext<'_>, factors: &[&Dense], rows: Range<usize>) -> f64 {
    let cols = factors[0].cols();
    let blocks = ranges_within(rows.start * cols..rows.end * cols, BLOCK_CELLS);
    let partials = map_parts(context, blocks, |block| dense_block(context.primitives, factors, block));
    partials.into_iter().fold(0.0, |sum, partial| sum + partial)
}

/// The sum over a block of cells.
fn dense_block(primitives: &Primitives, factors: &[&Dense], block: Range<usize>) -> f64 {
    let (start, end) = (block.start, block.end);
    let step = if factors.len() == 2 { BLOCK_CELLS } else { TILE };
    let mut scratch = [0.0; TILE];
    let mut sum = 0.0;
    for first in (start..end).step_by(step) {
        let run = first..(first + step).min(end);
        let mut runs = [[].as_slice(); 3];
        for (slot, factor) in runs.iter_mut().zip(factors) {
            *slot = &factor.values()[run.clone()];
        }
        let scratch = &mut scratch[..run.len().min(TILE)];
        sum += with_last_two(primitives, &runs[..factors.len()], scratch, |x, y| dot(primitives, x, y));
    }
    sum
}

fn dense_columns(context: &KernelContext<'_>, factors: &[&Dense]) -> Buffer {
    let (rows, cols) = (factors[0].rows(), factors[0].cols());
    sum_strips(context, rows, cols as u64 * CELL_BYTES, cols, |rows| {
        accumulate(context, partial_ranges(rows, cols), cols, |rows, sums| {
            add_dense_columns(context.primitives, factors, rows, sums);
        })
    })
}

/// Adds the products in some rows to sums of the columns.
fn add_dense_columns(primitives: &Primitives, factors: &[&Dense], rows: Range<usize>, sums: &mut [f64]) {
    let cols = factors[0].cols();
    let tile_rows = (ROWS_TILE / cols.max(1)).max(1);
    let (mut pair, mut products) = (vec![0.0; tile_rows * cols], vec![0.0; tile_rows * cols]);
    for start in rows.clone().step_by(tile_rows) {
        check_stop();
        let end = (start + tile_rows).min(rows.end);
        let runs: Vec<&[f64]> = factors.iter().map(|factor| &factor.values()[start * cols..end * cols]).collect();
        let (pair, products) = (&mut pair[..runs[0].len()], &mut products[..runs[0].len()]);
        with_last_two(primitives, &runs, pair, |x, y| multiply(primitives, x, y, products));
        primitives.col_agg(AggOp::Sum, end - start, cols, Tile::new(products, cols), sums);
    }
}

/// The sparse factor with the fewest non-zeros whose zeros annihilate the others, and these.
fn sparse_driver<'a>(
    context: &KernelContext<'_>,
    factors: &[&'a MatrixBlock],
) -> Option<(Cow<'a, Csr>, Vec<Factor<'a>>)> {
    let sparse = factors.iter().enumerate().filter_map(|(position, factor)| {
        let csr = factor.layout().sparse()?;
        Some((csr.nnz(), position, csr))
    });
    let (_, position, driver) = sparse.min_by_key(|&(nnz, position, _)| (nnz, position))?;
    let others = factors.iter().enumerate().filter(|(other, _)| *other != position).map(|(_, factor)| *factor);
    let is_annihilated = |factor: &MatrixBlock| zeros_stay(context, BinaryOp::Mult, true, Operand::Matrix(factor));
    let of_driver = |factor| Factor::beside(factors[position], factor);
    others.clone().all(is_annihilated).then(|| (driver, others.map(of_driver).collect()))
}

/// A factor besides the driver.
enum Factor<'a> {
    /// The driver once more.
    Driver,
    /// Another matrix.
    Other(Layout<'a>),
}

impl<'a> Factor<'a> {
    fn beside(driver: &MatrixBlock, factor: &'a MatrixBlock) -> Factor<'a> {
        if factor.is_same(driver) { Factor::Driver } else { Factor::Other(factor.layout()) }
    }

    /// What reads the cells of another matrix than the driver, of the same dimensions.
    fn reader(&self, dims: (usize, usize)) -> Option<RowReader<'_>> {
        match self {
            Factor::Driver => None,
            Factor::Other(matrix) => Some(RowReader::new(matrix.borrowed(), dims)),
        }
    }
}

/// Reads the factors at the non-zeros of the driver, some rows at a time.
struct Gather<'a> {
    driver: &'a Csr,
    others: Vec<Option<RowReader<'a>>>,
    cells: [Vec<f64>; 2],
    products: Vec<f64>,
}

impl<'a> Gather<'a> {
    fn new(driver: &'a Csr, others: &'a [Factor<'_>]) -> Self {
        let dims = (driver.rows(), driver.cols());
        Gather {
            driver,
            others: others.iter().map(|other| other.reader(dims)).collect(),
            cells: [const { Vec::new() }; 2],
            products: Vec::new(),
        }
    }

    /// Hands on the last two factors of the non-zeros of these rows, and them.
    fn rows<R>(
        &mut self,
        primitives: &Primitives,
        rows: Range<usize>,
        last: impl FnOnce(CsrTile<'_>, &[f64], &[f64]) -> R,
    ) -> R {
        let tile = rows_of(self.driver, &rows);
        for (reader, cells) in self.others.iter_mut().zip(&mut self.cells) {
            cells.clear();
            if let Some(reader) = reader {
                rows.clone().for_each(|i| reader.gather(i, self.driver.row(i).0, cells));
            }
        }
        let mut runs = [tile.values; 3];
        for (run, (reader, cells)) in runs[1..].iter_mut().zip(self.others.iter().zip(&self.cells)) {
            if reader.is_some() {
                *run = cells;
            }
        }
        self.products.resize(tile.values.len(), 0.0);
        with_last_two(primitives, &runs[..=self.others.len()], &mut self.products, |x, y| last(tile, x, y))
    }
}

/// Rows of a tile of some rows, given their non-zeros.
fn rows_per_tile(driver: &Csr, rows: &Range<usize>) -> usize {
    let non_zeros = driver.row_offsets()[rows.end] - driver.row_offsets()[rows.start];
    (TILE / (non_zeros.checked_div(rows.len()).unwrap_or(0) + 1)).max(1)
}

fn sparse_full(context: &KernelContext<'_>, driver: &Csr, others: &[Factor<'_>]) -> f64 {
    let row_bytes = csr_row_bytes(driver.rows() as u64, driver.nnz() as u64);
    let strips = Strips::new(driver.rows(), row_bytes, context.strip_bytes, 1);
    let of_strip = |rows| sparse_strip(context, driver, others, rows);
    strips::reduce(context.pool, strips, of_strip, |left, right| left + right)
}

/// The sum over some rows.
fn sparse_strip(context: &KernelContext<'_>, driver: &Csr, others: &[Factor<'_>], rows: Range<usize>) -> f64 {
    let tile_rows = rows_per_tile(driver, &rows);
    let ranges = balanced_within(driver, rows, BLOCK_CELLS, usize::MAX);
    let partials = map_parts_with(
        context,
        ranges,
        || Gather::new(driver, others),
        |gather, range| {
            let tiles = ranges_within(range, tile_rows).into_iter();
            tiles.fold(0.0, |sum, tile| {
                sum + gather.rows(context.primitives, tile, |_, x, y| dot(context.primitives, x, y))
            })
        },
    );
    partials.into_iter().fold(0.0, |sum, partial| sum + partial)
}

fn sparse_columns(context: &KernelContext<'_>, driver: &Csr, others: &[Factor<'_>]) -> Buffer {
    let cols = driver.cols();
    sum_strips(context, driver.rows(), csr_row_bytes(driver.rows() as u64, driver.nnz() as u64), cols, |rows| {
        let ranges = balanced_within(driver, rows, BLOCK_CELLS.max(cols), MAX_PARTIALS);
        accumulate(context, ranges, cols, |rows, sums| {
            add_sparse_columns(context.primitives, driver, others, rows, sums);
        })
    })
}

/// Adds the products at the non-zeros of some rows to sums of the columns.
fn add_sparse_columns(
    primitives: &Primitives,
    driver: &Csr,
    others: &[Factor<'_>],
    rows: Range<usize>,
    sums: &mut [f64],
) {
    let tile_rows = rows_per_tile(driver, &(0..driver.rows()));
    let (mut gather, mut values) = (Gather::new(driver, others), Vec::new());
    for start in rows.clone().step_by(tile_rows) {
        check_stop();
        gather.rows(primitives, start..(start + tile_rows).min(rows.end), |tile, x, y| {
            values.resize(x.len(), 0.0);
            multiply(primitives, x, y, &mut values);
            primitives.sparse_col_agg(AggOp::Sum, CsrTile { values: &values, ..tile }, sums);
        });
    }
}
