//! Reductions of arrays, as NumPy defines them: axes, what is kept of them, and which of equal extremes is the first.

use crate::array::Array;
use crate::broadcast::{as_matrix, as_scalar, transposed};
use crate::dtype::DType;
use crate::{index, jit, numpy, place};
use fuseline::ir::Value;
use fuseline::ir::hop::{Function, HopOp};
use fuseline::ir::ops::{AggOp, BinaryOp, Direction};
use fuseline::{Expr, Place};
use pyo3::exceptions::{PyRuntimeWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// What a reduction runs over.
#[derive(Clone, Copy)]
pub(crate) struct Axes {
    /// `None` where it runs over no axis.
    pub(crate) direction: Option<Direction>,
    /// Whether the axes stay, with one cell.
    pub(crate) keep: bool,
}

impl Array {
    /// An aggregate over an axis, or over all cells.
    pub(crate) fn aggregate(&self, op: AggOp, axes: Axes, dtype: DType, place: &Place) -> Array {
        let Axes { direction, keep } = axes;
        let Some(direction) = direction else {
            // All aggregates of one cell are the cell, but for their count.
            let expr = if op == AggOp::Nnz { index::is_nonzero(&self.expr, place) } else { self.expr.clone() };
            return Array::new(expr, self.rank, dtype);
        };
        if self.rank == 0 {
            return Array::new(self.scalar_aggregate(op, place), 0, dtype);
        }
        let expr = Expr::apply_at((op, direction), &[&self.expr], place.clone());
        let (expr, rank) = match (direction, keep) {
            (Direction::Full, false) => (expr, 0),
            (Direction::Full, true) => (as_matrix(&expr, place), self.rank),
            (_, true) => (expr, 2),
            (Direction::Col, false) => (transposed(&expr, place), 1),
            (Direction::Row, false) => (expr, 1),
        };
        Array::new(expr, rank, dtype)
    }

    fn scalar_aggregate(&self, op: AggOp, place: &Place) -> Expr {
        let cell = as_matrix(&self.expr, place);
        Expr::apply_at((op, Direction::Full), &[&cell], place.clone())
    }

    /// The axes that a reduction runs over.
    pub(crate) fn axes(&self, axis: Option<&Bound<'_, PyAny>>, keep: bool) -> PyResult<Axes> {
        let Some(axis) = axis.filter(|axis| !axis.is_none()) else { return self.axes_of(None, keep) };
        let given: Vec<i64> = match axis.cast::<PyTuple>() {
            Ok(axes) => axes.extract()?,
            Err(_) => vec![axis.extract()?],
        };
        self.axes_of(Some(&given), keep)
    }

    /// These axes, or all of them.
    pub(crate) fn axes_of(&self, given: Option<&[i64]>, keep: bool) -> PyResult<Axes> {
        let Some(given) = given else { return Ok(Axes { direction: Some(Direction::Full), keep }) };
        // NumPy takes the axis of a scalar for that of a vector of one cell.
        let rank = i64::from(self.rank.max(1));
        let mut axes = Vec::new();
        for &axis in given {
            let position = position_of(axis, rank)?;
            if axes.contains(&position) {
                return Err(PyValueError::new_err(format!("axis {axis} is given twice")));
            }
            axes.push(position);
        }
        let direction = match axes[..] {
            [] => None,
            [0] if rank == 2 => Some(Direction::Col),
            [1] => Some(Direction::Row),
            _ => Some(Direction::Full),
        };
        Ok(Axes { direction, keep })
    }

    /// The position of the first extreme, as NumPy has it: a NaN comes before any number.
    pub(crate) fn first_extreme(&self, function: Function, axes: Axes, place: &Place) -> Array {
        // The engine finds it by row.
        let rows = match (self.rank, axes.direction) {
            (2, Some(Direction::Row)) => self.expr.clone(),
            (2, Some(Direction::Col)) => transposed(&self.expr, place),
            (2, _) => index::as_one_row(&self.expr, place),
            _ => transposed(&as_matrix(&self.expr, place), place),
        };
        let value = |value: Value| Expr::value_at(value, place.clone());
        let op = HopOp::Parameterized { function, names: vec!["first".to_owned()] };
        let column = Expr::apply_at(op, &[&rows, &value(Value::Bool(true))], place.clone());
        let first = Expr::apply_at(BinaryOp::Minus, &[&column, &value(Value::F64(1.0))], place.clone());
        let is_full = axes.direction == Some(Direction::Full) || self.rank < 2;
        let (expr, rank) = match (is_full, axes.keep, axes.direction) {
            (true, false, _) => (as_scalar(&first, place), 0),
            (true, true, _) => (first, self.rank),
            (false, true, Some(Direction::Col)) => (transposed(&first, place), 2),
            (false, true, _) => (first, 2),
            (false, false, _) => (first, 1),
        };
        Array::new(expr, rank, DType::I64)
    }

    pub(crate) fn cumulative(&self, py: Python<'_>, op: AggOp, axis: Option<i64>) -> PyResult<Array> {
        let place = place::here(py);
        let dtype = if matches!(op, AggOp::Sum | AggOp::Prod) { self.dtype.of_sum() } else { self.dtype };
        let along = |expr: &Expr| Expr::apply_at(HopOp::Cumulative(op), &[expr], place.clone());
        let (expr, rank) = match axis.map(|axis| position_of(axis, i64::from(self.rank.max(1)))).transpose()? {
            None if self.rank == 2 => (along(&index::flattened(&self.expr, &place)), 1),
            None => (along(&as_matrix(&self.expr, &place)), 1),
            Some(0) => (along(&as_matrix(&self.expr, &place)), self.rank.max(1)),
            Some(_) => (transposed(&along(&transposed(&self.expr, &place)), &place), 2),
        };
        Ok(Array::new(expr, rank, dtype))
    }

    /// How many cells become one, as far as is known.
    fn reduced_cells(&self, axes: Axes) -> Option<u64> {
        if self.rank == 0 {
            return Some(1);
        }
        let (rows, cols) = self.expr.size().known_dims()?;
        match axes.direction {
            None => Some(1),
            Some(Direction::Full) => rows.checked_mul(cols),
            Some(Direction::Col) => Some(rows),
            Some(Direction::Row) => Some(cols),
        }
    }

    /// NumPy knows no extreme of no cells.
    pub(crate) fn refuse_empty(&self, axes: Axes, operation: &str) -> PyResult<()> {
        if self.reduced_cells(axes) == Some(0) {
            return Err(PyValueError::new_err(format!("{operation} of an array without cells")));
        }
        Ok(())
    }

    /// NumPy's warning of variances of too few cells. The trace of a function is for any number of them.
    pub(crate) fn warn_without_freedom(&self, py: Python<'_>, axes: Axes, ddof: f64) -> PyResult<()> {
        let cells = self.reduced_cells(axes).filter(|_| !jit::is_traced(&self.expr));
        if cells.is_some_and(|cells| cells as f64 <= ddof) {
            let category = py.get_type::<PyRuntimeWarning>();
            PyErr::warn(py, &category, c"Degrees of freedom <= 0 for slice", 1)?;
        }
        Ok(())
    }
}

/// The position of an axis that may count from the last one.
pub(crate) fn position_of(axis: i64, rank: i64) -> PyResult<i64> {
    let position = if axis < 0 { axis + rank } else { axis };
    if (0..rank).contains(&position) { Ok(position) } else { Err(axis_error(axis, rank)) }
}

/// NumPy's error for an axis that an array lacks.
fn axis_error(axis: i64, rank: i64) -> PyErr {
    let message = format!("axis {axis} is out of bounds for array of dimension {rank}");
    Python::attach(|py| {
        let class = numpy::module(py).and_then(|numpy| numpy.getattr("exceptions")?.getattr("AxisError"));
        match class.and_then(|class| class.call1((&message,))) {
            Ok(error) => PyErr::from_value(error),
            Err(_) => PyValueError::new_err(message),
        }
    })
}
