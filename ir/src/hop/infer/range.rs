//! How many rows or columns a range has whose ends are not known, as in `X[((i - 1) * k + 1):(i * k), ]`.

use crate::hop::{HopDag, HopId, HopOp};
use crate::ops::BinaryOp;
use crate::types::DataType;
use std::collections::BTreeMap;

/// How deep expressions are looked into.
const DEPTH: u32 = 8;
/// Whole numbers below are exact, whatever is done with a few of them.
const EXACT: i64 = 1 << 40;

/// A whole number as a sum of unknown ones, each with a factor, and a constant.
struct Affine {
    factors: BTreeMap<HopId, i64>,
    constant: i64,
}

impl Affine {
    fn of(dag: &HopDag, id: HopId, depth: u32) -> Option<Self> {
        if let Some(value) = dag.literal_f64(id) {
            let constant = (value.fract() == 0.0 && value.abs() < EXACT as f64).then_some(value as i64)?;
            return Some(Affine { factors: BTreeMap::new(), constant });
        }
        let hop = &dag[id];
        let known = match hop.op {
            HopOp::Binary(op @ (BinaryOp::Plus | BinaryOp::Minus | BinaryOp::Mult)) if depth > 0 => {
                // A leaf that stands for an operator has no operands.
                let operand = |position: usize| Affine::of(dag, *hop.inputs.get(position)?, depth - 1);
                operand(0).zip(operand(1)).and_then(|(left, right)| left.combined(op, &right))
            }
            _ => None,
        };
        let itself = || Affine { factors: BTreeMap::from([(id, 1)]), constant: 0 };
        known.or_else(|| (hop.data_type == DataType::I64).then(itself))
    }

    fn combined(&self, op: BinaryOp, right: &Affine) -> Option<Affine> {
        match op {
            BinaryOp::Plus => self.plus(right, 1),
            BinaryOp::Minus => self.plus(right, -1),
            _ if right.factors.is_empty() => self.times(right.constant),
            _ if self.factors.is_empty() => right.times(self.constant),
            _ => None,
        }
    }

    fn plus(&self, right: &Affine, sign: i64) -> Option<Affine> {
        let mut factors = self.factors.clone();
        for (&id, factor) in &right.factors {
            *factors.entry(id).or_default() += sign * factor;
        }
        factors.retain(|_, factor| *factor != 0);
        Affine { factors, constant: self.constant + sign * right.constant }.exact()
    }

    fn times(&self, number: i64) -> Option<Affine> {
        let product = |factor: i64| factor.checked_mul(number);
        let factors: Option<BTreeMap<HopId, i64>> =
            self.factors.iter().map(|(&id, &factor)| Some((id, product(factor)?))).collect();
        let mut factors = factors?;
        factors.retain(|_, factor| *factor != 0);
        Affine { factors, constant: product(self.constant)? }.exact()
    }

    fn exact(self) -> Option<Self> {
        let is_exact = |number: &i64| number.abs() < EXACT;
        (is_exact(&self.constant) && self.factors.values().all(is_exact)).then_some(self)
    }
}

/// The rows or columns from `first` to `last`, if their number hangs on no value and is one that a range can have.
pub(super) fn extent(dag: &HopDag, first: HopId, last: HopId) -> Option<u64> {
    if first == last {
        return Some(1);
    }
    let distance = Affine::of(dag, last, DEPTH)?.plus(&Affine::of(dag, first, DEPTH)?, -1)?;
    let is_known = distance.factors.is_empty() && distance.constant >= 0;
    is_known.then(|| distance.constant as u64 + 1)
}
