//! Matrices made of blocks of rows, each by a random generator of its own.
//!
//! Where blocks begin follows from the shape alone, and a block's generator from the seed, the purpose and the block's
//! number: the result does not depend on the number of threads.

use fuseline_matrix::{Csr, CsrRows, Dense};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use rayon::prelude::*;
use std::ops::Range;

/// Cells or non-zeros that a block has at least, but for the last one.
const BLOCK: usize = 1 << 16;

/// What random numbers are drawn for; different purposes share none.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    /// Rows and their labels.
    Rows,
    /// What all rows have in common: weights, centres, popularity.
    Model,
    /// The order of columns.
    Columns,
}

/// The generator of a block.
pub(super) fn generator(seed: u64, purpose: Purpose, block: usize) -> Pcg64Mcg {
    let place = (purpose as u64) << 56 | block as u64;
    Pcg64Mcg::seed_from_u64(seed ^ place.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// A dense matrix and a label for each row. `fill` gets the generator, the rows, and their cells and labels, all zero.
pub(super) fn dense(
    rows: usize,
    cols: usize,
    seed: u64,
    fill: impl Fn(&mut Pcg64Mcg, Range<usize>, &mut [f64], &mut [f64]) + Sync,
) -> (Dense, Dense) {
    let (mut matrix, mut labels) = (Dense::zeros(rows, cols), Dense::zeros(rows, 1));
    let step = block_rows(cols);
    let cells = matrix.values_mut().par_chunks_mut(step * cols);
    cells.zip(labels.values_mut().par_chunks_mut(step)).enumerate().for_each(|(block, (cells, labels))| {
        let first_row = block * step;
        fill(&mut generator(seed, Purpose::Rows, block), first_row..first_row + labels.len(), cells, labels);
    });
    (matrix, labels)
}

/// A sparse matrix, of rows with about this many non-zeros, and a label for each row. `fill` appends to the block what
/// it makes of the rows.
pub(super) fn sparse(
    rows: usize,
    cols: usize,
    row_nonzeros: f64,
    seed: u64,
    fill: impl Fn(&mut Pcg64Mcg, Range<usize>, &mut CsrRows, &mut [f64]) + Sync,
) -> (Csr, Dense) {
    let mut labels = Dense::zeros(rows, 1);
    let step = block_rows(row_nonzeros.ceil() as usize);
    let fill_block = |(block, labels): (usize, &mut [f64])| {
        let first_row = block * step;
        let expected = (labels.len() as f64 * row_nonzeros) as usize;
        let mut rows = CsrRows::with_capacity(labels.len(), expected);
        fill(&mut generator(seed, Purpose::Rows, block), first_row..first_row + labels.len(), &mut rows, labels);
        rows
    };
    let blocks: Vec<CsrRows> = labels.values_mut().par_chunks_mut(step).enumerate().map(fill_block).collect();
    (Csr::from_blocks(cols, &blocks), labels)
}

/// Appends the non-zeros of a row of cells.
pub(super) fn push_row(cells: &[f64], rows: &mut CsrRows) {
    let start = rows.values.len();
    for (column, &value) in cells.iter().enumerate().filter(|(_, value)| **value != 0.0) {
        rows.columns.push(column as u32);
        rows.values.push(value);
    }
    rows.lengths.push(rows.values.len() - start);
}

fn block_rows(row_values: usize) -> usize {
    (BLOCK / row_values.max(1)).max(1)
}
