//! Reductions of arrays, as NumPy defines them: axes, what is kept of them, and which of equal extremes is the first.

use crate::array::Array;
use crate::broadcast::{as_matrix, as_scalar, transposed};
use crate::dtype::DType;
use crate::{index, numpy, place};
use fuseline::ir::hop::{Function, HopOp, ReorgOp, ShapeOp};
use fuseline::ir::ops::{AggOp, BinaryOp, Direction, UnaryOp};
use fuseline::{Expr, Place};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// What a reduction runs over.
#[derive(Clone, Copy)]
pub(crate) struct Axes {
    pub(crate) direction: Direction,
    /// Whether the axes stay, with one cell.
    pub(crate) keep: bool,
}

impl Array {
    /// An aggregate over an axis, or over all cells.
    pub(crate) fn aggregate(&self, op: AggOp, axes: Axes, dtype: DType, place: &Place) -> Array {
        let Axes { direction, keep } = axes;
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
        // NumPy takes the axis of a scalar for that of a vector of one cell.
        let rank = i64::from(self.rank.max(1));
        let Some(axis) = axis.filter(|axis| !axis.is_none()) else {
            return Ok(Axes { direction: Direction::Full, keep });
        };
        let given: Vec<i64> = match axis.extract::<i64>() {
            Ok(axis) => vec![axis],
            Err(_) => axis.extract()?,
        };
        let mut axes = Vec::new();
        for axis in given {
            let position = if axis < 0 { axis + rank } else { axis };
            if !(0..rank).contains(&position) {
                return Err(axis_error(axis, rank));
            }
            axes.push(position);
        }
        axes.sort_unstable();
        axes.dedup();
        let direction = match axes[..] {
            [0] if rank == 2 => Direction::Col,
            [1] => Direction::Row,
            [] => return Err(PyValueError::new_err("a reduction over no axis")),
            _ => Direction::Full,
        };
        Ok(Axes { direction, keep })
    }

    /// For each row of the engine's matrix, the position of its first extreme.
    pub(crate) fn first_extreme(&self, function: Function, axes: Axes, place: &Place) -> Array {
        let reversed = |expr: &Expr| Expr::apply_at(HopOp::Reorg(ReorgOp::Rev), &[expr], place.clone());
        // The engine gives the last of equals, by row: of the reversed order it is the first.
        let turned = match (self.rank, axes.direction) {
            (2, Direction::Col) => transposed(&reversed(&self.expr), place),
            (2, Direction::Row) => transposed(&reversed(&transposed(&self.expr, place)), place),
            (2, _) => transposed(&reversed(&index::flattened(&self.expr, place)), place),
            _ => transposed(&reversed(&as_matrix(&self.expr, place)), place),
        };
        // NumPy finds a NaN before any number: it counts as more extreme than infinities.
        let turned = if self.dtype.is_float() { with_extreme_nan(&turned, function, place) } else { turned };
        let op = HopOp::Parameterized { function, names: Vec::new() };
        let last = Expr::apply_at(op, &[&turned], place.clone());
        let count = Expr::apply_at(HopOp::Shape(ShapeOp::Ncol), &[&turned], place.clone());
        let first = Expr::apply_at(BinaryOp::Minus, &[&count, &last], place.clone());
        let is_full = axes.direction == Direction::Full || self.rank < 2;
        let (expr, rank) = match (is_full, axes.keep, axes.direction) {
            (true, false, _) => (as_scalar(&first, place), 0),
            (true, true, _) => (first, self.rank),
            (false, true, Direction::Col) => (transposed(&first, place), 2),
            (false, true, _) => (first, 2),
            (false, false, _) => (first, 1),
        };
        Array::new(expr, rank, DType::I64)
    }

    pub(crate) fn cumulative(&self, py: Python<'_>, op: AggOp, axis: Option<i64>) -> PyResult<Array> {
        let place = place::here(py);
        let dtype = if matches!(op, AggOp::Sum | AggOp::Prod) { self.dtype.of_sum() } else { self.dtype };
        let along = |expr: &Expr| Expr::apply_at(HopOp::Cumulative(op), &[expr], place.clone());
        let rank = i64::from(self.rank);
        let (expr, rank) = match axis.map(|axis| if axis < 0 { axis + rank } else { axis }) {
            None if self.rank == 2 => (along(&index::flattened(&self.expr, &place)), 1),
            None => (along(&as_matrix(&self.expr, &place)), 1),
            Some(0) if self.rank > 0 => (along(&self.expr), self.rank),
            Some(1) if self.rank == 2 => (transposed(&along(&transposed(&self.expr, &place)), &place), 2),
            Some(_) => {
                return Err(axis_error(axis.unwrap_or_default(), rank));
            }
        };
        Ok(Array::new(expr, rank, dtype))
    }

    /// NumPy knows no extreme of no cells.
    pub(crate) fn refuse_empty(&self, axes: Axes, operation: &str) -> PyResult<()> {
        let Some((rows, cols)) = self.expr.size().known_dims() else { return Ok(()) };
        let is_empty = match axes.direction {
            Direction::Full => rows == 0 || cols == 0,
            Direction::Col => rows == 0,
            Direction::Row => cols == 0,
        };
        if is_empty && self.rank > 0 {
            return Err(PyValueError::new_err(format!("{operation} of an array without cells")));
        }
        Ok(())
    }
}

/// Rows in which the extreme cells are those that are NaN, where there are any: then the others do not count.
fn with_extreme_nan(expr: &Expr, function: Function, place: &Place) -> Expr {
    let is_nan = Expr::apply_at(UnaryOp::IsNan, &[expr], place.clone());
    let has_nan = Expr::apply_at((AggOp::Max, Direction::Row), &[&is_nan], place.clone());
    let marks = match function {
        Function::RowIndexMin => Expr::apply_at(UnaryOp::Neg, &[&is_nan], place.clone()),
        _ => is_nan,
    };
    let ternary = HopOp::Ternary(fuseline::ir::ops::TernaryOp::IfElse);
    Expr::apply_at(ternary, &[&has_nan, &marks, expr], place.clone())
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
