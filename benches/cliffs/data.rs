//! The matrices that expressions read, which those of equal inputs share.

use crate::expression::Input;
use fuseline::{CompileOptions, Error, MatrixBlock, Mode, Session, Variables};
use std::collections::BTreeMap;

/// Bytes that are kept for other expressions.
const MOST_BYTES: usize = 3 << 30;

pub(crate) struct Data {
    session: Session,
    /// By the call that generates them.
    blocks: BTreeMap<String, MatrixBlock>,
}

impl Data {
    /// No matrices yet; they will lie in the memory of a session.
    pub(crate) fn within(session: &Session) -> Result<Data, Error> {
        let session = session.reconfigured(CompileOptions { mode: Mode::Base, ..session.options().clone() })?;
        Ok(Data { session, blocks: BTreeMap::new() })
    }

    pub(crate) fn block(&mut self, input: &Input) -> Result<MatrixBlock, Error> {
        let call = input.to_string();
        if let Some(block) = self.blocks.get(&call) {
            return Ok(block.clone());
        }
        if self.blocks.values().map(MatrixBlock::bytes).sum::<usize>() > MOST_BYTES {
            self.blocks.clear();
        }
        let script = self.session.compile_script("<data>", &format!("M = {call}"), &[])?;
        let outcome = self.session.run(&script, Variables::new(), &mut std::io::sink())?;
        let block = outcome.matrix("M")?.clone();
        self.blocks.insert(call, block.clone());
        Ok(block)
    }
}
