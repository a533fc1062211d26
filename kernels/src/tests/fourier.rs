//! Fourier transforms against their definition.

use super::*;
use crate::{Transform, fourier};
use std::f64::consts::TAU;

/// The cell (k, l) of the transform of both dimensions, or of row k alone: real and imaginary part.
fn by_definition(real: &MatrixBlock, imaginary: &MatrixBlock, transform: Transform, k: usize, l: usize) -> [f64; 2] {
    let (rows, cols) = real.dims();
    let lines = if transform.by_row { k..k + 1 } else { 0..rows };
    let direction = if transform.is_inverse { 1.0 } else { -1.0 };
    let count = if transform.is_inverse { (lines.len() * cols) as f64 } else { 1.0 };
    let mut sum = [0.0; 2];
    for (i, j) in lines.flat_map(|i| (0..cols).map(move |j| (i, j))) {
        let down = if transform.by_row { 0.0 } else { (i * k % rows) as f64 / rows as f64 };
        let angle = direction * TAU * (down + (j * l % cols) as f64 / cols as f64);
        let (x, y) = (real.get(i, j), imaginary.get(i, j));
        sum[0] += (x * angle.cos() - y * angle.sin()) / count;
        sum[1] += (x * angle.sin() + y * angle.cos()) / count;
    }
    sum
}

#[test]
fn transforms_follow_the_definition() {
    for (rows, cols) in
        [(1, 1), (1, 2), (1, 8), (4, 1), (2, 4), (1, 3), (5, 7), (6, 10), (16, 32), (1, 100), (0, 3), (2, 0)]
    {
        let (real, imaginary) = (matrix(rows, cols, 1, 1), matrix(rows, cols, 2, 2));
        for (by_row, is_inverse) in [(false, false), (false, true), (true, false), (true, true)] {
            let transform = Transform { by_row, is_inverse };
            for (real, imaginary) in all_formats(&real).iter().zip(&all_formats(&imaginary)) {
                let result = alone(false, |context| fourier(context, real, Some(imaginary), transform).unwrap());
                assert_eq!((result.real.dims(), result.imaginary.dims()), ((rows, cols), (rows, cols)));
                for (k, l) in (0..rows).flat_map(|k| (0..cols).map(move |l| (k, l))) {
                    let expected = by_definition(real, imaginary, transform, k, l);
                    let actual = [result.real.get(k, l), result.imaginary.get(k, l)];
                    let distance = (actual[0] - expected[0]).hypot(actual[1] - expected[1]);
                    assert!(distance < 1e-11 * (rows * cols) as f64, "{rows} x {cols}: {actual:?} {expected:?}");
                }
            }
        }
    }
}

/// Powers of two beyond what is transformed in one go, prime lengths, and products of both.
#[test]
fn long_transforms_follow_the_definition() {
    for length in [1 << 15, 10_007, 3 * (1 << 13), 4 * 2503] {
        let (real, imaginary) = (matrix(1, length, 1, 1), matrix(1, length, 2, 2));
        let norm = [&real, &imaginary].map(|part| part.to_dense().values().iter().map(|cell| cell * cell).sum::<f64>());
        let norm = (norm[0] + norm[1]).sqrt();
        for is_inverse in [false, true] {
            let transform = Transform { by_row: true, is_inverse };
            let result = run(|context| fourier(context, &real, Some(&imaginary), transform).unwrap().real);
            let share = if is_inverse { length as f64 } else { 1.0 };
            for l in (0..length).step_by(length / 17) {
                let expected = by_definition(&real, &imaginary, transform, 0, l)[0];
                let distance = (result.get(0, l) - expected).abs() * share / norm;
                assert!(distance < 1e-12, "{length}: {l} is off by {distance}");
            }
        }
    }
}

#[test]
fn threads_do_not_change_a_transform() {
    let (real, imaginary) = (matrix(60, 33, 1, 1), matrix(60, 33, 2, 2));
    let transform = Transform { by_row: false, is_inverse: true };
    run(|context| fourier(context, &real, Some(&imaginary), transform).unwrap().real);
    run(|context| fourier(context, &real, Some(&imaginary), transform).unwrap().imaginary);
}

#[test]
fn quarter_turns_are_exact_and_parts_must_fit() {
    let transform = Transform { by_row: true, is_inverse: false };
    alone(false, |context| {
        let result = fourier(context, &dense(1, 4, &[1.0, 2.0, 3.0, 4.0]), None, transform).unwrap();
        assert_cells(&result.real, 1, 4, |_, j| [10.0, -2.0, -2.0, -2.0][j]);
        assert_cells(&result.imaginary, 1, 4, |_, j| [0.0, 2.0, 0.0, -2.0][j]);
        let error = fourier(context, &dense(1, 1, &[1.0]), Some(&dense(2, 1, &[1.0; 2])), transform).unwrap_err();
        let rule = "fft: a 1 x 1 matrix and a 2 x 1 matrix do not fit: real and imaginary part must have the same size";
        assert_eq!(error.to_string(), rule);
    });
}
