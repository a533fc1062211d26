//! Values in memory that doubles hold exactly: registers widen them when they load them.

use super::{BLOCK, Vector};

/// A type of such values.
pub(crate) trait Element: Copy + Into<f64> {
    /// Loads `LANES` values, of any alignment.
    ///
    /// # Safety
    /// The contract of [`Vector`].
    unsafe fn load<V: Vector>(values: *const Self) -> V;

    /// Loads the first `count` values, fewer than `LANES`; `mask` chooses them.
    ///
    /// # Safety
    /// The contract of [`Vector`].
    #[inline(always)]
    unsafe fn load_first<V: Vector>(values: *const Self, count: usize, _mask: V::Mask) -> V {
        let mut wide = [0.0; BLOCK];
        for lane in 0..count {
            // SAFETY: passed on to the caller.
            wide[lane] = unsafe { *values.add(lane) }.into();
        }
        // SAFETY: a block has as many values as the widest register.
        unsafe { V::load(wide.as_ptr()) }
    }
}

impl Element for f64 {
    #[inline(always)]
    unsafe fn load<V: Vector>(values: *const f64) -> V {
        // SAFETY: passed on to the caller.
        unsafe { V::load(values) }
    }

    #[inline(always)]
    unsafe fn load_first<V: Vector>(values: *const f64, _count: usize, mask: V::Mask) -> V {
        // SAFETY: passed on to the caller.
        unsafe { V::load_first(values, mask) }
    }
}

macro_rules! narrow {
    ($($type:ty: $load:ident)*) => {
        $(impl Element for $type {
            #[inline(always)]
            unsafe fn load<V: Vector>(values: *const $type) -> V {
                // SAFETY: passed on to the caller.
                unsafe { V::$load(values) }
            }
        })*
    };
}
narrow!(f32: load_f32 i32: load_i32 u8: load_u8);
