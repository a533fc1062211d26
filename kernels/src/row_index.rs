//! The columns in which rows have their extremes.

use crate::KernelContext;
use crate::blocks::{BLOCK_CELLS, block_rows, fill_blocks, map_parts};
use fuseline_matrix::{Dense, Layout, MatrixBlock};
use fuseline_vecprims::Tile;

/// Which extreme of a row is sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extreme {
    /// The smallest cell.
    Min,
    /// The largest cell.
    Max,
}

/// Which of several columns it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The last of equals. NaN is passed over.
    Last,
    /// The first of equals. NaN is more extreme than any number.
    First,
}

/// For each row the 1-based column of its extreme: m x 1. A row of NaN alone has 1, and a row without columns 0.
pub fn row_index(context: &KernelContext<'_>, extreme: Extreme, choice: Choice, matrix: &MatrixBlock) -> MatrixBlock {
    let mut result = Dense::uninit_in(context.buffers, matrix.rows(), 1);
    let step = block_rows(matrix.rows(), matrix.cols());
    let layout = matrix.layout();
    fill_blocks(context, &mut result, step, |block, out| {
        for (r, cell) in out.iter_mut().enumerate() {
            let column = extreme_of_row(context, extreme, choice, &layout, block * step + r);
            let without_number = matrix.cols().min(1);
            *cell = column.map_or(without_number, |column| column + 1) as f64;
        }
    });
    result.into()
}

/// The 0-based column.
fn extreme_of_row(
    context: &KernelContext<'_>,
    extreme: Extreme,
    choice: Choice,
    layout: &Layout<'_>,
    i: usize,
) -> Option<usize> {
    match layout {
        Layout::Dense(dense) => extreme_of_cells(context, extreme, choice, dense.row(i)),
        Layout::Sparse(csr) => {
            let (columns, values) = csr.row(i);
            if let (Choice::First, Some(nan)) = (choice, first_nan(context, values)) {
                return Some(columns[nan] as usize);
            }
            let best = extreme_of(extreme, values);
            let position = place_of(choice, values, best);
            let stored = position.map(|position| (columns[position] as usize, best));
            let zero = column_of_zero(choice, columns, csr.cols()).map(|column| (column, 0.0));
            let found = match (stored, zero) {
                (Some((column, best)), Some((gap, zero))) => match is_better(extreme, zero, best) {
                    Some(true) => gap,
                    Some(false) => column,
                    None if choice == Choice::First => column.min(gap),
                    None => column.max(gap),
                },
                (Some((column, _)), None) | (None, Some((column, _))) => column,
                (None, None) => return None,
            };
            Some(found)
        }
    }
}

fn extreme_of_cells(context: &KernelContext<'_>, extreme: Extreme, choice: Choice, cells: &[f64]) -> Option<usize> {
    if cells.len() > BLOCK_CELLS {
        // Threads find one in each of several parts.
        let parts = cells.chunks(BLOCK_CELLS).enumerate().collect();
        let found = map_parts(context, parts, |(part, cells): (usize, &[f64])| {
            Some(part * BLOCK_CELLS + extreme_of_cells(context, extreme, choice, cells)?)
        });
        let found: Vec<usize> = found.into_iter().flatten().collect();
        let values: Vec<f64> = found.iter().map(|&place| cells[place]).collect();
        return extreme_of_cells(context, extreme, choice, &values).map(|part| found[part]);
    }
    if let (Choice::First, Some(nan)) = (choice, first_nan(context, cells)) {
        return Some(nan);
    }
    place_of(choice, cells, extreme_of(extreme, cells))
}

/// Where the first NaN is.
fn first_nan(context: &KernelContext<'_>, values: &[f64]) -> Option<usize> {
    let are_numbers = context.primitives.are_numbers(1, values.len(), Tile::new(values, values.len()));
    if are_numbers { None } else { values.iter().position(|value| value.is_nan()) }
}

/// Where one of these values is.
fn place_of(choice: Choice, values: &[f64], value: f64) -> Option<usize> {
    match choice {
        Choice::Last => values.iter().rposition(|&other| other == value),
        Choice::First => values.iter().position(|&other| other == value),
    }
}

/// A column that is not stored, which stands for all of these.
fn column_of_zero(choice: Choice, columns: &[u32], cols: usize) -> Option<usize> {
    let gap = match choice {
        Choice::First => (0..).zip(columns).take_while(|(place, column)| *place == **column as usize).count(),
        Choice::Last => {
            let stored_behind = columns.iter().rev().zip((0..cols).rev()).take_while(|(j, last)| **j as usize == *last);
            (cols - stored_behind.count()).checked_sub(1)?
        }
    };
    (columns.len() < cols).then_some(gap)
}

/// Whether a number is more extreme than another one; none where they are equal.
fn is_better(extreme: Extreme, one: f64, other: f64) -> Option<bool> {
    let is_less = (one != other).then_some(one < other);
    match extreme {
        Extreme::Min => is_less,
        Extreme::Max => is_less.map(|is_less| !is_less),
    }
}

/// Cells that are compared side by side.
const LANES: usize = 16;

/// The extreme of cells, NaN passed over; the one that all are better than where there is no number.
fn extreme_of(extreme: Extreme, cells: &[f64]) -> f64 {
    match extreme {
        Extreme::Min => best_of(f64::INFINITY, cells, |cell, best| if cell < best { cell } else { best }),
        Extreme::Max => best_of(f64::NEG_INFINITY, cells, |cell, best| if cell > best { cell } else { best }),
    }
}

fn best_of(worst: f64, cells: &[f64], better: impl Fn(f64, f64) -> f64) -> f64 {
    let (runs, rest) = cells.as_chunks::<LANES>();
    let mut best = [worst; LANES];
    for run in runs {
        best.iter_mut().zip(run).for_each(|(best, &cell)| *best = better(cell, *best));
    }
    rest.iter().chain(&best).fold(worst, |best, &cell| better(cell, best))
}
