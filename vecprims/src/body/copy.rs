//! Copies of rows, and one value per row repeated along it.
//!
//! Rows of few values are written to a gapless tile by whole registers: what a register writes beyond its row, the next
//! rows overwrite. Only the last rows need masks.

use super::column::{masks, prefetch_distance};
use super::product::Rows;
use crate::vector::Vector;

/// Where the registers of a row come from.
trait RowSource<V: Vector> {
    /// Register `t` of a row; the lanes outside of the mask may hold anything.
    ///
    /// # Safety
    /// The contract of [`crate::body`].
    unsafe fn register(&self, row: usize, t: usize, mask: V::Mask) -> V;
}

/// Cells of a tile. Masked loads teach the hardware prefetchers nothing, so later rows are asked for.
struct Cells {
    rows: Rows,
    ahead: usize,
}

impl<V: Vector> RowSource<V> for Cells {
    #[inline(always)]
    unsafe fn register(&self, row: usize, t: usize, mask: V::Mask) -> V {
        let values = self.rows.pointer(row).wrapping_add(t * V::LANES);
        // SAFETY: passed on to the caller; the mask ends with the row.
        unsafe {
            V::prefetch(values.wrapping_add(self.ahead));
            V::load_first(values, mask)
        }
    }
}

/// One value for each row.
struct Repeated(Rows);

impl<V: Vector> RowSource<V> for Repeated {
    #[inline(always)]
    unsafe fn register(&self, row: usize, _: usize, _: V::Mask) -> V {
        // SAFETY: passed on to the caller.
        unsafe { V::splat(*self.0.pointer(row)) }
    }
}

/// Writes a gapless tile of rows in `T` registers.
#[inline(always)]
unsafe fn write_rows<V: Vector, S: RowSource<V>, const T: usize>(rows: usize, len: usize, source: &S, out: *mut f64) {
    // SAFETY: registers stay within the tile, in its last rows by masks.
    unsafe {
        let masks = masks::<V, T>(len);
        let mut row = 0;
        while row * len + T * V::LANES <= rows * len {
            for t in 0..T {
                V::store(source.register(row, t, masks[t]), out.add(row * len + t * V::LANES));
            }
            row += 1;
        }
        while row < rows {
            for t in 0..T {
                V::store_first(source.register(row, t, masks[t]), out.wrapping_add(row * len + t * V::LANES), masks[t]);
            }
            row += 1;
        }
    }
}

/// Writes a gapless tile of narrow rows, of at most four registers; says whether the rows were so narrow.
#[inline(always)]
unsafe fn write_narrow<V: Vector, S>(rows: usize, len: usize, source: &S, out: *mut f64) -> bool
where
    S: RowSource<V> + RowSource<V::Narrow>,
{
    // SAFETY: passed on to the caller; each instruction set has those with narrower registers.
    unsafe {
        if len <= V::Narrow::LANES {
            write_rows::<V::Narrow, S, 1>(rows, len, source, out);
            return true;
        }
        match len.div_ceil(V::LANES) {
            1 => write_rows::<V, S, 1>(rows, len, source, out),
            2 => write_rows::<V, S, 2>(rows, len, source, out),
            3 => write_rows::<V, S, 3>(rows, len, source, out),
            4 => write_rows::<V, S, 4>(rows, len, source, out),
            _ => return false,
        }
    }
    true
}

/// Fills a gapless tile with one row for all: what is there is doubled, so that hardly any store is as short as the row.
#[inline(always)]
unsafe fn repeat_row(rows: usize, len: usize, row: *const f64, out: *mut f64) {
    let cells = rows * len;
    let mut filled = len.min(cells);
    // SAFETY: the caller's `row` has `len` cells, and its `out` `rows * len`.
    unsafe {
        std::ptr::copy_nonoverlapping(row, out, filled);
        while filled < cells {
            let next = filled.min(cells - filled);
            std::ptr::copy_nonoverlapping(out, out.add(filled), next);
            filled += next;
        }
    }
}

/// `out[r, i] = a[r, i]`.
#[inline(always)]
pub(crate) unsafe fn copy<V: Vector>(rows: usize, len: usize, a: Rows, out: *mut f64, out_row: usize) {
    // SAFETY: passed on to the caller.
    unsafe {
        if out_row == len && a.row == 0 {
            return repeat_row(rows, len, a.values, out);
        }
        if out_row == len && write_narrow::<V, _>(rows, len, &Cells { rows: a, ahead: prefetch_distance(a.row) }, out) {
            return;
        }
        if len == 1 {
            // A call to copy each value would take longer than the value.
            for row in 0..rows {
                *out.add(row * out_row) = *a.pointer(row);
            }
            return;
        }
        for row in 0..rows {
            std::ptr::copy_nonoverlapping(a.pointer(row), out.wrapping_add(row * out_row), len);
        }
    }
}

/// `out[r, i] = a[r]`.
#[inline(always)]
pub(crate) unsafe fn spread<V: Vector>(rows: usize, len: usize, a: Rows, out: *mut f64, out_row: usize) {
    // SAFETY: passed on to the caller.
    unsafe {
        if out_row == len && write_narrow::<V, _>(rows, len, &Repeated(a), out) {
            return;
        }
        for row in 0..rows {
            let value = *a.pointer(row);
            for column in 0..len {
                *out.add(row * out_row + column) = value;
            }
        }
    }
}

/// Copies each row past the caches: the lines of `out` are written as a whole, and so need not be read before. Rows
/// without gaps are one run, so that narrow ones share their lines.
#[inline(always)]
pub(crate) unsafe fn stream<V: Vector>(rows: usize, len: usize, a: Rows, out: *mut f64, out_row: usize) {
    let is_one_run = out_row == len && a.row == len;
    let (rows, len) = if is_one_run { (1, rows * len) } else { (rows, len) };
    for row in 0..rows {
        let (a, out) = (a.pointer(row), out.wrapping_add(row * out_row));
        let before = out.align_offset(V::LANES * size_of::<f64>()).min(len);
        let whole = (len - before) / V::LANES * V::LANES;
        // SAFETY: passed on to the caller; from `before` on `out` is aligned to registers.
        unsafe {
            std::ptr::copy_nonoverlapping(a, out, before);
            for start in (before..before + whole).step_by(V::LANES) {
                V::stream(V::load(a.add(start)), out.add(start));
            }
            let done = before + whole;
            std::ptr::copy_nonoverlapping(a.add(done), out.add(done), len - done);
        }
    }
    // SAFETY: the caller runs on the instruction set of `V`.
    unsafe { V::end_stream() };
}
