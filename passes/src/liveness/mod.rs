//! Live-variable analysis over the blocks of a program.
//!
//! A variable that nothing reads before it is assigned again need not leave the DAG that assigns it. Dropping such
//! outputs is what lets an intermediate that a script names (`out = 1 - Y * Xw`) be fused away.

use crate::blocks::{Mentions, Place};
use fuseline_ir::hop::{HopDag, HopOp};
use fuseline_ir::program::{Predicate, Program, StatementBlock};
use std::collections::{BTreeSet, HashMap};

#[cfg(test)]
mod tests;

/// Variables whose values are still needed.
type Live = BTreeSet<String>;

/// Removes the outputs of DAGs, and the targets of calls, that nothing needs. `results` are the variables that are
/// needed when the program ends.
pub fn remove_dead_outputs(program: &mut Program, results: &BTreeSet<String>) {
    remove(program, results);
}

/// [`remove_dead_outputs`], and how many last-level blocks and predicates were looked at for that.
fn remove(program: &mut Program, results: &BTreeSet<String>) -> usize {
    let mut analysis = Analysis { mentions: Mentions::of_program(program), heads: HashMap::new(), visits: 0 };
    analysis.walk(&mut program.body, results.clone(), true);
    for function in program.functions.values_mut() {
        let results = function.results.iter().map(|result| result.name.clone()).collect();
        analysis.walk(&mut function.body, results, true);
    }
    analysis.visits
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

struct Analysis {
    mentions: Mentions,
    /// For each loop what is live where its iterations meet, of the variables that it mentions, as far as it was found.
    heads: HashMap<Place, Live>,
    visits: usize,
}

impl Analysis {
    /// What is live before the blocks, given what is live after them; with `prune` dead outputs are removed.
    fn walk(&mut self, blocks: &mut [StatementBlock], live_after: Live, prune: bool) -> Live {
        blocks.iter_mut().rev().fold(live_after, |live, block| self.before(block, live, prune))
    }

    fn before(&mut self, block: &mut StatementBlock, mut live: Live, prune: bool) -> Live {
        match block {
            StatementBlock::Basic(dag) => self.before_dag(dag, live, prune),
            StatementBlock::Call(call) => {
                self.visits += 1;
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
            _ => {
                let mentioned = self.mentions.of(block);
                let after = mentioned.iter().filter_map(|name| live.take(&**name)).collect();
                live.extend(self.before_nested(block, after, prune));
                live
            }
        }
    }

    /// What is live before a loop or a branch, of the variables that it mentions.
    fn before_nested(&mut self, block: &mut StatementBlock, live: Live, prune: bool) -> Live {
        let place = Place::from(&*block);
        match block {
            StatementBlock::Basic(_) | StatementBlock::Call(_) => live,
            StatementBlock::If { predicate, then_body, else_body, .. } => {
                let mut branches = self.walk(then_body, live.clone(), prune);
                branches.extend(self.walk(else_body, live, prune));
                self.before_predicate(predicate, branches, prune)
            }
            StatementBlock::While { predicate, body, .. } => {
                let entry = self.fixpoint(place, live, &mut |analysis, live| {
                    let before_body = analysis.walk(body, live.clone(), false);
                    analysis.before_predicate(predicate, &before_body | live, false)
                });
                if prune {
                    let before_body = self.walk(body, entry.clone(), true);
                    self.before_predicate(predicate, &before_body | &entry, true);
                }
                entry
            }
            StatementBlock::For { variable, from, to, by, body, .. } => {
                let mut entry = self.fixpoint(place, live, &mut |analysis, live| {
                    let mut before_body = analysis.walk(body, live.clone(), false);
                    before_body.remove(variable);
                    before_body
                });
                if prune {
                    self.walk(body, entry.clone(), true);
                }
                for predicate in [by.as_mut(), Some(to), Some(from)].into_iter().flatten() {
                    entry = self.before_predicate(predicate, entry, prune);
                }
                entry
            }
        }
    }

    /// What is live where a loop's iterations meet: what is live after it, and before each further iteration.
    ///
    /// A loop within loops is met once for each of their iterations, with more that is live each time. It goes on from
    /// what it found so far, and there is nothing to do where that is live already.
    fn fixpoint(&mut self, place: Place, mut live: Live, iterate: &mut dyn FnMut(&mut Self, &Live) -> Live) -> Live {
        if let Some(found) = self.heads.get(&place) {
            if live.is_subset(found) {
                return found.clone();
            }
            live.extend(found.iter().cloned());
        }
        loop {
            let next = &live | &iterate(self, &live);
            if next == live {
                self.heads.insert(place, live.clone());
                return live;
            }
            live = next;
        }
    }

    fn before_predicate(&mut self, predicate: &mut Predicate, mut live: Live, prune: bool) -> Live {
        self.visits += 1;
        live.extend(predicate.dag.reads().map(|(_, name)| name.to_owned()));
        self.walk(&mut predicate.prelude, live, prune)
    }

    fn before_dag(&mut self, dag: &mut HopDag, mut live: Live, prune: bool) -> Live {
        self.visits += 1;
        if prune {
            dag.outputs.retain(|output| live.contains(&output.name));
        }
        let needed = needed_reads(dag, &live);
        dag.outputs.iter().for_each(|output| _ = live.remove(&output.name));
        live.extend(needed);
        live
    }
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
