//! The Cell template: element-wise operations over the cells of a main input, with an aggregation at the end.

use super::Template;
use super::conditions::{is_cell_aggregate, is_inner_product};
use crate::facts::Context;
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

    fn open(&self, context: &Context<'_>, hop: HopId) -> bool {
        let dag = context.dag;
        is_elementwise(dag, hop) || single_column(dag, hop).is_some() || literal_sequence(dag, hop).is_some()
    }

    fn fuse(&self, context: &Context<'_>, hop: HopId, input: HopId) -> bool {
        is_elementwise(context.dag, hop)
            || is_cell_aggregate(context, hop)
            || is_inner_product(context, hop)
            || is_column_transpose(context.dag, hop) && is_elementwise(context.dag, input)
    }

    fn merge(&self, context: &Context<'_>, hop: HopId, input: HopId) -> bool {
        self.fuse(context, hop, input)
    }

    fn close(&self, context: &Context<'_>, hop: HopId) -> CloseStatus {
        match context.hop(hop).op {
            HopOp::AggUnary(op, _) if op.merges() => CloseStatus::ClosedValid,
            HopOp::AggUnary(..) => CloseStatus::ClosedInvalid,
            HopOp::MatMul if is_inner_product(context, hop) => CloseStatus::ClosedValid,
            HopOp::MatMul => CloseStatus::ClosedInvalid,
            // By itself it would need the transposes of its inputs in place of one.
            HopOp::Reorg(_) => CloseStatus::OpenInvalid,
            _ => CloseStatus::OpenValid,
        }
    }
}
