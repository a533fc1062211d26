//! Convolution and pooling, window by window.

use crate::data::{Generator, Kind, UNTOUCHED, all_primitives, assert_same, row};
use fuseline_ops::{WindowOp, Windows, math};
use fuseline_vecprims::{Tile, TileMut};

/// Windows of many shapes over images of many shapes, some as large as the image, or larger but for its padding.
fn layouts() -> Vec<Windows> {
    let mut layouts = Vec::new();
    for (channels, image) in [(1, [1, 1]), (1, [3, 40]), (2, [4, 5]), (3, [6, 19])] {
        for window in [[1, 1], [2, 2], [3, 2], [1, 18], [5, 6]] {
            for (stride, padding) in [([1, 1], [0, 0]), ([2, 2], [0, 0]), ([1, 2], [1, 3]), ([3, 1], [4, 2])] {
                let windows = Windows { channels, image, window, stride, padding };
                layouts.extend(Some(windows).filter(Windows::is_valid));
            }
        }
    }
    layouts
}

/// The cells of a window in order; none in the padding.
fn cells(windows: &Windows, image: &[f64], channel: usize, [p, q]: [usize; 2]) -> Vec<Option<f64>> {
    let [height, width] = windows.image;
    let places = (0..windows.window[0]).flat_map(|i| (0..windows.window[1]).map(move |j| (i, j)));
    let cell = |(i, j): (usize, usize)| {
        let row = (p * windows.stride[0] + i).checked_sub(windows.padding[0]).filter(|row| *row < height)?;
        let col = (q * windows.stride[1] + j).checked_sub(windows.padding[1]).filter(|col| *col < width)?;
        Some(image[(channel * height + row) * width + col])
    };
    places.map(cell).collect()
}

fn expected(op: WindowOp, windows: &Windows, image: &[f64]) -> Vec<f64> {
    let [down, across] = windows.count();
    let mut result = vec![0.0; op.cells(windows)];
    for (channel, p, q) in
        (0..windows.channels).flat_map(|c| (0..down).flat_map(move |p| (0..across).map(move |q| (c, p, q))))
    {
        let cells = cells(windows, image, channel, [p, q]);
        let (of_channel, place) = (down * across, p * across + q);
        match op {
            WindowOp::MaxPool => {
                let largest = cells.into_iter().flatten().fold(f64::NEG_INFINITY, math::max);
                result[channel * of_channel + place] = largest;
            }
            WindowOp::AvgPool => {
                let sum = cells.iter().flatten().fold(0.0, |sum, cell| sum + cell);
                result[channel * of_channel + place] = sum / cells.len() as f64;
            }
            WindowOp::Unfold => {
                for (k, cell) in cells.iter().enumerate() {
                    result[(channel * cells.len() + k) * of_channel + place] = cell.unwrap_or(0.0);
                }
            }
        }
    }
    result
}

#[test]
fn windows_are_taken_cell_by_cell() {
    for &kind in Kind::ALL {
        let values = Generator::new(21).values(kind, 3 * 400);
        for (windows, &op) in layouts().iter().flat_map(|windows| WindowOp::ALL.iter().map(move |op| (windows, op))) {
            let (len, cells) = (windows.image_cells(), op.cells(windows));
            let (a_row, out_row) = (len + 1, cells + 2);
            for rows in [0, 1, 3] {
                let mut wanted = vec![UNTOUCHED; rows * out_row + 1];
                for index in 0..rows {
                    let of_row = expected(op, windows, row(&values, index, a_row, len));
                    wanted[index * out_row..][..cells].copy_from_slice(&of_row);
                }
                for table in all_primitives() {
                    let mut out = vec![UNTOUCHED; wanted.len()];
                    let out_tile = TileMut::new(&mut out, out_row);
                    table.windows(op, rows, windows, Tile::new(&values, a_row), out_tile);
                    assert_same(&out, &wanted, || format!("{op} of {windows} on {}, {rows} rows", table.isa()));
                }
            }
        }
    }
}

#[test]
fn filters_times_unfolded_images_are_chains_of_fused_additions() {
    for &kind in Kind::ALL {
        let mut generator = Generator::new(22);
        let (images, filters) = (generator.values(kind, 6000), generator.values(kind, 400));
        for (count, len, k) in [(1, 1, 1), (1, 4, 9), (3, 5, 33), (9, 12, 16), (13, 27, 45), (2, 0, 3)] {
            let (a_row, b_row, out_row) = (len * k + 1, len + 1, count * k + 2);
            for rows in [0, 1, 3] {
                let mut wanted = vec![UNTOUCHED; rows * out_row + 1];
                for (index, filter, place) in
                    (0..rows).flat_map(|r| (0..count).flat_map(move |f| (0..k).map(move |place| (r, f, place))))
                {
                    let image = row(&images, index, a_row, len * k);
                    let filter_cells = row(&filters, filter, b_row, len);
                    let chain = |sum: f64, i: usize| filter_cells[i].mul_add(image[i * k + place], sum);
                    wanted[index * out_row + filter * k + place] = (0..len).fold(0.0, chain);
                }
                for table in all_primitives() {
                    let mut out = vec![UNTOUCHED; wanted.len()];
                    let (a, b) = (Tile::new(&images, a_row), Tile::new(&filters, b_row));
                    table.convolve(rows, (count, len, k), a, b, TileMut::new(&mut out, out_row));
                    assert_same(&out, &wanted, || format!("{rows} x {count} x {len} x {k} on {}", table.isa()));
                }
            }
        }
    }
}
