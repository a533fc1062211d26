//! Cell and MAgg plans over the non-zeros of a CSR main input, for plans that give one value wherever the main input is
//! zero ([`crate::zeros`]). Outer and Row plans without aggregation give their values by position, too.

use crate::SkeletonError;
use crate::abi::Output;
use crate::accumulate::Accumulation;
use crate::aggregate::Aggregation;
use crate::operator::Operator;
use crate::output::{
    ValuesByPosition, expand_rows, filled_pattern, in_best_format, on_threads_for, split_parts, with_pattern,
};
use crate::visited::VisitedRows;
use crate::work::UnitOf;
use crate::zeros::take_equal_cells;
use fuseline_ir::cplan::COutput;
use fuseline_ir::ops::AggOp;
use fuseline_matrix::{Buffer, BufferPool, Csr, Dense, MatrixBlock, NanWatch, SparseRow, StoredRows};

/// Executes a Cell plan.
pub(crate) fn execute(operator: &Operator<'_>, csr: &Csr, output: &COutput) -> Result<MatrixBlock, SkeletonError> {
    match *output {
        COutput::RowAgg(agg, _) => Ok(rows(operator, csr, agg)),
        COutput::ColAgg(agg, _) => Ok(columns(operator, csr, agg)),
        COutput::FullAgg(..) => Ok(full(&Aggregation::new(operator), csr)),
        COutput::Store(_) => cells(operator, csr),
        COutput::Cumulative(..) => unreachable!("every cell is merged with those above it"),
        COutput::RowProduct { .. } | COutput::TimesFactor(_) | COutput::TransposedTimesFactor(_) => {
            unreachable!("Cell plans have no products")
        }
    }
}

/// The rows to visit of a main input that plans run over by its non-zeros.
pub(crate) fn visited<'a>(operator: &'a Operator<'_>) -> VisitedRows<'a> {
    operator.visited().expect("the main input is sparse")
}

/// The full aggregates of a Cell or MAgg plan.
pub(crate) fn full(aggregation: &Aggregation<'_>, csr: &Csr) -> MatrixBlock {
    let operator = aggregation.operator;
    let total = aggregation.over(Some(&visited(operator)));
    total.with_others(&operator.zero_values(), csr.rows().saturating_mul(csr.cols())).into_block()
}

fn cells(operator: &Operator<'_>, csr: &Csr) -> Result<MatrixBlock, SkeletonError> {
    let zero = operator.zero_values()[0];
    if zero != 0.0 {
        operator.binding.cells()?;
    }
    if operator.binding.combines_rows() {
        return Ok(combined_cells(operator));
    }
    let by_position = by_position(operator);
    Ok(match zero {
        0.0 => with_pattern(operator.env, csr, by_position),
        fill => filled_pattern(operator.env, csr, &by_position.values, fill).into(),
    })
}

/// The values at the positions of several matrices, whose rows are joined or meet. Serves Row and Outer plans, too.
pub(crate) fn combined_cells(operator: &Operator<'_>) -> MatrixBlock {
    let (visited, cols) = (visited(operator), operator.binding.fit.cols);
    let work = operator.work(Some(&visited));
    let blocks = operator.run(vec![(); work.len()], |workspace, block, ()| {
        let rows = work.block_rows(block);
        let most = visited.offsets()[rows.end] - visited.offsets()[rows.start];
        let spanned = visited.spanned(rows);
        let mut out = StoredRows::new(operator.env.buffers, spanned.len(), most);
        work.for_each_unit(block, |unit| {
            let UnitOf::Segment(segment, _) = unit else { return };
            let layout = &mut workspace.layout;
            let mut buffer = std::mem::replace(&mut layout.output, Buffer::zeroed(0));
            let values = operator.reserve(&mut buffer, segment.end - segment.start);
            operator.genexec(layout, unit, &mut [Output { row_stride: values.len(), values: &mut *values }]);
            let numbers = visited.numbers(unit.rows());
            let (columns, offsets) = (layout.combined.columns(), layout.combined.offsets());
            let cells = SparseRow { columns, values: &values[..columns.len()] };
            out.store(|r| numbers.get(r) - spanned.start, offsets, cells);
            layout.output = buffer;
        });
        out
    });
    let env = operator.env;
    if blocks.is_empty() {
        return in_best_format(env, Csr::empty(operator.binding.fit.rows, cols).into());
    }
    // Of as many non-zeros as were gone through, at most.
    let together = || StoredRows::put_together(env.buffers, cols, &blocks);
    in_best_format(env, on_threads_for(env, operator.binding.non_zeros(), together).into())
}

/// One value for each position.
pub(crate) fn by_position(operator: &Operator<'_>) -> ValuesByPosition {
    let visited = visited(operator);
    let work = operator.work(Some(&visited));
    let mut values = BufferPool::take(operator.env.buffers, visited.csr().nnz());
    let parts = split_parts(&mut values, (0..work.len()).map(|block| work.block_len(block)));
    let nan = NanWatch::default();
    let have_zeros = operator.run(parts, |workspace, block, part| {
        let (mut rest, mut has_zeros) = (part, false);
        work.for_each_unit(block, |unit| {
            if let UnitOf::Segment(segment, _) = unit
                && !operator.leaves_out(unit)
            {
                let (values, later) = std::mem::take(&mut rest).split_at_mut(segment.end - segment.start);
                let output = Output { row_stride: values.len(), values: &mut *values };
                operator.genexec(&mut workspace.layout, unit, &mut [output]);
                has_zeros |= operator.env.primitives.contains_zero(values);
                nan.look(values);
                rest = later;
            }
        });
        has_zeros
    });
    ValuesByPosition { values, have_zeros: have_zeros.contains(&true), are_nan_free: nan.saw_none() }
}

fn rows(operator: &Operator<'_>, csr: &Csr, agg: AggOp) -> MatrixBlock {
    let (visited, zero) = (visited(operator), operator.zero_values()[0]);
    let work = operator.work(Some(&visited));
    let mut out = Dense::uninit_in(operator.env.buffers, visited.len(), 1);
    let parts = split_parts(out.values_mut(), (0..work.len()).map(|block| work.block_rows(block).len()));
    let nan = NanWatch::default();
    operator.run(parts, |workspace, block, part| {
        let first_row = work.block_rows(block).start;
        work.for_each_unit(block, |unit| {
            let rows = unit.rows();
            let values = &mut part[rows.start - first_row..rows.end - first_row];
            let output = Output { values: &mut *values, row_stride: 1 };
            operator.genexec(&mut workspace.layout, unit, &mut [output]);
            if zero == 0.0 && agg.ignores_zeros() {
                return;
            }
            let offsets = if operator.binding.combines_rows() {
                workspace.layout.combined.offsets()
            } else {
                &visited.offsets()[rows.start..=rows.end]
            };
            take_zeros_by_row(agg, zero, csr.cols(), offsets, values);
        });
        nan.look(part);
    });
    out.set_nan_free(nan.saw_none());
    let empty = take_equal_cells(agg, agg.neutral(), zero, csr.cols());
    expand_rows(operator.env, out, &visited, empty).into()
}

fn columns(operator: &Operator<'_>, csr: &Csr, agg: AggOp) -> MatrixBlock {
    let (visited, zero) = (visited(operator), operator.zero_values()[0]);
    let accumulation = Accumulation { operator, len: csr.cols(), row_stride: csr.cols(), agg, is_full: false };
    let mut out = accumulation.over(Some(&visited));
    if zero != 0.0 || !agg.ignores_zeros() {
        on_threads_for(operator.env, csr.nnz(), || take_zeros_by_column(csr, agg, zero, out.values_mut()));
    }
    out.into()
}

/// Takes the zeros of rows of so many cells into their aggregates, given where their non-zeros lie. Extremes do not count them.
fn take_zeros_by_row(agg: AggOp, zero: f64, cols: usize, offsets: &[usize], cells: &mut [f64]) {
    let zeros = offsets.windows(2).map(|bounds| cols - (bounds[1] - bounds[0]));
    let cells = cells.iter_mut().zip(zeros);
    match agg {
        AggOp::Min => merge_where_zeros_are(cells, |cell| AggOp::Min.merge(cell, zero)),
        AggOp::Max => merge_where_zeros_are(cells, |cell| AggOp::Max.merge(cell, zero)),
        _ => cells.for_each(|(cell, zeros)| *cell = take_equal_cells(agg, *cell, zero, zeros)),
    }
}

fn merge_where_zeros_are<'a>(cells: impl Iterator<Item = (&'a mut f64, usize)>, merge: impl Fn(f64) -> f64) {
    for (cell, zeros) in cells {
        let merged = merge(*cell);
        *cell = if zeros > 0 { merged } else { *cell };
    }
}

/// Takes the zeros of each column into its aggregate. Extremes need not know how many there are.
fn take_zeros_by_column(csr: &Csr, agg: AggOp, zero: f64, cells: &mut [f64]) {
    if matches!(agg, AggOp::Min | AggOp::Max) {
        return csr.change_where_zeros_are(cells, |cell| agg.merge(cell, zero));
    }
    for (cell, count) in cells.iter_mut().zip(csr.column_counts()) {
        *cell = take_equal_cells(agg, *cell, zero, csr.rows() - count);
    }
}
