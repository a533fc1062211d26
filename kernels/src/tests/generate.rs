//! Generated and expanded matrices.

use super::*;
use crate::{Density, RandomParameters, expand, fill, rand, seq};

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
fn vectors_expand_to_groups_of_columns() {
    let vector = matrix(6, 1, 9, 1);
    for format in both_formats(&vector) {
        for repeated in [0, 1, 2, 5] {
            let row = run(|context| expand(context, &format, 6 * repeated as i64).unwrap());
            assert_cells(&row, 1, 6 * repeated, |_, j| vector.get(j / repeated, 0));
        }
        assert!(alone(false, |context| expand(context, &format, 7).is_err()));
    }
    assert!(alone(false, |context| expand(context, &matrix(2, 2, 9, 1), 4).is_err()));
    assert!(alone(false, |context| expand(context, &Dense::zeros(0, 1).into(), 4).is_err()));
}
