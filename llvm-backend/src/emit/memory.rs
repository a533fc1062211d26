//! Addresses: where nodes live, and pointer arithmetic.

use super::unit::Fact;
use super::{Emit, Emitter};
use crate::schedule::{Extent, Place, SLOT_ALIGNMENT, SlotClass, needs_positions};
use fuseline_ir::cplan::{CNode, CNodeId, ColumnRange};
use fuseline_ir::work::CELL_BYTES;
use inkwell::values::{BasicValueEnum, IntValue, PointerValue};

/// Alignment of every access, in bytes: that of a value.
pub(super) const ALIGNMENT: u32 = CELL_BYTES as u32;

/// A node's values in memory: cell `c` of row `r` at `pointer + r * row_stride + c`.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'ctx, Pointer = PointerValue<'ctx>> {
    pub(super) pointer: Pointer,
    /// Distance between rows.
    pub(super) row_stride: IntValue<'ctx>,
    /// Whether there is more than one cell per row.
    pub(super) is_wide: bool,
    /// Whether the values of consecutive rows are neighbours, for values per row.
    pub(super) is_packed: bool,
}

/// The address of a cell: so many cells behind one that several values may share, as all scalars do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CellAddress<'ctx> {
    pub(super) base: PointerValue<'ctx>,
    pub(super) cells: u32,
}

impl<'ctx> From<PointerValue<'ctx>> for CellAddress<'ctx> {
    fn from(base: PointerValue<'ctx>) -> Self {
        CellAddress { base, cells: 0 }
    }
}

/// A node's values, as calls take them.
pub(super) type Operand<'ctx> = View<'ctx, CellAddress<'ctx>>;

/// Addresses of scratch slots, known once the prologue has measured them.
#[derive(Default)]
pub(super) struct SlotOffsets<'ctx> {
    addresses: Vec<PointerValue<'ctx>>,
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// `base + offset` bytes within a structure of the ABI.
    pub(super) fn byte_offset(&self, base: PointerValue<'ctx>, offset: usize) -> Emit<PointerValue<'ctx>> {
        if offset == 0 {
            return Ok(base);
        }
        let index = self.index(offset as u64);
        // SAFETY: one index into bytes; the offset is that of a field of the structure behind `base`.
        unsafe { self.builder.build_in_bounds_gep(self.context.i8_type(), base, &[index], "") }
    }

    /// `base + index` doubles.
    pub(super) fn offset(&self, base: PointerValue<'ctx>, index: IntValue<'ctx>) -> Emit<PointerValue<'ctx>> {
        // SAFETY: one index into doubles, within what the ABI promises for the unit.
        unsafe { self.builder.build_in_bounds_gep(self.lane_type(), base, &[index], "") }
    }

    /// `base + index` 64-bit integers.
    pub(super) fn number_offset(&self, base: PointerValue<'ctx>, index: IntValue<'ctx>) -> Emit<PointerValue<'ctx>> {
        // SAFETY: one index into the row offsets, of which a unit has one more than rows.
        unsafe { self.builder.build_in_bounds_gep(self.i64(), base, &[index], "") }
    }

    /// `base + row * stride` doubles.
    pub(super) fn row_address(
        &self,
        base: PointerValue<'ctx>,
        row: IntValue<'ctx>,
        stride: IntValue<'ctx>,
    ) -> Emit<PointerValue<'ctx>> {
        let offset = self.builder.build_int_mul(row, stride, "")?;
        self.offset(base, offset)
    }

    /// The address as one pointer.
    pub(super) fn pointer_to(&self, address: CellAddress<'ctx>) -> Emit<PointerValue<'ctx>> {
        match address.cells {
            0 => Ok(address.base),
            cells => self.offset(address.base, self.index(cells.into())),
        }
    }

    pub(super) fn pointed_to(&self, operand: Operand<'ctx>) -> Emit<View<'ctx>> {
        let Operand { pointer, row_stride, is_wide, is_packed } = operand;
        Ok(View { pointer: self.pointer_to(pointer)?, row_stride, is_wide, is_packed })
    }

    /// Where a node's values are: an input of the unit, scratch memory, or the output.
    pub(super) fn view(&mut self, id: CNodeId) -> Emit<View<'ctx>> {
        let operand = self.operand(id)?;
        self.pointed_to(operand)
    }

    /// Where the values of an input or a constant are.
    pub(super) fn input_view(&mut self, id: CNodeId) -> Emit<View<'ctx>> {
        let input = self.input(id)?;
        self.pointed_to(input)
    }

    /// Where a node's values are, for a call.
    pub(super) fn operand(&mut self, id: CNodeId) -> Emit<Operand<'ctx>> {
        match self.schedule.places[id] {
            Some(place) => self.computed(place, self.schedule.extents[id]),
            None => self.input(id),
        }
    }

    /// Where a node's values are for a step over this extent: over positions, those of rows and vectors are packed.
    pub(super) fn operand_in(&mut self, id: CNodeId, extent: Extent) -> Emit<Operand<'ctx>> {
        if extent != Extent::Positions || !needs_positions(self.schedule.extents[id]) {
            return self.operand(id);
        }
        let slot = self.slot(self.schedule.packed[&(id, extent)])?;
        Ok(View { pointer: slot.into(), row_stride: self.index(0), is_wide: true, is_packed: false })
    }

    fn input(&mut self, id: CNodeId) -> Emit<Operand<'ctx>> {
        let extent = self.schedule.extents[id];
        let zero = self.index(0);
        let behind = |base, cells, row_stride, is_wide| View {
            pointer: CellAddress { base, cells },
            row_stride,
            is_wide,
            is_packed: false,
        };
        let view = |base, row_stride, is_wide| behind(base, 0, row_stride, is_wide);
        Ok(match self.plan.nodes[id] {
            CNode::Literal(bits) => view(self.literal(bits.get()), zero, false),
            CNode::Scalar(input) => behind(self.address(Fact::Scalars)?, input.as_u32(), zero, false),
            CNode::OuterProduct if extent == Extent::Positions => view(self.address(Fact::Products)?, zero, true),
            CNode::OuterProduct => view(self.address(Fact::Products)?, self.number(Fact::Cols)?, true),
            CNode::Main if extent == Extent::Positions => view(self.address(Fact::Main)?, zero, true),
            CNode::Main => view(self.address(Fact::Main)?, self.number(Fact::MainStride)?, true),
            CNode::SideCell(input) if extent == Extent::Cells => {
                view(self.address(Fact::SideValues(input))?, self.number(Fact::SideStride(input))?, true)
            }
            CNode::SideRow(input, _) if extent == Extent::Positions => {
                view(self.address(Fact::SideValues(input))?, zero, true)
            }
            CNode::SideCell(input) | CNode::SideColScalar(input) | CNode::SideVector(input) => {
                view(self.address(Fact::SideValues(input))?, zero, true)
            }
            CNode::SideRowScalar(input, column) => {
                behind(self.address(Fact::SideValues(input))?, column, self.number(Fact::SideStride(input))?, false)
            }
            CNode::SideRow(input, range) => {
                let first = if let ColumnRange::Part { first, .. } = range { first } else { 0 };
                behind(self.address(Fact::SideValues(input))?, first, self.number(Fact::SideStride(input))?, true)
            }
            ref node => unreachable!("{node:?} is computed, so the schedule gives it a place where it is read"),
        })
    }

    /// The values of a computed node.
    fn computed(&mut self, place: Place, extent: Extent) -> Emit<Operand<'ctx>> {
        let (_, length) = self.dimensions(extent)?;
        // The same number for every row.
        let row_stride = if extent == Extent::One { self.index(0) } else { length };
        let (is_wide, is_packed) = (!matches!(extent, Extent::One | Extent::Rows), extent == Extent::Rows);
        Ok(match place {
            Place::Slot(slot) => View { pointer: self.slot(slot)?.into(), row_stride, is_wide, is_packed },
            Place::Output => {
                let pointer = self.address(Fact::OutputValues(0))?.into();
                let row_stride = if is_packed { self.index(1) } else { self.number(Fact::OutputStride(0))? };
                View { pointer, row_stride, is_wide, is_packed }
            }
        })
    }

    /// The address of a scratch slot.
    pub(super) fn slot(&mut self, slot: usize) -> Emit<PointerValue<'ctx>> {
        if self.slots.addresses.is_empty() {
            self.slots.addresses = self.in_prologue(Self::slot_addresses)?;
        }
        Ok(self.slots.addresses[slot])
    }

    /// Lays out the slots one after the other: single numbers, values per row, tiles.
    fn slot_addresses(&mut self) -> Emit<Vec<PointerValue<'ctx>>> {
        let slots = &self.schedule.slots;
        let mut order: Vec<usize> = (0..slots.len()).collect();
        order.sort_by_key(|&slot| slots[slot].class);
        let mut next = self.address(Fact::Scratch)?;
        let mut addresses = vec![next; slots.len()];
        for slot in order {
            addresses[slot] = next;
            let mut size = self.index(0);
            for &extent in &slots[slot].extents {
                let (rows, length) = self.dimensions(extent)?;
                let mut values = self.builder.build_int_mul(rows, length, "")?;
                if slots[slot].class == SlotClass::NarrowTile {
                    let is_narrow = self.is_narrow(length)?;
                    values = self.or_zero(is_narrow, values)?;
                }
                let is_larger = self.builder.build_int_compare(inkwell::IntPredicate::UGT, values, size, "")?;
                size = self.builder.build_select(is_larger, values, size, "")?.into_int_value();
            }
            let line = SLOT_ALIGNMENT as u64;
            let padded = self.builder.build_int_add(size, self.index(line - 1), "")?;
            let padded = self.builder.build_and(padded, self.index(!(line - 1)), "")?;
            next = self.offset(next, padded)?;
        }
        Ok(addresses)
    }

    /// The address of a constant in memory, one for equal bits.
    fn literal(&mut self, value: f64) -> PointerValue<'ctx> {
        if let Some(&known) = self.literals.get(&value.to_bits()) {
            return known;
        }
        let global = self.module.add_global(self.lane_type(), None, "literal");
        global.set_initializer(&self.lane_type().const_float(value));
        global.set_constant(true);
        global.set_linkage(inkwell::module::Linkage::Private);
        self.literals.insert(value.to_bits(), global.as_pointer_value());
        global.as_pointer_value()
    }

    /// Loads one double.
    pub(super) fn load_scalar(&self, address: PointerValue<'ctx>) -> Emit<inkwell::values::FloatValue<'ctx>> {
        let value = self.builder.build_load(self.lane_type(), address, "")?;
        Ok(value.into_float_value())
    }

    /// Stores a double, or a register without mask, with the alignment of a double.
    pub(super) fn store(&self, address: PointerValue<'ctx>, value: BasicValueEnum<'ctx>) -> Emit<()> {
        let store = self.builder.build_store(address, value)?;
        store.set_alignment(ALIGNMENT).expect("a power of two");
        Ok(())
    }
}
