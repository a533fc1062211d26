//! Diagonals, in both directions.

use crate::generate::{check_sparse_cols, checked_dims};
use crate::{KernelContext, KernelError};
use fuseline_matrix::{Csr, Dense, MatrixBlock};

/// A column (n x 1) as the diagonal of a square matrix, or the diagonal of a square matrix as a column.
///
/// # Errors
/// The matrix is neither a column nor square.
pub fn diagonal(context: &KernelContext<'_>, matrix: &MatrixBlock) -> Result<MatrixBlock, KernelError> {
    match matrix.dims() {
        (_, 1) => to_matrix(matrix),
        (rows, cols) if rows == cols => Ok(to_column(context, matrix).into()),
        (rows, cols) => {
            let problem = format!("a {rows} x {cols} matrix is neither square nor a column vector");
            Err(KernelError::Argument { operation: "diag", problem })
        }
    }
}

fn to_matrix(column: &MatrixBlock) -> Result<MatrixBlock, KernelError> {
    let n = column.rows();
    checked_dims("diag", n as i64, n as i64)?;
    check_sparse_cols("diag", n)?;
    let (mut row_offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for (i, &value) in column.to_dense().values().iter().enumerate() {
        if value != 0.0 {
            columns.push(i as u32);
            values.push(value);
        }
        row_offsets.push(values.len());
    }
    Ok(MatrixBlock::from(Csr::from_parts(n, n, row_offsets, columns, values)).in_best_format())
}

fn to_column(context: &KernelContext<'_>, square: &MatrixBlock) -> Dense {
    let n = square.rows();
    let mut result = Dense::uninit_in(context.buffers, n, 1);
    for (i, cell) in result.values_mut().iter_mut().enumerate() {
        *cell = square.get(i, i);
    }
    result
}
