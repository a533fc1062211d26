//! Windows over images, and products of filters with unfolded ones. A row is an image.
//!
//! Where windows are neighbours, loops run along their rows: of a window's cells each is taken in for a whole row of
//! windows before the next one is, which is the order within each window.
//!
//! An unfolded image is multiplied in tiles of columns, which stay in the second-level cache while the filters pass by.

use super::matrix;
use super::product::Rows;
use crate::vector::Vector;
use fuseline_ops::{Windows, math};

/// Values of a tile of an unfolded image: 256 KiB.
const TILE_VALUES: usize = 1 << 15;
/// Columns of a tile are a multiple of those that stay in registers together.
const TILE_COLUMNS: usize = 32;

/// What becomes of the cells of a window.
pub(crate) trait Pooling {
    /// What nothing gives.
    const NEUTRAL: f64;

    /// Takes one more cell in.
    fn take(so_far: f64, cell: f64) -> f64;

    /// The result for windows of so many cells.
    fn finish(value: f64, cells: usize) -> f64;
}

/// The largest cell.
pub(crate) struct Largest;

impl Pooling for Largest {
    const NEUTRAL: f64 = f64::NEG_INFINITY;

    #[inline(always)]
    fn take(so_far: f64, cell: f64) -> f64 {
        math::max(so_far, cell)
    }

    #[inline(always)]
    fn finish(value: f64, _: usize) -> f64 {
        value
    }
}

/// The mean of cells and padding.
pub(crate) struct MeanOfAll;

impl Pooling for MeanOfAll {
    const NEUTRAL: f64 = 0.0;

    #[inline(always)]
    fn take(so_far: f64, cell: f64) -> f64 {
        so_far + cell
    }

    #[inline(always)]
    fn finish(value: f64, cells: usize) -> f64 {
        value / cells as f64
    }
}

/// Sets the neighbours `out[0..len]` to a function of where they are, and of `cells[0]`, `cells[stride]`, ...
#[inline(always)]
unsafe fn set(out: *mut f64, cells: *const f64, stride: usize, len: usize, value: impl Fn(*const f64, f64) -> f64) {
    // SAFETY: passed on to the caller.
    unsafe {
        if stride == 1 {
            // A stride that is known makes it a loop over registers.
            for at in 0..len {
                *out.add(at) = value(out.add(at), *cells.add(at));
            }
        } else {
            for at in 0..len {
                *out.add(at) = value(out.add(at), *cells.add(at * stride));
            }
        }
    }
}

/// The pool of each window of each row of `a`.
#[inline(always)]
pub(crate) unsafe fn pool<P: Pooling>(rows: usize, windows: *const Windows, a: Rows, out: *mut f64, out_row: usize) {
    // SAFETY: passed on to the caller, whose rows are images.
    unsafe {
        let windows = &*windows;
        let [down, across] = windows.count();
        let cells = windows.image[0] * windows.image[1];
        for row in 0..rows {
            for channel in 0..windows.channels {
                let image = a.pointer(row).add(channel * cells);
                for p in 0..down {
                    let out = out.add(row * out_row + (channel * down + p) * across);
                    if windows.stride[1] == 1 {
                        pool_neighbours::<P>(windows, image, p, across, out);
                    } else {
                        pool_apart::<P>(windows, image, p, across, out);
                    }
                }
            }
        }
    }
}

/// The pools of a row of windows that are neighbours, and so are their first cells, their second ones, and so on.
#[inline(always)]
unsafe fn pool_neighbours<P: Pooling>(windows: &Windows, image: *const f64, p: usize, across: usize, out: *mut f64) {
    // SAFETY: passed on to the caller.
    unsafe {
        for q in 0..across {
            *out.add(q) = P::NEUTRAL;
        }
        for line in lines(windows, image, p) {
            for j in 0..windows.window[1] {
                let (inside, column) = windows.inside(j);
                let (out, line) = (out.add(inside.start), line.wrapping_add(column));
                set(out, line, 1, inside.len(), |so_far, cell| P::take(*so_far, cell));
            }
        }
        for q in 0..across {
            *out.add(q) = P::finish(*out.add(q), windows.window_cells());
        }
    }
}

/// The pools of a row of windows that lie apart, one by one.
#[inline(always)]
unsafe fn pool_apart<P: Pooling>(windows: &Windows, image: *const f64, p: usize, across: usize, out: *mut f64) {
    let ([_, stride], [_, padding], [_, width]) = (windows.stride, windows.padding, windows.image);
    for q in 0..across {
        let first = (q * stride).saturating_sub(padding);
        let end = (q * stride + windows.window[1]).saturating_sub(padding).min(width);
        let mut value = P::NEUTRAL;
        // SAFETY: passed on to the caller; columns lie within the image.
        unsafe {
            for line in lines(windows, image, p) {
                for column in first..end {
                    value = P::take(value, *line.add(column));
                }
            }
            *out.add(q) = P::finish(value, windows.window_cells());
        }
    }
}

/// The rows of a channel that a row of windows covers.
#[inline(always)]
fn lines(windows: &Windows, image: *const f64, p: usize) -> impl Iterator<Item = *const f64> {
    let width = windows.image[1];
    let first = (p * windows.stride[0]).saturating_sub(windows.padding[0]);
    let end = (p * windows.stride[0] + windows.window[0]).saturating_sub(windows.padding[0]).min(windows.image[0]);
    (first..end).map(move |row| image.wrapping_add(row * width))
}

/// The cells of all windows of each row of `a`: one row for each cell of a window (of each channel), with a value for
/// each window.
#[inline(always)]
pub(crate) unsafe fn unfold(rows: usize, windows: *const Windows, a: Rows, out: *mut f64, out_row: usize) {
    // SAFETY: passed on to the caller, whose rows are images.
    unsafe {
        let windows = &*windows;
        let ([down, across], [height, width]) = (windows.count(), windows.window);
        let cells = windows.image[0] * windows.image[1];
        for row in 0..rows {
            let mut out = out.add(row * out_row);
            for channel in 0..windows.channels {
                let image = a.pointer(row).add(channel * cells);
                for i in 0..height {
                    for j in 0..width {
                        let (inside, column) = windows.inside(j);
                        for p in 0..down {
                            match windows.row(p, i) {
                                None => fill(out, across),
                                Some(line) => {
                                    fill(out, inside.start);
                                    let line = image.add(line * windows.image[1]).wrapping_add(column);
                                    let to = out.add(inside.start);
                                    set(to, line, windows.stride[1], inside.len(), |_, cell| cell);
                                    fill(out.add(inside.end), across - inside.end);
                                }
                            }
                            out = out.add(across);
                        }
                    }
                }
            }
        }
    }
}

/// Writes zeros.
#[inline(always)]
unsafe fn fill(out: *mut f64, len: usize) {
    for at in 0..len {
        // SAFETY: passed on to the caller.
        unsafe { *out.add(at) = 0.0 };
    }
}

/// The product of the filters (of `len` values) with each row of `a`, which is a matrix of `len` rows of `k` values:
/// `filters` rows of `k` values, each a chain of fused multiply-adds from zero on.
#[inline(always)]
pub(crate) unsafe fn convolve<V: Vector>(
    (rows, filters, len, k): (usize, usize, usize, usize),
    a: Rows,
    b: Rows,
    out: *mut f64,
    out_row: usize,
) {
    let width = (TILE_VALUES / len.max(1)).next_multiple_of(TILE_COLUMNS).max(TILE_COLUMNS);
    for row in 0..rows {
        let out = out.wrapping_add(row * out_row);
        // SAFETY: passed on to the caller.
        unsafe {
            fill(out, filters * k);
            let mut first = 0;
            while first < k {
                let (columns, out) = (width.min(k - first), out.add(first));
                let tile = Rows::new(a.pointer(row).wrapping_add(first), k);
                matrix::mat_mult_add::<V>((filters, len, columns), b, tile, out, k);
                first += columns;
            }
        }
    }
}
