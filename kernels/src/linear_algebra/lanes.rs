//! Doubles for `faer` with registers of four values on every machine.
//!
//! With `f64` itself `faer` takes the widest registers at hand and products tuned by the caches, so that sums, and what
//! follows from them, differ between processors. With this type it keeps to its own loops over registers of four values:
//! those of AVX2, or the same operations one after the other where there are none.

use faer::traits::num_traits::{Num, One, Zero};
use faer::traits::pulp::{Scalar256b, Simd, WithSimd};
use faer::traits::{ComplexField, RealField, SimdArch, SimdCapabilities};
use std::cmp::Ordering;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

/// A double whose operations `faer` runs in these registers.
#[repr(transparent)]
pub(super) struct Lane<R = FourLanes>(pub(super) f64, PhantomData<R>);

/// Registers of four values.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FourLanes;

impl SimdArch for FourLanes {
    #[inline]
    fn dispatch<T>(self, operation: impl WithSimd<Output = T>) -> T {
        #[cfg(target_arch = "x86_64")]
        if let Some(registers) = faer::traits::pulp::x86::V3::try_new() {
            return Simd::vectorize(registers, operation);
        }
        Simd::vectorize(Scalar256b, operation)
    }
}

impl<R> Lane<R> {
    #[inline(always)]
    pub(super) fn new(value: f64) -> Self {
        Lane(value, PhantomData)
    }
}

impl<R> Clone for Lane<R> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Lane<R> {}

impl<R> fmt::Debug for Lane<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<R> PartialEq for Lane<R> {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<R> PartialOrd for Lane<R> {
    #[inline(always)]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.0.partial_cmp(&other.0)
    }
}

macro_rules! operators {
    ($($operator:ident $name:ident),*) => {$(
        impl<R> $operator for Lane<R> {
            type Output = Self;
            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                Lane::new(self.0.$name(other.0))
            }
        }
        impl<R> $operator for &Lane<R> {
            type Output = Lane<R>;
            #[inline(always)]
            fn $name(self, other: Self) -> Lane<R> {
                Lane::new(self.0.$name(other.0))
            }
        }
    )*};
}

operators!(Add add, Sub sub, Mul mul, Div div, Rem rem);

impl<R> Neg for Lane<R> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Lane::new(-self.0)
    }
}

impl<R> Neg for &Lane<R> {
    type Output = Lane<R>;
    #[inline(always)]
    fn neg(self) -> Lane<R> {
        Lane::new(-self.0)
    }
}

impl<R> Zero for Lane<R> {
    fn zero() -> Self {
        Lane::new(0.0)
    }
    fn is_zero(&self) -> bool {
        self.0 == 0.0
    }
}

impl<R> One for Lane<R> {
    fn one() -> Self {
        Lane::new(1.0)
    }
}

impl<R> Num for Lane<R> {
    type FromStrRadixErr = <f64 as Num>::FromStrRadixErr;
    fn from_str_radix(text: &str, radix: u32) -> Result<Self, Self::FromStrRadixErr> {
        f64::from_str_radix(text, radix).map(Lane::new)
    }
}

macro_rules! constants {
    ($($name:ident)*) => {$(
        #[inline(always)]
        fn $name() -> Self {
            Lane::new(f64::$name())
        }
    )*};
}

macro_rules! of_values {
    ($($name:ident($($argument:ident),*);)*) => {$(
        #[inline(always)]
        fn $name($($argument: &Self),*) -> Self {
            Lane::new(f64::$name($(&$argument.0),*))
        }
    )*};
}

macro_rules! of_registers {
    ($($name:ident($($argument:ident: $kind:ident),*) -> $result:ident;)*) => {$(
        #[inline(always)]
        fn $name<S: Simd>(registers: &S, $($argument: Self::$kind<S>),*) -> Self::$result<S> {
            f64::$name::<S>(registers, $($argument),*)
        }
    )*};
}

impl<R: SimdArch + 'static> ComplexField for Lane<R> {
    const IS_REAL: bool = true;
    const SIMD_CAPABILITIES: SimdCapabilities = SimdCapabilities::Simd;
    type Arch = R;
    type Unit = f64;
    type SimdCtx<S: Simd> = S;
    type Index = u64;
    type Real = Self;
    type SimdMask<S: Simd> = <f64 as ComplexField>::SimdMask<S>;
    type SimdMemMask<S: Simd> = <f64 as ComplexField>::SimdMemMask<S>;
    type SimdVec<S: Simd> = <f64 as ComplexField>::SimdVec<S>;
    type SimdIndex<S: Simd> = <f64 as ComplexField>::SimdIndex<S>;

    constants! { zero_impl one_impl nan_impl infinity_impl }

    of_values! {
        from_real_impl(value);
        real_part_impl(value);
        imag_part_impl(value);
        copy_impl(value);
        conj_impl(value);
        recip_impl(value);
        sqrt_impl(value);
        abs_impl(value);
        abs1_impl(value);
        abs2_impl(value);
        mul_real_impl(left, right);
        mul_pow2_impl(left, right);
    }

    #[inline(always)]
    fn from_f64_impl(value: f64) -> Self {
        Lane::new(value)
    }

    #[inline(always)]
    fn is_finite_impl(value: &Self) -> bool {
        value.0.is_finite()
    }

    of_registers! {
        simd_add(left: SimdVec, right: SimdVec) -> SimdVec;
        simd_sub(left: SimdVec, right: SimdVec) -> SimdVec;
        simd_neg(value: SimdVec) -> SimdVec;
        simd_conj(value: SimdVec) -> SimdVec;
        simd_abs1(value: SimdVec) -> SimdVec;
        simd_abs_max(value: SimdVec) -> SimdVec;
        simd_mul_real(left: SimdVec, right: SimdVec) -> SimdVec;
        simd_mul_pow2(left: SimdVec, right: SimdVec) -> SimdVec;
        simd_mul(left: SimdVec, right: SimdVec) -> SimdVec;
        simd_conj_mul(left: SimdVec, right: SimdVec) -> SimdVec;
        simd_mul_add(left: SimdVec, right: SimdVec, sum: SimdVec) -> SimdVec;
        simd_conj_mul_add(left: SimdVec, right: SimdVec, sum: SimdVec) -> SimdVec;
        simd_abs2(value: SimdVec) -> SimdVec;
        simd_abs2_add(value: SimdVec, sum: SimdVec) -> SimdVec;
        simd_equal(left: SimdVec, right: SimdVec) -> SimdMask;
        simd_less_than(left: SimdVec, right: SimdVec) -> SimdMask;
        simd_less_than_or_equal(left: SimdVec, right: SimdVec) -> SimdMask;
        simd_greater_than(left: SimdVec, right: SimdVec) -> SimdMask;
        simd_greater_than_or_equal(left: SimdVec, right: SimdVec) -> SimdMask;
        simd_select(mask: SimdMask, left: SimdVec, right: SimdVec) -> SimdVec;
        simd_index_select(mask: SimdMask, left: SimdIndex, right: SimdIndex) -> SimdIndex;
        simd_index_add(left: SimdIndex, right: SimdIndex) -> SimdIndex;
        simd_index_less_than(left: SimdIndex, right: SimdIndex) -> SimdMask;
        simd_and_mask(left: SimdMask, right: SimdMask) -> SimdMask;
        simd_or_mask(left: SimdMask, right: SimdMask) -> SimdMask;
        simd_not_mask(mask: SimdMask) -> SimdMask;
    }

    #[inline(always)]
    fn simd_ctx<S: Simd>(registers: S) -> S {
        registers
    }

    #[inline(always)]
    fn ctx_from_simd<S: Simd>(registers: &S) -> S {
        *registers
    }

    #[inline(always)]
    fn simd_splat<S: Simd>(registers: &S, value: &Self) -> Self::SimdVec<S> {
        f64::simd_splat::<S>(registers, &value.0)
    }

    #[inline(always)]
    fn simd_splat_real<S: Simd>(registers: &S, value: &Self) -> Self::SimdVec<S> {
        f64::simd_splat_real::<S>(registers, &value.0)
    }

    #[inline(always)]
    fn simd_index_splat<S: Simd>(registers: &S, value: u64) -> Self::SimdIndex<S> {
        f64::simd_index_splat::<S>(registers, value)
    }

    #[inline(always)]
    fn simd_reduce_sum<S: Simd>(registers: &S, value: Self::SimdVec<S>) -> Self {
        Lane::new(f64::simd_reduce_sum::<S>(registers, value))
    }

    #[inline(always)]
    fn simd_reduce_max<S: Simd>(registers: &S, value: Self::SimdVec<S>) -> Self {
        Lane::new(f64::simd_reduce_max::<S>(registers, value))
    }

    #[inline(always)]
    fn simd_first_true_mask<S: Simd>(registers: &S, mask: Self::SimdMask<S>) -> usize {
        f64::simd_first_true_mask::<S>(registers, mask)
    }

    #[inline(always)]
    fn simd_mask_between<S: Simd>(registers: &S, start: u64, end: u64) -> Self::SimdMask<S> {
        f64::simd_mask_between::<S>(registers, start, end)
    }

    #[inline(always)]
    fn simd_mem_mask_between<S: Simd>(registers: &S, start: u64, end: u64) -> Self::SimdMemMask<S> {
        f64::simd_mem_mask_between::<S>(registers, start, end)
    }

    #[inline(always)]
    unsafe fn simd_mask_load_raw<S: Simd>(
        registers: &S,
        mask: Self::SimdMemMask<S>,
        place: *const Self::SimdVec<S>,
    ) -> Self::SimdVec<S> {
        // SAFETY: passed on to the caller; the type is as a double in memory.
        unsafe { f64::simd_mask_load_raw::<S>(registers, mask, place) }
    }

    #[inline(always)]
    unsafe fn simd_mask_store_raw<S: Simd>(
        registers: &S,
        mask: Self::SimdMemMask<S>,
        place: *mut Self::SimdVec<S>,
        values: Self::SimdVec<S>,
    ) {
        // SAFETY: passed on to the caller; the type is as a double in memory.
        unsafe { f64::simd_mask_store_raw::<S>(registers, mask, place, values) }
    }
}

impl<R: SimdArch + 'static> RealField for Lane<R> {
    constants! { epsilon_impl min_positive_impl max_positive_impl sqrt_min_positive_impl sqrt_max_positive_impl }

    #[inline(always)]
    fn nbits_impl() -> usize {
        f64::nbits_impl()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::hash;
    use faer::linalg::solvers::SolveLstsq;
    use faer::{Mat, Side};

    /// Registers of four values where the machine has none.
    #[derive(Clone, Copy, Debug, Default)]
    struct OneByOne;

    impl SimdArch for OneByOne {
        fn dispatch<T>(self, operation: impl WithSimd<Output = T>) -> T {
            Simd::vectorize(Scalar256b, operation)
        }
    }

    /// The bits of all factors that kernels take from `faer`, of matrices of some sizes.
    fn factors<R: SimdArch + 'static>() -> Vec<u64> {
        let mut bits = Vec::new();
        let mut take = |matrix: &Mat<Lane<R>>| {
            let places = (0..matrix.ncols()).flat_map(|j| (0..matrix.nrows()).map(move |i| (i, j)));
            bits.extend(places.map(|place| matrix[place].0.to_bits()));
        };
        for n in [1, 2, 3, 5, 8, 17, 33, 70] {
            let cell = |i: usize, j: usize| Lane::<R>::new((hash(i, j, 3) as f64).mul_add(1.0 / 30_001.0, -1.0));
            let square = Mat::from_fn(n, n, cell);
            let symmetric = Mat::from_fn(n, n, |i, j| cell(i, j) + cell(j, i));
            let tall = Mat::from_fn(3 * n + 1, n, cell);
            let pairs = symmetric.self_adjoint_eigen(Side::Lower).expect("the iteration converges");
            take(&pairs.U().to_owned());
            take(&Mat::from_fn(n, 1, |i, _| pairs.S()[i]));
            let triple = tall.thin_svd().expect("the iteration converges");
            take(&triple.U().to_owned());
            take(&triple.V().to_owned());
            take(&Mat::from_fn(n, 1, |i, _| triple.S()[i]));
            take(&tall.qr().solve_lstsq(&Mat::from_fn(3 * n + 1, 2, |i, j| cell(j, i))));
            let general = square.eigen().expect("the iteration converges");
            take(&Mat::from_fn(n, n, |i, j| general.U()[(i, j)].re));
            take(&Mat::from_fn(n, n, |i, j| general.U()[(i, j)].im));
        }
        bits
    }

    #[test]
    fn decompositions_have_the_same_bits_with_and_without_registers() {
        assert!(factors::<FourLanes>() == factors::<OneByOne>());
    }
}
