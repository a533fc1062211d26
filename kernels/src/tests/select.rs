//! Rows and columns that are sorted and selected.

use super::*;
use crate::{Margin, order, order_index, remove_empty};

/// The rows in order, by insertion.
fn sorted(block: &MatrixBlock, by: &[usize], decreasing: bool) -> Vec<usize> {
    let precedes = |x: usize, y: usize| {
        for &j in by {
            let (x, y) = (block.get(x, j), block.get(y, j));
            if x.is_nan() || y.is_nan() {
                if x.is_nan() != y.is_nan() {
                    return y.is_nan();
                }
            } else if x != y {
                return (x < y) != decreasing;
            }
        }
        false
    };
    let mut rows: Vec<usize> = Vec::new();
    for i in 0..block.rows() {
        let at = rows.iter().position(|&other| precedes(i, other)).unwrap_or(rows.len());
        rows.insert(at, i);
    }
    rows
}

#[test]
fn rows_are_sorted_by_columns_and_equal_ones_keep_their_order() {
    for (rows, cols) in [(0, 3), (1, 1), (1, 9), (9, 1), (33, 7), (301, 4)] {
        for block in [matrix(rows, cols, 6, 1), special_matrix(rows, cols, 2)] {
            for by in [vec![1.0], vec![cols as f64], vec![cols as f64, 1.0]] {
                let columns: Vec<usize> = by.iter().map(|column| *column as usize - 1).collect();
                for decreasing in [false, true] {
                    let expected = sorted(&block, &columns, decreasing);
                    for format in all_formats(&block) {
                        let result = run(|context| order(context, &format, &by, decreasing).unwrap());
                        assert_cells(&result, rows, cols, |i, j| block.get(expected[i], j));
                        let index = run(|context| order_index(context, &format, &by, decreasing).unwrap());
                        assert_cells(&index, rows, 1, |i, _| (expected[i] + 1) as f64);
                    }
                }
            }
        }
    }
    let block = matrix(4, 2, 9, 1);
    for column in [0.0, 3.0, -1.0, f64::NAN] {
        let error = alone(false, |context| order(context, &block, &[column], false).unwrap_err());
        assert_eq!(error.to_string(), format!("order: there is no column {column} in a 4 x 2 matrix"));
    }
}

#[test]
fn empty_rows_and_columns_are_removed() {
    for (rows, cols) in SHAPES {
        let holes = matrix(rows, cols, 3, 4);
        let holes = Dense::from_fn(rows, cols, |i, j| if i % 3 == 1 || j % 4 == 2 { -0.0 } else { holes.get(i, j) });
        let block: MatrixBlock = holes.into();
        let full_rows: Vec<usize> = (0..rows).filter(|&i| (0..cols).any(|j| block.get(i, j) != 0.0)).collect();
        let full_cols: Vec<usize> = (0..cols).filter(|&j| (0..rows).any(|i| block.get(i, j) != 0.0)).collect();
        for format in all_formats(&block) {
            for keeps_one in [false, true] {
                let extent = |kept: usize| if kept == 0 { usize::from(keeps_one) } else { kept };
                let cell = |i: Option<&usize>, j: Option<&usize>| i.zip(j).map_or(0.0, |(&i, &j)| block.get(i, j));
                let result = run(|context| remove_empty(context, &format, Margin::Rows, None, keeps_one).unwrap());
                assert_cells(&result, extent(full_rows.len()), cols, |i, j| cell(full_rows.get(i), Some(&j)));
                let result = run(|context| remove_empty(context, &format, Margin::Cols, None, keeps_one).unwrap());
                assert_cells(&result, rows, extent(full_cols.len()), |i, j| cell(Some(&i), full_cols.get(j)));
            }
        }
    }
}

#[test]
fn a_vector_selects_rows_and_columns_empty_or_not() {
    let block = matrix(37, 23, 1, 4);
    for format in all_formats(&block) {
        let every_third = Dense::from_fn(37, 1, |i, _| if i % 3 == 0 { f64::NAN } else { 0.0 }).into();
        let result = run(|c| remove_empty(c, &format, Margin::Rows, Some(&every_third), true).unwrap());
        assert_cells(&result, 13, 23, |i, j| block.get(3 * i, j));
        let every_second = Dense::from_fn(1, 23, |_, j| (j % 2) as f64).into();
        let result = run(|c| remove_empty(c, &format, Margin::Cols, Some(&every_second), true).unwrap());
        assert_cells(&result, 37, 11, |i, j| block.get(i, 2 * j + 1));
        let nothing = Dense::zeros(37, 1).into();
        let result = run(|c| remove_empty(c, &format, Margin::Rows, Some(&nothing), false).unwrap());
        assert_eq!(result.dims(), (0, 23));
        let error = alone(false, |c| remove_empty(c, &format, Margin::Cols, Some(&nothing), true).unwrap_err());
        assert_eq!(error.to_string(), "removeEmpty: `select` must be a vector of 23 cells, not a 37 x 1 matrix");
    }
}
