//! Why an operator cannot run on its inputs.

use fuseline_ir::cplan::{CInputId, CNodeId};
use thiserror::Error;

/// Inputs that do not fit a plan. Nothing was computed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SkeletonError {
    /// A wrong number of matrices.
    #[error("the fused operator takes {expected} matrices, not {actual}")]
    Matrices {
        /// How many the plan has.
        expected: usize,
        /// How many were given.
        actual: usize,
    },
    /// A wrong number of scalars.
    #[error("the fused operator takes {expected} scalars, not {actual}")]
    Scalars {
        /// How many the plan has.
        expected: usize,
        /// How many were given.
        actual: usize,
    },
    /// An input of other dimensions than its use needs.
    #[error("{input} of the fused operator is {rows} x {cols}, where {expected} is needed")]
    Dimensions {
        /// The input.
        input: CInputId,
        /// Its rows.
        rows: usize,
        /// Its columns.
        cols: usize,
        /// What fits.
        expected: String,
    },
    /// Vectors of different lengths in one operation.
    #[error("{node} of the fused operator combines vectors of lengths {left} and {right}")]
    Lengths {
        /// The operation.
        node: CNodeId,
        /// One length.
        left: usize,
        /// The other length.
        right: usize,
    },
    /// One input read in ways that need different layouts, such as one cell per row and as a whole vector. Plans have
    /// one input for each way.
    #[error("{input} of the fused operator is read in two ways; give it one input for each")]
    Roles {
        /// The input.
        input: CInputId,
    },
    /// More cells or columns than can be addressed.
    #[error("the fused operator meets a {rows} x {cols} matrix, which is too large to be addressed")]
    TooLarge {
        /// Rows.
        rows: usize,
        /// Columns.
        cols: usize,
    },
    /// The backend compiled a plan without the entry that its template needs.
    #[error("the compiled operator has no entry for sparse units, which {template} plans need")]
    NoSparseEntry {
        /// The template.
        template: &'static str,
    },
}
