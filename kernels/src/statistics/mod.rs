//! Statistics of vectors: order statistics, groups, and probability distributions.

mod distinct;
mod distribution;
mod group;
mod incomplete;
mod order;

pub use distinct::{count_distinct, unique};
pub use distribution::{Distribution, distribution_function, quantile_function};
pub use group::{GroupFunction, grouped_aggregate};
pub use order::{inter_quartile_mean, median, quantile, quantiles};

use crate::KernelError;
use fuseline_matrix::MatrixBlock;

fn argument(operation: &'static str, problem: String) -> KernelError {
    KernelError::Argument { operation, problem }
}

/// The cells of a row or column vector.
fn cells(operation: &'static str, vector: &MatrixBlock) -> Result<Vec<f64>, KernelError> {
    let (rows, cols) = vector.dims();
    if rows != 1 && cols != 1 {
        return Err(argument(operation, format!("a {rows} x {cols} matrix is no vector")));
    }
    Ok(vector.to_dense().values().to_vec())
}

/// The weights of as many values; ones where none are given.
fn weights(operation: &'static str, weights: Option<&MatrixBlock>, count: usize) -> Result<Vec<f64>, KernelError> {
    let Some(vector) = weights else { return Ok(vec![1.0; count]) };
    let weights = cells(operation, vector)?;
    if weights.len() != count {
        return Err(argument(operation, format!("{} weights do not fit {count} values", weights.len())));
    }
    match weights.iter().find(|&&weight| !(weight >= 0.0 && weight.is_finite())) {
        Some(weight) => Err(argument(operation, format!("{weight} is no weight"))),
        None => Ok(weights),
    }
}
