//! The columns in which rows have their extremes.

use crate::KernelContext;
use crate::blocks::{block_rows, fill_blocks};
use fuseline_matrix::{Dense, Layout, MatrixBlock};

/// Which extreme of a row is sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extreme {
    /// The smallest cell.
    Min,
    /// The largest cell.
    Max,
}

/// For each row the 1-based column of its extreme, the last of equals: m x 1. NaN is passed over; a row of NaN alone
/// has 1, and a row without columns 0.
pub fn row_index(context: &KernelContext<'_>, extreme: Extreme, matrix: &MatrixBlock) -> MatrixBlock {
    let mut result = Dense::uninit_in(context.buffers, matrix.rows(), 1);
    let step = block_rows(matrix.rows(), matrix.cols());
    let layout = matrix.layout();
    fill_blocks(context, &mut result, step, |block, out| {
        for (r, cell) in out.iter_mut().enumerate() {
            let column = extreme_of_row(extreme, &layout, block * step + r);
            let without_number = matrix.cols().min(1);
            *cell = column.map_or(without_number, |column| column + 1) as f64;
        }
    });
    result.into()
}

/// The 0-based column.
fn extreme_of_row(extreme: Extreme, layout: &Layout<'_>, i: usize) -> Option<usize> {
    match layout {
        Layout::Dense(dense) => last_extreme(extreme, dense.row(i).iter().copied().enumerate()),
        Layout::Sparse(csr) => {
            let (columns, values) = csr.row(i);
            let cells = columns.iter().map(|&j| j as usize).zip(values.iter().copied());
            // One zero stands for all: the last column that is not stored. Those behind it are stored, every one.
            let behind = columns.iter().rev().zip((0..csr.cols()).rev()).take_while(|(j, last)| **j as usize == *last);
            let stored_before = columns.len() - behind.count();
            let gap = csr.cols() - (columns.len() - stored_before);
            let zero = gap.checked_sub(1).map(|column| (column, 0.0));
            last_extreme(extreme, cells.clone().take(stored_before).chain(zero).chain(cells.skip(stored_before)))
        }
    }
}

/// The key of the last extreme among the numbers of cells by ascending keys.
fn last_extreme(extreme: Extreme, cells: impl Iterator<Item = (usize, f64)>) -> Option<usize> {
    let mut best: Option<(usize, f64)> = None;
    for (j, value) in cells.filter(|(_, value)| !value.is_nan()) {
        let is_better = best.is_none_or(|(_, best)| match extreme {
            Extreme::Min => value <= best,
            Extreme::Max => value >= best,
        });
        if is_better {
            best = Some((j, value));
        }
    }
    best.map(|(j, _)| j)
}
