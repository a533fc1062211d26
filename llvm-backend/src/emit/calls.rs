//! Calls of vector primitives, and those that compute single nodes.

use super::memory::{CellAddress, Operand, View};
use super::unit::Fact;
use super::{Emit, Emitter, set_nounwind};
use crate::schedule::Extent;
use fuseline_ir::cplan::{CInputId, CNode, CNodeId, Filters};
use fuseline_ir::ops::{AggOp, TernaryOp, WindowOp, Windows};
use fuseline_ir::template::Space;
use fuseline_vecprims::{ArgKind, Form, Primitive};
use inkwell::module::Linkage;
use inkwell::types::{BasicMetadataTypeEnum, FunctionType};
use inkwell::values::{BasicMetadataValueEnum, FunctionValue, IntValue, PointerValue};

/// An argument of a call.
#[derive(Clone, Copy)]
pub(super) enum Argument<'ctx> {
    Number(IntValue<'ctx>),
    Address(CellAddress<'ctx>),
}

impl<'ctx> From<IntValue<'ctx>> for Argument<'ctx> {
    fn from(number: IntValue<'ctx>) -> Self {
        Argument::Number(number)
    }
}

impl<'ctx> From<CellAddress<'ctx>> for Argument<'ctx> {
    fn from(address: CellAddress<'ctx>) -> Self {
        Argument::Address(address)
    }
}

impl<'ctx> From<PointerValue<'ctx>> for Argument<'ctx> {
    fn from(pointer: PointerValue<'ctx>) -> Self {
        Argument::Address(pointer.into())
    }
}

/// Arguments of a call, in order.
#[derive(Clone, Default)]
pub(super) struct Arguments<'ctx> {
    pub(super) values: Vec<Argument<'ctx>>,
}

impl<'ctx> Arguments<'ctx> {
    /// A call that begins with these numbers.
    pub(super) fn numbers<const N: usize>(numbers: [IntValue<'ctx>; N]) -> Self {
        Arguments { values: numbers.map(Argument::Number).to_vec() }
    }

    /// Appends a number or an address.
    pub(super) fn with(mut self, value: impl Into<Argument<'ctx>>) -> Self {
        self.values.push(value.into());
        self
    }

    /// Appends the address and the row stride of a view.
    pub(super) fn with_view<Pointer: Into<Argument<'ctx>>>(self, view: View<'ctx, Pointer>) -> Self {
        self.with(view.pointer).with(view.row_stride)
    }
}

/// A call that is not emitted yet.
pub(super) struct Call<'ctx> {
    pub(super) primitive: Primitive,
    pub(super) arguments: Arguments<'ctx>,
}

impl<'ctx> Call<'ctx> {
    fn new(primitive: Primitive, arguments: Arguments<'ctx>) -> Self {
        Call { primitive, arguments }
    }
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// The declaration of a primitive; its first use puts it on the list of called symbols.
    pub(super) fn primitive(&mut self, name: &str, signature: FunctionType<'ctx>) -> FunctionValue<'ctx> {
        if !self.called.iter().any(|known| known == name) {
            self.called.push(name.to_owned());
        }
        self.module.get_function(name).unwrap_or_else(|| {
            let function = self.module.add_function(name, signature, None);
            set_nounwind(function);
            function
        })
    }

    /// Makes a call.
    pub(super) fn make(&mut self, call: &Call<'ctx>) -> Emit<()> {
        self.call_primitive(call.primitive, &call.arguments)
    }

    /// Calls a primitive that serves a tile.
    pub(super) fn call_primitive(&mut self, primitive: Primitive, arguments: &Arguments<'ctx>) -> Emit<()> {
        let argument = |argument: &Argument<'ctx>| -> Emit<BasicMetadataValueEnum<'ctx>> {
            match *argument {
                Argument::Number(number) => Ok(number.into()),
                Argument::Address(address) => Ok(self.pointer_to(address)?.into()),
            }
        };
        let values = arguments.values.iter().map(argument).collect::<Emit<Vec<_>>>()?;
        let kind = |kind: &ArgKind| -> BasicMetadataTypeEnum<'ctx> {
            match kind {
                ArgKind::Usize => self.i64().into(),
                ArgKind::Values | ArgKind::ValuesMut | ArgKind::Offsets | ArgKind::Columns | ArgKind::Windows => {
                    self.pointer().into()
                }
            }
        };
        let parameters: Vec<BasicMetadataTypeEnum<'ctx>> = primitive.signature().iter().map(kind).collect();
        let signature = self.context.void_type().fn_type(&parameters, false);
        let function = self.primitive(&primitive.to_string(), signature);
        self.builder.build_call(function, &values, "").map(|_| ())
    }

    /// The calls that compute one node into its place.
    pub(super) fn calls_of(&mut self, id: CNodeId) -> Emit<Vec<Call<'ctx>>> {
        let call = match self.plan.nodes[id] {
            CNode::Unary(op, a) => self.element_wise_call(id, &[a], |_| Primitive::Unary(op)),
            CNode::Binary(op, a, b) => self.element_wise_call(id, &[a, b], |views| {
                let form = match (views[0].is_wide, views[1].is_wide) {
                    (true, false) => Form::VectScalar,
                    (false, true) => Form::ScalarVect,
                    (true, true) | (false, false) => Form::VectVect,
                };
                Primitive::Binary(op, form)
            }),
            CNode::Ternary(op, a, b, c) => self.ternary_call(id, op, [a, b, c]),
            CNode::RowAgg(op, a) => self.row_aggregate(id, op, a),
            CNode::RowCumulative(op, a) => self.element_wise_call(id, &[a], |_| Primitive::RowCumulative(op)),
            CNode::Cbind(a, b) => return self.concatenation(id, [a, b]),
            CNode::Scatter(a, elsewhere) => self.scatter(id, a, elsewhere),
            CNode::DotProduct(a, b) => self.dot_product(id, a, b),
            CNode::VectMatMult(a, input) => self.vector_matrix_product(id, a, input),
            CNode::Windows(op, a, ref windows) => self.windows(id, op, a, windows),
            CNode::Convolve(a, input, filters) => self.convolution(id, a, input, filters),
            ref node => unreachable!("{node:?} is no operation, so no step calls a primitive for it"),
        };
        Ok(vec![call?])
    }

    /// A call that lists row stride after pointer for every operand and the result.
    fn element_wise_call(
        &mut self,
        id: CNodeId,
        operands: &[CNodeId],
        primitive: impl FnOnce(&[Operand<'ctx>]) -> Primitive,
    ) -> Emit<Call<'ctx>> {
        let (rows, length, views, out) = self.element_wise_operands(id, operands)?;
        let arguments = views.iter().fold(Arguments::numbers([rows, length]), |all, &view| all.with_view(view));
        Ok(Call::new(primitive(&views), arguments.with_view(out)))
    }

    /// A call that lists row and column strides for every operand.
    fn ternary_call(&mut self, id: CNodeId, op: TernaryOp, operands: [CNodeId; 3]) -> Emit<Call<'ctx>> {
        let (rows, length, views, out) = self.element_wise_operands(id, &operands)?;
        let arguments = views.iter().fold(Arguments::numbers([rows, length]), |all, &view| {
            all.with_view(view).with(self.index(view.is_wide.into()))
        });
        Ok(Call::new(Primitive::Ternary(op), arguments.with_view(out)))
    }

    /// Rows, length, operands and result of an element-wise call.
    ///
    /// Values per row whose operands are all packed are one run, which is faster than a column of rows of length 1.
    fn element_wise_operands(
        &mut self,
        id: CNodeId,
        operands: &[CNodeId],
    ) -> Emit<(IntValue<'ctx>, IntValue<'ctx>, Vec<Operand<'ctx>>, Operand<'ctx>)> {
        let extent = self.schedule.extents[id];
        let (mut rows, mut length) = self.dimensions(extent)?;
        let mut out = self.operand(id)?;
        let mut views = operands.iter().map(|&operand| self.operand_in(operand, extent)).collect::<Emit<Vec<_>>>()?;
        let is_run = |(view, &operand): (&Operand<'ctx>, &CNodeId)| {
            view.is_packed || self.schedule.extents[operand] == Extent::One
        };
        if extent == Extent::Rows && views.iter().zip(operands).all(is_run) {
            (rows, length) = (length, rows);
            views.iter_mut().chain([&mut out]).for_each(|view| view.is_wide = view.is_packed);
        } else if !views.iter().any(|view| view.is_wide) {
            // A column: the primitives see rows of one value.
            views.iter_mut().for_each(|view| view.is_wide = true);
        }
        Ok((rows, length, views, out))
    }

    /// Rows, row offsets and columns of sparse main rows.
    pub(super) fn sparse_rows(&mut self) -> Emit<Arguments<'ctx>> {
        let rows = self.number(Fact::Rows)?;
        Ok(Arguments::numbers([rows]).with(self.address(Fact::RowOffsets)?).with(self.address(Fact::Columns)?))
    }

    /// Whether a node's value lies by position, of rows of a Row plan.
    pub(super) fn is_sparse_row(&self, id: CNodeId) -> bool {
        self.plan.space() == Space::Rows && self.schedule.extents[id] == Extent::Positions
    }

    /// Writes the value of each row, or of each column of vectors, for every position of sparse rows.
    pub(super) fn pack_positions(&mut self, id: CNodeId) -> Emit<()> {
        let slot = self.slot(self.schedule.packed[&(id, Extent::Positions)])?;
        let view = self.view(id)?;
        if view.is_wide {
            let arguments = self.sparse_rows()?.with_view(view).with(slot);
            return self.call_primitive(Primitive::SparseGather, &arguments);
        }
        let arguments = Arguments::numbers([self.number(Fact::Rows)?]).with(self.address(Fact::RowOffsets)?);
        self.call_primitive(Primitive::SegmentSpread, &arguments.with_view(view).with(slot))
    }

    fn row_aggregate(&mut self, id: CNodeId, op: AggOp, a: CNodeId) -> Emit<Call<'ctx>> {
        let out = self.operand(id)?;
        if self.is_sparse_row(a) {
            let values = self.view(a)?.pointer;
            return self.segment_row_aggregate(op, values, out);
        }
        let (rows, length) = self.dimensions(self.schedule.extents[a])?;
        let arguments = Arguments::numbers([rows, length]).with_view(self.operand(a)?).with_view(out);
        Ok(Call::new(Primitive::RowAgg(op), arguments))
    }

    /// Aggregates values by position over sparse rows.
    pub(super) fn segment_row_aggregate<Pointer: Into<Argument<'ctx>>>(
        &mut self,
        op: AggOp,
        values: PointerValue<'ctx>,
        out: View<'ctx, Pointer>,
    ) -> Emit<Call<'ctx>> {
        let rows = self.number(Fact::Rows)?;
        let arguments = Arguments::numbers([rows])
            .with(self.address(Fact::RowOffsets)?)
            .with(values)
            .with(self.number(Fact::Cols)?)
            .with_view(out);
        Ok(Call::new(Primitive::SegmentRowAgg(op), arguments))
    }

    /// Copies of the parts, side by side.
    fn concatenation(&mut self, id: CNodeId, parts: [CNodeId; 2]) -> Emit<Vec<Call<'ctx>>> {
        let mut out = self.view(id)?;
        let rows = self.number(Fact::Rows)?;
        let mut copies = Vec::new();
        for part in parts {
            let (_, length) = self.dimensions(self.schedule.extents[part])?;
            let arguments = Arguments::numbers([rows, length]).with_view(self.operand(part)?).with_view(out);
            copies.push(Call::new(Primitive::Copy, arguments));
            out.pointer = self.offset(out.pointer, length)?;
        }
        Ok(copies)
    }

    /// Values by position, laid out for all columns; in dense units they are.
    fn scatter(&mut self, id: CNodeId, a: CNodeId, elsewhere: CNodeId) -> Emit<Call<'ctx>> {
        let out = self.operand(id)?;
        if self.is_sparse_row(a) {
            let values = self.view(a)?.pointer;
            let arguments = self.sparse_rows()?.with(values).with(self.number(Fact::Cols)?);
            let arguments = arguments.with_view(self.operand(elsewhere)?).with_view(out);
            return Ok(Call::new(Primitive::SparseScatter, arguments));
        }
        let arguments = Arguments::numbers([self.number(Fact::Rows)?, self.number(Fact::Cols)?]);
        Ok(Call::new(Primitive::Copy, arguments.with_view(self.operand(a)?).with_view(out)))
    }

    fn dot_product(&mut self, id: CNodeId, a: CNodeId, b: CNodeId) -> Emit<Call<'ctx>> {
        let out = self.operand(id)?;
        // A product commutes, and so does its fused addition.
        let (a, b) = if self.is_sparse_row(b) { (b, a) } else { (a, b) };
        if self.is_sparse_row(a) && self.is_sparse_row(b) {
            let arguments = Arguments::numbers([self.number(Fact::Rows)?]).with(self.address(Fact::RowOffsets)?);
            let arguments = arguments.with(self.view(a)?.pointer).with(self.view(b)?.pointer).with_view(out);
            return Ok(Call::new(Primitive::SegmentDotProduct, arguments));
        }
        if self.is_sparse_row(a) {
            let values = self.view(a)?.pointer;
            let arguments = self.sparse_rows()?.with(values).with_view(self.operand(b)?).with_view(out);
            return Ok(Call::new(Primitive::SparseDotProduct, arguments));
        }
        let (rows, length) = self.dimensions(self.schedule.extents[a])?;
        let arguments =
            Arguments::numbers([rows, length]).with_view(self.operand(a)?).with_view(self.operand(b)?).with_view(out);
        Ok(Call::new(Primitive::DotProduct, arguments))
    }

    fn vector_matrix_product(&mut self, id: CNodeId, a: CNodeId, input: CInputId) -> Emit<Call<'ctx>> {
        let out = self.operand(id)?;
        let columns = self.number(Fact::SideCols(input))?;
        if self.is_sparse_row(a) {
            let values = self.view(a)?.pointer;
            let arguments = self.sparse_rows()?.with(values).with(columns);
            let arguments = arguments.with_view(self.stored_matrix(input)?).with_view(out);
            return Ok(Call::new(Primitive::SparseVectMatMult, arguments));
        }
        let (rows, length) = self.dimensions(self.schedule.extents[a])?;
        let arguments = Arguments::numbers([rows, length, columns])
            .with_view(self.operand(a)?)
            .with(self.address(Fact::SideFactor(input))?)
            .with_view(out);
        Ok(Call::new(Primitive::VectMatMult, arguments))
    }

    fn windows(&mut self, id: CNodeId, op: WindowOp, a: CNodeId, windows: &Windows) -> Emit<Call<'ctx>> {
        let arguments = Arguments::numbers([self.number(Fact::Rows)?]).with(self.windows_record(windows));
        let arguments = arguments.with_view(self.operand(a)?).with_view(self.operand(id)?);
        Ok(Call::new(Primitive::Windows(op), arguments))
    }

    /// The windows as a constant, laid out as primitives take them.
    fn windows_record(&self, windows: &Windows) -> PointerValue<'ctx> {
        let Windows { channels, image, window, stride, padding } = *windows;
        let numbers = [&[channels][..], &image, &window, &stride, &padding].concat();
        let numbers: Vec<IntValue<'ctx>> = numbers.into_iter().map(|number| self.index(number as u64)).collect();
        let record = self.i64().const_array(&numbers);
        let global = self.module.add_global(record.get_type(), None, "windows");
        global.set_initializer(&record);
        global.set_constant(true);
        global.set_linkage(Linkage::Private);
        global.as_pointer_value()
    }

    fn convolution(&mut self, id: CNodeId, a: CNodeId, input: CInputId, filters: Filters) -> Emit<Call<'ctx>> {
        let (rows, cells) = (self.number(Fact::Rows)?, self.number(Fact::SideCols(input))?);
        let [count, windows] = [filters.count, filters.windows].map(|number| self.index(number.into()));
        let arguments = Arguments::numbers([rows, count, cells, windows])
            .with_view(self.operand(a)?)
            .with_view(self.stored_matrix(input)?)
            .with_view(self.operand(id)?);
        Ok(Call::new(Primitive::Convolve, arguments))
    }

    /// The rows of a side matrix, as stored.
    pub(super) fn stored_matrix(&mut self, input: CInputId) -> Emit<View<'ctx>> {
        let (pointer, row_stride) = (self.address(Fact::SideValues(input))?, self.number(Fact::SideStride(input))?);
        Ok(View { pointer, row_stride, is_wide: true, is_packed: false })
    }
}
