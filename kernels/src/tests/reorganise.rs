//! Cells that move.

use super::aggregates::extreme_column;
use super::*;
use crate::{
    Choice, Extreme, KernelError, bind_columns, bind_rows, diagonal, index, left_index, reshape, reverse_rows,
    row_index, transpose,
};

#[test]
fn reorganisations_move_cells() {
    let block = matrix(37, 45, 4, 9);
    for format in all_formats(&block) {
        assert_cells(&run(|c| transpose(c, &format)), 45, 37, |i, j| block.get(j, i));
        let part = run(|c| index(c, &format, (3, 20), (45, 45)).unwrap());
        assert_cells(&part, 18, 1, |i, _| block.get(i + 2, 44));
        let replaced = run(|c| left_index(c, &format, Operand::Scalar(9.0), (1, 2), (2, 3)).unwrap());
        assert_cells(&replaced, 37, 45, |i, j| if i < 2 && (1..3).contains(&j) { 9.0 } else { block.get(i, j) });
        let wide = run(|c| bind_columns(c, &[&format, &block]).unwrap());
        assert_cells(&wide, 37, 90, |i, j| block.get(i, j % 45));
        let tall = run(|c| bind_rows(c, &[&format, &format]).unwrap());
        assert_cells(&tall, 74, 45, |i, j| block.get(i % 37, j));
        for (rows, cols) in [((0, 1), (1, 1)), ((2, 1), (1, 1)), ((1, 38), (1, 1)), ((1, 1), (1, 46))] {
            let error = alone(false, |c| index(c, &format, rows, cols).unwrap_err());
            assert!(matches!(error, KernelError::Range { .. }));
        }
    }
}

/// Blocks that end within parts, several of a part, and parts without rows; short rows that are read whole.
#[test]
fn more_than_a_block_of_cells_moves() {
    for (rows, cols) in [(5003, 13), (1300, 33), (700, 1030), (1030, 1025), (40_000, 2), (3, 70_001)] {
        let block = special_matrix(rows, cols, 3);
        let (empty, few) = (matrix(0, cols, 4, 1), matrix(3, cols, 4, 5));
        for format in all_formats(&block) {
            assert_cells(&run(|c| transpose(c, &format)), cols, rows, |i, j| block.get(j, i));
            let tall = run(|c| bind_rows(c, &[&empty, &format, &few, &format]).unwrap());
            let expected = |i: usize, j: usize| match i.checked_sub(rows) {
                None => block.get(i, j),
                Some(i) if i < 3 => few.get(i, j),
                Some(i) => block.get(i - 3, j),
            };
            assert_cells(&tall, 2 * rows + 3, cols, expected);
            let (first, last) = (rows / 3, rows - 1);
            let part = run(|c| index(c, &format, (first as i64, last as i64), (1, cols as i64)).unwrap());
            assert_cells(&part, last + 1 - first, cols, |i, j| block.get(first - 1 + i, j));
            let flat = run(|c| reshape(c, &format, 1, (rows * cols) as i64).unwrap());
            assert_cells(&flat, 1, rows * cols, |_, j| block.get(j / cols, j % cols));
            for (extreme, choice) in [(Extreme::Max, Choice::First), (Extreme::Min, Choice::Last)] {
                let whole = run(|c| row_index(c, extreme, choice, &flat));
                assert!(same(whole.get(0, 0), extreme_column(extreme, choice, block.to_dense().values())));
                let by_row = run(|c| row_index(c, extreme, choice, &format));
                assert_cells(&by_row, rows, 1, |i, _| extreme_column(extreme, choice, block.to_dense().row(i)));
            }
        }
    }
}

/// A dense part makes no dense matrix of what is sparse as a whole, which may not fit into memory.
#[test]
fn few_dense_parts_among_sparse_ones_are_bound_in_sparse_format() {
    let cell = |i: usize, j: usize| if (i + j).is_multiple_of(4) { 0.0 } else { (i * 10 + j) as f64 };
    let (dense, sparse): (MatrixBlock, MatrixBlock) = (Dense::from_fn(3, 9, cell).into(), Csr::empty(17, 9).into());
    let tall = run(|c| bind_rows(c, &[&sparse, &dense]).unwrap());
    assert!(tall.format().is_sparse());
    assert_cells(&tall, 20, 9, |i, j| if i < 17 { 0.0 } else { dense.get(i - 17, j) });
    let (dense, sparse): (MatrixBlock, MatrixBlock) = (Dense::from_fn(9, 3, cell).into(), Csr::empty(9, 17).into());
    let wide = run(|c| bind_columns(c, &[&dense, &sparse]).unwrap());
    assert!(wide.format().is_sparse());
    assert_cells(&wide, 9, 20, |i, j| if j < 3 { dense.get(i, j) } else { 0.0 });
}

#[test]
fn rows_are_reversed_in_every_shape() {
    for (rows, cols) in SHAPES {
        let block = special_matrix(rows, cols, 2);
        for format in all_formats(&block) {
            let reversed = run(|context| reverse_rows(context, &format));
            assert_eq!(reversed.format(), format.format());
            assert_cells(&reversed, rows, cols, |i, j| block.get(rows - 1 - i, j));
        }
    }
}

#[test]
fn diagonals_go_both_ways() {
    for n in [0, 1, 2, 3, 37] {
        let (column, square) = (matrix(n, 1, 7, 1), matrix(n, n, 7, 2));
        for (column_format, square_format) in all_formats(&column).iter().zip(&all_formats(&square)) {
            let matrix = run(|context| diagonal(context, column_format).unwrap());
            assert_cells(&matrix, n, n, |i, j| if i == j { column.get(i, 0) } else { 0.0 });
            assert_eq!(matrix.format().is_sparse(), n > 5, "{n}");
            if n != 1 {
                let cells = run(|context| diagonal(context, square_format).unwrap());
                let cols = if n == 0 { 0 } else { 1 };
                assert_cells(&cells, n, cols.max(1), |i, _| square.get(i, i));
            }
        }
    }
    let error = alone(false, |context| diagonal(context, &matrix(2, 3, 7, 1)).unwrap_err());
    assert_eq!(error.to_string(), "diag: a 2 x 3 matrix is neither square nor a column vector");
}
