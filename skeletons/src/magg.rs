//! `SpoofMAgg`: several full aggregates over the cells of one main input in one pass (Table 1). The result is a column of
//! one cell per aggregate.

use crate::SkeletonError;
use crate::aggregate::Aggregation;
use crate::cell::{cells_partition, positions_partition};
use crate::operator::Operator;
use fuseline_matrix::MatrixBlock;

/// Executes a MAgg plan.
pub(crate) fn execute(operator: &Operator<'_>) -> Result<MatrixBlock, SkeletonError> {
    let aggregation = Aggregation::new(operator);
    match (operator.binding.main, operator.binding.sparse_entry) {
        (MatrixBlock::Sparse(csr), true) => {
            Ok(aggregation.over_segments(csr, &positions_partition(operator, csr), true))
        }
        _ => {
            operator.binding.cells()?;
            Ok(aggregation.over_tiles(&cells_partition(operator)))
        }
    }
}
