//! Plans over cells: Cell, MAgg and Outer.

use super::builder::{Access, Builder};
use super::{ConstructError, CoverInput, Draft};
use crate::cover::Operator;
use crate::facts::{Context, is_inner_product, sparsity};
use crate::hops::{is_column_transpose, is_elementwise, is_transpose, literal_sequence, single_column, untransposed};
use crate::template::{Factor, LeftProduct, factor_v, left_product};
use crate::zeros::Zeros;
use cranelift_entity::EntitySet;
use fuseline_ir::SizeInfo;
use fuseline_ir::cplan::{CNode, CNodeId, COutput, CellType, OuterType, Variant};
use fuseline_ir::hop::{FusionCover, HopId, HopOp};
use fuseline_ir::memo::TemplateType;
use fuseline_ir::ops::{AggOp, BinaryOp, Direction};
use std::collections::BTreeMap;

/// How many equally good main inputs are tried for a canonical plan.
const MAX_MAINS: usize = 4;

/// What a plan over cells is, given the template of its cover.
pub(super) struct Form {
    variant: Variant,
    /// The product of two factors whose cells are computed where the driver is not zero.
    product: Option<HopId>,
    /// Whether the plan gives the transpose of what the root does.
    is_transposed: bool,
}

impl Form {
    fn plain(variant: Variant) -> Form {
        Form { variant, product: None, is_transposed: false }
    }

    pub(super) fn of_multi_aggregate(_: &Context<'_>, _: &Operator) -> Result<Form, ConstructError> {
        Ok(Form::plain(Variant::MAgg))
    }

    pub(super) fn of_cell(context: &Context<'_>, operator: &Operator) -> Result<Form, ConstructError> {
        let variant = match context.hop(operator.root()).op {
            HopOp::AggUnary(_, Direction::Full) | HopOp::MatMul => CellType::FullAgg,
            HopOp::AggUnary(_, Direction::Row) => CellType::RowAgg,
            HopOp::AggUnary(_, Direction::Col) => CellType::ColAgg,
            HopOp::Cumulative(_) => CellType::CumAgg,
            _ => CellType::NoAgg,
        };
        Ok(Form::plain(Variant::Cell(variant)))
    }

    pub(super) fn of_outer(context: &Context<'_>, operator: &Operator) -> Result<Form, ConstructError> {
        let template = TemplateType::Outer;
        let is_product = |id: &HopId| context.outer(*id).product == Some(*id);
        let product = operator.members.iter().copied().find(is_product).ok_or(ConstructError::NoMainInput(template))?;
        let root = context.hop(operator.root());
        let (variant, is_transposed) = match root.op {
            HopOp::AggUnary(_, Direction::Full) => (OuterType::FullAgg, false),
            HopOp::AggUnary(..) => {
                return Err(ConstructError::Operation { template, label: root.op.label() });
            }
            HopOp::MatMul => {
                let mut inside = root.inputs.iter().copied().filter(|&input| operator.covers(input));
                match inside.find_map(|input| left_product(context.dag, operator.root(), input, product)) {
                    Some(kind) => (OuterType::LeftMM, kind == LeftProduct::Transposed),
                    None => (OuterType::RightMM, false),
                }
            }
            _ => (OuterType::NoAgg, false),
        };
        Ok(Form { variant: Variant::Outer(variant), product: Some(product), is_transposed })
    }
}

/// The plans of a cover over cells, one for each main input that is as good as any.
pub(super) fn drafts(
    context: &Context<'_>,
    cover: &FusionCover,
    form: fn(&Context<'_>, &Operator) -> Result<Form, ConstructError>,
) -> Result<Vec<Draft>, ConstructError> {
    let operator = Operator::of_cover(context, cover);
    let mains = Mains::of(context, &operator)?;
    let form = form(context, &operator)?;
    mains.ids.iter().take(MAX_MAINS).map(|&main| draft(context, &operator, &form, main, mains.are_drivers)).collect()
}

/// The best main inputs of an operator over cells.
struct Mains {
    ids: Vec<HopId>,
    /// Whether the operator may skip their zeros.
    are_drivers: bool,
}

impl Mains {
    /// The sparsest inputs that the result is zero with, else the sparsest of those at whose non-zeros it is computed, else the
    /// densest ones.
    fn of(context: &Context<'_>, operator: &Operator) -> Result<Mains, ConstructError> {
        let space = operator.space(context);
        let candidates = || operator.inputs_by_cell(context, &space);
        if let Some(driver) = operator.driver(context, &space) {
            let as_sparse = candidates().filter(|&id| sparsity(context, id) == sparsity(context, driver));
            let ids = as_sparse.filter(|&id| operator.is_zero_with(context, id, Zeros::Cell)).collect();
            return Ok(Mains { ids, are_drivers: true });
        }
        if let Some(visited) = operator.visited_inputs(context, &space) {
            let as_sparse = |id: &HopId| sparsity(context, *id) == sparsity(context, visited[0]);
            return Ok(Mains { ids: visited.iter().copied().filter(as_sparse).collect(), are_drivers: false });
        }
        let share = |id: HopId| context.hop(id).size.sparsity();
        let densest = candidates().map(share).fold(0.0, f64::max);
        let ids: Vec<HopId> = candidates().filter(|&id| share(id) == densest).collect();
        match operator.template.filter(|_| ids.is_empty() || !operator.is_constructible(context)) {
            Some(template) => Err(ConstructError::NoMainInput(template)),
            None => Ok(Mains { ids, are_drivers: false }),
        }
    }
}

/// The plan of an operator over this main input, whose zeros it may skip or not.
fn draft(
    context: &Context<'_>,
    operator: &Operator,
    form: &Form,
    main: HopId,
    sparse_safe: bool,
) -> Result<Draft, ConstructError> {
    let Form { variant, product, is_transposed } = *form;
    let mut leading = vec![CoverInput::Hop(main)];
    if let Some(product) = product {
        leading.push(CoverInput::Hop(context.hop(product).inputs[0]));
        leading.push(match factor_v(context.dag, product) {
            Factor::Stored(id) => CoverInput::Hop(id),
            Factor::TransposeOf(id) => CoverInput::Transpose(id),
        });
    }
    let builder = Builder::new(context.dag, variant, &leading);
    let mut cells = Cells { builder, main, space: operator.space(context), product, turned: BTreeMap::new() };
    let views = Views::new(context, operator, product);
    for &member in operator.members.iter().filter(|member| !operator.roots.contains(member)) {
        if views.turned.contains(member) {
            cells.turned_member(member)?;
        }
        if views.plain.contains(member) {
            cells.member(member)?;
        }
    }
    for &root in &operator.roots {
        let output = cells.output(root)?;
        cells.builder.plan.outputs.push(output);
    }
    let mut builder = cells.builder;
    builder.plan.sparse_safe = sparse_safe;
    Ok(Draft { cplan: builder.plan, inputs: builder.inputs, transposed_output: is_transposed })
}

/// How members are seen from cell (i, j): as they are, or, below the transpose of a column, with row j as column j.
#[derive(Default)]
struct Views {
    plain: EntitySet<HopId>,
    turned: EntitySet<HopId>,
}

impl Views {
    fn new(context: &Context<'_>, operator: &Operator, product: Option<HopId>) -> Self {
        let mut views = Views::default();
        for &member in operator.members.iter().rev().filter(|&&member| Some(member) != product) {
            let is_root = operator.roots.contains(&member);
            for (place, &input) in context.hop(member).inputs.iter().enumerate() {
                if is_root && is_inner_product(context, member) {
                    // The left is read through its transpose, the right as it is.
                    let through = untransposed(context.dag, input).filter(|_| place == 0);
                    views.plain.insert(through.unwrap_or(input));
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
        if let Some(value) = self.value(id)? {
            self.builder.values.insert(id, value);
        }
        Ok(())
    }

    /// The value of a member in cell (i, j); none of a transpose that cells see nothing of, since a root reads it in place.
    fn value(&mut self, id: HopId) -> Result<Option<CNodeId>, ConstructError> {
        let dag = self.builder.dag;
        let hop = &dag[id];
        Ok(Some(if Some(id) == self.product {
            self.builder.node(CNode::OuterProduct)
        } else if let Some(column) = single_column(dag, id) {
            self.builder.column(hop.inputs[0], column)
        } else if let Some((from, by)) = literal_sequence(dag, id) {
            self.builder.sequence(from, by)
        } else if is_column_transpose(dag, id) {
            return Ok(self.turned.get(&hop.inputs[0]).copied());
        } else if is_transpose(dag, id) {
            // Read through: of a factor, of the left of a product, or of the weighted cells themselves.
            return Ok(self.builder.values.get(&hop.inputs[0]).copied());
        } else {
            let operands = self.operands(id, Self::operand)?;
            self.builder.elementwise(id, &operands)?
        }))
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
            HopOp::Cumulative(op) => Ok(COutput::Cumulative(op, self.operand(hop.inputs[0])?)),
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
