//! What a unit of work says of itself: fields of the ABI's structures, loaded once in the prologue.

use super::{Emit, Emitter};
use crate::schedule::Extent;
use fuseline_ir::cplan::{CInputId, CNodeId, Length};
use fuseline_skeletons::abi::{RawContext, RawOutput, RawSide, RawUnit};
use inkwell::values::{BasicValueEnum, IntValue, PointerValue};
use std::mem::{offset_of, size_of};

/// A value that is the same for the whole call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Fact {
    Scalars,
    Scratch,
    Rows,
    Cols,
    FirstRow,
    Main,
    MainStride,
    RowOffsets,
    FirstOffset,
    Positions,
    Columns,
    Sides,
    Products,
    NextUnit,
    Outputs,
    SideValues(CInputId),
    SideStride(CInputId),
    SideCols(CInputId),
    SideFactor(CInputId),
    OutputValues(usize),
    OutputStride(usize),
    /// The length of the vector that a `Cbind` node makes.
    CbindLength(CNodeId),
}

/// A number or a pointer.
pub(super) type FactValue<'ctx> = BasicValueEnum<'ctx>;

impl<'ctx> Emitter<'_, 'ctx> {
    /// A fact that is a number.
    pub(super) fn number(&mut self, fact: Fact) -> Emit<IntValue<'ctx>> {
        Ok(self.fact(fact)?.into_int_value())
    }

    /// A fact that is an address.
    pub(super) fn address(&mut self, fact: Fact) -> Emit<PointerValue<'ctx>> {
        Ok(self.fact(fact)?.into_pointer_value())
    }

    fn fact(&mut self, fact: Fact) -> Emit<FactValue<'ctx>> {
        if let Some(&value) = self.facts.get(&fact) {
            return Ok(value);
        }
        let value = self.in_prologue(|emitter| emitter.load_fact(fact))?;
        self.facts.insert(fact, value);
        Ok(value)
    }

    fn load_fact(&mut self, fact: Fact) -> Emit<FactValue<'ctx>> {
        let context = self.parameter(0);
        let unit = self.parameter(1);
        match fact {
            Fact::Scalars => self.load_address(context, offset_of!(RawContext, scalars)),
            Fact::Scratch => self.load_address(context, offset_of!(RawContext, scratch)),
            Fact::Rows => self.load_number(unit, offset_of!(RawUnit, rows)),
            Fact::Cols => self.load_number(unit, offset_of!(RawUnit, cols)),
            Fact::FirstRow => self.load_number(unit, offset_of!(RawUnit, first_row)),
            Fact::Main => self.load_address(unit, offset_of!(RawUnit, main)),
            Fact::MainStride => self.load_number(unit, offset_of!(RawUnit, main_stride)),
            Fact::RowOffsets => self.load_address(unit, offset_of!(RawUnit, row_offsets)),
            Fact::Columns => self.load_address(unit, offset_of!(RawUnit, columns)),
            Fact::Sides => self.load_address(unit, offset_of!(RawUnit, sides)),
            Fact::Products => self.load_address(unit, offset_of!(RawUnit, products)),
            Fact::NextUnit => self.load_number(unit, offset_of!(RawUnit, next_unit)),
            Fact::Outputs => self.load_address(unit, offset_of!(RawUnit, outputs)),
            Fact::FirstOffset => {
                let offsets = self.address(Fact::RowOffsets)?;
                self.load_number(offsets, 0)
            }
            Fact::Positions => {
                let rows = self.number(Fact::Rows)?;
                Ok(self.row_start(rows)?.into())
            }
            Fact::SideValues(input) => self.load_side_address(input, offset_of!(RawSide, values)),
            Fact::SideFactor(input) => self.load_side_address(input, offset_of!(RawSide, factor)),
            Fact::SideStride(input) => self.load_side_number(input, offset_of!(RawSide, row_stride)),
            Fact::SideCols(input) => self.load_side_number(input, offset_of!(RawSide, cols)),
            Fact::OutputValues(index) => {
                let outputs = self.address(Fact::Outputs)?;
                self.load_address(outputs, index * size_of::<RawOutput>() + offset_of!(RawOutput, values))
            }
            Fact::OutputStride(index) => {
                let outputs = self.address(Fact::Outputs)?;
                self.load_number(outputs, index * size_of::<RawOutput>() + offset_of!(RawOutput, row_stride))
            }
            Fact::CbindLength(id) => {
                let mut sum = self.index(0);
                for part in self.plan.nodes[id].operands() {
                    let (_, length) = self.dimensions(self.schedule.extents[part])?;
                    sum = self.builder.build_int_add(sum, length, "")?;
                }
                Ok(sum.into())
            }
        }
    }

    fn parameter(&self, index: u32) -> PointerValue<'ctx> {
        let parameter = self.function.get_nth_param(index).expect("entry points have two parameters");
        parameter.into_pointer_value()
    }

    fn load_side_address(&mut self, input: CInputId, field: usize) -> Emit<FactValue<'ctx>> {
        let side = self.side_record(input)?;
        self.load_address(side, field)
    }

    fn load_side_number(&mut self, input: CInputId, field: usize) -> Emit<FactValue<'ctx>> {
        let side = self.side_record(input)?;
        self.load_number(side, field)
    }

    fn side_record(&mut self, input: CInputId) -> Emit<PointerValue<'ctx>> {
        let sides = self.address(Fact::Sides)?;
        self.byte_offset(sides, input.as_u32() as usize * size_of::<RawSide>())
    }

    fn load_address(&self, base: PointerValue<'ctx>, offset: usize) -> Emit<FactValue<'ctx>> {
        let field = self.byte_offset(base, offset)?;
        self.builder.build_load(self.pointer(), field, "")
    }

    fn load_number(&self, base: PointerValue<'ctx>, offset: usize) -> Emit<FactValue<'ctx>> {
        let field = self.byte_offset(base, offset)?;
        self.builder.build_load(self.i64(), field, "")
    }

    /// The first position of a sparse row, relative to the unit.
    pub(super) fn row_start(&mut self, row: IntValue<'ctx>) -> Emit<IntValue<'ctx>> {
        let offsets = self.address(Fact::RowOffsets)?;
        let first = self.number(Fact::FirstOffset)?;
        let address = self.number_offset(offsets, row)?;
        let offset = self.builder.build_load(self.i64(), address, "")?.into_int_value();
        self.builder.build_int_sub(offset, first, "")
    }

    /// The number of cells of a vector.
    pub(super) fn length(&mut self, length: Length) -> Emit<IntValue<'ctx>> {
        match length {
            Length::Main => self.number(Fact::Cols),
            Length::Cols(input) | Length::Cells(input) => self.number(Fact::SideCols(input)),
            Length::Const(cells) => Ok(self.index(cells.into())),
            Length::Cbind(id) => self.number(Fact::CbindLength(id)),
        }
    }

    /// Rows and length of an extent as primitives see it: values per row are a column, positions one run.
    pub(super) fn dimensions(&mut self, extent: Extent) -> Emit<(IntValue<'ctx>, IntValue<'ctx>)> {
        let one = self.index(1);
        Ok(match extent {
            Extent::One => (one, one),
            Extent::Rows => (self.number(Fact::Rows)?, one),
            Extent::Cells => (self.number(Fact::Rows)?, self.number(Fact::Cols)?),
            Extent::Positions => (one, self.number(Fact::Positions)?),
            Extent::Vector(length) => (self.number(Fact::Rows)?, self.length(length)?),
        })
    }
}
