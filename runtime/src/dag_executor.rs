//! Executes the DAG of one block: effects in program order, then outputs, each after what it needs. A value is freed
//! after its last use.

use crate::compiled_dag::{CompiledDag, Step};
use crate::engine::Engine;
use crate::error::{RuntimeError, RuntimeErrorKind};
use crate::memory;
use crate::operators::Operator;
use crate::statistics::Statistics;
use crate::value::{RuntimeValue, Variables};
use cranelift_entity::EntityRef;
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_matrix::{MatrixBlock, Reservation};
use fuseline_passes::size::InputOrigin;
use smallvec::SmallVec;
use std::io::Write;
use std::time::Instant;

/// What becomes of the values that a DAG computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// They go elsewhere: to a condition or to a function.
    Elsewhere,
    /// The variables take them, so that a variable whose matrix the DAG updates may give it away.
    Variables {
        /// Whether this happens again and again: a matrix that is updated then stays dense, for the next update.
        repeats: bool,
    },
}

/// Runs a DAG on these variables; returns the values of its outputs, in their order. After an error, variables that
/// were to be assigned may have lost their values.
pub(crate) fn execute(
    engine: &Engine,
    compiled: &CompiledDag,
    variables: &mut Variables,
    destination: Destination,
    output: &mut (dyn Write + Send),
    statistics: &mut Statistics,
) -> Result<Vec<RuntimeValue>, RuntimeError> {
    let start = Instant::now();
    let mut values = Vec::new();
    values.resize_with(compiled.dag.hops.len(), || None);
    let mut executor =
        DagExecutor { engine, compiled, variables, destination, output, statistics, values, texts: Vec::new() };
    let result = executor.run();
    statistics.execute_seconds += start.elapsed().as_secs_f64();
    result
}

struct DagExecutor<'a> {
    engine: &'a Engine,
    compiled: &'a CompiledDag,
    variables: &'a mut Variables,
    destination: Destination,
    output: &'a mut (dyn Write + Send),
    statistics: &'a mut Statistics,
    /// By operator.
    values: Vec<Option<RuntimeValue>>,
    /// The memory of values that are long texts.
    texts: Vec<(HopId, Reservation)>,
}

/// The values of a step's inputs.
type InputValues<'v> = SmallVec<[&'v RuntimeValue; 6]>;

impl DagExecutor<'_> {
    fn run(&mut self) -> Result<Vec<RuntimeValue>, RuntimeError> {
        let compiled = self.compiled;
        for step in &compiled.steps {
            let value = match self.updated(step) {
                Some(updated) => updated?,
                None => self.run_operator(step)?,
            };
            self.engine.progress.add_operator();
            self.texts.extend(value.count_text().map(|memory| (step.hop, memory)));
            self.values[step.hop.index()] = Some(value);
            self.release(step);
        }
        compiled
            .dag
            .outputs
            .iter()
            .zip(&compiled.is_last_use)
            .map(|(output, &is_last)| {
                let value = &mut self.values[output.hop.index()];
                let value = if is_last { value.take() } else { value.as_ref().map(RuntimeValue::copied) };
                let missing = || RuntimeErrorKind::Internal(format!("the output {} has no value", output.name));
                Ok(value.ok_or_else(missing)?)
            })
            .collect()
    }

    fn value(&self, id: HopId) -> Option<&RuntimeValue> {
        self.values[id.index()].as_ref()
    }

    fn input_values(&self, inputs: &[HopId]) -> InputValues<'_> {
        inputs.iter().filter_map(|&input| self.value(input)).collect()
    }

    /// The result of an operator that replaces a range of a matrix which nothing needs after it: the matrix itself, updated in
    /// place where nothing else holds it. `None` for other operators.
    fn updated(&mut self, step: &Step) -> Option<Result<RuntimeValue, RuntimeError>> {
        if !step.updates {
            return None;
        }
        let place = step.inputs[0].index();
        let mut block = match self.values[place].take() {
            Some(RuntimeValue::Matrix(block)) => block,
            other => {
                self.values[place] = other;
                return None;
            }
        };
        if let Err(error) = self.update(step, &mut block) {
            // The message tells the inputs.
            self.values[place] = Some(RuntimeValue::Matrix(block));
            return Some(Err(self.at_operator(error, step)));
        }
        Some(Ok(block.into()))
    }

    fn update(&mut self, step: &Step, block: &mut MatrixBlock) -> Result<(), RuntimeError> {
        let compiled = self.compiled;
        let hop = &compiled.dag[step.hop];
        let start = Instant::now();
        let others = self.input_values(&step.inputs[1..]);
        self.engine.check_interruption()?;
        self.engine.threads.give_way();
        let stays_dense = self.destination == Destination::Variables { repeats: true };
        let operator = Operator { engine: self.engine, dag: &compiled.dag, hop, inputs: &others };
        memory::guarded(self.engine, hop, || {
            operator.update(block)?;
            if !stays_dense {
                *block = self.engine.in_best_format(block.clone());
            }
            Ok(())
        })?;
        drop(others);
        self.record(step, start);
        Ok(())
    }

    fn at_operator(&self, error: RuntimeError, step: &Step) -> RuntimeError {
        error.or_at(self.compiled.dag[step.hop].span).with_inputs(|| self.input_origins(step))
    }

    fn run_operator(&mut self, step: &Step) -> Result<RuntimeValue, RuntimeError> {
        let compiled = self.compiled;
        let hop = &compiled.dag[step.hop];
        if step.is_given_away
            && self.destination != Destination::Elsewhere
            && let HopOp::Read(name) = &hop.op
            && let Some(value) = self.variables.remove(name)
        {
            return Ok(value);
        }
        let start = Instant::now();
        let inputs: InputValues<'_> =
            step.inputs.iter().filter_map(|input| self.values[input.index()].as_ref()).collect();
        self.engine.check_interruption()?;
        self.engine.threads.give_way();
        let operator = Operator { engine: self.engine, dag: &compiled.dag, hop, inputs: &inputs };
        let value = memory::check(self.engine.options.memory_budget, hop, &inputs)
            .and_then(|()| {
                memory::guarded(self.engine, hop, || operator.run(self.variables, self.output, self.statistics))
            })
            .map_err(|error| self.at_operator(error, step))?;
        drop(inputs);
        self.record(step, start);
        Ok(value)
    }

    fn record(&mut self, step: &Step, start: Instant) {
        if let Some(label) = &step.label {
            let predicted = self.compiled.predictions[step.hop].map(|prediction| prediction.seconds);
            self.statistics.record(label, start.elapsed(), predicted);
        }
    }

    /// The matrices that an operator works on, with their actual sizes.
    fn input_origins(&self, step: &Step) -> Vec<InputOrigin> {
        let origins = step.inputs.iter().enumerate().filter_map(|(index, &input)| {
            let value = self.value(input).filter(|value| value.data_type().is_matrix())?;
            Some(InputOrigin { size: value.size(), ..InputOrigin::new(index + 1, &self.compiled.dag[input]) })
        });
        origins.collect()
    }

    /// Frees the values that nothing needs any more.
    fn release(&mut self, step: &Step) {
        for input in &step.released {
            self.values[input.index()] = None;
            if !self.texts.is_empty() {
                self.texts.retain(|(text, _)| text != input);
            }
        }
    }
}
