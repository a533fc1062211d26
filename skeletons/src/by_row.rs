//! Side inputs that are read by row (`SideRow`, `SideRowScalar`, the factor U), laid out for the rows of one unit.
//!
//! Column `j` of row `r` lies at `r * row_stride + j`. Dense sides are read in place where the unit's rows are
//! consecutive; else the columns that the plan reads are copied, and those alone.

use crate::layout::{RowCursor, place_row, scatter_row};
use crate::side::{Columns, SideInput};
use crate::visited::RowNumbers;
use fuseline_matrix::{Csr, Layout};
use std::ops::Range;

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
        let is_in_place = matches!((&side.cells, numbers), (Layout::Dense(_), RowNumbers::From(_)));
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
            (Columns::Range(range), Layout::Dense(dense)) => self.each_row(numbers, out, |row, out| {
                out[range.clone()].copy_from_slice(&dense.row(row)[range.clone()]);
            }),
            (Columns::Range(range), Layout::Sparse(csr)) => match numbers {
                RowNumbers::From(start) => self.scatter(csr, start, range.clone(), out),
                RowNumbers::Listed(_) => self.each_row(numbers, out, |row, out| {
                    scatter_row(csr.row(row), range.start, &mut out[range.clone()]);
                }),
            },
            (Columns::Single { columns, .. }, Layout::Dense(dense)) => self.each_row(numbers, out, |row, out| {
                let cells = dense.row(row);
                columns.iter().for_each(|&column| out[column as usize] = cells[column as usize]);
            }),
            (Columns::Single { columns, .. }, Layout::Sparse(csr)) => self.each_row(numbers, out, |row, out| {
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
    fn copies_hold_what_is_read_whatever_the_format_and_the_rows() {
        let dense = Dense::from_fn(6, 9, |i, j| if (i * 5 + j * 3) % 4 == 0 { 0.0 } else { (10 * i + j) as f64 });
        let csr = Csr::from_dense(&dense);
        let ranges = [Columns::Range(0..9), Columns::Range(2..5), Columns::single([1]), Columns::single([8, 0, 3, 0])];
        for columns in ranges {
            for numbers in [RowNumbers::From(1), RowNumbers::Listed(&[0, 2, 3, 5])] {
                for cells in [Layout::Dense(Cow::Borrowed(&dense)), Layout::Sparse(Cow::Borrowed(&csr))] {
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
