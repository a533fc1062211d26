//! Plans over cells: Cell, MAgg and Outer.

use super::builder::{Access, Builder};
use super::{ConstructError, CoverInput, Draft};
use crate::cover::{inputs_by_cell, is_driver, iteration_space, outside_inputs, sparse_driver};
use crate::facts::{Context, sparsity};
use crate::hops::{is_column_transpose, is_elementwise, is_transpose, literal_sequence, single_column, untransposed};
use crate::template::{LeftProduct, factor_v, is_inner_product, left_product};
use cranelift_entity::EntitySet;
use fuseline_ir::SizeInfo;
use fuseline_ir::cplan::{CNode, CNodeId, COutput, CellType, OuterType, Variant};
use fuseline_ir::hop::{FusionCover, HopId, HopOp};
use fuseline_ir::memo::TemplateType;
use fuseline_ir::ops::{AggOp, BinaryOp, Direction};
use std::collections::BTreeMap;

/// How many equally good main inputs are tried for a canonical plan.
const MAX_MAINS: usize = 4;

/// The plans of a Cell, MAgg or Outer cover, one for each main input that is as good as any.
pub(super) fn drafts(context: &Context<'_>, cover: &FusionCover) -> Result<Vec<Draft>, ConstructError> {
    let (mains, sparse_safe) = mains(context, cover)?;
    mains.into_iter().take(MAX_MAINS).map(|main| draft(context, cover, main, sparse_safe)).collect()
}

/// The best main inputs of an operator over cells, and whether the operator may skip their zeros: the sparsest inputs
/// that the result is zero with, else the densest ones.
fn mains(context: &Context<'_>, cover: &FusionCover) -> Result<(Vec<HopId>, bool), ConstructError> {
    let inputs = outside_inputs(context.dag, &cover.members);
    let space = iteration_space(context, &cover.members, cover.roots[0]);
    let candidates = || inputs_by_cell(context, &cover.members, &inputs, &space);
    if let Some(driver) = sparse_driver(context, &cover.members, &cover.roots, &inputs, &space) {
        let is_as_good = |&id: &HopId| {
            sparsity(context, id) == sparsity(context, driver) && is_driver(context, &cover.members, &cover.roots, id)
        };
        return Ok((candidates().filter(is_as_good).collect(), true));
    }
    let share = |id: HopId| context.hop(id).size.sparsity();
    let densest = candidates().map(share).fold(0.0, f64::max);
    let mains: Vec<HopId> = candidates().filter(|&id| share(id) == densest).collect();
    if mains.is_empty() || cover.template == TemplateType::Outer {
        return Err(ConstructError::NoMainInput(cover.template));
    }
    Ok((mains, false))
}

/// The plan of a Cell, MAgg or Outer cover over this main input.
fn draft(context: &Context<'_>, cover: &FusionCover, main: HopId, sparse_safe: bool) -> Result<Draft, ConstructError> {
    let space = iteration_space(context, &cover.members, cover.roots[0]);
    let product = cover.members.iter().copied().find(|&id| context.outer(id).product == Some(id));
    let product = product.filter(|_| cover.template == TemplateType::Outer);
    let mut leading = vec![CoverInput::Hop(main)];
    if let Some(product) = product {
        leading.push(CoverInput::Hop(context.hop(product).inputs[0]));
        leading.push(factor_v(context.dag, product).map_or_else(CoverInput::Transpose, CoverInput::Hop));
    }
    let (variant, transposed_output) = variant(context, cover, product)?;
    let builder = Builder::new(context.dag, variant, &leading);
    let mut cells = Cells { builder, main, space, product, turned: BTreeMap::new() };
    let views = Views::new(context, cover, product);
    for &member in cover.members.iter().filter(|member| !cover.roots.contains(member)) {
        if views.turned.contains(member) {
            cells.turned_member(member)?;
        }
        if views.plain.contains(member) {
            cells.member(member)?;
        }
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

/// How members are seen from cell (i, j): as they are, or, below the transpose of a column, with row j as column j.
#[derive(Default)]
struct Views {
    plain: EntitySet<HopId>,
    turned: EntitySet<HopId>,
}

impl Views {
    fn new(context: &Context<'_>, cover: &FusionCover, product: Option<HopId>) -> Self {
        let mut views = Views::default();
        for &member in cover.members.iter().rev().filter(|&&member| Some(member) != product) {
            let is_root = cover.roots.contains(&member);
            for &input in &context.hop(member).inputs {
                if is_root && is_inner_product(context, member) {
                    views.plain.insert(untransposed(context.dag, input).unwrap_or(input));
                } else if is_root || views.plain.contains(member) {
                    let turns = is_column_transpose(context.dag, member);
                    if turns { &mut views.turned } else { &mut views.plain }.insert(input);
                }
                if views.turned.contains(member) {
                    views.turned.insert(input);
                }
            }
        }
        views
    }
}

struct Cells<'a> {
    builder: Builder<'a>,
    main: HopId,
    space: SizeInfo,
    product: Option<HopId>,
    /// Values of translated columns, as rows.
    turned: BTreeMap<HopId, CNodeId>,
}

impl Cells<'_> {
    fn member(&mut self, id: HopId) -> Result<(), ConstructError> {
        let dag = self.builder.dag;
        let hop = &dag[id];
        let value = if Some(id) == self.product {
            self.builder.node(CNode::OuterProduct)
        } else if let Some(column) = single_column(dag, id) {
            self.builder.column(hop.inputs[0], column)
        } else if let Some((from, by)) = literal_sequence(dag, id) {
            self.builder.sequence(from, by)
        } else if is_column_transpose(dag, id) {
            match self.turned.get(&hop.inputs[0]) {
                Some(&value) => value,
                None => return Ok(()),
            }
        } else if is_transpose(dag, id) {
            // Read through: of a factor, of the left of a product, or of the weighted cells themselves.
            match self.builder.values.get(&hop.inputs[0]) {
                Some(&value) => value,
                None => return Ok(()),
            }
        } else {
            let operands = self.operands(id, Self::operand)?;
            self.builder.elementwise(id, &operands)?
        };
        self.builder.values.insert(id, value);
        Ok(())
    }

    /// A column whose transpose the operator reads; what is not element-wise is read as a transposed input.
    fn turned_member(&mut self, id: HopId) -> Result<(), ConstructError> {
        if is_elementwise(self.builder.dag, id) {
            let operands = self.operands(id, Self::turned_operand)?;
            let value = self.builder.elementwise(id, &operands)?;
            self.turned.insert(id, value);
        }
        Ok(())
    }

    fn operands(
        &mut self,
        id: HopId,
        operand: fn(&mut Self, HopId) -> Result<CNodeId, ConstructError>,
    ) -> Result<Vec<CNodeId>, ConstructError> {
        let dag = self.builder.dag;
        dag[id].inputs.iter().map(|&input| operand(self, input)).collect()
    }

    /// What becomes of the value of a root, given the plan's variant.
    fn output(&mut self, root: HopId) -> Result<COutput, ConstructError> {
        let dag = self.builder.dag;
        let hop = &dag[root];
        match hop.op {
            HopOp::AggUnary(op, direction) => {
                let node = self.operand(hop.inputs[0])?;
                Ok(match direction {
                    Direction::Row => COutput::RowAgg(op, node),
                    Direction::Col => COutput::ColAgg(op, node),
                    Direction::Full => COutput::FullAgg(op, node),
                })
            }
            HopOp::MatMul if self.product.is_some() => {
                let weighted = hop.inputs.iter().find_map(|input| self.builder.values.get(input).copied());
                let node = weighted.ok_or_else(|| self.builder.no_operation(root))?;
                let is_left = self.builder.plan.variant == Variant::Outer(OuterType::LeftMM);
                Ok(if is_left { COutput::TransposedTimesFactor(node) } else { COutput::TimesFactor(node) })
            }
            HopOp::MatMul => {
                let left = untransposed(dag, hop.inputs[0]).ok_or_else(|| self.builder.no_operation(root))?;
                let (left, right) = (self.operand(left)?, self.operand(hop.inputs[1])?);
                let node = self.builder.node(CNode::Binary(BinaryOp::Mult, left, right));
                Ok(COutput::FullAgg(AggOp::Sum, node))
            }
            _ => {
                self.member(root)?;
                Ok(COutput::Store(self.builder.values[&root]))
            }
        }
    }

    /// The value of an operator in cell (i, j): computed by a member, or read.
    fn operand(&mut self, id: HopId) -> Result<CNodeId, ConstructError> {
        if let Some(&value) = self.builder.values.get(&id) {
            return Ok(value);
        }
        let hop = &self.builder.dag[id];
        if hop.is_scalar() || hop.size.is_single() {
            return Ok(self.builder.scalar(id));
        }
        if id == self.main {
            return Ok(self.builder.node(CNode::Main));
        }
        self.side(CoverInput::Hop(id), hop.size)
    }

    /// The value of a column in row j: computed by a member, or read from its transpose.
    fn turned_operand(&mut self, id: HopId) -> Result<CNodeId, ConstructError> {
        if let Some(&value) = self.turned.get(&id) {
            return Ok(value);
        }
        let hop = &self.builder.dag[id];
        if hop.is_scalar() || hop.size.is_single() {
            return Ok(self.builder.scalar(id));
        }
        self.side(CoverInput::Transpose(id), SizeInfo { rows: hop.size.cols, cols: hop.size.rows, nnz: hop.size.nnz })
    }

    /// A side input of this size.
    fn side(&mut self, source: CoverInput, size: SizeInfo) -> Result<CNodeId, ConstructError> {
        let (space, builder) = (self.space, &mut self.builder);
        let (same_rows, same_cols) = (size.rows == space.rows, size.cols == space.cols);
        let node = if same_rows && same_cols {
            CNode::SideCell(builder.input(source, Access::Cell))
        } else if same_rows && size.cols == Some(1) {
            CNode::SideRowScalar(builder.input(source, Access::RowScalar), 0)
        } else if same_cols && size.rows == Some(1) {
            CNode::SideColScalar(builder.input(source, Access::ColScalar))
        } else {
            return Err(ConstructError::Input { template: builder.template, size, space });
        };
        Ok(builder.node(node))
    }
}
