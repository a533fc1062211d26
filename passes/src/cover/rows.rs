//! Operators over rows: the matrix whose rows they bind, and which members only they have.

use super::{ByPosition, Operator};
use crate::facts::{Context, aggregated_rows, is_cumulative_by_column, sparsity, transposed_product};
use crate::hops::{inputs_by_row, is_column_transpose, over_windows, single_column};
use fuseline_ir::hop::{HopId, HopOp, NaryOp};
use fuseline_ir::ops::Direction;
use smallvec::SmallVec;
use std::cmp::Reverse;

/// Whether only a Row operator can do this inside of a chain, wherever the chain ends.
pub(crate) fn is_row_operation(context: &Context<'_>, id: HopId) -> bool {
    match context.hop(id).op {
        HopOp::MatMul | HopOp::Reorg(_) | HopOp::Index | HopOp::Nary(NaryOp::Cbind) => true,
        HopOp::Cumulative(_) => !is_cumulative_by_column(context, id),
        HopOp::Parameterized { .. } => over_windows(context.dag, id).is_some(),
        _ => false,
    }
}

/// Whether an operator aggregates along rows.
pub(crate) fn is_row_aggregate(context: &Context<'_>, id: HopId) -> bool {
    matches!(context.hop(id).op, HopOp::AggUnary(_, Direction::Row))
}

/// Whether a member of an operator with this root needs rows: a product, a transpose, a range of columns, columns side
/// by side, a convolution or a pool, a row aggregate inside of the operator, or one that does not merge.
pub(crate) fn needs_rows(context: &Context<'_>, member: HopId, root: HopId) -> bool {
    is_row_operation(context, member) && single_column(context.dag, member).is_none()
        || is_row_aggregate(context, member) && member != root
        || matches!(context.hop(member).op, HopOp::AggUnary(op, _) if !op.merges())
}

impl Operator {
    /// The matrix whose rows an operator binds: a sparse one whose non-zeros are all that it needs of it, the widest and then
    /// the sparsest of these, else the wider factor of a final product over rows, else the left of a product that is no wider,
    /// else the largest matrix that is read row by row, else the narrower factor, else the left of another product, else the
    /// largest of which columns are read. Final products over rows need one with which a factor of each is as long as its rows.
    pub(crate) fn main_input_by_row(&self, context: &Context<'_>) -> Option<HopId> {
        // A column as a row is the same for all rows, but its cells belong to different ones.
        if self.members.iter().any(|&id| is_column_transpose(context.dag, id)) {
            return None;
        }
        let search = MainByRow { context, operator: self, rows: self.rows(context) };
        if let Some((main, _)) = self.sparse_rows(context) {
            return Some(main);
        }
        let fits = |id: &HopId| search.is_bindable(*id) && search.suits(*id);
        let preferred = search.wider_factors().chain(search.wide_lefts()).find(fits);
        let by_row = preferred.or_else(|| search.largest_by_row());
        let by_row = by_row.or_else(|| search.factors().chain(search.lefts()).find(fits));
        by_row.or_else(|| search.largest_by_column())
    }

    /// The sparsest matrix that is read by row, of those whose non-zeros are all that the operator needs of it, or else of those
    /// of which it lays out what was computed at non-zeros, with what lies by position then.
    pub(crate) fn sparse_rows(&self, context: &Context<'_>) -> Option<(HopId, ByPosition)> {
        let is_sparse = |&id: &HopId| sparsity(context, id) < 1.0;
        if !self.inputs.iter().any(is_sparse) {
            return None;
        }
        let search = MainByRow { context, operator: self, rows: self.rows(context) };
        let read_by_row = search.factors().chain(search.lefts()).chain(search.read_by_row());
        let is_main = |id: &HopId| is_sparse(id) && search.is_bindable(*id) && search.suits(*id);
        let mut sparse: SmallVec<[HopId; 8]> = read_by_row.filter(is_main).collect();
        sparse.sort_by(|&one, &other| {
            let widest = context.hop(other).size.cols.cmp(&context.hop(one).size.cols);
            widest.then(sparsity(context, one).total_cmp(&sparsity(context, other))).then(one.cmp(&other))
        });
        sparse.dedup();
        let find = |find: fn(&Self, &Context<'_>, HopId) -> Option<ByPosition>| {
            sparse.iter().find_map(|&id| Some((id, find(self, context, id)?)))
        };
        find(Operator::by_position).or_else(|| find(Operator::laid_out))
    }

    /// The rows that an operator goes through, which ends in its first root; none where they are unknown.
    fn rows(&self, context: &Context<'_>) -> Option<u64> {
        let root = context.hop(self.root());
        match (transposed_product(context, self.root()), &root.op) {
            (Some((left, _)), _) => context.hop(left).size.rows,
            (None, HopOp::AggUnary(..)) => context.hop(root.inputs[0]).size.rows,
            (None, _) => root.size.rows,
        }
    }

    /// The rows that all roots aggregate; none where one has a value for each row, or aggregates others.
    pub(crate) fn common_rows(&self, context: &Context<'_>) -> Option<u64> {
        let mut rows = self.roots.iter().map(|&root| aggregated_rows(context, root));
        let first = rows.next()??;
        rows.all(|rows| rows == Some(first)).then_some(first)
    }
}

/// The search for a matrix that has so many rows, in the order of preference.
struct MainByRow<'a> {
    context: &'a Context<'a>,
    operator: &'a Operator,
    rows: Option<u64>,
}

impl<'a> MainByRow<'a> {
    /// The factors of the roots that are sums over rows.
    fn final_products(&self) -> impl Iterator<Item = (HopId, HopId)> + use<'a> {
        let context = self.context;
        self.operator.roots.iter().filter_map(move |&root| transposed_product(context, root))
    }

    /// All of them, product by product.
    fn factors(&self) -> impl Iterator<Item = HopId> + use<'a> {
        self.final_products().flat_map(|(left, right)| [left, right])
    }

    /// The wider one of each, or both. Beside the rows of the narrower one, those of the other would be multiplied value by value,
    /// each with a few.
    fn wider_factors(&self) -> impl Iterator<Item = HopId> + use<'a> {
        let context = self.context;
        let cols = move |id: HopId| context.hop(id).size.cols;
        self.final_products().flat_map(move |(left, right)| {
            [(left, right), (right, left)]
                .into_iter()
                .filter(move |&(one, other)| cols(one) >= cols(other))
                .map(|(one, _)| one)
        })
    }

    /// The left operands of products.
    fn lefts(&self) -> impl Iterator<Item = HopId> + use<'a> {
        self.factored().map(|(_, left)| left)
    }

    /// The left operands that are wider than their products.
    fn wide_lefts(&self) -> impl Iterator<Item = HopId> + use<'a> {
        let context = self.context;
        let cols = move |id: HopId| context.hop(id).size.cols;
        self.factored().filter(move |&(product, left)| cols(left) > cols(product)).map(|(_, left)| left)
    }

    /// Products, each with its left operand.
    fn factored(&self) -> impl Iterator<Item = (HopId, HopId)> + use<'a> {
        let context = self.context;
        self.members_with(|op| *op == HopOp::MatMul).map(move |id| (id, context.hop(id).inputs[0]))
    }

    fn members_with(&self, condition: fn(&HopOp) -> bool) -> impl Iterator<Item = HopId> + use<'a> {
        let context = self.context;
        self.operator.members.iter().copied().filter(move |&id| condition(&context.hop(id).op))
    }

    fn is_bindable(&self, id: HopId) -> bool {
        let size = &self.context.hop(id).size;
        size.rows == self.rows && size.is_matrix() && !self.operator.covers(id)
    }

    /// Whether each final product has a factor that is as long as the rows of this main input.
    fn suits(&self, main: HopId) -> bool {
        let mut products = self.final_products().filter(|&(left, right)| left != main && right != main).peekable();
        if products.peek().is_none() {
            return true;
        }
        let long = self.as_long_as(main);
        products.all(|(left, right)| [left, right].iter().any(|id| long.binary_search(id).is_ok()))
    }

    /// The members whose rows are known to be as long as those of a main input, ascending.
    fn as_long_as(&self, main: HopId) -> SmallVec<[HopId; 16]> {
        let mut long: SmallVec<[HopId; 16]> = SmallVec::new();
        for &id in &self.operator.members {
            let hop = self.context.hop(id);
            if self.context.operation(id).keeps_length
                && hop.inputs.iter().any(|&input| input == main || long.binary_search(&input).is_ok())
            {
                long.push(id);
            }
        }
        long
    }

    /// What is read row by row by others than products.
    fn read_by_row(&self) -> impl Iterator<Item = HopId> + use<'a> {
        let context = self.context;
        let readers = self.members_with(|op| !matches!(op, HopOp::MatMul | HopOp::Index));
        readers.flat_map(move |id| inputs_by_row(context.dag, id).iter().copied())
    }

    fn largest_by_row(&self) -> Option<HopId> {
        self.largest(self.read_by_row())
    }

    fn largest_by_column(&self) -> Option<HopId> {
        self.largest(self.members_with(|op| *op == HopOp::Index).map(|id| self.context.hop(id).inputs[0]))
    }

    /// The largest of these that suits, of equally large ones the first.
    fn largest(&self, ids: impl Iterator<Item = HopId>) -> Option<HopId> {
        let mut ids: SmallVec<[HopId; 8]> = ids.filter(|&id| self.is_bindable(id)).collect();
        ids.sort_by_key(|&id| (Reverse(self.context.hop(id).size.cells()), id));
        ids.into_iter().find(|&id| self.suits(id))
    }
}
