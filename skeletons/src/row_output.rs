//! Outputs of Row plans, alone or among those of a multi-aggregate: what blocks accumulate for them, what rows that are not
//! visited contribute, and how the accumulated cells become the result.

use crate::SkeletonError;
use crate::accumulate::Accumulation;
use crate::binding::Binding;
use crate::operator::Operator;
use crate::output::transposed;
use crate::profile::RowDims;
use crate::zeros::take_equal_cells;
use fuseline_ir::cplan::{COutput, ProductOrder};
use fuseline_ir::ops::AggOp;
use fuseline_matrix::Dense;

/// An output with the lengths of its vectors in this execution.
pub(crate) struct RowOutput {
    output: COutput,
    /// Cells of the output's node for each row: 1 for scalars.
    node_len: usize,
    /// Rows and columns of the result.
    dims: RowDims,
    /// Whether the accumulator is the transpose of the result.
    is_transposed: bool,
}

impl RowOutput {
    /// An output of the plan.
    ///
    /// # Errors
    /// A product has more cells than can be addressed.
    pub(crate) fn new(binding: &Binding<'_>, output: COutput) -> Result<Self, SkeletonError> {
        let node_len = binding.vector_length(output.node()).unwrap_or(1);
        let dims = RowDims::of(binding, &output)?;
        // Products are added up short-major, those of a long vector that lies by position long-major.
        let is_long_major = |long| binding.fit.positions.contains(long);
        let is_transposed = match output {
            COutput::RowProduct { long, order: ProductOrder::ShortByLong, .. } => is_long_major(long),
            COutput::RowProduct { long, short, .. } => binding.vector_length(short).is_some() && !is_long_major(long),
            _ => false,
        };
        Ok(RowOutput { output, node_len, dims, is_transposed })
    }

    /// The cells that each row gives.
    pub(crate) fn cells_per_row(&self) -> usize {
        self.node_len
    }

    /// How what blocks accumulate merges; sums where nothing does.
    fn merge(&self) -> AggOp {
        self.output.merge().unwrap_or(AggOp::Sum)
    }

    /// Whether rows of zeros contribute nothing.
    fn ignores_zeros(&self) -> bool {
        self.merge().ignores_zeros()
    }

    fn is_full(&self) -> bool {
        matches!(self.output, COutput::FullAgg(..))
    }

    /// What blocks accumulate for the output.
    pub(crate) fn accumulation<'a>(&self, operator: &'a Operator<'a>) -> Accumulation<'a> {
        let RowDims { rows, cols } = self.dims;
        let row_stride = if self.is_transposed { rows } else { cols };
        Accumulation { operator, len: rows * cols, row_stride, agg: self.merge(), is_full: self.is_full() }
    }

    /// The result, given what all blocks have accumulated, and how many rows, of zeros, they have not visited.
    pub(crate) fn finish(&self, operator: &Operator<'_>, mut accumulated: Dense, skipped_rows: usize) -> Dense {
        let zeros = if self.is_full() { skipped_rows.saturating_mul(self.node_len) } else { skipped_rows };
        if zeros > 0 && !self.ignores_zeros() {
            for cell in accumulated.values_mut() {
                *cell = take_equal_cells(self.merge(), *cell, 0.0, zeros);
            }
        }
        let RowDims { rows, cols } = self.dims;
        if self.is_transposed {
            transposed(operator.env, &accumulated, cols, rows)
        } else {
            accumulated.reshape(rows, cols)
        }
    }
}
