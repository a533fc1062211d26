//! Contingency tables.

use crate::generate::checked_dims;
use crate::{KernelContext, KernelError, Operand};
use fuseline_matrix::{Csr, Dense, MatrixBlock};
use rayon::prelude::*;

/// An entry: 0-based row and column of the table, and a weight.
type Entry = (usize, usize, f64);

/// A matrix whose cell (a, b) is the sum of the weights at the positions where `rows` is a and `cols` is b. Scalars
/// stand for the same value everywhere. Fractions are cut off; a position with a NaN counts nowhere. With `dims` the
/// table has that many rows and columns, and what lies beyond counts nowhere; else it is as large as the values say.
/// Cells are summed in the order of positions.
///
/// # Errors
/// Operands of different sizes or without a matrix, values below 1, or dimensions that cannot be.
pub fn table(
    context: &KernelContext<'_>,
    rows: Operand<'_>,
    cols: Operand<'_>,
    weights: Operand<'_>,
    dims: Option<(i64, i64)>,
) -> Result<MatrixBlock, KernelError> {
    let dims = dims.map(|(rows, cols)| checked_dims("table", rows, cols)).transpose()?;
    let mut entries = entries(rows, cols, weights)?;
    let (height, width) = match dims {
        Some((height, width)) => {
            entries.retain(|&(i, j, _)| i < height && j < width);
            (height, width)
        }
        None => {
            let extent = |of: fn(&Entry) -> usize| entries.iter().map(of).max().map_or(0, |last| last + 1);
            let (height, width) = (extent(|entry| entry.0), extent(|entry| entry.1));
            checked_dims("table", height as i64, width as i64)?
        }
    };
    Ok(if MatrixBlock::prefers_sparse(height, width, entries.len()) {
        sparse(context, entries, height, width)?.into()
    } else {
        let mut result = Dense::zeros(height, width);
        for (i, j, weight) in entries {
            result.values_mut()[i * width + j] += weight;
        }
        MatrixBlock::from(result).in_best_format()
    })
}

fn argument(problem: String) -> KernelError {
    KernelError::Argument { operation: "table", problem }
}

/// The entries, in the order of positions.
fn entries(rows: Operand<'_>, cols: Operand<'_>, weights: Operand<'_>) -> Result<Vec<Entry>, KernelError> {
    let mut dims = None;
    for operand in [rows, cols, weights] {
        let Operand::Matrix(block) = operand else { continue };
        if *dims.get_or_insert(block.dims()) != block.dims() {
            return Err(KernelError::Shapes {
                operation: "table".to_owned(),
                left: dims.unwrap_or_default(),
                right: block.dims(),
                rule: "the vectors must have equal sizes",
            });
        }
    }
    let (height, width) = dims.ok_or_else(|| argument("one of the operands must be a matrix".to_owned()))?;
    let cells = |operand: Operand<'_>| match operand {
        Operand::Matrix(block) => block.to_dense().values().to_vec(),
        Operand::Scalar(value) => vec![value; height * width],
    };
    let (rows, cols, weights) = (cells(rows), cells(cols), cells(weights));
    let mut entries = Vec::with_capacity(rows.len());
    for ((row, col), weight) in rows.into_iter().zip(cols).zip(weights) {
        if !(row.is_nan() || col.is_nan() || weight.is_nan()) {
            entries.push((position(row)?, position(col)?, weight));
        }
    }
    Ok(entries)
}

/// The 0-based position that a value names.
fn position(value: f64) -> Result<usize, KernelError> {
    if !(1.0..9.0e15).contains(&value) {
        return Err(argument(format!("{value} is no row or column of a table")));
    }
    Ok(value as usize - 1)
}

fn sparse(context: &KernelContext<'_>, mut entries: Vec<Entry>, rows: usize, cols: usize) -> Result<Csr, KernelError> {
    if u32::try_from(cols).is_err() {
        return Err(argument(format!("a sparse table has at most {} columns, not {cols}", u32::MAX)));
    }
    // The sort is stable: entries of one cell stay in the order of positions.
    context.pool.install(|| entries.par_sort_by_key(|&(i, j, _)| (i, j)));
    let (mut lengths, mut columns, mut values) = (vec![0; rows + 1], Vec::new(), Vec::new());
    for cell in entries.chunk_by(|x, y| (x.0, x.1) == (y.0, y.1)) {
        let sum = cell.iter().fold(0.0, |sum, &(_, _, weight)| sum + weight);
        if sum != 0.0 {
            lengths[cell[0].0 + 1] += 1;
            columns.push(cell[0].1 as u32);
            values.push(sum);
        }
    }
    for i in 0..rows {
        lengths[i + 1] += lengths[i];
    }
    Ok(Csr::from_parts(rows, cols, lengths, columns, values))
}
