//! Basic (unfused) matrix operators, what the paper calls Base, and hand-coded fused ones, its Fused.
//!
//! Multi-threaded, dense and sparse, without copies of inputs. Results have the same bits for every number of threads:
//! work is cut into blocks whose boundaries follow from shapes alone, and partial results merge in block order.

mod aggregate;
mod convolution;
mod cumulative;
mod diagonal;
mod elementwise;
mod fused;
mod gemm;
mod generate;
mod linear_algebra;
mod product;
mod reorganise;
mod row_index;
mod select;
mod statistics;
mod table;
#[cfg(test)]
mod tests;
mod triangle;
mod variance;

pub use aggregate::{aggregate_full, aggregate_vector};
pub use convolution::{Pooling, Windows, conv2d, pool};
pub use cumulative::{cumulative, cumulative_sum_product};
pub use diagonal::diagonal;
pub use elementwise::{binary, nary, outer, ternary, unary};
pub use fused::{FusedValue, fused};
pub use generate::{Density, RandomParameters, expand, fill, rand, reshape, sample, seq};
pub use linear_algebra::{
    LuFactors, QrFactors, SymmetricEigen, ThinSvd, cholesky, determinant, eigen, inverse, lu, qr, solve, svd,
};
pub use product::{TransposedSide, matmul, matmul_transposed_left, matmul_transposed_right, tsmm};
pub use reorganise::{bind_columns, bind_rows, index, left_index, transpose};
pub use row_index::{Extreme, row_index};
pub use select::{Margin, order, order_index, remove_empty, reverse_rows, roll};
pub use statistics::{
    Distribution, GroupFunction, distribution_function, grouped_aggregate, inter_quartile_mean, median, quantile,
    quantile_function, quantiles, unique,
};
pub use table::table;
pub use triangle::{Triangle, triangle};

use fuseline_matrix::{BufferPool, Csr, CsrRows, MatrixBlock};
pub use fuseline_vecprims::Primitives;
use rayon::ThreadPool;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;
use thiserror::Error;

/// What every kernel needs besides its operands.
#[derive(Clone, Copy, Debug)]
pub struct KernelContext<'a> {
    /// Threads.
    pub pool: &'a ThreadPool,
    /// Memory for results.
    pub buffers: &'a Arc<BufferPool>,
    /// Vector primitives of an instruction set.
    pub primitives: &'static Primitives,
    /// Whether a zero may annihilate only finite operands (exactly IEEE arithmetic).
    pub strict_ieee: bool,
}

/// An operand of an element-wise operation.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// A matrix, or a row or column vector that is broadcast.
    Matrix(&'a MatrixBlock),
    /// A scalar.
    Scalar(f64),
}

/// Operands that do not fit; a program that passed the checks of sizes meets them only where sizes were unknown.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KernelError {
    /// Shapes that do not fit.
    #[error("{operation}: a {} x {} matrix and a {} x {} matrix do not fit: {rule}", left.0, left.1, right.0, right.1)]
    Shapes {
        /// The operation.
        operation: String,
        /// Dimensions of the first operand.
        left: (usize, usize),
        /// Dimensions of the second operand.
        right: (usize, usize),
        /// What would fit.
        rule: &'static str,
    },
    /// A range outside of a matrix.
    #[error("the range [{}:{}, {}:{}] lies outside of a {} x {} matrix", rows.0, rows.1, cols.0, cols.1, dims.0, dims.1)]
    Range {
        /// First and last row, 1-based.
        rows: (i64, i64),
        /// First and last column, 1-based.
        cols: (i64, i64),
        /// Dimensions of the matrix.
        dims: (usize, usize),
    },
    /// A number of rows, columns, cells or values that cannot be.
    #[error("{operation}: {problem}")]
    Argument {
        /// The operation.
        operation: &'static str,
        /// What is wrong.
        problem: String,
    },
}

/// Cells per block of work: large enough to amortise scheduling, small enough to balance.
const BLOCK_CELLS: usize = 1 << 16;

/// The most private partial results of one operator.
const MAX_PARTIALS: usize = 16;

/// Rows of a block when each row costs `cells_per_row`: a function of the shape alone.
fn block_rows(cells_per_row: usize) -> usize {
    (BLOCK_CELLS / cells_per_row.max(1)).max(1)
}

/// At most [`MAX_PARTIALS`] ranges of rows, none with less than a block of work.
fn partial_ranges(rows: usize, cells_per_row: usize) -> Vec<Range<usize>> {
    let step = rows.div_ceil(MAX_PARTIALS).max(block_rows(cells_per_row));
    (0..rows).step_by(step).map(|start| start..(start + step).min(rows)).collect()
}

/// At most `most` ranges of rows, each with at least `weight` non-zeros (but the last one) and no row more than that takes,
/// where a row counts as one more non-zero: rows of real data are skewed. A function of the pattern alone.
fn balanced_ranges(csr: &Csr, weight: usize, most: usize) -> Vec<Range<usize>> {
    let before = |row: usize| csr.row_offsets()[row] + row;
    let rows = csr.rows();
    let weight = weight.max(before(rows).div_ceil(most)).max(1);
    let mut ranges = Vec::new();
    let mut start = 0;
    while start < rows {
        let goal = before(start) + weight;
        let (mut end, mut enough) = (start, rows);
        while end + 1 < enough {
            let middle = end.midpoint(enough);
            if before(middle) < goal { end = middle } else { enough = middle }
        }
        ranges.push(start..enough);
        start = enough;
    }
    ranges
}

/// A sparse matrix built row by row, where a row costs about `cost` cells: `row(i, scratch, result)` appends columns
/// and values. Threads share scratch between rows, so a row leaves it as it was.
fn build_csr<S>(
    context: &KernelContext<'_>,
    (rows, cols): (usize, usize),
    cost: usize,
    scratch: impl Fn() -> S + Sync + Send,
    row: impl Fn(usize, &mut S, &mut CsrRows) + Sync,
) -> Csr {
    let step = block_rows(cost);
    let blocks: Vec<CsrRows> = context.pool.install(|| {
        (0..rows.div_ceil(step))
            .into_par_iter()
            .map_init(&scratch, |scratch, block| {
                let mut result = CsrRows::default();
                for i in block * step..((block + 1) * step).min(rows) {
                    let start = result.values.len();
                    row(i, scratch, &mut result);
                    result.lengths.push(result.values.len() - start);
                }
                result
            })
            .collect()
    });
    Csr::from_blocks(cols, blocks)
}

/// Appends a cell, unless it is zero.
fn push_nonzero(rows: &mut CsrRows, column: u32, value: f64) {
    if value != 0.0 {
        rows.columns.push(column);
        rows.values.push(value);
    }
}
