//! The verifier of covers: what construction may rely on, and what no policy may choose.

use super::{Operator, has_common_rows, is_constructible, is_full_aggregate, iteration_space, saves_work};
use crate::facts::Context;
use crate::hops::is_transpose;
use crate::template::{TEMPLATES, aggregated_rows};
use fuseline_ir::hop::{FusionCover, HopId, HopOp};
use fuseline_ir::memo::TemplateType;
use smallvec::smallvec;
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
    members(context, cover)?;
    for &member in &cover.members {
        supported(context, cover, member)?;
    }
    roots(context, cover)?;
    if cover.roots.len() == 1 && !saves_work(context, &cover.members) {
        return Err(CoverError::SingleOperation);
    }
    let operator = Operator::of_cover(context, cover);
    let has_main = match cover.template {
        TemplateType::Row => has_common_rows(context, &cover.members, &cover.roots),
        template => cover.roots.iter().all(|&root| {
            is_constructible(
                context,
                &Operator { template: Some(template), roots: smallvec![root], ..operator.clone() },
            )
        }),
    };
    if has_main { Ok(()) } else { Err(CoverError::NoMainInput) }
}

fn members(context: &Context<'_>, cover: &FusionCover) -> Result<(), CoverError> {
    let ascends = |position: usize| position == 0 || cover.members[position - 1] < cover.members[position];
    for (position, &member) in cover.members.iter().enumerate() {
        if !context.dag.hops.is_valid(member) || !context.is_live(member) || !ascends(position) {
            return Err(CoverError::Member(member));
        }
    }
    let is_member = |id: &HopId| cover.members.binary_search(id).is_ok();
    if let Some(&root) = cover.roots.iter().find(|root| !is_member(root)) {
        return Err(CoverError::Member(root));
    }
    let is_read = |id: HopId| cover.roots.contains(&id) || context.consumers(id).iter().any(is_member);
    cover.members.iter().find(|&&id| !is_read(id)).map_or(Ok(()), |&id| Err(CoverError::Dangling(id)))
}

/// Whether a member is one that the template, or Cell inside of it, opens at or grows to.
fn supported(context: &Context<'_>, cover: &FusionCover, member: HopId) -> Result<(), CoverError> {
    let hop = context.hop(member);
    let reads_through =
        |consumer: &HopId| context.hop(*consumer).op == HopOp::MatMul && cover.members.binary_search(consumer).is_ok();
    let is_read_through = is_transpose(context.dag, member) && context.consumers(member).iter().any(reads_through);
    let serves = |ttype: TemplateType| ttype == cover.template || matches!(ttype, TemplateType::Cell);
    let has_place = TEMPLATES.iter().filter(|template| serves(template.ttype())).any(|template| {
        template.open(context, member) || hop.inputs.iter().any(|&input| template.fuse(context, member, input))
    });
    if has_place || is_read_through {
        return Ok(());
    }
    Err(CoverError::Unsupported { template: cover.template, member })
}

fn roots(context: &Context<'_>, cover: &FusionCover) -> Result<(), CoverError> {
    let space = |root: HopId| iteration_space(context, &cover.members, root);
    let template = cover.template;
    let ends = |&root: &HopId| match template {
        TemplateType::MAgg => is_full_aggregate(context, root),
        TemplateType::Row if cover.roots.len() > 1 => aggregated_rows(context, root).is_some(),
        _ => TEMPLATES.iter().any(|known| known.ttype() == template && known.close(context, root).is_valid()),
    };
    if let Some(&root) = cover.roots.iter().find(|root| !ends(root)) {
        return Err(CoverError::Root { template, root });
    }
    match cover.roots[..] {
        [] => Err(CoverError::NoMainInput),
        [first, ref rest @ ..] if template == TemplateType::Row => {
            let rows = |root: HopId| aggregated_rows(context, root);
            if rest.iter().all(|&root| rows(root) == rows(first)) { Ok(()) } else { Err(CoverError::Spaces) }
        }
        [first, ref rest @ ..] if rest.iter().all(|&root| space(root).same_dims(&space(first))) => Ok(()),
        [_] => Ok(()),
        _ => Err(CoverError::Spaces),
    }
}
