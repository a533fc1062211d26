//! Loop-invariant motion: an aggregate that is the same in every iteration is computed once, before the loop.
//!
//! What moves cannot fail and has no effects, so that it does not matter whether the loop runs at all; its inputs surely
//! have values. Only aggregates move: their results are small, and what fusion made of their inputs goes with them. A
//! matrix that is as large as its inputs is better computed again, within a fused operator.
//!
//! Nothing moves out of a loop in which the clock is read: it measures what stands around it.

use crate::blocks::{Assigned, Names, bodies_mut, predicates, predicates_mut};
use cranelift_entity::SecondaryMap;
use fuseline_ir::hop::{Function, Hop, HopDag, HopId, HopOp, Inputs, ReorgOp};
use fuseline_ir::program::{Program, StatementBlock};
use fuseline_ir::types::DataType;
use std::collections::HashMap;

/// Moves invariant aggregates out of all loops. Types of all DAGs must be known as far as they can be.
pub fn move_invariants(program: &mut Program) {
    let clocks = clock_readers(program);
    let mut motion = Motion { moved: 0, defined: Names::new(), clocks };
    motion.within(&mut program.body);
    for function in program.functions.values_mut() {
        motion.defined = function.parameters.iter().map(|parameter| parameter.name.clone()).collect();
        motion.within(&mut function.body);
    }
}

struct Motion {
    /// The number of values moved, which names them.
    moved: usize,
    /// The variables that surely have a value.
    defined: Names,
    /// The functions in which the clock is read.
    clocks: Names,
}

impl Motion {
    /// Moves what is invariant in loops of blocks; returns what the blocks assign.
    fn within(&mut self, blocks: &mut Vec<StatementBlock>) -> Assigned {
        let mut assigned = Assigned::default();
        let mut defined = Vec::new();
        let mut result = Vec::new();
        for mut block in std::mem::take(blocks) {
            let of_block = self.within_block(&mut block);
            let is_loop = matches!(block, StatementBlock::While { .. } | StatementBlock::For { .. });
            if is_loop && !reads_clock(std::slice::from_ref(&block), &self.clocks) {
                let before = self.out_of(&mut block, &of_block.perhaps);
                if !before.is_empty() {
                    let before = StatementBlock::Basic(before);
                    let moved = Assigned::by(&before);
                    self.define(&moved.surely, &mut defined);
                    assigned.then(moved);
                    result.push(before);
                }
            }
            self.define(&of_block.surely, &mut defined);
            assigned.then(of_block);
            result.push(block);
        }
        *blocks = result;
        self.forget(&defined);
        assigned
    }

    /// [`Motion::within`] the parts of a block.
    fn within_block(&mut self, block: &mut StatementBlock) -> Assigned {
        let mut assigned = Assigned::by(block);
        let mut defined = Vec::new();
        for predicate in predicates_mut(block) {
            let prelude = self.within(&mut predicate.prelude);
            self.define(&prelude.surely, &mut defined);
            assigned.then(prelude);
        }
        match block {
            StatementBlock::Basic(_) | StatementBlock::Call(_) => {}
            StatementBlock::If { then_body, else_body, .. } => {
                let (then_body, else_body) = (self.within(then_body), self.within(else_body));
                assigned.then(then_body.or(else_body));
            }
            StatementBlock::While { body, .. } | StatementBlock::For { body, .. } => {
                let body = self.within(body);
                assigned.then(body.or(Assigned::default()));
            }
        }
        self.forget(&defined);
        assigned
    }

    /// Says that variables have values, and adds those of which that was not known.
    fn define(&mut self, names: &Names, new: &mut Vec<String>) {
        for name in names {
            if self.defined.insert(name.clone()) {
                new.push(name.clone());
            }
        }
    }

    fn forget(&mut self, names: &[String]) {
        names.iter().for_each(|name| _ = self.defined.remove(name));
    }

    /// Takes what is invariant out of a loop that assigns these variables; returns what computes it before.
    fn out_of(&mut self, block: &mut StatementBlock, assigned: &Names) -> HopDag {
        let mut before = HopDag::new();
        for body in bodies_mut(block) {
            for block in body {
                if let StatementBlock::Basic(dag) = block {
                    self.out_of_dag(dag, assigned, &mut before);
                }
            }
        }
        before
    }

    fn out_of_dag(&mut self, dag: &mut HopDag, assigned: &Names, before: &mut HopDag) {
        let invariant = invariant_operators(dag, &|name| self.defined.contains(name) && !assigned.contains(name));
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

/// The functions in which the clock is read, by themselves or by what they call.
fn clock_readers(program: &Program) -> Names {
    let mut clocks = Names::new();
    loop {
        let readers = program.functions.values().filter(|function| reads_clock(&function.body, &clocks));
        let readers: Names = readers.map(|function| function.name.clone()).collect();
        if readers.len() == clocks.len() {
            return clocks;
        }
        clocks = readers;
    }
}

/// Whether the clock is read in blocks, where these functions read it.
fn reads_clock(blocks: &[StatementBlock], clocks: &Names) -> bool {
    blocks.iter().any(|block| {
        let in_predicates =
            predicates(block).into_iter().any(|it| asks_for_time(&it.dag) || reads_clock(&it.prelude, clocks));
        in_predicates
            || match block {
                StatementBlock::Basic(dag) => asks_for_time(dag),
                StatementBlock::Call(call) => clocks.contains(&call.function) || asks_for_time(&call.arguments),
                StatementBlock::If { then_body, else_body, .. } => {
                    reads_clock(then_body, clocks) || reads_clock(else_body, clocks)
                }
                StatementBlock::While { body, .. } | StatementBlock::For { body, .. } => reads_clock(body, clocks),
            }
    })
}

/// Whether an operator of a DAG reads the clock.
fn asks_for_time(dag: &HopDag) -> bool {
    dag.hops.values().any(|hop| matches!(hop.op, HopOp::Parameterized { function: Function::Time, .. }))
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

/// Whether an operation on these inputs gives a value, whatever they hold, and needs no more memory than they do.
fn cannot_fail(dag: &HopDag, op: &HopOp, inputs: &[HopId]) -> bool {
    let is_modest = match (op, inputs) {
        (HopOp::MatMul, [x, y]) => is_tall_gram(dag, *x, *y),
        (HopOp::Reorg(op), _) => *op == ReorgOp::Transpose,
        (op, _) => matches!(op, HopOp::Literal(_) | HopOp::Unary(_) | HopOp::Binary(_) | HopOp::AggUnary(..)),
    };
    is_modest && !dag.may_fail(op, inputs)
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
    let mut reads: HashMap<String, HopId> = HashMap::new();
    if !roots.is_empty() {
        reads.extend(target.reads().map(|(id, name)| (name.to_owned(), id)));
    }
    let mut copies = SecondaryMap::new();
    for (id, hop) in dag.hops.iter().filter(|(id, _)| needed[*id]) {
        let known = match &hop.op {
            HopOp::Read(name) => reads.get(name),
            _ => None,
        };
        copies[id] = Some(known.copied().unwrap_or_else(|| {
            let inputs = hop.inputs.iter().filter_map(|&input| copies[input]).collect();
            target.push(Hop { inputs, ..hop.clone() })
        }));
    }
    copies
}
