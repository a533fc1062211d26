//! Rows of several sparse matrices, combined: joined, so that a unit has a position wherever one of them has, for plans
//! that are zero where all of these are ([`fuseline_ir::cplan::CPlan::joined_rows`]), or met, so that it has one where
//! all of them have, for plans that are zero where one of these is ([`fuseline_ir::cplan::CPlan::met_cells`]).

use crate::dense_row::DenseRow;
use crate::layout::leading;
use crate::places::Places;
use crate::visited::{RowNumbers, VisitedRows};
use fuseline_ir::schedule::Segment;
use fuseline_ir::work::SEARCHED;
use fuseline_matrix::{Csr, JoinedCells, SparseRow, ones_if_at_most};
use smallvec::SmallVec;
use std::ops::Range;

/// The rows of a matrix, where they lie: asked for once, not for each of many short rows.
#[derive(Clone, Copy)]
struct Rows<'a> {
    offsets: &'a [usize],
    columns: &'a [u32],
    values: &'a [f64],
}

impl<'a> Rows<'a> {
    fn of(csr: &'a Csr) -> Self {
        Rows { offsets: csr.row_offsets(), columns: csr.columns(), values: csr.values() }
    }

    fn row(&self, number: usize) -> SparseRow<'a> {
        let positions = self.offsets[number]..self.offsets[number + 1];
        SparseRow { columns: &self.columns[positions.clone()], values: &self.values[positions] }
    }

    /// The non-zeros of some rows.
    fn non_zeros(&self, numbers: RowNumbers<'_>, rows: usize) -> usize {
        match numbers {
            RowNumbers::From(first) => self.offsets[first + rows] - self.offsets[first],
            RowNumbers::Listed(_) => (0..rows).map(|r| self.row(numbers.get(r)).len()).sum(),
        }
    }
}

/// [`SEARCHED`] where rows would have to be merged.
const SEARCHED_FOR_MERGES: usize = 8;

/// Positions of a row from which on it is worth to look for the part of another one in its columns: it may be a part
/// itself.
const LONG_ROW: usize = 1024;

/// The combined rows of a unit.
#[derive(Debug, Default)]
pub(crate) struct CombinedRows {
    /// Where rows begin and, of the last one, end.
    offsets: Vec<usize>,
    run: [usize; 2],
    columns: Vec<u32>,
    /// The cells of each matrix at all positions.
    values: Vec<Vec<f64>>,
    /// The columns that several matrices have before another one is joined with them.
    before: Vec<u32>,
    /// For rows that meet others, or of which two are joined in any order.
    dense_row: DenseRow,
    /// For what has met one row and meets a further one.
    next: NextMeeting,
    /// For more rows that are joined in any order.
    places: Places,
}

/// Positions that meet a further row.
#[derive(Debug, Default)]
struct NextMeeting {
    /// The numbers of positions, from one on.
    numbers: Vec<f64>,
    /// The numbers and the columns of the positions that are kept.
    kept: Vec<f64>,
    columns: Vec<u32>,
}

impl NextMeeting {
    /// Makes room for so many positions.
    fn make_room(&mut self, count: usize) {
        if self.numbers.len() < count {
            let count = count.next_power_of_two();
            self.numbers.extend((self.numbers.len()..count).map(|position| (position + 1) as f64));
            self.kept.resize(count, 0.0);
            self.columns.resize(count, 0);
        }
    }
}

/// What joined rows are for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Joining {
    /// Whether the columns of a row ascend. It takes several times as long.
    pub(crate) ascends: bool,
    /// The number of columns.
    pub(crate) width: usize,
}

impl CombinedRows {
    /// Joins some rows of these matrices, of which there are two or more.
    pub(crate) fn join(&mut self, matrices: &[&Csr], numbers: RowNumbers<'_>, rows: usize, joining: Joining) {
        let width_in_any_order = (!joining.ascends && Places::may_hold(joining.width)).then_some(joining.width);
        self.values.resize_with(matrices.len(), Vec::new);
        self.offsets.clear();
        self.offsets.push(0);
        let matrices: SmallVec<[Rows<'_>; 4]> = matrices.iter().map(|csr| Rows::of(csr)).collect();
        self.reserve(matrices.iter().map(|matrix| matrix.non_zeros(numbers, rows)).sum());
        let mut count = 0;
        for number in (0..rows).map(|r| numbers.get(r)) {
            count += match (&matrices[..], width_in_any_order) {
                ([left, right], width) => self.join_two(count, left.row(number), right.row(number), width),
                (matrices, Some(width)) => self.join_in_any_order(count, matrices, number, width),
                (&[a, b, c], None) => self.join_in_one_loop(count, [a, b, c].map(|matrix| matrix.row(number))),
                (&[a, b, c, d], None) => self.join_in_one_loop(count, [a, b, c, d].map(|matrix| matrix.row(number))),
                (matrices, None) => self.join_many(count, matrices, number),
            };
            self.offsets.push(count);
        }
        self.run = [0, count];
    }

    /// Keeps of a segment of the first matrix the non-zeros in whose columns all others have positions, too.
    pub(crate) fn meet(&mut self, segment: Segment, visited: &VisitedRows<'_>, others: &[&Csr]) {
        self.values.resize_with(1 + others.len(), Vec::new);
        self.offsets.clear();
        self.offsets.push(0);
        // One more is written behind those that are kept.
        self.reserve(segment.end - segment.start + 1);
        let (main, width) = (Rows::of(visited.csr()), visited.csr().cols());
        let numbers = visited.numbers_from(segment.first_row);
        let others: SmallVec<[Rows<'_>; 4]> = others.iter().map(|csr| Rows::of(csr)).collect();
        let mut count = 0;
        for (r, bounds) in visited.offsets()[segment.first_row..].windows(2).enumerate() {
            if r >= segment.rows && bounds[0] >= segment.end {
                break;
            }
            let positions = bounds[0].max(segment.start)..bounds[1].min(segment.end);
            let row = SparseRow { columns: &main.columns[positions.clone()], values: &main.values[positions] };
            count += self.meet_row(count, row, &others, numbers.get(r), width);
            self.offsets.push(count);
        }
        self.run = [0, count];
    }

    /// Where the positions begin and end: all that code needs of a run over rows that it does not tell apart.
    pub(crate) fn run(&self) -> &[usize; 2] {
        &self.run
    }

    /// Where rows begin and, of the last one, end.
    pub(crate) fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The columns of all positions.
    pub(crate) fn columns(&self) -> &[u32] {
        &self.columns[..self.count()]
    }

    /// The cells of a matrix, by its place among them, at all positions.
    pub(crate) fn values(&self, matrix: usize) -> &[f64] {
        &self.values[matrix][..self.count()]
    }

    fn count(&self) -> usize {
        self.offsets.last().copied().unwrap_or(0)
    }

    /// Makes room for so many positions.
    fn reserve(&mut self, count: usize) {
        if self.columns.len() < count {
            self.columns.resize(count.next_power_of_two(), 0);
        }
        for cells in self.values.iter_mut().filter(|cells| cells.len() < count) {
            cells.resize(count.next_power_of_two(), 0.0);
        }
    }

    /// The positions of the first matrix, and behind them those that each further one adds.
    fn join_in_any_order(&mut self, start: usize, matrices: &[Rows<'_>], number: usize, width: usize) -> usize {
        let most: usize = matrices.iter().map(|matrix| matrix.row(number).len()).sum();
        let columns = &mut self.columns[start..start + most];
        let mut places = self.places.of_width(width);
        let mut count = 0;
        for (matrix, cells) in matrices.iter().zip(&mut self.values) {
            let cells = &mut cells[start..start + most];
            cells.fill(0.0);
            count = places.add(matrix.row(number), columns, cells, count);
        }
        places.clear(&columns[..count]);
        count
    }

    /// Joins two rows, in any order where a dense row of some width may hold one of them.
    fn join_two(
        &mut self,
        start: usize,
        left: SparseRow<'_>,
        right: SparseRow<'_>,
        width_in_any_order: Option<usize>,
    ) -> usize {
        let [left_cells, right_cells] = &mut self.values[..] else { unreachable!("two matrices have two values") };
        let cells = JoinedCells {
            columns: &mut self.columns[start..],
            left: &mut left_cells[start..],
            right: &mut right_cells[start..],
        };
        match width_in_any_order {
            Some(width) => self.dense_row.join(left, right, width, cells),
            None => left.join(right, cells),
        }
    }

    /// Meets a row of the first matrix, or a part of it, with the rows of the others; how many positions are left.
    #[inline]
    fn meet_row(
        &mut self,
        start: usize,
        row: SparseRow<'_>,
        others: &[Rows<'_>],
        number: usize,
        width: usize,
    ) -> usize {
        let (Some(&first), Some(&last)) = (row.columns.first(), row.columns.last()) else { return 0 };
        let mut count = row.len();
        for (place, other) in others.iter().enumerate() {
            let other = other.row(number);
            let other = if row.len() >= LONG_ROW { within(other, first, last) } else { other };
            count = match place {
                0 => self.meet_first(start, row, other, width),
                place => self.meet_next(start..start + count, other, place + 1, width),
            };
            if count == 0 {
                break;
            }
        }
        count
    }

    #[inline]
    fn meet_first(&mut self, start: usize, row: SparseRow<'_>, other: SparseRow<'_>, width: usize) -> usize {
        let [left, right, ..] = &mut self.values[..] else { unreachable!("two matrices have two values") };
        let cells =
            JoinedCells { columns: &mut self.columns[start..], left: &mut left[start..], right: &mut right[start..] };
        meet_two(&mut self.dense_row, row, other, width, cells)
    }

    /// Keeps of these positions, which have cells of some matrices already, those in whose columns a further one has
    /// some: as two rows meet, with the number of a position, from one on, in the place of a cell.
    fn meet_next(&mut self, positions: Range<usize>, other: SparseRow<'_>, place: usize, width: usize) -> usize {
        let Range { start, end } = positions;
        let next = &mut self.next;
        next.make_room(positions.len() + 1);
        let row = SparseRow { columns: &self.columns[positions.clone()], values: &next.numbers[..positions.len()] };
        let (met, rest) = self.values.split_at_mut(place);
        let cells = JoinedCells { columns: &mut next.columns, left: &mut next.kept, right: &mut rest[0][start..=end] };
        let count = meet_two(&mut self.dense_row, row, other, width, cells);
        self.columns[start..start + count].copy_from_slice(&next.columns[..count]);
        for values in met {
            let values = &mut values[positions.clone()];
            for (kept, &number) in next.kept[..count].iter().enumerate() {
                values[kept] = values[number as usize - 1];
            }
        }
        count
    }

    /// Joins a few rows in the order of their columns.
    fn join_in_one_loop<const N: usize>(&mut self, start: usize, rows: [SparseRow<'_>; N]) -> usize {
        let mut cells = self.values.iter_mut().map(|cells| &mut cells[start..]);
        let cells = std::array::from_fn(|_| cells.next().expect("each matrix has values"));
        join_rows(rows, &mut self.columns[start..], cells)
    }

    /// Finds the columns first, one matrix after the other, and then the cells of each.
    fn join_many(&mut self, start: usize, matrices: &[Rows<'_>], number: usize) -> usize {
        let mut count = 0;
        for matrix in matrices {
            self.before.clear();
            self.before.extend_from_slice(&self.columns[start..start + count]);
            count = join_columns(&self.before, matrix.row(number).columns, &mut self.columns[start..]);
        }
        for (matrix, cells) in matrices.iter().zip(&mut self.values) {
            cells_at(&self.columns[start..start + count], matrix.row(number), &mut cells[start..start + count]);
        }
        count
    }
}

/// Two rows meet in the way that suits their lengths: one searched, spread, or both merged.
#[inline]
fn meet_two(
    dense_row: &mut DenseRow,
    row: SparseRow<'_>,
    other: SparseRow<'_>,
    width: usize,
    mut cells: JoinedCells<'_>,
) -> usize {
    let may_hold = DenseRow::may_hold(width, row.len());
    let searched = if may_hold { SEARCHED } else { SEARCHED_FOR_MERGES };
    if row.len() >= searched * other.len() || other.len() >= searched * row.len() {
        return search(row, other, cells);
    }
    let met = if may_hold { dense_row.meet(row, other, width, cells.behind(0)) } else { None };
    met.unwrap_or_else(|| merge(row, other, cells))
}

/// The part of a row in these columns and between them.
fn within(row: SparseRow<'_>, first: u32, last: u32) -> SparseRow<'_> {
    let SparseRow { columns, values } = row;
    let begin = if columns.first().is_some_and(|&column| column < first) {
        leading(columns.len(), |position| columns[position] < first)
    } else {
        0
    };
    let end = if columns.last().is_some_and(|&column| column > last) {
        columns.partition_point(|&column| column <= last)
    } else {
        columns.len()
    };
    SparseRow { columns: &columns[begin..end.max(begin)], values: &values[begin..end.max(begin)] }
}

/// The non-zeros of a row in whose columns another one has positions, found by searching the longer of the two.
fn search(row: SparseRow<'_>, other: SparseRow<'_>, out: JoinedCells<'_>) -> usize {
    let is_shorter = row.len() <= other.len();
    let (short, long) = if is_shorter { (row, other) } else { (other, row) };
    let JoinedCells { columns, left, right } = out;
    let (mut count, mut next) = (0, 0);
    for (&column, &value) in short.columns.iter().zip(short.values) {
        let rest = &long.columns[next..];
        next += leading(rest.len(), |position| rest[position] < column);
        if long.columns.get(next) == Some(&column) {
            let (own, others) = if is_shorter { (value, long.values[next]) } else { (long.values[next], value) };
            (columns[count], left[count], right[count]) = (column, own, others);
            count += usize::from(own != 0.0);
        }
    }
    count
}

/// The non-zeros of a row in whose columns another one has positions, without a branch that depends on where they meet.
fn merge(row: SparseRow<'_>, other: SparseRow<'_>, out: JoinedCells<'_>) -> usize {
    let JoinedCells { columns, left, right } = out;
    let (mut p, mut q, mut count) = (0, 0, 0);
    while p < row.len() && q < other.len() {
        let (one, another) = (row.columns[p], other.columns[q]);
        (columns[count], left[count], right[count]) = (one, row.values[p], other.values[q]);
        count += usize::from(one == another && row.values[p] != 0.0);
        p += usize::from(one <= another);
        q += usize::from(another <= one);
    }
    count
}

/// What comes after the last column of a row: no matrix has as many columns.
const ENDED: u32 = u32::MAX;

/// Writes the columns in which one of some rows has a position, ascending, and the cells of each row there, without a
/// branch that depends on where they meet; how many these are.
fn join_rows<const N: usize>(rows: [SparseRow<'_>; N], columns: &mut [u32], cells: [&mut [f64]; N]) -> usize {
    let most = rows.iter().map(SparseRow::len).sum();
    let (columns, cells) = (&mut columns[..most], cells.map(|cells| &mut cells[..most]));
    let mut passed = [0; N];
    for count in 0..most {
        let own: [u32; N] = std::array::from_fn(|k| rows[k].columns.get(passed[k]).copied().unwrap_or(ENDED));
        let column = own.into_iter().fold(ENDED, u32::min);
        if column == ENDED {
            return count;
        }
        columns[count] = column;
        for k in 0..N {
            let has_cell = ones_if_at_most(own[k], column);
            let bits = rows[k].values.get(passed[k]).map_or(0, |value| value.to_bits());
            cells[k][count] = f64::from_bits(bits & has_cell);
            passed[k] += (has_cell & 1) as usize;
        }
    }
    most
}

/// Writes the columns that are in one of two rows, without a branch that depends on where they meet; how many these
/// are.
fn join_columns(left: &[u32], right: &[u32], out: &mut [u32]) -> usize {
    let (mut p, mut q, mut count) = (0, 0, 0);
    while p < left.len() && q < right.len() {
        let (one, other) = (left[p], right[q]);
        out[count] = one.min(other);
        p += usize::from(one <= other);
        q += usize::from(other <= one);
        count += 1;
    }
    let rest = if p < left.len() { &left[p..] } else { &right[q..] };
    out[count..count + rest.len()].copy_from_slice(rest);
    count + rest.len()
}

/// Writes the cells of a row in some columns, among which are all of its own.
fn cells_at(columns: &[u32], row: SparseRow<'_>, out: &mut [f64]) {
    let mut next = 0;
    for (&column, out) in columns.iter().zip(out) {
        let has_cell = row.columns.get(next) == Some(&column);
        *out = if has_cell { row.values[next] } else { 0.0 };
        next += usize::from(has_cell);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fuseline_matrix::Dense;
    use std::collections::BTreeSet;

    fn matrix(cells: &[[f64; 5]; 3]) -> Csr {
        Csr::from_dense(&Dense::from_fn(3, 5, |i, j| cells[i][j]))
    }

    #[test]
    fn positions_are_wherever_a_matrix_has_one() {
        let x = matrix(&[[1.0, 0.0, 2.0, 0.0, 0.0], [0.0; 5], [0.0, 0.0, 0.0, 0.0, 3.0]]);
        let y = matrix(&[[0.0, 4.0, 5.0, 0.0, 0.0], [0.0; 5], [6.0, 0.0, 0.0, 0.0, 0.0]]);
        let z = matrix(&[[0.0, 0.0, 0.0, 7.0, 0.0], [0.0, 8.0, 0.0, 0.0, 0.0], [0.0; 5]]);
        let mut joined = CombinedRows::default();
        let ascending = Joining { ascends: true, width: 5 };
        for _ in 0..2 {
            joined.join(&[&x, &y], RowNumbers::From(0), 3, ascending);
            assert_eq!((joined.offsets(), joined.columns()), (&[0, 3, 3, 5][..], &[0, 1, 2, 0, 4][..]));
            assert_eq!(joined.values(0), [1.0, 0.0, 2.0, 0.0, 3.0]);
            assert_eq!(joined.values(1), [0.0, 4.0, 5.0, 6.0, 0.0]);
            joined.join(&[&x, &y, &z], RowNumbers::Listed(&[0, 2]), 2, ascending);
            assert_eq!((joined.offsets(), joined.columns()), (&[0, 4, 6][..], &[0, 1, 2, 3, 0, 4][..]));
            assert_eq!(joined.values(0), [1.0, 0.0, 2.0, 0.0, 0.0, 3.0]);
            assert_eq!(joined.values(1), [0.0, 4.0, 5.0, 0.0, 6.0, 0.0]);
            assert_eq!(joined.values(2), [0.0, 0.0, 0.0, 7.0, 0.0, 0.0]);
            joined.join(&[&x, &y, &z], RowNumbers::From(1), 1, ascending);
            assert_eq!((joined.offsets(), joined.columns()), (&[0, 1][..], &[1][..]));
            // What the first one has comes first.
            joined.join(&[&y, &x, &z], RowNumbers::From(0), 3, Joining { ascends: false, width: 5 });
            assert_eq!((joined.offsets(), joined.columns()), (&[0, 4, 5, 7][..], &[1, 2, 0, 3, 1, 0, 4][..]));
            assert_eq!(joined.values(0), [4.0, 5.0, 0.0, 0.0, 0.0, 6.0, 0.0]);
            assert_eq!(joined.values(1), [0.0, 2.0, 1.0, 0.0, 0.0, 0.0, 3.0]);
            assert_eq!(joined.values(2), [0.0, 0.0, 0.0, 7.0, 8.0, 0.0, 0.0]);
        }
    }

    /// Two rows and more, of all lengths and empty ones, with stored zeros of both signs and NaN, at their first places
    /// and behind others.
    #[test]
    fn rows_that_are_joined_in_order_have_the_cells_of_all() {
        let matrix = |seed: u32| {
            let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
            for row in 0..8_u32 {
                let has = |column: &u32| (column * 7 + seed * 13 + row * 5) % 60 < (row * (seed + 2) * 3) % 70;
                for column in (0..300_u32).filter(has) {
                    columns.push(column);
                    values.push([0.0, -0.0, f64::NAN, 1.5, -2.0][(column + seed) as usize % 5]);
                }
                offsets.push(columns.len());
            }
            Csr::new(8, 300, offsets, columns, values).expect("a matrix")
        };
        let all: Vec<Csr> = (0..6).map(matrix).collect();
        let mut joined = CombinedRows::default();
        for count in 2..=6 {
            let matrices: Vec<&Csr> = all[..count].iter().collect();
            joined.join(&matrices, RowNumbers::From(0), 8, Joining { ascends: true, width: 300 });
            for row in 0..8 {
                let positions = joined.offsets()[row]..joined.offsets()[row + 1];
                let columns: BTreeSet<u32> = matrices.iter().flat_map(|csr| csr.row(row).0).copied().collect();
                assert!(joined.columns()[positions.clone()].iter().eq(&columns), "row {row} of {count} matrices");
                for (place, csr) in matrices.iter().enumerate() {
                    let cells = joined.values(place)[positions.clone()].iter().map(|cell| cell.to_bits());
                    let expected = columns.iter().map(|&column| csr.get(row, column as usize).to_bits());
                    assert!(cells.eq(expected), "row {row} of {count} matrices");
                }
            }
        }
    }

    /// The positions that are left, with the cells of all matrices there, by the definition.
    fn met(matrices: &[&Csr], row: usize, columns: Range<u32>) -> Vec<(u32, Vec<u64>)> {
        let cell = |csr: &Csr, column: u32| {
            let (columns, values) = csr.row(row);
            columns.binary_search(&column).ok().map(|place| values[place])
        };
        let all = columns.filter_map(|column| {
            let cells: Option<Vec<f64>> = matrices.iter().map(|csr| cell(csr, column)).collect();
            let cells = cells.filter(|cells| cells[0] != 0.0)?;
            Some((column, cells.into_iter().map(f64::to_bits).collect()))
        });
        all.collect()
    }

    /// Rows of all lengths beside each other, in matrices that a dense row can hold and wider ones, these with columns that
    /// share the cells of a short row, and with rows that are no short ones, whole and in parts, stored zeros and NaN
    /// among them.
    #[test]
    fn positions_that_meet_are_those_of_all_matrices() {
        for (cols, stride, most) in
            [(60_u32, 1, 60), (5000, 80, 60), (200_000, 3300, 60), (500_000, 8192, 60), (200_000, 600, 330)]
        {
            let matrix = |seed: u32, density: u32| {
                let mut offsets = vec![0];
                let (mut columns, mut values) = (Vec::new(), Vec::new());
                for row in 0..12_u32 {
                    let share = density * (row + 1) * (most / 60);
                    for place in (0..most).filter(|place| (place * 7 + seed * 13 + row * 5) % most < share.min(most)) {
                        columns.push(place * stride);
                        values.push(match place % 9 {
                            0 => 0.0,
                            1 => f64::NAN,
                            _ => f64::from(place + seed * 100),
                        });
                    }
                    offsets.push(columns.len());
                }
                Csr::new(12, cols as usize, offsets, columns, values).expect("a matrix")
            };
            let (x, y, z, w) = (matrix(1, 3), matrix(2, 20), matrix(3, 1), matrix(4, 5));
            let mut combined = CombinedRows::default();
            for matrices in [&[&x, &y][..], &[&y, &x], &[&z, &y], &[&y, &z], &[&x, &y, &z], &[&w, &x, &y, &z]] {
                let visited = VisitedRows::all(matrices[0]);
                let all = Segment { first_row: 0, rows: 12, start: 0, end: matrices[0].nnz() };
                combined.meet(all, &visited, &matrices[1..]);
                for row in 0..12 {
                    let positions = combined.offsets()[row]..combined.offsets()[row + 1];
                    let found: Vec<(u32, Vec<u64>)> = positions
                        .map(|p| {
                            let cells = (0..matrices.len()).map(|place| combined.values(place)[p].to_bits());
                            (combined.columns()[p], cells.collect())
                        })
                        .collect();
                    assert_eq!(found, met(matrices, row, 0..cols), "row {row} of {} matrices", matrices.len());
                }
                // All rows as one run, whose rows what is looked up beside it must know.
                let (total, offsets) = (combined.columns().len(), combined.offsets().to_vec());
                combined.meet(Segment { rows: 1, ..all }, &visited, &matrices[1..]);
                assert_eq!((combined.run(), combined.offsets()), (&[0, total], &offsets[..]));
                // The last row, from its second position on to the one before the last.
                let ends = matrices[0].row_offsets();
                let part = Segment { first_row: 11, rows: 1, start: ends[11] + 1, end: ends[12] - 1 };
                combined.meet(part, &visited, &matrices[1..]);
                let columns = &matrices[0].row(11).0[1..];
                let inside = columns[0]..columns[columns.len() - 1];
                let expected: Vec<u32> = met(matrices, 11, inside).into_iter().map(|(column, _)| column).collect();
                assert_eq!(combined.columns(), expected);
            }
        }
    }
}
