//! Operators as the e-graph sees them: a HOP operation under a text mnemonic that orders, hashes and compares it.
//!
//! The mnemonics of element-wise operations and aggregates come from the op table, so a new operation needs no change
//! here or in the e-graph.

use fuseline_ir::hop::{CastOp, DataGenOp, Function, HopId, HopOp, NaryOp, ReorgOp, ShapeOp};
use fuseline_ir::ops::{AggOp, BinaryOp, Direction, TernaryOp, UnaryOp};
use fuseline_ir::types::Value;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// An operation with an identity: equal operators on equal inputs compute the same value.
#[derive(Clone)]
pub(super) struct Operator(Arc<Definition>);

struct Definition {
    op: HopOp,
    mnemonic: String,
}

impl Operator {
    /// The operator of a pure operation.
    pub(super) fn pure(op: &HopOp) -> Self {
        Operator(Arc::new(Definition { op: op.clone(), mnemonic: mnemonic(op) }))
    }

    /// The operator of an operation that must stay apart from all others: one with effects, or one that gives another
    /// value each time. The id keeps it apart.
    pub(super) fn distinct(op: &HopOp, id: HopId) -> Self {
        let mnemonic = format!("{} @{id}", mnemonic(op));
        Operator(Arc::new(Definition { op: op.clone(), mnemonic }))
    }

    /// The operation of an operator that patterns may name: operations without parameters by their mnemonics, functions
    /// as `function:argument:argument`, integers and truth values as literals.
    pub(super) fn from_mnemonic(text: &str) -> Option<Self> {
        let op = literal(text)
            .or_else(|| UnaryOp::from_mnemonic(text).map(HopOp::Unary))
            .or_else(|| BinaryOp::from_mnemonic(text).map(HopOp::Binary))
            .or_else(|| TernaryOp::from_mnemonic(text).map(HopOp::Ternary))
            .or_else(|| compound(text))
            .or_else(|| ReorgOp::from_mnemonic(text).map(HopOp::Reorg))
            .or_else(|| NaryOp::from_mnemonic(text).map(HopOp::Nary))
            .or_else(|| ShapeOp::from_mnemonic(text).map(HopOp::Shape))
            .or_else(|| CastOp::from_mnemonic(text).map(HopOp::Cast))
            .or_else(|| DataGenOp::from_mnemonic(text).filter(|op| *op != DataGenOp::Rand).map(HopOp::DataGen))
            .or_else(|| SINGLE.iter().find(|op| mnemonic(op) == text).cloned())
            .or_else(|| function(text))?;
        Some(Operator::pure(&op))
    }

    /// The operation.
    pub(super) fn op(&self) -> &HopOp {
        &self.0.op
    }

    /// Whether inputs may be exchanged.
    pub(super) fn is_commutative(&self) -> bool {
        matches!(self.op(), HopOp::Binary(op) if op.algebra().commutative)
    }
}

/// Operations that are the only ones of their kind.
const SINGLE: &[HopOp] = &[HopOp::MatMul, HopOp::Concat, HopOp::Index, HopOp::LeftIndex];

fn literal(text: &str) -> Option<HopOp> {
    let truth = || text.parse::<bool>().ok().map(Value::Bool);
    text.parse::<i64>().ok().map(Value::I64).or_else(truth).map(HopOp::Literal)
}

/// `sum.row`, `cumulative.sum`, `outer.mult`.
fn compound(text: &str) -> Option<HopOp> {
    let (first, second) = text.split_once('.')?;
    match first {
        "cumulative" => Some(HopOp::Cumulative(second.parse().ok()?)),
        "outer" => BinaryOp::from_mnemonic(second).map(HopOp::Outer),
        _ => Some(HopOp::AggUnary(first.parse::<AggOp>().ok()?, second.parse::<Direction>().ok()?)),
    }
}

fn function(text: &str) -> Option<HopOp> {
    let mut parts = text.split(':');
    let function = Function::from_mnemonic(parts.next()?)?;
    Some(HopOp::Parameterized { function, names: parts.map(str::to_owned).collect() })
}

/// The operation's text form, with the names of its arguments. It differs for any two operations that are not the same.
pub(super) fn mnemonic(op: &HopOp) -> String {
    match op {
        HopOp::Parameterized { names, .. } => format!("{op} {}", names.join(" ")),
        _ => op.to_string(),
    }
}

impl PartialEq for Operator {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.mnemonic == other.0.mnemonic
    }
}

impl Eq for Operator {}

impl PartialOrd for Operator {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Operator {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.mnemonic.cmp(&other.0.mnemonic)
    }
}

impl Hash for Operator {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.mnemonic.hash(state);
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.mnemonic)
    }
}

impl fmt::Debug for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mnemonics_are_unique_and_read_back() {
        let mut ops: Vec<HopOp> = UnaryOp::ALL.iter().map(|&op| op.into()).collect();
        ops.extend(BinaryOp::ALL.iter().map(|&op| HopOp::from(op)));
        ops.extend(TernaryOp::ALL.iter().map(|&op| HopOp::from(op)));
        ops.extend(AggOp::ALL.iter().flat_map(|&op| Direction::ALL.iter().map(move |&d| HopOp::AggUnary(op, d))));
        ops.extend(ReorgOp::ALL.iter().map(|&op| HopOp::Reorg(op)));
        ops.extend(NaryOp::ALL.iter().map(|&op| HopOp::Nary(op)));
        ops.extend(ShapeOp::ALL.iter().map(|&op| HopOp::Shape(op)));
        ops.extend(CastOp::ALL.iter().map(|&op| HopOp::Cast(op)));
        ops.extend(AggOp::ALL.iter().map(|&op| HopOp::Cumulative(op)));
        ops.extend(BinaryOp::ALL.iter().map(|&op| HopOp::Outer(op)));
        ops.extend(SINGLE.iter().cloned());
        for op in &ops {
            let operator = Operator::from_mnemonic(&mnemonic(op)).expect("every such operation can be named");
            assert_eq!(operator.op(), op);
        }
        let two = Operator::from_mnemonic("2").expect("an integer");
        assert_eq!(two, Operator::pure(&HopOp::Literal(Value::I64(2))));
        let names = vec!["margin".to_owned()];
        let function = Operator::pure(&HopOp::Parameterized { function: Function::RemoveEmpty, names });
        assert_eq!(Operator::from_mnemonic("removeEmpty:margin"), Some(function));
    }

    #[test]
    fn literals_of_other_types_or_bits_differ() {
        let literal = |value: Value| Operator::pure(&HopOp::Literal(value));
        assert_ne!(literal(Value::F64(1.0)), literal(Value::I64(1)));
        assert_ne!(literal(Value::F64(0.0)), literal(Value::F64(-0.0)));
        assert_ne!(literal(Value::I64(1)), literal(Value::Str("1".into())));
        assert_eq!(literal(Value::F64(f64::NAN)), literal(Value::F64(f64::NAN)));
    }
}
