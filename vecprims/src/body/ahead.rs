//! Asking for the tile behind the one at hand.
//!
//! Operators run over a matrix tile by tile, and products pass over a tile twice: from memory, then from the cache. In the
//! second pass memory would have nothing to do. So each pass asks for half of the tile that follows, in shares that it
//! spreads over its own work. Nothing depends on it but the time: addresses need not be live.

use super::product::Rows;
use std::cell::Cell;

/// Values of a cache line.
const LINE: usize = 8;

/// The most values of a tile that another one is taken to follow: units of operators are smaller, whole matrices larger.
const MAX_TILE: usize = 1 << 14;

/// From this length on, rows lie on pages of their own, and the hardware follows each of them by itself.
pub(crate) const LONG_ROW: usize = 512;

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
    lines: usize,
    /// How far behind each long row the same place of the following tile lies, where it is asked for; else 0.
    pub(crate) distance: usize,
}

impl Ahead {
    /// Nothing at all.
    pub(crate) fn none() -> Ahead {
        Ahead { next: Cell::new(std::ptr::null()), lines: 0, distance: 0 }
    }

    /// Half of the tile behind these rows, in so many shares. Of long rows, the second pass asks for everything, row by
    /// row.
    #[inline(always)]
    pub(crate) fn new(tile: Rows, rows: usize, half: Half, shares: usize) -> Ahead {
        let values = rows.saturating_mul(tile.row);
        match half {
            _ if values > MAX_TILE => Ahead::none(),
            Half::First if tile.row >= LONG_ROW => Ahead::none(),
            Half::Second if tile.row >= LONG_ROW => Ahead { distance: values, ..Ahead::none() },
            Half::First | Half::Second => {
                let skipped = if half == Half::First { 0 } else { values / 2 };
                let next = Cell::new(tile.values.wrapping_add(values + skipped));
                Ahead { next, lines: (values / 2).div_ceil(LINE).div_ceil(shares.max(1)), distance: 0 }
            }
        }
    }

    /// Asks for the next share, into the second-level cache.
    #[inline(always)]
    pub(crate) fn ask(&self) {
        let mut next = self.next.get();
        for _ in 0..self.lines {
            prefetch(next);
            next = next.wrapping_add(LINE);
        }
        self.next.set(next);
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
