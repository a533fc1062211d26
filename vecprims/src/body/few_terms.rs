//! Products of rows of few values with wide matrices (rule 6): the values of some rows stay in registers while all columns of the
//! matrix pass by once. Blocks of sums for longer rows begin and end too often here.

use super::product::Rows;
use crate::vector::Vector;

/// The product of `rows` rows of `a` (`len` values) with `b`, of `k` columns; says whether rows are short enough.
#[inline(always)]
pub(crate) unsafe fn few_terms_mat_mult<V: Vector>(
    (rows, len, k): (usize, usize, usize),
    a: Rows,
    b: Rows,
    out: *mut f64,
    out_row: usize,
) -> bool {
    let product = Product { rows, k, a, b, out, out_row };
    // SAFETY: passed on to the caller.
    unsafe {
        match len {
            1 => product.run::<V, 1>(),
            2 => product.run::<V, 2>(),
            3 => product.run::<V, 3>(),
            4 => product.run::<V, 4>(),
            _ => return false,
        }
    }
    true
}

struct Product {
    rows: usize,
    k: usize,
    a: Rows,
    b: Rows,
    out: *mut f64,
    out_row: usize,
}

impl Product {
    /// All rows, of `L` values: four at a time where there are registers for them.
    #[inline(always)]
    unsafe fn run<V: Vector, const L: usize>(&self) {
        let mut row = 0;
        // SAFETY: passed on to the caller.
        unsafe {
            while V::LANES == 8 && row + 4 <= self.rows {
                self.of_rows::<V, L, 4>(row);
                row += 4;
            }
            while row + 2 <= self.rows {
                self.of_rows::<V, L, 2>(row);
                row += 2;
            }
            if row < self.rows {
                self.of_rows::<V, L, 1>(row);
            }
        }
    }

    /// `R` rows from `row` on.
    #[inline(always)]
    unsafe fn of_rows<V: Vector, const L: usize, const R: usize>(&self, row: usize) {
        let rows: [*const f64; R] = self.a.pointers(row);
        // SAFETY: passed on to the caller; the part of a register is masked.
        unsafe {
            let mut left = [[V::splat(0.0); L]; R];
            for r in 0..R {
                for l in 0..L {
                    left[r][l] = V::splat(*rows[r].add(l));
                }
            }
            let whole = self.k / V::LANES * V::LANES;
            let mut start = 0;
            while start < whole {
                let mut right = [V::splat(0.0); L];
                for l in 0..L {
                    right[l] = V::load(self.b.pointer(l).wrapping_add(start));
                }
                for r in 0..R {
                    V::store(chain(left[r], right), self.place(row + r, start));
                }
                start += V::LANES;
            }
            if start < self.k {
                let mask = V::first(self.k - start);
                let mut right = [V::splat(0.0); L];
                for l in 0..L {
                    right[l] = V::load_first(self.b.pointer(l).wrapping_add(start), mask);
                }
                for r in 0..R {
                    V::store_first(chain(left[r], right), self.place(row + r, start), mask);
                }
            }
        }
    }

    /// Where the cell of a row and a column belongs.
    #[inline(always)]
    fn place(&self, row: usize, col: usize) -> *mut f64 {
        self.out.wrapping_add(row * self.out_row + col)
    }
}

/// The chain of products from `+0.0` on.
#[inline(always)]
unsafe fn chain<V: Vector, const L: usize>(left: [V; L], right: [V; L]) -> V {
    // SAFETY: the caller's instruction set is that of the registers.
    unsafe {
        let mut sum = V::splat(0.0);
        for l in 0..L {
            sum = V::mul_add(left[l], right[l], sum);
        }
        sum
    }
}
