//! Operations of two sparse matrices whose result is zero where both are.

use crate::blocks::{BLOCK_CELLS, map_parts_with, on_threads_for, ranges_by_weight};
use crate::{KernelContext, push_nonzero};
use fuseline_ir::ops::{AggOp, BinaryOp};
use fuseline_matrix::{Csr, CsrRows, JoinedCells, SparseRow};
use fuseline_vecprims::{Form, Tile, TileMut};
use std::ops::Range;

/// Positions that are merged before they are evaluated: they stay in the first caches.
const RUN: usize = 1 << 11;

/// The cells of two sparse matrices wherever one of them has a position, row after row, and the results there.
#[derive(Default)]
struct Merged {
    columns: Vec<u32>,
    left: Vec<f64>,
    right: Vec<f64>,
    results: Vec<f64>,
}

impl Merged {
    /// Makes room for so many positions.
    fn reserve(&mut self, count: usize) {
        if self.columns.len() < count {
            self.columns.resize(count, 0);
            [&mut self.left, &mut self.right, &mut self.results].into_iter().for_each(|cells| cells.resize(count, 0.0));
        }
    }

    /// Writes the cells of two rows from the one at `start` on; their number.
    fn put(&mut self, start: usize, a: SparseRow<'_>, b: SparseRow<'_>) -> usize {
        let Merged { columns, left, right, .. } = self;
        let cells =
            JoinedCells { columns: &mut columns[start..], left: &mut left[start..], right: &mut right[start..] };
        a.join(b, cells)
    }

    /// Appends the results at the first `count` positions, which are those of the rows from `first` on; what is not zero.
    fn evaluate(&mut self, context: &KernelContext<'_>, op: BinaryOp, count: usize, first: usize, block: &mut CsrRows) {
        let (x, y) = (Tile::new(&self.left, count), Tile::new(&self.right, count));
        context.primitives.binary(op, Form::VectVect, 1, count, x, y, TileMut::new(&mut self.results, count));
        let nonzeros = context.primitives.full_agg(AggOp::Nnz, 1, count, Tile::new(&self.results, count));
        let has_zeros = nonzeros < count as f64;
        let kept = if has_zeros {
            drop_zeros(&mut block.lengths[first..], &mut self.columns, &mut self.results)
        } else {
            count
        };
        block.columns.extend_from_slice(&self.columns[..kept]);
        block.values.extend_from_slice(&self.results[..kept]);
    }
}

/// Merges the patterns of two sparse matrices of one shape, for operations with `f(0, 0) = 0`.
pub(super) fn union(context: &KernelContext<'_>, op: BinaryOp, a: &Csr, b: &Csr) -> Csr {
    let ranges =
        ranges_by_weight(a.rows(), |row| a.row_offsets()[row] + b.row_offsets()[row] + row, BLOCK_CELLS, usize::MAX);
    let blocks =
        map_parts_with(context, ranges, Merged::default, |merged, rows| union_rows(context, op, a, b, rows, merged));
    on_threads_for(context, blocks.len(), || Csr::from_blocks_in(context.buffers, a.cols(), &blocks))
}

fn union_rows(
    context: &KernelContext<'_>,
    op: BinaryOp,
    a: &Csr,
    b: &Csr,
    rows: Range<usize>,
    merged: &mut Merged,
) -> CsrRows {
    let positions = [a, b].map(|csr| csr.row_offsets()[rows.end] - csr.row_offsets()[rows.start]);
    let mut block = CsrRows::with_capacity(rows.len(), positions[0] + positions[1]);
    let (mut count, mut first) = (0, 0);
    for i in rows {
        let (x, y): (SparseRow<'_>, SparseRow<'_>) = (a.row(i).into(), b.row(i).into());
        merged.reserve(count + x.len() + y.len());
        let length = merged.put(count, x, y);
        block.lengths.push(length);
        count += length;
        if count >= RUN {
            merged.evaluate(context, op, count, first, &mut block);
            (count, first) = (0, block.lengths.len());
        }
    }
    merged.evaluate(context, op, count, first, &mut block);
    block
}

/// Moves what is not zero to the front; its number.
fn drop_zeros(lengths: &mut [usize], columns: &mut [u32], values: &mut [f64]) -> usize {
    let (mut from, mut kept) = (0, 0);
    for length in lengths {
        let start = kept;
        for position in from..from + *length {
            (columns[kept], values[kept]) = (columns[position], values[position]);
            kept += usize::from(values[kept] != 0.0);
        }
        from += *length;
        *length = kept - start;
    }
    kept
}

/// Appends `f` of two sparse rows, where `f(0, 0) = 0`.
pub(crate) fn union_row(f: impl Fn(f64, f64) -> f64, a: SparseRow<'_>, b: SparseRow<'_>, result: &mut CsrRows) {
    let (mut p, mut q) = (0, 0);
    while p < a.len() || q < b.len() {
        let a_column = a.columns.get(p).copied().unwrap_or(u32::MAX);
        let b_column = b.columns.get(q).copied().unwrap_or(u32::MAX);
        let j = a_column.min(b_column);
        let x = if a_column == j { a.values[p] } else { 0.0 };
        let y = if b_column == j { b.values[q] } else { 0.0 };
        p += usize::from(a_column == j);
        q += usize::from(b_column == j);
        push_nonzero(result, j, f(x, y));
    }
}
