//! Where a short row of a wide matrix meets another one: by a sparse set (Briggs and Torczon, 1993) of its columns, which
//! stays in the nearest cache however wide the matrix is, and is never cleared.

use fuseline_matrix::{JoinedCells, SparseRow};

/// The place in a row of each of its columns.
#[derive(Debug, Default)]
pub(crate) struct ShortRow {
    /// By the last bits of a column; nothing before the first row. What rows before this one have left points to other
    /// columns than those looked up.
    places: Option<Box<[u16; CELLS]>>,
}

/// The columns of a row whose cells are wanted.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// Counted from `first_col`.
    pub(crate) columns: &'a [u32],
    pub(crate) first_col: u32,
    /// The number of columns from `first_col` on among which all lie.
    pub(crate) width: usize,
}

/// Few enough for half of the nearest cache, and many enough that two columns of a short row seldom share a cell.
const CELLS: usize = 1 << 13;
/// Positions of the longest row: two columns in one row of five share a cell then.
const LONGEST: usize = 64;

impl ShortRow {
    /// Whether this is for rows of so many positions.
    pub(crate) fn may_hold(positions: usize) -> bool {
        (1..=LONGEST).contains(&positions)
    }

    /// Takes the columns of a row in, of which there are some; none if two of them share a cell.
    fn take<'a>(&'a mut self, columns: &'a [u32]) -> Option<Taken<'a>> {
        let places = self.places.get_or_insert_with(|| Box::new([0; CELLS]));
        let last = columns.len() - 1;
        let mut is_shared = false;
        for (place, &column) in (0..).zip(columns) {
            let cell = &mut places[column as usize % CELLS];
            let before = usize::from(*cell).min(last);
            // No branch has to foresee what earlier rows have left.
            is_shared |= (before < usize::from(place)) & ((columns[before] ^ column) as usize).is_multiple_of(CELLS);
            *cell = place;
        }
        (!is_shared).then_some(Taken { places, columns })
    }

    /// The non-zeros of a short row in whose columns another one has positions, with the cells of both; how many these
    /// are. One more is written behind them. None if columns of the short one share a cell.
    pub(crate) fn meet(&mut self, row: SparseRow<'_>, other: SparseRow<'_>, out: JoinedCells<'_>) -> Option<usize> {
        let values = &row.values[..row.columns.len()];
        let taken = self.take(row.columns)?;
        let most = row.len().min(other.len()) + 1;
        let JoinedCells { columns, left, right } = out;
        let (columns, left, right) = (&mut columns[..most], &mut left[..most], &mut right[..most]);
        let mut count = 0;
        for (&column, &value) in other.columns.iter().zip(other.values) {
            let (place, is_there) = taken.place_of(column);
            let own = values[place];
            // What does not meet is overwritten by what comes next: no branch has to foresee it.
            (columns[count], left[count], right[count]) = (column, own, value);
            count += usize::from(is_there & (own != 0.0));
        }
        Some(count)
    }

    /// Writes the cells of a short row in some columns to `out`; whether it did: not if columns of the row share a cell.
    pub(crate) fn gather(&mut self, row: SparseRow<'_>, wanted: Wanted<'_>, out: &mut [f64]) -> bool {
        let values = &row.values[..row.columns.len()];
        let Some(taken) = self.take(row.columns) else { return false };
        for (&column, out) in wanted.columns.iter().zip(out) {
            let (place, is_there) = taken.place_of(wanted.first_col + column);
            *out = if is_there { values[place] } else { 0.0 };
        }
        true
    }
}

/// The columns of a row that has been taken in.
struct Taken<'a> {
    places: &'a [u16; CELLS],
    columns: &'a [u32],
}

impl Taken<'_> {
    /// Where a column may be among those of the row, and whether it is there.
    #[inline(always)]
    fn place_of(&self, column: u32) -> (usize, bool) {
        let place = usize::from(self.places[column as usize % CELLS]).min(self.columns.len() - 1);
        (place, self.columns[place] == column)
    }
}
