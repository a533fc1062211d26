//! Rewrites of CPlans: cheaper forms of the same values, common nodes merged.

use super::canonical::{OptimizedCPlan, canonicalize};
use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};
use fuseline_ir::Space;
use fuseline_ir::cplan::{Bits, CNode, CNodeId, COutput, CPlan, Shapes};
use fuseline_ir::ops::{AggOp, BinaryOp, UnaryOp};
use std::collections::HashMap;

/// Simplifies a plan and brings it into canonical form.
pub fn optimize_cplan(plan: &CPlan) -> OptimizedCPlan {
    let simplified = Simplifier::run(plan);
    canonicalize(&simplified)
}

/// Number of uses of each node, by nodes and outputs.
fn count_uses(plan: &CPlan) -> SecondaryMap<CNodeId, u32> {
    let mut uses = SecondaryMap::new();
    for operand in plan.nodes.values().flat_map(CNode::operands) {
        uses[operand] += 1;
    }
    for operand in plan.outputs.iter().flat_map(COutput::operands) {
        uses[operand] += 1;
    }
    uses
}

struct Simplifier<'a> {
    plan: &'a CPlan,
    uses: SecondaryMap<CNodeId, u32>,
    shapes: Shapes,
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
            let output = simplifier.output(output.map_operands(|operand| renamed[operand]));
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

    /// The aggregate of another value that a sum of this one is: of a square, or of whether it is not zero.
    fn sum_of(&self, id: CNodeId) -> Option<(AggOp, CNodeId)> {
        match self.result.nodes[id] {
            CNode::Binary(BinaryOp::Mult, left, right) if left == right => Some((AggOp::SumSq, left)),
            CNode::Binary(BinaryOp::NotEqual, left, right) if self.literal(right) == Some(0.0) => {
                Some((AggOp::Nnz, left))
            }
            CNode::Binary(BinaryOp::NotEqual, left, right) if self.literal(left) == Some(0.0) => {
                Some((AggOp::Nnz, right))
            }
            _ => None,
        }
    }

    /// The simplified node; `original` is its id in the given plan, its operands are renamed already.
    fn node(&mut self, original: CNodeId, node: CNode) -> CNodeId {
        let is_outer = self.plan.space() == Space::Factors;
        let simplified = match node {
            CNode::Unary(UnaryOp::Pow2, base) => CNode::Binary(BinaryOp::Mult, base, base),
            CNode::Binary(BinaryOp::Pow, base, exponent) if self.literal(exponent) == Some(2.0) => {
                CNode::Binary(BinaryOp::Mult, base, base)
            }
            CNode::Unary(UnaryOp::Mult2, half) => CNode::Binary(BinaryOp::Plus, half, half),
            CNode::Binary(BinaryOp::Mult, half, two) | CNode::Binary(BinaryOp::Mult, two, half)
                if self.literal(two) == Some(2.0) =>
            {
                CNode::Binary(BinaryOp::Plus, half, half)
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

    /// A sum of squares, a count, or a dot product where the product of two vectors has no other use.
    fn row_sum(&self, original: CNodeId, operand: CNodeId) -> CNode {
        if let Some((op, base)) = self.sum_of(operand) {
            return CNode::RowAgg(op, base);
        }
        let CNode::RowAgg(_, product) = self.plan.nodes[original] else { return CNode::RowAgg(AggOp::Sum, operand) };
        let is_vector = |id: CNodeId| self.shapes.is_vector(id);
        match (self.plan.nodes[product], self.result.nodes[operand]) {
            (CNode::Binary(BinaryOp::Mult, x, y), CNode::Binary(BinaryOp::Mult, left, right))
                if self.uses[product] == 1 && is_vector(x) && is_vector(y) =>
            {
                CNode::DotProduct(left, right)
            }
            _ => CNode::RowAgg(AggOp::Sum, operand),
        }
    }

    /// An output whose sum takes in a power or a comparison that it adds up.
    fn output(&self, output: COutput) -> COutput {
        match output {
            COutput::RowAgg(AggOp::Sum, node) => {
                self.sum_of(node).map_or(output, |(op, base)| COutput::RowAgg(op, base))
            }
            COutput::ColAgg(AggOp::Sum, node) => {
                self.sum_of(node).map_or(output, |(op, base)| COutput::ColAgg(op, base))
            }
            COutput::FullAgg(AggOp::Sum, node) => {
                self.sum_of(node).map_or(output, |(op, base)| COutput::FullAgg(op, base))
            }
            _ => output,
        }
    }
}
