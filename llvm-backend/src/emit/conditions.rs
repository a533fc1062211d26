//! Conditions, and what is done where they hold. Some are known when code is made, since the length of a vector may be a
//! constant of the plan: then only what will run is emitted.

use super::{Emit, Emitter};
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::values::IntValue;

/// Whether a condition holds, where that is known.
pub(super) fn known(condition: IntValue<'_>) -> Option<bool> {
    condition.get_zero_extended_constant().map(|bit| bit != 0)
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// Whether both conditions hold.
    pub(super) fn both(&self, one: IntValue<'ctx>, other: IntValue<'ctx>) -> Emit<IntValue<'ctx>> {
        match (known(one), known(other)) {
            (Some(false), _) | (_, Some(true)) => Ok(one),
            (Some(true), _) | (_, Some(false)) => Ok(other),
            (None, None) => self.builder.build_and(one, other, ""),
        }
    }

    /// Whether all of these numbers are equal to one.
    pub(super) fn are_equal(
        &self,
        numbers: impl IntoIterator<Item = IntValue<'ctx>>,
        to: IntValue<'ctx>,
    ) -> Emit<IntValue<'ctx>> {
        let mut holds = self.context.bool_type().const_all_ones();
        for number in numbers.into_iter().filter(|&number| number != to) {
            let is_equal = self.builder.build_int_compare(IntPredicate::EQ, number, to, "")?;
            holds = self.both(holds, is_equal)?;
        }
        Ok(holds)
    }

    /// A number where a condition holds, else zero.
    pub(super) fn or_zero(&self, condition: IntValue<'ctx>, number: IntValue<'ctx>) -> Emit<IntValue<'ctx>> {
        match known(condition) {
            Some(true) => Ok(number),
            Some(false) => Ok(self.index(0)),
            None => Ok(self.builder.build_select(condition, number, self.index(0), "")?.into_int_value()),
        }
    }

    /// Emits something for where a condition holds.
    pub(super) fn only_where(
        &mut self,
        condition: IntValue<'ctx>,
        [block, done]: [&str; 2],
        emit: impl FnOnce(&mut Self) -> Emit<()>,
    ) -> Emit<()> {
        match known(condition) {
            Some(true) => return emit(self),
            Some(false) => return Ok(()),
            None => {}
        }
        let [block, done] = [block, done].map(|name| self.new_block(name));
        self.builder.build_conditional_branch(condition, block, done)?;
        self.builder.position_at_end(block);
        emit(self)?;
        self.continue_at(done)
    }

    /// One form of a loop where a condition holds, else another.
    pub(super) fn either(
        &mut self,
        condition: IntValue<'ctx>,
        narrow_form: impl FnOnce(&mut Self) -> Emit<()>,
        wide_form: impl FnOnce(&mut Self) -> Emit<()>,
    ) -> Emit<()> {
        match known(condition) {
            Some(true) => return narrow_form(self),
            Some(false) => return wide_form(self),
            None => {}
        }
        let [narrow, wide, done] = ["narrow", "wide", "loop_done"].map(|name| self.new_block(name));
        self.builder.build_conditional_branch(condition, narrow, wide)?;
        self.builder.position_at_end(narrow);
        narrow_form(self)?;
        self.builder.build_unconditional_branch(done)?;
        self.builder.position_at_end(wide);
        wide_form(self)?;
        self.continue_at(done)
    }

    fn continue_at(&self, block: BasicBlock<'ctx>) -> Emit<()> {
        self.builder.build_unconditional_branch(block)?;
        self.builder.position_at_end(block);
        Ok(())
    }
}
