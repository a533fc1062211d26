//! The Row template: vector operations over the rows of a main input, with aggregations over rows and columns.

use super::{CellTemplate, Template};
use crate::cover::{Operator, needs_rows};
use crate::facts::{
    Context, CumulativeStep, aggregated_rows, aggregates_rows, is_cumulative_by_column, is_row_product,
    is_transpose_of_product, row_cumulative_step, transposed_product,
};
use crate::hops::{column_range, is_concatenation, is_elementwise, over_windows, single_column};
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::memo::{CloseStatus, TemplateType};
use fuseline_ir::ops::Direction;

/// Conditions of the Row template.
#[derive(Clone, Copy, Debug)]
pub struct RowTemplate;

/// An element-wise operation on operands of several rows, or these side by side.
fn extends_rows(context: &Context<'_>, hop: HopId, input: HopId) -> bool {
    let rows = context.hop(hop).size.rows;
    let by_rows = is_elementwise(context.dag, hop) || is_concatenation(context.dag, hop);
    by_rows && rows.is_some_and(|rows| rows > 1) && context.hop(input).size.rows == rows
}

impl Template for RowTemplate {
    fn ttype(&self) -> TemplateType {
        TemplateType::Row
    }

    fn open(&self, context: &Context<'_>, id: HopId) -> bool {
        let dag = context.dag;
        is_elementwise(dag, id) && dag[id].size.is_matrix()
            || is_row_product(context, id)
            || transposed_product(context, id).is_some()
            || is_transpose_of_product(context, id)
            || aggregates_rows(context, id) && !matches!(dag[id].op, HopOp::AggUnary(_, Direction::Full))
            || column_range(dag, id).is_some()
            || single_column(dag, id).is_some()
            || is_concatenation(dag, id)
            || over_windows(dag, id).is_some()
            || row_cumulative_step(context, id) == Some(CumulativeStep::Operand)
    }

    fn fuse(&self, context: &Context<'_>, id: HopId, input: HopId) -> bool {
        extends_rows(context, id, input)
            || aggregates_rows(context, id)
            || transposed_product(context, id).is_some()
            || is_row_product(context, id) && is_left_only(context, id, input)
            || has_images(context, id, input)
            || is_transpose_of_product(context, id)
            || row_cumulative_step(context, id).is_some()
            || is_cumulative_by_column(context, id)
    }

    fn merge(&self, context: &Context<'_>, id: HopId, input: HopId) -> bool {
        if let Some((left, right)) = transposed_product(context, id) {
            return input == context.hop(id).inputs[0]
                || input == right && (context.hop(right).size.is_col_vector() || context.uses(right, left));
        }
        extends_rows(context, id, input)
            || aggregates_rows(context, id)
            || is_row_product(context, id) && is_left_only(context, id, input)
            || has_images(context, id, input)
    }

    fn close(&self, context: &Context<'_>, id: HopId) -> CloseStatus {
        match context.hop(id).op {
            HopOp::AggUnary(_, Direction::Col | Direction::Full) => CloseStatus::ClosedValid,
            HopOp::MatMul if transposed_product(context, id).is_some() => CloseStatus::ClosedValid,
            HopOp::Cumulative(_) if is_cumulative_by_column(context, id) => CloseStatus::ClosedValid,
            HopOp::Reorg(_) | HopOp::Cumulative(_)
                if row_cumulative_step(context, id) != Some(CumulativeStep::Result) =>
            {
                CloseStatus::OpenInvalid
            }
            _ => CloseStatus::OpenValid,
        }
    }

    fn simpler(&self) -> Option<TemplateType> {
        Some(CellTemplate.ttype())
    }

    fn is_needed(&self, context: &Context<'_>, member: HopId, root: HopId) -> bool {
        needs_rows(context, member, root)
    }

    /// Of several roots each aggregates rows.
    fn ends_at(&self, context: &Context<'_>, operator: &Operator, root: HopId) -> bool {
        if operator.is_multi_aggregate() {
            aggregated_rows(context, root).is_some()
        } else {
            self.close(context, root).is_valid()
        }
    }

    fn has_common_space(&self, context: &Context<'_>, operator: &Operator) -> bool {
        !operator.is_multi_aggregate() || operator.common_rows(context).is_some()
    }

    fn main_input(&self, context: &Context<'_>, operator: &Operator) -> Option<HopId> {
        operator.main_input_by_row(context)
    }
}

/// Whether the rows of `input` are the images of a convolution or a pool, whose filters are read as a whole.
fn has_images(context: &Context<'_>, id: HopId, input: HopId) -> bool {
    context.hop(id).inputs.first() == Some(&input) && over_windows(context.dag, id).is_some()
}

/// Whether `input` is the left operand of a product and not its right one, which is read as a whole.
fn is_left_only(context: &Context<'_>, product: HopId, input: HopId) -> bool {
    let inputs = &context.hop(product).inputs;
    inputs[0] == input && inputs[1] != input
}
