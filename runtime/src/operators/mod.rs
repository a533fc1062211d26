//! Runs one operator on its evaluated inputs.

mod frame_functions;
mod frames;
mod functions;
mod fused;
mod generate;
mod lists;
mod numeric;
mod product;
mod text;

use crate::engine::Engine;
use crate::error::{RuntimeError, RuntimeErrorKind};
use crate::scalars;
use crate::statistics::Statistics;
use crate::value::{RuntimeValue, Variables};
use fuseline_ir::Value;
use fuseline_ir::hop::infer::operation_name;
use fuseline_ir::hop::{CastOp, Hop, HopDag, HopOp, NaryOp, OperatorId, ReorgOp, ShapeOp};
use fuseline_ir::ops::Direction;
use fuseline_kernels::{self as kernels, Operand};
use fuseline_matrix::run_context::check_stop;
use fuseline_matrix::{Frame, MatrixBlock};
use fuseline_skeletons::Execution;
use std::io::Write;

/// An operator with its inputs.
#[derive(Clone, Copy)]
pub(crate) struct Operator<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) dag: &'a HopDag,
    pub(crate) hop: &'a Hop,
    pub(crate) inputs: &'a [&'a RuntimeValue],
}

impl Operator<'_> {
    /// The value of the operator; what it prints goes to `output`.
    pub(crate) fn run(
        &self,
        variables: &Variables,
        output: &mut (dyn Write + Send),
        statistics: &mut Statistics,
    ) -> Result<RuntimeValue, RuntimeError> {
        match &self.hop.op {
            HopOp::Read(name) => variables
                .get(name)
                .map(RuntimeValue::copied)
                .ok_or_else(|| RuntimeErrorKind::Undefined(name.clone()).into()),
            HopOp::Literal(value) => Ok(RuntimeValue::Scalar(value.clone())),
            HopOp::Unary(_) | HopOp::Binary(_) | HopOp::Ternary(_) | HopOp::Concat => self.element_wise(),
            HopOp::Parameterized { function, names } => self.function(*function, names, output),
            HopOp::Fused(op) => self.hand_coded(*op, statistics),
            HopOp::SpoofOp { operator: id, .. } => self.fused(*id, statistics),
            _ => self.matrix_operation(),
        }
    }

    /// Replaces a range of a matrix; the inputs are the replacement and the bounds.
    pub(crate) fn update(&self, matrix: &mut MatrixBlock) -> Result<(), RuntimeError> {
        let (replacement, rows, cols) = (self.operand(0)?, self.range(1)?, self.range(3)?);
        Ok(kernels::replace_range(&self.engine.kernel_context(), matrix, replacement, rows, cols)?)
    }
}

impl Operator<'_> {
    fn type_error(&self, position: usize, expected: &'static str) -> RuntimeError {
        let actual = self.inputs[position].describe();
        RuntimeErrorKind::Type { operation: operation_name(&self.hop.op), expected, actual }.into()
    }

    fn matrix(&self, position: usize) -> Result<&MatrixBlock, RuntimeError> {
        match self.inputs[position] {
            RuntimeValue::Matrix(block) => Ok(block),
            _ => Err(self.type_error(position, "a matrix")),
        }
    }

    /// All inputs, as matrices.
    fn matrices(&self) -> Result<Vec<&MatrixBlock>, RuntimeError> {
        (0..self.inputs.len()).map(|position| self.matrix(position)).collect()
    }

    fn number(&self, position: usize) -> Result<f64, RuntimeError> {
        self.inputs[position].as_f64().ok_or_else(|| self.type_error(position, "a number"))
    }

    fn integer(&self, position: usize) -> Result<i64, RuntimeError> {
        let number = self.number(position)?;
        if number.is_nan() || number.abs() > 9.0e18 {
            return Err(self.type_error(position, "an integer"));
        }
        // DML rounds positions and dimensions that come out of floating-point arithmetic.
        Ok((number + 1e-9).floor() as i64)
    }

    fn text(&self, position: usize) -> Result<&str, RuntimeError> {
        match self.inputs[position] {
            RuntimeValue::Scalar(Value::Str(text)) => Ok(text),
            _ => Err(self.type_error(position, "a text")),
        }
    }

    fn operand(&self, position: usize) -> Result<Operand<'_>, RuntimeError> {
        match self.inputs[position] {
            RuntimeValue::Matrix(block) => Ok(Operand::Matrix(block)),
            other => match other.as_f64() {
                Some(number) => Ok(Operand::Scalar(number)),
                None => Err(self.type_error(position, "a matrix or a number")),
            },
        }
    }

    fn element_wise(&self) -> Result<RuntimeValue, RuntimeError> {
        let scalars: Option<Vec<&Value>> = self
            .inputs
            .iter()
            .map(|input| match input {
                RuntimeValue::Scalar(value) => Some(value),
                _ => None,
            })
            .collect();
        if let Some(values) = scalars {
            return self.scalar_operation(&values).map(RuntimeValue::Scalar);
        }
        let context = self.engine.kernel_context();
        Ok(RuntimeValue::Matrix(match &self.hop.op {
            HopOp::Unary(op) => kernels::unary(&context, *op, self.matrix(0)?),
            HopOp::Binary(op) => kernels::binary(&context, *op, self.operand(0)?, self.operand(1)?)?,
            HopOp::Ternary(op) => {
                kernels::ternary(&context, *op, [self.operand(0)?, self.operand(1)?, self.operand(2)?])?
            }
            _ => return Err(self.type_error(0, "scalars")),
        }))
    }

    fn scalar_operation(&self, values: &[&Value]) -> Result<Value, RuntimeError> {
        let result = match &self.hop.op {
            HopOp::Unary(op) => scalars::unary(*op, values[0]),
            HopOp::Binary(op) => scalars::binary(*op, values[0], values[1]),
            HopOp::Ternary(op) => scalars::ternary(*op, values[0], values[1], values[2]),
            _ => Some(scalars::concatenated(values[0], values[1])),
        };
        result.ok_or_else(|| self.type_error(0, "numbers"))
    }

    fn matrix_operation(&self) -> Result<RuntimeValue, RuntimeError> {
        if let Some(result) = self.list_operation().or_else(|| self.frame_operation()) {
            return result;
        }
        let context = self.engine.kernel_context();
        Ok(RuntimeValue::Matrix(match &self.hop.op {
            HopOp::AggUnary(op, Direction::Full) => {
                return Ok(RuntimeValue::from(kernels::aggregate_full(&context, *op, self.matrix(0)?)));
            }
            HopOp::AggUnary(op, direction) => kernels::aggregate_vector(&context, *op, *direction, self.matrix(0)?),
            HopOp::Cumulative(op) => kernels::cumulative(&context, *op, self.matrix(0)?),
            HopOp::Outer(op) => kernels::outer(&context, *op, self.matrix(0)?, self.matrix(1)?)?,
            HopOp::MatMul => product::run(&context, self.dag, self.hop, &self.matrices()?)?,
            HopOp::Reorg(ReorgOp::Transpose) => kernels::transpose(&context, self.matrix(0)?),
            HopOp::Reorg(ReorgOp::Rev) => kernels::reverse_rows(&context, self.matrix(0)?),
            HopOp::Reorg(ReorgOp::Diag) => kernels::diagonal(&context, self.matrix(0)?)?,
            HopOp::Nary(op) => match op.fold() {
                Some(fold) => {
                    let operands = (0..self.inputs.len()).map(|position| self.operand(position));
                    kernels::nary(&context, fold, &operands.collect::<Result<Vec<_>, _>>()?)?
                }
                None if *op == NaryOp::Cbind => kernels::bind_columns(&context, &self.matrices()?)?,
                None => kernels::bind_rows(&context, &self.matrices()?)?,
            },
            HopOp::Index => kernels::index(&context, self.matrix(0)?, self.range(1)?, self.range(3)?)?,
            HopOp::LeftIndex => {
                kernels::left_index(&context, self.matrix(0)?, self.operand(1)?, self.range(2)?, self.range(4)?)?
            }
            HopOp::DataGen(op) => self.generate(*op)?,
            HopOp::Shape(op) => return self.shape(*op),
            HopOp::Cast(op) => return self.cast(*op),
            other => {
                return Err(RuntimeErrorKind::Internal(format!("no operator runs {}", other.label())).into());
            }
        }))
    }

    fn range(&self, position: usize) -> Result<(i64, i64), RuntimeError> {
        Ok((self.integer(position)?, self.integer(position + 1)?))
    }

    fn shape(&self, op: ShapeOp) -> Result<RuntimeValue, RuntimeError> {
        if let (ShapeOp::Length, RuntimeValue::Scalar(Value::Str(text))) = (op, self.inputs[0]) {
            return Ok(Value::I64(characters(text) as i64).into());
        }
        let (rows, cols) = self.matrix(0)?.dims();
        let extent = match op {
            ShapeOp::Nrow => rows,
            ShapeOp::Ncol => cols,
            ShapeOp::Length => rows * cols,
        };
        Ok(Value::I64(extent as i64).into())
    }

    fn cast(&self, op: CastOp) -> Result<RuntimeValue, RuntimeError> {
        let value = match (op, self.inputs[0]) {
            (CastOp::AsMatrix, RuntimeValue::Matrix(block)) => return Ok(block.clone().into()),
            (CastOp::AsMatrix, RuntimeValue::Scalar(_)) => return Ok(MatrixBlock::single(self.number(0)?).into()),
            (CastOp::AsFrame, RuntimeValue::Matrix(block)) => return Ok(Frame::from_matrix(block).into()),
            (CastOp::AsFrame, RuntimeValue::Scalar(value)) => return self.single_cell_frame(value),
            (CastOp::AsList, RuntimeValue::Matrix(block)) => return self.columns_as_list(block),
            (_, RuntimeValue::Scalar(value)) => value.clone(),
            (_, RuntimeValue::Matrix(block)) if block.dims() == (1, 1) => Value::F64(block.get(0, 0)),
            _ => return Err(self.type_error(0, "a scalar or a 1 x 1 matrix")),
        };
        scalars::cast(op, &value).map(RuntimeValue::Scalar).ok_or_else(|| self.type_error(0, "a number"))
    }

    fn fused(&self, id: OperatorId, statistics: &mut Statistics) -> Result<RuntimeValue, RuntimeError> {
        let engine = self.engine;
        let compiled = engine.plan_cache.operator(id, engine.backend())?;
        let (mut matrices, mut numbers) = (Vec::new(), Vec::new());
        for (position, input) in self.inputs.iter().enumerate() {
            match input {
                RuntimeValue::Matrix(block) => matrices.push(block.clone()),
                _ => numbers.push(self.number(position)?),
            }
        }
        statistics.count_fused(compiled.label());
        let execution = Execution {
            pool: engine.threads.pool(),
            buffers: engine.buffers(),
            counters: &engine.counters,
            primitives: engine.kernel_context().primitives,
            strict_ieee: engine.options.environment.strict_ieee,
            strip_bytes: engine.options.strip_bytes,
        };
        Ok(fuseline_skeletons::execute(&compiled, &matrices, &numbers, &execution)?.into())
    }
}

/// Bytes of a text that are counted between two looks at a request to stop.
const COUNTED_AT_ONCE: usize = 1 << 20;

/// How many characters a text has. Unwinds after a request to stop.
fn characters(text: &str) -> usize {
    let counts = text.as_bytes().chunks(COUNTED_AT_ONCE).map(|bytes| {
        check_stop();
        // Other bytes continue a character.
        bytes.iter().filter(|&byte| byte & 0b1100_0000 != 0b1000_0000).count()
    });
    counts.sum()
}
