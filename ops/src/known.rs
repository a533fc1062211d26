//! What operations give where some of their operands are known: the analysis of zeros, of a fused operator's driver above
//! all, goes by these.
//!
//! Under the default meaning of zeros a zero annihilates in `*`, `&`, as the numerator of `/` and wherever else the table
//! says so, whatever the other operand is. A `strict` evaluation follows IEEE: a zero annihilates only where the operation
//! gives zero for every other operand, NaN and infinities included.

use crate::{BinaryOp, BinaryZero, TernaryOp, UnaryOp};

impl UnaryOp {
    /// The value, where the operand is known.
    pub fn eval_known(self, x: Option<f64>) -> Option<f64> {
        x.map(|x| self.eval(x))
    }
}

impl BinaryOp {
    /// Whether a zero gives zero with every other operand, NaN and infinities included.
    fn always_annihilates(self) -> bool {
        matches!(
            self,
            BinaryOp::And
                | BinaryOp::BitwAnd
                | BinaryOp::BitwShiftL
                | BinaryOp::BitwShiftR
                | BinaryOp::LogNzBase
                | BinaryOp::MinusNz
        )
    }

    /// The value, where the operands that are known decide it.
    pub fn eval_known(self, x: Option<f64>, y: Option<f64>, strict: bool) -> Option<f64> {
        let annihilates = || (!strict || self.always_annihilates()).then_some(0.0);
        match (self.zero(), x, y) {
            (_, Some(x), Some(y)) => Some(self.eval(x, y)),
            (BinaryZero::Annihilates, Some(0.0), None) | (BinaryZero::Annihilates, None, Some(0.0)) => annihilates(),
            (BinaryZero::LeftAnnihilates, Some(0.0), None) => annihilates(),
            _ if self == BinaryOp::Minus1Mult => product_of_known(x, y, strict).map(|product| 1.0 - product),
            _ => None,
        }
    }
}

impl TernaryOp {
    /// The value, where the operands that are known decide it.
    pub fn eval_known(self, a: Option<f64>, b: Option<f64>, c: Option<f64>, strict: bool) -> Option<f64> {
        if let (Some(a), Some(b), Some(c)) = (a, b, c) {
            return Some(self.eval(a, b, c));
        }
        match self {
            TernaryOp::PlusMult => Some(a? + product_of_known(b, c, strict)?),
            TernaryOp::MinusMult => Some(a? - product_of_known(b, c, strict)?),
            // What does not match the pattern stays, whatever would replace it.
            TernaryOp::Replace => a.zip(b).filter(|(a, b)| a != b && !(a.is_nan() && b.is_nan())).map(|(a, _)| a),
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

fn product_of_known(x: Option<f64>, y: Option<f64>, strict: bool) -> Option<f64> {
    match (x, y) {
        (Some(x), Some(y)) => Some(x * y),
        (Some(0.0), None) | (None, Some(0.0)) if !strict => Some(0.0),
        _ => None,
    }
}
