//! Asking for memory ahead of its use. Nothing depends on it but the time.

use super::loops::{Ahead, Cache, InputAhead, Loop, LoopInput, Row, Source};
use super::unit::Fact;
use super::{Emit, Emitter};
use crate::schedule::{Extent, FusedLoop};
use fuseline_ir::cplan::CNode;
use fuseline_ir::template::Space;
use inkwell::IntPredicate;
use inkwell::values::{IntValue, PointerValue};

impl<'ctx> Emitter<'_, 'ctx> {
    /// What a loop with these inputs asks for.
    pub(super) fn ahead(
        &mut self,
        fused: &FusedLoop,
        inputs: &[LoopInput<'ctx>],
        has_short_rows: bool,
    ) -> Emit<Ahead<'ctx>> {
        let mut ahead = Ahead::default();
        let over_products = fused.extent == Extent::Cells && self.plan.space() == Space::Factors;
        for &LoopInput { node, view } in inputs {
            match self.plan.nodes[node] {
                CNode::Main | CNode::SideRow(..) if has_short_rows => {
                    ahead.rows.push(InputAhead { node, distance: self.rows_ahead(view.row_stride)? });
                }
                CNode::Main | CNode::SideCell(_) if over_products => {
                    ahead.cells.push(InputAhead { node, distance: self.number(Fact::NextUnit)? });
                }
                _ => {}
            }
        }
        Ok(ahead)
    }

    /// Asks for the cache line of an address, live or not, into this cache and those behind it.
    pub(super) fn prefetch(&self, address: PointerValue<'ctx>, cache: Cache) -> Emit<()> {
        let function = self.intrinsic_function("llvm.prefetch", &[self.pointer().into()]);
        // To be read, to be kept, as data.
        let hints = [0, cache as u64, 1].map(|hint| self.context.i32_type().const_int(hint, false).into());
        self.builder.build_call(function, &[address.into(), hints[0], hints[1], hints[2]], "").map(|_| ())
    }

    /// Whole rows of about 2 KiB, in values.
    fn rows_ahead(&self, row: IntValue<'ctx>) -> Emit<IntValue<'ctx>> {
        let one = self.index(1);
        let is_zero = self.builder.build_int_compare(IntPredicate::EQ, row, self.index(0), "")?;
        let divisor = self.builder.build_select(is_zero, one, row, "")?.into_int_value();
        let rows = self.builder.build_int_unsigned_div(self.index(256), divisor, "")?;
        let rows = self.builder.build_int_add(rows, one, "")?;
        self.builder.build_int_mul(rows, row, "")
    }

    /// `base + index` doubles, which need not be live.
    pub(super) fn address_beyond(&self, base: PointerValue<'ctx>, index: IntValue<'ctx>) -> Emit<PointerValue<'ctx>> {
        // SAFETY: one index into doubles, which need not be in bounds: nothing is accessed.
        unsafe { self.builder.build_gep(self.lane_type(), base, &[index], "") }
    }
}

impl<'ctx> Loop<'_, 'ctx> {
    /// Asks for the cells of the next unit behind a register of cells.
    pub(super) fn ask_for_next_unit(
        &self,
        emitter: &Emitter<'_, 'ctx>,
        row: &Row<'ctx>,
        cell: IntValue<'ctx>,
    ) -> Emit<()> {
        for ahead in &self.ahead.cells {
            if let Some(Source::Run(begin)) = row.sources.get(&ahead.node) {
                let place = emitter.builder.build_int_add(cell, ahead.distance, "")?;
                emitter.prefetch(emitter.address_beyond(*begin, place)?, Cache::Second)?;
            }
        }
        Ok(())
    }
}
