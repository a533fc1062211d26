//! Element-wise operations at the non-zeros of sparse matrices: which positions results have, and what is in them.

use super::*;
use crate::{aggregate_vector, binary, ternary, transpose, unary};
use fuseline_ir::ops::{AggOp, BinaryOp, Direction, TernaryOp, UnaryOp};
use std::borrow::Cow;

fn sparse(block: &MatrixBlock) -> MatrixBlock {
    Csr::from_dense(&block.to_dense()).into()
}

fn csr_of(block: &MatrixBlock) -> Cow<'_, Csr> {
    block.layout().sparse().expect("the result is sparse")
}

/// About one cell in ten, among them numbers whose products and quotients underflow, infinities and NaN; every fifth row
/// is empty.
fn skewed(rows: usize, cols: usize, seed: usize) -> MatrixBlock {
    let values = [1.0, -2.5, 1e-200, -1e-200, 1e200, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 5e-324];
    let cell = |i: usize, j: usize| {
        let hash = hash(i, j, seed);
        if i % 5 != 1 && hash.is_multiple_of(10) { values[hash / 10 % values.len()] } else { 0.0 }
    };
    Dense::from_fn(rows, cols, cell).into()
}

/// Small, of more non-zeros than a block of work, and of rows that are longer than what is evaluated at a time.
const SPARSE_SHAPES: [(usize, usize); 7] =
    [(0, 30), (30, 0), (13, 101), (2003, 500), (7, 40_009), (50_021, 23), (1, 9001)];

/// The cells of `result` are those of `expected`, and all that are not zero are stored, without the others.
fn assert_stored(result: &MatrixBlock, expected: impl Fn(usize, usize) -> f64) {
    let csr = csr_of(result);
    for i in 0..csr.rows() {
        let (columns, values) = csr.row(i);
        let cells = (0..csr.cols()).map(|j| expected(i, j)).enumerate().filter(|(_, cell)| *cell != 0.0);
        let (own_columns, cells): (Vec<u32>, Vec<f64>) = cells.map(|(j, cell)| (j as u32, cell)).unzip();
        assert_eq!(columns, own_columns, "row {i}");
        assert!(values.iter().zip(&cells).all(|(&actual, &cell)| same(actual, cell)), "row {i}");
    }
}

#[test]
fn results_without_zeros_share_the_positions_of_the_operand() {
    for (rows, cols) in SPARSE_SHAPES {
        let block = matrix(rows, cols, 1, 3);
        let x = sparse(&block);
        let doubled = run(|c| binary(c, BinaryOp::Mult, Operand::Matrix(&x), Operand::Scalar(2.0)).unwrap());
        let magnitudes = run(|c| unary(c, UnaryOp::Abs, &x));
        if !doubled.format().is_sparse() {
            continue;
        }
        assert_stored(&doubled, |i, j| 2.0 * block.get(i, j));
        assert_stored(&magnitudes, |i, j| block.get(i, j).abs());
        for result in [&doubled, &magnitudes] {
            assert_eq!(csr_of(result).columns().as_ptr(), csr_of(&x).columns().as_ptr());
            assert_eq!(csr_of(result).row_offsets().as_ptr(), csr_of(&x).row_offsets().as_ptr());
        }
    }
}

#[test]
fn results_that_underflow_or_cancel_are_not_stored() {
    for (rows, cols) in SPARSE_SHAPES {
        let block = skewed(rows, cols, 3);
        let x = sparse(&block);
        if !MatrixBlock::best_format(rows, cols, x.nnz()).is_sparse() {
            continue;
        }
        let at = |i, j| block.get(i, j);
        let scaled = run(|c| binary(c, BinaryOp::Mult, Operand::Scalar(1e-200), Operand::Matrix(&x)).unwrap());
        assert_stored(&scaled, |i, j| 1e-200 * at(i, j));
        let squares = run(|c| unary(c, UnaryOp::Pow2, &x));
        assert_stored(&squares, |i, j| at(i, j) * at(i, j));
        let product = run(|c| binary(c, BinaryOp::Mult, Operand::Matrix(&x), Operand::Matrix(&x)).unwrap());
        assert_stored(&product, |i, j| at(i, j) * at(i, j));
        // Infinities do not cancel.
        let difference = run(|c| binary(c, BinaryOp::Minus, Operand::Matrix(&x), Operand::Matrix(&x)).unwrap());
        assert_stored(&difference, |i, j| at(i, j) - at(i, j));
        let nothing =
            run(|c| binary(c, BinaryOp::Less, Operand::Matrix(&x), Operand::Scalar(f64::NEG_INFINITY)).unwrap());
        assert_eq!(nothing.nnz(), 0);
    }
}

/// What makes another value of all zeros gives what it gives for the same cells in dense format.
#[test]
fn zeros_that_become_another_value_are_as_those_of_dense_matrices() {
    for (rows, cols) in SPARSE_SHAPES {
        let block = skewed(rows, cols, 5);
        let [of_sparse, of_dense] = [sparse(&block), MatrixBlock::from(block.to_dense().into_owned())].map(|x| {
            let (x, scalar) = (Operand::Matrix(&x), Operand::Scalar);
            [
                run(|c| binary(c, BinaryOp::LessEqual, x, scalar(0.5)).unwrap()),
                run(|c| binary(c, BinaryOp::Minus, scalar(1.0), x).unwrap()),
                run(|c| ternary(c, TernaryOp::IfElse, [x, scalar(2.0), scalar(3.0)]).unwrap()),
                run(|c| ternary(c, TernaryOp::PlusMult, [scalar(2.0), x, scalar(3.0)]).unwrap()),
                run(|c| ternary(c, TernaryOp::MinusMult, [scalar(2.0), scalar(3.0), x]).unwrap()),
            ]
        });
        for (place, (one, other)) in of_sparse.iter().zip(&of_dense).enumerate() {
            assert_eq!(one.bits(), other.bits(), "operation {place}, {rows} x {cols}");
            assert_eq!(one.nnz(), other.nnz());
        }
        let [of_sparse, of_dense] = [sparse(&block), block]
            .map(|x| [UnaryOp::Exp, UnaryOp::Cos, UnaryOp::Not].map(|op| run(|c| unary(c, op, &x))));
        for (one, other) in of_sparse.iter().zip(&of_dense) {
            assert_eq!(one.bits(), other.bits(), "{rows} x {cols}");
        }
    }
}

#[test]
fn stored_zeros_of_operands_are_dropped() {
    let x: MatrixBlock = Csr::new(2, 9, vec![0, 2, 4], vec![1, 3, 0, 8], vec![0.0, 5.0, -0.0, 2.0]).unwrap().into();
    let results = [
        run(|c| binary(c, BinaryOp::Mult, Operand::Matrix(&x), Operand::Scalar(3.0)).unwrap()),
        run(|c| binary(c, BinaryOp::Plus, Operand::Matrix(&x), Operand::Matrix(&x)).unwrap()),
        run(|c| unary(c, UnaryOp::Abs, &x)),
    ];
    for result in results {
        assert_eq!((csr_of(&result).row_offsets(), csr_of(&result).columns()), (&[0, 1, 2][..], &[3, 8][..]));
    }
}

#[test]
fn operands_of_every_shape_are_read_at_the_non_zeros() {
    for (rows, cols) in SPARSE_SHAPES {
        let block = skewed(rows, cols, 4);
        let x = sparse(&block);
        if !MatrixBlock::best_format(rows, cols, x.nnz()).is_sparse() {
            continue;
        }
        for (other_rows, other_cols) in [(rows, cols), (1, cols), (rows, 1), (1, 1)] {
            let other = matrix(other_rows, other_cols, 6, 5);
            for format in all_formats(&other) {
                let (a, b) = (Operand::Matrix(&x), Operand::Matrix(&format));
                let cell = |i, j| other.get(if other_rows == 1 { 0 } else { i }, if other_cols == 1 { 0 } else { j });
                let expected = |i, j| if block.get(i, j) == 0.0 { 0.0 } else { block.get(i, j) * cell(i, j) };
                assert_stored(&run(|c| binary(c, BinaryOp::Mult, a, b).unwrap()), expected);
                // Of two sparse matrices, the zeros of the left one annihilate.
                let drives = format.format().is_sparse() && format.dims() == (rows, cols);
                let expected = |i, j| if drives && cell(i, j) == 0.0 { 0.0 } else { expected(i, j) };
                assert_stored(&run(|c| binary(c, BinaryOp::Mult, b, a).unwrap()), expected);
            }
        }
    }
}

#[test]
fn unions_have_the_positions_of_both() {
    for (rows, cols) in SPARSE_SHAPES {
        let (left, right) = (skewed(rows, cols, 6), matrix(rows, cols, 1, 7));
        let (x, z) = (sparse(&left), sparse(&right));
        if !MatrixBlock::best_format(rows, cols, x.nnz() + z.nnz()).is_sparse() {
            continue;
        }
        for op in [BinaryOp::Plus, BinaryOp::Minus, BinaryOp::Max, BinaryOp::NotEqual] {
            let result = run(|c| binary(c, op, Operand::Matrix(&x), Operand::Matrix(&z)).unwrap());
            assert_stored(&result, |i, j| op.eval(left.get(i, j), right.get(i, j)));
        }
    }
}

#[test]
fn transposes_and_column_sums_of_many_non_zeros_equal_plain_loops() {
    for (rows, cols) in SPARSE_SHAPES {
        let block = matrix(rows, cols, 2, 8);
        let x = sparse(&block);
        let transposed = run(|c| transpose(c, &x));
        assert_eq!(transposed.dims(), (cols, rows));
        assert_stored(&transposed, |i, j| block.get(j, i));
        let sums = run(|c| aggregate_vector(c, AggOp::Sum, Direction::Col, &x));
        assert_cells(&sums, 1, cols, |_, j| (0..rows).map(|i| block.get(i, j)).sum());
    }
}
