//! The matrices of a collection, and memory for results that loops written by hand give: it is kept from run to run, as
//! sessions keep theirs.

use crate::suite::Collection;
use fuseline::{Csr, Dense, Error, Layout, MatrixBlock, Session, Variables};
use fuseline_matrix::{Buffer, BufferPool};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Results have at most this many bytes.
const LARGEST_RESULTS: usize = 1 << 28;

pub(crate) struct Data {
    blocks: BTreeMap<&'static str, MatrixBlock>,
    pool: Arc<BufferPool>,
}

impl Data {
    /// Runs the script of a collection.
    pub(crate) fn make(session: &Session, collection: &Collection) -> Result<Data, Error> {
        let script = session.compile_script(collection.name, collection.script, &[])?;
        let outcome = session.run(&script, Variables::new(), &mut std::io::sink())?;
        let block = |&name: &&'static str| Ok((name, outcome.matrix(name)?.clone()));
        let blocks = collection.inputs.iter().map(block).collect::<Result<_, Error>>()?;
        Ok(Data { blocks, pool: BufferPool::new(LARGEST_RESULTS) })
    }

    pub(crate) fn blocks(&self) -> impl Iterator<Item = (&'static str, &MatrixBlock)> {
        self.blocks.iter().map(|(&name, block)| (name, block))
    }

    pub(crate) fn csr(&self, name: &str) -> &Csr {
        match self.blocks[name].layout() {
            Layout::Sparse(Cow::Borrowed(csr)) => csr,
            layout => panic!("{name} is not stored sparse but {layout:?}"),
        }
    }

    /// A matrix with all its zeros, which are put in where it is stored sparse.
    pub(crate) fn dense(&self, name: &str) -> Cow<'_, Dense> {
        self.blocks[name].to_dense()
    }

    /// Memory for a dense result.
    pub(crate) fn dense_result(&self, rows: usize, cols: usize) -> Dense {
        Dense::uninit_in(&self.pool, rows, cols)
    }

    /// Memory for sums.
    pub(crate) fn dense_zeros(&self, rows: usize, cols: usize) -> Dense {
        Dense::zeros_in(&self.pool, rows, cols)
    }

    /// Memory for the values of a sparse result.
    pub(crate) fn values(&self, len: usize) -> Buffer {
        BufferPool::take(&self.pool, len)
    }
}
