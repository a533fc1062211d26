//! Element-wise operations with broadcasting.

use super::*;
use crate::{KernelError, binary, nary, outer, ternary, unary};
use fuseline_ir::ops::{BinaryOp, TernaryOp, UnaryOp};

#[test]
fn unary_operations_equal_the_scalar_reference() {
    for &op in UnaryOp::ALL {
        for (rows, cols) in SMALL_SHAPES {
            for block in [matrix(rows, cols, 4, 1), special_matrix(rows, cols, 2)] {
                for format in all_formats(&block) {
                    let result = run(|context| unary(context, op, &format));
                    assert_cells(&result, rows, cols, |i, j| op.eval(block.get(i, j)));
                }
            }
        }
    }
}

/// The cell of a broadcast operand.
fn broadcast_cell(block: &MatrixBlock, i: usize, j: usize) -> f64 {
    block.get(if block.rows() == 1 { 0 } else { i }, if block.cols() == 1 { 0 } else { j })
}

/// Whether a zero operand may annihilate the other one, whatever it is.
fn may_annihilate(op: BinaryOp, x: f64, y: f64) -> bool {
    match op {
        BinaryOp::Mult => x == 0.0 || y == 0.0,
        BinaryOp::Div => x == 0.0,
        _ => false,
    }
}

fn check_binary(op: BinaryOp, result: &MatrixBlock, dims: (usize, usize), cells: impl Fn(usize, usize) -> (f64, f64)) {
    assert_eq!(result.dims(), dims);
    for i in 0..dims.0 {
        for j in 0..dims.1 {
            let (x, y) = cells(i, j);
            // A sparse matrix does not keep the sign of a zero.
            let unsigned = op.eval(x + 0.0, y + 0.0);
            let (actual, expected) = (result.get(i, j), op.eval(x, y));
            let holds = same(actual, expected) || same(actual, unsigned) || may_annihilate(op, x, y) && actual == 0.0;
            assert!(holds, "{op}({x}, {y}) at ({i}, {j}): {actual} != {expected}");
        }
    }
}

#[test]
fn binary_operations_broadcast_over_all_formats() {
    for &op in BinaryOp::ALL {
        for (rows, cols) in SMALL_SHAPES {
            for (right_rows, right_cols) in [(rows, cols), (1, cols), (rows, 1), (1, 1)] {
                let is_outer = (rows == 1) != (cols == 1) && (right_rows, right_cols) == (cols, rows);
                if is_outer && cols != rows {
                    continue;
                }
                for (left, right) in [
                    (matrix(rows, cols, 4, 1), matrix(right_rows, right_cols, 6, 2)),
                    (special_matrix(rows, cols, 2), special_matrix(right_rows, right_cols, 3)),
                ] {
                    for (a, b) in pairs(&left, &right) {
                        let (a, b) = (Operand::Matrix(&a), Operand::Matrix(&b));
                        let result = run(|context| binary(context, op, a, b).unwrap());
                        check_binary(op, &result, (rows, cols), |i, j| (left.get(i, j), broadcast_cell(&right, i, j)));
                        let result = run(|context| binary(context, op, b, a).unwrap());
                        check_binary(op, &result, (rows, cols), |i, j| (broadcast_cell(&right, i, j), left.get(i, j)));
                    }
                }
            }
        }
    }
}

fn pairs(left: &MatrixBlock, right: &MatrixBlock) -> Vec<(MatrixBlock, MatrixBlock)> {
    let right = all_formats(right);
    all_formats(left).into_iter().flat_map(|a| right.clone().map(|b| (a.clone(), b))).collect()
}

#[test]
fn operations_of_large_matrices_are_cut_into_blocks() {
    for (rows, cols) in [(300, 400), (3, 70_001), (70_001, 2)] {
        for format in all_formats(&special_matrix(rows, cols, 2)) {
            let result = run(|context| unary(context, UnaryOp::Pow2, &format));
            assert_cells(&result, rows, cols, |i, j| format.get(i, j) * format.get(i, j));
            let operands = [Operand::Matrix(&format), Operand::Scalar(2.0), Operand::Scalar(1.0)];
            let result = run(|context| ternary(context, TernaryOp::Replace, operands).unwrap());
            assert_cells(&result, rows, cols, |i, j| TernaryOp::Replace.eval(format.get(i, j), 2.0, 1.0));
        }
        let (left, right) = (matrix(rows, cols, 2, 1), matrix(rows, cols, 6, 2));
        for op in [BinaryOp::Plus, BinaryOp::Mult, BinaryOp::Max] {
            for (a, b) in pairs(&left, &right) {
                let result = run(|context| binary(context, op, Operand::Matrix(&a), Operand::Matrix(&b)).unwrap());
                assert_cells(&result, rows, cols, |i, j| op.eval(left.get(i, j), right.get(i, j)));
            }
        }
        for (a, b) in pairs(&left, &right) {
            let operands = [Operand::Matrix(&a), Operand::Matrix(&b), Operand::Scalar(3.0)];
            let result = run(|context| ternary(context, TernaryOp::IfElse, operands).unwrap());
            assert_cells(&result, rows, cols, |i, j| TernaryOp::IfElse.eval(left.get(i, j), right.get(i, j), 3.0));
        }
    }
}

#[test]
fn matrix_scalar_operations_equal_the_scalar_reference() {
    for &op in BinaryOp::ALL {
        for scalar in [0.0, 2.0, -1.5, f64::NAN, f64::INFINITY] {
            for block in [matrix(33, 17, 4, 3), special_matrix(33, 17, 4)] {
                for format in all_formats(&block) {
                    let right = run(|c| binary(c, op, Operand::Matrix(&format), Operand::Scalar(scalar)).unwrap());
                    check_binary(op, &right, (33, 17), |i, j| (block.get(i, j), scalar));
                    let left = run(|c| binary(c, op, Operand::Scalar(scalar), Operand::Matrix(&format)).unwrap());
                    check_binary(op, &left, (33, 17), |i, j| (scalar, block.get(i, j)));
                }
            }
        }
    }
}

#[test]
fn zeros_stay_where_the_operation_keeps_them() {
    let sparse: MatrixBlock = Csr::from_dense(&matrix(50, 40, 1, 1).to_dense()).into();
    let full = matrix(50, 40, 10, 2);
    let full = Operand::Matrix(&full);
    let keeps = |op, left, right| alone(true, |context| binary(context, op, left, right).unwrap().format().is_sparse());
    let x = Operand::Matrix(&sparse);
    for (op, scalar) in [(BinaryOp::Greater, 0.0), (BinaryOp::Max, -1.0), (BinaryOp::Pow, 2.0), (BinaryOp::Equal, 3.0)]
    {
        assert!(keeps(op, x, Operand::Scalar(scalar)), "{op} {scalar}");
    }
    for op in [BinaryOp::MinusNz, BinaryOp::LogNzBase, BinaryOp::Mult, BinaryOp::And] {
        assert!(keeps(op, x, full), "{op}");
    }
    assert!(keeps(BinaryOp::Mult, full, x) && keeps(BinaryOp::Minus, x, x));
    assert!(!keeps(BinaryOp::Plus, x, Operand::Scalar(1.0)) && !keeps(BinaryOp::Div, full, x));
}

#[test]
fn ternary_operations_broadcast_over_all_formats() {
    for &op in TernaryOp::ALL {
        for (rows, cols) in SMALL_SHAPES {
            for seed in [1, 2] {
                let block = if seed == 1 { matrix(rows, cols, 2, 1) } else { special_matrix(rows, cols, seed) };
                let column = matrix(rows, 1, 9, 2);
                let scalars = [(0.0, 3.0), (f64::NAN, 0.0), (1.0, 0.0), (0.0, 0.0)];
                for format in all_formats(&block) {
                    let (x, y) = (Operand::Matrix(&format), Operand::Matrix(&column));
                    for (s, t) in scalars {
                        let (b, c) = (Operand::Scalar(s), Operand::Scalar(t));
                        let result = run(|context| ternary(context, op, [x, b, c]).unwrap());
                        assert_cells(&result, rows, cols, |i, j| op.eval(block.get(i, j), s, t));
                        let result = run(|context| ternary(context, op, [y, x, c]).unwrap());
                        assert_cells(&result, rows, cols, |i, j| op.eval(column.get(i, 0), block.get(i, j), t));
                        let result = run(|context| ternary(context, op, [y, b, x]).unwrap());
                        assert_cells(&result, rows, cols, |i, j| op.eval(column.get(i, 0), s, block.get(i, j)));
                    }
                    let result = run(|context| ternary(context, op, [x, y, x]).unwrap());
                    assert_cells(&result, rows, cols, |i, j| {
                        op.eval(block.get(i, j), column.get(i, 0), block.get(i, j))
                    });
                }
            }
        }
    }
}

#[test]
fn choices_and_replacements_of_sparse_matrices_stay_sparse() {
    let sparse: MatrixBlock = Csr::from_dense(&matrix(50, 40, 1, 1).to_dense()).into();
    let full = matrix(50, 40, 10, 2);
    let (x, full, zero, one) =
        (Operand::Matrix(&sparse), Operand::Matrix(&full), Operand::Scalar(0.0), Operand::Scalar(1.0));
    let keeps = |op, operands| alone(true, |context| ternary(context, op, operands).unwrap().format().is_sparse());
    assert!(keeps(TernaryOp::IfElse, [x, full, zero]));
    assert!(keeps(TernaryOp::IfElse, [full, x, zero]));
    assert!(keeps(TernaryOp::IfElse, [full, zero, x]));
    assert!(keeps(TernaryOp::Replace, [x, one, Operand::Scalar(7.0)]));
    assert!(keeps(TernaryOp::Replace, [x, Operand::Scalar(f64::NAN), one]));
    assert!(!keeps(TernaryOp::Replace, [x, zero, one]));
}

#[test]
fn operations_of_many_operands_fold_from_the_left() {
    for op in [BinaryOp::Min, BinaryOp::Max, BinaryOp::Plus] {
        for (rows, cols) in SHAPES {
            for seed in [1, 2] {
                let (x, row) = (special_matrix(rows, cols, seed), matrix(1, cols, 5, 3));
                for format in all_formats(&x) {
                    let operands =
                        [Operand::Scalar(2.0), Operand::Scalar(-1.0), Operand::Matrix(&format), Operand::Matrix(&row)];
                    let result = run(|context| nary(context, op, &operands).unwrap());
                    assert_cells(&result, rows, cols, |i, j| {
                        op.eval(op.eval(op.eval(2.0, -1.0), x.get(i, j)), row.get(0, j))
                    });
                }
            }
        }
        let single = run(|context| nary(context, op, &[Operand::Scalar(2.0)]).unwrap());
        assert_cells(&single, 1, 1, |_, _| 2.0);
        let column = matrix(4, 3, 10, 1);
        let misfit = [Operand::Matrix(&column), Operand::Matrix(&column), Operand::Scalar(1.0)];
        assert!(alone(false, |context| nary(context, op, &misfit[..2]).is_ok() && nary(context, op, &[]).is_err()));
    }
}

#[test]
fn outer_operations_combine_columns_with_rows() {
    for &op in BinaryOp::ALL {
        for (rows, cols) in [(0, 3), (3, 0), (1, 1), (1, 9), (9, 1), (37, 53)] {
            for seed in [1, 2] {
                for (u, v) in [
                    (matrix(rows, 1, 2, seed), matrix(1, cols, 2, seed + 4)),
                    (special_matrix(rows, 1, seed), special_matrix(1, cols, seed)),
                ] {
                    for (a, b) in pairs(&u, &v) {
                        let result = run(|context| outer(context, op, &a, &b).unwrap());
                        check_binary(op, &result, (rows, cols), |i, j| (u.get(i, 0), v.get(0, j)));
                    }
                }
            }
        }
    }
    let (u, v) = (matrix(300, 1, 10, 1), matrix(1, 400, 10, 2));
    let product = run(|context| outer(context, BinaryOp::Mult, &u, &v).unwrap());
    assert_cells(&product, 300, 400, |i, j| u.get(i, 0) * v.get(0, j));
    let sparse_row: MatrixBlock = Csr::from_dense(&matrix(1, 400, 1, 2).to_dense()).into();
    assert!(run(|context| outer(context, BinaryOp::Mult, &u, &sparse_row).unwrap()).format().is_sparse());
    let error = alone(false, |context| outer(context, BinaryOp::Mult, &v, &u).unwrap_err());
    assert!(matches!(error, KernelError::Shapes { .. }));
}

#[test]
fn strict_arithmetic_keeps_what_zeros_would_annihilate() {
    let sparse: MatrixBlock = Csr::empty(2, 2).into();
    let infinite = dense(2, 2, &[f64::INFINITY; 4]);
    let (row, column): (MatrixBlock, _) = (Csr::empty(1, 5).into(), dense(2, 1, &[f64::INFINITY; 2]));
    for strict in [false, true] {
        let results = alone(strict, |context| {
            [
                binary(context, BinaryOp::Mult, Operand::Matrix(&sparse), Operand::Matrix(&infinite)).unwrap(),
                crate::matmul(context, &sparse, &infinite).unwrap(),
                outer(context, BinaryOp::Mult, &column, &row).unwrap(),
            ]
        });
        for result in results {
            assert_eq!(result.get(0, 0).is_nan(), strict);
        }
    }
}

/// Results larger than the caches are computed part by part, and copied past these where a processor writes whole lines.
#[test]
fn large_results_equal_the_scalar_reference() {
    let (rows, cols) = (3001, 2801);
    assert!(rows * cols * size_of::<f64>() >= 64 << 20);
    let x = MatrixBlock::from(Dense::from_fn(rows, cols, |i, j| (i * 7 + j * 3) as f64 - 9000.0));
    let (row, column) = (matrix(1, cols, 9, 1), matrix(rows, 1, 9, 2));
    let sparse = matrix(rows, cols, 1, 3).in_best_format();
    assert!(sparse.format().is_sparse());
    let three = |operation: &dyn Fn(&KernelContext<'_>) -> MatrixBlock| with_each_pool(operation).nth(2).unwrap();
    let check = |result: MatrixBlock, expected: &dyn Fn(usize, usize) -> f64| {
        assert_eq!(result.dims(), (rows, cols));
        let dense = result.to_dense();
        let differs = |&cell: &usize| dense.values()[cell].to_bits() != expected(cell / cols, cell % cols).to_bits();
        assert_eq!((0..rows * cols).find(differs), None);
    };
    let [of_x, of_row, of_column, of_sparse] = [&x, &row, &column, &sparse].map(Operand::Matrix);
    for op in [UnaryOp::Abs, UnaryOp::Sqrt] {
        check(three(&|context| unary(context, op, &x)), &|i, j| op.eval(x.get(i, j)));
    }
    let sum = |right: Operand<'_>| three(&|context| binary(context, BinaryOp::Plus, of_x, right).unwrap());
    check(sum(of_x), &|i, j| x.get(i, j) + x.get(i, j));
    check(sum(of_row), &|i, j| x.get(i, j) + row.get(0, j));
    check(sum(of_column), &|i, j| x.get(i, j) + column.get(i, 0));
    check(sum(of_sparse), &|i, j| x.get(i, j) + sparse.get(i, j));
    let scaled = three(&|context| ternary(context, TernaryOp::PlusMult, [of_x, of_row, of_column]).unwrap());
    check(scaled, &|i, j| TernaryOp::PlusMult.eval(x.get(i, j), row.get(0, j), column.get(i, 0)));
    check(three(&|context| outer(context, BinaryOp::Max, &column, &row).unwrap()), &|i, j| {
        BinaryOp::Max.eval(column.get(i, 0), row.get(0, j))
    });
}

/// Blocks of rows with few non-zeros among blocks with many, whichever a thread expects.
#[test]
fn blocks_that_differ_from_the_last_one_keep_their_cells() {
    let (rows, cols) = (1600, 1000);
    let of = |is_few: &dyn Fn(usize) -> bool| {
        let cell = |i: usize, j: usize| if is_few(i / 64) && !j.is_multiple_of(50) { 0.0 } else { (i + j + 1) as f64 };
        MatrixBlock::from(Dense::from_fn(rows, cols, cell))
    };
    let floor = matrix(rows, cols, 1, 1).in_best_format();
    assert!(floor.format().is_sparse());
    for few_of_three in 0..=3 {
        let x = of(&|block| block % 3 < few_of_three);
        let operands = [&x, &floor].map(Operand::Matrix);
        let largest = run(|context| binary(context, BinaryOp::Max, operands[0], operands[1]).unwrap());
        assert_cells(&largest, rows, cols, |i, j| BinaryOp::Max.eval(x.get(i, j), floor.get(i, j)));
        let cells = largest.to_dense().into_owned();
        assert_eq!(largest.format(), MatrixBlock::from(cells).in_best_format().format());
    }
}
