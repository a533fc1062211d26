//! The dot product of a run of values and their factors, which lie beside each other or where columns say (rule 3).

use super::reduce::{Run, Sum, merge_registers};
use crate::vector::{Merge, Vector};

/// The factors of a run of values.
pub(crate) trait Factors<V: Vector>: Copy {
    /// A register of them, from the one at `at` on.
    unsafe fn whole(self, at: usize) -> V;

    /// The first `count` of such a register, which are those of `mask`; the others hold `+0.0`.
    unsafe fn part(self, at: usize, count: usize, mask: V::Mask) -> V;
}

/// Factors that lie beside each other.
#[derive(Clone, Copy)]
pub(crate) struct Beside(pub(crate) *const f64);

impl<V: Vector> Factors<V> for Beside {
    #[inline(always)]
    unsafe fn whole(self, at: usize) -> V {
        // SAFETY: passed on to the caller.
        unsafe { V::load(self.0.wrapping_add(at)) }
    }

    #[inline(always)]
    unsafe fn part(self, at: usize, _: usize, mask: V::Mask) -> V {
        // SAFETY: passed on to the caller.
        unsafe { V::load_first(self.0.wrapping_add(at), mask) }
    }
}

/// Factors that columns name.
#[derive(Clone, Copy)]
pub(crate) struct AtColumns {
    pub(crate) factors: *const f64,
    pub(crate) columns: *const u32,
}

impl<V: Vector> Factors<V> for AtColumns {
    #[inline(always)]
    unsafe fn whole(self, at: usize) -> V {
        // SAFETY: passed on to the caller.
        unsafe { V::gather(self.factors, self.columns.wrapping_add(at)) }
    }

    #[inline(always)]
    unsafe fn part(self, at: usize, count: usize, _: V::Mask) -> V {
        // SAFETY: passed on to the caller.
        unsafe { V::gather_first(self.factors, self.columns.wrapping_add(at), count) }
    }
}

/// The dot product, merged into one register.
#[inline(always)]
pub(crate) unsafe fn product<V: Vector, F: Factors<V>, const N: usize>(
    values: *const f64,
    factors: F,
    len: usize,
) -> V {
    // SAFETY: passed on to the caller; the part is masked.
    unsafe {
        if len <= 4 * V::LANES {
            return short_product::<V, F, N>(values, factors, len);
        }
        let run = Run::<V>::new::<N>(len);
        let mut accumulators = [V::splat(0.0); N];
        let mut at = 0;
        for _ in 0..run.rounds {
            for n in 0..N {
                let register = at + n * V::LANES;
                accumulators[n] = V::mul_add(V::load(values.add(register)), factors.whole(register), accumulators[n]);
            }
            at += N * V::LANES;
        }
        for n in 0..N {
            let register = at + n * V::LANES;
            let values = values.wrapping_add(register);
            if n < run.whole {
                accumulators[n] = V::mul_add(V::load(values), factors.whole(register), accumulators[n]);
            } else if n == run.whole && run.part > 0 {
                let factor = factors.part(register, run.part, run.mask);
                let sum = V::mul_add(V::load_first(values, run.mask), factor, accumulators[n]);
                accumulators[n] = V::select(run.mask, sum, accumulators[n]);
            }
        }
        merge_registers::<V, Sum, N>(accumulators)
    }
}

/// [`product`] of at most four registers: those that hold `+0.0` alone are not there. All that they would change is the sign of
/// a zero, once: products that underflow may leave `-0.0`.
#[inline(always)]
unsafe fn short_product<V: Vector, F: Factors<V>, const N: usize>(values: *const f64, factors: F, len: usize) -> V {
    // SAFETY: passed on to the caller.
    unsafe {
        let zero = V::splat(0.0);
        if len <= V::LANES {
            return register_product::<V, F, N>(values, factors, len);
        }
        let run = ShortRun { values, factors, whole: len / V::LANES, part: len % V::LANES };
        let registers = run.whole + usize::from(run.part > 0);
        // In the order in which all registers would be merged.
        let sum = match registers {
            2 => Sum::merge(run.products(0), run.products::<V>(1)),
            3 => Sum::merge(Sum::merge(run.products(0), run.products(2)), run.products::<V>(1)),
            _ => {
                let even: V = Sum::merge(run.products(0), run.products(2));
                Sum::merge(even, Sum::merge(run.products(1), run.products(3)))
            }
        };
        if registers < N { Sum::merge(sum, zero) } else { sum }
    }
}

/// [`product`] of at most a register: nothing depends on the length but a mask.
#[inline(always)]
pub(crate) unsafe fn register_product<V: Vector, F: Factors<V>, const N: usize>(
    values: *const f64,
    factors: F,
    len: usize,
) -> V {
    // SAFETY: passed on to the caller.
    unsafe {
        let sum = first_products(values, factors, 0, len);
        if N > 1 { Sum::merge(sum, V::splat(0.0)) } else { sum }
    }
}

/// A run of few values: whole registers, and a part of one.
struct ShortRun<F> {
    values: *const f64,
    factors: F,
    whole: usize,
    part: usize,
}

impl<F> ShortRun<F> {
    /// The products of the values of a register and their factors; `+0.0` behind the last one.
    #[inline(always)]
    unsafe fn products<V: Vector>(&self, register: usize) -> V
    where
        F: Factors<V>,
    {
        let at = register * V::LANES;
        // SAFETY: passed on to the caller; the part is masked.
        unsafe {
            if register < self.whole {
                V::mul_add(V::load(self.values.wrapping_add(at)), self.factors.whole(at), V::splat(0.0))
            } else {
                first_products(self.values, self.factors, at, self.part)
            }
        }
    }
}

/// The products of `count` values from `at` on and their factors, at most a register; `+0.0` behind the last one, where both
/// are.
#[inline(always)]
unsafe fn first_products<V: Vector, F: Factors<V>>(values: *const f64, factors: F, at: usize, count: usize) -> V {
    // SAFETY: passed on to the caller; lanes that are not there are masked.
    unsafe {
        let mask = V::first(count);
        V::mul_add(V::load_first(values.wrapping_add(at), mask), factors.part(at, count, mask), V::splat(0.0))
    }
}
