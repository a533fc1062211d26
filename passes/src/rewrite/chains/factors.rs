//! Chains of element-wise multiplications: equal factors become powers, and factors are multiplied in the order of what
//! they cost, so that scalars and vectors meet among themselves and the sparsest matrix comes first.

use super::Builder;
use egg::Id;
use fuseline_ir::hop::{HopDag, HopId, HopOp};
use fuseline_ir::ops::{BinaryOp, UnaryOp};
use fuseline_ir::types::DataType;

/// Longer chains are cut.
const MAX_FACTORS: usize = 64;

/// What a factor spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    Scalar,
    Column,
    Row,
    Matrix,
}

/// A factor with its exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Power {
    id: HopId,
    exponent: u32,
}

/// Adds the best order of every chain of at least three factors over multiplications that have no other use.
pub(super) fn add(dag: &HopDag, is_inner: &dyn Fn(HopId) -> bool, builder: &mut Builder<'_>) -> usize {
    let is_multiplication = |id: HopId| dag[id].op == HopOp::Binary(BinaryOp::Mult);
    let consumers = dag.consumers();
    let is_part = |id: HopId| is_inner(id) && consumers[id].iter().all(|&consumer| is_multiplication(consumer));
    let tops = dag.hops.keys().filter(|&id| is_multiplication(id) && dag[id].is_matrix() && !is_part(id));
    tops.filter(|&top| order_chain(dag, top, is_inner, builder)).count()
}

/// The factors of the chain that ends in `top`; squares count as two.
fn flatten(dag: &HopDag, top: HopId, is_inner: &dyn Fn(HopId) -> bool) -> Vec<HopId> {
    let mut factors = Vec::new();
    let mut pending = vec![top];
    while let Some(id) = pending.pop() {
        let hop = &dag[id];
        let may_open = id == top || is_inner(id) && factors.len() + pending.len() + 2 <= MAX_FACTORS;
        match hop.op {
            HopOp::Binary(BinaryOp::Mult) if may_open => pending.extend(hop.inputs.iter().rev()),
            HopOp::Unary(UnaryOp::Pow2) if may_open => pending.extend([hop.inputs[0]; 2]),
            _ => factors.push(id),
        }
    }
    factors
}

fn order_chain(dag: &HopDag, top: HopId, is_inner: &dyn Fn(HopId) -> bool, builder: &mut Builder<'_>) -> bool {
    let factors = flatten(dag, top, is_inner);
    if factors.len() < 3 {
        return false;
    }
    let Some(extents) = factors.iter().map(|&id| extent(dag, id)).collect::<Option<Vec<Extent>>>() else {
        return false;
    };
    let mut product = |extent: Extent| {
        let members = factors.iter().zip(&extents).filter(|(_, other)| **other == extent).map(|(&id, _)| id);
        let powers: Vec<Id> = powers(dag, members.collect()).into_iter().map(|power| raise(power, builder)).collect();
        multiply(powers, builder)
    };
    let [scalar, column, row, matrix] = [Extent::Scalar, Extent::Column, Extent::Row, Extent::Matrix].map(&mut product);
    if matrix.is_none() && row.is_some() && column.is_some() {
        return false;
    }
    // Scalars join the smallest product there is.
    let mut join = |one: Option<Id>| multiply(one.into_iter().chain(scalar).collect(), builder);
    let parts = match (column, row) {
        (Some(_), _) => [matrix, row, join(column)],
        (None, Some(_)) => [matrix, join(row), None],
        (None, None) => [join(matrix), None, None],
    };
    multiply(parts.into_iter().flatten().collect(), builder).is_some_and(|made| builder.equate(top, made))
}

fn multiply(factors: Vec<Id>, builder: &mut Builder<'_>) -> Option<Id> {
    factors.into_iter().reduce(|one, other| builder.make(BinaryOp::Mult, &[one, other]))
}

/// What a factor spans; nothing where that is not known.
fn extent(dag: &HopDag, id: HopId) -> Option<Extent> {
    let hop = &dag[id];
    if hop.data_type == DataType::F64 {
        return Some(Extent::Scalar);
    }
    // Products of integers may be inexact in another way than those of doubles.
    let (rows, cols) = hop.size.known_dims().filter(|_| hop.is_matrix())?;
    Some(match (rows, cols) {
        (_, 1) => Extent::Column,
        (1, _) => Extent::Row,
        _ => Extent::Matrix,
    })
}

/// Equal factors with their number, the sparsest first, then in the order of the chain.
fn powers(dag: &HopDag, factors: Vec<HopId>) -> Vec<Power> {
    let mut powers: Vec<Power> = Vec::new();
    for id in factors {
        match powers.iter_mut().find(|power| power.id == id) {
            Some(power) => power.exponent += 1,
            None => powers.push(Power { id, exponent: 1 }),
        }
    }
    powers.sort_by(|one, other| dag[one.id].size.sparsity().total_cmp(&dag[other.id].size.sparsity()));
    powers
}

/// The power by repeated squaring.
fn raise(power: Power, builder: &mut Builder<'_>) -> Id {
    let class = builder.class(power.id);
    let leading = power.exponent.ilog2();
    let mut result = class;
    for bit in (0..leading).rev() {
        result = builder.make(UnaryOp::Pow2, &[result]);
        if power.exponent & (1 << bit) != 0 {
            result = builder.make(BinaryOp::Mult, &[result, class]);
        }
    }
    result
}
