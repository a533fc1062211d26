//! AVX-512: 8 lanes, predicated by mask registers.

use super::avx2::{four_at, four_in, halves, readable};
use super::{BLOCK, Merge, Vector, register_methods};
use std::arch::x86_64::*;
use std::mem::transmute;

/// A zmm register.
#[derive(Clone, Copy)]
pub(crate) struct Avx512(__m512d);

/// The mask of the first `count` of 8 lanes.
#[inline(always)]
fn first_of_eight(count: usize) -> __mmask8 {
    ((1_u32 << count) - 1) as __mmask8
}

/// A register of two halves.
#[inline(always)]
unsafe fn joined(low: __m256d, high: __m256d) -> __m512d {
    // SAFETY: register operations of the instruction set that the caller runs on.
    unsafe { _mm512_insertf64x4::<1>(_mm512_castpd256_pd512(low), high) }
}

/// Merges lanes `l` and `l + 4`: four lanes of `x` become the lower half, those of `y` the upper half.
#[inline(always)]
unsafe fn merge_halves<M: Merge>(x: Avx512, y: Avx512) -> Avx512 {
    // SAFETY: register operations of the instruction set that the caller runs on.
    unsafe {
        let low = _mm512_shuffle_f64x2::<0b01_00_01_00>(x.0, y.0);
        let high = _mm512_shuffle_f64x2::<0b11_10_11_10>(x.0, y.0);
        M::merge(Avx512(low), Avx512(high))
    }
}

/// Merges lanes `l` and `l + 2` of the four rows that `x` and `y` hold halves of.
#[inline(always)]
unsafe fn merge_quarters<M: Merge>(x: Avx512, y: Avx512) -> Avx512 {
    // SAFETY: register operations of the instruction set that the caller runs on.
    unsafe {
        let low = _mm512_shuffle_f64x2::<0b10_00_10_00>(x.0, y.0);
        let high = _mm512_shuffle_f64x2::<0b11_01_11_01>(x.0, y.0);
        M::merge(Avx512(low), Avx512(high))
    }
}

/// Merges lanes `l` and `l + 1`: the even rows come from `x`, the odd ones from `y`.
#[inline(always)]
unsafe fn merge_neighbours<M: Merge>(x: Avx512, y: Avx512) -> Avx512 {
    // SAFETY: register operations of the instruction set that the caller runs on.
    unsafe { M::merge(Avx512(_mm512_unpacklo_pd(x.0, y.0)), Avx512(_mm512_unpackhi_pd(x.0, y.0))) }
}

/// Four columns of eight rows.
#[inline(always)]
unsafe fn four_columns(values: *const f64, row: usize) -> [Avx512; 4] {
    // SAFETY: loads of the caller's rows, and register operations of the instruction set that it runs on.
    unsafe {
        // Rows `r` and `r + 4` in one register.
        let mut rows = [_mm512_setzero_pd(); 4];
        for r in 0..4 {
            let lower = _mm512_castpd256_pd512(_mm256_loadu_pd(values.wrapping_add(r * row)));
            rows[r] = _mm512_mask_broadcast_f64x4(lower, 0xF0, _mm256_loadu_pd(values.wrapping_add((r + 4) * row)));
        }
        let [even, odd] = [_mm512_unpacklo_pd(rows[0], rows[1]), _mm512_unpackhi_pd(rows[0], rows[1])];
        let [later_even, later_odd] = [_mm512_unpacklo_pd(rows[2], rows[3]), _mm512_unpackhi_pd(rows[2], rows[3])];
        let left = _mm512_set_epi64(13, 12, 5, 4, 9, 8, 1, 0);
        let right = _mm512_set_epi64(15, 14, 7, 6, 11, 10, 3, 2);
        [
            Avx512(_mm512_permutex2var_pd(even, left, later_even)),
            Avx512(_mm512_permutex2var_pd(odd, left, later_odd)),
            Avx512(_mm512_permutex2var_pd(even, right, later_even)),
            Avx512(_mm512_permutex2var_pd(odd, right, later_odd)),
        ]
    }
}

/// Two columns of eight rows.
#[inline(always)]
unsafe fn two_columns(values: *const f64, row: usize) -> [Avx512; 2] {
    // SAFETY: loads of the caller's rows, and register operations of the instruction set that it runs on.
    unsafe {
        // Every other row, from the first on and from the second on.
        let mut rows = [_mm512_setzero_pd(); 2];
        for r in 0..2 {
            let pair = |index: usize| _mm_loadu_pd(values.wrapping_add((r + 2 * index) * row));
            let first = _mm512_castpd128_pd512(pair(0));
            let second = _mm512_mask_broadcast_f64x2(first, 0b0000_1100, pair(1));
            let third = _mm512_mask_broadcast_f64x2(second, 0b0011_0000, pair(2));
            rows[r] = _mm512_mask_broadcast_f64x2(third, 0b1100_0000, pair(3));
        }
        [Avx512(_mm512_unpacklo_pd(rows[0], rows[1])), Avx512(_mm512_unpackhi_pd(rows[0], rows[1]))]
    }
}

impl Vector for Avx512 {
    type Mask = __mmask8;
    type Narrow = super::Avx2;
    const LANES: usize = 8;

    register_methods! {
        fn splat(value: f64) -> Self = Avx512(_mm512_set1_pd(value));
        fn load(values: *const f64) -> Self = Avx512(_mm512_loadu_pd(values));
        fn load_f32(values: *const f32) -> Self = Avx512(_mm512_cvtps_pd(_mm256_loadu_ps(values)));
        fn load_i32(values: *const i32) -> Self = Avx512(_mm512_cvtepi32_pd(_mm256_loadu_si256(values.cast())));
        fn load_u8(values: *const u8) -> Self =
            Avx512(_mm512_cvtepi32_pd(_mm256_cvtepu8_epi32(_mm_loadl_epi64(values.cast()))));
        fn first(count: usize) -> __mmask8 = first_of_eight(count);
        fn load_first(values: *const f64, mask: __mmask8) -> Self = Avx512(_mm512_maskz_loadu_pd(mask, values));
        fn prefetch(values: *const f64) = _mm_prefetch::<_MM_HINT_T0>(values.cast());
        fn select(mask: __mmask8, yes: Self, no: Self) -> Self = Avx512(_mm512_mask_blend_pd(mask, no.0, yes.0));
        fn gather(values: *const f64, columns: *const u32) -> Self = {
            let [first, second] = columns.cast::<[[i64; 2]; 2]>().read_unaligned();
            Avx512(joined(four_in(values, first), four_in(values, second)))
        };
        fn gather_first(values: *const f64, columns: *const u32, count: usize) -> Self = {
            // No branch on the count: nobody foresees where short rows end. The lanes behind it look at the first column.
            let (mask, values) = (first_of_eight(count), readable(values, count));
            let columns = _mm256_maskz_loadu_epi32(mask, columns.cast());
            let low = four_in(values, halves(_mm256_castsi256_si128(columns)));
            let high = four_in(values, halves(_mm256_extracti128_si256::<1>(columns)));
            Avx512(_mm512_maskz_mov_pd(mask, joined(low, high)))
        };
        fn reduce_eight<M: Merge>(rows: [Self; 8]) -> [f64; 8] = {
            // Rows enter in the order that leaves them sorted after the last step interleaves evens and odds.
            let even = merge_quarters::<M>(merge_halves::<M>(rows[0], rows[2]), merge_halves::<M>(rows[4], rows[6]));
            let odd = merge_quarters::<M>(merge_halves::<M>(rows[1], rows[3]), merge_halves::<M>(rows[5], rows[7]));
            transmute(merge_neighbours::<M>(even, odd).0)
        };
        fn load_block(values: *const f64, count: usize) -> [f64; BLOCK] =
            transmute(_mm512_maskz_loadu_pd(first_of_eight(count), values));
        fn store_block(block: [f64; BLOCK], values: *mut f64, count: usize) =
            _mm512_mask_storeu_pd(values, first_of_eight(count), transmute::<[f64; BLOCK], __m512d>(block));
        fn store(register: Self, values: *mut f64) = _mm512_storeu_pd(values, register.0);
        fn stream(register: Self, values: *mut f64) = _mm512_stream_pd(values, register.0);
        fn end_stream() = _mm_sfence();
        fn store_first(register: Self, values: *mut f64, mask: __mmask8) =
            _mm512_mask_storeu_pd(values, mask, register.0);
        fn nonzeros(x: Self) -> u32 =
            u32::from(_mm512_cmp_pd_mask::<_CMP_NEQ_UQ>(x.0, _mm512_setzero_pd()));
        fn compress(x: Self, bits: u32, first: u32, columns: *mut u32, values: *mut f64) = {
            // Compressed in registers: some processors take many times as long to compress into memory.
            let lanes = _mm256_add_epi32(_mm256_set1_epi32(first as i32), _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));
            _mm256_storeu_si256(columns.cast(), _mm256_maskz_compress_epi32(bits as __mmask8, lanes));
            _mm512_storeu_pd(values, _mm512_maskz_compress_pd(bits as __mmask8, x.0));
        };
        fn compress_beside(x: Self, bits: u32, beside: *const u32, columns: *mut u32, values: *mut f64) = {
            let beside = _mm256_loadu_si256(beside.cast());
            _mm256_storeu_si256(columns.cast(), _mm256_maskz_compress_epi32(bits as __mmask8, beside));
            _mm512_storeu_pd(values, _mm512_maskz_compress_pd(bits as __mmask8, x.0));
        };
        fn add(x: Self, y: Self) -> Self = Avx512(_mm512_add_pd(x.0, y.0));
        fn sub(x: Self, y: Self) -> Self = Avx512(_mm512_sub_pd(x.0, y.0));
        fn mul(x: Self, y: Self) -> Self = Avx512(_mm512_mul_pd(x.0, y.0));
        fn is_nonzero(x: Self) -> Self = {
            let nonzero = _mm512_cmp_pd_mask::<_CMP_NEQ_UQ>(x.0, _mm512_setzero_pd());
            Avx512(_mm512_maskz_mov_pd(nonzero, _mm512_set1_pd(1.0)))
        };
        fn mul_add(x: Self, y: Self, addend: Self) -> Self = Avx512(_mm512_fmadd_pd(x.0, y.0, addend.0));
        // The instruction yields its second operand on ties and for NaN; only a NaN in the first is missing.
        fn min(x: Self, y: Self) -> Self = {
            let nan = _mm512_cmp_pd_mask::<_CMP_UNORD_Q>(x.0, x.0);
            Avx512(_mm512_mask_blend_pd(nan, _mm512_min_pd(x.0, y.0), x.0))
        };
        fn max(x: Self, y: Self) -> Self = {
            let nan = _mm512_cmp_pd_mask::<_CMP_UNORD_Q>(x.0, x.0);
            Avx512(_mm512_mask_blend_pd(nan, _mm512_max_pd(x.0, y.0), x.0))
        };
        fn load_columns(values: *const f64, row: usize) -> [Self; BLOCK] = {
            let [left, right] = [four_columns(values, row), four_columns(values.wrapping_add(4), row)];
            [left[0], left[1], left[2], left[3], right[0], right[1], right[2], right[3]]
        };
        fn load_first_columns(values: *const f64, row: usize, count: usize) -> [Self; BLOCK] = {
            let mut columns = [Self::splat(0.0); BLOCK];
            let mut done = 0;
            if count & 4 != 0 {
                columns[..4].copy_from_slice(&four_columns(values, row));
                done = 4;
            }
            if count & 2 != 0 {
                columns[done..done + 2].copy_from_slice(&two_columns(values.wrapping_add(done), row));
                done += 2;
            }
            if count & 1 != 0 {
                columns[done] = Self::load_column(values.wrapping_add(done), row);
            }
            columns
        };
        fn load_column(values: *const f64, row: usize) -> Self = {
            let four = |first: usize| [0, 1, 2, 3].map(|r| values.wrapping_add((first + r) * row));
            Avx512(joined(four_at(four(0)), four_at(four(4))))
        };
    }
}
