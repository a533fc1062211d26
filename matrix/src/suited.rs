//! Results whose format the number of their non-zeros decides, which is known once all are computed. A block of rows that has few
//! is stored without its zeros while its cells are in a cache, any other is written where it belongs among all cells: what is
//! sparse in the end takes neither memory nor time for all of them.

use crate::nonzero_bits::NonzeroBits;
use crate::shared::{each, split};
use crate::{BufferPool, Dense, MatrixBlock, StoredRows};
use std::sync::Arc;

/// A block of rows of such a result.
#[derive(Debug)]
pub struct SuitedRows {
    rows: usize,
    non_zeros: usize,
    /// The non-zeros, where they are few.
    stored: Option<StoredRows>,
}

impl SuitedRows {
    /// The rows with these cells, which `write` puts where they belong among all cells if not few of them are non-zeros.
    pub fn new(pool: &Arc<BufferPool>, cols: usize, cells: &[f64], write: impl FnOnce(&[f64])) -> Self {
        let bits = NonzeroBits::of(cells);
        let suited = SuitedRows::of(pool, cols, cells, bits.count(), || bits);
        if !suited.are_few() {
            write(cells);
        }
        suited
    }

    /// The rows with these cells, so many of them non-zeros, which lie where they belong among all cells.
    pub fn in_place(pool: &Arc<BufferPool>, cols: usize, cells: &[f64], non_zeros: usize) -> Self {
        SuitedRows::of(pool, cols, cells, non_zeros, || NonzeroBits::of(cells))
    }

    fn of(
        pool: &Arc<BufferPool>,
        cols: usize,
        cells: &[f64],
        non_zeros: usize,
        bits: impl FnOnce() -> NonzeroBits,
    ) -> Self {
        let rows = cells.len() / cols.max(1);
        let stored = is_sparse(rows, cols, non_zeros).then(|| StoredRows::of_cells(pool, cols, cells, &bits()));
        SuitedRows { rows, non_zeros, stored }
    }

    /// Whether few of the cells are non-zeros, so that these are stored alone.
    pub fn are_few(&self) -> bool {
        self.stored.is_some()
    }

    /// The matrix of these blocks below each other, in the format that suits it; cells that were written lie in `dense`, as large
    /// as the result, which notes whether any of the blocks has NaN. Inside of a rayon pool, its threads put it together.
    pub fn put_together(pool: &Arc<BufferPool>, mut dense: Dense, mut blocks: Vec<SuitedRows>) -> MatrixBlock {
        let (rows, cols, is_nan_free) = (dense.rows(), dense.cols(), dense.is_nan_free());
        let is_sparse = is_sparse(rows, cols, blocks.iter().map(|block| block.non_zeros).sum());
        let places = split(dense.values_mut(), blocks.iter().map(|block| block.rows * cols));
        let differ = blocks.iter_mut().zip(places).filter(|(block, _)| block.stored.is_some() != is_sparse);
        each(differ.collect(), |(block, (_, cells)): (&mut SuitedRows, (usize, &mut [f64]))| match &block.stored {
            Some(stored) => stored.write_cells(cols, cells),
            None => block.stored = Some(StoredRows::of_cells(pool, cols, cells, &NonzeroBits::of(cells))),
        });
        if !is_sparse {
            dense.set_nan_free(is_nan_free);
            return dense.into();
        }
        let stored: Vec<StoredRows> = blocks.into_iter().filter_map(|block| block.stored).collect();
        StoredRows::put_together(pool, cols, &stored).into()
    }
}

/// Whether a sparse format suits so many non-zeros.
fn is_sparse(rows: usize, cols: usize, non_zeros: usize) -> bool {
    u32::try_from(cols).is_ok() && MatrixBlock::best_format(rows, cols, non_zeros).is_sparse()
}
