//! Small dense matrix products (rule 6): every cell is one chain of fused multiply-adds, so that a block of cells stays in
//! registers whatever the instruction set.

use super::column::{ChunkBody, for_each_chunk, for_each_chunk_of, load, store};
use super::product::Rows;
use crate::panels::PANEL;
use crate::vector::Vector;

/// `rows` x `cols` cells of the product of `a` (rows of `inner` values) with a matrix in panels.
#[inline(always)]
pub(crate) unsafe fn tile_mat_mult<V: Vector>(
    (rows, cols, inner): (usize, usize, usize),
    a: Rows,
    panels: *const f64,
    out: *mut f64,
    out_row: usize,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        // AVX-512 has registers for eight rows of three; narrower sets for six of two.
        if V::LANES == 8 {
            blocks::<V, 8, 3>((rows, cols, inner), a, panels, out, out_row);
        } else {
            blocks::<V, 6, 2>((rows, cols, inner), a, panels, out, out_row);
        }
    }
}

/// The product in blocks of `R` rows and `J` registers across.
#[inline(always)]
unsafe fn blocks<V: Vector, const R: usize, const J: usize>(
    (rows, cols, inner): (usize, usize, usize),
    a: Rows,
    panels: *const f64,
    out: *mut f64,
    out_row: usize,
) {
    let mut first = 0;
    while first < cols {
        let panel = panels.wrapping_add(first / PANEL * PANEL * inner + first % PANEL);
        let block = Block { a, inner, panel, width: (cols - first).min(J * V::LANES) };
        let out = out.wrapping_add(first);
        let mut row = 0;
        // SAFETY: passed on to the caller.
        unsafe {
            while row + R <= rows {
                block.cells::<V, R, J>(row, out, out_row);
                row += R;
            }
            while row + 4 <= rows {
                block.cells::<V, 4, J>(row, out, out_row);
                row += 4;
            }
            while row < rows {
                block.cells::<V, 1, J>(row, out, out_row);
                row += 1;
            }
        }
        first += J * V::LANES;
    }
}

/// Columns of the product that fill some registers, the last perhaps in part.
#[derive(Clone, Copy)]
struct Block {
    a: Rows,
    inner: usize,
    panel: *const f64,
    width: usize,
}

impl Block {
    /// Computes `R` rows from `row` on, of `J` registers.
    #[inline(always)]
    unsafe fn cells<V: Vector, const R: usize, const J: usize>(self, row: usize, out: *mut f64, out_row: usize) {
        let rows: [*const f64; R] = self.a.pointers(row);
        // SAFETY: passed on to the caller; panels are full, and the part of a register is masked where it is stored.
        unsafe {
            let mut cells = [[V::splat(0.0); J]; R];
            for k in 0..self.inner {
                let values = self.panel.add(k * PANEL);
                let mut right = [V::splat(0.0); J];
                for j in 0..J {
                    right[j] = V::load(values.add(j * V::LANES));
                }
                for r in 0..R {
                    let left = V::splat(*rows[r].add(k));
                    for j in 0..J {
                        cells[r][j] = V::mul_add(left, right[j], cells[r][j]);
                    }
                }
            }
            for r in 0..R {
                let out = out.wrapping_add((row + r) * out_row);
                for j in 0..J {
                    let out = out.wrapping_add(j * V::LANES);
                    let width = self.width.saturating_sub(j * V::LANES);
                    if width >= V::LANES {
                        V::store(cells[r][j], out);
                    } else if width > 0 {
                        V::store_first(cells[r][j], out, V::first(width));
                    }
                }
            }
        }
    }
}

/// `R` rows times a matrix, added to what the output holds: a chunk of these sums stays in registers while all rows of the
/// matrix pass by.
struct RowsTimesMatrix<const R: usize> {
    len: usize,
    a: Rows,
    b: Rows,
    out: *mut f64,
    out_row: usize,
}

impl<V: Vector, const R: usize> ChunkBody<V> for RowsTimesMatrix<R> {
    #[inline(always)]
    unsafe fn run<const I: usize, const MASKED: bool>(&self, start: usize, masks: [V::Mask; I]) {
        let rows: [*const f64; R] = self.a.pointers(0);
        let out = |r: usize| self.out.wrapping_add(r * self.out_row + start);
        // SAFETY: passed on to the caller.
        unsafe {
            let mut sums = [[V::splat(0.0); I]; R];
            for r in 0..R {
                for i in 0..I {
                    sums[r][i] = load::<V, I, MASKED>(out(r), i, masks[i]);
                }
            }
            for k in 0..self.len {
                let mut right = [V::splat(0.0); I];
                for i in 0..I {
                    right[i] = load::<V, I, MASKED>(self.b.pointer(k).wrapping_add(start), i, masks[i]);
                }
                for r in 0..R {
                    let left = V::splat(*rows[r].add(k));
                    for i in 0..I {
                        sums[r][i] = V::mul_add(left, right[i], sums[r][i]);
                    }
                }
            }
            for r in 0..R {
                for i in 0..I {
                    store::<V, I, MASKED>(sums[r][i], out(r), i, masks[i]);
                }
            }
        }
    }
}

/// `out[r, j] = fma(a[r, i], b[i, j], out[r, j])` for each `i` of `len` in order.
#[inline(always)]
pub(crate) unsafe fn mat_mult_add<V: Vector>(
    (rows, len, k): (usize, usize, usize),
    a: Rows,
    b: Rows,
    out: *mut f64,
    out_row: usize,
) {
    let mut row = 0;
    macro_rules! take {
        ($rows:literal, $chunks:expr) => {{
            let a = Rows::new(a.pointer(row), a.row);
            let body = RowsTimesMatrix::<$rows> { len, a, b, out: out.wrapping_add(row * out_row), out_row };
            // SAFETY: passed on to the caller.
            unsafe { $chunks(k, &body) };
            row += $rows;
        }};
    }
    // AVX-512 has registers for two of eight rows, or four of four; narrower sets for two of six.
    while V::LANES == 8 && k <= 2 * V::LANES && row + 8 <= rows {
        take!(8, for_each_chunk_of::<V, _, 2>);
    }
    while V::LANES == 8 && row + 4 <= rows {
        take!(4, for_each_chunk_of::<V, _, 4>);
    }
    while V::LANES < 8 && row + 6 <= rows {
        take!(6, for_each_chunk_of::<V, _, 2>);
    }
    while V::LANES < 8 && row + 2 <= rows {
        take!(2, for_each_chunk_of::<V, _, 4>);
    }
    while row < rows {
        take!(1, for_each_chunk::<V, _>);
    }
}
