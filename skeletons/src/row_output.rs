//! Outputs of Row plans, alone or among those of a multi-aggregate: what blocks accumulate for them, what rows that are not
//! visited contribute, and how the accumulated cells become the result.

use crate::SkeletonError;
use crate::accumulate::Accumulation;
use crate::binding::{Binding, cells};
use crate::operator::Operator;
use crate::output::transposed;
use crate::zeros::take_equal_cells;
use fuseline_ir::cplan::{COutput, RowType, Variant};
use fuseline_ir::ops::AggOp;
use fuseline_matrix::Dense;

/// An output with the lengths of its vectors in this execution.
pub(crate) struct RowOutput {
    /// What it is by itself.
    row_type: RowType,
    agg: AggOp,
    /// Cells of the output node for each row: 1 for scalars.
    node_len: usize,
    /// Cells of the left vector, 0 without one.
    left_len: usize,
    /// Whether products lie long-major, as in the sparse entry: the long vector is the one as long as the main row.
    is_long_major: bool,
}

impl RowOutput {
    /// An output of the plan.
    ///
    /// # Errors
    /// A product has more cells than can be addressed.
    pub(crate) fn new(binding: &Binding<'_>, output: &COutput) -> Result<Self, SkeletonError> {
        let Variant::Row(row_type) = binding.plan.output_variant(output) else {
            unreachable!("outputs of Row plans have variants of Row")
        };
        let node_len = binding.vector_length(output.node).unwrap_or(1);
        let left_len = output.left.and_then(|left| binding.vector_length(left)).unwrap_or(0);
        cells(left_len, node_len)?;
        let (agg, is_long_major) = (output.agg.unwrap_or(AggOp::Sum), binding.sparse_entry);
        Ok(RowOutput { row_type, agg, node_len, left_len, is_long_major })
    }

    /// The cells that each row gives.
    pub(crate) fn cells_per_row(&self) -> usize {
        self.node_len
    }

    /// Whether rows of zeros contribute nothing.
    pub(crate) fn ignores_zeros(&self) -> bool {
        self.agg.ignores_zeros()
    }

    /// Whether a vector or a matrix serves row after row.
    pub(crate) fn accumulates_vectors(&self) -> bool {
        use RowType::{FullAgg, NoAgg, NoAggB1, NoAggConst, RowAgg};
        !matches!(self.row_type, NoAgg | NoAggB1 | NoAggConst | RowAgg | FullAgg)
    }

    /// Rows and columns of the result.
    fn dims(&self) -> (usize, usize) {
        match self.row_type {
            RowType::FullAgg => (1, 1),
            RowType::ColAggT | RowType::ColAggB1 | RowType::ColAggB1T => (self.left_len, self.node_len),
            _ => (1, self.node_len),
        }
    }

    /// Whether the accumulator is the transpose of the result.
    fn is_transposed(&self) -> bool {
        match self.row_type {
            RowType::ColAggB1 => self.is_long_major,
            RowType::ColAggB1T => !self.is_long_major,
            _ => false,
        }
    }

    /// What blocks accumulate for the output.
    pub(crate) fn accumulation<'a>(&self, operator: &'a Operator<'a>) -> Accumulation<'a> {
        let (rows, cols) = self.dims();
        let row_stride = if self.is_transposed() { rows } else { cols };
        let is_full = self.row_type == RowType::FullAgg;
        Accumulation { operator, len: rows * cols, row_stride, agg: self.agg, is_full }
    }

    /// The result, given what all blocks have accumulated, and how many rows, of zeros, they have not visited.
    pub(crate) fn finish(&self, operator: &Operator<'_>, mut accumulated: Dense, skipped_rows: usize) -> Dense {
        let zeros = match self.row_type {
            RowType::FullAgg => skipped_rows.saturating_mul(self.node_len),
            _ => skipped_rows,
        };
        if zeros > 0 && !self.agg.ignores_zeros() {
            for cell in accumulated.values_mut() {
                *cell = take_equal_cells(self.agg, *cell, 0.0, zeros);
            }
        }
        let (rows, cols) = self.dims();
        match self.is_transposed() {
            true => transposed(operator.env, &accumulated, cols, rows),
            false => accumulated.reshape(rows, cols),
        }
    }
}
