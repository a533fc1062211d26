//! Asking for memory ahead of its use. Nothing depends on it but the time.

use super::fused::{Loop, Row, Source};
use super::memory::View;
use super::unit::Fact;
use super::{Emit, Emitter};
use crate::schedule::{Extent, FusedLoop};
use fuseline_ir::cplan::{CNode, CNodeId};
use fuseline_ir::template::Space;
use inkwell::IntPredicate;
use inkwell::values::{IntValue, PointerValue};

/// A level of the caches, as LLVM counts locality.
#[derive(Clone, Copy)]
pub(super) enum Cache {
    First = 3,
    Second = 2,
}

/// Inputs of a loop, and how many values behind them lies what is asked for.
type AskedFor<'ctx> = Vec<(CNodeId, IntValue<'ctx>)>;

/// What a loop asks for.
#[derive(Clone, Default)]
pub(super) struct Ahead<'ctx> {
    /// Later rows of the vectors that come from memory, where rows may be short: masked loads teach the hardware
    /// prefetchers nothing.
    pub(super) rows: AskedFor<'ctx>,
    /// The next unit's cells of matrices in dense Outer units: while products are computed, memory would have nothing to do.
    cells: AskedFor<'ctx>,
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// What a loop with these inputs asks for.
    pub(super) fn ahead(
        &mut self,
        fused: &FusedLoop,
        inputs: &[(CNodeId, View<'ctx>)],
        has_short_rows: bool,
    ) -> Emit<Ahead<'ctx>> {
        let mut ahead = Ahead::default();
        let over_products = fused.extent == Extent::Cells && self.plan.space() == Space::Factors;
        for &(id, view) in inputs {
            match self.plan.nodes[id] {
                CNode::Main | CNode::SideRow(..) if has_short_rows => {
                    ahead.rows.push((id, self.rows_ahead(view.row)?));
                }
                CNode::Main | CNode::SideCell(_) if over_products => {
                    ahead.cells.push((id, self.number(Fact::NextUnit)?));
                }
                _ => {}
            }
        }
        Ok(ahead)
    }

    /// Asks for the cells of the next unit behind a register of cells.
    pub(super) fn ask_for_next_unit(&self, this: &Loop<'_, 'ctx>, row: &Row<'ctx>, cell: IntValue<'ctx>) -> Emit<()> {
        for (id, distance) in &this.ahead.cells {
            if let Some(Source::Run(begin)) = row.sources.get(id) {
                let place = self.builder.build_int_add(cell, *distance, "")?;
                self.prefetch(self.address_beyond(*begin, place)?, Cache::Second)?;
            }
        }
        Ok(())
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
        unsafe { self.builder.build_gep(self.f64(), base, &[index], "") }
    }
}
