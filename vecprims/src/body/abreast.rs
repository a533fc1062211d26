//! Products of short rows with several columns: lanes are columns, so that they never merge. Each value of a row meets a
//! register of factors, of which as many as there is room for stay in registers.
//!
//! As in [`super::upright`], the tree of rule 3 runs over registers, lanes that no row reaches are left out, and one addition
//! of `+0.0` stands for them. It also makes up for products being multiplications here: accumulators that start at `+0.0`
//! differ from these in the sign of zeros alone.

use super::ahead::Ahead;
use super::product::Rows;
use super::reduce::Sum;
use super::upright::merged;
use crate::vector::{BLOCK, Vector};

/// Rows between two shares of what is asked for ahead.
pub(crate) const ROWS_PER_SHARE: usize = 8;

/// The products of rows of `L` values with several columns.
pub(crate) struct ShortProducts<'a, const L: usize> {
    pub(crate) rows: usize,
    pub(crate) a: Rows,
    /// A row for each column.
    pub(crate) bt: Rows,
    pub(crate) ahead: &'a Ahead,
    pub(crate) out: *mut f64,
    pub(crate) out_row: usize,
}

impl<const L: usize> ShortProducts<'_, L> {
    /// `out[r * out_row + c]` for `k` columns.
    #[inline(always)]
    pub(crate) unsafe fn run<V: Vector>(&self, k: usize) {
        let mut first = 0;
        while first < k {
            let columns = (k - first).min(V::LANES);
            // SAFETY: passed on to the caller; each instruction set has those with narrower registers.
            unsafe { self.fitting::<V>(first, columns) };
            first += columns;
        }
    }

    /// So many columns from the first on, in the narrowest register that holds them: it leaves more of the machine to what
    /// else is under way, and a whole one is stored without a mask.
    #[inline(always)]
    unsafe fn fitting<V: Vector>(&self, first: usize, columns: usize) {
        // SAFETY: passed on to the caller.
        unsafe {
            if columns == V::LANES {
                self.columns::<V, true>(first, columns);
            } else if columns > V::Narrow::LANES {
                self.columns::<V, false>(first, columns);
            } else if columns == V::Narrow::LANES {
                self.columns::<V::Narrow, true>(first, columns);
            } else if columns == <V::Narrow as Vector>::Narrow::LANES {
                self.columns::<<V::Narrow as Vector>::Narrow, true>(first, columns);
            } else {
                self.columns::<V::Narrow, false>(first, columns);
            }
        }
    }

    /// So many columns from the first on, all lanes of a register if it is `WHOLE`.
    #[inline(always)]
    unsafe fn columns<V: Vector, const WHOLE: bool>(&self, first: usize, columns: usize) {
        let mut left = self.rows;
        // SAFETY: passed on to the caller; masks end with the columns.
        unsafe {
            let mask = V::first(columns);
            let mut factors = [V::splat(0.0); L];
            for (i, factor) in factors.iter_mut().enumerate() {
                let mut lanes = [0.0; BLOCK];
                for (c, lane) in lanes.iter_mut().enumerate().take(columns) {
                    *lane = *self.bt.pointer(first + c).add(i);
                }
                *factor = V::load(lanes.as_ptr());
            }
            let (mut row, mut out) = (self.a.values, self.out.wrapping_add(first));
            while left > 0 {
                // Only the first columns find memory idle.
                if first == 0 {
                    self.ahead.ask();
                }
                let rows = left.min(ROWS_PER_SHARE);
                for _ in 0..rows {
                    let mut cells = factors;
                    for (i, cell) in cells.iter_mut().enumerate() {
                        *cell = V::mul(V::splat(*row.add(i)), *cell);
                    }
                    let product = V::add(merged::<V, Sum, L>(cells), V::splat(0.0));
                    if WHOLE {
                        V::store(product, out);
                    } else {
                        V::store_first(product, out, mask);
                    }
                    (row, out) = (row.wrapping_add(self.a.row), out.wrapping_add(self.out_row));
                }
                left -= rows;
            }
        }
    }
}
