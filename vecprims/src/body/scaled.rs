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

/// A row of values: one register fewer than `I`, and `REST` values behind them, fewer than a register has. These are a register
/// of half the lanes, one of a quarter, and a single value, those among them that they fill, one behind the other.
#[derive(Clone, Copy)]
struct Factors<V: Vector, const I: usize, const REST: usize> {
    /// The last one is not in use.
    whole: [V; I],
    half: V::Narrow,
    quarter: <V::Narrow as Vector>::Narrow,
    single: f64,
}

impl<V: Vector, const I: usize, const REST: usize> Factors<V, I, REST> {
    const WHOLE: usize = I - 1;
    /// Where the rest begins.
    const START: usize = Self::WHOLE * V::LANES;
    /// Lanes of the register of half the lanes; none where it is not filled, or there is none.
    const HALF: usize = if 2 * V::Narrow::LANES == V::LANES { REST & V::Narrow::LANES } else { 0 };
    /// Lanes of the register of a quarter of them.
    const QUARTER: usize = if 4 * <V::Narrow as Vector>::Narrow::LANES == V::LANES {
        REST & <V::Narrow as Vector>::Narrow::LANES
    } else {
        0
    };
    const SINGLE: bool = REST % 2 == 1;

    #[inline(always)]
    unsafe fn load(values: *const f64) -> Self {
        // SAFETY: passed on to the caller.
        unsafe {
            let mut factors = Factors {
                whole: [Vector::splat(0.0); I],
                half: Vector::splat(0.0),
                quarter: Vector::splat(0.0),
                single: 0.0,
            };
            for i in 0..Self::WHOLE {
                factors.whole[i] = Vector::load(values.wrapping_add(i * V::LANES));
            }
            let rest = values.wrapping_add(Self::START);
            if Self::HALF > 0 {
                factors.half = Vector::load(rest);
            }
            if Self::QUARTER > 0 {
                factors.quarter = Vector::load(rest.wrapping_add(Self::HALF));
            }
            if Self::SINGLE {
                factors.single = *rest.wrapping_add(REST - 1);
            }
            factors
        }
    }

    /// Adds the values, scaled, to as many cells.
    #[inline(always)]
    unsafe fn add_scaled(&self, scale: f64, cells: *mut f64) {
        // SAFETY: passed on to the caller.
        unsafe {
            for i in 0..Self::WHOLE {
                add_scaled_register(scale, self.whole[i], cells.wrapping_add(i * V::LANES));
            }
            let rest = cells.wrapping_add(Self::START);
            if Self::HALF > 0 {
                add_scaled_register(scale, self.half, rest);
            }
            if Self::QUARTER > 0 {
                add_scaled_register(scale, self.quarter, rest.wrapping_add(Self::HALF));
            }
            if Self::SINGLE {
                let cell = rest.wrapping_add(REST - 1);
                *cell = scale.mul_add(self.single, *cell);
            }
        }
    }
}

/// Does `some` with the number of values behind whole registers as the constant `REST`, or `none` where there are none.
macro_rules! with_rest {
    ($rest:expr, $some:expr, $none:expr) => {
        with_rest!($rest, $some, $none, 1 2 3 4 5 6 7)
    };
    ($rest:expr, $some:expr, $none:expr, $($count:literal)*) => {
        match $rest {
            $($count => {
                const REST: usize = $count;
                $some;
            })*
            _ => {
                $none;
            }
        }
    };
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
            with_rest!(
                rest,
                self.add_factors::<V, I, REST>(row, start),
                self.add_row::<V, I, MASKED>(row, start, masks)
            );
        }
    }

    /// Adds a row without masks.
    #[inline(always)]
    unsafe fn add_factors<V: Vector, const I: usize, const REST: usize>(&self, row: usize, start: usize) {
        // SAFETY: passed on to the caller.
        unsafe {
            let factors = Factors::<V, I, REST>::load(self.b.values.wrapping_add(row * self.b.row + start));
            for position in self.a.positions(row) {
                let acc = self.acc.wrapping_add(self.a.column(position) * self.acc_row + start);
                factors.add_scaled(*self.a.values.add(position), acc);
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
        let most = if few_positions { 2 } else { 2 * V::LANES - 1 };
        let is_short = short::are_short(a) && k <= most;
        if is_short && k < V::LANES {
            add_short_rows::<V, 1>(a, k, b, acc, acc_row);
        } else if is_short {
            add_short_rows::<V, 2>(a, k, b, acc, acc_row);
        } else if k == 1 {
            add_scaled(a, b, acc, acc_row);
        } else {
            let ahead = CsrAhead::new(a, Half::Second);
            for_each_fitting_chunk::<V, _>(k, &ScaledRows { a, ahead: &ahead, b, acc, acc_row, k, few_positions });
        }
    }
}

/// `k` values of `b` for each row, position after position: one register fewer than `I`, and a rest.
#[inline(always)]
unsafe fn add_short_rows<V: Vector, const I: usize>(a: CsrRows, k: usize, b: Rows, acc: *mut f64, acc_row: usize) {
    // SAFETY: passed on to the caller.
    unsafe {
        with_rest!(
            k % V::LANES,
            add_short_factors::<V, I, REST>(a, b, acc, acc_row),
            add_short_factors::<V, I, 0>(a, b, acc, acc_row)
        );
    }
}

#[inline(always)]
unsafe fn add_short_factors<V: Vector, const I: usize, const REST: usize>(
    a: CsrRows,
    b: Rows,
    acc: *mut f64,
    acc_row: usize,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        let step = |factors: *const f64, scale: f64, cells: *mut f64| {
            Factors::<V, I, REST>::load(factors).add_scaled(scale, cells);
        };
        short::for_each_position(a, b, acc, acc_row, step);
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
