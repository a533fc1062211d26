//! Convolution and pooling of images. An image is a row: channel by channel, row by row within each.

use crate::gemm::{Extents, Strided, gemm_into};
use crate::{KernelContext, KernelError};
use fuseline_ir::hop::infer::window_count;
use fuseline_matrix::{Dense, MatrixBlock};
use rayon::prelude::*;

/// How windows lie in an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// Channels of an image.
    pub channels: i64,
    /// Height and width of an image.
    pub image: [i64; 2],
    /// Height and width of a window.
    pub window: [i64; 2],
    /// How far the windows are apart, in both directions.
    pub stride: [i64; 2],
    /// How many zeros surround an image, in both directions.
    pub padding: [i64; 2],
}

/// What a window becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// Its largest cell; padding does not count.
    Max,
    /// The mean of its cells, of which padding is part.
    Mean,
}

/// Checked windows.
#[derive(Clone, Copy, Debug)]
struct Layout {
    channels: usize,
    image: [usize; 2],
    window: [usize; 2],
    stride: [usize; 2],
    padding: [usize; 2],
    /// How many windows there are, in both directions.
    count: [usize; 2],
}

impl Layout {
    fn new(operation: &'static str, windows: &Windows, images: &MatrixBlock) -> Result<Self, KernelError> {
        let argument = |problem: String| KernelError::Argument { operation, problem };
        let natural = |value: i64, what: &str| {
            usize::try_from(value).map_err(|_| argument(format!("{value} is no number of {what}")))
        };
        let pair = |[first, second]: [i64; 2], what: &str| Ok([natural(first, what)?, natural(second, what)?]);
        let channels = natural(windows.channels, "channels")?;
        let (image, window) = (pair(windows.image, "rows or columns")?, pair(windows.window, "rows or columns")?);
        let (stride, padding) = (pair(windows.stride, "cells")?, pair(windows.padding, "cells")?);
        let cells = channels.checked_mul(image[0]).and_then(|cells| cells.checked_mul(image[1]));
        if cells != Some(images.cols()) {
            let [height, width] = image;
            let problem = format!("images of {channels} x {height} x {width} do not have {} columns", images.cols());
            return Err(argument(problem));
        }
        let count = |axis: usize| {
            let [image, window] = [image[axis], window[axis]].map(|extent| extent as u64);
            let windows = window_count(image, window, stride[axis] as u64, padding[axis] as u64).filter(|_| window > 0);
            let problem = || format!("a window of {window} with a stride of {} does not fit {image}", stride[axis]);
            windows.map(|count| count as usize).ok_or_else(|| argument(problem()))
        };
        let count = [count(0)?, count(1)?];
        Ok(Layout { channels, image, window, stride, padding, count })
    }

    fn windows(&self) -> usize {
        self.count[0] * self.count[1]
    }

    /// The position within a channel of a cell of a window, unless it lies in the padding.
    fn position(&self, [p, q]: [usize; 2], [i, j]: [usize; 2]) -> Option<usize> {
        let row = (p * self.stride[0] + i).checked_sub(self.padding[0]).filter(|row| *row < self.image[0])?;
        let col = (q * self.stride[1] + j).checked_sub(self.padding[1]).filter(|col| *col < self.image[1])?;
        Some(row * self.image[1] + col)
    }

    /// The cells of a channel of an image.
    fn channel<'a>(&self, image: &'a [f64], channel: usize) -> &'a [f64] {
        let cells = self.image[0] * self.image[1];
        &image[channel * cells..(channel + 1) * cells]
    }

    /// The image with one row per cell of a window (of each channel) and one column per window.
    fn unfold(&self, image: &[f64], unfolded: &mut [f64]) {
        let [height, width] = self.window;
        let mut rows = unfolded.chunks_exact_mut(self.windows().max(1));
        for channel in 0..self.channels {
            let cells = self.channel(image, channel);
            for (i, j) in (0..height).flat_map(|i| (0..width).map(move |j| (i, j))) {
                let Some(row) = rows.next() else { return };
                for (window, cell) in row.iter_mut().enumerate() {
                    let place = [window / self.count[1], window % self.count[1]];
                    *cell = self.position(place, [i, j]).map_or(0.0, |position| cells[position]);
                }
            }
        }
    }
}

/// The convolution of each of the n images (rows of n x c*h*w cells) with each of the f filters (f x c*i*j, for windows
/// of i x j): n x f*p*q, for p x q windows. Each image is unfolded and multiplied by itself.
///
/// # Errors
/// Images or filters with other numbers of columns than their shapes say, or windows that do not fit.
pub fn conv2d(
    context: &KernelContext<'_>,
    images: &MatrixBlock,
    filters: &MatrixBlock,
    windows: &Windows,
) -> Result<MatrixBlock, KernelError> {
    let layout = Layout::new("conv2d", windows, images)?;
    let inner = layout.channels * layout.window[0] * layout.window[1];
    if filters.cols() != inner {
        let ([height, width], actual) = (layout.window, filters.cols());
        let problem = format!("filters of {} x {height} x {width} do not have {actual} columns", layout.channels);
        return Err(KernelError::Argument { operation: "conv2d", problem });
    }
    let extents = Extents { rows: filters.rows(), inner, cols: layout.windows() };
    let filters = filters.to_dense();
    let unfolded = || Dense::zeros(inner, layout.windows());
    let convolve = |unfolded: &mut Dense, image: &[f64], out: &mut [f64]| {
        layout.unfold(image, unfolded.values_mut());
        gemm_into(out, extents.cols, extents, Strided::of(&filters), Strided::of(unfolded));
    };
    Ok(map_images(context, images, extents.rows * extents.cols, unfolded, convolve).into())
}

/// The largest cell or the mean of each window of each channel of the n images: n x c*p*q, for p x q windows.
///
/// # Errors
/// Images with another number of columns than their shape says, or windows that do not fit.
pub fn pool(
    context: &KernelContext<'_>,
    pooling: Pooling,
    images: &MatrixBlock,
    windows: &Windows,
) -> Result<MatrixBlock, KernelError> {
    let operation = if pooling == Pooling::Max { "max_pool" } else { "avg_pool" };
    let layout = Layout::new(operation, windows, images)?;
    let [height, width] = layout.window;
    let reduce = |(): &mut (), image: &[f64], out: &mut [f64]| {
        for (at, out) in out.iter_mut().enumerate() {
            let cells = layout.channel(image, at / layout.windows());
            let window = at % layout.windows();
            let place = [window / layout.count[1], window % layout.count[1]];
            let inside = (0..height).flat_map(|i| (0..width).map(move |j| [i, j]));
            let values = inside.filter_map(|cell| layout.position(place, cell)).map(|position| cells[position]);
            *out = match pooling {
                Pooling::Max => values.fold(f64::NEG_INFINITY, fuseline_ir::ops::math::max),
                Pooling::Mean => values.sum::<f64>() / (height * width) as f64,
            };
        }
    };
    Ok(map_images(context, images, layout.channels * layout.windows(), || (), reduce).into())
}

/// A row of `width` cells for each image. Each is computed by one thread, with scratch space of that thread.
fn map_images<S>(
    context: &KernelContext<'_>,
    images: &MatrixBlock,
    width: usize,
    scratch: impl Fn() -> S + Sync + Send,
    map: impl Fn(&mut S, &[f64], &mut [f64]) + Sync,
) -> Dense {
    let cells = images.to_dense();
    let mut result = Dense::uninit_in(context.buffers, images.rows(), width);
    context.pool.install(|| {
        let rows = result.values_mut().par_chunks_mut(width.max(1)).enumerate();
        rows.for_each_init(&scratch, |scratch, (i, out)| map(scratch, cells.row(i), out));
    });
    result
}
