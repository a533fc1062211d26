//! Where the columns of a sparse row meet those of rows of other matrices: without a search for each position, and without
//! a branch that depends on where rows meet, as one for each position does in a merge.

use crate::layout::leading;
use crate::short_row::{ShortRow, Wanted};
use fuseline_ir::work::{PASSED_FOR_SEARCH, PLACED_COLUMNS};
use fuseline_matrix::{JoinedCells, SparseRow};

/// A row that is zero but while it holds the cells of a sparse one. Of wider rows than it has room for, short ones are
/// looked up in their own columns, and long ones held one part after the other.
#[derive(Debug, Default)]
pub(crate) struct DenseRow {
    /// By the last bits of a column: [`FEW`] or [`MANY`] cells.
    cells: Vec<f64>,
    short: ShortRow,
}

/// How many columns are told apart: what is fixed for the compiler needs no check of an index, which takes as long as the
/// look-up itself.
pub(crate) const FEW: usize = 1 << 12;
/// With more, the lines that two rows touch no longer stay in the second-level cache.
pub(crate) const MANY: usize = PLACED_COLUMNS;

/// Positions of a row in each part of [`MANY`] columns from which on it is held part by part.
const POSITIONS_OF_PART: usize = 8;

/// What is done with the cells for rows of some width, by code for their number.
macro_rules! over_cells {
    ($dense:expr, $width:expr, |$cells:ident| $work:expr) => {{
        $dense.make_room($width);
        match $dense.cells.first_chunk_mut::<MANY>() {
            Some($cells) => $work,
            None => {
                let $cells = $dense.cells.first_chunk_mut::<FEW>().expect("few or many");
                $work
            }
        }
    }};
}

impl DenseRow {
    /// Whether passing a row of so many columns and positions is faster than to search it `wanted` times.
    pub(crate) fn pays(columns: usize, positions: usize, wanted: usize) -> bool {
        DenseRow::may_hold(columns, positions) && positions <= wanted.saturating_mul(PASSED_FOR_SEARCH)
    }

    /// Whether rows of so many columns and positions fit.
    #[inline]
    pub(crate) fn may_hold(columns: usize, positions: usize) -> bool {
        columns <= MANY || ShortRow::may_hold(positions) || positions / POSITIONS_OF_PART >= columns.div_ceil(MANY)
    }

    /// Makes room for rows of so many columns.
    #[inline]
    fn make_room(&mut self, width: usize) {
        if self.cells.is_empty() || width > self.cells.len() {
            self.cells = vec![0.0; if width <= FEW { FEW } else { MANY }];
        }
    }

    /// The non-zeros of a row of so many columns in whose columns another one has positions, with the cells of both;
    /// how many these are. One more is written behind them. None if a short row's columns are not told apart.
    #[inline]
    pub(crate) fn meet(
        &mut self,
        row: SparseRow<'_>,
        other: SparseRow<'_>,
        width: usize,
        out: JoinedCells<'_>,
    ) -> Option<usize> {
        match width {
            ..=MANY => Some(self.meet_in_one(row, other, width, out)),
            _ if ShortRow::may_hold(row.len()) => self.short.meet(row, other, out),
            _ => Some(self.meet_in_parts(row, other, out)),
        }
    }

    #[inline]
    fn meet_in_one(&mut self, row: SparseRow<'_>, other: SparseRow<'_>, width: usize, out: JoinedCells<'_>) -> usize {
        over_cells!(self, width, |cells| meet(cells, row, other, out))
    }

    fn meet_in_parts<'a>(
        &mut self,
        mut row: SparseRow<'a>,
        mut other: SparseRow<'a>,
        mut out: JoinedCells<'_>,
    ) -> usize {
        let mut count = 0;
        while let (Some(&first), Some(&first_of_other)) = (row.columns.first(), other.columns.first()) {
            let part = first.max(first_of_other) as usize / MANY;
            let (own, others);
            (own, row) = part_and_rest(row, part);
            (others, other) = part_and_rest(other, part);
            count += self.meet_in_one(own, others, MANY, out.behind(count));
        }
        count
    }

    /// Writes the cells of two rows of at most [`MANY`] columns wherever one of them has a position: at those of the longer
    /// one, and behind these at what the other one adds, but for stored zeros; how many these are.
    pub(crate) fn join(
        &mut self,
        left: SparseRow<'_>,
        right: SparseRow<'_>,
        width: usize,
        out: JoinedCells<'_>,
    ) -> usize {
        over_cells!(self, width, |cells| Joined::of(left, right, out).write(cells))
    }

    /// Writes the cells of a sparse row in some columns to `out`; whether it did: not if a short row's columns are not
    /// told apart.
    pub(crate) fn gather(&mut self, row: SparseRow<'_>, wanted: Wanted<'_>, out: &mut [f64]) -> bool {
        match wanted.width {
            ..=MANY => self.gather_in_one(row, wanted, out),
            _ if ShortRow::may_hold(row.len()) => return self.short.gather(row, wanted, out),
            _ => self.gather_in_parts(row, wanted, out),
        }
        true
    }

    fn gather_in_one(&mut self, row: SparseRow<'_>, wanted: Wanted<'_>, out: &mut [f64]) {
        over_cells!(self, wanted.width, |cells| gather(cells, row, wanted, out));
    }

    fn gather_in_parts(&mut self, mut row: SparseRow<'_>, wanted: Wanted<'_>, mut out: &mut [f64]) {
        let Wanted { mut columns, first_col, .. } = wanted;
        let part_of = |column: u32| (first_col + column) as usize / MANY;
        while let Some(&first) = columns.first() {
            let part = part_of(first);
            let own;
            (own, row) = part_and_rest(row, part);
            let (wanted, rest) = columns.split_at(leading(columns.len(), |place| part_of(columns[place]) == part));
            let cells = out.split_off_mut(..wanted.len()).expect("a cell for each column");
            self.gather_in_one(own, Wanted { columns: wanted, first_col, width: MANY }, cells);
            columns = rest;
        }
    }
}

/// A row's positions in a part of [`MANY`] columns, and those behind them.
fn part_and_rest(row: SparseRow<'_>, part: usize) -> (SparseRow<'_>, SparseRow<'_>) {
    let part_of = |place: usize| row.columns[place] as usize / MANY;
    let begin = leading(row.len(), |place| part_of(place) < part);
    let end = begin + leading(row.len() - begin, |place| part_of(begin + place) == part);
    (row.part(begin..end), row.part(end..row.len()))
}

/// Writes a row to cells, streams the other one past them, and clears what was written.
#[inline]
fn meet<const N: usize>(cells: &mut [f64; N], row: SparseRow<'_>, other: SparseRow<'_>, out: JoinedCells<'_>) -> usize {
    for (&j, &value) in row.columns.iter().zip(row.values) {
        cells[j as usize % N] = value;
    }
    let most = row.len().min(other.len()) + 1;
    let JoinedCells { columns, left, right } = out;
    let (columns, left, right) = (&mut columns[..most], &mut left[..most], &mut right[..most]);
    let mut count = 0;
    for (&j, &value) in other.columns.iter().zip(other.values) {
        let cell = cells[j as usize % N];
        // A zero is overwritten by what comes next: no branch has to foresee it.
        (columns[count], left[count], right[count]) = (j, cell, value);
        count += usize::from(cell != 0.0);
    }
    for &j in row.columns {
        cells[j as usize % N] = 0.0;
    }
    count
}

/// Positions from which on it pays to call functions that copy columns and values.
const COPIED: usize = 16;

/// Two rows that are joined.
struct Joined<'r, 'o> {
    long: SparseRow<'r>,
    short: SparseRow<'r>,
    columns: &'o mut [u32],
    of_long: &'o mut [f64],
    of_short: &'o mut [f64],
}

impl<'r, 'o> Joined<'r, 'o> {
    fn of(left: SparseRow<'r>, right: SparseRow<'r>, out: JoinedCells<'o>) -> Self {
        let JoinedCells { columns, left: of_left, right: of_right } = out;
        let most = left.len() + right.len();
        let (columns, of_left, of_right) = (&mut columns[..most], &mut of_left[..most], &mut of_right[..most]);
        if left.len() >= right.len() {
            Joined { long: left, short: right, columns, of_long: of_left, of_short: of_right }
        } else {
            Joined { long: right, short: left, columns, of_long: of_right, of_short: of_left }
        }
    }

    /// Writes the short row to cells, takes from them what is in the columns of the long one, and then what is left: no
    /// branch depends on where rows meet.
    fn write<const N: usize>(self, cells: &mut [f64; N]) -> usize {
        let Joined { long, short, columns, of_long, of_short } = self;
        for (&j, &value) in short.columns.iter().zip(short.values) {
            cells[j as usize % N] = value;
        }
        let positions = long.columns.iter().zip(&mut *of_short);
        if long.len() >= COPIED {
            columns[..long.len()].copy_from_slice(long.columns);
            of_long[..long.len()].copy_from_slice(long.values);
            positions.for_each(|(&j, of_short)| *of_short = std::mem::take(&mut cells[j as usize % N]));
        } else {
            let copies = columns.iter_mut().zip(of_long.iter_mut()).zip(long.values);
            for ((&j, of_short), ((column, of_long), &value)) in positions.zip(copies) {
                (*column, *of_long, *of_short) = (j, value, std::mem::take(&mut cells[j as usize % N]));
            }
        }
        let mut count = long.len();
        for &j in short.columns {
            // What has been taken is overwritten by what comes next.
            let value = std::mem::take(&mut cells[j as usize % N]);
            (columns[count], of_long[count], of_short[count]) = (j, 0.0, value);
            count += usize::from(value.to_bits() != 0);
        }
        count
    }
}

/// Writes a row to cells, reads some of them, and clears what was written. Four at a time, since the compiler does not
/// unroll such loops.
fn gather<const N: usize>(cells: &mut [f64; N], row: SparseRow<'_>, wanted: Wanted<'_>, out: &mut [f64]) {
    let Wanted { columns, first_col, .. } = wanted;
    let ((fours, rest), (fours_of_values, rest_of_values)) =
        (row.columns.as_chunks::<4>(), row.values.as_chunks::<4>());
    for (columns, values) in fours.iter().zip(fours_of_values) {
        for (&j, &value) in columns.iter().zip(values) {
            cells[j as usize % N] = value;
        }
    }
    for (&j, &value) in rest.iter().zip(rest_of_values) {
        cells[j as usize % N] = value;
    }
    let ((wanted, last_wanted), (outs, last_outs)) = (columns.as_chunks::<4>(), out.as_chunks_mut::<4>());
    for (columns, out) in wanted.iter().zip(outs) {
        for (&j, out) in columns.iter().zip(out) {
            *out = cells[(first_col + j) as usize % N];
        }
    }
    for (&j, out) in last_wanted.iter().zip(last_outs) {
        *out = cells[(first_col + j) as usize % N];
    }
    for columns in fours {
        for &j in columns {
            cells[j as usize % N] = 0.0;
        }
    }
    for &j in rest {
        cells[j as usize % N] = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_looked_up_one_after_the_other() {
        let mut dense = DenseRow::default();
        let side = (&[0, 3, 4, 5, 7][..], &[1.0, -0.0, f64::NAN, 5.0, 4.0][..]);
        for (columns, expected) in [
            (&[0, 1, 2, 6, 7][..], &[1.0, 0.0, 0.0, 0.0, 4.0][..]),
            (&[2, 3], &[0.0, -0.0]),
            (&[], &[]),
            (&[1, 2], &[0.0, 0.0]),
            (&[4], &[f64::NAN]),
            (&[0, 1, 2, 3, 4, 5, 6, 7], &[1.0, 0.0, 0.0, -0.0, f64::NAN, 5.0, 0.0, 4.0]),
        ] {
            // Wherever columns begin, and whatever was there before them.
            for (first_col, width) in [(0, 8), (5, 8), (70_000, FEW), (FEW as u32 - 4, FEW + 1), (u32::MAX - 8, MANY)] {
                let shifted: Vec<u32> = side.0.iter().map(|j| j + first_col).collect();
                let mut out = vec![7.0; expected.len()];
                let row = SparseRow { columns: &shifted, values: side.1 };
                assert!(dense.gather(row, Wanted { columns, first_col, width }, &mut out));
                let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<u64>>();
                assert_eq!(bits(&out), bits(expected), "{columns:?} from {first_col} on");
                assert!(dense.cells.iter().all(|cell| cell.to_bits() == 0), "cleared");
            }
        }
    }

    /// The positions of two rows, by the definition: those of the longer one first, as bits.
    fn joined(left: SparseRow<'_>, right: SparseRow<'_>) -> Vec<(u32, u64, u64)> {
        let cell = |row: SparseRow<'_>, j: u32| row.columns.binary_search(&j).map_or(0.0, |place| row.values[place]);
        let (long, short) = if left.len() >= right.len() { (left, right) } else { (right, left) };
        let is_added = |&j: &u32| !long.columns.contains(&j) && cell(short, j).to_bits() != 0;
        let columns = long.columns.iter().copied().chain(short.columns.iter().copied().filter(is_added));
        columns.map(|j| (j, cell(left, j).to_bits(), cell(right, j).to_bits())).collect()
    }

    /// P037: rows of all lengths, empty ones and those that are copied among them, with stored zeros and NaN.
    #[test]
    fn rows_that_are_joined_have_the_cells_of_both() {
        let mut dense = DenseRow::default();
        let values_of = |columns: &[u32], shift: u32| -> Vec<f64> {
            let value = |j: &u32| [0.0, -0.0, f64::NAN, 1.5, -2.0, 3.0, 4.0][((j + shift) % 7) as usize];
            columns.iter().map(value).collect()
        };
        let every = |first: u32, step: u32, count: u32| (0..count).map(|k| first + k * step).collect::<Vec<u32>>();
        let rows = [every(0, 1, 0), every(3, 2, 5), every(0, 3, 15), every(1, 2, 16), every(0, 1, 50)];
        for width in [64, FEW + 1, 64] {
            for (left, right) in rows.iter().flat_map(|left| rows.iter().map(move |right| (left, right))) {
                let (left_values, right_values) = (values_of(left, 0), values_of(right, 3));
                let left = SparseRow { columns: left, values: &left_values };
                let right = SparseRow { columns: right, values: &right_values };
                let most = left.len() + right.len();
                let (mut columns, mut of_left, mut of_right) = (vec![9; most], vec![9.0; most], vec![9.0; most]);
                let out = JoinedCells { columns: &mut columns, left: &mut of_left, right: &mut of_right };
                let count = dense.join(left, right, width, out);
                let found = (0..count).map(|p| (columns[p], of_left[p].to_bits(), of_right[p].to_bits()));
                assert_eq!(found.collect::<Vec<_>>(), joined(left, right), "{left:?} and {right:?}");
                assert!(dense.cells.iter().all(|cell| cell.to_bits() == 0), "cleared");
            }
        }
    }
}
