//! Loops in units of narrow rows: one run over all cells, of values that lie in gapless tiles (`schedule::narrow`).

use super::calls::Arguments;
use super::fused::{Loop, Reduction, Row, Source, Target, Write};
use super::memory::View;
use super::unit::Fact;
use super::{Emit, Emitter};
use crate::schedule::{Extent, NARROW};
use fuseline_ir::cplan::{CNode, CNodeId};
use fuseline_vecprims::Primitive;
use inkwell::IntPredicate;
use inkwell::values::{IntValue, PointerValue};

impl<'ctx> Emitter<'_, 'ctx> {
    /// Whether rows of this length are narrow.
    pub(super) fn is_narrow(&self, length: IntValue<'ctx>) -> Emit<IntValue<'ctx>> {
        self.builder.build_int_compare(IntPredicate::ULT, length, self.index(NARROW.into()), "")
    }

    /// Writes a value to a gapless tile, where rows are narrow and it does not lie in one already.
    pub(super) fn pack(&mut self, id: CNodeId, extent: Extent) -> Emit<()> {
        let (rows, length) = self.dimensions(extent)?;
        let (view, slot) = (self.view(id)?, self.slot(self.schedule.packed[&(id, extent)])?);
        let is_per_row = self.schedule.extents[id] == Extent::Rows;
        let mut is_needed = self.is_narrow(length)?;
        if !is_per_row {
            let lies_apart = self.builder.build_int_compare(IntPredicate::NE, view.row, length, "")?;
            is_needed = self.both(is_needed, lies_apart)?;
        }
        let primitive = if is_per_row { Primitive::Spread } else { Primitive::Copy };
        let arguments = Arguments::numbers([rows, length]).with_view(view).with(slot).with(length);
        self.only_where(is_needed, ["pack", "packed"], |emitter| emitter.call_primitive(primitive, &arguments))
    }

    /// Whether the unit has narrow rows, and those that the loop reads and writes where they are follow each other.
    pub(super) fn has_narrow_rows(&mut self, this: &Loop<'_, 'ctx>) -> Emit<IntValue<'ctx>> {
        let extent = this.fused.extent;
        let (_, length) = self.dimensions(extent)?;
        let read = this.inputs.iter().filter(|(id, _)| !self.schedule.packed.contains_key(&(*id, extent)));
        let written = this.writes.iter().filter(|write| write.merge.is_none());
        let strides = read.map(|(_, view)| view.row).chain(written.map(|write| write.view.row));
        let (is_narrow, are_gapless) = (self.is_narrow(length)?, self.are_equal(strides, length)?);
        self.both(is_narrow, are_gapless)
    }

    /// The loop as one run over the cells of the unit, then what it aggregates.
    pub(super) fn narrow_loop(&mut self, this: &Loop<'_, 'ctx>) -> Emit<()> {
        let extent = this.fused.extent;
        let (rows, length) = self.dimensions(extent)?;
        let mut sources = this.constants.clone();
        for &(id, view) in &this.inputs {
            sources.insert(id, Source::Run(self.gapless(id, view, extent)?));
        }
        let mut writes: Vec<Write<'ctx>> = this.writes.iter().filter(|write| write.merge.is_none()).copied().collect();
        for value in this.fused.aggregated(self.plan) {
            if let Some(&slot) = self.schedule.packed.get(&(value, extent)) {
                let view = View { pointer: self.slot(slot)?, row: length, is_wide: true, is_packed: false };
                writes.push(Write { value, view, merge: None });
            }
        }
        let cells = self.builder.build_int_mul(rows, length, "")?;
        let row = Row { length: cells, sources, writes: writes.iter().map(|write| write.view.pointer).collect() };
        let run = this.without_aggregates(writes);
        let asked_for = self.following_tiles(this)?;
        self.run(&run, &row, &asked_for)?;
        self.aggregates(this, &run.writes)
    }

    /// The tiles of side inputs that the next unit will read, and how far into them each register of this unit's cells
    /// gets. Rows that lie apart are copied with masks, which teach the hardware prefetchers nothing; the loop has time
    /// to ask for them.
    fn following_tiles(&mut self, this: &Loop<'_, 'ctx>) -> Emit<Vec<(PointerValue<'ctx>, IntValue<'ctx>)>> {
        let (rows, length) = self.dimensions(this.fused.extent)?;
        let (zero, one) = (self.index(0), self.index(1));
        let is_empty = self.builder.build_int_compare(IntPredicate::EQ, length, zero, "")?;
        let divisor = self.builder.build_select(is_empty, one, length, "")?.into_int_value();
        let mut tiles = Vec::new();
        for &(id, view) in &this.inputs {
            if matches!(self.plan.nodes[id], CNode::SideRow(..)) {
                let tile = self.builder.build_int_mul(rows, view.row, "")?;
                let rows_of_registers = self.builder.build_int_mul(view.row, self.index(self.lanes().into()), "")?;
                let distance = self.builder.build_int_unsigned_div(rows_of_registers, divisor, "")?;
                tiles.push((self.address_beyond(view.pointer, tile)?, distance));
            }
        }
        Ok(tiles)
    }

    /// Where the tile of a value that the loop reads begins.
    fn gapless(&mut self, id: CNodeId, view: View<'ctx>, extent: Extent) -> Emit<PointerValue<'ctx>> {
        let Some(&slot) = self.schedule.packed.get(&(id, extent)) else { return Ok(view.pointer) };
        let slot = self.slot(slot)?;
        if self.schedule.extents[id] == Extent::Rows {
            return Ok(slot);
        }
        let (_, length) = self.dimensions(extent)?;
        let lies_there = self.builder.build_int_compare(IntPredicate::EQ, view.row, length, "")?;
        Ok(self.builder.build_select(lies_there, view.pointer, slot, "")?.into_pointer_value())
    }

    /// Calls what aggregates the values that the loop has written.
    fn aggregates(&mut self, this: &Loop<'_, 'ctx>, written: &[Write<'ctx>]) -> Emit<()> {
        let (rows, length) = self.dimensions(this.fused.extent)?;
        let one = self.index(1);
        for &Reduction { agg, value, target } in &this.reductions {
            let arguments = Arguments::numbers([rows, length]).with_view(self.aggregated(value, written)?);
            let (primitive, arguments) = match target {
                Target::Node(id) => (Primitive::RowAgg(agg), arguments.with_view(self.view(id)?)),
                Target::RowOutput(output) => {
                    (Primitive::RowAgg(agg), arguments.with(self.address(Fact::OutputValues(output))?).with(one))
                }
                Target::UnitOutput(output) => {
                    (Primitive::FullAgg(agg), arguments.with(self.address(Fact::OutputValues(output))?))
                }
            };
            self.call_primitive(primitive, &arguments)?;
        }
        for &Write { value, view, merge } in &this.writes {
            if let Some(agg) = merge {
                let arguments = Arguments::numbers([rows, length]).with_view(self.aggregated(value, written)?);
                self.call_primitive(Primitive::ColAgg(agg), &arguments.with(view.pointer))?;
            }
        }
        Ok(())
    }

    /// A value that is aggregated: where the loop has written it, or where it was before.
    fn aggregated(&mut self, value: CNodeId, written: &[Write<'ctx>]) -> Emit<View<'ctx>> {
        match written.iter().find(|write| write.value == value) {
            Some(write) => Ok(write.view),
            None => self.view(value),
        }
    }
}
