//! Fused loops: rows, blocks of 32 lanes, and a masked rest, with all values of the loop's operations in registers.

use super::memory::View;
use super::reduce::LANES;
use super::unit::Fact;
use super::{Emit, Emitter};
use crate::schedule::{Entry, Extent, FusedLoop};
use fuseline_ir::cplan::{CNode, CNodeId, CellType, OuterType, RowType, Variant};
use fuseline_ir::ops::AggOp;
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::values::{IntValue, PhiValue, PointerValue, VectorValue};
use std::collections::HashMap;

/// How a loop reads a value that it does not compute.
#[derive(Clone, Copy)]
enum Source<'ctx> {
    /// The same in every lane.
    Uniform(VectorValue<'ctx>),
    /// Consecutive values from here on.
    Run(PointerValue<'ctx>),
    /// Values a stride apart.
    Strided(PointerValue<'ctx>, IntValue<'ctx>),
}

/// What a reduction is for.
#[derive(Clone, Copy)]
enum Target {
    /// A row aggregate that other steps read.
    Node(CNodeId),
    /// A row aggregate that is the output.
    RowOutput(usize),
    /// A full aggregate.
    UnitOutput(usize),
}

/// A reduction of the loop; its registers are carried from block to block.
#[derive(Clone, Copy)]
struct Reduction {
    agg: AggOp,
    value: CNodeId,
    target: Target,
}

/// A value of the loop that is written to memory.
#[derive(Clone, Copy)]
struct Write<'ctx> {
    value: CNodeId,
    view: View<'ctx>,
    /// The function that merges what is written into what is there.
    merge: Option<AggOp>,
}

/// Everything about a loop that does not change from row to row.
struct Loop<'a, 'ctx> {
    fused: &'a FusedLoop,
    rows: IntValue<'ctx>,
    /// Per row where rows are ragged.
    length: Option<IntValue<'ctx>>,
    inputs: Vec<(CNodeId, View<'ctx>)>,
    constants: HashMap<CNodeId, Source<'ctx>>,
    writes: Vec<Write<'ctx>>,
    /// Full aggregates first.
    reductions: Vec<Reduction>,
    unit_reductions: usize,
}

/// A row of a loop.
struct Row<'ctx> {
    length: IntValue<'ctx>,
    sources: HashMap<CNodeId, Source<'ctx>>,
    /// Where the row of each write begins.
    writes: Vec<PointerValue<'ctx>>,
}

impl<'ctx> Emitter<'_, 'ctx> {
    pub(super) fn fused_loop(&mut self, fused: &FusedLoop) -> Emit<()> {
        let this = self.prepare(fused)?;
        let carried = this.unit_reductions * self.parts();
        let neutral = self.neutral_registers(&this.reductions);
        let before = self.current_block();
        let [head, body, exit] = ["row", "cells", "rows_done"].map(|name| self.new_block(name));
        self.builder.build_unconditional_branch(head)?;

        self.builder.position_at_end(head);
        let row = self.builder.build_phi(self.i64(), "row")?;
        row.add_incoming(&[(&self.index(0), before)]);
        let carried_phis = self.phis(&neutral[..carried], before)?;
        let carried_values = registers(&carried_phis);
        let row_index = row.as_basic_value().into_int_value();
        let more = self.builder.build_int_compare(IntPredicate::ULT, row_index, this.rows, "")?;
        self.builder.build_conditional_branch(more, body, exit)?;

        self.builder.position_at_end(body);
        let state = self.enter_row(&this, row_index)?;
        let initial = [&carried_values, &neutral[carried..]].concat();
        let reduced = self.blocks(&this, &state, &initial)?;
        for (reduction, registers) in
            this.reductions.iter().zip(reduced.chunks(self.parts())).skip(this.unit_reductions)
        {
            self.finish_row(reduction, registers, row_index, state.length, fused.extent)?;
        }
        let next = self.builder.build_int_add(row_index, self.index(1), "")?;
        let end = self.current_block();
        row.add_incoming(&[(&next, end)]);
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
            let value = plan.outputs[output].node;
            let agg = plan.outputs[output].agg.unwrap_or(AggOp::Sum);
            match plan.variant {
                Variant::Cell(CellType::RowAgg) => {
                    reductions.push(Reduction { agg, value, target: Target::RowOutput(output) });
                }
                Variant::Cell(CellType::ColAgg) | Variant::Row(RowType::ColAgg) => {
                    let view = View { row: self.index(0), ..self.output_view(output, fused.extent)? };
                    writes.push(Write { value, view, merge: Some(agg) });
                }
                Variant::Cell(CellType::FullAgg)
                | Variant::MAgg
                | Variant::Row(RowType::FullAgg)
                | Variant::Outer(OuterType::FullAgg) => {
                    reductions.push(Reduction { agg, value, target: Target::UnitOutput(output) });
                }
                Variant::Cell(_) | Variant::Row(_) | Variant::Outer(_) => {
                    writes.push(Write { value, view: self.output_view(output, fused.extent)?, merge: None });
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
        let (rows, length) = self.trip(fused, &inputs, reductions.is_empty())?;
        Ok(Loop { fused, rows, length, inputs, constants, writes, reductions, unit_reductions })
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
    fn trip(
        &mut self,
        fused: &FusedLoop,
        inputs: &[(CNodeId, View<'ctx>)],
        ignores_rows: bool,
    ) -> Emit<(IntValue<'ctx>, Option<IntValue<'ctx>>)> {
        let one = self.index(1);
        let reads_rows = inputs.iter().any(|(id, _)| self.schedule.extents[*id] == Extent::Rows);
        Ok(match fused.extent {
            Extent::Rows => (one, Some(self.number(Fact::Rows)?)),
            Extent::Positions if ignores_rows && !reads_rows => (one, Some(self.number(Fact::Positions)?)),
            Extent::Positions => (self.number(Fact::Rows)?, None),
            Extent::One | Extent::Cells | Extent::Vector(_) => {
                let (rows, length) = self.dimensions(fused.extent)?;
                (rows, Some(length))
            }
        })
    }

    /// Finds the row's values.
    fn enter_row(&mut self, this: &Loop<'_, 'ctx>, row: IntValue<'ctx>) -> Emit<Row<'ctx>> {
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
        let mut sources = this.constants.clone();
        for &(id, view) in &this.inputs {
            let source = match self.schedule.extents[id] {
                Extent::Rows if this.fused.extent == Extent::Rows && view.is_packed => Source::Run(view.pointer),
                Extent::Rows if this.fused.extent == Extent::Rows => Source::Strided(view.pointer, view.row),
                Extent::Rows => {
                    let address = self.row_address(view.pointer, row, view.row)?;
                    Source::Uniform(self.broadcast(address)?)
                }
                _ if is_ragged => Source::Run(self.offset(view.pointer, start)?),
                _ => Source::Run(self.row_address(view.pointer, row, view.row)?),
            };
            sources.insert(id, source);
        }
        let mut writes = Vec::new();
        for write in &this.writes {
            writes.push(match is_ragged {
                true => self.offset(write.view.pointer, start)?,
                false => self.row_address(write.view.pointer, row, write.view.row)?,
            });
        }
        Ok(Row { length, sources, writes })
    }

    /// The blocks of a row: whole ones in a loop, then the rest under a mask. Gives the reductions' registers.
    fn blocks(
        &mut self,
        this: &Loop<'_, 'ctx>,
        row: &Row<'ctx>,
        initial: &[VectorValue<'ctx>],
    ) -> Emit<Vec<VectorValue<'ctx>>> {
        let zero = self.index(0);
        let whole = self.builder.build_and(row.length, self.index(!u64::from(LANES - 1)), "")?;
        let [block, rest, tail, done] = ["block", "rest", "tail", "row_done"].map(|name| self.new_block(name));
        let before = self.current_block();
        let has_blocks = self.builder.build_int_compare(IntPredicate::NE, whole, zero, "")?;
        self.builder.build_conditional_branch(has_blocks, block, rest)?;

        self.builder.position_at_end(block);
        let index = self.builder.build_phi(self.i64(), "cell")?;
        index.add_incoming(&[(&zero, before)]);
        let phis = self.phis(initial, before)?;
        let first = index.as_basic_value().into_int_value();
        let reduced = self.block(this, row, first, None, registers(&phis))?;
        let next = self.builder.build_int_add(first, self.index(LANES.into()), "")?;
        index.add_incoming(&[(&next, block)]);
        add_incoming(&phis, &reduced, block);
        let more = self.builder.build_int_compare(IntPredicate::ULT, next, whole, "")?;
        self.builder.build_conditional_branch(more, block, rest)?;

        self.builder.position_at_end(rest);
        let rest_phis = self.phis(initial, before)?;
        add_incoming(&rest_phis, &reduced, block);
        let remaining = self.builder.build_int_sub(row.length, whole, "")?;
        let has_rest = self.builder.build_int_compare(IntPredicate::NE, remaining, zero, "")?;
        self.builder.build_conditional_branch(has_rest, tail, done)?;

        self.builder.position_at_end(tail);
        let reduced = self.block(this, row, whole, Some(remaining), registers(&rest_phis))?;
        self.builder.build_unconditional_branch(done)?;

        self.builder.position_at_end(done);
        let done_phis = self.phis(&registers(&rest_phis), rest)?;
        add_incoming(&done_phis, &reduced, tail);
        Ok(registers(&done_phis))
    }

    /// Up to 32 lanes from a cell of the row on.
    fn block(
        &mut self,
        this: &Loop<'_, 'ctx>,
        row: &Row<'ctx>,
        first: IntValue<'ctx>,
        remaining: Option<IntValue<'ctx>>,
        mut reduced: Vec<VectorValue<'ctx>>,
    ) -> Emit<Vec<VectorValue<'ctx>>> {
        for part in 0..self.parts() {
            let lane = part as u32 * self.lanes();
            let cell = self.builder.build_int_add(first, self.index(lane.into()), "")?;
            let mask = remaining.map(|remaining| self.mask_before(lane, remaining)).transpose()?;
            let values = self.compute(this, row, cell, mask)?;
            for (write, &begin) in this.writes.iter().zip(&row.writes) {
                let address = self.offset(begin, cell)?;
                let mut value = values[&write.value];
                if let Some(agg) = write.merge {
                    let old = self.load_register(address, mask)?;
                    value = self.accumulate(agg, old, value, None)?;
                }
                self.store_register(address, value, mask)?;
            }
            for (index, reduction) in this.reductions.iter().enumerate() {
                let register = &mut reduced[index * (LANES / self.target.lanes()) as usize + part];
                *register = self.accumulate(reduction.agg, *register, values[&reduction.value], mask)?;
            }
        }
        Ok(reduced)
    }

    /// One register of every value of the loop.
    fn compute(
        &mut self,
        this: &Loop<'_, 'ctx>,
        row: &Row<'ctx>,
        cell: IntValue<'ctx>,
        mask: Option<VectorValue<'ctx>>,
    ) -> Emit<HashMap<CNodeId, VectorValue<'ctx>>> {
        let mut values = HashMap::new();
        for (&id, source) in &row.sources {
            if let Source::Uniform(value) = source {
                values.insert(id, *value);
            }
        }
        for (id, _) in &this.inputs {
            match row.sources[id] {
                Source::Uniform(_) => {}
                Source::Run(begin) => {
                    let address = self.offset(begin, cell)?;
                    values.insert(*id, self.load_register(address, mask)?);
                }
                Source::Strided(begin, stride) => {
                    let address = self.row_address(begin, cell, stride)?;
                    values.insert(*id, self.load_strided(address, stride, mask)?);
                }
            }
        }
        for &id in &this.fused.nodes {
            let operands: Vec<VectorValue<'ctx>> =
                self.plan.nodes[id].operands().iter().map(|operand| values[operand]).collect();
            let value = self.element_wise(id, &operands)?;
            values.insert(id, value);
        }
        Ok(values)
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
            AggOp::Min | AggOp::Max if is_sparse => {
                let with_zero = self.merge(reduction.agg, merged, self.constant(0.0))?;
                let has_zero = self.builder.build_int_compare(IntPredicate::ULT, length, cells, "")?;
                merged = self.builder.build_select(has_zero, with_zero, merged, "")?.into_vector_value();
            }
            AggOp::Sum | AggOp::SumSq | AggOp::Min | AggOp::Max => {}
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

    fn phis(&self, initial: &[VectorValue<'ctx>], from: BasicBlock<'ctx>) -> Emit<Vec<PhiValue<'ctx>>> {
        initial
            .iter()
            .map(|value| {
                let phi = self.builder.build_phi(self.register(), "")?;
                phi.add_incoming(&[(value, from)]);
                Ok(phi)
            })
            .collect()
    }

    fn new_block(&self, name: &str) -> BasicBlock<'ctx> {
        self.context.append_basic_block(self.function, name)
    }

    fn current_block(&self) -> BasicBlock<'ctx> {
        self.builder.get_insert_block().expect("the emitter always stands at the end of a block")
    }
}

fn registers<'ctx>(phis: &[PhiValue<'ctx>]) -> Vec<VectorValue<'ctx>> {
    phis.iter().map(|phi| phi.as_basic_value().into_vector_value()).collect()
}

fn add_incoming<'ctx>(phis: &[PhiValue<'ctx>], values: &[VectorValue<'ctx>], from: BasicBlock<'ctx>) {
    for (phi, value) in phis.iter().zip(values) {
        phi.add_incoming(&[(value, from)]);
    }
}
