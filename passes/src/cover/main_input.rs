//! Whether a fused operator has an input to be its main one, and which that is over rows.

use super::Operator;
use super::driver::{inputs_by_cell, iteration_space, sparse_driver};
use super::work::needs_rows;
use crate::facts::Context;
use crate::hops::{is_column_transpose, is_elementwise, untransposed};
use crate::template::{is_inner_product, transposed_product};
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::memo::TemplateType;
use smallvec::SmallVec;

/// The operator if it can be constructed, as a Cell operator where that does a Row operator's work.
pub(crate) fn constructible(context: &Context<'_>, mut operator: Operator) -> Option<Operator> {
    if operator.template == Some(TemplateType::Row) && !needs_rows(context, &operator.members, operator.root()) {
        operator.template = Some(TemplateType::Cell);
        if is_constructible(context, &operator) {
            return Some(operator);
        }
        operator.template = Some(TemplateType::Row);
    }
    is_constructible(context, &operator).then_some(operator)
}

/// Whether the inputs of a fused operator are such that it has a plan: there is one to be the main input.
pub(crate) fn is_constructible(context: &Context<'_>, operator: &Operator) -> bool {
    match operator.template {
        None => true,
        Some(TemplateType::Row) => has_common_rows(context, &operator.members, &operator.roots),
        Some(_) => has_main(context, operator),
    }
}

/// Whether an operator over rows with these roots has an input to be its main one.
pub(crate) fn has_common_rows(context: &Context<'_>, members: &[HopId], roots: &[HopId]) -> bool {
    main_input(context, members, roots).is_some()
}

/// The matrix whose rows the operator binds: a factor of a final product over rows, else the left of a product, else
/// the largest matrix that is read row by row, else the largest of which columns are read. Final products over rows
/// need one with which a factor of each is as long as its rows.
pub(crate) fn main_input(context: &Context<'_>, members: &[HopId], roots: &[HopId]) -> Option<HopId> {
    // A column as a row is the same for all rows, but its cells belong to different ones.
    if members.iter().any(|&id| is_column_transpose(context.dag, id)) {
        return None;
    }
    let final_products = || roots.iter().filter_map(|&root| transposed_product(context, root));
    let root = context.hop(roots[0]);
    let rows = match (transposed_product(context, roots[0]), &root.op) {
        (Some((left, _)), _) => context.hop(left).size.rows,
        (None, HopOp::AggUnary(..)) => context.hop(root.inputs[0]).size.rows,
        (None, _) => root.size.rows,
    };
    let is_bindable = |&id: &HopId| {
        let size = &context.hop(id).size;
        size.rows == rows && size.is_matrix() && members.binary_search(&id).is_err()
    };
    let suits = |&main: &HopId| {
        let long = final_products().next().map(|_| long_members(context, members, main));
        let has_long_factor = |(left, right): (HopId, HopId)| {
            [left, right]
                .iter()
                .any(|id| *id == main || long.as_ref().is_some_and(|long| long.binary_search(id).is_ok()))
        };
        final_products().all(has_long_factor)
    };
    let factors = final_products().flat_map(|(left, right)| [left, right]);
    let with_op = |condition: fn(&HopOp) -> bool| members.iter().filter(move |&&id| condition(&context.hop(id).op));
    let lefts = with_op(|op| *op == HopOp::MatMul).map(|&id| context.hop(id).inputs[0]);
    let by_size = |ids: &mut dyn Iterator<Item = HopId>| {
        let mut ids: SmallVec<[HopId; 8]> = ids.filter(is_bindable).collect();
        ids.sort_by_key(|&id| (std::cmp::Reverse(context.hop(id).size.cells()), id));
        ids
    };
    let by_row = || {
        let members = with_op(|op| !matches!(op, HopOp::MatMul | HopOp::Index));
        by_size(&mut members.flat_map(|&id| context.hop(id).inputs.iter().copied())).into_iter().find(suits)
    };
    let by_column =
        || by_size(&mut with_op(|op| *op == HopOp::Index).map(|&id| context.hop(id).inputs[0])).into_iter().find(suits);
    factors.chain(lefts).filter(is_bindable).find(suits).or_else(by_row).or_else(by_column)
}

/// The members whose rows are known to be as long as those of the main input, ascending.
fn long_members(context: &Context<'_>, members: &[HopId], main: HopId) -> SmallVec<[HopId; 16]> {
    let mut long = SmallVec::new();
    for &id in members {
        let hop = context.hop(id);
        let keeps_length = is_elementwise(context.dag, id) || matches!(hop.op, HopOp::Reorg(_) | HopOp::Cumulative(_));
        if keeps_length && hop.inputs.iter().any(|&input| input == main || long.binary_search(&input).is_ok()) {
            long.push(id);
        }
    }
    long
}

/// Whether an operator over cells has an input to be its main one.
fn has_main(context: &Context<'_>, operator: &Operator) -> bool {
    let space = iteration_space(context, &operator.members, operator.root());
    let (members, inputs, root) = (&operator.members, &operator.inputs, operator.root());
    if operator.template == Some(TemplateType::Outer) {
        return sparse_driver(context, members, &[root], inputs, &space).is_some();
    }
    // An inner product reads its left operand through the transpose.
    let left = context.hop(root).inputs.first().and_then(|&left| untransposed(context.dag, left));
    let left = left.filter(|&left| is_inner_product(context, root) && members.binary_search(&left).is_err());
    left.is_some() || inputs_by_cell(context, members, inputs, &space).next().is_some()
}
