//! Walks the statement blocks of a program.

use crate::compiler::{DagCompiler, Observer};
use crate::dag_executor;
use crate::engine::Engine;
use crate::error::{RuntimeError, RuntimeErrorKind};
use crate::scalars;
use crate::statistics::{Counts, Statistics};
use crate::value::{RuntimeValue, Variables};
use fuseline_ir::hop::{CastOp, HopDag, Span};
use fuseline_ir::program::{Call, Parameter, Predicate, Program, StatementBlock};
use fuseline_ir::{DataType, ScalarType, Value};
use std::io::Write;

/// The deepest nesting of function calls.
const CALL_DEPTH: usize = 200;

/// Runs a program: variables are its inputs before and its results after.
///
/// # Errors
/// The first error of the program, at its place in the script.
pub fn run_program(
    engine: &Engine,
    program: &Program,
    variables: &mut Variables,
    output: &mut dyn Write,
    statistics: &mut Statistics,
    observer: &mut Observer<'_>,
) -> Result<(), RuntimeError> {
    let before = Counts::of(engine);
    let mut executor = ProgramExecutor { program, compiler: DagCompiler::new(engine, observer), output, depth: 0 };
    let result = executor.run_blocks(&program.body, variables);
    statistics.merge(executor.compiler.into_statistics());
    statistics.add_counts(before, Counts::of(engine));
    result
}

struct ProgramExecutor<'a> {
    program: &'a Program,
    compiler: DagCompiler<'a>,
    output: &'a mut dyn Write,
    depth: usize,
}

impl ProgramExecutor<'_> {
    fn run_blocks(&mut self, blocks: &[StatementBlock], variables: &mut Variables) -> Result<(), RuntimeError> {
        blocks.iter().try_for_each(|block| self.run_block(block, variables))
    }

    fn run_block(&mut self, block: &StatementBlock, variables: &mut Variables) -> Result<(), RuntimeError> {
        match block {
            StatementBlock::Basic(dag) => {
                let results = self.run_dag(dag, variables)?;
                variables.extend(results);
                Ok(())
            }
            StatementBlock::Call(call) => self.run_call(call, variables),
            StatementBlock::If { predicate, then_body, else_body, span } => {
                let holds = self.run_condition(predicate, variables, *span)?;
                self.run_blocks(if holds { then_body } else { else_body }, variables)
            }
            StatementBlock::While { predicate, body, span } => {
                while self.run_condition(predicate, variables, *span)? {
                    self.run_blocks(body, variables)?;
                }
                Ok(())
            }
            StatementBlock::For { variable, from, to, by, body, span, .. } => {
                let from = self.run_predicate(from, variables)?;
                let to = self.run_predicate(to, variables)?;
                let by = by.as_ref().map(|by| self.run_predicate(by, variables)).transpose()?;
                self.run_for(variable, &LoopRange::new(&from, &to, by.as_ref(), *span)?, body, variables)
            }
        }
    }

    fn run_for(
        &mut self,
        variable: &str,
        range: &LoopRange,
        body: &[StatementBlock],
        variables: &mut Variables,
    ) -> Result<(), RuntimeError> {
        for step in 0..range.steps {
            variables.insert(variable.to_owned(), RuntimeValue::Scalar(range.value(step)));
            self.run_blocks(body, variables)?;
        }
        Ok(())
    }

    fn run_dag(&mut self, dag: &HopDag, variables: &Variables) -> Result<Variables, RuntimeError> {
        let compiled = self.compiler.compile(dag, variables)?;
        let engine = self.compiler.engine();
        dag_executor::execute(engine, &compiled.dag, variables, self.output, self.compiler.statistics_mut())
    }

    fn run_predicate(
        &mut self,
        predicate: &Predicate,
        variables: &mut Variables,
    ) -> Result<RuntimeValue, RuntimeError> {
        self.run_blocks(&predicate.prelude, variables)?;
        let missing = || RuntimeErrorKind::Internal("a predicate without a value".to_owned());
        let mut results = self.run_dag(&predicate.dag, variables)?;
        Ok(results.remove(Predicate::VALUE).ok_or_else(missing)?)
    }

    fn run_condition(
        &mut self,
        predicate: &Predicate,
        variables: &mut Variables,
        span: Option<Span>,
    ) -> Result<bool, RuntimeError> {
        let value = self.run_predicate(predicate, variables).map_err(|error| error.or_at(span))?;
        let number = value.as_f64().ok_or_else(|| {
            let operation = "a condition".to_owned();
            let actual = describe(&value);
            RuntimeErrorKind::Type { operation, expected: "a truth value", actual }.at(span)
        })?;
        Ok(number != 0.0)
    }

    fn run_call(&mut self, call: &Call, variables: &mut Variables) -> Result<(), RuntimeError> {
        if self.depth >= CALL_DEPTH {
            return Err(RuntimeErrorKind::CallDepth { limit: CALL_DEPTH }.at(call.span));
        }
        let missing = || RuntimeErrorKind::Internal(format!("the function `{}` is not defined", call.function));
        let function = self.program.functions.get(&call.function).ok_or_else(|| missing().at(call.span))?;
        let mut locals = self.run_dag(&call.arguments, variables)?;
        for parameter in &function.parameters {
            if let (None, Some(default)) = (locals.get(&parameter.name), &parameter.default) {
                locals.insert(parameter.name.clone(), RuntimeValue::Scalar(default.clone()));
            }
            if let Some(value) = locals.remove(&parameter.name) {
                locals.insert(parameter.name.clone(), declared(parameter, value, call.span)?);
            }
        }
        self.depth += 1;
        let outcome = self.run_blocks(&function.body, &mut locals);
        self.depth -= 1;
        outcome?;
        for (result, target) in function.results.iter().zip(&call.targets) {
            let value = locals.remove(&result.name);
            let value = value.ok_or_else(|| RuntimeErrorKind::Undefined(result.name.clone()).at(call.span))?;
            if let Some(target) = target {
                variables.insert(target.clone(), declared(result, value, call.span)?);
            }
        }
        Ok(())
    }
}

/// A value as the declared type of a parameter or result; scalars convert, matrices and scalars do not.
fn declared(parameter: &Parameter, value: RuntimeValue, span: Option<Span>) -> Result<RuntimeValue, RuntimeError> {
    let cast = match parameter.data_type {
        DataType::Scalar(ScalarType::F64) => Some(CastOp::AsDouble),
        DataType::Scalar(ScalarType::I64) => Some(CastOp::AsInteger),
        DataType::Scalar(ScalarType::Bool) => Some(CastOp::AsLogical),
        DataType::Scalar(ScalarType::Str) | DataType::Matrix | DataType::Unknown => None,
    };
    let converted = match (&value, cast) {
        (RuntimeValue::Scalar(scalar), Some(cast)) => scalars::cast(cast, scalar).map(RuntimeValue::Scalar),
        (RuntimeValue::Scalar(scalar), None) if parameter.data_type.is_scalar() => {
            Some(RuntimeValue::Scalar(Value::Str(scalar.to_string())))
        }
        (RuntimeValue::Matrix(_), _) if parameter.data_type.is_scalar() => None,
        (RuntimeValue::Scalar(_), _) if parameter.data_type.is_matrix() => None,
        _ => return Ok(value),
    };
    converted.ok_or_else(|| {
        let expected = match parameter.data_type {
            DataType::Matrix => "a matrix",
            _ => "a scalar of the declared type",
        };
        let operation = format!("the parameter or result `{}`", parameter.name);
        RuntimeErrorKind::Type { operation, expected, actual: describe(&value) }.at(span)
    })
}

/// A value as a user knows it: its type, and the size of a matrix.
pub(crate) fn describe(value: &RuntimeValue) -> String {
    match value {
        RuntimeValue::Matrix(block) => format!("a {} x {} matrix", block.rows(), block.cols()),
        RuntimeValue::Scalar(scalar) => format!("the {} value {scalar}", scalar.scalar_type().mnemonic()),
    }
}

/// The values of a `for` loop.
struct LoopRange {
    from: f64,
    by: f64,
    steps: u64,
    integer: bool,
}

impl LoopRange {
    fn new(
        from: &RuntimeValue,
        to: &RuntimeValue,
        by: Option<&RuntimeValue>,
        span: Option<Span>,
    ) -> Result<Self, RuntimeError> {
        let number = |value: &RuntimeValue| {
            value.as_f64().ok_or_else(|| {
                let operation = "the range of a for loop".to_owned();
                RuntimeErrorKind::Type { operation, expected: "numbers", actual: describe(value) }.at(span)
            })
        };
        let is_integer = |value: &RuntimeValue| matches!(value, RuntimeValue::Scalar(Value::I64(_)));
        let integer = is_integer(from) && by.is_none_or(is_integer);
        let (from, to) = (number(from)?, number(to)?);
        let by = by.map(number).transpose()?.unwrap_or(if from > to { -1.0 } else { 1.0 });
        let steps = fuseline_ir::hop::infer::seq_length(from, to, by);
        let steps = steps.ok_or_else(|| RuntimeErrorKind::Range { from, to, by }.at(span))?;
        Ok(LoopRange { from, by, steps, integer })
    }

    fn value(&self, step: u64) -> Value {
        let value = (step as f64).mul_add(self.by, self.from);
        if self.integer { Value::I64(value as i64) } else { Value::F64(value) }
    }
}
