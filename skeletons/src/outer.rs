//! `SpoofOuter`: operations over the non-zeros of X, each with the dot product of a row of U and a row of V, so that
//! `U %*% t(V)` is never computed as a whole (Table 1). A dense X is compressed tile by tile.

use crate::SkeletonError;
use crate::abi::Output;
use crate::aggregate::Aggregation;
use crate::binding::cells;
use crate::blocks::{DensePartition, MAX_PARTIALS, SparsePartition, Tile};
use crate::cell::sparse_cells;
use crate::operator::{Operator, UnitOf, Workspace};
use crate::output::split_parts;
use fuseline_ir::cplan::OuterType;
use fuseline_matrix::{Csr, Dense, MatrixBlock};

/// Non-zeros of a unit: their factors' rows stay in the cache.
const UNIT_POSITIONS: usize = 4096;
/// Floating-point operations of a block, about.
const BLOCK_FLOPS: usize = 1 << 22;
/// Columns below which `t(W) %*% U` is not cut into column ranges.
const MIN_RANGE: usize = 64;
/// The most rows of a unit.
const MAX_UNIT_ROWS: usize = 4096;

/// Executes an Outer plan.
pub(crate) fn execute(operator: &Operator<'_>, outer_type: OuterType) -> Result<MatrixBlock, SkeletonError> {
    let binding = &operator.binding;
    let rank = binding.rank();
    match outer_type {
        OuterType::RightMM => cells(binding.rows, rank)?,
        OuterType::LeftMM => cells(binding.cols, rank)?,
        OuterType::NoAgg | OuterType::FullAgg => 0,
    };
    Ok(match (binding.main, outer_type) {
        (MatrixBlock::Sparse(csr), OuterType::NoAgg) => sparse_cells(operator, csr, &by_rows(csr, rank)),
        // The result needs the positions of the whole matrix.
        (MatrixBlock::Dense(dense), OuterType::NoAgg) => {
            let csr = Csr::from_dense(dense);
            sparse_cells(operator, &csr, &by_rows(&csr, rank))
        }
        (_, OuterType::FullAgg) => full(operator, rank),
        (_, OuterType::RightMM) => right_mm(operator, rank),
        (_, OuterType::LeftMM) => left_mm(operator, rank),
    })
}

/// Units of a block, so that blocks are large enough to be scheduled and small enough to balance.
fn units_per_block(rank: usize) -> usize {
    (BLOCK_FLOPS / (2 * UNIT_POSITIONS * rank.max(1))).clamp(1, 32)
}

fn by_rows(csr: &Csr, rank: usize) -> SparsePartition<'_> {
    SparsePartition::rows(csr.row_offsets(), 1, true).with_units(UNIT_POSITIONS, units_per_block(rank))
}

fn full(operator: &Operator<'_>, rank: usize) -> MatrixBlock {
    let aggregation = Aggregation::new(operator);
    match operator.binding.main {
        MatrixBlock::Sparse(csr) => aggregation.over_segments(csr, &by_rows(csr, rank), true),
        MatrixBlock::Dense(dense) => {
            aggregation.over_nonzeros(dense, &DensePartition::cells(dense.rows(), dense.cols()))
        }
    }
}

/// `W %*% V`: each block owns rows of the output.
fn right_mm(operator: &Operator<'_>, rank: usize) -> MatrixBlock {
    let mut out = Dense::zeros_in(operator.env.buffers, operator.binding.rows, rank);
    match operator.binding.main {
        MatrixBlock::Sparse(csr) => {
            let partition = by_rows(csr, rank);
            let lengths = (0..partition.len()).map(|block| partition.block_rows(block).len() * rank);
            operator.run(split_parts(out.values_mut(), lengths), |workspace, block, part| {
                let first_row = partition.block_rows(block).start;
                partition.for_each_segment(block, |segment| {
                    if segment.start < segment.end {
                        let values = &mut part[(segment.first_row - first_row) * rank..][..segment.rows * rank];
                        let output = Output { values, row_stride: rank };
                        operator.genexec(workspace, UnitOf::Segment(csr, segment), &mut [output]);
                    }
                });
            });
        }
        MatrixBlock::Dense(dense) => {
            let blocks = dense.rows().div_ceil(DensePartition::cells(dense.rows(), dense.cols()).block_height());
            let partition = DensePartition::row_blocks(dense.rows(), dense.cols(), blocks.max(1));
            let lengths = (0..partition.len()).map(|block| partition.block(block).rows * rank);
            operator.run(split_parts(out.values_mut(), lengths), |workspace, block, part| {
                let first_row = partition.block(block).first_row;
                for tile in partition.tiles(block) {
                    if workspace.build_from_dense(dense, tile) > 0 {
                        let values = &mut part[(tile.first_row - first_row) * rank..][..tile.rows * rank];
                        let output = Output { values, row_stride: rank };
                        operator.genexec(workspace, UnitOf::Built(tile), &mut [output]);
                    }
                }
            });
        }
    }
    out.into()
}

/// `t(W) %*% U`: each block owns a range of columns of X, which are rows of the output, and runs over all rows of X. So
/// there is no private copy of the output, and its cells accumulate row by row whatever the ranges.
fn left_mm(operator: &Operator<'_>, rank: usize) -> MatrixBlock {
    let (rows, cols) = (operator.binding.rows, operator.binding.cols);
    let mut out = Dense::zeros_in(operator.env.buffers, cols, rank);
    let ranges = (cols / MIN_RANGE).clamp(1, MAX_PARTIALS);
    let partition = DensePartition::col_blocks(rows, cols, ranges);
    let lengths = (0..partition.len()).map(|block| partition.block(block).cols * rank);
    operator.run(split_parts(out.values_mut(), lengths), |workspace, block, part| {
        let range = partition.block(block);
        LeftRange { operator, range, rank }.run(workspace, part);
    });
    out.into()
}

/// A range of columns of X, with the output rows that belong to it.
struct LeftRange<'a> {
    operator: &'a Operator<'a>,
    range: Tile,
    rank: usize,
}

impl LeftRange<'_> {
    fn run(&self, workspace: &mut Workspace, part: &mut [f64]) {
        let mut first_row = 0;
        workspace.built.clear();
        for row in 0..self.range.rows {
            self.push_row(workspace, row);
            let built = &workspace.built;
            let is_full = built.values.len() >= UNIT_POSITIONS || built.rows() >= MAX_UNIT_ROWS;
            if is_full || row + 1 == self.range.rows {
                self.unit(workspace, first_row, part);
                first_row = row + 1;
                workspace.built.clear();
            }
        }
    }

    fn push_row(&self, workspace: &mut Workspace, row: usize) {
        let columns = self.range.first_col..self.range.first_col + self.range.cols;
        match self.operator.binding.main {
            MatrixBlock::Sparse(csr) => workspace.built.push_range(csr.row(row), columns),
            MatrixBlock::Dense(dense) => workspace.built.push_dense(columns.start, &dense.row(row)[columns]),
        }
    }

    fn unit(&self, workspace: &mut Workspace, first_row: usize, part: &mut [f64]) {
        if !workspace.built.values.is_empty() {
            let output = Output { values: part, row_stride: self.rank };
            let tile = Tile { first_row, rows: workspace.built.rows(), ..self.range };
            self.operator.genexec(workspace, UnitOf::Built(tile), &mut [output]);
        }
    }
}
