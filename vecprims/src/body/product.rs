//! Dot products (rules 3 and 6), several at a time so that one load serves several products.

use super::ahead::{Ahead, Half};
use super::narrow::{NarrowProduct, reduce_rows};
use super::reduce::{Pending, Run, Sum, merge_registers};
use super::upright;
use crate::vector::Vector;

/// Accumulators of the products of `R` rows with `C` rows, 32 lanes in `N` registers each.
type Accumulators<V, const N: usize, const R: usize, const C: usize> = [[[V; N]; C]; R];

/// The `R * C` dot products of `R` rows with `C` rows, each merged into one register.
#[inline(always)]
pub(super) unsafe fn products<V: Vector, const N: usize, const R: usize, const C: usize>(
    a: [*const f64; R],
    b: [*const f64; C],
    run: Run<V>,
) -> [[V; C]; R] {
    // SAFETY: the caller's run covers each row; the part is masked.
    unsafe {
        let mut accumulators: Accumulators<V, N, R, C> = [[[V::splat(0.0); N]; C]; R];
        let mut offset = 0;
        for _ in 0..run.rounds {
            for n in 0..N {
                step::<V, N, R, C, false>(&mut accumulators, n, &a, &b, offset + n * V::LANES, run.mask);
            }
            offset += N * V::LANES;
        }
        for n in 0..N {
            if n < run.whole {
                step::<V, N, R, C, false>(&mut accumulators, n, &a, &b, offset + n * V::LANES, run.mask);
            } else if n == run.whole && run.part > 0 {
                step::<V, N, R, C, true>(&mut accumulators, n, &a, &b, offset + n * V::LANES, run.mask);
            }
        }
        let mut merged = [[V::splat(0.0); C]; R];
        for r in 0..R {
            for c in 0..C {
                merged[r][c] = merge_registers::<V, Sum, N>(accumulators[r][c]);
            }
        }
        merged
    }
}

/// Takes register `n` of every row, at `offset`, into the accumulators.
///
/// Masked lanes keep their accumulator: adding `+0.0` would lose the sign of a tiny product that underflowed to `-0.0`.
#[inline(always)]
unsafe fn step<V: Vector, const N: usize, const R: usize, const C: usize, const MASKED: bool>(
    accumulators: &mut Accumulators<V, N, R, C>,
    n: usize,
    a: &[*const f64; R],
    b: &[*const f64; C],
    offset: usize,
    mask: V::Mask,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        let mut x = [V::splat(0.0); R];
        for r in 0..R {
            x[r] = load_part::<V, MASKED>(a[r].add(offset), mask);
        }
        for c in 0..C {
            let y = load_part::<V, MASKED>(b[c].add(offset), mask);
            for r in 0..R {
                let old = accumulators[r][c][n];
                let new = V::mul_add(x[r], y, old);
                accumulators[r][c][n] = if MASKED { V::select(mask, new, old) } else { new };
            }
        }
    }
}

/// Loads a register, or its chosen lanes.
#[inline(always)]
unsafe fn load_part<V: Vector, const MASKED: bool>(values: *const f64, mask: V::Mask) -> V {
    // SAFETY: passed on to the caller.
    unsafe { if MASKED { V::load_first(values, mask) } else { V::load(values) } }
}

/// Where the dense rows of a product lie.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    pub(crate) values: *const f64,
    pub(crate) row: usize,
}

impl Rows {
    /// Rows that start `row` values apart.
    #[inline(always)]
    pub(crate) fn new(values: *const f64, row: usize) -> Rows {
        Rows { values, row }
    }

    /// Where a row begins.
    #[inline(always)]
    pub(super) fn pointer(self, row: usize) -> *const f64 {
        self.values.wrapping_add(row * self.row)
    }

    /// Pointers to `R` rows from `first` on.
    #[inline(always)]
    pub(super) fn pointers<const R: usize>(self, first: usize) -> [*const f64; R] {
        let mut pointers = [self.values; R];
        for r in 0..R {
            pointers[r] = self.values.wrapping_add((first + r) * self.row);
        }
        pointers
    }
}

/// Rule 3 for each row of `a` with the same row of `b`.
#[inline(always)]
pub(crate) unsafe fn dot_product<V: Vector, const N: usize>(
    rows: usize,
    len: usize,
    a: Rows,
    b: Rows,
    out: *mut f64,
    out_row: usize,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        if b.row == 0 {
            return vect_mat_mult::<V, N>((rows, len, 1), a, b, out, out_row);
        }
        match len.div_ceil(V::LANES) {
            1 => {
                return reduce_rows(rows, &NarrowProduct::<V, 1, false>::new(a, b, len), &Ahead::none(), out, out_row);
            }
            2 => {
                return reduce_rows(rows, &NarrowProduct::<V, 2, false>::new(a, b, len), &Ahead::none(), out, out_row);
            }
            3 | 4 => {
                return reduce_rows(rows, &NarrowProduct::<V, 4, false>::new(a, b, len), &Ahead::none(), out, out_row);
            }
            _ => {}
        }
        let run = Run::new::<N>(len);
        let mut pending = Pending::new(|value| value);
        for row in 0..rows {
            let [[register]] = products::<V, N, 1, 1>(a.pointers(row), b.pointers(row), run);
            pending.push::<Sum>(register, out.add(row * out_row));
        }
        pending.flush::<Sum>();
    }
}

/// The products of every row of `a` with the `k` rows of `bt`: `out[r * out_row + c]`.
#[inline(always)]
pub(crate) unsafe fn vect_mat_mult<V: Vector, const N: usize>(
    (rows, len, k): (usize, usize, usize),
    a: Rows,
    bt: Rows,
    out: *mut f64,
    out_row: usize,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        if k == 1 {
            match len.div_ceil(V::LANES) {
                1 => return narrow_products::<V, 1>(rows, len, a, bt, out, out_row),
                2 => return narrow_products::<V, 2>(rows, len, a, bt, out, out_row),
                3 | 4 => return narrow_products::<V, 4>(rows, len, a, bt, out, out_row),
                _ => {}
            }
        }
        let mut row = if k == 1 { 0 } else { upright_groups::<V>((rows, len, k), a, bt, out, out_row) };
        let ahead = if row > 0 {
            Ahead::none()
        } else {
            Ahead::new(a, rows, Half::First, rows.div_ceil(if k == 1 { 4 } else { 2 }))
        };
        let run = Run::new::<N>(len);
        let mut pending = Pending::new(|value| value);
        // The shapes fill half the registers of AVX-512; narrower sets have room for one product.
        if V::LANES == 8 && k == 1 {
            while row + 4 <= rows {
                ahead.ask();
                push_products::<V, N, 4, 1, _>(&mut pending, a, bt, (row, 0), run, out, out_row);
                row += 4;
            }
        }
        while V::LANES == 8 && row + 2 <= rows {
            ahead.ask();
            let mut column = 0;
            while column + 2 <= k {
                push_products::<V, N, 2, 2, _>(&mut pending, a, bt, (row, column), run, out, out_row);
                column += 2;
            }
            if column < k {
                push_products::<V, N, 2, 1, _>(&mut pending, a, bt, (row, column), run, out, out_row);
            }
            row += 2;
        }
        while row < rows {
            for column in 0..k {
                push_products::<V, N, 1, 1, _>(&mut pending, a, bt, (row, column), run, out, out_row);
            }
            row += 1;
        }
        pending.flush::<Sum>();
    }
}

/// [`vect_mat_mult`] for whole groups of rows of at most 16 values; says how many rows that are.
#[inline(always)]
unsafe fn upright_groups<V: Vector>(
    (rows, len, k): (usize, usize, usize),
    a: Rows,
    bt: Rows,
    out: *mut f64,
    out_row: usize,
) -> usize {
    let groups = rows / V::LANES;
    let ahead = Ahead::new(a, rows, Half::First, groups);
    macro_rules! of_length {
        ($($length:literal)*) => {
            match len {
                // SAFETY: passed on to the caller.
                $($length => unsafe { upright::products::<V, $length>((groups, k), a, bt, &ahead, out, out_row) },)*
                _ => return 0,
            }
        };
    }
    of_length!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
    groups * V::LANES
}

/// [`vect_mat_mult`] for one column and rows in `T` registers.
#[inline(always)]
unsafe fn narrow_products<V: Vector, const T: usize>(
    rows: usize,
    len: usize,
    a: Rows,
    b: Rows,
    out: *mut f64,
    out_row: usize,
) {
    let ahead = Ahead::new(a, rows, Half::First, rows.div_ceil(8));
    // SAFETY: passed on to the caller.
    unsafe { reduce_rows(rows, &NarrowProduct::<V, T, true>::new(a, b, len), &ahead, out, out_row) }
}

/// Computes `R * C` products from (`row`, `column`) on and lets them wait for their last merges.
#[inline(always)]
unsafe fn push_products<V: Vector, const N: usize, const R: usize, const C: usize, F: Fn(f64) -> f64>(
    pending: &mut Pending<V, F>,
    a: Rows,
    bt: Rows,
    (row, column): (usize, usize),
    run: Run<V>,
    out: *mut f64,
    out_row: usize,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        let registers = products::<V, N, R, C>(a.pointers(row), bt.pointers(column), run);
        for r in 0..R {
            for c in 0..C {
                pending.push::<Sum>(registers[r][c], out.add((row + r) * out_row + column + c));
            }
        }
    }
}
