//! Operators over the rows of a sparse matrix: what goes by its non-zeros, and what is laid out for all columns.

use super::schedule::by_position;
use crate::cover::{ByPosition, Operator};
use crate::facts::{Context, cells, sparsity, stored_non_zeros, stored_rows};
use crate::hops::untransposed;
use fuseline_ir::hop::{HopId, HopOp};

/// The sparse main input of an operator over rows.
pub(super) struct SparseRows {
    main: HopId,
    /// The share of its cells that is stored; all where the operator needs all columns of its rows.
    pub(super) share: f64,
    /// What lies by position; none where rows are laid out for all columns.
    by_position: Option<ByPosition>,
}

impl SparseRows {
    /// The sparse rows of an operator that has any.
    pub(super) fn of(context: &Context<'_>, operator: &Operator) -> Option<SparseRows> {
        if operator.inputs.iter().all(|&id| stored_rows(context, id) == 0.0) {
            return None;
        }
        let main = operator.main_input(context)?;
        let by_position = by_position(context, operator, main);
        let share = if by_position.is_some() { sparsity(context, main) } else { 1.0 };
        Some(SparseRows { main, share, by_position })
    }

    /// Whether a member is computed for each non-zero.
    pub(super) fn lies_by_position(&self, id: HopId) -> bool {
        self.by_position.as_ref().is_some_and(|found| found.contains(id))
    }

    /// Whether a value has the non-zeros of this input: it is computed of those of the main one.
    pub(super) fn continues(&self, input: HopId, id: HopId) -> bool {
        input == self.main && self.lies_by_position(id)
    }

    /// The share of the operations of a member on all cells that it does: what takes non-zeros in does no others.
    pub(super) fn share_of(&self, context: &Context<'_>, id: HopId) -> f64 {
        let hop = context.hop(id);
        let read = |input: HopId| untransposed(context.dag, input).unwrap_or(input);
        let by_position = |input: HopId| input == self.main || self.lies_by_position(input);
        let takes = matches!(hop.op, HopOp::MatMul | HopOp::AggUnary(..) | HopOp::Reorg(_));
        if takes && hop.inputs.iter().any(|&input| by_position(read(input))) { self.share } else { 1.0 }
    }

    /// The share of an input that is read: of a dense one that is read by position the cells there.
    pub(super) fn share_read(&self, context: &Context<'_>, id: HopId) -> f64 {
        let by_position = self.by_position.as_ref().is_some_and(|found| found.inputs.binary_search(&id).is_ok());
        if by_position && sparsity(context, id) == 1.0 { self.share } else { 1.0 }
    }

    /// The cells of an input that are fetched one by one, for the non-zeros.
    pub(super) fn gathers(&self, context: &Context<'_>, operator: &Operator, id: HopId) -> f64 {
        let Some(found) = &self.by_position else { return 0.0 };
        let hop = context.hop(id);
        let main = context.hop(self.main).size;
        let has_columns = hop.size.cols == main.cols && main.cols != Some(1) && sparsity(context, id) == 1.0;
        let is_read = || found.members.iter().any(|&member| context.hop(member).inputs.contains(&id));
        let fetches = hop.is_matrix() && id != self.main && has_columns && operator.inputs.contains(&id) && is_read();
        if fetches { stored_non_zeros(context, self.main) } else { 0.0 }
    }

    /// The cells of sparse rows that are laid out for all columns.
    pub(super) fn scattered_cells(&self, context: &Context<'_>, operator: &Operator) -> f64 {
        let rows = context.hop(self.main).size.rows;
        let is_scattered = |id: &HopId| {
            let goes_by_position = self.by_position.is_some() && *id == self.main || self.lies_by_position(*id);
            stored_rows(context, *id) > 0.0 && context.hop(*id).size.rows == rows && !goes_by_position
        };
        operator.inputs.iter().copied().filter(is_scattered).map(|id| cells(&context.hop(id).size)).sum()
    }
}
