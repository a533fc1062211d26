//! Which rows of a CSR main input an operator visits: all of them, or those with positions. What is visited is again in
//! compressed rows (doubly compressed: neither zeros nor empty rows), so partitions and units know no difference.

use fuseline_ir::schedule::{SparseRows, Strips, leaves_out_empty_rows};
use fuseline_matrix::Csr;
use rayon::prelude::*;
use std::borrow::Cow;
use std::ops::Range;

/// Rows that one task looks through.
const SCAN_ROWS: usize = 1 << 16;
/// Rows without positions that one comparison skips.
const SKIP_ROWS: usize = 64;

/// The visited rows of a CSR matrix, in order.
#[derive(Debug)]
pub(crate) struct VisitedRows<'a> {
    csr: &'a Csr,
    /// One more than visited rows.
    offsets: Cow<'a, [usize]>,
    /// The numbers of the visited rows; `None` is all rows.
    numbers: Option<Vec<usize>>,
}

/// The numbers of rows, ascending.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RowNumbers<'a> {
    /// All from this one on.
    From(usize),
    /// These.
    Listed(&'a [usize]),
}

impl<'a> VisitedRows<'a> {
    /// All rows.
    pub(crate) fn all(csr: &'a Csr) -> Self {
        VisitedRows { csr, offsets: Cow::Borrowed(csr.row_offsets()), numbers: None }
    }

    /// All rows of several matrices that are joined, each of which has at most as many positions as it has in all of them.
    pub(crate) fn joined(matrices: &[&'a Csr]) -> Self {
        let rows = matrices[0].rows();
        let offsets = (0..=rows).map(|row| matrices.iter().map(|csr| csr.row_offsets()[row]).sum()).collect();
        VisitedRows { csr: matrices[0], offsets, numbers: None }
    }

    /// The rows with positions, or in strips where hardly any has none all of them: a strip is visited like a matrix of its
    /// own.
    pub(crate) fn nonempty(self, strips: Strips, pool: &rayon::ThreadPool) -> Self {
        let all_offsets = &self.offsets[..];
        // Counting takes no memory, and mostly nothing is left out.
        let visits_all: Vec<bool> = (0..strips.len())
            .map(|strip| {
                let rows = strips.rows_of(strip);
                let empty = rows.len() - count_nonempty(all_offsets, rows.clone(), pool);
                !leaves_out_empty_rows(empty, rows.len())
            })
            .collect();
        if visits_all.iter().all(|&all| all) {
            return self;
        }
        let mut numbers = Vec::new();
        for (strip, visits_all) in visits_all.into_iter().enumerate() {
            let rows = strips.rows_of(strip);
            if visits_all {
                numbers.extend(rows);
            } else {
                numbers.append(&mut list_nonempty(all_offsets, rows, pool));
            }
        }
        let ends = numbers.iter().map(|&row| all_offsets[row + 1]);
        let offsets = std::iter::once(0).chain(ends).collect();
        VisitedRows { csr: self.csr, offsets, numbers: Some(numbers) }
    }

    /// The matrix.
    pub(crate) fn csr(&self) -> &'a Csr {
        self.csr
    }

    /// How many rows are visited.
    pub(crate) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// How many rows are not.
    pub(crate) fn skipped(&self) -> usize {
        self.csr.rows() - self.len()
    }

    /// Row offsets, one more than visited rows.
    pub(crate) fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The visited rows among those with these numbers.
    pub(crate) fn within(&self, numbers: Range<usize>) -> SparseRows<'_> {
        let first = |number: usize| match &self.numbers {
            None => number,
            Some(visited) => visited.partition_point(|&row| row < number),
        };
        let (first_row, end) = (first(numbers.start), first(numbers.end));
        SparseRows { first_row, offsets: &self.offsets[first_row..=end] }
    }

    /// The numbers of the visited rows, where these are not all.
    pub(crate) fn listed(&self) -> Option<&[usize]> {
        self.numbers.as_deref()
    }

    /// The numbers of some visited rows.
    pub(crate) fn numbers(&self, visited: Range<usize>) -> RowNumbers<'_> {
        match &self.numbers {
            None => RowNumbers::From(visited.start),
            Some(numbers) => RowNumbers::of(&numbers[visited]),
        }
    }

    /// The rows that some visited ones account for: from the first of these, or from row 0 for the very first, up to the next
    /// visited row.
    pub(crate) fn spanned(&self, visited: Range<usize>) -> Range<usize> {
        let number = |row: usize| match &self.numbers {
            Some(numbers) => numbers.get(row).copied().unwrap_or(self.csr.rows()),
            None => row,
        };
        match visited.start {
            _ if visited.is_empty() => 0..0,
            0 => 0..number(visited.end),
            start => number(start)..number(visited.end),
        }
    }

    /// The numbers of all visited rows from this one on.
    pub(crate) fn numbers_from(&self, first: usize) -> RowNumbers<'_> {
        self.numbers(first..self.len())
    }
}

/// How many of some rows have positions.
fn count_nonempty(offsets: &[usize], rows: Range<usize>, pool: &rayon::ThreadPool) -> usize {
    let count =
        |part: Range<usize>| offsets[part.start..=part.end].windows(2).filter(|bounds| bounds[0] < bounds[1]).count();
    if rows.len() <= SCAN_ROWS {
        return count(rows);
    }
    pool.install(|| scans(rows).into_par_iter().map(count).sum())
}

/// The numbers of those of some rows that have positions.
fn list_nonempty(offsets: &[usize], rows: Range<usize>, pool: &rayon::ThreadPool) -> Vec<usize> {
    let list = |part: Range<usize>| nonempty_rows(offsets, part);
    if rows.len() <= SCAN_ROWS {
        return list(rows);
    }
    pool.install(|| scans(rows).into_par_iter().map(list).collect::<Vec<_>>()).concat()
}

/// The parts of some rows that one task each looks through.
fn scans(rows: Range<usize>) -> Vec<Range<usize>> {
    rows.clone().step_by(SCAN_ROWS).map(|first| first..(first + SCAN_ROWS).min(rows.end)).collect()
}

/// The numbers of the rows with positions. One comparison skips up to [`SKIP_ROWS`] others.
fn nonempty_rows(offsets: &[usize], rows: Range<usize>) -> Vec<usize> {
    let mut numbers = Vec::new();
    for first in rows.clone().step_by(SKIP_ROWS) {
        let end = (first + SKIP_ROWS).min(rows.end);
        if offsets[first] < offsets[end] {
            numbers.extend((first..end).filter(|&row| offsets[row] < offsets[row + 1]));
        }
    }
    numbers
}

impl<'a> RowNumbers<'a> {
    /// These numbers, which ascend.
    pub(crate) fn of(numbers: &'a [usize]) -> Self {
        match (numbers.first(), numbers.last()) {
            (Some(&first), Some(&last)) if last - first + 1 > numbers.len() => RowNumbers::Listed(numbers),
            (first, _) => RowNumbers::From(first.copied().unwrap_or(0)),
        }
    }

    /// The first few of these.
    pub(crate) fn first(self, count: usize) -> Self {
        match self {
            RowNumbers::From(_) => self,
            RowNumbers::Listed(numbers) => RowNumbers::of(&numbers[..count]),
        }
    }

    /// The number of row `r` of these.
    pub(crate) fn get(self, r: usize) -> usize {
        match self {
            RowNumbers::From(first) => first + r,
            RowNumbers::Listed(numbers) => numbers[r],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_rows(rows: usize, nonempty: &[usize]) -> Csr {
        let offsets = (0..=rows).map(|row| nonempty.iter().filter(|&&number| number < row).count()).collect();
        Csr::new(rows, 1, offsets, vec![0; nonempty.len()], vec![1.0; nonempty.len()]).unwrap()
    }

    #[test]
    fn rows_without_positions_are_not_visited() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        for (rows, nonempty) in [(0, vec![]), (7, vec![]), (300, vec![0, 63, 64, 191, 192, 299]), (3, vec![0, 1, 2])] {
            let csr = with_rows(rows, &nonempty);
            let visited = VisitedRows::all(&csr).nonempty(Strips::whole(csr.rows()), &pool);
            assert_eq!(visited.listed().is_some(), nonempty.len() < rows);
            let numbers: Vec<usize> = (0..visited.len()).map(|row| visited.numbers_from(0).get(row)).collect();
            assert_eq!(numbers, nonempty);
            assert_eq!(visited.offsets(), (0..=nonempty.len()).collect::<Vec<_>>());
            assert_eq!(visited.skipped(), rows - nonempty.len());
        }
    }

    #[test]
    fn long_matrices_are_looked_through_in_parts() {
        let (pool, rows) = (rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap(), 2 * SCAN_ROWS + 5);
        let nonempty = [5, SCAN_ROWS - 1, SCAN_ROWS, 2 * SCAN_ROWS + 4];
        let csr = with_rows(rows, &nonempty);
        assert_eq!(VisitedRows::all(&csr).nonempty(Strips::whole(csr.rows()), &pool).listed(), Some(&nonempty[..]));
    }

    #[test]
    fn few_rows_without_positions_are_visited_with_the_others() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        for (empty, is_listed) in [(0, false), (16, false), (17, true)] {
            let csr = with_rows(32, &(empty..32).collect::<Vec<_>>());
            assert_eq!(
                VisitedRows::all(&csr).nonempty(Strips::whole(csr.rows()), &pool).listed().is_some(),
                is_listed,
                "{empty}"
            );
        }
    }

    /// Each strip decides by itself.
    #[test]
    fn strips_without_empty_rows_are_visited_whole() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let csr = with_rows(48, &(0..15).chain([20, 30]).chain(33..48).collect::<Vec<_>>());
        let visited = VisitedRows::all(&csr).nonempty(Strips { rows: 48, height: 16 }, &pool);
        let expected: Vec<usize> = (0..16).chain([20, 30]).chain(32..48).collect();
        assert_eq!(visited.listed(), Some(&expected[..]));
        assert_eq!(visited.offsets()[15..19], [15, 15, 16, 17]);
    }

    #[test]
    fn parts_span_all_rows() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let csr = with_rows(9, &[2, 3, 7]);
        let visited = VisitedRows::all(&csr).nonempty(Strips::whole(csr.rows()), &pool);
        assert_eq!([0..1, 1..1, 1..2, 2..3].map(|part| visited.spanned(part)), [0..3, 0..0, 3..7, 7..9]);
        assert_eq!(VisitedRows::all(&csr).spanned(4..9), 4..9);
    }

    #[test]
    fn strips_have_the_visited_ones_of_their_rows() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let csr = with_rows(9, &[2, 3, 7]);
        let visited = VisitedRows::all(&csr).nonempty(Strips::whole(csr.rows()), &pool);
        let within =
            |rows: Range<usize>| (visited.within(rows.clone()).first_row, visited.within(rows).offsets.to_vec());
        assert_eq!(within(0..4), (0, vec![0, 1, 2]));
        assert_eq!(within(4..7), (2, vec![2]));
        assert_eq!(within(7..9), (2, vec![2, 3]));
        assert_eq!(VisitedRows::all(&csr).within(3..5).offsets, [1, 2, 2]);
    }

    #[test]
    fn numbers_without_gaps_are_no_list() {
        assert!(matches!(RowNumbers::of(&[4, 5, 6]), RowNumbers::From(4)));
        assert!(matches!(RowNumbers::of(&[4, 6]), RowNumbers::Listed(_)));
        assert!(matches!(RowNumbers::of(&[]), RowNumbers::From(_)));
    }
}
