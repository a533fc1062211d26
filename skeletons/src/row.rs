//! `SpoofRow`: chains of row-wise operations over tiles of rows of the main input (Table 1), with products of rows and
//! side matrices, and outputs by row, by column, in full, or accumulated as `t(X) %*% S`.

use crate::SkeletonError;
use crate::abi::Output;
use crate::accumulate::Accumulation;
use crate::aggregate::Aggregation;
use crate::binding::cells;
use crate::blocks::{DensePartition, SparsePartition, partial_count};
use crate::operator::{Operator, UnitOf};
use crate::output::{split_parts, transposed};
use crate::roles::accumulates;
use fuseline_ir::cplan::RowType;
use fuseline_ir::ops::AggOp;
use fuseline_matrix::{Csr, Dense, MatrixBlock};

/// Executes a Row plan.
pub(crate) fn execute(operator: &Operator<'_>, row_type: RowType) -> Result<MatrixBlock, SkeletonError> {
    let row = Row::new(operator, row_type)?;
    match row_type {
        RowType::NoAgg | RowType::NoAggB1 | RowType::RowAgg => Ok(row.by_row()),
        RowType::FullAgg => Ok(row.full()),
        RowType::ColAgg => {
            let len = row.node_len;
            Ok(row.accumulated(len, len).reshape(1, len).into())
        }
        RowType::ColAggT => {
            let len = row.left_len;
            Ok(row.accumulated(len, len).reshape(len, 1).into())
        }
        RowType::ColAggB1 => Ok(row.product(row.node_len, row.left_len, false)),
        RowType::ColAggB1T => Ok(row.product(row.left_len, row.node_len, true)),
    }
}

struct Row<'a> {
    operator: &'a Operator<'a>,
    row_type: RowType,
    /// The main input, where the sparse entry runs over its rows.
    sparse: Option<&'a Csr>,
    agg: AggOp,
    node_len: usize,
    left_len: usize,
}

impl<'a> Row<'a> {
    fn new(operator: &'a Operator<'a>, row_type: RowType) -> Result<Self, SkeletonError> {
        let binding = &operator.binding;
        let output = binding.plan.outputs[0];
        let sparse = match binding.main {
            MatrixBlock::Sparse(csr) if binding.sparse_entry => Some(&**csr),
            _ => None,
        };
        let node_len = binding.length(output.node);
        let left_len = output.left.map_or(0, |left| binding.length(left));
        let agg = output.agg.unwrap_or(AggOp::Sum);
        match row_type {
            RowType::NoAgg | RowType::NoAggB1 => cells(binding.rows, node_len)?,
            _ => cells(node_len, left_len)?,
        };
        Ok(Row { operator, row_type, sparse, agg, node_len, left_len })
    }

    /// Whether rows without non-zeros may be left out.
    fn skips_empty(&self) -> bool {
        let binding = &self.operator.binding;
        binding.plan.sparse_safe && (!accumulates(binding.plan.variant) || self.agg.ignores_zeros())
    }

    fn dense_partition(&self, blocks: Option<usize>) -> DensePartition {
        let binding = &self.operator.binding;
        let widest = binding.cols.max(binding.longest_computed_vector());
        DensePartition::whole_rows(binding.rows, binding.cols, widest, blocks)
    }

    fn sparse_partition<'c>(&self, csr: &'c Csr) -> SparsePartition<'c> {
        SparsePartition::rows(csr.row_offsets(), self.operator.binding.longest_computed_vector(), false)
    }

    /// One output row, or cell, for each row.
    fn by_row(&self) -> MatrixBlock {
        let cols = if self.row_type == RowType::RowAgg { 1 } else { self.node_len };
        let mut out = Dense::uninit_in(self.operator.env.buffers, self.operator.binding.rows, cols);
        match self.sparse {
            Some(csr) => self.sparse_rows(csr, cols, out.values_mut()),
            None => self.dense_rows(cols, out.values_mut()),
        }
        out.into()
    }

    fn dense_rows(&self, cols: usize, out: &mut [f64]) {
        let partition = self.dense_partition(None);
        let parts = split_parts(out, (0..partition.len()).map(|block| partition.block(block).rows * cols));
        self.operator.run(parts, |workspace, block, part| {
            let first_row = partition.block(block).first_row;
            for tile in partition.tiles(block) {
                let values = &mut part[(tile.first_row - first_row) * cols..][..tile.rows * cols];
                self.operator.genexec(workspace, UnitOf::Tile(tile), &mut [Output { values, row_stride: cols }]);
            }
        });
    }

    fn sparse_rows(&self, csr: &Csr, cols: usize, out: &mut [f64]) {
        let partition = self.sparse_partition(csr);
        let skips_empty = self.skips_empty();
        let parts = split_parts(out, (0..partition.len()).map(|block| partition.block_rows(block).len() * cols));
        self.operator.run(parts, |workspace, block, part| {
            let first_row = partition.block_rows(block).start;
            partition.for_each_segment(block, |segment| {
                let values = &mut part[(segment.first_row - first_row) * cols..][..segment.rows * cols];
                if skips_empty && segment.start == segment.end {
                    values.fill(0.0);
                } else {
                    let output = Output { values, row_stride: cols };
                    self.operator.genexec(workspace, UnitOf::Segment(csr, segment), &mut [output]);
                }
            });
        });
    }

    fn full(&self) -> MatrixBlock {
        let aggregation = Aggregation::new(self.operator);
        match self.sparse {
            Some(csr) => aggregation.over_segments(csr, &self.sparse_partition(csr), self.skips_empty()),
            None => aggregation.over_tiles(&self.dense_partition(None)),
        }
    }

    /// An output of `len` cells accumulated over the rows.
    fn accumulated(&self, len: usize, row_stride: usize) -> Dense {
        let accumulation = Accumulation { operator: self.operator, len, row_stride, agg: self.agg };
        match self.sparse {
            Some(csr) => {
                let partition = self.sparse_partition(csr).with_blocks(partial_count(csr.nnz(), len));
                accumulation.over_segments(csr, &partition, self.skips_empty())
            }
            None => {
                let binding = &self.operator.binding;
                let work = binding.rows.saturating_mul(binding.cols.max(binding.longest_computed_vector()));
                accumulation.over_tiles(&self.dense_partition(Some(partial_count(work, len))))
            }
        }
    }

    /// A product accumulated over the rows, of a long vector (as long as the main row) and a short one: the dense entry
    /// accumulates a `short` x `long` matrix, the sparse entry a `long` x `short` one.
    fn product(&self, long: usize, short: usize, wants_long_major: bool) -> MatrixBlock {
        let is_long_major = self.sparse.is_some();
        let (rows, cols) = if is_long_major { (long, short) } else { (short, long) };
        let accumulated = self.accumulated(rows * cols, cols);
        if is_long_major == wants_long_major {
            accumulated.reshape(rows, cols).into()
        } else {
            transposed(self.operator.env, &accumulated, rows, cols).into()
        }
    }
}
