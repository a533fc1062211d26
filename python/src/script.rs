//! Scripts in DML on arrays.

use crate::array::Array;
use crate::dtype::DType;
use crate::operation::operand_of;
use crate::place;
use crate::session;
use crate::value::values_of;
use fuseline::ir::{DataType, Value};
use fuseline::{Expr, RuntimeValue, ScriptInterface, Variables};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyString};

/// Runs a script on these inputs and gives these outputs, or all that it assigns; what it prints goes to `sys.stdout`.
#[pyfunction]
#[pyo3(signature = (name, text, inputs, outputs, arguments))]
pub(crate) fn run_script<'py>(
    py: Python<'py>,
    name: &str,
    text: &str,
    inputs: &Bound<'py, PyDict>,
    outputs: Option<Vec<String>>,
    arguments: Vec<(String, String)>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut bound = Variables::new();
    for (name, object) in inputs {
        bound.insert(name.extract()?, value(&object)?);
    }
    let types: Vec<(&str, DataType)> = bound.iter().map(|(name, value)| (name.as_str(), value.data_type())).collect();
    let arguments: Vec<(&str, &str)> = arguments.iter().map(|(name, value)| (&**name, &**value)).collect();
    let outputs: Option<Vec<&str>> = outputs.as_ref().map(|outputs| outputs.iter().map(String::as_str).collect());
    let evaluator = session::current(py)?;
    let reads = || bound.values().cloned().collect();
    let (outcome, printed) = session::run(py, evaluator, reads, |session| {
        let mut printed: Vec<u8> = Vec::new();
        let interface =
            ScriptInterface { arguments: &arguments, inputs: &types, outputs: outputs.as_deref().unwrap_or_default() };
        let mut script = match outputs {
            Some(_) => session.prepare_script(name, text, &interface)?,
            None => session.prepare_whole_script(name, text, &interface)?,
        };
        for (name, value) in &bound {
            script.bind(name, value.clone())?;
        }
        let outcome = script.execute(&mut printed)?;
        Ok((outcome, printed))
    })?;
    session::note(outcome.statistics);
    if !printed.is_empty() {
        let text = String::from_utf8_lossy(&printed).into_owned();
        py.import("sys")?.getattr("stdout")?.call_method1("write", (text,))?;
    }
    let results = PyDict::new(py);
    for (name, value) in outcome.variables {
        results.set_item(name, object(py, value)?)?;
    }
    Ok(results)
}

/// An object as a value of a script: arrays are matrices, a vector is a column.
fn value(object: &Bound<'_, PyAny>) -> PyResult<RuntimeValue> {
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Value::Str(text.to_string()).into());
    }
    if object.is_instance_of::<PyBool>() {
        return Ok(Value::Bool(object.extract()?).into());
    }
    if object.is_instance_of::<PyInt>() {
        return Ok(Value::I64(object.extract()?).into());
    }
    if let Ok(list) = object.cast_exact::<PyList>()
        && list.iter().any(|item| item.is_instance_of::<Array>() || crate::numpy::is_ndarray(&item).unwrap_or(false))
    {
        let values = list.iter().map(|item| value(&item)).collect::<PyResult<Vec<_>>>()?;
        return Ok(fuseline::List::unnamed(values).into());
    }
    let operand = operand_of(object)?;
    let mut values = values_of(object.py(), &[operand.expr])?;
    values.pop().ok_or_else(|| PyTypeError::new_err("no value"))
}

/// A value of a script as an object: matrices are arrays of two dimensions.
fn object(py: Python<'_>, value: RuntimeValue) -> PyResult<Py<PyAny>> {
    Ok(match value {
        RuntimeValue::Matrix(_) => {
            let array = Array::new(Expr::value_at(value, place::here(py)), 2, DType::F64);
            Py::new(py, array)?.into_any()
        }
        RuntimeValue::Scalar(Value::F64(number)) => number.into_pyobject(py)?.into_any().unbind(),
        RuntimeValue::Scalar(Value::I64(number)) => number.into_pyobject(py)?.into_any().unbind(),
        RuntimeValue::Scalar(Value::Bool(truth)) => truth.into_pyobject(py)?.to_owned().into_any().unbind(),
        RuntimeValue::Scalar(Value::Str(text)) => text.into_pyobject(py)?.into_any().unbind(),
        RuntimeValue::List(list) => {
            let elements = list.elements.iter().map(|element| object(py, element.value.clone()));
            PyList::new(py, elements.collect::<PyResult<Vec<_>>>()?)?.into_any().unbind()
        }
        RuntimeValue::Frame(_) => {
            return Err(PyTypeError::new_err("frames are not supported: convert them in the script"));
        }
    })
}

/// The names of the functions of the script library, and their texts.
#[pyfunction]
pub(crate) fn library() -> Vec<(&'static str, &'static str)> {
    fuseline::script_library().collect()
}
