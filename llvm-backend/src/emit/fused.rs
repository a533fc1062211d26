//! Fused loops: what they read, write and reduce, and the loop over rows. `blocks` has the loops within a row.

use super::loops::{Loop, LoopInput, LoopWrite, ReducedInto, Reduction, Row, Source};
use super::memory::View;
use super::registers::{Mask, add_incoming, registers};
use super::unit::Fact;
use super::{Emit, Emitter};
use crate::schedule::{Extent, FusedLoop};
use fuseline_ir::cplan::{CNode, CNodeId, COutput, Length};
use fuseline_ir::ops::AggOp;
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::values::{IntValue, PhiValue, PointerValue, VectorValue};
use std::collections::HashMap;

/// A loop computes little if it has so many operations at most, each of so many floating-point operations.
const LITTLE_NODES: usize = 6;
const LITTLE_FLOPS: f64 = 4.0;

/// Where the current row of a view begins.
struct Cursor<'ctx> {
    pointer: PhiValue<'ctx>,
    stride: IntValue<'ctx>,
}

/// The cursors of a loop's inputs and writes; none where these do not move from row to row.
struct Cursors<'ctx> {
    inputs: Vec<Option<Cursor<'ctx>>>,
    writes: Vec<Option<Cursor<'ctx>>>,
}

impl<'ctx> Cursor<'ctx> {
    fn current(&self) -> PointerValue<'ctx> {
        self.pointer.as_basic_value().into_pointer_value()
    }
}

impl<'ctx> Emitter<'_, 'ctx> {
    pub(super) fn fused_loop(&mut self, fused: &FusedLoop) -> Emit<()> {
        let this = self.prepare(fused)?;
        if !this.has_column_form(self) {
            return this.narrow_or_row_loop(self);
        }
        let is_column = this.is_column(self)?;
        self.either(is_column, |emitter| this.column_loop(emitter), |emitter| this.narrow_or_row_loop(emitter))
    }

    /// Collects what the loop reads, writes and reduces.
    fn prepare<'a>(&mut self, fused: &'a FusedLoop) -> Emit<Loop<'a, 'ctx>> {
        let plan = self.plan;
        let mut reductions: Vec<Reduction> = Vec::new();
        let mut writes = Vec::new();
        for &output in &fused.outputs {
            match plan.outputs[output] {
                COutput::RowAgg(agg, value) => {
                    reductions.push(Reduction { agg, value, into: ReducedInto::RowOutput(output) });
                }
                COutput::FullAgg(agg, value) => {
                    reductions.push(Reduction { agg, value, into: ReducedInto::UnitOutput(output) });
                }
                COutput::ColAgg(agg, value) => {
                    let view = View { row_stride: self.index(0), ..self.output_view(output, fused.extent)? };
                    writes.push(LoopWrite { value, view, merge: Some(agg) });
                }
                COutput::Store(value) | COutput::Cumulative(_, value) => {
                    writes.push(LoopWrite { value, view: self.output_view(output, fused.extent)?, merge: None });
                }
                COutput::RowProduct { .. } | COutput::TimesFactor(_) | COutput::TransposedTimesFactor(_) => {
                    unreachable!("no loop takes the products of {}", plan.variant.mnemonic())
                }
            }
        }
        for &id in &fused.row_aggs {
            if let CNode::RowAgg(agg, value) = plan.nodes[id] {
                reductions.push(Reduction { agg, value, into: ReducedInto::Node(id) });
            }
        }
        for &id in &fused.nodes {
            if self.schedule.places[id].is_some() {
                writes.push(LoopWrite { value: id, view: self.view(id)?, merge: None });
            }
        }
        reductions.sort_by_key(|reduction| !matches!(reduction.into, ReducedInto::UnitOutput(_)));
        let unit_reductions =
            reductions.iter().filter(|reduction| matches!(reduction.into, ReducedInto::UnitOutput(_))).count();
        let mut inputs = Vec::new();
        let mut constants = HashMap::new();
        for id in self.external_values(fused, &writes, &reductions) {
            let operand = self.operand_in(id, fused.extent)?;
            let view = self.pointed_to(operand)?;
            if self.schedule.extents[id] == Extent::One {
                constants.insert(id, Source::Uniform(self.broadcast(view.pointer)?));
            } else {
                inputs.push(LoopInput { node: id, view });
            }
        }
        let (rows, length) = self.trip(fused)?;
        let has_short_form = self.has_short_form(fused);
        let short_rows = if has_short_form { Some(self.lanes_before(length)?) } else { None };
        let ends_with_rows = reductions.len() > unit_reductions || self.goes_row_by_row();
        let last_lanes =
            if ends_with_rows && self.computes_little(fused) { Some(self.lanes_of_last(length)?) } else { None };
        let ahead = self.ahead(fused, &inputs, length)?;
        Ok(Loop {
            fused,
            rows,
            length,
            short_rows,
            last_lanes,
            reads_columns: false,
            ahead,
            inputs,
            constants,
            writes,
            reductions,
            unit_reductions,
        })
    }

    /// Whether the loop takes rows of a register at once. Where it has a form for narrow rows, only those of which it is
    /// known that they are that short.
    fn has_short_form(&self, fused: &FusedLoop) -> bool {
        match fused.extent {
            Extent::Vector(Length::Const(cells)) => cells <= self.lanes(),
            Extent::Vector(_) => !fused.has_narrow_form(self.plan),
            Extent::One | Extent::Rows | Extent::Cells | Extent::Positions => false,
        }
    }

    /// Whether the loop computes so little that code of its own for each register of a row's rest is worth its size.
    fn computes_little(&self, fused: &FusedLoop) -> bool {
        let is_little = |&id: &CNodeId| match &self.plan.nodes[id] {
            CNode::Unary(op, _) => op.flops() <= LITTLE_FLOPS,
            CNode::Binary(op, ..) => op.flops() <= LITTLE_FLOPS,
            CNode::Ternary(op, ..) => op.flops() <= LITTLE_FLOPS,
            _ => true,
        };
        fused.nodes.len() <= LITTLE_NODES && fused.nodes.iter().all(is_little)
    }

    /// The lanes of the last register of a row of this length; none where that is a whole one.
    fn lanes_of_last(&self, length: IntValue<'ctx>) -> Emit<Mask<'ctx>> {
        let rest = self.builder.build_and(length, self.index(u64::from(self.lanes()) - 1), "")?;
        self.lanes_before(rest)
    }

    /// The values that the loop reads without computing them, in id order.
    fn external_values(&self, fused: &FusedLoop, writes: &[LoopWrite<'ctx>], reductions: &[Reduction]) -> Vec<CNodeId> {
        let operands = fused.nodes.iter().flat_map(|&id| self.plan.nodes[id].operands());
        let written = writes.iter().map(|write| write.value);
        let reduced = reductions.iter().map(|reduction| reduction.value);
        let computed: std::collections::HashSet<CNodeId> = fused.nodes.iter().copied().collect();
        let mut values: Vec<CNodeId> =
            operands.chain(written).chain(reduced).filter(|id| !computed.contains(id)).collect();
        values.sort_unstable();
        values.dedup();
        values
    }

    /// The view of an output as cells of the loop's extent.
    fn output_view(&mut self, output: usize, extent: Extent) -> Emit<View<'ctx>> {
        let pointer = self.address(Fact::OutputValues(output))?;
        let row_stride = self.number(Fact::OutputStride(output))?;
        Ok(View { pointer, row_stride, is_wide: true, is_packed: extent == Extent::Rows })
    }

    /// The number of rows and their length; values per row are one run.
    fn trip(&mut self, fused: &FusedLoop) -> Emit<(IntValue<'ctx>, IntValue<'ctx>)> {
        match fused.extent {
            Extent::Rows => Ok((self.index(1), self.number(Fact::Rows)?)),
            extent => self.dimensions(extent),
        }
    }

    /// A cursor at the first row of a view.
    fn cursor(&self, view: View<'ctx>, before: BasicBlock<'ctx>) -> Emit<Cursor<'ctx>> {
        let pointer = self.builder.build_phi(self.pointer(), "")?;
        pointer.add_incoming(&[(&view.pointer, before)]);
        Ok(Cursor { pointer, stride: view.row_stride })
    }

    /// Moves the cursors on by one row.
    fn advance(&self, cursors: &Cursors<'ctx>, end: BasicBlock<'ctx>) -> Emit<()> {
        for cursor in cursors.inputs.iter().chain(&cursors.writes).flatten() {
            let next = self.offset(cursor.current(), cursor.stride)?;
            cursor.pointer.add_incoming(&[(&next, end)]);
        }
        Ok(())
    }

    /// A value that the loop finds with each row, where it does not compute it from others.
    fn found_per_row(&mut self, id: CNodeId, row: IntValue<'ctx>, over_rows: bool) -> Emit<Option<Source<'ctx>>> {
        Ok(match self.plan.nodes[id] {
            CNode::RowIndex if over_rows => Some(Source::Numbers(self.number(Fact::FirstRow)?)),
            CNode::RowIndex => {
                let first = self.number(Fact::FirstRow)?;
                let number = self.builder.build_int_add(first, row, "")?;
                let number = self.builder.build_signed_int_to_float(number, self.lane_type(), "")?;
                Some(Source::Uniform(self.splat(number, self.register())?))
            }
            CNode::Scalar(_) | CNode::Literal(_) => {
                let view = self.input_view(id)?;
                Some(Source::Uniform(self.broadcast(view.pointer)?))
            }
            CNode::SideRowScalar(..) => {
                let view = self.input_view(id)?;
                if over_rows {
                    return Ok(Some(Source::Strided(view.pointer, view.row_stride)));
                }
                let address = self.row_address(view.pointer, row, view.row_stride)?;
                Some(Source::Uniform(self.broadcast(address)?))
            }
            _ => None,
        })
    }

    /// The aggregate of a row of this length from the lanes of its accumulators, in the first lane.
    fn merged_row(
        &mut self,
        agg: AggOp,
        registers: &[VectorValue<'ctx>],
        length: IntValue<'ctx>,
    ) -> Emit<VectorValue<'ctx>> {
        let merged = self.merge_tree(agg, registers)?;
        if agg != AggOp::Mean {
            return Ok(merged);
        }
        let count = self.builder.build_unsigned_int_to_float(length, self.lane_type(), "")?;
        let count = self.splat(count, self.register())?;
        self.builder.build_float_div(merged, count, "")
    }

    /// Stores the aggregate of a row, which is in the first lane.
    fn store_row_aggregate(
        &mut self,
        reduction: &Reduction,
        aggregate: VectorValue<'ctx>,
        row: IntValue<'ctx>,
    ) -> Emit<()> {
        let begin = match reduction.into {
            ReducedInto::Node(id) => self.view(id)?.pointer,
            ReducedInto::RowOutput(output) | ReducedInto::UnitOutput(output) => {
                self.address(Fact::OutputValues(output))?
            }
        };
        let address = self.offset(begin, row)?;
        let value = self.first_lane(aggregate)?;
        self.store(address, value.into())
    }

    /// Merges and stores a full aggregate.
    fn finish_unit(&mut self, reduction: &Reduction, registers: &[VectorValue<'ctx>]) -> Emit<()> {
        let ReducedInto::UnitOutput(output) = reduction.into else { return Ok(()) };
        let merged = self.merge_tree(reduction.agg, registers)?;
        let value = self.first_lane(merged)?;
        let address = self.address(Fact::OutputValues(output))?;
        self.store(address, value.into())
    }

    fn neutral_registers(&self, reductions: &[Reduction]) -> Vec<VectorValue<'ctx>> {
        let of = |reduction: &Reduction| vec![self.constant(reduction.agg.neutral()); self.parts()];
        reductions.iter().flat_map(of).collect()
    }
}

impl<'ctx> Loop<'_, 'ctx> {
    /// The loop, as one run where rows are narrow and it has a form for that.
    fn narrow_or_row_loop(&self, emitter: &mut Emitter<'_, 'ctx>) -> Emit<()> {
        if self.fused.extent == Extent::Rows {
            return self.loop_over_rows(emitter);
        }
        if !self.fused.has_narrow_form(emitter.plan) {
            return self.row_loop(emitter);
        }
        let has_narrow_rows = self.has_narrow_rows(emitter)?;
        emitter.either(has_narrow_rows, |emitter| self.narrow_loop(emitter), |emitter| self.row_loop(emitter))
    }

    /// The loop over values of rows: where those that it reads from matrices follow each other, they are loaded as registers,
    /// which take a fraction of the time of as many values that may lie apart.
    fn loop_over_rows(&self, emitter: &mut Emitter<'_, 'ctx>) -> Emit<()> {
        let read = self.inputs.iter().map(|input| input.view).filter(|view| !view.is_packed);
        let mut strides: Vec<IntValue<'ctx>> = read.map(|view| view.row_stride).collect();
        for &id in self.fused.nodes.iter().filter(|&&id| matches!(emitter.plan.nodes[id], CNode::SideRowScalar(..))) {
            strides.push(emitter.input_view(id)?.row_stride);
        }
        if strides.is_empty() {
            return self.row_loop(emitter);
        }
        let are_columns = emitter.are_equal(strides, emitter.index(1))?;
        let over_columns = Loop { reads_columns: true, ..self.clone() };
        emitter.either(are_columns, |emitter| over_columns.row_loop(emitter), |emitter| self.row_loop(emitter))
    }

    /// The loop, row by row.
    pub(super) fn row_loop(&self, emitter: &mut Emitter<'_, 'ctx>) -> Emit<()> {
        let carried = self.unit_reductions * emitter.parts();
        let neutral = emitter.neutral_registers(&self.reductions);
        let before = emitter.current_block();
        let [head, body, exit] = ["row", "cells", "rows_done"].map(|name| emitter.new_block(name));
        emitter.builder.build_unconditional_branch(head)?;

        emitter.builder.position_at_end(head);
        let row = emitter.builder.build_phi(emitter.i64(), "row")?;
        row.add_incoming(&[(&emitter.index(0), before)]);
        let cursors = self.cursors(emitter, before)?;
        let carried_phis = emitter.phis(&neutral[..carried], before)?;
        let carried_values = registers(&carried_phis);
        let row_index = row.as_basic_value().into_int_value();
        let more = emitter.builder.build_int_compare(IntPredicate::ULT, row_index, self.rows, "")?;
        emitter.builder.build_conditional_branch(more, body, exit)?;

        emitter.builder.position_at_end(body);
        let state = self.enter_row(emitter, row_index, &cursors)?;
        let initial = [&carried_values, &neutral[carried..]].concat();
        let reduced = self.row_cells(emitter, &state, &initial)?;
        for (reduction, registers) in
            self.reductions.iter().zip(reduced.chunks(emitter.parts())).skip(self.unit_reductions)
        {
            let aggregate = emitter.merged_row(reduction.agg, registers, state.length)?;
            emitter.store_row_aggregate(reduction, aggregate, row_index)?;
        }
        let next = emitter.builder.build_int_add(row_index, emitter.index(1), "")?;
        let end = emitter.current_block();
        row.add_incoming(&[(&next, end)]);
        emitter.advance(&cursors, end)?;
        add_incoming(&carried_phis, &reduced[..carried], end);
        emitter.builder.build_unconditional_branch(head)?;

        emitter.builder.position_at_end(exit);
        for (reduction, registers) in
            self.reductions[..self.unit_reductions].iter().zip(carried_values.chunks(emitter.parts()))
        {
            emitter.finish_unit(reduction, registers)?;
        }
        Ok(())
    }

    /// Pointers to the current row of each input and write, at the head of the loop over rows. Values per row do not move.
    fn cursors(&self, emitter: &mut Emitter<'_, 'ctx>, before: BasicBlock<'ctx>) -> Emit<Cursors<'ctx>> {
        let moves = self.fused.extent != Extent::Rows;
        let mut inputs = Vec::new();
        for input in &self.inputs {
            inputs.push(if moves { Some(emitter.cursor(input.view, before)?) } else { None });
        }
        let mut writes = Vec::new();
        for write in &self.writes {
            writes.push(if moves { Some(emitter.cursor(write.view, before)?) } else { None });
        }
        Ok(Cursors { inputs, writes })
    }

    /// Finds the row's values.
    fn enter_row(
        &self,
        emitter: &mut Emitter<'_, 'ctx>,
        row: IntValue<'ctx>,
        cursors: &Cursors<'ctx>,
    ) -> Emit<Row<'ctx>> {
        let over_rows = self.fused.extent == Extent::Rows;
        let mut sources = self.constants.clone();
        for (&LoopInput { node, view }, cursor) in self.inputs.iter().zip(&cursors.inputs) {
            let source = match cursor {
                Some(cursor) if view.is_wide => Source::Run(cursor.current()),
                Some(cursor) => Source::Uniform(emitter.broadcast(cursor.current())?),
                None if view.is_packed => Source::Run(view.pointer),
                None => Source::Strided(view.pointer, view.row_stride),
            };
            sources.insert(node, source);
        }
        for &id in &self.fused.nodes {
            if let Some(source) = emitter.found_per_row(id, row, over_rows)? {
                sources.insert(id, source);
            }
        }
        if self.reads_columns {
            sources.values_mut().for_each(Source::follow);
        }
        let mut writes = Vec::new();
        for (write, cursor) in self.writes.iter().zip(&cursors.writes) {
            writes.push(match cursor {
                Some(cursor) => cursor.current(),
                None => write.view.pointer,
            });
        }
        Ok(Row { length: self.length, sources, writes })
    }
}
