//! Cell and MAgg plans over the non-zeros of a CSR main input, for plans that give one value wherever the main input is
//! zero ([`crate::zeros`]). Outer plans without aggregation give their values by position, too.

use crate::SkeletonError;
use crate::abi::Output;
use crate::accumulate::Accumulation;
use crate::aggregate::Aggregation;
use crate::blocks::SparsePartition;
use crate::operator::Operator;
use crate::output::{expand_rows, filled_pattern, split_parts, with_pattern};
use crate::roles::needs_rows;
use crate::visited::VisitedRows;
use crate::work::{UnitOf, Work};
use crate::zeros::take_equal_cells;
use fuseline_ir::cplan::COutput;
use fuseline_ir::ops::AggOp;
use fuseline_ir::work::partial_count;
use fuseline_matrix::{Csr, Dense, MatrixBlock};

/// Executes a Cell plan.
pub(crate) fn execute(operator: &Operator<'_>, csr: &Csr, output: &COutput) -> Result<MatrixBlock, SkeletonError> {
    match *output {
        COutput::RowAgg(agg, _) => Ok(rows(operator, csr, agg)),
        COutput::ColAgg(agg, _) => Ok(columns(operator, csr, agg)),
        COutput::FullAgg(..) => Ok(full(&Aggregation::new(operator), csr)),
        // Cell plans have no products.
        _ => cells(operator, csr),
    }
}

/// The partition of the positions of the visited rows.
fn partition<'v>(operator: &Operator<'_>, visited: &'v VisitedRows<'_>) -> SparsePartition<'v> {
    if needs_rows(operator.binding.plan) {
        SparsePartition::rows(visited.offsets(), 1, true)
    } else {
        SparsePartition::positions(visited.offsets())
    }
}

/// The full aggregates of a Cell or MAgg plan.
pub(crate) fn full(aggregation: &Aggregation<'_>, csr: &Csr) -> MatrixBlock {
    let operator = aggregation.operator;
    let visited = operator.visited(csr);
    let work = Work::Segments(partition(operator, &visited), &visited);
    let zeros = csr.rows().saturating_mul(csr.cols()) - csr.nnz();
    aggregation.over(&work, true).with_zeros(&operator.zero_values(), zeros).into_block()
}

fn cells(operator: &Operator<'_>, csr: &Csr) -> Result<MatrixBlock, SkeletonError> {
    let zero = operator.zero_values()[0];
    if zero != 0.0 {
        operator.binding.cells()?;
    }
    let visited = operator.visited(csr);
    let values = by_position(operator, &partition(operator, &visited), &visited);
    Ok(match zero {
        0.0 => with_pattern(csr, values),
        fill => filled_pattern(operator.env, csr, &values, fill).into(),
    })
}

/// One value for each position. Serves Outer plans too.
pub(crate) fn by_position(
    operator: &Operator<'_>,
    partition: &SparsePartition<'_>,
    visited: &VisitedRows<'_>,
) -> Vec<f64> {
    let mut values = vec![0.0; visited.csr().nnz()];
    let parts = split_parts(&mut values, (0..partition.len()).map(|block| partition.block_positions(block).len()));
    operator.run(parts, |workspace, block, part| {
        let first = partition.block_positions(block).start;
        partition.for_each_segment(block, |segment| {
            if segment.start < segment.end {
                let values = &mut part[segment.start - first..segment.end - first];
                let output = Output { row_stride: values.len(), values };
                operator.genexec(&mut workspace.layout, UnitOf::Segment(segment, visited), &mut [output]);
            }
        });
    });
    values
}

fn rows(operator: &Operator<'_>, csr: &Csr, agg: AggOp) -> MatrixBlock {
    let (visited, zero) = (operator.visited(csr), operator.zero_values()[0]);
    let partition = SparsePartition::rows(visited.offsets(), 1, false);
    let mut out = Dense::uninit_in(operator.env.buffers, visited.len(), 1);
    let parts = split_parts(out.values_mut(), (0..partition.len()).map(|block| partition.block_rows(block).len()));
    operator.run(parts, |workspace, block, part| {
        let first_row = partition.block_rows(block).start;
        partition.for_each_segment(block, |segment| {
            let values = &mut part[segment.first_row - first_row..][..segment.rows];
            let unit = UnitOf::Segment(segment, &visited);
            let output = Output { values: &mut *values, row_stride: 1 };
            operator.genexec(&mut workspace.layout, unit, &mut [output]);
            let offsets = &visited.offsets()[segment.first_row..=segment.first_row + segment.rows];
            for (cell, bounds) in values.iter_mut().zip(offsets.windows(2)) {
                *cell = take_equal_cells(agg, *cell, zero, csr.cols() - (bounds[1] - bounds[0]));
            }
        });
    });
    let empty = take_equal_cells(agg, agg.neutral(), zero, csr.cols());
    expand_rows(operator.env, out, &visited, empty).into()
}

fn columns(operator: &Operator<'_>, csr: &Csr, agg: AggOp) -> MatrixBlock {
    let (visited, zero) = (operator.visited(csr), operator.zero_values()[0]);
    let partition = partition(operator, &visited).with_blocks(partial_count(csr.nnz(), csr.cols()));
    let accumulation = Accumulation { operator, len: csr.cols(), row_stride: csr.cols(), agg, is_full: false };
    let mut out = accumulation.over(&Work::Segments(partition, &visited), true);
    if zero != 0.0 || !agg.ignores_zeros() {
        let mut counts = vec![0_usize; csr.cols()];
        for &j in csr.columns() {
            counts[j as usize] += 1;
        }
        for (cell, &count) in out.values_mut().iter_mut().zip(&counts) {
            *cell = take_equal_cells(agg, *cell, zero, csr.rows() - count);
        }
    }
    out.into()
}
