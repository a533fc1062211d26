//! The canonical form of CPlans: commutative operands, inputs and the outputs of multi-aggregates in an order that
//! follows from structure alone, so that plans which differ only in these are equal.

use cranelift_entity::{EntityRef, EntitySet, PrimaryMap, SecondaryMap};
use fuseline_ir::cplan::{CInput, CInputId, CNode, CNodeId, COutput, CPlan, MAIN, RowType, Variant};
use std::hash::{BuildHasher, Hash};

/// A plan in canonical form.
#[derive(Clone, Debug)]
pub struct OptimizedCPlan {
    /// The plan.
    pub cplan: CPlan,
    /// For each of its inputs, the input of the original plan.
    pub inputs: Vec<CInputId>,
    /// For each of its outputs, the position of the output of the original plan.
    pub outputs: Vec<usize>,
}

/// How often inputs that nothing has told apart are looked at again, by what uses them.
const REFINEMENTS: usize = 3;

/// A number of a value, the same in every process.
fn number(value: &impl Hash) -> u64 {
    foldhash::quality::FixedState::with_seed(0x5eed).hash_one(value)
}

fn is_commutative(node: &CNode) -> bool {
    matches!(node, CNode::Binary(op, ..) if op.algebra().commutative) || matches!(node, CNode::DotProduct(..))
}

/// The operation without its operands and without the number of its input.
fn anonymous(node: &CNode) -> CNode {
    let zero = CNodeId::new(0);
    with_input(*node, |_| MAIN).map_operands(|_| zero)
}

/// Numbers that equal expressions share, whatever their inputs are numbered: inputs are told apart by how they are used,
/// and that by the expressions that use them, in turns (colour refinement).
fn signatures(plan: &CPlan) -> SecondaryMap<CNodeId, u64> {
    let mut signatures = expressions(plan, &SecondaryMap::new());
    for _ in 0..REFINEMENTS {
        let uses = uses(plan, &signatures);
        let mut colours = SecondaryMap::<CInputId, u64>::new();
        for (id, node) in &plan.nodes {
            if let Some(input) = node.input() {
                colours[input] = colours[input].wrapping_add(number(&(anonymous(node), uses[id])));
            }
        }
        signatures = expressions(plan, &colours);
    }
    signatures
}

/// The number of each expression, given those of the inputs.
fn expressions(plan: &CPlan, colours: &SecondaryMap<CInputId, u64>) -> SecondaryMap<CNodeId, u64> {
    let mut signatures = SecondaryMap::<CNodeId, u64>::new();
    for (id, node) in &plan.nodes {
        let mut operands: Vec<u64> = node.operands().iter().map(|&operand| signatures[operand]).collect();
        if is_commutative(node) {
            operands.sort_unstable();
        }
        let colour = node.input().map_or(0, |input| colours[input]);
        signatures[id] = number(&(anonymous(node), colour, operands));
    }
    signatures
}

/// The number of each node's uses, given those of the expressions.
fn uses(plan: &CPlan, signatures: &SecondaryMap<CNodeId, u64>) -> SecondaryMap<CNodeId, u64> {
    let mut uses = SecondaryMap::<CNodeId, u64>::new();
    for output in &plan.outputs {
        uses[output.node()] = uses[output.node()].wrapping_add(number(&(output.function(), "node")));
        if let Some(left) = output.left() {
            uses[left] = uses[left].wrapping_add(number(&(output.function(), "left")));
        }
    }
    for (id, node) in plan.nodes.iter().rev() {
        for (position, operand) in node.operands().into_iter().enumerate() {
            let position = if is_commutative(node) { 0 } else { position };
            uses[operand] = uses[operand].wrapping_add(number(&(uses[id], signatures[id], position)));
        }
    }
    uses
}

/// Among vectors, and after these among scalars: main input first, then computed values, sides, scalar inputs,
/// constants.
fn operand_rank(node: &CNode) -> u8 {
    match node {
        CNode::Main => 0,
        CNode::SideCell(_) | CNode::SideRow(..) => 2,
        CNode::SideVector(_) | CNode::SideRowScalar(..) | CNode::SideColScalar(_) | CNode::RowIndex => 3,
        CNode::Scalar(_) => 4,
        CNode::Literal(_) => 5,
        _ => 1,
    }
}

/// The plan in canonical form.
pub(super) fn canonicalize(plan: &CPlan) -> OptimizedCPlan {
    let signatures = signatures(plan);
    let shapes = plan.shapes();
    let mut outputs: Vec<usize> = (0..plan.outputs.len()).collect();
    outputs.sort_by_key(|&position| {
        let output = &plan.outputs[position];
        (output.function(), signatures[output.node()], output.left().map(|left| signatures[left]))
    });
    let plan = &CPlan { outputs: outputs.iter().map(|&position| plan.outputs[position]).collect(), ..plan.clone() };
    let key = |id: CNodeId| (!shapes.is_vector(id), operand_rank(&plan.nodes[id]), signatures[id]);
    let ordered = |node: CNode| match node {
        CNode::Binary(op, left, right) if op.algebra().commutative && key(right) < key(left) => {
            CNode::Binary(op, right, left)
        }
        CNode::DotProduct(left, right) if key(right) < key(left) => CNode::DotProduct(right, left),
        other => other,
    };
    let order = post_order(plan, |id| ordered(plan.nodes[id]));
    let inputs = input_order(plan, order.iter().map(|&(_, node)| node));
    let mut renumbered = SecondaryMap::<CInputId, CInputId>::with_default(MAIN);
    let mut result = CPlan { inputs: PrimaryMap::new(), nodes: PrimaryMap::new(), outputs: Vec::new(), ..plan.clone() };
    for &old in &inputs {
        renumbered[old] = result.inputs.push(plan.inputs[old]);
    }
    let mut renamed = SecondaryMap::<CNodeId, CNodeId>::with_default(CNodeId::new(0));
    for (id, node) in order {
        let node = with_input(node.map_operands(|operand| renamed[operand]), |input| renumbered[input]);
        renamed[id] = result.nodes.push(node);
    }
    result.outputs = plan.outputs.iter().map(|output| output.map_operands(|operand| renamed[operand])).collect();
    result.variant = variant(&result);
    OptimizedCPlan { cplan: result, inputs, outputs }
}

/// The variant, which in Row plans depends on the length of the output.
fn variant(plan: &CPlan) -> Variant {
    match plan.outputs[..] {
        _ if plan.variant == Variant::Row(RowType::MultiAgg) => plan.variant,
        [output] => plan.output_variant(&output, &plan.shapes()).unwrap_or(plan.variant),
        _ => plan.variant,
    }
}

/// The nodes that outputs need, operands before users, as `ordered` gives them.
fn post_order(plan: &CPlan, ordered: impl Fn(CNodeId) -> CNode) -> Vec<(CNodeId, CNode)> {
    let mut result = Vec::new();
    let mut done = EntitySet::new();
    for target in plan.outputs.iter().flat_map(COutput::operands) {
        let mut pending = vec![(target, false)];
        while let Some((id, operands_done)) = pending.pop() {
            if done.contains(id) {
                continue;
            }
            let node = ordered(id);
            if operands_done {
                done.insert(id);
                result.push((id, node));
            } else {
                pending.push((id, true));
                pending.extend(node.operands().iter().rev().map(|&operand| (operand, false)));
            }
        }
    }
    result
}

/// Leading inputs, then the sides by first use, then the scalars by first use.
fn input_order(plan: &CPlan, nodes: impl Iterator<Item = CNode>) -> Vec<CInputId> {
    let mut sides: Vec<CInputId> = plan.inputs.keys().take(plan.leading_inputs()).collect();
    let mut scalars = Vec::new();
    for input in nodes.filter_map(|node| node.input()) {
        let list = if plan.inputs[input] == CInput::Scalar { &mut scalars } else { &mut sides };
        if !list.contains(&input) {
            list.push(input);
        }
    }
    sides.extend(scalars);
    sides
}

fn with_input(node: CNode, rename: impl Fn(CInputId) -> CInputId) -> CNode {
    match node {
        CNode::Scalar(input) => CNode::Scalar(rename(input)),
        CNode::SideCell(input) => CNode::SideCell(rename(input)),
        CNode::SideRowScalar(input, column) => CNode::SideRowScalar(rename(input), column),
        CNode::SideColScalar(input) => CNode::SideColScalar(rename(input)),
        CNode::SideRow(input, range) => CNode::SideRow(rename(input), range),
        CNode::SideVector(input) => CNode::SideVector(rename(input)),
        CNode::VectMatMult(operand, input) => CNode::VectMatMult(operand, rename(input)),
        CNode::Convolve(operand, input, filters) => CNode::Convolve(operand, rename(input), filters),
        other => other,
    }
}
