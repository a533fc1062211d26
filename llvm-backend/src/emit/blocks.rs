//! The loops within a row of a fused loop: whole blocks of 32 lanes, then the rest, register by register under a mask.
//!
//! Rows that are vectors may also be as short as one register: they take one step under a mask, and no loop.
//!
//! The code of the rest is one register wide, so that a loop's operations are emitted for one block and one register
//! more, and short rows take as many steps as they have registers. Its first step belongs to the first accumulator of
//! each reduction; accumulators move up by one after each step, and go full circle before the row ends. Where rows of a few
//! operations end one after the other, the moves would take longer than these, and masks teach the hardware's prefetchers nothing:
//! there each whole register of the rest has code of its own, and the part of one at the end, whose accumulator depends on how
//! many these are, is computed first.

use super::conditions::known;
use super::loops::{LinesAhead, Loop, Near, Row, Source};
use super::reduce::LANES;
use super::registers::{Mask, add_incoming, registers};
use super::{Emit, Emitter};
use fuseline_ir::cplan::CNodeId;
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::values::{IntValue, VectorValue};
use std::collections::HashMap;

/// The accumulators of all reductions where a basic block ends.
struct Edge<'ctx> {
    values: Vec<VectorValue<'ctx>>,
    from: BasicBlock<'ctx>,
}

/// Where a step reduces its values into: one register of each reduction's accumulators.
struct Accumulators<'r, 'ctx> {
    /// The registers of all reductions, 32 lanes for each.
    registers: &'r mut [VectorValue<'ctx>],
    /// The number of the register among those of a reduction.
    part: usize,
}

impl Accumulators<'_, '_> {
    /// No registers, for loops without reductions.
    fn none() -> Self {
        Accumulators { registers: &mut [], part: 0 }
    }
}

/// The last cells of a row, fewer than 32.
#[derive(Clone, Copy)]
struct Rest<'ctx> {
    first: IntValue<'ctx>,
    count: IntValue<'ctx>,
}

/// The cells of a row that one register holds: those from the first on, in the lanes of the mask where there is one.
#[derive(Clone, Copy)]
struct Cells<'ctx> {
    first: IntValue<'ctx>,
    mask: Option<Mask<'ctx>>,
}

/// A row that may be longer than a register. Its code ends with branches to `done`, where the accumulators meet.
struct LongRow<'l, 'a, 'ctx> {
    inner: &'l Loop<'a, 'ctx>,
    row: &'l Row<'ctx>,
    done: BasicBlock<'ctx>,
}

impl<'ctx> Loop<'_, 'ctx> {
    /// All cells of a row; takes and gives the accumulators of the reductions, 32 lanes for each.
    pub(super) fn row_cells(
        &self,
        emitter: &mut Emitter<'_, 'ctx>,
        row: &Row<'ctx>,
        initial: &[VectorValue<'ctx>],
    ) -> Emit<Vec<VectorValue<'ctx>>> {
        let Some(mask) = self.short_rows else {
            let done = emitter.new_block("row_done");
            let ends = LongRow { inner: self, row, done }.emit(emitter, initial)?;
            return emitter.joined(&ends, done);
        };
        let fits = emitter.fits_register(row.length)?;
        if known(fits) == Some(true) {
            return self.short_row(emitter, row, mask, initial);
        }
        let [short, long, done] = ["short", "long", "row_done"].map(|name| emitter.new_block(name));
        emitter.builder.build_conditional_branch(fits, short, long)?;
        emitter.builder.position_at_end(short);
        let accumulators = self.short_row(emitter, row, mask, initial)?;
        let mut ends = vec![Edge { values: accumulators, from: emitter.current_block() }];
        emitter.builder.build_unconditional_branch(done)?;
        emitter.builder.position_at_end(long);
        ends.extend(LongRow { inner: self, row, done }.emit(emitter, initial)?);
        emitter.joined(&ends, done)
    }

    /// A row that one register holds.
    fn short_row(
        &self,
        emitter: &mut Emitter<'_, 'ctx>,
        row: &Row<'ctx>,
        mask: Mask<'ctx>,
        initial: &[VectorValue<'ctx>],
    ) -> Emit<Vec<VectorValue<'ctx>>> {
        let mut reduced = initial.to_vec();
        let into = Accumulators { registers: &mut reduced, part: 0 };
        let cells = Cells { first: emitter.index(0), mask: Some(mask) };
        self.step(emitter, row, cells, into)?;
        Ok(reduced)
    }

    /// All cells of a run that no reduction takes: register by register, the last perhaps under a mask. With each register
    /// it asks for one line more of these.
    pub(super) fn run(
        &self,
        emitter: &mut Emitter<'_, 'ctx>,
        row: &Row<'ctx>,
        asked_for: &[LinesAhead<'ctx>],
    ) -> Emit<()> {
        let first = emitter.index(0);
        self.run_from(emitter, row, first, asked_for)
    }

    /// The cells from this one on of a run that no reduction takes, as [`Self::run`].
    fn run_from(
        &self,
        emitter: &mut Emitter<'_, 'ctx>,
        row: &Row<'ctx>,
        start: IntValue<'ctx>,
        asked_for: &[LinesAhead<'ctx>],
    ) -> Emit<()> {
        let (zero, lanes) = (emitter.index(0), emitter.index(emitter.lanes().into()));
        let before = emitter.current_block();
        let [head, whole, rest, part, done] =
            ["run", "register", "run_rest", "run_part", "run_done"].map(|name| emitter.new_block(name));
        emitter.builder.build_unconditional_branch(head)?;

        emitter.builder.position_at_end(head);
        let index = emitter.builder.build_phi(emitter.i64(), "cell")?;
        index.add_incoming(&[(&start, before)]);
        let cell = index.as_basic_value().into_int_value();
        let mut asked = Vec::new();
        for lines in asked_for {
            let phi = emitter.builder.build_phi(emitter.pointer(), "")?;
            phi.add_incoming(&[(&lines.first, before)]);
            asked.push(phi);
        }
        let left = emitter.builder.build_int_sub(row.length, cell, "")?;
        let is_whole = emitter.builder.build_int_compare(IntPredicate::UGE, left, lanes, "")?;
        emitter.builder.build_conditional_branch(is_whole, whole, rest)?;

        emitter.builder.position_at_end(whole);
        for (phi, lines) in asked.iter().zip(asked_for) {
            let address = phi.as_basic_value().into_pointer_value();
            emitter.prefetch(address, Near::SecondLevel)?;
            phi.add_incoming(&[(&emitter.address_beyond(address, lines.distance)?, whole)]);
        }
        self.step(emitter, row, Cells { first: cell, mask: None }, Accumulators::none())?;
        let next = emitter.builder.build_int_add(cell, lanes, "")?;
        index.add_incoming(&[(&next, whole)]);
        emitter.builder.build_unconditional_branch(head)?;

        emitter.builder.position_at_end(rest);
        let has_part = emitter.builder.build_int_compare(IntPredicate::NE, left, zero, "")?;
        emitter.builder.build_conditional_branch(has_part, part, done)?;

        emitter.builder.position_at_end(part);
        let mask = emitter.lanes_before(left)?;
        self.step(emitter, row, Cells { first: cell, mask: Some(mask) }, Accumulators::none())?;
        emitter.builder.build_unconditional_branch(done)?;
        emitter.builder.position_at_end(done);
        Ok(())
    }

    /// One register of cells, taken into one register of each reduction's accumulators.
    fn step(
        &self,
        emitter: &mut Emitter<'_, 'ctx>,
        row: &Row<'ctx>,
        cells: Cells<'ctx>,
        into: Accumulators<'_, 'ctx>,
    ) -> Emit<()> {
        self.steps(emitter, row, &[cells], into)
    }

    /// Registers of cells, computed side by side, each taken into the next register of each reduction's accumulators.
    fn steps(
        &self,
        emitter: &mut Emitter<'_, 'ctx>,
        row: &Row<'ctx>,
        cells: &[Cells<'ctx>],
        into: Accumulators<'_, 'ctx>,
    ) -> Emit<()> {
        let Accumulators { registers, part: first } = into;
        for (offset, (values, cells)) in self.store_steps(emitter, row, cells)?.iter().zip(cells).enumerate() {
            let into = Accumulators { registers: &mut *registers, part: first + offset };
            self.reduce_step(emitter, values, cells.mask, into)?;
        }
        Ok(())
    }

    /// Registers of cells: their values, of which those that the loop writes are stored.
    fn store_steps(
        &self,
        emitter: &mut Emitter<'_, 'ctx>,
        row: &Row<'ctx>,
        cells: &[Cells<'ctx>],
    ) -> Emit<Vec<HashMap<CNodeId, VectorValue<'ctx>>>> {
        cells.iter().try_for_each(|cells| self.ask_ahead(emitter, row, cells.first))?;
        let computed = self.compute(emitter, row, cells)?;
        for (values, cells) in computed.iter().zip(cells) {
            for (write, &begin) in self.writes.iter().zip(&row.writes) {
                let address = emitter.offset(begin, cells.first)?;
                let mut value = values[&write.value];
                if let Some(agg) = write.merge {
                    let old = emitter.load_register(address, cells.mask)?;
                    value = emitter.accumulate(agg, old, value, None)?;
                }
                emitter.store_register(address, value, cells.mask)?;
            }
        }
        Ok(computed)
    }

    /// Takes the values of one register of cells into one register of each reduction's accumulators.
    fn reduce_step(
        &self,
        emitter: &mut Emitter<'_, 'ctx>,
        values: &HashMap<CNodeId, VectorValue<'ctx>>,
        mask: Option<Mask<'ctx>>,
        into: Accumulators<'_, 'ctx>,
    ) -> Emit<()> {
        let Accumulators { registers, part } = into;
        for (index, reduction) in self.reductions.iter().enumerate() {
            let register = &mut registers[index * emitter.parts() + part];
            *register = emitter.accumulate(reduction.agg, *register, values[&reduction.value], mask)?;
        }
        Ok(())
    }

    /// Registers of every value of the loop, for each of some registers of cells: value after value for all of them.
    fn compute(
        &self,
        emitter: &mut Emitter<'_, 'ctx>,
        row: &Row<'ctx>,
        cells: &[Cells<'ctx>],
    ) -> Emit<Vec<HashMap<CNodeId, VectorValue<'ctx>>>> {
        let mut uniform = HashMap::new();
        for (&id, source) in &row.sources {
            if let Source::Uniform(value) = source {
                uniform.insert(id, *value);
            }
        }
        let mut computed = vec![uniform; cells.len()];
        for &id in self.inputs.iter().map(|input| &input.node).chain(&self.fused.nodes) {
            for (values, &cells) in computed.iter_mut().zip(cells) {
                let value = match row.sources.get(&id) {
                    Some(source) => emitter.read(source, cells)?,
                    None => {
                        let operands: Vec<VectorValue<'ctx>> =
                            emitter.plan.nodes[id].operands().iter().map(|operand| values[operand]).collect();
                        emitter.element_wise(id, &operands)?
                    }
                };
                values.insert(id, value);
            }
        }
        Ok(computed)
    }
}

impl<'ctx> LongRow<'_, '_, 'ctx> {
    /// Whole blocks, then the rest, and branches to `done` with the accumulators there.
    fn emit(&self, emitter: &mut Emitter<'_, 'ctx>, initial: &[VectorValue<'ctx>]) -> Emit<Vec<Edge<'ctx>>> {
        let row = self.row;
        let zero = emitter.index(0);
        let whole = emitter.builder.build_and(row.length, emitter.index(!u64::from(LANES - 1)), "")?;
        let before = emitter.current_block();
        let has_blocks = emitter.builder.build_int_compare(IntPredicate::NE, whole, zero, "")?;
        if known(has_blocks) == Some(false) {
            return self.rest(emitter, Rest { first: zero, count: row.length }, initial);
        }
        let [body, tail] = ["block", "rest"].map(|name| emitter.new_block(name));
        emitter.builder.build_conditional_branch(has_blocks, body, tail)?;

        emitter.builder.position_at_end(body);
        let index = emitter.builder.build_phi(emitter.i64(), "cell")?;
        index.add_incoming(&[(&zero, before)]);
        let phis = emitter.phis(initial, before)?;
        let first = index.as_basic_value().into_int_value();
        let reduced = self.full_lanes(emitter, first, registers(&phis))?;
        let next = emitter.builder.build_int_add(first, emitter.index(LANES.into()), "")?;
        index.add_incoming(&[(&next, body)]);
        add_incoming(&phis, &reduced, body);
        let more = emitter.builder.build_int_compare(IntPredicate::ULT, next, whole, "")?;
        emitter.builder.build_conditional_branch(more, body, tail)?;

        emitter.builder.position_at_end(tail);
        let tail_phis = emitter.phis(initial, before)?;
        add_incoming(&tail_phis, &reduced, body);
        let count = emitter.builder.build_int_sub(row.length, whole, "")?;
        self.rest(emitter, Rest { first: whole, count }, &registers(&tail_phis))
    }

    /// 32 lanes from a cell of the row on. What calls one function after the other calls each for all lanes: where all calls
    /// for one register came first, each would wait for the one before.
    fn full_lanes(
        &self,
        emitter: &mut Emitter<'_, 'ctx>,
        first: IntValue<'ctx>,
        mut reduced: Vec<VectorValue<'ctx>>,
    ) -> Emit<Vec<VectorValue<'ctx>>> {
        let mut cells = Vec::new();
        for part in 0..emitter.parts() {
            let lane = part as u32 * emitter.lanes();
            let first = emitter.builder.build_int_add(first, emitter.index(lane.into()), "")?;
            cells.push(Cells { first, mask: None });
        }
        let side_by_side = if self.inner.fused.functions(emitter.plan) > 1 { cells.len() } else { 1 };
        for (number, cells) in cells.chunks(side_by_side).enumerate() {
            let into = Accumulators { registers: &mut reduced, part: number * side_by_side };
            self.inner.steps(emitter, self.row, cells, into)?;
        }
        Ok(reduced)
    }

    /// The remaining cells, and branches to `done` with the accumulators there.
    fn rest(
        &self,
        emitter: &mut Emitter<'_, 'ctx>,
        rest: Rest<'ctx>,
        initial: &[VectorValue<'ctx>],
    ) -> Emit<Vec<Edge<'ctx>>> {
        // Without registers of masks a part of a register takes much longer than a whole one.
        let avoids_masks = initial.is_empty() && emitter.lanes() <= 4;
        if let Some(count) = rest.count.get_zero_extended_constant()
            && (avoids_masks || self.inner.last_lanes.is_some())
        {
            let values = self.known_rest(emitter, rest.first, count, initial)?;
            emitter.builder.build_unconditional_branch(self.done)?;
            return Ok(vec![Edge { values, from: emitter.current_block() }]);
        }
        if avoids_masks {
            self.inner.run_from(emitter, self.row, rest.first, &[])?;
            emitter.builder.build_unconditional_branch(self.done)?;
            return Ok(vec![Edge { values: Vec::new(), from: emitter.current_block() }]);
        }
        let before = emitter.current_block();
        let step = emitter.new_block("step");
        let has_rest = emitter.builder.build_int_compare(IntPredicate::NE, rest.count, emitter.index(0), "")?;
        emitter.builder.build_conditional_branch(has_rest, step, self.done)?;
        emitter.builder.position_at_end(step);
        let without = Edge { values: initial.to_vec(), from: before };
        let mut ends = match self.inner.last_lanes {
            Some(last) => self.unrolled_rest(emitter, rest, last, initial)?,
            None => vec![self.rolled_rest(emitter, rest, &without)?],
        };
        ends.insert(0, without);
        Ok(ends)
    }

    /// The remaining cells, at least one, each whole register with code of its own, after the part of one at the end; branches
    /// to `done`.
    fn unrolled_rest(
        &self,
        emitter: &mut Emitter<'_, 'ctx>,
        rest: Rest<'ctx>,
        last: Mask<'ctx>,
        initial: &[VectorValue<'ctx>],
    ) -> Emit<Vec<Edge<'ctx>>> {
        let whole_cells = emitter.builder.build_int_sub(rest.count, last.count, "")?;
        let cell = emitter.builder.build_int_add(rest.first, whole_cells, "")?;
        let values = self.inner.store_steps(emitter, self.row, &[Cells { first: cell, mask: Some(last) }])?;
        let mut reduced = initial.to_vec();
        let mut ends = Vec::new();
        for part in 0..emitter.parts() {
            let lane = emitter.index((part as u32 * emitter.lanes()).into());
            let register = (part + 1 < emitter.parts()).then(|| emitter.new_block("register"));
            if let Some(register) = register {
                let end = emitter.new_block("part");
                let is_whole = emitter.builder.build_int_compare(IntPredicate::UGT, whole_cells, lane, "")?;
                emitter.builder.build_conditional_branch(is_whole, register, end)?;
                emitter.builder.position_at_end(end);
            }
            let mut with_last = reduced.clone();
            self.inner.reduce_step(
                emitter,
                &values[0],
                Some(last),
                Accumulators { registers: &mut with_last, part },
            )?;
            ends.push(Edge { values: with_last, from: emitter.current_block() });
            emitter.builder.build_unconditional_branch(self.done)?;
            if let Some(register) = register {
                emitter.builder.position_at_end(register);
                let cell = emitter.builder.build_int_add(rest.first, lane, "")?;
                let cells = Cells { first: cell, mask: None };
                self.inner.step(emitter, self.row, cells, Accumulators { registers: &mut reduced, part })?;
            }
        }
        Ok(ends)
    }

    /// The remaining cells, at least one, register by register in a loop; branches to `done`.
    fn rolled_rest(&self, emitter: &mut Emitter<'_, 'ctx>, rest: Rest<'ctx>, initial: &Edge<'ctx>) -> Emit<Edge<'ctx>> {
        let (step, turned) = (emitter.current_block(), emitter.new_block("turned"));
        let index = emitter.builder.build_phi(emitter.i64(), "lane")?;
        index.add_incoming(&[(&emitter.index(0), initial.from)]);
        let phis = emitter.phis(&initial.values, initial.from)?;
        let lane = index.as_basic_value().into_int_value();
        let cell = emitter.builder.build_int_add(rest.first, lane, "")?;
        let left = emitter.builder.build_int_sub(rest.count, lane, "")?;
        let mask = emitter.lanes_before(left)?;
        let mut reduced = registers(&phis);
        let cells = Cells { first: cell, mask: Some(mask) };
        self.inner.step(emitter, self.row, cells, Accumulators { registers: &mut reduced, part: 0 })?;
        emitter.turn(&mut reduced);
        let next = emitter.builder.build_int_add(lane, emitter.index(emitter.lanes().into()), "")?;
        index.add_incoming(&[(&next, step)]);
        add_incoming(&phis, &reduced, step);
        let more = emitter.builder.build_int_compare(IntPredicate::ULT, next, rest.count, "")?;
        emitter.builder.build_conditional_branch(more, step, turned)?;

        emitter.builder.position_at_end(turned);
        if reduced.is_empty() {
            emitter.builder.build_unconditional_branch(self.done)?;
            return Ok(Edge { values: reduced, from: turned });
        }
        let values = emitter.full_circle(next, &Edge { values: reduced, from: step }, self.done)?;
        Ok(Edge { values, from: turned })
    }

    /// A known number of remaining cells, from `first` on, without a loop.
    fn known_rest(
        &self,
        emitter: &mut Emitter<'_, 'ctx>,
        first: IntValue<'ctx>,
        count: u64,
        initial: &[VectorValue<'ctx>],
    ) -> Emit<Vec<VectorValue<'ctx>>> {
        let lanes = u64::from(emitter.lanes());
        let mut reduced = initial.to_vec();
        for (part, lane) in (0..count).step_by(emitter.lanes() as usize).enumerate() {
            let cell = emitter.builder.build_int_add(first, emitter.index(lane), "")?;
            let left = emitter.index(count - lane);
            let mask = if count - lane < lanes { Some(emitter.lanes_before(left)?) } else { None };
            let into = Accumulators { registers: &mut reduced, part };
            self.inner.step(emitter, self.row, Cells { first: cell, mask }, into)?;
        }
        Ok(reduced)
    }
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// The accumulators at `done`, from the blocks that branch there.
    fn joined(&self, ends: &[Edge<'ctx>], done: BasicBlock<'ctx>) -> Emit<Vec<VectorValue<'ctx>>> {
        self.builder.position_at_end(done);
        let phis = self.phis(&ends[0].values, ends[0].from)?;
        ends[1..].iter().for_each(|end| add_incoming(&phis, &end.values, end.from));
        Ok(registers(&phis))
    }

    /// Whether one register holds a row of this length.
    fn fits_register(&self, length: IntValue<'ctx>) -> Emit<IntValue<'ctx>> {
        let lanes = self.index(self.lanes().into());
        self.builder.build_int_compare(IntPredicate::ULE, length, lanes, "")
    }

    /// Moves accumulators, which have taken cells up to a lane, until they are where they began, then branches to `done`.
    fn full_circle(
        &mut self,
        lane: IntValue<'ctx>,
        taken: &Edge<'ctx>,
        done: BasicBlock<'ctx>,
    ) -> Emit<Vec<VectorValue<'ctx>>> {
        let turned = self.current_block();
        let turn = self.new_block("turn");
        let index = self.builder.build_phi(self.i64(), "lane")?;
        index.add_incoming(&[(&lane, taken.from)]);
        let phis = self.phis(&taken.values, taken.from)?;
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

    /// One register of a value that the loop reads.
    fn read(&mut self, source: &Source<'ctx>, cells: Cells<'ctx>) -> Emit<VectorValue<'ctx>> {
        let Cells { first: cell, mask } = cells;
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
                let first = self.builder.build_signed_int_to_float(first, self.lane_type(), "")?;
                let first = self.splat(first, self.register())?;
                self.builder.build_float_add(first, self.lane_numbers(), "")
            }
        }
    }
}
