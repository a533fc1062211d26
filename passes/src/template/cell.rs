//! The Cell template: element-wise operations over the cells of a main input, with an aggregation at the end.

use super::conditions::{is_elementwise, is_mergeable, untransposed};
use super::{Context, Template};
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::memo::{CloseStatus, TemplateType};

/// Conditions of the Cell template.
#[derive(Clone, Copy, Debug)]
pub struct CellTemplate;

/// `t(x) %*% y` of two columns: an aggregation over cells.
fn is_inner_product(context: &Context<'_>, id: HopId) -> bool {
    let hop = context.hop(id);
    hop.op == HopOp::MatMul
        && hop.size.is_single()
        && untransposed(context.dag, hop.inputs[0]).is_some_and(|left| context.hop(left).size.is_col_vector())
        && context.hop(hop.inputs[1]).size.is_col_vector()
}

fn is_aggregate(context: &Context<'_>, id: HopId) -> bool {
    let hop = context.hop(id);
    let HopOp::AggUnary(op, _) = hop.op else { return false };
    let input = context.hop(hop.inputs[0]);
    is_mergeable(op) && input.is_matrix() && input.size.cells().is_some_and(|cells| cells > 1)
}

impl Template for CellTemplate {
    fn ttype(&self) -> TemplateType {
        TemplateType::Cell
    }

    fn open(&self, context: &Context<'_>, hop: HopId) -> bool {
        is_elementwise(context.dag, hop)
    }

    fn fuse(&self, context: &Context<'_>, hop: HopId, input: HopId) -> bool {
        is_elementwise(context.dag, hop)
            || is_aggregate(context, hop)
            || is_inner_product(context, hop) && context.hop(hop).inputs[1] == input
    }

    fn merge(&self, context: &Context<'_>, hop: HopId, input: HopId) -> bool {
        self.fuse(context, hop, input)
    }

    fn close(&self, context: &Context<'_>, hop: HopId) -> CloseStatus {
        match context.hop(hop).op {
            HopOp::AggUnary(op, _) if is_mergeable(op) => CloseStatus::ClosedValid,
            HopOp::AggUnary(..) => CloseStatus::ClosedInvalid,
            HopOp::MatMul if is_inner_product(context, hop) => CloseStatus::ClosedValid,
            HopOp::MatMul => CloseStatus::ClosedInvalid,
            _ => CloseStatus::OpenValid,
        }
    }
}
