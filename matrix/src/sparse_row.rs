//! The stored positions of one row of a sparse matrix: laid out among all its cells, freed of zeros, or joined with those of
//! another one.

use fuseline_vecprims::{Isa, primitives};
use std::ops::Range;

/// Cells of rows that are filled at a time: 16 KiB, which the nearest cache holds.
pub(crate) const CELLS_NEAR: usize = 1 << 11;

/// The stored positions of a row.
#[derive(Clone, Copy, Debug)]
pub struct SparseRow<'a> {
    /// Their columns, ascending.
    pub columns: &'a [u32],
    /// Their values.
    pub values: &'a [f64],
}

impl SparseRow<'_> {
    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Some of them, by their numbers.
    #[inline]
    pub fn part(&self, positions: Range<usize>) -> Self {
        SparseRow { columns: &self.columns[positions.clone()], values: &self.values[positions] }
    }

    /// Writes the cells of the row, `fill` where it has no position, part by part: what is filled is still in the nearest cache when
    /// values are written there.
    pub(crate) fn write_row(self, fill: f64, cells: &mut [f64]) {
        let (last, mut rest) = (cells.len() / CELLS_NEAR * CELLS_NEAR, self);
        for (first, part) in (0..).step_by(CELLS_NEAR).zip(cells.chunks_mut(CELLS_NEAR)) {
            part.fill(fill);
            let is_before = |&j: &u32| (j as usize) < first + part.len();
            let here = if first == last { rest.len() } else { rest.columns.partition_point(is_before) };
            for (&j, &value) in rest.columns[..here].iter().zip(&rest.values[..here]) {
                part[j as usize - first] = value;
            }
            rest = rest.part(here..rest.len());
        }
    }

    /// Writes those positions whose value is not zero, as long as there is room; how many these are. What lies behind them may be
    /// overwritten.
    pub fn write_nonzeros(self, columns: &mut [u32], values: &mut [f64]) -> usize {
        primitives(Isa::detect()).keep_nonzeros(self.columns, self.values, columns, values)
    }

    /// Writes the cells of both rows wherever one of them has a position; how many positions that are. There must be room for
    /// those of both.
    #[inline]
    pub fn join(self, other: SparseRow<'_>, into: JoinedCells<'_>) -> usize {
        let (a, b, most) = (self, other, self.len() + other.len());
        // Of lengths that are known to be equal, so that no place is checked twice.
        let (a_columns, b_columns) = (a.columns, b.columns);
        let (a_values, b_values) = (&a.values[..a_columns.len()], &b.values[..b_columns.len()]);
        let JoinedCells { columns, left, right } = into;
        let (columns, left, right) = (&mut columns[..most], &mut left[..most], &mut right[..most]);
        let (mut p, mut q, mut count) = (0, 0, 0);
        // Nobody could foretell which row comes next: both are read, and those that take part advance.
        while p < a_columns.len() && q < b_columns.len() && count < most {
            let (a_column, b_column) = (a_columns[p], b_columns[q]);
            let (has_a, has_b) = (ones_if_at_most(a_column, b_column), ones_if_at_most(b_column, a_column));
            columns[count] = a_column.min(b_column);
            left[count] = f64::from_bits(a_values[p].to_bits() & has_a);
            right[count] = f64::from_bits(b_values[q].to_bits() & has_b);
            p += (has_a & 1) as usize;
            q += (has_b & 1) as usize;
            count += 1;
        }
        let (columns, left, right) = (&mut columns[count..], &mut left[count..], &mut right[count..]);
        if p < a.len() {
            count + put_rest(a.part(p..a.len()), columns, left, right)
        } else {
            count + put_rest(b.part(q..b.len()), columns, right, left)
        }
    }
}

/// Room for the cells of two rows at all positions of either.
#[derive(Debug)]
pub struct JoinedCells<'a> {
    /// The columns of the positions, ascending.
    pub columns: &'a mut [u32],
    /// The cells of the one row.
    pub left: &'a mut [f64],
    /// The cells of the other row.
    pub right: &'a mut [f64],
}

impl JoinedCells<'_> {
    /// What is behind so many positions.
    #[inline]
    pub fn behind(&mut self, positions: usize) -> JoinedCells<'_> {
        JoinedCells {
            columns: &mut self.columns[positions..],
            left: &mut self.left[positions..],
            right: &mut self.right[positions..],
        }
    }
}

/// All bits where one column is at most another one, else none. A mask that is made of a comparison becomes a branch: there is no
/// conditional move of floating-point values.
#[inline(always)]
pub fn ones_if_at_most(one: u32, other: u32) -> u64 {
    ((i64::from(one) - i64::from(other) - 1) >> 63) as u64
}

/// Writes what is left of one row where the other one has ended.
fn put_rest(rest: SparseRow<'_>, columns: &mut [u32], own: &mut [f64], other: &mut [f64]) -> usize {
    let len = rest.len();
    columns[..len].copy_from_slice(rest.columns);
    own[..len].copy_from_slice(rest.values);
    other[..len].fill(0.0);
    len
}
