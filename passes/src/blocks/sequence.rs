//! Blocks in a row: straight-line blocks that become neighbours, because what stood between them went, become one DAG,
//! so that operators are fused across them.
//!
//! Neighbours of the original program stay apart: a script may have cut them on purpose (`while (FALSE) {}`).

use cranelift_entity::SecondaryMap;
use fuseline_ir::hop::{Function, Hop, HopDag, HopId, HopOp, HopOutput, Inputs};
use fuseline_ir::program::StatementBlock;
use std::collections::{HashMap, HashSet};

/// Blocks that are gathered one by one.
#[derive(Debug, Default)]
pub(crate) struct Sequence {
    blocks: Vec<StatementBlock>,
    /// The last block, while others may join it.
    open: Option<Open>,
    /// Whether what stood here went, so that the next block may join the last.
    is_joint: bool,
}

impl Sequence {
    /// Appends a block that stays as it is.
    pub(crate) fn push(&mut self, block: StatementBlock) {
        let is_joint = std::mem::take(&mut self.is_joint);
        match block {
            StatementBlock::Basic(next) => match &mut self.open {
                Some(open) if is_joint && open.may_join(&next) => open.append(&next),
                _ => {
                    self.close();
                    self.open = Some(Open::new(next));
                }
            },
            block => {
                self.close();
                self.blocks.push(block);
            }
        }
    }

    /// Appends blocks in place of one, whose neighbours they may join.
    pub(crate) fn splice(&mut self, blocks: Vec<StatementBlock>) {
        self.is_joint = true;
        for block in blocks {
            self.push(block);
        }
        self.is_joint = true;
    }

    /// The blocks.
    pub(crate) fn finish(mut self) -> Vec<StatementBlock> {
        self.close();
        self.blocks
    }

    fn close(&mut self) {
        self.blocks.extend(self.open.take().map(|open| StatementBlock::Basic(open.finish())));
    }
}

/// A DAG that other blocks may join, with what they need to know of it at hand, so that each costs no more than its own
/// operators.
#[derive(Debug)]
struct Open {
    dag: HopDag,
    /// Whether a block may follow in the same DAG, whatever it does.
    is_quiet: bool,
    /// Where the values of variables are, once a block has joined.
    values: Option<HashMap<String, HopId>>,
    /// The outputs, once a block has joined: of those of one name the last one holds.
    outputs: Vec<HopOutput>,
}

impl Open {
    fn new(mut dag: HopDag) -> Open {
        let outputs = std::mem::take(&mut dag.outputs);
        Open { is_quiet: dag.effects.is_empty() && !asks(&dag, Function::Time), dag, values: None, outputs }
    }

    /// Whether two blocks in one DAG do the same as one after the other. A DAG reads files first, acts next and computes
    /// what it assigns last: with effects in either, the order of effects and errors could change.
    fn may_join(&self, next: &HopDag) -> bool {
        let is_quiet = next.effects.is_empty() && !asks(next, Function::Read) && !asks(next, Function::Time);
        self.is_quiet && is_quiet
    }

    /// Makes the DAG compute what it and then `next` computes.
    fn append(&mut self, next: &HopDag) {
        let Open { dag, values, outputs, .. } = self;
        let values = values.get_or_insert_with(|| {
            let reads = dag.reads().map(|(id, name)| (name.to_owned(), id));
            let outputs = outputs.iter().map(|output| (output.name.clone(), output.hop));
            reads.chain(outputs).collect()
        });
        let mut new_ids = SecondaryMap::with_default(HopId::from_u32(0));
        for (id, hop) in &next.hops {
            new_ids[id] = match &hop.op {
                HopOp::Read(name) => *values.entry(name.clone()).or_insert_with(|| dag.push(hop.clone())),
                _ => {
                    let inputs: Inputs = hop.inputs.iter().map(|&input| new_ids[input]).collect();
                    dag.push(Hop { inputs, ..hop.clone() })
                }
            };
        }
        for output in &next.outputs {
            values.insert(output.name.clone(), new_ids[output.hop]);
            outputs.push(HopOutput { name: output.name.clone(), hop: new_ids[output.hop] });
        }
    }

    fn finish(self) -> HopDag {
        let Open { mut dag, mut outputs, .. } = self;
        let mut seen = HashSet::new();
        let mut is_last: Vec<bool> = outputs.iter().rev().map(|output| seen.insert(output.name.as_str())).collect();
        drop(seen);
        outputs.retain(|_| is_last.pop() == Some(true));
        dag.outputs = outputs;
        dag
    }
}

fn asks(dag: &HopDag, function: Function) -> bool {
    dag.hops.values().any(|hop| matches!(hop.op, HopOp::Parameterized { function: known, .. } if known == function))
}
