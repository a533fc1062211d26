//! AVX2 with FMA: 4 lanes, predicated by registers of sign bits.

use super::{BLOCK, Merge, Vector, register_methods};
use std::arch::x86_64::*;
use std::mem::transmute;

/// A ymm register.
#[derive(Clone, Copy)]
pub(crate) struct Avx2(__m256d);

/// A window of four into it has its first `count` lanes set when it starts `count` before the middle.
static MASKS: [i64; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];

/// The lanes that bits name, one behind the other.
static CHOSEN: [[u32; 4]; 16] = chosen_lanes();

const fn chosen_lanes() -> [[u32; 4]; 16] {
    let mut all = [[0; 4]; 16];
    let mut bits = 0;
    while bits < 16 {
        let (mut lane, mut count) = (0, 0);
        while lane < 4 {
            if bits >> lane & 1 == 1 {
                all[bits][count] = lane;
                count += 1;
            }
            lane += 1;
        }
        bits += 1;
    }
    all
}

/// The lanes that bits name, one behind the other.
#[inline(always)]
fn lanes_of(bits: u32) -> __m128i {
    // SAFETY: four numbers are read, which is what there is for any four bits.
    unsafe { _mm_loadu_si128((&raw const CHOSEN[bits as usize]).cast()) }
}

/// The lanes of a register in this order.
#[inline(always)]
unsafe fn permuted(values: __m256d, lanes: __m128i) -> __m256d {
    // SAFETY: the caller has the instruction set.
    unsafe {
        // Of each lane, which has two halves of a value.
        let lanes = _mm256_cvtepu32_epi64(lanes);
        let halves = _mm256_or_si256(_mm256_slli_epi64::<1>(lanes), _mm256_slli_epi64::<33>(lanes));
        let halves = _mm256_add_epi64(halves, _mm256_set1_epi64x(1 << 32));
        _mm256_castsi256_pd(_mm256_permutevar8x32_epi32(_mm256_castpd_si256(values), halves))
    }
}

/// The mask of the first `count` of 4 lanes.
#[inline(always)]
unsafe fn first_of_four(count: usize) -> __m256i {
    debug_assert!(count <= 4, "a register has four lanes");
    // SAFETY: windows of four start between 0 and 4.
    unsafe { _mm256_loadu_si256(MASKS.as_ptr().add(4 - count).cast()) }
}

/// The first lanes of a register: how many, and as sign bits.
#[derive(Clone, Copy)]
pub(crate) struct First {
    count: usize,
    bits: __m256i,
}

/// Stores the first `count` of 4 lanes, in halves: some processors take as long for one masked store as for a dozen others.
#[inline(always)]
unsafe fn store_first_of_four(register: __m256d, values: *mut f64, count: usize) {
    // SAFETY: the caller's contract for `count` values.
    unsafe {
        let (low, high) = (_mm256_castpd256_pd128(register), _mm256_extractf128_pd::<1>(register));
        match count {
            0 => {}
            1 => _mm_store_sd(values, low),
            2 => _mm_storeu_pd(values, low),
            3 => {
                _mm_storeu_pd(values, low);
                _mm_store_sd(values.add(2), high);
            }
            _ => _mm256_storeu_pd(values, register),
        }
    }
}

/// The values at four addresses, loaded one by one: where they are in the nearest cache this takes half the time of an instruction
/// that gathers them (measured on Zen 4).
#[inline(always)]
pub(super) unsafe fn four_at(addresses: [*const f64; 4]) -> __m256d {
    // SAFETY: loads of the caller's values, and register operations of the instruction set that it runs on.
    unsafe {
        let [first, second, third, fourth] = addresses;
        let low = _mm_loadh_pd(_mm_load_sd(first), second);
        let high = _mm_loadh_pd(_mm_load_sd(third), fourth);
        _mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(low), high)
    }
}

/// The values in four columns, each number of which holds two.
#[inline(always)]
pub(super) unsafe fn four_in(values: *const f64, columns: [i64; 2]) -> __m256d {
    let value = |column: i64| values.wrapping_add(column as u32 as usize);
    let [first, second] = columns;
    // SAFETY: passed on to the caller.
    unsafe { four_at([value(first), value(first >> 32), value(second), value(second >> 32)]) }
}

/// The halves of a register.
#[inline(always)]
pub(super) unsafe fn halves(register: __m128i) -> [i64; 2] {
    // SAFETY: register operations of the instruction set that the caller runs on.
    unsafe { [_mm_cvtsi128_si64(register), _mm_extract_epi64::<1>(register)] }
}

/// Where a register of as many values as these can be loaded from, of which lanes beyond the count are not asked for: what is in
/// the first column, and a zero where there is none.
#[inline(always)]
pub(super) fn readable(values: *const f64, count: usize) -> *const f64 {
    static ZERO: f64 = 0.0;
    if count == 0 { &raw const ZERO } else { values }
}

/// Merges lanes `l` and `l + 2`: two lanes of `x` become the lower half, those of `y` the upper half.
#[inline(always)]
unsafe fn merge_halves<M: Merge>(x: Avx2, y: Avx2) -> Avx2 {
    // SAFETY: register operations of the instruction set that the caller runs on.
    unsafe {
        let low = _mm256_permute2f128_pd::<0x20>(x.0, y.0);
        let high = _mm256_permute2f128_pd::<0x31>(x.0, y.0);
        M::merge(Avx2(low), Avx2(high))
    }
}

/// The columns of four rows.
#[inline(always)]
unsafe fn turned(rows: [__m256d; 4]) -> [Avx2; 4] {
    // SAFETY: register operations of the instruction set that the caller runs on.
    unsafe {
        let [even, odd] = [_mm256_unpacklo_pd(rows[0], rows[1]), _mm256_unpackhi_pd(rows[0], rows[1])];
        let [later_even, later_odd] = [_mm256_unpacklo_pd(rows[2], rows[3]), _mm256_unpackhi_pd(rows[2], rows[3])];
        [
            Avx2(_mm256_permute2f128_pd::<0x20>(even, later_even)),
            Avx2(_mm256_permute2f128_pd::<0x20>(odd, later_odd)),
            Avx2(_mm256_permute2f128_pd::<0x31>(even, later_even)),
            Avx2(_mm256_permute2f128_pd::<0x31>(odd, later_odd)),
        ]
    }
}

/// Reduces four registers to one value each.
#[inline(always)]
unsafe fn reduce_four<M: Merge>(rows: [Avx2; 4]) -> [f64; 4] {
    // SAFETY: register operations of the instruction set that the caller runs on.
    unsafe {
        let even = merge_halves::<M>(rows[0], rows[2]);
        let odd = merge_halves::<M>(rows[1], rows[3]);
        let low = _mm256_unpacklo_pd(even.0, odd.0);
        let high = _mm256_unpackhi_pd(even.0, odd.0);
        transmute(M::merge(Avx2(low), Avx2(high)).0)
    }
}

impl Vector for Avx2 {
    type Mask = First;
    type Narrow = super::Portable;
    const LANES: usize = 4;

    register_methods! {
        fn splat(value: f64) -> Self = Avx2(_mm256_set1_pd(value));
        fn load(values: *const f64) -> Self = Avx2(_mm256_loadu_pd(values));
        fn load_f32(values: *const f32) -> Self = Avx2(_mm256_cvtps_pd(_mm_loadu_ps(values)));
        fn load_i32(values: *const i32) -> Self = Avx2(_mm256_cvtepi32_pd(_mm_loadu_si128(values.cast())));
        fn load_u8(values: *const u8) -> Self =
            Avx2(_mm256_cvtepi32_pd(_mm_cvtepu8_epi32(_mm_loadu_si32(values.cast()))));
        fn store(register: Self, values: *mut f64) = _mm256_storeu_pd(values, register.0);
        fn stream(register: Self, values: *mut f64) = _mm256_stream_pd(values, register.0);
        fn end_stream() = _mm_sfence();
        fn first(count: usize) -> First = First { count, bits: first_of_four(count) };
        fn load_first(values: *const f64, mask: First) -> Self = Avx2(_mm256_maskload_pd(values, mask.bits));
        fn store_first(register: Self, values: *mut f64, mask: First) =
            store_first_of_four(register.0, values, mask.count);
        fn prefetch(values: *const f64) = _mm_prefetch::<_MM_HINT_T0>(values.cast());
        fn select(mask: First, yes: Self, no: Self) -> Self =
            Avx2(_mm256_blendv_pd(no.0, yes.0, _mm256_castsi256_pd(mask.bits)));
        fn gather(values: *const f64, columns: *const u32) -> Self =
            Avx2(four_in(values, columns.cast::<[i64; 2]>().read_unaligned()));
        fn gather_first(values: *const f64, columns: *const u32, count: usize) -> Self = {
            // No branch on the count: nobody foresees where short rows end. The lanes behind it look at the first column.
            let mask = first_of_four(count);
            let narrow = _mm256_permutevar8x32_epi32(mask, _mm256_set_epi32(7, 5, 3, 1, 6, 4, 2, 0));
            let columns = _mm_maskload_epi32(columns.cast(), _mm256_castsi256_si128(narrow));
            let gathered = four_in(readable(values, count), halves(columns));
            Avx2(_mm256_and_pd(gathered, _mm256_castsi256_pd(mask)))
        };
        fn add(x: Self, y: Self) -> Self = Avx2(_mm256_add_pd(x.0, y.0));
        fn sub(x: Self, y: Self) -> Self = Avx2(_mm256_sub_pd(x.0, y.0));
        fn mul(x: Self, y: Self) -> Self = Avx2(_mm256_mul_pd(x.0, y.0));
        fn is_nonzero(x: Self) -> Self = {
            let nonzero = _mm256_cmp_pd::<_CMP_NEQ_UQ>(x.0, _mm256_setzero_pd());
            Avx2(_mm256_and_pd(nonzero, _mm256_set1_pd(1.0)))
        };
        fn nonzeros(x: Self) -> u32 =
            _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_NEQ_UQ>(x.0, _mm256_setzero_pd())) as u32;
        fn compress(x: Self, bits: u32, first: u32, columns: *mut u32, values: *mut f64) = {
            let lanes = lanes_of(bits);
            _mm_storeu_si128(columns.cast(), _mm_add_epi32(_mm_set1_epi32(first as i32), lanes));
            _mm256_storeu_pd(values, permuted(x.0, lanes));
        };
        fn compress_beside(x: Self, bits: u32, beside: *const u32, columns: *mut u32, values: *mut f64) = {
            let lanes = lanes_of(bits);
            let beside = _mm_castsi128_ps(_mm_loadu_si128(beside.cast()));
            _mm_storeu_si128(columns.cast(), _mm_castps_si128(_mm_permutevar_ps(beside, lanes)));
            _mm256_storeu_pd(values, permuted(x.0, lanes));
        };
        fn mul_add(x: Self, y: Self, addend: Self) -> Self = Avx2(_mm256_fmadd_pd(x.0, y.0, addend.0));
        // The instruction yields its second operand on ties and for NaN; only a NaN in the first is missing.
        fn min(x: Self, y: Self) -> Self = {
            let nan = _mm256_cmp_pd::<_CMP_UNORD_Q>(x.0, x.0);
            Avx2(_mm256_blendv_pd(_mm256_min_pd(x.0, y.0), x.0, nan))
        };
        fn max(x: Self, y: Self) -> Self = {
            let nan = _mm256_cmp_pd::<_CMP_UNORD_Q>(x.0, x.0);
            Avx2(_mm256_blendv_pd(_mm256_max_pd(x.0, y.0), x.0, nan))
        };
        fn reduce_eight<M: Merge>(rows: [Self; 8]) -> [f64; 8] = transmute([
            reduce_four::<M>([rows[0], rows[1], rows[2], rows[3]]),
            reduce_four::<M>([rows[4], rows[5], rows[6], rows[7]]),
        ]);
        fn load_block(values: *const f64, count: usize) -> [f64; BLOCK] = transmute([
            _mm256_maskload_pd(values, first_of_four(count.min(4))),
            _mm256_maskload_pd(values.wrapping_add(4), first_of_four(count.max(4) - 4)),
        ]);
        fn store_block(block: [f64; BLOCK], values: *mut f64, count: usize) = {
            let [low, high] = transmute::<[f64; BLOCK], [__m256d; 2]>(block);
            store_first_of_four(low, values, count.min(4));
            store_first_of_four(high, values.wrapping_add(4), count.max(4) - 4);
        };
        fn load_columns(values: *const f64, row: usize) -> [Self; BLOCK] = {
            let rows = [0, 1, 2, 3].map(|r| _mm256_loadu_pd(values.wrapping_add(r * row)));
            let mut columns = [Avx2(_mm256_setzero_pd()); BLOCK];
            columns[..4].copy_from_slice(&turned(rows));
            columns
        };
        fn load_first_columns(values: *const f64, row: usize, count: usize) -> [Self; BLOCK] = {
            let mut columns = [Self::splat(0.0); BLOCK];
            for (index, column) in columns.iter_mut().enumerate().take(count) {
                *column = Self::load_column(values.wrapping_add(index), row);
            }
            columns
        };
        fn load_column(values: *const f64, row: usize) -> Self = Avx2(_mm256_set_pd(
            *values.add(3 * row), *values.add(2 * row), *values.add(row), *values));
    }
}
