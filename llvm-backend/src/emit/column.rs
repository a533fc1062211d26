//! Loops over the cells of a single column as one run over its rows. Row by row, values that belong to rows (a cell of a
//! wider matrix, the number of the row) would make a loop of each cell.

use super::loops::{Loop, LoopInput};
use super::unit::Fact;
use super::{Emit, Emitter};
use crate::schedule::{Extent, FusedLoop};
use inkwell::values::IntValue;

impl<'ctx> Loop<'_, 'ctx> {
    /// Whether the loop has a form for a single column: it reads values of rows and does nothing but store. What it
    /// aggregates has an order in which rows matter.
    pub(super) fn has_column_form(&self, emitter: &Emitter<'_, 'ctx>) -> bool {
        let stores = self.reductions.is_empty() && self.writes.iter().all(|write| write.merge.is_none());
        let reads_rows = self.inputs.iter().any(|input| emitter.schedule.extents[input.node] == Extent::Rows);
        let finds_rows = self.fused.finds_rows(emitter.plan);
        self.fused.extent == Extent::Cells && stores && (reads_rows || finds_rows)
    }

    /// Whether the unit has one column, and the cells that the loop reads and writes follow each other.
    pub(super) fn is_column(&self, emitter: &mut Emitter<'_, 'ctx>) -> Emit<IntValue<'ctx>> {
        let read = self.inputs.iter().map(|input| &input.view).filter(|view| view.is_wide);
        let written = self.writes.iter().map(|write| &write.view);
        let strides = read.chain(written).map(|view| view.row_stride);
        let cols = emitter.number(Fact::Cols)?;
        emitter.are_equal(strides.chain([cols]), emitter.index(1))
    }

    /// The loop as one run over the rows of the column.
    pub(super) fn column_loop(&self, emitter: &mut Emitter<'_, 'ctx>) -> Emit<()> {
        let fused = FusedLoop { extent: Extent::Rows, ..self.fused.clone() };
        let mut column: Loop<'_, 'ctx> = self.without_aggregates(self.writes.clone());
        column.fused = &fused;
        column.rows = emitter.index(1);
        column.length = emitter.number(Fact::Rows)?;
        for LoopInput { view, .. } in &mut column.inputs {
            view.is_packed |= view.is_wide;
        }
        column.row_loop(emitter)
    }
}
