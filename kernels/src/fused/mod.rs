//! Hand-coded fused operators: what the paper calls Fused, and compares generated ones with (section 5).
//!
//! One file per family. Each operator computes its definition ([`FusedOp::definition_text`]) in one pass without
//! intermediates of the size of its inputs. Sparse inputs are visited by their non-zeros where the meaning of zeros lets
//! these alone decide; under strict IEEE arithmetic sparse matrices are filled tile by tile.

mod chain;
mod outer_aggregate;
mod product_sum;
mod weighted;

use crate::{KernelContext, KernelError, Operand, TransposedSide, tsmm};
use fuseline_ir::hop::{FusedOp, Side};
use fuseline_matrix::MatrixBlock;

/// What a hand-coded fused operator gives.
#[derive(Clone, Debug, PartialEq)]
pub enum FusedValue {
    /// A matrix.
    Matrix(MatrixBlock),
    /// A full aggregate.
    Scalar(f64),
}

/// Runs a hand-coded fused operator on its inputs, in the order of [`FusedOp::inputs`].
///
/// # Errors
/// Inputs that do not fit: their number, a scalar in the place of a matrix, shapes.
pub fn fused(context: &KernelContext<'_>, op: FusedOp, inputs: &[Operand<'_>]) -> Result<FusedValue, KernelError> {
    let inputs = Inputs { op, inputs };
    Ok(match op {
        FusedOp::TransposeSelf(side) => {
            let side = if side == Side::Left { TransposedSide::Left } else { TransposedSide::Right };
            FusedValue::Matrix(tsmm(context, inputs.matrix("X")?, side))
        }
        FusedOp::MatrixChain(weight) => {
            let y = if op.inputs().contains(&"Y") { Some(inputs.matrix("Y")?) } else { None };
            FusedValue::Matrix(chain::matrix_chain(context, weight, inputs.matrix("X")?, inputs.matrix("V")?, y)?)
        }
        FusedOp::BinaryAggregate(direction) => {
            product_sum::product_sum(context, direction, &[inputs.matrix("X")?, inputs.matrix("Y")?])?
        }
        FusedOp::TernaryAggregate(direction) => product_sum::product_sum(
            context,
            direction,
            &[inputs.matrix("X")?, inputs.matrix("Y")?, inputs.matrix("Z")?],
        )?,
        FusedOp::OuterAggregate(aggregate, comparison) => {
            outer_aggregate::outer_aggregate(context, aggregate, comparison, inputs.matrix("U")?, inputs.matrix("V")?)?
        }
        FusedOp::WeightedSquaredLoss(_)
        | FusedOp::WeightedSigmoid { .. }
        | FusedOp::WeightedProduct(..)
        | FusedOp::WeightedMultiply
        | FusedOp::WeightedCrossEntropy { .. }
        | FusedOp::WeightedUnary(..) => weighted::weighted(context, &inputs)?,
    })
}

/// The inputs of an operator by their names in its definition.
struct Inputs<'a> {
    op: FusedOp,
    inputs: &'a [Operand<'a>],
}

impl<'a> Inputs<'a> {
    fn get(&self, name: &str) -> Option<Operand<'a>> {
        let position = self.op.inputs().iter().position(|&input| input == name)?;
        self.inputs.get(position).copied()
    }

    fn missing(&self, name: &str, what: &str) -> KernelError {
        KernelError::Argument { operation: "a fused operator", problem: format!("{} needs {what} {name}", self.op) }
    }

    fn matrix(&self, name: &str) -> Result<&'a MatrixBlock, KernelError> {
        match self.get(name) {
            Some(Operand::Matrix(block)) => Ok(block),
            _ => Err(self.missing(name, "a matrix")),
        }
    }

    fn scalar(&self, name: &str) -> Result<f64, KernelError> {
        match self.get(name) {
            Some(Operand::Scalar(value)) => Ok(value),
            _ => Err(self.missing(name, "a number")),
        }
    }
}

/// Refuses two matrices of which one does not have the dimensions that the other asks for.
fn check(op: &str, left: &MatrixBlock, right: &MatrixBlock, fits: bool, rule: &'static str) -> Result<(), KernelError> {
    if fits {
        return Ok(());
    }
    Err(KernelError::Shapes { operation: op.to_owned(), left: left.dims(), right: right.dims(), rule })
}
