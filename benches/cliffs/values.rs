//! Comparison of the results of two modes.

use crate::expression::Expression;
use fuseline::{Layout, MatrixBlock, RuntimeValue, Variables};
use std::ops::ControlFlow;

/// What differs between the results of an expression in two modes: each may be as far from the exact value as the facts of
/// the expression say.
pub(crate) fn difference(expression: &Expression, one: &Variables, other: &Variables) -> Option<String> {
    let facts = expression.facts().expect("what runs is valid");
    let mut results = expression.result_names().into_iter().zip(&expression.results);
    results.find_map(|(name, &result)| {
        let tolerance = 2.0 * facts[result].error;
        let difference = match (one.get(&name)?, other.get(&name)?) {
            (RuntimeValue::Matrix(one), RuntimeValue::Matrix(other)) => difference_of_matrices(one, other, tolerance)?,
            (one, other) => {
                let (one, other) = (one.as_f64()?, other.as_f64()?);
                (!are_equal(one, other, tolerance)).then(|| format!("{one:e} and {other:e}"))?
            }
        };
        Some(format!("{name}{difference}, which may differ by {tolerance:.1e}"))
    })
}

fn difference_of_matrices(one: &MatrixBlock, other: &MatrixBlock, tolerance: f64) -> Option<String> {
    if one.dims() != other.dims() {
        return Some(format!(" has {:?} and {:?} cells", one.dims(), other.dims()));
    }
    // A cell that differs is stored in one of the two at least.
    [(one, other), (other, one)].into_iter().find_map(|(stored, block)| {
        let compare = |row, col, value: f64| {
            let cell = block.get(row, col);
            if are_equal(value, cell, tolerance) {
                return ControlFlow::Continue(());
            }
            ControlFlow::Break(format!(" differs in cell ({row}, {col}): {value:e} and {cell:e}"))
        };
        for_each_stored(stored, compare).break_value()
    })
}

fn are_equal(one: f64, other: f64, tolerance: f64) -> bool {
    (one - other).abs() <= tolerance
}

/// Visits the stored cells of a matrix: row, column and value.
fn for_each_stored(
    block: &MatrixBlock,
    mut visit: impl FnMut(usize, usize, f64) -> ControlFlow<String>,
) -> ControlFlow<String> {
    match block.layout() {
        Layout::Dense(dense) => {
            for row in 0..dense.rows() {
                dense.row(row).iter().enumerate().try_for_each(|(col, &value)| visit(row, col, value))?;
            }
        }
        Layout::Sparse(csr) => {
            for row in 0..csr.rows() {
                let (cols, values) = csr.row(row);
                cols.iter().zip(values).try_for_each(|(&col, &value)| visit(row, col as usize, value))?;
            }
        }
    }
    ControlFlow::Continue(())
}
