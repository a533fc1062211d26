//! The columns of a sparse matrix, which lists its positions by row: how many each has, and which have one in every row.

use crate::Csr;
use rayon::prelude::*;
use std::ops::Range;

/// Rows that one task looks through.
const TASK_ROWS: usize = 1 << 14;
/// Positions that one task counts, unless there are more columns.
const TASK_POSITIONS: usize = 1 << 18;

impl Csr {
    /// How many positions each column has. Inside of a rayon pool, its threads share the work.
    pub fn column_counts(&self) -> Vec<usize> {
        let zeros = || vec![0_usize; self.cols()];
        let counted = |mut counts: Vec<usize>, columns: &[u32]| {
            columns.iter().for_each(|&column| counts[column as usize] += 1);
            counts
        };
        let columns = self.columns();
        let task = TASK_POSITIONS.max(self.cols());
        if columns.len() <= task || rayon::current_thread_index().is_none() {
            return counted(zeros(), columns);
        }
        let parts = columns.par_chunks(task).fold(zeros, counted);
        parts.reduce_with(sum_of).unwrap_or_else(zeros)
    }

    /// The columns in which every row has a position, ascending; all of them where there are no rows. Inside of a rayon
    /// pool, its threads share the work.
    ///
    /// They are among the columns of the shortest row, of which mostly a few other rows leave none: nothing is counted.
    pub fn full_columns(&self) -> Vec<u32> {
        let rows = 0..self.rows();
        let Some(shortest) = rows.clone().min_by_key(|&row| self.row(row).0.len()) else {
            return (0..self.cols() as u32).collect();
        };
        let candidates = self.row(shortest).0;
        if candidates.is_empty() || rows.len() <= TASK_ROWS || rayon::current_thread_index().is_none() {
            return self.full_in(rows, candidates);
        }
        let tasks = rows.len().div_ceil(TASK_ROWS);
        let rows_of = |task: usize| task * TASK_ROWS..((task + 1) * TASK_ROWS).min(rows.len());
        let parts: Vec<Vec<u32>> =
            (0..tasks).into_par_iter().map(|task| self.full_in(rows_of(task), candidates)).collect();
        let is_full = |column: &u32| parts.iter().all(|part| part.binary_search(column).is_ok());
        candidates.iter().copied().filter(is_full).collect()
    }

    /// Changes the cells, one for each column, of those columns that some row has no position in. Inside of a rayon pool,
    /// its threads share the work.
    pub fn change_where_zeros_are(&self, cells: &mut [f64], change: impl Fn(f64) -> f64) {
        let full = self.full_columns();
        let kept: Vec<f64> = full.iter().map(|&column| cells[column as usize]).collect();
        cells.iter_mut().for_each(|cell| *cell = change(*cell));
        full.iter().zip(kept).for_each(|(&column, value)| cells[column as usize] = value);
    }

    /// The columns among some ascending ones in which each of these rows has a position.
    fn full_in(&self, rows: Range<usize>, columns: &[u32]) -> Vec<u32> {
        let mut full = columns.to_vec();
        for row in rows {
            if full.is_empty() {
                break;
            }
            let columns = self.row(row).0;
            full.retain(|column| columns.binary_search(column).is_ok());
        }
        full
    }
}

fn sum_of(mut counts: Vec<usize>, others: Vec<usize>) -> Vec<usize> {
    counts.iter_mut().zip(others).for_each(|(count, other)| *count += other);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dense;

    #[test]
    fn columns_are_counted_and_full_ones_found() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("threads");
        // Two columns are full, but that a row far behind, or none, has no position in one of them.
        let rows = 3 * TASK_ROWS + 5;
        for missing in [None, Some(0), Some(TASK_ROWS), Some(rows - 1)] {
            let is_stored = |i: usize, j: usize| match j {
                1 => true,
                4 => Some(i) != missing,
                _ => (i + j).is_multiple_of(5),
            };
            let cells = Dense::from_fn(rows, 9, |i, j| if is_stored(i, j) { 1.0 } else { 0.0 });
            let csr = Csr::from_dense(&cells);
            let expected: Vec<usize> = (0..9).map(|j| (0..rows).filter(|&i| is_stored(i, j)).count()).collect();
            let full: Vec<u32> = (0..9).filter(|&j| expected[j as usize] == rows).collect();
            assert_eq!(full.len(), 2 - usize::from(missing.is_some()));
            for (counts, columns) in
                [(csr.column_counts(), csr.full_columns()), pool.install(|| (csr.column_counts(), csr.full_columns()))]
            {
                assert_eq!((counts, columns), (expected.clone(), full.clone()), "{missing:?}");
            }
            let mut cells = [1.0; 9];
            csr.change_where_zeros_are(&mut cells, |cell| cell - 1.0);
            assert_eq!(cells, [0, 1, 2, 3, 4, 5, 6, 7, 8].map(|j| if full.contains(&j) { 1.0 } else { 0.0 }));
        }
        assert_eq!(Csr::empty(3, 4).full_columns(), [] as [u32; 0]);
        assert_eq!((Csr::empty(0, 2).full_columns(), Csr::empty(0, 2).column_counts()), (vec![0, 1], vec![0, 0]));
    }
}
