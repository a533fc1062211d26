//! Whether a fused operator does more than a basic one.

use super::Operator;
use crate::facts::{Context, is_cumulative_by_column, transposed_product};
use crate::hops::is_transpose;
use fuseline_ir::hop::{HopId, HopOp};

impl Operator {
    /// Whether an operator is fused and does more than one basic operator.
    pub(crate) fn is_worth_fusing(&self, context: &Context<'_>) -> bool {
        self.template.is_some() && self.saves_work(context)
    }

    /// Whether the members do more than one basic operator: a product with a transpose, which runs in another loop than the
    /// basic one, and a cumulative aggregate between two, which saves them, count.
    pub(crate) fn saves_work(&self, context: &Context<'_>) -> bool {
        let working = self.members.iter().filter(|&&id| !is_transpose(context.dag, id));
        working.count() > 1 || self.members.iter().any(|&id| differs_from_basic(context, id))
    }
}

fn differs_from_basic(context: &Context<'_>, id: HopId) -> bool {
    let is_by_row = || matches!(context.hop(id).op, HopOp::Cumulative(_)) && !is_cumulative_by_column(context, id);
    transposed_product(context, id).is_some() || is_by_row()
}
