//! Small dense matrix products (rule 6): every cell is one chain of fused multiply-adds, or the sum of few, so that a block of
//! cells stays in registers whatever the instruction set.

use super::ahead::{Ahead, Half};
use super::column::{ChunkBody, for_each_chunk, load, masks, store};
use super::few_terms::few_terms_mat_mult;
use super::product::Rows;
use super::resident::resident_mat_mult;
use crate::CHAIN;
use crate::panels::PANEL;
use crate::vector::Vector;

/// `rows` x `cols` cells of the product of `a` (rows of `inner` values) with a matrix in panels.
#[inline(always)]
pub(crate) unsafe fn tile_mat_mult<V: Vector>(
    (rows, cols, inner): (usize, usize, usize),
    a: Rows,
    panels: *const f64,
    out: *mut f64,
    out_row: usize,
) {
    let widest = registers_across(V::LANES) * V::LANES;
    let mut first = 0;
    while first < cols {
        let panel = panels.wrapping_add(first / PANEL * PANEL * inner + first % PANEL);
        let block = Block { a, inner, panel, width: (cols - first).min(widest) };
        let out = out.wrapping_add(first);
        // SAFETY: passed on to the caller; each instruction set has those with narrower registers.
        unsafe {
            match block.width.div_ceil(V::LANES) {
                _ if block.width <= V::Narrow::LANES => block.rows::<V::Narrow, 8, 1>(rows, out, out_row),
                1 => block.rows::<V, 8, 1>(rows, out, out_row),
                2 if V::LANES < 8 => block.rows::<V, 6, 2>(rows, out, out_row),
                2 => block.rows::<V, 8, 2>(rows, out, out_row),
                _ => block.rows::<V, 8, 3>(rows, out, out_row),
            }
        }
        first += widest;
    }
}

/// Registers of so many lanes across a block: AVX-512 has registers for eight rows of three; narrower sets for six of two.
const fn registers_across(lanes: usize) -> usize {
    if lanes == 8 { 3 } else { 2 }
}

/// Columns of the product that fill some registers, the last perhaps in part.
#[derive(Clone, Copy)]
struct Block {
    a: Rows,
    inner: usize,
    panel: *const f64,
    width: usize,
}

impl Block {
    /// Computes all rows, `R` at a time, in `J` registers across.
    #[inline(always)]
    unsafe fn rows<V: Vector, const R: usize, const J: usize>(self, rows: usize, out: *mut f64, out_row: usize) {
        let mut row = 0;
        // SAFETY: passed on to the caller.
        unsafe {
            while row + R <= rows {
                self.cells::<V, R, J>(row, out, out_row);
                row += R;
            }
            while row + 4 <= rows {
                self.cells::<V, 4, J>(row, out, out_row);
                row += 4;
            }
            while row < rows {
                self.cells::<V, 1, J>(row, out, out_row);
                row += 1;
            }
        }
    }

    /// Computes `R` rows from `row` on, of `J` registers.
    #[inline(always)]
    unsafe fn cells<V: Vector, const R: usize, const J: usize>(self, row: usize, out: *mut f64, out_row: usize) {
        let rows: [*const f64; R] = self.a.pointers(row);
        // SAFETY: passed on to the caller; panels are full, and the part of a register is masked where it is stored.
        unsafe {
            let mut cells = [[V::splat(0.0); J]; R];
            for k in 0..self.inner {
                let values = self.panel.add(k * PANEL);
                let mut right = [V::splat(0.0); J];
                for j in 0..J {
                    right[j] = V::load(values.add(j * V::LANES));
                }
                for r in 0..R {
                    let left = V::splat(*rows[r].add(k));
                    for j in 0..J {
                        cells[r][j] = V::mul_add(left, right[j], cells[r][j]);
                    }
                }
            }
            for r in 0..R {
                let out = out.wrapping_add((row + r) * out_row);
                for j in 0..J {
                    let out = out.wrapping_add(j * V::LANES);
                    let width = self.width.saturating_sub(j * V::LANES);
                    if width >= V::LANES {
                        V::store(cells[r][j], out);
                    } else if width > 0 {
                        V::store_first(cells[r][j], out, V::first(width));
                    }
                }
            }
        }
    }
}

/// The rows of a tile times a matrix: chains that go on with what the output holds if `GO_ON`, else begin with `+0.0`, and are
/// added to it if `ADD`. A block of these stays in registers while all rows of the matrix pass by, and a chunk of columns is
/// through with all rows of the tile before the next one.
struct TileTimesMatrix<'a, const GO_ON: bool, const ADD: bool> {
    rows: usize,
    len: usize,
    a: Rows,
    b: Rows,
    out: *mut f64,
    out_row: usize,
    ahead: &'a Ahead,
}

/// Values of a row between two shares of what is asked for ahead: a cache line of each row at hand.
const VALUES_PER_SHARE: usize = 8;

/// The most rows of a block of so many registers: AVX-512 has registers for two of eight rows; narrower sets for two of six,
/// or one of eight.
const fn block_rows(lanes: usize, registers: usize) -> usize {
    if lanes == 8 || registers == 1 { 8 } else { 6 }
}

/// Values of rows that are short: few rows of these are through with all columns before the next ones, which may lie far
/// behind each other in the output.
const SHORT_ROW: usize = 64;

/// The rows that are through with all columns before the next ones, a multiple of those of all blocks.
fn tile_rows(rows: usize, len: usize) -> usize {
    if len <= SHORT_ROW { rows.min(24) } else { rows }
}

impl<V: Vector, const GO_ON: bool, const ADD: bool> ChunkBody<V> for TileTimesMatrix<'_, GO_ON, ADD> {
    #[inline(always)]
    unsafe fn run<const I: usize, const MASKED: bool>(&self, start: usize, masks: [V::Mask; I]) {
        let mut row = 0;
        // SAFETY: passed on to the caller.
        unsafe {
            if I <= 2 {
                while block_rows(V::LANES, I) == 8 && row + 8 <= self.rows {
                    self.block::<V, 8, I, MASKED>(row, start, masks);
                    row += 8;
                }
                while block_rows(V::LANES, I) == 6 && row + 6 <= self.rows {
                    self.block::<V, 6, I, MASKED>(row, start, masks);
                    row += 6;
                }
                while row + 4 <= self.rows {
                    self.block::<V, 4, I, MASKED>(row, start, masks);
                    row += 4;
                }
                while row + 2 <= self.rows {
                    self.block::<V, 2, I, MASKED>(row, start, masks);
                    row += 2;
                }
            }
            while row < self.rows {
                self.block::<V, 1, I, MASKED>(row, start, masks);
                row += 1;
            }
        }
    }
}

impl<const GO_ON: bool, const ADD: bool> TileTimesMatrix<'_, GO_ON, ADD> {
    /// `R` rows from `row` on, and `I` registers of columns from `start` on.
    #[inline(always)]
    unsafe fn block<V: Vector, const R: usize, const I: usize, const MASKED: bool>(
        &self,
        row: usize,
        start: usize,
        masks: [V::Mask; I],
    ) {
        let rows: [*const f64; R] = self.a.pointers(row);
        let out = |r: usize| self.out.wrapping_add((row + r) * self.out_row + start);
        // SAFETY: passed on to the caller.
        unsafe {
            let mut sums = [[V::splat(0.0); I]; R];
            if GO_ON {
                for r in 0..R {
                    for i in 0..I {
                        sums[r][i] = load::<V, I, MASKED>(out(r), i, masks[i]);
                    }
                }
            }
            let mut k = 0;
            while k < self.len {
                // Only the first columns find memory idle.
                if !GO_ON && start == 0 {
                    self.ahead.ask();
                }
                let end = self.len.min(k + VALUES_PER_SHARE);
                while k < end {
                    let mut right = [V::splat(0.0); I];
                    for i in 0..I {
                        right[i] = load::<V, I, MASKED>(self.b.pointer(k).wrapping_add(start), i, masks[i]);
                    }
                    for r in 0..R {
                        let left = V::splat(*rows[r].add(k));
                        for i in 0..I {
                            sums[r][i] = V::mul_add(left, right[i], sums[r][i]);
                        }
                    }
                    k += 1;
                }
            }
            for r in 0..R {
                for i in 0..I {
                    if ADD {
                        sums[r][i] = V::add(load::<V, I, MASKED>(out(r), i, masks[i]), sums[r][i]);
                    }
                    store::<V, I, MASKED>(sums[r][i], out(r), i, masks[i]);
                }
            }
        }
    }
}

/// `out[r, j] = fma(a[r, i], b[i, j], out[r, j])` for each `i` of `len` in order.
#[inline(always)]
pub(crate) unsafe fn mat_mult_add<V: Vector>(
    (rows, len, k): (usize, usize, usize),
    a: Rows,
    b: Rows,
    out: *mut f64,
    out_row: usize,
) {
    let ahead = &Ahead::none();
    let step = tile_rows(rows, len).max(1);
    for row in (0..rows).step_by(step) {
        let (rows, a, out) = (step.min(rows - row), a.from(row), out.wrapping_add(row * out_row));
        let body = TileTimesMatrix::<true, false> { rows, len, a, b, out, out_row, ahead };
        // SAFETY: passed on to the caller.
        unsafe { for_each_column::<V, _>(rows, k, &body) }
    }
}

/// The most chains of a row that are side by side.
const MOST_CHAINS: usize = 4;

/// Sums that a core adds to at a time: with fewer, each waits for itself.
const BUSY_SUMS: usize = 8;

/// Few rows of several chains each times a matrix: these are side by side, so that there are enough sums that do not wait for each
/// other.
struct FewRowsTimesMatrix<'a> {
    rows: usize,
    len: usize,
    a: Rows,
    b: Rows,
    out: *mut f64,
    out_row: usize,
    ahead: &'a Ahead,
}

impl<V: Vector> ChunkBody<V> for FewRowsTimesMatrix<'_> {
    #[inline(always)]
    unsafe fn run<const I: usize, const MASKED: bool>(&self, start: usize, masks: [V::Mask; I]) {
        let mut row = 0;
        // SAFETY: passed on to the caller.
        unsafe {
            if I <= 2 {
                while row + 4 <= self.rows {
                    self.block::<V, 4, I, MASKED>(row, start, masks);
                    row += 4;
                }
                while row + 2 <= self.rows {
                    self.block::<V, 2, I, MASKED>(row, start, masks);
                    row += 2;
                }
            }
            while row < self.rows {
                self.block::<V, 1, I, MASKED>(row, start, masks);
                row += 1;
            }
        }
    }
}

impl FewRowsTimesMatrix<'_> {
    /// `R` rows from `row` on, and `I` registers of columns from `start` on.
    #[inline(always)]
    unsafe fn block<V: Vector, const R: usize, const I: usize, const MASKED: bool>(
        &self,
        row: usize,
        start: usize,
        masks: [V::Mask; I],
    ) {
        // So many that all sums have registers.
        let most = (BUSY_SUMS / (R * I)).clamp(1, MOST_CHAINS);
        let mut begin = 0;
        while begin < self.len {
            let chains = (self.len - begin).div_ceil(CHAIN).min(most);
            // SAFETY: passed on to the caller.
            unsafe {
                match chains {
                    4 if most >= 4 => self.chains::<V, R, I, 4, MASKED>(begin, row, start, masks),
                    3 if most >= 3 => self.chains::<V, R, I, 3, MASKED>(begin, row, start, masks),
                    2 if most >= 2 => self.chains::<V, R, I, 2, MASKED>(begin, row, start, masks),
                    _ => self.chains::<V, R, I, 1, MASKED>(begin, row, start, masks),
                }
            }
            begin += chains * CHAIN;
        }
    }

    /// `C` chains of each row from the value `begin` on, of which the last one may be shorter.
    #[inline(always)]
    unsafe fn chains<V: Vector, const R: usize, const I: usize, const C: usize, const MASKED: bool>(
        &self,
        begin: usize,
        row: usize,
        start: usize,
        masks: [V::Mask; I],
    ) {
        let (a, b) = (self.a.behind(begin), self.b.from(begin).behind(start));
        let last = (self.len - begin).min(C * CHAIN) - (C - 1) * CHAIN;
        // SAFETY: passed on to the caller.
        unsafe {
            let mut sums = [[[V::splat(0.0); I]; R]; C];
            let asked_of = if start == 0 { self.ahead } else { &Ahead::none() };
            for k in 0..last {
                if k % VALUES_PER_SHARE == 0 {
                    (0..C).for_each(|_| asked_of.ask());
                }
                add_terms::<V, R, I, C, MASKED>(&mut sums, C, a.pointers(row), b, k, masks);
            }
            if C > 1 {
                for k in last..CHAIN {
                    if k % VALUES_PER_SHARE == 0 {
                        (1..C).for_each(|_| asked_of.ask());
                    }
                    add_terms::<V, R, I, C, MASKED>(&mut sums, C - 1, a.pointers(row), b, k, masks);
                }
            }
            for r in 0..R {
                let out = self.out.wrapping_add((row + r) * self.out_row + start);
                for i in 0..I {
                    let mut sum = sums[0][r][i];
                    if begin > 0 {
                        sum = V::add(load::<V, I, MASKED>(out, i, masks[i]), sum);
                    }
                    for c in 1..C {
                        sum = V::add(sum, sums[c][r][i]);
                    }
                    store::<V, I, MASKED>(sum, out, i, masks[i]);
                }
            }
        }
    }
}

/// Adds the `k`-th term of the first `chains` chains.
#[inline(always)]
unsafe fn add_terms<V: Vector, const R: usize, const I: usize, const C: usize, const MASKED: bool>(
    sums: &mut [[[V; I]; R]; C],
    chains: usize,
    rows: [*const f64; R],
    b: Rows,
    k: usize,
    masks: [V::Mask; I],
) {
    for c in 0..chains {
        let k = c * CHAIN + k;
        // SAFETY: passed on to the caller.
        unsafe {
            let mut right = [V::splat(0.0); I];
            for i in 0..I {
                right[i] = load::<V, I, MASKED>(b.pointer(k), i, masks[i]);
            }
            for r in 0..R {
                let left = V::splat(*rows[r].add(k));
                for i in 0..I {
                    sums[c][r][i] = V::mul_add(left, right[i], sums[c][r][i]);
                }
            }
        }
    }
}

/// Rule 6: chains of at most [`CHAIN`] values, one added to the sum of those before it. What `out` holds is not read.
#[inline(always)]
pub(crate) unsafe fn wide_mat_mult<V: Vector>(
    (rows, len, k): (usize, usize, usize),
    a: Rows,
    b: Rows,
    out: *mut f64,
    out_row: usize,
) {
    // SAFETY: passed on to the caller.
    let is_done = unsafe {
        resident_mat_mult::<V>((rows, len, k), a, b, out, out_row)
            || few_terms_mat_mult::<V>((rows, len, k), a, b, out, out_row)
    };
    if is_done {
        return;
    }
    let step = tile_rows(rows, len).max(1);
    let height = block_rows(V::LANES, k.div_ceil(V::LANES));
    let blocks = rows / step * blocks_of(step, height) + blocks_of(rows % step, height);
    let ahead = &Ahead::new(a, rows, Half::First, blocks * len.div_ceil(VALUES_PER_SHARE));
    for row in (0..rows).step_by(step) {
        let (rows, a, out) = (step.min(rows - row), a.from(row), out.wrapping_add(row * out_row));
        let few = if len > CHAIN { rows % height } else { 0 };
        let rows = rows - few;
        if rows > 0 {
            // SAFETY: passed on to the caller.
            unsafe { chain_after_chain::<V>((rows, len, k), a, b, out, out_row, ahead) };
        }
        if few > 0 {
            let (a, out) = (a.from(rows), out.wrapping_add(rows * out_row));
            let body = FewRowsTimesMatrix { rows: few, len, a, b, out, out_row, ahead };
            // SAFETY: passed on to the caller.
            unsafe { for_few_columns::<V, _>(few, k, &body) };
        }
    }
}

/// Rows times a matrix: all of them with the values of a chain before those of the next one.
#[inline(always)]
unsafe fn chain_after_chain<V: Vector>(
    (rows, len, k): (usize, usize, usize),
    a: Rows,
    b: Rows,
    out: *mut f64,
    out_row: usize,
    ahead: &Ahead,
) {
    let first = len.min(CHAIN);
    // SAFETY: passed on to the caller.
    unsafe {
        let body = TileTimesMatrix::<false, false> { rows, len: first, a, b, out, out_row, ahead };
        for_few_columns::<V, _>(rows, k, &body);
    }
    for begin in (first..len).step_by(CHAIN) {
        let (a, b, len) = (a.behind(begin), b.from(begin), CHAIN.min(len - begin));
        // SAFETY: passed on to the caller.
        unsafe {
            let body = TileTimesMatrix::<false, true> { rows, len, a, b, out, out_row, ahead };
            for_few_columns::<V, _>(rows, k, &body);
        }
    }
}

/// [`for_each_column`], by narrower registers where these have room for all columns: each instruction set has those.
#[inline(always)]
unsafe fn for_few_columns<V: Vector, B: ChunkBody<V> + ChunkBody<V::Narrow>>(rows: usize, len: usize, body: &B) {
    // SAFETY: passed on to the caller.
    unsafe {
        if len <= V::Narrow::LANES {
            for_each_column::<V::Narrow, B>(rows, len, body);
        } else {
            for_each_column::<V, B>(rows, len, body);
        }
    }
}

/// How many blocks of at most `height` rows some rows make.
fn blocks_of(rows: usize, height: usize) -> usize {
    let rest = rows % height;
    rows / height + rest / 4 + rest % 4 / 2 + rest % 2
}

/// Cuts the columns into chunks of two registers, or where there are few rows, into longer ones: so there are enough sums at
/// a time, each of which waits for itself.
#[inline(always)]
unsafe fn for_each_column<V: Vector, B: ChunkBody<V>>(rows: usize, len: usize, body: &B) {
    // SAFETY: the chunks lie within the caller's `len`.
    unsafe {
        if rows < 4 {
            return for_each_chunk::<V, B>(len, body);
        }
        let mut start = 0;
        while start + 2 * V::LANES <= len {
            body.run::<2, false>(start, [V::first(0); 2]);
            start += 2 * V::LANES;
        }
        let rest = len - start;
        if rest > V::LANES {
            body.run::<2, true>(start, masks::<V, 2>(rest));
        } else if rest == V::LANES {
            body.run::<1, false>(start, [V::first(0)]);
        } else if rest > 0 {
            body.run::<1, true>(start, masks::<V, 1>(rest));
        }
    }
}
