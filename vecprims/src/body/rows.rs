//! Aggregates of rows and of whole units (rules 3, 4 and 7), dense and by position.

use super::narrow::{NarrowAggregate, reduce_rows};
use super::product::Rows;
use super::reduce::{Aggregate, Pending, Run, merge_registers, reduce_register, reduce_run, take_run};
use crate::vector::Vector;
use fuseline_ir::ops::AggOp;

/// Rule 3 for each row of a dense tile.
#[inline(always)]
pub(crate) unsafe fn row_agg<V: Vector, A: Aggregate, const N: usize>(
    rows: usize,
    len: usize,
    a: *const f64,
    a_row: usize,
    out: *mut f64,
    out_row: usize,
) {
    // SAFETY: the caller's tile covers every row, and `out` has a value per row.
    unsafe {
        let tile = Rows::new(a, a_row);
        match len.div_ceil(V::LANES) {
            1 => {
                return reduce_rows(rows, &NarrowAggregate::<V, A, 1>::new(tile, len), out, out_row);
            }
            2 => {
                return reduce_rows(rows, &NarrowAggregate::<V, A, 2>::new(tile, len), out, out_row);
            }
            3 | 4 => {
                return reduce_rows(rows, &NarrowAggregate::<V, A, 4>::new(tile, len), out, out_row);
            }
            _ => {}
        }
        let run = Run::new::<N>(len);
        let mut pending = Pending::new(|value| if A::OP == AggOp::Mean { value / len as f64 } else { value });
        for row in 0..rows {
            let register = reduce_run::<V, A, N>(a.add(row * a_row), run);
            pending.push::<A>(register, out.add(row * out_row));
        }
        pending.flush::<A>();
    }
}

/// Rule 4 for a dense tile.
#[inline(always)]
pub(crate) unsafe fn full_agg<V: Vector, A: Aggregate, const N: usize>(
    rows: usize,
    len: usize,
    a: *const f64,
    a_row: usize,
    out: *mut f64,
) {
    // SAFETY: the caller's tile covers every row, and `out` has a value.
    unsafe {
        let run = Run::new::<N>(len);
        let mut accumulators = [V::splat(A::NEUTRAL); N];
        for row in 0..rows {
            accumulators = take_run::<V, A, N>(accumulators, a.add(row * a_row), run);
        }
        *out = reduce_register::<V, A>(merge_registers::<V, A, N>(accumulators));
    }
}

/// Rule 7 for each row of a CSR unit; rows have `cols` cells with the zeros.
#[inline(always)]
pub(crate) unsafe fn segment_row_agg<V: Vector, A: Aggregate, const N: usize>(
    rows: usize,
    row_offsets: *const usize,
    a: *const f64,
    cols: usize,
    out: *mut f64,
    out_row: usize,
) {
    // SAFETY: the caller's offsets are monotone and cover the positions; `out` has a value per row.
    unsafe {
        let extreme = matches!(A::OP, AggOp::Min | AggOp::Max);
        let mut pending = Pending::new(|value| if A::OP == AggOp::Mean { value / cols as f64 } else { value });
        for row in 0..rows {
            let start = *row_offsets.add(row);
            let len = *row_offsets.add(row + 1) - start;
            let values = a.add(start - *row_offsets);
            let mut register = reduce_run::<V, A, N>(values, Run::new::<N>(len));
            if extreme && len < cols {
                // The merge of equal zeros must come last to choose their sign: spread the result over all lanes.
                let run = reduce_register::<V, A>(register);
                register = A::merge(V::splat(run), V::splat(0.0));
            }
            pending.push::<A>(register, out.add(row * out_row));
        }
        pending.flush::<A>();
    }
}

/// Rule 4 over the positions of a CSR unit.
#[inline(always)]
pub(crate) unsafe fn segment_full_agg<V: Vector, A: Aggregate, const N: usize>(
    rows: usize,
    row_offsets: *const usize,
    a: *const f64,
    out: *mut f64,
) {
    // SAFETY: the caller's offsets are monotone and cover the positions; `out` has a value.
    unsafe {
        let mut accumulators = [V::splat(A::NEUTRAL); N];
        for row in 0..rows {
            let start = *row_offsets.add(row);
            let run = Run::new::<N>(*row_offsets.add(row + 1) - start);
            accumulators = take_run::<V, A, N>(accumulators, a.add(start - *row_offsets), run);
        }
        *out = reduce_register::<V, A>(merge_registers::<V, A, N>(accumulators));
    }
}
