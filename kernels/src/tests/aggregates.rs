//! Aggregates, cumulative ones and the positions of extremes.

use super::*;
use crate::{Choice, Extreme, aggregate_full, aggregate_vector, cumulative, row_index};
use fuseline_ir::ops::{AggOp, Direction};

/// The aggregate of cells, by the definition.
fn fold(op: AggOp, cells: &[f64]) -> f64 {
    let count = cells.len() as f64;
    match op {
        AggOp::SumSq => cells.iter().map(|cell| cell * cell).sum(),
        AggOp::Nnz => cells.iter().filter(|&&cell| cell != 0.0).count() as f64,
        AggOp::Mean => cells.iter().sum::<f64>() / count,
        AggOp::Var => {
            let mean = cells.iter().sum::<f64>() / count;
            let sum: f64 = cells.iter().map(|cell| (cell - mean) * (cell - mean)).sum();
            if cells.len() == 1 {
                sum
            } else if cells.is_empty() {
                f64::NAN
            } else {
                sum / (count - 1.0)
            }
        }
        AggOp::Sum | AggOp::Min | AggOp::Max | AggOp::Prod => {
            cells.iter().fold(op.neutral(), |so_far, &cell| op.merge(so_far, cell))
        }
    }
}

/// Sums and products of small integers are exact; variances are close.
fn assert_aggregate(op: AggOp, actual: f64, expected: f64, what: &str) {
    let close = op == AggOp::Var && (actual - expected).abs() <= 1e-10 * expected.abs();
    assert!(close || same(actual, expected), "{op} of {what}: {actual} != {expected}");
}

fn check_aggregates(op: AggOp, block: &MatrixBlock) {
    let (rows, cols) = block.dims();
    let cells = block.to_dense();
    for format in all_formats(block) {
        let what = format!("{rows} x {cols}, sparse: {}", format.format().is_sparse());
        assert_aggregate(op, run(|context| aggregate_full(context, op, &format)), fold(op, cells.values()), &what);
        let single = run(|context| aggregate_vector(context, op, Direction::Full, &format));
        assert_aggregate(op, single.get(0, 0), fold(op, cells.values()), &what);
        let by_row = run(|context| aggregate_vector(context, op, Direction::Row, &format));
        assert_eq!(by_row.dims(), (rows, 1));
        (0..rows).for_each(|i| assert_aggregate(op, by_row.get(i, 0), fold(op, cells.row(i)), &what));
        let by_col = run(|context| aggregate_vector(context, op, Direction::Col, &format));
        assert_eq!(by_col.dims(), (1, cols));
        for j in 0..cols {
            let column: Vec<f64> = (0..rows).map(|i| cells.get(i, j)).collect();
            assert_aggregate(op, by_col.get(0, j), fold(op, &column), &what);
        }
    }
}

#[test]
fn aggregates_equal_plain_loops() {
    for &op in AggOp::ALL.iter().filter(|&&op| op != AggOp::Prod) {
        for (rows, cols) in SHAPES.into_iter().chain([(1, 70_001), (70_001, 3)]) {
            check_aggregates(op, &matrix(rows, cols, 4, 5));
        }
        check_aggregates(op, &Dense::zeros(5, 6).into());
    }
}

#[test]
fn products_of_cells_equal_plain_loops() {
    for (rows, cols) in SHAPES.into_iter().chain([(70_001, 3)]) {
        for has_zeros in [false, true] {
            let cell = |i, j| match hash(i, j, 3) {
                hash if has_zeros && hash % 5 == 0 => 0.0,
                hash if hash % 211 == 0 => 2.0,
                hash => (hash % 2) as f64 * 2.0 - 1.0,
            };
            check_aggregates(AggOp::Prod, &Dense::from_fn(rows, cols, cell).into());
        }
    }
}

#[test]
fn extremes_and_counts_treat_special_values_as_defined() {
    for op in [AggOp::Min, AggOp::Max, AggOp::Nnz] {
        for (rows, cols) in SHAPES {
            for seed in [1, 2, 3] {
                check_aggregates(op, &special_matrix(rows, cols, seed));
            }
        }
    }
    for op in [AggOp::Sum, AggOp::Mean, AggOp::Var, AggOp::Prod] {
        for cells in [[f64::NAN, 0.0, 1.0], [f64::INFINITY, 2.0, 1.0], [f64::INFINITY, f64::NEG_INFINITY, 0.0]] {
            check_aggregates(op, &dense(1, 3, &cells));
            check_aggregates(op, &dense(3, 1, &cells));
        }
    }
}

#[test]
fn a_constant_matrix_has_no_variance_however_large_its_cells_are() {
    for format in all_formats(&Dense::from_fn(100, 30, |_, _| 1e9 + 0.5).into()) {
        assert_eq!(run(|context| aggregate_full(context, AggOp::Var, &format)), 0.0);
        for direction in [Direction::Row, Direction::Col] {
            let variances = run(|context| aggregate_vector(context, AggOp::Var, direction, &format));
            assert!(variances.to_dense().values().iter().all(|&variance| variance == 0.0));
        }
    }
}

#[test]
fn cumulative_aggregates_run_down_the_columns() {
    // Larger than what is gone through at a time, too, and with columns for several threads or one.
    let shapes = SHAPES.into_iter().chain([(9001, 37), (40_000, 7), (3, 100_003)]);
    for op in AggOp::ALL.iter().copied().filter(|op| op.is_cumulative()) {
        for (rows, cols) in shapes.clone() {
            for block in [matrix(rows, cols, 4, 1), special_matrix(rows, cols, 1), special_matrix(rows, cols, 2)] {
                let mut expected = block.to_dense().into_owned();
                for i in 1..rows {
                    for j in 0..cols {
                        let values = expected.values_mut();
                        values[i * cols + j] = op.merge(values[(i - 1) * cols + j], values[i * cols + j]);
                    }
                }
                for format in all_formats(&block) {
                    let result = run(|context| cumulative(context, op, &format));
                    assert_cells(&result, rows, cols, |i, j| expected.get(i, j));
                    let has_nan = expected.values().iter().any(|value| value.is_nan());
                    assert!(!(has_nan && result.is_nan_free()), "{op} of {rows} x {cols} has NaN");
                }
            }
        }
    }
}

#[test]
fn few_cumulative_products_of_a_sparse_matrix_are_not_zero() {
    let sparse: MatrixBlock = Csr::from_dense(&matrix(50, 40, 2, 1).to_dense()).into();
    assert!(run(|context| cumulative(context, AggOp::Prod, &sparse)).format().is_sparse());
}

/// The definition: the 1-based column of a row's extreme.
pub(super) fn extreme_column(extreme: Extreme, choice: Choice, row: &[f64]) -> f64 {
    let is_more_extreme = |x: f64, y: f64| if extreme == Extreme::Max { x > y } else { x < y };
    let mut best: Option<usize> = None;
    for (j, &cell) in row.iter().enumerate() {
        let replaces = match (choice, best.map(|best| row[best])) {
            (Choice::Last, _) if cell.is_nan() => false,
            (_, None) => true,
            (Choice::Last, Some(best)) => !is_more_extreme(best, cell),
            (Choice::First, Some(best)) => !best.is_nan() && (cell.is_nan() || is_more_extreme(cell, best)),
        };
        best = if replaces { Some(j) } else { best };
    }
    if row.is_empty() { 0.0 } else { (best.unwrap_or(0) + 1) as f64 }
}

#[test]
fn row_indexes_name_the_first_or_the_last_extreme() {
    for (extreme, choice) in
        [Extreme::Min, Extreme::Max].into_iter().flat_map(|e| [(e, Choice::First), (e, Choice::Last)])
    {
        for (rows, cols) in SHAPES {
            let few = Dense::from_fn(rows, cols, |i, j| match (i * 7 + j * 3) % 11 {
                0 if i % 3 == 0 => f64::NAN,
                1 => -1.5,
                2 if i % 2 == 0 => f64::NEG_INFINITY,
                _ => 0.0,
            });
            let full = Dense::from_fn(rows, cols, |i, j| if i % 2 == 0 { f64::NAN } else { -1.0 - (j % 2) as f64 });
            let blocks = [matrix(rows, cols, 3, 2), special_matrix(rows, cols, 1), special_matrix(rows, cols, 2)];
            for block in blocks.into_iter().chain([few.into(), full.into()]) {
                for format in all_formats(&block) {
                    let result = run(|context| row_index(context, extreme, choice, &format));
                    let row = |i: usize| (0..cols).map(|j| block.get(i, j)).collect::<Vec<f64>>();
                    assert_cells(&result, rows, 1, |i, _| extreme_column(extreme, choice, &row(i)));
                }
            }
        }
    }
}
