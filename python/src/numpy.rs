//! NumPy, SciPy and others as modules of Python.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyModule;

macro_rules! imported {
    ($($(#[$doc:meta])* $function:ident = $module:literal;)*) => {$(
        $(#[$doc])*
        pub(crate) fn $function(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
            static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
            let module = MODULE.get_or_try_init(py, || PyModule::import(py, $module).map(Bound::unbind))?;
            Ok(module.bind(py).clone())
        }
    )*};
}

imported! {
    /// `numpy`.
    module = "numpy";
    /// `scipy.sparse`.
    sparse = "scipy.sparse";
    /// The part of the package that is written in Python: what NumPy's functions mean.
    protocols = "fuseline._protocols";
}

/// `numpy.ndarray`.
pub(crate) fn is_ndarray(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    static NDARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = object.py();
    let class = NDARRAY.get_or_try_init(py, || module(py)?.getattr("ndarray").map(Bound::unbind))?;
    object.is_instance(class.bind(py))
}

/// A truth value of NumPy, `numpy.bool_`.
pub(crate) fn is_truth_value(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = object.py();
    let class = CLASS.get_or_try_init(py, || module(py)?.getattr("bool_").map(Bound::unbind))?;
    object.is_instance(class.bind(py))
}

/// Whether an object is a matrix of `scipy.sparse`, which is not imported for the question.
pub(crate) fn is_sparse(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let module: String = match object.get_type().module() {
        Ok(module) => module.to_string(),
        Err(_) => return Ok(false),
    };
    if !module.starts_with("scipy.sparse") {
        return Ok(false);
    }
    sparse(object.py())?.call_method1("issparse", (object,))?.extract()
}
