//! Cumulative outputs: what blocks compute is merged downwards, row after row and strictly in order, while it is still in
//! the cache: by all threads, each of which has some columns, or by one beside those that compute, where columns are few. Results are
//! those of the basic operator on the values of the output.

use crate::operator::{Operator, Workspace};
use crate::output::split_parts;
use fuseline_ir::cplan::COutput;
use fuseline_ir::ops::AggOp;
use fuseline_matrix::run_context::is_alone;
use fuseline_matrix::{Dense, parts_of_columns};
use rayon::prelude::*;
use std::ops::Range;

/// Cells that are computed before they are merged with those above: few enough to stay in the cache, enough for all threads.
const CELLS_AT_A_TIME: usize = 1 << 16;

/// Cells that all threads compute before all of them merge.
const CELLS_BETWEEN_MERGES: usize = 1 << 18;

/// Columns of which a thread merges as many, or more: those of a cache line.
const LEAST_COLUMNS: usize = 8;

/// The cells of some columns, row by row.
type Cells<'a> = Vec<&'a mut [f64]>;

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
    let shares_columns = is_shared(values.len(), cols, least);
    let width = cols.div_ceil(least).next_multiple_of(LEAST_COLUMNS);
    let cells_at_a_time = if shares_columns { CELLS_BETWEEN_MERGES } else { CELLS_AT_A_TIME };
    let (mut block, mut start, mut computed) = (0, 0, 0..0);
    while block < blocks {
        let (first, mut end) = (block, start);
        while block < blocks && (block - first < least || end - start < cells_at_a_time) {
            end += block_cells(block);
            block += 1;
        }
        let (above, rest) = values.split_at_mut(start);
        let parts = split_parts(&mut rest[..end - start], (first..block).map(&block_cells));
        let states = (first..).zip(parts).collect();
        let compute = || operator.run(states, |workspace, _, (block, part)| each(workspace, block, part));
        if shares_columns {
            compute();
            // Rows that became whole, and the one above them.
            let (merged, whole) = (start - start % cols, end - end % cols);
            let parts = parts_of_columns(&mut values[merged - merged.min(cols)..whole], cols, width);
            operator.env.pool.install(|| parts.into_par_iter().for_each(|part| merge_rows(agg, part)));
        } else if computed.is_empty() {
            compute();
        } else {
            // One thread merges what was computed before, while the others go on.
            operator.env.pool.join(|| merge_downwards(agg, above, cols, computed), compute);
        }
        (computed, start) = (start..end, end);
    }
    if !shares_columns {
        merge_downwards(agg, values, cols, computed);
    }
}

/// Whether so many threads share the columns of a result: each has a cache line of them, and there is work for several.
fn is_shared(cells: usize, cols: usize, threads: usize) -> bool {
    threads > 1 && cols >= threads * LEAST_COLUMNS && cells > CELLS_AT_A_TIME && !is_alone()
}

/// Merges each of these rows with the one above it, which is merged before; the first one stays.
fn merge_rows(agg: AggOp, rows: Cells<'_>) {
    match agg {
        AggOp::Sum => rows_downwards(|x, y| AggOp::Sum.merge(x, y), rows),
        AggOp::Prod => rows_downwards(|x, y| AggOp::Prod.merge(x, y), rows),
        AggOp::Min => rows_downwards(|x, y| AggOp::Min.merge(x, y), rows),
        AggOp::Max => rows_downwards(|x, y| AggOp::Max.merge(x, y), rows),
        AggOp::SumSq | AggOp::Nnz | AggOp::Mean | AggOp::Var => unreachable!("verified plans cumulate no {agg}"),
    }
}

fn rows_downwards(merge: impl Fn(f64, f64) -> f64, rows: Cells<'_>) {
    let mut rows = rows.into_iter();
    let Some(mut above) = rows.next() else { return };
    for row in rows {
        row.iter_mut().zip(&*above).for_each(|(cell, &above)| *cell = merge(above, *cell));
        above = row;
    }
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
            for width in 1..=cols {
                let mut values = cells.clone();
                let parts = parts_of_columns(&mut values, cols, width);
                parts.into_iter().for_each(|part| merge_rows(agg, part));
                assert_eq!(values, expected, "{agg}, {cols} columns, {width} at a time");
            }
        }
    }
}
