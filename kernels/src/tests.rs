//! Every kernel against plain loops, over formats, shapes and numbers of threads.

use super::*;
use fuseline_ir::ops::{AggOp, BinaryOp, Direction, TernaryOp, UnaryOp};
use fuseline_matrix::{Csr, Dense};
use fuseline_vecprims::{Isa, primitives};

/// Runs with 1, 2, 3 and 7 threads and checks that all give the same bits.
fn run<T: Bits>(operation: impl Fn(&KernelContext<'_>) -> T) -> T {
    let mut results = [1, 2, 3, 7].into_iter().map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let buffers = BufferPool::new(1 << 24);
        let primitives = primitives(Isa::detect());
        operation(&KernelContext { pool: &pool, buffers: &buffers, primitives, strict_ieee: false })
    });
    let first = results.next().unwrap();
    for other in results {
        assert_eq!(first.bits(), other.bits(), "the same bits for every number of threads");
    }
    first
}

trait Bits {
    fn bits(&self) -> Vec<u64>;
}

impl Bits for MatrixBlock {
    fn bits(&self) -> Vec<u64> {
        self.to_dense().values().iter().map(|value| value.to_bits()).collect()
    }
}

impl Bits for f64 {
    fn bits(&self) -> Vec<u64> {
        vec![self.to_bits()]
    }
}

/// Small integers, so that every order of summation gives the same bits.
fn matrix(rows: usize, cols: usize, density: usize, seed: usize) -> MatrixBlock {
    let cell = |i: usize, j: usize| {
        let hash = (i * 31 + j * 17 + seed * 7 + (i * j) % 13) * 2_654_435_761 % 4_294_967_296 / 65_536;
        if hash % 10 < density { (hash / 10 % 7) as f64 - 3.0 } else { 0.0 }
    };
    Dense::from_fn(rows, cols, cell).into()
}

fn both_formats(block: &MatrixBlock) -> [MatrixBlock; 2] {
    [block.to_dense().into_owned().into(), Csr::from_dense(&block.to_dense()).into()]
}

fn assert_cells(actual: &MatrixBlock, rows: usize, cols: usize, expected: impl Fn(usize, usize) -> f64) {
    assert_eq!(actual.dims(), (rows, cols));
    for i in 0..rows {
        for j in 0..cols {
            let (actual, expected) = (actual.get(i, j), expected(i, j));
            assert!(actual == expected || actual.is_nan() && expected.is_nan(), "({i}, {j}): {actual} != {expected}");
        }
    }
}

const SHAPES: [(usize, usize); 8] = [(0, 3), (3, 0), (1, 1), (1, 9), (9, 1), (33, 7), (65, 64), (300, 400)];

#[test]
fn unary_operations_equal_the_scalar_reference() {
    for &op in UnaryOp::ALL {
        for (rows, cols) in SHAPES {
            let block = matrix(rows, cols, 4, 1);
            for format in both_formats(&block) {
                let result = run(|context| unary(context, op, &format));
                assert_cells(&result, rows, cols, |i, j| op.eval(block.get(i, j)));
            }
        }
    }
}

/// The cell of a broadcast operand.
fn broadcast_cell(block: &MatrixBlock, i: usize, j: usize) -> f64 {
    block.get(if block.rows() == 1 { 0 } else { i }, if block.cols() == 1 { 0 } else { j })
}

/// What a zero that annihilates gives where IEEE says NaN.
fn annihilated(op: BinaryOp, x: f64, y: f64, expected: f64) -> f64 {
    if op == BinaryOp::Div && x == 0.0 && y == 0.0 { f64::NAN } else { expected }
}

#[test]
fn binary_operations_broadcast_over_all_formats() {
    for &op in BinaryOp::ALL {
        for (rows, cols) in SHAPES {
            let left = matrix(rows, cols, 4, 1);
            for (right_rows, right_cols) in [(rows, cols), (1, cols), (rows, 1), (1, 1)] {
                let right = matrix(right_rows, right_cols, 6, 2);
                let is_outer = (rows == 1) != (cols == 1) && (right_rows, right_cols) == (cols, rows);
                if is_outer && cols != rows {
                    continue;
                }
                for a in both_formats(&left) {
                    for b in both_formats(&right) {
                        let result =
                            run(|context| binary(context, op, Operand::Matrix(&a), Operand::Matrix(&b)).unwrap());
                        for i in 0..rows {
                            for j in 0..cols {
                                let (x, y) = (left.get(i, j), broadcast_cell(&right, i, j));
                                let (actual, expected) = (result.get(i, j), op.eval(x, y));
                                // 0/0 may be annihilated to 0 when the numerator is sparse.
                                let same = actual == expected || actual.is_nan() && expected.is_nan();
                                let may = annihilated(op, x, y, expected).is_nan() && actual == 0.0;
                                assert!(same || may, "{op} ({i}, {j}): {actual} != {expected}");
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn matrix_scalar_operations_equal_the_scalar_reference() {
    for &op in BinaryOp::ALL {
        for scalar in [0.0, 2.0, -1.5] {
            let block = matrix(33, 17, 4, 3);
            for format in both_formats(&block) {
                let right = run(|c| binary(c, op, Operand::Matrix(&format), Operand::Scalar(scalar)).unwrap());
                let left = run(|c| binary(c, op, Operand::Scalar(scalar), Operand::Matrix(&format)).unwrap());
                for i in 0..33 {
                    for j in 0..17 {
                        let x = block.get(i, j);
                        for (actual, expected, driver) in
                            [(right.get(i, j), op.eval(x, scalar), x), (left.get(i, j), op.eval(scalar, x), x)]
                        {
                            let same = actual == expected || actual.is_nan() && expected.is_nan();
                            assert!(same || (driver == 0.0 && actual == 0.0 && expected.is_nan()), "{op} {x} {scalar}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn ternary_operations_broadcast() {
    for &op in TernaryOp::ALL {
        for (rows, cols) in SHAPES {
            let a = matrix(rows, cols, 5, 1);
            let b = matrix(rows, 1, 9, 2);
            let result = run(|context| {
                ternary(context, op, [Operand::Matrix(&a), Operand::Matrix(&b), Operand::Scalar(3.0)]).unwrap()
            });
            assert_cells(&result, rows, cols, |i, j| op.eval(a.get(i, j), b.get(i, 0), 3.0));
        }
    }
}

#[test]
fn aggregates_equal_plain_loops() {
    for &op in AggOp::ALL {
        for (rows, cols) in SHAPES {
            let block = matrix(rows, cols, 4, 5);
            let fold = |cells: Vec<f64>| {
                let merged = cells.iter().fold(op.neutral(), |acc, &cell| match op {
                    AggOp::SumSq => acc + cell * cell,
                    _ => op.merge(acc, cell),
                });
                if op == AggOp::Mean { merged / cells.len() as f64 } else { merged }
            };
            for format in both_formats(&block) {
                let full = run(|context| aggregate_full(context, op, &format));
                let expected = fold(block.to_dense().values().to_vec());
                assert!(
                    full == expected || full.is_nan() && expected.is_nan(),
                    "{op} {rows} x {cols}: {full} {expected}"
                );
                let by_row = run(|context| aggregate_vector(context, op, Direction::Row, &format));
                assert_cells(&by_row, rows, 1, |i, _| fold((0..cols).map(|j| block.get(i, j)).collect()));
                let by_col = run(|context| aggregate_vector(context, op, Direction::Col, &format));
                assert_cells(&by_col, 1, cols, |_, j| fold((0..rows).map(|i| block.get(i, j)).collect()));
            }
        }
    }
}

#[test]
fn products_equal_plain_loops() {
    for (m, inner, n) in
        [(0, 3, 2), (3, 0, 2), (1, 1, 1), (1, 50, 70), (70, 50, 1), (33, 65, 9), (200, 31, 40), (5, 2000, 3)]
    {
        let (left, right) = (matrix(m, inner, 4, 1), matrix(inner, n, 5, 2));
        let expected = |i: usize, j: usize| (0..inner).map(|k| left.get(i, k) * right.get(k, j)).sum::<f64>();
        for a in both_formats(&left) {
            for b in both_formats(&right) {
                assert_cells(&run(|context| matmul(context, &a, &b).unwrap()), m, n, expected);
                let transposed = run(|context| transpose(context, &a));
                let product = run(|context| matmul_transposed_left(context, &transposed, &b).unwrap());
                assert_cells(&product, m, n, expected);
            }
        }
    }
    let (a, b) = (matrix(2, 3, 9, 1), matrix(2, 3, 9, 1));
    let error = std::panic::catch_unwind(|| run(|context| matmul(context, &a, &b).unwrap()));
    assert!(error.is_err(), "shapes that do not fit are refused");
}

#[test]
fn reorganisations_move_cells() {
    let block = matrix(37, 45, 4, 9);
    for format in both_formats(&block) {
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
            run(|c| {
                assert!(matches!(index(c, &format, rows, cols), Err(KernelError::Range { .. })));
                0.0
            });
        }
    }
}

#[test]
fn generated_matrices_are_what_was_asked_for() {
    assert_cells(&run(|c| fill(c, 2.5, 3, 4).unwrap()), 3, 4, |_, _| 2.5);
    assert_cells(&run(|c| seq(c, 1.0, 2.0, 0.25).unwrap()), 5, 1, |i, _| 1.0 + 0.25 * i as f64);
    assert_cells(&run(|c| seq(c, 3.0, 1.0, -1.0).unwrap()), 3, 1, |i, _| 3.0 - i as f64);
    assert_cells(&run(|c| seq(c, 1.0, 0.0, 1.0).unwrap()), 0, 1, |_, _| 0.0);
    let parameters = |sparsity| RandomParameters {
        rows: 300,
        cols: 500,
        min: 1.0,
        max: 2.0,
        sparsity,
        seed: 42,
        density: Density::Uniform,
    };
    for sparsity in [1.0, 0.5, 0.1, 0.001] {
        let block = run(|c| rand(c, &parameters(sparsity)).unwrap());
        let share = block.nnz() as f64 / 150_000.0;
        assert!((share - sparsity).abs() < 0.01 + 0.1 * sparsity, "{share} for {sparsity}");
        assert!(block.to_dense().values().iter().all(|&cell| cell == 0.0 || (1.0..2.0).contains(&cell)));
    }
    run(|c| {
        assert!(fill(c, 1.0, -1, 1).is_err() && fill(c, 1.0, i64::MAX, 2).is_err() && seq(c, 0.0, 1.0, 0.0).is_err());
        0.0
    });
}

#[test]
fn strict_arithmetic_keeps_what_zeros_would_annihilate() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let buffers = BufferPool::new(0);
    let sparse: MatrixBlock = Csr::empty(2, 2).into();
    let infinite: MatrixBlock = Dense::from_vec(2, 2, vec![f64::INFINITY; 4]).into();
    for (strict_ieee, is_nan) in [(false, false), (true, true)] {
        let context =
            KernelContext { pool: &pool, buffers: &buffers, primitives: primitives(Isa::detect()), strict_ieee };
        let product = binary(&context, BinaryOp::Mult, Operand::Matrix(&sparse), Operand::Matrix(&infinite)).unwrap();
        assert_eq!(product.get(0, 0).is_nan(), is_nan);
        assert_eq!(matmul(&context, &sparse, &infinite).unwrap().get(0, 0).is_nan(), is_nan);
    }
}
