//! Convolution and pooling by their definitions.

use super::*;
use crate::{Pooling, Windows, conv2d, conv2d_backward_data, conv2d_backward_filter, pool, pool_backward};

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
        for (images, filters) in all_formats(&images).iter().zip(&all_formats(&filters)) {
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
        for images in all_formats(&images) {
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

/// A matrix with a one in a single cell.
fn unit(rows: usize, cols: usize, at: usize) -> MatrixBlock {
    Dense::from_fn(rows, cols, |i, j| f64::from(u8::from(i * cols + j == at))).into()
}

/// A convolution is linear in its images and in its filters: its gradients are its values for one cell at a time.
#[test]
fn gradients_of_convolutions_follow_from_their_values() {
    for windows in layouts() {
        let channels = windows.channels as usize;
        let (width, size) = (windows.image[0] * windows.image[1], windows.window[0] * windows.window[1]);
        let images = matrix(3, channels * width as usize, 7, 1);
        let filters = matrix(2, channels * size as usize, 8, 2);
        let [rows, cols] = counts(&windows);
        let gradient = matrix(3, 2 * rows * cols, 9, 3);
        let inner = |values: &MatrixBlock| -> f64 {
            let (values, gradient) = (values.to_dense(), gradient.to_dense());
            values.values().iter().zip(gradient.values()).map(|(x, y)| x * y).sum()
        };
        for format in 0..2 {
            let [images, filters, gradient] = [&images, &filters, &gradient].map(|x| all_formats(x)[format].clone());
            let result = run(|context| conv2d_backward_filter(context, &images, &gradient, 2, &windows).unwrap());
            assert_cells(&result, 2, filters.cols(), |i, j| {
                let unit = unit(2, filters.cols(), i * filters.cols() + j);
                inner(&alone(false, |context| conv2d(context, &images, &unit, &windows).unwrap()))
            });
            let result = run(|context| conv2d_backward_data(context, &filters, &gradient, &windows).unwrap());
            assert_cells(&result, 3, images.cols(), |i, j| {
                let unit = unit(3, images.cols(), i * images.cols() + j);
                inner(&alone(false, |context| conv2d(context, &unit, &filters, &windows).unwrap()))
            });
        }
    }
}

/// The share of a window's gradient that goes to a cell: from the cells of the window that are this one, and all of them.
type Share<'a> = &'a dyn Fn(&[Option<f64>], &[Option<f64>]) -> f64;

#[test]
fn gradients_of_pools_go_to_the_cells_of_windows() {
    for windows in layouts() {
        let channels = windows.channels as usize;
        let images = matrix(3, channels * (windows.image[0] * windows.image[1]) as usize, 7, 1);
        let [rows, cols] = counts(&windows);
        let gradient = matrix(3, channels * rows * cols, 9, 3);
        // Numbers of the cells stand for where they are.
        let numbers: MatrixBlock = Dense::from_fn(3, images.cols(), |_, j| j as f64).into();
        let sum = |n: usize, column: usize, share: Share<'_>| -> f64 {
            let windows_of = (0..channels * rows * cols).map(|at| {
                let (channel, place) = (at / (rows * cols), [at / cols % rows, at % cols]);
                let places = window_cells(&numbers, &windows, n, channel, place);
                let mine: Vec<Option<f64>> = places.iter().map(|p| p.filter(|p| *p == column as f64)).collect();
                (at, mine, window_cells(&images, &windows, n, channel, place))
            });
            windows_of.map(|(at, mine, cells)| share(&mine, &cells) * gradient.get(n, at)).sum()
        };
        let mean = |mine: &[Option<f64>], _: &[Option<f64>]| mine.iter().flatten().count() as f64 / mine.len() as f64;
        let max = |mine: &[Option<f64>], cells: &[Option<f64>]| {
            let largest = cells.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
            let first = cells.iter().position(|cell| *cell == Some(largest));
            f64::from(u8::from(first.is_some_and(|first| mine[first].is_some())))
        };
        for format in 0..2 {
            let [images, gradient] = [&images, &gradient].map(|x| all_formats(x)[format].clone());
            let backward =
                |pooling| run(|context| pool_backward(context, pooling, &images, &gradient, &windows).unwrap());
            assert_cells(&backward(Pooling::Mean), 3, images.cols(), |n, column| sum(n, column, &mean));
            assert_cells(&backward(Pooling::Max), 3, images.cols(), |n, column| sum(n, column, &max));
        }
    }
    let windows = Windows { channels: 1, image: [1, 3], window: [1, 3], stride: [1, 1], padding: [0, 0] };
    let (images, gradient) = (dense(1, 3, &[1.0, f64::NAN, 7.0]), dense(1, 1, &[2.0]));
    let result = alone(false, |c| pool_backward(c, Pooling::Max, &images, &gradient, &windows).unwrap());
    assert_cells(&result, 1, 3, |_, j| [0.0, 2.0, 0.0][j]);
}

#[test]
fn gradients_that_do_not_fit_are_refused() {
    let windows = Windows { channels: 1, image: [2, 2], window: [2, 2], stride: [1, 1], padding: [0, 0] };
    let (images, filters) = (matrix(3, 4, 7, 1), matrix(2, 4, 7, 1));
    alone(false, |context| {
        let error = conv2d_backward_filter(context, &images, &matrix(3, 3, 7, 1), 2, &windows).unwrap_err();
        let expected = "conv2d_backward_filter: a gradient of 3 x 3 does not fit 3 images with 2 x 1 x 1 windows";
        assert_eq!(error.to_string(), expected);
        let error = conv2d_backward_filter(context, &images, &matrix(3, 2, 7, 1), -2, &windows).unwrap_err();
        assert_eq!(error.to_string(), "conv2d_backward_filter: -2 is no number of filters");
        let error = conv2d_backward_data(context, &filters, &matrix(3, 3, 7, 1), &windows).unwrap_err();
        let expected = "conv2d_backward_data: a gradient of 3 x 3 does not fit 3 images with 2 x 1 x 1 windows";
        assert_eq!(error.to_string(), expected);
        let error = pool_backward(context, Pooling::Max, &images, &matrix(2, 1, 7, 1), &windows).unwrap_err();
        let expected = "max_pool_backward: a gradient of 2 x 1 does not fit 3 images with 1 x 1 x 1 windows";
        assert_eq!(error.to_string(), expected);
        let none = conv2d_backward_filter(context, &matrix(0, 4, 7, 1), &matrix(0, 2, 7, 1), 2, &windows).unwrap();
        assert_cells(&none, 2, 4, |_, _| 0.0);
    });
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
