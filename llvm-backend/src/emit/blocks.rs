//! The loops within a row of a fused loop: whole blocks of 32 lanes, then the rest, register by register under a mask.
//!
//! Rows that are vectors may also be as short as one register: they take one step under a mask, and no loop.
//!
//! The code of the rest is one register wide, so that a loop's operations are emitted for one block and one register
//! more, and short rows take as many steps as they have registers. Its first step belongs to the first accumulator of
//! each reduction; accumulators move up by one after each step, and go full circle before the row ends. Where a few
//! operations are reduced row by row the moves would take longer than these: there each whole register of the rest has
//! code of its own, and the part of one at the end, whose accumulator depends on how many these are, is computed first.

use super::ahead::Cache;
use super::conditions::known;
use super::fused::{Loop, Row, Source};
use super::reduce::LANES;
use super::registers::Mask;
use super::{Emit, Emitter};
use fuseline_ir::cplan::CNodeId;
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::values::{IntValue, PhiValue, PointerValue, VectorValue};
use std::collections::HashMap;

/// The accumulators at the end of a block, and the block.
type End<'ctx> = (Vec<VectorValue<'ctx>>, BasicBlock<'ctx>);

impl<'ctx> Emitter<'_, 'ctx> {
    /// All cells of a row; takes and gives the accumulators of the reductions, 32 lanes for each.
    pub(super) fn blocks(
        &mut self,
        this: &Loop<'_, 'ctx>,
        row: &Row<'ctx>,
        initial: &[VectorValue<'ctx>],
    ) -> Emit<Vec<VectorValue<'ctx>>> {
        let Some(mask) = this.short_rows else {
            let done = self.new_block("row_done");
            let ends = self.long_row(this, row, initial, done)?;
            return self.joined(&ends, done);
        };
        let fits = self.fits_register(row.length)?;
        if known(fits) == Some(true) {
            return self.short_row(this, row, mask, initial);
        }
        let [short, long, done] = ["short", "long", "row_done"].map(|name| self.new_block(name));
        self.builder.build_conditional_branch(fits, short, long)?;
        self.builder.position_at_end(short);
        let accumulators = self.short_row(this, row, mask, initial)?;
        let mut ends = vec![(accumulators, self.current_block())];
        self.builder.build_unconditional_branch(done)?;
        self.builder.position_at_end(long);
        ends.extend(self.long_row(this, row, initial, done)?);
        self.joined(&ends, done)
    }

    /// The accumulators at `done`, from the blocks that branch there.
    fn joined(&self, ends: &[End<'ctx>], done: BasicBlock<'ctx>) -> Emit<Vec<VectorValue<'ctx>>> {
        self.builder.position_at_end(done);
        let (first, from) = &ends[0];
        let phis = self.phis(first, *from)?;
        ends[1..].iter().for_each(|(accumulators, from)| add_incoming(&phis, accumulators, *from));
        Ok(registers(&phis))
    }

    /// Whether one register holds a row of this length.
    fn fits_register(&self, length: IntValue<'ctx>) -> Emit<IntValue<'ctx>> {
        let lanes = self.index(self.lanes().into());
        self.builder.build_int_compare(IntPredicate::ULE, length, lanes, "")
    }

    /// A row that one register holds.
    fn short_row(
        &mut self,
        this: &Loop<'_, 'ctx>,
        row: &Row<'ctx>,
        mask: Mask<'ctx>,
        initial: &[VectorValue<'ctx>],
    ) -> Emit<Vec<VectorValue<'ctx>>> {
        for (id, distance) in &this.ahead.rows {
            if let Some(Source::Run(begin)) = row.sources.get(id) {
                self.prefetch(self.address_beyond(*begin, *distance)?, Cache::First)?;
            }
        }
        let mut accumulators = initial.to_vec();
        self.step(this, row, self.index(0), Some(mask), (&mut accumulators, 0))?;
        Ok(accumulators)
    }

    /// All cells of a run that no reduction takes: register by register, the last perhaps under a mask. With each register
    /// it asks for a line from each of these addresses on, so many values further each time.
    pub(super) fn run(
        &mut self,
        this: &Loop<'_, 'ctx>,
        row: &Row<'ctx>,
        asked_for: &[(PointerValue<'ctx>, IntValue<'ctx>)],
    ) -> Emit<()> {
        self.run_from(this, row, self.index(0), asked_for)
    }

    /// The same from a cell on.
    fn run_from(
        &mut self,
        this: &Loop<'_, 'ctx>,
        row: &Row<'ctx>,
        start: IntValue<'ctx>,
        asked_for: &[(PointerValue<'ctx>, IntValue<'ctx>)],
    ) -> Emit<()> {
        let (zero, lanes) = (self.index(0), self.index(self.lanes().into()));
        let before = self.current_block();
        let [head, whole, rest, part, done] =
            ["run", "register", "run_rest", "run_part", "run_done"].map(|name| self.new_block(name));
        self.builder.build_unconditional_branch(head)?;

        self.builder.position_at_end(head);
        let index = self.builder.build_phi(self.i64(), "cell")?;
        index.add_incoming(&[(&start, before)]);
        let cell = index.as_basic_value().into_int_value();
        let mut asked = Vec::new();
        for (first, _) in asked_for {
            let phi = self.builder.build_phi(self.pointer(), "")?;
            phi.add_incoming(&[(first, before)]);
            asked.push(phi);
        }
        let left = self.builder.build_int_sub(row.length, cell, "")?;
        let is_whole = self.builder.build_int_compare(IntPredicate::UGE, left, lanes, "")?;
        self.builder.build_conditional_branch(is_whole, whole, rest)?;

        self.builder.position_at_end(whole);
        for (phi, (_, distance)) in asked.iter().zip(asked_for) {
            let address = phi.as_basic_value().into_pointer_value();
            self.prefetch(address, Cache::Second)?;
            phi.add_incoming(&[(&self.address_beyond(address, *distance)?, whole)]);
        }
        self.step(this, row, cell, None, (&mut [], 0))?;
        let next = self.builder.build_int_add(cell, lanes, "")?;
        index.add_incoming(&[(&next, whole)]);
        self.builder.build_unconditional_branch(head)?;

        self.builder.position_at_end(rest);
        let has_part = self.builder.build_int_compare(IntPredicate::NE, left, zero, "")?;
        self.builder.build_conditional_branch(has_part, part, done)?;

        self.builder.position_at_end(part);
        let mask = self.lanes_before(left)?;
        self.step(this, row, cell, Some(mask), (&mut [], 0))?;
        self.builder.build_unconditional_branch(done)?;
        self.builder.position_at_end(done);
        Ok(())
    }

    /// Whole blocks, then the rest, and branches to `done` with the accumulators there.
    fn long_row(
        &mut self,
        this: &Loop<'_, 'ctx>,
        row: &Row<'ctx>,
        initial: &[VectorValue<'ctx>],
        done: BasicBlock<'ctx>,
    ) -> Emit<Vec<End<'ctx>>> {
        let zero = self.index(0);
        let whole = self.builder.build_and(row.length, self.index(!u64::from(LANES - 1)), "")?;
        let before = self.current_block();
        let has_blocks = self.builder.build_int_compare(IntPredicate::NE, whole, zero, "")?;
        if known(has_blocks) == Some(false) {
            return self.rest(this, row, zero, row.length, initial, done);
        }
        let [block, rest] = ["block", "rest"].map(|name| self.new_block(name));
        self.builder.build_conditional_branch(has_blocks, block, rest)?;

        self.builder.position_at_end(block);
        let index = self.builder.build_phi(self.i64(), "cell")?;
        index.add_incoming(&[(&zero, before)]);
        let phis = self.phis(initial, before)?;
        let first = index.as_basic_value().into_int_value();
        let reduced = self.block(this, row, first, registers(&phis))?;
        let next = self.builder.build_int_add(first, self.index(LANES.into()), "")?;
        index.add_incoming(&[(&next, block)]);
        add_incoming(&phis, &reduced, block);
        let more = self.builder.build_int_compare(IntPredicate::ULT, next, whole, "")?;
        self.builder.build_conditional_branch(more, block, rest)?;

        self.builder.position_at_end(rest);
        let rest_phis = self.phis(initial, before)?;
        add_incoming(&rest_phis, &reduced, block);
        let remaining = self.builder.build_int_sub(row.length, whole, "")?;
        self.rest(this, row, whole, remaining, &registers(&rest_phis), done)
    }

    /// 32 lanes from a cell of the row on.
    fn block(
        &mut self,
        this: &Loop<'_, 'ctx>,
        row: &Row<'ctx>,
        first: IntValue<'ctx>,
        mut accumulators: Vec<VectorValue<'ctx>>,
    ) -> Emit<Vec<VectorValue<'ctx>>> {
        for part in 0..self.parts() {
            let lane = part as u32 * self.lanes();
            let cell = self.builder.build_int_add(first, self.index(lane.into()), "")?;
            self.step(this, row, cell, None, (&mut accumulators, part))?;
        }
        Ok(accumulators)
    }

    /// The remaining cells, fewer than 32, and branches to `done` with the accumulators there.
    fn rest(
        &mut self,
        this: &Loop<'_, 'ctx>,
        row: &Row<'ctx>,
        whole: IntValue<'ctx>,
        remaining: IntValue<'ctx>,
        initial: &[VectorValue<'ctx>],
        done: BasicBlock<'ctx>,
    ) -> Emit<Vec<End<'ctx>>> {
        // Without registers of masks a part of a register takes much longer than a whole one.
        let avoids_masks = initial.is_empty() && self.lanes() <= 4;
        if let Some(remaining) = remaining.get_zero_extended_constant()
            && (avoids_masks || this.last_lanes.is_some())
        {
            let reduced = self.known_rest(this, row, whole, remaining, initial)?;
            self.builder.build_unconditional_branch(done)?;
            return Ok(vec![(reduced, self.current_block())]);
        }
        if avoids_masks {
            self.run_from(this, row, whole, &[])?;
            self.builder.build_unconditional_branch(done)?;
            return Ok(vec![(Vec::new(), self.current_block())]);
        }
        let before = self.current_block();
        let step = self.new_block("step");
        let has_rest = self.builder.build_int_compare(IntPredicate::NE, remaining, self.index(0), "")?;
        self.builder.build_conditional_branch(has_rest, step, done)?;
        self.builder.position_at_end(step);
        let mut ends = vec![(initial.to_vec(), before)];
        match this.last_lanes {
            Some(last) => ends.extend(self.unrolled_rest(this, row, (whole, remaining, last), initial, done)?),
            None => ends.push(self.rolled_rest(this, row, (whole, remaining), (initial, before), done)?),
        }
        Ok(ends)
    }

    /// The remaining cells, at least one, each whole register with code of its own, after the part of one at the end; branches
    /// to `done`.
    fn unrolled_rest(
        &mut self,
        this: &Loop<'_, 'ctx>,
        row: &Row<'ctx>,
        (whole, remaining, last): (IntValue<'ctx>, IntValue<'ctx>, Mask<'ctx>),
        initial: &[VectorValue<'ctx>],
        done: BasicBlock<'ctx>,
    ) -> Emit<Vec<End<'ctx>>> {
        let registers = self.builder.build_int_sub(remaining, last.count, "")?;
        let cell = self.builder.build_int_add(whole, registers, "")?;
        let values = self.store_step(this, row, cell, Some(last))?;
        let mut reduced = initial.to_vec();
        let mut ends = Vec::new();
        for part in 0..self.parts() {
            let lane = self.index((part as u32 * self.lanes()).into());
            let register = (part + 1 < self.parts()).then(|| self.new_block("register"));
            if let Some(register) = register {
                let end = self.new_block("part");
                let is_whole = self.builder.build_int_compare(IntPredicate::UGT, registers, lane, "")?;
                self.builder.build_conditional_branch(is_whole, register, end)?;
                self.builder.position_at_end(end);
            }
            let mut with_last = reduced.clone();
            self.reduce_step(this, &values, Some(last), (&mut with_last, part))?;
            ends.push((with_last, self.current_block()));
            self.builder.build_unconditional_branch(done)?;
            if let Some(register) = register {
                self.builder.position_at_end(register);
                let cell = self.builder.build_int_add(whole, lane, "")?;
                self.step(this, row, cell, None, (&mut reduced, part))?;
            }
        }
        Ok(ends)
    }

    /// The remaining cells, at least one, register by register in a loop; branches to `done`.
    fn rolled_rest(
        &mut self,
        this: &Loop<'_, 'ctx>,
        row: &Row<'ctx>,
        (whole, remaining): (IntValue<'ctx>, IntValue<'ctx>),
        (initial, before): (&[VectorValue<'ctx>], BasicBlock<'ctx>),
        done: BasicBlock<'ctx>,
    ) -> Emit<End<'ctx>> {
        let (step, turned) = (self.current_block(), self.new_block("turned"));
        let index = self.builder.build_phi(self.i64(), "lane")?;
        index.add_incoming(&[(&self.index(0), before)]);
        let phis = self.phis(initial, before)?;
        let lane = index.as_basic_value().into_int_value();
        let cell = self.builder.build_int_add(whole, lane, "")?;
        let left = self.builder.build_int_sub(remaining, lane, "")?;
        let mask = self.lanes_before(left)?;
        let mut reduced = registers(&phis);
        self.step(this, row, cell, Some(mask), (&mut reduced, 0))?;
        self.turn(&mut reduced);
        let next = self.builder.build_int_add(lane, self.index(self.lanes().into()), "")?;
        index.add_incoming(&[(&next, step)]);
        add_incoming(&phis, &reduced, step);
        let more = self.builder.build_int_compare(IntPredicate::ULT, next, remaining, "")?;
        self.builder.build_conditional_branch(more, step, turned)?;

        self.builder.position_at_end(turned);
        if reduced.is_empty() {
            self.builder.build_unconditional_branch(done)?;
            return Ok((reduced, turned));
        }
        self.full_circle((next, reduced, step), done).map(|accumulators| (accumulators, turned))
    }

    /// So many remaining cells, without a loop.
    fn known_rest(
        &mut self,
        this: &Loop<'_, 'ctx>,
        row: &Row<'ctx>,
        whole: IntValue<'ctx>,
        remaining: u64,
        initial: &[VectorValue<'ctx>],
    ) -> Emit<Vec<VectorValue<'ctx>>> {
        let lanes = u64::from(self.lanes());
        let mut reduced = initial.to_vec();
        for (part, lane) in (0..remaining).step_by(self.lanes() as usize).enumerate() {
            let cell = self.builder.build_int_add(whole, self.index(lane), "")?;
            let left = self.index(remaining - lane);
            let mask = if remaining - lane < lanes { Some(self.lanes_before(left)?) } else { None };
            self.step(this, row, cell, mask, (&mut reduced, part))?;
        }
        Ok(reduced)
    }

    /// Moves accumulators until they are where they began, then branches to `done`.
    fn full_circle(
        &mut self,
        (lane, accumulators, from): (IntValue<'ctx>, Vec<VectorValue<'ctx>>, BasicBlock<'ctx>),
        done: BasicBlock<'ctx>,
    ) -> Emit<Vec<VectorValue<'ctx>>> {
        let turned = self.current_block();
        let turn = self.new_block("turn");
        let index = self.builder.build_phi(self.i64(), "lane")?;
        index.add_incoming(&[(&lane, from)]);
        let phis = self.phis(&accumulators, from)?;
        let lane = index.as_basic_value().into_int_value();
        let more = self.builder.build_int_compare(IntPredicate::ULT, lane, self.index(LANES.into()), "")?;
        self.builder.build_conditional_branch(more, turn, done)?;

        self.builder.position_at_end(turn);
        let mut next = registers(&phis);
        self.turn(&mut next);
        let next_lane = self.builder.build_int_add(lane, self.index(self.lanes().into()), "")?;
        index.add_incoming(&[(&next_lane, turn)]);
        add_incoming(&phis, &next, turn);
        self.builder.build_unconditional_branch(turned)?;
        Ok(registers(&phis))
    }

    /// Moves the accumulators of each reduction by one register.
    fn turn(&self, accumulators: &mut [VectorValue<'ctx>]) {
        accumulators.chunks_mut(self.parts()).for_each(|reduction| reduction.rotate_left(1));
    }

    /// One register of cells, taken into one register of each reduction's accumulators.
    fn step(
        &mut self,
        this: &Loop<'_, 'ctx>,
        row: &Row<'ctx>,
        cell: IntValue<'ctx>,
        mask: Option<Mask<'ctx>>,
        accumulators: (&mut [VectorValue<'ctx>], usize),
    ) -> Emit<()> {
        let values = self.store_step(this, row, cell, mask)?;
        self.reduce_step(this, &values, mask, accumulators)
    }

    /// One register of cells: their values, of which those that the loop writes are stored.
    fn store_step(
        &mut self,
        this: &Loop<'_, 'ctx>,
        row: &Row<'ctx>,
        cell: IntValue<'ctx>,
        mask: Option<Mask<'ctx>>,
    ) -> Emit<HashMap<CNodeId, VectorValue<'ctx>>> {
        self.ask_for_next_unit(this, row, cell)?;
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
        Ok(values)
    }

    /// Takes the values of one register of cells into one register of each reduction's accumulators.
    fn reduce_step(
        &mut self,
        this: &Loop<'_, 'ctx>,
        values: &HashMap<CNodeId, VectorValue<'ctx>>,
        mask: Option<Mask<'ctx>>,
        (accumulators, part): (&mut [VectorValue<'ctx>], usize),
    ) -> Emit<()> {
        let parts = self.parts();
        for (index, reduction) in this.reductions.iter().enumerate() {
            let register = &mut accumulators[index * parts + part];
            *register = self.accumulate(reduction.agg, *register, values[&reduction.value], mask)?;
        }
        Ok(())
    }

    /// One register of every value of the loop.
    fn compute(
        &mut self,
        this: &Loop<'_, 'ctx>,
        row: &Row<'ctx>,
        cell: IntValue<'ctx>,
        mask: Option<Mask<'ctx>>,
    ) -> Emit<HashMap<CNodeId, VectorValue<'ctx>>> {
        let mut values = HashMap::new();
        for (&id, source) in &row.sources {
            if let Source::Uniform(value) = source {
                values.insert(id, *value);
            }
        }
        for &id in this.inputs.iter().map(|(id, _)| id).chain(&this.fused.nodes) {
            let value = match row.sources.get(&id) {
                Some(source) => self.read(source, cell, mask)?,
                None => {
                    let operands: Vec<VectorValue<'ctx>> =
                        self.plan.nodes[id].operands().iter().map(|operand| values[operand]).collect();
                    self.element_wise(id, &operands)?
                }
            };
            values.insert(id, value);
        }
        Ok(values)
    }

    /// One register of a value that the loop reads.
    fn read(
        &mut self,
        source: &Source<'ctx>,
        cell: IntValue<'ctx>,
        mask: Option<Mask<'ctx>>,
    ) -> Emit<VectorValue<'ctx>> {
        match *source {
            Source::Uniform(value) => Ok(value),
            Source::Run(begin) => {
                let address = self.offset(begin, cell)?;
                self.load_register(address, mask)
            }
            Source::Strided(begin, stride) => {
                let address = self.row_address(begin, cell, stride)?;
                self.load_strided(address, stride, mask)
            }
            Source::Numbers(first) => {
                let first = self.builder.build_int_add(first, cell, "")?;
                let first = self.builder.build_signed_int_to_float(first, self.f64(), "")?;
                let first = self.splat(first, self.register())?;
                self.builder.build_float_add(first, self.lane_numbers(), "")
            }
        }
    }

    pub(super) fn phis(&self, initial: &[VectorValue<'ctx>], from: BasicBlock<'ctx>) -> Emit<Vec<PhiValue<'ctx>>> {
        initial
            .iter()
            .map(|value| {
                let phi = self.builder.build_phi(self.register(), "")?;
                phi.add_incoming(&[(value, from)]);
                Ok(phi)
            })
            .collect()
    }

    pub(super) fn new_block(&self, name: &str) -> BasicBlock<'ctx> {
        self.context.append_basic_block(self.function, name)
    }

    pub(super) fn current_block(&self) -> BasicBlock<'ctx> {
        self.builder.get_insert_block().expect("the emitter always stands at the end of a block")
    }
}

pub(super) fn registers<'ctx>(phis: &[PhiValue<'ctx>]) -> Vec<VectorValue<'ctx>> {
    phis.iter().map(|phi| phi.as_basic_value().into_vector_value()).collect()
}

pub(super) fn add_incoming<'ctx>(phis: &[PhiValue<'ctx>], values: &[VectorValue<'ctx>], from: BasicBlock<'ctx>) {
    for (phi, value) in phis.iter().zip(values) {
        phi.add_incoming(&[(value, from)]);
    }
}
