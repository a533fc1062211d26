//! Plans over rows: the Row template.

use super::builder::{Access, Builder};
use super::{ConstructError, CoverInput, Draft, outside_inputs};
use crate::template::{Context, column_range, is_elementwise, transposed_product};
use crate::zeros::is_sparse_safe;
use cranelift_entity::EntitySet;
use fuseline_ir::SizeInfo;
use fuseline_ir::cplan::{CNode, CNodeId, COutput, Length, RowType, Shape, Variant};
use fuseline_ir::hop::{FusionCover, HopId, HopOp};
use fuseline_ir::memo::TemplateType;
use fuseline_ir::ops::Direction;

/// The plan of a Row cover.
pub(super) fn draft(context: &Context<'_>, cover: &FusionCover) -> Result<Draft, ConstructError> {
    let root = cover.roots[0];
    let main = main_input(context, cover).ok_or(ConstructError::NoMainInput(TemplateType::Row))?;
    let builder = Builder::new(context.dag, Variant::Row(RowType::NoAgg), &[CoverInput::Hop(main)]);
    let mut rows = Rows { context, builder, main, long: EntitySet::new() };
    for &member in cover.members.iter().filter(|&&member| member != root) {
        if let Some(value) = rows.member(member)? {
            rows.builder.values.insert(member, value);
        }
    }
    let (row_type, output) = rows.output(root)?;
    let Rows { mut builder, .. } = rows;
    builder.plan.variant = Variant::Row(row_type);
    builder.plan.outputs.push(output);
    builder.plan.sparse_safe = is_sparse_safe(context.dag, &cover.members, root, main, context.limits.strict_ieee);
    Ok(Draft { cplan: builder.plan, inputs: builder.inputs, transposed_output: false })
}

/// The matrix whose rows the operator binds: a factor of a final product over rows, else the left of a product, else
/// the largest matrix that is read row by row.
fn main_input(context: &Context<'_>, cover: &FusionCover) -> Option<HopId> {
    let root = cover.roots[0];
    let is_outside = |id: HopId| cover.members.binary_search(&id).is_err();
    if let Some((left, right)) = transposed_product(context, root) {
        let factor = [left, right].into_iter().find(|&id| is_outside(id) && context.hop(id).size.is_matrix());
        if factor.is_some() {
            return factor;
        }
    }
    let rows = match context.hop(root).op {
        HopOp::AggUnary(..) => context.hop(context.hop(root).inputs[0]).size.rows,
        HopOp::MatMul => transposed_product(context, root)
            .map_or(context.hop(root).size.rows, |(left, _)| context.hop(left).size.rows),
        _ => context.hop(root).size.rows,
    };
    let is_bindable =
        |id: HopId| is_outside(id) && context.hop(id).size.is_matrix() && context.hop(id).size.rows == rows;
    let lefts = cover.members.iter().filter(|&&id| context.hop(id).op == HopOp::MatMul);
    if let Some(left) = lefts.map(|&id| context.hop(id).inputs[0]).find(|&id| is_bindable(id)) {
        return Some(left);
    }
    let by_rows = |&&id: &&HopId| is_elementwise(context.dag, id) || matches!(context.hop(id).op, HopOp::AggUnary(..));
    let mut candidates: Vec<HopId> = cover
        .members
        .iter()
        .filter(by_rows)
        .flat_map(|&id| context.hop(id).inputs.iter().copied())
        .filter(|&id| is_bindable(id))
        .collect();
    candidates.sort_by_key(|&id| (std::cmp::Reverse(context.hop(id).size.cells()), id));
    debug_assert!(candidates.iter().all(|id| outside_inputs(context.dag, &cover.members).contains(id)));
    candidates.first().copied()
}

struct Rows<'a> {
    context: &'a Context<'a>,
    builder: Builder<'a>,
    main: HopId,
    /// Vectors known to be as long as a row of the main input.
    long: EntitySet<CNodeId>,
}

impl Rows<'_> {
    /// The value of a member per row; none for a transpose that is read through.
    fn member(&mut self, id: HopId) -> Result<Option<CNodeId>, ConstructError> {
        let dag = self.context.dag;
        let hop = &dag[id];
        let value = match hop.op {
            HopOp::Unary(_) | HopOp::Binary(_) | HopOp::Ternary(_) => self.elementwise(id)?,
            HopOp::AggUnary(op, Direction::Row) => {
                let operand = self.operand(hop.inputs[0])?;
                self.builder.node(CNode::RowAgg(op, operand))
            }
            HopOp::MatMul if transposed_product(self.context, id).is_none() => self.product(id)?,
            HopOp::Index => {
                let (first, last) = column_range(dag, id).ok_or_else(|| self.builder.no_operation(id))?;
                let input = self.builder.input(hop.inputs[0], Access::Row);
                self.builder.node(CNode::SideRow(input, Some((first, last))))
            }
            HopOp::Reorg(_) => match self.builder.values.get(&hop.inputs[0]) {
                Some(&value) => value,
                None => return Ok(None),
            },
            _ => return Err(self.builder.no_operation(id)),
        };
        Ok(Some(value))
    }

    fn elementwise(&mut self, id: HopId) -> Result<CNodeId, ConstructError> {
        let inputs = &self.context.hop(id).inputs;
        let operands: Vec<CNodeId> = inputs.iter().map(|&input| self.operand(input)).collect::<Result<_, _>>()?;
        let value = self.builder.elementwise(id, |_, input| {
            Ok(operands[inputs.iter().position(|&other| other == input).unwrap_or_default()])
        })?;
        if operands.iter().any(|&operand| self.long.contains(operand)) {
            self.long.insert(value);
        }
        Ok(value)
    }

    /// A row times a whole side input: a vector, or a matrix.
    fn product(&mut self, id: HopId) -> Result<CNodeId, ConstructError> {
        let hop = self.context.hop(id);
        let left = self.operand(hop.inputs[0])?;
        if self.context.hop(hop.inputs[1]).size.cols == Some(1) {
            let right = self.builder.input(hop.inputs[1], Access::Vector);
            let vector = self.builder.node(CNode::SideVector(right));
            return Ok(self.builder.node(CNode::DotProduct(left, vector)));
        }
        let right = self.builder.input(hop.inputs[1], Access::Matrix);
        Ok(self.builder.node(CNode::VectMatMult(left, right)))
    }

    /// The value of an operator in the current row: computed by a member, or read.
    fn operand(&mut self, id: HopId) -> Result<CNodeId, ConstructError> {
        if let Some(&value) = self.builder.values.get(&id) {
            return Ok(value);
        }
        let hop = self.context.hop(id);
        if hop.is_scalar() {
            return Ok(self.builder.scalar(id));
        }
        let space = &self.context.hop(self.main).size;
        let node = if id == self.main {
            CNode::Main
        } else if hop.size.rows == space.rows && hop.size.cols == Some(1) {
            CNode::SideRowScalar(self.builder.input(id, Access::RowScalar))
        } else if hop.size.rows == space.rows {
            CNode::SideRow(self.builder.input(id, Access::Row), None)
        } else if hop.size.rows == Some(1) {
            CNode::SideVector(self.builder.input(id, Access::Vector))
        } else {
            let (size, space): (SizeInfo, SizeInfo) = (hop.size, *space);
            return Err(ConstructError::Input { template: TemplateType::Row, size, space });
        };
        let value = self.builder.node(node);
        if node == CNode::Main {
            self.long.insert(value);
        }
        Ok(value)
    }

    fn is_scalar(&self, node: CNodeId) -> bool {
        self.builder.plan.shape(node) == Shape::Scalar
    }

    /// The variant, by what the root does with the rows, and the output.
    fn output(&mut self, root: HopId) -> Result<(RowType, COutput), ConstructError> {
        let hop = self.context.hop(root);
        let output = |node, agg, left| COutput { node, agg, left };
        if let Some((left, right)) = transposed_product(self.context, root) {
            let (left, right) = (self.operand(left)?, self.operand(right)?);
            let row_type = match (self.long.contains(left), self.long.contains(right)) {
                (true, _) if self.is_scalar(right) => RowType::ColAggT,
                (true, _) => RowType::ColAggB1T,
                (false, true) => RowType::ColAggB1,
                (false, false) => return Err(ConstructError::ShortFactors),
            };
            return Ok((row_type, output(right, None, Some(left))));
        }
        match hop.op {
            HopOp::AggUnary(op, Direction::Full) => {
                Ok((RowType::FullAgg, output(self.operand(hop.inputs[0])?, Some(op), None)))
            }
            HopOp::AggUnary(op, Direction::Col) => {
                Ok((RowType::ColAgg, output(self.operand(hop.inputs[0])?, Some(op), None)))
            }
            _ => {
                let node = self.member(root)?.ok_or_else(|| self.builder.no_operation(root))?;
                let row_type = match self.builder.plan.shape(node) {
                    Shape::Scalar => RowType::RowAgg,
                    Shape::Vector(Length::Main) => RowType::NoAgg,
                    Shape::Vector(_) if self.long.contains(node) => RowType::NoAgg,
                    Shape::Vector(_) => RowType::NoAggB1,
                };
                Ok((row_type, output(node, None, None)))
            }
        }
    }
}
