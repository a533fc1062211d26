//! Chains of matrix products, of transposes of products and of scalings: `t(A %*% B) %*% C` is the chain `t(B), t(A),
//! C`, and `(X / s) %*% v` the chain `X, diag(1 / s), v`, in which the diagonal matrix stays the vector that it was
//! written as.

use super::Builder;
use super::order::{Extent, Order, cheapest_order, joining_op, joint_op};
use super::scalings::{Diagonal, Scalings, Side};
use cranelift_entity::EntitySet;
use egg::Id;
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::{HopDag, HopId, HopOp, ReorgOp};
use fuseline_ir::ops::BinaryOp;

/// Longer chains are cut: the cubic time of ordering stays small.
const MAX_FACTORS: usize = 24;

/// A factor of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Factor {
    Matrix { id: HopId, is_transposed: bool },
    Diagonal(Diagonal),
}

/// The factors of a chain, and the operators that it consists of.
#[derive(Default)]
struct Chain {
    factors: Vec<Factor>,
    opened: Vec<HopId>,
}

/// Adds the best order of every chain of at least three factors, two of them matrices: of those over operators that
/// have no other use, and of those over all, in which shared ones may be computed again.
pub(super) fn add(dag: &HopDag, is_inner: &dyn Fn(HopId) -> bool, builder: &mut Builder<'_>) -> usize {
    let scalings = Scalings::of(dag);
    let consumers = dag.consumers();
    // A transpose with several uses hands them on to what it transposes.
    let is_shared_transpose = |&id: &HopId| dag[id].op == HopOp::Reorg(ReorgOp::Transpose) && !is_inner(id);
    let is_own = |id: HopId| is_inner(id) && !consumers[id].iter().any(is_shared_transpose);
    // What is part of a chain has no other use, and is ordered with it.
    let mut parts = EntitySet::new();
    let mut added = 0;
    for top in dag.hops.keys().rev().filter(|&id| scalings.ends_chain(id)) {
        if parts.contains(top) {
            continue;
        }
        let own = flatten(dag, &scalings, top, &is_own);
        let all = flatten(dag, &scalings, top, &|_| true);
        parts.extend(own.opened);
        let is_new = order_chain(dag, top, &own.factors, builder);
        let is_new = all.factors != own.factors && order_chain(dag, top, &all.factors, builder) || is_new;
        added += usize::from(is_new);
    }
    added
}

/// The chain that ends in `top`, which continues through products, scalings and transposes that `may_open`.
fn flatten(dag: &HopDag, scalings: &Scalings<'_>, top: HopId, may_open: &dyn Fn(HopId) -> bool) -> Chain {
    let mut chain = Chain::default();
    // The last one is next.
    let mut pending = vec![Factor::Matrix { id: top, is_transposed: false }];
    while let Some(factor) = pending.pop() {
        let Factor::Matrix { id, is_transposed } = factor else {
            chain.factors.push(factor);
            continue;
        };
        let may_open = id == top || may_open(id) && chain.factors.len() + pending.len() + 2 <= MAX_FACTORS;
        match parts(dag, scalings, id, is_transposed) {
            Some(mut parts) if may_open || parts.len() == 1 => {
                chain.opened.push(id);
                parts.reverse();
                pending.extend(parts);
            }
            _ => chain.factors.push(factor),
        }
    }
    chain
}

/// The factors that an operator consists of, from the left; nothing of one that is no part of chains.
fn parts(dag: &HopDag, scalings: &Scalings<'_>, id: HopId, is_transposed: bool) -> Option<Vec<Factor>> {
    let hop = &dag[id];
    let part = |id: HopId| Factor::Matrix { id, is_transposed };
    let mut parts = match hop.op {
        HopOp::MatMul => vec![part(hop.inputs[0]), part(hop.inputs[1])],
        HopOp::Reorg(ReorgOp::Transpose) => {
            return Some(vec![Factor::Matrix { id: hop.inputs[0], is_transposed: !is_transposed }]);
        }
        HopOp::Reorg(ReorgOp::Diag) => vec![Factor::Diagonal(scalings.diagonal_matrix(id)?)],
        _ => {
            let scaling = scalings.get(id)?;
            let (matrix, diagonal) = (part(scaling.matrix), Factor::Diagonal(scaling.diagonal));
            if scaling.side == Side::Left { vec![diagonal, matrix] } else { vec![matrix, diagonal] }
        }
    };
    if is_transposed {
        parts.reverse();
    }
    Some(parts)
}

/// Adds the best order of a chain, where all dimensions are known; whether that was new.
fn order_chain(dag: &HopDag, top: HopId, factors: &[Factor], builder: &mut Builder<'_>) -> bool {
    let matrices = factors.iter().filter(|factor| matches!(factor, Factor::Matrix { .. })).count();
    if factors.len() < 3 || matrices < 2 {
        return false;
    }
    let extents = factors.iter().map(|factor| extent(dag, factor)).collect::<Option<Vec<Extent>>>();
    let Some(extents) = extents else { return false };
    let order = cheapest_order(&extents);
    match product(dag, factors, &order, 0, factors.len() - 1, builder) {
        Product::Matrix(made) => builder.equate(top, made),
        Product::Diagonal { .. } => false,
    }
}

/// What a factor spans, where its dimensions are known.
fn extent(dag: &HopDag, factor: &Factor) -> Option<Extent> {
    let (id, extent): (HopId, &dyn Fn(SizeInfo) -> Extent) = match factor {
        Factor::Matrix { id, is_transposed: false } => (*id, &Extent::Matrix),
        Factor::Matrix { id, is_transposed: true } => (*id, &|size| Extent::Matrix(transposed(size))),
        Factor::Diagonal(diagonal) => (diagonal.vector, &|size| Extent::Diagonal { vector: size, op: diagonal.op }),
    };
    let size = dag[id].size;
    size.known_dims().map(|_| extent(size))
}

fn transposed(size: SizeInfo) -> SizeInfo {
    SizeInfo { rows: size.cols, cols: size.rows, ..size }
}

/// The product of an interval of factors.
#[derive(Clone, Copy)]
enum Product {
    Matrix(Id),
    /// A diagonal matrix, by the column or row of its diagonal, which multiplies or divides.
    Diagonal {
        vector: Id,
        is_column: bool,
        op: BinaryOp,
    },
}

fn product(
    dag: &HopDag,
    factors: &[Factor],
    order: &Order,
    first: usize,
    last: usize,
    builder: &mut Builder<'_>,
) -> Product {
    if first == last {
        return match factors[first] {
            Factor::Matrix { id, is_transposed } => Product::Matrix(turned(builder.class(id), is_transposed, builder)),
            Factor::Diagonal(Diagonal { vector, op }) => {
                let is_column = dag[vector].size.is_col_vector();
                Product::Diagonal { vector: builder.class(vector), is_column, op }
            }
        };
    }
    let middle = order.split(first, last);
    let left = product(dag, factors, order, first, middle, builder);
    let right = product(dag, factors, order, middle + 1, last, builder);
    multiply(left, right, builder)
}

/// The product of two: a matrix product, a scaling, or the element-wise product or quotient of two diagonals.
fn multiply(left: Product, right: Product, builder: &mut Builder<'_>) -> Product {
    use Product::{Diagonal, Matrix};
    match (left, right) {
        (Matrix(left), Matrix(right)) => Matrix(builder.make(HopOp::MatMul, &[left, right])),
        (Diagonal { vector, is_column, op }, Matrix(matrix)) => {
            let column = turned(vector, !is_column, builder);
            Matrix(builder.make(op, &[matrix, column]))
        }
        (Matrix(matrix), Diagonal { vector, is_column, op }) => {
            let row = turned(vector, is_column, builder);
            Matrix(builder.make(op, &[matrix, row]))
        }
        (Diagonal { vector, is_column, op }, Diagonal { vector: other, is_column: other_is_column, op: other_op }) => {
            let other = turned(other, is_column != other_is_column, builder);
            let divides_first = op == BinaryOp::Div && other_op == BinaryOp::Mult;
            let inputs = if divides_first { [other, vector] } else { [vector, other] };
            let vector = builder.make(joining_op(op, other_op), &inputs);
            Diagonal { vector, is_column, op: joint_op(op, other_op) }
        }
    }
}

/// A value, transposed if need be.
fn turned(class: Id, is_turned: bool, builder: &mut Builder<'_>) -> Id {
    if is_turned { builder.make(HopOp::Reorg(ReorgOp::Transpose), &[class]) } else { class }
}
