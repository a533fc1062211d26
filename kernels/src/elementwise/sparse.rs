//! Element-wise operations over the non-zeros of sparse operands.

use super::pattern::{filled, over_pattern};
use super::union::union;
use crate::{KernelContext, Operand};
use fuseline_ir::ops::{BinaryOp, BinaryZero};
use fuseline_matrix::{Csr, Layout, MatrixBlock};
use fuseline_vecprims::{Form, Operand as VectorOperand, TileMut};
use std::borrow::Cow;

/// The operand as a sparse matrix of the size of the result.
pub(super) fn sparse_of(operand: Operand<'_>, dims: (usize, usize)) -> Option<Cow<'_, Csr>> {
    match operand {
        Operand::Matrix(block) if block.dims() == dims => block.layout().sparse(),
        _ => None,
    }
}

/// The result over non-zeros alone, where zeros of a sparse operand stay zeros.
pub(super) fn binary(
    context: &KernelContext<'_>,
    op: BinaryOp,
    left: Operand<'_>,
    right: Operand<'_>,
    dims: (usize, usize),
) -> Option<Csr> {
    let (a, b) = (sparse_of(left, dims), sparse_of(right, dims));
    if let (Some(a), Some(b), BinaryZero::Joint) = (&a, &b, op.zero()) {
        return Some(union(context, op, a, b));
    }
    // The other operand's cells at the non-zeros are gathered, so that one vector operation serves all of them.
    if let Some(a) = a.filter(|_| zeros_stay(context, op, true, right)) {
        return Some(over_pattern(context, &a, [right], |x, [y], out| evaluate(context, op, [x, y], out)));
    }
    if let Some(b) = b.filter(|_| zeros_stay(context, op, false, left)) {
        return Some(over_pattern(context, &b, [left], |y, [x], out| evaluate(context, op, [x, y], out)));
    }
    None
}

/// The result of a sparse operand and a scalar that makes something else of its zeros.
pub(super) fn beside_scalar(
    context: &KernelContext<'_>,
    op: BinaryOp,
    left: Operand<'_>,
    right: Operand<'_>,
    dims: (usize, usize),
) -> Option<MatrixBlock> {
    Some(match (left, right) {
        (matrix, Operand::Scalar(scalar)) => {
            filled(context, &*sparse_of(matrix, dims)?, [scalar], |x, [y], out| evaluate(context, op, [x, y], out))
        }
        (Operand::Scalar(scalar), matrix) => {
            filled(context, &*sparse_of(matrix, dims)?, [scalar], |y, [x], out| evaluate(context, op, [x, y], out))
        }
        _ => return None,
    })
}

/// The operation on one run of cells.
fn evaluate(context: &KernelContext<'_>, op: BinaryOp, [x, y]: [VectorOperand<'_>; 2], out: &mut [f64]) {
    let len = out.len();
    context.primitives.binary(op, form(x, y), 1, len, x.tile, y.tile, TileMut::new(out, len));
}

/// The form of an operation of which one operand has a value for each cell.
pub(super) fn form(x: VectorOperand<'_>, y: VectorOperand<'_>) -> Form {
    match (x.scalar, y.scalar) {
        (true, _) => Form::ScalarVect,
        (_, true) => Form::VectScalar,
        _ => Form::VectVect,
    }
}

/// Whether the operation is zero wherever the sparse operand (the left one or not) is.
pub(crate) fn zeros_stay(context: &KernelContext<'_>, op: BinaryOp, sparse_is_left: bool, other: Operand<'_>) -> bool {
    if let Operand::Scalar(value) = other
        && beside_zero(op, sparse_is_left, value) == 0.0
    {
        return true;
    }
    let annihilates = match op.zero() {
        BinaryZero::Annihilates => true,
        BinaryZero::LeftAnnihilates => sparse_is_left,
        BinaryZero::Joint | BinaryZero::Fills => false,
    };
    if !annihilates {
        return false;
    }
    let values = [0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let always = values.into_iter().all(|value| beside_zero(op, sparse_is_left, value) == 0.0);
    let is_licensed = op.zero() == BinaryZero::Annihilates || op == BinaryOp::Div;
    always || is_licensed && (!context.strict_ieee || is_harmless(op, other))
}

/// The operation of a zero, on the left or not, with a value.
fn beside_zero(op: BinaryOp, zero_is_left: bool, value: f64) -> f64 {
    if zero_is_left { op.eval(0.0, value) } else { op.eval(value, 0.0) }
}

/// Whether a zero annihilates every cell of the operand by IEEE rules: finite, and no zero for a denominator.
fn is_harmless(op: BinaryOp, other: Operand<'_>) -> bool {
    match other {
        Operand::Scalar(value) => are_harmless(op, &[value]),
        Operand::Matrix(block) => match block.layout() {
            Layout::Dense(dense) => are_harmless(op, dense.values()),
            Layout::Sparse(csr) => op != BinaryOp::Div && are_harmless(op, csr.values()),
        },
    }
}

fn are_harmless(op: BinaryOp, values: &[f64]) -> bool {
    values.iter().all(|&value| value.is_finite() && !(op == BinaryOp::Div && value == 0.0))
}

/// Reads cells of a matrix by column, row after row.
#[derive(Debug)]
pub(crate) struct RowReader<'a> {
    matrix: Layout<'a>,
    dims: (usize, usize),
    /// A sparse row, scattered; zeros between uses.
    scattered: Vec<f64>,
}

impl<'a> RowReader<'a> {
    pub(crate) fn new(matrix: Layout<'a>, dims: (usize, usize)) -> Self {
        RowReader { matrix, dims, scattered: Vec::new() }
    }

    /// Appends the cells of row `i` in these columns.
    pub(crate) fn gather(&mut self, i: usize, columns: &[u32], out: &mut Vec<f64>) {
        let (rows, cols) = self.matrix.dims();
        let row = if rows == self.dims.0 { i } else { 0 };
        match &self.matrix {
            column if cols == 1 && self.dims.1 != 1 => out.resize(out.len() + columns.len(), column.get(row, 0)),
            Layout::Dense(dense) => {
                let cells = dense.row(row);
                out.extend(columns.iter().map(|&j| cells[j as usize]));
            }
            Layout::Sparse(csr) => {
                self.scattered.resize(self.dims.1, 0.0);
                let (own_columns, values) = csr.row(row);
                for (&j, &value) in own_columns.iter().zip(values) {
                    self.scattered[j as usize] = value;
                }
                out.extend(columns.iter().map(|&j| self.scattered[j as usize]));
                own_columns.iter().for_each(|&j| self.scattered[j as usize] = 0.0);
            }
        }
    }
}
