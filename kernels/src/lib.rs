//! Basic (unfused) matrix operators, what the paper calls Base, and hand-coded fused ones, its Fused.
//!
//! Multi-threaded, dense and sparse, without copies of inputs. Results have the same bits for every number of threads:
//! work is cut into blocks whose boundaries follow from shapes alone, and partial results merge in block order.

mod aggregate;
mod blocks;
mod convolution;
mod cumulative;
mod diagonal;
mod elementwise;
mod fourier;
mod fused;
mod gemm;
mod generate;
mod linear_algebra;
mod multiply_add;
mod product;
pub mod random;
mod reorganise;
mod row_index;
mod select;
mod sort;
mod statistics;
mod sums;
mod table;
#[cfg(test)]
mod tests;
mod triangle;
mod variance;

pub use aggregate::{aggregate_full, aggregate_vector};
pub use blocks::in_best_format;
pub use convolution::{Pooling, Windows, conv2d, conv2d_backward_data, conv2d_backward_filter, pool, pool_backward};
pub use cumulative::{cumulative, cumulative_sum_product};
pub use diagonal::diagonal;
pub use elementwise::{binary, nary, outer, ternary, unary};
pub use fourier::{ComplexMatrix, Transform, fourier};
pub use fused::{FusedValue, fused};
pub use generate::{Density, RandomParameters, expand, fill, rand, reshape, sample, seq};
pub use linear_algebra::{
    EigenPairs, LuFactors, QrFactors, ThinSvd, cholesky, determinant, eigen, inverse, lu, matrix_root, qr, solve, svd,
};
pub use product::{TransposedSide, matmul, matmul_transposed_left, matmul_transposed_right, tsmm};
pub use reorganise::{bind_columns, bind_rows, index, left_index, replace_range, transpose};
pub use row_index::{Choice, Extreme, row_index};
pub use select::{Margin, order, order_index, remove_empty, reverse_rows, roll};
pub use statistics::{
    Distribution, GroupFunction, count_distinct, distribution_function, grouped_aggregate, inter_quartile_mean, median,
    quantile, quantile_function, quantiles, unique,
};
pub use table::{TableDims, table};
pub use triangle::{Triangle, triangle};

use fuseline_matrix::{BufferPool, CsrRows, MatrixBlock};
pub use fuseline_vecprims::Primitives;
use rayon::ThreadPool;
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
    /// Bytes of a strip of rows: [`fuseline_ir::work::STRIP_BYTES`] but in tests, since results depend on it.
    pub strip_bytes: u64,
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

/// Appends a cell, unless it is zero.
fn push_nonzero(rows: &mut CsrRows, column: u32, value: f64) {
    if value != 0.0 {
        rows.columns.push(column);
        rows.values.push(value);
    }
}
