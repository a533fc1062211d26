//! Plans over rows: the Row template.

use super::builder::{Access, Builder};
use super::{ConstructError, CoverInput, Draft};
use crate::cover::Operator;
use crate::facts::{Context, row_cumulative_step, transposed_product};
use crate::hops::{column_range, is_elementwise, is_transpose, literal_sequence, over_windows, single_column};
use crate::zeros::Zeros;
use fuseline_ir::SizeInfo;
use fuseline_ir::cplan::{CNode, CNodeId, COutput, ColumnRange, Filters, ProductOrder, RowType, Variant};
use fuseline_ir::hop::{FusionCover, HopId, HopOp};
use fuseline_ir::ops::{AggOp, Direction, WindowOp, Windows};

/// The plan of a Row cover.
pub(super) fn draft(context: &Context<'_>, cover: &FusionCover) -> Result<Draft, ConstructError> {
    let operator = Operator::of_cover(context, cover);
    let Operator { roots, members, .. } = &operator;
    let main = operator.main_input(context).ok_or(ConstructError::NoMainInput(cover.template))?;
    let builder = Builder::new(context.dag, Variant::Row(RowType::NoAgg), &[CoverInput::Hop(main)]);
    let mut rows = Rows { context, builder, main };
    for &member in members.iter().filter(|member| !roots.contains(member)) {
        // The transposed factor of a final product is read through there alone: to other members it is an input.
        if !is_transpose(context.dag, member) || row_cumulative_step(context, member).is_some() {
            let value = rows.member(member)?;
            rows.builder.values.insert(member, value);
        }
    }
    let mut outputs: Vec<COutput> = roots.iter().map(|&root| rows.output(root)).collect::<Result<_, _>>()?;
    // The canonical form of the plan says which variant a single output makes it.
    if outputs.len() > 1 {
        rows.builder.plan.variant = Variant::Row(RowType::MultiAgg);
        outputs = outputs.into_iter().map(|output| rows.one_of_several(output)).collect();
    }
    let Rows { mut builder, .. } = rows;
    // Below a row of zeros there is what is above it.
    let skips_rows = !outputs.iter().any(|output| matches!(output, COutput::Cumulative(..)));
    builder.plan.outputs = outputs;
    builder.plan.sparse_safe = skips_rows && operator.is_zero_with(context, main, Zeros::Row);
    Ok(Draft { cplan: builder.plan, inputs: builder.inputs, transposed_output: false })
}

struct Rows<'a> {
    context: &'a Context<'a>,
    builder: Builder<'a>,
    main: HopId,
}

impl Rows<'_> {
    /// The value of a member per row.
    fn member(&mut self, id: HopId) -> Result<CNodeId, ConstructError> {
        let dag = self.context.dag;
        let hop = &dag[id];
        match hop.op {
            _ if is_elementwise(dag, id) || matches!(hop.op, HopOp::Nary(_)) => {
                let operands = self.operands(id)?;
                self.builder.elementwise(id, &operands)
            }
            HopOp::AggUnary(op, Direction::Row) => {
                let operand = self.operand(hop.inputs[0])?;
                Ok(self.builder.node(CNode::RowAgg(op, operand)))
            }
            HopOp::MatMul if transposed_product(self.context, id).is_none() => self.product(id),
            HopOp::Index => self.columns(id),
            HopOp::Parameterized { .. } => {
                let (op, windows) = over_windows(dag, id).ok_or_else(|| self.builder.no_operation(id))?;
                self.windows(id, op, windows)
            }
            HopOp::DataGen(_) => {
                let (from, by) = literal_sequence(dag, id).ok_or_else(|| self.builder.no_operation(id))?;
                Ok(self.builder.sequence(from, by))
            }
            // Around a cumulative aggregate along rows.
            HopOp::Reorg(_) => self.operand(hop.inputs[0]),
            HopOp::Cumulative(op) => {
                let operand = self.operand(hop.inputs[0])?;
                Ok(self.builder.node(CNode::RowCumulative(op, operand)))
            }
            _ => Err(self.builder.no_operation(id)),
        }
    }

    /// One column, or a range of columns, of a side input.
    fn columns(&mut self, id: HopId) -> Result<CNodeId, ConstructError> {
        let (dag, source) = (self.context.dag, self.context.hop(id).inputs[0]);
        if let Some(column) = single_column(dag, id) {
            return Ok(self.builder.column(source, column));
        }
        let (first, end) = column_range(dag, id).ok_or_else(|| self.builder.no_operation(id))?;
        let input = self.builder.input(CoverInput::Hop(source), Access::Row);
        Ok(self.builder.node(CNode::SideRow(input, ColumnRange::Part { first, end })))
    }

    /// A pool of an image, or its convolution: filters times the unfolded image.
    fn windows(&mut self, id: HopId, op: WindowOp, windows: Windows) -> Result<CNodeId, ConstructError> {
        let hop = self.context.hop(id);
        let image = self.operand(hop.inputs[0])?;
        let mut value = self.builder.node(CNode::Windows(op, image, windows));
        if op == WindowOp::Unfold {
            let input = self.builder.input(CoverInput::Hop(hop.inputs[1]), Access::Matrix);
            let count = self.context.hop(hop.inputs[1]).size.rows.unwrap_or(0) as u32;
            let filters = Filters { count, windows: windows.per_channel() as u32 };
            value = self.builder.node(CNode::Convolve(value, input, filters));
        }
        // A column has one value for each row, which is the largest of itself.
        let is_column = hop.size.cols == Some(1);
        Ok(if is_column { self.builder.node(CNode::RowAgg(AggOp::Max, value)) } else { value })
    }

    fn operands(&mut self, id: HopId) -> Result<Vec<CNodeId>, ConstructError> {
        self.context.hop(id).inputs.iter().map(|&input| self.operand(input)).collect()
    }

    /// A row times a whole side input: a vector, or a matrix.
    fn product(&mut self, id: HopId) -> Result<CNodeId, ConstructError> {
        let hop = self.context.hop(id);
        let left = self.operand(hop.inputs[0])?;
        if self.context.hop(hop.inputs[1]).size.cols == Some(1) {
            let right = self.builder.input(CoverInput::Hop(hop.inputs[1]), Access::Vector);
            let vector = self.builder.node(CNode::SideVector(right));
            return Ok(self.builder.node(CNode::DotProduct(left, vector)));
        }
        let right = self.builder.input(CoverInput::Hop(hop.inputs[1]), Access::Matrix);
        Ok(self.builder.node(CNode::VectMatMult(left, right)))
    }

    /// The value of an operator in the current row: computed by a member, or read.
    fn operand(&mut self, id: HopId) -> Result<CNodeId, ConstructError> {
        if let Some(&value) = self.builder.values.get(&id) {
            return Ok(value);
        }
        let hop = self.context.hop(id);
        if hop.is_scalar() || hop.size.is_single() {
            return Ok(self.builder.scalar(id));
        }
        let space = &self.context.hop(self.main).size;
        let node = if id == self.main {
            CNode::Main
        } else if hop.size.rows == space.rows && hop.size.cols == Some(1) {
            CNode::SideRowScalar(self.builder.input(CoverInput::Hop(id), Access::RowScalar), 0)
        } else if hop.size.rows == space.rows {
            CNode::SideRow(self.builder.input(CoverInput::Hop(id), Access::Row), ColumnRange::All)
        } else if hop.size.rows == Some(1) {
            CNode::SideVector(self.builder.input(CoverInput::Hop(id), Access::Vector))
        } else {
            let (size, space): (SizeInfo, SizeInfo) = (hop.size, *space);
            return Err(ConstructError::Input { template: self.builder.template, size, space });
        };
        Ok(self.builder.node(node))
    }

    /// Whether a value is a vector known to be as long as a row of the main input.
    fn is_long(&self, node: CNodeId) -> bool {
        self.builder.plan.shapes().is_long(node)
    }

    fn is_scalar(&self, node: CNodeId) -> bool {
        !self.builder.plan.shapes().is_vector(node)
    }

    /// The output of a multi-aggregate: vectors are aggregated in full row by row, and of a product the left factor is the
    /// long one if it may be.
    fn one_of_several(&mut self, output: COutput) -> COutput {
        match output {
            COutput::FullAgg(agg, node) if !self.is_scalar(node) => {
                COutput::FullAgg(agg.of_partials(), self.builder.node(CNode::RowAgg(agg, node)))
            }
            COutput::RowProduct { long: right, short: left, order: ProductOrder::ShortByLong }
                if self.is_long(left) =>
            {
                COutput::row_product(left, right, ProductOrder::LongByShort)
            }
            _ => output,
        }
    }

    /// What becomes of the value of a root.
    fn output(&mut self, root: HopId) -> Result<COutput, ConstructError> {
        let hop = self.context.hop(root);
        if let Some((left, right)) = transposed_product(self.context, root) {
            let (left, right) = (self.operand(left)?, self.operand(right)?);
            // The main input is chosen such that one factor is as long as its rows.
            let order = if self.is_long(left) { ProductOrder::LongByShort } else { ProductOrder::ShortByLong };
            return Ok(COutput::row_product(left, right, order));
        }
        match hop.op {
            HopOp::Cumulative(op) => Ok(COutput::Cumulative(op, self.operand(hop.inputs[0])?)),
            HopOp::AggUnary(op, Direction::Full) => Ok(COutput::FullAgg(op, self.operand(hop.inputs[0])?)),
            HopOp::AggUnary(op, Direction::Col) => Ok(COutput::ColAgg(op, self.operand(hop.inputs[0])?)),
            _ => Ok(COutput::Store(self.member(root)?)),
        }
    }
}
