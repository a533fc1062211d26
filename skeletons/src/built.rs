//! CSR rows that a skeleton builds for a unit: the non-zeros of dense rows, or a range of columns of CSR rows.

use fuseline_ir::schedule::Tile;
use fuseline_matrix::{Dense, SparseRow};
use std::ops::Range;

/// CSR rows that a skeleton builds for a unit, of some columns of the main input.
#[derive(Debug, Default)]
pub(crate) struct BuiltRows {
    /// Whether rows without positions are kept.
    pub(crate) is_consecutive: bool,
    /// The numbers of the rows.
    pub(crate) numbers: Vec<usize>,
    pub(crate) offsets: Vec<usize>,
    /// Columns of the main input, counted from the first one that the unit may have.
    pub(crate) columns: Vec<u32>,
    pub(crate) values: Vec<f64>,
    /// The products of factors by position, where they are known already; else none.
    pub(crate) products: Vec<f64>,
}

impl BuiltRows {
    /// Forgets all rows.
    pub(crate) fn clear(&mut self) {
        self.numbers.clear();
        self.offsets.clear();
        self.offsets.push(0);
        self.columns.clear();
        self.values.clear();
        self.products.clear();
    }

    /// The number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.numbers.len()
    }

    /// Builds the non-zeros of a tile of a dense matrix.
    pub(crate) fn build(&mut self, dense: &Dense, tile: Tile) {
        self.clear();
        for row in tile.first_row..tile.first_row + tile.rows {
            self.push_dense(row, &dense.row(row)[tile.first_col..tile.first_col + tile.cols]);
        }
    }

    /// Appends the non-zeros of a row's dense cells.
    fn push_dense(&mut self, number: usize, cells: &[f64]) {
        for (j, &value) in cells.iter().enumerate().filter(|(_, value)| **value != 0.0) {
            self.columns.push(j as u32);
            self.values.push(value);
        }
        self.end_row(number);
    }

    /// Appends the positions of a CSR row in a range of columns, if there are any or the rows must be consecutive.
    pub(crate) fn push_range(&mut self, number: usize, row: SparseRow<'_>, range: Range<usize>) {
        let SparseRow { columns, values } = row;
        let first = columns.partition_point(|&j| (j as usize) < range.start);
        let last = first + columns[first..].partition_point(|&j| (j as usize) < range.end);
        if first == last && !self.is_consecutive {
            return;
        }
        self.columns.extend(columns[first..last].iter().map(|&j| j - range.start as u32));
        self.values.extend_from_slice(&values[first..last]);
        self.end_row(number);
    }

    /// Of the products of all cells of rows of `cols` cells, keeps those of the positions.
    pub(crate) fn keep_products(&mut self, cols: usize) {
        let mut kept = 0;
        for (r, bounds) in self.offsets.windows(2).enumerate() {
            for &j in &self.columns[bounds[0]..bounds[1]] {
                self.products[kept] = self.products[r * cols + j as usize];
                kept += 1;
            }
        }
        self.products.truncate(kept);
    }

    /// Writes one value for each position to its cell, and zeros to the others, in rows of `cols` cells `row_stride` apart.
    pub(crate) fn spread(&self, values: &[f64], out: &mut [f64], cols: usize, row_stride: usize) {
        for (bounds, row) in self.offsets.windows(2).zip(out.chunks_mut(row_stride.max(1))) {
            let (row, values) = (&mut row[..cols], &values[bounds[0]..bounds[1]]);
            if values.len() == cols {
                row.copy_from_slice(values);
                continue;
            }
            row.fill(0.0);
            for (&j, &value) in self.columns[bounds[0]..bounds[1]].iter().zip(values) {
                row[j as usize] = value;
            }
        }
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
        built.push_dense(3, &[0.0, 5.0]);
        built.push_dense(4, &[0.0, 0.0]);
        built.push_dense(5, &[6.0, f64::NAN]);
        built.push_range(7, SparseRow { columns: &[2, 10, 11, 12], values: &[1.0, 2.0, 3.0, 4.0] }, 10..12);
        built.push_range(8, SparseRow { columns: &[2, 12], values: &[1.0, 4.0] }, 10..12);
        assert_eq!((&built.numbers[..], &built.offsets[..]), (&[3, 4, 5, 7][..], &[0, 1, 1, 3, 5][..]));
        assert_eq!(built.columns, [1, 0, 1, 0, 1]);
        assert_eq!((&built.values[..2], &built.values[3..]), (&[5.0, 6.0][..], &[2.0, 3.0][..]));
        assert!(built.values[2].is_nan());
        assert_eq!(built.rows(), 4);
    }
}
