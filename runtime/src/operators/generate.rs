//! Generation of matrices.

use super::Operator;
use crate::error::RuntimeError;
use crate::value::RuntimeValue;
use fuseline_ir::Value;
use fuseline_ir::hop::DataGenOp;
use fuseline_kernels::{self as kernels, Density, RandomParameters};
use fuseline_matrix::{Collected, Dense, MatrixBlock};

impl Operator<'_> {
    pub(super) fn generate(&self, op: DataGenOp) -> Result<MatrixBlock, RuntimeError> {
        let context = self.engine.kernel_context();
        Ok(match op {
            DataGenOp::Matrix => {
                let (rows, cols) = (self.integer(1)?, self.integer(2)?);
                match self.inputs[0] {
                    RuntimeValue::Matrix(block) => kernels::reshape(&context, block, rows, cols)?,
                    RuntimeValue::Scalar(Value::Str(text)) => {
                        kernels::reshape(&context, &self.parse_cells(text)?, rows, cols)?
                    }
                    _ => kernels::fill(&context, self.number(0)?, rows, cols)?,
                }
            }
            DataGenOp::Seq => kernels::seq(&context, self.number(0)?, self.number(1)?, self.number(2)?)?,
            DataGenOp::Rand => kernels::rand(&context, &self.random_parameters()?)?,
            DataGenOp::Expand => kernels::expand(&context, self.matrix(0)?, self.integer(1)?)?,
        })
    }

    fn random_parameters(&self) -> Result<RandomParameters, RuntimeError> {
        Ok(RandomParameters {
            rows: self.integer(0)?,
            cols: self.integer(1)?,
            min: self.number(2)?,
            max: self.number(3)?,
            sparsity: self.number(4)?,
            seed: seed(self.integer(5)?),
            density: match self.text(6)? {
                "uniform" => Density::Uniform,
                "normal" => Density::Normal,
                "poisson" => Density::Poisson(self.number(2)?),
                _ => return Err(self.type_error(6, "\"uniform\", \"normal\" or \"poisson\"")),
            },
        })
    }

    /// The numbers in a text, as one row.
    fn parse_cells(&self, text: &str) -> Result<MatrixBlock, RuntimeError> {
        let cells: Option<Collected<f64>> = text
            .split(|c: char| c.is_whitespace() || c == ',')
            .filter(|part| !part.is_empty())
            .map(|part| part.parse().ok())
            .collect();
        let cells = cells.ok_or_else(|| self.type_error(0, "a text of numbers"))?;
        Ok(Dense::from_vec(1, cells.len(), cells.into_vec()).into())
    }
}

/// The seed that a script gives; -1 stands for one that differs from run to run.
pub(super) fn seed(given: i64) -> u64 {
    if given == -1 { rand_seed() } else { given as u64 }
}

/// A seed that differs from run to run.
fn rand_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}
