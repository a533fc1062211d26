//! Sparse rows of few positions (rule 5). Where such a row ends no processor foresees, and being wrong costs as much as
//! the row: therefore the positions of many rows form one run, each with where it finds what belongs to its row.

use super::product::Rows;
use super::sparse::CsrRows;

/// The most positions of rows, on average, that are short.
const SHORT: usize = 24;
/// Positions that are written at once for each row.
const AT_ONCE: usize = 16;
/// Positions of rows that form one run.
const RUN: usize = 512;

/// Whether rows are short, and differ in their columns: equal ones have better ways.
#[inline(always)]
pub(crate) unsafe fn are_short(a: CsrRows) -> bool {
    // SAFETY: passed on to the caller.
    unsafe { a.rows > 1 && a.count() <= SHORT * a.rows && !a.has_equal_columns(0, 2) }
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
