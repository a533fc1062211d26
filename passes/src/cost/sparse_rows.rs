//! Operators over the rows of a sparse matrix: what goes by its non-zeros, and what is laid out for all columns.

use super::outer::TRANSFERS_OF_SUMS;
use super::product::{Passes, lines_of_wide_rows, passes};
use super::work::{JOINED_ROW_START, MET_ROW_START, Work, share_of_merge};
use crate::cover::{ByPosition, Operator};
use crate::facts::{Context, bytes_of, cells, sparsity, stored_non_zeros, stored_rows};
use crate::hops::untransposed;
use fuseline_ir::hop::{HopId, HopOp};

/// The sparse rows of an operator.
pub(super) struct SparseRows {
    /// The main input that is visited at its non-zeros, with what lies by position; none where rows are laid out for all columns.
    pub(super) main: Option<(HopId, ByPosition)>,
    /// The share of its cells that is visited: those that are stored, of it or of what is joined with it; all where rows are
    /// laid out.
    pub(super) share: f64,
}

impl SparseRows {
    /// The sparse rows of an operator that reads sparse matrices.
    pub(super) fn of(context: &Context<'_>, operator: &Operator) -> Option<SparseRows> {
        if operator.inputs.iter().all(|&id| stored_rows(context, id) == 0.0) {
            return None;
        }
        let main = operator.sparse_rows(context);
        let share = main.as_ref().map_or(1.0, |(main, found)| {
            let joined: f64 = found.joined.iter().map(|&id| sparsity(context, id)).sum();
            (sparsity(context, *main) + joined).min(1.0)
        });
        Some(SparseRows { main, share })
    }

    fn is_main(&self, id: HopId) -> bool {
        self.main.as_ref().is_some_and(|(main, _)| *main == id)
    }

    /// Whether a member is computed for each non-zero.
    pub(super) fn lies_by_position(&self, id: HopId) -> bool {
        self.main.as_ref().is_some_and(|(_, found)| found.contains(id))
    }

    /// Whether a value has the non-zeros of this input: it is computed of those of the main one.
    pub(super) fn continues(&self, input: HopId, id: HopId) -> bool {
        self.is_main(input) && self.lies_by_position(id)
    }

    /// The share of the operations of a member on all cells that it does: what takes non-zeros in does no others.
    pub(super) fn share_of(&self, context: &Context<'_>, id: HopId) -> f64 {
        let hop = context.hop(id);
        let read = |input: HopId| untransposed(context.dag, input).unwrap_or(input);
        let by_position = |input: HopId| self.is_main(input) || self.lies_by_position(input);
        let takes = matches!(hop.op, HopOp::MatMul | HopOp::AggUnary(..) | HopOp::Reorg(_));
        if takes && hop.inputs.iter().any(|&input| by_position(read(input))) { self.share } else { 1.0 }
    }

    /// Counts what it takes to combine the rows of several sparse matrices.
    pub(super) fn count_combined(&self, context: &Context<'_>, operator: &Operator, work: &mut Work) {
        let Some((main, found)) = &self.main else { return };
        let is_looked_up = |id: &HopId| id != main && !found.joined.contains(id);
        let is_sparse = |id: &HopId| stored_rows(context, *id) > 0.0;
        let looked_up = || found.inputs.iter().copied().filter(is_looked_up);
        let count = |ids: &mut dyn Iterator<Item = HopId>| ids.map(|id| stored_non_zeros(context, id)).sum::<f64>();
        let walked = || [*main].into_iter().chain(found.joined.iter().copied()).chain(looked_up().filter(is_sparse));
        if walked().count() < 2 {
            return;
        }
        let rows: f64 = walked().map(|id| stored_rows(context, id)).sum();
        if found.joined.is_empty() {
            work.met = count(&mut walked());
            work.combined_rows = MET_ROW_START * rows;
        } else {
            let stores = operator.roots.iter().any(|&root| self.lies_by_position(root));
            let is_ordered = stores || looked_up().next().is_some();
            let share = share_of_merge(is_ordered, &context.hop(*main).size);
            work.joined = share * count(&mut [*main].into_iter().chain(found.joined.iter().copied()));
            work.met = count(&mut looked_up().filter(is_sparse));
            work.combined_rows = JOINED_ROW_START * rows;
        }
    }

    /// The share of an input that is read: of a dense one that is read by position the cells there.
    pub(super) fn share_read(&self, context: &Context<'_>, id: HopId) -> f64 {
        let by_position = self.main.as_ref().is_some_and(|(_, found)| found.inputs.binary_search(&id).is_ok());
        if by_position && sparsity(context, id) == 1.0 { self.share } else { 1.0 }
    }

    /// The cells of an input that are fetched one by one, for the non-zeros.
    pub(super) fn gathers(&self, context: &Context<'_>, id: HopId) -> f64 {
        let Some((main_id, found)) = &self.main else { return 0.0 };
        let hop = context.hop(id);
        let main = context.hop(*main_id).size;
        let has_columns = hop.size.cols == main.cols && main.cols != Some(1) && sparsity(context, id) == 1.0;
        let is_read = || found.members.iter().any(|&member| context.hop(member).inputs.contains(&id));
        let fetches = hop.is_matrix() && id != *main_id && has_columns && is_read();
        if fetches { self.share * cells(&main) } else { 0.0 }
    }

    /// The cache lines that products with the non-zeros fetch of what has a row for each column, which are as many as they are
    /// far apart: rows of a wide right side, and those of the sums of `t(X) %*% B`, which are written, too. With the bytes of
    /// the largest of these.
    pub(super) fn lines(&self, context: &Context<'_>, operator: &Operator) -> (f64, f64) {
        let Some((main, _)) = self.main else { return (0.0, 0.0) };
        let visited = self.share * cells(&context.hop(main).size);
        let by_position = |passes: &Passes| self.is_main(passes.rows_of) || self.lies_by_position(passes.rows_of);
        let products = operator.members.iter().filter_map(|&id| passes(context, id)).filter(by_position);
        products.fold((0.0, 0.0), |(lines, bytes), Passes { through, is_sum, .. }| {
            let transfers = if is_sum { TRANSFERS_OF_SUMS } else { 1.0 };
            match transfers * visited * lines_of_wide_rows(context, through) {
                0.0 => (lines, bytes),
                own => (lines + own, bytes.max(bytes_of(context, through))),
            }
        })
    }

    /// The cells of sparse rows that are laid out for all columns.
    pub(super) fn scattered_cells(&self, context: &Context<'_>, operator: &Operator) -> f64 {
        let has_columns = |id: HopId| context.hop(id).size.cols.is_some_and(|cols| cols > 1);
        let is_scattered = |&id: &HopId| {
            stored_rows(context, id) > 0.0 && has_columns(id) && !self.is_main(id) && !self.lies_by_position(id)
        };
        operator.inputs.iter().copied().filter(is_scattered).map(|id| cells(&context.hop(id).size)).sum()
    }
}
