//! Laying out rows for units: those of CSR matrices are scattered into dense tiles, and those of side inputs of sparse units
//! are gathered by position, so that generated code never looks anything up.

use crate::visited::RowNumbers;
use fuseline_matrix::SparseRow;
use fuseline_vecprims::{Primitives, Tile};

/// Writes consecutive cells of a CSR row of `width` columns from this column on, zeros included: at most one search, then a scan.
pub(crate) fn scatter_row(row: SparseRow<'_>, width: usize, first_col: usize, cells: &mut [f64]) {
    cells.fill(0.0);
    place_row(row, width, first_col, cells);
}

/// Writes the values of a CSR row of `width` columns from a column on to their cells, which hold zeros before.
#[inline]
pub(crate) fn place_row(row: SparseRow<'_>, width: usize, first_col: usize, cells: &mut [f64]) {
    let SparseRow { columns, values } = row;
    let begin = if first_col == 0 { 0 } else { columns_before(columns, width, first_col) };
    for (&j, &value) in columns[begin..].iter().zip(&values[begin..]) {
        match cells.get_mut(j as usize - first_col) {
            Some(cell) => *cell = value,
            None => break,
        }
    }
}

/// Reads cells of one CSR row in ascending order of columns. A scan of all columns costs as much as the row has
/// positions; leaving out columns never costs more than a search.
pub(crate) struct RowCursor<'a> {
    rest: SparseRow<'a>,
}

impl<'a> RowCursor<'a> {
    /// A cursor before the first position.
    pub(crate) fn new(row: SparseRow<'a>) -> Self {
        RowCursor { rest: row }
    }

    /// The cell in a column that is not left of the last one that was asked for.
    pub(crate) fn value(&mut self, column: u32) -> f64 {
        let SparseRow { columns, values } = self.rest;
        let passed = leading(columns.len(), |position| columns[position] < column);
        self.rest = SparseRow { columns: &columns[passed..], values: &values[passed..] };
        if self.rest.columns.first() == Some(&column) { self.rest.values[0] } else { 0.0 }
    }
}

/// How many of `len` positions satisfy a condition that all of them up to some position do, by steps of doubling length:
/// the logarithm of the result, not of `len`.
pub(crate) fn leading(len: usize, mut holds: impl FnMut(usize) -> bool) -> usize {
    let (mut known, mut step) = (0, 1);
    while known + step <= len && holds(known + step - 1) {
        known += step;
        step *= 2;
    }
    let mut end = (known + step - 1).min(len);
    while known < end {
        let middle = known.midpoint(end);
        if holds(middle) { known = middle + 1 } else { end = middle }
    }
    known
}

/// How many of a row's columns lie before one of `width`: searched for from where it would be if they were spread evenly, since
/// each step of a search through all of a long row waits for memory.
fn columns_before(columns: &[u32], width: usize, column: usize) -> usize {
    let is_before = |position: usize| (columns[position] as usize) < column;
    let expected = (columns.len().saturating_mul(column) / width.max(1)).min(columns.len());
    if expected < columns.len() && is_before(expected) {
        return expected + leading(columns.len() - expected, |after| is_before(expected + after));
    }
    expected - leading(expected, |back| !is_before(expected - 1 - back))
}

/// Positions of a sparse unit: of row `numbers.get(r)` those from `offsets[r]` to `offsets[r + 1]`, as far as they lie
/// in `start..end`.
#[derive(Clone, Copy)]
pub(crate) struct Positions<'a> {
    pub(crate) numbers: RowNumbers<'a>,
    pub(crate) offsets: &'a [usize],
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Columns of `start..end`, counted from `first_col`.
    pub(crate) columns: &'a [u32],
    pub(crate) first_col: usize,
    /// The columns that there may be.
    pub(crate) cols: usize,
}

impl Positions<'_> {
    /// The part of a row of another matrix in the columns that there may be.
    pub(crate) fn range_of<'r>(&self, row: SparseRow<'r>) -> SparseRow<'r> {
        let SparseRow { columns, values } = row;
        let count = |end: usize| columns.partition_point(|&j| (j as usize) < end);
        let begin = if self.first_col == 0 { 0 } else { count(self.first_col) };
        let is_whole = columns.last().is_none_or(|&last| (last as usize) < self.first_col + self.cols);
        let end = if is_whole { columns.len() } else { count(self.first_col + self.cols) };
        SparseRow { columns: &columns[begin..end], values: &values[begin..end] }
    }

    /// Visits each row's columns, with the index of the first of them in `columns`.
    pub(crate) fn for_each_row(&self, mut visit: impl FnMut(usize, usize, &[u32])) {
        for (r, bounds) in self.offsets.windows(2).enumerate() {
            if bounds[0] >= self.end {
                break;
            }
            let (first, last) = (bounds[0].max(self.start) - self.start, bounds[1].min(self.end) - self.start);
            if first < last {
                visit(self.numbers.get(r), first, &self.columns[first..last]);
            }
        }
    }
}

/// The first of ascending columns between which none is missing.
fn consecutive(columns: &[u32]) -> Option<usize> {
    let (&first, &last) = (columns.first()?, columns.last()?);
    ((last - first) as usize + 1 == columns.len()).then_some(first as usize)
}

/// Columns from which on it pays to see whether they are consecutive, and to call a function that copies them.
const COPIED_COLUMNS: usize = 8;

/// Writes the cells of a row in some columns.
#[inline]
pub(crate) fn gather_row(row: &[f64], columns: &[u32], out: &mut [f64]) {
    match consecutive(columns).filter(|_| columns.len() >= COPIED_COLUMNS) {
        Some(first) => out[..columns.len()].copy_from_slice(&row[first..first + columns.len()]),
        None => out.iter_mut().zip(columns).for_each(|(cell, &j)| *cell = row[j as usize]),
    }
}

/// Writes the cell of a row vector for each position.
pub(crate) fn gather_columns(primitives: &Primitives, vector: &[f64], positions: Positions<'_>, out: &mut [f64]) {
    let (run, vector) = ([0, positions.columns.len()], &vector[positions.first_col..]);
    primitives.sparse_gather(&run, positions.columns, Tile { values: vector, row_stride: 0 }, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use fuseline_vecprims::{Isa, primitives};

    #[test]
    fn row_vectors_are_read_from_the_first_column_of_their_unit() {
        let (offsets, columns, numbers) = ([0, 3, 4], [0, 1, 2, 2], RowNumbers::From(0));
        let positions =
            Positions { numbers, offsets: &offsets, start: 0, end: 4, columns: &columns, first_col: 3, cols: 4 };
        let mut out = [f64::NAN; 4];
        gather_columns(primitives(Isa::detect()), &[9.0, 9.0, 9.0, 0.0, 1.0, 2.0, 3.0], positions, &mut out);
        assert_eq!(out, [0.0, 1.0, 2.0, 2.0]);
    }

    #[test]
    fn columns_before_are_found_however_they_are_spread() {
        let even: Vec<u32> = (0..500).map(|position| position * 2).collect();
        let dense_left: Vec<u32> = (0..400).chain([700, 999]).collect();
        let dense_right: Vec<u32> = [0, 3].into_iter().chain(600..1000).collect();
        for columns in [even, dense_left, dense_right, vec![], vec![0], vec![999]] {
            for column in 0..=1000 {
                let before = columns.partition_point(|&j| (j as usize) < column);
                assert_eq!(columns_before(&columns, 1000, column), before, "{column} in {columns:?}");
            }
        }
    }

    /// A scan of all columns, or of any ascending few, looks at each position of the row a constant number of times.
    #[test]
    fn a_scan_by_cursor_costs_as_much_as_the_row_has_positions() {
        let columns: Vec<u32> = (0..10_000).map(|position| position * 3).collect();
        for wanted in [(0..30_000).collect::<Vec<u32>>(), columns.clone(), vec![0, 29_997], vec![29_999]] {
            let (mut rest, mut looks) = (&columns[..], 0);
            for &column in &wanted {
                let passed = leading(rest.len(), |position| {
                    looks += 1;
                    rest[position] < column
                });
                assert_eq!(passed, rest.partition_point(|&j| j < column));
                rest = &rest[passed..];
            }
            let bound = wanted.len() + if wanted.len() > 2 { 2 * columns.len() } else { 40 };
            assert!(looks <= bound, "{looks} looks for {} columns", wanted.len());
        }
    }
}
