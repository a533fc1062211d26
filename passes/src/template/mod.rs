//! Templates: the open-fuse-merge-close abstraction (section 3.2), the conditions of each template, and what each knows
//! about fused operators of its type.
//!
//! Each condition is local to an operator and one of its inputs; what few of them must know beyond (consumers, the
//! outer product below an expression) the [`Context`] of the DAG knows.

mod cell;
mod multi_aggregate;
mod operator;
mod outer;
mod row;
#[cfg(test)]
mod tests;
mod verify;

pub use cell::CellTemplate;
pub use multi_aggregate::MultiAggregateTemplate;
pub use outer::OuterTemplate;
pub use row::RowTemplate;
pub use verify::{CoverError, verify_cover};

pub(crate) use outer::{Factor, LeftProduct, factor_v, left_product};

use crate::cover::Operator;
use crate::facts::{Context, sparsity};
use crate::hops::is_transpose;
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::memo::{CloseStatus, TemplateType};

/// A template: under which conditions its fused operators start, grow and end, and what such operators are like.
///
/// Exploration asks for the former alone. Of the latter, what is provided here holds for operators over cells.
pub trait Template: Sync + std::fmt::Debug {
    /// The type of the entries that this template makes.
    fn ttype(&self) -> TemplateType;

    /// Whether a fused operator may start at `id`, covering it and reading materialised inputs.
    fn open(&self, context: &Context<'_>, id: HopId) -> bool;

    /// Whether an open fused operator at `input` may expand to its consumer `id`.
    fn fuse(&self, context: &Context<'_>, id: HopId, input: HopId) -> bool;

    /// Whether an open fused operator at `id` may expand to its input `input`, which has open plans of this template
    /// or of Cell.
    fn merge(&self, context: &Context<'_>, id: HopId, input: HopId) -> bool;

    /// The status of the template after `id`.
    fn close(&self, context: &Context<'_>, id: HopId) -> CloseStatus;

    /// Whether parts of an operator may come from entries of this type: its own, or Cell, which has a place in all.
    fn continues_with(&self, ttype: TemplateType) -> bool {
        ttype == self.ttype() || ttype == PART
    }

    /// Whether operators exist only with a matrix that drives them, whose non-zeros or all of whose cells they visit, and with
    /// a member at which the template opens, so that entries without a part of this template lead nowhere.
    fn is_driven(&self) -> bool {
        false
    }

    /// The template to build an operator as where none of its members needs this one.
    fn simpler(&self) -> Option<TemplateType> {
        None
    }

    /// Whether a member of an operator with this root needs this template in the place of the simpler one.
    fn is_needed(&self, _context: &Context<'_>, _member: HopId, _root: HopId) -> bool {
        true
    }

    /// Whether an operator may end at one of its roots.
    fn ends_at(&self, context: &Context<'_>, _operator: &Operator, root: HopId) -> bool {
        self.close(context, root).is_valid()
    }

    /// Whether all roots are computed from the same cells, or the same rows.
    fn has_common_space(&self, context: &Context<'_>, operator: &Operator) -> bool {
        let space = operator.space(context);
        operator.roots.iter().skip(1).all(|&root| operator.space_of(context, root).same_dims(&space))
    }

    /// An input that can be the main one; none if the operator cannot be constructed.
    fn main_input(&self, context: &Context<'_>, operator: &Operator) -> Option<HopId> {
        operator.main_input_by_cell(context)
    }

    /// The share of its cells that an operator visits which skips the zeros of this input.
    fn visited_share(&self, context: &Context<'_>, driver: HopId) -> f64 {
        sparsity(context, driver)
    }

    /// The operand that a fused product may read through a transpose: the left one.
    fn transposed_operand(&self, context: &Context<'_>, product: HopId) -> HopId {
        context.hop(product).inputs[0]
    }

    /// The transpose that a fused product reads through.
    fn absorbed_transpose(&self, context: &Context<'_>, product: HopId) -> Option<HopId> {
        let is_product = context.hop(product).op == HopOp::MatMul;
        let operand = is_product.then(|| self.transposed_operand(context, product))?;
        Some(operand).filter(|&id| is_transpose(context.dag, id))
    }
}

/// The template whose entries may be parts of operators of all templates.
pub(crate) const PART: TemplateType = TemplateType::Cell;

/// The templates that exploration knows: all but MAgg, which is composed from Cell operators after selection.
pub const TEMPLATES: &[&dyn Template; TemplateType::ALL.len() - 1] = &[&RowTemplate, &CellTemplate, &OuterTemplate];

/// The template of a type.
pub(crate) fn of(ttype: TemplateType) -> &'static dyn Template {
    match ttype {
        TemplateType::Cell => &CellTemplate,
        TemplateType::Row => &RowTemplate,
        TemplateType::MAgg => &MultiAggregateTemplate,
        TemplateType::Outer => &OuterTemplate,
    }
}

/// All templates, the one that is preferred to start an operator first. Whatever Cell operators do others do, too.
pub(crate) const BY_PREFERENCE: [TemplateType; TemplateType::ALL.len()] =
    [TemplateType::MAgg, TemplateType::Outer, TemplateType::Row, TemplateType::Cell];

/// Where a template stands in the order of preference: the least is the first.
pub(crate) fn rank(ttype: TemplateType) -> usize {
    BY_PREFERENCE.iter().position(|&other| other == ttype).unwrap_or(BY_PREFERENCE.len())
}
