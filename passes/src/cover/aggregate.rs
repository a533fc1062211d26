//! Operators in which multi-aggregates may end.

use crate::facts::Context;
use crate::template::{aggregated_rows, is_cell_aggregate, is_inner_product};
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::ops::Direction;

pub(crate) fn is_full_aggregate(context: &Context<'_>, id: HopId) -> bool {
    match context.hop(id).op {
        HopOp::AggUnary(_, Direction::Full) => is_cell_aggregate(context, id),
        _ => is_inner_product(context, id),
    }
}

/// Whether operators that end here may share a pass with others.
pub(crate) fn is_aggregate(context: &Context<'_>, id: HopId) -> bool {
    is_full_aggregate(context, id) || aggregated_rows(context, id).is_some()
}
