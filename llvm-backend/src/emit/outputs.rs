//! Calls of vector primitives that aggregate a node into an output.

use super::calls::Arguments;
use super::memory::View;
use super::unit::Fact;
use super::{Emit, Emitter};
use crate::schedule::{Extent, takes_positions};
use fuseline_ir::cplan::{CInputId, CNodeId, COutput, FACTOR_U, FACTOR_V};
use fuseline_ir::ops::AggOp;
use fuseline_vecprims::Primitive;
use inkwell::values::PointerValue;

impl<'ctx> Emitter<'_, 'ctx> {
    /// Calls what aggregates an output.
    pub(super) fn output_call(&mut self, index: usize) -> Emit<()> {
        match self.plan.outputs[index] {
            COutput::FullAgg(agg, node) => self.full_aggregate(index, agg, node),
            COutput::RowAgg(agg, node) => self.cell_row_aggregate(index, agg, node),
            COutput::ColAgg(agg, node) => self.column_aggregate(index, agg, node),
            COutput::RowProduct { long, short, .. } => self.row_product(index, long, short),
            COutput::TimesFactor(node) => self.times_factor(index, node),
            COutput::TransposedTimesFactor(node) => self.transposed_times_factor(index, node),
            COutput::Store(_) | COutput::Cumulative(..) => {
                unreachable!("outputs that are stored as they are belong to loops or are computed in place")
            }
        }
    }

    /// Where the values of an output lie that has one for each position of sparse rows.
    fn by_position(&mut self, node: CNodeId) -> Emit<Option<PointerValue<'ctx>>> {
        if self.schedule.extents[node] == Extent::Positions {
            return Ok(Some(self.view(node)?.pointer));
        }
        if !takes_positions(self.plan, self.schedule.entry) {
            return Ok(None);
        }
        self.slot(self.schedule.packed[&(node, Extent::Positions)]).map(Some)
    }

    fn full_aggregate(&mut self, index: usize, agg: AggOp, node: CNodeId) -> Emit<()> {
        let a = self.view(node)?;
        let out = self.address(Fact::OutputValues(index))?;
        let extent = self.schedule.extents[node];
        if let Some(values) = self.by_position(node)? {
            let (one, length) = self.dimensions(Extent::Positions)?;
            let arguments = Arguments::numbers([one, length]).with(values).with(length).with(out);
            return self.call_primitive(Primitive::FullAgg(agg), &arguments);
        }
        let (rows, length) = self.dimensions(extent)?;
        // Values per row are one run.
        let (rows, length) = if extent == Extent::Rows { (length, rows) } else { (rows, length) };
        let arguments = Arguments::numbers([rows, length]).with_view(a).with(out);
        self.call_primitive(Primitive::FullAgg(agg), &arguments)
    }

    fn cell_row_aggregate(&mut self, index: usize, agg: AggOp, node: CNodeId) -> Emit<()> {
        let a = self.view(node)?;
        let one = self.index(1);
        let out = View {
            pointer: self.address(Fact::OutputValues(index))?,
            row_stride: one,
            is_wide: false,
            is_packed: true,
        };
        if let Some(values) = self.by_position(node)? {
            let call = self.segment_row_aggregate(agg, values, out)?;
            return self.make(&call);
        }
        let (rows, length) = self.dimensions(self.schedule.extents[node])?;
        let arguments = Arguments::numbers([rows, length]).with_view(a).with_view(out);
        self.call_primitive(Primitive::RowAgg(agg), &arguments)
    }

    fn column_aggregate(&mut self, index: usize, agg: AggOp, node: CNodeId) -> Emit<()> {
        let out = self.address(Fact::OutputValues(index))?;
        let extent = self.schedule.extents[node];
        if let Some(values) = self.by_position(node)? {
            let arguments = self.sparse_rows()?.with(values).with(out);
            return self.call_primitive(Primitive::SparseColAgg(agg), &arguments);
        }
        let (rows, length) = self.dimensions(extent)?;
        let arguments = Arguments::numbers([rows, length]).with_view(self.view(node)?).with(out);
        self.call_primitive(Primitive::ColAgg(agg), &arguments)
    }

    /// The sum over rows of the products of a long vector (as long as main rows) and a short one, or a number per row.
    ///
    /// The dense entry keeps the long index innermost, the sparse one, where the long vector lies by position, the short.
    fn row_product(&mut self, index: usize, long: CNodeId, short: CNodeId) -> Emit<()> {
        let rows = self.number(Fact::Rows)?;
        let (_, short_length) = self.dimensions(self.schedule.extents[short])?;
        // One number per row makes a vector of length 1, and rows of the output neighbours.
        let is_column = !matches!(self.schedule.extents[short], Extent::Vector(_));
        let row_stride = if is_column { self.index(1) } else { self.number(Fact::OutputStride(index))? };
        let out =
            View { pointer: self.address(Fact::OutputValues(index))?, row_stride, is_wide: true, is_packed: false };
        let short = self.view(short)?;
        if self.is_sparse_row(long) {
            let values = self.view(long)?.pointer;
            let arguments = self.sparse_rows()?.with(values).with(short_length);
            return self.call_primitive(Primitive::SparseOuterMultAdd, &arguments.with_view(short).with_view(out));
        }
        let (_, long_length) = self.dimensions(self.schedule.extents[long])?;
        let long = self.view(long)?;
        let arguments = Arguments::numbers([rows, long_length, short_length]).with_view(long).with_view(short);
        self.call_primitive(Primitive::OuterMultAdd, &arguments.with_view(out))
    }

    /// `W %*% V`, with the node's values as W.
    fn times_factor(&mut self, index: usize, node: CNodeId) -> Emit<()> {
        if let Some(weights) = self.by_position(node)? {
            return self.sparse_factor_product(index, weights, FACTOR_V, Primitive::SparseMatMultAdd);
        }
        let (rows, cols) = self.dimensions(Extent::Cells)?;
        let rank = self.number(Fact::SideCols(FACTOR_V))?;
        let arguments = Arguments::numbers([rows, cols, rank]).with_view(self.view(node)?);
        let arguments = arguments.with_view(self.stored_matrix(FACTOR_V)?).with_view(self.factor_output(index)?);
        self.call_primitive(Primitive::MatMultAdd, &arguments)
    }

    /// `t(W) %*% U`, with the node's values as W.
    fn transposed_times_factor(&mut self, index: usize, node: CNodeId) -> Emit<()> {
        if let Some(weights) = self.by_position(node)? {
            return self.sparse_factor_product(index, weights, FACTOR_U, Primitive::SparseOuterMultAdd);
        }
        let (rows, cols) = self.dimensions(Extent::Cells)?;
        let rank = self.number(Fact::SideCols(FACTOR_U))?;
        let arguments = Arguments::numbers([rows, rank, cols]).with_view(self.stored_matrix(FACTOR_U)?);
        let arguments = arguments.with_view(self.view(node)?).with_view(self.factor_output(index)?);
        self.call_primitive(Primitive::OuterMultAdd, &arguments)
    }

    fn sparse_factor_product(
        &mut self,
        index: usize,
        weights: PointerValue<'ctx>,
        factor: CInputId,
        primitive: Primitive,
    ) -> Emit<()> {
        let rank = self.number(Fact::SideCols(factor))?;
        let arguments = self.sparse_rows()?.with(weights).with(rank);
        let arguments = arguments.with_view(self.stored_matrix(factor)?).with_view(self.factor_output(index)?);
        self.call_primitive(primitive, &arguments)
    }

    /// The rows that products with a factor are added to.
    fn factor_output(&mut self, index: usize) -> Emit<View<'ctx>> {
        let (pointer, row_stride) = (self.address(Fact::OutputValues(index))?, self.number(Fact::OutputStride(index))?);
        Ok(View { pointer, row_stride, is_wide: true, is_packed: false })
    }
}
