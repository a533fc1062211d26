//! Rows and columns chosen from a matrix: in reverse, sorted, or without the empty ones.

use crate::blocks::{BLOCK_CELLS, average_row, block_rows, build_csr, fill_blocks, in_best_format};
use crate::sort::{collected, sorted};
use crate::{KernelContext, KernelError};
use fuseline_matrix::{Dense, Growing, Layout, MatrixBlock, MemoryKind};
use std::cmp::Ordering;

/// What is removed when it is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Margin {
    /// Rows.
    Rows,
    /// Columns.
    Cols,
}

/// The rows in reverse order.
pub fn reverse_rows(context: &KernelContext<'_>, matrix: &MatrixBlock) -> MatrixBlock {
    let rows = matrix.rows();
    select_rows(context, matrix, rows, |row| rows - 1 - row)
}

/// The rows moved down by `shift` (up where it is negative); those that leave at one end come in at the other.
pub fn roll(context: &KernelContext<'_>, matrix: &MatrixBlock, shift: i64) -> MatrixBlock {
    let rows = matrix.rows();
    let first = if rows == 0 { 0 } else { (-(shift % rows as i64)).rem_euclid(rows as i64) as usize };
    select_rows(context, matrix, rows, |row| if row < rows - first { first + row } else { row - (rows - first) })
}

/// The rows sorted by these columns (1-based; the first decides, later ones where it is equal). Rows of equal keys
/// stay in order, and NaN comes last in both directions.
///
/// # Errors
/// A column outside of the matrix.
pub fn order(
    context: &KernelContext<'_>,
    matrix: &MatrixBlock,
    by: &[f64],
    decreasing: bool,
) -> Result<MatrixBlock, KernelError> {
    let order = sorted_rows(context, matrix, by, decreasing)?;
    Ok(select_rows(context, matrix, order.len(), |row| order[row].row))
}

/// The 1-based numbers of the rows in the order of [`order`]: m x 1.
///
/// # Errors
/// A column outside of the matrix.
pub fn order_index(
    context: &KernelContext<'_>,
    matrix: &MatrixBlock,
    by: &[f64],
    decreasing: bool,
) -> Result<MatrixBlock, KernelError> {
    let order = sorted_rows(context, matrix, by, decreasing)?;
    let mut numbers = Dense::uninit_in(context.buffers, order.len(), 1);
    fill_blocks(context, &mut numbers, BLOCK_CELLS, |block, numbers| {
        let rows = &order[block * BLOCK_CELLS..];
        numbers.iter_mut().zip(rows).for_each(|(number, place)| *number = (place.row + 1) as f64);
    });
    Ok(numbers.into())
}

/// A row, and where its cell of the first column to sort by stands among others.
#[derive(Clone, Copy)]
struct Place {
    rank: u64,
    row: usize,
}

fn sorted_rows(
    context: &KernelContext<'_>,
    matrix: &MatrixBlock,
    by: &[f64],
    decreasing: bool,
) -> Result<Growing<Place>, KernelError> {
    let columns = by.iter().map(|&column| column_of(matrix, column)).collect::<Result<Vec<_>, _>>()?;
    let rank = |row: usize, column: usize| rank(matrix.get(row, column), decreasing);
    let (first, others) = match columns.split_first() {
        Some((&first, others)) => (Some(first), others),
        None => (None, [].as_slice()),
    };
    let others: Vec<_> = others.iter().map(|&column| collected(matrix.rows(), |row| rank(row, column))).collect();
    let places = collected(matrix.rows(), |row| Place { rank: first.map_or(0, |column| rank(row, column)), row });
    Ok(sorted(context, places, |x, y| {
        let orders = others.iter().map(|ranks| ranks[x.row].cmp(&ranks[y.row]));
        orders.fold(x.rank.cmp(&y.rank), Ordering::then)
    }))
}

/// The number of a 1-based column.
fn column_of(matrix: &MatrixBlock, column: f64) -> Result<usize, KernelError> {
    let (rows, cols) = matrix.dims();
    if !(column >= 1.0 && column < cols as f64 + 1.0) {
        let problem = format!("there is no column {column} in a {rows} x {cols} matrix");
        return Err(KernelError::Argument { operation: "order", problem });
    }
    Ok(column as usize - 1)
}

/// A number that is smaller for what comes first, and equal for equal values: the bits of a double are ordered like its
/// magnitude. NaN comes last.
fn rank(value: f64, decreasing: bool) -> u64 {
    if value.is_nan() {
        return u64::MAX;
    }
    // Both zeros are equal.
    let bits = (value + 0.0).to_bits();
    let ascending = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    if decreasing { !ascending } else { ascending }
}

/// The matrix without its empty rows or columns, or with those that `select` (a vector, as long as the margin) says by
/// a cell that is not zero. Where nothing stays, one empty row or column does if `keeps_one`, else none.
///
/// # Errors
/// `select` has another length than the margin.
pub fn remove_empty(
    context: &KernelContext<'_>,
    matrix: &MatrixBlock,
    margin: Margin,
    select: Option<&MatrixBlock>,
    keeps_one: bool,
) -> Result<MatrixBlock, KernelError> {
    let (rows, cols) = matrix.dims();
    let extent = if margin == Margin::Rows { rows } else { cols };
    let stays = match select {
        Some(vector) => selected(vector, extent)?,
        None if margin == Margin::Rows => nonempty_rows(matrix),
        None => nonempty_columns(matrix),
    };
    let mut kept = Growing::new(MemoryKind::Scratch);
    kept.extend((0..extent).filter(|&index| stays[index]));
    Ok(match margin {
        Margin::Rows if kept.is_empty() => Dense::zeros(usize::from(keeps_one), cols).into(),
        Margin::Cols if kept.is_empty() => Dense::zeros(rows, usize::from(keeps_one)).into(),
        _ if kept.len() == extent => matrix.clone(),
        Margin::Rows => in_best_format(context, select_rows(context, matrix, kept.len(), |row| kept[row])),
        Margin::Cols => in_best_format(context, select_columns(context, matrix, &kept)),
    })
}

fn selected(vector: &MatrixBlock, extent: usize) -> Result<Vec<bool>, KernelError> {
    let (rows, cols) = vector.dims();
    if rows.min(cols) > 1 || rows * cols != extent {
        let problem = format!("`select` must be a vector of {extent} cells, not a {rows} x {cols} matrix");
        return Err(KernelError::Argument { operation: "removeEmpty", problem });
    }
    Ok(vector.to_dense().values().iter().map(|&cell| cell != 0.0).collect())
}

fn nonempty_rows(matrix: &MatrixBlock) -> Vec<bool> {
    let layout = matrix.layout();
    let rows = (0..matrix.rows()).map(|i| match &layout {
        Layout::Dense(dense) => dense.row(i),
        Layout::Sparse(csr) => csr.row(i).1,
    });
    rows.map(|values| values.iter().any(|&value| value != 0.0)).collect()
}

fn nonempty_columns(matrix: &MatrixBlock) -> Vec<bool> {
    let mut stays = vec![false; matrix.cols()];
    match matrix.layout() {
        Layout::Dense(dense) => {
            for i in 0..dense.rows() {
                stays.iter_mut().zip(dense.row(i)).for_each(|(stays, &value)| *stays |= value != 0.0);
            }
        }
        Layout::Sparse(csr) => {
            csr.columns().iter().zip(csr.values()).for_each(|(&j, &value)| stays[j as usize] |= value != 0.0);
        }
    }
    stays
}

/// So many rows, by the numbers that they had.
fn select_rows(
    context: &KernelContext<'_>,
    matrix: &MatrixBlock,
    rows: usize,
    origin: impl Fn(usize) -> usize + Sync,
) -> MatrixBlock {
    let cols = matrix.cols();
    match matrix.layout() {
        Layout::Dense(dense) => {
            let mut result = Dense::uninit_in(context.buffers, rows, cols);
            let step = block_rows(rows, cols);
            fill_blocks(context, &mut result, step * cols, |block, out| {
                for (offset, out) in out.chunks_exact_mut(cols).enumerate() {
                    out.copy_from_slice(dense.row(origin(block * step + offset)));
                }
            });
            result.into()
        }
        Layout::Sparse(csr) => {
            let result = build_csr(
                context,
                [rows, cols],
                average_row(&csr),
                || (),
                |i, (), result| {
                    let (columns, values) = csr.row(origin(i));
                    result.columns.extend_from_slice(columns);
                    result.values.extend_from_slice(values);
                },
            );
            result.into()
        }
    }
}

/// These columns, which ascend.
fn select_columns(context: &KernelContext<'_>, matrix: &MatrixBlock, columns: &[usize]) -> MatrixBlock {
    let (rows, width) = (matrix.rows(), columns.len());
    match matrix.layout() {
        Layout::Dense(dense) => {
            let mut result = Dense::uninit_in(context.buffers, rows, width);
            let step = block_rows(rows, width);
            fill_blocks(context, &mut result, step * width, |block, out| {
                for (r, out) in out.chunks_exact_mut(width).enumerate() {
                    let row = dense.row(block * step + r);
                    out.iter_mut().zip(columns).for_each(|(cell, &j)| *cell = row[j]);
                }
            });
            result.into()
        }
        Layout::Sparse(csr) => {
            let mut target = vec![None; csr.cols()];
            columns.iter().enumerate().for_each(|(to, &from)| target[from] = Some(to as u32));
            let result = build_csr(
                context,
                [rows, width],
                average_row(&csr),
                || (),
                |i, (), result| {
                    let (columns, values) = csr.row(i);
                    for (&j, &value) in columns.iter().zip(values) {
                        if let Some(column) = target[j as usize] {
                            result.columns.push(column);
                            result.values.push(value);
                        }
                    }
                },
            );
            result.into()
        }
    }
}
