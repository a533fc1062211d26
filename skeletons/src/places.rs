//! The places of a joined row's columns: where each of them lies among the positions, found without a search and
//! without a branch that depends on where rows meet.

use crate::dense_row::{FEW, MANY};
use fuseline_matrix::SparseRow;

/// For each column its place among the positions so far, counted from 1; 0 for others.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// By the last bits of a column: [`FEW`] or [`MANY`].
    of_columns: Vec<u32>,
}

/// Room for the columns of a row.
pub(crate) enum PlacesOfRow<'a> {
    Few(&'a mut [u32; FEW]),
    Many(&'a mut [u32; MANY]),
}

impl Places {
    /// Whether rows of so many columns fit.
    pub(crate) fn may_hold(width: usize) -> bool {
        width <= MANY
    }

    /// Room for a row of so many columns.
    pub(crate) fn of_width(&mut self, width: usize) -> PlacesOfRow<'_> {
        if self.of_columns.is_empty() || width > self.of_columns.len() {
            self.of_columns = vec![0; if width <= FEW { FEW } else { MANY }];
        }
        match self.of_columns.first_chunk_mut::<MANY>() {
            Some(_) => PlacesOfRow::Many(self.of_columns.first_chunk_mut().expect("many")),
            None => PlacesOfRow::Few(self.of_columns.first_chunk_mut().expect("few or many")),
        }
    }
}

impl PlacesOfRow<'_> {
    /// Writes the cells of a row to the places of their columns, new ones behind the `count` positions so far; how many
    /// there are then.
    pub(crate) fn add(&mut self, row: SparseRow<'_>, columns: &mut [u32], cells: &mut [f64], count: usize) -> usize {
        match self {
            PlacesOfRow::Few(places) => add(places, row, columns, cells, count),
            PlacesOfRow::Many(places) => add(places, row, columns, cells, count),
        }
    }

    /// Forgets the places of these columns.
    pub(crate) fn clear(&mut self, columns: &[u32]) {
        match self {
            PlacesOfRow::Few(places) => columns.iter().for_each(|&column| places[column as usize % FEW] = 0),
            PlacesOfRow::Many(places) => columns.iter().for_each(|&column| places[column as usize % MANY] = 0),
        }
    }
}

fn add<const N: usize>(
    places: &mut [u32; N],
    row: SparseRow<'_>,
    columns: &mut [u32],
    cells: &mut [f64],
    mut count: usize,
) -> usize {
    if count == 0 {
        columns[..row.len()].copy_from_slice(row.columns);
        cells[..row.len()].copy_from_slice(row.values);
        for (place, &column) in (1..).zip(row.columns) {
            places[column as usize % N] = place;
        }
        return row.len();
    }
    for (&column, &value) in row.columns.iter().zip(row.values) {
        let place = &mut places[column as usize % N];
        let is_new = *place == 0;
        let position = if is_new { count } else { *place as usize - 1 };
        *place = position as u32 + 1;
        (columns[position], cells[position]) = (column, value);
        count += usize::from(is_new);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_lie_at_the_places_of_their_columns() {
        let (width, far) = (MANY, MANY as u32 - 1);
        let (one, other) =
            ((&[2, 5, far][..], &[1.0, 2.0, 3.0][..]), (&[0, 5, 7, far][..], &[4.0, 5.0, 0.0, f64::NAN][..]));
        let mut all = Places::default();
        for width in [8, width, 8] {
            let shift = |columns: &[u32]| columns.iter().map(|column| column % width as u32).collect::<Vec<u32>>();
            let (mut columns, mut left, mut right) = (vec![9; 7], vec![0.0; 7], vec![0.0; 7]);
            let mut places = all.of_width(width);
            let of_one = shift(one.0);
            let count = places.add(SparseRow { columns: &of_one, values: one.1 }, &mut columns, &mut left, 0);
            assert_eq!((count, &columns[..3], &left[..3]), (3, &of_one[..], one.1));
            // Far columns are 7 in narrow rows.
            let (of_other, values) =
                if width == 8 { (vec![0, 5, 7], &other.1[..3]) } else { (shift(other.0), other.1) };
            let count = places.add(SparseRow { columns: &of_other, values }, &mut columns, &mut right, count);
            let cells = |cells: &[f64]| cells[..count].iter().map(|cell| cell.to_bits()).collect::<Vec<u64>>();
            let bits = |cells: &[f64]| cells.iter().map(|cell| cell.to_bits()).collect::<Vec<u64>>();
            if width == 8 {
                assert_eq!(columns[..count], [2, 5, 7, 0]);
                assert_eq!(cells(&right), bits(&[0.0, 5.0, 0.0, 4.0]));
            } else {
                assert_eq!(columns[..count], [2, 5, far, 0, 7]);
                assert_eq!(cells(&right), bits(&[0.0, 5.0, f64::NAN, 4.0, 0.0]));
            }
            places.clear(&columns[..count]);
            assert!(all.of_columns.iter().all(|&place| place == 0), "cleared");
        }
    }
}
