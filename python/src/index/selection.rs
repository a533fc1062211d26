//! What keys of an index select along an axis.

use crate::array::Array;
use crate::capture::{self, Operand};
use crate::dtype::DType;
use crate::value::value_of;
use crate::{jit, place};
use fuseline::ir::Value;
use fuseline::ir::hop::{HopOp, ShapeOp};
use fuseline::{Expr, RuntimeValue};
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PySlice};

/// What selects along one axis.
pub(super) enum Selection {
    /// One position: the axis goes.
    Position(u64),
    /// All of it.
    All,
    /// Consecutive positions, from the first to before the end.
    Range(u64, u64),
    /// The position that a number of a trace has when it runs: the axis goes.
    Computed(Expr),
    /// Positions from a first to before an end, of which a trace knows one or none.
    ComputedRange(Expr, Expr),
    /// The axis backwards.
    Reversed,
    /// Positions at equal distances: those of a slice, which selects apart from what the other axis selects.
    Steps(Vec<u32>),
    /// Any positions.
    Positions(Vec<u32>),
    /// The positions at which a vector is not zero.
    Mask(Expr),
}

impl Selection {
    pub(super) fn is_list(&self) -> bool {
        matches!(self, Selection::Positions(_) | Selection::Mask(_))
    }

    /// The positions that a mask names, which is computed; others stay.
    pub(super) fn of_mask(self, array: &Array, axis: usize, py: Python<'_>) -> PyResult<Selection> {
        let Selection::Mask(mask) = self else { return Ok(self) };
        let marks = cells(py, &mask)?;
        check_mask(marks.len() as u64, array.extent(py, axis)?)?;
        let positions = marks.iter().enumerate().filter(|(_, mark)| **mark != 0.0);
        let positions = positions.map(|(position, _)| position_of(position as isize));
        positions.collect::<PyResult<Vec<u32>>>().map(Selection::Positions)
    }
}

fn check_mask(marks: u64, extent: u64) -> PyResult<()> {
    if marks == extent {
        return Ok(());
    }
    Err(PyIndexError::new_err(format!("a mask of {marks} cells along an axis of {extent}")))
}

/// An index that is an array; numbers and truth values are none.
pub(super) fn array_key(key: &Bound<'_, PyAny>) -> PyResult<Option<Operand>> {
    if key.is_none() || key.is_instance_of::<PySlice>() || key.is_instance_of::<PyEllipsis>() {
        return Ok(None);
    }
    if let Ok(array) = key.cast::<Array>() {
        return Ok(Some(array.get().operand()).filter(|operand| operand.rank > 0));
    }
    Ok(capture::operand(key)?.filter(|operand| operand.rank > 0))
}

pub(super) fn selection(array: &Array, axis: usize, key: &Bound<'_, PyAny>) -> PyResult<Selection> {
    if let Ok(slice) = key.cast::<PySlice>() {
        return match of_traced_slice(array, axis, slice)? {
            Some(selection) => Ok(selection),
            None => of_slice(array, axis, slice),
        };
    }
    if let Some(position) = traced_number(key)? {
        return Ok(Selection::Computed(position));
    }
    if key.is_instance_of::<PyBool>() {
        return Err(PyIndexError::new_err("a truth value is no position"));
    }
    if let Some(list) = array_key(key)? {
        if list.rank != 1 {
            return Err(PyIndexError::new_err("positions along an axis are a vector"));
        }
        if list.kind.dtype() != DType::Bool {
            return positions(key.py(), array, axis, &list).map(Selection::Positions);
        }
        let (size, marks) = (array.expr.size(), list.expr.size().rows);
        if let (Some(extent), Some(marks)) = (if axis == 0 { size.rows } else { size.cols }, marks) {
            check_mask(marks, extent)?;
        }
        return Ok(Selection::Mask(list.expr));
    }
    let Ok(position) = key.extract::<i64>() else {
        let class = key.get_type().name()?;
        return Err(PyIndexError::new_err(format!(
            "a {class} is no index: positions, slices, masks and lists of positions are"
        )));
    };
    let extent = array.extent(key.py(), axis)?;
    Ok(Selection::Position(within(position, extent, axis)?))
}

/// A position counted from 0, of one that may count from the end.
fn within(position: i64, extent: u64, axis: usize) -> PyResult<u64> {
    let from_start = if position < 0 { position + extent as i64 } else { position };
    if from_start < 0 || from_start as u64 >= extent {
        return Err(PyIndexError::new_err(format!(
            "index {position} is out of bounds for axis {axis} with size {extent}"
        )));
    }
    Ok(from_start as u64)
}

/// A whole number of a function that is being traced, or of a loop's body: it has no value yet.
fn traced_number(key: &Bound<'_, PyAny>) -> PyResult<Option<Expr>> {
    let Ok(array) = key.cast::<Array>() else { return Ok(None) };
    let array = array.get();
    if array.rank > 0 || !jit::is_traced(&array.expr) {
        return Ok(None);
    }
    if array.dtype.is_integer() {
        return Ok(Some(array.expr.clone()));
    }
    Err(PyIndexError::new_err("positions are integers, and this number of a trace is none"))
}

/// The range of a slice with an end that has no value yet. It counts from the start, and must lie within the axis.
fn of_traced_slice(array: &Array, axis: usize, slice: &Bound<'_, PySlice>) -> PyResult<Option<Selection>> {
    let place = place::here(slice.py());
    let [start, stop, step] = [slice.getattr("start")?, slice.getattr("stop")?, slice.getattr("step")?];
    let (first, end) = (traced_number(&start)?, traced_number(&stop)?);
    if first.is_none() && end.is_none() {
        return Ok(None);
    }
    if !step.is_none() && step.extract::<i64>().ok() != Some(1) {
        return Err(PyIndexError::new_err("a slice whose ends have no value yet has steps of 1"));
    }
    let known = |end: &Bound<'_, PyAny>| -> PyResult<Expr> {
        let position: u64 = end.extract().map_err(|_| {
            PyIndexError::new_err("beside an end without a value yet, the other one counts from the start, from 0 on")
        })?;
        Ok(Expr::value_at(Value::I64(position as i64), place.clone()))
    };
    let extent = if axis == 0 { ShapeOp::Nrow } else { ShapeOp::Ncol };
    let first = match first {
        Some(first) => first,
        None if start.is_none() => Expr::value_at(Value::I64(0), place.clone()),
        None => known(&start)?,
    };
    let end = match end {
        Some(end) => end,
        None if stop.is_none() => Expr::apply_at(HopOp::Shape(extent), &[&array.expr], place.clone()),
        None => known(&stop)?,
    };
    Ok(Some(Selection::ComputedRange(first, end)))
}

fn of_slice(array: &Array, axis: usize, slice: &Bound<'_, PySlice>) -> PyResult<Selection> {
    let py = slice.py();
    let part = |name: &str| slice.getattr(name).map(|part| part.is_none());
    if part("start")? && part("stop")? && part("step")? {
        return Ok(Selection::All);
    }
    let extent = array.extent(py, axis)?;
    let indices = slice.indices(extent as isize)?;
    let (start, step, count) = (indices.start, indices.step, indices.slicelength);
    if step == 1 || count <= 1 {
        return Ok(match (start as u64, count as u64) {
            (0, count) if count == extent => Selection::All,
            (start, count) => Selection::Range(start, start + count),
        });
    }
    if step == -1 && count as u64 == extent {
        return Ok(Selection::Reversed);
    }
    let positions = (0..count as isize).map(|index| position_of(start + index * step));
    Ok(Selection::Steps(positions.collect::<PyResult<_>>()?))
}

/// A position as selections hold it.
pub(super) fn position_of(position: isize) -> PyResult<u32> {
    u32::try_from(position).map_err(|_| PyIndexError::new_err(format!("position {position} is beyond 2**32")))
}

/// A list of positions, which is computed here.
pub(super) fn positions(py: Python<'_>, array: &Array, axis: usize, list: &Operand) -> PyResult<Vec<u32>> {
    let cells = cells(py, &list.expr)?;
    if list.kind.dtype().is_float() && !cells.is_empty() {
        return Err(PyIndexError::new_err("positions are integers"));
    }
    let extent = array.extent(py, axis)?;
    let positions = cells
        .iter()
        .map(|&position| within(position as i64, extent, axis).and_then(|position| position_of(position as isize)));
    positions.collect()
}

/// The cells of positions or marks, which is computed here.
fn cells(py: Python<'_>, vector: &Expr) -> PyResult<Vec<f64>> {
    match value_of(py, vector)? {
        RuntimeValue::Matrix(block) => Ok(block.to_dense().values().to_vec()),
        _ => Err(PyTypeError::new_err("positions along an axis are a vector")),
    }
}
