//! Generated and expanded matrices.

use super::*;
use crate::{Density, RandomParameters, expand, fill, rand, reshape, sample, seq};
use fuseline_ir::Format;

#[test]
fn generated_matrices_are_what_was_asked_for() {
    assert_cells(&run(|c| fill(c, 2.5, 3, 4).unwrap()), 3, 4, |_, _| 2.5);
    assert_cells(&run(|c| seq(c, 1.0, 2.0, 0.25).unwrap()), 5, 1, |i, _| 1.0 + 0.25 * i as f64);
    assert_cells(&run(|c| seq(c, 3.0, 1.0, -1.0).unwrap()), 3, 1, |i, _| 3.0 - i as f64);
    assert_cells(&run(|c| seq(c, 1.0, 0.0, 1.0).unwrap()), 0, 1, |_, _| 0.0);
    let parameters = |sparsity| RandomParameters {
        rows: 300,
        cols: 500,
        min: 1.0,
        max: 2.0,
        sparsity,
        seed: 42,
        density: Density::Uniform,
    };
    for sparsity in [1.0, 0.5, 0.1, 0.001] {
        let block = run(|c| rand(c, &parameters(sparsity)).unwrap());
        let share = block.nnz() as f64 / 150_000.0;
        assert!((share - sparsity).abs() < 0.01 + 0.1 * sparsity, "{share} for {sparsity}");
        assert!(block.to_dense().values().iter().all(|&cell| cell == 0.0 || (1.0..2.0).contains(&cell)));
    }
    run(|c| {
        assert!(fill(c, 1.0, -1, 1).is_err() && fill(c, 1.0, i64::MAX, 2).is_err() && seq(c, 0.0, 1.0, 0.0).is_err());
        0.0
    });
}

#[test]
fn reshaped_matrices_have_the_cells_in_their_order() {
    for matrix in [matrix(12, 20, 1, 1), matrix(12, 20, 9, 2), matrix(1, 240, 30, 3)] {
        for format in all_formats(&matrix) {
            for (rows, cols) in [(20, 12), (240, 1), (1, 240), (3, 80), (12, 20)] {
                let reshaped = run(|context| reshape(context, &format, rows as i64, cols as i64).unwrap());
                let cell = |i: usize, j: usize| {
                    let cell = i * cols + j;
                    matrix.get(cell / matrix.cols(), cell % matrix.cols())
                };
                assert_cells(&reshaped, rows, cols, cell);
            }
            assert!(alone(false, |context| reshape(context, &format, 7, 7).is_err()));
        }
    }
}

/// A matrix with more cells than any memory holds: what is stored as non-zeros is never laid out.
#[test]
fn reshaped_sparse_matrices_stay_sparse() {
    let matrix = Csr::from_parts(3, 1 << 30, vec![0, 1, 1, 3], vec![5, 0, (1 << 30) - 1], vec![1.0, 2.0, 3.0]);
    let block = alone(false, |context| reshape(context, &matrix.into(), 3 << 10, 1 << 20).unwrap());
    assert_eq!((block.format(), block.nnz()), (Format::Sparse, 3));
    assert_eq!([(0, 5), (2 << 10, 0), ((3 << 10) - 1, (1 << 20) - 1)].map(|(i, j)| block.get(i, j)), [1.0, 2.0, 3.0]);
}

#[test]
fn vectors_expand_to_groups_of_columns() {
    let vector = matrix(6, 1, 9, 1);
    for format in all_formats(&vector) {
        for repeated in [0, 1, 2, 5] {
            let row = run(|context| expand(context, &format, 6 * repeated as i64).unwrap());
            assert_cells(&row, 1, 6 * repeated, |_, j| vector.get(j / repeated, 0));
        }
        assert!(alone(false, |context| expand(context, &format, 7).is_err()));
    }
    assert!(alone(false, |context| expand(context, &matrix(2, 2, 9, 1), 4).is_err()));
    assert!(alone(false, |context| expand(context, &Dense::zeros(0, 1).into(), 4).is_err()));
}

fn sampled(range: i64, size: i64, replacement: bool, seed: u64) -> Vec<f64> {
    let drawn = alone(false, |context| sample(context, range, size, replacement, seed).unwrap());
    assert_eq!(drawn.dims(), (size as usize, 1));
    drawn.to_dense().values().to_vec()
}

#[test]
fn samples_without_replacement_are_permutations() {
    let all = sampled(50, 50, false, 3);
    let mut sorted = all.clone();
    sorted.sort_by(f64::total_cmp);
    assert!(sorted.iter().enumerate().all(|(i, &value)| value == (i + 1) as f64));
    assert_eq!(all, sampled(50, 50, false, 3));
    assert_ne!(all, sampled(50, 50, false, 4));
    let drawn = sampled(3, 300, true, 1);
    let count = |wanted: f64| drawn.iter().filter(|&&value| value == wanted).count();
    assert_eq!(count(1.0) + count(2.0) + count(3.0), 300);
    assert!([1.0, 2.0, 3.0].iter().all(|&value| count(value) > 50));
    let message = |range, size| alone(false, |context| sample(context, range, size, false, 1).unwrap_err().to_string());
    assert_eq!(message(3, 4), "sample: 4 values cannot be drawn out of 3 without replacement");
    assert_eq!(message(0, 1), "sample: there are no values from 1 to 0");
    assert_eq!(message(1, -1), "sample: a matrix cannot have -1 rows and 1 columns");
}

/// Few of many numbers are drawn in another way than many of them: in both, all are as likely as each other.
#[test]
fn samples_are_even_whatever_their_size() {
    for (range, size) in [(100, 100), (100, 60), (100, 7), (100, 5), (100, 1), (1_000_000_000_000, 1000)] {
        let (mut sum, rounds) = (0.0, 40_000 / size);
        for seed in 0..rounds {
            let mut drawn = sampled(range, size, false, seed as u64);
            assert!(drawn.iter().all(|&number| number >= 1.0 && number <= range as f64 && number.fract() == 0.0));
            // Where it stands matters as little as which number it is.
            sum += drawn[drawn.len() / 2];
            drawn.sort_by(f64::total_cmp);
            assert!(drawn.windows(2).all(|pair| pair[0] < pair[1]), "each at most once");
        }
        // Six deviations of the mean of as many uniform numbers.
        let (mean, deviation) = (sum / rounds as f64, range as f64 / (12.0 * rounds as f64).sqrt());
        assert!((mean - (range + 1) as f64 / 2.0).abs() < 6.0 * deviation, "{range} {size}: {mean}");
    }
}

#[test]
fn poisson_counts_have_their_mean_and_variance() {
    for mean in [0.0, 0.5, 4.0, 1200.0] {
        let parameters = crate::RandomParameters {
            rows: 200,
            cols: 100,
            min: 0.0,
            max: 1.0,
            sparsity: 1.0,
            seed: 7,
            density: crate::Density::Poisson(mean),
        };
        let block = run(|context| crate::rand(context, &parameters).unwrap());
        let cells = block.to_dense().values().to_vec();
        assert!(cells.iter().all(|&cell| cell >= 0.0 && cell.fract() == 0.0));
        let actual = cells.iter().sum::<f64>() / cells.len() as f64;
        let variance = cells.iter().map(|cell| (cell - actual).powi(2)).sum::<f64>() / cells.len() as f64;
        // Five standard errors.
        assert!((actual - mean).abs() <= 5.0 * (mean / 20_000.0).sqrt(), "{actual} for {mean}");
        assert!((variance - mean).abs() <= 0.1 * mean, "{variance} for {mean}");
    }
}
