//! Plans over cells: Cell, MAgg and Outer.

use super::builder::{Access, Builder};
use super::{ConstructError, CoverInput, Draft, main_of_cells};
use crate::cost::iteration_space;
use crate::template::{Context, LeftProduct, factor_v, is_transpose, left_product, untransposed};
use fuseline_ir::SizeInfo;
use fuseline_ir::cplan::{CNode, CNodeId, COutput, CellType, OuterType, Variant};
use fuseline_ir::hop::{FusionCover, HopId, HopOp};
use fuseline_ir::memo::TemplateType;
use fuseline_ir::ops::{AggOp, BinaryOp, Direction};

/// The plan of a Cell, MAgg or Outer cover.
pub(super) fn draft(context: &Context<'_>, cover: &FusionCover) -> Result<Draft, ConstructError> {
    let (main, sparse_safe) = main_of_cells(context, cover)?;
    let space = iteration_space(context, &cover.members, cover.roots[0]);
    let product = cover.members.iter().copied().find(|&id| context.outer(id).product == Some(id));
    let product = product.filter(|_| cover.template == TemplateType::Outer);
    let mut leading = vec![CoverInput::Hop(main)];
    if let Some(product) = product {
        leading.push(CoverInput::Hop(context.hop(product).inputs[0]));
        leading.push(factor_v(context.dag, product).map_or_else(CoverInput::Transpose, CoverInput::Hop));
    }
    let (variant, transposed_output) = variant(context, cover, product)?;
    let mut cells = Cells { builder: Builder::new(context.dag, variant, &leading), main, space, product };
    for &member in cover.members.iter().filter(|member| !cover.roots.contains(member)) {
        cells.member(member)?;
    }
    for &root in &cover.roots {
        let output = cells.output(root)?;
        cells.builder.plan.outputs.push(output);
    }
    let mut builder = cells.builder;
    builder.plan.sparse_safe = sparse_safe;
    Ok(Draft { cplan: builder.plan, inputs: builder.inputs, transposed_output })
}

fn variant(
    context: &Context<'_>,
    cover: &FusionCover,
    product: Option<HopId>,
) -> Result<(Variant, bool), ConstructError> {
    let root = context.hop(cover.roots[0]);
    let unsupported = || ConstructError::Operation { template: cover.template, label: root.op.label() };
    let plain = |variant| Ok((variant, false));
    match (cover.template, &root.op) {
        (TemplateType::MAgg, _) => plain(Variant::MAgg),
        (TemplateType::Outer, HopOp::AggUnary(_, Direction::Full)) => plain(Variant::Outer(OuterType::FullAgg)),
        (TemplateType::Outer, HopOp::MatMul) => {
            let product = product.ok_or(ConstructError::NoMainInput(cover.template))?;
            let left = root.inputs.iter().find_map(|&input| {
                let is_member = cover.members.binary_search(&input).is_ok();
                left_product(context.dag, cover.roots[0], input, product).filter(|_| is_member)
            });
            match left {
                Some(kind) => Ok((Variant::Outer(OuterType::LeftMM), kind == LeftProduct::Transposed)),
                None => plain(Variant::Outer(OuterType::RightMM)),
            }
        }
        (TemplateType::Outer, HopOp::AggUnary(..)) => Err(unsupported()),
        (TemplateType::Outer, _) => plain(Variant::Outer(OuterType::NoAgg)),
        (_, HopOp::AggUnary(_, Direction::Full) | HopOp::MatMul) => plain(Variant::Cell(CellType::FullAgg)),
        (_, HopOp::AggUnary(_, Direction::Row)) => plain(Variant::Cell(CellType::RowAgg)),
        (_, HopOp::AggUnary(_, Direction::Col)) => plain(Variant::Cell(CellType::ColAgg)),
        _ => plain(Variant::Cell(CellType::NoAgg)),
    }
}

struct Cells<'a> {
    builder: Builder<'a>,
    main: HopId,
    space: SizeInfo,
    product: Option<HopId>,
}

impl Cells<'_> {
    fn member(&mut self, id: HopId) -> Result<(), ConstructError> {
        let hop = &self.builder.dag[id];
        let value = if Some(id) == self.product {
            self.builder.node(CNode::OuterProduct)
        } else if is_transpose(self.builder.dag, id) {
            // Read through: of a factor, of the left of a product, or of the weighted cells themselves.
            match self.builder.values.get(&hop.inputs[0]) {
                Some(&value) => value,
                None => return Ok(()),
            }
        } else {
            let (main, space) = (self.main, self.space);
            self.builder.elementwise(id, |builder, input| operand(builder, main, &space, input))?
        };
        self.builder.values.insert(id, value);
        Ok(())
    }

    fn operand(&mut self, id: HopId) -> Result<CNodeId, ConstructError> {
        operand(&mut self.builder, self.main, &self.space, id)
    }

    fn output(&mut self, root: HopId) -> Result<COutput, ConstructError> {
        let dag = self.builder.dag;
        let hop = &dag[root];
        match hop.op {
            HopOp::AggUnary(op, _) => Ok(COutput { node: self.operand(hop.inputs[0])?, agg: Some(op), left: None }),
            HopOp::MatMul if self.product.is_some() => {
                let weighted = hop.inputs.iter().find_map(|input| self.builder.values.get(input).copied());
                let node = weighted.ok_or_else(|| self.builder.no_operation(root))?;
                Ok(COutput { node, agg: None, left: None })
            }
            HopOp::MatMul => {
                let left = untransposed(dag, hop.inputs[0]).ok_or_else(|| self.builder.no_operation(root))?;
                let (left, right) = (self.operand(left)?, self.operand(hop.inputs[1])?);
                let node = self.builder.node(CNode::Binary(BinaryOp::Mult, left, right));
                Ok(COutput { node, agg: Some(AggOp::Sum), left: None })
            }
            _ => {
                self.member(root)?;
                Ok(COutput { node: self.builder.values[&root], agg: None, left: None })
            }
        }
    }
}

/// The value of an operator in cell (i, j): computed by a member, or read.
fn operand(builder: &mut Builder<'_>, main: HopId, space: &SizeInfo, id: HopId) -> Result<CNodeId, ConstructError> {
    if let Some(&value) = builder.values.get(&id) {
        return Ok(value);
    }
    let hop = &builder.dag[id];
    if hop.is_scalar() {
        return Ok(builder.scalar(id));
    }
    let same_rows = hop.size.rows == space.rows;
    let same_cols = hop.size.cols == space.cols;
    let node = if id == main {
        CNode::Main
    } else if same_rows && same_cols {
        CNode::SideCell(builder.input(id, Access::Cell))
    } else if same_rows && hop.size.cols == Some(1) {
        CNode::SideRowScalar(builder.input(id, Access::RowScalar))
    } else if same_cols && hop.size.rows == Some(1) {
        CNode::SideColScalar(builder.input(id, Access::ColScalar))
    } else {
        return Err(ConstructError::Input { template: builder.template, size: hop.size, space: *space });
    };
    Ok(builder.node(node))
}
