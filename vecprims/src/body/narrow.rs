//! Reductions of rows that fit in a few registers: eight rows at a time, straight-line code for each number of registers.
//!
//! No lane takes more than one value, so accumulators start as the first step from the neutral element, and lanes that
//! no row reaches are left out of the merges (rule 3). That is exact except for one case: an untouched lane turns a
//! `-0.0`, to which a tiny product underflows, into `+0.0`; where there is such a lane, one addition of `+0.0` at the
//! end does the same.

use super::ahead::Ahead;
use super::column::{masks, prefetch_distance};
use super::product::Rows;
use super::reduce::{Aggregate, Sum, merge_registers};
use crate::vector::{Merge, Vector};
use fuseline_ops::AggOp;

/// A reduction of one row to one register.
pub(crate) trait RowReduction<V: Vector> {
    /// How the lanes of the register merge.
    type Merge: Merge;

    /// The lanes of a row, not yet merged.
    ///
    /// # Safety
    /// The contract of [`crate::body`].
    unsafe fn register(&self, row: usize) -> V;
    /// Asks for the lines of a later row, since masked loads teach the hardware prefetchers nothing.
    ///
    /// # Safety
    /// The contract of [`crate::body`].
    unsafe fn prefetch(&self, row: usize);
    /// What is stored for a merged value.
    fn finish(&self, value: f64) -> f64;
}

/// Reduces every row; `out` has a value per row, `out_row` apart.
#[inline(always)]
pub(crate) unsafe fn reduce_rows<V: Vector, R: RowReduction<V>>(
    rows: usize,
    reduction: &R,
    ahead: &Ahead,
    out: *mut f64,
    out_row: usize,
) {
    let mut start = 0;
    // SAFETY: passed on to the caller.
    unsafe {
        while start + 8 <= rows {
            ahead.ask();
            reduce_group(start, 8, reduction, out, out_row);
            start += 8;
        }
        if start < rows {
            reduce_group(start, rows - start, reduction, out, out_row);
        }
    }
}

/// Reduces `count` rows, at most 8, from `start` on: the last one as often as there are fewer.
#[inline(always)]
unsafe fn reduce_group<V: Vector, R: RowReduction<V>>(
    start: usize,
    count: usize,
    reduction: &R,
    out: *mut f64,
    out_row: usize,
) {
    // SAFETY: passed on to the caller; no row is read past the last.
    unsafe {
        let mut registers = [V::splat(0.0); 8];
        for index in 0..8 {
            reduction.prefetch(start + index);
            registers[index] = reduction.register(start + index.min(count - 1));
        }
        let mut merged = V::reduce_eight::<R::Merge>(registers);
        for value in &mut merged {
            *value = reduction.finish(*value);
        }
        let target = out.add(start * out_row);
        if out_row == 1 {
            V::store_block(merged, target, count);
        } else {
            for (index, &value) in merged.iter().enumerate().take(count) {
                *target.add(index * out_row) = value;
            }
        }
    }
}

/// Loads register `t` of a row in `T` registers. The first half is full, since `T` is the next power of two: plain loads
/// are the faster ones.
#[inline(always)]
pub(crate) unsafe fn load_part<V: Vector, const T: usize>(row: *const f64, t: usize, mask: V::Mask) -> V {
    let values = row.wrapping_add(t * V::LANES);
    // SAFETY: passed on to the caller.
    unsafe { if t >= T / 2 { V::load_first(values, mask) } else { V::load(values) } }
}

/// Prefetches the `T` registers of the row that lies `ahead` values after row `row`.
#[inline(always)]
unsafe fn prefetch_row<V: Vector, const T: usize>(rows: Rows, row: usize, ahead: usize) {
    let values = rows.values.wrapping_add(row * rows.row + ahead);
    for t in 0..T {
        // SAFETY: the caller runs on the instruction set of `V`.
        unsafe { V::prefetch(values.wrapping_add(t * V::LANES)) };
    }
}

/// Aggregates of rows of `len` values in `T` registers.
pub(crate) struct NarrowAggregate<V: Vector, A, const T: usize> {
    a: Rows,
    len: usize,
    masks: [V::Mask; T],
    ahead: usize,
    aggregate: std::marker::PhantomData<A>,
}

impl<V: Vector, A: Aggregate, const T: usize> NarrowAggregate<V, A, T> {
    #[inline(always)]
    pub(crate) unsafe fn new(a: Rows, len: usize) -> Self {
        let ahead = prefetch_distance(a.row);
        // SAFETY: the caller runs on the instruction set of `V`.
        NarrowAggregate { a, len, ahead, masks: unsafe { masks::<V, T>(len) }, aggregate: std::marker::PhantomData }
    }
}

impl<V: Vector, A: Aggregate, const T: usize> RowReduction<V> for NarrowAggregate<V, A, T> {
    type Merge = A;

    #[inline(always)]
    unsafe fn register(&self, row: usize) -> V {
        // SAFETY: passed on to the caller; masks end with the row.
        unsafe {
            let values = self.a.values.wrapping_add(row * self.a.row);
            let neutral = V::splat(A::NEUTRAL);
            let mut registers = [neutral; T];
            for t in 0..T {
                let taken = A::step(neutral, load_part::<V, T>(values, t, self.masks[t]));
                // Sums take the zeros of masked lanes without a trace.
                let zero_counts = matches!(A::OP, AggOp::Min | AggOp::Max | AggOp::Prod);
                registers[t] = if zero_counts && t >= T / 2 { V::select(self.masks[t], taken, neutral) } else { taken };
            }
            merge_registers::<V, A, T>(registers)
        }
    }

    #[inline(always)]
    unsafe fn prefetch(&self, row: usize) {
        // SAFETY: the caller runs on the instruction set of `V`.
        unsafe { prefetch_row::<V, T>(self.a, row, self.ahead) }
    }

    #[inline(always)]
    fn finish(&self, value: f64) -> f64 {
        if A::OP == AggOp::Mean { value / self.len as f64 } else { value }
    }
}

/// What the untouched lanes of rows of this length add to a sum of products: `+0.0`, or `-0.0` (which changes nothing)
/// where there are none.
#[inline(always)]
pub(crate) fn untouched_lanes(len: usize) -> f64 {
    if len < 32 { 0.0 } else { -0.0 }
}

/// Products of rows in `T` registers. With `SHARED` every row meets the first row of `b`.
pub(crate) struct NarrowProduct<V: Vector, const T: usize, const SHARED: bool> {
    a: Rows,
    b: Rows,
    shared: [V; T],
    masks: [V::Mask; T],
    ahead: usize,
    untouched: f64,
}

impl<V: Vector, const T: usize, const SHARED: bool> NarrowProduct<V, T, SHARED> {
    #[inline(always)]
    pub(crate) unsafe fn new(a: Rows, b: Rows, len: usize) -> Self {
        // SAFETY: passed on to the caller.
        unsafe {
            let masks = masks::<V, T>(len);
            let mut shared = [V::splat(0.0); T];
            if SHARED {
                for t in 0..T {
                    shared[t] = load_part::<V, T>(b.values, t, masks[t]);
                }
            }
            NarrowProduct { a, b, shared, masks, ahead: prefetch_distance(a.row), untouched: untouched_lanes(len) }
        }
    }
}

impl<V: Vector, const T: usize, const SHARED: bool> RowReduction<V> for NarrowProduct<V, T, SHARED> {
    type Merge = Sum;

    #[inline(always)]
    unsafe fn register(&self, row: usize) -> V {
        // SAFETY: passed on to the caller; masks end with the row.
        unsafe {
            let a = self.a.values.wrapping_add(row * self.a.row);
            let b = self.b.values.wrapping_add(row * self.b.row);
            let mut registers = [V::splat(0.0); T];
            for t in 0..T {
                let x = load_part::<V, T>(a, t, self.masks[t]);
                let y = if SHARED { self.shared[t] } else { load_part::<V, T>(b, t, self.masks[t]) };
                registers[t] = V::mul_add(x, y, V::splat(0.0));
            }
            merge_registers::<V, Sum, T>(registers)
        }
    }

    #[inline(always)]
    unsafe fn prefetch(&self, row: usize) {
        // SAFETY: the caller runs on the instruction set of `V`.
        unsafe { prefetch_row::<V, T>(self.a, row, self.ahead) }
    }

    #[inline(always)]
    fn finish(&self, value: f64) -> f64 {
        value + self.untouched
    }
}
