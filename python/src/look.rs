//! What the compiler makes of expressions, and what it did.

use crate::array::Array;
use crate::capture::COPIED_BYTES;
use crate::session;
use fuseline::{ExplainStage, Expr};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::atomic::Ordering;

/// A stage of the compilation of arrays, as text.
#[pyfunction]
#[pyo3(signature = (arrays, stage))]
pub(crate) fn explain_text(py: Python<'_>, arrays: Vec<Py<Array>>, stage: &str) -> PyResult<String> {
    let stage: ExplainStage = stage.parse().map_err(PyValueError::new_err::<String>)?;
    let exprs = exprs(&arrays);
    session::run(py, session::current(py)?, Vec::new, |session| session.explain(&exprs[..], stage))
}

/// A stage of the compilation of arrays, as a drawing.
#[pyfunction]
#[pyo3(signature = (arrays, stage))]
pub(crate) fn explain_svg(py: Python<'_>, arrays: Vec<Py<Array>>, stage: &str) -> PyResult<Option<String>> {
    let stage: ExplainStage = stage.parse().map_err(PyValueError::new_err::<String>)?;
    drawing(py, &exprs(&arrays), stage)
}

/// A stage of the compilation of expressions as a drawing, where it is a graph.
pub(crate) fn drawing(py: Python<'_>, exprs: &[Expr], stage: ExplainStage) -> PyResult<Option<String>> {
    let document = session::run(py, session::current(py)?, Vec::new, |session| session.explain_document(exprs, stage))?;
    Ok(document.map(|document| document.to_svg()))
}

/// Counters of the last evaluation, and of all bytes that were copied to be read.
#[pyfunction]
pub(crate) fn stats(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let json = session::last_statistics();
    let json = py.import("json")?.call_method1("loads", (json,))?;
    let stats = json.cast_into::<PyDict>()?;
    stats.set_item("copied_bytes", COPIED_BYTES.load(Ordering::Relaxed))?;
    Ok(stats)
}

fn exprs(arrays: &[Py<Array>]) -> Vec<Expr> {
    arrays.iter().map(|array| array.get().expr.clone()).collect()
}
