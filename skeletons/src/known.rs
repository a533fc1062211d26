//! What was found out about a plan when it last ran, kept for the next run on inputs that are laid out alike: small operators
//! in a loop spend most of their time on it otherwise.

use crate::fit::{Course, Fit, sparse_sides};
use crate::roles::{INLINE_INPUTS, INLINE_SIDES};
use fuseline_ir::cplan::CInputId;
use fuseline_matrix::MatrixBlock;
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, PoisonError};

/// What of a plan's inputs decides how it runs on them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layouts {
    dims: SmallVec<[(usize, usize); INLINE_INPUTS]>,
    /// Whether the main input is sparse.
    has_sparse_main: bool,
    /// The sides that are, in the order in which they meet.
    sparse_sides: SmallVec<[CInputId; INLINE_SIDES]>,
    /// The bits of scalars, and whether zeros annihilate by IEEE alone, which say what may be left out of what is sparse:
    /// beside dense inputs neither matters.
    scalars: SmallVec<[u64; INLINE_INPUTS]>,
    strict_ieee: bool,
}

impl Layouts {
    /// The layouts of these inputs.
    pub(crate) fn of(inputs: &[MatrixBlock], scalars: &[f64], strict_ieee: bool) -> Layouts {
        let has_sparse_main = inputs.first().is_some_and(|main| main.format().is_sparse());
        let sparse_sides = sparse_sides(inputs);
        let is_any_sparse = has_sparse_main || !sparse_sides.is_empty();
        let scalars = if is_any_sparse { scalars } else { &[] };
        Layouts {
            dims: inputs.iter().map(MatrixBlock::dims).collect(),
            has_sparse_main,
            sparse_sides,
            scalars: scalars.iter().map(|scalar| scalar.to_bits()).collect(),
            strict_ieee: strict_ieee && is_any_sparse,
        }
    }
}

/// What holds of a plan on inputs of some layouts, whatever else their values are.
#[derive(Debug)]
pub(crate) struct Known {
    layouts: Layouts,
    pub(crate) fit: Arc<Fit>,
    pub(crate) course: Course,
}

/// The last of these.
#[derive(Debug, Default)]
pub(crate) struct LastKnown(Mutex<Option<Arc<Known>>>);

impl LastKnown {
    /// What is known on inputs of these layouts.
    pub(crate) fn on(&self, layouts: &Layouts) -> Option<Arc<Known>> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().filter(|known| known.layouts == *layouts).cloned()
    }

    /// Keeps what was found out on inputs of these layouts.
    pub(crate) fn keep(&self, layouts: Layouts, fit: &Arc<Fit>, course: &Course) {
        let known = Known { layouts, fit: Arc::clone(fit), course: course.clone() };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(known));
    }
}
