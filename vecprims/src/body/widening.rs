//! Dot products of rows whose values are narrower than doubles: registers widen them when they load them, so that nothing
//! is written in between, and memory gives as many values as it has bytes for.

use super::reduce::{Pending, Run, Sum, merge_registers};
use crate::vector::{BLOCK, Vector};

/// Rows that share the loads of the vector: each keeps accumulators of its own, which do not wait for each other's.
const ROWS_AT_ONCE: usize = 2;

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
        let mut row = 0;
        while row + ROWS_AT_ONCE <= rows {
            let pointers = [a.add(row * len), a.add((row + 1) * len)];
            for (r, product) in products::<V, T, N, ROWS_AT_ONCE>(pointers, b, run).into_iter().enumerate() {
                pending.push::<Sum>(product, out.add(row + r));
            }
            row += ROWS_AT_ONCE;
        }
        while row < rows {
            let [product] = products::<V, T, N, 1>([a.add(row * len)], b, run);
            pending.push::<Sum>(product, out.add(row));
            row += 1;
        }
        pending.flush::<Sum>();
    }
}

/// The products of `R` rows with one vector, each merged into one register.
#[inline(always)]
unsafe fn products<V: Vector, T: Narrow, const N: usize, const R: usize>(
    a: [*const T; R],
    b: *const f64,
    run: Run<V>,
) -> [V; R] {
    // SAFETY: the caller's run covers each row; the part is masked.
    unsafe {
        let mut accumulators = [[V::splat(0.0); N]; R];
        let mut offset = 0;
        for _ in 0..run.rounds {
            for n in 0..N {
                let y = V::load(b.add(offset));
                for r in 0..R {
                    accumulators[r][n] = V::mul_add(T::load::<V>(a[r].add(offset)), y, accumulators[r][n]);
                }
                offset += V::LANES;
            }
        }
        for n in 0..N {
            if n < run.whole {
                let y = V::load(b.add(offset));
                for r in 0..R {
                    accumulators[r][n] = V::mul_add(T::load::<V>(a[r].add(offset)), y, accumulators[r][n]);
                }
                offset += V::LANES;
            } else if n == run.whole && run.part > 0 {
                let y = V::load_first(b.add(offset), run.mask);
                for r in 0..R {
                    let old = accumulators[r][n];
                    let new = V::mul_add(load_first(a[r].add(offset), run), y, old);
                    accumulators[r][n] = V::select(run.mask, new, old);
                }
            }
        }
        let mut merged = [V::splat(0.0); R];
        for r in 0..R {
            merged[r] = merge_registers::<V, Sum, N>(accumulators[r]);
        }
        merged
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
