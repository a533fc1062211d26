//! Errors of the engine as exceptions of Python.

use fuseline::Error;
use fuseline::ir::hop::infer::ShapeError;
use pyo3::create_exception;
use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    fuseline,
    CompileError,
    PyValueError,
    "A script that is wrong, with the places of all mistakes found."
);
create_exception!(fuseline, ExecutionError, PyRuntimeError, "A computation that failed while it ran.");

/// The exception that tells an error of the engine.
pub(crate) fn exception(error: &Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Expression(failed) => match failed.error {
            ShapeError::Type { .. } => PyTypeError::new_err(text),
            _ => PyValueError::new_err(text),
        },
        Error::Script(_) => CompileError::new_err(text),
        Error::Memory(_) => PyMemoryError::new_err(text),
        Error::Execution(failed) if failed.kind.is_memory() => PyMemoryError::new_err(text),
        Error::Sizes(_)
        | Error::NoSuchInput { .. }
        | Error::UnboundInput(_)
        | Error::NoSuchOutput(_)
        | Error::Borrowed { .. } => PyValueError::new_err(text),
        Error::InputType { .. } | Error::OutputType { .. } => PyTypeError::new_err(text),
        _ => ExecutionError::new_err(text),
    }
}
