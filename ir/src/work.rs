//! How operators cut their work, and what bytes it takes: facts of shapes and patterns that kernels and skeletons act on,
//! and that the cost model prices.
//!
//! Nothing here depends on the machine or on the number of threads, so that results do not either. What only one loop knows
//! stands beside that loop.

use crate::ops::{BinaryOp, UnaryOp};

/// Cells (dense) or non-zeros (sparse) of a unit of a fused operator, at most: large enough that a call of generated code
/// costs nothing, small enough that its values and the intermediates of an interpreter stay in the cache.
pub const UNIT_CELLS: usize = 8192;

/// Cells of a block of a fused operator, at most: one thread runs an operator of no more.
pub const BLOCK_CELLS: usize = 4 * UNIT_CELLS;

/// Non-zeros of a block of a fused operator over these, at most, unless blocks have sums of their own: each takes as long as
/// several cells, with its column and what is looked up there.
pub const BLOCK_NON_ZEROS: usize = BLOCK_CELLS / 2;

/// Multiplications of a convolution between looks for a request to stop: a fraction of a second.
pub const MULTIPLICATIONS_AT_ONCE: usize = 1 << 28;

/// Cells or non-zeros of a block of most basic operators, about: enough to amortise scheduling, few enough to balance.
pub const BASIC_BLOCK_CELLS: usize = 1 << 16;

/// Columns of a panel, in which tiles of products hold their right factor (`vecprims::PANEL`).
pub const PANEL_COLS: usize = 24;

/// Private partial results of one strip of an operator, at most.
pub const MAX_PARTIALS: usize = 16;

/// The number of even blocks for so much work. While these are few it is a power of two, since so are most numbers of
/// threads: of three blocks one of two threads would have two, of five one would have three.
pub fn even_blocks(work: usize, most_of_block: usize) -> usize {
    let count = work.div_ceil(most_of_block).max(1);
    if count < MAX_PARTIALS { count.next_power_of_two() } else { count }
}

/// The number of private accumulators of `len` cells that pay for work of this weight, in cells: their memory stays below
/// that of the input. A power of two.
pub fn partial_count(weight: usize, len: usize) -> usize {
    let pays = weight / len.saturating_mul(2).max(1);
    let most = pays.clamp(1, MAX_PARTIALS);
    even_blocks(weight, BLOCK_CELLS).min(1 << most.ilog2())
}

/// The cells that take as long as so many non-zeros.
pub fn weight_in_cells(non_zeros: usize) -> usize {
    non_zeros.saturating_mul(BLOCK_CELLS / BLOCK_NON_ZEROS)
}

/// The most rows of a block of a basic operator when each row costs so many cells.
pub fn most_block_rows(cells_per_row: usize) -> usize {
    (BASIC_BLOCK_CELLS / cells_per_row.max(1)).max(1)
}

/// Rows of even blocks of a basic operator when each row costs so many cells: a function of the shape alone.
pub fn block_rows(rows: usize, cells_per_row: usize) -> usize {
    rows.div_ceil(even_blocks(rows, most_block_rows(cells_per_row))).max(1)
}

/// How many even ranges of some rows have results of their own: at most [`MAX_PARTIALS`], several only of more than a block of
/// work.
pub fn partial_ranges(rows: usize, cells_per_row: usize) -> usize {
    even_blocks(rows, most_block_rows(cells_per_row)).min(MAX_PARTIALS)
}

/// Flops for each value that is read beyond which memory waits for what is computed. Up to so many, a large result is best computed
/// in a cache and copied past it; with more, cells that are written where they belong reach memory meanwhile.
const FLOPS_PER_READ: f64 = 16.0;

/// Whether operations of so many flops for each cell, which read so many matrices of as many cells, take longer than reading does.
pub fn outlasts_reading(flops: f64, matrices: usize) -> bool {
    flops > FLOPS_PER_READ * matrices as f64
}

/// Rows of fewer values than accumulators have lanes may be narrow: generated code takes the rows of a unit as one run.
pub const NARROW_ROW: usize = 32;

/// Rows of fewer values than the widest register has are narrow whatever is computed of them: wider ones fill registers well
/// enough that passes over a run, of what is repeated for it and what is left to primitives, take longer.
const NARROWEST_ROW: usize = 8;

/// Rows of fewer values are narrow where the least or the largest of them is sought: each step across the lanes of a register minds NaN
/// in several instructions, and the primitive compares rows of so few values lane by lane. Half the time for 8 values, as much for 15.
const NARROW_ROW_OF_EXTREMES: usize = 16;

/// The weight in the table of operations from which on an operation of one operand is a function, or a root.
const FUNCTION_FLOPS: f64 = 16.0;

/// Whether an operation of one operand is a function such as `exp`: dozens of instructions, for which registers should be full.
pub fn is_unary_function(op: UnaryOp) -> bool {
    op.flops() >= FUNCTION_FLOPS
}

/// Whether an operation of two operands is such a function.
pub fn is_binary_function(op: BinaryOp) -> bool {
    op == BinaryOp::Pow
}

/// How few values make a row narrow, where they go through functions, or the least or the largest of them is sought, or neither.
pub const fn narrow_below(has_functions: bool, seeks_extremes: bool) -> usize {
    if has_functions {
        NARROW_ROW
    } else if seeks_extremes {
        NARROW_ROW_OF_EXTREMES
    } else {
        NARROWEST_ROW
    }
}

/// Positions of a sparse row that are passed, each of which is written and cleared, in the time of a search for one, which branches
/// where nobody foresees it: rows that have more for each of the positions wanted in them are searched. Set on one machine.
pub const PASSED_FOR_SEARCH: usize = 12;

/// Columns of rows that are joined in any order, at most: each column has a place in a table.
pub const PLACED_COLUMNS: usize = 1 << 16;

/// How many times as long as another one a sparse row is from which on it is searched for the other's columns: a search
/// ends where no processor expects it, which takes as long as streaming so many positions.
pub const SEARCHED: usize = 32;

/// Cells of a product of factors that a tile of it takes in the time of one dot product for one cell.
pub const SAMPLE_CELLS: usize = 3;

/// Whether an Outer operator computes the products of the factors of a tile as a whole, rather than one for each non-zero.
pub fn multiplies_whole_tile(non_zeros: usize, cells: usize) -> bool {
    non_zeros * SAMPLE_CELLS >= cells
}

/// Cells of a private copy of `t(W) %*% U` (Outer), at most: it stays in the second-level cache.
pub const PRIVATE_SUM_CELLS: usize = 1 << 18;

/// Multiplications of a factor's values in the time in which an Outer operator visits a non-zero.
pub const VISIT_FLOPS: usize = 8;

/// Multiplications of a factor's values in the time in which the part of a row is found that lies in a range of columns.
pub const FIND_RANGE_FLOPS: usize = 128;

/// Columns of the main input of a range that makes rows of `t(W) %*% U` of its own, at least.
pub const MIN_RANGE_COLS: usize = 64;

/// Whether blocks of `t(W) %*% U` over sparse rows have private copies of the result, of `len` cells, rather than ranges of
/// its rows.
pub fn has_private_sums(non_zeros: usize, rank: usize, len: usize) -> bool {
    len <= PRIVATE_SUM_CELLS && partial_count(non_zeros.saturating_mul(rank), len) == MAX_PARTIALS
}

/// The ranges of columns of a sparse main input of which each makes rows of `t(W) %*% U` of its own, running over all rows
/// that have non-zeros: two, or more where each row's non-zeros pay for it.
pub fn column_ranges(non_zeros: usize, rank: usize, rows: usize, cols: usize) -> usize {
    let paid = non_zeros.saturating_mul(rank + VISIT_FLOPS) / (FIND_RANGE_FLOPS * rows).max(1);
    (cols / MIN_RANGE_COLS).min(paid.max(2)).clamp(1, MAX_PARTIALS)
}

/// Bytes of a cell of a dense matrix, and of a scalar.
pub const CELL_BYTES: u64 = 8;

/// Bytes of a non-zero of a CSR matrix: the value, and the number of its column.
pub const NON_ZERO_BYTES: u64 = CELL_BYTES + 4;

/// Bytes of a row of a CSR matrix, whose row offsets are one more than its rows.
pub const ROW_BYTES: u64 = 8;

/// Bytes of a strip of rows, at most, unless a row by itself has more.
pub const STRIP_BYTES: u64 = 64 << 20;

/// Rows of a strip of a matrix whose rows take so many bytes, on average where they differ: the largest power of two that
/// keeps to [`STRIP_BYTES`], so that any aligned run of strips is a node of one binary tree over all of them.
pub fn strip_rows(row_bytes: u64) -> u64 {
    strip_rows_within(row_bytes, STRIP_BYTES)
}

/// Rows of a strip that keeps to other bytes than [`STRIP_BYTES`]: where these are more, it is an aligned run of strips.
pub fn strip_rows_within(row_bytes: u64, strip_bytes: u64) -> u64 {
    let most = strip_bytes / row_bytes.max(1);
    1 << most.max(1).ilog2()
}

/// Bytes of a row of a CSR matrix, on average.
pub fn csr_row_bytes(rows: u64, non_zeros: u64) -> u64 {
    ROW_BYTES + non_zeros.saturating_mul(NON_ZERO_BYTES).div_ceil(rows.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_blocks_are_as_many_as_threads_mostly_are() {
        let counts = [0, 1, 8, 9, 24, 40, 8 * 15, 8 * 16, 8 * 17].map(|work| even_blocks(work, 8));
        assert_eq!(counts, [1, 1, 1, 2, 4, 8, 16, 16, 17]);
    }

    #[test]
    fn private_accumulators_take_less_memory_than_the_input() {
        assert_eq!(partial_count(BLOCK_CELLS, 1), 1);
        assert_eq!(partial_count(1 << 20, 1 << 20), 1);
        assert!(partial_count(1 << 24, 1 << 21) * (1 << 21) <= 1 << 24);
        assert_eq!([7, 8, 15].map(|times| partial_count(times * 2000, 1000)), [1, 1, 1]);
        assert_eq!([7, 8, 15].map(|times| partial_count(times << 17, 1 << 16)), [4, 8, 8]);
        assert_eq!(partial_count(1 << 30, 1), MAX_PARTIALS);
        assert_eq!(partial_count(usize::MAX, usize::MAX), 1);
    }

    #[test]
    fn sums_are_private_or_cut_by_columns() {
        assert!(has_private_sums(1 << 22, 10, 1000));
        assert!(!has_private_sums(1 << 22, 10, PRIVATE_SUM_CELLS + 1));
        assert!(!has_private_sums(100, 10, 1000));
        assert_eq!(column_ranges(0, 10, 100, 100_000), 2);
        assert_eq!(column_ranges(1000, 10, 10, 100), 1);
        assert_eq!(column_ranges(1 << 30, 100, 10, 100_000), MAX_PARTIALS);
    }

    #[test]
    fn strips_are_powers_of_two_within_their_bytes() {
        assert_eq!([8, 80, 8 << 20, 64 << 20, 65 << 20].map(strip_rows), [1 << 23, 1 << 19, 8, 1, 1]);
        assert_eq!([0, 1, u64::MAX].map(strip_rows), [1 << 26, 1 << 26, 1]);
    }

    #[test]
    fn a_third_of_a_tile_is_worth_all_of_it() {
        assert!(multiplies_whole_tile(10, 30) && !multiplies_whole_tile(9, 30));
    }
}
