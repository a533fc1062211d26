//! The checker of selections: whether a plan is complete and executable and costs what it says, and whether nothing
//! undercuts its bound. It shares no code with the solvers but the cost model.

mod bound;
mod plan;
#[cfg(test)]
mod tests;

use super::search::PartitionSearch;
use super::{FusionPlan, SearchLimits, SelectPolicy, exact, prepare};
use crate::cost::{CostModel, prune_impossible};
use crate::facts::Context;
use crate::template::CoverError;
use bumpalo::Bump;
use fuseline_ir::hop::HopId;
use fuseline_ir::memo::MemoTable;
use thiserror::Error;

pub(super) use bound::{Certificate, Step, proven_bound};
pub use plan::check_plan;

/// Why a plan or a bound is not what it says: a defect of selection.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// A cover that is none.
    #[error("the cover that ends in {root} is none: {error}")]
    Cover {
        /// Its first root.
        root: HopId,
        /// The rule that it breaks.
        error: CoverError,
    },
    /// Several operators compute the same value.
    #[error("{0} is computed by several operators")]
    ComputedTwice(HopId),
    /// An operator of which nothing needs the result.
    #[error("nothing needs {0}, which an operator computes")]
    Unneeded(HopId),
    /// A value that operators need and none computes.
    #[error("no operator computes {0}")]
    Missing(HopId),
    /// Operators that wait for each other.
    #[error("the operator that computes {0} depends on itself")]
    Cycle(HopId),
    /// A fused operator of a partition that is not among the covers.
    #[error("no cover is the fused operator that computes {0}")]
    Uncovered(HopId),
    /// A partition, or a whole plan, whose operators do not cost what it says, in seconds.
    #[error("the operators cost {found} s, not {claimed} s")]
    Cost {
        /// What the plan says.
        claimed: f64,
        /// The sum over the operators.
        found: f64,
    },
    /// A bound that lies above the cost or above what the certificate proves, in seconds.
    #[error("the bound of {claimed} s lies above {proven} s")]
    Bound {
        /// What the plan says.
        claimed: f64,
        /// What is known.
        proven: f64,
    },
    /// A group that was given up though its readers may gain by it.
    #[error("{0} was given up, but its readers may gain more by it than it costs")]
    GivenUp(HopId),
    /// A message of an elimination that exceeds what it stands for, or leaves something out.
    #[error("the message that {0} leaves is wrong")]
    Message(HopId),
}

/// Relative difference that the order of sums explains.
const ROUNDING: f64 = 1e-9;

/// Whether a number is at most another one, but for rounding.
fn is_at_most(one: f64, other: f64) -> bool {
    one <= other * (1.0 + ROUNDING)
}

/// Checks the bounds of a plan that the exact solver found under these limits: where the solver leaves a certificate, that
/// proves the partition's bound. Gives the number of partitions for which that is so; of the others the search for
/// operators ended at its limit, or the proof is a search instead of an elimination.
///
/// # Errors
/// A certificate that proves less than the bound, or nothing.
pub fn check_bounds(
    context: &Context<'_>,
    memo: &MemoTable,
    model: &CostModel,
    limits: &SearchLimits,
    plan: &FusionPlan,
) -> Result<usize, CertificateError> {
    let mut memo = prepare(context, memo, SelectPolicy::CostBased);
    prune_impossible(context, model, &mut memo);
    let mut certified = 0;
    for partition in &plan.partitions {
        let scratch = Bump::new();
        let search = PartitionSearch::new(context, &memo, &partition.partition, model, &scratch);
        let certificate = exact::certify(&search, limits.budget);
        if let Some(certificate) = certificate {
            let (claimed, proven) = (partition.bound, proven_bound(context, model, &certificate)?);
            if !is_at_most(claimed, proven) {
                return Err(CertificateError::Bound { claimed, proven });
            }
            certified += 1;
        }
    }
    Ok(certified)
}
