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
use fuseline_matrix::{Dense, MatrixBlock};
use std::borrow::Cow;

fn argument(operation: &'static str, problem: String) -> KernelError {
    KernelError::Argument { operation, problem }
}

/// A row or column vector, for its cells.
pub(crate) fn cells<'a>(operation: &'static str, vector: &'a MatrixBlock) -> Result<Cow<'a, Dense>, KernelError> {
    let (rows, cols) = vector.dims();
    if rows != 1 && cols != 1 {
        return Err(argument(operation, format!("a {rows} x {cols} matrix is no vector")));
    }
    Ok(vector.to_dense())
}

/// How often each of so many values counts.
struct Weights<'a> {
    /// Once, where none are given.
    given: Option<Cow<'a, Dense>>,
    count: usize,
}

impl<'a> Weights<'a> {
    fn new(operation: &'static str, given: Option<&'a MatrixBlock>, count: usize) -> Result<Self, KernelError> {
        let given = given.map(|vector| cells(operation, vector)).transpose()?;
        if let Some(vector) = &given {
            let weights = vector.values();
            if weights.len() != count {
                return Err(argument(operation, format!("{} weights do not fit {count} values", weights.len())));
            }
            if let Some(weight) = weights.iter().find(|&&weight| !(weight >= 0.0 && weight.is_finite())) {
                return Err(argument(operation, format!("{weight} is no weight")));
            }
        }
        Ok(Weights { given, count })
    }

    /// The weight of a value.
    fn at(&self, index: usize) -> f64 {
        self.given.as_ref().map_or(1.0, |weights| weights.values()[index])
    }

    /// The sum of all.
    fn total(&self) -> f64 {
        self.given.as_ref().map_or(self.count as f64, |weights| weights.values().iter().sum())
    }
}
