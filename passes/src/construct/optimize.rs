//! Rewrites and the canonical form of CPlans: common nodes merged, commutative operands and inputs in an order that
//! follows from structure alone, so that plans which differ only in these are equal.

use cranelift_entity::{EntityRef, EntitySet, PrimaryMap, SecondaryMap};
use fuseline_ir::cplan::{Bits, CInput, CInputId, CNode, CNodeId, COutput, CPlan, FACTOR_V, MAIN, Shape};
use fuseline_ir::memo::TemplateType;
use fuseline_ir::ops::{AggOp, BinaryOp, UnaryOp};
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};

/// A plan in canonical form.
#[derive(Clone, Debug)]
pub struct OptimizedCPlan {
    /// The plan.
    pub cplan: CPlan,
    /// For each of its inputs, the input of the original plan.
    pub inputs: Vec<CInputId>,
}

/// Simplifies a plan and brings it into canonical form.
pub fn optimize_cplan(plan: &CPlan) -> OptimizedCPlan {
    let simplified = Simplifier::run(plan);
    canonicalize(&simplified)
}

/// Number of uses of each node, by nodes and outputs.
fn count_uses(plan: &CPlan) -> SecondaryMap<CNodeId, u32> {
    let mut uses = SecondaryMap::new();
    let outputs = plan.outputs.iter().flat_map(|output| [Some(output.node), output.left].into_iter().flatten());
    for operand in plan.nodes.values().flat_map(CNode::operands).chain(outputs) {
        uses[operand] += 1;
    }
    uses
}

struct Simplifier<'a> {
    plan: &'a CPlan,
    uses: SecondaryMap<CNodeId, u32>,
    shapes: SecondaryMap<CNodeId, Option<Shape>>,
    result: CPlan,
    interned: HashMap<CNode, CNodeId, foldhash::fast::FixedState>,
}

impl Simplifier<'_> {
    fn run(plan: &CPlan) -> CPlan {
        let result = CPlan { nodes: PrimaryMap::new(), outputs: Vec::new(), ..plan.clone() };
        let mut simplifier =
            Simplifier { plan, uses: count_uses(plan), shapes: plan.shapes(), result, interned: HashMap::default() };
        let mut renamed = SecondaryMap::<CNodeId, CNodeId>::with_default(CNodeId::new(0));
        for (id, node) in &plan.nodes {
            renamed[id] = simplifier.node(id, node.map_operands(|operand| renamed[operand]));
        }
        for output in &plan.outputs {
            let renamed =
                COutput { node: renamed[output.node], left: output.left.map(|left| renamed[left]), ..*output };
            let output = simplifier.output(renamed);
            simplifier.result.outputs.push(output);
        }
        simplifier.result
    }

    fn literal(&self, id: CNodeId) -> Option<f64> {
        match self.result.nodes[id] {
            CNode::Literal(bits) => Some(bits.get()),
            _ => None,
        }
    }

    /// The operand of a square.
    fn squared(&self, id: CNodeId) -> Option<CNodeId> {
        match self.result.nodes[id] {
            CNode::Unary(UnaryOp::Pow2, operand) => Some(operand),
            CNode::Binary(BinaryOp::Mult, left, right) if left == right => Some(left),
            _ => None,
        }
    }

    /// The simplified node; `original` is its id in the given plan, its operands are renamed already.
    fn node(&mut self, original: CNodeId, node: CNode) -> CNodeId {
        let is_outer = self.plan.template() == TemplateType::Outer;
        let simplified = match node {
            CNode::Binary(BinaryOp::Pow, base, exponent) if self.literal(exponent) == Some(2.0) => {
                CNode::Unary(UnaryOp::Pow2, base)
            }
            // Outer operators see non-zeros of X alone.
            CNode::Binary(BinaryOp::NotEqual, left, right) if is_outer && self.is_main_and_zero(left, right) => {
                CNode::Literal(Bits::new(1.0))
            }
            CNode::Binary(BinaryOp::Mult, left, right) if self.literal(left) == Some(1.0) => return right,
            CNode::Binary(BinaryOp::Mult, left, right) if self.literal(right) == Some(1.0) => return left,
            CNode::RowAgg(AggOp::Sum, operand) => self.row_sum(original, operand),
            other => other,
        };
        // Equal up to commutation is equal; the canonical order comes later.
        let simplified = match simplified {
            CNode::Binary(op, left, right) if op.algebra().commutative => {
                CNode::Binary(op, left.min(right), left.max(right))
            }
            other => other,
        };
        let nodes = &mut self.result.nodes;
        *self.interned.entry(simplified).or_insert_with(|| nodes.push(simplified))
    }

    fn is_main_and_zero(&self, left: CNodeId, right: CNodeId) -> bool {
        let is_main = |id: CNodeId| self.result.nodes[id] == CNode::Main;
        let is_zero = |id: CNodeId| self.literal(id) == Some(0.0);
        is_main(left) && is_zero(right) || is_zero(left) && is_main(right)
    }

    /// A sum of squares, or a dot product where the product of two vectors has no other use.
    fn row_sum(&self, original: CNodeId, operand: CNodeId) -> CNode {
        if let Some(base) = self.squared(operand) {
            return CNode::RowAgg(AggOp::SumSq, base);
        }
        let CNode::RowAgg(_, product) = self.plan.nodes[original] else { return CNode::RowAgg(AggOp::Sum, operand) };
        let is_vector = |id: CNodeId| matches!(self.shapes[id], Some(Shape::Vector(_)));
        match (self.plan.nodes[product], self.result.nodes[operand]) {
            (CNode::Binary(BinaryOp::Mult, x, y), CNode::Binary(BinaryOp::Mult, left, right))
                if self.uses[product] == 1 && is_vector(x) && is_vector(y) =>
            {
                CNode::DotProduct(left, right)
            }
            _ => CNode::RowAgg(AggOp::Sum, operand),
        }
    }

    fn output(&self, output: COutput) -> COutput {
        match self.squared(output.node) {
            Some(base) if output.agg == Some(AggOp::Sum) => COutput { node: base, agg: Some(AggOp::SumSq), ..output },
            _ => output,
        }
    }
}

/// A number that equal expressions share, whatever their inputs are numbered.
fn signatures(plan: &CPlan) -> SecondaryMap<CNodeId, u64> {
    let hasher = foldhash::quality::FixedState::with_seed(0x5eed);
    let mut signatures = SecondaryMap::<CNodeId, u64>::new();
    for (id, node) in &plan.nodes {
        let anonymous = |node: &CNode| match *node {
            CNode::Scalar(_) => CNode::Scalar(MAIN),
            CNode::SideCell(_) => CNode::SideCell(MAIN),
            CNode::SideRowScalar(_) => CNode::SideRowScalar(MAIN),
            CNode::SideColScalar(_) => CNode::SideColScalar(MAIN),
            CNode::SideRow(_, range) => CNode::SideRow(MAIN, range),
            CNode::SideVector(_) => CNode::SideVector(MAIN),
            CNode::VectMatMult(operand, _) => CNode::VectMatMult(operand, MAIN),
            other => other,
        };
        let zero = CNodeId::new(0);
        let mut state = hasher.build_hasher();
        anonymous(node).map_operands(|_| zero).hash(&mut state);
        let mut operands: Vec<u64> = node.operands().iter().map(|&operand| signatures[operand]).collect();
        if matches!(node, CNode::Binary(op, ..) if op.algebra().commutative) || matches!(node, CNode::DotProduct(..)) {
            operands.sort_unstable();
        }
        operands.hash(&mut state);
        signatures[id] = std::hash::Hasher::finish(&state);
    }
    signatures
}

/// Among vectors, and after these among scalars: main input first, then computed values, sides, scalar inputs,
/// constants.
fn operand_rank(node: &CNode) -> u8 {
    match node {
        CNode::Main => 0,
        CNode::SideCell(_) | CNode::SideRow(..) => 2,
        CNode::SideVector(_) | CNode::SideRowScalar(_) | CNode::SideColScalar(_) => 3,
        CNode::Scalar(_) => 4,
        CNode::Literal(_) => 5,
        _ => 1,
    }
}

fn canonicalize(plan: &CPlan) -> OptimizedCPlan {
    let signatures = signatures(plan);
    let shapes = plan.shapes();
    let key = |id: CNodeId| (shapes[id] == Some(Shape::Scalar), operand_rank(&plan.nodes[id]), signatures[id]);
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
    let rename = |output: &COutput| COutput {
        node: renamed[output.node],
        left: output.left.map(|left| renamed[left]),
        ..*output
    };
    result.outputs = plan.outputs.iter().map(rename).collect();
    OptimizedCPlan { cplan: result, inputs }
}

/// The nodes that outputs need, operands before users, as `ordered` gives them.
fn post_order(plan: &CPlan, ordered: impl Fn(CNodeId) -> CNode) -> Vec<(CNodeId, CNode)> {
    let mut result = Vec::new();
    let mut done = EntitySet::new();
    let targets = plan.outputs.iter().flat_map(|output| [output.left, Some(output.node)].into_iter().flatten());
    for target in targets {
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
    let leading = if plan.template() == TemplateType::Outer { FACTOR_V.index() + 1 } else { MAIN.index() + 1 };
    let mut sides: Vec<CInputId> = plan.inputs.keys().take(leading).collect();
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
        CNode::SideRowScalar(input) => CNode::SideRowScalar(rename(input)),
        CNode::SideColScalar(input) => CNode::SideColScalar(rename(input)),
        CNode::SideRow(input, range) => CNode::SideRow(rename(input), range),
        CNode::SideVector(input) => CNode::SideVector(rename(input)),
        CNode::VectMatMult(operand, input) => CNode::VectMatMult(operand, rename(input)),
        other => other,
    }
}
