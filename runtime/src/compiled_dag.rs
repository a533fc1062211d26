//! What compilation makes of a block's DAG: fused operators, prices, and the steps in which they are evaluated. All
//! that follows from the DAG alone is found once, since a small block may run a million times.

use cranelift_entity::SecondaryMap;
use fuseline_ir::hop::{Function, HopDag, HopId, HopOp, Inputs, OperatorId};
use fuseline_passes::cost::{Prediction, Predictions};

/// A compiled block.
#[derive(Debug)]
pub struct CompiledDag {
    /// The DAG with fused operators.
    pub dag: HopDag,
    /// What the cost model expects of its operators.
    pub predictions: Predictions,
    /// Its generated operators, one for each plan: found again with the block, none of them is looked up.
    pub(crate) operators: Vec<OperatorId>,
    /// What is known of its fusion plan.
    pub(crate) decided: Decided,
    /// Its evaluation.
    pub(crate) steps: Vec<Step>,
    /// Whether an output is the last to need its value, by position.
    pub(crate) is_last_use: Vec<bool>,
    /// What is expected of all of it.
    pub(crate) expected: Prediction,
}

/// What is known of a fusion plan.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Decided {
    /// Whether plans were searched for, which some modes do not.
    pub(crate) is_searched: bool,
    /// Plan partitions.
    pub(crate) partitions: u64,
    /// Partitions among them whose plan is proven to be the cheapest.
    pub(crate) optimal: u64,
    /// The share of the plan's cost by which another one may be cheaper; none where nothing is proven.
    pub(crate) gap: Option<f64>,
    /// Fused operators of the plan that could not be made, and stay unfused.
    pub(crate) rejected: u64,
}

/// The evaluation of an operator.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) hop: HopId,
    /// What it evaluates, in order.
    pub(crate) inputs: Inputs,
    /// What it is counted as; nothing for variables and literals.
    pub(crate) label: Option<String>,
    /// The values that nothing needs after it.
    pub(crate) released: Inputs,
    /// Whether it replaces a range of a matrix that nothing needs after it.
    pub(crate) updates: bool,
    /// Whether it reads a variable that an update takes and that the block assigns anew: the variable may give its
    /// matrix away, so that the update, where nothing else holds it, happens in place.
    pub(crate) is_given_away: bool,
}

impl CompiledDag {
    /// A DAG, the prices of its operators, the generated ones among them, and what is known of their plan.
    pub(crate) fn new(dag: HopDag, predictions: Predictions, operators: Vec<OperatorId>, decided: Decided) -> Self {
        let mut uses = uses(&dag);
        let given: Vec<HopId> = given_away(&dag, &uses);
        let mut steps = Vec::with_capacity(dag.hops.len());
        for hop in evaluation_order(&dag, &uses) {
            let op = &dag[hop].op;
            let inputs = dag.evaluated_inputs(&dag[hop]);
            let updates = *op == HopOp::LeftIndex && uses[inputs[0]] == 1;
            let mut released = Inputs::new();
            for &input in &inputs {
                uses[input] -= 1;
                if uses[input] == 0 {
                    released.push(input);
                }
            }
            let label = (!matches!(op, HopOp::Read(_) | HopOp::Literal(_))).then(|| op.label());
            steps.push(Step { hop, inputs, label, released, updates, is_given_away: given.contains(&hop) });
        }
        let last_use = |output: HopId| {
            uses[output] -= 1;
            uses[output] == 0
        };
        let is_last_use = dag.outputs.iter().map(|output| output.hop).map(last_use).collect();
        let expected = steps.iter().map(|step| expected(&dag, &predictions, step.hop)).sum();
        CompiledDag { dag, predictions, operators, decided, steps, is_last_use, expected }
    }

    /// A DAG without generated operators.
    pub(crate) fn unfused(dag: HopDag, predictions: Predictions) -> Self {
        CompiledDag::new(dag, predictions, Vec::new(), Decided::default())
    }

    /// How many plans its generated operators have.
    pub(crate) fn plans(&self) -> u64 {
        self.operators.len() as u64
    }
}

/// What is expected of an operator: no time of variables, casts and what is about scalars, any where nobody knows.
fn expected(dag: &HopDag, predictions: &Predictions, id: HopId) -> Prediction {
    let hop = &dag[id];
    let is_free = || {
        matches!(hop.op, HopOp::Read(_) | HopOp::Literal(_) | HopOp::Cast(_))
            || hop.is_scalar() && hop.inputs.iter().all(|&input| dag[input].is_scalar())
    };
    predictions[id].unwrap_or_else(|| if is_free() { Prediction::FREE } else { Prediction::UNKNOWN })
}

/// How many operators, outputs and effects use each operator, of those operators that outputs and effects need.
fn uses(dag: &HopDag) -> SecondaryMap<HopId, u32> {
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

/// The operators in the order of their evaluation: files are read before any is written, then come the effects in the
/// order of the program, then outputs, each after what it needs.
fn evaluation_order(dag: &HopDag, uses: &SecondaryMap<HopId, u32>) -> Vec<HopId> {
    let is_read = |id: &HopId| matches!(dag[*id].op, HopOp::Parameterized { function: Function::Read, .. });
    let reads = dag.hops.keys().filter(|id| uses[*id] > 0 && is_read(id));
    let outputs = dag.outputs.iter().map(|output| output.hop);
    let mut order = Vec::with_capacity(dag.hops.len());
    let mut is_ordered = SecondaryMap::<HopId, bool>::new();
    for root in reads.chain(dag.effects.iter().copied()).chain(outputs) {
        // Blocks may be deeper than any stack.
        let mut stack = vec![root];
        while let Some(&id) = stack.last() {
            let before = stack.len();
            if !is_ordered[id] {
                let missing = dag.evaluated_inputs(&dag[id]).into_iter().rev().filter(|&input| !is_ordered[input]);
                stack.extend(missing);
            }
            if stack.len() == before {
                stack.pop();
                if !std::mem::replace(&mut is_ordered[id], true) {
                    order.push(id);
                }
            }
        }
    }
    order
}

/// The reads of variables that an update of a range takes and that the DAG assigns anew.
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
