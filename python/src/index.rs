//! Indexing, as NumPy writes it: positions, slices, masks, lists of positions and new axes.

mod part;
mod selection;

use crate::array::Array;
use crate::broadcast::{as_matrix, as_scalar, transposed};
use crate::dtype::DType;
use crate::place;
use fuseline::ir::Value;
use fuseline::ir::hop::{DataGenOp, HopOp, ShapeOp};
use fuseline::ir::ops::BinaryOp;
use fuseline::{Expr, Place};
use part::{along, kept, pairs};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyEllipsis, PySlice, PyTuple};
use selection::{Selection, array_key, selection};

/// The part of an array that `key` names.
pub(crate) fn indexed(array: &Array, key: &Bound<'_, PyAny>) -> PyResult<Array> {
    let py = key.py();
    let place = place::here(py);
    let keys: Vec<Bound<'_, PyAny>> = match key.cast::<PyTuple>() {
        Ok(tuple) => tuple.iter().collect(),
        Err(_) => vec![key.clone()],
    };
    if let Some(array) = whole_mask(array, &keys, &place)? {
        return Ok(array);
    }
    let keys = without_ellipsis(array, keys)?;
    let axes = keys.iter().filter(|key| !key.is_none()).count();
    if axes > array.rank.into() {
        return Err(PyIndexError::new_err(format!("{axes} indices of an array of {} dimensions", array.rank)));
    }
    let mut selections = Vec::new();
    for key in keys.iter().filter(|key| !key.is_none()) {
        selections.push(selection(array, selections.len(), key)?);
    }
    let new_axes: Vec<bool> = keys.iter().map(PyAnyMethods::is_none).collect();
    if let [Selection::Positions(rows), Selection::Positions(cols)] = &selections[..]
        && !new_axes.contains(&true)
    {
        return pairs(array, rows, cols, &place);
    }
    while selections.len() < array.rank.into() {
        selections.push(Selection::All);
    }
    let lists = selections.iter().filter(|selection| matches!(selection, Selection::Positions(_) | Selection::Mask(_)));
    if lists.count() > 1 {
        return Err(PyIndexError::new_err(
            "lists of positions along both axes go without masks and new axes: select along one axis, then the other",
        ));
    }
    selected(array, &selections, &new_axes, &place)
}

/// The cells of an array at which a mask of its shape is not zero.
fn whole_mask(array: &Array, keys: &[Bound<'_, PyAny>], place: &Place) -> PyResult<Option<Array>> {
    let [key] = keys else { return Ok(None) };
    if array.rank != 2 {
        return Ok(None);
    }
    let Some(mask) = array_key(key)?.filter(|mask| mask.rank == 2 && mask.kind.dtype() == DType::Bool) else {
        return Ok(None);
    };
    if let (Some(cells), Some(marks)) = (array.expr.size().known_dims(), mask.expr.size().known_dims())
        && cells != marks
    {
        let message = format!("a mask of {marks:?} cells over an array of {cells:?}");
        return Err(PyIndexError::new_err(message));
    }
    let flat = |expr: &Expr| flattened(expr, place);
    let expr = kept(&flat(&array.expr), &flat(&mask.expr), "rows", place);
    Ok(Some(Array::new(expr, 1, array.dtype)))
}

/// All cells of a matrix, row by row, as a column.
pub(crate) fn flattened(expr: &Expr, place: &Place) -> Expr {
    let count = Expr::apply_at(HopOp::Shape(ShapeOp::Length), &[expr], place.clone());
    let one = Expr::value_at(Value::I64(1), place.clone());
    Expr::apply_at(HopOp::DataGen(DataGenOp::Matrix), &[expr, &count, &one], place.clone())
}

fn without_ellipsis<'py>(array: &Array, keys: Vec<Bound<'py, PyAny>>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let named = keys.iter().filter(|key| !key.is_none() && !key.is_instance_of::<PyEllipsis>()).count();
    let mut all = Vec::new();
    for key in keys {
        if key.is_instance_of::<PyEllipsis>() {
            let rest = usize::from(array.rank).saturating_sub(named);
            all.extend((0..rest).map(|_| PySlice::full(key.py()).into_any()));
        } else {
            all.push(key);
        }
    }
    Ok(all)
}

/// The selected part; axes of one position go, new axes come.
fn selected(array: &Array, selections: &[Selection], new_axes: &[bool], place: &Place) -> PyResult<Array> {
    let mut expr = array.expr.clone();
    for (axis, selection) in selections.iter().enumerate() {
        expr = along(&expr, axis, selection, place)?;
    }
    let is_kept = |selection: &Selection| !matches!(selection, Selection::Position(_) | Selection::Computed(_));
    let kept: Vec<bool> = selections.iter().map(is_kept).collect();
    let mut rank = kept.iter().filter(|&&kept| kept).count();
    // One row of a matrix is a vector, which is a column.
    if array.rank == 2 && kept == [false, true] {
        expr = transposed(&expr, place);
    }
    if rank == 0 && array.rank > 0 {
        expr = as_scalar(&expr, place);
    }
    // The axes of the result: new ones, and those that stayed.
    let mut old = kept.iter();
    let mut axes = Vec::new();
    for &is_new in new_axes {
        if is_new {
            axes.push(true);
        } else if old.next() == Some(&true) {
            axes.push(false);
        }
    }
    axes.extend(old.filter(|&&kept| kept).map(|_| false));
    rank += axes.iter().filter(|&&is_new| is_new).count();
    if rank > 2 {
        return Err(PyIndexError::new_err("arrays have at most two dimensions"));
    }
    expr = match axes[..] {
        [true] | [true, true] => as_matrix(&expr, place),
        [true, false] => transposed(&expr, place),
        _ => expr,
    };
    Ok(Array::new(expr, rank as u8, array.dtype))
}

/// Which cells are not zero, as truth values.
pub(crate) fn is_nonzero(expr: &Expr, place: &Place) -> Expr {
    let zero = Expr::value_at(Value::F64(0.0), place.clone());
    Expr::apply_at(BinaryOp::NotEqual, &[expr, &zero], place.clone())
}
