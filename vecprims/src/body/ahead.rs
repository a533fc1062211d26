//! Asking for the tile behind the one at hand.
//!
//! Operators run over a matrix tile by tile, and products pass over a tile twice: from memory, then from the cache. In the
//! second pass memory would have nothing to do. So each pass asks for half of the tile that follows, in shares that it
//! spreads over its own work. Nothing depends on it but the time: addresses need not be live.

use super::product::Rows;
use super::short;
use super::sparse::CsrRows;
use crate::vector::Vector;
use std::cell::Cell;

/// Values of a cache line.
pub(crate) const LINE: usize = 8;

/// The most values of a tile that another one is taken to follow: units of operators are smaller, whole matrices larger.
const MAX_TILE: usize = 1 << 14;

/// How far ahead a run is asked for that is read once: the hardware's prefetchers, which stop at each page, keep memory less
/// busy than registers can take. The best of 1536, 4096 and 12288 on Zen 4.
const STREAM_BYTES: usize = 1536;

/// How far ahead element-wise operations ask, in values: a page. The best of 64 to 1024 on Zen 5, where `exp(X) %*% v` over rows
/// of 10 to 3,000 values takes 0.71 to 0.78 of the time, and `max(X, c) %*% v` 0.7 to 0.8, up to rows of 100,000.
const PAGE: usize = 512;

/// The half of the following tile that a pass asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Half {
    /// Asked for by products, which come first.
    First,
    /// Asked for by what accumulates.
    Second,
}

/// What a pass over a tile asks for.
pub(crate) struct Ahead {
    next: Cell<*const f64>,
    /// Values of a share, and the lines that they lie in.
    share: usize,
    lines: usize,
}

impl Ahead {
    /// Nothing at all.
    pub(crate) fn none() -> Ahead {
        Ahead { next: Cell::new(std::ptr::null()), share: 0, lines: 0 }
    }

    /// What lies [`STREAM_BYTES`] behind a run that is read once, in shares of so many values of it.
    #[inline(always)]
    pub(crate) fn along<T>(values: *const T, share: usize) -> Ahead {
        let bytes = share * size_of::<T>();
        let next = values.wrapping_byte_add(STREAM_BYTES).cast();
        Ahead { next: Cell::new(next), share: bytes / size_of::<f64>(), lines: bytes.div_ceil(LINE * size_of::<f64>()) }
    }

    /// Half of the tile behind these rows, in so many shares.
    #[inline(always)]
    pub(crate) fn new(tile: Rows, rows: usize, half: Half, shares: usize) -> Ahead {
        Ahead::behind(tile.values, rows.saturating_mul(tile.row), half, shares)
    }

    /// Half of as many values as these, behind them. Shares are counted in values, not in whole lines: what is asked for
    /// twice leaves memory idle, since the hardware prefetchers go on only from lines that are new.
    #[inline(always)]
    fn behind(values: *const f64, count: usize, half: Half, shares: usize) -> Ahead {
        if count > MAX_TILE {
            return Ahead::none();
        }
        let skipped = if half == Half::First { 0 } else { count / 2 };
        let shares = shares.max(1);
        let share = (count / 2 + shares / 2) / shares;
        Ahead { next: Cell::new(values.wrapping_add(count + skipped)), share, lines: share.div_ceil(LINE) }
    }

    /// Asks for the next share, into the second-level cache.
    #[inline(always)]
    pub(crate) fn ask(&self) {
        let next = self.next.get();
        for line in 0..self.lines {
            prefetch(next.wrapping_add(line * LINE));
        }
        self.next.set(next.wrapping_add(self.share));
    }
}

/// Asks for the cache line a page behind these values, into the nearest cache, which holds it until then.
#[inline(always)]
pub(crate) unsafe fn ask_behind<V: Vector>(values: *const f64) {
    // SAFETY: the caller runs on the instruction set of `V`.
    unsafe { V::prefetch(values.wrapping_add(PAGE)) };
}

/// What a pass over sparse rows asks for: half of the values and of the columns of the rows that follow, as if they had as
/// many positions.
pub(crate) struct CsrAhead {
    values: Ahead,
    columns: Ahead,
}

impl CsrAhead {
    /// Nothing for short rows, whose positions are soon through.
    #[inline(always)]
    pub(crate) unsafe fn new(a: CsrRows, half: Half) -> CsrAhead {
        // SAFETY: passed on to the caller.
        unsafe {
            if short::are_short(a) {
                return CsrAhead { values: Ahead::none(), columns: Ahead::none() };
            }
            let count = a.count();
            CsrAhead {
                values: Ahead::behind(a.values, count, half, a.rows),
                columns: Ahead::behind(a.columns.cast(), count / 2, half, a.rows),
            }
        }
    }

    /// Asks for the share of a row.
    #[inline(always)]
    pub(crate) fn ask(&self) {
        self.values.ask();
        self.columns.ask();
    }
}

/// Asks for the lines of so many values, live or not, into the nearest cache.
#[inline(always)]
pub(crate) unsafe fn ask_for<V: Vector>(values: *const f64, count: usize) {
    for line in (0..count).step_by(LINE) {
        // SAFETY: the caller runs on the instruction set of `V`.
        unsafe { V::prefetch(values.wrapping_add(line)) };
    }
}

/// Asks for a cache line, into the second-level cache.
#[inline(always)]
fn prefetch(values: *const f64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every processor of the architecture has the instruction, and it takes any address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T1 }>(values.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = values;
}
