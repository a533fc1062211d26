//! Reductions over runs (rule 3): 32 lane accumulators in `N` registers of `V`.

use crate::vector::{Merge, Vector};
use fuseline_ops::AggOp;

/// An aggregation function on registers.
pub(crate) trait Aggregate: Merge {
    /// The function.
    const OP: AggOp;
    /// What accumulators start from.
    const NEUTRAL: f64;

    /// Takes one value into each lane.
    ///
    /// # Safety
    /// The contract of [`Vector`].
    unsafe fn step<V: Vector>(accumulator: V, value: V) -> V;
}

/// Defines an aggregation function by its step and its merge.
macro_rules! define_aggregate {
    ($(#[$doc:meta])* $name:ident, $neutral:expr, |$acc:ident, $value:ident| $step:expr, |$x:ident, $y:ident| $merge:expr) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $name;

        impl Merge for $name {
            #[inline(always)]
            unsafe fn merge<V: Vector>($x: V, $y: V) -> V {
                // SAFETY: a register operation of the instruction set that the caller runs on.
                unsafe { $merge }
            }
        }

        impl Aggregate for $name {
            const OP: AggOp = AggOp::$name;
            const NEUTRAL: f64 = $neutral;

            #[inline(always)]
            unsafe fn step<V: Vector>($acc: V, $value: V) -> V {
                // SAFETY: a register operation of the instruction set that the caller runs on.
                unsafe { $step }
            }
        }
    };
}

define_aggregate!(/// The sum.
    Sum, 0.0, |acc, value| V::add(acc, value), |x, y| V::add(x, y));
define_aggregate!(/// The sum of squares.
    SumSq, 0.0, |acc, value| V::mul_add(value, value, acc), |x, y| V::add(x, y));
define_aggregate!(/// The minimum.
    Min, f64::INFINITY, |acc, value| V::min(acc, value), |x, y| V::min(x, y));
define_aggregate!(/// The maximum.
    Max, f64::NEG_INFINITY, |acc, value| V::max(acc, value), |x, y| V::max(x, y));
define_aggregate!(/// The product.
    Prod, 1.0, |acc, value| V::mul(acc, value), |x, y| V::mul(x, y));
define_aggregate!(/// The number of values that are not zero.
    Nnz, 0.0, |acc, value| V::add(acc, V::is_nonzero(value)), |x, y| V::add(x, y));
define_aggregate!(/// The mean: a sum that the caller divides by the count.
    Mean, 0.0, |acc, value| V::add(acc, value), |x, y| V::add(x, y));

define_aggregate!(/// The variance, whose first pass is the sum that the mean comes from.
    Var, 0.0, |acc, value| V::add(acc, value), |x, y| V::add(x, y));

/// How a run of `len` values falls into registers: whole rounds of 32 values, then whole registers, then a part.
#[derive(Clone, Copy)]
pub(crate) struct Run<V: Vector> {
    pub(crate) rounds: usize,
    pub(crate) whole: usize,
    pub(crate) part: usize,
    pub(crate) mask: V::Mask,
}

impl<V: Vector> Run<V> {
    /// Divides a run.
    #[inline(always)]
    pub(crate) unsafe fn new<const N: usize>(len: usize) -> Run<V> {
        let lanes = N * V::LANES;
        let part = len % V::LANES;
        // SAFETY: the caller runs on the instruction set of `V`.
        let mask = unsafe { V::first(part) };
        Run { rounds: len / lanes, whole: len % lanes / V::LANES, part, mask }
    }
}

/// Merges `N` registers into one, lanes `l` and `l + 16` first, and so on until `LANES` lanes remain.
#[inline(always)]
pub(crate) unsafe fn merge_registers<V: Vector, M: Merge, const N: usize>(mut accumulators: [V; N]) -> V {
    let mut width = N;
    while width > 1 {
        width /= 2;
        for j in 0..width {
            // SAFETY: the caller runs on the instruction set of `V`.
            accumulators[j] = unsafe { M::merge(accumulators[j], accumulators[j + width]) };
        }
    }
    accumulators[0]
}

/// Takes a run into 32 lane accumulators, starting at lane 0.
#[inline(always)]
pub(crate) unsafe fn take_run<V: Vector, A: Aggregate, const N: usize>(
    accumulators: [V; N],
    values: *const f64,
    run: Run<V>,
) -> [V; N] {
    // SAFETY: passed on to the caller.
    unsafe { step_run(accumulators, values, run, |accumulator, value| A::step(accumulator, value)) }
}

/// Steps 32 lane accumulators over a run, starting at lane 0.
#[inline(always)]
unsafe fn step_run<V: Vector, const N: usize>(
    mut accumulators: [V; N],
    mut values: *const f64,
    run: Run<V>,
    step: impl Fn(V, V) -> V,
) -> [V; N] {
    // SAFETY: the caller's run covers the values; the part is masked.
    unsafe {
        for _ in 0..run.rounds {
            for j in 0..N {
                accumulators[j] = step(accumulators[j], V::load(values.add(j * V::LANES)));
            }
            values = values.add(N * V::LANES);
        }
        for j in 0..N {
            let register = values.wrapping_add(j * V::LANES);
            if j < run.whole {
                accumulators[j] = step(accumulators[j], V::load(register));
            } else if j == run.whole && run.part > 0 {
                let taken = step(accumulators[j], V::load_first(register, run.mask));
                accumulators[j] = V::select(run.mask, taken, accumulators[j]);
            }
        }
    }
    accumulators
}

/// The sum of the squared distances of a run from `mean`, each fused into its accumulator.
#[inline(always)]
pub(crate) unsafe fn squared_distances<V: Vector, const N: usize>(values: *const f64, run: Run<V>, mean: f64) -> f64 {
    // SAFETY: passed on to the caller.
    unsafe {
        let (zero, mean) = (V::splat(0.0), V::splat(mean));
        let accumulators = step_run([zero; N], values, run, |accumulator, value| {
            let distance = V::sub(value, mean);
            V::mul_add(distance, distance, accumulator)
        });
        reduce_register::<V, Sum>(merge_registers::<V, Sum, N>(accumulators))
    }
}

/// The accumulators of one run, merged into one register.
#[inline(always)]
pub(crate) unsafe fn reduce_run<V: Vector, A: Aggregate, const N: usize>(values: *const f64, run: Run<V>) -> V {
    // SAFETY: passed on to the caller.
    unsafe { merge_registers::<V, A, N>(take_run::<V, A, N>([V::splat(A::NEUTRAL); N], values, run)) }
}

/// Merges the lanes of one register into a value.
#[inline(always)]
pub(crate) unsafe fn reduce_register<V: Vector, M: Merge>(register: V) -> f64 {
    // SAFETY: the caller runs on the instruction set of `V`.
    unsafe { V::reduce_eight::<M>([register; 8])[0] }
}

/// Results that wait for their last merges, which are done for eight at a time.
pub(crate) struct Pending<V, F> {
    registers: [V; 8],
    targets: [*mut f64; 8],
    count: usize,
    finish: F,
}

impl<V: Vector, F: Fn(f64) -> f64> Pending<V, F> {
    /// Nothing waits; `finish` maps each value before it is stored.
    #[inline(always)]
    pub(crate) unsafe fn new(finish: F) -> Self {
        // SAFETY: the caller runs on the instruction set of `V`.
        let zero = unsafe { V::splat(0.0) };
        Pending { registers: [zero; 8], targets: [std::ptr::null_mut(); 8], count: 0, finish }
    }

    /// Adds a register whose lanes merge into the value at `target`.
    #[inline(always)]
    pub(crate) unsafe fn push<M: Merge>(&mut self, register: V, target: *mut f64) {
        self.registers[self.count] = register;
        self.targets[self.count] = target;
        self.count += 1;
        if self.count == 8 {
            // SAFETY: passed on to the caller.
            unsafe { self.flush::<M>() };
        }
    }

    /// Stores everything that waits.
    #[inline(always)]
    pub(crate) unsafe fn flush<M: Merge>(&mut self) {
        // SAFETY: the caller pushed targets that it may write to.
        unsafe {
            let merged = V::reduce_eight::<M>(self.registers);
            for index in 0..self.count {
                *self.targets[index] = (self.finish)(merged[index]);
            }
        }
        self.count = 0;
    }
}
