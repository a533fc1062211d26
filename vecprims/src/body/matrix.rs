//! Small dense matrix products (rule 6): every cell is one chain of fused multiply-adds, so that a block of cells stays in
//! registers whatever the instruction set.

use super::product::Rows;
use crate::panels::PANEL;
use crate::vector::Vector;

/// Registers beside each other in a block of cells.
const ACROSS: usize = 3;

/// `rows` x `cols` cells of the product of `a` (rows of `inner` values) with a matrix in panels.
#[inline(always)]
pub(crate) unsafe fn tile_mat_mult<V: Vector>(
    (rows, cols, inner): (usize, usize, usize),
    a: Rows,
    panels: *const f64,
    out: *mut f64,
    out_row: usize,
) {
    let mut first = 0;
    while first < cols {
        let panel = panels.wrapping_add(first / PANEL * PANEL * inner + first % PANEL);
        let block = Block { a, inner, panel, width: (cols - first).min(ACROSS * V::LANES) };
        let out = out.wrapping_add(first);
        let mut row = 0;
        // SAFETY: passed on to the caller.
        unsafe {
            while V::LANES == 8 && row + 8 <= rows {
                block.cells::<V, 8>(row, out, out_row);
                row += 8;
            }
            while row + 4 <= rows {
                block.cells::<V, 4>(row, out, out_row);
                row += 4;
            }
            while row < rows {
                block.cells::<V, 1>(row, out, out_row);
                row += 1;
            }
        }
        first += ACROSS * V::LANES;
    }
}

/// Columns of the product that fill `ACROSS` registers, the last perhaps in part.
#[derive(Clone, Copy)]
struct Block {
    a: Rows,
    inner: usize,
    panel: *const f64,
    width: usize,
}

impl Block {
    /// Computes `R` rows from `row` on.
    #[inline(always)]
    unsafe fn cells<V: Vector, const R: usize>(self, row: usize, out: *mut f64, out_row: usize) {
        let rows: [*const f64; R] = self.a.pointers(row);
        // SAFETY: passed on to the caller; panels are full, and the part of a register is masked where it is stored.
        unsafe {
            let mut cells = [[V::splat(0.0); ACROSS]; R];
            for k in 0..self.inner {
                let values = self.panel.add(k * PANEL);
                let mut right = [V::splat(0.0); ACROSS];
                for j in 0..ACROSS {
                    right[j] = V::load(values.add(j * V::LANES));
                }
                for r in 0..R {
                    let left = V::splat(*rows[r].add(k));
                    for j in 0..ACROSS {
                        cells[r][j] = V::mul_add(left, right[j], cells[r][j]);
                    }
                }
            }
            for r in 0..R {
                let out = out.wrapping_add((row + r) * out_row);
                for j in 0..ACROSS {
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
