//! Dot products (rules 3 and 6), several at a time so that one load serves several products.

use super::abreast::{ROWS_PER_SHARE, ShortProducts};
use super::ahead::{Ahead, Half};
use super::matrix::wide_mat_mult;
use super::narrow::{NarrowProduct, reduce_rows};
use super::reduce::{Pending, Run, Sum, merge_registers};
use crate::adds_up_rows;
use crate::vector::{Element, Merge, Vector};

/// Accumulators of the products of `R` rows with `C` rows, 32 lanes in `N` registers each.
type Accumulators<V, const N: usize, const R: usize, const C: usize> = [[[V; N]; C]; R];

/// The `R * C` dot products of `R` rows with `C` rows of doubles, each merged into one register. A share of what lies ahead is asked
/// for with each round of 32 lanes, and one with the rest.
#[inline(always)]
pub(super) unsafe fn products<V: Vector, T: Element, const N: usize, const R: usize, const C: usize>(
    a: [*const T; R],
    b: [*const f64; C],
    run: Run<V>,
    ahead: &Ahead,
) -> [[V; C]; R] {
    // SAFETY: the caller's run covers each row; the part is masked.
    unsafe {
        let mut accumulators: Accumulators<V, N, R, C> = [[[V::splat(0.0); N]; C]; R];
        let mut offset = 0;
        for _ in 0..run.rounds {
            ahead.ask();
            for n in 0..N {
                step::<V, T, N, R, C, false>(&mut accumulators, n, &a, &b, offset + n * V::LANES, run);
            }
            offset += N * V::LANES;
        }
        ahead.ask();
        for n in 0..N {
            if n < run.whole {
                step::<V, T, N, R, C, false>(&mut accumulators, n, &a, &b, offset + n * V::LANES, run);
            } else if n == run.whole && run.part > 0 {
                step::<V, T, N, R, C, true>(&mut accumulators, n, &a, &b, offset + n * V::LANES, run);
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

/// As [`products`] with the 32 lanes in four registers: half of them in a first sweep over the rows, the others in a second.
/// So there are accumulators for twice as many products, which share each load.
#[inline(always)]
unsafe fn products_by_halves<V: Vector, const R: usize, const C: usize>(
    a: [*const f64; R],
    b: [*const f64; C],
    run: Run<V>,
    ahead: &Ahead,
) -> [[V; C]; R] {
    // SAFETY: passed on to the caller.
    unsafe {
        let mut merged = sweep::<V, R, C, 0>(&a, &b, run, ahead);
        let odd = sweep::<V, R, C, 1>(&a, &b, run, ahead);
        for r in 0..R {
            for c in 0..C {
                merged[r][c] = Sum::merge(merged[r][c], odd[r][c]);
            }
        }
        merged
    }
}

/// Registers `FIRST` and `FIRST + 2` of four, merged.
#[inline(always)]
unsafe fn sweep<V: Vector, const R: usize, const C: usize, const FIRST: usize>(
    a: &[*const f64; R],
    b: &[*const f64; C],
    run: Run<V>,
    ahead: &Ahead,
) -> [[V; C]; R] {
    // SAFETY: the caller's run covers each row; the part is masked.
    unsafe {
        let mut accumulators: Accumulators<V, 2, R, C> = [[[V::splat(0.0); 2]; C]; R];
        let mut offset = FIRST * V::LANES;
        for _ in 0..run.rounds {
            ahead.ask();
            for half in 0..2 {
                let offset = offset + 2 * half * V::LANES;
                step::<V, f64, 2, R, C, false>(&mut accumulators, half, a, b, offset, run);
            }
            offset += 4 * V::LANES;
        }
        ahead.ask();
        for half in 0..2 {
            let (register, offset) = (FIRST + 2 * half, offset + 2 * half * V::LANES);
            if register < run.whole {
                step::<V, f64, 2, R, C, false>(&mut accumulators, half, a, b, offset, run);
            } else if register == run.whole && run.part > 0 {
                step::<V, f64, 2, R, C, true>(&mut accumulators, half, a, b, offset, run);
            }
        }
        let mut merged = [[V::splat(0.0); C]; R];
        for r in 0..R {
            for c in 0..C {
                merged[r][c] = merge_registers::<V, Sum, 2>(accumulators[r][c]);
            }
        }
        merged
    }
}

/// Takes register `n` of every row, at `offset`, into the accumulators.
///
/// Masked lanes keep their accumulator: adding `+0.0` would lose the sign of a tiny product that underflowed to `-0.0`.
#[inline(always)]
unsafe fn step<V: Vector, T: Element, const N: usize, const R: usize, const C: usize, const MASKED: bool>(
    accumulators: &mut Accumulators<V, N, R, C>,
    n: usize,
    a: &[*const T; R],
    b: &[*const f64; C],
    offset: usize,
    run: Run<V>,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        let mut x = [V::splat(0.0); R];
        for r in 0..R {
            x[r] = load_part::<V, T, MASKED>(a[r].add(offset), run);
        }
        for c in 0..C {
            let y = load_part::<V, f64, MASKED>(b[c].add(offset), run);
            for r in 0..R {
                let old = accumulators[r][c][n];
                let new = V::mul_add(x[r], y, old);
                accumulators[r][c][n] = if MASKED { V::select(run.mask, new, old) } else { new };
            }
        }
    }
}

/// Loads a register, or its chosen lanes.
#[inline(always)]
unsafe fn load_part<V: Vector, T: Element, const MASKED: bool>(values: *const T, run: Run<V>) -> V {
    // SAFETY: passed on to the caller.
    unsafe { if MASKED { T::load_first(values, run.part, run.mask) } else { T::load(values) } }
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

    /// These rows from one of them on.
    #[inline(always)]
    pub(super) fn from(self, row: usize) -> Rows {
        Rows { values: self.pointer(row), ..self }
    }

    /// These rows from one of their values on.
    #[inline(always)]
    pub(super) fn behind(self, values: usize) -> Rows {
        Rows { values: self.values.wrapping_add(values), ..self }
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
            return dot_products::<V, N>((rows, len, 1), a, b, out, out_row);
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
            let [[register]] = products::<V, f64, N, 1, 1>(a.pointers(row), b.pointers(row), run, &Ahead::none());
            pending.push::<Sum>(register, out.add(row * out_row));
        }
        pending.flush::<Sum>();
    }
}

/// Rule 3 for each row of `a`, one behind the other and of values narrower than doubles, with the vector `b`: nothing is
/// written in between, and memory gives as many values as it has bytes for.
#[inline(always)]
pub(crate) unsafe fn narrow_dot_product<V: Vector, T: Element, const N: usize>(
    rows: usize,
    len: usize,
    a: *const T,
    b: *const f64,
    out: *mut f64,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        let run = Run::new::<N>(len);
        let mut pending = Pending::new(|value| value);
        for row in 0..rows {
            let a = a.add(row * len);
            let ahead = Ahead::along(a, N * V::LANES);
            let [[register]] = products::<V, T, N, 1, 1>([a], [b], run, &ahead);
            pending.push::<Sum>(register, out.add(row));
        }
        pending.flush::<Sum>();
    }
}

/// Every row of `a` times a matrix of `k` columns (rule 6): `out[r * out_row + c]`. The matrix is given as it is if
/// its rows are added up, else by its transpose, both without gaps.
#[inline(always)]
pub(crate) unsafe fn vect_mat_mult<V: Vector, const N: usize>(
    (rows, len, k): (usize, usize, usize),
    a: Rows,
    factor: *const f64,
    out: *mut f64,
    out_row: usize,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        if adds_up_rows(k) {
            wide_mat_mult::<V>((rows, len, k), a, Rows::new(factor, k), out, out_row);
        } else {
            dot_products::<V, N>((rows, len, k), a, Rows::new(factor, len), out, out_row);
        }
    }
}

/// The products of every row of `a` with the `k` rows of `bt`: `out[r * out_row + c]`.
#[inline(always)]
unsafe fn dot_products<V: Vector, const N: usize>(
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
        if k == 2 && short_products((rows, len), a, bt, out, out_row) {
            return;
        }
        let run = Run::new::<N>(len);
        // The shapes fill half the registers of AVX-512; narrower sets have room for one product.
        let (rows_at_once, columns_at_once) = match (V::LANES, k) {
            (8, 1) => (4, 1),
            (8, _) => (2, 2),
            _ => (1, 1),
        };
        let groups = rows.div_ceil(rows_at_once) * k.div_ceil(columns_at_once);
        let ahead = Ahead::new(a, rows, Half::First, groups * (run.rounds + 1));
        let mut row = 0;
        let mut pending = Pending::new(|value| value);
        while V::LANES == 8 && k == 1 && row + 8 <= rows {
            let upper = products::<V, f64, N, 4, 1>(a.pointers(row), bt.pointers(0), run, &ahead);
            let lower = products::<V, f64, N, 4, 1>(a.pointers(row + 4), bt.pointers(0), run, &ahead);
            store_merged::<V, 1>([upper, lower].as_flattened().as_flattened(), out.add(row * out_row), out_row);
            row += 8;
        }
        while V::LANES == 8 && k == 2 && row + 4 <= rows {
            let products = products_by_halves::<V, 4, 2>(a.pointers(row), bt.pointers(0), run, &ahead);
            store_merged::<V, 2>(products.as_flattened(), out.add(row * out_row), out_row);
            row += 4;
        }
        while V::LANES == 8 && k == 1 && row + 4 <= rows {
            push_products::<V, N, 4, 1, _>(&mut pending, a, bt, (row, 0), run, &ahead, out, out_row);
            row += 4;
        }
        while V::LANES == 8 && row + 2 <= rows {
            let mut column = 0;
            while column + 4 <= k {
                let [first, second] = products_by_halves::<V, 2, 4>(a.pointers(row), bt.pointers(column), run, &ahead);
                store_merged::<V, 4>([first, second].as_flattened(), out.add(row * out_row + column), out_row);
                column += 4;
            }
            if column + 2 <= k {
                push_products::<V, N, 2, 2, _>(&mut pending, a, bt, (row, column), run, &ahead, out, out_row);
                column += 2;
            }
            if column < k {
                push_products::<V, N, 2, 1, _>(&mut pending, a, bt, (row, column), run, &ahead, out, out_row);
            }
            row += 2;
        }
        while row < rows {
            for column in 0..k {
                push_products::<V, N, 1, 1, _>(&mut pending, a, bt, (row, column), run, &ahead, out, out_row);
            }
            row += 1;
        }
        pending.flush::<Sum>();
    }
}

/// Merges eight products, rows of `C` columns, at once, so that none has to wait.
#[inline(always)]
unsafe fn store_merged<V: Vector, const C: usize>(products: &[V], out: *mut f64, out_row: usize) {
    // SAFETY: passed on to the caller.
    unsafe {
        let mut registers = [V::splat(0.0); 8];
        registers.copy_from_slice(products);
        let merged = V::reduce_eight::<Sum>(registers);
        if C == 1 && out_row == 1 {
            return V::store_block(merged, out, 8);
        }
        for (r, products) in merged.as_chunks::<C>().0.iter().enumerate() {
            std::ptr::copy_nonoverlapping(products.as_ptr(), out.add(r * out_row), C);
        }
    }
}

/// [`dot_products`] for two columns and rows of at most 16 values; says whether they are.
#[inline(always)]
unsafe fn short_products((rows, len): (usize, usize), a: Rows, bt: Rows, out: *mut f64, out_row: usize) -> bool {
    let ahead = &Ahead::new(a, rows, Half::First, rows.div_ceil(ROWS_PER_SHARE));
    macro_rules! of_length {
        ($($length:literal)*) => {
            match len {
                // SAFETY: passed on to the caller.
                $($length => unsafe { ShortProducts::<$length> { rows, a, bt, ahead, out, out_row }.run() },)*
                _ => return false,
            }
        };
    }
    of_length!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
    true
}

/// [`dot_products`] for one column and rows in `T` registers.
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
#[allow(clippy::too_many_arguments, reason = "the arguments of the primitive")]
unsafe fn push_products<V: Vector, const N: usize, const R: usize, const C: usize, F: Fn(f64) -> f64>(
    pending: &mut Pending<V, F>,
    a: Rows,
    bt: Rows,
    (row, column): (usize, usize),
    run: Run<V>,
    ahead: &Ahead,
    out: *mut f64,
    out_row: usize,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        let registers = products::<V, f64, N, R, C>(a.pointers(row), bt.pointers(column), run, ahead);
        for r in 0..R {
            for c in 0..C {
                pending.push::<Sum>(registers[r][c], out.add((row + r) * out_row + column + c));
            }
        }
    }
}
