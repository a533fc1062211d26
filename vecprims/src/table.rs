//! The table of primitives: the same functions, compiled once per instruction set.

use crate::body::elementwise::{self, Operand};
use crate::body::product::{self, Rows};
use crate::body::reduce::{Aggregate, Max, Mean, Min, Nnz, Prod, Sum, SumSq, Var};
use crate::body::sparse::{self, CsrRows};
use crate::body::{column, copy as copies, matrix, positions, rows, sampled, scaled, windows};
use crate::family::*;
use crate::isa::Isa;
use crate::kernel::{Elementwise, binary_entries, ternary_entries, unary_entries};
use crate::vector::{BLOCK, Element};
use fuseline_ops::{AggOp, BinaryOp, TernaryOp, UnaryOp, Windows};

/// The primitives of one instruction set. Tables over operations are in the order of `ALL`.
#[derive(Debug)]
pub struct Primitives {
    pub(crate) isa: Isa,
    pub(crate) unary: [UnaryFn; UnaryOp::ALL.len()],
    pub(crate) binary_vv: [BinaryFn; BinaryOp::ALL.len()],
    pub(crate) binary_vs: [BinaryFn; BinaryOp::ALL.len()],
    pub(crate) binary_sv: [BinaryFn; BinaryOp::ALL.len()],
    pub(crate) ternary: [TernaryFn; TernaryOp::ALL.len()],
    pub(crate) copy: UnaryFn,
    /// For skeletons alone: generated code has no name for it.
    pub(crate) stream: UnaryFn,
    pub(crate) spread: UnaryFn,
    pub(crate) row_agg: [RowAggFn; AggOp::ALL.len()],
    pub(crate) row_cumulative: [UnaryFn; AggOp::ALL.len()],
    pub(crate) full_agg: [FullAggFn; AggOp::ALL.len()],
    pub(crate) col_agg: [ColAggFn; AggOp::ALL.len()],
    pub(crate) dot_product: DotProductFn,
    /// For kernels alone.
    pub(crate) dot_f32: NarrowDotFn<f32>,
    pub(crate) dot_i32: NarrowDotFn<i32>,
    pub(crate) dot_u8: NarrowDotFn<u8>,
    /// For formats alone.
    pub(crate) compress: CompressFn,
    /// For formats alone.
    pub(crate) nonzero_bits: NonzeroBitsFn,
    /// For formats alone.
    pub(crate) keep_nonzeros: KeepNonzerosFn,
    /// For what safe methods check alone.
    pub(crate) largest_column: LargestColumnFn,
    /// For who checks positions alone.
    pub(crate) descents: DescentsFn,
    pub(crate) vect_mat_mult: VectMatMultFn,
    pub(crate) mat_mult_add: MatMultAddFn,
    pub(crate) outer_mult_add: OuterMultAddFn,
    pub(crate) segment_row_agg: [SegmentRowAggFn; AggOp::ALL.len()],
    pub(crate) sparse_col_agg: [SparseColAggFn; AggOp::ALL.len()],
    pub(crate) segment_spread: SegmentSpreadFn,
    pub(crate) sparse_gather: SparseGatherFn,
    pub(crate) sparse_scatter: SparseScatterFn,
    pub(crate) segment_dot_product: SegmentDotProductFn,
    pub(crate) sparse_dot_product: SparseDotProductFn,
    pub(crate) sparse_vect_mat_mult: SparseMatMultFn,
    pub(crate) sparse_mat_mult_add: SparseMatMultFn,
    pub(crate) sparse_outer_mult_add: SparseMatMultFn,
    pub(crate) sampled_product: SampledProductFn,
    pub(crate) tile_mat_mult: TileMatMultFn,
    pub(crate) max_pool: WindowsFn,
    pub(crate) avg_pool: WindowsFn,
    pub(crate) unfold: WindowsFn,
    pub(crate) convolve: ConvolveFn,
    /// Functions from registers to registers.
    pub(crate) math_unary: [Code; UnaryOp::ALL.len()],
    pub(crate) math_binary: [Code; BinaryOp::ALL.len()],
}

/// Products of rows of narrow values, one behind the other, with a vector.
pub(crate) type NarrowDotFn<T> =
    unsafe extern "C" fn(rows: usize, len: usize, a: *const T, b: *const f64, out: *mut f64);

/// The largest of some columns.
pub(crate) type LargestColumnFn = unsafe extern "C" fn(count: usize, columns: *const u32, out: *mut u32);

/// How many columns are not above the one before.
pub(crate) type DescentsFn = unsafe extern "C" fn(count: usize, columns: *const u32, out: *mut usize);

/// The cells that are not zero with their columns, and how many they are.
pub(crate) type CompressFn = unsafe extern "C" fn(
    len: usize,
    cells: *const f64,
    room: usize,
    columns: *mut u32,
    values: *mut f64,
    kept: *mut usize,
);

/// A bit for each value that is not zero.
pub(crate) type NonzeroBitsFn = unsafe extern "C" fn(count: usize, values: *const f64, words: *mut u64);

/// The stored positions whose values are not zero, and how many they are.
pub(crate) type KeepNonzerosFn = unsafe extern "C" fn(
    count: usize,
    columns: *const u32,
    values: *const f64,
    room: usize,
    columns_out: *mut u32,
    values_out: *mut f64,
    kept: *mut usize,
);

/// A function whose type only its callers know.
pub(crate) type Code = unsafe extern "C" fn();

/// Compiles one function of a family for an instruction set.
macro_rules! define_wrapper {
    ([$(#[$features:meta])*] $name:ident [$($generic:tt)*] ($($arg:ident: $arg_type:ty),*) $body:expr) => {
        $(#[$features])*
        #[allow(clippy::too_many_arguments, reason = "the arguments of the primitive")]
        unsafe extern "C" fn $name<$($generic)*>($($arg: $arg_type),*) {
            // SAFETY: the table's contract: the machine has the instruction set, and the arguments describe live memory.
            unsafe { $body }
        }
    };
}

/// Compiles every family for an instruction set.
macro_rules! define_wrappers {
    ($features:tt $($type:ident $kinds:ident $args:tt { $($name:ident $generic:tt = $body:expr;)* })*) => {
        $($(define_wrapper!($features $name $generic $args $body);)*)*
    };
}

/// Defines the module of an instruction set, with its table.
macro_rules! define_isa {
    ($module:ident, $isa:expr, $vector:ident, $registers:literal, $register:ty, $lanes:literal, $features:tt) => {
        mod $module {
            use super::*;
            use crate::vector::$vector as V;

            /// Registers that hold 32 lanes.
            const N: usize = $registers;

            for_each_family!(define_wrappers $features);
            define_wrapper!(
                $features narrow_dot [T: Element] (rows: usize, len: usize, a: *const T, b: *const f64, out: *mut f64)
                product::narrow_dot_product::<V, T, N>(rows, len, a, b, out)
            );
            define_wrapper!(
                $features largest_column [] (count: usize, columns: *const u32, out: *mut u32)
                positions::largest(count, columns, out)
            );
            define_wrapper!(
                $features descents [] (count: usize, columns: *const u32, out: *mut usize)
                *out = positions::descents(count, columns)
            );
            define_wrapper!(
                $features compress []
                (len: usize, cells: *const f64, room: usize, columns: *mut u32, values: *mut f64, kept: *mut usize)
                *kept = positions::compress::<V>(len, cells, room, columns, values)
            );
            define_wrapper!(
                $features nonzero_bits [] (count: usize, values: *const f64, words: *mut u64)
                positions::nonzero_bits::<V>(count, values, words)
            );
            define_wrapper!(
                $features keep_nonzeros []
                (
                    count: usize, columns: *const u32, values: *const f64,
                    room: usize, columns_out: *mut u32, values_out: *mut f64, kept: *mut usize
                )
                *kept = positions::keep_nonzeros::<V>(count, columns, values, room, columns_out, values_out)
            );
            define_math!($register, $lanes, $features);

            pub(super) static PRIMITIVES: Primitives = Primitives {
                isa: $isa,
                unary: unary_entries!(unary),
                binary_vv: binary_entries!(binary_vv),
                binary_vs: binary_entries!(binary_vs),
                binary_sv: binary_entries!(binary_sv),
                ternary: ternary_entries!(ternary),
                copy,
                stream,
                spread,
                row_agg: aggregate_entries!(row_agg),
                row_cumulative: aggregate_entries!(row_cumulative),
                full_agg: aggregate_entries!(full_agg),
                col_agg: aggregate_entries!(col_agg),
                dot_product,
                dot_f32: narrow_dot::<f32>,
                dot_i32: narrow_dot::<i32>,
                dot_u8: narrow_dot::<u8>,
                compress,
                nonzero_bits,
                keep_nonzeros,
                largest_column,
                descents,
                vect_mat_mult,
                mat_mult_add,
                outer_mult_add,
                segment_row_agg: aggregate_entries!(segment_row_agg),
                sparse_col_agg: aggregate_entries!(sparse_col_agg),
                segment_spread,
                sparse_gather,
                sparse_scatter,
                segment_dot_product,
                sparse_dot_product,
                sparse_vect_mat_mult,
                sparse_mat_mult_add,
                sparse_outer_mult_add,
                sampled_product,
                tile_mat_mult,
                max_pool,
                avg_pool,
                unfold,
                convolve,
                math_unary: math_codes!(unary_entries, math_unary, UnaryOp, ($register)),
                math_binary: math_codes!(binary_entries, math_binary, BinaryOp, ($register, $register)),
            };
        }
    };
}

/// `wrapper` of every aggregation function, in the order of [`AggOp::ALL`].
macro_rules! aggregate_entries {
    ($wrapper:ident $($arguments:tt)?) => {
        [
            $wrapper::<Sum>$($arguments)?,
            $wrapper::<SumSq>$($arguments)?,
            $wrapper::<Min>$($arguments)?,
            $wrapper::<Max>$($arguments)?,
            $wrapper::<Prod>$($arguments)?,
            $wrapper::<Nnz>$($arguments)?,
            $wrapper::<Mean>$($arguments)?,
            $wrapper::<Var>$($arguments)?,
        ]
    };
}

const _: () = {
    const fn position<A: Aggregate>() -> usize {
        A::OP as usize
    }
    let order = aggregate_entries!(position());
    assert!(order.len() == AggOp::ALL.len(), "aggregate_entries lists every aggregation function");
    let mut index = 0;
    while index < order.len() {
        assert!(order[index] == AggOp::ALL[index] as usize, "aggregate_entries follows the order of AggOp::ALL");
        index += 1;
    }
};

/// Compiles the functions from registers to registers. They compute a whole block and keep its first lanes: the
/// compiler vectorises the loop over a block (but unrolls a shorter one into scalars), then drops the lanes that nobody
/// reads.
macro_rules! define_math {
    ($register:ty, $lanes:literal, [$(#[$features:meta])*]) => {
        $(#[$features])*
        #[allow(improper_ctypes_definitions, reason = "registers pass as the C ABI and LLVM agree on for vectors")]
        unsafe extern "C" fn math_unary<K: Elementwise<1>>(x: $register) -> $register {
            // SAFETY: a register is an array of its lanes.
            unsafe {
                let mut x_block = [0.0; BLOCK];
                x_block[..$lanes].copy_from_slice(&std::mem::transmute::<$register, [f64; $lanes]>(x));
                let result = elementwise::apply::<K, 1>(&[x_block]);
                std::ptr::read_unaligned(result.as_ptr().cast())
            }
        }

        $(#[$features])*
        #[allow(improper_ctypes_definitions, reason = "registers pass as the C ABI and LLVM agree on for vectors")]
        unsafe extern "C" fn math_binary<K: Elementwise<2>>(x: $register, y: $register) -> $register {
            // SAFETY: a register is an array of its lanes.
            unsafe {
                let mut blocks = [[0.0; BLOCK]; 2];
                blocks[0][..$lanes].copy_from_slice(&std::mem::transmute::<$register, [f64; $lanes]>(x));
                blocks[1][..$lanes].copy_from_slice(&std::mem::transmute::<$register, [f64; $lanes]>(y));
                let result = elementwise::apply::<K, 2>(&blocks);
                std::ptr::read_unaligned(result.as_ptr().cast())
            }
        }
    };
}

/// The register functions of every operation of an arity as opaque code.
macro_rules! math_codes {
    ($entries:ident, $wrapper:ident, $op:ident, ($($register:ty),*)) => {
        // SAFETY: function pointers all have one representation; whoever calls the code knows its type.
        unsafe {
            std::mem::transmute::<[unsafe extern "C" fn($($register),*) -> register_of!($($register),*); $op::ALL.len()], [Code; $op::ALL.len()]>(
                $entries!($wrapper),
            )
        }
    };
}

/// The first of a list of types.
macro_rules! register_of {
    ($register:ty $(, $more:ty)*) => {
        $register
    };
}

#[cfg(target_arch = "x86_64")]
define_isa!(avx512, Isa::Avx512, Avx512, 4, std::arch::x86_64::__m512d, 8,
    [#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,bmi2")]]);
#[cfg(target_arch = "x86_64")]
define_isa!(avx2, Isa::Avx2, Avx2, 8, std::arch::x86_64::__m256d, 4, [#[target_feature(enable = "avx2,fma,bmi2")]]);
#[cfg(target_arch = "x86_64")]
define_isa!(portable, Isa::Portable, Portable, 16, std::arch::x86_64::__m128d, 2, []);
#[cfg(target_arch = "aarch64")]
define_isa!(portable, Isa::Portable, Portable, 16, std::arch::aarch64::float64x2_t, 2, []);

/// The primitives of an instruction set.
///
/// # Panics
/// If this machine lacks the instruction set: [`Isa::available`] says which it has.
pub fn primitives(isa: Isa) -> &'static Primitives {
    assert!(isa.is_available(), "this machine has no {isa}");
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => &avx512::PRIMITIVES,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => &avx2::PRIMITIVES,
        #[cfg(not(target_arch = "x86_64"))]
        Isa::Avx512 | Isa::Avx2 => unreachable!("not available on this architecture"),
        Isa::Portable => &portable::PRIMITIVES,
    }
}
