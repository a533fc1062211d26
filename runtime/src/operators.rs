//! Runs one operator on its evaluated inputs.

use crate::dag_executor::is_transpose;
use crate::engine::Engine;
use crate::error::{RuntimeError, RuntimeErrorKind};
use crate::program_executor::describe;
use crate::statistics::Statistics;
use crate::value::{RuntimeValue, Variables};
use crate::{files, scalars};
use fuseline_ir::Value;
use fuseline_ir::hop::{CastOp, DataGenOp, Function, Hop, HopDag, HopOp, NaryOp, OperatorId, ReorgOp, ShapeOp};
use fuseline_ir::ops::Direction;
use fuseline_kernels::{self as kernels, Density, Operand, RandomParameters};
use fuseline_matrix::{Dense, MatrixBlock};
use fuseline_skeletons::Execution;
use std::io::Write;

/// An operator with its inputs.
struct Operator<'a> {
    engine: &'a Engine,
    dag: &'a HopDag,
    hop: &'a Hop,
    inputs: &'a [&'a RuntimeValue],
}

pub(crate) fn run(
    engine: &Engine,
    dag: &HopDag,
    hop: &Hop,
    inputs: &[&RuntimeValue],
    variables: &Variables,
    output: &mut dyn Write,
    statistics: &mut Statistics,
) -> Result<RuntimeValue, RuntimeError> {
    let operator = Operator { engine, dag, hop, inputs };
    match &hop.op {
        HopOp::Read(name) => {
            variables.get(name).cloned().ok_or_else(|| RuntimeErrorKind::Undefined(name.clone()).into())
        }
        HopOp::Literal(value) => Ok(RuntimeValue::Scalar(value.clone())),
        HopOp::Unary(_) | HopOp::Binary(_) | HopOp::Ternary(_) | HopOp::Concat => operator.element_wise(),
        HopOp::Parameterized { function, names } => operator.function(*function, names, output),
        HopOp::SpoofOp { operator: id, .. } => operator.fused(*id, statistics),
        _ => operator.matrix_operation(),
    }
}

impl Operator<'_> {
    fn type_error(&self, position: usize, expected: &'static str) -> RuntimeError {
        let actual = describe(self.inputs[position]);
        RuntimeErrorKind::Type { operation: self.hop.op.label(), expected, actual }.into()
    }

    fn matrix(&self, position: usize) -> Result<&MatrixBlock, RuntimeError> {
        match self.inputs[position] {
            RuntimeValue::Matrix(block) => Ok(block),
            RuntimeValue::Scalar(_) => Err(self.type_error(position, "a matrix")),
        }
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
            RuntimeValue::Scalar(value) => match value.as_f64() {
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
                RuntimeValue::Matrix(_) => None,
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
            _ => Some(Value::Str(format!("{}{}", values[0], values[1]))),
        };
        result.ok_or_else(|| self.type_error(0, "numbers"))
    }

    fn matrix_operation(&self) -> Result<RuntimeValue, RuntimeError> {
        let context = self.engine.kernel_context();
        Ok(RuntimeValue::Matrix(match &self.hop.op {
            HopOp::AggUnary(op, Direction::Full) => {
                return Ok(RuntimeValue::from(kernels::aggregate_full(&context, *op, self.matrix(0)?)));
            }
            HopOp::AggUnary(op, direction) => kernels::aggregate_vector(&context, *op, *direction, self.matrix(0)?),
            HopOp::MatMul if is_transpose(&self.dag[self.hop.inputs[0]]) => {
                kernels::matmul_transposed_left(&context, self.matrix(0)?, self.matrix(1)?)?
            }
            HopOp::MatMul => kernels::matmul(&context, self.matrix(0)?, self.matrix(1)?)?,
            HopOp::Reorg(ReorgOp::Transpose) => kernels::transpose(&context, self.matrix(0)?),
            HopOp::Nary(op) => {
                let parts =
                    (0..self.inputs.len()).map(|position| self.matrix(position)).collect::<Result<Vec<_>, _>>()?;
                match op {
                    NaryOp::Cbind => kernels::bind_columns(&context, &parts)?,
                    NaryOp::Rbind => kernels::bind_rows(&context, &parts)?,
                }
            }
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
            (_, RuntimeValue::Scalar(value)) => value.clone(),
            (_, RuntimeValue::Matrix(block)) if block.dims() == (1, 1) => Value::F64(block.get(0, 0)),
            (_, RuntimeValue::Matrix(_)) => return Err(self.type_error(0, "a scalar or a 1 x 1 matrix")),
        };
        scalars::cast(op, &value).map(RuntimeValue::Scalar).ok_or_else(|| self.type_error(0, "a number"))
    }

    fn generate(&self, op: DataGenOp) -> Result<MatrixBlock, RuntimeError> {
        let context = self.engine.kernel_context();
        Ok(match op {
            DataGenOp::Matrix => {
                let (rows, cols) = (self.integer(1)?, self.integer(2)?);
                match self.inputs[0] {
                    RuntimeValue::Matrix(block) => kernels::reshape(block, rows, cols)?,
                    RuntimeValue::Scalar(Value::Str(text)) => kernels::reshape(&self.parse_cells(text)?, rows, cols)?,
                    RuntimeValue::Scalar(_) => kernels::fill(&context, self.number(0)?, rows, cols)?,
                }
            }
            DataGenOp::Seq => kernels::seq(&context, self.number(0)?, self.number(1)?, self.number(2)?)?,
            DataGenOp::Rand => {
                let seed = self.integer(5)?;
                let parameters = RandomParameters {
                    rows: self.integer(0)?,
                    cols: self.integer(1)?,
                    min: self.number(2)?,
                    max: self.number(3)?,
                    sparsity: self.number(4)?,
                    seed: if seed == -1 { rand_seed() } else { seed as u64 },
                    density: match self.text(6)? {
                        "uniform" => Density::Uniform,
                        "normal" => Density::Normal,
                        _ => return Err(self.type_error(6, "\"uniform\" or \"normal\"")),
                    },
                };
                kernels::rand(&context, &parameters)?
            }
        })
    }

    /// The numbers in a text, as one row.
    fn parse_cells(&self, text: &str) -> Result<MatrixBlock, RuntimeError> {
        let cells: Option<Vec<f64>> = text
            .split(|c: char| c.is_whitespace() || c == ',')
            .filter(|part| !part.is_empty())
            .map(|part| part.parse().ok())
            .collect();
        let cells = cells.ok_or_else(|| self.type_error(0, "a text of numbers"))?;
        Ok(Dense::from_vec(1, cells.len(), cells).into())
    }

    fn function(
        &self,
        function: Function,
        names: &[String],
        output: &mut dyn Write,
    ) -> Result<RuntimeValue, RuntimeError> {
        let done = || Ok(RuntimeValue::Scalar(Value::Bool(true)));
        let positional = self.inputs.len() - names.len();
        let named = || names.iter().map(String::as_str).zip(self.inputs[positional..].iter().copied());
        match function {
            Function::Print => {
                writeln!(output, "{}", files::to_text(self.inputs[0]))?;
                done()
            }
            Function::Stop => Err(RuntimeErrorKind::Stop(files::to_text(self.inputs[0])).into()),
            Function::Assert if self.number(0)? != 0.0 => done(),
            Function::Assert => Err(RuntimeErrorKind::Assert.into()),
            Function::ToString => Ok(Value::Str(files::to_text(self.inputs[0])).into()),
            Function::Time => {
                let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
                Ok(Value::I64(since.map_or(0, |elapsed| elapsed.as_nanos() as i64)).into())
            }
            Function::Read => files::read(self.text(0)?, named()),
            Function::Write => {
                files::write(self.inputs[0], self.text(1)?, named())?;
                done()
            }
        }
    }

    fn fused(&self, id: OperatorId, statistics: &mut Statistics) -> Result<RuntimeValue, RuntimeError> {
        let engine = self.engine;
        let compiled = engine.plan_cache.operator(id, engine.backend())?;
        let (mut matrices, mut numbers) = (Vec::new(), Vec::new());
        for (position, input) in self.inputs.iter().enumerate() {
            match input {
                RuntimeValue::Matrix(block) => matrices.push(block.clone()),
                RuntimeValue::Scalar(_) => numbers.push(self.number(position)?),
            }
        }
        let variant = compiled.plan.variant;
        *statistics.fused_operators.entry(format!("{} {}", variant.template(), variant.mnemonic())).or_default() += 1;
        let execution = Execution {
            pool: &engine.pool,
            buffers: &engine.buffers,
            counters: &engine.counters,
            strict_ieee: engine.options.strict_ieee,
        };
        Ok(fuseline_skeletons::execute(&compiled, &matrices, &numbers, &execution)?.into())
    }
}

/// A seed that differs from run to run.
fn rand_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}
