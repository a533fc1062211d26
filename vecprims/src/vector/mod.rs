//! Registers: the dozen operations that reductions and products are written with.
//!
//! The algorithms in [`crate::body`] are generic over [`Vector`] and inlined into one wrapper per instruction set that
//! enables its instructions; nothing here may be called from anywhere else.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod element;
mod portable;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::Avx512;
pub(crate) use element::Element;
pub(crate) use portable::Portable;

/// Values that element-wise bodies hand to the scalar references at a time.
pub(crate) const BLOCK: usize = 8;

/// How two accumulators become one.
pub(crate) trait Merge {
    /// Merges lane by lane; `x` is the lane with the smaller number.
    ///
    /// # Safety
    /// The contract of [`Vector`].
    unsafe fn merge<V: Vector>(x: V, y: V) -> V;
}

/// A register of `LANES` values.
///
/// # Safety
/// Every method needs the instruction set of the implementation, and live memory for the lanes it loads or stores.
pub(crate) trait Vector: Copy {
    /// Chooses the first lanes.
    type Mask: Copy;
    /// A register of half the lanes, where there is one.
    type Narrow: Vector;
    /// Values in the register.
    const LANES: usize;

    /// Every lane holds `value`.
    unsafe fn splat(value: f64) -> Self;
    /// Loads `LANES` values, of any alignment.
    unsafe fn load(values: *const f64) -> Self;
    /// Loads `LANES` values and widens them.
    unsafe fn load_f32(values: *const f32) -> Self;
    /// Loads `LANES` values and widens them.
    unsafe fn load_i32(values: *const i32) -> Self;
    /// Loads `LANES` values and widens them.
    unsafe fn load_u8(values: *const u8) -> Self;
    /// Stores `LANES` values, of any alignment.
    unsafe fn store(register: Self, values: *mut f64);
    /// Stores `LANES` values, aligned to the register, past the caches where there is a way.
    unsafe fn stream(register: Self, values: *mut f64);
    /// Makes what was streamed visible before whatever is stored later.
    unsafe fn end_stream();
    /// The mask of the first `count` lanes (at most `LANES`).
    unsafe fn first(count: usize) -> Self::Mask;
    /// Loads the chosen lanes; the others hold `+0.0` and are not read.
    unsafe fn load_first(values: *const f64, mask: Self::Mask) -> Self;
    /// Stores the chosen lanes.
    unsafe fn store_first(register: Self, values: *mut f64, mask: Self::Mask);
    /// Asks for the cache line of an address, live or not.
    unsafe fn prefetch(values: *const f64);
    /// The chosen lanes of `yes`, the others of `no`.
    unsafe fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// Loads `values[columns[l]]` for every lane.
    unsafe fn gather(values: *const f64, columns: *const u32) -> Self;
    /// Loads `values[columns[l]]` for the first `count` lanes; the others hold `+0.0`.
    unsafe fn gather_first(values: *const f64, columns: *const u32, count: usize) -> Self;
    /// `x + y`.
    unsafe fn add(x: Self, y: Self) -> Self;
    /// `x - y`.
    unsafe fn sub(x: Self, y: Self) -> Self;
    /// `x * y`.
    unsafe fn mul(x: Self, y: Self) -> Self;
    /// 1.0 where `x` is not zero (NaN is not), else 0.0.
    unsafe fn is_nonzero(x: Self) -> Self;
    /// A bit for each lane that is not zero (NaN is not), the first lane's last.
    unsafe fn nonzeros(x: Self) -> u32;
    /// Stores the lanes that bits name, one behind the other, and `first` plus their numbers as their columns. There is memory for
    /// `LANES` of both, and what lies behind the stored ones is overwritten.
    unsafe fn compress(x: Self, bits: u32, first: u32, columns: *mut u32, values: *mut f64);
    /// Stores the lanes that bits name, and what lies beside them at `beside`, one behind the other. There is memory for `LANES` of
    /// both, and what lies behind the stored ones is overwritten.
    unsafe fn compress_beside(x: Self, bits: u32, beside: *const u32, columns: *mut u32, values: *mut f64);
    /// `x * y + addend`, rounded once.
    unsafe fn mul_add(x: Self, y: Self, addend: Self) -> Self;
    /// `ops::math::min(x, y)`.
    unsafe fn min(x: Self, y: Self) -> Self;
    /// `ops::math::max(x, y)`.
    unsafe fn max(x: Self, y: Self) -> Self;
    /// Merges the lanes of each of eight registers into one value, lanes `l` and `l + LANES/2` first, and so on.
    unsafe fn reduce_eight<M: Merge>(rows: [Self; 8]) -> [f64; 8];
    /// Loads `count` values (at most [`BLOCK`]) and pads with `+0.0`.
    unsafe fn load_block(values: *const f64, count: usize) -> [f64; BLOCK];
    /// Stores the first `count` values of a block.
    unsafe fn store_block(block: [f64; BLOCK], values: *mut f64, count: usize);
    /// Loads `LANES` rows of `LANES` values, `row` values apart, as one register for each column, in the first `LANES` of
    /// the result.
    unsafe fn load_columns(values: *const f64, row: usize) -> [Self; BLOCK];
    /// Loads `count` values, fewer than `LANES`, of each of `LANES` rows, in the first registers of the result.
    unsafe fn load_first_columns(values: *const f64, row: usize, count: usize) -> [Self; BLOCK];
    /// Loads one value of each of `LANES` rows.
    unsafe fn load_column(values: *const f64, row: usize) -> Self;
}

/// Writes out the methods of an implementation: each is one expression over intrinsics.
macro_rules! register_methods {
    ($(fn $name:ident $(<$generic:ident: $bound:path>)? ($($arg:ident: $type:ty),*) $(-> $result:ty)? = $body:expr;)*) => {
        $(
            #[inline(always)]
            #[allow(unused_unsafe, reason = "some bodies happen to be safe")]
            unsafe fn $name $(<$generic: $bound>)? ($($arg: $type),*) $(-> $result)? {
                // SAFETY: the trait's contract gives the instruction set and live memory for every lane accessed.
                unsafe { $body }
            }
        )*
    };
}
pub(crate) use register_methods;
