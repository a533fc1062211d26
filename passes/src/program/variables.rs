//! The parts of blocks, the variables that these assign, and those that surely have a value.

use fuseline_ir::hop::HopDag;
use fuseline_ir::program::{Predicate, Program, StatementBlock};
use std::collections::BTreeSet;

/// Names of variables.
pub(super) type Names = BTreeSet<String>;

/// Adds every variable that blocks may assign: also loop variables, and what statements before predicates assign.
pub(super) fn collect_assigned(blocks: &[StatementBlock], assigned: &mut Names) {
    for block in blocks {
        for predicate in predicates(block) {
            collect_assigned(&predicate.prelude, assigned);
        }
        match block {
            StatementBlock::Basic(dag) => assigned.extend(dag.outputs.iter().map(|output| output.name.clone())),
            StatementBlock::Call(call) => assigned.extend(call.targets.iter().flatten().cloned()),
            StatementBlock::If { then_body, else_body, .. } => {
                collect_assigned(then_body, assigned);
                collect_assigned(else_body, assigned);
            }
            StatementBlock::While { body, .. } => collect_assigned(body, assigned),
            StatementBlock::For { variable, body, .. } => {
                assigned.insert(variable.clone());
                collect_assigned(body, assigned);
            }
        }
    }
}

/// The predicates of a block, in the order in which they are evaluated.
pub(super) fn predicates(block: &StatementBlock) -> Vec<&Predicate> {
    match block {
        StatementBlock::Basic(_) | StatementBlock::Call(_) => Vec::new(),
        StatementBlock::If { predicate, .. } | StatementBlock::While { predicate, .. } => vec![predicate],
        StatementBlock::For { from, to, by, .. } => [Some(from), Some(to), by.as_ref()].into_iter().flatten().collect(),
    }
}

/// As [`predicates`], to be changed.
pub(super) fn predicates_mut(block: &mut StatementBlock) -> Vec<&mut Predicate> {
    match block {
        StatementBlock::Basic(_) | StatementBlock::Call(_) => Vec::new(),
        StatementBlock::If { predicate, .. } | StatementBlock::While { predicate, .. } => vec![predicate],
        StatementBlock::For { from, to, by, .. } => [Some(from), Some(to), by.as_mut()].into_iter().flatten().collect(),
    }
}

/// The bodies of a block, to be changed.
pub(super) fn bodies_mut(block: &mut StatementBlock) -> Vec<&mut Vec<StatementBlock>> {
    match block {
        StatementBlock::Basic(_) | StatementBlock::Call(_) => Vec::new(),
        StatementBlock::If { then_body, else_body, .. } => vec![then_body, else_body],
        StatementBlock::While { body, .. } | StatementBlock::For { body, .. } => vec![body],
    }
}

/// Adds the variables that surely have a value after a block, given those before.
pub(super) fn define(block: &StatementBlock, defined: &mut Names) {
    for predicate in predicates(block) {
        predicate.prelude.iter().for_each(|block| define(block, defined));
    }
    match block {
        StatementBlock::Basic(dag) => defined.extend(dag.outputs.iter().map(|output| output.name.clone())),
        StatementBlock::Call(call) => defined.extend(call.targets.iter().flatten().cloned()),
        StatementBlock::If { then_body, else_body, .. } => {
            let mut otherwise = defined.clone();
            then_body.iter().for_each(|block| define(block, defined));
            else_body.iter().for_each(|block| define(block, &mut otherwise));
            defined.retain(|name| otherwise.contains(name));
        }
        // A loop may not run at all.
        StatementBlock::While { .. } | StatementBlock::For { .. } => {}
    }
}

/// Changes every DAG of a program.
pub(super) fn each_dag(program: &mut Program, change: &mut dyn FnMut(&mut HopDag)) {
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
