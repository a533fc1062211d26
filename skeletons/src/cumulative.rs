//! Cumulative outputs: what blocks compute is merged downwards, row after row and strictly in order, while it is still in
//! the cache. Results are those of the basic operator on the values of the output.

use crate::operator::{Operator, Workspace};
use crate::output::split_parts;
use fuseline_ir::cplan::COutput;
use fuseline_ir::ops::AggOp;
use fuseline_matrix::Dense;
use std::ops::Range;

/// Cells that are computed before they are merged with those above: few enough to stay in the cache, enough for all threads.
const CELLS_AT_A_TIME: usize = 1 << 16;

/// Runs `each` on the cells of every block, which are so many and lie one block after the other in `out`, and merges those
/// of a cumulative output.
pub(crate) fn run_blocks(
    operator: &Operator<'_>,
    out: &mut Dense,
    block_cells: impl Fn(usize) -> usize,
    blocks: usize,
    each: impl Fn(&mut Workspace, usize, &mut [f64]) + Send + Sync,
) {
    let (cols, values) = (out.cols(), out.values_mut());
    let COutput::Cumulative(agg, _) = operator.binding.plan.outputs[0] else {
        let parts = split_parts(values, (0..blocks).map(block_cells));
        operator.run(parts, each);
        return;
    };
    let least = operator.env.pool.current_num_threads();
    let (mut block, mut start, mut computed) = (0, 0, 0..0);
    while block < blocks {
        let (first, mut end) = (block, start);
        while block < blocks && (block - first < least || end - start < CELLS_AT_A_TIME) {
            end += block_cells(block);
            block += 1;
        }
        let (above, rest) = values.split_at_mut(start);
        let parts = split_parts(&mut rest[..end - start], (first..block).map(&block_cells));
        let states = (first..).zip(parts).collect();
        let compute = || operator.run(states, |workspace, _, (block, part)| each(workspace, block, part));
        if computed.is_empty() {
            compute();
        } else {
            // One thread merges what was computed before, while the others go on.
            operator.env.pool.join(|| merge_downwards(agg, above, cols, computed), compute);
        }
        (computed, start) = (start..end, end);
    }
    merge_downwards(agg, values, cols, computed);
}

/// Merges each of these cells with the one above it, which is merged before; those of the first row stay.
fn merge_downwards(agg: AggOp, values: &mut [f64], cols: usize, cells: Range<usize>) {
    match agg {
        AggOp::Sum => downwards(|x, y| AggOp::Sum.merge(x, y), values, cols, cells),
        AggOp::Prod => downwards(|x, y| AggOp::Prod.merge(x, y), values, cols, cells),
        AggOp::Min => downwards(|x, y| AggOp::Min.merge(x, y), values, cols, cells),
        AggOp::Max => downwards(|x, y| AggOp::Max.merge(x, y), values, cols, cells),
        AggOp::SumSq | AggOp::Nnz | AggOp::Mean | AggOp::Var => unreachable!("verified plans cumulate no {agg}"),
    }
}

fn downwards(merge: impl Fn(f64, f64) -> f64, values: &mut [f64], cols: usize, cells: Range<usize>) {
    let mut start = cells.start.max(cols).min(cells.end);
    while start < cells.end {
        // No more than a row at once: what is above them is merged.
        let end = (start + cols).min(cells.end);
        let (above, rest) = values.split_at_mut(start);
        for (cell, &above) in rest[..end - start].iter_mut().zip(&above[start - cols..]) {
            *cell = merge(above, *cell);
        }
        start = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_begin_and_end_within_rows_give_what_the_whole_gives() {
        let cells: Vec<f64> = (0..21).map(|i| f64::from((i * 7 + 3) % 11) - 4.0).collect();
        for (agg, cols) in [(AggOp::Sum, 1), (AggOp::Sum, 3), (AggOp::Prod, 7), (AggOp::Min, 3), (AggOp::Max, 21)] {
            let mut expected = cells.clone();
            for i in cols..cells.len() {
                expected[i] = agg.merge(expected[i - cols], expected[i]);
            }
            for cut in 0..=cells.len() {
                let mut values = cells.clone();
                merge_downwards(agg, &mut values, cols, 0..cut);
                merge_downwards(agg, &mut values, cols, cut..cells.len());
                assert_eq!(values, expected, "{agg}, {cols} columns, cut at {cut}");
            }
        }
    }
}
