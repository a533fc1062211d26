//! Functions of arrays that are no methods.

use crate::array::Array;
use crate::capture;
use crate::dtype::DType;
use crate::operation::{self, checked, operand_of};
use crate::reduce::position_of;
use crate::value::values_of;
use crate::{export, loops, place, session};
use fuseline::ir::Value;
use fuseline::ir::hop::{DataGenOp, Function, HopOp, NaryOp, NumericFunction, ReorgOp};
use fuseline::{Expr, Place};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyTuple};

/// An array of NumPy, a matrix of SciPy, or what can be had as one, as an `Array`.
///
/// Doubles in C order are not copied: what is written to the array before an expression over it is computed shows in
/// the result. `copy=True` copies them.
#[pyfunction]
#[pyo3(signature = (object, *, copy=false))]
pub(crate) fn matrix(object: &Bound<'_, PyAny>, copy: bool) -> PyResult<Array> {
    if let Ok(array) = object.cast::<Array>() {
        let array = array.get();
        return Ok(Array::new(array.expr.clone(), array.rank, array.dtype));
    }
    let operand = capture::captured(object, copy)?;
    let dtype = operand.kind.dtype();
    operand.check_fits(dtype)?;
    Ok(Array::new(operand.expr, operand.rank, dtype))
}

/// The values of arrays, computed together so that they share work.
#[pyfunction]
#[pyo3(signature = (*arrays))]
pub(crate) fn compute<'py>(py: Python<'py>, arrays: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyTuple>> {
    let arrays: Vec<Array> = arrays.iter().map(|object| matrix(&object, false)).collect::<PyResult<_>>()?;
    let exprs: Vec<Expr> = arrays.iter().map(|array| array.expr.clone()).collect();
    let values = values_of(py, &exprs)?;
    let values = values.iter().zip(&arrays);
    let values = values.map(|(value, array)| export::by_density(py, value, array.rank, array.dtype));
    PyTuple::new(py, values.collect::<PyResult<Vec<_>>>()?)
}

/// `yes` where the condition holds, else `no`, with NumPy's shapes and types.
#[pyfunction]
#[pyo3(name = "where")]
pub(crate) fn where_(
    condition: &Bound<'_, PyAny>,
    yes: &Bound<'_, PyAny>,
    no: &Bound<'_, PyAny>,
) -> PyResult<Py<PyAny>> {
    let py = condition.py();
    let [condition, yes, no] = [operand_of(condition)?, operand_of(yes)?, operand_of(no)?];
    checked(py, operation::chosen(&condition, &yes, &no, &place::here(py))?)
}

/// An element-wise operation of two by the name of the engine, with the type of the operands, of truth values, or of
/// floating point numbers.
#[pyfunction]
pub(crate) fn binary(name: &str, left: &Bound<'_, PyAny>, right: &Bound<'_, PyAny>, kind: &str) -> PyResult<Py<PyAny>> {
    let py = left.py();
    let op = operation::binary_of(name)?;
    let mut result = operation::elementwise(op, &operand_of(left)?, &operand_of(right)?, &place::here(py))?;
    if kind == "float" {
        result = Array::new(result.expr, result.rank, result.dtype.as_float());
    }
    checked(py, loops::bounded(py, result)?)
}

/// The product of matrices and vectors.
#[pyfunction]
pub(crate) fn matmul(left: &Bound<'_, PyAny>, right: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let py = left.py();
    checked(py, operation::product(&operand_of(left)?, &operand_of(right)?, &place::here(py))?)
}

/// Matrices side by side (axis 1) or below each other (axis 0); vectors one behind the other.
#[pyfunction]
pub(crate) fn concatenate(py: Python<'_>, arrays: Vec<Bound<'_, PyAny>>, axis: i64) -> PyResult<Py<PyAny>> {
    let operands: Vec<capture::Operand> = arrays.iter().map(operand_of).collect::<PyResult<_>>()?;
    let Some(first) = operands.first() else {
        return Err(PyValueError::new_err("need at least one array to concatenate"));
    };
    let rank = first.rank;
    if rank == 0 || operands.iter().any(|operand| operand.rank != rank) {
        return Err(PyValueError::new_err(
            "all arrays that are concatenated have the same number of dimensions, 1 or 2",
        ));
    }
    let op = if position_of(axis, rank.into())? == 0 { NaryOp::Rbind } else { NaryOp::Cbind };
    let dtype = operands.iter().skip(1).fold(first.kind.dtype(), |dtype, operand| dtype.with(operand.kind.dtype()));
    let exprs: Vec<&Expr> = operands.iter().map(|operand| &operand.expr).collect();
    checked(py, Array::new(Expr::apply_at(HopOp::Nary(op), &exprs, place::here(py)), rank, dtype))
}

/// A matrix of equal cells.
#[pyfunction]
pub(crate) fn full(py: Python<'_>, rows: i64, columns: Option<i64>, value: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let place = place::here(py);
    let number = |number: i64| Expr::value_at(Value::I64(number), place.clone());
    let value = operand_of(value)?;
    value.check_fits(value.kind.dtype())?;
    let inputs = [&value.expr, &number(rows), &number(columns.unwrap_or(1))];
    let expr = Expr::apply_at(HopOp::DataGen(DataGenOp::Matrix), &inputs, place.clone());
    checked(py, Array::new(expr, if columns.is_some() { 2 } else { 1 }, value.kind.dtype()))
}

/// The numbers from `start` to before `stop`.
#[pyfunction]
pub(crate) fn sequence(py: Python<'_>, start: f64, step: f64, count: u64, is_integer: bool) -> PyResult<Py<PyAny>> {
    let place = place::here(py);
    let number = |number: f64| Expr::value_at(Value::F64(number), place.clone());
    let last = start + step * (count.saturating_sub(1)) as f64;
    let inputs = [&number(start), &number(last), &number(step)];
    let expr = Expr::apply_at(HopOp::DataGen(DataGenOp::Seq), &inputs, place.clone());
    checked(py, Array::new(expr, 1, if is_integer { DType::I64 } else { DType::F64 }))
}

/// Random numbers, of which the seed decides all; it may be a number that is computed.
#[pyfunction]
pub(crate) fn rand(
    py: Python<'_>,
    rows: i64,
    columns: i64,
    range: (f64, f64),
    density: f64,
    seed: Option<&Bound<'_, PyAny>>,
    normal: bool,
) -> PyResult<Py<PyAny>> {
    let place = place::here(py);
    let value = |value: Value| Expr::value_at(value, place.clone());
    let distribution = if normal { "normal" } else { "uniform" };
    let seed = match seed {
        None => loops::next_seed(&place),
        Some(seed) => seed_of(seed, &place)?,
    };
    let inputs = [
        value(Value::I64(rows)),
        value(Value::I64(columns)),
        value(Value::F64(range.0)),
        value(Value::F64(range.1)),
        value(Value::F64(density)),
        seed,
        value(Value::Str(distribution.to_owned())),
    ];
    let expr = Expr::apply_at(HopOp::DataGen(DataGenOp::Rand), &inputs.each_ref(), place.clone());
    checked(py, Array::new(expr, 2, DType::F64))
}

/// A seed, which is a whole number of up to 64 bits or one that is computed.
fn seed_of(seed: &Bound<'_, PyAny>, place: &Place) -> PyResult<Expr> {
    if !seed.is_instance_of::<Array>()
        && !seed.is_instance_of::<PyBool>()
        && let Ok(integer) = seed.extract()
    {
        return Ok(Expr::value_at(Value::I64(integer), place.clone()));
    }
    let seed = operand_of(seed)?;
    if seed.rank > 0 || !seed.kind.dtype().is_integer() {
        return Err(PyTypeError::new_err("a seed is a whole number"));
    }
    Ok(seed.expr)
}

/// A function of whole matrices by the name of the engine: its results.
#[pyfunction]
pub(crate) fn numeric(
    py: Python<'_>,
    name: &str,
    arrays: Vec<Bound<'_, PyAny>>,
    ranks: Vec<u8>,
) -> PyResult<Vec<Array>> {
    let place = place::here(py);
    let function = NumericFunction::from_mnemonic(name);
    let function = function.ok_or_else(|| PyValueError::new_err(format!("no function {name}")))?;
    let operands: Vec<capture::Operand> = arrays.iter().map(operand_of).collect::<PyResult<_>>()?;
    let exprs: Vec<&Expr> = operands.iter().map(|operand| &operand.expr).collect();
    let op = HopOp::Parameterized { function: Function::Numeric(function), names: Vec::new() };
    let results = Expr::apply_at(op, &exprs, place.clone());
    if let Some(failure) = results.failure() {
        return Err(crate::error::exception(&fuseline::Error::Expression(failure)));
    }
    if ranks.len() == 1 {
        return Ok(vec![Array::new(results, ranks[0], DType::F64)]);
    }
    let item = |position: usize| Expr::apply_at(HopOp::Item(position), &[&results], place.clone());
    Ok(ranks.iter().enumerate().map(|(position, &rank)| Array::new(item(position), rank, DType::F64)).collect())
}

/// The diagonal of a matrix as a vector, or a vector as the diagonal of a matrix.
#[pyfunction]
pub(crate) fn diag(array: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let py = array.py();
    let operand = operand_of(array)?;
    let expr = Expr::apply_at(HopOp::Reorg(ReorgOp::Diag), &[&operand.expr], place::here(py));
    checked(py, Array::new(expr, 3 - operand.rank.max(1), operand.kind.dtype()))
}

/// The nearest integers; the even one of two.
#[pyfunction]
pub(crate) fn rint(array: &Bound<'_, PyAny>) -> PyResult<Array> {
    let operand = operand_of(array)?;
    let place: Place = place::here(array.py());
    Ok(Array::new(operation::half_to_even(&operand.expr, &place), operand.rank, operand.kind.dtype().as_float()))
}

/// Reads a matrix from a file.
#[pyfunction]
pub(crate) fn read_file(py: Python<'_>, path: &str, options: Vec<(String, String)>) -> PyResult<Array> {
    let place = place::here(py);
    let value = |text: &str| Expr::value_at(Value::Str(text.to_owned()), place.clone());
    let names = options.iter().map(|(name, _)| name.clone()).collect();
    let mut inputs = vec![value(path)];
    for (_, option) in &options {
        let parsed = option.parse::<i64>().map(Value::I64).or_else(|_| option.parse::<bool>().map(Value::Bool));
        inputs.push(Expr::value_at(parsed.unwrap_or_else(|_| Value::Str(option.clone())), place.clone()));
    }
    let op = HopOp::Parameterized { function: Function::Read, names };
    let expr = Expr::apply_at(op, &inputs.iter().collect::<Vec<_>>(), place.clone());
    if let Some(failure) = expr.failure() {
        return Err(crate::error::exception(&fuseline::Error::Expression(failure)));
    }
    let evaluator = session::current(py)?;
    session::run(py, evaluator, Vec::new, |session| session.compute(std::slice::from_ref(&expr)))?;
    Ok(Array::new(expr, 2, DType::F64))
}
