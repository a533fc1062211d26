//! Triangles, rolled rows, sums of products.

use super::*;
use crate::{Triangle, cumulative_sum_product, roll, triangle};

#[test]
fn triangles_hold_cells_of_one_side() {
    for (rows, cols) in SMALL_SHAPES {
        let block = matrix(rows, cols, 5, 3);
        for format in all_formats(&block) {
            for (is_lower, has_diagonal) in [(true, true), (true, false), (false, true), (false, false)] {
                let is_inside = |i: usize, j: usize| (i == j && has_diagonal) || if is_lower { j < i } else { j > i };
                let part = Triangle { is_lower, has_diagonal };
                let values = run(|context| triangle(context, &format, part, true));
                assert_cells(&values, rows, cols, |i, j| if is_inside(i, j) { block.get(i, j) } else { 0.0 });
                let ones = run(|context| triangle(context, &format, part, false));
                assert_cells(&ones, rows, cols, |i, j| f64::from(u8::from(is_inside(i, j))));
            }
        }
    }
}

#[test]
fn rolled_rows_come_in_at_the_other_end() {
    for (rows, cols) in SMALL_SHAPES {
        let block = matrix(rows, cols, 5, 3);
        for format in all_formats(&block) {
            for shift in [0, 1, -1, 5, -7, i64::MIN, i64::MAX] {
                let from = |i: usize| (i as i128 - i128::from(shift)).rem_euclid(rows as i128) as usize;
                let result = run(|context| roll(context, &format, shift));
                assert_cells(&result, rows, cols, |i, j| block.get(from(i), j));
            }
        }
    }
}

#[test]
fn sums_of_products_carry_the_row_before() {
    let block = dense(4, 2, &[1.0, 5.0, 2.0, 3.0, 0.0, 0.5, f64::INFINITY, 0.0]);
    for format in all_formats(&block) {
        let result = run(|context| cumulative_sum_product(context, &format).unwrap());
        assert_cells(&result, 4, 1, |i, _| [1.0, 5.0, 2.5, f64::INFINITY][i]);
    }
    let empty = alone(false, |context| cumulative_sum_product(context, &dense(0, 2, &[])).unwrap());
    assert_eq!(empty.dims(), (0, 1));
    let error = alone(false, |context| cumulative_sum_product(context, &dense(1, 1, &[1.0])).unwrap_err());
    assert_eq!(error.to_string(), "cumsumprod: the matrix must have 2 columns, not 1");
}
