//! Dot products (rules 3 and 6), several at a time so that one load serves several products.

use super::column::load;
use super::reduce::{Pending, Run, Sum, merge_registers};
use crate::vector::Vector;

/// Accumulators of the products of `R` rows with `C` rows, 32 lanes in `N` registers each.
type Accumulators<V, const N: usize, const R: usize, const C: usize> = [[[V; N]; C]; R];

/// The `R * C` dot products of `R` rows with `C` rows, each merged into one register.
#[inline(always)]
unsafe fn products<V: Vector, const N: usize, const R: usize, const C: usize>(
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
            x[r] = load::<V, MASKED>(a[r].add(offset), mask);
        }
        for c in 0..C {
            let y = load::<V, MASKED>(b[c].add(offset), mask);
            for r in 0..R {
                let old = accumulators[r][c][n];
                let new = V::mul_add(x[r], y, old);
                accumulators[r][c][n] = if MASKED { V::select(mask, new, old) } else { new };
            }
        }
    }
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
    fn pointers<const R: usize>(self, first: usize) -> [*const f64; R] {
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

/// For each position of a CSR unit the product of its row of `u` with the row of `v` that its column names.
#[inline(always)]
pub(crate) unsafe fn sampled_product<V: Vector, const N: usize>(
    (rows, row_offsets, columns): (usize, *const usize, *const u32),
    rank: usize,
    u: Rows,
    v: Rows,
    out: *mut f64,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        let run = Run::new::<N>(rank);
        let mut pending = Pending::new(|value| value);
        let first = *row_offsets;
        for row in 0..rows {
            let end = *row_offsets.add(row + 1) - first;
            let mut position = *row_offsets.add(row) - first;
            let u = u.pointers(row);
            let v_row = |position| v.values.wrapping_add(*columns.add(position) as usize * v.row);
            while V::LANES == 8 && position + 4 <= end {
                let v = [v_row(position), v_row(position + 1), v_row(position + 2), v_row(position + 3)];
                let [registers] = products::<V, N, 1, 4>(u, v, run);
                for c in 0..4 {
                    pending.push::<Sum>(registers[c], out.add(position + c));
                }
                position += 4;
            }
            while position < end {
                let [[register]] = products::<V, N, 1, 1>(u, [v_row(position)], run);
                pending.push::<Sum>(register, out.add(position));
                position += 1;
            }
        }
        pending.flush::<Sum>();
    }
}
