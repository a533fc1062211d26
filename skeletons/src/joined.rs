//! Rows of several sparse matrices, joined: a unit has a position wherever one of them has. For plans that are zero where all
//! of these are ([`fuseline_ir::cplan::CPlan::joined_rows`]).

use crate::visited::RowNumbers;
use fuseline_matrix::{Csr, JoinedCells, SparseRow};
use smallvec::SmallVec;

/// The rows of a matrix, where they lie: asked for once, not for each of many short rows.
#[derive(Clone, Copy)]
struct Rows<'a> {
    offsets: &'a [usize],
    columns: &'a [u32],
    values: &'a [f64],
}

impl<'a> Rows<'a> {
    fn of(csr: &'a Csr) -> Self {
        Rows { offsets: csr.row_offsets(), columns: csr.columns(), values: csr.values() }
    }

    fn row(&self, number: usize) -> SparseRow<'a> {
        let positions = self.offsets[number]..self.offsets[number + 1];
        SparseRow { columns: &self.columns[positions.clone()], values: &self.values[positions] }
    }

    /// The non-zeros of some rows.
    fn non_zeros(&self, numbers: RowNumbers<'_>, rows: usize) -> usize {
        match numbers {
            RowNumbers::From(first) => self.offsets[first + rows] - self.offsets[first],
            RowNumbers::Listed(_) => (0..rows).map(|r| self.row(numbers.get(r)).len()).sum(),
        }
    }
}

/// The joined rows of a unit.
#[derive(Debug, Default)]
pub(crate) struct JoinedRows {
    /// Where rows begin and, of the last one, end.
    offsets: Vec<usize>,
    columns: Vec<u32>,
    /// The cells of each matrix at all positions.
    values: Vec<Vec<f64>>,
    /// The columns that several matrices have before another one is joined with them.
    before: Vec<u32>,
}

impl JoinedRows {
    /// Joins some rows of these matrices, of which there are two or more.
    pub(crate) fn join(&mut self, matrices: &[&Csr], numbers: RowNumbers<'_>, rows: usize) {
        self.values.resize_with(matrices.len(), Vec::new);
        self.offsets.clear();
        self.offsets.push(0);
        let matrices: SmallVec<[Rows<'_>; 4]> = matrices.iter().map(|csr| Rows::of(csr)).collect();
        self.reserve(matrices.iter().map(|matrix| matrix.non_zeros(numbers, rows)).sum());
        let mut count = 0;
        for number in (0..rows).map(|r| numbers.get(r)) {
            count += match &matrices[..] {
                [left, right] => self.join_two(count, left.row(number), right.row(number)),
                matrices => self.join_several(count, matrices, number),
            };
            self.offsets.push(count);
        }
    }

    /// Where rows begin and, of the last one, end.
    pub(crate) fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The columns of all positions.
    pub(crate) fn columns(&self) -> &[u32] {
        &self.columns[..self.count()]
    }

    /// The cells of a matrix, by its place among them, at all positions.
    pub(crate) fn values(&self, matrix: usize) -> &[f64] {
        &self.values[matrix][..self.count()]
    }

    fn count(&self) -> usize {
        self.offsets.last().copied().unwrap_or(0)
    }

    /// Makes room for so many positions.
    fn reserve(&mut self, count: usize) {
        if self.columns.len() < count {
            self.columns.resize(count.next_power_of_two(), 0);
        }
        for cells in self.values.iter_mut().filter(|cells| cells.len() < count) {
            cells.resize(count.next_power_of_two(), 0.0);
        }
    }

    fn join_two(&mut self, start: usize, left: SparseRow<'_>, right: SparseRow<'_>) -> usize {
        let [left_cells, right_cells] = &mut self.values[..] else { unreachable!("two matrices have two values") };
        let cells = JoinedCells {
            columns: &mut self.columns[start..],
            left: &mut left_cells[start..],
            right: &mut right_cells[start..],
        };
        left.join(right, cells)
    }

    /// Finds the columns first, one matrix after the other, and then the cells of each.
    fn join_several(&mut self, start: usize, matrices: &[Rows<'_>], number: usize) -> usize {
        let mut count = 0;
        for matrix in matrices {
            self.before.clear();
            self.before.extend_from_slice(&self.columns[start..start + count]);
            count = join_columns(&self.before, matrix.row(number).columns, &mut self.columns[start..]);
        }
        for (matrix, cells) in matrices.iter().zip(&mut self.values) {
            cells_at(&self.columns[start..start + count], matrix.row(number), &mut cells[start..start + count]);
        }
        count
    }
}

/// Writes the columns that are in one of two rows, without a branch that depends on where they meet; how many these are.
fn join_columns(left: &[u32], right: &[u32], out: &mut [u32]) -> usize {
    let (mut p, mut q, mut count) = (0, 0, 0);
    while p < left.len() && q < right.len() {
        let (one, other) = (left[p], right[q]);
        out[count] = one.min(other);
        p += usize::from(one <= other);
        q += usize::from(other <= one);
        count += 1;
    }
    let rest = if p < left.len() { &left[p..] } else { &right[q..] };
    out[count..count + rest.len()].copy_from_slice(rest);
    count + rest.len()
}

/// Writes the cells of a row in some columns, among which are all of its own.
fn cells_at(columns: &[u32], row: SparseRow<'_>, out: &mut [f64]) {
    let mut next = 0;
    for (&column, out) in columns.iter().zip(out) {
        let has_cell = row.columns.get(next) == Some(&column);
        *out = if has_cell { row.values[next] } else { 0.0 };
        next += usize::from(has_cell);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fuseline_matrix::Dense;

    fn matrix(cells: &[[f64; 5]; 3]) -> Csr {
        Csr::from_dense(&Dense::from_fn(3, 5, |i, j| cells[i][j]))
    }

    #[test]
    fn positions_are_wherever_a_matrix_has_one() {
        let x = matrix(&[[1.0, 0.0, 2.0, 0.0, 0.0], [0.0; 5], [0.0, 0.0, 0.0, 0.0, 3.0]]);
        let y = matrix(&[[0.0, 4.0, 5.0, 0.0, 0.0], [0.0; 5], [6.0, 0.0, 0.0, 0.0, 0.0]]);
        let z = matrix(&[[0.0, 0.0, 0.0, 7.0, 0.0], [0.0, 8.0, 0.0, 0.0, 0.0], [0.0; 5]]);
        let mut joined = JoinedRows::default();
        for _ in 0..2 {
            joined.join(&[&x, &y], RowNumbers::From(0), 3);
            assert_eq!((joined.offsets(), joined.columns()), (&[0, 3, 3, 5][..], &[0, 1, 2, 0, 4][..]));
            assert_eq!(joined.values(0), [1.0, 0.0, 2.0, 0.0, 3.0]);
            assert_eq!(joined.values(1), [0.0, 4.0, 5.0, 6.0, 0.0]);
            joined.join(&[&x, &y, &z], RowNumbers::Listed(&[0, 2]), 2);
            assert_eq!((joined.offsets(), joined.columns()), (&[0, 4, 6][..], &[0, 1, 2, 3, 0, 4][..]));
            assert_eq!(joined.values(0), [1.0, 0.0, 2.0, 0.0, 0.0, 3.0]);
            assert_eq!(joined.values(1), [0.0, 4.0, 5.0, 0.0, 6.0, 0.0]);
            assert_eq!(joined.values(2), [0.0, 0.0, 0.0, 7.0, 0.0, 0.0]);
            joined.join(&[&x, &y, &z], RowNumbers::From(1), 1);
            assert_eq!((joined.offsets(), joined.columns()), (&[0, 1][..], &[1][..]));
        }
    }
}
