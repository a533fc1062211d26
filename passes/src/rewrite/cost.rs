//! The cost by which rewriting compares plans: floating-point operations plus values read and written.
//!
//! It only ranks algebraically equal DAGs; what fusion saves is the business of plan selection and its cost model
//! (section 4.3). Costs are integers, so that sums do not depend on their order.

use fuseline_ir::hop::{HopDag, HopId, HopOp};
use fuseline_ir::ops::Direction;
use fuseline_ir::types::DataType;
use fuseline_ir::{SizeInfo, hop::Hop};

/// A dimension that is not known counts as this many.
const UNKNOWN_DIMENSION: u64 = 1000;
/// Writing a value costs this many floating-point operations, reading one costs a single one.
const WRITE: f64 = 2.0;
/// What an operator costs however small its inputs are.
const DISPATCH: f64 = 1.0;

/// Type and size of a value.
pub(super) type Shape = (DataType, SizeInfo);

/// The cost of one operator, given the shapes of its inputs and of its output.
pub(super) fn operator_cost(op: &HopOp, inputs: &[Shape], output: Shape) -> u128 {
    if matches!(op, HopOp::Read(_) | HopOp::Literal(_)) {
        return 0;
    }
    let reads: f64 = inputs.iter().map(|&input| values(input)).sum();
    (DISPATCH + flops(op, inputs, output) + reads + WRITE * values(output)) as u128
}

/// The cost of the operators that outputs and effects need.
pub(super) fn dag_cost(dag: &HopDag) -> u128 {
    let live = super::dag::live(dag);
    dag.hops.iter().filter(|(id, _)| live[*id]).map(|(_, hop)| hop_cost(dag, hop)).sum()
}

fn hop_cost(dag: &HopDag, hop: &Hop) -> u128 {
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
            [left, right] => 2.0 * cells(*left) * dimension(right.1.cols) * left.1.sparsity() * right.1.sparsity(),
            _ => 0.0,
        },
        _ => 0.0,
    }
}

fn dimension(known: Option<u64>) -> f64 {
    known.unwrap_or(UNKNOWN_DIMENSION) as f64
}

fn cells((data_type, size): Shape) -> f64 {
    if data_type.is_scalar() { 1.0 } else { dimension(size.rows) * dimension(size.cols) }
}

/// The number of values that an operator touches: non-zeros where their number is known.
fn values((data_type, size): Shape) -> f64 {
    cells((data_type, size)) * size.sparsity()
}
