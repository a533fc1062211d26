//! Points around centres.

use super::blocks::{Purpose, dense, generator, push_row, sparse};
use super::{Shape, Specification};
use fuseline_kernels::random;
use fuseline_matrix::{Dense, MatrixBlock};
use rand::{Rng, RngExt};

/// Points that are normally distributed around centres, which are uniform from -1 to 1, and the number of each point's
/// centre, from 1.
pub(super) fn clusters(specification: &Specification, shape: &Shape) -> (MatrixBlock, Dense) {
    let &Shape { rows, cols, sparsity } = shape;
    let seed = specification.seed;
    let mut model = generator(seed, Purpose::Model, 0);
    let centres: Vec<f64> = (0..specification.classes * cols).map(|_| 2.0 * model.random::<f64>() - 1.0).collect();
    let fill_row = |generator: &mut _, cells: &mut [f64]| -> f64 {
        let cluster = Rng::next_u64(generator) as usize % specification.classes;
        for (cell, centre) in cells.iter_mut().zip(&centres[cluster * cols..]) {
            let is_kept = sparsity >= 1.0 || RngExt::random::<f64>(generator) < sparsity;
            let offset = random::normal(generator);
            *cell = if is_kept { centre + specification.noise * offset } else { 0.0 };
        }
        (cluster + 1) as f64
    };
    if shape.is_sparse() {
        let (matrix, labels) = sparse(rows, cols, cols as f64 * sparsity, seed, |generator, _, rows, labels| {
            let mut cells = vec![0.0; cols];
            for label in labels {
                *label = fill_row(generator, &mut cells);
                push_row(&cells, rows);
            }
        });
        return (matrix.into(), labels);
    }
    let (matrix, labels) = dense(rows, cols, seed, |generator, _, cells, labels| {
        for (row, label) in cells.chunks_exact_mut(cols).zip(labels) {
            *label = fill_row(generator, row);
        }
    });
    (matrix.into(), labels)
}
