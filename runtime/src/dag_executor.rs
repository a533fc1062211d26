//! Executes the DAG of one block on demand: effects in program order, then outputs. An operator runs when its first
//! consumer needs it, and its value is freed after its last.

use crate::compiled_dag::CompiledDag;
use crate::engine::Engine;
use crate::error::{RuntimeError, RuntimeErrorKind};
use crate::memory;
use crate::operators::Operator;
use crate::statistics::Statistics;
use crate::value::{RuntimeValue, Variables};
use cranelift_entity::SecondaryMap;
use fuseline_ir::hop::{Function, Hop, HopDag, HopId, HopOp};
use fuseline_matrix::{MatrixBlock, Reservation};
use fuseline_passes::cost::Predictions;
use fuseline_passes::size::InputOrigin;
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

/// Runs a DAG on these variables; returns the variables that it assigns. After an error, variables that were to be
/// assigned may have lost their values.
pub(crate) fn execute(
    engine: &Engine,
    compiled: &CompiledDag,
    variables: &mut Variables,
    destination: Destination,
    output: &mut (dyn Write + Send),
    statistics: &mut Statistics,
) -> Result<Variables, RuntimeError> {
    let start = Instant::now();
    let CompiledDag { dag, predictions, .. } = compiled;
    let uses = remaining_uses(dag);
    let given = if destination == Destination::Elsewhere { Vec::new() } else { given_away(dag, &uses) };
    let mut executor = DagExecutor {
        engine,
        dag,
        predictions,
        variables,
        destination,
        given,
        output,
        statistics,
        values: SecondaryMap::new(),
        texts: SecondaryMap::new(),
        uses,
    };
    let result = executor.run();
    statistics.execute_seconds += start.elapsed().as_secs_f64();
    result
}

struct DagExecutor<'a> {
    engine: &'a Engine,
    dag: &'a HopDag,
    predictions: &'a Predictions,
    variables: &'a mut Variables,
    destination: Destination,
    /// The variables' values that these operators take, rather than copy.
    given: Vec<HopId>,
    output: &'a mut (dyn Write + Send),
    statistics: &'a mut Statistics,
    values: SecondaryMap<HopId, Option<RuntimeValue>>,
    /// The memory of values that are long texts.
    texts: SecondaryMap<HopId, Option<Reservation>>,
    /// How many consumers, outputs and effects still need each operator.
    uses: SecondaryMap<HopId, u32>,
}

/// Counts the uses by operators that outputs and effects need.
fn remaining_uses(dag: &HopDag) -> SecondaryMap<HopId, u32> {
    let mut uses = SecondaryMap::<HopId, u32>::new();
    for root in dag.outputs.iter().map(|output| output.hop).chain(dag.effects.iter().copied()) {
        uses[root] += 1;
    }
    // Ids are in topological order: consumers are counted before the operators they use.
    for id in dag.hops.keys().rev() {
        if uses[id] > 0 {
            for input in dag.evaluated_inputs(&dag[id]) {
                uses[input] += 1;
            }
        }
    }
    uses
}

/// The reads of variables that an update of a range takes and that the DAG assigns anew: a variable gives its matrix away,
/// so that the update, where it is the last to need it and nothing else holds it, happens in place.
fn given_away(dag: &HopDag, uses: &SecondaryMap<HopId, u32>) -> Vec<HopId> {
    let updates = dag.hops.iter().filter(|(id, hop)| hop.op == HopOp::LeftIndex && uses[*id] > 0);
    updates.map(|(_, hop)| hop.inputs[0]).filter(|&read| is_given_away(dag, uses, read)).collect()
}

/// Whether a value is a variable that the DAG assigns anew and reads once.
fn is_given_away(dag: &HopDag, uses: &SecondaryMap<HopId, u32>, read: HopId) -> bool {
    let HopOp::Read(name) = &dag[read].op else { return false };
    let is_assigned = dag.outputs.iter().any(|output| output.name == *name && output.hop != read);
    is_assigned && dag.reads().filter(|(id, other)| *other == name.as_str() && uses[*id] > 0).count() == 1
}

impl DagExecutor<'_> {
    fn run(&mut self) -> Result<Variables, RuntimeError> {
        // Files that the block reads are read before it writes any.
        for id in self.dag.hops.keys() {
            let is_read = matches!(self.dag[id].op, HopOp::Parameterized { function: Function::Read, .. });
            if is_read && self.uses[id] > 0 {
                self.evaluate(id)?;
            }
        }
        for &effect in &self.dag.effects {
            self.evaluate(effect)?;
        }
        for output in &self.dag.outputs {
            self.evaluate(output.hop)?;
        }
        let mut results = Variables::new();
        for output in &self.dag.outputs {
            self.uses[output.hop] -= 1;
            let is_last = self.uses[output.hop] == 0;
            let value = &mut self.values[output.hop];
            let value = if is_last { value.take() } else { value.as_ref().map(RuntimeValue::copied) };
            let missing = || RuntimeErrorKind::Internal(format!("the output {} has no value", output.name));
            results.insert(output.name.clone(), value.ok_or_else(missing)?);
        }
        Ok(results)
    }

    /// Evaluates an operator and what it needs, without recursion.
    fn evaluate(&mut self, root: HopId) -> Result<(), RuntimeError> {
        let mut stack = vec![root];
        while let Some(&id) = stack.last() {
            if self.values[id].is_some() {
                stack.pop();
                continue;
            }
            let hop = &self.dag[id];
            let missing: Vec<HopId> =
                self.dag.evaluated_inputs(hop).into_iter().filter(|&input| self.values[input].is_none()).collect();
            if missing.is_empty() {
                stack.pop();
                let value = match self.updated(id) {
                    Some(updated) => updated?,
                    None => self.run_operator(id)?,
                };
                self.texts[id] = value.count_text();
                self.values[id] = Some(value);
                self.release_inputs(id);
            } else {
                stack.extend(missing.into_iter().rev());
            }
        }
        Ok(())
    }

    /// The result of an operator that replaces a range of a matrix which nothing needs after it: the matrix itself, updated in
    /// place where nothing else holds it. `None` for other operators.
    fn updated(&mut self, id: HopId) -> Option<Result<RuntimeValue, RuntimeError>> {
        let hop = &self.dag[id];
        let matrix = *hop.inputs.first()?;
        let is_last = hop.op == HopOp::LeftIndex && self.uses[matrix] == 1;
        let Some(RuntimeValue::Matrix(_)) = self.values[matrix].as_ref().filter(|_| is_last) else { return None };
        let Some(RuntimeValue::Matrix(mut block)) = self.values[matrix].take() else { return None };
        if let Err(error) = self.update(id, &mut block) {
            // The message tells the inputs.
            self.values[matrix] = Some(RuntimeValue::Matrix(block));
            return Some(Err(self.at_operator(error, hop)));
        }
        Some(Ok(block.into()))
    }

    fn update(&mut self, id: HopId, block: &mut MatrixBlock) -> Result<(), RuntimeError> {
        let hop = &self.dag[id];
        let start = Instant::now();
        let others: Vec<&RuntimeValue> =
            hop.inputs[1..].iter().filter_map(|&input| self.values[input].as_ref()).collect();
        self.engine.check_interruption()?;
        self.engine.threads.give_way();
        let stays_dense = self.destination == Destination::Variables { repeats: true };
        let operator = Operator { engine: self.engine, dag: self.dag, hop, inputs: &others };
        memory::guarded(self.engine, hop, || {
            operator.update(block)?;
            if !stays_dense {
                *block = block.clone().in_best_format();
            }
            Ok(())
        })?;
        self.statistics.record(&hop.op.label(), start.elapsed(), self.predictions[id]);
        Ok(())
    }

    fn at_operator(&self, error: RuntimeError, hop: &Hop) -> RuntimeError {
        error.or_at(hop.span).with_inputs(|| self.input_origins(hop))
    }

    fn run_operator(&mut self, id: HopId) -> Result<RuntimeValue, RuntimeError> {
        let hop = &self.dag[id];
        if let HopOp::Read(name) = &hop.op
            && self.given.contains(&id)
            && let Some(value) = self.variables.remove(name)
        {
            return Ok(value);
        }
        let start = Instant::now();
        let inputs: Vec<&RuntimeValue> =
            self.dag.evaluated_inputs(hop).into_iter().filter_map(|input| self.values[input].as_ref()).collect();
        self.engine.check_interruption()?;
        self.engine.threads.give_way();
        let operator = Operator { engine: self.engine, dag: self.dag, hop, inputs: &inputs };
        let value = memory::check(self.engine.options.memory_budget, hop, &inputs)
            .and_then(|()| {
                memory::guarded(self.engine, hop, || operator.run(self.variables, self.output, self.statistics))
            })
            .map_err(|error| self.at_operator(error, hop))?;
        if !matches!(hop.op, HopOp::Read(_) | HopOp::Literal(_)) {
            self.statistics.record(&hop.op.label(), start.elapsed(), self.predictions[id]);
        }
        Ok(value)
    }

    /// The matrices that an operator works on, with their actual sizes.
    fn input_origins(&self, hop: &Hop) -> Vec<InputOrigin> {
        let inputs = self.dag.evaluated_inputs(hop).into_iter().enumerate();
        let origins = inputs.filter_map(|(index, input)| {
            let value = self.values[input].as_ref().filter(|value| value.data_type().is_matrix())?;
            Some(InputOrigin { size: value.size(), ..InputOrigin::new(index + 1, &self.dag[input]) })
        });
        origins.collect()
    }

    /// Frees the inputs that no operator needs any more.
    fn release_inputs(&mut self, id: HopId) {
        let dag = self.dag;
        for input in dag.evaluated_inputs(&dag[id]) {
            self.uses[input] -= 1;
            if self.uses[input] == 0 {
                self.values[input] = None;
                self.texts[input] = None;
            }
        }
    }
}
