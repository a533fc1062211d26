//! Where a pattern matches in a DAG.

use fuseline_ir::hop::{Expression, HopDag, HopId, HopOp, ReorgOp};
use fuseline_ir::ops::{AggOp, BinaryOp, UnaryOp};
use fuseline_ir::types::DataType;
use smallvec::SmallVec;

/// The factor whose transpose patterns multiply with.
const FACTOR: &str = "V";

/// What a variable of a pattern stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binding {
    /// An operator.
    Hop(HopId),
    /// The transpose of an operator, which is not there.
    TransposeOf(HopId),
}

impl Binding {
    /// The binding, where it is a transpose that is there, in terms of the transpose's input.
    fn as_transpose(self, dag: &HopDag) -> Binding {
        match self {
            Binding::Hop(id) if is_transpose(&dag[id].op) => Binding::TransposeOf(dag[id].inputs[0]),
            binding => binding,
        }
    }
}

/// A match of a pattern.
#[derive(Clone, Debug, Default)]
pub(super) struct Match {
    /// What its variables stand for, by name.
    pub(super) bindings: SmallVec<[(String, Binding); 5]>,
    /// The operators that the pattern names, the root first.
    pub(super) members: SmallVec<[HopId; 8]>,
}

impl Match {
    /// What a variable stands for.
    pub(super) fn get(&self, name: &str) -> Option<Binding> {
        self.bindings.iter().find(|(other, _)| other == name).map(|(_, binding)| *binding)
    }

    fn bind(mut self, dag: &HopDag, name: &str, binding: Binding) -> Option<Match> {
        let Some((_, bound)) = self.bindings.iter_mut().find(|(other, _)| other == name) else {
            self.bindings.push((name.to_owned(), binding));
            return Some(self);
        };
        let is_equal = bound.as_transpose(dag) == binding.as_transpose(dag);
        if matches!(binding, Binding::Hop(_)) {
            // What is there need not be transposed once more.
            *bound = binding;
        }
        is_equal.then_some(self)
    }

    fn with_member(mut self, id: HopId) -> Match {
        self.members.push(id);
        self
    }
}

/// Every match of a pattern with this root.
pub(super) fn matches(dag: &HopDag, pattern: &Expression, root: HopId) -> Vec<Match> {
    extend(dag, pattern, root, Match::default())
}

/// Every way in which a match goes on with this expression at this operator.
fn extend(dag: &HopDag, pattern: &Expression, id: HopId, so_far: Match) -> Vec<Match> {
    match pattern {
        Expression::Variable(name) => {
            let is_matrix = name.starts_with(char::is_uppercase);
            let hop = &dag[id];
            let fits = if is_matrix { hop.is_matrix() } else { hop.is_scalar() && hop.data_type != DataType::STR };
            so_far.bind(dag, name, Binding::Hop(id)).filter(|_| fits).into_iter().collect()
        }
        Expression::Literal(value) => {
            let is_equal = dag.literal_f64(id) == Some(*value as f64);
            is_equal.then_some(so_far).into_iter().collect()
        }
        Expression::Operation(op, inputs) => {
            let orders = operands(dag, op, inputs, id);
            let so_far = so_far.with_member(id);
            let mut found: Vec<Match> =
                orders.into_iter().flat_map(|order| extend_all(dag, &order, so_far.clone())).collect();
            found.extend(factor(dag, op, inputs, id, &so_far));
            found
        }
    }
}

/// Expressions with the operators that they must match.
type Pairs<'p> = SmallVec<[(&'p Expression, HopId); 3]>;

fn extend_all(dag: &HopDag, pairs: &[(&Expression, HopId)], so_far: Match) -> Vec<Match> {
    pairs.iter().fold(vec![so_far], |matches, (pattern, id)| {
        matches.into_iter().flat_map(|so_far| extend(dag, pattern, *id, so_far)).collect()
    })
}

/// The operands of an operator that is this operation, or another way to write it, in every order.
fn operands<'p>(dag: &HopDag, op: &HopOp, inputs: &'p [Expression], id: HopId) -> Vec<Pairs<'p>> {
    let hop = &dag[id];
    match (op, &hop.op, &hop.inputs[..]) {
        (op, own, own_inputs) if op == own && own_inputs.len() == inputs.len() => {
            let mut orders = vec![pairs(inputs, own_inputs)];
            if let (HopOp::Binary(op), &[left, right]) = (op, own_inputs)
                && op.algebra().commutative
                && left != right
            {
                orders.push(pairs(inputs, &[right, left]));
            }
            orders
        }
        (HopOp::Unary(UnaryOp::Pow2), HopOp::Binary(BinaryOp::Mult), &[left, right]) if left == right => {
            vec![pairs(inputs, &[left])]
        }
        (HopOp::Unary(UnaryOp::Pow2), HopOp::Binary(BinaryOp::Pow), &[base, exponent])
            if dag.literal_f64(exponent) == Some(2.0) =>
        {
            vec![pairs(inputs, &[base])]
        }
        // The sum of the squares of an expression.
        (HopOp::AggUnary(AggOp::Sum, direction), HopOp::AggUnary(AggOp::SumSq, own), &[squared])
            if direction == own =>
        {
            match inputs {
                [Expression::Operation(HopOp::Unary(UnaryOp::Pow2), base)] => {
                    vec![base.iter().map(|base| (base, squared)).collect()]
                }
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

/// Patterns of inputs with the operators that are these inputs.
fn pairs<'p>(inputs: &'p [Expression], hops: &[HopId]) -> Pairs<'p> {
    inputs.iter().zip(hops.iter().copied()).collect()
}

/// A matrix in the place of a transposed factor: the factor is its transpose.
fn factor(dag: &HopDag, op: &HopOp, inputs: &[Expression], id: HopId, so_far: &Match) -> Option<Match> {
    let names_factor = matches!(inputs, [Expression::Variable(name)] if name == FACTOR);
    if !is_transpose(op) || !names_factor || is_transpose(&dag[id].op) || !dag[id].is_matrix() {
        return None;
    }
    // The matrix itself stays, and is no member.
    let mut outside = so_far.clone();
    outside.members.pop();
    outside.bind(dag, FACTOR, Binding::TransposeOf(id))
}

fn is_transpose(op: &HopOp) -> bool {
    *op == HopOp::Reorg(ReorgOp::Transpose)
}
