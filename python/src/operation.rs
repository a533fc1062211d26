//! Operations on arrays with NumPy's types: element-wise ones, products, choices, and their errors.

use crate::array::Array;
use crate::broadcast::{as_scalar, binary, if_else, transposed};
use crate::capture::{self, Operand};
use crate::dtype::DType;
use crate::{division, loops, place};
use fuseline::ir::Value;
use fuseline::ir::hop::HopOp;
use fuseline::ir::ops::{BinaryOp, TernaryOp, UnaryOp};
use fuseline::{Expr, Place};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

impl Array {
    /// An operation whose left operand this is.
    pub(crate) fn before(&self, op: BinaryOp, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operator(self, other, false, |left, right, place| elementwise(op, left, right, place))
    }

    /// An operation whose right operand this is.
    pub(crate) fn after(&self, op: BinaryOp, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operator(self, other, true, |left, right, place| elementwise(op, left, right, place))
    }
}

/// Applies an operation of two operands as an operator of Python: `None` where the other is no array.
pub(crate) fn operator(
    array: &Array,
    other: &Bound<'_, PyAny>,
    is_reflected: bool,
    build: impl FnOnce(&Operand, &Operand, &Place) -> PyResult<Array>,
) -> PyResult<Py<PyAny>> {
    let py = other.py();
    let other = match other.cast::<Array>() {
        Ok(other) => Some(other.get().operand()),
        Err(_) => capture::operand(other)?,
    };
    let Some(other) = other else { return Ok(py.NotImplemented()) };
    let this = array.operand();
    let (left, right) = if is_reflected { (&other, &this) } else { (&this, &other) };
    let place = place::here(py);
    let result = build(left, right, &place)?;
    if result.expr.failure().is_some() && [left, right].iter().all(|operand| operand.expr.failure().is_none()) {
        return Err(misfit(left, right, &place));
    }
    checked(py, loops::bounded(py, result)?)
}

/// The error for operands that do not fit, with their shapes as NumPy has them.
pub(crate) fn misfit(left: &Operand, right: &Operand, place: &Place) -> PyErr {
    let (one, other) = (shape_text(&left.expr, left.rank), shape_text(&right.expr, right.rank));
    PyValueError::new_err(format!(
        "shapes {one} and {other} do not fit\n  at {place}\n  left operand, {one}, from {}\n  right operand, {other}, \
         from {}",
        left.expr.place(),
        right.expr.place()
    ))
}

/// A shape as NumPy writes it.
pub(crate) fn shape_text(expr: &Expr, rank: u8) -> String {
    match expr.size().known_dims() {
        _ if rank == 0 => "()".to_owned(),
        Some((rows, _)) if rank == 1 => format!("({rows},)"),
        Some((rows, cols)) => format!("({rows}, {cols})"),
        None if rank == 1 => "(?,)".to_owned(),
        None => "(?, ?)".to_owned(),
    }
}

/// An array whose operands fit.
pub(crate) fn checked(py: Python<'_>, array: Array) -> PyResult<Py<PyAny>> {
    if let Some(failure) = array.expr.failure() {
        return Err(crate::error::exception(&fuseline::Error::Expression(failure)));
    }
    Ok(Py::new(py, array)?.into_any())
}

/// An element-wise operation with NumPy's types.
pub(crate) fn elementwise(op: BinaryOp, left: &Operand, right: &Operand, place: &Place) -> PyResult<Array> {
    let result = cell_by_cell(op, left, right, place)?;
    // Quotients and comparisons are right beside any number.
    if result.dtype.is_integer() {
        left.check_fits(result.dtype)?;
        right.check_fits(result.dtype)?;
        let exponent = right.expr.known_value().filter(|_| op == BinaryOp::Pow && right.rank == 0);
        if exponent.and_then(|exponent| exponent.as_f64()).is_some_and(|exponent| exponent < 0.0) {
            return Err(PyValueError::new_err("integers have no negative integer powers: write x.astype(float)"));
        }
    }
    Ok(result)
}

/// An element-wise operation with NumPy's types, also with numbers that are beyond the range of the type.
pub(crate) fn cell_by_cell(op: BinaryOp, left: &Operand, right: &Operand, place: &Place) -> PyResult<Array> {
    let common = left.kind.with(right.kind);
    let is_bool = common == DType::Bool;
    let (op, dtype) = match op {
        BinaryOp::Plus if is_bool => (BinaryOp::Or, DType::Bool),
        BinaryOp::Mult if is_bool => (BinaryOp::And, DType::Bool),
        BinaryOp::Minus if is_bool => {
            return Err(PyTypeError::new_err("truth values have no difference: use ^ or np.logical_xor"));
        }
        BinaryOp::Div => (op, if common.is_float() { common } else { DType::F64 }),
        BinaryOp::IntDiv | BinaryOp::Modulus | BinaryOp::Pow if is_bool => (op, DType::Signed(1)),
        BinaryOp::BitwAnd | BinaryOp::BitwOr | BinaryOp::BitwXor | BinaryOp::BitwShiftL | BinaryOp::BitwShiftR
            if common.is_float() =>
        {
            return Err(PyTypeError::new_err("floating point numbers have no bits: compare them first"));
        }
        BinaryOp::BitwAnd if is_bool => (BinaryOp::And, DType::Bool),
        BinaryOp::BitwOr if is_bool => (BinaryOp::Or, DType::Bool),
        BinaryOp::BitwXor if is_bool => (BinaryOp::Xor, DType::Bool),
        op if op.algebra().boolean => (op, DType::Bool),
        op => (op, common),
    };
    let (expr, rank) = match op {
        BinaryOp::IntDiv | BinaryOp::Modulus if dtype.is_float() => division::of_floats(op, left, right, place),
        BinaryOp::IntDiv | BinaryOp::Modulus => division::of_integers(op, left, right, place),
        _ => binary(op, left, right, place),
    };
    let may_leave = matches!(
        op,
        BinaryOp::Plus | BinaryOp::Minus | BinaryOp::Mult | BinaryOp::Pow | BinaryOp::BitwShiftL | BinaryOp::IntDiv
    );
    let expr = if may_leave { wrapped(expr, dtype, place) } else { expr };
    Ok(Array::new(expr, rank, dtype))
}

/// Integers as their type holds them: what is beyond its range comes in at the other end. Of 64 bits it cannot be told.
pub(crate) fn wrapped(expr: Expr, dtype: DType, place: &Place) -> Expr {
    let (bits, least) = match dtype {
        DType::Unsigned(bytes) if bytes < 8 => (8 * u32::from(bytes), 0.0),
        DType::Signed(bytes) if bytes < 8 => (8 * u32::from(bytes), -((1_u64 << (8 * bytes - 1)) as f64)),
        _ => return expr,
    };
    let number = |value: f64| Expr::value_at(Value::F64(value), place.clone());
    let apply = |op: BinaryOp, one: &Expr, other: &Expr| Expr::apply_at(op, &[one, other], place.clone());
    let (range, least) = (number((1_u64 << bits) as f64), number(least));
    let turns = apply(BinaryOp::Div, &apply(BinaryOp::Minus, &expr, &least), &range);
    let turns = Expr::apply_at(UnaryOp::Floor, &[&turns], place.clone());
    apply(BinaryOp::Minus, &expr, &apply(BinaryOp::Mult, &turns, &range))
}

/// A product of matrices and vectors with NumPy's shapes.
pub(crate) fn product(left: &Operand, right: &Operand, place: &Place) -> PyResult<Array> {
    let dtype = left.kind.with(right.kind);
    if left.rank == 0 || right.rank == 0 {
        return Err(PyValueError::new_err("matmul: a scalar is no matrix: use *"));
    }
    let one = if left.rank == 1 { transposed(&left.expr, place) } else { left.expr.clone() };
    let expr = Expr::apply_at(HopOp::MatMul, &[&one, &right.expr], place.clone());
    let expr = if dtype == DType::Bool { crate::index::is_nonzero(&expr, place) } else { wrapped(expr, dtype, place) };
    let (expr, rank) = match (left.rank, right.rank) {
        (1, 1) => (as_scalar(&expr, place), 0),
        (1, _) => (transposed(&expr, place), 1),
        (_, 1) => (expr, 1),
        _ => (expr, 2),
    };
    Ok(Array::new(expr, rank, dtype))
}

/// `yes` where the condition holds, else `no`.
pub(crate) fn chosen(condition: &Operand, yes: &Operand, no: &Operand, place: &Place) -> PyResult<Array> {
    let dtype = yes.kind.with(no.kind);
    yes.check_fits(dtype)?;
    no.check_fits(dtype)?;
    let (expr, rank) = if_else([condition, yes, no], place);
    Ok(Array::new(expr, rank, dtype))
}

/// The nearest integers; the even one of two.
pub(crate) fn half_to_even(expr: &Expr, place: &Place) -> Expr {
    let number = |value: f64| Expr::value_at(Value::F64(value), place.clone());
    let apply = |op: BinaryOp, one: &Expr, other: &Expr| Expr::apply_at(op, &[one, other], place.clone());
    let floor = Expr::apply_at(UnaryOp::Floor, &[expr], place.clone());
    let rest = apply(BinaryOp::Minus, expr, &floor);
    let odd = apply(BinaryOp::Modulus, &floor, &number(2.0));
    // Above one half, or at one half above an odd number.
    let above = apply(BinaryOp::Greater, &rest, &number(0.5));
    let at = apply(BinaryOp::Equal, &rest, &number(0.5));
    let up = apply(BinaryOp::Plus, &above, &apply(BinaryOp::Mult, &at, &odd));
    let rounded = apply(BinaryOp::Plus, &floor, &up);
    // Infinities have no rest.
    let is_finite =
        Expr::apply_at(UnaryOp::Not, &[&Expr::apply_at(UnaryOp::IsInf, &[expr], place.clone())], place.clone());
    let ternary = HopOp::Ternary(TernaryOp::IfElse);
    Expr::apply_at(ternary, &[&is_finite, &rounded, expr], place.clone())
}

/// An array, or a number, as an operand.
///
/// # Errors
/// It is none.
pub(crate) fn operand_of(object: &Bound<'_, PyAny>) -> PyResult<Operand> {
    match object.cast::<Array>() {
        Ok(array) => Ok(array.get().operand()),
        Err(_) => capture::captured(object, false),
    }
}

pub(crate) fn unary_of(name: &str) -> PyResult<UnaryOp> {
    let op = UnaryOp::ALL.iter().copied().find(|op| op.mnemonic() == name);
    op.ok_or_else(|| PyValueError::new_err(format!("no function {name}")))
}

pub(crate) fn binary_of(name: &str) -> PyResult<BinaryOp> {
    let op = BinaryOp::ALL.iter().copied().find(|op| op.mnemonic() == name);
    op.ok_or_else(|| PyValueError::new_err(format!("no operation {name}")))
}

/// Extents with the one that is -1 worked out.
pub(crate) fn completed(shape: &[i64], cells: i64) -> PyResult<Vec<i64>> {
    let known: i64 = shape.iter().filter(|&&extent| extent != -1).product();
    let open = shape.iter().filter(|&&extent| extent == -1).count();
    let does_fit = match open {
        0 => known == cells,
        1 => known != 0 && cells % known == 0,
        _ => false,
    };
    if !does_fit || shape.iter().any(|&extent| extent < -1) {
        return Err(PyValueError::new_err(format!("cannot reshape array of size {cells} into shape {shape:?}")));
    }
    Ok(shape.iter().map(|&extent| if extent == -1 { cells / known } else { extent }).collect())
}

pub(crate) fn refuse_modulo(modulo: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    match modulo {
        Some(modulo) if !modulo.is_none() => Err(PyTypeError::new_err("powers modulo a number are not supported")),
        _ => Ok(()),
    }
}
