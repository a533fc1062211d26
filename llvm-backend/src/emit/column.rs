//! Loops over the cells of a single column as one run over its rows. Row by row, values that belong to rows (a cell of a
//! wider matrix, the number of the row) would make a loop of each cell.

use super::fused::Loop;
use super::unit::Fact;
use super::{Emit, Emitter};
use crate::schedule::{Extent, FusedLoop};
use inkwell::values::IntValue;

impl<'ctx> Emitter<'_, 'ctx> {
    /// Whether the loop has a form for a single column: it reads values of rows and does nothing but store. What it
    /// aggregates has an order in which rows matter.
    pub(super) fn has_column_form(&self, this: &Loop<'_, 'ctx>) -> bool {
        let stores = this.reductions.is_empty() && this.writes.iter().all(|write| write.merge.is_none());
        let reads_rows = this.inputs.iter().any(|(id, _)| self.schedule.extents[*id] == Extent::Rows);
        let finds_rows = this.fused.nodes.iter().any(|&id| self.plan.nodes[id].operands().is_empty());
        this.fused.extent == Extent::Cells && stores && (reads_rows || finds_rows)
    }

    /// Whether the unit has one column, and the cells that the loop reads and writes follow each other.
    pub(super) fn is_column(&mut self, this: &Loop<'_, 'ctx>) -> Emit<IntValue<'ctx>> {
        let read = this.inputs.iter().map(|(_, view)| view).filter(|view| view.is_wide);
        let written = this.writes.iter().map(|write| &write.view);
        let strides = read.chain(written).map(|view| view.row);
        let cols = self.number(Fact::Cols)?;
        self.are_equal(strides.chain([cols]), self.index(1))
    }

    /// The loop as one run over the rows of the column.
    pub(super) fn column_loop(&mut self, this: &Loop<'_, 'ctx>) -> Emit<()> {
        let fused = FusedLoop { extent: Extent::Rows, ..this.fused.clone() };
        let mut column: Loop<'_, 'ctx> = this.without_aggregates(this.writes.clone());
        column.fused = &fused;
        column.rows = self.index(1);
        column.length = Some(self.number(Fact::Rows)?);
        for (_, view) in &mut column.inputs {
            view.is_packed |= view.is_wide;
        }
        self.row_loop(&column)
    }
}
