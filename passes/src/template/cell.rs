//! The Cell template: element-wise operations over the cells of a main input, with an aggregation at the end.

use super::Template;
use crate::facts::{Context, is_cell_aggregate, is_cumulative_by_column, is_inner_product};
use crate::hops::{is_column_transpose, is_elementwise, literal_sequence, single_column};
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::memo::{CloseStatus, TemplateType};

/// Conditions of the Cell template.
#[derive(Clone, Copy, Debug)]
pub struct CellTemplate;

impl Template for CellTemplate {
    fn ttype(&self) -> TemplateType {
        TemplateType::Cell
    }

    fn open(&self, context: &Context<'_>, id: HopId) -> bool {
        let dag = context.dag;
        is_elementwise(dag, id) || single_column(dag, id).is_some() || literal_sequence(dag, id).is_some()
    }

    fn fuse(&self, context: &Context<'_>, id: HopId, input: HopId) -> bool {
        is_elementwise(context.dag, id)
            || is_cell_aggregate(context, id)
            || is_cumulative_by_column(context, id)
            || is_inner_product(context, id)
            || is_column_transpose(context.dag, id) && is_elementwise(context.dag, input)
    }

    fn merge(&self, context: &Context<'_>, id: HopId, input: HopId) -> bool {
        self.fuse(context, id, input)
    }

    fn close(&self, context: &Context<'_>, id: HopId) -> CloseStatus {
        match context.hop(id).op {
            HopOp::AggUnary(op, _) if op.merges() => CloseStatus::ClosedValid,
            HopOp::AggUnary(..) => CloseStatus::ClosedInvalid,
            HopOp::Cumulative(_) => CloseStatus::ClosedValid,
            HopOp::MatMul if is_inner_product(context, id) => CloseStatus::ClosedValid,
            HopOp::MatMul => CloseStatus::ClosedInvalid,
            // By itself it would need the transposes of its inputs in place of one.
            HopOp::Reorg(_) => CloseStatus::OpenInvalid,
            _ => CloseStatus::OpenValid,
        }
    }
}
