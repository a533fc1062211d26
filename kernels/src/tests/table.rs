//! Contingency tables.

use super::*;
use crate::{KernelError, TableDims, table};

/// The dimensions of a table in which what lies outside counts nowhere.
fn dims(rows: i64, cols: i64) -> Option<TableDims> {
    Some(TableDims { rows, cols, refuses_small: false })
}

fn codes(len: usize, most: usize, seed: usize) -> MatrixBlock {
    Dense::from_fn(len, 1, |i, _| (hash(i, 0, seed) % most + 1) as f64).into()
}

#[test]
fn tables_count_and_sum_weights() {
    for (len, most) in [(0, 1), (1, 1), (50, 3), (1000, 7), (300, 1000)] {
        let (a, b) = (codes(len, most, 1), codes(len, most, 2));
        let weights = matrix(len, 1, 8, 3);
        let extent =
            |block: &MatrixBlock| block.to_dense().values().iter().fold(0.0, |most: f64, &x| most.max(x)) as usize;
        let sum = |i: usize, j: usize, weight: &dyn Fn(usize) -> f64| -> f64 {
            let at = (0..len).filter(|&k| a.get(k, 0) == (i + 1) as f64 && b.get(k, 0) == (j + 1) as f64);
            at.map(weight).sum()
        };
        for [a, b, w] in [0, 1].map(|format| [&a, &b, &weights].map(|block| all_formats(block)[format].clone())) {
            let [a, b, w] = [&a, &b, &w].map(Operand::Matrix);
            let (rows, cols) = (extent(&codes(len, most, 1)), extent(&codes(len, most, 2)));
            let counts = run(|context| table(context, a, b, Operand::Scalar(1.0), None).unwrap());
            assert_cells(&counts, rows, cols, |i, j| sum(i, j, &|_| 1.0));
            let sums = run(|context| table(context, a, b, w, None).unwrap());
            assert_cells(&sums, rows, cols, |i, j| sum(i, j, &|k| weights.get(k, 0)));
            let cut = run(|context| table(context, a, b, w, dims(2, 1001)).unwrap());
            assert_cells(&cut, 2, 1001, |i, j| sum(i, j, &|k| weights.get(k, 0)));
        }
    }
}

#[test]
fn a_table_of_few_cells_is_sparse_and_scalars_stand_for_all_positions() {
    let (numbers, values) = (Dense::from_fn(200, 1, |i, _| (i + 1) as f64).into(), codes(200, 50, 1));
    let (numbers, column) = (Operand::Matrix(&numbers), Operand::Matrix(&values));
    let one_hot = run(|context| table(context, numbers, column, Operand::Scalar(1.0), None).unwrap());
    assert!(one_hot.format().is_sparse() && one_hot.nnz() == 200);
    let histogram = run(|context| table(context, column, Operand::Scalar(1.0), Operand::Scalar(0.5), None).unwrap());
    let count = |i: usize| values.to_dense().values().iter().filter(|&&x| x == (i + 1) as f64).count();
    assert_eq!(histogram.cols(), 1);
    assert_cells(&histogram, histogram.rows(), 1, |i, _| 0.5 * count(i) as f64);
}

#[test]
fn vectors_may_be_rows_and_columns() {
    let (column, row) = (dense(4, 1, &[1.0, 2.0, 2.0, 3.0]), dense(1, 4, &[2.0, 1.0, 1.0, 3.0]));
    let weights = dense(1, 4, &[1.0, 2.0, 4.0, 8.0]);
    let [column, row, weights] = [&column, &row, &weights].map(Operand::Matrix);
    for dims in [None, dims(3, 3)] {
        let result = run(|context| table(context, column, row, weights, dims).unwrap());
        let expected = [0.0, 1.0, 0.0, 6.0, 0.0, 0.0, 0.0, 0.0, 8.0];
        assert_cells(&result, 3, 3, |i, j| expected[3 * i + j]);
    }
}

#[test]
fn missing_values_count_nowhere_and_other_values_below_one_are_refused() {
    let a = dense(4, 1, &[1.0, f64::NAN, 2.9, 1.0]);
    let b = dense(4, 1, &[2.0, 1.0, 1.0, f64::NAN]);
    let result = run(|c| table(c, Operand::Matrix(&a), Operand::Matrix(&b), Operand::Scalar(1.0), None).unwrap());
    assert_cells(&result, 2, 2, |i, j| if i != j { 1.0 } else { 0.0 });
    for wrong in [0.0, -1.0, 0.5, f64::INFINITY, 1e300] {
        let column = dense(2, 1, &[1.0, wrong]);
        let one = Operand::Scalar(1.0);
        let error = alone(false, |c| table(c, Operand::Matrix(&column), one, one, None).unwrap_err());
        assert_eq!(error.to_string(), format!("table: {wrong} is no row or column of a table"));
    }
    alone(false, |context| {
        let (one, a) = (Operand::Scalar(1.0), Operand::Matrix(&a));
        let short = dense(3, 1, &[1.0; 3]);
        let misfit = table(context, a, Operand::Matrix(&short), one, None);
        assert!(matches!(misfit, Err(KernelError::Shapes { .. })));
        let square = dense(2, 2, &[1.0; 4]);
        let misfit = table(context, a, Operand::Matrix(&square), one, None);
        assert!(matches!(misfit, Err(KernelError::Shapes { .. })));
        assert!(table(context, one, one, one, None).is_err() && table(context, a, a, one, dims(-1, 2)).is_err());
    });
}

#[test]
fn what_lies_outside_of_given_dimensions_counts_nowhere() {
    let rows = [1.0, 0.0, -3.0, 0.5, 3.0, f64::INFINITY, 2.0, 2.9, f64::NAN, 2.0];
    let cols = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.99, 3.0, 1.0, 0.0];
    let count = |order: &[usize]| {
        let column = |cells: &[f64; 10]| dense(10, 1, &order.iter().map(|&at| cells[at]).collect::<Vec<_>>());
        let (rows, cols) = (column(&rows), column(&cols));
        let result = run(|context| {
            table(context, Operand::Matrix(&rows), Operand::Matrix(&cols), Operand::Scalar(1.0), dims(2, 2)).unwrap()
        });
        assert_cells(&result, 2, 2, |i, j| if i == j { 1.0 } else { 0.0 });
    };
    count(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    // Rows that ascend.
    count(&[2, 1, 3, 0, 6, 7, 9, 4, 5, 8]);
    let strict = Some(TableDims { rows: 2, cols: 2, refuses_small: true });
    let (zero, one) = (dense(1, 1, &[0.0]), Operand::Scalar(1.0));
    let error = alone(false, |context| table(context, Operand::Matrix(&zero), one, one, strict).unwrap_err());
    assert_eq!(error.to_string(), "table: 0 is no row or column of a table");
}

/// Rows that ascend take another path than the same entries in another order.
#[test]
fn ascending_rows_give_what_any_order_gives() {
    let len = (3 << 16) + 17;
    for positions_per_row in [1, 3, (1 << 16) + 5, len] {
        let row = |at: usize| (at / positions_per_row) as f64 + 1.5;
        let col = |at: usize| if at % 1000 == 7 { f64::NAN } else { (at * 7 % 11) as f64 + 1.0 };
        let weight = |at: usize| (at * 5 % 7) as f64 - 3.0;
        let column = |cell: &dyn Fn(usize) -> f64| MatrixBlock::from(Dense::from_fn(len, 1, |i, _| cell(i)));
        let back = |cell: &dyn Fn(usize) -> f64| column(&|at| cell(len - 1 - at));
        for (height, width) in [(len as i64, 20), (len as i64 - 5, 4), (len as i64, 1), (2, 1_000_000)] {
            let of = |columns: [MatrixBlock; 3]| {
                let [rows, cols, weights] = columns.each_ref().map(Operand::Matrix);
                run(|context| table(context, rows, cols, weights, dims(height, width)).expect("a table"))
            };
            let expected = of([back(&row), back(&col), back(&weight)]);
            assert_eq!(of([column(&row), column(&col), column(&weight)]), expected, "{height} x {width}");
        }
    }
}
