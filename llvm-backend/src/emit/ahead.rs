//! Asking for memory ahead of its use. Nothing depends on it but the time.

use super::loops::{InputAhead, Loop, LoopInput, Near, Row, Source};
use super::unit::Fact;
use super::{Emit, Emitter};
use crate::schedule::{Extent, FusedLoop};
use fuseline_ir::cplan::{CNode, COutput};
use fuseline_ir::template::Space;
use inkwell::IntPredicate;
use inkwell::values::{IntValue, PointerValue};

/// How far ahead rows are asked for, about, in values: 8 KiB keep memory at work while a tile's values are taken in elsewhere, and
/// stay in the caches until their turn comes.
const VALUES_AHEAD: u64 = 1024;

/// How far ahead longer rows and runs of cells are asked for, in values: a page, where the hardware's prefetchers end. The best of 256
/// to 4096 on Zen 5 for rows of 2,000 and 3,000 values; runs were measured with it alone.
const PAGE: u64 = 512;

impl<'ctx> Emitter<'_, 'ctx> {
    /// What a loop with these inputs asks for: later rows of the vectors and of the tiles of cells that come from memory, later cells of
    /// runs that are aggregated, and in dense Outer units the next unit's cells. The hardware's prefetchers go on only while they are
    /// used: masked loads teach them nothing, and memory would have nothing to do while the values of a tile are multiplied, or
    /// products computed. What an earlier step has read of the main input lies in the caches: the loop asks for it in the next unit, which
    /// would otherwise be waited for while nothing is computed. Rows of sides may be laid out for a unit, where that of the next one will
    /// lie, too. Runs that are stored gain nothing from memory, and lose a tenth in the caches.
    pub(super) fn ahead(
        &mut self,
        fused: &FusedLoop,
        inputs: &[LoopInput<'ctx>],
        length: IntValue<'ctx>,
    ) -> Emit<Vec<InputAhead<'ctx>>> {
        let mut ahead = Vec::new();
        for &LoopInput { node, view } in inputs {
            let (distance, near) = match (fused.extent, &self.plan.nodes[node]) {
                (Extent::Vector(_), CNode::Main) if self.schedule.is_read_before(self.plan, fused, node) => {
                    (self.unit_ahead(view.row_stride)?, Near::SecondLevel)
                }
                (Extent::Vector(_), CNode::Main | CNode::SideRow(..)) => {
                    (self.rows_ahead(view.row_stride, length)?, Near::FirstLevel)
                }
                (Extent::Cells, CNode::Main | CNode::SideCell(_)) if self.goes_row_by_row() => {
                    (self.rows_ahead(view.row_stride, length)?, Near::FirstLevel)
                }
                (Extent::Cells, CNode::Main | CNode::SideCell(_)) if self.plan.space() == Space::Factors => {
                    (self.number(Fact::NextUnit)?, Near::SecondLevel)
                }
                (Extent::Cells, CNode::Main | CNode::SideCell(_)) if !self.plan.outputs.iter().any(COutput::stores) => {
                    (self.index(PAGE), Near::FirstLevel)
                }
                _ => continue,
            };
            ahead.push(InputAhead { node, distance, near });
        }
        Ok(ahead)
    }

    /// Whether an operator over cells has tiles of rows, each of which ends by itself.
    pub(super) fn goes_row_by_row(&self) -> bool {
        self.plan.space() == Space::Cells && (self.plan.keeps_rows() || self.plan.keeps_columns())
    }

    /// Asks for the cache line of an address, live or not.
    pub(super) fn prefetch(&self, address: PointerValue<'ctx>, near: Near) -> Emit<()> {
        let function = self.intrinsic_function("llvm.prefetch", &[self.pointer().into()]);
        // To be read, to be kept, as data.
        let hints = [0, near as u64, 1].map(|hint| self.context.i32_type().const_int(hint, false).into());
        self.builder.build_call(function, &[address.into(), hints[0], hints[1], hints[2]], "").map(|_| ())
    }

    /// Whole rows of about [`VALUES_AHEAD`], or [`PAGE`] where the loop takes more values of each, in values. Tiles of columns take few
    /// of rows that lie far apart: behind these lie the columns of another tile.
    fn rows_ahead(&self, row: IntValue<'ctx>, length: IntValue<'ctx>) -> Emit<IntValue<'ctx>> {
        let one = self.index(1);
        let is_zero = self.builder.build_int_compare(IntPredicate::EQ, row, self.index(0), "")?;
        let divisor = self.builder.build_select(is_zero, one, row, "")?.into_int_value();
        let whole = self.index(VALUES_AHEAD);
        let rows = self.builder.build_int_unsigned_div(whole, divisor, "")?;
        let rows = self.builder.build_int_add(rows, one, "")?;
        let short = self.builder.build_int_mul(rows, row, "")?;
        let is_long = self.builder.build_int_compare(IntPredicate::UGT, length, whole, "")?;
        let distance = self.builder.build_select(is_long, self.index(PAGE), short, "")?;
        Ok(distance.into_int_value())
    }

    /// The rows of a unit, in values.
    fn unit_ahead(&mut self, row: IntValue<'ctx>) -> Emit<IntValue<'ctx>> {
        let rows = self.number(Fact::Rows)?;
        self.builder.build_int_mul(rows, row, "")
    }

    /// `base + index` doubles, which need not be live.
    pub(super) fn address_beyond(&self, base: PointerValue<'ctx>, index: IntValue<'ctx>) -> Emit<PointerValue<'ctx>> {
        // SAFETY: one index into doubles, which need not be in bounds: nothing is accessed.
        unsafe { self.builder.build_gep(self.lane_type(), base, &[index], "") }
    }
}

impl<'ctx> Loop<'_, 'ctx> {
    /// Asks for what belongs to a register of cells in later rows, later in the run, or in the next unit.
    pub(super) fn ask_ahead(&self, emitter: &Emitter<'_, 'ctx>, row: &Row<'ctx>, cell: IntValue<'ctx>) -> Emit<()> {
        for ahead in &self.ahead {
            if let Some(Source::Run(begin)) = row.sources.get(&ahead.node) {
                let place = emitter.builder.build_int_add(cell, ahead.distance, "")?;
                emitter.prefetch(emitter.address_beyond(*begin, place)?, ahead.near)?;
            }
        }
        Ok(())
    }
}
