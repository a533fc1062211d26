//! Values of rows, and of columns, for each position of sparse rows, and products of two values of each position.

use super::product::Rows;
use super::run_product::Beside;
use super::sparse::{CsrRows, RowProducts};
use crate::vector::Vector;

/// `out[p] = a[r]` for every position `p` of row `r`.
///
/// Registers are written whole: what one writes beyond its row, the next rows overwrite.
#[inline(always)]
pub(crate) unsafe fn spread<V: Vector>(rows: CsrRows, a: Rows, out: *mut f64) {
    // SAFETY: passed on to the caller; registers stay within the positions, the last one by a mask.
    unsafe {
        let count = rows.count();
        for row in 0..rows.rows {
            let value = V::splat(*a.pointer(row));
            let positions = rows.positions(row);
            for start in positions.step_by(V::LANES) {
                if start + V::LANES <= count {
                    V::store(value, out.add(start));
                } else {
                    V::store_first(value, out.add(start), V::first(count - start));
                }
            }
        }
    }
}

/// `out[p] = b[r, columns[p]]` for every position `p` of row `r`. Where all rows of `b` are one, so are the positions.
#[inline(always)]
pub(crate) unsafe fn gather<V: Vector>(rows: CsrRows, b: Rows, out: *mut f64) {
    // SAFETY: passed on to the caller.
    unsafe {
        if b.row == 0 {
            return gather_run::<V>(b.values, rows.columns, rows.count(), out, |register| register);
        }
        for row in 0..rows.rows {
            let positions = rows.positions(row);
            let columns = rows.columns.add(positions.start);
            gather_run::<V>(b.pointer(row), columns, positions.len(), out.add(positions.start), |register| register);
        }
    }
}

/// `out[i] = map(values[columns[i]])`.
#[inline(always)]
pub(super) unsafe fn gather_run<V: Vector>(
    values: *const f64,
    columns: *const u32,
    len: usize,
    out: *mut f64,
    map: impl Fn(V) -> V,
) {
    // SAFETY: passed on to the caller; the last register is masked.
    unsafe {
        let whole = len - len % V::LANES;
        for start in (0..whole).step_by(V::LANES) {
            V::store(map(V::gather(values, columns.add(start))), out.add(start));
        }
        if whole < len {
            let rest = len - whole;
            let register = map(V::gather_first(values, columns.add(whole), rest));
            V::store_first(register, out.add(whole), V::first(rest));
        }
    }
}

/// `out[r, columns[p]] = a[p]` for every position `p` of row `r`, and `out[r, j] = b[r, 0]` in all other columns.
#[inline(always)]
pub(crate) unsafe fn scatter<V: Vector>(a: CsrRows, cols: usize, b: Rows, out: *mut f64, out_row: usize) {
    // SAFETY: passed on to the caller; registers stay within the columns, the last one by a mask.
    unsafe {
        for row in 0..a.rows {
            let out = out.add(row * out_row);
            fill::<V>(*b.pointer(row), cols, out);
            for position in a.positions(row) {
                *out.add(*a.columns.add(position) as usize) = *a.values.add(position);
            }
        }
    }
}

/// `out[i] = value`.
#[inline(always)]
unsafe fn fill<V: Vector>(value: f64, len: usize, out: *mut f64) {
    // SAFETY: passed on to the caller; the last register is masked.
    unsafe {
        let (value, whole) = (V::splat(value), len - len % V::LANES);
        for start in (0..whole).step_by(V::LANES) {
            V::store(value, out.add(start));
        }
        if whole < len {
            V::store_first(value, out.add(whole), V::first(len - whole));
        }
    }
}

/// The largest of some columns; 0 of none. The least instruction set of this architecture has no maximum of such numbers.
#[inline(always)]
pub(crate) unsafe fn largest(count: usize, columns: *const u32, out: *mut u32) {
    // SAFETY: passed on to the caller.
    unsafe { *out = std::slice::from_raw_parts(columns, count).iter().fold(0, |largest, &column| largest.max(column)) }
}

/// How many columns are not above the one before.
#[inline(always)]
pub(crate) unsafe fn descents(count: usize, columns: *const u32) -> usize {
    /// Columns that are counted in 32 bits, of which a register has twice as many.
    const COUNTED_TOGETHER: usize = 1 << 20;
    // SAFETY: passed on to the caller.
    let columns = unsafe { std::slice::from_raw_parts(columns, count) };
    let after = columns.get(1..).unwrap_or_default();
    let parts = columns.chunks(COUNTED_TOGETHER).zip(after.chunks(COUNTED_TOGETHER));
    let count = |(before, after): (&[u32], &[u32])| -> u32 {
        before.iter().zip(after).map(|(before, after)| u32::from(before >= after)).sum()
    };
    parts.map(|part| count(part) as usize).sum()
}

/// Writes the cells that are not zero and their columns, one behind the other, as long as there is room; how many these are.
///
/// Nobody foresees which cells are zero: registers are written whole, and what is left out is overwritten.
#[inline(always)]
pub(crate) unsafe fn compress<V: Vector>(
    len: usize,
    cells: *const f64,
    room: usize,
    columns: *mut u32,
    values: *mut f64,
) -> usize {
    /// Registers that are left out together: few of sparse cells are not zero.
    const TOGETHER: usize = 4;
    let (mut column, mut kept) = (0, 0);
    // SAFETY: passed on to the caller; registers stay within the cells and the room.
    unsafe {
        while column + TOGETHER * V::LANES <= len && kept + TOGETHER * V::LANES <= room {
            let registers: [V; TOGETHER] = std::array::from_fn(|i| V::load(cells.add(column + i * V::LANES)));
            let bits = registers.map(|register| V::nonzeros(register));
            if bits.iter().fold(0, |all, bits| all | bits) != 0 {
                for i in 0..TOGETHER {
                    let first = (column + i * V::LANES) as u32;
                    V::compress(registers[i], bits[i], first, columns.add(kept), values.add(kept));
                    kept += bits[i].count_ones() as usize;
                }
            }
            column += TOGETHER * V::LANES;
        }
        while column + V::LANES <= len && kept + V::LANES <= room {
            let register = V::load(cells.add(column));
            let bits = V::nonzeros(register);
            V::compress(register, bits, column as u32, columns.add(kept), values.add(kept));
            kept += bits.count_ones() as usize;
            column += V::LANES;
        }
        while column < len && kept < room {
            if column + V::LANES <= len && V::nonzeros(V::load(cells.add(column))) == 0 {
                column += V::LANES;
                continue;
            }
            let value = *cells.add(column);
            (*columns.add(kept), *values.add(kept)) = (column as u32, value);
            kept += usize::from(value != 0.0);
            column += 1;
        }
    }
    kept
}

/// A bit for each value that is not zero (NaN is not), the first one's last, in words of 64; what is left of the last word is
/// zero.
#[inline(always)]
pub(crate) unsafe fn nonzero_bits<V: Vector>(count: usize, values: *const f64, words: *mut u64) {
    // SAFETY: passed on to the caller; registers stay within the values.
    unsafe {
        for word in 0..count.div_ceil(64) {
            let (start, mut bits) = (64 * word, 0);
            let here = (count - start).min(64);
            let whole = here / V::LANES * V::LANES;
            for lane in (0..whole).step_by(V::LANES) {
                bits |= u64::from(V::nonzeros(V::load(values.add(start + lane)))) << lane;
            }
            if whole < here {
                let rest = V::load_first(values.add(start + whole), V::first(here - whole));
                bits |= u64::from(V::nonzeros(rest)) << whole;
            }
            *words.add(word) = bits;
        }
    }
}

/// Copies the positions whose values are not zero, their columns and values, one behind the other, as long as there is room; how
/// many these are.
///
/// Nobody foresees which values are zero: registers are written whole, and what is left out is overwritten.
#[inline(always)]
pub(crate) unsafe fn keep_nonzeros<V: Vector>(
    count: usize,
    columns: *const u32,
    values: *const f64,
    room: usize,
    columns_out: *mut u32,
    values_out: *mut f64,
) -> usize {
    let (mut position, mut kept) = (0, 0);
    // SAFETY: passed on to the caller; registers stay within the positions and the room.
    unsafe {
        while position + V::LANES <= count && kept + V::LANES <= room {
            let register = V::load(values.add(position));
            let bits = V::nonzeros(register);
            V::compress_beside(register, bits, columns.add(position), columns_out.add(kept), values_out.add(kept));
            kept += bits.count_ones() as usize;
            position += V::LANES;
        }
        while position < count && kept < room {
            if position + V::LANES <= count && V::nonzeros(V::load(values.add(position))) == 0 {
                position += V::LANES;
                continue;
            }
            let value = *values.add(position);
            (*columns_out.add(kept), *values_out.add(kept)) = (*columns.add(position), value);
            kept += usize::from(value != 0.0);
            position += 1;
        }
    }
    kept
}

/// The products of two values of each position, added up over every row (rule 3).
#[inline(always)]
pub(crate) unsafe fn dot_product<V: Vector, const N: usize>(a: CsrRows, b: *const f64, out: *mut f64, out_row: usize) {
    let factors = |_, start| Beside(b.wrapping_add(start));
    // SAFETY: passed on to the caller.
    unsafe { RowProducts { a, factors, out, out_row }.store_all::<V, _, N>(|| {}) }
}
