//! The Row template: vector operations over the rows of a main input, with aggregations over rows and columns.

use super::Template;
use super::conditions::{
    CumulativeStep, is_row_product, is_transpose_of_product, row_cumulative_step, transposed_product,
};
use crate::facts::Context;
use crate::hops::{column_range, is_concatenation, is_elementwise, single_column};
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::memo::{CloseStatus, TemplateType};
use fuseline_ir::ops::Direction;

/// Conditions of the Row template.
#[derive(Clone, Copy, Debug)]
pub struct RowTemplate;

/// An aggregation of a matrix of several rows and columns that Row operators can do: everything along rows, what
/// merges along columns and over all cells.
fn is_aggregate(context: &Context<'_>, id: HopId) -> bool {
    let hop = context.hop(id);
    match hop.op {
        HopOp::AggUnary(_, Direction::Row) => context.hop(hop.inputs[0]).size.is_matrix(),
        HopOp::AggUnary(op, Direction::Col) => op.merges() && context.hop(hop.inputs[0]).size.is_matrix(),
        HopOp::AggUnary(op, Direction::Full) => {
            op.merges() && context.hop(hop.inputs[0]).size.rows.is_some_and(|rows| rows > 1)
        }
        _ => false,
    }
}

/// The rows that a Row operator which ends here aggregates; none if it has a value for each of them.
pub(crate) fn aggregated_rows(context: &Context<'_>, id: HopId) -> Option<u64> {
    let rows = |id: HopId| context.hop(id).size.known_dims().map(|(rows, _)| rows);
    if let Some((left, _)) = transposed_product(context, id) {
        return rows(left);
    }
    let hop = context.hop(id);
    let is_over_rows = matches!(hop.op, HopOp::AggUnary(_, Direction::Col | Direction::Full));
    if is_over_rows && is_aggregate(context, id) { rows(hop.inputs[0]) } else { None }
}

fn is_full_aggregate(context: &Context<'_>, id: HopId) -> bool {
    matches!(context.hop(id).op, HopOp::AggUnary(_, Direction::Full))
}

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

    fn open(&self, context: &Context<'_>, hop: HopId) -> bool {
        let dag = context.dag;
        is_elementwise(dag, hop) && dag[hop].size.is_matrix()
            || is_row_product(context, hop)
            || transposed_product(context, hop).is_some()
            || is_transpose_of_product(context, hop)
            || is_aggregate(context, hop) && !is_full_aggregate(context, hop)
            || column_range(dag, hop).is_some()
            || single_column(dag, hop).is_some()
            || is_concatenation(dag, hop)
            || row_cumulative_step(context, hop) == Some(CumulativeStep::Operand)
    }

    fn fuse(&self, context: &Context<'_>, hop: HopId, input: HopId) -> bool {
        extends_rows(context, hop, input)
            || is_aggregate(context, hop)
            || transposed_product(context, hop).is_some()
            || is_row_product(context, hop) && is_left_only(context, hop, input)
            || is_transpose_of_product(context, hop)
            || row_cumulative_step(context, hop).is_some()
    }

    fn merge(&self, context: &Context<'_>, hop: HopId, input: HopId) -> bool {
        if let Some((left, right)) = transposed_product(context, hop) {
            return input == context.hop(hop).inputs[0]
                || input == right && (context.hop(right).size.is_col_vector() || context.uses(right, left));
        }
        extends_rows(context, hop, input)
            || is_aggregate(context, hop)
            || is_row_product(context, hop) && is_left_only(context, hop, input)
    }

    fn close(&self, context: &Context<'_>, hop: HopId) -> CloseStatus {
        match context.hop(hop).op {
            HopOp::AggUnary(_, Direction::Col | Direction::Full) => CloseStatus::ClosedValid,
            HopOp::MatMul if transposed_product(context, hop).is_some() => CloseStatus::ClosedValid,
            HopOp::Reorg(_) | HopOp::Cumulative(_)
                if row_cumulative_step(context, hop) != Some(CumulativeStep::Result) =>
            {
                CloseStatus::OpenInvalid
            }
            _ => CloseStatus::OpenValid,
        }
    }
}

/// Whether `input` is the left operand of a product and not its right one, which is read as a whole.
fn is_left_only(context: &Context<'_>, hop: HopId, input: HopId) -> bool {
    let hop = context.hop(hop);
    hop.inputs[0] == input && hop.inputs[1] != input
}
