//! Convolution, pooling and their gradients, window by window.

use super::aggregate::{aggregate, dot};
use super::cell::OracleCell;
use super::evaluate::{Evaluation, OracleError};
use super::value::OracleMatrix;
use fuseline_ir::hop::NumericFunction;
use fuseline_ir::ops::AggOp;

/// Windows over images of several channels; pairs are of rows and columns.
struct Windows {
    channels: usize,
    image: [usize; 2],
    window: [usize; 2],
    stride: [usize; 2],
    padding: [usize; 2],
}

impl Windows {
    fn count(&self) -> [usize; 2] {
        let count =
            |axis: usize| (self.image[axis] + 2 * self.padding[axis] - self.window[axis]) / self.stride[axis] + 1;
        [count(0), count(1)]
    }

    fn image_cells(&self) -> usize {
        self.channels * self.image[0] * self.image[1]
    }

    /// The column of a cell of a window of a channel: `None` in the padding.
    fn column(&self, channel: usize, place: [usize; 2], offset: [usize; 2]) -> Option<usize> {
        let [height, width] = self.image;
        let within = |axis: usize| {
            let position = (place[axis] * self.stride[axis] + offset[axis]).checked_sub(self.padding[axis])?;
            Some(position).filter(|position| *position < self.image[axis])
        };
        Some((channel * height + within(0)?) * width + within(1)?)
    }

    /// The columns of the cells of a window of a channel, row by row.
    fn columns(&self, channel: usize, place: [usize; 2]) -> Vec<Option<usize>> {
        let offsets = (0..self.window[0]).flat_map(|i| (0..self.window[1]).map(move |j| [i, j]));
        offsets.map(|offset| self.column(channel, place, offset)).collect()
    }

    /// The plane (filter or channel) and place of the window at this column of a result.
    fn place(&self, at: usize) -> (usize, [usize; 2]) {
        let [rows, cols] = self.count();
        (at / (rows * cols), [at / cols % rows, at % cols])
    }

    /// The places of all windows of a plane, with their columns in a result.
    fn places(&self, plane: usize) -> impl Iterator<Item = (usize, [usize; 2])> {
        let [rows, cols] = self.count();
        (plane * rows * cols..(plane + 1) * rows * cols).map(move |at| (at, [at / cols % rows, at % cols]))
    }
}

fn cell_or_zero(images: &OracleMatrix, n: usize, column: Option<usize>) -> OracleCell {
    column.map_or(OracleCell::given(0.0), |column| images.get(n, column))
}

impl Evaluation<'_> {
    /// The windows whose extents stand from this input on.
    fn windows(&self, first: usize) -> Result<Windows, OracleError> {
        let mut counts = [0; 9];
        for (at, count) in counts.iter_mut().enumerate() {
            *count = self.count(first + at)?;
        }
        let [channels, height, width, window_height, window_width, down, across, above, left] = counts;
        let (image, window) = ([height, width], [window_height, window_width]);
        let (stride, padding) = ([down, across], [above, left]);
        let fits = (0..2).all(|axis| window[axis] <= image[axis] + 2 * padding[axis] && stride[axis] > 0);
        if fits {
            Ok(Windows { channels, image, window, stride, padding })
        } else {
            Err(self.error("the windows do not fit"))
        }
    }

    /// The images at an input.
    fn images(&self, position: usize, windows: &Windows) -> Result<&OracleMatrix, OracleError> {
        let images = self.matrix(position)?;
        if images.cols == windows.image_cells() { Ok(images) } else { Err(self.error("the images do not fit")) }
    }

    pub(super) fn convolution(&self) -> Result<OracleMatrix, OracleError> {
        let (windows, filters) = (self.windows(2)?, self.matrix(1)?);
        let images = self.images(0, &windows)?;
        let [rows, cols] = windows.count();
        Ok(OracleMatrix::from_fn(images.rows, filters.rows * rows * cols, |n, at| {
            let (filter, place) = windows.place(at);
            let columns = (0..windows.channels).flat_map(|channel| windows.columns(channel, place));
            dot(columns.enumerate().map(|(k, column)| (cell_or_zero(images, n, column), filters.get(filter, k))))
        }))
    }

    /// Cell (filter, k) sums the gradients of all windows, each times the window's cell k.
    pub(super) fn convolution_by_filters(&self) -> Result<OracleMatrix, OracleError> {
        let (windows, gradient, filters) = (self.windows(3)?, self.matrix(1)?, self.count(2)?);
        let images = self.images(0, &windows)?;
        let size = windows.window[0] * windows.window[1];
        Ok(OracleMatrix::from_fn(filters, windows.channels * size, |filter, k| {
            let offset = [k % size / windows.window[1], k % windows.window[1]];
            let pairs = (0..images.rows)
                .flat_map(|n| windows.places(filter).map(|(at, place)| (n, at, place)).collect::<Vec<_>>());
            dot(pairs.map(|(n, at, place)| {
                (gradient.get(n, at), cell_or_zero(images, n, windows.column(k / size, place, offset)))
            }))
        }))
    }

    /// Each cell of an image sums the filters' cells that meet it, times the gradients of their windows.
    pub(super) fn convolution_by_images(&self) -> Result<OracleMatrix, OracleError> {
        let (windows, filters, gradient) = (self.windows(2)?, self.matrix(0)?, self.matrix(1)?);
        Ok(OracleMatrix::from_fn(gradient.rows, windows.image_cells(), |n, column| {
            let mut pairs = Vec::new();
            for filter in 0..filters.rows {
                for (at, place) in windows.places(filter) {
                    let columns = (0..windows.channels).flat_map(|channel| windows.columns(channel, place));
                    let meeting = columns.enumerate().filter(|(_, met)| *met == Some(column));
                    pairs.extend(meeting.map(|(k, _)| (filters.get(filter, k), gradient.get(n, at))));
                }
            }
            dot(pairs)
        }))
    }

    pub(super) fn pool(&self, function: NumericFunction) -> Result<OracleMatrix, OracleError> {
        let windows = self.windows(1)?;
        let images = self.images(0, &windows)?;
        let [rows, cols] = windows.count();
        Ok(OracleMatrix::from_fn(images.rows, windows.channels * rows * cols, |n, at| {
            let (channel, place) = windows.place(at);
            let columns = windows.columns(channel, place);
            match function {
                NumericFunction::MaxPool => {
                    aggregate(AggOp::Max, columns.iter().flatten().map(|&column| images.get(n, column)))
                }
                _ => aggregate(AggOp::Mean, columns.iter().map(|&column| cell_or_zero(images, n, column))),
            }
        }))
    }

    /// The gradient of each window goes to its first largest cell.
    pub(super) fn max_pool_by_images(&self) -> Result<OracleMatrix, OracleError> {
        let windows = self.windows(2)?;
        let (images, gradient) = (self.images(0, &windows)?, self.matrix(1)?);
        if images.cells.iter().any(|cell| cell.is_tainted() || cell.radius() != 0.0 || cell.value().is_nan()) {
            return Err(self.undecided());
        }
        Ok(OracleMatrix::from_fn(images.rows, images.cols, |n, column| {
            let mut shares = Vec::new();
            for channel in 0..windows.channels {
                for (at, place) in windows.places(channel) {
                    let columns: Vec<usize> = windows.columns(channel, place).into_iter().flatten().collect();
                    let value = |column: usize| images.get(n, column).value();
                    let largest = columns.iter().map(|&column| value(column)).fold(f64::NEG_INFINITY, f64::max);
                    if columns.iter().find(|&&candidate| value(candidate) == largest) == Some(&column) {
                        shares.push(gradient.get(n, at));
                    }
                }
            }
            aggregate(AggOp::Sum, shares.into_iter())
        }))
    }

    /// The gradient of each window goes to its cells in equal parts, of which the padding has some.
    pub(super) fn mean_pool_by_images(&self) -> Result<OracleMatrix, OracleError> {
        let windows = self.windows(2)?;
        let (images, gradient) = (self.images(0, &windows)?, self.matrix(1)?);
        let share = OracleCell::given(1.0 / (windows.window[0] * windows.window[1]) as f64);
        Ok(OracleMatrix::from_fn(images.rows, images.cols, |n, column| {
            let mut pairs = Vec::new();
            for channel in 0..windows.channels {
                for (at, place) in windows.places(channel) {
                    if windows.columns(channel, place).contains(&Some(column)) {
                        pairs.push((gradient.get(n, at), share));
                    }
                }
            }
            dot(pairs)
        }))
    }
}
