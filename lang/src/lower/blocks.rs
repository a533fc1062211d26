//! The blocks of a body while they are being built.

use fuseline_ir::hop::{HopDag, HopId};
use fuseline_ir::program::StatementBlock;
use std::collections::BTreeMap;

/// Finished blocks, and the DAG of the straight-line statements since.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    done: Vec<StatementBlock>,
    pub(super) dag: HopDag,
    /// The current values of variables that the DAG has read or assigned.
    pub(super) values: BTreeMap<String, HopId>,
}

impl Blocks {
    /// Ends the current DAG.
    pub(super) fn cut(&mut self) {
        let dag = self.take_dag();
        if !dag.is_empty() {
            self.done.push(StatementBlock::Basic(dag));
        }
    }

    /// Ends the current DAG and appends a block.
    pub(super) fn push(&mut self, block: StatementBlock) {
        self.cut();
        self.done.push(block);
    }

    /// Gives the variable this value from here on.
    pub(super) fn assign(&mut self, name: &str, value: HopId) {
        self.dag.write(name, value);
        self.values.insert(name.to_owned(), value);
    }

    /// The current DAG, which is then empty.
    pub(super) fn take_dag(&mut self) -> HopDag {
        self.values.clear();
        std::mem::take(&mut self.dag)
    }

    /// All blocks, the current DAG last.
    pub(super) fn finish(mut self) -> Vec<StatementBlock> {
        self.cut();
        self.done
    }

    /// The finished blocks, with the current DAG apart.
    pub(super) fn finish_with_dag(mut self) -> (Vec<StatementBlock>, HopDag) {
        let dag = self.take_dag();
        (self.done, dag)
    }
}
