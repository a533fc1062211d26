//! Transpose, indexing and binding: cells move, values do not change.

use crate::blocks::{
    BLOCK_CELLS, PART_CELLS, PartByPart, average_row, balanced_ranges, block_rows, build_csr, copy_cells, fill_blocks,
    for_each_block, in_best_format, map_parts, on_threads_for, row_ranges, rows_of, transpose_csr, write_blocks,
};
use crate::generate::{check_sparse_cols, checked_dims};
use crate::{KernelContext, KernelError, Operand};
use fuseline_matrix::{Csr, Dense, Layout, MatrixBlock, parts_of_columns};
use fuseline_vecprims::{Tile, TileMut};
use std::borrow::Cow;
use std::ops::Range;

/// Side of the square tiles of a dense transpose: 32 x 32 cells of source and result fit the first-level cache.
const TILE: usize = 32;

/// Columns up to which a few rows stay in the second-level cache.
const NARROW: usize = 1024;

/// The transpose.
pub fn transpose(context: &KernelContext<'_>, matrix: &MatrixBlock) -> MatrixBlock {
    let dense = match matrix.layout() {
        // Columns that cannot be numbered are not stored by number.
        Layout::Sparse(csr) if csr.nnz() > 0 && u32::try_from(csr.rows()).is_err() => {
            return transpose(context, &csr.to_dense().into());
        }
        Layout::Sparse(csr) => return transpose_csr(context, &csr).into(),
        Layout::Dense(dense) => dense,
    };
    let (rows, cols) = (dense.rows(), dense.cols());
    let mut result = Dense::uninit_in(context.buffers, cols, rows);
    if rows.min(cols) <= 1 {
        copy_cells(context, dense.values(), &mut result);
        return result.into();
    }
    let source = dense.values();
    if rows > cols && cols <= NARROW {
        transpose_by_rows(context, &dense, &mut result);
    } else {
        for_each_block(context, result.values_mut(), TILE * rows, |block, out| {
            let first = block * TILE;
            for start in (0..rows).step_by(TILE) {
                for (j, out_row) in out.chunks_exact_mut(rows).enumerate() {
                    for i in start..(start + TILE).min(rows) {
                        out_row[i] = source[i * cols + first + j];
                    }
                }
            }
        });
    }
    result.set_nan_free(dense.is_nan_free());
    result.into()
}

/// Transposes a matrix of short rows: threads read whole rows, each of which gives a cell to all rows of the result.
fn transpose_by_rows(context: &KernelContext<'_>, dense: &Dense, result: &mut Dense) {
    let (rows, cols) = (dense.rows(), dense.cols());
    let step = block_rows(rows, cols).next_multiple_of(TILE);
    let ranges = row_ranges(rows, step);
    let parts = parts_of_columns(result.values_mut(), rows, step);
    map_parts(context, ranges.into_iter().zip(parts).collect(), |(range, mut out): (Range<usize>, Vec<&mut [f64]>)| {
        let source = &dense.values()[range.start * cols..range.end * cols];
        for (tile, source) in source.chunks(TILE * cols).enumerate() {
            for (j, out) in out.iter_mut().enumerate() {
                let cells = out[tile * TILE..].iter_mut().zip(source[j..].iter().step_by(cols));
                cells.for_each(|(cell, &value)| *cell = value);
            }
        }
    });
}

/// The half-open 0-based range of a 1-based inclusive one, if it lies within `limit`.
fn checked_range(first: i64, last: i64, limit: usize) -> Option<Range<usize>> {
    let (start, end) = (usize::try_from(first).ok()?.checked_sub(1)?, usize::try_from(last).ok()?);
    (start < end && end <= limit).then_some(start..end)
}

fn checked_ranges(
    matrix: &MatrixBlock,
    rows: (i64, i64),
    cols: (i64, i64),
) -> Result<(Range<usize>, Range<usize>), KernelError> {
    let dims = matrix.dims();
    checked_range(rows.0, rows.1, dims.0).zip(checked_range(cols.0, cols.1, dims.1)).ok_or(KernelError::Range {
        rows,
        cols,
        dims,
    })
}

/// The cells in these rows and columns (1-based, inclusive).
///
/// # Errors
/// The range lies outside of the matrix.
pub fn index(
    context: &KernelContext<'_>,
    matrix: &MatrixBlock,
    rows: (i64, i64),
    cols: (i64, i64),
) -> Result<MatrixBlock, KernelError> {
    if rows == (1, matrix.rows() as i64) && cols == (1, matrix.cols() as i64) {
        return Ok(matrix.clone());
    }
    let (rows, cols) = checked_ranges(matrix, rows, cols)?;
    Ok(match matrix.layout() {
        Layout::Dense(dense) => {
            let mut result = Dense::uninit_in(context.buffers, rows.len(), cols.len());
            if cols.len() == dense.cols() {
                copy_cells(context, &dense.values()[rows.start * cols.len()..], &mut result);
                return Ok(result.into());
            }
            let (width, step) = (cols.len(), block_rows(rows.len(), cols.len()));
            fill_blocks(context, &mut result, step * width, |block, out| {
                let first = rows.start + block * step;
                if width == 1 {
                    // A call to copy each cell would take longer than the cell.
                    let column = dense.values()[first * dense.cols() + cols.start..].iter().step_by(dense.cols());
                    out.iter_mut().zip(column).for_each(|(cell, &value)| *cell = value);
                } else {
                    let copies = out.chunks_exact_mut(width).enumerate();
                    copies.for_each(|(r, out)| out.copy_from_slice(&dense.row(first + r)[cols.clone()]));
                }
            });
            result.into()
        }
        Layout::Sparse(csr) => in_best_format(context, slice_csr(context, &csr, rows, cols).into()),
    })
}

fn slice_csr(context: &KernelContext<'_>, csr: &Csr, rows: Range<usize>, cols: Range<usize>) -> Csr {
    let cells_per_row = csr.nnz().div_ceil(csr.rows().max(1));
    let blocks = row_ranges(rows.len(), block_rows(rows.len(), cells_per_row));
    let heights: Vec<usize> = blocks.iter().map(Range::len).collect();
    // Found once, not for each of many short rows.
    let (row_offsets, all_columns, all_values) = (csr.row_offsets(), csr.columns(), csr.values());
    on_threads_for(context, blocks.len(), || {
        Csr::build_in(
            context.buffers,
            cols.len(),
            &heights,
            |block, out| {
                for (length, i) in out.iter_mut().zip(blocks[block].clone()) {
                    let row = row_offsets[rows.start + i]..row_offsets[rows.start + i + 1];
                    *length = within_columns(all_columns, row, &cols).len();
                }
            },
            |block, columns, values| {
                let mut at = 0;
                for i in blocks[block].clone() {
                    let row = row_offsets[rows.start + i]..row_offsets[rows.start + i + 1];
                    for position in within_columns(all_columns, row, &cols) {
                        (columns[at], values[at]) = (all_columns[position] - cols.start as u32, all_values[position]);
                        at += 1;
                    }
                }
            },
        )
    })
}

/// The positions of a row whose columns lie within a range.
fn within_columns(columns: &[u32], row: Range<usize>, within: &Range<usize>) -> Range<usize> {
    let columns = &columns[row.clone()];
    let [start, end] = [within.start, within.end].map(|end| columns.partition_point(|&j| (j as usize) < end));
    row.start + start..row.start + end
}

/// The matrix with these rows and columns (1-based, inclusive) replaced.
///
/// # Errors
/// The range lies outside of the matrix, or the replacement has another size.
pub fn left_index(
    context: &KernelContext<'_>,
    matrix: &MatrixBlock,
    replacement: Operand<'_>,
    rows: (i64, i64),
    cols: (i64, i64),
) -> Result<MatrixBlock, KernelError> {
    let mut result = matrix.clone();
    replace_range(context, &mut result, replacement, rows, cols)?;
    Ok(in_best_format(context, result))
}

/// Replaces these rows and columns (1-based, inclusive): in place where the matrix is dense and has no other holder, else
/// in a copy. The matrix is dense afterwards.
///
/// # Errors
/// The range lies outside of the matrix, or the replacement has another size; the matrix is then unchanged.
pub fn replace_range(
    context: &KernelContext<'_>,
    matrix: &mut MatrixBlock,
    replacement: Operand<'_>,
    rows: (i64, i64),
    cols: (i64, i64),
) -> Result<(), KernelError> {
    let (rows, cols) = checked_ranges(matrix, rows, cols)?;
    if let Operand::Matrix(block) = replacement
        && block.dims() != (rows.len(), cols.len())
    {
        return Err(KernelError::Shapes {
            operation: "left indexing".to_owned(),
            left: (rows.len(), cols.len()),
            right: block.dims(),
            rule: "the replacement must have the size of the range",
        });
    }
    let source = match replacement {
        Operand::Matrix(block) => Some(block.to_dense()),
        Operand::Scalar(_) => None,
    };
    let mut dense = own_dense(context, matrix);
    let width = dense.cols();
    for (i, row) in rows.enumerate() {
        let out = &mut dense.values_mut()[row * width..(row + 1) * width][cols.clone()];
        match (&source, replacement) {
            (Some(source), _) => out.copy_from_slice(source.row(i)),
            (None, Operand::Scalar(value)) => out.fill(value),
            (None, Operand::Matrix(_)) => {}
        }
    }
    *matrix = dense.into();
    Ok(())
}

/// The cells of a matrix, of which they are taken where they are dense and nobody else holds them.
fn own_dense(context: &KernelContext<'_>, matrix: &mut MatrixBlock) -> Dense {
    let (rows, cols) = matrix.dims();
    if let Some(dense) = matrix.take_dense() {
        return dense;
    }
    match matrix.layout() {
        Layout::Dense(dense) => {
            let mut copy = Dense::uninit_in(context.buffers, rows, cols);
            copy_cells(context, dense.values(), &mut copy);
            copy
        }
        Layout::Sparse(csr) => {
            let mut copy = Dense::zeros_in(context.buffers, rows, cols);
            for row in 0..rows {
                let (columns, values) = csr.row(row);
                let out = &mut copy.values_mut()[row * cols..(row + 1) * cols];
                columns.iter().zip(values).for_each(|(&column, &value)| out[column as usize] = value);
            }
            copy
        }
    }
}

fn bind_error(operation: &str, left: &MatrixBlock, right: &MatrixBlock, rule: &'static str) -> KernelError {
    KernelError::Shapes { operation: operation.to_owned(), left: left.dims(), right: right.dims(), rule }
}

/// Whether the parts of a `rows` x `cols` matrix are bound in sparse format: where all are sparse, or the whole is.
fn binds_sparse(parts: &[&MatrixBlock], rows: usize, cols: usize) -> bool {
    let nnz = || parts.iter().map(|part| part.nnz()).sum();
    let sparse = parts.iter().filter(|part| part.format().is_sparse()).count();
    sparse == parts.len() || sparse > 0 && MatrixBlock::best_format(rows, cols, nnz()).is_sparse()
}

/// The matrices side by side.
///
/// # Errors
/// Different numbers of rows, or no matrix.
pub fn bind_columns(context: &KernelContext<'_>, parts: &[&MatrixBlock]) -> Result<MatrixBlock, KernelError> {
    let first = first_part("cbind", parts)?;
    if let Some(part) = parts.iter().find(|part| part.rows() != first.rows()) {
        return Err(bind_error("cbind", first, part, "cbind needs equal numbers of rows"));
    }
    let cols = parts.iter().fold(0, |cols: usize, part| cols.saturating_add(part.cols()));
    let (rows, _) = checked_dims("cbind", first.rows() as i64, cols as i64)?;
    if binds_sparse(parts, rows, cols) {
        check_sparse_cols("cbind", cols)?;
        let parts: Vec<_> = parts.iter().map(|part| part.to_csr()).collect();
        let cost = parts.iter().map(|part| average_row(part)).sum();
        let bound = build_csr(
            context,
            [rows, cols],
            cost,
            || (),
            |i, (), result| {
                let mut offset = 0;
                for part in &parts {
                    let (columns, values) = part.row(i);
                    result.columns.extend(columns.iter().map(|&j| j + offset));
                    result.values.extend_from_slice(values);
                    offset += part.cols() as u32;
                }
            },
        );
        return Ok(bound.into());
    }
    let parts: Vec<_> = parts.iter().map(|part| part.to_dense()).collect();
    let mut result = Dense::uninit_in(context.buffers, rows, cols);
    let step = block_rows(rows, cols);
    fill_blocks(context, &mut result, step * cols, |block, out| {
        let (rows, mut offset) = (out.len() / cols, 0);
        for part in &parts {
            let tile = Tile::new(&part.values()[block * step * part.cols()..], part.cols());
            context.primitives.copy(rows, part.cols(), tile, TileMut::new(&mut out[offset..], cols));
            offset += part.cols();
        }
    });
    Ok(result.into())
}

/// The matrices below each other.
///
/// # Errors
/// Different numbers of columns, or no matrix.
pub fn bind_rows(context: &KernelContext<'_>, parts: &[&MatrixBlock]) -> Result<MatrixBlock, KernelError> {
    let first = first_part("rbind", parts)?;
    if let Some(part) = parts.iter().find(|part| part.cols() != first.cols()) {
        return Err(bind_error("rbind", first, part, "rbind needs equal numbers of columns"));
    }
    let rows = parts.iter().fold(0, |rows: usize, part| rows.saturating_add(part.rows()));
    let (rows, cols) = checked_dims("rbind", rows as i64, first.cols() as i64)?;
    if binds_sparse(parts, rows, cols) {
        let parts: Vec<_> = parts.iter().map(|part| part.to_csr()).collect();
        let ranges_of = |part| balanced_ranges(part, BLOCK_CELLS, usize::MAX);
        let blocks: Vec<(&Csr, Range<usize>)> =
            parts.iter().flat_map(|part| ranges_of(part).into_iter().map(move |range| (&**part, range))).collect();
        let heights: Vec<usize> = blocks.iter().map(|(_, range)| range.len()).collect();
        let bound = on_threads_for(context, blocks.len(), || {
            Csr::build_in(
                context.buffers,
                cols,
                &heights,
                |block, out| {
                    let (part, range) = &blocks[block];
                    let ends = part.row_offsets()[range.start..=range.end].windows(2);
                    out.iter_mut().zip(ends).for_each(|(length, ends)| *length = ends[1] - ends[0]);
                },
                |block, columns, values| {
                    let (part, range) = &blocks[block];
                    let rows = rows_of(part, range);
                    columns.copy_from_slice(rows.columns);
                    values.copy_from_slice(rows.values);
                },
            )
        });
        return Ok(bound.into());
    }
    let parts: Vec<_> = parts.iter().map(|part| part.to_dense()).collect();
    let mut result = Dense::uninit_in(context.buffers, rows, cols);
    let write = PartByPart::new(context, rows * cols, PART_CELLS);
    let mut ends = Vec::with_capacity(parts.len());
    ends.extend(parts.iter().scan(0, |end, part| {
        *end += part.values().len();
        Some(*end)
    }));
    write_blocks(context, &mut result, BLOCK_CELLS, &write, |first, out| copy_run(&parts, &ends, first, out));
    Ok(result.into())
}

/// Copies cells of matrices below each other, as wide as each other, from one on, given how many there are up to the end of each.
fn copy_run(parts: &[Cow<'_, Dense>], ends: &[usize], first: usize, mut out: &mut [f64]) {
    let part = ends.partition_point(|&end| end <= first);
    let mut skipped = first - part.checked_sub(1).map_or(0, |before| ends[before]);
    for part in &parts[part..] {
        let here = &part.values()[skipped..];
        let copied = here.len().min(out.len());
        out.split_off_mut(..copied).expect("no more than there are").copy_from_slice(&here[..copied]);
        if out.is_empty() {
            break;
        }
        skipped = 0;
    }
}

fn first_part<'a>(operation: &'static str, parts: &[&'a MatrixBlock]) -> Result<&'a MatrixBlock, KernelError> {
    parts.first().copied().ok_or(KernelError::Argument { operation, problem: "no matrix to bind".to_owned() })
}
