//! Every template variant through its skeleton and the interpreter, against a plain evaluator of CPlans: formats of all
//! inputs, shapes, numbers of threads and instruction sets.

mod common;

use common::plans::{Builder, Example, all, gradient, sum_of_products};
use common::{Values, bits, compile, execute, matrix, pools, reference, stored};
use fuseline_ir::cplan::{CNode, RowType, Variant};
use fuseline_ir::ops::BinaryOp;
use fuseline_matrix::{Dense, MatrixBlock};
use fuseline_skeletons::abi::has_sparse_entry;
use fuseline_skeletons::{Counters, Execution, SkeletonError};
use fuseline_vecprims::Isa;

fn inputs(example: &Example, rows: usize, cols: usize, density: f64, values: Values) -> Vec<Dense> {
    let shapes = example.shapes.iter().enumerate();
    shapes
        .map(|(position, shape)| {
            let (rows, cols) = shape(rows, cols);
            // Side inputs with zeros of their own.
            let density = if position == 0 { density } else { 0.7 };
            matrix(rows, cols, density, values, 17 * rows as u64 + 31 * cols as u64 + position as u64)
        })
        .collect()
}

fn scalars(example: &Example) -> Vec<f64> {
    (0..example.plan.scalars().count()).map(|position| 2.0 + position as f64).collect()
}

/// Runs an example on integers, in four combinations of formats: all must equal the plain evaluation.
fn check(example: &Example, rows: usize, cols: usize, density: f64) {
    let dense = inputs(example, rows, cols, density, Values::Integers);
    let scalars = scalars(example);
    let expected = reference::evaluate(&example.plan, &dense, &scalars);
    let compiled = compile(&example.plan, Isa::detect());
    for (number, formats) in [(false, false), (true, false), (false, true), (true, true)].into_iter().enumerate() {
        let stored: Vec<MatrixBlock> = dense
            .iter()
            .enumerate()
            .map(|(position, dense)| stored(dense, if position == 0 { formats.0 } else { formats.1 }))
            .collect();
        let pool = &pools()[(number + rows + cols) % pools().len()];
        let actual = execute(&compiled, &stored, &scalars, pool, &Counters::default()).unwrap();
        let name = &example.name;
        let context = format!("{name}: {rows} x {cols}, main and sides sparse: {formats:?}");
        assert_same(&actual, &expected, &context);
    }
}

fn assert_same(actual: &MatrixBlock, expected: &Dense, context: &str) {
    // The plain evaluator cannot tell the length of rows of an empty matrix.
    if expected.rows() * expected.cols() > 0 {
        assert_eq!(actual.dims(), (expected.rows(), expected.cols()), "{context}");
    }
    for i in 0..expected.rows() {
        for j in 0..expected.cols() {
            let (x, y) = (actual.get(i, j), expected.get(i, j));
            assert!(x == y || x.is_nan() && y.is_nan(), "{context}: cell ({i}, {j}) is {x}, not {y}");
        }
    }
}

#[test]
fn every_variant_equals_the_plain_evaluation_on_small_shapes() {
    let shapes =
        [(0, 0), (0, 4), (4, 0), (1, 1), (1, 7), (7, 1), (7, 31), (33, 5), (31, 33), (65, 3), (3, 65), (100, 17)];
    for example in all() {
        for (rows, cols) in shapes {
            for density in [0.0, 0.3, 1.0] {
                check(&example, rows, cols, density);
            }
        }
    }
}

#[test]
fn every_variant_equals_the_plain_evaluation_over_several_blocks() {
    let shapes = [(500, 300, 0.2), (20_000, 7, 0.3), (16, 8200, 0.5)];
    for (number, example) in all().iter().enumerate() {
        // Neighbours in the list differ in the aggregate alone.
        let (rows, cols, density) = shapes[number % shapes.len()];
        check(example, rows, cols, density);
    }
}

#[test]
fn a_row_longer_than_a_block_is_cut() {
    for example in all().into_iter().filter(|example| !example.name.starts_with("row ")) {
        check(&example, 1, 140_000, 0.95);
    }
}

#[test]
fn results_are_the_same_bits_for_all_threads_and_instruction_sets() {
    for (number, example) in all().into_iter().enumerate() {
        let large = [(450, 310), (15_000, 10)][number % 2];
        for (rows, cols) in [(37, 21), large] {
            for is_sparse in [false, true] {
                let dense = inputs(&example, rows, cols, 0.3, Values::Reals);
                let stored: Vec<MatrixBlock> = dense.iter().map(|dense| stored(dense, is_sparse)).collect();
                let mut expected: Option<Vec<u64>> = None;
                for isa in Isa::available() {
                    let compiled = compile(&example.plan, isa);
                    // One pool suffices to compare instruction sets.
                    let pools = if isa == Isa::detect() { pools() } else { &pools()[1..2] };
                    for pool in pools {
                        let result = execute(&compiled, &stored, &scalars(&example), pool, &Counters::default());
                        let actual = bits(&result.unwrap());
                        let threads = pool.current_num_threads();
                        let expected = expected.get_or_insert_with(|| actual.clone());
                        let name = &example.name;
                        assert!(*expected == actual, "{name}: {rows} x {cols}, {isa}, {threads} threads");
                    }
                }
            }
        }
    }
}

#[test]
fn dense_units_give_the_same_bits_for_all_formats() {
    for example in all().into_iter().filter(|example| !example.plan.sparse_safe || !has_sparse_entry(&example.plan)) {
        if has_sparse_entry(&example.plan) && example.name.starts_with("row ") {
            continue;
        }
        let dense = inputs(&example, 900, 37, 0.3, Values::Reals);
        let run = |is_sparse: bool| {
            let blocks: Vec<MatrixBlock> = dense.iter().map(|dense| stored(dense, is_sparse)).collect();
            let compiled = compile(&example.plan, Isa::detect());
            bits(&execute(&compiled, &blocks, &scalars(&example), &pools()[1], &Counters::default()).unwrap())
        };
        assert!(run(false) == run(true), "{}", example.name);
    }
}

#[test]
fn results_over_non_zeros_are_stored_without_zeros() {
    let name = "no_agg x*y sum";
    let example = all().into_iter().find(|example| example.name.ends_with(name)).expect("the example exists");
    let dense = inputs(&example, 50, 60, 0.3, Values::Integers);
    let blocks: Vec<MatrixBlock> = dense.iter().map(|dense| stored(dense, true)).collect();
    let compiled = compile(&example.plan, Isa::detect());
    let result = execute(&compiled, &blocks, &[], &pools()[1], &Counters::default()).unwrap();
    let MatrixBlock::Sparse(csr) = result else { panic!("a product of sparse matrices is sparse") };
    assert!(csr.values().iter().all(|&value| value != 0.0) && csr.nnz() < blocks[0].nnz());
}

#[test]
fn an_input_in_two_roles_is_an_error() {
    let mut builder = Builder::new(Variant::Row(RowType::RowAgg));
    let p = builder.matrix(|m, _| (m, 1));
    let (main, vector, scalar) =
        (builder.push(CNode::Main), builder.push(CNode::SideVector(p)), builder.push(CNode::SideRowScalar(p)));
    let dot = builder.push(CNode::DotProduct(main, vector));
    let product = builder.push(CNode::Binary(BinaryOp::Mult, dot, scalar));
    let example = builder.finish("p*(X%*%p)", &[(product, None, None)], true);
    let blocks: Vec<MatrixBlock> = inputs(&example, 5, 5, 1.0, Values::Integers).into_iter().map(Into::into).collect();
    let compiled = compile(&example.plan, Isa::detect());
    let result = execute(&compiled, &blocks, &[], &pools()[0], &Counters::default());
    assert_eq!(result, Err(SkeletonError::Roles { input: p }));
}

#[test]
fn calls_serve_thousands_of_cells() {
    let example = sum_of_products();
    for (rows, cols) in [(100_000, 10), (1000, 1000), (10, 100_000)] {
        for is_sparse in [false, true] {
            let dense = inputs(&example, rows, cols, 0.3, Values::Integers);
            let blocks: Vec<MatrixBlock> = dense.iter().map(|dense| stored(dense, is_sparse)).collect();
            let counters = Counters::default();
            execute(&compile(&example.plan, Isa::detect()), &blocks, &[], &pools()[1], &counters).unwrap();
            let cells = if is_sparse { blocks[0].nnz() } else { rows * cols };
            assert_eq!(counters.cells(), cells as u64);
            assert!(counters.genexec_calls() <= cells as u64 / 2048, "{} calls", counters.genexec_calls());
        }
    }
}

#[test]
fn calls_of_narrow_row_operators_serve_hundreds_of_rows() {
    let example = gradient();
    for is_sparse in [false, true] {
        let dense = inputs(&example, 20_000, 10, 0.5, Values::Integers);
        let blocks: Vec<MatrixBlock> = dense.iter().map(|dense| stored(dense, is_sparse)).collect();
        let counters = Counters::default();
        execute(&compile(&example.plan, Isa::detect()), &blocks, &[], &pools()[1], &counters).unwrap();
        assert_eq!(counters.rows(), 20_000);
        assert!(counters.rows() >= 100 * counters.genexec_calls(), "{} calls", counters.genexec_calls());
    }
}

#[test]
fn empty_rows_are_skipped_where_they_contribute_nothing() {
    let example = gradient();
    let mut main = Dense::zeros(50_000, 40);
    main.values_mut()[40 * 25_000] = 3.0;
    let v = matrix(40, 1, 1.0, Values::Integers, 1);
    let expected = reference::evaluate(&example.plan, &[main.clone(), v.clone()], &[]);
    let counters = Counters::default();
    let blocks = [stored(&main, true), v.into()];
    let actual = execute(&compile(&example.plan, Isa::detect()), &blocks, &[], &pools()[1], &counters).unwrap();
    assert_same(&actual, &expected, "t(X)%*%(X%*%v)");
    assert_eq!(counters.genexec_calls(), 1, "all units but one have no non-zeros");
}

/// A zero of a sparse row annihilates an infinity by default, and makes NaN of it in strict IEEE arithmetic.
#[test]
fn strict_arithmetic_multiplies_the_zeros_of_sparse_rows() {
    let mut example = gradient();
    example.plan.sparse_safe = false;
    let mut main = Dense::zeros(3, 4);
    main.values_mut()[0] = 1.0;
    let inputs = [stored(&main, true), Dense::from_vec(4, 1, vec![2.0, f64::INFINITY, 0.0, 0.0]).into()];
    let (compiled, counters, buffers) = (compile(&example.plan, Isa::detect()), Counters::default(), common::buffers());
    for (strict_ieee, is_nan) in [(false, false), (true, true)] {
        let env = Execution { pool: &pools()[0], buffers: &buffers, counters: &counters, strict_ieee };
        let result = fuseline_skeletons::execute(&compiled, &inputs, &[], &env).unwrap();
        assert_eq!(result.get(0, 0).is_nan(), is_nan, "strict: {strict_ieee}");
    }
}

#[test]
fn inputs_that_do_not_fit_are_errors() {
    for example in all() {
        let dense = inputs(&example, 6, 4, 0.5, Values::Integers);
        let blocks: Vec<MatrixBlock> = dense.into_iter().map(Into::into).collect();
        let scalars = scalars(&example);
        let compiled = compile(&example.plan, Isa::detect());
        let run = |blocks: &[MatrixBlock], scalars: &[f64]| {
            execute(&compiled, blocks, scalars, &pools()[0], &Counters::default())
        };
        assert!(run(&blocks, &scalars).is_ok(), "{}", example.name);
        let missing = run(&blocks[1..], &scalars);
        assert!(matches!(missing, Err(SkeletonError::Matrices { .. })), "{}", example.name);
        let superfluous = run(&blocks, &[&scalars[..], &[1.0]].concat());
        assert!(matches!(superfluous, Err(SkeletonError::Scalars { .. })), "{}", example.name);
        for position in 1..blocks.len() {
            let mut wrong = blocks.clone();
            // No side input may have one row and one column less than it should.
            let (rows, cols) = (blocks[position].rows() - 1, blocks[position].cols() - 1);
            wrong[position] = Dense::zeros(rows, cols).into();
            assert!(run(&wrong, &scalars).is_err(), "{}: input {position} of {rows} x {cols}", example.name);
        }
    }
}
