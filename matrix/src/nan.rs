//! NaN is one value of many bits: results that leave the engine have one of them. A pass over a large result, which is in no cache any
//! more, may take as long as what computed it; so whoever writes values looks at them while they are in a cache, and only what nobody
//! looked at, or what has NaN, is gone through once more.

use crate::shared::is_shared;
use fuseline_ir::ops::math::with_one_nan;
use fuseline_ir::work::BASIC_BLOCK_CELLS;
use fuseline_vecprims::{Isa, Tile, primitives};
use rayon::ThreadPool;
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// Values that are looked at before the search may end.
const SEARCHED: usize = 4096;

/// Whether there is NaN among the values of a result, which threads write and look at.
#[derive(Debug, Default)]
pub struct NanWatch {
    /// Some value is NaN, or was not looked at.
    may_have_nan: AtomicBool,
}

impl NanWatch {
    /// Of a result at whose values nobody looks.
    pub fn blind() -> Self {
        NanWatch { may_have_nan: AtomicBool::new(true) }
    }

    /// Looks at values that were just written.
    #[inline]
    pub fn look(&self, values: &[f64]) {
        self.look_at_rows(1, values.len(), Tile::new(values, values.len()));
    }

    /// Looks at rows of so many values that were just written.
    #[inline]
    pub fn look_at_rows(&self, rows: usize, len: usize, values: Tile<'_>) {
        let is_known = self.may_have_nan.load(Ordering::Relaxed);
        if !is_known && !primitives(Isa::detect()).are_numbers(rows, len, values) {
            self.may_have_nan.store(true, Ordering::Relaxed);
        }
    }

    /// Whether none of the values is NaN, given that all were looked at.
    pub fn saw_none(&self) -> bool {
        !self.may_have_nan.load(Ordering::Relaxed)
    }
}

/// Whether a NaN has other bits than the one that stands for all, found by the threads of a pool where there is work for several.
pub(crate) fn has_other_nan_in(pool: &ThreadPool, values: &[f64]) -> bool {
    if !is_shared(values.len()) {
        return has_other_nan(values);
    }
    pool.install(|| values.par_chunks(BASIC_BLOCK_CELLS).any(has_other_nan))
}

/// Whether a NaN has other bits than the one that stands for all.
pub(crate) fn has_other_nan(values: &[f64]) -> bool {
    let differs = |&value: &f64| with_one_nan(value).to_bits() != value.to_bits();
    let has_other = |chunk: &[f64]| {
        let are_numbers = primitives(Isa::detect()).are_numbers(1, chunk.len(), Tile::new(chunk, chunk.len()));
        !are_numbers && chunk.iter().any(differs)
    };
    values.chunks(SEARCHED).any(has_other)
}

/// Gives all NaN the same bits.
pub(crate) fn replace_nan(values: &mut [f64]) {
    values.iter_mut().for_each(|value| *value = with_one_nan(*value));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::ALONE;

    /// What the processor makes of 0 / 0 is another one.
    const OTHER: f64 = f64::from_bits(f64::NAN.to_bits() | 1 << 63);

    #[test]
    fn a_watch_sees_nan_wherever_it_is_and_nothing_else() {
        for len in [1, 2, 7, 8, 31, 32, 33, 100, SEARCHED + 1] {
            for place in [0, len / 2, len - 1] {
                let mut values = vec![1.5; len];
                values[place] = f64::INFINITY;
                let watch = NanWatch::default();
                watch.look(&values);
                assert!(watch.saw_none() && !has_other_nan(&values), "infinity at {place} of {len}");
                values[place] = OTHER;
                watch.look(&values);
                watch.look(&[1.0]);
                assert!(!watch.saw_none() && has_other_nan(&values), "NaN at {place} of {len}");
                replace_nan(&mut values);
                assert!(!has_other_nan(&values) && values[place].to_bits() == f64::NAN.to_bits());
            }
        }
        assert!(!NanWatch::blind().saw_none());
    }

    #[test]
    fn rows_apart_are_seen_and_what_lies_between_is_not() {
        let mut values = vec![0.0; 3 * 5];
        (values[3], values[9]) = (OTHER, OTHER);
        let watch = NanWatch::default();
        watch.look_at_rows(3, 3, Tile::new(&values, 5));
        assert!(watch.saw_none());
        watch.look_at_rows(3, 5, Tile::new(&values, 5));
        assert!(!watch.saw_none());
    }

    #[test]
    fn infinities_that_cancel_are_no_nan() {
        let mut values = vec![0.0; ALONE + 1];
        (values[5], values[37]) = (f64::INFINITY, f64::NEG_INFINITY);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        assert!(!has_other_nan(&values) && !has_other_nan_in(&pool, &values));
        values[ALONE] = OTHER;
        assert!(has_other_nan(&values) && has_other_nan_in(&pool, &values));
    }
}
