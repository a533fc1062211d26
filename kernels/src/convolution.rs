//! Convolution and pooling of images. An image is a row: channel by channel, row by row within each.

use crate::gemm::{Output, Strided, gemm_add, gemm_into};
use crate::{KernelContext, KernelError};
use fuseline_ir::hop::infer::window_count;
use fuseline_ir::ops::{self, WindowOp};
use fuseline_ir::schedule::product::Extents;
use fuseline_ir::work::{MAX_PARTIALS, MULTIPLICATIONS_AT_ONCE};
use fuseline_matrix::{Dense, MatrixBlock, StopListener};
use fuseline_vecprims::{Primitives, Tile, TileMut};
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

/// The fewest filters that are multiplied with an unfolded image at once, whatever it takes.
const FEWEST_FILTERS: usize = 2;

/// Cells of an unfolded image up to which nobody looks for a request to stop while they are laid out, channel by channel.
const UNFOLDED_AT_ONCE: usize = 1 << 24;

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

fn argument(operation: &'static str, problem: String) -> KernelError {
    KernelError::Argument { operation, problem }
}

/// A number of something, which is not negative.
fn natural(operation: &'static str, value: i64, what: &str) -> Result<usize, KernelError> {
    usize::try_from(value).map_err(|_| argument(operation, format!("{value} is no number of {what}")))
}

/// The numbers of something in both directions.
fn naturals(operation: &'static str, pair: [i64; 2], what: &str) -> Result<[usize; 2], KernelError> {
    Ok([natural(operation, pair[0], what)?, natural(operation, pair[1], what)?])
}

impl Layout {
    /// The windows over images of so many cells.
    fn new(operation: &'static str, windows: &Windows, cells: usize) -> Result<Self, KernelError> {
        let layout = Self::of(operation, windows)?;
        if layout.image_cells() == cells {
            return Ok(layout);
        }
        let Layout { channels, image: [height, width], .. } = layout;
        Err(argument(operation, format!("images of {channels} x {height} x {width} do not have {cells} columns")))
    }

    fn of(operation: &'static str, windows: &Windows) -> Result<Self, KernelError> {
        let channels = natural(operation, windows.channels, "channels")?;
        let [image, window] = [windows.image, windows.window].map(|pair| naturals(operation, pair, "rows or columns"));
        let [stride, padding] = [windows.stride, windows.padding].map(|pair| naturals(operation, pair, "cells"));
        let (image, window, stride, padding) = (image?, window?, stride?, padding?);
        let cells = channels.checked_mul(image[0]).and_then(|cells| cells.checked_mul(image[1]));
        if cells.is_none() {
            let [height, width] = image;
            return Err(argument(operation, format!("there are no images of {channels} x {height} x {width}")));
        }
        let mut layout = Layout { channels, image, window, stride, padding, count: [0, 0] };
        layout.count = [layout.count_along(operation, 0)?, layout.count_along(operation, 1)?];
        layout.check_memory(operation)?;
        Ok(layout)
    }

    /// The number of windows in one direction.
    fn count_along(&self, operation: &'static str, axis: usize) -> Result<usize, KernelError> {
        let [image, window, stride, padding] =
            [self.image, self.window, self.stride, self.padding].map(|pair| pair[axis] as u64);
        let windows = window_count(image, window, stride, padding).filter(|_| window > 0);
        windows.map(|count| count as usize).ok_or_else(|| {
            argument(operation, format!("a window of {window} with a stride of {stride} does not fit {image}"))
        })
    }

    /// Checks that an unfolded image can exist.
    fn check_memory(&self, operation: &'static str) -> Result<(), KernelError> {
        let Layout { channels, window, count, .. } = *self;
        // An unfolded image has a row for each cell of a window, and a column for each window.
        let unfolded = [window[0], window[1], count[0], count[1], size_of::<f64>()];
        let bytes = unfolded.into_iter().try_fold(channels.max(1), usize::checked_mul);
        if bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
            let [[i, j], [p, q]] = [window, count];
            return Err(argument(operation, format!("{p} x {q} windows of {i} x {j} do not fit into memory")));
        }
        Ok(())
    }

    fn image_cells(&self) -> usize {
        self.channels * self.image[0] * self.image[1]
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

    /// The positions within a channel of the cells of a window, row by row, without the padding.
    fn window_positions(&self, window: usize) -> impl Iterator<Item = usize> {
        let place = [window / self.count[1], window % self.count[1]];
        let [height, width] = self.window;
        let inside = (0..height).flat_map(move |i| (0..width).map(move |j| [i, j]));
        inside.filter_map(move |cell| self.position(place, cell))
    }

    /// The sums of what an unfolded image holds of each cell of the image. Unwinds after a request to stop.
    fn fold(&self, unfolded: &[f64], image: &mut [f64], stop: &StopListener) {
        image.fill(0.0);
        let [height, width] = self.window;
        let mut rows = unfolded.chunks_exact(self.windows().max(1));
        for channel in 0..self.channels {
            let first = channel * self.image[0] * self.image[1];
            for (i, j) in (0..height).flat_map(|i| (0..width).map(move |j| (i, j))) {
                let Some(row) = rows.next() else { return };
                stop.check();
                for (window, value) in row.iter().enumerate() {
                    let place = [window / self.count[1], window % self.count[1]];
                    if let Some(position) = self.position(place, [i, j]) {
                        image[first + position] += value;
                    }
                }
            }
        }
    }

    /// The windows of one channel, as primitives take them.
    fn of_channel(&self) -> ops::Windows {
        let Layout { image, window, stride, padding, .. } = *self;
        ops::Windows { channels: 1, image, window, stride, padding }
    }

    /// The image with one row per cell of a window (of each channel) and one column per window. Unwinds after a request to
    /// stop.
    fn unfold(&self, primitives: &Primitives, image: &[f64], unfolded: &mut [f64], stop: &StopListener) {
        if unfolded.len() <= UNFOLDED_AT_ONCE {
            self.compute(primitives, WindowOp::Unfold, image, unfolded, stop);
        } else {
            self.unfold_row_by_row(image, unfolded, stop);
        }
    }

    /// [`Self::unfold`] with a look for a request to stop for each row: filling memory that nobody touched before takes seconds.
    fn unfold_row_by_row(&self, image: &[f64], unfolded: &mut [f64], stop: &StopListener) {
        let [height, width] = self.window;
        let mut rows = unfolded.chunks_exact_mut(self.windows().max(1));
        for channel in 0..self.channels {
            let cells = self.channel(image, channel);
            for (i, j) in (0..height).flat_map(|i| (0..width).map(move |j| (i, j))) {
                let Some(row) = rows.next() else { return };
                stop.check();
                for (window, cell) in row.iter_mut().enumerate() {
                    let place = [window / self.count[1], window % self.count[1]];
                    *cell = self.position(place, [i, j]).map_or(0.0, |position| cells[position]);
                }
            }
        }
    }

    /// What is computed of the windows of an image, channel by channel. Unwinds after a request to stop.
    fn compute(&self, primitives: &Primitives, op: WindowOp, image: &[f64], out: &mut [f64], stop: &StopListener) {
        let windows = self.of_channel();
        let cells = op.cells(&windows);
        for channel in 0..self.channels {
            stop.check();
            let (image, out) = (self.channel(image, channel), &mut out[channel * cells..(channel + 1) * cells]);
            primitives.windows(op, 1, &windows, Tile::new(image, image.len()), TileMut::new(out, cells));
        }
    }
}

/// The convolution of each of the n images (rows of n x c*h*w cells) with each of the f filters (f x c*i*j, for windows
/// of i x j): n x f*p*q, for p x q windows. Each image is unfolded and multiplied by itself, as in fused
/// operators.
///
/// # Errors
/// Images or filters with other numbers of columns than their shapes say, or windows that do not fit.
pub fn conv2d(
    context: &KernelContext<'_>,
    images: &MatrixBlock,
    filters: &MatrixBlock,
    windows: &Windows,
) -> Result<MatrixBlock, KernelError> {
    let layout = Layout::new("conv2d", windows, images.cols())?;
    check_filters("conv2d", filters, &layout)?;
    let (count, inner, places) = (filters.rows(), filters.cols(), layout.windows());
    let filters = filters.to_dense();
    let at_once = (MULTIPLICATIONS_AT_ONCE / (inner * places).max(1)).max(FEWEST_FILTERS);
    let scratch = || Dense::zeros(inner, places);
    let result = map_images(context, images, count * places, scratch, |unfolded, _, image, out| {
        let (primitives, stop) = (context.primitives, StopListener::current());
        layout.unfold(primitives, image, unfolded.values_mut(), &stop);
        let parts = out.chunks_mut(at_once.saturating_mul(places).max(1));
        for (first, out) in (0..count).step_by(at_once).zip(parts) {
            stop.check();
            let (filters, some) = (&filters.values()[first * inner..], at_once.min(count - first));
            let (a, b) = (Tile::new(unfolded.values(), inner * places), Tile::new(filters, inner));
            primitives.convolve(1, (some, inner, places), a, b, TileMut::new(out, some * places));
        }
    });
    Ok(result.into())
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
    let op = if pooling == Pooling::Max { WindowOp::MaxPool } else { WindowOp::AvgPool };
    let layout = Layout::new(op.mnemonic(), windows, images.cols())?;
    let width = layout.channels * layout.windows();
    let result = map_images(
        context,
        images,
        width,
        || (),
        |(), _, image, out| layout.compute(context.primitives, op, image, out, &StopListener::current()),
    );
    Ok(result.into())
}

/// The gradient of a convolution by its filters (f x c*i*j), for the n images and the gradient by its result (n x f*p*q).
///
/// # Errors
/// The errors of [`conv2d`], and gradients that do not fit the filters.
pub fn conv2d_backward_filter(
    context: &KernelContext<'_>,
    images: &MatrixBlock,
    gradient: &MatrixBlock,
    filters: i64,
    windows: &Windows,
) -> Result<MatrixBlock, KernelError> {
    let operation = "conv2d_backward_filter";
    let layout = Layout::new(operation, windows, images.cols())?;
    let filters = natural(operation, filters, "filters")?;
    check_gradient(operation, gradient, images.rows(), filters, &layout)?;
    let cells = layout.channels * layout.window[0] * layout.window[1];
    let extents = Extents { rows: filters, inner: layout.windows(), cols: cells };
    let (images, gradient) = (images.to_dense(), gradient.to_dense());
    // At most so many partial sums, whatever the number of threads.
    let step = images.rows().div_ceil(MAX_PARTIALS).max(1);
    let parts = (0..images.rows().div_ceil(step)).into_par_iter().map(|part| {
        let (mut sum, mut unfolded) = (Dense::zeros(filters, cells), Dense::zeros(cells, layout.windows()));
        for i in part * step..((part + 1) * step).min(images.rows()) {
            let stop = StopListener::current();
            layout.unfold(context.primitives, images.row(i), unfolded.values_mut(), &stop);
            let left = Strided::rows(gradient.row(i), layout.windows());
            let (sum, right) = (Output::new(sum.values_mut(), cells), Strided::of(&unfolded).transposed());
            gemm_add(context.primitives, sum, extents, left, right);
        }
        sum
    });
    let parts: Vec<Dense> = context.pool.install(|| parts.collect());
    let mut result = Dense::zeros(filters, cells);
    for part in &parts {
        result.values_mut().iter_mut().zip(part.values()).for_each(|(sum, value)| *sum += value);
    }
    Ok(result.into())
}

/// The gradient of a convolution by its images (n x c*h*w), for the filters (f x c*i*j) and the gradient by its result
/// (n x f*p*q).
///
/// # Errors
/// The errors of [`conv2d`], and gradients that do not fit the filters.
pub fn conv2d_backward_data(
    context: &KernelContext<'_>,
    filters: &MatrixBlock,
    gradient: &MatrixBlock,
    windows: &Windows,
) -> Result<MatrixBlock, KernelError> {
    let operation = "conv2d_backward_data";
    let layout = Layout::of(operation, windows)?;
    check_filters(operation, filters, &layout)?;
    check_gradient(operation, gradient, gradient.rows(), filters.rows(), &layout)?;
    let filters = filters.to_dense();
    let extents = Extents { rows: filters.cols(), inner: filters.rows(), cols: layout.windows() };
    let scratch = || Dense::zeros(extents.rows, extents.cols);
    let result = map_images(context, gradient, layout.image_cells(), scratch, |unfolded, _, gradient, image| {
        let right = Strided::rows(gradient, extents.cols);
        let (out, left) = (Output::new(unfolded.values_mut(), extents.cols), Strided::of(&filters).transposed());
        gemm_into(context.primitives, out, extents, left, right);
        layout.fold(unfolded.values(), image, &StopListener::current());
    });
    Ok(result.into())
}

/// The gradient of [`pool`] by its images (n x c*h*w), for the gradient by its result (n x c*p*q). That of a maximum goes
/// to the first cell of its window that is the largest (the first NaN, where there is one), that of a mean to all alike.
///
/// # Errors
/// The errors of [`pool`], and gradients that do not fit the windows.
pub fn pool_backward(
    context: &KernelContext<'_>,
    pooling: Pooling,
    images: &MatrixBlock,
    gradient: &MatrixBlock,
    windows: &Windows,
) -> Result<MatrixBlock, KernelError> {
    let operation = if pooling == Pooling::Max { "max_pool_backward" } else { "avg_pool_backward" };
    let layout = Layout::new(operation, windows, images.cols())?;
    check_gradient(operation, gradient, images.rows(), layout.channels, &layout)?;
    let images = images.to_dense();
    let share = 1.0 / (layout.window[0] * layout.window[1]) as f64;
    let result = map_images(
        context,
        gradient,
        layout.image_cells(),
        || (),
        |(), i, gradient, out| {
            out.fill(0.0);
            let stop = StopListener::current();
            for (at, value) in gradient.iter().enumerate() {
                stop.check();
                let (channel, window) = (at / layout.windows(), at % layout.windows());
                let first = channel * layout.image[0] * layout.image[1];
                let positions = layout.window_positions(window);
                match pooling {
                    Pooling::Mean => positions.for_each(|position| out[first + position] += value * share),
                    Pooling::Max => {
                        let cells = layout.channel(images.row(i), channel);
                        if let Some(position) = largest_of(cells, positions) {
                            out[first + position] += value;
                        }
                    }
                }
            }
        },
    );
    Ok(result.into())
}

/// The first of these positions whose cell is the largest, or NaN.
fn largest_of(cells: &[f64], positions: impl Iterator<Item = usize>) -> Option<usize> {
    positions.reduce(|best, position| {
        let (best_cell, cell) = (cells[best], cells[position]);
        if cell > best_cell || cell.is_nan() && !best_cell.is_nan() { position } else { best }
    })
}

/// Whether a gradient has a row for each image, and a cell for each window of each plane (filter or channel).
fn check_gradient(
    operation: &'static str,
    gradient: &MatrixBlock,
    images: usize,
    planes: usize,
    layout: &Layout,
) -> Result<(), KernelError> {
    let cells = planes.checked_mul(layout.windows());
    if gradient.rows() == images && Some(gradient.cols()) == cells {
        return Ok(());
    }
    let ((rows, cols), [height, width]) = (gradient.dims(), layout.count);
    let problem = format!(
        "a gradient of {rows} x {cols} does not fit {images} images with {planes} x {height} x {width} windows"
    );
    Err(argument(operation, problem))
}

fn check_filters(operation: &'static str, filters: &MatrixBlock, layout: &Layout) -> Result<(), KernelError> {
    if filters.cols() == layout.channels * layout.window[0] * layout.window[1] {
        return Ok(());
    }
    let ([height, width], actual) = (layout.window, filters.cols());
    let problem = format!("filters of {} x {height} x {width} do not have {actual} columns", layout.channels);
    Err(argument(operation, problem))
}

/// A row of `width` cells for each image, of its number and its cells. Each is computed by one thread, with scratch space of that thread.
fn map_images<S>(
    context: &KernelContext<'_>,
    images: &MatrixBlock,
    width: usize,
    scratch: impl Fn() -> S + Sync + Send,
    map: impl Fn(&mut S, usize, &[f64], &mut [f64]) + Sync,
) -> Dense {
    let cells = images.to_dense();
    let mut result = Dense::uninit_in(context.buffers, images.rows(), width);
    let stop = StopListener::current();
    context.pool.install(|| {
        let rows = result.values_mut().par_chunks_mut(width.max(1)).enumerate();
        rows.for_each_init(&scratch, |scratch, (i, out)| {
            if !stop.hears() {
                map(scratch, i, cells.row(i), out);
            }
        });
        stop.check();
    });
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use fuseline_vecprims::{Isa, primitives};

    #[test]
    fn images_are_unfolded_alike_at_once_and_row_by_row() {
        let cases = [
            ([5, 7], [3, 2], [1, 1], [0, 0]),
            ([5, 7], [3, 3], [2, 3], [1, 1]),
            ([1, 1], [3, 3], [1, 1], [1, 1]),
            ([4, 4], [4, 4], [1, 2], [3, 2]),
        ];
        for (image, window, stride, padding) in cases {
            let windows = Windows { channels: 2, image, window, stride, padding };
            let cells: Vec<f64> = (1..=2 * image[0] * image[1]).map(|cell| cell as f64).collect();
            let layout = Layout::new("conv2d", &windows, cells.len()).expect("windows fit");
            let mut unfolded = [(); 2].map(|()| vec![7.0; (2 * window[0] * window[1]) as usize * layout.windows()]);
            let [at_once, row_by_row] = &mut unfolded;
            layout.unfold(primitives(Isa::detect()), &cells, at_once, &StopListener::current());
            layout.unfold_row_by_row(&cells, row_by_row, &StopListener::current());
            assert_eq!(at_once, row_by_row, "{windows:?}");
        }
    }
}
