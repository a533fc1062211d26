//! NumPy's rules of shapes over an engine that knows matrices and scalars alone: a vector is a column, and stands for a row
//! beside a matrix.

use crate::capture::Operand;
use fuseline::ir::hop::{CastOp, HopOp, ReorgOp};
use fuseline::ir::ops::{BinaryOp, TernaryOp};
use fuseline::{Expr, Place};

/// The transpose.
pub(crate) fn transposed(expr: &Expr, place: &Place) -> Expr {
    Expr::apply_at(HopOp::Reorg(ReorgOp::Transpose), &[expr], place.clone())
}

/// The cell of a 1 x 1 matrix as a scalar; scalars stay.
pub(crate) fn as_scalar(expr: &Expr, place: &Place) -> Expr {
    if expr.data_type().is_scalar() {
        return expr.clone();
    }
    Expr::apply_at(HopOp::Cast(CastOp::AsScalar), &[expr], place.clone())
}

/// A scalar as a 1 x 1 matrix; matrices stay.
pub(crate) fn as_matrix(expr: &Expr, place: &Place) -> Expr {
    if expr.data_type().is_matrix() {
        return expr.clone();
    }
    Expr::apply_at(HopOp::Cast(CastOp::AsMatrix), &[expr], place.clone())
}

/// An operand as it stands beside others of this number of dimensions: a vector beside a matrix as a row.
fn aligned(operand: &Operand, rank: u8, place: &Place) -> Expr {
    if operand.rank == 1 && rank == 2 { transposed(&operand.expr, place) } else { operand.expr.clone() }
}

/// An element-wise operation of two operands, and the number of dimensions of its result.
pub(crate) fn binary(op: BinaryOp, left: &Operand, right: &Operand, place: &Place) -> (Expr, u8) {
    let rank = left.rank.max(right.rank);
    let (one, other) = (aligned(left, rank, place), aligned(right, rank, place));
    (combined(op, &one, &other, place), rank)
}

/// An element-wise operation of two matrices or scalars; a column and a row give all pairs.
fn combined(op: BinaryOp, one: &Expr, other: &Expr, place: &Place) -> Expr {
    if makes_pairs(one, other) {
        return Expr::apply_at(HopOp::Outer(op), &[one, other], place.clone());
    }
    if makes_pairs(other, one) {
        let (one, other) = (transposed(one, place), transposed(other, place));
        let turned = Expr::apply_at(HopOp::Outer(op), &[&one, &other], place.clone());
        return transposed(&turned, place);
    }
    Expr::apply_at(op, &[one, other], place.clone())
}

/// An element-wise operation of three operands, and the number of dimensions of its result.
pub(crate) fn if_else(operands: [&Operand; 3], place: &Place) -> (Expr, u8) {
    let rank = operands.iter().map(|operand| operand.rank).max().unwrap_or(0);
    let exprs = operands.map(|operand| aligned(operand, rank, place));
    let has = |is: fn(&Expr) -> bool| exprs.iter().any(is);
    let exprs = if has(is_column) && has(is_row) { spread(&exprs, place) } else { exprs };
    let [condition, yes, no] = &exprs;
    // Where the condition is a scalar, the engine chooses one of the matrices as it is.
    let condition =
        if condition.data_type().is_scalar() && rank > 0 { as_matrix(condition, place) } else { condition.clone() };
    (Expr::apply_at(HopOp::Ternary(TernaryOp::IfElse), &[&condition, yes, no], place.clone()), rank)
}

/// Columns and rows as matrices of all pairs.
fn spread(exprs: &[Expr; 3], place: &Place) -> [Expr; 3] {
    let zero = Expr::value_at(fuseline::ir::Value::F64(0.0), place.clone());
    let zeros = |expr: &Expr| {
        Expr::apply_at(
            BinaryOp::Mult,
            &[&Expr::apply_at(BinaryOp::NotEqual, &[expr, expr], place.clone()), &zero],
            place.clone(),
        )
    };
    let row = exprs.iter().find(|expr| is_row(expr)).map(zeros);
    let column = exprs.iter().find(|expr| is_column(expr)).map(zeros);
    let (Some(row), Some(column)) = (row, column) else { return exprs.clone() };
    exprs.each_ref().map(|expr| {
        if is_column(expr) {
            combined(BinaryOp::Plus, expr, &row, place)
        } else if is_row(expr) {
            combined(BinaryOp::Plus, &column, expr, place)
        } else {
            expr.clone()
        }
    })
}

/// Whether a column and a row give all pairs, as far as is known. How many cells each has may be open: one is right, too.
fn makes_pairs(column: &Expr, row: &Expr) -> bool {
    let (column, row) = (column.size(), row.size());
    column.cols == Some(1) && row.rows == Some(1) && column.rows != Some(1) && row.cols != Some(1)
}

/// Whether an expression is known to be a column of several cells.
fn is_column(expr: &Expr) -> bool {
    expr.size().cols == Some(1) && expr.size().rows != Some(1)
}

/// Whether an expression is known to be a row of several cells.
fn is_row(expr: &Expr) -> bool {
    expr.size().rows == Some(1) && expr.size().cols != Some(1)
}
