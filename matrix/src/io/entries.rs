//! Sparse matrices from entries in any order.

use super::error::IoError;
use super::source::Source;
use crate::budget::MemoryKind;
use crate::csr::Csr;
use crate::growing::Growing;
use crate::run_context::{StopListener, check_stop};

/// A cell of a matrix, 0-based.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) row: u64,
    pub(super) column: u32,
    pub(super) value: f64,
}

/// What entries of the same cell mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Duplicates {
    /// Their sum, in the order of the file.
    Sum,
    /// A mistake.
    Refuse,
}

/// Dimensions as a matrix can have them.
pub(super) fn check_dimensions(source: &Source<'_>, rows: u64, cols: u64) -> Result<(usize, u32), IoError> {
    match (usize::try_from(rows), u32::try_from(cols)) {
        (Ok(rows), Ok(cols)) => Ok((rows, cols)),
        _ => {
            let problem = format!("a sparse matrix cannot have {rows} rows and {cols} columns");
            Err(IoError::description(source.path, problem))
        }
    }
}

/// The matrix of these entries, which lie within it. Zeros are not stored.
pub(super) fn matrix_of(
    source: &Source<'_>,
    rows: usize,
    cols: u32,
    entries: &[Entry],
    duplicates: Duplicates,
) -> Result<Csr, IoError> {
    source.check_rows(rows as u64, entries.len())?;
    let stop = StopListener::current();
    // Where each row ends when the entries are sorted by rows, then where it ends without zeros.
    let mut ends = row_starts(rows, entries);
    let mut sorted = by_rows(&mut ends, entries);
    let mut next = 0;
    let mut columns = Growing::with_capacity(MemoryKind::Matrix, entries.len());
    let mut values = Growing::with_capacity(MemoryKind::Matrix, entries.len());
    for (row, end) in ends[..rows].iter_mut().enumerate() {
        stop.check();
        let row_entries = &mut sorted[next..*end];
        next = *end;
        if !row_entries.is_sorted_by(|left, right| left.0 < right.0) {
            // Stable: equal columns stay in the order of the file.
            row_entries.sort_by_key(|&(column, _)| column);
        }
        for same in row_entries.chunk_by(|left, right| left.0 == right.0) {
            let column = same[0].0;
            if same.len() > 1 && duplicates == Duplicates::Refuse {
                let problem = format!("the cell ({}, {}) occurs twice", row + 1, u64::from(column) + 1);
                return Err(IoError::description(source.path, problem));
            }
            let value = same[1..].iter().fold(same[0].1, |sum, &(_, value)| sum + value);
            if value != 0.0 {
                columns.push(column);
                values.push(value);
            }
        }
        *end = values.len();
    }
    let mut row_offsets = ends.into_vec();
    row_offsets.rotate_right(1);
    row_offsets[0] = 0;
    Csr::new(rows, cols as usize, row_offsets, columns.into_vec(), values.into_vec())
        .map_err(|error| IoError::description(source.path, error.to_string()))
}

/// Entries that are looked at before somebody may stop that.
const STEP: usize = 1 << 16;

/// Where each row begins when entries are sorted by rows, and their number at the end.
fn row_starts(rows: usize, entries: &[Entry]) -> Growing<usize> {
    let mut starts = Growing::filled(MemoryKind::Matrix, rows.saturating_add(1), 0);
    for entries in entries.chunks(STEP) {
        check_stop();
        entries.iter().for_each(|entry| starts[entry.row as usize + 1] += 1);
    }
    for row in 0..rows {
        starts[row + 1] += starts[row];
    }
    starts
}

/// Column and value of each entry, sorted by rows, otherwise in the order of the file. What says where the next entry of a
/// row goes says in the end where the row ends.
fn by_rows(next: &mut [usize], entries: &[Entry]) -> Growing<(u32, f64)> {
    let mut sorted = Growing::filled(MemoryKind::File, entries.len(), (0, 0.0));
    for entries in entries.chunks(STEP) {
        check_stop();
        for entry in entries {
            let position = &mut next[entry.row as usize];
            sorted[*position] = (entry.column, entry.value);
            *position += 1;
        }
    }
    sorted
}
