//! Walks the statement blocks of a program.

use crate::block_cache::CompiledBlocks;
use crate::compiled_dag::CompiledDag;
use crate::compiler::{DagCompiler, Observer};
use crate::dag_executor::{self, Destination};
use crate::engine::Engine;
use crate::error::{Origins, RuntimeError, RuntimeErrorKind};
use crate::evaluation::{Evaluations, Evaluator, evaluation_of};
use crate::memory;
use crate::place::Place;
use crate::scalar_block::ScalarBlock;
use crate::scalars;
use crate::statistics::{Counts, Statistics};
use crate::value::{RuntimeValue, Variables};
use fuseline_ir::hop::{CastOp, HopDag, HopOp, Span};
use fuseline_ir::program::{Call, Evaluation, Parameter, Predicate, Program, StatementBlock};
use fuseline_ir::{DataType, ScalarType, Value};
use fuseline_matrix::Reservation;
use fuseline_matrix::run_context::Abort;
use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::sync::Arc;

/// The deepest nesting of function calls.
const CALL_DEPTH: usize = 200;

/// What runs: a program, and what makes programs of the calls in it whose function a text names.
#[derive(Clone, Copy)]
pub struct Executable<'a> {
    /// The program.
    pub program: &'a Program,
    /// For its calls of what texts name.
    pub evaluator: &'a dyn Evaluator,
}

/// Runs a program: variables are its inputs before and its results after. `compiled` keeps its blocks for later runs of
/// the same program.
///
/// # Errors
/// The first error of the program, at its place in the script.
pub fn run_program(
    engine: &Engine,
    executable: Executable<'_>,
    compiled: &mut CompiledBlocks,
    variables: &mut Variables,
    output: &mut (dyn Write + Send),
    statistics: &mut Statistics,
    observer: Option<&mut Observer<'_>>,
) -> Result<(), RuntimeError> {
    engine.buffers().budget().restart_peaks();
    let before = Counts::of(engine);
    let Executable { program, evaluator } = executable;
    // What has run once is hardly compiled again.
    let is_outside = !compiled.blocks.is_empty() && matches!(program.body[..], [StatementBlock::Basic(_)]);
    let mut executor = ProgramExecutor {
        evaluations: Evaluations::new(evaluator, &mut compiled.evaluated),
        compiler: DagCompiler::new(
            engine,
            &mut compiled.blocks,
            observer.map(|observer| observer as &mut Observer<'_>),
        ),
        output,
        scalars: Vec::new(),
        depth: 0,
        is_outside,
    };
    let frame = &mut Frame::new(program, variables, Origins::default());
    let mut run = || executor.run_blocks(&program.body, frame);
    let result = if is_outside { engine.context().run(run) } else { engine.threads.run(&mut run) };
    let result = result.unwrap_or_else(|abort| Err(aborted(engine, abort)));
    statistics.merge(executor.compiler.into_statistics());
    statistics.add_counts(before, Counts::of(engine));
    statistics.add_damaged(engine.options.code_folder.as_deref());
    statistics.add_peaks(engine.buffers().budget());
    result
}

/// What ended a program outside of its operators.
fn aborted(engine: &Engine, abort: Abort) -> RuntimeError {
    memory::error_of(engine, "the program".to_owned(), abort)
}

/// The variables of the script or of one call of a function.
struct Frame<'v> {
    /// The program that the code is part of.
    program: &'v Program,
    variables: &'v mut Variables,
    origins: Origins,
    /// The memory of variables that are long texts.
    texts: HashMap<String, Reservation>,
    /// How many loops the code is in.
    loops: usize,
    /// Variables whose matrices loops have updated, which stay dense there.
    updated: BTreeSet<String>,
}

impl<'v> Frame<'v> {
    fn new(program: &'v Program, variables: &'v mut Variables, origins: Origins) -> Self {
        let texts = variables.iter().filter_map(|(name, value)| Some((name.clone(), value.count_text()?))).collect();
        Frame { program, variables, origins, texts, loops: 0, updated: BTreeSet::new() }
    }

    fn set(&mut self, name: &str, value: RuntimeValue) {
        self.hold_text(name, &value);
        match self.variables.get_mut(name) {
            Some(variable) => *variable = value,
            None => _ = self.variables.insert(name.to_owned(), value),
        }
    }

    fn hold_text(&mut self, name: &str, value: &RuntimeValue) {
        match value.count_text() {
            Some(held) => _ = self.texts.insert(name.to_owned(), held),
            None if self.texts.is_empty() => {}
            None => _ = self.texts.remove(name),
        }
    }

    /// Notes the variables that a DAG has updated in a loop.
    fn note_updates(&mut self, dag: &HopDag) {
        for output in dag.outputs.iter().filter(|output| dag[output.hop].op == HopOp::LeftIndex) {
            if !self.updated.contains(&output.name) {
                self.updated.insert(output.name.clone());
            }
        }
    }

    /// Brings the matrices that a loop has updated into the format that suits them, once it ends.
    fn leave_loop(&mut self, engine: &Engine) {
        self.loops -= 1;
        if self.loops > 0 {
            return;
        }
        for name in std::mem::take(&mut self.updated) {
            if let Some(RuntimeValue::Matrix(block)) = self.variables.get_mut(&name) {
                *block = engine.in_best_format(block.clone());
            }
        }
    }

    /// Where the value of each output of a DAG comes from: where it was computed, or where the variable that it copies
    /// got it.
    fn origins_of<'d>(&self, dag: &'d HopDag) -> impl Iterator<Item = (&'d str, Option<Span>)> {
        dag.outputs.iter().map(|output| {
            let hop = &dag[output.hop];
            let origin = match &hop.op {
                HopOp::Read(name) => self.origins.get(name).copied().or(hop.span),
                _ => hop.span,
            };
            (output.name.as_str(), origin)
        })
    }

    fn set_origin(&mut self, name: &str, origin: Option<Span>) {
        let Some(origin) = origin else {
            self.origins.remove(name);
            return;
        };
        match self.origins.get_mut(name) {
            Some(known) => *known = origin,
            None => _ = self.origins.insert(name.to_owned(), origin),
        }
    }

    /// Assigns what a block of scalars has computed.
    fn assign_scalars(&mut self, block: &ScalarBlock, values: &[Value]) {
        for output in block.outputs() {
            let copied = output.copied.as_ref().and_then(|name| self.origins.get(name)).copied();
            self.set_origin(&output.name, copied.or(output.span));
            self.set(&output.name, RuntimeValue::Scalar(values[output.step].clone()));
        }
    }

    fn assign(&mut self, dag: &HopDag, results: Results) {
        let origins: Vec<(&str, Option<Span>)> = self.origins_of(dag).collect();
        for (name, origin) in origins {
            self.set_origin(name, origin);
        }
        let Results { compiled, values } = results;
        for (output, value) in compiled.dag.outputs.iter().zip(values) {
            self.set(&output.name, value);
        }
    }
}

/// The values of the outputs of a DAG that ran.
struct Results {
    compiled: Arc<CompiledDag>,
    /// In the order of its outputs.
    values: Vec<RuntimeValue>,
}

impl Results {
    /// All values by name.
    fn into_variables(self) -> Variables {
        let Results { compiled, values } = self;
        compiled.dag.outputs.iter().map(|output| output.name.clone()).zip(values).collect()
    }

    /// The value of the output of this name.
    fn value_of(self, name: &str) -> Option<RuntimeValue> {
        let place = self.compiled.dag.outputs.iter().position(|output| output.name == name)?;
        self.values.into_iter().nth(place)
    }
}

impl std::fmt::Debug for Executable<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Executable").field("program", self.program).finish_non_exhaustive()
    }
}

struct ProgramExecutor<'a> {
    evaluations: Evaluations<'a>,
    compiler: DagCompiler<'a>,
    output: &'a mut (dyn Write + Send),
    /// The values of the steps of a block of scalars.
    scalars: Vec<Value>,
    depth: usize,
    /// Whether the program is one block and not on a thread of the pool: it runs where that is fastest.
    is_outside: bool,
}

impl ProgramExecutor<'_> {
    fn run_blocks(&mut self, blocks: &[StatementBlock], frame: &mut Frame<'_>) -> Result<(), RuntimeError> {
        blocks.iter().try_for_each(|block| self.run_block(block, frame))
    }

    fn run_block(&mut self, block: &StatementBlock, frame: &mut Frame<'_>) -> Result<(), RuntimeError> {
        self.compiler.engine().check_interruption()?;
        match block {
            StatementBlock::Basic(dag) => {
                if let Some(block) = self.compute_scalars(dag, frame.variables) {
                    frame.assign_scalars(&block, &self.scalars);
                    return Ok(());
                }
                let repeats = frame.loops > 0;
                let results = self.run_dag(dag, frame, Destination::Variables { repeats })?;
                frame.assign(dag, results);
                if repeats {
                    frame.note_updates(dag);
                }
                Ok(())
            }
            StatementBlock::Call(call) => self.run_call(call, frame),
            StatementBlock::If { predicate, then_body, else_body, span } => {
                let holds = self.run_condition(predicate, frame, *span)?;
                self.run_blocks(if holds { then_body } else { else_body }, frame)
            }
            StatementBlock::While { predicate, body, span } => {
                frame.loops += 1;
                while self.run_condition(predicate, frame, *span)? {
                    self.compiler.engine().progress.add_iteration();
                    self.run_blocks(body, frame)?;
                }
                frame.leave_loop(self.compiler.engine());
                Ok(())
            }
            StatementBlock::For { variable, from, to, by, body, span, .. } => {
                let from = self.run_predicate(from, frame)?;
                let to = self.run_predicate(to, frame)?;
                let by = by.as_ref().map(|by| self.run_predicate(by, frame)).transpose()?;
                self.run_for(variable, &LoopRange::new(&from, &to, by.as_ref(), *span)?, body, frame)
            }
        }
    }

    fn run_for(
        &mut self,
        variable: &str,
        range: &LoopRange,
        body: &[StatementBlock],
        frame: &mut Frame<'_>,
    ) -> Result<(), RuntimeError> {
        frame.loops += 1;
        for step in 0..range.steps {
            // Even where the body is empty.
            self.compiler.engine().check_interruption()?;
            self.compiler.engine().progress.add_iteration();
            frame.set(variable, RuntimeValue::Scalar(range.value(step)));
            self.run_blocks(body, frame)?;
        }
        frame.leave_loop(self.compiler.engine());
        Ok(())
    }

    /// Computes the values of a block that is known to be about scalars alone; `None` for other blocks, and where the
    /// general way is to find out why it has no values.
    fn compute_scalars(&mut self, dag: &HopDag, variables: &Variables) -> Option<Arc<ScalarBlock>> {
        let block = self.compiler.scalars(dag).filter(|block| block.compute(variables, &mut self.scalars))?;
        self.compiler.statistics_mut().add_scalar_block(block.operations());
        Some(block)
    }

    fn run_dag(
        &mut self,
        dag: &HopDag,
        frame: &mut Frame<'_>,
        destination: Destination,
    ) -> Result<Results, RuntimeError> {
        let compiled = self.compiler.compile(dag, frame.variables, &frame.origins)?;
        let engine = self.compiler.engine();
        let statistics = self.compiler.statistics_mut();
        let place = if self.is_outside { Place::of(&compiled, frame.variables, &engine.threads) } else { Place::Here };
        let execute =
            || dag_executor::execute(engine, &compiled, frame.variables, destination, self.output, statistics);
        let values = place.run(&engine.threads, execute);
        let values = values.unwrap_or_else(|abort| Err(aborted(engine, abort)));
        let values = values.map_err(|error| error.with_origins(&frame.origins))?;
        Ok(Results { compiled, values })
    }

    fn run_predicate(&mut self, predicate: &Predicate, frame: &mut Frame<'_>) -> Result<RuntimeValue, RuntimeError> {
        self.run_blocks(&predicate.prelude, frame)?;
        if let Some(block) = self.compute_scalars(&predicate.dag, frame.variables)
            && let [output] = block.outputs()
        {
            return Ok(RuntimeValue::Scalar(self.scalars[output.step].clone()));
        }
        let missing = || RuntimeErrorKind::Internal("a predicate without a value".to_owned());
        let results = self.run_dag(&predicate.dag, frame, Destination::Elsewhere)?;
        Ok(results.value_of(Predicate::VALUE).ok_or_else(missing)?)
    }

    fn run_condition(
        &mut self,
        predicate: &Predicate,
        frame: &mut Frame<'_>,
        span: Option<Span>,
    ) -> Result<bool, RuntimeError> {
        let value = self.run_predicate(predicate, frame).map_err(|error| error.or_at(span))?;
        let number = value.as_f64().ok_or_else(|| {
            let operation = "a condition".to_owned();
            let actual = value.describe();
            RuntimeErrorKind::Type { operation, expected: "a truth value", actual }.at(span)
        })?;
        Ok(number != 0.0)
    }

    fn run_call(&mut self, call: &Call, frame: &mut Frame<'_>) -> Result<(), RuntimeError> {
        if self.depth >= CALL_DEPTH {
            return Err(RuntimeErrorKind::CallDepth { limit: CALL_DEPTH }.at(call.span));
        }
        if call.is_evaluation() {
            return self.run_evaluation(call, frame);
        }
        let missing = || RuntimeErrorKind::Internal(format!("the function `{}` is not defined", call.function));
        let function = frame.program.functions.get(&call.function).ok_or_else(|| missing().at(call.span))?;
        let mut locals = self.run_dag(&call.arguments, frame, Destination::Elsewhere)?.into_variables();
        let origins = frame.origins_of(&call.arguments);
        let origins = origins.filter_map(|(name, origin)| Some((name.to_owned(), origin?))).collect();
        for parameter in &function.parameters {
            if let Some(value) = locals.remove(&parameter.name) {
                locals.insert(parameter.name.clone(), declared(parameter, value, call.span)?);
            }
        }
        self.depth += 1;
        let inner = &mut Frame::new(frame.program, &mut locals, origins);
        let outcome = self.run_blocks(&function.body, inner);
        self.depth -= 1;
        outcome.map_err(|error| error.called(&call.function, call.span, frame.program))?;
        for (result, target) in function.results.iter().zip(&call.targets) {
            let value = locals.remove(&result.name);
            let value = value.ok_or_else(|| RuntimeErrorKind::Undefined(result.name.clone()).at(call.span))?;
            if let Some(target) = target {
                frame.set(target, declared(result, value, call.span)?);
                frame.origins.extend(call.span.map(|span| (target.clone(), span)));
            }
        }
        Ok(())
    }

    /// A call of what a text names, by a program that is made for it.
    fn run_evaluation(&mut self, call: &Call, frame: &mut Frame<'_>) -> Result<(), RuntimeError> {
        let missing = || RuntimeErrorKind::Internal("a call of what a text names has no place".to_owned());
        let place = call.span.map(|span| frame.program.written_at(span)).ok_or_else(missing)?;
        let values = self.run_dag(&call.arguments, frame, Destination::Elsewhere)?.into_variables();
        let (evaluation, mut locals) = evaluation_of(call, place, values).map_err(|error| error.or_at(call.span))?;
        let function = evaluation.function.clone();
        let program = self.evaluations.program(evaluation, &locals, &frame.program.sources);
        let program = program.map_err(|error| RuntimeError { span: call.span, ..error })?;
        self.depth += 1;
        let inner = &mut Frame::new(&program, &mut locals, Origins::default());
        let outcome = self.run_blocks(&program.body, inner);
        self.depth -= 1;
        outcome.map_err(|error| error.evaluated(&program))?;
        if let Some(target) = call.targets.iter().flatten().next() {
            let nothing = || RuntimeErrorKind::Evaluation(format!("`{function}` gives no result")).at(call.span);
            let value = locals.remove(Evaluation::VALUE).ok_or_else(nothing)?;
            frame.set(target, value);
            frame.origins.extend(call.span.map(|span| (target.clone(), span)));
        }
        Ok(())
    }
}

/// A value as the declared type of a parameter or result: texts are read as numbers and numbers written as texts where
/// these are declared, and numbers stay what they are.
fn declared(parameter: &Parameter, value: RuntimeValue, span: Option<Span>) -> Result<RuntimeValue, RuntimeError> {
    let actual = value.data_type();
    let is_number = parameter.data_type.is_number() && actual.is_number();
    if is_number || [actual, DataType::Unknown].contains(&parameter.data_type) {
        return Ok(value);
    }
    let cast = match parameter.data_type {
        DataType::Scalar(ScalarType::F64) => Some(CastOp::AsDouble),
        DataType::Scalar(ScalarType::I64) => Some(CastOp::AsInteger),
        DataType::Scalar(ScalarType::Bool) => Some(CastOp::AsLogical),
        DataType::Scalar(ScalarType::Str)
        | DataType::Matrix(_)
        | DataType::List
        | DataType::Frame
        | DataType::Unknown => None,
    };
    let converted = match (&value, cast) {
        (RuntimeValue::Scalar(scalar), Some(cast)) => scalars::cast(cast, scalar).map(RuntimeValue::Scalar),
        (RuntimeValue::Scalar(scalar), None) if parameter.data_type.is_scalar() => {
            Some(RuntimeValue::Scalar(Value::Str(scalar.to_string())))
        }
        _ => None,
    };
    converted.ok_or_else(|| {
        let expected = match parameter.data_type {
            DataType::Matrix(_) => "a matrix",
            DataType::List => "a list",
            DataType::Frame => "a frame",
            _ => "a scalar of the declared type",
        };
        let operation = format!("the parameter or result `{}`", parameter.name);
        RuntimeErrorKind::Type { operation, expected, actual: value.describe() }.at(span)
    })
}

/// The values of a `for` loop.
struct LoopRange {
    from: f64,
    by: f64,
    steps: u64,
    is_integer: bool,
}

/// A number of the range of a `for` loop.
fn bound(value: &RuntimeValue, span: Option<Span>) -> Result<f64, RuntimeError> {
    value.as_f64().ok_or_else(|| {
        let operation = "the range of a for loop".to_owned();
        RuntimeErrorKind::Type { operation, expected: "numbers", actual: value.describe() }.at(span)
    })
}

impl LoopRange {
    fn new(
        from: &RuntimeValue,
        to: &RuntimeValue,
        by: Option<&RuntimeValue>,
        span: Option<Span>,
    ) -> Result<Self, RuntimeError> {
        let mut steps_by = [Some(from), by].into_iter().flatten();
        let is_integer = steps_by.all(|value| matches!(value, RuntimeValue::Scalar(Value::I64(_))));
        let (from, to) = (bound(from, span)?, bound(to, span)?);
        let by = by.map(|by| bound(by, span)).transpose()?.unwrap_or(if from > to { -1.0 } else { 1.0 });
        let steps = fuseline_ir::hop::infer::seq_length(from, to, by);
        let ends = [from, to, by].iter().all(|number| number.is_finite()) && by != 0.0;
        let largest = from.abs().max(to.abs());
        // Half of the distance of the doubles beyond the largest power of two.
        if ends && by.abs() < largest * (f64::EPSILON / 2.0) {
            return Err(RuntimeErrorKind::RangeTooFine { from, to, by, largest }.at(span));
        }
        let steps = steps.ok_or_else(|| RuntimeErrorKind::Range { from, to, by }.at(span))?;
        Ok(LoopRange { from, by, steps, is_integer })
    }

    fn value(&self, step: u64) -> Value {
        let value = (step as f64).mul_add(self.by, self.from);
        if self.is_integer { Value::I64(value as i64) } else { Value::F64(value) }
    }
}
