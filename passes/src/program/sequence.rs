//! Blocks in a row: straight-line blocks that become neighbours, because what stood between them went, become one DAG,
//! so that operators are fused across them.
//!
//! Neighbours of the original program stay apart: a script may have cut them on purpose (`while (FALSE) {}`).

use cranelift_entity::SecondaryMap;
use fuseline_ir::hop::{Function, HopDag, HopId, HopOp, HopOutput, Inputs};
use fuseline_ir::program::StatementBlock;
use std::collections::HashMap;

/// Blocks that are gathered one by one.
#[derive(Debug, Default)]
pub(crate) struct Sequence {
    blocks: Vec<StatementBlock>,
    /// Whether what stood here went, so that the next block may join the last.
    is_joint: bool,
}

impl Sequence {
    /// Appends a block that stays as it is.
    pub(crate) fn push(&mut self, block: StatementBlock) {
        let is_joint = std::mem::take(&mut self.is_joint);
        if let (true, Some(StatementBlock::Basic(last)), StatementBlock::Basic(next)) =
            (is_joint, self.blocks.last_mut(), &block)
            && may_join(last, next)
        {
            append(last, next);
        } else {
            self.blocks.push(block);
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
    pub(crate) fn finish(self) -> Vec<StatementBlock> {
        self.blocks
    }
}

/// Whether two blocks in one DAG do the same as one after the other. A DAG reads files first, acts next and computes
/// what it assigns last: with effects in either, the order of effects and errors could change.
fn may_join(first: &HopDag, second: &HopDag) -> bool {
    let asks = |dag: &HopDag, function: Function| {
        dag.hops.values().any(|hop| matches!(hop.op, HopOp::Parameterized { function: known, .. } if known == function))
    };
    first.effects.is_empty()
        && second.effects.is_empty()
        && !asks(second, Function::Read)
        && ![first, second].into_iter().any(|dag| asks(dag, Function::Time))
}

/// Makes `first` compute what it and then `second` computes.
fn append(first: &mut HopDag, second: &HopDag) {
    let mut values: HashMap<String, HopId> = first
        .hops
        .iter()
        .filter_map(|(id, hop)| match &hop.op {
            HopOp::Read(name) => Some((name.clone(), id)),
            _ => None,
        })
        .collect();
    values.extend(first.outputs.iter().map(|output| (output.name.clone(), output.hop)));
    let mut new_ids = SecondaryMap::with_default(HopId::from_u32(0));
    for (id, hop) in &second.hops {
        new_ids[id] = match &hop.op {
            HopOp::Read(name) => *values.entry(name.clone()).or_insert_with(|| first.push(hop.clone())),
            _ => {
                let inputs: Inputs = hop.inputs.iter().map(|&input| new_ids[input]).collect();
                let mut hop = hop.clone();
                hop.inputs = inputs;
                first.push(hop)
            }
        };
    }
    let is_overwritten = |name: &str| second.outputs.iter().any(|output| output.name == name);
    first.outputs.retain(|output| !is_overwritten(&output.name));
    first
        .outputs
        .extend(second.outputs.iter().map(|output| HopOutput { name: output.name.clone(), hop: new_ids[output.hop] }));
}
