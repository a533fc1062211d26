//! Matrix products over dense and sparse operands.

use crate::gemm::{Strided, gemm_rows};
use crate::{KernelContext, KernelError, block_rows, partial_ranges};
use fuseline_matrix::{Csr, CsrRows, Dense, MatrixBlock};
use fuseline_vecprims::{CsrTile, Tile, TileMut};
use rayon::prelude::*;
use std::ops::Range;

/// Products with at most this many columns on the right are memory-bound and run on vector primitives.
const SKINNY: usize = 8;

fn check(left: (usize, usize), right: (usize, usize), fits: bool) -> Result<(), KernelError> {
    let rule = "the columns of the left must be as many as the rows of the right";
    if fits { Ok(()) } else { Err(KernelError::Shapes { operation: "%*%".to_owned(), left, right, rule }) }
}

/// `left %*% right`.
///
/// # Errors
/// The columns of the left are not as many as the rows of the right.
pub fn matmul(
    context: &KernelContext<'_>,
    left: &MatrixBlock,
    right: &MatrixBlock,
) -> Result<MatrixBlock, KernelError> {
    check(left.dims(), right.dims(), left.cols() == right.rows())?;
    if context.strict_ieee && (left.is_sparse() || right.is_sparse()) {
        return Ok(dense_dense(context, &left.to_dense(), &right.to_dense()).into());
    }
    Ok(match (left, right) {
        (MatrixBlock::Dense(left), MatrixBlock::Dense(right)) => dense_dense(context, left, right).into(),
        (MatrixBlock::Sparse(left), MatrixBlock::Dense(right)) => sparse_dense(context, left, right).into(),
        (MatrixBlock::Dense(left), MatrixBlock::Sparse(right)) => dense_sparse(context, left, right).into(),
        (MatrixBlock::Sparse(left), MatrixBlock::Sparse(right)) => {
            MatrixBlock::from(sparse_sparse(context, left, right)).in_best_format()
        }
    })
}

/// `t(left) %*% right`, without forming the transpose.
///
/// # Errors
/// The two have different numbers of rows.
pub fn matmul_transposed_left(
    context: &KernelContext<'_>,
    left: &MatrixBlock,
    right: &MatrixBlock,
) -> Result<MatrixBlock, KernelError> {
    check((left.cols(), left.rows()), right.dims(), left.rows() == right.rows())?;
    match (left, right) {
        (MatrixBlock::Dense(left), MatrixBlock::Dense(right)) => Ok(if right.cols() <= SKINNY {
            skinny_transposed(context, left, right).into()
        } else {
            gemm(context, left.cols(), left.rows(), right.cols(), Strided::of(left).transposed(), Strided::of(right))
                .into()
        }),
        (MatrixBlock::Sparse(left), MatrixBlock::Dense(right)) if !context.strict_ieee => {
            Ok(sparse_transposed(context, left, right).into())
        }
        (left, right) => matmul(context, &crate::transpose(context, left), right),
    }
}

fn dense_dense(context: &KernelContext<'_>, left: &Dense, right: &Dense) -> Dense {
    match (left.rows(), right.cols()) {
        (1, _) if right.cols() > 1 => row_times_matrix(context, left, right),
        (_, 1) => matrix_times_vector(context, left, right),
        (rows, cols) => gemm(context, rows, left.cols(), cols, Strided::of(left), Strided::of(right)),
    }
}

fn gemm(
    context: &KernelContext<'_>,
    rows: usize,
    inner: usize,
    cols: usize,
    left: Strided<'_>,
    right: Strided<'_>,
) -> Dense {
    let mut result = Dense::uninit_in(context.buffers, rows, cols);
    // Blocks of some hundred rows keep the packing of the right operand cheap beside the product.
    let step = (1 << 18) / cols.max(1);
    let step = step.clamp(64, 1024);
    context.pool.install(|| {
        result
            .values_mut()
            .par_chunks_mut((step * cols).max(1))
            .enumerate()
            .for_each(|(block, out)| gemm_rows(out, cols, block * step, inner, left, right));
    });
    result
}

fn matrix_times_vector(context: &KernelContext<'_>, left: &Dense, right: &Dense) -> Dense {
    let (rows, inner) = (left.rows(), left.cols());
    let mut result = Dense::uninit_in(context.buffers, rows, 1);
    let step = block_rows(inner);
    context.pool.install(|| {
        result.values_mut().par_chunks_mut(step).enumerate().for_each(|(block, out)| {
            let start = block * step * inner;
            let tile = &left.values()[start..start + out.len() * inner];
            let (a, b) = (Tile::new(tile, inner), Tile::new(right.values(), 0));
            context.primitives.dot_product(out.len(), inner, a, b, TileMut::new(out, 1));
        });
    });
    result
}

fn row_times_matrix(context: &KernelContext<'_>, left: &Dense, right: &Dense) -> Dense {
    let (inner, cols) = (right.rows(), right.cols());
    let partials = accumulate(context, partial_ranges(inner, cols), cols, |range, acc| {
        let tile = &right.values()[range.start * cols..range.end * cols];
        let (a, b) = (Tile::new(tile, cols), Tile::new(&left.values()[range.clone()], 1));
        context.primitives.outer_mult_add(range.len(), cols, 1, a, b, TileMut::new(acc, cols));
    });
    Dense::from_vec(1, cols, partials)
}

/// `t(left) %*% right` for few columns on the right: the sum over rows of outer products, accumulated with the long
/// dimension contiguous.
fn skinny_transposed(context: &KernelContext<'_>, left: &Dense, right: &Dense) -> Dense {
    let (rows, n, k) = (left.rows(), left.cols(), right.cols());
    let sums = accumulate(context, partial_ranges(rows, n), n * k, |range, acc| {
        // Tiles that stay in cache while each column of the right passes over them.
        let tile_rows = (4096 / n.max(1)).max(1);
        for start in range.clone().step_by(tile_rows) {
            let end = (start + tile_rows).min(range.end);
            let a = Tile::new(&left.values()[start * n..end * n], n);
            let b = Tile::new(&right.values()[start * k..end * k], k);
            context.primitives.outer_mult_add(end - start, n, k, a, b, TileMut::new(acc, n));
        }
    });
    Dense::from_fn(n, k, |i, j| sums[j * n + i])
}

fn sparse_transposed(context: &KernelContext<'_>, left: &Csr, right: &Dense) -> Dense {
    let (n, k) = (left.cols(), right.cols());
    let per_row = left.nnz().checked_div(left.rows()).unwrap_or(0) * k;
    // Private results cost memory traffic of their own: only as many as the work pays for.
    let cost = per_row.max((n * k).div_ceil(left.rows().max(1)));
    let sums = accumulate(context, partial_ranges(left.rows(), cost), n * k, |range, acc| {
        let b = Tile::new(&right.values()[range.start * k..range.end * k], k);
        context.primitives.sparse_outer_mult_add(rows_of(left, &range), k, b, TileMut::new(acc, k));
    });
    Dense::from_vec(n, k, sums)
}

/// The CSR parts of a range of rows.
fn rows_of<'a>(matrix: &'a Csr, range: &Range<usize>) -> CsrTile<'a> {
    let row_offsets = &matrix.row_offsets()[range.start..=range.end];
    let positions = row_offsets[0]..row_offsets[row_offsets.len() - 1];
    CsrTile { row_offsets, columns: &matrix.columns()[positions.clone()], values: &matrix.values()[positions] }
}

/// Sums of private accumulators of `len` values, one per range, merged in order.
fn accumulate(
    context: &KernelContext<'_>,
    ranges: Vec<Range<usize>>,
    len: usize,
    add: impl Fn(Range<usize>, &mut [f64]) + Sync,
) -> Vec<f64> {
    let partials: Vec<Vec<f64>> = context.pool.install(|| {
        ranges
            .into_par_iter()
            .map(|range| {
                let mut acc = vec![0.0; len];
                add(range, &mut acc);
                acc
            })
            .collect()
    });
    let mut partials = partials.into_iter();
    let mut sums = partials.next().unwrap_or_else(|| vec![0.0; len]);
    for partial in partials {
        for (sum, value) in sums.iter_mut().zip(partial) {
            *sum += value;
        }
    }
    sums
}

fn sparse_dense(context: &KernelContext<'_>, left: &Csr, right: &Dense) -> Dense {
    let (rows, cols) = (left.rows(), right.cols());
    let mut result = Dense::uninit_in(context.buffers, rows, cols);
    let step = block_rows((left.nnz().checked_div(rows).unwrap_or(0) + 1) * cols);
    context.pool.install(|| {
        result.values_mut().par_chunks_mut((step * cols).max(1)).enumerate().for_each(|(block, out)| {
            let range = block * step..block * step + out.len() / cols.max(1);
            let tile = rows_of(left, &range);
            if cols == 1 {
                context.primitives.sparse_dot_product(tile, Tile::new(right.values(), 0), TileMut::new(out, 1));
            } else {
                let (b, out) = (Tile::new(right.values(), cols), TileMut::new(out, cols));
                context.primitives.sparse_vect_mat_mult(tile, cols, b, out);
            }
        });
    });
    result
}

fn dense_sparse(context: &KernelContext<'_>, left: &Dense, right: &Csr) -> Dense {
    let (rows, cols) = (left.rows(), right.cols());
    let mut result = Dense::uninit_in(context.buffers, rows, cols);
    let step = block_rows(cols.max(left.cols()));
    context.pool.install(|| {
        result.values_mut().par_chunks_mut((step * cols).max(1)).enumerate().for_each(|(block, out)| {
            for (r, out_row) in out.chunks_exact_mut(cols.max(1)).enumerate() {
                out_row.fill(0.0);
                add_row_times_sparse(left.row(block * step + r).iter().copied().enumerate(), right, out_row);
            }
        });
    });
    result
}

fn add_row_times_sparse(row: impl Iterator<Item = (usize, f64)>, right: &Csr, out: &mut [f64]) {
    for (k, factor) in row {
        if factor != 0.0 {
            let (columns, values) = right.row(k);
            for (&j, &value) in columns.iter().zip(values) {
                out[j as usize] = factor.mul_add(value, out[j as usize]);
            }
        }
    }
}

fn sparse_sparse(context: &KernelContext<'_>, left: &Csr, right: &Csr) -> Csr {
    let (rows, cols) = (left.rows(), right.cols());
    let step = block_rows(cols);
    let blocks: Vec<CsrRows> = context.pool.install(|| {
        (0..rows.div_ceil(step))
            .into_par_iter()
            .map(|block| {
                let mut result = CsrRows::default();
                let mut acc = vec![0.0; cols];
                for i in block * step..((block + 1) * step).min(rows) {
                    let (row_columns, row_values) = left.row(i);
                    let row = row_columns.iter().zip(row_values).map(|(&k, &value)| (k as usize, value));
                    add_row_times_sparse(row, right, &mut acc);
                    let start = result.values.len();
                    for (j, cell) in acc.iter_mut().enumerate() {
                        if *cell != 0.0 {
                            result.columns.push(j as u32);
                            result.values.push(*cell);
                            *cell = 0.0;
                        }
                    }
                    result.lengths.push(result.values.len() - start);
                }
                result
            })
            .collect()
    });
    Csr::from_blocks(cols, blocks)
}
