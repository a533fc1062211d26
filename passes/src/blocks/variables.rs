//! The parts of blocks, the variables that these assign.

use fuseline_ir::hop::HopDag;
use fuseline_ir::program::{Predicate, Program, StatementBlock};
use std::collections::BTreeSet;

/// Names of variables.
pub(crate) type Names = BTreeSet<String>;

/// The variables that blocks assign.
#[derive(Debug, Default)]
pub(crate) struct Assigned {
    /// Variables that surely have a value afterwards.
    pub(crate) surely: Names,
    /// All that may be assigned: also loop variables, and what statements before predicates assign.
    pub(crate) perhaps: Names,
}

impl Assigned {
    /// What a block itself assigns, whatever its parts assign.
    pub(crate) fn by(block: &StatementBlock) -> Assigned {
        let names = match block {
            StatementBlock::Basic(dag) => dag.outputs.iter().map(|output| output.name.clone()).collect(),
            StatementBlock::Call(call) => call.targets.iter().flatten().cloned().collect(),
            StatementBlock::For { variable, .. } => {
                return Assigned { surely: Names::new(), perhaps: Names::from([variable.clone()]) };
            }
            StatementBlock::If { .. } | StatementBlock::While { .. } => Names::new(),
        };
        Assigned { surely: names.clone(), perhaps: names }
    }

    /// Adds what is assigned next.
    pub(crate) fn then(&mut self, next: Assigned) {
        self.surely.extend(next.surely);
        self.perhaps.extend(next.perhaps);
    }

    /// What is assigned where either the one or the other runs.
    pub(crate) fn or(mut self, other: Assigned) -> Assigned {
        self.surely.retain(|name| other.surely.contains(name));
        self.perhaps.extend(other.perhaps);
        self
    }
}

/// The predicates of a block, in the order in which they are evaluated.
pub(crate) fn predicates(block: &StatementBlock) -> Vec<&Predicate> {
    match block {
        StatementBlock::Basic(_) | StatementBlock::Call(_) => Vec::new(),
        StatementBlock::If { predicate, .. } | StatementBlock::While { predicate, .. } => vec![predicate],
        StatementBlock::For { from, to, by, .. } => [Some(from), Some(to), by.as_ref()].into_iter().flatten().collect(),
    }
}

/// What [`predicates`] gives, to be changed.
pub(crate) fn predicates_mut(block: &mut StatementBlock) -> Vec<&mut Predicate> {
    match block {
        StatementBlock::Basic(_) | StatementBlock::Call(_) => Vec::new(),
        StatementBlock::If { predicate, .. } | StatementBlock::While { predicate, .. } => vec![predicate],
        StatementBlock::For { from, to, by, .. } => [Some(from), Some(to), by.as_mut()].into_iter().flatten().collect(),
    }
}

/// The bodies of a block, to be changed.
pub(crate) fn bodies_mut(block: &mut StatementBlock) -> Vec<&mut Vec<StatementBlock>> {
    match block {
        StatementBlock::Basic(_) | StatementBlock::Call(_) => Vec::new(),
        StatementBlock::If { then_body, else_body, .. } => vec![then_body, else_body],
        StatementBlock::While { body, .. } | StatementBlock::For { body, .. } => vec![body],
    }
}

/// Changes every DAG of a program.
pub(crate) fn each_dag(program: &mut Program, change: &mut dyn FnMut(&mut HopDag)) {
    each_dag_within(&mut program.body, change);
    program.functions.values_mut().for_each(|function| each_dag_within(&mut function.body, change));
}

fn each_dag_within(blocks: &mut [StatementBlock], change: &mut dyn FnMut(&mut HopDag)) {
    for block in blocks {
        for predicate in predicates_mut(block) {
            each_dag_within(&mut predicate.prelude, change);
            change(&mut predicate.dag);
        }
        match block {
            StatementBlock::Basic(dag) => change(dag),
            StatementBlock::Call(call) => change(&mut call.arguments),
            _ => bodies_mut(block).into_iter().for_each(|body| each_dag_within(body, change)),
        }
    }
}
