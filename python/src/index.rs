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
use part::{along, block, kept, pairs};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyEllipsis, PySlice, PyTuple};
use selection::{Selection, array_key, positions, selection};

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
    if let Some(array) = at_matrices(py, array, &keys, &place)? {
        return Ok(array);
    }
    let is_apart = selects_apart(&keys);
    let keys = without_ellipsis(array, keys)?;
    let axes = keys.iter().filter(|key| !key.is_none()).count();
    if axes > array.rank.into() {
        return Err(PyIndexError::new_err(format!("{axes} indices of an array of {} dimensions", array.rank)));
    }
    let mut selections = Vec::new();
    for key in keys.iter().filter(|key| !key.is_none()) {
        selections.push(selection(array, selections.len(), key)?);
    }
    while selections.len() < array.rank.into() {
        selections.push(Selection::All);
    }
    let new_axes: Vec<bool> = keys.iter().map(PyAnyMethods::is_none).collect();
    if selections.iter().filter(|selection| selection.is_list()).count() > 1 {
        // Lists along both axes are pairs of positions, and so are masks.
        let axes = selections.into_iter().enumerate();
        selections = axes.map(|(axis, selection)| selection.of_mask(array, axis, py)).collect::<PyResult<_>>()?;
    }
    selected(array, &selections, &new_axes, is_apart, &place)
}

/// The cells at positions that are matrices: of a vector at those of one, of a matrix where the rows that a column names
/// cross the columns that a row names, as `np.ix_` has them.
fn at_matrices(py: Python<'_>, array: &Array, keys: &[Bound<'_, PyAny>], place: &Place) -> PyResult<Option<Array>> {
    if keys.len() != usize::from(array.rank) {
        return Ok(None);
    }
    let mut lists = Vec::new();
    for key in keys {
        let list = array_key(key)?.filter(|list| list.kind.dtype() != DType::Bool);
        lists.extend(list.and_then(|list| Some((list.expr.size().known_dims()?, list))));
    }
    match &lists[..] {
        [((rows, cols), list)] if array.rank == 1 && list.rank == 2 => {
            let positions = Selection::Positions(positions(py, array, 0, list)?);
            let cells = along(&array.expr, 0, &positions, place)?;
            let number = |number: u64| Expr::value_at(Value::I64(number as i64), place.clone());
            let inputs = [&cells, &number(*rows), &number(*cols)];
            let expr = Expr::apply_at(HopOp::DataGen(DataGenOp::Matrix), &inputs, place.clone());
            Ok(Some(Array::new(expr, 2, array.dtype)))
        }
        [((_, 1), rows), ((extent, _), cols)] if rows.rank == 2 && (cols.rank == 1 || *extent == 1) => {
            let (rows, cols) = (positions(py, array, 0, rows)?, positions(py, array, 1, cols)?);
            selected(array, &[Selection::Steps(rows), Selection::Steps(cols)], &[false; 2], false, place).map(Some)
        }
        _ => Ok(None),
    }
}

/// Whether something stands between two keys that are no slices: NumPy then has the axis that they leave before all others.
fn selects_apart(keys: &[Bound<'_, PyAny>]) -> bool {
    let selects = |key: &Bound<'_, PyAny>| {
        !key.is_none() && !key.is_instance_of::<PySlice>() && !key.is_instance_of::<PyEllipsis>()
    };
    match (keys.iter().position(selects), keys.iter().rposition(selects)) {
        (Some(first), Some(last)) => last > first + 1,
        _ => false,
    }
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
    let [count, one] = extents_of_vector(expr, place);
    Expr::apply_at(HopOp::DataGen(DataGenOp::Matrix), &[expr, &count, &one], place.clone())
}

/// All cells of a matrix, row by row, as a row.
pub(crate) fn as_one_row(expr: &Expr, place: &Place) -> Expr {
    let [count, one] = extents_of_vector(expr, place);
    Expr::apply_at(HopOp::DataGen(DataGenOp::Matrix), &[expr, &one, &count], place.clone())
}

/// The number of cells, and one.
fn extents_of_vector(expr: &Expr, place: &Place) -> [Expr; 2] {
    let count = Expr::apply_at(HopOp::Shape(ShapeOp::Length), &[expr], place.clone());
    [count, Expr::value_at(Value::I64(1), place.clone())]
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
fn selected(
    array: &Array,
    selections: &[Selection],
    new_axes: &[bool],
    is_apart: bool,
    place: &Place,
) -> PyResult<Array> {
    let (mut expr, kept) = part_of(array, selections, place)?;
    // The axes of the result: those that stayed, and new ones.
    let mut old = kept.iter();
    let mut axes = Vec::new();
    for &is_new in new_axes {
        if is_new || old.next() == Some(&true) {
            axes.push(is_new);
        }
    }
    axes.extend(old.filter(|&&kept| kept).map(|_| false));
    if is_apart {
        axes.sort_unstable();
    }
    if axes.len() > 2 {
        return Err(PyIndexError::new_err(format!(
            "the index selects an array of {} dimensions: arrays have at most two",
            axes.len()
        )));
    }
    expr = match axes[..] {
        [true] | [true, true] => as_matrix(&expr, place),
        [true, false] => transposed(&expr, place),
        _ => expr,
    };
    Ok(Array::new(expr, axes.len() as u8, array.dtype))
}

/// What is selected, without new axes, and which axes of the array stay. A vector is a column.
fn part_of(array: &Array, selections: &[Selection], place: &Place) -> PyResult<(Expr, Vec<bool>)> {
    if let [Selection::Positions(rows), Selection::Positions(cols)] = selections {
        // The positions of two lists are pairs, which are one axis.
        return Ok((pairs(&array.expr, rows, cols, place)?, vec![true, false]));
    }
    let whole_block = match selections {
        [rows, cols] => block(&array.expr, rows, cols, place),
        _ => None,
    };
    let mut expr = match whole_block {
        Some(expr) => expr,
        None => axis_by_axis(array, selections, place)?,
    };
    let is_kept = |selection: &Selection| !matches!(selection, Selection::Position(_) | Selection::Computed(_));
    let kept: Vec<bool> = selections.iter().map(is_kept).collect();
    // One row of a matrix is a vector, which is a column.
    if kept == [false, true] {
        expr = transposed(&expr, place);
    }
    if array.rank > 0 && !kept.contains(&true) {
        expr = as_scalar(&expr, place);
    }
    Ok((expr, kept))
}

/// What is selected along one axis after the other.
fn axis_by_axis(array: &Array, selections: &[Selection], place: &Place) -> PyResult<Expr> {
    let mut expr = array.expr.clone();
    // Masks come last: they may leave no cells, of which the engine knows no positions.
    let (masks, others): (Vec<_>, Vec<_>) =
        selections.iter().enumerate().partition(|(_, selection)| matches!(selection, Selection::Mask(_)));
    for (axis, selection) in others.into_iter().chain(masks) {
        expr = along(&expr, axis, selection, place)?;
    }
    Ok(expr)
}

/// Which cells are not zero, as truth values.
pub(crate) fn is_nonzero(expr: &Expr, place: &Place) -> Expr {
    let zero = Expr::value_at(Value::F64(0.0), place.clone());
    Expr::apply_at(BinaryOp::NotEqual, &[expr, &zero], place.clone())
}
