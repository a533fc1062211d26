//! `SpoofCell`: element-wise chains over the cells of the main input, without aggregation or aggregated by row, by column
//! or in full (Table 1). Dense inputs run as long runs of cells; sparse ones as runs of non-zeros where zeros of the
//! main input give zeros.

use crate::SkeletonError;
use crate::abi::Output;
use crate::accumulate::Accumulation;
use crate::aggregate::Aggregation;
use crate::blocks::{DensePartition, SparsePartition, partial_count};
use crate::operator::{Operator, UnitOf};
use crate::output::{split_parts, with_pattern};
use crate::roles::needs_rows;
use fuseline_ir::cplan::CellType;
use fuseline_ir::ops::AggOp;
use fuseline_matrix::{Csr, Dense, MatrixBlock};

/// With this many columns, blocks of columns aggregate columns without private accumulators.
const WIDE: usize = 8192;

/// Executes a Cell plan.
pub(crate) fn execute(operator: &Operator<'_>, cell_type: CellType) -> Result<MatrixBlock, SkeletonError> {
    let binding = &operator.binding;
    let agg = binding.plan.outputs[0].agg.unwrap_or(AggOp::Sum);
    if binding.rows == 0 || binding.cols == 0 {
        return Ok(without_cells(operator, cell_type, agg));
    }
    match (binding.main, binding.sparse_entry) {
        (MatrixBlock::Sparse(csr), true) => Ok(execute_sparse(operator, csr, cell_type, agg)),
        _ => {
            binding.cells()?;
            Ok(execute_dense(operator, cell_type, agg))
        }
    }
}

fn without_cells(operator: &Operator<'_>, cell_type: CellType, agg: AggOp) -> MatrixBlock {
    let (rows, cols) = (operator.binding.rows, operator.binding.cols);
    let (rows, cols) = match cell_type {
        CellType::NoAgg => (rows, cols),
        CellType::RowAgg => (rows, 1),
        CellType::ColAgg => (1, cols),
        CellType::FullAgg => (1, 1),
    };
    Dense::from_fn(rows, cols, |_, _| agg.neutral()).into()
}

/// The partition of the grid for outputs that do not depend on where blocks end.
pub(crate) fn cells_partition(operator: &Operator<'_>) -> DensePartition {
    let cells = operator.binding.rows * operator.binding.cols;
    DensePartition::cells(cells / operator.grid_cols.max(1), operator.grid_cols)
}

/// The partition of the positions of a CSR main input.
pub(crate) fn positions_partition<'a>(operator: &Operator<'_>, csr: &'a Csr) -> SparsePartition<'a> {
    if needs_rows(operator.binding.plan) {
        SparsePartition::rows(csr.row_offsets(), 1, true)
    } else {
        SparsePartition::positions(csr.row_offsets())
    }
}

fn execute_dense(operator: &Operator<'_>, cell_type: CellType, agg: AggOp) -> MatrixBlock {
    match cell_type {
        CellType::NoAgg => dense_cells(operator),
        CellType::RowAgg => dense_rows(operator, agg),
        CellType::ColAgg => dense_columns(operator, agg),
        CellType::FullAgg => Aggregation::new(operator).over_tiles(&cells_partition(operator)),
    }
}

fn dense_cells(operator: &Operator<'_>) -> MatrixBlock {
    let binding = &operator.binding;
    let partition = cells_partition(operator);
    let mut out = Dense::uninit_in(operator.env.buffers, binding.rows, binding.cols);
    let lengths = (0..partition.len()).map(|block| partition.block(block)).map(|block| block.rows * block.cols);
    let parts = split_parts(out.values_mut(), lengths);
    operator.run(parts, |workspace, block, part| {
        let origin = partition.block(block);
        for tile in partition.tiles(block) {
            let offset = (tile.first_row - origin.first_row) * origin.cols + tile.first_col - origin.first_col;
            let output = Output { values: &mut part[offset..], row_stride: origin.cols };
            operator.genexec(workspace, UnitOf::Tile(tile), &mut [output]);
        }
    });
    out.into()
}

fn dense_rows(operator: &Operator<'_>, agg: AggOp) -> MatrixBlock {
    let (rows, cols) = (operator.binding.rows, operator.binding.cols);
    let partition =
        DensePartition::row_blocks(rows, cols, rows.div_ceil(DensePartition::cells(rows, cols).block_height()));
    let mut out = Dense::uninit_in(operator.env.buffers, rows, 1);
    let parts = split_parts(out.values_mut(), (0..partition.len()).map(|block| partition.block(block).rows));
    operator.run(parts, |workspace, block, part| {
        let first_row = partition.block(block).first_row;
        for tile in partition.tiles(block) {
            let cells = &mut part[tile.first_row - first_row..][..tile.rows];
            if tile.first_col == 0 {
                operator.genexec(workspace, UnitOf::Tile(tile), &mut [Output { values: cells, row_stride: 1 }]);
            } else {
                // Rows longer than a unit have tiles of one row.
                let mut value = [0.0];
                operator.genexec(workspace, UnitOf::Tile(tile), &mut [Output { values: &mut value, row_stride: 1 }]);
                cells[0] = agg.merge(cells[0], value[0]);
            }
        }
    });
    out.into()
}

fn dense_columns(operator: &Operator<'_>, agg: AggOp) -> MatrixBlock {
    let (rows, cols) = (operator.binding.rows, operator.binding.cols);
    if cols < WIDE {
        let partition = DensePartition::row_blocks(rows, cols, partial_count(rows * cols, cols));
        return Accumulation { operator, len: cols, row_stride: cols, agg }.over_tiles(&partition).into();
    }
    let partition = DensePartition::col_blocks(rows, cols, cols.div_ceil(WIDE / 16));
    let mut out = crate::output::accumulator(operator.env.buffers, cols, agg);
    let parts = split_parts(out.values_mut(), (0..partition.len()).map(|block| partition.block(block).cols));
    operator.run(parts, |workspace, block, part| {
        let first_col = partition.block(block).first_col;
        for tile in partition.tiles(block) {
            let output = Output { values: &mut part[tile.first_col - first_col..], row_stride: cols };
            operator.genexec(workspace, UnitOf::Tile(tile), &mut [output]);
        }
    });
    out.into()
}

fn execute_sparse(operator: &Operator<'_>, csr: &Csr, cell_type: CellType, agg: AggOp) -> MatrixBlock {
    match cell_type {
        CellType::NoAgg => sparse_cells(operator, csr, &positions_partition(operator, csr)),
        CellType::RowAgg => sparse_rows(operator, csr, agg),
        CellType::ColAgg => sparse_columns(operator, csr, agg),
        CellType::FullAgg => Aggregation::new(operator).over_segments(csr, &positions_partition(operator, csr), true),
    }
}

/// One value for each position, in a result with the same positions. Serves Outer plans too.
pub(crate) fn sparse_cells(operator: &Operator<'_>, csr: &Csr, partition: &SparsePartition<'_>) -> MatrixBlock {
    let mut values = vec![0.0; csr.nnz()];
    let parts = split_parts(&mut values, (0..partition.len()).map(|block| partition.block_positions(block).len()));
    operator.run(parts, |workspace, block, part| {
        let first = partition.block_positions(block).start;
        partition.for_each_segment(block, |segment| {
            if segment.start < segment.end {
                let values = &mut part[segment.start - first..segment.end - first];
                let row_stride = values.len();
                operator.genexec(workspace, UnitOf::Segment(csr, segment), &mut [Output { values, row_stride }]);
            }
        });
    });
    with_pattern(csr, values)
}

fn sparse_rows(operator: &Operator<'_>, csr: &Csr, agg: AggOp) -> MatrixBlock {
    let partition = SparsePartition::rows(csr.row_offsets(), 1, false);
    let mut out = Dense::uninit_in(operator.env.buffers, csr.rows(), 1);
    let parts = split_parts(out.values_mut(), (0..partition.len()).map(|block| partition.block_rows(block).len()));
    operator.run(parts, |workspace, block, part| {
        let first_row = partition.block_rows(block).start;
        partition.for_each_segment(block, |segment| {
            let values = &mut part[segment.first_row - first_row..][..segment.rows];
            operator.genexec(workspace, UnitOf::Segment(csr, segment), &mut [Output { values, row_stride: 1 }]);
        });
    });
    if !agg.ignores_zeros() {
        for (i, cell) in out.values_mut().iter_mut().enumerate() {
            if csr.row(i).0.len() < csr.cols() {
                *cell = agg.merge(*cell, 0.0);
            }
        }
    }
    out.into()
}

fn sparse_columns(operator: &Operator<'_>, csr: &Csr, agg: AggOp) -> MatrixBlock {
    let partition = positions_partition(operator, csr).with_blocks(partial_count(csr.nnz(), csr.cols()));
    let accumulation = Accumulation { operator, len: csr.cols(), row_stride: csr.cols(), agg };
    let mut out = accumulation.over_segments(csr, &partition, true);
    if !agg.ignores_zeros() {
        let mut counts = vec![0_usize; csr.cols()];
        for &j in csr.columns() {
            counts[j as usize] += 1;
        }
        for (cell, &count) in out.values_mut().iter_mut().zip(&counts) {
            if count < csr.rows() {
                *cell = agg.merge(*cell, 0.0);
            }
        }
    }
    out.into()
}
