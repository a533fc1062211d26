//! Hand-coded fused operators.

use super::Operator;
use crate::error::RuntimeError;
use crate::statistics::Statistics;
use crate::value::RuntimeValue;
use fuseline_ir::hop::FusedOp;
use fuseline_kernels::{self as kernels, FusedValue};

impl Operator<'_> {
    pub(super) fn hand_coded(&self, op: FusedOp, statistics: &mut Statistics) -> Result<RuntimeValue, RuntimeError> {
        statistics.count_fused(&op.to_string());
        let operands = (0..self.inputs.len()).map(|position| self.operand(position)).collect::<Result<Vec<_>, _>>()?;
        Ok(match kernels::fused(&self.engine.kernel_context(), op, &operands)? {
            FusedValue::Matrix(block) => RuntimeValue::Matrix(block),
            FusedValue::Scalar(value) => RuntimeValue::from(value),
        })
    }
}
