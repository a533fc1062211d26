//! Laying out inputs for units: rows of CSR matrices are scattered into dense tiles, and side inputs of sparse units are
//! gathered by position, so that generated code never looks anything up.

use crate::binding::Cells;
use crate::blocks::Tile;
use fuseline_matrix::{Csr, Dense};

/// Writes consecutive cells of a CSR matrix, in row-major order from cell number `start`, zeros included.
pub(crate) fn scatter(csr: &Csr, start: usize, out: &mut [f64]) {
    out.fill(0.0);
    if out.is_empty() {
        return;
    }
    let (mut row, mut first_col) = (start / csr.cols(), start % csr.cols());
    let mut rest = out;
    while !rest.is_empty() {
        let (cells, later) = rest.split_at_mut((csr.cols() - first_col).min(rest.len()));
        let (columns, values) = csr.row(row);
        // At most one search for each run of cells; within the run the cursor only moves on.
        let begin = if first_col == 0 { 0 } else { columns.partition_point(|&j| (j as usize) < first_col) };
        for (&j, &value) in columns[begin..].iter().zip(&values[begin..]) {
            match cells.get_mut(j as usize - first_col) {
                Some(cell) => *cell = value,
                None => break,
            }
        }
        rest = later;
        row += 1;
        first_col = 0;
    }
}

/// Writes a tile of a CSR matrix, its rows `cols` apart. `width` is the number of columns of the partitioned grid, which
/// may be all cells in one row.
pub(crate) fn scatter_tile(csr: &Csr, width: usize, tile: Tile, out: &mut [f64]) {
    if tile.cols == 0 {
        return;
    }
    for (r, row) in out.chunks_exact_mut(tile.cols).enumerate() {
        scatter(csr, (tile.first_row + r) * width + tile.first_col, row);
    }
}

/// Positions of a sparse unit: of row `first_row + r` those from `offsets[r]` to `offsets[r + 1]`, as far as they lie
/// in `start..end`.
#[derive(Clone, Copy)]
pub(crate) struct Positions<'a> {
    pub(crate) first_row: usize,
    pub(crate) offsets: &'a [usize],
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Columns of `start..end`.
    pub(crate) columns: &'a [u32],
}

impl Positions<'_> {
    /// Visits each row's columns, with the index of the first of them in `columns`.
    fn for_each_row(&self, mut visit: impl FnMut(usize, usize, &[u32])) {
        for (r, bounds) in self.offsets.windows(2).enumerate() {
            if bounds[0] >= self.end {
                break;
            }
            let (first, last) = (bounds[0].max(self.start) - self.start, bounds[1].min(self.end) - self.start);
            if first < last {
                visit(self.first_row + r, first, &self.columns[first..last]);
            }
        }
    }
}

/// Writes the cell of a side matrix for each position.
pub(crate) fn gather_cells(side: &Cells<'_>, positions: Positions<'_>, out: &mut [f64]) {
    match side {
        Cells::Dense(dense) => gather_dense(dense, positions, out),
        Cells::Sparse(csr) => gather_sparse(csr, positions, out),
    }
}

fn gather_dense(dense: &Dense, positions: Positions<'_>, out: &mut [f64]) {
    positions.for_each_row(|i, first, columns| {
        let row = dense.row(i);
        for (cell, &j) in out[first..].iter_mut().zip(columns) {
            *cell = row[j as usize];
        }
    });
}

fn gather_sparse(csr: &Csr, positions: Positions<'_>, out: &mut [f64]) {
    positions.for_each_row(|i, first, columns| {
        let (side_columns, side_values) = csr.row(i);
        let mut cursor = side_columns.partition_point(|&side| side < columns[0]);
        for (cell, &j) in out[first..].iter_mut().zip(columns) {
            while side_columns.get(cursor).is_some_and(|&side| side < j) {
                cursor += 1;
            }
            *cell = if side_columns.get(cursor) == Some(&j) { side_values[cursor] } else { 0.0 };
        }
    });
}

/// Writes the cell of a row vector for each position.
pub(crate) fn gather_columns(vector: &[f64], columns: &[u32], out: &mut [f64]) {
    for (cell, &j) in out.iter_mut().zip(columns) {
        *cell = vector[j as usize];
    }
}

/// CSR rows that a skeleton builds for a unit, of some columns of the main input.
#[derive(Debug, Default)]
pub(crate) struct BuiltRows {
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
        self.offsets.clear();
        self.offsets.push(0);
        self.columns.clear();
        self.relative.clear();
        self.values.clear();
    }

    /// The number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Appends the non-zeros of dense cells that begin at this column.
    pub(crate) fn push_dense(&mut self, first_col: usize, cells: &[f64]) {
        for (j, &value) in cells.iter().enumerate() {
            if value != 0.0 {
                self.columns.push((first_col + j) as u32);
                self.relative.push(j as u32);
                self.values.push(value);
            }
        }
        self.offsets.push(self.values.len());
    }

    /// Appends the positions of a CSR row in a range of columns.
    pub(crate) fn push_range(&mut self, (columns, values): (&[u32], &[f64]), range: std::ops::Range<usize>) {
        let first = columns.partition_point(|&j| (j as usize) < range.start);
        let last = first + columns[first..].partition_point(|&j| (j as usize) < range.end);
        self.columns.extend_from_slice(&columns[first..last]);
        self.relative.extend(columns[first..last].iter().map(|&j| j - range.start as u32));
        self.values.extend_from_slice(&values[first..last]);
        self.offsets.push(self.values.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Csr {
        Csr::new(3, 4, vec![0, 2, 2, 4], vec![1, 3, 0, 2], vec![1.0, 2.0, 3.0, 4.0]).unwrap()
    }

    #[test]
    fn scattering_any_run_of_cells_equals_the_dense_form() {
        let (csr, dense) = (example(), example().to_dense());
        for start in 0..12 {
            for end in start..=12 {
                let mut out = vec![f64::NAN; end - start];
                scatter(&csr, start, &mut out);
                assert_eq!(out, dense.values()[start..end], "{start}..{end}");
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
            let positions = Positions { first_row, offsets, start, end, columns: &main.columns()[start..end] };
            let expected: Vec<f64> = (start..end)
                .map(|p| {
                    let row = main.row_offsets().partition_point(|&offset| offset <= p) - 1;
                    side.get(row, main.columns()[p] as usize)
                })
                .collect();
            let mut out = vec![f64::NAN; end - start];
            gather_cells(&Cells::Sparse(&side), positions, &mut out);
            assert_eq!(out, expected);
            out.fill(f64::NAN);
            gather_cells(&Cells::Dense(std::borrow::Cow::Owned(side.to_dense())), positions, &mut out);
            assert_eq!(out, expected);
        }
    }
}
