//! Where the non-zeros of sparse matrices are, and the checks that this is where non-zeros may be.

use crate::buffer::{Buffer, BufferPool};
use crate::error::CsrError;
use crate::shared::{copy_in, each};
use fuseline_vecprims::{Isa, primitives};
use rayon::ThreadPool;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Non-zeros whose positions are checked by one thread at a time.
const CHECKED_NON_ZEROS: usize = 1 << 17;

/// Where the stored positions are. Matrices that differ in nothing but values share it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pattern {
    pub(crate) row_offsets: Buffer<usize>,
    pub(crate) columns: Buffer<u32>,
}

impl Pattern {
    /// Positions that were checked, or that are right by the way in which they were made.
    pub(crate) fn new(row_offsets: Buffer<usize>, columns: Buffer<u32>) -> Self {
        Pattern { row_offsets, columns }
    }

    /// The positions of so many values, if they are those of a matrix. There may be more columns than can be numbered,
    /// without non-zeros.
    ///
    /// # Errors
    /// They do not form a matrix.
    pub(crate) fn checked(
        rows: usize,
        cols: usize,
        row_offsets: Buffer<usize>,
        columns: Buffer<u32>,
        values: usize,
    ) -> Result<Self, CsrError> {
        if row_offsets.len().checked_sub(1) != Some(rows) {
            return Err(CsrError::Offsets);
        }
        check_positions(cols, &row_offsets, &columns, values)?;
        Ok(Pattern { row_offsets, columns })
    }

    pub(crate) fn rows(&self) -> usize {
        self.row_offsets.len() - 1
    }

    /// Bytes of row offsets and columns.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&self.row_offsets[..]) + size_of_val(&self.columns[..])
    }

    /// Where the cell in row `i` and column `j` is stored, by binary search.
    pub(crate) fn position(&self, i: usize, j: usize) -> Option<usize> {
        let row = self.row_offsets[i]..self.row_offsets[i + 1];
        let position = self.columns[row.clone()].binary_search(&u32::try_from(j).ok()?).ok()?;
        Some(row.start + position)
    }

    /// Whether another owner may change the positions between evaluations.
    pub(crate) fn may_change(&self) -> bool {
        self.row_offsets.may_change() || self.columns.may_change()
    }

    /// A copy in memory of a pool, made by the threads of another one.
    pub(crate) fn copy_in(&self, threads: &ThreadPool, buffers: &Arc<BufferPool>) -> Pattern {
        Pattern {
            row_offsets: copy_in(threads, buffers, &self.row_offsets),
            columns: copy_in(threads, buffers, &self.columns),
        }
    }
}

/// So many ranges of rows with about equally many non-zeros, given where rows begin and, of the last one, end.
pub(crate) fn even_ranges(row_offsets: &[usize], count: usize) -> Vec<Range<usize>> {
    let (rows, non_zeros) = (row_offsets.len() - 1, row_offsets[row_offsets.len() - 1]);
    let end = |part: usize| match part {
        part if part == count => rows,
        part => row_offsets.partition_point(|&offset| offset < non_zeros / count * part).min(rows),
    };
    (0..count).map(|part| end(part)..end(part + 1)).collect()
}

/// Checks that these are the positions of so many values. Inside of a rayon pool, its threads share the work.
pub(crate) fn check_positions(
    cols: usize,
    row_offsets: &[usize],
    columns: &[u32],
    values: usize,
) -> Result<(), CsrError> {
    let bounds_fit = row_offsets.first() == Some(&0)
        && row_offsets.last() == Some(&values)
        && columns.len() == values
        && row_offsets.is_sorted();
    if !bounds_fit {
        return Err(CsrError::Offsets);
    }
    let ranges = even_ranges(row_offsets, columns.len().div_ceil(CHECKED_NON_ZEROS).max(1));
    let fit = AtomicBool::new(true);
    each(ranges, |rows| {
        let columns = &columns[row_offsets[rows.start]..row_offsets[rows.end]];
        if !all_are_columns(&row_offsets[rows.start..=rows.end], columns, cols) {
            fit.store(false, Ordering::Relaxed);
        }
    });
    if fit.into_inner() {
        return Ok(());
    }
    first_misfit(row_offsets, columns, cols).map_or(Ok(()), |row| Err(CsrError::Columns { row, cols }))
}

/// Whether all columns are below their number and ascend strictly within rows, told without a branch for each: borrowed
/// matrices are checked before each evaluation, and new ones as they are made. As many neighbours must not ascend as do so
/// where one row follows another. Offsets count from that of the first row.
pub(crate) fn all_are_columns(row_offsets: &[usize], columns: &[u32], cols: usize) -> bool {
    let Some(last) = columns.len().checked_sub(1) else { return true };
    let start = row_offsets[0];
    let (mut between, mut exceeds) = (0, false);
    for row in row_offsets.windows(2) {
        let (first, end) = (row[0] - start, row[1] - start);
        // Where columns ascend the last is the largest. Of an empty row it is that of another one, which must fit, too.
        exceeds |= columns[end.saturating_sub(1)] as usize >= cols;
        let descends = columns[first.saturating_sub(1)] >= columns[first.min(last)];
        between += usize::from((0 < first) & (first < end) & descends);
    }
    !exceeds && primitives(Isa::detect()).descents(columns) == between
}

/// The first of these rows whose columns are not those of a row.
fn first_misfit(row_offsets: &[usize], columns: &[u32], cols: usize) -> Option<usize> {
    row_offsets.windows(2).position(|row| !are_columns(&columns[row[0]..row[1]], cols))
}

/// Whether these may be the columns of a row: ascending strictly, below the number of columns.
pub(crate) fn are_columns(columns: &[u32], cols: usize) -> bool {
    columns.windows(2).all(|pair| pair[0] < pair[1]) && columns.last().is_none_or(|&last| (last as usize) < cols)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check without branches says what the one row by row says, whatever is wrong and wherever.
    #[test]
    fn both_checks_of_columns_agree() {
        let offsets = [0, 0, 3, 3, 5, 6, 9, 9];
        let columns = [1, 4, 6, 0, 6, 3, 0, 1, 2];
        let both = |columns: &[u32], cols: usize| {
            let fits = all_are_columns(&offsets, columns, cols);
            assert_eq!(fits, first_misfit(&offsets, columns, cols).is_none(), "{columns:?} below {cols}");
            fits
        };
        assert!(both(&columns, 7));
        assert!(!both(&columns, 6));
        let mut misfits = 0;
        for position in 0..columns.len() {
            for value in [0, 1, 2, 3, 4, 5, 6, 7, u32::MAX] {
                let mut changed = columns;
                changed[position] = value;
                misfits += usize::from(!both(&changed, 7));
            }
        }
        assert!(misfits > columns.len(), "{misfits} misfits");
        assert!(all_are_columns(&[0], &[], 0) && all_are_columns(&[0, 0], &[], 0));
        // Some rows among others.
        assert!(all_are_columns(&offsets.map(|offset| offset + 5), &columns, 7));
        assert!(all_are_columns(&offsets[3..6], &columns[3..6], 7) && !all_are_columns(&offsets[3..6], &[6, 4, 3], 7));
    }
}
