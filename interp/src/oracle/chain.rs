//! Chains of matrix products and scalings, and of element-wise multiplications. Plans may regroup them outside of strict IEEE
//! arithmetic, and all orders agree up to roundings as long as no partial result overflows, underflows, or is not finite.

use super::aggregate::gamma;
use super::cell::OracleCell;
use super::taint::Taint;
use super::value::{Operand, OracleMatrix, OracleValue};
use cranelift_entity::SecondaryMap;
use fuseline_ir::hop::{HopDag, HopId, HopOp, ReorgOp};
use fuseline_ir::ops::{BinaryOp, UnaryOp};

/// Products beyond these magnitudes come too close to overflow and to subnormal numbers, whatever they sum up.
const SAFE: std::ops::RangeInclusive<f64> = 1e-280..=1e280;

/// Longer chains are cut.
const MAX_FACTORS: usize = 64;

type Values = SecondaryMap<HopId, Option<OracleValue>>;

/// A factor of a chain.
#[derive(Clone, Copy)]
struct Factor {
    id: HopId,
    /// Whether the chain divides by it.
    is_divisor: bool,
}

/// A chain that ends in a product or scaling.
#[derive(Default)]
struct Chain {
    factors: Vec<Factor>,
    /// Terms that its products add up, and products of two cells.
    roundings: usize,
    has_product: bool,
}

/// The value of a product or scaling, given what the order gives that was written: where it ends a chain, cells may be
/// rounded as in any other order, and are tainted where the order matters.
pub(super) fn in_any_order(dag: &HopDag, end: HopId, written: OracleMatrix, values: &Values) -> OracleMatrix {
    let written = multiplied_in_any_order(dag, end, written, values);
    let chain = chain(dag, end, values);
    if chain.factors.len() <= 2 || !chain.has_product {
        return written;
    }
    let taint = if order_matters(&chain, values) { Taint::DEFAULT_ARITHMETIC } else { Taint::NONE };
    let relative = gamma(chain.roundings + chain.factors.len());
    let cells = written.cells.into_iter().map(|cell| regrouped(cell, relative).with_taint(taint)).collect();
    OracleMatrix { cells, ..written }
}

/// The value of a multiplication of cells: where it ends a chain of three factors or more, those cells are tainted in which some
/// of these may come too close to what is not finite or normal before others do, one that is zero among them.
fn multiplied_in_any_order(dag: &HopDag, end: HopId, written: OracleMatrix, values: &Values) -> OracleMatrix {
    let factors = cell_factors(dag, end);
    if factors.len() < 3 {
        return written;
    }
    let factors: Vec<Operand<'_>> =
        factors.into_iter().filter_map(|factor| Operand::of(values[factor].as_ref()?)).collect();
    let taint = |i: usize, j: usize| {
        let magnitudes = factors.iter().map(|factor| extremes(std::iter::once(factor.get(i, j).value().abs())));
        if are_safe(products(magnitudes)) { Taint::NONE } else { Taint::DEFAULT_ARITHMETIC }
    };
    OracleMatrix::from_fn(written.rows, written.cols, |i, j| written.get(i, j).with_taint(taint(i, j)))
}

/// What is multiplied cell by cell, through multiplications and squares.
fn cell_factors(dag: &HopDag, end: HopId) -> Vec<HopId> {
    let (mut factors, mut pending) = (Vec::new(), vec![end]);
    while let Some(id) = pending.pop() {
        let (inputs, is_short) = (&dag[id].inputs, factors.len() + pending.len() < MAX_FACTORS);
        match dag[id].op {
            HopOp::Binary(BinaryOp::Mult) if is_short => pending.extend(inputs),
            HopOp::Unary(UnaryOp::Pow2) if is_short && id != end => pending.extend([inputs[0]; 2]),
            _ => factors.push(id),
        }
    }
    factors
}

/// A cell with the error of other orders. What one of them adds up without rounding, another may round, term by term.
fn regrouped(cell: OracleCell, relative: f64) -> OracleCell {
    let is_rounded = !cell.exact && cell.radius.is_finite() && cell.magnitude.is_finite();
    let radius = if is_rounded { cell.radius + relative * cell.magnitude } else { cell.radius };
    OracleCell { radius, ..cell }
}

/// Whether a partial result may come too close to what is not finite or normal.
fn order_matters(chain: &Chain, values: &Values) -> bool {
    let of_factor = |factor: &Factor| match &values[factor.id] {
        Some(OracleValue::Matrix(matrix)) => Some(magnitudes(matrix, factor.is_divisor)),
        _ => None,
    };
    !are_safe(products(chain.factors.iter().filter_map(of_factor)))
}

/// Whether neither the smallest nor the largest of some products comes too close to what is not finite or normal.
fn are_safe((least, greatest): (f64, f64)) -> bool {
    SAFE.contains(&least) && SAFE.contains(&greatest)
}

/// The products of the smallest and of the largest magnitudes of some factors.
fn products(magnitudes: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    magnitudes.fold((1.0, 1.0), |(least, greatest): (f64, f64), (low, high)| (least * low, greatest * high))
}

/// What is multiplied, through products, scalings and transposes of these.
fn chain(dag: &HopDag, end: HopId, values: &Values) -> Chain {
    let mut chain = Chain::default();
    let mut pending = vec![end];
    while let Some(id) = pending.pop() {
        let inputs = &dag[id].inputs;
        let is_short = chain.factors.len() + pending.len() < MAX_FACTORS;
        match dag[id].op {
            HopOp::MatMul if is_short => {
                chain.has_product = true;
                if let Some(OracleValue::Matrix(right)) = &values[inputs[1]] {
                    chain.roundings += right.rows;
                }
                pending.extend(inputs);
            }
            HopOp::Reorg(ReorgOp::Transpose) if is_short => pending.extend(inputs),
            HopOp::Binary(BinaryOp::Mult) if is_short && is_scaling(inputs, values) => pending.extend(inputs),
            HopOp::Binary(BinaryOp::Div) if is_short && is_scaling(inputs, values) => {
                pending.push(inputs[0]);
                chain.factors.push(Factor { id: inputs[1], is_divisor: true });
            }
            _ => chain.factors.push(Factor { id, is_divisor: false }),
        }
    }
    chain
}

/// Whether a vector scales a matrix or another vector.
fn is_scaling(inputs: &[HopId], values: &Values) -> bool {
    let is_vector = |matrix: &OracleMatrix| (matrix.rows == 1) != (matrix.cols == 1);
    match [&values[inputs[0]], &values[inputs[1]]] {
        [Some(OracleValue::Matrix(one)), Some(OracleValue::Matrix(other))] => is_vector(one) || is_vector(other),
        _ => false,
    }
}

/// The magnitudes of the smallest and the largest cell. Of a divisor they are those of the reciprocals, where a zero counts as
/// infinite.
fn magnitudes(matrix: &OracleMatrix, is_divisor: bool) -> (f64, f64) {
    let magnitude = |value: f64| if is_divisor { value.abs().recip() } else { value.abs() };
    extremes(matrix.cells.iter().map(|cell| magnitude(cell.value())))
}

/// The smallest and the largest of some magnitudes, zeros left out, 1 included; NaN counts as infinite.
fn extremes(magnitudes: impl Iterator<Item = f64>) -> (f64, f64) {
    let number = |magnitude: f64| if magnitude.is_nan() { f64::INFINITY } else { magnitude };
    let magnitudes = magnitudes.filter(|&magnitude| magnitude != 0.0).map(number);
    magnitudes.fold((1.0, 1.0), |(low, high): (f64, f64), magnitude| (low.min(magnitude), high.max(magnitude)))
}
