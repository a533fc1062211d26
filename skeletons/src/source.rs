//! How units read matrices: one implementation of [`Source`] for each representation that is read without decoding it as a
//! whole.
//!
//! Dense matrices are read in place where a unit's rows are consecutive. Of all others the part that a unit reads is laid
//! out for it.

use crate::dense_row::DenseRow;
use crate::layout::{Positions, RowCursor, gather_row, place_row, scatter_row};
use crate::short_row::Wanted;
use crate::visited::RowNumbers;
use fuseline_ir::schedule::Tile;
use fuseline_matrix::{Csr, Dense, Layout, MatrixBlock, NarrowDense, SparseRow};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// A matrix of which units read parts. Every part is written whole, zeros included.
pub(crate) trait Source: Send + Sync {
    /// Number of columns.
    fn cols(&self) -> usize;

    /// Writes consecutive cells of a row, from this column on.
    fn write_row(&self, row: usize, first_col: usize, out: &mut [f64]);

    /// Writes single cells of a row, that of column `j` to `out[j]`. Columns ascend.
    fn write_single(&self, row: usize, columns: &[u32], out: &mut [f64]);

    /// Writes the cell of each position of a sparse unit.
    fn gather(&self, positions: Positions<'_>, dense_row: &mut DenseRow, out: &mut [f64]);

    /// The matrix, if its cells lie row after row, to be read in place.
    fn dense(&self) -> Option<&Dense> {
        None
    }

    /// The matrix, if its non-zeros lie row after row, to be visited alone.
    fn csr(&self) -> Option<&Csr> {
        None
    }

    /// Writes consecutive cells, in row-major order from cell number `start`.
    fn write_cells(&self, start: usize, out: &mut [f64]) {
        if out.is_empty() {
            return;
        }
        let (mut row, mut first_col) = (start / self.cols(), start % self.cols());
        let mut rest = out;
        while !rest.is_empty() {
            let (cells, later) = rest.split_at_mut((self.cols() - first_col).min(rest.len()));
            self.write_row(row, first_col, cells);
            rest = later;
            row += 1;
            first_col = 0;
        }
    }

    /// Writes a tile, its rows `tile.cols` apart. `width` is the number of columns of the partitioned grid, which may be all
    /// cells in one row; `numbers` are those of the tile's rows in the grid.
    fn write_tile(&self, width: usize, numbers: RowNumbers<'_>, tile: Tile, out: &mut [f64]) {
        if tile.cols == 0 {
            return;
        }
        if let RowNumbers::From(first) = numbers
            && tile.cols == width
        {
            return self.write_cells(first * width, out);
        }
        for (r, row) in out.chunks_exact_mut(tile.cols).enumerate() {
            self.write_cells(numbers.get(r) * width + tile.first_col, row);
        }
    }

    /// Writes a range of columns of some rows, column `j` of row `r` to `out[r * row_stride + j]`.
    fn write_rows(
        &self,
        numbers: RowNumbers<'_>,
        rows: usize,
        columns: Range<usize>,
        row_stride: usize,
        out: &mut [f64],
    ) {
        match numbers {
            RowNumbers::From(first) => self.write_consecutive_rows(first..first + rows, columns, row_stride, out),
            RowNumbers::Listed(listed) => {
                for (r, &row) in listed[..rows].iter().enumerate() {
                    self.write_row(row, columns.start, &mut out[r * row_stride..][columns.clone()]);
                }
            }
        }
    }

    /// Writes a range of columns of consecutive rows.
    fn write_consecutive_rows(&self, rows: Range<usize>, columns: Range<usize>, row_stride: usize, out: &mut [f64]) {
        for (r, row) in rows.enumerate() {
            self.write_row(row, columns.start, &mut out[r * row_stride..][columns.clone()]);
        }
    }

    /// Writes single columns of some rows, column `j` of row `r` to `out[r * row_stride + j]`.
    fn write_columns(&self, numbers: RowNumbers<'_>, rows: usize, columns: &[u32], row_stride: usize, out: &mut [f64]) {
        for r in 0..rows {
            self.write_single(numbers.get(r), columns, &mut out[r * row_stride..]);
        }
    }
}

/// A matrix as units read it.
pub(crate) fn source_of(block: &MatrixBlock) -> Box<dyn Source + '_> {
    match block.narrow_dense() {
        Some(narrow) => Box::new(narrow),
        None => source_of_layout(block.layout()),
    }
}

/// Cells or non-zeros as units read them.
pub(crate) fn source_of_layout<'a>(layout: Layout<'a>) -> Box<dyn Source + 'a> {
    match layout {
        Layout::Dense(dense) => Box::new(dense),
        Layout::Sparse(csr) => Box::new(csr),
    }
}

impl Source for Cow<'_, Dense> {
    fn cols(&self) -> usize {
        Dense::cols(self)
    }

    fn dense(&self) -> Option<&Dense> {
        Some(self)
    }

    fn write_row(&self, row: usize, first_col: usize, out: &mut [f64]) {
        out.copy_from_slice(&self.row(row)[first_col..first_col + out.len()]);
    }

    fn write_single(&self, row: usize, columns: &[u32], out: &mut [f64]) {
        let cells = self.row(row);
        columns.iter().for_each(|&column| out[column as usize] = cells[column as usize]);
    }

    fn write_columns(&self, numbers: RowNumbers<'_>, rows: usize, columns: &[u32], row_stride: usize, out: &mut [f64]) {
        // Found once, not for each of many rows.
        let (values, cols) = (self.values(), Dense::cols(self));
        for r in 0..rows {
            let cells = &values[numbers.get(r) * cols..];
            columns.iter().for_each(|&column| out[r * row_stride + column as usize] = cells[column as usize]);
        }
    }

    fn gather(&self, positions: Positions<'_>, _: &mut DenseRow, out: &mut [f64]) {
        let (values, cols) = (self.values(), Dense::cols(self));
        positions.for_each_row(|i, first, columns| {
            gather_row(&values[i * cols + positions.first_col..(i + 1) * cols], columns, &mut out[first..]);
        });
    }
}

impl Source for Cow<'_, Csr> {
    fn cols(&self) -> usize {
        Csr::cols(self)
    }

    fn csr(&self) -> Option<&Csr> {
        Some(self)
    }

    fn write_row(&self, row: usize, first_col: usize, out: &mut [f64]) {
        scatter_row(self.row(row).into(), Csr::cols(self), first_col, out);
    }

    fn write_single(&self, row: usize, columns: &[u32], out: &mut [f64]) {
        let mut cursor = RowCursor::new(self.row(row).into());
        columns.iter().for_each(|&column| out[column as usize] = cursor.value(column));
    }

    fn gather(&self, positions: Positions<'_>, dense_row: &mut DenseRow, out: &mut [f64]) {
        let (first_col, width) = (positions.first_col as u32, positions.cols);
        positions.for_each_row(|i, first, columns| {
            let (row, cells) = (positions.range_of(self.row(i).into()), &mut out[first..first + columns.len()]);
            let pays = DenseRow::pays(width, row.len(), columns.len());
            if !(pays && dense_row.gather(row, Wanted { columns, first_col, width }, cells)) {
                let mut cursor = RowCursor::new(row);
                for (cell, &j) in cells.iter_mut().zip(columns) {
                    *cell = cursor.value(first_col + j);
                }
            }
        });
    }

    /// Most rows have few positions: whole ones are laid out together.
    fn write_cells(&self, start: usize, out: &mut [f64]) {
        let cols = Csr::cols(self);
        if out.is_empty() {
            return;
        }
        let (row, first_col) = (start / cols, start % cols);
        let begun = if first_col == 0 { 0 } else { (cols - first_col).min(out.len()) };
        let (begun, rest) = out.split_at_mut(begun);
        let (whole, ended) = rest.split_at_mut(rest.len() / cols * cols);
        if !begun.is_empty() {
            self.write_row(row, first_col, begun);
        }
        let next = row + usize::from(first_col != 0);
        Csr::write_cells(self, next, whole);
        if !ended.is_empty() {
            self.write_row(next + whole.len() / cols, 0, ended);
        }
    }

    /// Most rows have few positions, so that nothing but these is done for each of them.
    fn write_consecutive_rows(&self, rows: Range<usize>, columns: Range<usize>, row_stride: usize, out: &mut [f64]) {
        if rows.is_empty() {
            return;
        }
        let cols = Csr::cols(self);
        if columns == (0..cols) && row_stride == cols {
            return Csr::write_cells(self, rows.start, &mut out[..rows.len() * cols]);
        }
        out[columns.start..(rows.len() - 1) * row_stride + columns.end].fill(0.0);
        let (all_columns, all_values) = (self.columns(), self.values());
        for (r, bounds) in self.row_offsets()[rows.start..=rows.end].windows(2).enumerate() {
            let positions = bounds[0]..bounds[1];
            let row = SparseRow { columns: &all_columns[positions.clone()], values: &all_values[positions] };
            place_row(row, cols, columns.start, &mut out[r * row_stride..][columns.clone()]);
        }
    }
}

/// Cells are widened part by part, while they are in the cache.
impl Source for Arc<NarrowDense> {
    fn cols(&self) -> usize {
        NarrowDense::cols(self)
    }

    fn write_row(&self, row: usize, first_col: usize, out: &mut [f64]) {
        self.widen(row * NarrowDense::cols(self) + first_col, out);
    }

    fn write_single(&self, row: usize, columns: &[u32], out: &mut [f64]) {
        columns.iter().for_each(|&column| out[column as usize] = self.get(row, column as usize));
    }

    fn gather(&self, positions: Positions<'_>, _: &mut DenseRow, out: &mut [f64]) {
        positions.for_each_row(|i, first, columns| {
            self.widen_columns(i, positions.first_col, columns, &mut out[first..]);
        });
    }

    /// Rows have no gaps between them.
    fn write_cells(&self, start: usize, out: &mut [f64]) {
        self.widen(start, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Csr {
        Csr::new(3, 4, vec![0, 2, 2, 4], vec![1, 3, 0, 2], vec![1.0, 2.0, 3.0, 4.0]).unwrap()
    }

    /// A matrix in every representation.
    fn sources(csr: &Csr) -> Vec<Box<dyn Source + '_>> {
        let dense = csr.to_dense();
        let bytes = dense.values().iter().map(|&value| value as u8).collect();
        let narrow = NarrowDense::from_vec(csr.rows(), csr.cols(), bytes);
        vec![Box::new(Cow::<Dense>::Owned(dense)), Box::new(Cow::Borrowed(csr)), Box::new(Arc::new(narrow))]
    }

    /// The cells of some positions.
    fn gathered(source: &dyn Source, positions: Positions<'_>, dense_row: &mut DenseRow) -> Vec<f64> {
        let mut out = vec![f64::NAN; positions.end - positions.start];
        source.gather(positions, dense_row, &mut out);
        out
    }

    #[test]
    fn any_run_of_cells_equals_the_dense_form() {
        let (csr, dense) = (example(), example().to_dense());
        for source in sources(&csr) {
            for start in 0..12 {
                for end in start..=12 {
                    let mut out = vec![f64::NAN; end - start];
                    // A row after the other, and as a tile of one row of a flat grid.
                    source.write_cells(start, &mut out);
                    assert_eq!(out, dense.values()[start..end], "{start}..{end}");
                    let tile = Tile { first_row: 0, rows: 1, first_col: start, cols: end - start };
                    out.fill(f64::NAN);
                    source.write_tile(12, RowNumbers::From(0), tile, &mut out);
                    assert_eq!(out, dense.values()[start..end], "{start}..{end}");
                }
            }
        }
    }

    #[test]
    fn tiles_have_their_rows_and_columns() {
        let csr = example();
        for source in sources(&csr) {
            for (numbers, first_row) in [(RowNumbers::From(1), 1), (RowNumbers::Listed(&[0, 2]), 0)] {
                for (first_col, cols) in [(0, 4), (1, 2), (3, 1)] {
                    let mut out = vec![f64::NAN; 2 * cols];
                    source.write_tile(4, numbers, Tile { first_row, rows: 2, first_col, cols }, &mut out);
                    let cells = (0..2).flat_map(|r| (0..cols).map(move |j| (numbers.get(r), first_col + j)));
                    let expected: Vec<f64> = cells.map(|(row, col)| csr.get(row, col)).collect();
                    assert_eq!(out, expected);
                }
            }
        }
    }

    #[test]
    fn gathering_reads_the_cells_of_positions_whatever_the_format() {
        let main = Csr::new(3, 4, vec![0, 4, 5, 7], vec![0, 1, 2, 3, 2, 0, 3], vec![1.0; 7]).unwrap();
        let side = example();
        for (start, end) in [(0, 7), (2, 6), (4, 5), (3, 3)] {
            let first_row = main.row_offsets().partition_point(|&offset| offset <= start) - 1;
            let offsets = &main.row_offsets()[first_row..];
            let (numbers, columns) = (RowNumbers::From(first_row), &main.columns()[start..end]);
            let positions = Positions { numbers, offsets, start, end, columns, first_col: 0, cols: 4 };
            let expected: Vec<f64> = (start..end)
                .map(|p| {
                    let row = main.row_offsets().partition_point(|&offset| offset <= p) - 1;
                    side.get(row, main.columns()[p] as usize)
                })
                .collect();
            for source in sources(&side) {
                assert_eq!(gathered(&*source, positions, &mut DenseRow::default()), expected);
            }
        }
    }

    /// Columns of a unit may count from one of the matrix.
    #[test]
    fn positions_count_from_the_first_column_of_their_unit() {
        let side = Csr::new(2, 9, vec![0, 4, 6], vec![1, 4, 5, 8, 0, 6], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let (offsets, columns, numbers) = ([0, 3, 4], [0, 1, 2, 2], RowNumbers::From(0));
        let positions =
            Positions { numbers, offsets: &offsets, start: 0, end: 4, columns: &columns, first_col: 3, cols: 4 };
        for source in sources(&side) {
            assert_eq!(gathered(&*source, positions, &mut DenseRow::default()), [0.0, 2.0, 3.0, 0.0]);
        }
    }

    /// Rows of any density and width are looked up in whole, whichever way is taken.
    #[test]
    fn rows_are_passed_or_searched() {
        let mut dense_row = DenseRow::default();
        let mut ways = [false; 2];
        for (width, step) in
            [(64, 1), (64, 7), (1 << 16, 3), (1 << 17, 3), (1 << 17, 4096), (1 << 18, 8191), (300, 299)]
        {
            let columns: Vec<u32> = (0..width).step_by(step as usize).collect();
            let values: Vec<f64> = columns.iter().map(|&j| f64::from(j) + 1.0).collect();
            let side = Csr::new(1, width as usize, vec![0, columns.len()], columns, values).unwrap();
            for wanted in [vec![0], vec![width - 1], (0..width).collect::<Vec<u32>>()] {
                ways[usize::from(DenseRow::pays(side.cols(), side.nnz(), wanted.len()))] = true;
                let (offsets, numbers) = ([0, wanted.len()], RowNumbers::From(0));
                let (end, cols) = (wanted.len(), width as usize);
                let positions =
                    Positions { numbers, offsets: &offsets, start: 0, end, columns: &wanted, first_col: 0, cols };
                let expected: Vec<f64> = wanted.iter().map(|&j| side.get(0, j as usize)).collect();
                let source = Cow::Borrowed(&side);
                let cells = gathered(&source, positions, &mut dense_row);
                assert_eq!(cells, expected, "{width} columns, every {step}th");
            }
        }
        assert_eq!(ways, [true; 2]);
    }
}
