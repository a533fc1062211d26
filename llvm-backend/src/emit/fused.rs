//! Fused loops: what they read, write and reduce, and the loop over rows. `blocks` has the loops within a row.

use super::ahead::Ahead;
use super::blocks::{add_incoming, registers};
use super::memory::View;
use super::registers::Mask;
use super::unit::Fact;
use super::{Emit, Emitter};
use crate::schedule::{Entry, Extent, FusedLoop};
use fuseline_ir::cplan::{CNode, CNodeId, COutput, Length};
use fuseline_ir::ops::AggOp;
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::values::{IntValue, PhiValue, PointerValue, VectorValue};
use std::collections::HashMap;

/// How a loop reads a value that it does not compute.
#[derive(Clone, Copy)]
pub(super) enum Source<'ctx> {
    /// The same in every lane.
    Uniform(VectorValue<'ctx>),
    /// Consecutive values from here on.
    Run(PointerValue<'ctx>),
    /// Values a stride apart.
    Strided(PointerValue<'ctx>, IntValue<'ctx>),
    /// The whole numbers from this one on.
    Numbers(IntValue<'ctx>),
}

/// What a reduction is for.
#[derive(Clone, Copy)]
pub(super) enum Target {
    /// A row aggregate that other steps read.
    Node(CNodeId),
    /// A row aggregate that is the output.
    RowOutput(usize),
    /// A full aggregate.
    UnitOutput(usize),
}

/// A loop computes little if it has so many operations at most, each of so many floating-point operations.
const LITTLE_NODES: usize = 6;
const LITTLE_FLOPS: f64 = 4.0;

/// A reduction of the loop; its registers are carried from block to block.
#[derive(Clone, Copy)]
pub(super) struct Reduction {
    pub(super) agg: AggOp,
    pub(super) value: CNodeId,
    pub(super) target: Target,
}

/// A value of the loop that is written to memory.
#[derive(Clone, Copy)]
pub(super) struct Write<'ctx> {
    pub(super) value: CNodeId,
    pub(super) view: View<'ctx>,
    /// The function that merges what is written into what is there.
    pub(super) merge: Option<AggOp>,
}

/// Everything about a loop that does not change from row to row.
pub(super) struct Loop<'a, 'ctx> {
    pub(super) fused: &'a FusedLoop,
    pub(super) rows: IntValue<'ctx>,
    /// Per row where rows are ragged.
    pub(super) length: Option<IntValue<'ctx>>,
    /// The lanes of a row that one register holds, where the loop has a form for these.
    pub(super) short_rows: Option<Mask<'ctx>>,
    /// The lanes of the last register of a row, if that is a part of one, where the rest of a row has code of its own.
    pub(super) last_lanes: Option<Mask<'ctx>>,
    pub(super) ahead: Ahead<'ctx>,
    pub(super) inputs: Vec<(CNodeId, View<'ctx>)>,
    pub(super) constants: HashMap<CNodeId, Source<'ctx>>,
    pub(super) writes: Vec<Write<'ctx>>,
    /// Full aggregates first.
    pub(super) reductions: Vec<Reduction>,
    unit_reductions: usize,
}

impl<'a, 'ctx> Loop<'a, 'ctx> {
    /// The loop with these writes instead of its own, and without reductions.
    pub(super) fn without_aggregates(&self, writes: Vec<Write<'ctx>>) -> Loop<'a, 'ctx> {
        let (inputs, constants) = (self.inputs.clone(), self.constants.clone());
        let (ahead, last_lanes, reductions) = (Ahead::default(), None, vec![]);
        Loop { inputs, constants, writes, ahead, last_lanes, reductions, unit_reductions: 0, ..*self }
    }
}

/// Where the current row of a view begins.
struct Cursor<'ctx> {
    pointer: PhiValue<'ctx>,
    stride: IntValue<'ctx>,
}

/// A row of a loop.
pub(super) struct Row<'ctx> {
    pub(super) length: IntValue<'ctx>,
    pub(super) sources: HashMap<CNodeId, Source<'ctx>>,
    /// Where the row of each write begins.
    pub(super) writes: Vec<PointerValue<'ctx>>,
}

impl<'ctx> Emitter<'_, 'ctx> {
    pub(super) fn fused_loop(&mut self, fused: &FusedLoop) -> Emit<()> {
        let this = self.prepare(fused)?;
        if self.has_column_form(&this) {
            let is_column = self.is_column(&this)?;
            return self.either(is_column, |emitter| emitter.column_loop(&this), |emitter| emitter.row_loop(&this));
        }
        if !fused.has_narrow_form(self.plan) {
            return self.row_loop(&this);
        }
        let has_narrow_rows = self.has_narrow_rows(&this)?;
        self.either(has_narrow_rows, |emitter| emitter.narrow_loop(&this), |emitter| emitter.row_loop(&this))
    }

    /// The loop, row by row.
    pub(super) fn row_loop(&mut self, this: &Loop<'_, 'ctx>) -> Emit<()> {
        let carried = this.unit_reductions * self.parts();
        let neutral = self.neutral_registers(&this.reductions);
        let before = self.current_block();
        let [head, body, exit] = ["row", "cells", "rows_done"].map(|name| self.new_block(name));
        self.builder.build_unconditional_branch(head)?;

        self.builder.position_at_end(head);
        let row = self.builder.build_phi(self.i64(), "row")?;
        row.add_incoming(&[(&self.index(0), before)]);
        let cursors = self.cursors(this, before)?;
        let carried_phis = self.phis(&neutral[..carried], before)?;
        let carried_values = registers(&carried_phis);
        let row_index = row.as_basic_value().into_int_value();
        let more = self.builder.build_int_compare(IntPredicate::ULT, row_index, this.rows, "")?;
        self.builder.build_conditional_branch(more, body, exit)?;

        self.builder.position_at_end(body);
        let state = self.enter_row(this, row_index, &cursors)?;
        let initial = [&carried_values, &neutral[carried..]].concat();
        let reduced = self.blocks(this, &state, &initial)?;
        for (reduction, registers) in
            this.reductions.iter().zip(reduced.chunks(self.parts())).skip(this.unit_reductions)
        {
            self.finish_row(reduction, registers, row_index, state.length, this.fused.extent)?;
        }
        let next = self.builder.build_int_add(row_index, self.index(1), "")?;
        let end = self.current_block();
        row.add_incoming(&[(&next, end)]);
        self.advance(&cursors, end)?;
        add_incoming(&carried_phis, &reduced[..carried], end);
        self.builder.build_unconditional_branch(head)?;

        self.builder.position_at_end(exit);
        for (reduction, registers) in
            this.reductions[..this.unit_reductions].iter().zip(carried_values.chunks(self.parts()))
        {
            self.finish_unit(reduction, registers)?;
        }
        Ok(())
    }

    /// Collects what the loop reads, writes and reduces.
    fn prepare<'a>(&mut self, fused: &'a FusedLoop) -> Emit<Loop<'a, 'ctx>> {
        let plan = self.plan;
        let mut reductions: Vec<Reduction> = Vec::new();
        let mut writes = Vec::new();
        for &output in &fused.outputs {
            match plan.outputs[output] {
                COutput::RowAgg(agg, value) => {
                    reductions.push(Reduction { agg, value, target: Target::RowOutput(output) });
                }
                COutput::FullAgg(agg, value) => {
                    reductions.push(Reduction { agg, value, target: Target::UnitOutput(output) });
                }
                COutput::ColAgg(agg, value) => {
                    let view = View { row: self.index(0), ..self.output_view(output, fused.extent)? };
                    writes.push(Write { value, view, merge: Some(agg) });
                }
                COutput::Store(value) => {
                    writes.push(Write { value, view: self.output_view(output, fused.extent)?, merge: None });
                }
                COutput::RowProduct { .. } | COutput::TimesFactor(_) | COutput::TransposedTimesFactor(_) => {
                    unreachable!("no loop takes the products of {}", plan.variant.mnemonic())
                }
            }
        }
        for &id in &fused.row_aggs {
            if let CNode::RowAgg(agg, value) = plan.nodes[id] {
                reductions.push(Reduction { agg, value, target: Target::Node(id) });
            }
        }
        for &id in &fused.nodes {
            if self.schedule.places[id].is_some() {
                writes.push(Write { value: id, view: self.view(id)?, merge: None });
            }
        }
        reductions.sort_by_key(|reduction| !matches!(reduction.target, Target::UnitOutput(_)));
        let unit_reductions =
            reductions.iter().filter(|reduction| matches!(reduction.target, Target::UnitOutput(_))).count();
        let mut inputs = Vec::new();
        let mut constants = HashMap::new();
        for id in self.external_values(fused, &writes, &reductions) {
            let view = self.view(id)?;
            if self.schedule.extents[id] == Extent::One {
                constants.insert(id, Source::Uniform(self.broadcast(view.pointer)?));
            } else {
                inputs.push((id, view));
            }
        }
        let finds_per_row = fused.nodes.iter().any(|&id| self.plan.nodes[id].operands().is_empty());
        let (rows, length) = self.trip(fused, reductions.is_empty() && !finds_per_row)?;
        let has_short_form = self.has_short_form(fused);
        let short_rows = length.filter(|_| has_short_form).map(|length| self.lanes_before(length)).transpose()?;
        let reduces_rows = reductions.len() > unit_reductions;
        let has_last_lanes = length.filter(|_| reduces_rows && self.computes_little(fused));
        let last_lanes = has_last_lanes.map(|length| self.lanes_of_last(length)).transpose()?;
        let ahead = self.ahead(fused, &inputs, has_short_form)?;
        Ok(Loop {
            fused,
            rows,
            length,
            short_rows,
            last_lanes,
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
    fn external_values(&self, fused: &FusedLoop, writes: &[Write<'ctx>], reductions: &[Reduction]) -> Vec<CNodeId> {
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
        let row = self.number(Fact::OutputStride(output))?;
        Ok(View { pointer, row, is_wide: true, is_packed: extent == Extent::Rows })
    }

    /// The number of rows and their length; values per row are one run, and so are positions whose rows do not matter.
    fn trip(&mut self, fused: &FusedLoop, ignores_rows: bool) -> Emit<(IntValue<'ctx>, Option<IntValue<'ctx>>)> {
        let one = self.index(1);
        Ok(match fused.extent {
            Extent::Rows => (one, Some(self.number(Fact::Rows)?)),
            Extent::Positions if ignores_rows => (one, Some(self.number(Fact::Positions)?)),
            Extent::Positions => (self.number(Fact::Rows)?, None),
            Extent::One | Extent::Cells | Extent::Vector(_) => {
                let (rows, length) = self.dimensions(fused.extent)?;
                (rows, Some(length))
            }
        })
    }

    /// The views of the loop that move from row to row, inputs first. Those of ragged rows follow positions.
    fn moving(&self, this: &Loop<'_, 'ctx>) -> Vec<View<'ctx>> {
        if this.fused.extent == Extent::Rows || this.length.is_none() {
            return vec![];
        }
        let inputs = this.inputs.iter().map(|(_, view)| *view);
        inputs.chain(this.writes.iter().map(|write| write.view)).collect()
    }

    /// Pointers to the current row of each moving view, at the head of the loop over rows.
    fn cursors(&mut self, this: &Loop<'_, 'ctx>, before: BasicBlock<'ctx>) -> Emit<Vec<Cursor<'ctx>>> {
        let cursor = |view: View<'ctx>| {
            let pointer = self.builder.build_phi(self.pointer(), "")?;
            pointer.add_incoming(&[(&view.pointer, before)]);
            Ok(Cursor { pointer, stride: view.row })
        };
        self.moving(this).into_iter().map(cursor).collect()
    }

    /// Moves the cursors on by one row.
    fn advance(&self, cursors: &[Cursor<'ctx>], end: BasicBlock<'ctx>) -> Emit<()> {
        for cursor in cursors {
            let next = self.offset(cursor.pointer.as_basic_value().into_pointer_value(), cursor.stride)?;
            cursor.pointer.add_incoming(&[(&next, end)]);
        }
        Ok(())
    }

    /// Finds the row's values.
    fn enter_row(&mut self, this: &Loop<'_, 'ctx>, row: IntValue<'ctx>, cursors: &[Cursor<'ctx>]) -> Emit<Row<'ctx>> {
        let over_rows = this.fused.extent == Extent::Rows;
        let is_ragged = this.length.is_none();
        let (start, length) = match this.length {
            Some(length) => (self.index(0), length),
            None => {
                let start = self.row_start(row)?;
                let next = self.builder.build_int_add(row, self.index(1), "")?;
                let end = self.row_start(next)?;
                (start, self.builder.build_int_sub(end, start, "")?)
            }
        };
        let mut current = cursors.iter().map(|cursor| cursor.pointer.as_basic_value().into_pointer_value());
        let mut current = || current.next().expect("every moving view has a cursor");
        let mut sources = this.constants.clone();
        for &(id, view) in &this.inputs {
            let source = match self.schedule.extents[id] {
                _ if over_rows && view.is_packed => Source::Run(view.pointer),
                _ if over_rows => Source::Strided(view.pointer, view.row),
                _ if is_ragged => Source::Run(self.offset(view.pointer, start)?),
                Extent::Rows => Source::Uniform(self.broadcast(current())?),
                _ => Source::Run(current()),
            };
            sources.insert(id, source);
        }
        for &id in &this.fused.nodes {
            if let Some(source) = self.found_per_row(id, row, over_rows)? {
                sources.insert(id, source);
            }
        }
        let mut writes = Vec::new();
        for write in &this.writes {
            writes.push(match is_ragged {
                _ if over_rows => write.view.pointer,
                true => self.offset(write.view.pointer, start)?,
                false => current(),
            });
        }
        Ok(Row { length, sources, writes })
    }

    /// A value that the loop finds with each row, where it does not compute it from others.
    fn found_per_row(&mut self, id: CNodeId, row: IntValue<'ctx>, over_rows: bool) -> Emit<Option<Source<'ctx>>> {
        Ok(match self.plan.nodes[id] {
            CNode::RowIndex if over_rows => Some(Source::Numbers(self.number(Fact::FirstRow)?)),
            CNode::RowIndex => {
                let first = self.number(Fact::FirstRow)?;
                let number = self.builder.build_int_add(first, row, "")?;
                let number = self.builder.build_signed_int_to_float(number, self.f64(), "")?;
                Some(Source::Uniform(self.splat(number, self.register())?))
            }
            CNode::Scalar(_) | CNode::Literal(_) => {
                let view = self.input_view(id)?;
                Some(Source::Uniform(self.broadcast(view.pointer)?))
            }
            CNode::SideRowScalar(..) => {
                let view = self.input_view(id)?;
                if over_rows {
                    return Ok(Some(Source::Strided(view.pointer, view.row)));
                }
                let address = self.row_address(view.pointer, row, view.row)?;
                Some(Source::Uniform(self.broadcast(address)?))
            }
            _ => None,
        })
    }

    /// Merges and stores a row aggregate.
    fn finish_row(
        &mut self,
        reduction: &Reduction,
        registers: &[VectorValue<'ctx>],
        row: IntValue<'ctx>,
        length: IntValue<'ctx>,
        extent: Extent,
    ) -> Emit<()> {
        let mut merged = self.merge_tree(reduction.agg, registers)?;
        let is_sparse = extent == Extent::Positions && self.schedule.entry == Entry::Sparse;
        let cells = if is_sparse { self.number(Fact::Cols)? } else { length };
        match reduction.agg {
            AggOp::Mean => {
                let count = self.builder.build_unsigned_int_to_float(cells, self.f64(), "")?;
                let count = self.splat(count, self.register())?;
                merged = self.builder.build_float_div(merged, count, "")?;
            }
            agg if is_sparse && !agg.ignores_zeros() => {
                let with_zero = self.merge(reduction.agg, merged, self.constant(0.0))?;
                let has_zero = self.builder.build_int_compare(IntPredicate::ULT, length, cells, "")?;
                merged = self.builder.build_select(has_zero, with_zero, merged, "")?.into_vector_value();
            }
            _ => {}
        }
        let begin = match reduction.target {
            Target::Node(id) => self.view(id)?.pointer,
            Target::RowOutput(output) | Target::UnitOutput(output) => self.address(Fact::OutputValues(output))?,
        };
        let address = self.offset(begin, row)?;
        let value = self.first_lane(merged)?;
        self.store(address, value.into())
    }

    /// Merges and stores a full aggregate.
    fn finish_unit(&mut self, reduction: &Reduction, registers: &[VectorValue<'ctx>]) -> Emit<()> {
        let Target::UnitOutput(output) = reduction.target else { return Ok(()) };
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
