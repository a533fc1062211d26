//! Loop-invariant motion: an aggregate that is the same in every iteration is computed once, before the loop.
//!
//! What moves cannot fail and has no effects, so that it does not matter whether the loop runs at all; its inputs surely
//! have values. Only aggregates move: their results are small, and what fusion made of their inputs goes with them. A
//! matrix that is as large as its inputs is better computed again, within a fused operator.

use super::variables::{Names, bodies_mut, collect_assigned, define, predicates_mut};
use cranelift_entity::SecondaryMap;
use fuseline_ir::hop::{Hop, HopDag, HopId, HopOp, Inputs, ReorgOp};
use fuseline_ir::program::{Program, StatementBlock};
use fuseline_ir::types::DataType;

/// Moves invariant aggregates out of all loops. Types of all DAGs must be known as far as they can be.
pub fn move_invariants(program: &mut Program) {
    let mut motion = Motion { moved: 0 };
    motion.within(&mut program.body, Names::new());
    for function in program.functions.values_mut() {
        let parameters = function.parameters.iter().map(|parameter| parameter.name.clone()).collect();
        motion.within(&mut function.body, parameters);
    }
}

struct Motion {
    /// The number of values moved, which names them.
    moved: usize,
}

impl Motion {
    /// `defined` are the variables that surely have a value before the blocks.
    fn within(&mut self, blocks: &mut Vec<StatementBlock>, mut defined: Names) {
        let mut result = Vec::new();
        for mut block in std::mem::take(blocks) {
            let mut inside = defined.clone();
            for predicate in predicates_mut(&mut block) {
                self.within(&mut predicate.prelude, inside.clone());
                predicate.prelude.iter().for_each(|block| define(block, &mut inside));
            }
            bodies_mut(&mut block).into_iter().for_each(|body| self.within(body, inside.clone()));
            if matches!(block, StatementBlock::While { .. } | StatementBlock::For { .. }) {
                let before = self.out_of(&mut block, &defined);
                if !before.is_empty() {
                    let before = StatementBlock::Basic(before);
                    define(&before, &mut defined);
                    result.push(before);
                }
            }
            define(&block, &mut defined);
            result.push(block);
        }
        *blocks = result;
    }

    /// Takes what is invariant out of a loop; returns what computes it before.
    fn out_of(&mut self, block: &mut StatementBlock, defined: &Names) -> HopDag {
        let mut assigned = Names::new();
        collect_assigned(std::slice::from_ref(block), &mut assigned);
        let is_invariant = |name: &str| defined.contains(name) && !assigned.contains(name);
        let mut before = HopDag::new();
        for body in bodies_mut(block) {
            for block in body {
                if let StatementBlock::Basic(dag) = block {
                    self.out_of_dag(dag, &is_invariant, &mut before);
                }
            }
        }
        before
    }

    fn out_of_dag(&mut self, dag: &mut HopDag, is_invariant: &dyn Fn(&str) -> bool, before: &mut HopDag) {
        let invariant = invariant_operators(dag, is_invariant);
        let movable: Vec<HopId> =
            dag.hops.iter().filter(|(id, hop)| invariant[*id] && is_small(dag, hop)).map(|(id, _)| id).collect();
        let copies = copy(dag, &movable, before);
        for id in movable {
            let Some(value) = copies[id] else { continue };
            self.moved += 1;
            let name = format!("_invariant_{}", self.moved);
            before.write(&name, value);
            dag.hops[id] = Hop { op: HopOp::Read(name), inputs: Inputs::new(), ..dag[id].clone() };
        }
    }
}

/// For every operator, whether it computes the same in every iteration and cannot fail.
fn invariant_operators(dag: &HopDag, is_invariant: &dyn Fn(&str) -> bool) -> SecondaryMap<HopId, bool> {
    let mut invariant = SecondaryMap::new();
    for (id, hop) in &dag.hops {
        let inputs_are = hop.inputs.iter().all(|&input| invariant[input]);
        invariant[id] = inputs_are
            && match &hop.op {
                HopOp::Read(name) => is_invariant(name) && hop.data_type != DataType::Unknown,
                op => cannot_fail(dag, op, &hop.inputs),
            };
    }
    invariant
}

/// Whether an operation on these inputs gives a value, whatever they hold.
fn cannot_fail(dag: &HopDag, op: &HopOp, inputs: &[HopId]) -> bool {
    let is_number = |id: HopId| dag[id].data_type != DataType::STR && dag[id].data_type.is_scalar();
    let is_matrix = |id: HopId| dag[id].is_matrix();
    match (op, inputs) {
        (HopOp::Literal(_), _) => true,
        (HopOp::Unary(_), [x]) => is_matrix(*x) || is_number(*x),
        (HopOp::Binary(_), [x, y]) => {
            let same = x == y || dag[*x].size.same_dims(&dag[*y].size);
            [x, y].iter().all(|id| is_matrix(**id) || is_number(**id)) && (same || is_number(*x) || is_number(*y))
        }
        (HopOp::AggUnary(..) | HopOp::Reorg(ReorgOp::Transpose), [x]) => is_matrix(*x),
        (HopOp::MatMul, [x, y]) => is_tall_gram(dag, *x, *y),
        _ => false,
    }
}

/// Whether the result is small against the inputs, and costs a pass over them.
fn is_small(dag: &HopDag, hop: &Hop) -> bool {
    match hop.op {
        HopOp::AggUnary(..) => true,
        HopOp::MatMul => is_tall_gram(dag, hop.inputs[0], hop.inputs[1]),
        _ => false,
    }
}

/// Whether this is `t(X) %*% X` of a matrix known to have no more columns than rows, so that it needs no more memory
/// than X does.
fn is_tall_gram(dag: &HopDag, left: HopId, right: HopId) -> bool {
    is_transpose_of(dag, left, right) && dag[right].size.known_dims().is_some_and(|(rows, cols)| cols <= rows)
}

fn is_transpose_of(dag: &HopDag, transposed: HopId, original: HopId) -> bool {
    dag[transposed].op == HopOp::Reorg(ReorgOp::Transpose) && dag[transposed].inputs.as_slice() == [original]
}

/// Appends the operators that the roots need to `target`, where variables are read once. Returns where they stand there.
fn copy(dag: &HopDag, roots: &[HopId], target: &mut HopDag) -> SecondaryMap<HopId, Option<HopId>> {
    let mut needed = SecondaryMap::<HopId, bool>::new();
    roots.iter().for_each(|&root| needed[root] = true);
    for (id, hop) in dag.hops.iter().rev() {
        if needed[id] {
            hop.inputs.iter().for_each(|&input| needed[input] = true);
        }
    }
    let mut copies = SecondaryMap::new();
    for (id, hop) in dag.hops.iter().filter(|(id, _)| needed[*id]) {
        let is_same_read = |known: &Hop| matches!(hop.op, HopOp::Read(_)) && known.op == hop.op;
        let known = target.hops.iter().find(|(_, known)| is_same_read(known)).map(|(known, _)| known);
        copies[id] = Some(known.unwrap_or_else(|| {
            let inputs = hop.inputs.iter().filter_map(|&input| copies[input]).collect();
            target.push(Hop { inputs, ..hop.clone() })
        }));
    }
    copies
}
