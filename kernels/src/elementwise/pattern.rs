//! Operations at the non-zeros of a sparse matrix.
//!
//! Results are hardly ever zero, and then have the positions of the operand: these are shared, and nothing but values is
//! written. Where a result is zero after all, the positions are copied without those of zeros. Where zeros do not stay zeros
//! but all become one value, this is computed once.

use super::gather::Gather;
use crate::blocks::{BLOCK_CELLS, balanced_ranges, in_best_format, map_parts, map_parts_with, on_threads_for};
use crate::{KernelContext, Operand};
use fuseline_ir::work::BLOCK_NON_ZEROS;
use fuseline_matrix::{Buffer, BufferPool, Csr, MatrixBlock, NanWatch};
use fuseline_vecprims::Operand as VectorOperand;
use std::ops::Range;

/// Non-zeros that are evaluated at a time: cells, gathered cells and results stay in the first caches.
const RUN: usize = 1 << 12;

/// Evaluates at the non-zeros of `pattern`, given their values and the cells of the other operands there.
pub(super) fn over_pattern<const N: usize>(
    context: &KernelContext<'_>,
    pattern: &Csr,
    others: [Operand<'_>; N],
    evaluate: impl Fn(VectorOperand<'_>, [VectorOperand<'_>; N], &mut [f64]) + Sync,
) -> Csr {
    let by_position = by_position(context, pattern, others, evaluate);
    let result = pattern.with_values(by_position.values).with_nan_free(by_position.are_nan_free);
    without_zeros(context, result, by_position.have_zeros)
}

/// Evaluates at the non-zeros of `pattern` beside scalars, and once for all of its zeros, which do not stay zeros.
pub(super) fn filled<const N: usize>(
    context: &KernelContext<'_>,
    pattern: &Csr,
    scalars: [f64; N],
    evaluate: impl Fn(VectorOperand<'_>, [VectorOperand<'_>; N], &mut [f64]) + Sync,
) -> MatrixBlock {
    let mut fill = [0.0];
    let beside = scalars.each_ref().map(|scalar| VectorOperand::scalars(std::slice::from_ref(scalar), 0));
    evaluate(VectorOperand::cells(&[0.0], 0), beside, &mut fill);
    let values = by_position(context, pattern, scalars.map(Operand::Scalar), evaluate).values;
    let (rows, cols) = (pattern.rows(), pattern.cols());
    let cells = rows.saturating_mul(cols);
    let result: MatrixBlock = on_threads_for(context, cells.div_ceil(BLOCK_CELLS), || {
        pattern.filled_in(context.buffers, &values, fill[0]).into()
    });
    // Most cells are those of zeros: nobody needs to count all of them.
    let is_dense = fill[0] != 0.0 && !MatrixBlock::best_format(rows, cols, cells - pattern.nnz()).is_sparse();
    if is_dense { result } else { in_best_format(context, result) }
}

/// One value for each non-zero of a matrix.
struct ByPosition {
    values: Buffer,
    /// Whether any of them is zero.
    have_zeros: bool,
    /// Whether it is known that none of them is NaN.
    are_nan_free: bool,
}

/// Evaluates at each non-zero of `pattern`.
fn by_position<const N: usize>(
    context: &KernelContext<'_>,
    pattern: &Csr,
    others: [Operand<'_>; N],
    evaluate: impl Fn(VectorOperand<'_>, [VectorOperand<'_>; N], &mut [f64]) + Sync,
) -> ByPosition {
    let others = others.map(|operand| Gather::new(operand, (pattern.rows(), pattern.cols())));
    let mut values = BufferPool::take(context.buffers, pattern.nnz());
    let parts = split_by_rows(pattern, row_blocks(pattern), &mut values);
    let nan = NanWatch::default();
    let scratch_of_thread = || others.each_ref().map(|_| (Vec::new(), Vec::new()));
    let have_zeros = map_parts_with(context, parts, scratch_of_thread, |scratch, (range, out)| {
        let first = pattern.row_offsets()[range.start];
        let mut has_zeros = false;
        for rows in (Runs { pattern, rest: range }) {
            let positions = pattern.row_offsets()[rows.start]..pattern.row_offsets()[rows.end];
            let out = &mut out[positions.start - first..positions.end - first];
            let mut pairs = others.iter().zip(scratch.iter_mut());
            let cells = std::array::from_fn(|_| {
                let (other, (cells, scattered)) = pairs.next().expect("scratch for each operand");
                other.cells(context, pattern, rows.clone(), cells, scattered)
            });
            evaluate(VectorOperand::cells(&pattern.values()[positions], 0), cells, out);
            has_zeros |= context.primitives.contains_zero(out);
            nan.look(out);
        }
        has_zeros
    });
    ByPosition { values, have_zeros: have_zeros.contains(&true), are_nan_free: nan.saw_none() }
}

/// The pattern with other values, without those that are zero.
pub(crate) fn with_values(context: &KernelContext<'_>, pattern: &Csr, values: Buffer) -> Csr {
    let nan = NanWatch::default();
    let have_zeros = map_parts(context, values.chunks(BLOCK_CELLS).collect(), |run| {
        nan.look(run);
        context.primitives.contains_zero(run)
    });
    let result = pattern.with_values(values).with_nan_free(nan.saw_none());
    without_zeros(context, result, have_zeros.contains(&true))
}

/// The matrix without stored zeros, if it has any.
fn without_zeros(context: &KernelContext<'_>, csr: Csr, has_zeros: bool) -> Csr {
    if !has_zeros {
        return csr;
    }
    on_threads_for(context, csr.nnz().div_ceil(BLOCK_NON_ZEROS), || csr.without_stored_zeros_in(context.buffers))
}

/// Blocks of rows with equal work.
fn row_blocks(csr: &Csr) -> Vec<Range<usize>> {
    balanced_ranges(csr, BLOCK_NON_ZEROS, usize::MAX)
}

/// The values of each block of rows.
fn split_by_rows<'a>(
    csr: &Csr,
    blocks: Vec<Range<usize>>,
    mut values: &'a mut [f64],
) -> Vec<(Range<usize>, &'a mut [f64])> {
    let mut parts = Vec::with_capacity(blocks.len());
    for rows in blocks {
        let length = csr.row_offsets()[rows.end] - csr.row_offsets()[rows.start];
        let (part, behind) = values.split_at_mut(length);
        parts.push((rows, part));
        values = behind;
    }
    parts
}

/// Parts of a range of rows with about [`RUN`] non-zeros, or a single row with more.
struct Runs<'a> {
    pattern: &'a Csr,
    rest: Range<usize>,
}

impl Iterator for Runs<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let Range { start, end } = self.rest;
        let offsets = &self.pattern.row_offsets()[start..=end];
        let goal = offsets[0] + RUN;
        // Bounds of the search: a run has at least one row.
        let rows = offsets.get(2..).map_or(0, |offsets| offsets.partition_point(|&offset| offset <= goal)) + 1;
        let run = start..(start + rows).min(end);
        self.rest.start = run.end;
        (!run.is_empty()).then_some(run)
    }
}
