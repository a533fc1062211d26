//! Sparse rows of few positions (rule 5). Where such a row ends no processor foresees, and being wrong costs as much as
//! the row: therefore the positions of many rows form one run, each with where it finds what belongs to its row.

use super::product::Rows;
use super::sparse::CsrRows;
use std::ops::Range;

/// The most positions of rows, on average, that are short.
const SHORT: usize = 24;
/// Positions that are written at once for each row.
const AT_ONCE: usize = 16;
/// Positions of rows that form one run.
const RUN: usize = 512;

/// The most positions of rows, on average, that are few.
const FEW: usize = 1;
/// Rows whose operands are asked for at once.
pub(super) const ROWS_AHEAD: usize = 16;

/// Whether rows have so few positions that many have none: no processor foresees which, so that it would wait for the operands
/// of one after the other.
#[inline(always)]
pub(crate) unsafe fn have_few_positions(a: CsrRows) -> bool {
    // SAFETY: passed on to the caller.
    unsafe { a.count() <= FEW * a.rows && are_short(a) }
}

/// Some rows that have positions, in their order.
pub(crate) struct FilledRows {
    rows: [usize; ROWS_AHEAD + 1],
    count: usize,
}

impl FilledRows {
    /// None.
    #[inline(always)]
    pub(crate) fn new() -> FilledRows {
        FilledRows { rows: [0; ROWS_AHEAD + 1], count: 0 }
    }

    /// Finds the next ones from `row` on, and gives the row behind the last that was looked at.
    #[inline(always)]
    pub(crate) unsafe fn find(&mut self, a: CsrRows, mut row: usize) -> usize {
        self.count = 0;
        // SAFETY: passed on to the caller.
        unsafe {
            while row < a.rows && self.count < ROWS_AHEAD {
                self.rows[self.count] = row;
                self.count += usize::from(!a.positions(row).is_empty());
                row += 1;
            }
        }
        row
    }

    /// The rows that were found.
    #[inline(always)]
    pub(crate) fn rows(&self) -> &[usize] {
        &self.rows[..self.count]
    }

    /// The positions of all found rows, since rows between them have none.
    #[inline(always)]
    pub(crate) unsafe fn positions(&self, a: CsrRows) -> Range<usize> {
        match *self.rows() {
            [] => 0..0,
            // SAFETY: passed on to the caller, who has found them in these rows.
            [first, ..] => unsafe { a.positions(first).start..a.positions(self.rows[self.count - 1]).end },
        }
    }
}

/// Whether rows are short, and differ in their columns: equal ones have better ways, unless they are empty.
#[inline(always)]
pub(crate) unsafe fn are_short(a: CsrRows) -> bool {
    // SAFETY: passed on to the caller; there is a first row where there are two.
    unsafe {
        let differ = || a.positions(0).is_empty() || !a.has_equal_columns(0, 2);
        a.rows > 1 && a.count() <= SHORT * a.rows && differ()
    }
}

/// For each position of a run of rows, where the row of `b` that belongs to it begins.
struct RowOfPosition([usize; RUN + AT_ONCE]);

impl RowOfPosition {
    /// Takes rows from `row` on while they fit, and gives the first that does not.
    #[inline(always)]
    unsafe fn take(&mut self, a: CsrRows, mut row: usize, b_row: usize) -> usize {
        let RowOfPosition(starts) = self;
        // SAFETY: passed on to the caller; there is room for what is written behind the last position.
        unsafe {
            let first = a.positions(row).start;
            while row < a.rows {
                let positions = a.positions(row);
                let (mut position, end) = (positions.start - first, positions.end - first);
                if end > RUN {
                    break;
                }
                // Too much is written at once; the next row overwrites it.
                loop {
                    starts.as_mut_ptr().add(position).cast::<[usize; AT_ONCE]>().write([row * b_row; AT_ONCE]);
                    position += AT_ONCE;
                    if position >= end {
                        break;
                    }
                }
                row += 1;
            }
        }
        row
    }
}

/// `step` for each position in order, with the row of `b` that belongs to its row, its value, and the row of `acc` that its
/// column names.
#[inline(always)]
pub(crate) unsafe fn for_each_position(
    a: CsrRows,
    b: Rows,
    acc: *mut f64,
    acc_row: usize,
    step: impl Fn(*const f64, f64, *mut f64),
) {
    let mut starts = RowOfPosition([0; RUN + AT_ONCE]);
    let mut row = 0;
    // SAFETY: passed on to the caller.
    unsafe {
        let step = |position: usize, start: usize| {
            let acc = acc.add(a.column(position) * acc_row);
            step(b.values.add(start), *a.values.add(position), acc);
        };
        while row < a.rows {
            let first = a.positions(row).start;
            let next = starts.take(a, row, b.row);
            if next == row {
                // A long row among short ones.
                a.positions(row).for_each(|position| step(position, row * b.row));
                row += 1;
                continue;
            }
            for (position, &start) in (first..a.positions(next - 1).end).zip(&starts.0) {
                step(position, start);
            }
            row = next;
        }
    }
}
