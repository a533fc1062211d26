//! Sparse rows against dense vectors and matrices (rules 5 and 6).

use super::ahead::{CsrAhead, Half, LINE, ask_for};
use super::column::{ChunkBody, for_each_chunk, for_each_chunk_of, for_each_fitting_chunk, load, store};
use super::product::Rows;
use super::reduce::{Aggregate, Pending, Sum};
use super::run_product::{AtColumns, Factors, product, register_product};
use super::short;
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

    /// The most positions of `count` rows from `row` on.
    #[inline(always)]
    unsafe fn longest(self, row: usize, count: usize) -> usize {
        // SAFETY: the caller's unit has one offset more than rows.
        let len = |row| unsafe { *self.row_offsets.add(row + 1) - *self.row_offsets.add(row) };
        (row..row + count).map(len).fold(0, usize::max)
    }

    /// The number of positions.
    #[inline(always)]
    pub(crate) unsafe fn count(self) -> usize {
        // SAFETY: the caller's unit has one offset more than rows.
        unsafe { *self.row_offsets.add(self.rows) - *self.row_offsets }
    }

    /// Whether there are `count` rows from `row` on that have their positions in the same columns, as all rows of a
    /// dense tile.
    #[inline(always)]
    pub(crate) unsafe fn has_equal_columns(self, row: usize, count: usize) -> bool {
        // SAFETY: the caller's unit has a column for each position.
        let columns = |row| unsafe {
            let positions = self.positions(row);
            std::slice::from_raw_parts(self.columns.add(positions.start), positions.len())
        };
        row + count <= self.rows && (1..count).all(|other| columns(row) == columns(row + other))
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
        // Where rows end makes no difference, and short ones would end where no processor expects it.
        for position in 0..a.count() {
            let cell = acc.add(*a.columns.add(position) as usize);
            let value = Portable::from_value(*a.values.add(position));
            *cell = A::step(Portable::from_value(*cell), value).value();
        }
    }
}

/// The dot product of every sparse row with its row of `b`.
#[inline(always)]
pub(crate) unsafe fn dot_product<V: Vector, const N: usize>(a: CsrRows, b: Rows, out: *mut f64, out_row: usize) {
    // SAFETY: passed on to the caller.
    unsafe {
        let ahead = CsrAhead::new(a, Half::First);
        let factors = |row, start| AtColumns { factors: b.pointer(row), columns: a.columns.add(start) };
        RowProducts { a, factors, out, out_row }.store_all::<V, _, N>(|| ahead.ask());
    }
}

/// The products of sparse rows with their factors, which are those of a row from its first position on.
pub(super) struct RowProducts<F> {
    pub(super) a: CsrRows,
    pub(super) factors: F,
    pub(super) out: *mut f64,
    pub(super) out_row: usize,
}

impl<F> RowProducts<F> {
    /// Computes all, eight rows at a time. `ask` is called once for each row.
    #[inline(always)]
    pub(super) unsafe fn store_all<V: Vector, G, const N: usize>(&self, ask: impl Fn())
    where
        G: Factors<V> + Factors<V::Narrow>,
        F: Fn(usize, usize) -> G,
    {
        // SAFETY: passed on to the caller.
        unsafe {
            let mut pending = Pending::new(|value| value);
            for first in (0..self.a.rows).step_by(8) {
                let rows = first..self.a.rows.min(first + 8);
                rows.clone().for_each(|_| ask());
                let longest = if rows.len() == 8 { self.a.longest(first, 8) } else { usize::MAX };
                // Lanes that a narrower register has not would hold `+0.0`, as all registers but the first do.
                if longest <= V::Narrow::LANES {
                    self.store_eight_short::<V::Narrow, G, N>(first);
                } else if longest <= V::LANES {
                    self.store_eight_short::<V, G, N>(first);
                } else {
                    for row in rows {
                        let (values, factors, len) = self.run(row);
                        let register = product::<V, G, N>(values, factors, len);
                        pending.push::<Sum>(register, self.out.add(row * self.out_row));
                    }
                }
            }
            pending.flush::<Sum>();
        }
    }

    /// The products of eight rows from `row` on, each of which fits in a register: nothing depends on their lengths, and nothing waits
    /// in memory for what merges them.
    #[inline(always)]
    unsafe fn store_eight_short<V: Vector, G: Factors<V>, const N: usize>(&self, row: usize)
    where
        F: Fn(usize, usize) -> G,
    {
        // SAFETY: passed on to the caller.
        unsafe {
            let mut registers = [V::splat(0.0); 8];
            for r in 0..8 {
                let (values, factors, len) = self.run(row + r);
                registers[r] = register_product::<V, G, N>(values, factors, len);
            }
            let merged = V::reduce_eight::<Sum>(registers);
            if self.out_row == 1 {
                V::store_block(merged, self.out.add(row), 8);
            } else {
                for r in 0..8 {
                    *self.out.add((row + r) * self.out_row) = merged[r];
                }
            }
        }
    }

    /// The values of a row, their factors, and how many there are.
    #[inline(always)]
    unsafe fn run<G>(&self, row: usize) -> (*const f64, G, usize)
    where
        F: Fn(usize, usize) -> G,
    {
        // SAFETY: passed on to the caller.
        let positions = unsafe { self.a.positions(row) };
        let values = self.a.values.wrapping_add(positions.start);
        (values, (self.factors)(row, positions.start), positions.len())
    }
}

/// `R` sparse rows from `row` on times a dense matrix. With `ADD` the sums start from what `out` holds, else from `+0.0`.
///
/// The sums of a row wait for each other; those of several rows do not.
struct SparseRowsTimesMatrix<const ADD: bool, const R: usize> {
    a: CsrRows,
    row: usize,
    b: Rows,
    out: *mut f64,
    out_row: usize,
}

impl<V: Vector, const ADD: bool, const R: usize> ChunkBody<V> for SparseRowsTimesMatrix<ADD, R> {
    #[inline(always)]
    unsafe fn run<const I: usize, const MASKED: bool>(&self, start: usize, masks: [V::Mask; I]) {
        // SAFETY: passed on to the caller.
        unsafe {
            let (mut firsts, mut lengths) = ([0; R], [0; R]);
            let mut accumulators = [[V::splat(0.0); I]; R];
            for r in 0..R {
                let positions = self.a.positions(self.row + r);
                (firsts[r], lengths[r]) = (positions.start, positions.len());
                for i in 0..I {
                    if ADD {
                        accumulators[r][i] = load::<V, I, MASKED>(self.row_of_out(r, start), i, masks[i]);
                    }
                }
            }
            let mut common = lengths[0];
            for r in 1..R {
                common = common.min(lengths[r]);
            }
            for position in 0..common {
                for r in 0..R {
                    self.step::<V, I, MASKED>(firsts[r] + position, start, &mut accumulators[r], masks);
                }
            }
            for r in 0..R {
                for position in common..lengths[r] {
                    self.step::<V, I, MASKED>(firsts[r] + position, start, &mut accumulators[r], masks);
                }
                for i in 0..I {
                    store::<V, I, MASKED>(accumulators[r][i], self.row_of_out(r, start), i, masks[i]);
                }
            }
        }
    }
}

impl<const ADD: bool, const R: usize> SparseRowsTimesMatrix<ADD, R> {
    #[inline(always)]
    fn row_of_out(&self, r: usize, start: usize) -> *mut f64 {
        self.out.wrapping_add((self.row + r) * self.out_row + start)
    }

    /// Takes a position into the sums of its row.
    #[inline(always)]
    unsafe fn step<V: Vector, const I: usize, const MASKED: bool>(
        &self,
        position: usize,
        start: usize,
        sums: &mut [V; I],
        masks: [V::Mask; I],
    ) {
        // SAFETY: passed on to the caller.
        unsafe {
            let value = V::splat(*self.a.values.add(position));
            let row = self.b.values.wrapping_add(self.a.column(position) * self.b.row + start);
            for i in 0..I {
                sums[i] = V::mul_add(value, load::<V, I, MASKED>(row, i, masks[i]), sums[i]);
            }
        }
    }
}

/// As [`SparseRowsTimesMatrix`], of rows with their positions in the same columns: one load of `b` serves all of them.
struct EqualRowsTimesMatrix<const ADD: bool, const R: usize>(SparseRowsTimesMatrix<ADD, R>);

impl<V: Vector, const ADD: bool, const R: usize> ChunkBody<V> for EqualRowsTimesMatrix<ADD, R> {
    #[inline(always)]
    unsafe fn run<const I: usize, const MASKED: bool>(&self, start: usize, masks: [V::Mask; I]) {
        let EqualRowsTimesMatrix(rows) = self;
        // SAFETY: passed on to the caller.
        unsafe {
            let mut values = [rows.a.values; R];
            let mut accumulators = [[V::splat(0.0); I]; R];
            for r in 0..R {
                values[r] = rows.a.values.add(rows.a.positions(rows.row + r).start);
                for i in 0..I {
                    if ADD {
                        accumulators[r][i] = load::<V, I, MASKED>(rows.row_of_out(r, start), i, masks[i]);
                    }
                }
            }
            let positions = rows.a.positions(rows.row);
            for position in 0..positions.len() {
                let column = rows.a.column(positions.start + position);
                let row = rows.b.values.wrapping_add(column * rows.b.row + start);
                let mut factors = [V::splat(0.0); I];
                for i in 0..I {
                    factors[i] = load::<V, I, MASKED>(row, i, masks[i]);
                }
                for r in 0..R {
                    let value = V::splat(*values[r].add(position));
                    for i in 0..I {
                        accumulators[r][i] = V::mul_add(value, factors[i], accumulators[r][i]);
                    }
                }
            }
            for r in 0..R {
                for i in 0..I {
                    store::<V, I, MASKED>(accumulators[r][i], rows.row_of_out(r, start), i, masks[i]);
                }
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
    let mut row = 0;
    // SAFETY: passed on to the caller.
    unsafe {
        let ahead = CsrAhead::new(a, Half::First);
        let few_positions = k > LINE && short::have_few_positions(a);
        let mut asked = 0;
        while row < a.rows {
            if few_positions && row.is_multiple_of(short::ROWS_AHEAD) {
                let met = a.positions(row).start..a.positions((row + short::ROWS_AHEAD).min(a.rows) - 1).end;
                for position in met {
                    ask_for::<V>(b.values.wrapping_add(a.column(position) * b.row), k);
                }
            }
            while asked <= row {
                ahead.ask();
                asked += 1;
            }
            if k == 1 {
                let sum = out.add(row * out_row);
                *sum = vector_product(a, row, b, if ADD { *sum } else { 0.0 });
                row += 1;
            } else if V::LANES == 8 && k <= 2 * V::LANES && a.has_equal_columns(row, 8) {
                let rows = SparseRowsTimesMatrix::<ADD, 8> { a, row, b, out, out_row };
                for_each_chunk_of::<V, _, 2>(k, &EqualRowsTimesMatrix(rows));
                row += 8;
            } else if V::LANES == 8 && a.has_equal_columns(row, 4) {
                let rows = SparseRowsTimesMatrix::<ADD, 4> { a, row, b, out, out_row };
                for_each_chunk_of::<V, _, 4>(k, &EqualRowsTimesMatrix(rows));
                row += 4;
            } else if k <= 2 * V::LANES && row + 4 <= a.rows {
                // Wider rows have several sums of their own.
                for_each_fitting_chunk::<V, _>(k, &SparseRowsTimesMatrix::<ADD, 4> { a, row, b, out, out_row });
                row += 4;
            } else {
                for_each_chunk::<V, _>(k, &SparseRowsTimesMatrix::<ADD, 1> { a, row, b, out, out_row });
                row += 1;
            }
        }
    }
}

/// One sparse row times a one-column matrix: `fma(value, b, acc)` per position, in order.
#[inline(always)]
unsafe fn vector_product(a: CsrRows, row: usize, b: Rows, start: f64) -> f64 {
    let mut accumulator = start;
    // SAFETY: passed on to the caller.
    unsafe {
        for position in a.positions(row) {
            let factor = *b.values.add(a.column(position) * b.row);
            accumulator = (*a.values.add(position)).mul_add(factor, accumulator);
        }
    }
    accumulator
}
