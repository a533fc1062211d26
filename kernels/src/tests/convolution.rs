//! Convolution and pooling by their definitions.

use super::*;
use crate::{Pooling, Windows, conv2d, pool};

/// Windows of many shapes over images of many shapes.
fn layouts() -> Vec<Windows> {
    let mut layouts = Vec::new();
    for (channels, image) in [(1, [1, 1]), (1, [4, 5]), (3, [6, 4])] {
        for window in [[1, 1], [2, 3], [3, 2]] {
            for (stride, padding) in [([1, 1], [0, 0]), ([2, 1], [1, 2]), ([3, 2], [1, 1])] {
                let fits = (0..2).all(|axis| window[axis] <= image[axis] + 2 * padding[axis]);
                if fits {
                    layouts.push(Windows { channels, image, window, stride, padding });
                }
            }
        }
    }
    layouts
}

fn counts(windows: &Windows) -> [usize; 2] {
    [0, 1].map(|axis| {
        let free = windows.image[axis] + 2 * windows.padding[axis] - windows.window[axis];
        (free / windows.stride[axis] + 1) as usize
    })
}

/// A cell of a channel of an image, at a position that counts padding; `None` within the padding.
fn cell(images: &MatrixBlock, windows: &Windows, n: usize, channel: usize, row: i64, col: i64) -> Option<f64> {
    let (row, col) = (row - windows.padding[0], col - windows.padding[1]);
    let [height, width] = windows.image;
    let is_inside = (0..height).contains(&row) && (0..width).contains(&col);
    is_inside.then(|| images.get(n, channel * (height * width) as usize + (row * width + col) as usize))
}

/// The cells of window (p, q) of a channel.
fn window_cells(images: &MatrixBlock, windows: &Windows, n: usize, channel: usize, at: [usize; 2]) -> Vec<Option<f64>> {
    let [p, q] = at.map(|index| index as i64);
    let places = (0..windows.window[0]).flat_map(|i| (0..windows.window[1]).map(move |j| (i, j)));
    places
        .map(|(i, j)| cell(images, windows, n, channel, p * windows.stride[0] + i, q * windows.stride[1] + j))
        .collect()
}

#[test]
fn convolutions_sum_products_of_windows_and_filters() {
    for windows in layouts() {
        let channels = windows.channels as usize;
        let [height, width] = windows.image;
        let images = matrix(3, channels * (height * width) as usize, 7, 1);
        let size = (windows.window[0] * windows.window[1]) as usize;
        let filters = matrix(2, channels * size, 8, 2);
        let [rows, cols] = counts(&windows);
        for (images, filters) in both_formats(&images).iter().zip(&both_formats(&filters)) {
            let result = run(|context| conv2d(context, images, filters, &windows).unwrap());
            assert_cells(&result, 3, 2 * rows * cols, |n, at| {
                let (filter, p, q) = (at / (rows * cols), at / cols % rows, at % cols);
                let term = |channel: usize| {
                    let cells = window_cells(images, &windows, n, channel, [p, q]);
                    let products = cells.iter().enumerate();
                    products.map(|(k, x)| x.unwrap_or(0.0) * filters.get(filter, channel * size + k)).sum::<f64>()
                };
                (0..channels).map(term).sum()
            });
        }
    }
}

#[test]
fn pools_reduce_windows() {
    for windows in layouts() {
        let channels = windows.channels as usize;
        let images = matrix(3, channels * (windows.image[0] * windows.image[1]) as usize, 7, 1);
        let [rows, cols] = counts(&windows);
        for images in both_formats(&images) {
            let cells = |n: usize, at: usize| {
                window_cells(&images, &windows, n, at / (rows * cols), [at / cols % rows, at % cols])
            };
            let result = run(|context| pool(context, Pooling::Max, &images, &windows).unwrap());
            assert_cells(&result, 3, channels * rows * cols, |n, at| {
                cells(n, at).into_iter().flatten().fold(f64::NEG_INFINITY, f64::max)
            });
            let result = run(|context| pool(context, Pooling::Mean, &images, &windows).unwrap());
            assert_cells(&result, 3, channels * rows * cols, |n, at| {
                let cells = cells(n, at);
                cells.iter().flatten().sum::<f64>() / cells.len() as f64
            });
        }
    }
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let windows = Windows { channels: 1, image: [2, 2], window: [2, 2], stride: [1, 1], padding: [0, 0] };
    let message = |columns: usize, windows: Windows| {
        let images = matrix(2, columns, 7, 1);
        alone(false, |context| pool(context, Pooling::Max, &images, &windows).unwrap_err().to_string())
    };
    assert_eq!(message(5, windows), "max_pool: images of 1 x 2 x 2 do not have 5 columns");
    let large = Windows { window: [3, 1], ..windows };
    assert_eq!(message(4, large), "max_pool: a window of 3 with a stride of 1 does not fit 2");
    let still = Windows { stride: [1, 0], ..windows };
    assert_eq!(message(4, still), "max_pool: a window of 2 with a stride of 0 does not fit 2");
    let images = matrix(2, 4, 7, 1);
    let error = alone(false, |context| conv2d(context, &images, &matrix(1, 3, 5, 1), &windows).unwrap_err());
    assert_eq!(error.to_string(), "conv2d: filters of 1 x 2 x 2 do not have 3 columns");
    let empty = alone(false, |context| conv2d(context, &matrix(0, 4, 5, 1), &matrix(2, 4, 5, 1), &windows).unwrap());
    assert_eq!(empty.dims(), (0, 2));
}
