//! Dot products (rules 3 and 6), several at a time so that one load serves several products.

use super::column::{masks, prefetch_distance};
use super::narrow::{self, NarrowProduct, reduce_rows, untouched_lanes};
use super::reduce::{Pending, Run, Sum, merge_registers};
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
                return reduce_rows(rows, &NarrowProduct::<V, 1, false>::new(a, b, len), out, out_row);
            }
            2 => {
                return reduce_rows(rows, &NarrowProduct::<V, 2, false>::new(a, b, len), out, out_row);
            }
            3 | 4 => {
                return reduce_rows(rows, &NarrowProduct::<V, 4, false>::new(a, b, len), out, out_row);
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
        match len.div_ceil(V::LANES) {
            1 if k > 1 => return narrow_groups::<V, 1>((rows, len, k), a, bt, out, out_row),
            2 if k > 1 => return narrow_groups::<V, 2>((rows, len, k), a, bt, out, out_row),
            1 => return narrow_columns::<V, 1>((rows, len, k), a, bt, out, out_row),
            2 => return narrow_columns::<V, 2>((rows, len, k), a, bt, out, out_row),
            3 | 4 => return narrow_columns::<V, 4>((rows, len, k), a, bt, out, out_row),
            _ => {}
        }
        let run = Run::new::<N>(len);
        let mut pending = Pending::new(|value| value);
        let mut row = 0;
        // The shapes fill half the registers of AVX-512; narrower sets have room for one product.
        if V::LANES == 8 && k == 1 {
            while row + 4 <= rows {
                push_products::<V, N, 4, 1, _>(&mut pending, a, bt, (row, 0), run, out, out_row);
                row += 4;
            }
        }
        while V::LANES == 8 && row + 2 <= rows {
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

/// [`vect_mat_mult`] for rows in `T` registers, of which eight rows stay there while all columns pass by.
#[inline(always)]
unsafe fn narrow_groups<V: Vector, const T: usize>(
    (rows, len, k): (usize, usize, usize),
    a: Rows,
    bt: Rows,
    out: *mut f64,
    out_row: usize,
) {
    // SAFETY: passed on to the caller; the last group repeats its last row instead of reading past it.
    unsafe {
        let (masks, ahead) = (masks::<V, T>(len), prefetch_distance(a.row));
        let mut start = 0;
        while start < rows {
            let count = (rows - start).min(8);
            let mut group = [[V::splat(0.0); T]; 8];
            for r in 0..8 {
                let row = a.values.wrapping_add((start + r.min(count - 1)) * a.row);
                for t in 0..T {
                    V::prefetch(row.wrapping_add(ahead + t * V::LANES));
                    group[r][t] = narrow::load_part::<V, T>(row, t, masks[t]);
                }
            }
            for column in 0..k {
                let [factors] = bt.pointers(column);
                let mut shared = [V::splat(0.0); T];
                for t in 0..T {
                    shared[t] = narrow::load_part::<V, T>(factors, t, masks[t]);
                }
                let mut registers = [V::splat(0.0); 8];
                for r in 0..8 {
                    let mut products = [V::splat(0.0); T];
                    for t in 0..T {
                        products[t] = V::mul_add(group[r][t], shared[t], V::splat(0.0));
                    }
                    registers[r] = merge_registers::<V, Sum, T>(products);
                }
                let merged = V::reduce_eight::<Sum>(registers);
                for r in 0..count {
                    *out.add((start + r) * out_row + column) = merged[r] + untouched_lanes(len);
                }
            }
            start += 8;
        }
    }
}

/// Rows that stay in the first-level cache while every column passes over them.
const NARROW_ROWS: usize = 64;

/// [`vect_mat_mult`] for rows in `T` registers.
#[inline(always)]
unsafe fn narrow_columns<V: Vector, const T: usize>(
    (rows, len, k): (usize, usize, usize),
    a: Rows,
    bt: Rows,
    out: *mut f64,
    out_row: usize,
) {
    let mut start = 0;
    while start < rows {
        let count = (rows - start).min(NARROW_ROWS);
        let [first] = a.pointers(start);
        for column in 0..k {
            let [factors] = bt.pointers(column);
            // SAFETY: passed on to the caller.
            unsafe {
                let tile = Rows::new(first, a.row);
                let products = NarrowProduct::<V, T, true>::new(tile, Rows::new(factors, 0), len);
                reduce_rows(count, &products, out.add(start * out_row + column), out_row);
            }
        }
        start += count;
    }
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
