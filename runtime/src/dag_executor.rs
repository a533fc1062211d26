//! Executes the DAG of one block on demand: effects in program order, then outputs. An operator runs when its first
//! consumer needs it, and its value is freed after its last.

use crate::compiler::CompiledDag;
use crate::engine::Engine;
use crate::error::{RuntimeError, RuntimeErrorKind};
use crate::memory;
use crate::operators;
use crate::statistics::Statistics;
use crate::value::{RuntimeValue, Variables};
use cranelift_entity::SecondaryMap;
use fuseline_ir::hop::{Function, Hop, HopDag, HopId, HopOp, Inputs};
use fuseline_passes::cost::Predictions;
use fuseline_passes::size::InputOrigin;
use std::io::Write;
use std::time::Instant;

/// Runs a DAG on these variables; returns the variables that it assigns.
pub(crate) fn execute(
    engine: &Engine,
    compiled: &CompiledDag,
    variables: &Variables,
    output: &mut (dyn Write + Send),
    statistics: &mut Statistics,
) -> Result<Variables, RuntimeError> {
    let start = Instant::now();
    let CompiledDag { dag, predictions, .. } = compiled;
    let mut executor = DagExecutor {
        engine,
        dag,
        predictions,
        variables,
        output,
        statistics,
        values: SecondaryMap::new(),
        uses: remaining_uses(dag),
    };
    let result = executor.run();
    statistics.execute_seconds += start.elapsed().as_secs_f64();
    result
}

struct DagExecutor<'a> {
    engine: &'a Engine,
    dag: &'a HopDag,
    predictions: &'a Predictions,
    variables: &'a Variables,
    output: &'a mut (dyn Write + Send),
    statistics: &'a mut Statistics,
    values: SecondaryMap<HopId, Option<RuntimeValue>>,
    /// How many consumers, outputs and effects still need each operator.
    uses: SecondaryMap<HopId, u32>,
}

/// The inputs that an operator evaluates: a product reads the input of a transpose itself.
fn evaluated_inputs(dag: &HopDag, hop: &Hop) -> Inputs {
    if hop.op == HopOp::MatMul { operators::inputs_of_product(dag, hop) } else { hop.inputs.clone() }
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
            for input in evaluated_inputs(dag, &dag[id]) {
                uses[input] += 1;
            }
        }
    }
    uses
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
            let value = self.values[output.hop].clone();
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
                evaluated_inputs(self.dag, hop).into_iter().filter(|&input| self.values[input].is_none()).collect();
            if missing.is_empty() {
                stack.pop();
                let value = self.run_operator(id)?;
                self.values[id] = Some(value);
                self.release_inputs(id);
            } else {
                stack.extend(missing.into_iter().rev());
            }
        }
        Ok(())
    }

    fn run_operator(&mut self, id: HopId) -> Result<RuntimeValue, RuntimeError> {
        let hop = &self.dag[id];
        let start = Instant::now();
        let inputs: Vec<&RuntimeValue> =
            evaluated_inputs(self.dag, hop).into_iter().filter_map(|input| self.values[input].as_ref()).collect();
        self.engine.check_interruption()?;
        self.engine.threads.give_way();
        let value = memory::check(self.engine.options.memory_budget, hop, &inputs)
            .and_then(|()| {
                memory::guarded(hop, || {
                    operators::run(self.engine, self.dag, hop, &inputs, self.variables, self.output, self.statistics)
                })
            })
            .map_err(|error| error.or_at(hop.span).with_inputs(|| self.input_origins(hop)))?;
        if !matches!(hop.op, HopOp::Read(_) | HopOp::Literal(_)) {
            self.statistics.record(&hop.op.label(), start.elapsed(), self.predictions[id]);
        }
        Ok(value)
    }

    /// The matrices that an operator works on, with their actual sizes.
    fn input_origins(&self, hop: &Hop) -> Vec<InputOrigin> {
        let inputs = evaluated_inputs(self.dag, hop).into_iter().enumerate();
        let origin = |(index, input): (usize, HopId)| {
            let value = self.values[input].as_ref().filter(|value| value.data_type().is_matrix())?;
            Some(InputOrigin { size: value.size(), ..InputOrigin::new(index + 1, &self.dag[input]) })
        };
        inputs.filter_map(origin).collect()
    }

    /// Frees the inputs that no operator needs any more.
    fn release_inputs(&mut self, id: HopId) {
        let dag = self.dag;
        for input in evaluated_inputs(dag, &dag[id]) {
            self.uses[input] -= 1;
            if self.uses[input] == 0 {
                self.values[input] = None;
            }
        }
    }
}
