//! Element-wise operations on tiles: the scalar reference, vectorised by the compiler over blocks of eight values.

use super::ahead::ask_behind;
use crate::family::UnaryFn;
use crate::kernel::Elementwise;
use crate::vector::{BLOCK, Vector};
use std::ptr::{read_unaligned, write_unaligned};

/// Rows of fewer values are narrow: masks take longer than their cells.
const NARROW: usize = 16;
/// Values repeated along rows at a time.
const REPEATED: usize = 512;

/// One operand of a tile.
#[derive(Clone, Copy)]
pub(crate) struct Operand {
    /// The first row.
    pub(crate) values: *const f64,
    /// Distance between rows.
    pub(crate) row: usize,
    /// One value per row instead of one per cell.
    pub(crate) broadcast: bool,
}

impl Operand {
    /// An operand with one value per cell.
    #[inline(always)]
    pub(crate) fn cells(values: *const f64, row: usize) -> Operand {
        Operand { values, row, broadcast: false }
    }

    /// An operand with one value per cell, or, where the distance between columns is 0, per row.
    #[inline(always)]
    pub(crate) fn with_column_stride(values: *const f64, row: usize, column: usize) -> Operand {
        Operand { values, row, broadcast: column == 0 }
    }

    /// An operand with one value per row.
    #[inline(always)]
    pub(crate) fn scalar(values: *const f64, row: usize) -> Operand {
        Operand { values, row, broadcast: true }
    }
}

/// Applies the operation to a tile.
///
/// Rows that follow each other without a gap are treated as one long row.
#[inline(always)]
pub(crate) unsafe fn tile<V: Vector, K: Elementwise<N>, const N: usize>(
    rows: usize,
    len: usize,
    mut operands: [Operand; N],
    mut out: *mut f64,
    out_row: usize,
) {
    let gapless = out_row == len && operands.iter().all(|o| o.row == if o.broadcast { 0 } else { len });
    // Behind rows with gaps lies what nobody reads; a row that is taken again and again is at hand, and so is a value of each row, which
    // other steps computed.
    let asks = operands.map(|operand| len > 1 && operand.row == len);
    let (rows, len) = if gapless { (1, rows * len) } else { (rows, len) };
    for _ in 0..rows {
        // SAFETY: the caller's tile covers every row.
        unsafe { row::<V, K, N>(len, &operands, out, &asks) };
        for operand in &mut operands {
            operand.values = operand.values.wrapping_add(operand.row);
        }
        out = out.wrapping_add(out_row);
    }
}

/// Applies an operation to a gapless tile of narrow rows, some operands of which have one value per row: these are
/// repeated along their rows beforehand, so that several rows run on as one. Returns whether the tile is one of those.
///
/// `spread` repeats values, and `cells` is the operation on one run of cells: functions of the table rather than parts of
/// this one, so that each operation is compiled once.
#[inline(always)]
pub(crate) unsafe fn narrow<const N: usize>(
    rows: usize,
    len: usize,
    operands: [Operand; N],
    out: *mut f64,
    out_row: usize,
    spread: UnaryFn,
    cells: impl Fn(usize, [*const f64; N], *mut f64),
) -> bool {
    let is_repeated = operands.iter().any(|o| o.broadcast && o.row != 0);
    let is_gapless = out_row == len && operands.iter().all(|o| o.broadcast || o.row == len);
    if rows <= 1 || len >= NARROW || !is_repeated || !is_gapless {
        return false;
    }
    let mut repeated = [[0.0; REPEATED]; N];
    let at_once = REPEATED / len.max(1);
    for first in (0..rows).step_by(at_once) {
        let count = at_once.min(rows - first);
        let mut runs = [std::ptr::null(); N];
        for ((operand, repeated), run) in operands.iter().zip(&mut repeated).zip(&mut runs) {
            let values = operand.values.wrapping_add(first * operand.row);
            *run = if operand.broadcast {
                // SAFETY: `count` rows fit, and the caller's operand has a value for each.
                unsafe { spread(count, len, values, operand.row, repeated.as_mut_ptr(), len) };
                repeated.as_ptr()
            } else {
                values
            };
        }
        // The rows lie one after the other, in all operands and in the output.
        cells(count * len, runs, out.wrapping_add(first * len));
    }
    true
}

/// Applies the operation to one row, and asks for what lies behind the cells of the operands of which `asks` says so. Each block is
/// loaded whole before it is stored, so `out` may be an operand.
#[inline(always)]
unsafe fn row<V: Vector, K: Elementwise<N>, const N: usize>(
    len: usize,
    operands: &[Operand; N],
    out: *mut f64,
    asks: &[bool; N],
) {
    if len == 0 {
        return;
    }
    // SAFETY: blocks stay within `len`, the tail is masked, and a broadcast operand has one value.
    unsafe {
        let mut blocks = [[0.0; BLOCK]; N];
        for (block, operand) in blocks.iter_mut().zip(operands) {
            if operand.broadcast {
                *block = [*operand.values; BLOCK];
            }
        }
        let whole = len - len % BLOCK;
        let mut start = 0;
        while start < whole {
            for ((block, operand), &asks) in blocks.iter_mut().zip(operands).zip(asks) {
                if !operand.broadcast {
                    if asks {
                        ask_behind::<V>(operand.values.wrapping_add(start));
                    }
                    *block = read_unaligned(operand.values.add(start).cast());
                }
            }
            write_unaligned(out.add(start).cast(), apply::<K, N>(&blocks));
            start += BLOCK;
        }
        if start < len {
            for (block, operand) in blocks.iter_mut().zip(operands) {
                if !operand.broadcast {
                    *block = V::load_block(operand.values.add(start), len - start);
                }
            }
            V::store_block(apply::<K, N>(&blocks), out.add(start), len - start);
        }
    }
}

/// Applies the operation to one block: the loop that the compiler turns into register operations, and another one for
/// blocks with operands that the straight-line form does not serve.
#[inline(always)]
pub(crate) fn apply<K: Elementwise<N>, const N: usize>(blocks: &[[f64; BLOCK]; N]) -> [f64; BLOCK] {
    let mut result = [0.0; BLOCK];
    let mut all_ordinary = true;
    for lane in 0..BLOCK {
        all_ordinary &= K::is_ordinary(lane_of(blocks, lane));
        result[lane] = K::eval_ordinary(lane_of(blocks, lane));
    }
    if all_ordinary { result } else { apply_each::<K, N>(blocks) }
}

/// Applies the operation to one value after the other.
#[cold]
fn apply_each<K: Elementwise<N>, const N: usize>(blocks: &[[f64; BLOCK]; N]) -> [f64; BLOCK] {
    std::array::from_fn(|lane| K::eval(lane_of(blocks, lane)))
}

/// The operands in one lane.
#[inline(always)]
fn lane_of<const N: usize>(blocks: &[[f64; BLOCK]; N], lane: usize) -> [f64; N] {
    let mut operands = [0.0; N];
    for (operand, block) in operands.iter_mut().zip(blocks) {
        *operand = block[lane];
    }
    operands
}

/// An element-wise operation of three operands, some of them with one value per row.
#[inline(always)]
pub(crate) unsafe fn ternary<V: Vector, K: Elementwise<3>>(
    rows: usize,
    len: usize,
    operands: [Operand; 3],
    out: *mut f64,
    out_row: usize,
) {
    // One value for all rows of single cells is one value for the run that they make.
    let [a, b, c] =
        operands.map(|operand| Operand { broadcast: operand.broadcast || len == 1 && operand.row == 0, ..operand });
    let cells = |operand: Operand| Operand { broadcast: false, ..operand };
    let scalar = |operand: Operand| Operand { broadcast: true, ..operand };
    // SAFETY: passed on to the caller. The arms differ in the constants that the compiler specialises each body for.
    unsafe {
        match (a.broadcast, b.broadcast, c.broadcast) {
            (true, true, true) => tile::<V, K, 3>(rows, len, [scalar(a), scalar(b), scalar(c)], out, out_row),
            (true, true, false) => tile::<V, K, 3>(rows, len, [scalar(a), scalar(b), cells(c)], out, out_row),
            (true, false, true) => tile::<V, K, 3>(rows, len, [scalar(a), cells(b), scalar(c)], out, out_row),
            (true, false, false) => tile::<V, K, 3>(rows, len, [scalar(a), cells(b), cells(c)], out, out_row),
            (false, true, true) => tile::<V, K, 3>(rows, len, [cells(a), scalar(b), scalar(c)], out, out_row),
            (false, true, false) => tile::<V, K, 3>(rows, len, [cells(a), scalar(b), cells(c)], out, out_row),
            (false, false, true) => tile::<V, K, 3>(rows, len, [cells(a), cells(b), scalar(c)], out, out_row),
            (false, false, false) => tile::<V, K, 3>(rows, len, [cells(a), cells(b), cells(c)], out, out_row),
        }
    }
}
