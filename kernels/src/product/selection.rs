//! Products with matrices that select rows or columns of the other one: they have a single 1 for each row, or column, of the product.
//! Cells are copied, as a sum of one product has them: a zero is no negative one.

use crate::KernelContext;
use crate::blocks::{average_row, block_rows, fill_blocks, on_threads_for, row_ranges};
use fuseline_matrix::{Csr, Dense, Layout, MatrixBlock, SparseRow, count_nonzeros};
use std::ops::Range;

/// The rows that the left side of a product selects, in the order of the product's, if that is what it does.
fn selected_rows(selector: &Csr) -> Option<&[u32]> {
    let has_one_each =
        selector.nnz() == selector.rows() && selector.row_offsets().iter().copied().eq(0..=selector.rows());
    (has_one_each && selector.values().iter().all(|&value| value == 1.0)).then(|| selector.columns())
}

/// The columns that the right side of a product selects, in the order of the product's, if that is what it does.
fn selected_columns(selector: &Csr) -> Option<Vec<u32>> {
    let are_numbered = u32::try_from(selector.rows()).is_ok();
    if !are_numbered || selector.nnz() != selector.cols() || selector.values().iter().any(|&value| value != 1.0) {
        return None;
    }
    let mut selected = vec![u32::MAX; selector.cols()];
    for i in 0..selector.rows() {
        selector.row(i).0.iter().for_each(|&j| selected[j as usize] = i as u32);
    }
    // There are as many ones as columns: where one has none, another one has several.
    (!selected.contains(&u32::MAX)).then_some(selected)
}

/// The product with a matrix on its left that selects rows.
pub(super) fn rows(context: &KernelContext<'_>, selector: &Csr, right: &MatrixBlock) -> Option<MatrixBlock> {
    let (selected, cols) = (selected_rows(selector)?, right.cols());
    Some(match right.layout() {
        Layout::Dense(dense) => {
            let mut result = Dense::uninit_in(context.buffers, selected.len(), cols);
            let step = block_rows(selected.len(), cols);
            fill_blocks(context, &mut result, step * cols, |block, out| {
                for (out, &row) in out.chunks_exact_mut(cols.max(1)).zip(&selected[block * step..]) {
                    out.iter_mut().zip(dense.row(row as usize)).for_each(|(cell, &value)| *cell = value + 0.0);
                }
            });
            result.into()
        }
        Layout::Sparse(csr) => sparse_rows(context, selected, &csr).into(),
    })
}

/// These rows, without zeros that are stored.
fn sparse_rows(context: &KernelContext<'_>, selected: &[u32], csr: &Csr) -> Csr {
    let blocks = row_ranges(selected.len(), block_rows(selected.len(), average_row(csr)));
    let heights: Vec<usize> = blocks.iter().map(Range::len).collect();
    let row = |i: usize| SparseRow::from(csr.row(selected[i] as usize));
    let has_zeros = |row: SparseRow<'_>| context.primitives.contains_zero(row.values);
    let kept = |row: SparseRow<'_>| if has_zeros(row) { count_nonzeros(row.values) } else { row.len() };
    let lengths = |block: usize, out: &mut [usize]| {
        out.iter_mut().zip(blocks[block].clone()).for_each(|(length, i)| *length = kept(row(i)));
    };
    on_threads_for(context, blocks.len(), || {
        Csr::build_in(context.buffers, csr.cols(), &heights, lengths, |block, mut columns, mut values| {
            for row in blocks[block].clone().map(row) {
                let kept = if has_zeros(row) {
                    row.write_nonzeros(columns, values)
                } else {
                    columns[..row.len()].copy_from_slice(row.columns);
                    values[..row.len()].copy_from_slice(row.values);
                    row.len()
                };
                (columns, values) = (&mut columns[kept..], &mut values[kept..]);
            }
        })
    })
}

/// The product of a dense matrix with one on its right that selects columns.
pub(super) fn columns(context: &KernelContext<'_>, left: &Dense, selector: &Csr) -> Option<Dense> {
    let selected = selected_columns(selector)?;
    let (rows, cols) = (left.rows(), selected.len());
    let mut result = Dense::uninit_in(context.buffers, rows, cols);
    let step = block_rows(rows, cols);
    fill_blocks(context, &mut result, step * cols, |block, out| {
        for (r, out) in out.chunks_exact_mut(cols.max(1)).enumerate() {
            let row = left.row(block * step + r);
            out.iter_mut().zip(&selected).for_each(|(cell, &j)| *cell = row[j as usize] + 0.0);
        }
    });
    Some(result)
}
