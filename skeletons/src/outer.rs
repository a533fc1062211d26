//! `SpoofOuter`: operations over the non-zeros of X, each with the dot product of a row of U and a row of V, so that
//! `U %*% t(V)` is never computed as a whole (Table 1). A dense X is compressed tile by tile; sparse factors are made
//! dense once, since each of their rows is read as often as X has non-zeros in a row or column.

use crate::SkeletonError;
use crate::abi::Output;
use crate::aggregate::Aggregation;
use crate::binding::cells;
use crate::blocks::{DensePartition, MAX_PARTIALS, MAX_UNIT_ROWS, SparsePartition, Tile};
use crate::nonzeros::by_position;
use crate::operator::{Operator, Workspace};
use crate::output::{expand_rows, split_parts, with_pattern};
use crate::roles::reads_row_index;
use crate::visited::VisitedRows;
use crate::work::{UnitOf, Work};
use fuseline_ir::cplan::OuterType;
use fuseline_matrix::{Csr, Dense, MatrixBlock};

/// Non-zeros of a unit: their factors' rows stay in the cache.
const UNIT_POSITIONS: usize = 4096;
/// Floating-point operations of a block, about.
const BLOCK_FLOPS: usize = 1 << 22;
/// Columns below which `t(W) %*% U` is not cut into column ranges.
const MIN_RANGE: usize = 64;

/// Executes an Outer plan.
pub(crate) fn execute(operator: &Operator<'_>, outer_type: OuterType) -> Result<MatrixBlock, SkeletonError> {
    let binding = &operator.binding;
    let rank = binding.rank();
    match outer_type {
        OuterType::RightMM => cells(binding.rows, rank)?,
        OuterType::LeftMM => cells(binding.cols, rank)?,
        OuterType::NoAgg | OuterType::FullAgg => 0,
    };
    Ok(match (&*binding.main, outer_type) {
        (MatrixBlock::Sparse(csr), OuterType::NoAgg) => values(operator, csr, rank),
        // The result needs the positions of the whole matrix.
        (MatrixBlock::Dense(dense), OuterType::NoAgg) => values(operator, &Csr::from_dense(dense), rank),
        (_, OuterType::FullAgg) => full(operator, rank),
        (_, OuterType::RightMM) => right_mm(operator, rank),
        (_, OuterType::LeftMM) => left_mm(operator, rank),
    })
}

/// Units of a block, so that blocks are large enough to be scheduled and small enough to balance.
fn units_per_block(rank: usize) -> usize {
    (BLOCK_FLOPS / (2 * UNIT_POSITIONS * rank.max(1))).clamp(1, 32)
}

fn by_rows<'v>(visited: &'v VisitedRows<'_>, rank: usize) -> SparsePartition<'v> {
    SparsePartition::rows(visited.offsets(), 1, true).with_units(UNIT_POSITIONS, units_per_block(rank))
}

/// A result with the positions of X.
fn values(operator: &Operator<'_>, csr: &Csr, rank: usize) -> MatrixBlock {
    let visited = operator.visited(csr);
    with_pattern(csr, by_position(operator, &by_rows(&visited, rank), &visited))
}

/// The aggregate of all cells, most of which are zero.
fn full(operator: &Operator<'_>, rank: usize) -> MatrixBlock {
    let aggregation = Aggregation::new(operator);
    let (total, zeros) = match &*operator.binding.main {
        MatrixBlock::Sparse(csr) => {
            let visited = operator.visited(csr);
            let total = aggregation.over(&Work::Segments(by_rows(&visited, rank), &visited), true);
            (total, csr.rows().saturating_mul(csr.cols()) - csr.nnz())
        }
        MatrixBlock::Dense(dense) => {
            let partition = DensePartition::outer(dense.rows(), dense.cols(), rank);
            let (total, nonzeros) = aggregation.over_nonzeros(dense, &partition);
            (total, dense.values().len() - nonzeros)
        }
    };
    total.with_zeros(&operator.zero_values(), zeros).into_block()
}

/// `W %*% V`: each block owns rows of the output.
fn right_mm(operator: &Operator<'_>, rank: usize) -> MatrixBlock {
    match &*operator.binding.main {
        MatrixBlock::Sparse(csr) => right_mm_sparse(operator, &operator.visited(csr), rank),
        MatrixBlock::Dense(dense) => right_mm_dense(operator, dense, rank),
    }
    .into()
}

fn right_mm_sparse(operator: &Operator<'_>, visited: &VisitedRows<'_>, rank: usize) -> Dense {
    let mut out = Dense::zeros_in(operator.env.buffers, visited.len(), rank);
    let partition = by_rows(visited, rank);
    let lengths = (0..partition.len()).map(|block| partition.block_rows(block).len() * rank);
    operator.run(split_parts(out.values_mut(), lengths), |workspace, block, part| {
        let first_row = partition.block_rows(block).start;
        partition.for_each_segment(block, |segment| {
            if segment.start < segment.end {
                let values = &mut part[(segment.first_row - first_row) * rank..][..segment.rows * rank];
                let output = Output { values, row_stride: rank };
                operator.genexec(workspace, UnitOf::Segment(segment, visited), &mut [output]);
            }
        });
    });
    expand_rows(operator.env, out, visited, 0.0)
}

fn right_mm_dense(operator: &Operator<'_>, dense: &Dense, rank: usize) -> Dense {
    let mut out = Dense::zeros_in(operator.env.buffers, dense.rows(), rank);
    let partition = DensePartition::outer(dense.rows(), dense.cols(), rank);
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
    out
}

/// `t(W) %*% U`: each block owns a range of columns of X, which are rows of the output, and runs over all rows of X. So
/// there is no private copy of the output, and its cells accumulate row by row whatever the ranges.
fn left_mm(operator: &Operator<'_>, rank: usize) -> MatrixBlock {
    let (rows, cols) = (operator.binding.rows, operator.binding.cols);
    let mut out = Dense::zeros_in(operator.env.buffers, cols, rank);
    let ranges = (cols / MIN_RANGE).clamp(1, MAX_PARTIALS);
    let partition = DensePartition::col_blocks(rows, cols, ranges);
    let lengths = (0..partition.len()).map(|block| partition.block(block).cols * rank);
    let main = match &*operator.binding.main {
        MatrixBlock::Sparse(csr) => LeftMain::Sparse(operator.visited(csr)),
        MatrixBlock::Dense(dense) => LeftMain::Dense(dense),
    };
    operator.run(split_parts(out.values_mut(), lengths), |workspace, block, part| {
        let range = partition.block(block);
        LeftRange { operator, main: &main, range, rank }.run(workspace, part);
    });
    out.into()
}

/// X with the rows that have a say.
enum LeftMain<'a> {
    Sparse(VisitedRows<'a>),
    Dense(&'a Dense),
}

/// A range of columns of X, with the output rows that belong to it.
struct LeftRange<'a> {
    operator: &'a Operator<'a>,
    main: &'a LeftMain<'a>,
    range: Tile,
    rank: usize,
}

impl LeftRange<'_> {
    fn run(&self, workspace: &mut Workspace, part: &mut [f64]) {
        let rows = match self.main {
            LeftMain::Sparse(visited) => visited.len(),
            LeftMain::Dense(dense) => dense.rows(),
        };
        workspace.built.clear();
        workspace.built.is_consecutive = reads_row_index(self.operator.binding.plan);
        for row in 0..rows {
            self.push_row(workspace, row);
            let built = &workspace.built;
            let is_full = built.values.len() >= UNIT_POSITIONS || built.rows() >= MAX_UNIT_ROWS;
            if is_full || row + 1 == rows {
                self.unit(workspace, part);
                workspace.built.clear();
            }
        }
    }

    fn push_row(&self, workspace: &mut Workspace, row: usize) {
        let columns = self.range.first_col..self.range.first_col + self.range.cols;
        match self.main {
            LeftMain::Sparse(visited) => {
                let number = visited.numbers_from(0).get(row);
                workspace.built.push_range(number, visited.csr().row(number), columns);
            }
            LeftMain::Dense(dense) => workspace.built.push_dense(row, columns.start, &dense.row(row)[columns]),
        }
    }

    fn unit(&self, workspace: &mut Workspace, part: &mut [f64]) {
        if !workspace.built.values.is_empty() {
            let output = Output { values: part, row_stride: self.rank };
            self.operator.genexec(workspace, UnitOf::Built(self.range), &mut [output]);
        }
    }
}
