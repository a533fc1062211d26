//! Products of short rows with a matrix of few columns (rule 6), which stays in registers: no load serves a product but that of
//! the row's value. A row's chain is code without a loop, and waits for itself; those of the rows behind it go on meanwhile.

use super::ahead::{Ahead, Half};
use super::column::{load, store};
use super::product::Rows;
use crate::vector::Vector;

/// Rows between two shares of what is asked for ahead.
const ROWS_PER_SHARE: usize = 8;

/// The longest rows whose factors fit into the registers of an instruction set, of so many lanes at most: AVX-512 has
/// twice as many.
const fn longest_row(lanes: usize) -> usize {
    if lanes == 8 { 24 } else { 12 }
}

/// The product of `rows` rows of `a` (`len` values) with `b`, of `k` columns; says whether rows are short enough, and columns
/// few enough for one register.
#[inline(always)]
pub(crate) unsafe fn resident_mat_mult<V: Vector>(
    extent: (usize, usize, usize),
    a: Rows,
    b: Rows,
    out: *mut f64,
    out_row: usize,
) -> bool {
    let (_, len, k) = extent;
    if len > longest_row(V::LANES) || k > V::LANES {
        return false;
    }
    // SAFETY: passed on to the caller; each instruction set has those with narrower registers.
    unsafe {
        if k <= V::Narrow::LANES {
            by_length::<V::Narrow>(extent, a, b, out, out_row)
        } else {
            by_length::<V>(extent, a, b, out, out_row)
        }
    }
}

/// [`resident_mat_mult`] in registers of this type.
#[inline(always)]
unsafe fn by_length<V: Vector>(
    (rows, len, k): (usize, usize, usize),
    a: Rows,
    b: Rows,
    out: *mut f64,
    out_row: usize,
) -> bool {
    let ahead = &Ahead::new(a, rows, Half::First, rows.div_ceil(ROWS_PER_SHARE));
    let product = Product { rows, a, b, k, out, out_row, ahead };
    macro_rules! of_length {
        ($($length:literal)*) => {
            match len {
                // SAFETY: passed on to the caller.
                $($length if k == V::LANES => unsafe { product.run::<V, $length, false>() },)*
                // SAFETY: passed on to the caller.
                $($length => unsafe { product.run::<V, $length, true>() },)*
                _ => return false,
            }
        };
    }
    of_length!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24);
    true
}

struct Product<'a> {
    rows: usize,
    a: Rows,
    b: Rows,
    k: usize,
    out: *mut f64,
    out_row: usize,
    ahead: &'a Ahead,
}

impl Product<'_> {
    /// Rows of `L` values; with `MASKED` the columns do not fill a register.
    #[inline(always)]
    unsafe fn run<V: Vector, const L: usize, const MASKED: bool>(&self) {
        // SAFETY: passed on to the caller.
        unsafe {
            let mask = V::first(self.k);
            let mut factors = [V::splat(0.0); L];
            for i in 0..L {
                factors[i] = load::<V, 1, MASKED>(self.b.pointer(i), 0, mask);
            }
            for row in 0..self.rows {
                if row.is_multiple_of(ROWS_PER_SHARE) {
                    self.ahead.ask();
                }
                let values = self.a.pointer(row);
                let mut sum = V::splat(0.0);
                for i in 0..L {
                    sum = V::mul_add(V::splat(*values.add(i)), factors[i], sum);
                }
                store::<V, 1, MASKED>(sum, self.out.wrapping_add(row * self.out_row), 0, mask);
            }
        }
    }
}
