//! Hand-coded fused operators against their definitions on basic operators.

use super::*;
use crate::{
    Choice, Extreme, FusedValue, aggregate_full, aggregate_vector, binary, fused, matmul, outer, row_index, transpose,
};
use fuseline_ir::hop::{Expression, Function, FusedOp, HopOp, ReorgOp, Side};
use fuseline_ir::ops::{BinaryOp, Direction, UnaryOp};

impl Bits for FusedValue {
    fn bits(&self) -> Vec<u64> {
        match self {
            FusedValue::Matrix(block) => block.bits(),
            FusedValue::Scalar(value) => value.bits(),
        }
    }
}

fn operand(value: &FusedValue) -> Operand<'_> {
    match value {
        FusedValue::Matrix(block) => Operand::Matrix(block),
        FusedValue::Scalar(value) => Operand::Scalar(*value),
    }
}

fn block(value: &FusedValue) -> &MatrixBlock {
    match value {
        FusedValue::Matrix(block) => block,
        FusedValue::Scalar(value) => panic!("{value} is no matrix"),
    }
}

/// What an expression gives on basic operators.
fn evaluate(context: &KernelContext<'_>, expression: &Expression, variable: &dyn Fn(&str) -> FusedValue) -> FusedValue {
    let (op, inputs) = match expression {
        Expression::Variable(name) => return variable(name),
        Expression::Literal(value) => return FusedValue::Scalar(*value as f64),
        Expression::Operation(op, inputs) => (op, inputs),
    };
    let inputs: Vec<FusedValue> = inputs.iter().map(|input| evaluate(context, input, variable)).collect();
    FusedValue::Matrix(match op {
        HopOp::Unary(op) => crate::unary(context, *op, block(&inputs[0])),
        HopOp::Binary(op) => binary(context, *op, operand(&inputs[0]), operand(&inputs[1])).unwrap(),
        HopOp::Outer(op) => outer(context, *op, block(&inputs[0]), block(&inputs[1])).unwrap(),
        HopOp::AggUnary(op, Direction::Full) => {
            return FusedValue::Scalar(aggregate_full(context, *op, block(&inputs[0])));
        }
        HopOp::AggUnary(op, direction) => aggregate_vector(context, *op, *direction, block(&inputs[0])),
        HopOp::MatMul => matmul(context, block(&inputs[0]), block(&inputs[1])).unwrap(),
        HopOp::Reorg(ReorgOp::Transpose) => transpose(context, block(&inputs[0])),
        HopOp::Parameterized { function: Function::RowIndexMax, .. } => {
            row_index(context, Extreme::Max, Choice::Last, block(&inputs[0]))
        }
        HopOp::Parameterized { function: Function::RowIndexMin, .. } => {
            row_index(context, Extreme::Min, Choice::Last, block(&inputs[0]))
        }
        other => panic!("no definition has {}", other.label()),
    })
}

/// Rows, columns and rank of the matrices of an operator.
type Extents = (usize, usize, usize);

/// Dimensions of an input.
fn dims(op: FusedOp, name: &str, (m, n, k): Extents) -> (usize, usize) {
    match (op, name) {
        (FusedOp::OuterAggregate(..), "U") => (m, 1),
        (FusedOp::OuterAggregate(..), _) => (1, n),
        (FusedOp::MatrixChain(_), "V") => (n, 1),
        (FusedOp::MatrixChain(_), "Y") => (m, 1),
        (_, "U") => (m, k),
        (_, "V") => (n, k),
        _ => (m, n),
    }
}

/// The inputs of an operator: integers, those of factors not negative; `formats` has a bit for each sparse matrix.
fn inputs(
    op: FusedOp,
    extents: Extents,
    formats: usize,
    cells: &dyn Fn(usize, usize, usize) -> MatrixBlock,
) -> Vec<FusedValue> {
    let input = |(position, name): (usize, &&str)| {
        if *name == "e" {
            return FusedValue::Scalar(2.0);
        }
        let (rows, cols) = dims(op, name, extents);
        let [dense, sparse, _] = all_formats(&cells(rows, cols, position));
        FusedValue::Matrix(if formats >> position & 1 == 1 { sparse } else { dense })
    };
    op.inputs().iter().enumerate().map(input).collect()
}

fn assert_close(op: FusedOp, what: &str, actual: &FusedValue, expected: &FusedValue) {
    let cells = |value: &FusedValue| match value {
        FusedValue::Matrix(block) => (block.dims(), block.to_dense().values().to_vec()),
        FusedValue::Scalar(value) => ((0, 0), vec![*value]),
    };
    let ((dims, actual), (expected_dims, expected)) = (cells(actual), cells(expected));
    assert_eq!(dims, expected_dims, "{op} on {what}");
    let largest = expected.iter().filter(|cell| cell.is_finite()).fold(0.0_f64, |a, b| a.max(b.abs()));
    for (position, (&actual, &expected)) in actual.iter().zip(&expected).enumerate() {
        let is_close = same(actual, expected) || (actual - expected).abs() <= 1e-11 * largest;
        assert!(is_close, "{op} on {what}, cell {position}: {actual} != {expected}");
    }
}

/// Checks an operator on these inputs against its definition; the bits are the same for every number of threads.
fn check(op: FusedOp, strict: bool, what: &str, inputs: &[FusedValue]) {
    let operands: Vec<Operand<'_>> = inputs.iter().map(operand).collect();
    let result = |context: &KernelContext<'_>| fused(context, op, &operands).unwrap_or_else(|error| panic!("{error}"));
    let actual = if strict { alone(true, result) } else { run(result) };
    let position = |name: &str| op.inputs().iter().position(|&input| input == name).expect("definitions name inputs");
    let variable = |name: &str| inputs[position(name)].clone();
    let expected = alone(strict, |context| evaluate(context, &op.definition(), &variable));
    assert_close(op, what, &actual, &expected);
}

const EXTENTS: [Extents; 9] =
    [(0, 3, 1), (3, 0, 1), (4, 5, 0), (1, 1, 1), (1, 9, 1), (9, 1, 2), (33, 7, 2), (13, 101, 3), (140, 531, 5)];

/// Integers of which about a third are not zero; those of factors are positive, so that nothing is divided by zero.
fn integers(op: FusedOp) -> impl Fn(usize, usize, usize) -> MatrixBlock {
    move |rows, cols, position| match op.inputs()[position] {
        "U" | "V" => Dense::from_fn(rows, cols, |i, j| (hash(i, j, position) % 3 + 1) as f64).into(),
        _ => matrix(rows, cols, 4, position),
    }
}

/// Whether an operator divides by the product, which is zero where the factors have no columns.
fn divides(op: FusedOp) -> bool {
    op.definition_text().contains("(div ")
}

/// One operator for each way of computing; functions and comparisons differ in single steps alone.
fn representatives() -> impl Iterator<Item = FusedOp> {
    FusedOp::all().into_iter().filter(|op| match op {
        FusedOp::WeightedUnary(_, function) => *function == UnaryOp::Exp,
        FusedOp::OuterAggregate(_, comparison) => *comparison == BinaryOp::LessEqual,
        _ => true,
    })
}

#[test]
fn every_operator_is_its_definition_in_every_format() {
    for op in FusedOp::all() {
        for extents in EXTENTS.into_iter().filter(|extents| extents.2 > 0 || !divides(op)) {
            for formats in 0..1 << op.inputs().len() {
                let inputs = inputs(op, extents, formats, &integers(op));
                check(op, false, &format!("{extents:?} in formats {formats:b}"), &inputs);
            }
        }
    }
}

#[test]
fn large_matrices_are_cut_into_blocks() {
    for op in representatives() {
        // A product with its transpose on the right has as many cells as the square of its rows.
        let tall = if op == FusedOp::TransposeSelf(Side::Right) { 1_501 } else { 9_001 };
        for extents in [(97, 701, 3), (tall, 2, 1)] {
            for formats in [0, (1 << op.inputs().len()) - 1] {
                let inputs = inputs(op, extents, formats, &integers(op));
                check(op, false, &format!("{extents:?} in formats {formats:b}"), &inputs);
            }
        }
    }
}

#[test]
fn strict_arithmetic_keeps_what_zeros_would_annihilate() {
    for op in FusedOp::all() {
        // The sign of a product that is zero is open, and would decide what is divided by it.
        let cells = |rows, cols, position: usize| match op.inputs()[position] {
            "U" | "V" => {
                alone(true, |context| crate::unary(context, UnaryOp::Abs, &special_matrix(rows, cols, position)))
            }
            _ => special_matrix(rows, cols, position),
        };
        for formats in 0..1 << op.inputs().len() {
            let inputs = inputs(op, (17, 9, 2), formats, &cells);
            check(op, true, &format!("formats {formats:b}"), &inputs);
        }
    }
}

/// The same matrix twice or thrice, of which a sparse one is read once.
#[test]
fn factors_may_be_the_same_matrix() {
    let sparse = all_formats(&matrix(50, 70, 3, 1))[1].clone();
    for op in FusedOp::all() {
        if let FusedOp::BinaryAggregate(_) | FusedOp::TernaryAggregate(_) = op {
            let mut inputs = vec![FusedValue::Matrix(sparse.clone()); op.inputs().len()];
            check(op, false, "one sparse matrix", &inputs);
            inputs[0] = FusedValue::Matrix(matrix(50, 70, 9, 2));
            check(op, false, "a dense and a sparse matrix", &inputs);
        }
    }
}

#[test]
fn a_sparse_driver_decides_alone_what_its_zeros_meet() {
    let weights = dense(2, 2, &[0.0, 3.0, 0.0, 0.0]);
    let sparse = all_formats(&weights)[1].clone();
    let (u, v) = (dense(2, 1, &[1.0, f64::NAN]), dense(2, 1, &[f64::INFINITY, 2.0]));
    let op = FusedOp::WeightedMultiply;
    for strict in [false, true] {
        let product = alone(strict, |context| {
            fused(context, op, &[&sparse, &u, &v].map(Operand::Matrix)).expect("the shapes fit")
        });
        let cells = block(&product).to_dense().into_owned();
        assert_eq!(cells.get(0, 1), 6.0);
        assert_eq!(cells.get(0, 0).is_nan() && cells.get(1, 0).is_nan(), strict);
    }
}

#[test]
fn comparisons_with_what_is_no_number_count_as_they_compare() {
    let cells = [f64::NAN, 2.0, -0.0, 0.0, 2.0, f64::NEG_INFINITY, f64::NAN, 1.0, f64::INFINITY];
    let (u, v) = (dense(9, 1, &cells), dense(1, 9, &cells));
    for op in FusedOp::all() {
        if let FusedOp::OuterAggregate(..) = op {
            check(op, false, "numbers and none", &[u.clone(), v.clone()].map(FusedValue::Matrix));
            let (one, none) = (dense(1, 1, &[f64::NAN]), dense(1, 1, &[1.0]));
            check(op, false, "a single cell", &[one, none].map(FusedValue::Matrix));
        }
    }
}

#[test]
fn inputs_that_do_not_fit_are_refused() {
    for op in FusedOp::all() {
        let fitting = inputs(op, (5, 4, 2), 0, &integers(op));
        for position in 0..fitting.len() {
            let mut wrong = fitting.clone();
            wrong[position] = match &fitting[position] {
                FusedValue::Scalar(_) => FusedValue::Matrix(dense(1, 1, &[2.0])),
                FusedValue::Matrix(_) => FusedValue::Scalar(2.0),
            };
            let operands: Vec<Operand<'_>> = wrong.iter().map(operand).collect();
            let result = alone(false, |context| fused(context, op, &operands));
            assert!(matches!(result, Err(KernelError::Argument { .. })), "{op}, input {position}");
            if op.inputs().len() == 1 || op.inputs()[position] == "e" {
                continue;
            }
            let (rows, cols) = dims(op, op.inputs()[position], (5, 4, 2));
            wrong[position] = FusedValue::Matrix(matrix(rows + 1, cols + 1, 9, 1));
            let operands: Vec<Operand<'_>> = wrong.iter().map(operand).collect();
            let result = alone(false, |context| fused(context, op, &operands));
            assert!(matches!(result, Err(KernelError::Shapes { .. })), "{op}, shape of input {position}");
        }
    }
}

#[test]
fn ranges_of_rows_have_equal_weight_and_cover_every_row() {
    for (lengths, weight, most) in [
        (vec![0; 9], 3, 100),
        (vec![5, 5, 5, 5], 12, 100),
        (vec![1000, 1, 1, 1, 0, 0, 900, 1], 10, 100),
        (vec![7; 100], 1, 16),
        (vec![], 4, 16),
    ] {
        let cols = 1000;
        let dense = Dense::from_fn(lengths.len(), cols, |i, j| f64::from(u8::from(j < lengths[i])));
        let csr = Csr::from_dense(&dense);
        let ranges = crate::blocks::balanced_ranges(&csr, weight, most);
        let rows: Vec<usize> = ranges.iter().flat_map(Clone::clone).collect();
        assert_eq!(rows, (0..lengths.len()).collect::<Vec<_>>());
        assert!(ranges.len() <= most, "{} ranges", ranges.len());
        for range in ranges {
            let all_but_last: usize = range.clone().skip(1).map(|row| lengths[row - 1] + 1).sum();
            let goal = weight.max((lengths.iter().sum::<usize>() + lengths.len()).div_ceil(most));
            assert!(all_but_last < goal, "{range:?} of {lengths:?}");
        }
    }
}

/// One row holds half of the non-zeros.
#[test]
fn skewed_rows_are_their_definition() {
    let skewed = Dense::from_fn(3000, 700, |i, j| {
        let is_long = i == 1500 || hash(i, j, 1).is_multiple_of(200);
        if is_long { (hash(i, j, 2) % 5) as f64 - 2.0 } else { 0.0 }
    });
    let skewed: MatrixBlock = Csr::from_dense(&skewed).into();
    for op in representatives() {
        let mut inputs = inputs(op, (3000, 700, 2), 0, &integers(op));
        for (name, input) in op.inputs().iter().zip(&mut inputs) {
            if block_is_large(op, name) {
                *input = FusedValue::Matrix(skewed.clone());
            }
        }
        check(op, false, "a skewed matrix", &inputs);
    }
}

/// Whether an input has the size of a product of factors.
fn block_is_large(op: FusedOp, name: &str) -> bool {
    name != "e" && dims(op, name, (3000, 700, 2)) == (3000, 700)
}
