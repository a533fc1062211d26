//! What a fused operator does: whether it is more than a basic one, whether only rows can do it, and what it reads through.

use super::Operator;
use crate::facts::Context;
use crate::hops::{is_transpose, single_column};
use crate::template::transposed_product;
use fuseline_ir::hop::{FusionCover, HopId, HopOp, NaryOp};
use fuseline_ir::memo::TemplateType;
use fuseline_ir::ops::Direction;

/// Whether an operator is fused and does more than one basic operator: a product with a transpose and a cumulative
/// aggregate between two count, since they save the transposes.
pub(crate) fn is_worth_fusing(context: &Context<'_>, operator: &Operator) -> bool {
    operator.template.is_some() && saves_work(context, &operator.members)
}

/// Whether a fused operator of these members does more than one basic operator.
pub(crate) fn saves_work(context: &Context<'_>, members: &[HopId]) -> bool {
    let working = |id: &&HopId| !is_transpose(context.dag, **id);
    let saves_transposes =
        |&id: &HopId| transposed_product(context, id).is_some() || matches!(context.hop(id).op, HopOp::Cumulative(_));
    members.iter().filter(working).count() > 1 || members.iter().any(saves_transposes)
}

/// The cover of a fused operator: its members and the transposes that it reads through.
pub(crate) fn cover(context: &Context<'_>, operator: &Operator) -> Option<FusionCover> {
    let FusionCover { template, roots, mut members } = operator.to_cover()?;
    for &id in &operator.members {
        let hop = context.hop(id);
        if hop.op == HopOp::MatMul {
            members.extend(absorbed_transpose(context, template, id));
        }
    }
    members.sort_unstable();
    members.dedup();
    Some(FusionCover { template, roots, members })
}

/// The transpose that a fused product reads through: of the left operand of a sum over rows or an inner product, of
/// the right factor of an outer product.
fn absorbed_transpose(context: &Context<'_>, template: TemplateType, product: HopId) -> Option<HopId> {
    let inputs = &context.hop(product).inputs;
    let candidate = match template {
        TemplateType::Outer if context.outer(product).product == Some(product) => inputs[1],
        _ => inputs[0],
    };
    Some(candidate).filter(|&id| is_transpose(context.dag, id))
}

/// Whether only a Row operator can do this inside of a chain, wherever the chain ends.
pub(crate) fn is_row_operation(context: &Context<'_>, id: HopId) -> bool {
    matches!(
        context.hop(id).op,
        HopOp::MatMul | HopOp::Reorg(_) | HopOp::Index | HopOp::Nary(NaryOp::Cbind) | HopOp::Cumulative(_)
    )
}

pub(crate) fn is_row_aggregate(context: &Context<'_>, id: HopId) -> bool {
    matches!(context.hop(id).op, HopOp::AggUnary(_, Direction::Row))
}

/// Whether these members of a Row operator need the Row template: a product, a transpose, a range of columns, columns
/// side by side, a row aggregate inside of the operator, or one that does not merge.
pub(crate) fn needs_rows(context: &Context<'_>, members: &[HopId], root: HopId) -> bool {
    members.iter().any(|&id| {
        is_row_operation(context, id) && single_column(context.dag, id).is_none()
            || is_row_aggregate(context, id) && id != root
            || matches!(context.hop(id).op, HopOp::AggUnary(op, _) if !op.merges())
    })
}
