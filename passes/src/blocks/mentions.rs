//! The variables that each loop and each branch of a program reads or assigns: whatever else is known at such a block
//! is of no matter to it, and holds after it as it did before.
//!
//! Analyses hand a block only what it mentions, so that they take time by the size of the program, not by the number of
//! its blocks times that of its variables.

use super::variables::predicates;
use fuseline_ir::program::{Program, StatementBlock};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

/// The place of a block in memory, which names it while nobody moves the blocks of the program.
pub(crate) type Place = *const StatementBlock;

/// The variables that each block with blocks inside mentions.
#[derive(Debug, Default)]
pub(crate) struct Mentions {
    of_blocks: HashMap<Place, Rc<BTreeSet<Rc<str>>>>,
}

impl Mentions {
    /// What all blocks of a program mention.
    pub(crate) fn of_program(program: &Program) -> Mentions {
        let mut mentions = Mentions::default();
        mentions.collect(&program.body, &mut BTreeSet::new());
        for function in program.functions.values() {
            mentions.collect(&function.body, &mut BTreeSet::new());
        }
        mentions
    }

    /// The variables that a block with blocks inside mentions, in order.
    pub(crate) fn of(&self, block: &StatementBlock) -> Rc<BTreeSet<Rc<str>>> {
        self.of_blocks[&Place::from(block)].clone()
    }

    /// Adds what blocks mention to `names`.
    fn collect(&mut self, blocks: &[StatementBlock], names: &mut BTreeSet<Rc<str>>) {
        for block in blocks {
            match block {
                StatementBlock::Basic(dag) => {
                    names.extend(dag.reads().map(|(_, name)| Rc::from(name)));
                    names.extend(dag.outputs.iter().map(|output| Rc::from(output.name.as_str())));
                }
                StatementBlock::Call(call) => {
                    names.extend(call.arguments.reads().map(|(_, name)| Rc::from(name)));
                    names.extend(call.targets.iter().flatten().map(|target| Rc::from(target.as_str())));
                }
                _ => names.extend(self.collect_within(block).iter().cloned()),
            }
        }
    }

    fn collect_within(&mut self, block: &StatementBlock) -> Rc<BTreeSet<Rc<str>>> {
        let mut names = BTreeSet::new();
        for predicate in predicates(block) {
            self.collect(&predicate.prelude, &mut names);
            names.extend(predicate.dag.reads().map(|(_, name)| Rc::from(name)));
        }
        match block {
            StatementBlock::Basic(_) | StatementBlock::Call(_) => {}
            StatementBlock::If { then_body, else_body, .. } => {
                self.collect(then_body, &mut names);
                self.collect(else_body, &mut names);
            }
            StatementBlock::While { body, .. } => self.collect(body, &mut names),
            StatementBlock::For { variable, body, .. } => {
                names.insert(Rc::from(variable.as_str()));
                self.collect(body, &mut names);
            }
        }
        let names = Rc::new(names);
        self.of_blocks.insert(Place::from(block), names.clone());
        names
    }
}
