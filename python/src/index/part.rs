//! The parts of matrices that selections name, as expressions.

use super::flattened;
use super::selection::{Selection, position_of};
use crate::broadcast::transposed;
use fuseline::ir::Value;
use fuseline::ir::hop::{DataGenOp, Function, HopOp, NaryOp, ReorgOp, ShapeOp};
use fuseline::ir::ops::BinaryOp;
use fuseline::{Csr, Expr, Place};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

/// The cells in these rows and these columns, pair by pair; a list of one position goes with each of the other.
pub(super) fn pairs(expr: &Expr, rows: &[u32], cols: &[u32], place: &Place) -> PyResult<Expr> {
    let count = if rows.len() == 1 { cols.len() } else { rows.len() };
    if ![1, count].contains(&rows.len()) || ![1, count].contains(&cols.len()) {
        return Err(PyIndexError::new_err(format!(
            "lists of {} and {} positions do not go together: they are pairs of a row and a column",
            rows.len(),
            cols.len()
        )));
    }
    if count == 0 {
        return Ok(without_cells(&flattened(expr, place), true, place));
    }
    let picked = gathered(expr, true, rows, place)?;
    if rows.len() == 1 {
        gathered(&transposed(&picked, place), true, cols, place)
    } else if cols.len() == 1 {
        gathered(&picked, false, cols, place)
    } else {
        cells_by_row(&picked, cols, place)
    }
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
pub(super) fn along(expr: &Expr, axis: usize, selection: &Selection, place: &Place) -> PyResult<Expr> {
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

/// The cells of consecutive rows in consecutive columns, where both are: rows would be copied with all columns first.
pub(super) fn block(expr: &Expr, rows: &Selection, cols: &Selection, place: &Place) -> Option<Expr> {
    let ([first_row, last_row], [first_col, last_col]) = (bounds(rows, place)?, bounds(cols, place)?);
    let inputs = [expr, &first_row, &last_row, &first_col, &last_col];
    Some(Expr::apply_at(HopOp::Index, &inputs, place.clone()))
}

/// The first and the last of consecutive positions, counted from 1.
fn bounds(selection: &Selection, place: &Place) -> Option<[Expr; 2]> {
    let number = |number: u64| Expr::value_at(Value::I64(number as i64), place.clone());
    match selection {
        Selection::Position(position) => Some([number(position + 1), number(position + 1)]),
        Selection::Computed(position) => Some([after(position, place), after(position, place)]),
        Selection::ComputedRange(first, end) => Some([after(first, place), end.clone()]),
        Selection::Range(start, end) if start < end => Some([number(start + 1), number(*end)]),
        _ => None,
    }
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

/// Runs of columns up to which they are bound one beside the other.
const MOST_RUNS: usize = 32;

/// Columns at any positions, if these are few runs. As a product with zeros they might become NaN where other columns are.
fn few_columns(expr: &Expr, positions: &[u32], place: &Place) -> Option<Expr> {
    let runs: Vec<&[u32]> = positions.chunk_by(|one, next| one + 1 == *next).take(MOST_RUNS + 1).collect();
    if runs.len() > MOST_RUNS {
        return None;
    }
    let part = |run: &[u32]| range(expr, false, run[0].into(), u64::from(run[run.len() - 1]) + 1, place);
    let parts: Vec<Expr> = runs.into_iter().map(part).collect();
    match &parts[..] {
        [] => None,
        [part] => Some(part.clone()),
        parts => {
            let parts: Vec<&Expr> = parts.iter().collect();
            Some(Expr::apply_at(HopOp::Nary(NaryOp::Cbind), &parts, place.clone()))
        }
    }
}

/// Rows or columns at any positions: a product with a matrix of one 1 in each row, which copies cells as they are.
fn gathered(expr: &Expr, is_rows: bool, positions: &[u32], place: &Place) -> PyResult<Expr> {
    if !is_rows && let Some(columns) = few_columns(expr, positions, place) {
        return Ok(columns);
    }
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
pub(super) fn kept(expr: &Expr, mask: &Expr, margin: &str, place: &Place) -> Expr {
    let value = |value: Value| Expr::value_at(value, place.clone());
    let names = ["margin", "select", "empty.return"].map(str::to_owned).to_vec();
    let op = HopOp::Parameterized { function: Function::RemoveEmpty, names };
    let inputs = [expr, &value(Value::Str(margin.to_owned())), mask, &value(Value::Bool(false))];
    Expr::apply_at(op, &inputs, place.clone())
}
