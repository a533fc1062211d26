//! Linear passes over DAGs: liveness, common subexpressions with constant folding, and removal of dead operators.
//! They are all that DAGs too large for the e-graph get.

use super::operator::Operator;
use crate::fold::fold;
use cranelift_entity::SecondaryMap;
use foldhash::HashMap;
use fuseline_ir::hop::{Hop, HopDag, HopId, HopOp, HopOutput, Inputs, ReorgOp};
use fuseline_ir::size::SizeInfo;
use fuseline_ir::types::{DataType, Value};

/// For every operator, whether outputs or effects need it.
pub(super) fn live(dag: &HopDag) -> SecondaryMap<HopId, bool> {
    let mut live = SecondaryMap::with_capacity(dag.hops.len());
    for root in dag.outputs.iter().map(|output| output.hop).chain(dag.effects.iter().copied()) {
        live[root] = true;
    }
    for (id, hop) in dag.hops.iter().rev() {
        if live[id] {
            for &input in &hop.inputs {
                live[input] = true;
            }
        }
    }
    live
}

/// A DAG made from another one, and where the operators of that one went; those that it does not need went nowhere.
#[derive(Debug)]
pub(super) struct Rebuilt {
    pub(super) dag: HopDag,
    pub(super) new_ids: SecondaryMap<HopId, Option<HopId>>,
}

impl Rebuilt {
    /// The inputs of an operator of the original, in the new DAG.
    pub(super) fn inputs(new_ids: &SecondaryMap<HopId, Option<HopId>>, hop: &Hop) -> Inputs {
        hop.inputs.iter().map(|&input| new_ids[input].expect("inputs are live and come first")).collect()
    }

    pub(super) fn of(original: &HopDag, rebuilt: HopDag, new_ids: SecondaryMap<HopId, Option<HopId>>) -> Self {
        let dag = finish(original, rebuilt, |id| new_ids[id].expect("outputs and effects are live"));
        Rebuilt { dag, new_ids }
    }

    /// One more step.
    pub(super) fn then(mut self, step: impl Fn(&HopDag) -> Rebuilt) -> Self {
        let next = step(&self.dag);
        for id in self.new_ids.values_mut() {
            *id = id.and_then(|id| next.new_ids[id]);
        }
        Rebuilt { dag: next.dag, new_ids: self.new_ids }
    }
}

/// The DAG without dead operators, with equal pure operators merged (the first stays) and operations on literals
/// evaluated.
pub(super) fn canonicalize(dag: &HopDag) -> Rebuilt {
    merge_common_subexpressions(dag).then(sweep)
}

fn merge_common_subexpressions(dag: &HopDag) -> Rebuilt {
    let live = live(dag);
    let mut result = HopDag::new();
    let mut seen: HashMap<(Operator, Inputs), HopId> = HashMap::default();
    let mut new_ids = SecondaryMap::with_capacity(dag.hops.len());
    for (id, hop) in dag.hops.iter().filter(|(id, _)| live[*id]) {
        let mut hop = Hop { inputs: Rebuilt::inputs(&new_ids, hop), ..hop.clone() };
        if !hop.op.is_pure() {
            new_ids[id] = Some(result.push(hop));
            continue;
        }
        if let Some(value) = folded(&result, &hop) {
            hop = literal(value, &hop);
        }
        let operator = Operator::pure(&hop.op);
        let mut key = hop.inputs.clone();
        if operator.is_commutative() {
            key.sort_unstable();
        }
        new_ids[id] = Some(*seen.entry((operator, key)).or_insert_with(|| result.push(hop)));
    }
    Rebuilt::of(dag, result, new_ids)
}

/// The DAG without dead operators.
pub(super) fn sweep(dag: &HopDag) -> Rebuilt {
    let live = live(dag);
    let mut result = HopDag::new();
    let mut new_ids = SecondaryMap::with_capacity(dag.hops.len());
    for (id, hop) in dag.hops.iter().filter(|(id, _)| live[*id]) {
        let inputs = Rebuilt::inputs(&new_ids, hop);
        new_ids[id] = Some(result.push(Hop { inputs, ..hop.clone() }));
    }
    Rebuilt::of(dag, result, new_ids)
}

/// The DAG in which every consumer of a transpose has a transpose of its own, since templates that read through one need
/// it for themselves. Transposes that leave the DAG stay shared.
pub(super) fn separate_transposes(dag: &HopDag) -> Rebuilt {
    let mut result = HopDag::new();
    let mut new_ids = SecondaryMap::with_capacity(dag.hops.len());
    let mut is_taken = SecondaryMap::<HopId, bool>::with_capacity(dag.hops.len());
    for root in dag.roots() {
        is_taken[root] = true;
    }
    for (id, hop) in &dag.hops {
        let mut inputs = Rebuilt::inputs(&new_ids, hop);
        for (input, &original) in inputs.iter_mut().zip(&hop.inputs) {
            let is_shared = std::mem::replace(&mut is_taken[original], true);
            if is_shared && dag[original].op == HopOp::Reorg(ReorgOp::Transpose) {
                let copy = result.hops[*input].clone();
                *input = result.push(copy);
            }
        }
        new_ids[id] = Some(result.push(Hop { inputs, ..hop.clone() }));
    }
    Rebuilt::of(dag, result, new_ids)
}

/// Gives the rebuilt DAG the outputs and effects of the original.
pub(super) fn finish(original: &HopDag, mut rebuilt: HopDag, new_id: impl Fn(HopId) -> HopId) -> HopDag {
    let output = |output: &HopOutput| HopOutput { name: output.name.clone(), hop: new_id(output.hop) };
    rebuilt.outputs = original.outputs.iter().map(output).collect();
    rebuilt.effects = original.effects.iter().map(|&effect| new_id(effect)).collect();
    rebuilt
}

fn folded(dag: &HopDag, hop: &Hop) -> Option<Value> {
    let mut values: [Option<&Value>; 3] = [None; 3];
    if hop.inputs.is_empty() || hop.inputs.len() > values.len() {
        return None;
    }
    for (value, &input) in values.iter_mut().zip(&hop.inputs) {
        *value = Some(dag.literal_value(input)?);
    }
    let values: Vec<&Value> = values.into_iter().flatten().collect();
    fold(&hop.op, hop.data_type, &values)
}

fn literal(value: Value, replaced: &Hop) -> Hop {
    Hop {
        data_type: DataType::Scalar(value.scalar_type()),
        op: HopOp::Literal(value),
        inputs: Inputs::new(),
        size: SizeInfo::UNKNOWN,
        span: replaced.span,
    }
}
