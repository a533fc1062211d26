//! Aggregates of rows and of whole units (rules 3, 4 and 7), dense and by position.

use super::ahead::Ahead;
use super::narrow::{NarrowAggregate, reduce_rows};
use super::product::Rows;
use super::reduce::{
    Aggregate, Pending, Run, merge_registers, reduce_register, reduce_run, squared_distances, take_run,
};
use super::sparse::CsrRows;
use super::upright;
use crate::vector::{Portable, Vector};
use fuseline_ops::AggOp;

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
        if A::OP == AggOp::Var {
            for row in 0..rows {
                *out.add(row * out_row) = variance::<V, A, N>(a.add(row * a_row), len, len);
            }
            return;
        }
        let done = if out_row == 1 { upright_groups::<V, A>(rows, len, Rows::new(a, a_row), out) } else { 0 };
        let (rows, a, out) = (rows - done, a.wrapping_add(done * a_row), out.wrapping_add(done * out_row));
        let tile = Rows::new(a, a_row);
        match len.div_ceil(V::LANES) {
            1 => {
                return reduce_rows(rows, &NarrowAggregate::<V, A, 1>::new(tile, len), &Ahead::none(), out, out_row);
            }
            2 => {
                return reduce_rows(rows, &NarrowAggregate::<V, A, 2>::new(tile, len), &Ahead::none(), out, out_row);
            }
            3 | 4 => {
                return reduce_rows(rows, &NarrowAggregate::<V, A, 4>::new(tile, len), &Ahead::none(), out, out_row);
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

/// [`row_agg`] for whole groups of rows of at most 16 values, with results next to each other; says how many rows that
/// are.
#[inline(always)]
unsafe fn upright_groups<V: Vector, A: Aggregate>(rows: usize, len: usize, a: Rows, out: *mut f64) -> usize {
    let groups = rows / V::LANES;
    macro_rules! of_length {
        ($($length:literal)*) => {
            match len {
                // SAFETY: passed on to the caller.
                $($length => unsafe { upright::aggregates::<V, A, $length>(groups, a, out) },)*
                _ => return 0,
            }
        };
    }
    of_length!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
    if A::OP == AggOp::Mean {
        for row in 0..groups * V::LANES {
            // SAFETY: these are the results so far.
            unsafe { *out.add(row) /= len as f64 };
        }
    }
    groups * V::LANES
}

/// The variance of a run of `len` values and the zeros that fill it up to `count` cells: the zeros join after the
/// run, all at once.
#[inline(always)]
unsafe fn variance<V: Vector, A: Aggregate, const N: usize>(values: *const f64, len: usize, count: usize) -> f64 {
    // SAFETY: passed on to the caller.
    unsafe {
        let run = Run::new::<N>(len);
        let mean = reduce_register::<V, A>(reduce_run::<V, A, N>(values, run)) / count as f64;
        let distances = squared_distances::<V, N>(values, run, mean);
        let distances = if len < count { ((count - len) as f64).mul_add(mean * mean, distances) } else { distances };
        // No cells have no variance, and a single one has none to speak of.
        distances / if count == 1 { 1.0 } else { count.saturating_sub(1) as f64 }
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
        let rows_of = CsrRows::new(rows, row_offsets, std::ptr::null(), a);
        let of_row = |row: usize| {
            let positions = rows_of.positions(row);
            (a.add(positions.start), positions.len())
        };
        if A::OP == AggOp::Var {
            for row in 0..rows {
                let (values, len) = of_row(row);
                *out.add(row * out_row) = variance::<V, A, N>(values, len, cols);
            }
            return;
        }
        for start in (0..rows).step_by(8) {
            let count = (rows - start).min(8);
            let (mut registers, mut lengths) = ([V::splat(A::NEUTRAL); 8], [0; 8]);
            for index in 0..count {
                let (values, len) = of_row(start + index);
                lengths[index] = len;
                registers[index] = reduce_short_run::<V, A, N>(values, len);
            }
            let merged = V::reduce_eight::<A>(registers);
            for index in 0..count {
                *out.add((start + index) * out_row) = with_zeros::<A>(merged[index], lengths[index], cols);
            }
        }
    }
}

/// [`reduce_run`] of a run that is likely to be short: nothing depends on the length of one that fits a register but a mask.
#[inline(always)]
unsafe fn reduce_short_run<V: Vector, A: Aggregate, const N: usize>(values: *const f64, len: usize) -> V {
    // SAFETY: passed on to the caller.
    unsafe {
        if len > V::LANES {
            return reduce_run::<V, A, N>(values, Run::new::<N>(len));
        }
        // The other registers would hold the neutral element.
        let (neutral, mask) = (V::splat(A::NEUTRAL), V::first(len));
        V::select(mask, A::step(neutral, V::load_first(values, mask)), neutral)
    }
}

/// The aggregate of a row of `cols` cells, given that of its `len` values: the zeros come last, which chooses the sign of equal
/// ones.
#[inline(always)]
unsafe fn with_zeros<A: Aggregate>(aggregate: f64, len: usize, cols: usize) -> f64 {
    match A::OP {
        AggOp::Mean => aggregate / cols as f64,
        AggOp::Min | AggOp::Max | AggOp::Prod if len < cols => {
            // SAFETY: every processor has the instructions of single values.
            unsafe { A::merge(Portable::from_value(aggregate), Portable::from_value(0.0)).value() }
        }
        _ => aggregate,
    }
}

/// The partial aggregates of each row, from its first cell to each: `out[j] = merge(out[j - 1], a[j])`, strictly in
/// order. Eight rows go side by side, since each step of a row waits for the one before.
#[inline(always)]
pub(crate) unsafe fn row_cumulative<A: Aggregate>(
    rows: usize,
    len: usize,
    a: *const f64,
    a_row: usize,
    out: *mut f64,
    out_row: usize,
) {
    if len == 0 {
        return;
    }
    // SAFETY: passed on to the caller.
    unsafe {
        let whole = rows - rows % 8;
        for row in (0..whole).step_by(8) {
            cumulative_rows::<A, 8>(len, Rows::new(a.add(row * a_row), a_row), out.add(row * out_row), out_row);
        }
        for row in whole..rows {
            cumulative_rows::<A, 1>(len, Rows::new(a.add(row * a_row), a_row), out.add(row * out_row), out_row);
        }
    }
}

/// The partial aggregates of `R` rows of at least one value.
#[inline(always)]
unsafe fn cumulative_rows<A: Aggregate, const R: usize>(len: usize, a: Rows, out: *mut f64, out_row: usize) {
    // SAFETY: passed on to the caller.
    unsafe {
        let mut accumulators = [0.0; R];
        for row in 0..R {
            accumulators[row] = *a.values.add(row * a.row);
            *out.add(row * out_row) = accumulators[row];
        }
        for column in 1..len {
            for row in 0..R {
                let value = Portable::from_value(*a.values.add(row * a.row + column));
                accumulators[row] = A::merge(Portable::from_value(accumulators[row]), value).value();
                *out.add(row * out_row + column) = accumulators[row];
            }
        }
    }
}
