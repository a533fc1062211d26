//! Two lanes in plain Rust: compiles to the registers that every processor of the target has (SSE2, NEON).

use super::{BLOCK, Merge, Vector, register_methods};
use fuseline_ops::math;
use std::ptr::{read_unaligned, write_unaligned};

/// A register of two values.
#[derive(Clone, Copy)]
pub(crate) struct Portable([f64; 2]);

impl Portable {
    /// One value, for scalar uses of register operations.
    #[inline(always)]
    pub(crate) fn from_value(value: f64) -> Portable {
        Portable([value, 0.0])
    }

    /// The value in the first lane.
    #[inline(always)]
    pub(crate) fn value(self) -> f64 {
        self.0[0]
    }
}

impl Vector for Portable {
    type Mask = usize;
    type Narrow = Portable;
    const LANES: usize = 2;

    register_methods! {
        fn splat(value: f64) -> Self = Portable([value; 2]);
        fn load(values: *const f64) -> Self = Portable(read_unaligned(values.cast()));
        fn load_f32(values: *const f32) -> Self = Portable([f64::from(*values), f64::from(*values.add(1))]);
        fn load_i32(values: *const i32) -> Self = Portable([f64::from(*values), f64::from(*values.add(1))]);
        fn load_u8(values: *const u8) -> Self = Portable([f64::from(*values), f64::from(*values.add(1))]);
        fn store(register: Self, values: *mut f64) = write_unaligned(values.cast(), register.0);
        // Plain Rust has no such stores.
        fn stream(register: Self, values: *mut f64) = write_unaligned(values.cast(), register.0);
        fn end_stream() = ();
        fn first(count: usize) -> usize = count;
        fn load_first(values: *const f64, mask: usize) -> Self = {
            let mut lanes = [0.0; 2];
            std::ptr::copy_nonoverlapping(values, lanes.as_mut_ptr(), mask);
            Portable(lanes)
        };
        fn store_first(register: Self, values: *mut f64, mask: usize) =
            std::ptr::copy_nonoverlapping(register.0.as_ptr(), values, mask);
        // Baseline instruction sets are left to their hardware.
        fn prefetch(_values: *const f64) = ();
        fn select(mask: usize, yes: Self, no: Self) -> Self =
            Portable([if mask > 0 { yes.0[0] } else { no.0[0] }, if mask > 1 { yes.0[1] } else { no.0[1] }]);
        fn gather(values: *const f64, columns: *const u32) -> Self =
            Portable([*values.add(*columns as usize), *values.add(*columns.add(1) as usize)]);
        fn gather_first(values: *const f64, columns: *const u32, count: usize) -> Self = {
            let mut lanes = [0.0; 2];
            for (lane, value) in lanes.iter_mut().enumerate().take(count) {
                *value = *values.add(*columns.add(lane) as usize);
            }
            Portable(lanes)
        };
        fn add(x: Self, y: Self) -> Self = Portable([x.0[0] + y.0[0], x.0[1] + y.0[1]]);
        fn sub(x: Self, y: Self) -> Self = Portable([x.0[0] - y.0[0], x.0[1] - y.0[1]]);
        fn mul(x: Self, y: Self) -> Self = Portable([x.0[0] * y.0[0], x.0[1] * y.0[1]]);
        fn is_nonzero(x: Self) -> Self = Portable(x.0.map(|lane| math::indicator(lane != 0.0)));
        fn nonzeros(x: Self) -> u32 = u32::from(x.0[0] != 0.0) | u32::from(x.0[1] != 0.0) << 1;
        fn compress(x: Self, bits: u32, first: u32, columns: *mut u32, values: *mut f64) = {
            // The second lane takes the place of the first one where that is left out.
            let second = (bits & 1) as usize;
            (*columns, *values) = (first, x.0[0]);
            (*columns.add(second), *values.add(second)) = (first + 1, x.0[1]);
        };
        fn compress_beside(x: Self, bits: u32, beside: *const u32, columns: *mut u32, values: *mut f64) = {
            let second = (bits & 1) as usize;
            (*columns, *values) = (*beside, x.0[0]);
            (*columns.add(second), *values.add(second)) = (*beside.add(1), x.0[1]);
        };
        fn mul_add(x: Self, y: Self, addend: Self) -> Self =
            Portable([x.0[0].mul_add(y.0[0], addend.0[0]), x.0[1].mul_add(y.0[1], addend.0[1])]);
        fn min(x: Self, y: Self) -> Self = Portable([math::min(x.0[0], y.0[0]), math::min(x.0[1], y.0[1])]);
        fn max(x: Self, y: Self) -> Self = Portable([math::max(x.0[0], y.0[0]), math::max(x.0[1], y.0[1])]);
        fn reduce_eight<M: Merge>(rows: [Self; 8]) -> [f64; 8] = {
            let mut merged = [0.0; 8];
            for pair in 0..4 {
                let (x, y) = (rows[2 * pair].0, rows[2 * pair + 1].0);
                let Portable([first, second]) = M::merge(Portable([x[0], y[0]]), Portable([x[1], y[1]]));
                merged[2 * pair] = first;
                merged[2 * pair + 1] = second;
            }
            merged
        };
        fn load_block(values: *const f64, count: usize) -> [f64; BLOCK] = {
            let mut block = [0.0; BLOCK];
            std::ptr::copy_nonoverlapping(values, block.as_mut_ptr(), count);
            block
        };
        fn store_block(block: [f64; BLOCK], values: *mut f64, count: usize) =
            std::ptr::copy_nonoverlapping(block.as_ptr(), values, count);
        fn load_columns(values: *const f64, row: usize) -> [Self; BLOCK] = {
            let mut columns = [Portable([0.0; 2]); BLOCK];
            for column in 0..2 {
                columns[column] = Self::load_column(values.add(column), row);
            }
            columns
        };
        fn load_first_columns(values: *const f64, row: usize, count: usize) -> [Self; BLOCK] = {
            let mut columns = [Self::splat(0.0); BLOCK];
            for (index, column) in columns.iter_mut().enumerate().take(count) {
                *column = Self::load_column(values.wrapping_add(index), row);
            }
            columns
        };
        fn load_column(values: *const f64, row: usize) -> Self = Portable([*values, *values.add(row)]);
    }
}
