//! The cost by which rewriting compares plans: floating-point operations plus values read and written.
//!
//! It only ranks algebraically equal DAGs; what fusion saves is the business of plan selection and its cost model
//! (section 4.3). Costs are integers, so that sums do not depend on their order.

use fuseline_ir::hop::{HopDag, HopId, HopOp};
use fuseline_ir::ops::Direction;
use fuseline_ir::types::DataType;
use fuseline_ir::{SizeInfo, hop::Hop};

/// What a dimension that is not known counts as.
const UNKNOWN_DIMENSION: u64 = 1000;
/// What writing a value costs, in floating-point operations; reading one costs a single one.
const WRITE_IN_FLOPS: f64 = 2.0;
/// What a term of a product of two sparse matrices costs, in floating-point operations of products with dense ones: it is found
/// at one place and added at another, where those fill registers. From 40 to 80 on one machine.
const SPARSE_TERM: f64 = 32.0;
/// What a term of another product costs: a multiplication and an addition.
const TERM: f64 = 2.0;
/// What an operator costs however small its inputs are.
const DISPATCH: u128 = 1;

/// Type and size of a value.
pub(super) type Shape = (DataType, SizeInfo);

/// What an operator costs, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cost {
    /// Floating-point operations.
    pub(super) flops: u128,
    /// Values read and written, in floating-point operations.
    pub(super) traffic: u128,
    /// One, but for reads and literals.
    pub(super) operators: u128,
}

/// What extraction minimises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weights {
    /// Operations, values read and written, and operators: the cost of rewriting.
    Balanced,
    /// Values read and written alone, as if all computation hid behind them.
    Traffic,
    /// The number of operators alone, as if fusion made everything else free.
    Operators,
}

impl Cost {
    /// The weighted sum.
    pub(super) fn weighted(self, weights: Weights) -> u128 {
        match weights {
            Weights::Balanced => self.flops + self.traffic + self.operators * DISPATCH,
            Weights::Traffic => self.traffic,
            Weights::Operators => self.operators,
        }
    }
}

/// The cost of one operator, given the shapes of its inputs and of its output.
pub(super) fn operator_cost(op: &HopOp, inputs: &[Shape], output: Shape) -> Cost {
    if matches!(op, HopOp::Read(_) | HopOp::Literal(_)) {
        return Cost::default();
    }
    let reads: f64 = inputs.iter().map(|&input| values(input)).sum();
    Cost {
        flops: flops(op, inputs, output) as u128,
        traffic: (reads + WRITE_IN_FLOPS * values(output)) as u128,
        operators: 1,
    }
}

/// The cost of the operators that outputs and effects need.
pub(super) fn dag_cost(dag: &HopDag) -> u128 {
    let live = super::dag::live(dag);
    let costs = dag.hops.iter().filter(|(id, _)| live[*id]).map(|(_, hop)| hop_cost(dag, hop));
    costs.map(|cost| cost.weighted(Weights::Balanced)).sum()
}

fn hop_cost(dag: &HopDag, hop: &Hop) -> Cost {
    let shape = |id: &HopId| (dag[*id].data_type, dag[*id].size);
    let inputs: Vec<Shape> = hop.inputs.iter().map(shape).collect();
    operator_cost(&hop.op, &inputs, (hop.data_type, hop.size))
}

fn flops(op: &HopOp, inputs: &[Shape], output: Shape) -> f64 {
    match op {
        HopOp::Unary(op) => op.flops() * values(output),
        HopOp::Binary(op) => op.flops() * values(output),
        HopOp::Ternary(op) => op.flops() * values(output),
        HopOp::AggUnary(op, direction) => {
            let divisions = if *direction == Direction::Full { 1.0 } else { cells(output) };
            op.flops() * inputs.first().map_or(0.0, |&input| values(input)) + divisions
        }
        HopOp::MatMul => match inputs {
            [left, right] => {
                let terms = cells(*left) * dimension(right.1.cols) * left.1.sparsity() * right.1.sparsity();
                let are_sparse = left.1.format().is_sparse() && right.1.format().is_sparse();
                terms * if are_sparse { SPARSE_TERM } else { TERM }
            }
            _ => 0.0,
        },
        _ => 0.0,
    }
}

fn dimension(known: Option<u64>) -> f64 {
    known.unwrap_or(UNKNOWN_DIMENSION) as f64
}

fn cells(shape: Shape) -> f64 {
    let (data_type, size) = shape;
    if data_type.is_scalar() { 1.0 } else { dimension(size.rows) * dimension(size.cols) }
}

/// The number of values that an operator touches: non-zeros where their number is known.
fn values(shape: Shape) -> f64 {
    cells(shape) * shape.1.sparsity()
}
