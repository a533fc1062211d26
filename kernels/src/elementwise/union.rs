//! Operations of two sparse matrices whose result is zero where both are.

use crate::blocks::{map_parts_with, on_threads_for, ranges_by_weight};
use crate::{KernelContext, push_nonzero};
use fuseline_ir::ops::BinaryOp;
use fuseline_ir::work::BLOCK_NON_ZEROS;
use fuseline_matrix::{Csr, CsrRows, JoinedCells, SparseRow, StoredRows};
use fuseline_vecprims::{Form, Tile, TileMut};
use std::ops::Range;

/// Positions that are merged before they are evaluated: they stay in the first caches.
const RUN: usize = 1 << 11;

/// Merges the patterns of two sparse matrices of one shape, for operations with `f(0, 0) = 0`.
pub(super) fn union(context: &KernelContext<'_>, op: BinaryOp, a: &Csr, b: &Csr) -> Csr {
    let positions = |row| a.row_offsets()[row] + b.row_offsets()[row] + row;
    let ranges = ranges_by_weight(a.rows(), positions, BLOCK_NON_ZEROS, usize::MAX);
    let blocks = map_parts_with(context, ranges, Cells::default, |cells, rows| {
        let most = positions(rows.end) - positions(rows.start) - rows.len();
        let stored = StoredRows::new(context.buffers, rows.len(), most);
        Union { context, op, cells, lengths: Vec::new(), count: 0, first: 0, stored }.of_rows(a, b, rows)
    });
    on_threads_for(context, blocks.len(), || StoredRows::put_together(context.buffers, a.cols(), &blocks))
}

/// The cells of two matrices at the positions that were merged last.
#[derive(Default)]
struct Cells {
    left: Vec<f64>,
    right: Vec<f64>,
}

/// The union of some rows of two matrices under construction.
struct Union<'a, 'c> {
    context: &'a KernelContext<'c>,
    op: BinaryOp,
    cells: &'a mut Cells,
    /// Positions of each row that was merged and is not yet evaluated, and of all of these.
    lengths: Vec<usize>,
    count: usize,
    /// The first of these rows.
    first: usize,
    stored: StoredRows,
}

impl Union<'_, '_> {
    fn of_rows(mut self, a: &Csr, b: &Csr, rows: Range<usize>) -> StoredRows {
        for i in rows {
            self.merge(a.row(i).into(), b.row(i).into());
            if self.count >= RUN {
                self.evaluate();
            }
        }
        self.evaluate();
        self.stored
    }

    /// Merges the positions of two rows.
    fn merge(&mut self, a: SparseRow<'_>, b: SparseRow<'_>) {
        let most = self.count + a.len() + b.len();
        for cells in [&mut self.cells.left, &mut self.cells.right].into_iter().filter(|cells| cells.len() < most) {
            cells.resize(most.next_power_of_two(), 0.0);
        }
        let (columns, _) = self.stored.room();
        let mut room = JoinedCells { columns, left: &mut self.cells.left, right: &mut self.cells.right };
        let length = a.join(b, room.behind(self.count));
        self.lengths.push(length);
        self.count += length;
    }

    /// Stores the results at the positions so far: what is not zero.
    fn evaluate(&mut self) {
        let (count, primitives) = (self.count, self.context.primitives);
        let (columns, values) = self.stored.room();
        let (columns, values) = (&mut columns[..count], &mut values[..count]);
        let (x, y) = (Tile::new(&self.cells.left, count), Tile::new(&self.cells.right, count));
        primitives.binary(self.op, Form::VectVect, 1, count, x, y, TileMut::new(values, count));
        if primitives.contains_zero(values) {
            drop_zeros(&mut self.lengths, columns, values);
        }
        for (row, length) in (self.first..).zip(&self.lengths) {
            self.stored.adopt(row, *length);
        }
        self.first += self.lengths.len();
        self.lengths.clear();
        self.count = 0;
    }
}

/// Moves what is not zero to the front.
fn drop_zeros(lengths: &mut [usize], columns: &mut [u32], values: &mut [f64]) {
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
