//! Indexing, as NumPy writes it: positions, slices, masks, lists of positions and new axes.

use crate::array::Array;
use crate::broadcast::{as_matrix, as_scalar, transposed};
use crate::capture::{self, Operand};
use crate::dtype::DType;
use crate::{jit, place};
use fuseline::ir::Value;
use fuseline::ir::hop::{DataGenOp, Function, HopOp, ReorgOp, ShapeOp};
use fuseline::ir::ops::BinaryOp;
use fuseline::{Csr, Expr, Place};
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PySlice, PyTuple};

/// What selects along one axis.
enum Selection {
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

/// An index that is an array; numbers and truth values are none.
fn array_key(key: &Bound<'_, PyAny>) -> PyResult<Option<Operand>> {
    if key.is_none() || key.is_instance_of::<PySlice>() || key.is_instance_of::<PyEllipsis>() {
        return Ok(None);
    }
    if let Ok(array) = key.cast::<Array>() {
        return Ok(Some(array.get().operand()).filter(|operand| operand.rank > 0));
    }
    Ok(capture::operand(key)?.filter(|operand| operand.rank > 0))
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

fn selection(array: &Array, axis: usize, key: &Bound<'_, PyAny>) -> PyResult<Selection> {
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
        return if list.kind.dtype() == DType::Bool {
            Ok(Selection::Mask(list.expr))
        } else {
            of_positions(key.py(), array, axis, &list)
        };
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
fn position_of(position: isize) -> PyResult<u32> {
    u32::try_from(position).map_err(|_| PyIndexError::new_err(format!("position {position} is beyond 2**32")))
}

/// A list of positions, which is computed here.
fn of_positions(py: Python<'_>, array: &Array, axis: usize, list: &Operand) -> PyResult<Selection> {
    let values = crate::value::value_of(py, &list.expr)?;
    let fuseline::RuntimeValue::Matrix(block) = values else {
        return Err(PyTypeError::new_err("positions along an axis are a vector"));
    };
    let extent = array.extent(py, axis)?;
    let dense = block.to_dense();
    let positions = dense.values().iter().map(|&position| {
        if list.kind.dtype().is_float() {
            return Err(PyIndexError::new_err("positions are integers"));
        }
        within(position as i64, extent, axis).and_then(|position| position_of(position as isize))
    });
    positions.collect::<PyResult<Vec<u32>>>().map(Selection::Positions)
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

/// The cells in these rows and these columns, pair by pair; a list of one position goes with each of the other.
fn pairs(array: &Array, rows: &[u32], cols: &[u32], place: &Place) -> PyResult<Array> {
    let count = if rows.len() == 1 { cols.len() } else { rows.len() };
    if ![1, count].contains(&rows.len()) || ![1, count].contains(&cols.len()) {
        return Err(PyIndexError::new_err(format!(
            "lists of {} and {} positions do not go together: they are pairs of a row and a column",
            rows.len(),
            cols.len()
        )));
    }
    if count == 0 {
        let none = without_cells(&flattened(&array.expr, place), true, place);
        return Ok(Array::new(none, 1, array.dtype));
    }
    let picked = gathered(&array.expr, true, rows, place)?;
    let expr = if rows.len() == 1 {
        gathered(&transposed(&picked, place), true, cols, place)?
    } else if cols.len() == 1 {
        gathered(&picked, false, cols, place)?
    } else {
        cells_by_row(&picked, cols, place)?
    };
    Ok(Array::new(expr, 1, array.dtype))
}

/// Of each row the cell in the column that `cols` names for it.
fn cells_by_row(expr: &Expr, cols: &[u32], place: &Place) -> PyResult<Expr> {
    let Some(width) = expr.size().cols else {
        return Err(PyIndexError::new_err("pairs of positions need a known number of columns"));
    };
    let positions =
        cols.iter().enumerate().map(|(row, &col)| position_of((row as u64 * width + u64::from(col)) as isize));
    gathered(&flattened(expr, place), true, &positions.collect::<PyResult<Vec<u32>>>()?, place)
}

/// What is selected along one axis of a matrix.
fn along(expr: &Expr, axis: usize, selection: &Selection, place: &Place) -> PyResult<Expr> {
    let is_rows = axis == 0;
    Ok(match selection {
        Selection::All => expr.clone(),
        Selection::Position(position) => range(expr, is_rows, *position, position + 1, place),
        Selection::Computed(position) => {
            let number = after(position, place);
            between(expr, is_rows, &number, &number, place)
        }
        Selection::ComputedRange(first, end) => between(expr, is_rows, &after(first, place), end, place),
        Selection::Range(start, end) if start >= end => without_cells(expr, is_rows, place),
        Selection::Range(start, end) => range(expr, is_rows, *start, *end, place),
        Selection::Reversed if is_rows => Expr::apply_at(HopOp::Reorg(ReorgOp::Rev), &[expr], place.clone()),
        Selection::Reversed => {
            let turned = transposed(expr, place);
            transposed(&Expr::apply_at(HopOp::Reorg(ReorgOp::Rev), &[&turned], place.clone()), place)
        }
        Selection::Steps(positions) | Selection::Positions(positions) if positions.is_empty() => {
            without_cells(expr, is_rows, place)
        }
        Selection::Steps(positions) | Selection::Positions(positions) => gathered(expr, is_rows, positions, place)?,
        Selection::Mask(mask) if is_rows => kept(expr, mask, "rows", place),
        Selection::Mask(mask) => kept(expr, &transposed(mask, place), "cols", place),
    })
}

fn range(expr: &Expr, is_rows: bool, start: u64, end: u64, place: &Place) -> Expr {
    let number = |number: u64| Expr::value_at(Value::I64(number as i64), place.clone());
    let other = if is_rows { expr.size().cols } else { expr.size().rows };
    if other == Some(0) {
        // The engine knows no range of a matrix without cells.
        let count = number(end - start);
        let inputs = if is_rows { [number(0), count, number(0)] } else { [number(0), number(0), count] };
        return Expr::apply_at(HopOp::DataGen(DataGenOp::Matrix), &inputs.each_ref(), place.clone());
    }
    between(expr, is_rows, &number(start + 1), &number(end), place)
}

/// Rows or columns from a first one to a last one, which are counted from 1.
fn between(expr: &Expr, is_rows: bool, first: &Expr, last: &Expr, place: &Place) -> Expr {
    let one = Expr::value_at(Value::I64(1), place.clone());
    let extent = |op| Expr::apply_at(HopOp::Shape(op), &[expr], place.clone());
    let inputs = if is_rows {
        [expr, first, last, &one, &extent(ShapeOp::Ncol)]
    } else {
        [expr, &one, &extent(ShapeOp::Nrow), first, last]
    };
    Expr::apply_at(HopOp::Index, &inputs, place.clone())
}

/// The number that a position has where these are counted from 1.
fn after(position: &Expr, place: &Place) -> Expr {
    let one = Expr::value_at(Value::I64(1), place.clone());
    Expr::apply_at(BinaryOp::Plus, &[position, &one], place.clone())
}

/// A matrix without rows, or without columns.
fn without_cells(expr: &Expr, is_rows: bool, place: &Place) -> Expr {
    let zero = Expr::value_at(Value::I64(0), place.clone());
    let other = if is_rows { ShapeOp::Ncol } else { ShapeOp::Nrow };
    let other = Expr::apply_at(HopOp::Shape(other), &[expr], place.clone());
    let inputs = if is_rows { [&zero, &zero, &other] } else { [&zero, &other, &zero] };
    Expr::apply_at(HopOp::DataGen(DataGenOp::Matrix), &inputs, place.clone())
}

/// Rows or columns at any positions: a product with a matrix of one 1 in each row, which copies cells as they are.
fn gathered(expr: &Expr, is_rows: bool, positions: &[u32], place: &Place) -> PyResult<Expr> {
    let extent = if is_rows { expr.size().rows } else { expr.size().cols };
    let extent =
        extent.map_or_else(|| positions.iter().max().map_or(0, |&last| last as usize + 1), |extent| extent as usize);
    let offsets = (0..=positions.len()).collect();
    let ones = vec![1.0; positions.len()];
    let selector = Csr::new(positions.len(), extent, offsets, positions.to_vec(), ones);
    let selector = selector.map_err(|error| PyIndexError::new_err(error.to_string()))?;
    let selector = Expr::value_at(fuseline::MatrixBlock::from(selector), place.clone());
    Ok(if is_rows {
        Expr::apply_at(HopOp::MatMul, &[&selector, expr], place.clone())
    } else {
        let turned = Expr::apply_at(HopOp::MatMul, &[&selector, &transposed(expr, place)], place.clone());
        transposed(&turned, place)
    })
}

/// The rows or columns at which a vector is not zero.
fn kept(expr: &Expr, mask: &Expr, margin: &str, place: &Place) -> Expr {
    let value = |value: Value| Expr::value_at(value, place.clone());
    let names = ["margin", "select", "empty.return"].map(str::to_owned).to_vec();
    let op = HopOp::Parameterized { function: Function::RemoveEmpty, names };
    let inputs = [expr, &value(Value::Str(margin.to_owned())), mask, &value(Value::Bool(false))];
    Expr::apply_at(op, &inputs, place.clone())
}

/// Which cells are not zero, as truth values.
pub(crate) fn is_nonzero(expr: &Expr, place: &Place) -> Expr {
    let zero = Expr::value_at(Value::F64(0.0), place.clone());
    Expr::apply_at(BinaryOp::NotEqual, &[expr, &zero], place.clone())
}
