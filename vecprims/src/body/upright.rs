//! Aggregates of short rows: lanes are rows, so that they never merge. As many rows as a register has lanes are turned into
//! columns, one in each register, and the tree of rule 3 runs over registers.
//!
//! As in [`super::narrow`], lanes that no row reaches are left out, and one addition of `+0.0` stands for them.

use super::column::prefetch_distance;
use super::product::Rows;
use super::reduce::Aggregate;
use crate::vector::{Merge, Vector};
use fuseline_ops::AggOp;

/// The columns of a group of rows.
#[inline(always)]
unsafe fn columns<V: Vector, const L: usize>(rows: *const f64, row: usize) -> [V; L] {
    // SAFETY: passed on to the caller.
    unsafe {
        let mut columns = [V::splat(0.0); L];
        let mut done = 0;
        while done + V::LANES <= L {
            let block = V::load_columns(rows.add(done), row);
            for (column, cells) in columns[done..].iter_mut().zip(block).take(V::LANES) {
                *column = cells;
            }
            done += V::LANES;
        }
        let rest = V::load_first_columns(rows.wrapping_add(done), row, L - done);
        for (column, cells) in columns[done..].iter_mut().zip(rest) {
            *column = cells;
        }
        columns
    }
}

/// Merges the lanes of rule 3, a register for each, from the 16th on.
#[inline(always)]
pub(super) unsafe fn merged<V: Vector, M: Merge, const L: usize>(mut lanes: [V; L]) -> V {
    let mut width = 8;
    while width > 0 {
        for j in 0..width {
            if j + width < L {
                // SAFETY: the caller runs on the instruction set of `V`.
                lanes[j] = unsafe { M::merge(lanes[j], lanes[j + width]) };
            }
        }
        width /= 2;
    }
    lanes[0]
}

/// The aggregates of `groups` times `V::LANES` rows of `L` values, at most 16, next to each other: no variances, and of
/// means the sums.
#[inline(always)]
pub(crate) unsafe fn aggregates<V: Vector, A: Aggregate, const L: usize>(groups: usize, a: Rows, out: *mut f64) {
    let distance = prefetch_distance(a.row);
    for group in 0..groups {
        let rows = a.pointer(group * V::LANES);
        // SAFETY: passed on to the caller.
        unsafe {
            for line in 0..(V::LANES * L).div_ceil(8) {
                V::prefetch(rows.wrapping_add(distance + 8 * line));
            }
            let mut lanes = columns::<V, L>(rows, a.row);
            // For the others the first step from the neutral element gives the value, but for the sign of a zero.
            if matches!(A::OP, AggOp::SumSq | AggOp::Nnz) {
                for lane in &mut lanes {
                    *lane = A::step(V::splat(A::NEUTRAL), *lane);
                }
            }
            let merged = merged::<V, A, L>(lanes);
            let is_sum = matches!(A::OP, AggOp::Sum | AggOp::Mean);
            let merged = if is_sum { V::add(merged, V::splat(0.0)) } else { merged };
            V::store(merged, out.wrapping_add(group * V::LANES));
        }
    }
}
