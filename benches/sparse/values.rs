//! Whether results are equal but for rounding.

use fuseline::{Layout, MatrixBlock, RuntimeValue};

/// How far values may differ, as a share of the largest one.
const TOLERANCE: f64 = 1e-9;

/// A result as a matrix, numbers with one cell.
pub(crate) fn block(value: &RuntimeValue) -> Option<MatrixBlock> {
    match value {
        RuntimeValue::Matrix(block) => Some(block.clone()),
        other => other.as_f64().map(MatrixBlock::single),
    }
}

pub(crate) fn are_near(one: &MatrixBlock, other: &MatrixBlock) -> bool {
    // A cell that differs is stored in one of the two at least.
    one.dims() == other.dims() && has_stored_cells_of(one, other) && has_stored_cells_of(other, one)
}

/// Whether the stored cells of one matrix are near those of another one.
fn has_stored_cells_of(matrix: &MatrixBlock, stored: &MatrixBlock) -> bool {
    let near = |row: usize, col: usize, value: f64, largest: f64| {
        let cell = matrix.get(row, col);
        (value - cell).abs() <= TOLERANCE * largest || value.to_bits() == cell.to_bits()
    };
    let largest = |values: &[f64]| values.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    match stored.layout() {
        Layout::Dense(dense) => {
            let (largest, cols) = (largest(dense.values()), dense.cols());
            dense.values().iter().enumerate().all(|(cell, &value)| near(cell / cols, cell % cols, value, largest))
        }
        Layout::Sparse(csr) => {
            let largest = largest(csr.values());
            (0..csr.rows()).all(|row| {
                let (columns, values) = csr.row(row);
                columns.iter().zip(values).all(|(&col, &value)| near(row, col as usize, value, largest))
            })
        }
    }
}
