//! The families of primitives: one row gives a function type, its argument list as data, and the bodies.

use fuseline_ops::Windows;

/// The kind of one argument of a primitive, as a code generator declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArgKind {
    /// A count or stride (`usize`, in values).
    Usize,
    /// Values that are read (`*const f64`).
    Values,
    /// Values that are written (`*mut f64`); they overlap no other argument.
    ValuesMut,
    /// CSR row offsets (`*const usize`).
    Offsets,
    /// CSR column indexes (`*const u32`).
    Columns,
    /// How windows lie in an image (`*const Windows`).
    Windows,
}

/// A type that primitives take.
trait Argument {
    const KIND: ArgKind;
}

impl Argument for usize {
    const KIND: ArgKind = ArgKind::Usize;
}
impl Argument for *const f64 {
    const KIND: ArgKind = ArgKind::Values;
}
impl Argument for *mut f64 {
    const KIND: ArgKind = ArgKind::ValuesMut;
}
impl Argument for *const usize {
    const KIND: ArgKind = ArgKind::Offsets;
}
impl Argument for *const u32 {
    const KIND: ArgKind = ArgKind::Columns;
}
impl Argument for *const Windows {
    const KIND: ArgKind = ArgKind::Windows;
}

/// Calls a macro with every family: the function type, the constant of its argument kinds, the arguments, and the
/// functions of that type, each with what it is generic over and its body (over register type `V`, `N` of which hold
/// 32 lanes). What follows the callback's name is handed to it first.
macro_rules! for_each_family {
    ($callback:ident $($context:tt)*) => {
        $callback! { $($context)*
            UnaryFn UNARY (rows: usize, len: usize, a: *const f64, a_row: usize, out: *mut f64, out_row: usize) {
                unary [K: Elementwise<1>] = elementwise::tile::<V, K, 1>(rows, len, [Operand::cells(a, a_row)], out, out_row);
                row_cumulative [A: Aggregate] = rows::row_cumulative::<A>(rows, len, a, a_row, out, out_row);
                copy [] = copies::copy::<V>(rows, len, Rows::new(a, a_row), out, out_row);
                stream [] = copies::stream::<V>(rows, len, Rows::new(a, a_row), out, out_row);
                spread [] = copies::spread::<V>(rows, len, Rows::new(a, a_row), out, out_row);
            }
            BinaryFn BINARY (rows: usize, len: usize, a: *const f64, a_row: usize, b: *const f64, b_row: usize, out: *mut f64, out_row: usize) {
                binary_vv [K: Elementwise<2>] = {
                    // One value for all rows of single cells is one value for the run that they make.
                    match (len, a_row, b_row) {
                        (1, 1.., 0) => binary_vs::<K>(rows, len, a, a_row, b, b_row, out, out_row),
                        (1, 0, 1..) => binary_sv::<K>(rows, len, a, a_row, b, b_row, out, out_row),
                        _ => elementwise::tile::<V, K, 2>(rows, len, [Operand::cells(a, a_row), Operand::cells(b, b_row)], out, out_row),
                    }
                };
                binary_vs [K: Elementwise<2>] = {
                    let operands = [Operand::cells(a, a_row), Operand::scalar(b, b_row)];
                    let is_done = elementwise::narrow(rows, len, operands, out, out_row, spread, |cells, [a, b], out| binary_vv::<K>(1, cells, a, cells, b, 0, out, cells));
                    if !is_done {
                        elementwise::tile::<V, K, 2>(rows, len, operands, out, out_row);
                    }
                };
                binary_sv [K: Elementwise<2>] = {
                    let operands = [Operand::scalar(a, a_row), Operand::cells(b, b_row)];
                    let is_done = elementwise::narrow(rows, len, operands, out, out_row, spread, |cells, [a, b], out| binary_vv::<K>(1, cells, a, 0, b, cells, out, cells));
                    if !is_done {
                        elementwise::tile::<V, K, 2>(rows, len, operands, out, out_row);
                    }
                };
            }
            TernaryFn TERNARY (rows: usize, len: usize, a: *const f64, a_row: usize, a_col: usize, b: *const f64, b_row: usize, b_col: usize, c: *const f64, c_row: usize, c_col: usize, out: *mut f64, out_row: usize) {
                ternary [K: Elementwise<3>] = {
                    let operands = [(a, a_row, a_col), (b, b_row, b_col), (c, c_row, c_col)].map(|(values, row, column)| Operand::with_column_stride(values, row, column));
                    let is_done = elementwise::narrow(rows, len, operands, out, out_row, spread, |cells, [a, b, c], out| {
                        let [a_row, b_row, c_row] = operands.map(|operand| if operand.broadcast { 0 } else { cells });
                        ternary::<K>(1, cells, a, a_row, 1, b, b_row, 1, c, c_row, 1, out, cells);
                    });
                    if !is_done {
                        elementwise::ternary::<V, K>(rows, len, operands, out, out_row);
                    }
                };
            }
            RowAggFn ROW_AGG (rows: usize, len: usize, a: *const f64, a_row: usize, out: *mut f64, out_row: usize) {
                row_agg [A: Aggregate] = rows::row_agg::<V, A, N>(rows, len, a, a_row, out, out_row);
            }
            FullAggFn FULL_AGG (rows: usize, len: usize, a: *const f64, a_row: usize, out: *mut f64) {
                full_agg [A: Aggregate] = rows::full_agg::<V, A, N>(rows, len, a, a_row, out);
            }
            ColAggFn COL_AGG (rows: usize, len: usize, a: *const f64, a_row: usize, acc: *mut f64) {
                col_agg [A: Aggregate] = column::col_agg::<V, A>(rows, len, a, a_row, acc);
            }
            DotProductFn DOT_PRODUCT (rows: usize, len: usize, a: *const f64, a_row: usize, b: *const f64, b_row: usize, out: *mut f64, out_row: usize) {
                dot_product [] = product::dot_product::<V, N>(rows, len, Rows::new(a, a_row), Rows::new(b, b_row), out, out_row);
            }
            VectMatMultFn VECT_MAT_MULT (rows: usize, len: usize, k: usize, a: *const f64, a_row: usize, factor: *const f64, out: *mut f64, out_row: usize) {
                vect_mat_mult [] = product::vect_mat_mult::<V, N>((rows, len, k), Rows::new(a, a_row), factor, out, out_row);
            }
            MatMultAddFn MAT_MULT_ADD (rows: usize, len: usize, k: usize, a: *const f64, a_row: usize, b: *const f64, b_row: usize, out: *mut f64, out_row: usize) {
                mat_mult_add [] = matrix::mat_mult_add::<V>((rows, len, k), Rows::new(a, a_row), Rows::new(b, b_row), out, out_row);
            }
            OuterMultAddFn OUTER_MULT_ADD (rows: usize, n: usize, k: usize, a: *const f64, a_row: usize, b: *const f64, b_row: usize, acc: *mut f64, acc_row: usize) {
                outer_mult_add [] = column::outer_mult_add::<V>((rows, n, k), Rows::new(a, a_row), Rows::new(b, b_row), acc, acc_row);
            }
            SegmentRowAggFn SEGMENT_ROW_AGG (rows: usize, row_offsets: *const usize, a: *const f64, cols: usize, out: *mut f64, out_row: usize) {
                segment_row_agg [A: Aggregate] = rows::segment_row_agg::<V, A, N>(rows, row_offsets, a, cols, out, out_row);
            }
            SparseColAggFn SPARSE_COL_AGG (rows: usize, row_offsets: *const usize, columns: *const u32, a: *const f64, acc: *mut f64) {
                sparse_col_agg [A: Aggregate] = sparse::col_agg::<A>(CsrRows::new(rows, row_offsets, columns, a), acc);
            }
            SegmentSpreadFn SEGMENT_SPREAD (rows: usize, row_offsets: *const usize, a: *const f64, a_row: usize, out: *mut f64) {
                segment_spread [] = positions::spread::<V>(CsrRows::new(rows, row_offsets, std::ptr::null(), a), Rows::new(a, a_row), out);
            }
            SparseGatherFn SPARSE_GATHER (rows: usize, row_offsets: *const usize, columns: *const u32, b: *const f64, b_row: usize, out: *mut f64) {
                sparse_gather [] = positions::gather::<V>(CsrRows::new(rows, row_offsets, columns, b), Rows::new(b, b_row), out);
            }
            SparseScatterFn SPARSE_SCATTER (rows: usize, row_offsets: *const usize, columns: *const u32, a: *const f64, cols: usize, b: *const f64, b_row: usize, out: *mut f64, out_row: usize) {
                sparse_scatter [] = positions::scatter::<V>(CsrRows::new(rows, row_offsets, columns, a), cols, Rows::new(b, b_row), out, out_row);
            }
            SegmentDotProductFn SEGMENT_DOT_PRODUCT (rows: usize, row_offsets: *const usize, a: *const f64, b: *const f64, out: *mut f64, out_row: usize) {
                segment_dot_product [] = positions::dot_product::<V, N>(CsrRows::new(rows, row_offsets, std::ptr::null(), a), b, out, out_row);
            }
            SparseDotProductFn SPARSE_DOT_PRODUCT (rows: usize, row_offsets: *const usize, columns: *const u32, a: *const f64, b: *const f64, b_row: usize, out: *mut f64, out_row: usize) {
                sparse_dot_product [] = sparse::dot_product::<V, N>(CsrRows::new(rows, row_offsets, columns, a), Rows::new(b, b_row), out, out_row);
            }
            SparseMatMultFn SPARSE_MAT_MULT (rows: usize, row_offsets: *const usize, columns: *const u32, a: *const f64, k: usize, b: *const f64, b_row: usize, out: *mut f64, out_row: usize) {
                sparse_vect_mat_mult [] = sparse::mat_mult::<V, false>(CsrRows::new(rows, row_offsets, columns, a), k, Rows::new(b, b_row), out, out_row);
                sparse_mat_mult_add [] = sparse::mat_mult::<V, true>(CsrRows::new(rows, row_offsets, columns, a), k, Rows::new(b, b_row), out, out_row);
                sparse_outer_mult_add [] = scaled::outer_mult_add::<V>(CsrRows::new(rows, row_offsets, columns, a), k, Rows::new(b, b_row), out, out_row);
            }
            TileMatMultFn TILE_MAT_MULT (rows: usize, cols: usize, inner: usize, a: *const f64, a_row: usize, panels: *const f64, out: *mut f64, out_row: usize) {
                tile_mat_mult [] = matrix::tile_mat_mult::<V>((rows, cols, inner), Rows::new(a, a_row), panels, out, out_row);
            }
            WindowsFn WINDOWS (rows: usize, windows: *const Windows, a: *const f64, a_row: usize, out: *mut f64, out_row: usize) {
                max_pool [] = windows::pool::<windows::Largest>(rows, windows, Rows::new(a, a_row), out, out_row);
                avg_pool [] = windows::pool::<windows::MeanOfAll>(rows, windows, Rows::new(a, a_row), out, out_row);
                unfold [] = windows::unfold(rows, windows, Rows::new(a, a_row), out, out_row);
            }
            ConvolveFn CONVOLVE (rows: usize, filters: usize, len: usize, k: usize, a: *const f64, a_row: usize, b: *const f64, b_row: usize, out: *mut f64, out_row: usize) {
                convolve [] = windows::convolve::<V>((rows, filters, len, k), Rows::new(a, a_row), Rows::new(b, b_row), out, out_row);
            }
            SampledProductFn SAMPLED_PRODUCT (rows: usize, row_offsets: *const usize, columns: *const u32, rank: usize, u: *const f64, u_row: usize, v: *const f64, v_row: usize, out: *mut f64) {
                sampled_product [] = sampled::sampled_product::<V, N>(CsrRows::new(rows, row_offsets, columns, u), rank, Rows::new(u, u_row), Rows::new(v, v_row), out);
            }
        }
    };
}
pub(crate) use for_each_family;

macro_rules! define_types {
    ($($type:ident $kinds:ident ($($arg:ident: $arg_type:ty),*) $bodies:tt)*) => {
        $(
            pub(crate) type $type = unsafe extern "C" fn($($arg: $arg_type),*);
            pub(crate) const $kinds: &[ArgKind] = &[$(<$arg_type as Argument>::KIND),*];
        )*
    };
}
for_each_family!(define_types);
