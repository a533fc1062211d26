//! Products of short rows with two columns: lanes are columns, so that they never merge. Each value of a row meets a register
//! of two factors, of which as many as there is room for stay in registers.
//!
//! As in [`super::upright`], the tree of rule 3 runs over registers, lanes that no row reaches are left out, and one addition
//! of `+0.0` stands for them. It also makes up for products being multiplications here: accumulators that start at `+0.0`
//! differ from these in the sign of zeros alone.

use super::ahead::Ahead;
use super::product::Rows;
use super::reduce::Sum;
use super::upright::merged;
use crate::vector::{Portable, Vector};

/// Rows between two shares of what is asked for ahead.
pub(crate) const ROWS_PER_SHARE: usize = 8;

/// The products of rows of `L` values with two columns.
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
    /// `out[r * out_row + c]` for both columns.
    #[inline(always)]
    pub(crate) unsafe fn run(&self) {
        // SAFETY: passed on to the caller.
        unsafe {
            let mut factors = [Portable::splat(0.0); L];
            for (i, factor) in factors.iter_mut().enumerate() {
                let lanes = [*self.bt.pointer(0).add(i), *self.bt.pointer(1).add(i)];
                *factor = Portable::load(lanes.as_ptr());
            }
            for row in 0..self.rows {
                if row.is_multiple_of(ROWS_PER_SHARE) {
                    self.ahead.ask();
                }
                let values = self.a.pointer(row);
                let mut cells = factors;
                for (i, cell) in cells.iter_mut().enumerate() {
                    *cell = Portable::mul(Portable::splat(*values.add(i)), *cell);
                }
                let product = Portable::add(merged::<Portable, Sum, L>(cells), Portable::splat(0.0));
                Portable::store(product, self.out.wrapping_add(row * self.out_row));
            }
        }
    }
}
