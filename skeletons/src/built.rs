//! CSR rows that a skeleton builds for a unit: the non-zeros of dense rows, or a range of columns of CSR rows.

use std::ops::Range;

/// CSR rows that a skeleton builds for a unit, of some columns of the main input.
#[derive(Debug, Default)]
pub(crate) struct BuiltRows {
    /// Whether rows without positions are kept.
    pub(crate) is_consecutive: bool,
    /// The numbers of the rows.
    pub(crate) numbers: Vec<usize>,
    pub(crate) offsets: Vec<usize>,
    /// Columns of the main input.
    pub(crate) columns: Vec<u32>,
    /// The same, counted from the first column that the unit may have.
    pub(crate) relative: Vec<u32>,
    pub(crate) values: Vec<f64>,
}

impl BuiltRows {
    /// Forgets all rows.
    pub(crate) fn clear(&mut self) {
        self.numbers.clear();
        self.offsets.clear();
        self.offsets.push(0);
        self.columns.clear();
        self.relative.clear();
        self.values.clear();
    }

    /// The number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.numbers.len()
    }

    /// Appends the non-zeros of a row's dense cells that begin at this column.
    pub(crate) fn push_dense(&mut self, number: usize, first_col: usize, cells: &[f64]) {
        let positions = cells.iter().filter(|&&value| value != 0.0).count();
        if positions == cells.len() {
            self.columns.extend((first_col..first_col + positions).map(|j| j as u32));
            self.relative.extend((0..positions).map(|j| j as u32));
            self.values.extend_from_slice(cells);
        } else {
            for (j, &value) in cells.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                self.columns.push((first_col + j) as u32);
                self.relative.push(j as u32);
                self.values.push(value);
            }
        }
        self.end_row(number);
    }

    /// Appends the positions of a CSR row in a range of columns, if there are any or the rows must be consecutive.
    pub(crate) fn push_range(&mut self, number: usize, (columns, values): (&[u32], &[f64]), range: Range<usize>) {
        let first = columns.partition_point(|&j| (j as usize) < range.start);
        let last = first + columns[first..].partition_point(|&j| (j as usize) < range.end);
        if first == last && !self.is_consecutive {
            return;
        }
        self.columns.extend_from_slice(&columns[first..last]);
        self.relative.extend(columns[first..last].iter().map(|&j| j - range.start as u32));
        self.values.extend_from_slice(&values[first..last]);
        self.end_row(number);
    }

    fn end_row(&mut self, number: usize) {
        self.numbers.push(number);
        self.offsets.push(self.values.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparse_rows_without_positions_in_the_range_are_left_out() {
        let mut built = BuiltRows::default();
        built.clear();
        assert!(!built.is_consecutive);
        built.push_dense(3, 10, &[0.0, 5.0]);
        built.push_dense(4, 10, &[0.0, 0.0]);
        built.push_dense(5, 10, &[6.0, f64::NAN]);
        built.push_range(7, (&[2, 10, 11, 12], &[1.0, 2.0, 3.0, 4.0]), 10..12);
        built.push_range(8, (&[2, 12], &[1.0, 4.0]), 10..12);
        assert_eq!((&built.numbers[..], &built.offsets[..]), (&[3, 4, 5, 7][..], &[0, 1, 1, 3, 5][..]));
        assert_eq!((&built.columns[..], &built.relative[..]), (&[11, 10, 11, 10, 11][..], &[1, 0, 1, 0, 1][..]));
        assert_eq!((&built.values[..2], &built.values[3..]), (&[5.0, 6.0][..], &[2.0, 3.0][..]));
        assert!(built.values[2].is_nan());
        assert_eq!(built.rows(), 4);
    }
}
