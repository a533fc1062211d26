//! What an expression is where its driver is zero: the one analysis behind sparse-safe operators.
//!
//! Constants are propagated through the covered operators with the driver's cells (in Row operators: rows) set to
//! zero and everything else unknown. Under the default meaning of zeros a zero annihilates in `*`, `&` and as the
//! numerator of `/`, whatever the other operand is; under strict IEEE only `&` does.

use fuseline_ir::hop::{HopDag, HopId, HopOp};
use fuseline_ir::ops::{AggOp, BinaryOp, Direction, TernaryOp};

/// How deep to look for the matrix that an expression takes its zeros from.
const DEPTH: usize = 8;

/// Whether the result of the covered operators (ascending; `root` is one of them) is zero, or adds nothing to the
/// aggregate that `root` is, where the cells or the row of the input `driver` are zero.
pub(crate) fn is_sparse_safe(dag: &HopDag, members: &[HopId], root: HopId, driver: HopId, strict: bool) -> bool {
    let mut evaluation = Evaluation { dag, members, values: vec![None; members.len()], driver, strict };
    for (position, &member) in members.iter().enumerate() {
        evaluation.values[position] = evaluation.operator(member);
    }
    evaluation.value(root) == Some(0.0)
}

/// Whether the expression takes zeros from a matrix of its size: `X != 0`, `X * y`, a matrix itself.
pub(crate) fn keeps_zeros(dag: &HopDag, id: HopId, strict: bool) -> bool {
    keeps_zeros_within(dag, id, strict, DEPTH)
}

fn keeps_zeros_within(dag: &HopDag, id: HopId, strict: bool, depth: usize) -> bool {
    if !crate::template::is_elementwise(dag, id) {
        return true;
    }
    depth > 0
        && dag[id].inputs.iter().any(|&input| {
            dag[input].size.same_dims(&dag[id].size)
                && is_sparse_safe(dag, &[id], id, input, strict)
                && keeps_zeros_within(dag, input, strict, depth - 1)
        })
}

struct Evaluation<'a> {
    dag: &'a HopDag,
    members: &'a [HopId],
    /// By position in `members`; `None` is unknown.
    values: Vec<Option<f64>>,
    driver: HopId,
    strict: bool,
}

impl Evaluation<'_> {
    fn value(&self, id: HopId) -> Option<f64> {
        if id == self.driver {
            return Some(0.0);
        }
        if let Ok(position) = self.members.binary_search(&id) {
            return self.values[position];
        }
        self.dag.literal_f64(id)
    }

    /// The value of the left operand of a product, whose columns are then the rows of what it is the transpose of.
    /// (Elsewhere a transpose has its zeros in other cells than its operand.)
    fn left_value(&self, id: HopId) -> Option<f64> {
        self.value(id).or_else(|| crate::template::untransposed(self.dag, id).and_then(|input| self.value(input)))
    }

    fn operator(&self, id: HopId) -> Option<f64> {
        let hop = &self.dag[id];
        let value = |position: usize| self.value(hop.inputs[position]);
        match hop.op {
            HopOp::Unary(op) => value(0).map(|x| op.eval(x)),
            HopOp::Binary(op) => self.binary(op, value(0), value(1)),
            HopOp::Ternary(op) => self.ternary(op, value(0), value(1), value(2)),
            HopOp::Reorg(_) | HopOp::Index => value(0),
            // An extreme of zeros is zero, but along columns and over everything a zero row still counts.
            HopOp::AggUnary(_, Direction::Row) => value(0).filter(|&x| x == 0.0),
            HopOp::AggUnary(op, _) => value(0).filter(|&x| x == 0.0 && matches!(op, AggOp::Sum | AggOp::SumSq)),
            HopOp::MatMul if !self.strict => {
                let by_rows = crate::template::is_transpose(self.dag, hop.inputs[0]);
                let right = if by_rows { value(1) } else { None };
                [self.left_value(hop.inputs[0]), right].into_iter().flatten().find(|&x| x == 0.0)
            }
            _ => None,
        }
    }

    fn product(&self, x: Option<f64>, y: Option<f64>) -> Option<f64> {
        match (x, y) {
            (Some(x), Some(y)) => Some(x * y),
            (Some(0.0), None) | (None, Some(0.0)) if !self.strict => Some(0.0),
            _ => None,
        }
    }

    fn binary(&self, op: BinaryOp, x: Option<f64>, y: Option<f64>) -> Option<f64> {
        match (op, x, y) {
            (_, Some(x), Some(y)) => Some(op.eval(x, y)),
            (BinaryOp::Mult, ..) => self.product(x, y),
            (BinaryOp::And, Some(0.0), None) | (BinaryOp::And, None, Some(0.0)) => Some(0.0),
            (BinaryOp::Div, Some(0.0), None) if !self.strict => Some(0.0),
            (BinaryOp::Minus1Mult, ..) => self.product(x, y).map(|product| 1.0 - product),
            _ => None,
        }
    }

    fn ternary(&self, op: TernaryOp, a: Option<f64>, b: Option<f64>, c: Option<f64>) -> Option<f64> {
        match op {
            TernaryOp::PlusMult => Some(a? + self.product(b, c)?),
            TernaryOp::MinusMult => Some(a? - self.product(b, c)?),
            TernaryOp::IfElse => match (a, b, c) {
                (Some(condition), b, c) => {
                    if condition != 0.0 {
                        b
                    } else {
                        c
                    }
                }
                (None, Some(b), Some(c)) if b == c => Some(b),
                _ => None,
            },
        }
    }
}
