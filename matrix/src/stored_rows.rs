//! Rows of a sparse result, block by block: each block has room for the most non-zeros that its rows may have, in memory of a
//! pool, and the matrix is put together of what there is.

use crate::nonzero_bits::{NonzeroBits, count_nonzeros_of_rows};
use crate::{Buffer, BufferPool, Csr, SparseRow};
use fuseline_vecprims::{Isa, primitives};
use std::sync::Arc;

/// Cells among which one non-zero is picked sooner than registers are compressed. Set on one machine.
const CELLS_OF_FEW: usize = 16;

/// The rows of a block, which are stored one behind the other.
#[derive(Debug)]
pub struct StoredRows {
    /// Non-zeros of each row.
    lengths: Vec<usize>,
    columns: Buffer<u32>,
    values: Buffer,
    /// The non-zeros of all rows so far.
    count: usize,
}

impl StoredRows {
    /// So many rows, all of them empty, with room for so many non-zeros.
    pub fn new(pool: &Arc<BufferPool>, rows: usize, most: usize) -> Self {
        StoredRows {
            lengths: vec![0; rows],
            columns: Buffer::recycled(pool, most),
            values: BufferPool::take(pool, most),
            count: 0,
        }
    }

    /// The non-zeros of rows of so many cells, given which cells are not zero.
    pub(crate) fn of_cells(pool: &Arc<BufferPool>, cols: usize, cells: &[f64], bits: &NonzeroBits) -> Self {
        let (rows, non_zeros) = (cells.chunks_exact(cols.max(1)), bits.count());
        let mut stored = StoredRows::new(pool, rows.len(), non_zeros);
        if non_zeros.saturating_mul(CELLS_OF_FEW) <= cells.len() {
            stored.pick(cols, cells, bits);
            return stored;
        }
        let (primitives, columns, values) =
            (primitives(Isa::detect()), &mut stored.columns[..], &mut stored.values[..]);
        let mut kept = 0;
        for (row, length) in rows.zip(&mut stored.lengths) {
            *length = primitives.compress(row, &mut columns[kept..], &mut values[kept..]);
            kept += *length;
        }
        stored.count = kept;
        stored
    }

    /// Stores in empty rows of so many cells those that are not zero, one by one.
    fn pick(&mut self, cols: usize, cells: &[f64], bits: &NonzeroBits) {
        let (columns, values) = (&mut self.columns[..], &mut self.values[..]);
        let (mut row, mut first, mut count) = (0, 0, 0);
        bits.for_each(|position| {
            while position - first >= cols {
                (row, first) = (row + 1, first + cols);
            }
            (columns[count], values[count]) = ((position - first) as u32, cells[position]);
            self.lengths[row] += 1;
            count += 1;
        });
        self.count = count;
    }

    /// All cells of the rows, of so many columns.
    pub(crate) fn write_cells(&self, cols: usize, cells: &mut [f64]) {
        cells.fill(0.0);
        let mut start = 0;
        for (row, length) in cells.chunks_exact_mut(cols.max(1)).zip(&self.lengths) {
            let positions = start..start + length;
            for (&j, &value) in self.columns[positions.clone()].iter().zip(&self.values[positions]) {
                row[j as usize] = value;
            }
            start += length;
        }
    }

    /// Room for columns and values behind those that are stored.
    pub fn room(&mut self) -> (&mut [u32], &mut [f64]) {
        (&mut self.columns[self.count..], &mut self.values[self.count..])
    }

    /// Gives a row, behind those that have some, the next non-zeros that were written into the [room](Self::room).
    pub fn adopt(&mut self, row: usize, non_zeros: usize) {
        self.lengths[row] = non_zeros;
        self.count += non_zeros;
    }

    /// Stores the cells of rows that are not zero, behind those of the rows that have some: each row has the positions
    /// between two offsets, and `number` says which row it is.
    pub fn store(&mut self, number: impl Fn(usize) -> usize, offsets: &[usize], cells: SparseRow<'_>) {
        let Some((&first, &last)) = offsets.first().zip(offsets.last()) else { return };
        let (columns, values) = self.room();
        let kept = cells.part(first..last).write_nonzeros(columns, values);
        if kept == last - first {
            offsets.windows(2).enumerate().for_each(|(r, row)| self.lengths[number(r)] = row[1] - row[0]);
        } else {
            count_nonzeros_of_rows(offsets, cells.values, |r, length| self.lengths[number(r)] = length);
        }
        self.count += kept;
    }

    /// The matrix of the rows of all blocks, in memory of a pool. Inside of a rayon pool, its threads put it together.
    ///
    /// # Panics
    /// The columns of a row do not ascend, or do not stay below `cols`.
    pub fn put_together(pool: &Arc<BufferPool>, cols: usize, blocks: &[StoredRows]) -> Csr {
        let heights: Vec<usize> = blocks.iter().map(|block| block.lengths.len()).collect();
        let lengths = |block: usize, out: &mut [usize]| out.copy_from_slice(&blocks[block].lengths);
        let fill = |block: usize, columns: &mut [u32], values: &mut [f64]| {
            columns.copy_from_slice(&blocks[block].columns[..blocks[block].count]);
            values.copy_from_slice(&blocks[block].values[..blocks[block].count]);
        };
        Csr::build_in(pool, cols, &heights, lengths, fill)
    }
}
