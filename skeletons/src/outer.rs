//! `SpoofOuter`: operations over the non-zeros of X, each with the product of a row of U and a row of V, so that
//! `U %*% t(V)` is never computed as a whole (Table 1). A dense X runs tile by tile (module `factors`), and so do plans that
//! are not sparse-safe, over all cells of any X; sparse factors are made dense once, since each of their rows is read as
//! often as X has non-zeros in a row or column.

use crate::SkeletonError;
use crate::abi::Output;
use crate::accumulate::Accumulation;
use crate::aggregate::Aggregation;
use crate::built::BuiltRows;
use crate::factors::DenseFactors;
use crate::fit::cells;
use crate::nonzeros::{by_position, combined_cells, visited};
use crate::operator::{Operator, UnitLayout, Workspace};
use crate::output::{expand_rows, on_threads_for, split_parts, with_pattern};
use crate::roles::reads_row_index;
use crate::visited::VisitedRows;
use crate::work::UnitOf;
use crate::write::Write;
use fuseline_ir::cplan::OuterType;
use fuseline_ir::ops::AggOp;
use fuseline_ir::schedule::{DensePartition, MAX_UNIT_ROWS, Partition, Tile, UNIT_POSITIONS};
use fuseline_matrix::{Buffer, Csr, Dense, MatrixBlock, NanWatch};

/// Executes an Outer plan.
pub(crate) fn execute(operator: &Operator<'_>, outer_type: OuterType) -> Result<MatrixBlock, SkeletonError> {
    let binding = &operator.binding;
    let rank = binding.rank();
    match outer_type {
        OuterType::RightMM => cells(binding.fit.rows, rank)?,
        OuterType::LeftMM => cells(binding.fit.cols, rank)?,
        OuterType::NoAgg | OuterType::FullAgg => 0,
    };
    Ok(match (binding.sparse_driver(), outer_type) {
        (Some(_), OuterType::NoAgg) if binding.combines_rows() => combined_cells(operator),
        (Some(csr), OuterType::NoAgg) => with_pattern(operator.env, csr, by_position(operator)),
        (None, OuterType::NoAgg) => by_tiles(operator),
        (_, OuterType::FullAgg) => full(operator),
        (_, OuterType::RightMM) => right_mm(operator, rank),
        (_, OuterType::LeftMM) => left_mm(operator, rank),
    })
}

/// A result with a value for each cell, in the format that suits its non-zeros.
fn by_tiles(operator: &Operator<'_>) -> MatrixBlock {
    let (rows, cols) = (operator.binding.fit.rows, operator.binding.fit.cols);
    let mut out = Dense::uninit_in(operator.env.buffers, rows, cols);
    let write = Write::to(operator, &out);
    let (factors, work) = (DenseFactors::new(operator), operator.work(None));
    let lengths = (0..work.len()).map(|block| work.block_len(block));
    let nonzeros = operator.run(split_parts(out.values_mut(), lengths), |workspace, block, part| {
        let first_row = work.block_rows(block).start;
        factors.for_each_unit(workspace, work.tiles(), block, |layout, tile, unit, count| {
            let cells = &mut part[(tile.first_row - first_row) * cols + tile.first_col..];
            match unit {
                UnitOf::Built { rows, .. } => spread_values(operator, layout, rows, tile, count, (&write, cells)),
                _ if count > 0 => {
                    write.unit(operator, layout, unit, tile.into(), Output { values: cells, row_stride: cols });
                }
                _ => {}
            }
        })
    });
    if MatrixBlock::best_format(rows, cols, nonzeros.into_iter().sum()).is_sparse() {
        let to_csr = || Csr::from_dense_in(operator.env.buffers, &out);
        return on_threads_for(operator.env, out.values().len(), to_csr).into();
    }
    write.note(&mut out);
    out.into()
}

/// Writes the values of a tile's non-zeros, of which there are `count`, to their cells, and zeros to the others.
fn spread_values(
    operator: &Operator<'_>,
    layout: &mut UnitLayout,
    rows: &BuiltRows,
    tile: Tile,
    count: usize,
    (write, cells): (&Write, &mut [f64]),
) {
    let mut buffer = std::mem::replace(&mut layout.output, Buffer::zeroed(0));
    let values = operator.reserve(&mut buffer, count);
    if count > 0 {
        let output = Output { values: &mut *values, row_stride: count };
        operator.genexec(layout, UnitOf::Built { rows, tile }, &mut [output]);
    }
    write.saw(values);
    rows.spread(values, cells, tile.cols, operator.binding.fit.cols);
    layout.output = buffer;
}

/// The aggregate of all cells, those that are not visited being zero.
fn full(operator: &Operator<'_>) -> MatrixBlock {
    let aggregation = Aggregation::new(operator);
    let total = match operator.binding.sparse_driver() {
        Some(_) => aggregation.over(Some(&visited(operator))),
        None => aggregation.over_tiles(&DenseFactors::new(operator)),
    };
    let cells = operator.binding.fit.rows.saturating_mul(operator.binding.fit.cols);
    total.with_others(&operator.zero_values(), cells).into_block()
}

/// `W %*% V`: each block owns rows of the output.
fn right_mm(operator: &Operator<'_>, rank: usize) -> MatrixBlock {
    match operator.binding.sparse_driver() {
        Some(_) => right_mm_sparse(operator, &visited(operator), rank),
        None => right_mm_by_tiles(operator, rank),
    }
    .into()
}

fn right_mm_sparse(operator: &Operator<'_>, visited: &VisitedRows<'_>, rank: usize) -> Dense {
    let mut out = Dense::zeros_in(operator.env.buffers, visited.len(), rank);
    let work = operator.work(Some(visited));
    let lengths = (0..work.len()).map(|block| work.block_rows(block).len() * rank);
    let nan = NanWatch::default();
    operator.run(split_parts(out.values_mut(), lengths), |workspace, block, part| {
        let first_row = work.block_rows(block).start;
        work.for_each_unit(block, |unit| {
            if !operator.leaves_out(unit) {
                let rows = unit.rows();
                let values = &mut part[(rows.start - first_row) * rank..(rows.end - first_row) * rank];
                let output = Output { values, row_stride: rank };
                operator.genexec(&mut workspace.layout, unit, &mut [output]);
            }
        });
        nan.look(part);
    });
    out.set_nan_free(nan.saw_none());
    expand_rows(operator.env, out, visited, 0.0)
}

fn right_mm_by_tiles(operator: &Operator<'_>, rank: usize) -> Dense {
    let mut out = Dense::zeros_in(operator.env.buffers, operator.binding.fit.rows, rank);
    let (factors, work) = (DenseFactors::new(operator), operator.work(None));
    let lengths = (0..work.len()).map(|block| work.block_rows(block).len() * rank);
    let nan = NanWatch::default();
    operator.run(split_parts(out.values_mut(), lengths), |workspace, block, part| {
        let first_row = work.block_rows(block).start;
        factors.for_each_unit(workspace, work.tiles(), block, |layout, tile, unit, count| {
            if count > 0 {
                let values = &mut part[(tile.first_row - first_row) * rank..][..tile.rows * rank];
                operator.genexec(layout, unit, &mut [Output { values, row_stride: rank }]);
            }
        });
        nan.look(part);
    });
    out.set_nan_free(nan.saw_none());
    out
}

/// `t(W) %*% U`. Where private copies of the output pay, each block of rows has one. Else each block owns a range of columns
/// of a sparse X, which are rows of the output, and runs over all rows of a strip of X.
fn left_mm(operator: &Operator<'_>, rank: usize) -> MatrixBlock {
    let len = operator.binding.fit.cols * rank;
    let accumulation = Accumulation { operator, len, row_stride: rank, agg: AggOp::Sum, is_full: false };
    match operator.binding.sparse_driver() {
        Some(_) => {
            let visited = visited(operator);
            operator.reduce(
                Some(&visited),
                |work| match &work.partition {
                    Partition::Ranges(ranges) => left_mm_by_columns(&accumulation, &visited, ranges),
                    Partition::Segments(_) | Partition::Tiles(_) => accumulation.over_units(work),
                },
                |left, right| accumulation.merge(vec![left, right]),
            )
        }
        None => left_mm_by_tiles(&accumulation),
    }
    .reshape(operator.binding.fit.cols, rank)
    .into()
}

fn left_mm_by_tiles(accumulation: &Accumulation<'_>) -> Dense {
    let Accumulation { operator, row_stride: rank, .. } = *accumulation;
    let factors = DenseFactors::new(operator);
    operator.reduce(
        None,
        |work| {
            accumulation.over_blocks(work.len(), |workspace, block, cells| {
                factors.for_each_unit(workspace, work.tiles(), block, |layout, tile, unit, count| {
                    if count > 0 {
                        let values = &mut cells[tile.first_col * rank..];
                        operator.genexec(layout, unit, &mut [Output { values, row_stride: rank }]);
                    }
                });
            })
        },
        |left, right| accumulation.merge(vec![left, right]),
    )
}

/// The sums of a strip, by ranges of columns.
fn left_mm_by_columns(accumulation: &Accumulation<'_>, visited: &VisitedRows<'_>, ranges: &DensePartition) -> Dense {
    let Accumulation { operator, row_stride: rank, .. } = *accumulation;
    accumulation.by_columns(ranges, rank, |workspace, block, part| {
        LeftRange { operator, visited, range: ranges.block(block), rank }.run(workspace, part);
    })
}

/// A range of columns of some rows of a sparse X, with the output rows that belong to it.
struct LeftRange<'a> {
    operator: &'a Operator<'a>,
    visited: &'a VisitedRows<'a>,
    range: Tile,
    rank: usize,
}

impl LeftRange<'_> {
    fn run(&self, workspace: &mut Workspace, part: &mut [f64]) {
        let columns = self.range.first_col..self.range.first_col + self.range.cols;
        workspace.built.clear();
        workspace.built.is_consecutive = reads_row_index(self.operator.binding.plan);
        let end = self.range.first_row + self.range.rows;
        for row in self.range.first_row..end {
            let number = self.visited.numbers_from(0).get(row);
            workspace.built.push_range(number, self.visited.csr().row(number).into(), columns.clone());
            let built = &workspace.built;
            let is_full = built.values.len() >= UNIT_POSITIONS || built.rows() >= MAX_UNIT_ROWS;
            if is_full || row + 1 == end {
                self.unit(workspace, part);
                workspace.built.clear();
            }
        }
    }

    fn unit(&self, workspace: &mut Workspace, part: &mut [f64]) {
        let Workspace { layout, built } = workspace;
        if !built.values.is_empty() {
            let output = Output { values: part, row_stride: self.rank };
            self.operator.genexec(layout, UnitOf::Built { rows: built, tile: self.range }, &mut [output]);
        }
    }
}
