//! Loops in units of narrow rows: one run over all cells, of values that lie in gapless tiles (`schedule::narrow`).

use super::calls::Arguments;
use super::loops::{InputAhead, LinesAhead, Loop, LoopInput, LoopWrite, ReducedInto, Reduction, Row, Source};
use super::memory::View;
use super::unit::Fact;
use super::{Emit, Emitter};
use crate::schedule::{Extent, narrow_cells};
use fuseline_ir::cplan::{CNode, CNodeId};
use fuseline_vecprims::Primitive;
use inkwell::IntPredicate;
use inkwell::values::{IntValue, PointerValue};

impl<'ctx> Emitter<'_, 'ctx> {
    /// Whether rows of this length are narrow.
    pub(super) fn is_narrow(&self, length: IntValue<'ctx>) -> Emit<IntValue<'ctx>> {
        let cells = self.index(narrow_cells(self.plan).into());
        self.builder.build_int_compare(IntPredicate::ULT, length, cells, "")
    }

    /// Writes a value to a tile of another extent than its own.
    pub(super) fn pack(&mut self, id: CNodeId, extent: Extent) -> Emit<()> {
        if extent == Extent::Positions { self.pack_positions(id) } else { self.pack_narrow(id, extent) }
    }

    /// Writes a value to a gapless tile, where rows are narrow and it does not lie in one already.
    fn pack_narrow(&mut self, id: CNodeId, extent: Extent) -> Emit<()> {
        let (rows, length) = self.dimensions(extent)?;
        let (view, slot) = (self.view(id)?, self.slot(self.schedule.packed[&(id, extent)])?);
        let is_per_row = self.schedule.extents[id] == Extent::Rows;
        let mut is_needed = self.is_narrow(length)?;
        if !is_per_row {
            let lies_apart = self.builder.build_int_compare(IntPredicate::NE, view.row_stride, length, "")?;
            is_needed = self.both(is_needed, lies_apart)?;
        }
        let primitive = if is_per_row { Primitive::Spread } else { Primitive::Copy };
        let arguments = Arguments::numbers([rows, length]).with_view(view).with(slot).with(length);
        self.only_where(is_needed, ["pack", "packed"], |emitter| emitter.call_primitive(primitive, &arguments))
    }

    /// Where the tile of a value that the loop reads begins.
    fn gapless(&mut self, id: CNodeId, view: View<'ctx>, extent: Extent) -> Emit<PointerValue<'ctx>> {
        let Some(&slot) = self.schedule.packed.get(&(id, extent)) else { return Ok(view.pointer) };
        let slot = self.slot(slot)?;
        if self.schedule.extents[id] == Extent::Rows {
            return Ok(slot);
        }
        let (_, length) = self.dimensions(extent)?;
        let lies_there = self.builder.build_int_compare(IntPredicate::EQ, view.row_stride, length, "")?;
        Ok(self.builder.build_select(lies_there, view.pointer, slot, "")?.into_pointer_value())
    }

    /// A value that is aggregated: where the loop has written it, or where it was before.
    fn aggregated(&mut self, value: CNodeId, written: &[LoopWrite<'ctx>]) -> Emit<View<'ctx>> {
        match written.iter().find(|write| write.value == value) {
            Some(write) => Ok(write.view),
            None => self.view(value),
        }
    }
}

impl<'ctx> Loop<'_, 'ctx> {
    /// Whether the unit has narrow rows, and those that the loop reads and writes where they are follow each other.
    pub(super) fn has_narrow_rows(&self, emitter: &mut Emitter<'_, 'ctx>) -> Emit<IntValue<'ctx>> {
        let extent = self.fused.extent;
        let (_, length) = emitter.dimensions(extent)?;
        let read = self.inputs.iter().filter(|input| !emitter.schedule.packed.contains_key(&(input.node, extent)));
        let written = self.writes.iter().filter(|write| write.merge.is_none());
        let strides = read.map(|input| input.view.row_stride).chain(written.map(|write| write.view.row_stride));
        let (is_narrow, are_gapless) = (emitter.is_narrow(length)?, emitter.are_equal(strides, length)?);
        emitter.both(is_narrow, are_gapless)
    }

    /// The loop as one run over the cells of the unit, then what it aggregates.
    pub(super) fn narrow_loop(&self, emitter: &mut Emitter<'_, 'ctx>) -> Emit<()> {
        let extent = self.fused.extent;
        let (rows, length) = emitter.dimensions(extent)?;
        let mut sources = self.constants.clone();
        for &LoopInput { node, view } in &self.inputs {
            sources.insert(node, Source::Run(emitter.gapless(node, view, extent)?));
        }
        let mut writes: Vec<LoopWrite<'ctx>> =
            self.writes.iter().filter(|write| write.merge.is_none()).copied().collect();
        for value in self.fused.aggregated(emitter.plan) {
            if let Some(&slot) = emitter.schedule.packed.get(&(value, extent)) {
                let view = View { pointer: emitter.slot(slot)?, row_stride: length, is_wide: true, is_packed: false };
                writes.push(LoopWrite { value, view, merge: None });
            }
        }
        let cells = emitter.builder.build_int_mul(rows, length, "")?;
        let row = Row { length: cells, sources, writes: writes.iter().map(|write| write.view.pointer).collect() };
        // Tiles of side inputs are asked for as a whole.
        let is_main = |ahead: &InputAhead<'ctx>| matches!(emitter.plan.nodes[ahead.node], CNode::Main);
        let ahead = self.ahead.iter().copied().filter(is_main).collect();
        let run = Loop { ahead, ..self.without_aggregates(writes) };
        let asked_for = self.following_tiles(emitter)?;
        run.run(emitter, &row, &asked_for)?;
        self.aggregates(emitter, &run.writes)
    }

    /// The tiles of side inputs that the next unit will read, and how far into them each register of this unit's cells
    /// gets. Rows that lie apart are copied with masks, which teach the hardware prefetchers nothing; the loop has time
    /// to ask for them.
    fn following_tiles(&self, emitter: &mut Emitter<'_, 'ctx>) -> Emit<Vec<LinesAhead<'ctx>>> {
        let (rows, length) = emitter.dimensions(self.fused.extent)?;
        let (zero, one) = (emitter.index(0), emitter.index(1));
        let is_empty = emitter.builder.build_int_compare(IntPredicate::EQ, length, zero, "")?;
        let divisor = emitter.builder.build_select(is_empty, one, length, "")?.into_int_value();
        let mut tiles = Vec::new();
        for &LoopInput { node, view } in &self.inputs {
            if matches!(emitter.plan.nodes[node], CNode::SideRow(..)) {
                let tile = emitter.builder.build_int_mul(rows, view.row_stride, "")?;
                let rows_of_registers =
                    emitter.builder.build_int_mul(view.row_stride, emitter.index(emitter.lanes().into()), "")?;
                let distance = emitter.builder.build_int_unsigned_div(rows_of_registers, divisor, "")?;
                tiles.push(LinesAhead { first: emitter.address_beyond(view.pointer, tile)?, distance });
            }
        }
        Ok(tiles)
    }

    /// Calls what aggregates the values that the loop has written.
    fn aggregates(&self, emitter: &mut Emitter<'_, 'ctx>, written: &[LoopWrite<'ctx>]) -> Emit<()> {
        let (rows, length) = emitter.dimensions(self.fused.extent)?;
        let one = emitter.index(1);
        for &Reduction { agg, value, into } in &self.reductions {
            let arguments = Arguments::numbers([rows, length]).with_view(emitter.aggregated(value, written)?);
            let (primitive, arguments) = match into {
                ReducedInto::Node(id) => (Primitive::RowAgg(agg), arguments.with_view(emitter.view(id)?)),
                ReducedInto::RowOutput(output) => {
                    (Primitive::RowAgg(agg), arguments.with(emitter.address(Fact::OutputValues(output))?).with(one))
                }
                ReducedInto::UnitOutput(output) => {
                    (Primitive::FullAgg(agg), arguments.with(emitter.address(Fact::OutputValues(output))?))
                }
            };
            emitter.call_primitive(primitive, &arguments)?;
        }
        for &LoopWrite { value, view, merge } in &self.writes {
            if let Some(agg) = merge {
                let arguments = Arguments::numbers([rows, length]).with_view(emitter.aggregated(value, written)?);
                emitter.call_primitive(Primitive::ColAgg(agg), &arguments.with(view.pointer))?;
            }
        }
        Ok(())
    }
}
