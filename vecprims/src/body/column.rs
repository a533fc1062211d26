//! Accumulation into vectors, rows or positions in order (rules 5 and 6): every chunk of the accumulated vector stays
//! in registers while all rows pass by.

use super::ahead::{Ahead, Half};
use super::product::Rows;
use super::reduce::Aggregate;
use crate::vector::Vector;

/// A loop nest over one chunk of `I` registers of a vector.
pub(crate) trait ChunkBody<V: Vector> {
    /// Handles the chunk at `start`. With `MASKED` each register holds only the lanes its mask chooses.
    ///
    /// # Safety
    /// The contract of [`crate::body`].
    unsafe fn run<const I: usize, const MASKED: bool>(&self, start: usize, masks: [V::Mask; I]);
}

/// Cuts `0..len` into chunks of eight registers and a masked rest.
#[inline(always)]
pub(crate) unsafe fn for_each_chunk<V: Vector, B: ChunkBody<V>>(len: usize, body: &B) {
    // SAFETY: passed on to the caller.
    unsafe { for_each_chunk_of::<V, B, 8>(len, body) }
}

/// As [`for_each_chunk`], with chunks of `W` registers: three, four or eight.
#[inline(always)]
pub(crate) unsafe fn for_each_chunk_of<V: Vector, B: ChunkBody<V>, const W: usize>(len: usize, body: &B) {
    let mut start = 0;
    // SAFETY: the chunks lie within the caller's `len`.
    unsafe {
        while start + W * V::LANES <= len {
            body.run::<W, false>(start, [V::first(0); W]);
            start += W * V::LANES;
        }
        let rest = len - start;
        match rest.div_ceil(V::LANES) {
            0 => {}
            1 => body.run::<1, true>(start, masks::<V, 1>(rest)),
            2 => body.run::<2, true>(start, masks::<V, 2>(rest)),
            3 => body.run::<3, true>(start, masks::<V, 3>(rest)),
            4 => body.run::<4, true>(start, masks::<V, 4>(rest)),
            5 => body.run::<5, true>(start, masks::<V, 5>(rest)),
            _ => body.run::<8, true>(start, masks::<V, 8>(rest)),
        }
    }
}

/// The chunk of a vector of at most two registers.
#[inline(always)]
unsafe fn for_short_chunk<V: Vector, B: ChunkBody<V>>(len: usize, body: &B) {
    // SAFETY: passed on to the caller; the masks end with the vector.
    unsafe {
        match len.div_ceil(V::LANES) {
            0 => {}
            1 => body.run::<1, true>(0, masks::<V, 1>(len)),
            _ => body.run::<2, true>(0, masks::<V, 2>(len)),
        }
    }
}

/// Cuts `0..len` like [`for_each_chunk`], but into a register of just as many lanes as there are values, if there is one, and
/// without masks where there are whole registers. A masked register reaches over the values behind its own: it straddles cache
/// lines, and waits for stores there. What was stored under a mask, be it all ones, some processors load again only when the
/// cache has it.
#[inline(always)]
pub(crate) unsafe fn for_each_fitting_chunk<V: Vector, B>(len: usize, body: &B)
where
    B: ChunkBody<V> + ChunkBody<V::Narrow> + ChunkBody<<V::Narrow as Vector>::Narrow>,
{
    // SAFETY: passed on to the caller; each instruction set has those with narrower registers.
    unsafe {
        if len == V::Narrow::LANES {
            ChunkBody::<V::Narrow>::run::<1, false>(body, 0, [V::Narrow::first(0)]);
        } else if len == <V::Narrow as Vector>::Narrow::LANES {
            ChunkBody::<<V::Narrow as Vector>::Narrow>::run::<1, false>(
                body,
                0,
                [<V::Narrow as Vector>::Narrow::first(0)],
            );
        } else if len.is_multiple_of(V::LANES) {
            for_each_whole_chunk::<V, B>(len, body);
        } else {
            for_each_chunk::<V, B>(len, body);
        }
    }
}

/// Cuts `0..len`, whole registers, into chunks of eight and of fewer, none of them masked.
#[inline(always)]
unsafe fn for_each_whole_chunk<V: Vector, B: ChunkBody<V>>(len: usize, body: &B) {
    let mut start = 0;
    // SAFETY: the chunks lie within the caller's `len`.
    unsafe {
        loop {
            let taken = match (len - start) / V::LANES {
                0 => return,
                1 => run_whole::<V, B, 1>(body, start),
                2 => run_whole::<V, B, 2>(body, start),
                3 | 6 => run_whole::<V, B, 3>(body, start),
                4 | 7 => run_whole::<V, B, 4>(body, start),
                5 => run_whole::<V, B, 5>(body, start),
                _ => run_whole::<V, B, 8>(body, start),
            };
            start += taken * V::LANES;
        }
    }
}

/// Runs a chunk of `I` whole registers, and gives their number.
#[inline(always)]
unsafe fn run_whole<V: Vector, B: ChunkBody<V>, const I: usize>(body: &B, start: usize) -> usize {
    // SAFETY: passed on to the caller.
    unsafe { body.run::<I, false>(start, [V::first(0); I]) };
    I
}

/// The registers of a masked chunk of `I` that are full at least: plain loads are the faster ones, and the only ones that
/// the hardware prefetchers learn from.
pub(crate) const fn whole_registers(registers: usize) -> usize {
    if registers == 8 { 5 } else { registers - 1 }
}

/// The masks of the first `count` lanes of `I` registers.
#[inline(always)]
pub(crate) unsafe fn masks<V: Vector, const I: usize>(count: usize) -> [V::Mask; I] {
    // SAFETY: the caller runs on the instruction set of `V`.
    unsafe {
        let mut masks = [V::first(0); I];
        for i in 0..I {
            masks[i] = V::first(count.saturating_sub(i * V::LANES).min(V::LANES));
        }
        masks
    }
}

/// Loads register `i` of the `I` of a chunk.
#[inline(always)]
pub(crate) unsafe fn load<V: Vector, const I: usize, const MASKED: bool>(
    start: *const f64,
    i: usize,
    mask: V::Mask,
) -> V {
    let values = start.wrapping_add(i * V::LANES);
    // SAFETY: passed on to the caller.
    unsafe { if MASKED && i >= whole_registers(I) { V::load_first(values, mask) } else { V::load(values) } }
}

/// Stores register `i` of a chunk.
#[inline(always)]
pub(crate) unsafe fn store<V: Vector, const I: usize, const MASKED: bool>(
    register: V,
    start: *mut f64,
    i: usize,
    mask: V::Mask,
) {
    let values = start.wrapping_add(i * V::LANES);
    // SAFETY: passed on to the caller.
    unsafe {
        if MASKED && i >= whole_registers(I) {
            V::store_first(register, values, mask);
        } else {
            V::store(register, values);
        }
    }
}

/// How far ahead, in values, masked loads prefetch rows that lie `row` values apart: whole rows, about 2 KiB.
#[inline(always)]
pub(crate) fn prefetch_distance(row: usize) -> usize {
    row * (256 / row.max(1)).max(1)
}

/// Column aggregates of a dense tile.
pub(crate) struct ColumnAggregate<A> {
    pub(crate) rows: usize,
    pub(crate) a: *const f64,
    pub(crate) a_row: usize,
    pub(crate) acc: *mut f64,
    pub(crate) aggregate: std::marker::PhantomData<A>,
}

impl<V: Vector, A: Aggregate> ChunkBody<V> for ColumnAggregate<A> {
    #[inline(always)]
    unsafe fn run<const I: usize, const MASKED: bool>(&self, start: usize, masks: [V::Mask; I]) {
        // SAFETY: passed on to the caller.
        unsafe {
            let mut accumulators = [V::splat(0.0); I];
            for i in 0..I {
                accumulators[i] = load::<V, I, MASKED>(self.acc.wrapping_add(start), i, masks[i]);
            }
            let ahead = prefetch_distance(self.a_row);
            let mut row = self.a.add(start);
            for _ in 0..self.rows {
                for i in 0..I {
                    if MASKED {
                        V::prefetch(row.wrapping_add(ahead + i * V::LANES));
                    }
                    let value = load::<V, I, MASKED>(row, i, masks[i]);
                    accumulators[i] = A::step(accumulators[i], value);
                }
                row = row.wrapping_add(self.a_row);
            }
            for i in 0..I {
                store::<V, I, MASKED>(accumulators[i], self.acc.wrapping_add(start), i, masks[i]);
            }
        }
    }
}

/// `acc = merge(acc, a[r])` for every row.
#[inline(always)]
pub(crate) unsafe fn col_agg<V: Vector, A: Aggregate>(
    rows: usize,
    len: usize,
    a: *const f64,
    a_row: usize,
    acc: *mut f64,
) {
    let body = ColumnAggregate::<A> { rows, a, a_row, acc, aggregate: std::marker::PhantomData };
    // SAFETY: passed on to the caller.
    unsafe { for_each_chunk::<V, _>(len, &body) }
}

/// The products of the first `J` columns of `b` with a tile of `a`.
struct OuterProduct<'a, const J: usize> {
    rows: usize,
    a: Rows,
    b: Rows,
    acc: *mut f64,
    acc_row: usize,
    ahead: &'a Ahead,
}

/// Registers of a tile that are accumulated between two shares of what is asked for ahead.
const REGISTERS_PER_SHARE: usize = 8;

/// The rows of a chunk of so many registers that are.
const fn rows_per_share(registers: usize) -> usize {
    REGISTERS_PER_SHARE / registers
}

impl<const J: usize> OuterProduct<'_, J> {
    /// Takes a row of the chunk that begins at `start` into its accumulators.
    #[inline(always)]
    unsafe fn step<V: Vector, const I: usize, const MASKED: bool>(
        &self,
        accumulators: &mut [[V; I]; J],
        row: usize,
        start: usize,
        masks: [V::Mask; I],
    ) {
        let (a, b) = (self.a.pointer(row).wrapping_add(start), self.b.pointer(row));
        // SAFETY: passed on to the caller.
        unsafe {
            for i in 0..I {
                if MASKED {
                    V::prefetch(a.wrapping_add(prefetch_distance(self.a.row) + i * V::LANES));
                }
                let long = load::<V, I, MASKED>(a, i, masks[i]);
                for j in 0..J {
                    accumulators[j][i] = V::mul_add(long, V::splat(*b.add(j)), accumulators[j][i]);
                }
            }
        }
    }
}

impl<V: Vector, const J: usize> ChunkBody<V> for OuterProduct<'_, J> {
    #[inline(always)]
    unsafe fn run<const I: usize, const MASKED: bool>(&self, start: usize, masks: [V::Mask; I]) {
        // SAFETY: passed on to the caller.
        unsafe {
            let mut accumulators = [[V::splat(0.0); I]; J];
            for j in 0..J {
                for i in 0..I {
                    let cells = self.acc.wrapping_add(j * self.acc_row + start);
                    accumulators[j][i] = load::<V, I, MASKED>(cells, i, masks[i]);
                }
            }
            let rows_at_once = const { rows_per_share(I) };
            let mut row = 0;
            while row + rows_at_once <= self.rows {
                self.ahead.ask();
                for r in 0..rows_at_once {
                    self.step::<V, I, MASKED>(&mut accumulators, row + r, start, masks);
                }
                row += rows_at_once;
            }
            while row < self.rows {
                self.step::<V, I, MASKED>(&mut accumulators, row, start, masks);
                row += 1;
            }
            for j in 0..J {
                for i in 0..I {
                    let cells = self.acc.wrapping_add(j * self.acc_row + start);
                    store::<V, I, MASKED>(accumulators[j][i], cells, i, masks[i]);
                }
            }
        }
    }
}

/// `acc[j * acc_row + i] = fma(a[r, i], b[r, j], acc[..])`, rows in order.
#[inline(always)]
pub(crate) unsafe fn outer_mult_add<V: Vector>(
    (rows, n, k): (usize, usize, usize),
    a: Rows,
    mut b: Rows,
    mut acc: *mut f64,
    acc_row: usize,
) {
    let mut left = k;
    // Only the columns of `b` that go first find memory idle.
    let shares = (rows * n.div_ceil(V::LANES)).div_ceil(REGISTERS_PER_SHARE);
    let mut ahead = Ahead::new(a, rows, Half::Second, shares);
    macro_rules! take {
        ($columns:literal, $chunks:expr) => {{
            let body = OuterProduct::<$columns> { rows, a, b, acc, acc_row, ahead: &ahead };
            // SAFETY: passed on to the caller; the columns of `b` and the rows of `acc` advance together.
            unsafe { $chunks(n, &body) };
            (b.values, acc) = (b.values.wrapping_add($columns), acc.wrapping_add($columns * acc_row));
            left -= $columns;
            ahead = Ahead::none();
        }};
    }
    // The shapes fill half the registers of AVX-512: two registers by eight columns of `b`, four by four, or eight by two.
    // Narrower sets have room for three by four, four by two, or eight by one.
    if V::LANES == 8 {
        while n <= 2 * V::LANES && left > 4 {
            match left {
                5 => take!(5, for_short_chunk::<V, _>),
                6 => take!(6, for_short_chunk::<V, _>),
                7 => take!(7, for_short_chunk::<V, _>),
                _ => take!(8, for_short_chunk::<V, _>),
            }
        }
        while left >= 4 {
            take!(4, for_each_chunk_of::<V, _, 4>);
        }
        while left >= 2 {
            take!(2, for_each_chunk::<V, _>);
        }
    } else {
        while left >= 4 {
            take!(4, for_each_chunk_of::<V, _, 3>);
        }
        while left >= 2 {
            take!(2, for_each_chunk_of::<V, _, 4>);
        }
    }
    while left > 0 {
        take!(1, for_each_chunk::<V, _>);
    }
}
