//! Loops of Python over lazy arrays: what has become too long is computed.

use crate::array::Array;
use crate::{jit, session};
use pyo3::prelude::*;

/// Operations on the longest way to a value before the oldest are computed.
const MOST_PENDING: u32 = 1000;

/// The array, whose oldest operations are computed where many are pending.
pub(crate) fn bounded(py: Python<'_>, array: Array) -> PyResult<Array> {
    if array.expr.depth() >= MOST_PENDING && !jit::is_traced(&array.expr) {
        let evaluator = session::current()?;
        session::run(py, evaluator, |session| session.shorten(&array.expr))?;
    }
    Ok(array)
}
