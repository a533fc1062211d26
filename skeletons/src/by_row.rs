//! Side inputs that are read by row (`SideRow`, `SideRowScalar`, the factor U), laid out for the rows of one unit.
//!
//! Column `j` of row `r` lies at `r * row_stride + j`. Dense sides are read in place where the unit's rows are
//! consecutive; else the columns that the plan reads are copied, and those alone.

use crate::side::{Columns, SideInput};
use crate::visited::RowNumbers;

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
        let is_in_place = side.source.dense().is_some() && matches!(numbers, RowNumbers::From(_));
        if is_in_place || !side.is_by_row() {
            return None;
        }
        let row_stride = side.columns.row_stride();
        let len = if rows == 0 { 0 } else { (rows - 1) * row_stride + side.columns.end() };
        Some(RowCopy { side, rows, row_stride, len })
    }

    /// Writes the columns that are read.
    pub(crate) fn write(&self, numbers: RowNumbers<'_>, out: &mut [f64]) {
        let (source, rows, row_stride) = (&self.side.source, self.rows, self.row_stride);
        match &self.side.columns {
            Columns::Range(range) => source.write_rows(numbers, rows, range.clone(), row_stride, out),
            Columns::Single { columns, .. } => source.write_columns(numbers, rows, columns, row_stride, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Role;
    use crate::side::Factor;
    use crate::source::source_of;
    use fuseline_matrix::{Csr, Dense, MatrixBlock};

    #[test]
    fn copies_hold_what_is_read_whatever_the_format_and_the_rows() {
        let dense = Dense::from_fn(6, 9, |i, j| if (i * 5 + j * 3) % 4 == 0 { 0.0 } else { (10 * i + j) as f64 });
        let blocks: [MatrixBlock; 2] = [dense.clone().into(), Csr::from_dense(&dense).into()];
        let ranges = [Columns::Range(0..9), Columns::Range(2..5), Columns::single([1]), Columns::single([8, 0, 3, 0])];
        for columns in ranges {
            for numbers in [RowNumbers::From(1), RowNumbers::Listed(&[0, 2, 3, 5])] {
                for block in &blocks {
                    let (columns, source) = (columns.clone(), source_of(block));
                    let side = SideInput { role: Role::Row, source, cols: 9, columns, factor: Factor::None };
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
