//! Sums, products of vectors, and extremes, for any order and grouping of their terms.

use super::cell::{OracleCell, SUBNORMAL, UNIT, extreme, saturate};
use super::double_double::{DoubleDouble, RELATIVE_ERROR};
use super::taint::Taint;
use fuseline_ir::ops::{AggOp, BinaryOp};

/// The bound `n u / (1 - n u)` on the relative error of `n` roundings.
fn gamma(count: usize) -> f64 {
    let roundings = count as f64 * UNIT;
    roundings / (1.0 - roundings)
}

/// A sum of terms while it grows.
struct Sum {
    value: DoubleDouble,
    /// Sum of the terms' radii.
    radius: f64,
    /// Sum of the terms' absolute values and radii.
    absolute: f64,
    /// Bound on the magnitude of all partial sums of finite terms.
    magnitude: f64,
    /// Whether a term is infinite or NaN.
    has_infinite: bool,
    exact: bool,
    taint: Taint,
    count: usize,
}

impl Sum {
    fn new() -> Self {
        Sum {
            value: DoubleDouble::ZERO,
            radius: 0.0,
            absolute: 0.0,
            magnitude: 0.0,
            has_infinite: false,
            exact: true,
            taint: Taint::NONE,
            count: 0,
        }
    }

    fn push(&mut self, value: DoubleDouble, radius: f64, magnitude: f64, exact: bool, taint: Taint) {
        self.value = self.value.add(value);
        self.radius += radius;
        self.absolute += value.high.abs() + radius;
        if magnitude.is_finite() {
            self.magnitude = saturate(self.magnitude + magnitude, true);
        } else {
            self.has_infinite = true;
        }
        self.exact &= exact;
        self.taint |= taint;
        self.count += 1;
    }

    /// The sum, where each term went through so many roundings: those of the additions and `extra` of its own.
    fn finish(self, extra: usize) -> OracleCell {
        let roundings = self.count.saturating_sub(1) + extra;
        let own = self.absolute * self.count as f64 * RELATIVE_ERROR;
        let radius =
            self.radius + gamma(roundings) * self.absolute + own + extra as f64 * self.count as f64 * SUBNORMAL;
        let magnitude = if self.has_infinite { f64::INFINITY } else { self.magnitude };
        // Finite terms that overflow in one order may meet an infinity of the other sign, which in another order or
        // within a fused multiply-add absorbs them.
        let overflows = self.magnitude > f64::MAX / 2.0;
        OracleCell::arithmetic(self.value, radius, magnitude, self.exact, self.taint | overflows)
    }
}

/// The dot product; also of a vector with itself.
pub(crate) fn dot(pairs: impl IntoIterator<Item = (OracleCell, OracleCell)>) -> OracleCell {
    let mut sum = Sum::new();
    for (x, y) in pairs {
        let (value, radius) = x.product(y);
        let are_finite = x.magnitude().is_finite() && y.magnitude().is_finite();
        let magnitude = saturate(x.magnitude() * y.magnitude(), are_finite);
        let taint = x.taint() | y.taint() | x.annihilation(y);
        sum.push(value, radius, magnitude, x.is_exact() && y.is_exact(), taint);
    }
    sum.finish(1)
}

/// The aggregate of cells.
pub(crate) fn aggregate(op: AggOp, cells: impl IntoIterator<Item = OracleCell>) -> OracleCell {
    match op {
        AggOp::SumSq => dot(cells.into_iter().map(|cell| (cell, cell))),
        AggOp::Sum | AggOp::Mean => {
            let mut sum = Sum::new();
            for cell in cells {
                let (value, exact) = (cell.double_double(), cell.is_exact());
                sum.push(value, cell.radius(), cell.magnitude(), exact, cell.taint());
            }
            let count = sum.count;
            match op {
                // The mean of no cells is NaN in every plan.
                AggOp::Mean if count == 0 => OracleCell::given(f64::NAN),
                AggOp::Mean => sum.finish(0).div(OracleCell::given(count as f64)),
                _ => sum.finish(0),
            }
        }
        AggOp::Min | AggOp::Max => {
            let merge = if op == AggOp::Min { BinaryOp::Min } else { BinaryOp::Max };
            let least = cells.into_iter().reduce(|x, y| extreme(merge, x, y));
            least.unwrap_or(OracleCell::given(op.neutral()))
        }
    }
}
