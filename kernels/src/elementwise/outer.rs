//! An operation of each cell of a column with each cell of a row.

use super::sparse::zeros_stay;
use crate::blocks::{PartByPart, block_rows, build_csr, cells_of_rows, in_best_format, write_blocks};
use crate::{KernelContext, KernelError, Operand, push_nonzero};
use fuseline_ir::ops::BinaryOp;
use fuseline_matrix::{Csr, Dense, MatrixBlock};
use fuseline_vecprims::{Form, Tile, TileMut};

/// `op` of each cell of a column (m x 1) with each cell of a row (1 x n): m x n. Of matrices of equal size, and of a matrix
/// with a row for each of its rows, it is the operation cell by cell, as in SystemDS, whose `mdedup` uses that.
///
/// # Errors
/// The operands are none of these.
pub fn outer(
    context: &KernelContext<'_>,
    op: BinaryOp,
    column: &MatrixBlock,
    row: &MatrixBlock,
) -> Result<MatrixBlock, KernelError> {
    if column.cols() != 1 || row.rows() != 1 {
        if column.cols() == row.cols() && (column.rows() == row.rows() || row.rows() == 1) {
            return super::binary(context, op, Operand::Matrix(column), Operand::Matrix(row));
        }
        let rule = "outer takes a column vector and a row vector";
        let (left, right) = (column.dims(), row.dims());
        return Err(KernelError::Shapes { operation: "outer".to_owned(), left, right, rule });
    }
    let (rows, cols) = (column.rows(), row.cols());
    crate::generate::checked_dims("outer", rows as i64, cols as i64)?;
    let stays_left = zeros_stay(context, op, true, Operand::Matrix(row));
    let filled_rows = if stays_left { column.nnz() } else { rows };
    let stays_right = zeros_stay(context, op, false, Operand::Matrix(column));
    let filled_cols = if stays_right { row.nnz() } else { cols };
    if MatrixBlock::best_format(rows, cols, filled_rows.saturating_mul(filled_cols)).is_sparse() {
        return Ok(sparse(context, op, &column.to_dense(), row, [stays_left, stays_right]).into());
    }
    let (u, v) = (column.to_dense(), row.to_dense());
    let mut result = Dense::uninit_in(context.buffers, rows, cols);
    let step = block_rows(rows, cols);
    let write = PartByPart::new(context, rows * cols, cells_of_rows(cols)).of_flops(op.flops(), 1);
    write_blocks(context, &mut result, step * cols, &write, |first, out| {
        let tile_rows = out.len() / cols.max(1);
        let (a, b) = (Tile::new(&u.values()[first / cols.max(1)..], 1), Tile::new(v.values(), 0));
        context.primitives.binary(op, Form::ScalarVect, tile_rows, cols, a, b, TileMut::new(out, cols));
    });
    let result = MatrixBlock::from(result);
    // Comparisons of codes with values give few ones.
    Ok(if op.algebra().boolean { in_best_format(context, result) } else { result })
}

/// The result where it is mostly zero: of an operand whose zeros stay, only the non-zeros are visited.
fn sparse(
    context: &KernelContext<'_>,
    op: BinaryOp,
    column: &Dense,
    row: &MatrixBlock,
    [stays_left, stays_right]: [bool; 2],
) -> Csr {
    let (rows, cols) = (column.rows(), row.cols());
    let (columns, values) = if stays_right {
        let csr = row.to_csr();
        (csr.columns().to_vec(), csr.values().to_vec())
    } else {
        ((0..cols as u32).collect(), row.to_dense().values().to_vec())
    };
    let len = values.len();
    build_csr(
        context,
        [rows, cols],
        len,
        || vec![0.0; len],
        |i, out, result| {
            let cell = column.get(i, 0);
            if cell == 0.0 && stays_left {
                return;
            }
            let (a, b) = (Tile::new(std::slice::from_ref(&cell), 0), Tile::new(&values, 0));
            context.primitives.binary(op, Form::ScalarVect, 1, len, a, b, TileMut::new(out, len));
            columns.iter().zip(out).for_each(|(&j, result_cell)| push_nonzero(result, j, *result_cell));
        },
    )
}
