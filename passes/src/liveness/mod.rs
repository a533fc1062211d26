//! Live-variable analysis over the blocks of a program.
//!
//! A variable that nothing reads before it is assigned again need not leave the DAG that assigns it. Dropping such
//! outputs is what lets an intermediate that a script names (`out = 1 - Y * Xw`) be fused away.

use fuseline_ir::hop::{HopDag, HopOp};
use fuseline_ir::program::{Predicate, Program, StatementBlock};
use std::collections::BTreeSet;

#[cfg(test)]
mod tests;

/// Variables whose values are still needed.
type Live = BTreeSet<String>;

/// Removes the outputs of DAGs, and the targets of calls, that nothing needs. `results` are the variables that are
/// needed when the program ends.
pub fn remove_dead_outputs(program: &mut Program, results: &BTreeSet<String>) {
    walk(&mut program.body, results.clone(), true);
    for function in program.functions.values_mut() {
        let results = function.results.iter().map(|result| result.name.clone()).collect();
        walk(&mut function.body, results, true);
    }
}

/// Every variable of the script that the statements of a program, outside of its functions, may assign; names that start
/// with `_` are the compiler's.
pub fn assigned_variables(program: &Program) -> BTreeSet<String> {
    let mut assigned = BTreeSet::new();
    collect_assigned(&program.body, &mut assigned);
    assigned.retain(|name| !name.starts_with('_'));
    assigned
}

fn collect_assigned(blocks: &[StatementBlock], assigned: &mut BTreeSet<String>) {
    for block in blocks {
        match block {
            StatementBlock::Basic(dag) => assigned.extend(dag.outputs.iter().map(|output| output.name.clone())),
            StatementBlock::Call(call) => assigned.extend(call.targets.iter().flatten().cloned()),
            StatementBlock::If { then_body, else_body, .. } => {
                collect_assigned(then_body, assigned);
                collect_assigned(else_body, assigned);
            }
            StatementBlock::While { body, .. } | StatementBlock::For { body, .. } => collect_assigned(body, assigned),
        }
    }
}

/// What is live before the blocks, given what is live after them; with `prune` dead outputs are removed.
fn walk(blocks: &mut [StatementBlock], live_after: Live, prune: bool) -> Live {
    blocks.iter_mut().rev().fold(live_after, |live, block| before(block, live, prune))
}

fn before(block: &mut StatementBlock, mut live: Live, prune: bool) -> Live {
    match block {
        StatementBlock::Basic(dag) => before_dag(dag, &live, prune),
        StatementBlock::Call(call) => {
            for target in &mut call.targets {
                let is_dead = target.as_ref().is_some_and(|name| !live.contains(name));
                if prune && is_dead {
                    *target = None;
                }
            }
            for target in call.targets.iter().flatten() {
                live.remove(target);
            }
            live.extend(call.arguments.reads().map(|(_, name)| name.to_owned()));
            live
        }
        StatementBlock::If { predicate, then_body, else_body, .. } => {
            let mut branches = walk(then_body, live.clone(), prune);
            branches.extend(walk(else_body, live, prune));
            before_predicate(predicate, branches, prune)
        }
        StatementBlock::While { predicate, body, .. } => {
            let entry = fixpoint(live, |live| {
                let before_body = walk(body, live.clone(), false);
                before_predicate(predicate, &before_body | live, false)
            });
            if prune {
                let before_body = walk(body, entry.clone(), true);
                before_predicate(predicate, &before_body | &entry, true);
            }
            entry
        }
        StatementBlock::For { variable, from, to, by, body, .. } => {
            let mut entry = fixpoint(live, |live| {
                let mut before_body = walk(body, live.clone(), false);
                before_body.remove(variable);
                before_body
            });
            if prune {
                walk(body, entry.clone(), true);
            }
            for predicate in [by.as_mut(), Some(to), Some(from)].into_iter().flatten() {
                entry = before_predicate(predicate, entry, prune);
            }
            entry
        }
    }
}

/// What is live where a loop's iterations meet: what is live after it, and before each further iteration.
fn fixpoint(mut live: Live, mut iterate: impl FnMut(&Live) -> Live) -> Live {
    loop {
        let next = &live | &iterate(&live);
        if next == live {
            return live;
        }
        live = next;
    }
}

fn before_predicate(predicate: &mut Predicate, mut live: Live, prune: bool) -> Live {
    live.extend(predicate.dag.reads().map(|(_, name)| name.to_owned()));
    walk(&mut predicate.prelude, live, prune)
}

fn before_dag(dag: &mut HopDag, live: &Live, prune: bool) -> Live {
    if prune {
        dag.outputs.retain(|output| live.contains(&output.name));
    }
    let assigned: Live = dag.outputs.iter().map(|output| output.name.clone()).collect();
    let mut before = live - &assigned;
    before.extend(needed_reads(dag, live));
    before
}

/// The variables that effects and live outputs of a DAG read.
fn needed_reads(dag: &HopDag, live: &Live) -> Live {
    let outputs = dag.outputs.iter().filter(|output| live.contains(&output.name)).map(|output| output.hop);
    let mut needed = cranelift_entity::EntitySet::new();
    for root in outputs.chain(dag.effects.iter().copied()) {
        needed.insert(root);
    }
    let mut variables = Live::new();
    for (id, hop) in dag.hops.iter().rev() {
        if needed.contains(id) {
            for &input in &hop.inputs {
                needed.insert(input);
            }
            if let HopOp::Read(name) = &hop.op {
                variables.insert(name.clone());
            }
        }
    }
    variables
}
