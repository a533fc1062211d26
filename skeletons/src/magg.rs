//! `SpoofMAgg`: several full aggregates over the cells of one main input in one pass (Table 1). The result is a column of
//! one cell per aggregate.

use crate::SkeletonError;
use crate::aggregate::Aggregation;
use crate::nonzeros;
use crate::operator::Operator;
use fuseline_matrix::MatrixBlock;

/// Executes a MAgg plan.
pub(crate) fn execute(operator: &Operator<'_>) -> Result<MatrixBlock, SkeletonError> {
    let aggregation = Aggregation::new(operator);
    match (operator.binding.main.csr(), operator.binding.fit.runs_sparse_entry) {
        (Some(csr), true) => Ok(nonzeros::full(&aggregation, csr)),
        _ => {
            operator.binding.cells()?;
            Ok(aggregation.over(None).into_block())
        }
    }
}
