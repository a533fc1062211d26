//! What was found out about a plan when it last ran on dense inputs, kept for the next run on dense inputs of the same
//! dimensions: small operators in a loop spend most of their time on it otherwise.

use crate::fit::{Course, Fit};
use crate::roles::INLINE_INPUTS;
use fuseline_matrix::MatrixBlock;
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, PoisonError};

/// What holds of a plan on dense inputs of some dimensions, whatever their values and the plan's scalars.
#[derive(Debug)]
pub(crate) struct Known {
    dims: SmallVec<[(usize, usize); INLINE_INPUTS]>,
    pub(crate) fit: Arc<Fit>,
    pub(crate) course: Course,
}

/// The last of these.
#[derive(Debug, Default)]
pub(crate) struct LastKnown(Mutex<Option<Arc<Known>>>);

impl LastKnown {
    /// What is known on inputs of these layouts.
    pub(crate) fn on(&self, inputs: &[MatrixBlock]) -> Option<Arc<Known>> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |known: &&Arc<Known>| {
            known.dims.len() == inputs.len()
                && known.dims.iter().zip(inputs).all(|(dims, block)| *dims == block.dims() && is_dense(block))
        };
        last.as_ref().filter(is_same).cloned()
    }

    /// Keeps what was found out on these inputs, if they are dense.
    pub(crate) fn keep(&self, inputs: &[MatrixBlock], fit: &Arc<Fit>, course: &Course) {
        if inputs.iter().all(is_dense) {
            let dims = inputs.iter().map(MatrixBlock::dims).collect();
            let known = Known { dims, fit: Arc::clone(fit), course: course.clone() };
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(known));
        }
    }
}

fn is_dense(block: &MatrixBlock) -> bool {
    !block.format().is_sparse()
}
