//! Sparse matrices from entries in any order.

use super::error::IoError;
use super::source::Source;
use crate::csr::Csr;

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
    (rows, cols): (usize, u32),
    entries: &[Entry],
    duplicates: Duplicates,
) -> Result<Csr, IoError> {
    source.check_rows(rows as u64, entries.len())?;
    let too_large = || IoError::description(source.path, format!("a matrix of {rows} rows does not fit into memory"));
    let starts = row_starts(rows, entries).ok_or_else(too_large)?;
    let mut sorted = by_rows(starts.clone(), entries);
    let (mut row_offsets, mut next) = (starts, 0);
    let (mut columns, mut values) = (Vec::with_capacity(entries.len()), Vec::with_capacity(entries.len()));
    for row in 0..rows {
        let row_entries = &mut sorted[next..row_offsets[row + 1]];
        next = row_offsets[row + 1];
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
        row_offsets[row + 1] = values.len();
    }
    Csr::new(rows, cols as usize, row_offsets, columns, values)
        .map_err(|error| IoError::description(source.path, error.to_string()))
}

/// Where each row begins when entries are sorted by rows, and their number at the end; none without the memory.
fn row_starts(rows: usize, entries: &[Entry]) -> Option<Vec<usize>> {
    let mut starts = Vec::new();
    starts.try_reserve_exact(rows.checked_add(1)?).ok()?;
    starts.resize(rows + 1, 0);
    for entry in entries {
        starts[entry.row as usize + 1] += 1;
    }
    for row in 0..rows {
        starts[row + 1] += starts[row];
    }
    Some(starts)
}

/// Column and value of each entry, sorted by rows, otherwise in the order of the file.
fn by_rows(mut next: Vec<usize>, entries: &[Entry]) -> Vec<(u32, f64)> {
    let mut sorted = vec![(0, 0.0); entries.len()];
    for entry in entries {
        let position = &mut next[entry.row as usize];
        sorted[*position] = (entry.column, entry.value);
        *position += 1;
    }
    sorted
}
