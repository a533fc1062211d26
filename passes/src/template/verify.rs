//! The verifier of covers: what construction may rely on, and what no policy may choose.

use super::{TEMPLATES, Template, of};
use crate::cover::Operator;
use crate::facts::Context;
use crate::hops::is_transpose;
use fuseline_ir::hop::{FusionCover, HopId, HopOp};
use fuseline_ir::memo::TemplateType;
use thiserror::Error;

/// Why a cover is none.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CoverError {
    /// An operator that does not exist, that nothing needs, or that is listed out of order.
    #[error("{0} is no operator that the DAG needs, or the members do not ascend")]
    Member(HopId),
    /// A member that is no root and that no member reads.
    #[error("no member reads {0}, which is no root")]
    Dangling(HopId),
    /// A member that the template has no place for.
    #[error("{template} operators have no {member}")]
    Unsupported {
        /// The template.
        template: TemplateType,
        /// The member.
        member: HopId,
    },
    /// A root at which no operator of the template can end.
    #[error("no {template} operator ends in {root}")]
    Root {
        /// The template.
        template: TemplateType,
        /// The root.
        root: HopId,
    },
    /// Roots over cells of different sizes, or over different numbers of rows.
    #[error("the roots run over cells or rows of different sizes")]
    Spaces,
    /// A fused operator that does no more than a basic one.
    #[error("the cover has a single operation")]
    SingleOperation,
    /// No input can be the main input.
    #[error("no input can be the main input")]
    NoMainInput,
}

/// Checks one cover: its members are connected operators that the template has, its roots are where such operators
/// end, there is a main input, and it does more than one basic operator.
///
/// # Errors
/// The first rule that is broken: a defect of selection.
pub fn verify_cover(context: &Context<'_>, cover: &FusionCover) -> Result<(), CoverError> {
    check_members(context, cover)?;
    let operator = Operator::of_cover(context, cover);
    let template = of(cover.template);
    check_places(context, template, &operator)?;
    check_roots(context, template, &operator)?;
    if !operator.is_multi_aggregate() && !operator.saves_work(context) {
        return Err(CoverError::SingleOperation);
    }
    template.main_input(context, &operator).map(|_| ()).ok_or(CoverError::NoMainInput)
}

/// Members are live and ascend, roots are some of them, and all others are read by a member.
fn check_members(context: &Context<'_>, cover: &FusionCover) -> Result<(), CoverError> {
    let FusionCover { roots, members, .. } = cover;
    for (position, &member) in members.iter().enumerate() {
        let ascends = position == 0 || members[position - 1] < member;
        if !context.dag.hops.is_valid(member) || !context.is_live(member) || !ascends {
            return Err(CoverError::Member(member));
        }
    }
    let is_member = |id: &HopId| members.binary_search(id).is_ok();
    if let Some(&root) = roots.iter().find(|root| !is_member(root)) {
        return Err(CoverError::Member(root));
    }
    let is_read = |id: &HopId| roots.contains(id) || context.consumers(*id).iter().any(is_member);
    members.iter().find(|id| !is_read(id)).map_or(Ok(()), |&id| Err(CoverError::Dangling(id)))
}

/// Each member is one that the template, or one that it continues with, opens at or grows to, or a transpose that a
/// product reads through.
fn check_places(context: &Context<'_>, template: &dyn Template, operator: &Operator) -> Result<(), CoverError> {
    let has_place = |member: HopId| {
        let mut templates = TEMPLATES.iter().filter(|part| template.continues_with(part.ttype()));
        templates.any(|part| takes(context, *part, member)) || is_read_through(context, operator, member)
    };
    match operator.members.iter().find(|&&member| !has_place(member)) {
        Some(&member) => Err(CoverError::Unsupported { template: template.ttype(), member }),
        None => Ok(()),
    }
}

/// Whether a template opens at an operator or grows to it.
fn takes(context: &Context<'_>, template: &dyn Template, id: HopId) -> bool {
    template.open(context, id) || context.hop(id).inputs.iter().any(|&input| template.fuse(context, id, input))
}

/// Whether a member is a transpose that a product among the members reads.
fn is_read_through(context: &Context<'_>, operator: &Operator, member: HopId) -> bool {
    let is_product = |&id: &HopId| context.hop(id).op == HopOp::MatMul && operator.covers(id);
    is_transpose(context.dag, member) && context.consumers(member).iter().any(is_product)
}

/// Operators of the template end at each root, and all roots are over the same cells or rows.
fn check_roots(context: &Context<'_>, template: &dyn Template, operator: &Operator) -> Result<(), CoverError> {
    if let Some(&root) = operator.roots.iter().find(|&&root| !template.ends_at(context, operator, root)) {
        return Err(CoverError::Root { template: template.ttype(), root });
    }
    if operator.roots.is_empty() {
        return Err(CoverError::NoMainInput);
    }
    if template.has_common_space(context, operator) { Ok(()) } else { Err(CoverError::Spaces) }
}
