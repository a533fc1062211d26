//! Sample variances: two passes, the mean first and then the squared distances from it.

use crate::KernelContext;
use crate::blocks::{row_bytes, sum_strips};
use crate::product::accumulate;
use crate::sums::{self, ranges_to_sum};
use fuseline_ir::ops::{AggOp, BinaryOp};
use fuseline_matrix::{Csr, Dense, Layout, MatrixBlock, SparseRow};
use fuseline_vecprims::{Form, Tile, TileMut};

/// What the sum of squared distances of `count` cells is divided by: 1 for a single cell, 0 for none.
fn divisor(count: usize) -> f64 {
    if count == 1 { 1.0 } else { count.saturating_sub(1) as f64 }
}

/// The variance of all cells.
pub(crate) fn variance_full(context: &KernelContext<'_>, matrix: &MatrixBlock) -> f64 {
    let cells = matrix.rows() * matrix.cols();
    let mean = sums::full(context, AggOp::Mean, matrix);
    let layout = matrix.layout();
    let zeros = match &layout {
        Layout::Dense(_) => 0,
        Layout::Sparse(csr) => cells - csr.nnz(),
    };
    let distances = |run: &[f64]| squared_distances(context, run, mean);
    let mut sum = sums::over_runs(context, &layout, distances, |x, y| x + y).unwrap_or(0.0);
    if zeros > 0 {
        sum = (zeros as f64).mul_add(mean * mean, sum);
    }
    sum / divisor(cells)
}

fn squared_distances(context: &KernelContext<'_>, run: &[f64], mean: f64) -> f64 {
    let (len, mut distances) = (run.len(), vec![0.0; run.len()]);
    let (a, b) = (Tile::new(run, len), Tile::new(std::slice::from_ref(&mean), 0));
    context.primitives.binary(BinaryOp::Minus, Form::VectScalar, 1, len, a, b, TileMut::new(&mut distances, len));
    context.primitives.full_agg(AggOp::SumSq, 1, len, Tile::new(&distances, len))
}

/// The variance of each column: 1 x n.
pub(crate) fn variance_columns(context: &KernelContext<'_>, matrix: &MatrixBlock) -> Dense {
    let (rows, cols) = matrix.dims();
    let means = sums::columns(context, AggOp::Mean, matrix);
    let layout = matrix.layout();
    let mut sums = sum_strips(context, rows, row_bytes(&layout), cols, |rows| {
        accumulate(context, ranges_to_sum(&layout, rows), cols, |range, sums| match &layout {
            Layout::Dense(dense) => {
                let tile = &dense.values()[range.start * cols..range.end * cols];
                add_dense(context, tile, means.values(), sums);
            }
            Layout::Sparse(csr) => range.for_each(|i| add_sparse(csr.row(i).into(), means.values(), sums)),
        })
    });
    if let Layout::Sparse(csr) = &layout {
        add_zeros(context, csr, means.values(), &mut sums);
    }
    sums.iter_mut().for_each(|cell| *cell /= divisor(rows));
    Dense::from_buffer(1, cols, sums)
}

fn add_dense(context: &KernelContext<'_>, cells: &[f64], means: &[f64], sums: &mut [f64]) {
    let cols = means.len();
    // Distances of some rows at a time stay in cache.
    let tile_cells = (4096 / cols.max(1)).max(1) * cols;
    let mut distances = vec![0.0; tile_cells.min(cells.len())];
    for tile in cells.chunks(tile_cells.max(1)) {
        let rows = tile.len() / cols;
        let (a, b) = (Tile::new(tile, cols), Tile::new(means, 0));
        context.primitives.binary(
            BinaryOp::Minus,
            Form::VectVect,
            rows,
            cols,
            a,
            b,
            TileMut::new(&mut distances, cols),
        );
        context.primitives.col_agg(AggOp::SumSq, rows, cols, Tile::new(&distances, cols), sums);
    }
}

fn add_sparse(row: SparseRow<'_>, means: &[f64], sums: &mut [f64]) {
    for (&j, &value) in row.columns.iter().zip(row.values) {
        let distance = value - means[j as usize];
        sums[j as usize] = distance.mul_add(distance, sums[j as usize]);
    }
}

/// The zeros of each column are equally far from its mean.
fn add_zeros(context: &KernelContext<'_>, csr: &Csr, means: &[f64], sums: &mut [f64]) {
    let counts = context.pool.install(|| csr.column_counts());
    for ((sum, &mean), count) in sums.iter_mut().zip(means).zip(counts) {
        if count < csr.rows() {
            *sum = ((csr.rows() - count) as f64).mul_add(mean * mean, *sum);
        }
    }
}
