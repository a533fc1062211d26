//! Dot products of rows whose values are narrower than doubles: registers widen them when they load them, so that nothing
//! is written in between, and memory gives as many values as it has bytes for.

use super::reduce::{Pending, Run, Sum, merge_registers};
use crate::vector::{BLOCK, Vector};

/// Bytes that are asked for ahead of those that are read: rows follow each other without gaps, and the hardware's
/// prefetchers, which stop at each page, keep memory less busy than registers can take.
const AHEAD_BYTES: usize = 1536;

/// Bytes of a cache line.
const LINE_BYTES: usize = 64;

/// A type whose values doubles hold exactly.
pub(crate) trait Narrow: Copy + Into<f64> {
    /// Loads a register of consecutive values.
    ///
    /// # Safety
    /// As for [`crate::body`].
    unsafe fn load<V: Vector>(values: *const Self) -> V;
}

macro_rules! narrow {
    ($($type:ty: $load:ident)*) => {
        $(impl Narrow for $type {
            #[inline(always)]
            unsafe fn load<V: Vector>(values: *const $type) -> V {
                // SAFETY: passed on to the caller.
                unsafe { V::$load(values) }
            }
        })*
    };
}
narrow!(f32: load_f32 i32: load_i32 u8: load_u8);

/// Rule 3 for each row of `a`, one behind the other, with the vector `b`.
#[inline(always)]
pub(crate) unsafe fn dot_product<V: Vector, T: Narrow, const N: usize>(
    rows: usize,
    len: usize,
    a: *const T,
    b: *const f64,
    out: *mut f64,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        let run = Run::new::<N>(len);
        let mut pending = Pending::new(|value| value);
        for row in 0..rows {
            pending.push::<Sum>(product::<V, T, N>(a.add(row * len), b, run), out.add(row));
        }
        pending.flush::<Sum>();
    }
}

/// The product of a row with a vector, merged into one register.
#[inline(always)]
unsafe fn product<V: Vector, T: Narrow, const N: usize>(a: *const T, b: *const f64, run: Run<V>) -> V {
    // SAFETY: the caller's run covers the row; the part is masked.
    unsafe {
        let mut accumulators = [V::splat(0.0); N];
        let mut offset = 0;
        for _ in 0..run.rounds {
            ask_ahead::<V, T, N>(a.add(offset));
            for n in 0..N {
                accumulators[n] = V::mul_add(T::load::<V>(a.add(offset)), V::load(b.add(offset)), accumulators[n]);
                offset += V::LANES;
            }
        }
        for n in 0..N {
            let old = accumulators[n];
            if n < run.whole {
                accumulators[n] = V::mul_add(T::load::<V>(a.add(offset)), V::load(b.add(offset)), old);
                offset += V::LANES;
            } else if n == run.whole && run.part > 0 {
                let new = V::mul_add(load_first(a.add(offset), run), V::load_first(b.add(offset), run.mask), old);
                accumulators[n] = V::select(run.mask, new, old);
            }
        }
        merge_registers::<V, Sum, N>(accumulators)
    }
}

/// Asks for as many lines as a round of 32 lanes reads.
#[inline(always)]
unsafe fn ask_ahead<V: Vector, T, const N: usize>(values: *const T) {
    let lines = (N * V::LANES * size_of::<T>()).div_ceil(LINE_BYTES);
    for line in 0..lines {
        let ahead = values.cast::<u8>().wrapping_add(AHEAD_BYTES + line * LINE_BYTES);
        // SAFETY: nothing is read.
        unsafe { V::prefetch(ahead.cast()) };
    }
}

/// Loads the values of a part of a register.
#[inline(always)]
unsafe fn load_first<V: Vector, T: Narrow>(values: *const T, run: Run<V>) -> V {
    let mut wide = [0.0; BLOCK];
    for lane in 0..run.part {
        // SAFETY: passed on to the caller.
        wide[lane] = unsafe { *values.add(lane) }.into();
    }
    // SAFETY: a block has as many values as the widest register.
    unsafe { V::load(wide.as_ptr()) }
}
