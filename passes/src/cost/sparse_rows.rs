//! Operators over the rows of a sparse matrix: what goes by its non-zeros, and what is laid out for all columns.

use super::outer::TRANSFERS_OF_SUMS;
use super::product::{Passes, lines_of, lines_of_row, passes};
use super::schedule::Scheduled;
use super::vectors::Vectors;
use super::work::{JOINED_ROW_START, MET_ROW_START, Work, is_column_aggregate, share_of_merge};
use crate::cover::{ByPosition, Hops, Operator};
use crate::facts::{Context, bytes_of, cells, sparsity, stored_non_zeros, stored_rows};
use crate::hops::read_as;
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::work::PASSED_FOR_SEARCH;

/// What passing over a row without non-zeros costs, relative to beginning one: its offsets are looked at. Set on one machine.
const EMPTY_ROW: f64 = 0.125;

/// The share of rows with non-zeros, where they were spread evenly, below which it matters that the others are left out.
const FEW_OCCUPIED: f64 = 0.5;

/// The share of the rows of a sparse matrix that have non-zeros, of which each has one where they are fewer than rows.
fn occupied_share(context: &Context<'_>, main: HopId) -> f64 {
    (stored_non_zeros(context, main) / stored_rows(context, main).max(1.0)).min(1.0)
}

/// The beginnings of rows that an operator pays for each row of the matrix at whose non-zeros it goes: some of its rows may have none.
pub(super) fn begun_share(context: &Context<'_>, main: HopId) -> f64 {
    let occupied = occupied_share(context, main);
    occupied + EMPTY_ROW * (1.0 - occupied)
}

/// The share of the rows of the matrix at whose non-zeros an operator goes that have some, and none is computed for others.
fn visited_rows(context: &Context<'_>, operator: &Operator, main: HopId) -> f64 {
    let occupied = occupied_share(context, main);
    let leaves_out = || Scheduled::of(context, operator).is_some_and(|scheduled| scheduled.schedule.skips_empty_rows);
    if occupied < FEW_OCCUPIED && leaves_out() { occupied } else { 1.0 }
}

/// The sparse rows of an operator.
pub(super) struct SparseRows {
    /// The main input that is visited at its non-zeros, with what lies by position; none where rows are laid out for all columns.
    pub(super) main: Option<(HopId, ByPosition)>,
    /// The share of its cells that is visited: those that are stored, of it or of what is joined with it; all where rows are
    /// laid out.
    pub(super) share: f64,
    /// The share of the rows of the main input that is visited.
    visited_rows: f64,
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
        let visited_rows = main.as_ref().map_or(1.0, |(main, _)| visited_rows(context, operator, *main));
        Some(SparseRows { main, share, visited_rows })
    }

    fn is_main(&self, id: HopId) -> bool {
        self.main.as_ref().is_some_and(|(main, _)| *main == id)
    }

    /// Whether a member is computed for each non-zero.
    pub(super) fn lies_by_position(&self, id: HopId) -> bool {
        self.main.as_ref().is_some_and(|(_, found)| found.contains(id))
    }

    /// Whether the rows of a matrix, read or computed, are lists of non-zeros.
    fn stays_sparse(&self, id: HopId) -> bool {
        self.is_main(id) || self.lies_by_position(id)
    }

    /// Whether a member takes values that lie by position as they lie, if it reads any.
    fn takes(&self, member: HopId) -> bool {
        self.main.as_ref().is_none_or(|(_, found)| found.takes(member))
    }

    /// Whether a member walks through the non-zeros of an input where it reads this value: the input itself, or what is
    /// computed of the main one's.
    pub(super) fn walks_through(&self, input: HopId, member: HopId, value: HopId) -> bool {
        if self.is_main(input) { self.takes_sparse(member, value) } else { value == input }
    }

    /// Whether a member takes the non-zeros of a value's rows alone.
    pub(super) fn takes_sparse(&self, member: HopId, value: HopId) -> bool {
        self.stays_sparse(value) && self.takes(member)
    }

    /// The share of the operations of a member on all cells that it does: what is computed for non-zeros, or takes them in,
    /// does no others, and nothing else is computed for rows that are left out.
    pub(super) fn share_of(&self, context: &Context<'_>, id: HopId) -> f64 {
        if self.lies_by_position(id) {
            return self.share_of_value(context, id);
        }
        let hop = context.hop(id);
        if !self.takes(id) || !matches!(hop.op, HopOp::MatMul | HopOp::AggUnary(..) | HopOp::Reorg(_)) {
            return self.visited_rows;
        }
        let read = hop.inputs.iter().flat_map(|&input| read_as(context.dag, input));
        let taken = read.filter(|&input| self.stays_sparse(input));
        taken.map(|input| self.share_of_value(context, input)).reduce(f64::max).unwrap_or(self.visited_rows)
    }

    /// The share of the cells of a value by position: where rows meet, that of what is left of them.
    fn share_of_value(&self, context: &Context<'_>, id: HopId) -> f64 {
        self.share.min(sparsity(context, id))
    }

    /// The beginnings of rows that are paid for each row of the sparse matrices.
    pub(super) fn begun_share(&self, context: &Context<'_>) -> f64 {
        match &self.main {
            // Of joined rows any may have non-zeros.
            Some((main, found)) if found.joined.is_empty() => begun_share(context, *main),
            _ => 1.0,
        }
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
            work.combined_rows = MET_ROW_START * rows * begun_share(context, *main);
        } else {
            let stores = operator.roots.iter().any(|&root| self.lies_by_position(root));
            let is_ordered = stores || looked_up().next().is_some();
            let share = share_of_merge(is_ordered, &context.hop(*main).size);
            let joined = count(&mut [*main].into_iter().chain(found.joined.iter().copied()));
            work.joined = share * joined;
            // Rows that are much longer than what is joined are searched for it.
            let searched = PASSED_FOR_SEARCH as f64 * joined;
            work.met = looked_up().filter(is_sparse).map(|id| stored_non_zeros(context, id).min(searched)).sum();
            work.combined_rows = JOINED_ROW_START * rows;
        }
    }

    /// Counts what it takes to give values of rows to the non-zeros: those that members by position read.
    pub(super) fn count_spread(&self, context: &Context<'_>, operator: &Operator, work: &mut Work) {
        let Some((main, found)) = &self.main else { return };
        let size = &context.hop(*main).size;
        let by_position = operator.members.iter().filter(|&&id| found.contains(id));
        let read: Hops = by_position.flat_map(|&id| context.hop(id).inputs.iter().copied()).collect();
        let rows = stored_rows(context, *main) * self.begun_share(context);
        work.count_spread(Vectors::of(context, operator).of_rows(read, size), self.visited(context), rows);
    }

    /// The share of an input that is read: of a dense one that is read by position the cells there, of others the rows that are
    /// visited.
    pub(super) fn share_read(&self, context: &Context<'_>, id: HopId) -> f64 {
        let Some((main, found)) = &self.main else { return 1.0 };
        let by_position = found.inputs.binary_search(&id).is_ok();
        if by_position && sparsity(context, id) == 1.0 {
            return self.share;
        }
        let is_read_by_row = id != *main && context.hop(id).size.rows == context.hop(*main).size.rows;
        if is_read_by_row { self.visited_rows } else { 1.0 }
    }

    /// The cells of an input that are fetched one by one, for the non-zeros.
    pub(super) fn gathers(&self, context: &Context<'_>, operator: &Operator, id: HopId) -> f64 {
        self.beside(context, operator, id, |main| context.hop(id).size.same_dims(main))
    }

    /// The cache lines of an input that are fetched one by one, for the non-zeros: of a row vector that lies by position, and
    /// of the right sides of products.
    pub(super) fn lines_read(&self, context: &Context<'_>, operator: &Operator, id: HopId) -> f64 {
        let vectors = Vectors::of(context, operator);
        let of_vector = self.beside(context, operator, id, |main| vectors.belongs_to_columns(id, main));
        let is_right = |through: HopId| read_as(context.dag, through).any(|read| read == id);
        let rights = self.passes(context, operator).filter(|passes| !passes.is_sum && is_right(passes.through));
        let lines: f64 = rights.map(|passes| lines_of_row(context, passes.through)).sum();
        of_vector + lines * self.visited(context)
    }

    /// The cache lines of sums that the non-zeros add to, which are read and written, with the bytes of these sums: of
    /// `t(X) %*% B` and `t(B) %*% X` those of a row of B, and of sums by column one.
    pub(super) fn lines_added_to(&self, context: &Context<'_>, operator: &Operator) -> (f64, f64) {
        let sums = operator.members.iter().filter_map(|&id| Some((id, self.lines_of_sum(context, id)?)));
        sums.fold((0.0, 0.0), |(lines, bytes), (id, own)| {
            let own = TRANSFERS_OF_SUMS * self.visited(context) * own;
            (lines + own, bytes + bytes_of(context, id))
        })
    }

    /// The cache lines that a non-zero adds to, where a member sums up what lies by position.
    fn lines_of_sum(&self, context: &Context<'_>, id: HopId) -> Option<f64> {
        let by_position = |input: HopId| self.takes_sparse(id, input);
        let inputs = &context.hop(id).inputs;
        if is_column_aggregate(context, id) {
            return by_position(inputs[0]).then_some(1.0);
        }
        let left = passes(context, id).filter(|passes| passes.is_sum)?.rows_of;
        let other = if by_position(left) { inputs[1] } else { left };
        // Sums are dense, however few non-zeros B has.
        let lines = || context.hop(other).size.cols.map_or(0.0, lines_of);
        (by_position(left) || by_position(inputs[1])).then(lines)
    }

    /// The non-zeros that are visited.
    fn visited(&self, context: &Context<'_>) -> f64 {
        self.main.as_ref().map_or(0.0, |(main, _)| self.share * cells(&context.hop(*main).size))
    }

    /// What the products of non-zeros go through.
    fn passes<'o>(&'o self, context: &'o Context<'_>, operator: &'o Operator) -> impl Iterator<Item = Passes> + 'o {
        let by_position = |&id| passes(context, id).filter(|passes: &Passes| self.takes_sparse(id, passes.rows_of));
        operator.members.iter().filter_map(by_position)
    }

    /// The non-zeros beside which a dense input that belongs to cells of the main input's size is read by position.
    fn beside(
        &self,
        context: &Context<'_>,
        operator: &Operator,
        id: HopId,
        belongs: impl Fn(&SizeInfo) -> bool,
    ) -> f64 {
        let Some((main, found)) = &self.main else { return 0.0 };
        let size = context.hop(*main).size;
        let is_dense_side = context.hop(id).is_matrix() && id != *main && sparsity(context, id) == 1.0;
        if !is_dense_side || size.cols == Some(1) || !belongs(&size) {
            return 0.0;
        }
        let mut read = Hops::new();
        for &member in operator.members.iter().rev() {
            if found.contains(member) || read.contains(&member) {
                read.extend_from_slice(&context.hop(member).inputs);
            }
        }
        if read.contains(&id) { self.visited(context) } else { 0.0 }
    }

    /// The cells of sparse rows that are laid out for all columns, and of what is computed of these by position.
    pub(super) fn scattered_cells(&self, context: &Context<'_>, operator: &Operator) -> f64 {
        self.visited_rows * self.scattered(context, operator).map(|id| cells(&context.hop(id).size)).sum::<f64>()
    }

    /// The values by position, inputs or computed, whose rows are laid out for all columns.
    pub(super) fn scattered<'o>(
        &'o self,
        context: &'o Context<'_>,
        operator: &'o Operator,
    ) -> impl Iterator<Item = HopId> + 'o {
        let is_scattered = |&id: &HopId| {
            let has_columns = context.hop(id).size.cols.is_some_and(|cols| cols > 1);
            stored_rows(context, id) > 0.0 && has_columns && !self.stays_sparse(id)
        };
        let inputs = operator.inputs.iter().copied().filter(is_scattered);
        inputs.chain(self.main.iter().flat_map(|(_, found)| found.laid_out.iter().copied()))
    }

    /// The results that are computed for all columns and stored sparse.
    pub(super) fn compacted<'o>(
        &'o self,
        context: &'o Context<'_>,
        operator: &'o Operator,
    ) -> impl Iterator<Item = HopId> + 'o {
        let is_compacted = |id: &HopId| stored_rows(context, *id) > 0.0 && !self.lies_by_position(*id);
        operator.roots.iter().copied().filter(is_compacted)
    }

    /// Whether rows that are computed for all columns, those of products, are looked up at the non-zeros.
    pub(super) fn looks_up(&self, context: &Context<'_>, operator: &Operator) -> bool {
        let Some((main, found)) = &self.main else { return false };
        let cols = context.hop(*main).size.cols;
        let is_whole = |id: &HopId| {
            let hop = context.hop(*id);
            hop.op == HopOp::MatMul && hop.size.cols == cols && cols != Some(1) && !found.contains(*id)
        };
        let by_position = operator.members.iter().filter(|&&member| found.contains(member));
        by_position.flat_map(|&member| &context.hop(member).inputs).any(|id| operator.covers(*id) && is_whole(id))
    }
}
