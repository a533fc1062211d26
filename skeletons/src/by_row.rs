//! Side inputs that are read by row (`SideRow`, `SideRowScalar`, the factor U), laid out for the rows of one unit.
//!
//! Column `j` of row `r` lies at `r * row_stride + j`. Dense sides are read in place where the unit's rows are
//! consecutive; else the columns that the plan reads are copied, and those alone.

use crate::binding::{Cells, SideInput};
use crate::blocks::MAX_UNIT_ROWS;
use crate::layout::{RowCursor, place_row, scatter_row};
use crate::visited::RowNumbers;
use fuseline_matrix::Csr;
use std::collections::BTreeSet;
use std::ops::Range;

/// The columns that a plan reads of a side input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Columns {
    /// All of a range.
    Range(Range<usize>),
    /// Single ones.
    Single {
        /// Their numbers, ascending.
        columns: Vec<u32>,
        /// The distance between the rows of a copy.
        row_stride: usize,
    },
}

impl Columns {
    /// Single columns, in any order.
    pub(crate) fn single(columns: impl IntoIterator<Item = u32>) -> Self {
        let distinct: BTreeSet<u32> = columns.into_iter().collect();
        let columns: Vec<u32> = distinct.into_iter().collect();
        let row_stride = distinct_stride(&columns, MAX_UNIT_ROWS);
        Columns::Single { columns, row_stride }
    }

    /// One more than the last column.
    fn end(&self) -> usize {
        match self {
            Columns::Range(range) => range.end,
            Columns::Single { columns, .. } => columns.last().map_or(0, |&column| column as usize + 1),
        }
    }

    /// The distance between the rows of a copy.
    pub(crate) fn row_stride(&self) -> usize {
        match self {
            Columns::Range(range) => range.len(),
            Columns::Single { row_stride, .. } => *row_stride,
        }
    }
}

/// The smallest distance of rows at which the cells of these columns, column `j` of row `r` at `r * stride + j`, have
/// places of their own. Far columns thus need little more memory than close ones.
fn distinct_stride(columns: &[u32], rows: usize) -> usize {
    let is_distinct = |stride: &usize| {
        let mut places: Vec<(usize, usize)> =
            columns.iter().map(|&column| (column as usize % stride, column as usize / stride)).collect();
        places.sort_unstable();
        places.windows(2).all(|pair| pair[0].0 != pair[1].0 || pair[1].1 - pair[0].1 >= rows)
    };
    (1..).find(is_distinct).unwrap_or(1)
}

/// The copy of a side's rows for a unit.
pub(crate) struct RowCopy<'a> {
    side: &'a SideInput<'a>,
    rows: usize,
    pub(crate) row_stride: usize,
    /// The number of values.
    pub(crate) len: usize,
}

impl<'a> RowCopy<'a> {
    /// The copy that a unit of `rows` rows needs; `None` if the side is read in place, or not by row.
    pub(crate) fn new(side: &'a SideInput<'a>, numbers: RowNumbers<'_>, rows: usize) -> Option<Self> {
        let is_in_place = matches!((&side.cells, numbers), (Cells::Dense(_), RowNumbers::From(_)));
        if is_in_place || !side.is_by_row() {
            return None;
        }
        let row_stride = side.columns.row_stride();
        let len = if rows == 0 { 0 } else { (rows - 1) * row_stride + side.columns.end() };
        Some(RowCopy { side, rows, row_stride, len })
    }

    /// Writes the columns that are read.
    pub(crate) fn write(&self, numbers: RowNumbers<'_>, out: &mut [f64]) {
        match (&self.side.columns, &self.side.cells) {
            (Columns::Range(range), Cells::Dense(dense)) => self.each_row(numbers, out, |row, out| {
                out[range.clone()].copy_from_slice(&dense.row(row)[range.clone()]);
            }),
            (Columns::Range(range), Cells::Sparse(csr)) => match numbers {
                RowNumbers::From(start) => self.scatter(csr, start, range.clone(), out),
                RowNumbers::Listed(_) => self.each_row(numbers, out, |row, out| {
                    scatter_row(csr.row(row), range.start, &mut out[range.clone()]);
                }),
            },
            (Columns::Single { columns, .. }, Cells::Dense(dense)) => self.each_row(numbers, out, |row, out| {
                let cells = dense.row(row);
                columns.iter().for_each(|&column| out[column as usize] = cells[column as usize]);
            }),
            (Columns::Single { columns, .. }, Cells::Sparse(csr)) => self.each_row(numbers, out, |row, out| {
                let mut cursor = RowCursor::new(csr.row(row));
                columns.iter().for_each(|&column| out[column as usize] = cursor.value(column));
            }),
        }
    }

    fn each_row(&self, numbers: RowNumbers<'_>, out: &mut [f64], write: impl Fn(usize, &mut [f64])) {
        for r in 0..self.rows {
            write(numbers.get(r), &mut out[r * self.row_stride..]);
        }
    }

    /// Consecutive rows. Most have few positions, so that nothing but these is done for each of them.
    fn scatter(&self, csr: &Csr, start: usize, columns: Range<usize>, out: &mut [f64]) {
        if self.rows == 0 {
            return;
        }
        out[columns.start..self.len].fill(0.0);
        let bounds = &csr.row_offsets()[start..=start + self.rows];
        let (all_columns, all_values) = (csr.columns(), csr.values());
        for (r, bounds) in bounds.windows(2).enumerate() {
            let positions = bounds[0]..bounds[1];
            let first = r * self.row_stride + columns.start;
            let row = (&all_columns[positions.clone()], &all_values[positions]);
            place_row(row, columns.start, &mut out[first..first + columns.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Role;
    use fuseline_matrix::Dense;
    use std::borrow::Cow;

    #[test]
    fn cells_of_fixed_columns_have_places_of_their_own() {
        for (columns, rows) in [(vec![0], 9), (vec![3, 4], 9), (vec![0, 4, 8], 9), (vec![0, 999_999], 4096)] {
            let stride = distinct_stride(&columns, rows);
            assert!(stride <= columns.len() + 1, "{columns:?}: {stride}");
            let places = (0..rows).flat_map(|r| columns.iter().map(move |&j| r * stride + j as usize));
            let distinct: std::collections::BTreeSet<usize> = places.collect();
            assert_eq!(distinct.len(), rows * columns.len());
        }
    }

    #[test]
    fn copies_hold_what_is_read_whatever_the_format_and_the_rows() {
        let dense = Dense::from_fn(6, 9, |i, j| if (i * 5 + j * 3) % 4 == 0 { 0.0 } else { (10 * i + j) as f64 });
        let csr = Csr::from_dense(&dense);
        let ranges = [Columns::Range(0..9), Columns::Range(2..5), Columns::single([1]), Columns::single([8, 0, 3, 0])];
        for columns in ranges {
            for numbers in [RowNumbers::From(1), RowNumbers::Listed(&[0, 2, 3, 5])] {
                for cells in [Cells::Dense(Cow::Borrowed(&dense)), Cells::Sparse(&csr)] {
                    let columns = columns.clone();
                    let side = SideInput { role: Role::Row, cells, cols: 9, columns, transposed: vec![] };
                    let Some(copy) = RowCopy::new(&side, numbers, 4) else { continue };
                    let mut out = vec![f64::NAN; copy.len];
                    copy.write(numbers, &mut out);
                    let read: Vec<usize> = match &side.columns {
                        Columns::Range(range) => range.clone().collect(),
                        Columns::Single { columns, .. } => columns.iter().map(|&column| column as usize).collect(),
                    };
                    for (r, j) in (0..4).flat_map(|r| read.iter().map(move |&j| (r, j))) {
                        assert_eq!(out[r * copy.row_stride + j], dense.get(numbers.get(r), j));
                    }
                }
            }
        }
    }
}
