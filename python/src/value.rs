//! The values of arrays: computed where they were not before, and not handed over where somebody would be surprised.

use crate::{jit, place, session};
use fuseline::ir::Format;
use fuseline::{Expr, RuntimeValue};
use pyo3::exceptions::{PyMemoryError, PyTypeError, PyValueError};
use pyo3::prelude::*;

/// The value of an expression, which is computed where it was not before.
pub(crate) fn value_of(py: Python<'_>, expr: &Expr) -> PyResult<RuntimeValue> {
    let mut values = values_of(py, std::slice::from_ref(expr))?;
    values.pop().ok_or_else(|| PyValueError::new_err("no value"))
}

/// The values of expressions, which are computed together where they were not before.
pub(crate) fn values_of(py: Python<'_>, exprs: &[Expr]) -> PyResult<Vec<RuntimeValue>> {
    if exprs.iter().any(|expr| expr.known_value().is_none()) {
        if exprs.iter().any(jit::is_traced) {
            return Err(jit::traced_value());
        }
        let evaluator = session::current(py)?;
        let statistics = session::run(py, evaluator, || Expr::values_read(exprs), |session| session.compute(exprs))?;
        session::note(statistics);
    }
    exprs.iter().map(|expr| expr.known_value().ok_or_else(|| PyValueError::new_err("no value"))).collect()
}

/// Keeps operators of SciPy, pandas and masked arrays, which do not ask what stands on their right, from computing what is
/// on their left with a dense array.
pub(crate) fn refuse_operators_of_others(py: Python<'_>) -> PyResult<()> {
    let Some((module, function)) = place::caller(py) else { return Ok(()) };
    if module.starts_with("scipy.sparse") {
        return Err(PyTypeError::new_err(
            "SciPy would make the array dense: write fl.matrix(S) for the matrix S of SciPy",
        ));
    }
    if module == "numpy.ma.core" && function == "getdata" {
        return Err(PyTypeError::new_err("masked arrays are not supported: write .filled(value) first"));
    }
    if module.starts_with("pandas.") && function == "dot" {
        return Err(PyTypeError::new_err(
            "pandas would compute the array: write fl.matrix(D) for the data D of pandas",
        ));
    }
    Ok(())
}

/// Bytes of a dense array that a sparse matrix becomes only where it is asked for by name.
const LARGE_BYTES: usize = 100 << 20;

/// Keeps functions of NumPy that know no sparse matrices from making large ones dense.
pub(crate) fn refuse_large(value: &RuntimeValue) -> PyResult<()> {
    let RuntimeValue::Matrix(block) = value else { return Ok(()) };
    let bytes = block.rows().saturating_mul(block.cols()).saturating_mul(8);
    if block.format() == Format::Dense || bytes <= LARGE_BYTES {
        return Ok(());
    }
    Err(PyMemoryError::new_err(format!(
        "a sparse {} x {} matrix would become a dense array of {} MB: write .numpy() for that, or .scipy()",
        block.rows(),
        block.cols(),
        bytes >> 20
    )))
}
