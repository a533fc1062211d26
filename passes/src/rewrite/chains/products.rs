//! Chains of matrix products, transposes of products included: `t(A %*% B) %*% C` is the chain `t(B), t(A), C`.

use super::Builder;
use super::order::{Order, cheapest_order};
use egg::Id;
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::{HopDag, HopId, HopOp, ReorgOp};

/// Longer chains are cut: the cubic time of ordering stays small.
const MAX_FACTORS: usize = 24;

/// A factor of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Factor {
    id: HopId,
    is_transposed: bool,
}

/// Adds the best order of every chain of at least three factors: of those over products that have no other use, and of
/// those over all products, in which shared ones may be computed again.
pub(super) fn add(dag: &HopDag, is_inner: &dyn Fn(HopId) -> bool, builder: &mut Builder<'_>) -> usize {
    let is_product = |id: HopId| dag[id].op == HopOp::MatMul;
    let consumers = dag.consumers();
    // A product inside of a chain that has no other use is ordered with that chain.
    let is_part = |id: HopId| {
        let is_used_in_product = |&consumer: &HopId| is_product(consumer);
        is_inner(id) && consumers[id].iter().all(is_used_in_product)
    };
    let mut added = 0;
    for top in dag.hops.keys().filter(|&id| is_product(id) && !is_part(id)) {
        let own = flatten(dag, top, is_inner);
        let all = flatten(dag, top, &|_| true);
        let is_new = order_chain(dag, top, &own, builder);
        let is_new = all != own && order_chain(dag, top, &all, builder) || is_new;
        added += usize::from(is_new);
    }
    added
}

/// The factors of the chain that ends in `top`, which continues through products and transposes that `may_open`.
fn flatten(dag: &HopDag, top: HopId, may_open: &dyn Fn(HopId) -> bool) -> Vec<Factor> {
    let mut factors = Vec::new();
    let mut pending = vec![Factor { id: top, is_transposed: false }];
    while let Some(Factor { id, is_transposed }) = pending.pop() {
        let hop = &dag[id];
        let may_open = id == top || may_open(id) && factors.len() + pending.len() + 2 <= MAX_FACTORS;
        match hop.op {
            HopOp::MatMul if may_open => {
                let [left, right] = [0, 1].map(|position| Factor { id: hop.inputs[position], is_transposed });
                // The last one pushed is next.
                pending.extend(if is_transposed { [left, right] } else { [right, left] });
            }
            HopOp::Reorg(ReorgOp::Transpose) => {
                pending.push(Factor { id: hop.inputs[0], is_transposed: !is_transposed });
            }
            _ => factors.push(Factor { id, is_transposed }),
        }
    }
    factors
}

/// Adds the best order of a chain, where all dimensions are known; whether that was new.
fn order_chain(dag: &HopDag, top: HopId, factors: &[Factor], builder: &mut Builder<'_>) -> bool {
    if factors.len() < 3 {
        return false;
    }
    let size = |factor: &Factor| {
        let size = dag[factor.id].size;
        let size = if factor.is_transposed { SizeInfo { rows: size.cols, cols: size.rows, ..size } } else { size };
        size.known_dims().map(|_| size)
    };
    let Some(sizes) = factors.iter().map(size).collect::<Option<Vec<SizeInfo>>>() else { return false };
    let order = cheapest_order(&sizes);
    let made = product(factors, &order, 0, factors.len() - 1, builder);
    builder.equate(top, made)
}

fn product(factors: &[Factor], order: &Order, first: usize, last: usize, builder: &mut Builder<'_>) -> Id {
    if first == last {
        let Factor { id, is_transposed } = factors[first];
        let class = builder.class(id);
        return if is_transposed { builder.make(HopOp::Reorg(ReorgOp::Transpose), &[class]) } else { class };
    }
    let middle = order.split(first, last);
    let left = product(factors, order, first, middle, builder);
    let right = product(factors, order, middle + 1, last, builder);
    builder.make(HopOp::MatMul, &[left, right])
}
