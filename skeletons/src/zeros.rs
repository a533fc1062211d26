//! The zeros of a sparse main input, and of what is joined with it, that are not visited, and what they contribute to
//! aggregates.
//!
//! In a plan that is marked sparse-safe a zero gives zero. Other plans over cells that have one value wherever these matrices
//! are zero run over non-zeros, too ([`fuseline_ir::cplan::CPlan::joined_cells`]), and that value is aggregated as often as
//! there are zeros.

use fuseline_ir::ops::{AggOp, BinaryOp};
use smallvec::SmallVec;

/// The most outputs that are kept on the stack.
const INLINE_OUTPUTS: usize = 4;

/// The value of each output of a plan where the main input is zero; for outputs that are aggregated, the aggregate of
/// one such cell.
pub(crate) type ZeroValues = SmallVec<[f64; INLINE_OUTPUTS]>;

/// Takes `count` more cells into an aggregate, each of which alone has the aggregate `value`.
pub(crate) fn take_equal_cells(agg: AggOp, aggregate: f64, value: f64, count: usize) -> f64 {
    if count == 0 || agg.ignores_zeros() && value == 0.0 {
        return aggregate;
    }
    let cells = match agg {
        AggOp::Sum | AggOp::SumSq | AggOp::Nnz | AggOp::Mean | AggOp::Var => value * count as f64,
        AggOp::Prod => BinaryOp::Pow.eval(value, count as f64),
        AggOp::Min | AggOp::Max => value,
    };
    agg.merge(aggregate, cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_cells_aggregate_as_one_by_one() {
        for &agg in AggOp::ALL.iter().filter(|agg| agg.merges()) {
            for value in [0.0, 1.0, -2.0] {
                let cell = agg.of_one(value);
                let start = agg.merge(agg.neutral(), 3.0);
                let one_by_one = (0..7).fold(start, |aggregate, _| agg.merge(aggregate, cell));
                assert_eq!(take_equal_cells(agg, start, cell, 7), one_by_one, "{agg} of {value}");
                assert_eq!(take_equal_cells(agg, start, f64::NAN, 0), start, "{agg} of no cells");
            }
        }
    }
}
