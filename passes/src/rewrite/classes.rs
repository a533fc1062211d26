//! Classes of equal values as plain data: the operators that compute each, and a choice among them.

use super::cost::Cost;
use fuseline_ir::hop::{HopId, HopOp};
use smallvec::SmallVec;

/// One operator that computes the value of a class.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) op: HopOp,
    /// Classes of the inputs.
    pub(super) inputs: SmallVec<[usize; 3]>,
    pub(super) cost: Cost,
    /// The first operator of the input DAG that it is.
    pub(super) original: Option<HopId>,
}

/// For every class, its candidates; classes without candidates are never used.
pub(super) type Classes = Vec<Vec<Candidate>>;

/// For every class, the candidate that was chosen; `None` where no plan needs the class.
pub(super) type Plan = Vec<Option<usize>>;
