//! Sparse rows against dense vectors and matrices (rules 5 and 6).

use super::column::{ChunkBody, for_each_chunk, load, store};
use super::product::Rows;
use super::reduce::{Aggregate, Pending, Run, Sum, merge_registers};
use crate::vector::{Portable, Vector};

/// The rows of a CSR unit; positions are relative to its first offset.
#[derive(Clone, Copy)]
pub(crate) struct CsrRows {
    pub(crate) rows: usize,
    pub(crate) row_offsets: *const usize,
    pub(crate) columns: *const u32,
    pub(crate) values: *const f64,
}

impl CsrRows {
    /// The rows of a unit.
    #[inline(always)]
    pub(crate) fn new(rows: usize, row_offsets: *const usize, columns: *const u32, values: *const f64) -> CsrRows {
        CsrRows { rows, row_offsets, columns, values }
    }

    /// The positions of a row.
    #[inline(always)]
    pub(crate) unsafe fn positions(self, row: usize) -> std::ops::Range<usize> {
        // SAFETY: the caller's unit has one offset more than rows.
        unsafe {
            let first = *self.row_offsets;
            *self.row_offsets.add(row) - first..*self.row_offsets.add(row + 1) - first
        }
    }

    /// The column of a position.
    #[inline(always)]
    pub(crate) unsafe fn column(self, position: usize) -> usize {
        // SAFETY: the caller's unit has a column for each position.
        unsafe { *self.columns.add(position) as usize }
    }
}

/// `acc[columns[p]] = merge(acc[..], a[p])` for every position.
#[inline(always)]
pub(crate) unsafe fn col_agg<A: Aggregate>(a: CsrRows, acc: *mut f64) {
    // SAFETY: passed on to the caller.
    unsafe {
        for row in 0..a.rows {
            for position in a.positions(row) {
                let cell = acc.add(*a.columns.add(position) as usize);
                let value = Portable::from_value(*a.values.add(position));
                *cell = A::step(Portable::from_value(*cell), value).value();
            }
        }
    }
}

/// The dot product of every sparse row with its row of `b`, factors gathered.
#[inline(always)]
pub(crate) unsafe fn dot_product<V: Vector, const N: usize>(a: CsrRows, b: Rows, out: *mut f64, out_row: usize) {
    // SAFETY: passed on to the caller; the part is masked.
    unsafe {
        let mut pending = Pending::new(|value| value);
        for row in 0..a.rows {
            let positions = a.positions(row);
            let register = gathered_product::<V, N>(
                a.values.add(positions.start),
                a.columns.add(positions.start),
                b.values.add(row * b.row),
                positions.len(),
            );
            pending.push::<Sum>(register, out.add(row * out_row));
        }
        pending.flush::<Sum>();
    }
}

/// The dot product of a run of values with the factors that `columns` names, merged into one register.
#[inline(always)]
unsafe fn gathered_product<V: Vector, const N: usize>(
    mut values: *const f64,
    mut columns: *const u32,
    factors: *const f64,
    len: usize,
) -> V {
    // SAFETY: passed on to the caller; the part is masked.
    unsafe {
        let run = Run::<V>::new::<N>(len);
        let mut accumulators = [V::splat(0.0); N];
        for _ in 0..run.rounds {
            for n in 0..N {
                let factor = V::gather(factors, columns.add(n * V::LANES));
                accumulators[n] = V::mul_add(V::load(values.add(n * V::LANES)), factor, accumulators[n]);
            }
            values = values.add(N * V::LANES);
            columns = columns.add(N * V::LANES);
        }
        for n in 0..N {
            let values = values.wrapping_add(n * V::LANES);
            let columns = columns.wrapping_add(n * V::LANES);
            if n < run.whole {
                accumulators[n] = V::mul_add(V::load(values), V::gather(factors, columns), accumulators[n]);
            } else if n == run.whole && run.part > 0 {
                let factor = V::gather_first(factors, columns, run.part);
                let sum = V::mul_add(V::load_first(values, run.mask), factor, accumulators[n]);
                accumulators[n] = V::select(run.mask, sum, accumulators[n]);
            }
        }
        merge_registers::<V, Sum, N>(accumulators)
    }
}

/// One sparse row times a dense matrix. With `ADD` the sums start from what `out` holds, else from `+0.0`.
struct SparseRowTimesMatrix<const ADD: bool> {
    columns: *const u32,
    values: *const f64,
    len: usize,
    b: Rows,
    out: *mut f64,
}

impl<V: Vector, const ADD: bool> ChunkBody<V> for SparseRowTimesMatrix<ADD> {
    #[inline(always)]
    unsafe fn run<const I: usize, const MASKED: bool>(&self, start: usize, masks: [V::Mask; I]) {
        // SAFETY: passed on to the caller.
        unsafe {
            let mut accumulators = [V::splat(0.0); I];
            if ADD {
                for i in 0..I {
                    accumulators[i] = load::<V, I, MASKED>(self.out.wrapping_add(start), i, masks[i]);
                }
            }
            for position in 0..self.len {
                let value = V::splat(*self.values.add(position));
                let row = self.b.values.wrapping_add(*self.columns.add(position) as usize * self.b.row + start);
                for i in 0..I {
                    let factor = load::<V, I, MASKED>(row, i, masks[i]);
                    accumulators[i] = V::mul_add(value, factor, accumulators[i]);
                }
            }
            for i in 0..I {
                store::<V, MASKED>(accumulators[i], self.out.wrapping_add(start), i, masks[i]);
            }
        }
    }
}

/// Every sparse row times `b`, `k` columns wide.
#[inline(always)]
pub(crate) unsafe fn mat_mult<V: Vector, const ADD: bool>(
    a: CsrRows,
    k: usize,
    b: Rows,
    out: *mut f64,
    out_row: usize,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        for row in 0..a.rows {
            let positions = a.positions(row);
            let (columns, values) = (a.columns.add(positions.start), a.values.add(positions.start));
            let out = out.add(row * out_row);
            if k == 1 {
                *out = vector_product(columns, values, positions.len(), b, if ADD { *out } else { 0.0 });
            } else {
                let body = SparseRowTimesMatrix::<ADD> { columns, values, len: positions.len(), b, out };
                for_each_chunk::<V, _>(k, &body);
            }
        }
    }
}

/// One sparse row times a one-column matrix: `fma(value, b, acc)` per position, in order.
#[inline(always)]
unsafe fn vector_product(columns: *const u32, values: *const f64, len: usize, b: Rows, start: f64) -> f64 {
    let mut accumulator = start;
    for position in 0..len {
        // SAFETY: passed on to the caller.
        let (value, factor) =
            unsafe { (*values.add(position), *b.values.add(*columns.add(position) as usize * b.row)) };
        accumulator = value.mul_add(factor, accumulator);
    }
    accumulator
}

/// Row `r` of `b`, scaled by a value, added to one row of an accumulator.
struct ScaledRow {
    scale: f64,
    b: *const f64,
    acc: *mut f64,
}

impl<V: Vector> ChunkBody<V> for ScaledRow {
    #[inline(always)]
    unsafe fn run<const I: usize, const MASKED: bool>(&self, start: usize, masks: [V::Mask; I]) {
        // SAFETY: passed on to the caller.
        unsafe {
            let scale = V::splat(self.scale);
            let (b, acc) = (self.b.wrapping_add(start), self.acc.wrapping_add(start));
            for i in 0..I {
                let factor = load::<V, I, MASKED>(b, i, masks[i]);
                let old = load::<V, I, MASKED>(acc, i, masks[i]);
                store::<V, MASKED>(V::mul_add(scale, factor, old), acc, i, masks[i]);
            }
        }
    }
}

/// `acc[columns[p] * acc_row + j] = fma(a[p], b[r, j], acc[..])` for every position.
#[inline(always)]
pub(crate) unsafe fn outer_mult_add<V: Vector>(a: CsrRows, k: usize, b: Rows, acc: *mut f64, acc_row: usize) {
    // SAFETY: passed on to the caller.
    unsafe {
        for row in 0..a.rows {
            let b = b.values.add(row * b.row);
            for position in a.positions(row) {
                let (scale, column) = (*a.values.add(position), *a.columns.add(position) as usize);
                let acc = acc.add(column * acc_row);
                if k == 1 {
                    *acc = scale.mul_add(*b, *acc);
                } else {
                    for_each_chunk::<V, _>(k, &ScaledRow { scale, b, acc });
                }
            }
        }
    }
}
