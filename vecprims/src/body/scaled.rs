//! Dense rows, scaled by the values of sparse rows, added to the rows of an accumulator that columns name (rule 5).

use super::ahead::{CsrAhead, Half, ask_for};
use super::column::{ChunkBody, for_each_fitting_chunk, load, store};
use super::product::Rows;
use super::short::{self, FilledRows};
use super::sparse::CsrRows;
use crate::vector::{Portable, Vector};

/// As many columns as the narrowest register has lanes.
const PAIR: usize = Portable::LANES;

/// Rows of `b`, scaled by the values of sparse rows, added to the rows of an accumulator that their columns name. A chunk
/// of a row of `b` stays in registers while all positions of its sparse row pass by.
struct ScaledRows<'a> {
    a: CsrRows,
    ahead: &'a CsrAhead,
    b: Rows,
    acc: *mut f64,
    acc_row: usize,
    /// [`short::have_few_positions`].
    few_positions: bool,
}

impl<V: Vector> ChunkBody<V> for ScaledRows<'_> {
    #[inline(always)]
    unsafe fn run<const I: usize, const MASKED: bool>(&self, start: usize, masks: [V::Mask; I]) {
        // SAFETY: passed on to the caller.
        unsafe {
            if self.few_positions {
                return self.add_filled_rows::<V, I, MASKED>(start, masks);
            }
            let mut row = 0;
            while row < self.a.rows {
                let mut rows = 1;
                while self.a.has_equal_columns(row + rows - 1, 2) {
                    rows += 1;
                }
                if rows == 1 {
                    self.ahead.ask();
                    self.add_row::<V, I, MASKED>(row, start, masks);
                } else {
                    self.add_rows::<V, I, MASKED>(row, rows, start, masks);
                }
                row += rows;
            }
        }
    }
}

impl ScaledRows<'_> {
    /// Rows of few positions, which may lie far apart, and so do the rows that they meet: those of some are asked for before
    /// the first is added.
    #[inline(always)]
    unsafe fn add_filled_rows<V: Vector, const I: usize, const MASKED: bool>(&self, start: usize, masks: [V::Mask; I]) {
        let mut filled = FilledRows::new();
        let mut row = 0;
        // SAFETY: passed on to the caller.
        unsafe {
            while row < self.a.rows {
                row = filled.find(self.a, row);
                for &row in filled.rows() {
                    ask_for::<V>(self.b.values.wrapping_add(row * self.b.row + start), I * V::LANES);
                }
                for position in filled.positions(self.a) {
                    ask_for::<V>(self.acc.wrapping_add(self.a.column(position) * self.acc_row + start), I * V::LANES);
                }
                for &row in filled.rows() {
                    self.add_row::<V, I, MASKED>(row, start, masks);
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn add_row<V: Vector, const I: usize, const MASKED: bool>(
        &self,
        row: usize,
        start: usize,
        masks: [V::Mask; I],
    ) {
        // SAFETY: passed on to the caller.
        unsafe {
            let mut factors = [V::splat(0.0); I];
            for i in 0..I {
                factors[i] = load::<V, I, MASKED>(self.b.values.wrapping_add(row * self.b.row + start), i, masks[i]);
            }
            for position in self.a.positions(row) {
                let scale = V::splat(*self.a.values.add(position));
                let acc = self.acc.wrapping_add(self.a.column(position) * self.acc_row + start);
                for i in 0..I {
                    let old = load::<V, I, MASKED>(acc, i, masks[i]);
                    store::<V, I, MASKED>(V::mul_add(scale, factors[i], old), acc, i, masks[i]);
                }
            }
        }
    }

    /// Adds rows with their positions in the same columns: some rows of the accumulator stay in registers while all of
    /// them pass by.
    #[inline(always)]
    unsafe fn add_rows<V: Vector, const I: usize, const MASKED: bool>(
        &self,
        row: usize,
        rows: usize,
        start: usize,
        masks: [V::Mask; I],
    ) {
        // SAFETY: passed on to the caller.
        unsafe {
            let positions = self.a.positions(row);
            let (mut position, end) = (positions.start, positions.end);
            while V::LANES == 8 && I <= 2 && position + 8 <= end {
                self.add_columns::<V, I, MASKED, 8>(row, rows, position, start, masks);
                position += 8;
            }
            while V::LANES == 8 && I <= 5 && position + 4 <= end {
                self.add_columns::<V, I, MASKED, 4>(row, rows, position, start, masks);
                position += 4;
            }
            while V::LANES == 8 && position + 2 <= end {
                self.add_columns::<V, I, MASKED, 2>(row, rows, position, start, masks);
                position += 2;
            }
            while position < end {
                self.add_columns::<V, I, MASKED, 1>(row, rows, position, start, masks);
                position += 1;
            }
        }
    }

    /// Adds the `C` columns from a position of the first row on, of rows that have equally many positions.
    #[inline(always)]
    unsafe fn add_columns<V: Vector, const I: usize, const MASKED: bool, const C: usize>(
        &self,
        row: usize,
        rows: usize,
        position: usize,
        start: usize,
        masks: [V::Mask; I],
    ) {
        // SAFETY: passed on to the caller.
        unsafe {
            let len = self.a.positions(row).len();
            let mut targets = [self.acc; C];
            let mut sums = [[V::splat(0.0); I]; C];
            for c in 0..C {
                targets[c] = self.acc.wrapping_add(self.a.column(position + c) * self.acc_row + start);
                for i in 0..I {
                    sums[c][i] = load::<V, I, MASKED>(targets[c], i, masks[i]);
                }
            }
            for r in 0..rows {
                let b = self.b.values.wrapping_add((row + r) * self.b.row + start);
                let mut factors = [V::splat(0.0); I];
                for i in 0..I {
                    factors[i] = load::<V, I, MASKED>(b, i, masks[i]);
                }
                let values = self.a.values.add(position + r * len);
                for c in 0..C {
                    let scale = V::splat(*values.add(c));
                    for i in 0..I {
                        sums[c][i] = V::mul_add(scale, factors[i], sums[c][i]);
                    }
                }
            }
            for c in 0..C {
                for i in 0..I {
                    store::<V, I, MASKED>(sums[c][i], targets[c], i, masks[i]);
                }
            }
        }
    }
}

/// `acc[columns[p] * acc_row + j] = fma(a[p], b[r, j], acc[..])` for every position.
#[inline(always)]
pub(crate) unsafe fn outer_mult_add<V: Vector>(a: CsrRows, k: usize, b: Rows, acc: *mut f64, acc_row: usize) {
    // SAFETY: passed on to the caller.
    unsafe {
        match k {
            1 if short::are_short(a) => {
                let step = |factor: *const f64, value: f64, acc: *mut f64| *acc = value.mul_add(*factor, *acc);
                return short::for_each_position(a, b, acc, acc_row, step);
            }
            1 => return add_scaled(a, b, acc, acc_row),
            PAIR if short::are_short(a) => {
                let step = |factors: *const f64, value: f64, acc: *mut f64| {
                    let sum = Portable::mul_add(Portable::splat(value), Portable::load(factors), Portable::load(acc));
                    Portable::store(sum, acc);
                };
                return short::for_each_position(a, b, acc, acc_row, step);
            }
            _ => {}
        }
        let (ahead, few_positions) = (CsrAhead::new(a, Half::Second), short::have_few_positions(a));
        for_each_fitting_chunk::<V, _>(k, &ScaledRows { a, ahead: &ahead, b, acc, acc_row, few_positions });
    }
}

/// One value of `b` for each row, a row after the other.
#[inline(always)]
unsafe fn add_scaled(a: CsrRows, b: Rows, acc: *mut f64, acc_row: usize) {
    // SAFETY: passed on to the caller.
    let ahead = unsafe { CsrAhead::new(a, Half::Second) };
    for row in 0..a.rows {
        ahead.ask();
        // SAFETY: passed on to the caller.
        unsafe {
            let factor = *b.values.add(row * b.row);
            for position in a.positions(row) {
                let acc = acc.add(a.column(position) * acc_row);
                *acc = (*a.values.add(position)).mul_add(factor, *acc);
            }
        }
    }
}
