//! The transpose of a sparse matrix, by counting sorts of ranges of rows.

use crate::buffer::{Buffer, BufferPool};
use crate::csr::Csr;
use crate::error::CsrError;
use crate::pattern::even_ranges;
use crate::run_context::StopListener;
use fuseline_ir::schedule::product::transposed_ranges;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// The transpose of a range of rows.
struct Piece {
    /// Where the non-zeros of each column begin, and their number.
    offsets: Buffer<usize>,
    rows: Buffer<u32>,
    values: Buffer,
}

impl Piece {
    fn new(pool: &Arc<BufferPool>, csr: &Csr, range: Range<usize>) -> Self {
        let (row_offsets, columns, values) = (csr.row_offsets(), csr.columns(), csr.values());
        let positions = row_offsets[range.start]..row_offsets[range.end];
        // At first, each cell counts the column before its own, and each ends as the beginning of the next column.
        let mut offsets = Buffer::<usize>::recycled(pool, csr.cols().saturating_add(1));
        offsets.fill(0);
        let ends = &mut offsets[..];
        for &j in &columns[positions.clone()] {
            ends[j as usize + 1] += 1;
        }
        let mut position = 0;
        for end in &mut ends[1..] {
            let count = *end;
            *end = position;
            position += count;
        }
        let (mut rows_out, mut values_out) =
            (Buffer::<u32>::recycled(pool, position), Buffer::<f64>::recycled(pool, position));
        let (rows, cells) = (&mut rows_out[..], &mut values_out[..]);
        let stop = StopListener::current();
        for i in range {
            stop.check();
            let row = row_offsets[i]..row_offsets[i + 1];
            for (&j, &value) in columns[row.clone()].iter().zip(&values[row]) {
                let end = &mut ends[j as usize + 1];
                (rows[*end], cells[*end]) = (i as u32, value);
                *end += 1;
            }
        }
        Piece { offsets, rows: rows_out, values: values_out }
    }

    fn run(&self, column: usize) -> Range<usize> {
        self.offsets[column]..self.offsets[column + 1]
    }
}

impl Csr {
    /// The transpose, in linear time.
    ///
    /// # Panics
    /// There are non-zeros, and more rows than 32-bit indexes tell apart.
    pub fn transpose(&self) -> Csr {
        self.transpose_in(&BufferPool::new(0))
    }

    /// The transpose, in memory of a pool. Inside of a rayon pool, its threads share the work.
    ///
    /// # Panics
    /// There are non-zeros, and more rows than 32-bit indexes tell apart.
    pub fn transpose_in(&self, pool: &Arc<BufferPool>) -> Csr {
        let cols = self.rows();
        assert!(self.nnz() == 0 || u32::try_from(cols).is_ok(), "{}", CsrError::TooManyColumns { cols });
        // Nothing is computed, so that the result is the same however many ranges there are.
        let threads = rayon::current_thread_index().map_or(1, |_| rayon::current_num_threads());
        let ranges = self.even_ranges(transposed_ranges(self.nnz(), self.cols()).min(threads));
        if ranges.len() == 1 {
            let Piece { offsets, rows, values } = Piece::new(pool, self, 0..self.rows());
            return Csr::from_memory(self.rows(), offsets, rows, values);
        }
        let pieces: Vec<Piece> = ranges.into_par_iter().map(|range| Piece::new(pool, self, range)).collect();
        self.join(pool, &pieces)
    }

    /// So many ranges of rows, with about equally many non-zeros each.
    pub(crate) fn even_ranges(&self, count: usize) -> Vec<Range<usize>> {
        even_ranges(self.row_offsets(), count)
    }

    /// The runs of each column, of one piece after the other.
    fn join(&self, pool: &Arc<BufferPool>, pieces: &[Piece]) -> Csr {
        let step = self.cols().div_ceil(4 * pieces.len()).max(1);
        let heights: Vec<usize> = (0..self.cols()).step_by(step).map(|start| step.min(self.cols() - start)).collect();
        let columns_of = |block: usize| block * step..block * step + heights[block];
        let lengths = |block: usize, out: &mut [usize]| {
            for (length, column) in out.iter_mut().zip(columns_of(block)) {
                *length = pieces.iter().map(|piece| piece.run(column).len()).sum();
            }
        };
        let fill = |block: usize, mut columns: &mut [u32], mut values: &mut [f64]| {
            for (column, piece) in columns_of(block).flat_map(|column| pieces.iter().map(move |piece| (column, piece)))
            {
                let run = piece.run(column);
                let (run_columns, run_values);
                (run_columns, columns) = columns.split_at_mut(run.len());
                (run_values, values) = values.split_at_mut(run.len());
                run_columns.copy_from_slice(&piece.rows[run.clone()]);
                run_values.copy_from_slice(&piece.values[run]);
            }
        };
        Csr::build_in(pool, self.rows(), &heights, lengths, fill)
    }
}
