//! Dense rows, scaled by the values of sparse rows, added to the rows of an accumulator that columns name (rule 5).

use super::ahead::{CsrAhead, Half, ask_for};
use super::column::{ChunkBody, for_each_fitting_chunk, load, store, whole_registers};
use super::product::Rows;
use super::short::{self, FilledRows};
use super::sparse::CsrRows;
use crate::vector::Vector;

/// Rows of `b`, scaled by the values of sparse rows, added to the rows of an accumulator that their columns name. A chunk
/// of a row of `b` stays in registers while all positions of its sparse row pass by.
struct ScaledRows<'a> {
    a: CsrRows,
    ahead: &'a CsrAhead,
    b: Rows,
    acc: *mut f64,
    acc_row: usize,
    /// Values of a row of `b`.
    k: usize,
    /// [`short::have_few_positions`].
    few_positions: bool,
}

/// `COUNT` values, fewer than a register has: a register of half the lanes, one of a quarter, and a single value, those among
/// them that they fill, one behind the other.
#[derive(Clone, Copy)]
struct Rest<V: Vector, const COUNT: usize> {
    half: V::Narrow,
    quarter: <V::Narrow as Vector>::Narrow,
    single: f64,
}

impl<V: Vector, const COUNT: usize> Rest<V, COUNT> {
    /// Lanes of the register of half the lanes; none where it is not filled, or there is none.
    const HALF: usize = if 2 * V::Narrow::LANES == V::LANES { COUNT & V::Narrow::LANES } else { 0 };
    /// Lanes of the register of a quarter of them.
    const QUARTER: usize = if 4 * <V::Narrow as Vector>::Narrow::LANES == V::LANES {
        COUNT & <V::Narrow as Vector>::Narrow::LANES
    } else {
        0
    };
    const SINGLE: bool = COUNT % 2 == 1;

    #[inline(always)]
    unsafe fn load(values: *const f64) -> Self {
        // SAFETY: passed on to the caller.
        unsafe {
            let mut rest = Rest { half: Vector::splat(0.0), quarter: Vector::splat(0.0), single: 0.0 };
            if Self::HALF > 0 {
                rest.half = Vector::load(values);
            }
            if Self::QUARTER > 0 {
                rest.quarter = Vector::load(values.wrapping_add(Self::HALF));
            }
            if Self::SINGLE {
                rest.single = *values.wrapping_add(COUNT - 1);
            }
            rest
        }
    }

    /// Adds the values, scaled, to `COUNT` cells.
    #[inline(always)]
    unsafe fn add_scaled(self, scale: f64, cells: *mut f64) {
        // SAFETY: passed on to the caller.
        unsafe {
            if Self::HALF > 0 {
                add_scaled_register(scale, self.half, cells);
            }
            if Self::QUARTER > 0 {
                add_scaled_register(scale, self.quarter, cells.wrapping_add(Self::HALF));
            }
            if Self::SINGLE {
                let cell = cells.wrapping_add(COUNT - 1);
                *cell = scale.mul_add(self.single, *cell);
            }
        }
    }
}

/// Adds a register, scaled, to as many cells.
#[inline(always)]
unsafe fn add_scaled_register<V: Vector>(scale: f64, register: V, cells: *mut f64) {
    // SAFETY: passed on to the caller.
    unsafe { V::store(V::mul_add(V::splat(scale), register, V::load(cells)), cells) }
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
                    self.add_fitting_row::<V, I, MASKED>(row, start, masks);
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
                    self.add_fitting_row::<V, I, MASKED>(row, start, masks);
                }
            }
        }
    }

    /// Adds a row, without a mask where the last register of its chunk alone would have one: the rows of the accumulator lie
    /// side by side, and a load waits until what a masked store may have written before is in the cache.
    #[inline(always)]
    unsafe fn add_fitting_row<V: Vector, const I: usize, const MASKED: bool>(
        &self,
        row: usize,
        start: usize,
        masks: [V::Mask; I],
    ) {
        let rest = if MASKED && I == whole_registers(I) + 1 { (self.k - start) % V::LANES } else { 0 };
        // SAFETY: passed on to the caller.
        unsafe {
            match rest {
                1 => self.add_row_and_rest::<V, I, 1>(row, start),
                2 if V::LANES > 2 => self.add_row_and_rest::<V, I, 2>(row, start),
                3 if V::LANES > 2 => self.add_row_and_rest::<V, I, 3>(row, start),
                4 if V::LANES > 4 => self.add_row_and_rest::<V, I, 4>(row, start),
                5 if V::LANES > 4 => self.add_row_and_rest::<V, I, 5>(row, start),
                6 if V::LANES > 4 => self.add_row_and_rest::<V, I, 6>(row, start),
                7 if V::LANES > 4 => self.add_row_and_rest::<V, I, 7>(row, start),
                _ => self.add_row::<V, I, MASKED>(row, start, masks),
            }
        }
    }

    /// Adds a row of whole registers, one fewer than `I`, and `REST` values behind them.
    #[inline(always)]
    unsafe fn add_row_and_rest<V: Vector, const I: usize, const REST: usize>(&self, row: usize, start: usize) {
        let whole = I - 1;
        // SAFETY: passed on to the caller.
        unsafe {
            let b = self.b.values.wrapping_add(row * self.b.row + start);
            let mut factors = [V::splat(0.0); I];
            for i in 0..whole {
                factors[i] = V::load(b.wrapping_add(i * V::LANES));
            }
            let rest = Rest::<V, REST>::load(b.wrapping_add(whole * V::LANES));
            for position in self.a.positions(row) {
                let scale = *self.a.values.add(position);
                let acc = self.acc.wrapping_add(self.a.column(position) * self.acc_row + start);
                for i in 0..whole {
                    add_scaled_register(scale, factors[i], acc.wrapping_add(i * V::LANES));
                }
                rest.add_scaled(scale, acc.wrapping_add(whole * V::LANES));
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
        let few_positions = short::have_few_positions(a);
        // Of few positions many rows lie between, which are asked for; those of one or two values come side by side all the same.
        if short::are_short(a) && if few_positions { k <= 2 } else { k < 2 * V::LANES } {
            return match k.checked_sub(V::LANES) {
                None => add_short_rows::<V, 0>(a, k, b, acc, acc_row),
                Some(rest) => add_short_rows::<V, 1>(a, rest, b, acc, acc_row),
            };
        }
        if k == 1 {
            return add_scaled(a, b, acc, acc_row);
        }
        let ahead = CsrAhead::new(a, Half::Second);
        for_each_fitting_chunk::<V, _>(k, &ScaledRows { a, ahead: &ahead, b, acc, acc_row, k, few_positions });
    }
}

/// [`add_short_rows_and_rest`], for a rest of fewer values than a register has.
#[inline(always)]
unsafe fn add_short_rows<V: Vector, const WHOLE: usize>(
    a: CsrRows,
    rest: usize,
    b: Rows,
    acc: *mut f64,
    acc_row: usize,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        match rest {
            0 => add_short_rows_and_rest::<V, WHOLE, 0>(a, b, acc, acc_row),
            1 => add_short_rows_and_rest::<V, WHOLE, 1>(a, b, acc, acc_row),
            2 if V::LANES > 2 => add_short_rows_and_rest::<V, WHOLE, 2>(a, b, acc, acc_row),
            3 if V::LANES > 2 => add_short_rows_and_rest::<V, WHOLE, 3>(a, b, acc, acc_row),
            4 if V::LANES > 4 => add_short_rows_and_rest::<V, WHOLE, 4>(a, b, acc, acc_row),
            5 if V::LANES > 4 => add_short_rows_and_rest::<V, WHOLE, 5>(a, b, acc, acc_row),
            6 if V::LANES > 4 => add_short_rows_and_rest::<V, WHOLE, 6>(a, b, acc, acc_row),
            7 if V::LANES > 4 => add_short_rows_and_rest::<V, WHOLE, 7>(a, b, acc, acc_row),
            _ => unreachable!("no register has so many lanes"),
        }
    }
}

/// `WHOLE` registers of `b` and `REST` values behind them for each row, position after position.
#[inline(always)]
unsafe fn add_short_rows_and_rest<V: Vector, const WHOLE: usize, const REST: usize>(
    a: CsrRows,
    b: Rows,
    acc: *mut f64,
    acc_row: usize,
) {
    let step = |factors: *const f64, scale: f64, cells: *mut f64| {
        // SAFETY: passed on to the caller.
        unsafe {
            for i in 0..WHOLE {
                let factors = V::load(factors.wrapping_add(i * V::LANES));
                add_scaled_register(scale, factors, cells.wrapping_add(i * V::LANES));
            }
            let rest = Rest::<V, REST>::load(factors.wrapping_add(WHOLE * V::LANES));
            rest.add_scaled(scale, cells.wrapping_add(WHOLE * V::LANES));
        }
    };
    // SAFETY: passed on to the caller.
    unsafe { short::for_each_position(a, b, acc, acc_row, step) }
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
