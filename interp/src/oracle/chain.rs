//! Chains of matrix products. Plans may regroup them outside of strict IEEE arithmetic, and all orders agree as long as no
//! partial result overflows, underflows, or is not finite.

use super::value::{OracleMatrix, OracleValue};
use cranelift_entity::SecondaryMap;
use fuseline_ir::hop::{Hop, HopDag, HopId, HopOp, ReorgOp};

/// Products beyond these magnitudes come too close to overflow and to subnormal numbers, whatever they sum up.
const SAFE: std::ops::RangeInclusive<f64> = 1e-280..=1e280;

/// Longer chains are cut.
const MAX_FACTORS: usize = 64;

/// Whether the order matters in which the products are computed that end in this one.
pub(super) fn order_matters(dag: &HopDag, product: &Hop, values: &SecondaryMap<HopId, Option<OracleValue>>) -> bool {
    let factors = factors(dag, product);
    if factors.len() <= 2 {
        return false;
    }
    let (mut least, mut greatest) = (1.0, 1.0);
    for factor in factors {
        let Some(OracleValue::Matrix(matrix)) = &values[factor] else { continue };
        let (low, high) = magnitudes(matrix);
        least *= low;
        greatest *= high;
    }
    !(SAFE.contains(&least) && SAFE.contains(&greatest))
}

/// What is multiplied, through products and transposes of products.
fn factors(dag: &HopDag, product: &Hop) -> Vec<HopId> {
    let mut factors = Vec::new();
    let mut pending = product.inputs.to_vec();
    while let Some(id) = pending.pop() {
        match dag[id].op {
            HopOp::MatMul | HopOp::Reorg(ReorgOp::Transpose) if factors.len() + pending.len() < MAX_FACTORS => {
                pending.extend(&dag[id].inputs);
            }
            _ => factors.push(id),
        }
    }
    factors
}

/// The magnitudes of the smallest and the largest cell, zeros left out, 1 included; NaN counts as infinite.
fn magnitudes(matrix: &OracleMatrix) -> (f64, f64) {
    let cells = matrix.cells.iter().map(|cell| cell.value().abs()).filter(|&magnitude| magnitude != 0.0);
    let number = |magnitude: f64| if magnitude.is_nan() { f64::INFINITY } else { magnitude };
    cells.map(number).fold((1.0, 1.0), |(low, high): (f64, f64), cell| (low.min(cell), high.max(cell)))
}
