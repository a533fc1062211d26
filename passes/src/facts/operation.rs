//! What an operator computes by itself, whatever covers it: its class, its operations, and whether its rows are short.

use crate::hops::{drawn_share, is_elementwise, literal_sequence, over_windows, untransposed};
use crate::machine::OperationClass;
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::{DataGenOp, HopDag, HopId, HopOp, NaryOp, ReorgOp};
use fuseline_ir::ops::{BinaryOp, FloatOp, Lowering, Step, WindowOp};
use fuseline_ir::schedule::product::{FEW_COLUMNS, SHORT_ROW};

use super::storage::cells;

/// The share of a product's operations that one with a matrix's own transpose computes: those of blocks on and above the
/// diagonal, more than half of them. Fitted.
const SYMMETRIC_SHARE: f64 = 0.8;

/// What an operation of a product with rows of few values costs, relative to the machine's `compute.product`: both factors
/// stay in registers. Fitted; calibration takes it as given.
pub const IN_REGISTER_SHARE: f64 = 0.5;

/// What prices ask of one operator of a DAG and does not depend on the plan: [`super::Context`] keeps one for each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Operation {
    pub(crate) class: OperationClass,
    pub(crate) dense_flops: f64,
    pub(crate) is_sequence: bool,
    /// Whether it computes the cells of a matrix one by one.
    pub(crate) is_element_wise: bool,
    /// Whether rows of its result are as long as those of its operands, if these are of any length.
    pub(crate) keeps_length: bool,
    /// What an operation takes where it is one of a product row after row.
    pub(crate) product_share: f64,
    /// The values of an unfolded image that it multiplies filters with; zero if it is no convolution.
    pub(crate) unfolded: f64,
    /// The values of a row of its result, if it is element-wise and reads one value for each row.
    pub(crate) values_beside_one: Option<f64>,
}

impl Default for Operation {
    fn default() -> Self {
        Operation {
            class: OperationClass::Arithmetic,
            dense_flops: 0.0,
            is_sequence: false,
            is_element_wise: false,
            keeps_length: false,
            product_share: 1.0,
            unfolded: 0.0,
            values_beside_one: None,
        }
    }
}

impl Operation {
    /// What there is to know of an operator.
    pub fn of(dag: &HopDag, id: HopId) -> Self {
        let is_sequence = matches!(dag[id].op, HopOp::DataGen(_)) && literal_sequence(dag, id).is_some();
        let is_element_wise = is_elementwise(dag, id);
        Operation {
            class: class_of(dag, id),
            dense_flops: flops_of(dag, id),
            is_sequence,
            is_element_wise,
            keeps_length: is_element_wise || matches!(dag[id].op, HopOp::Reorg(_) | HopOp::Cumulative(_)),
            product_share: if multiplies_short_rows(dag, id) { IN_REGISTER_SHARE } else { 1.0 },
            unfolded: unfolded(dag, id),
            values_beside_one: values_beside_one(dag, id),
        }
    }
}

/// Whether a matrix is dense with rows of few values.
pub(crate) fn has_short_rows(size: &SizeInfo) -> bool {
    size.cols.is_some_and(|cols| cols <= SHORT_ROW as u64) && !size.format().is_sparse()
}

/// Whether an operator is a product of few columns with the rows of a dense matrix, which are short.
fn multiplies_short_rows(dag: &HopDag, id: HopId) -> bool {
    let hop = &dag[id];
    hop.op == HopOp::MatMul && has_few_columns(&hop.size) && {
        let left = hop.inputs[0];
        has_short_rows(&dag[untransposed(dag, left).unwrap_or(left)].size)
    }
}

/// Whether a product with so many columns may run on vector primitives.
pub(crate) fn has_few_columns(size: &SizeInfo) -> bool {
    size.cols.is_some_and(|cols| cols <= FEW_COLUMNS as u64)
}

/// The values of a row of an element-wise operator's result, if it reads one value for each row.
fn values_beside_one(dag: &HopDag, id: HopId) -> Option<f64> {
    let hop = &dag[id];
    let is_by_cell = matches!(hop.op, HopOp::Unary(_) | HopOp::Binary(_) | HopOp::Ternary(_));
    let cols = hop.size.cols.filter(|&cols| is_by_cell && cols > 1)?;
    let mut inputs = hop.inputs.iter().map(|&input| &dag[input]);
    inputs.any(|input| input.is_matrix() && input.size.cols == Some(1)).then_some(cols as f64)
}

/// The values of an unfolded image of a convolution.
fn unfolded(dag: &HopDag, id: HopId) -> f64 {
    match over_windows(dag, id) {
        Some((WindowOp::Unfold, windows)) => WindowOp::Unfold.cells(&windows) as f64,
        _ => 0.0,
    }
}

fn class_of(dag: &HopDag, id: HopId) -> OperationClass {
    match &dag[id].op {
        HopOp::Binary(BinaryOp::Pow) if is_square(dag, id) => OperationClass::Arithmetic,
        HopOp::Unary(op) => lowered_class(op.lowering()),
        HopOp::Binary(op) | HopOp::Outer(op) => lowered_class(op.lowering()),
        HopOp::Ternary(op) => lowered_class(op.lowering()),
        HopOp::MatMul => OperationClass::Product,
        HopOp::Parameterized { .. } => match over_windows(dag, id) {
            Some((WindowOp::Unfold, _)) => OperationClass::Product,
            _ => OperationClass::Arithmetic,
        },
        HopOp::DataGen(DataGenOp::Rand) => OperationClass::Random,
        HopOp::Reorg(ReorgOp::Transpose) => OperationClass::Reorganization,
        _ => OperationClass::Arithmetic,
    }
}

/// The class of an element-wise operation; the first of its steps that is not mere arithmetic decides.
fn lowered_class(lowering: Lowering) -> OperationClass {
    match lowering {
        Lowering::Call => OperationClass::Function,
        Lowering::Float(FloatOp::Div) | Lowering::Intrinsic("llvm.sqrt") => OperationClass::Division,
        Lowering::Expand(steps) => {
            let classes = steps.iter().map(|step| match step {
                Step::Arg(_) | Step::Const(_) => OperationClass::Arithmetic,
                Step::Unary(op) => lowered_class(op.lowering()),
                Step::Binary(op) => lowered_class(op.lowering()),
                Step::Ternary(op) => lowered_class(op.lowering()),
            });
            let mut classes = classes.filter(|&class| class != OperationClass::Arithmetic);
            classes.next().unwrap_or(OperationClass::Arithmetic)
        }
        _ => OperationClass::Arithmetic,
    }
}

/// Whether a product of matrices is that of one with its own transpose, half of which is copied.
fn is_symmetric(dag: &HopDag, product: HopId) -> bool {
    let hop = &dag[product];
    let [left, right] = [hop.inputs[0], hop.inputs[1]];
    let is_transposed = untransposed(dag, left) == Some(right) || untransposed(dag, right) == Some(left);
    is_transposed && hop.size.cols.is_some() && !has_few_columns(&hop.size)
}

/// Whether a power is a square, which is a multiplication.
fn is_square(dag: &HopDag, power: HopId) -> bool {
    let exponent = dag[power].inputs[1];
    matches!(&dag[exponent].op, HopOp::Literal(value) if value.as_f64() == Some(2.0))
}

fn flops_of(dag: &HopDag, id: HopId) -> f64 {
    let hop = &dag[id];
    let output = cells(&hop.size);
    match &hop.op {
        HopOp::Unary(op) if hop.is_matrix() => op.flops() * output,
        HopOp::Binary(BinaryOp::Pow) if hop.is_matrix() && is_square(dag, id) => output,
        HopOp::Binary(op) | HopOp::Outer(op) if hop.is_matrix() => op.flops() * output,
        HopOp::Ternary(op) if hop.is_matrix() => op.flops() * output,
        HopOp::Nary(NaryOp::Min | NaryOp::Max | NaryOp::Plus) => hop.inputs.len() as f64 * output,
        HopOp::AggUnary(op, _) => op.flops() * cells(&dag[hop.inputs[0]].size),
        HopOp::MatMul => {
            let share = if is_symmetric(dag, id) { SYMMETRIC_SHARE } else { 1.0 };
            share * 2.0 * output * dag[hop.inputs[0]].size.cols.unwrap_or(0) as f64
        }
        // A vector is copied.
        HopOp::Reorg(ReorgOp::Transpose) if hop.size.rows == Some(1) || hop.size.cols == Some(1) => 0.0,
        // Copied row by row, as an index is.
        HopOp::Nary(NaryOp::Cbind) => hop.inputs.len() as f64 * hop.size.rows.unwrap_or(0) as f64,
        // Whether a cell is zero is drawn, too.
        HopOp::DataGen(DataGenOp::Rand) if drawn_share(dag, hop).is_some_and(|share| share < 1.0) => 2.0 * output,
        HopOp::Nary(_) | HopOp::Cumulative(_) | HopOp::Reorg(_) | HopOp::DataGen(_) => output,
        HopOp::Index => hop.size.rows.unwrap_or(0) as f64,
        HopOp::Parameterized { .. } => over_windows(dag, id).map_or(0.0, |(op, windows)| match op {
            WindowOp::Unfold => 2.0 * output * windows.filter_cells() as f64,
            WindowOp::MaxPool | WindowOp::AvgPool => output * windows.window_cells() as f64,
        }),
        _ => 0.0,
    }
}
