//! Features without structure: independent cells, all or a share of them not zero.

use super::Shape;
use super::blocks::{dense, sparse};
use fuseline_kernels::random;
use fuseline_matrix::{CsrRows, Dense, MatrixBlock};
use rand::{Rng, RngExt};
use rand_pcg::Pcg64Mcg;

/// How the non-zeros of features are distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    /// Uniformly from -1 to 1.
    Uniform,
    /// Normally with mean 0 and deviation 1.
    Normal,
}

impl Values {
    fn draw(self, generator: &mut impl Rng) -> f64 {
        match self {
            Values::Uniform => 2.0 * generator.random::<f64>() - 1.0,
            Values::Normal => random::normal(generator),
        }
    }
}

/// Features, and what `label` makes of each row: of its columns (none where all cells are given) and values.
pub(super) fn features(
    shape: &Shape,
    values: Values,
    seed: u64,
    label: impl Fn(&mut Pcg64Mcg, Option<&[u32]>, &[f64]) -> f64 + Sync,
) -> (MatrixBlock, Dense) {
    let &Shape { rows, cols, sparsity } = shape;
    if shape.is_sparse() {
        let (matrix, labels) = sparse(rows, cols, cols as f64 * sparsity, seed, |generator, _, rows, labels| {
            for row_label in labels {
                let start = rows.values.len();
                push_random_row(generator, values, cols, sparsity, rows);
                *row_label = label(generator, Some(&rows.columns[start..]), &rows.values[start..]);
            }
        });
        return (matrix.into(), labels);
    }
    let (matrix, labels) = dense(rows, cols, seed, |generator, _, cells, labels| {
        for (row, row_label) in cells.chunks_exact_mut(cols).zip(labels) {
            for cell in row.iter_mut() {
                if sparsity >= 1.0 || generator.random::<f64>() < sparsity {
                    *cell = values.draw(generator);
                }
            }
            *row_label = label(generator, None, row);
        }
    });
    (matrix.into(), labels)
}

/// Draws the gaps between non-zeros, so that the cost follows the non-zeros.
fn push_random_row(generator: &mut impl Rng, values: Values, cols: usize, sparsity: f64, rows: &mut CsrRows) {
    let start = rows.values.len();
    let mut column = 0_usize;
    loop {
        column = column.saturating_add(random::gap(generator, sparsity));
        if column >= cols {
            break;
        }
        let value = values.draw(generator);
        if value != 0.0 {
            rows.columns.push(column as u32);
            rows.values.push(value);
        }
        column += 1;
    }
    rows.lengths.push(rows.values.len() - start);
}
