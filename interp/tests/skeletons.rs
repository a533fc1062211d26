//! What skeletons visit, how they cut work, and what they refuse. (The conformance suite of the root package compares all
//! variants with a plain evaluator, on all formats, backends and numbers of threads.)

mod common;

use common::plans::{Example, ShapeOf, example, gradient, sum_of_products};
use common::{Random, Values, bits, compile, execute, matrix, pools, stored};
use fuseline_ir::cplan::CInputId;
use fuseline_ir::work::STRIP_BYTES;
use fuseline_matrix::{Csr, Dense, MatrixBlock};
use fuseline_skeletons::{CompiledCPlan, Counters, Execution, SkeletonError};
use fuseline_vecprims::Isa;

const FULL: ShapeOf = |m, n| (m, n);
const COLUMN: ShapeOf = |m, _| (m, 1);

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

/// The result, with what was counted on the way.
fn run(example: &Example, inputs: &[MatrixBlock]) -> (MatrixBlock, Counters) {
    let counters = Counters::default();
    let compiled = compile(&example.plan, Isa::detect());
    let result = execute(&compiled, inputs, &[], &pools()[1], &counters).unwrap_or_else(|error| panic!("{error}"));
    (result, counters)
}

/// A sparse matrix whose rows have these numbers and columns, all cells 1.
fn ones(rows: usize, cols: usize, cells: &[(usize, u32)]) -> Csr {
    let mut offsets = vec![0; rows + 1];
    cells.iter().for_each(|&(row, _)| offsets[row + 1] += 1);
    (0..rows).for_each(|row| offsets[row + 1] += offsets[row]);
    let columns: Vec<u32> = cells.iter().map(|&(_, column)| column).collect();
    Csr::new(rows, cols, offsets, columns, vec![1.0; cells.len()]).unwrap()
}

/// `count` cells in as many rows far apart.
fn scattered(rows: usize, cols: usize, count: usize) -> Csr {
    let mut random = Random::new(3);
    let cells: Vec<(usize, u32)> =
        (0..count).map(|cell| (cell * (rows / count) + 1, random.below(cols as u64) as u32)).collect();
    ones(rows, cols, &cells)
}

/// P066: sparse-safe operators bind non-zero cells, whatever else they read.
#[test]
fn plans_over_cells_visit_as_many_cells_as_there_are_non_zeros() {
    let body = "%0 = main
        %1 = side_cell in1
        %2 = side_row_scalar in2
        %3 = plus %1, %2
        %4 = mult %0, %3
        out %4";
    let safe = |variant: &str, agg: &str| example(variant, true, &[FULL, COLUMN], &format!("{body} {agg}"));
    let dense = matrix(3000, 70, 0.05, Values::Integers, 5);
    let sides = [matrix(3000, 70, 0.3, Values::Integers, 6), matrix(3000, 1, 0.5, Values::Integers, 7)];
    for (variant, agg) in
        [("cell no_agg", ""), ("cell row_agg", "agg=prod"), ("cell col_agg", "agg=min"), ("magg full_agg", "agg=max")]
    {
        let main = Csr::from_dense(&dense);
        let blocks = [main.clone().into(), stored(&sides[0], true), stored(&sides[1], true)];
        let (_, counters) = run(&safe(variant, agg), &blocks);
        assert_eq!(counters.cells(), main.nnz() as u64, "{variant}");
    }
}

/// P037, P066: sparse-safe operators over rows bind non-empty rows, in units of many, and of these the non-zeros alone, but where
/// extremes and products have to know of zeros.
#[test]
fn plans_over_rows_visit_rows_with_non_zeros_alone() {
    let sides: &[ShapeOf] = &[FULL, COLUMN];
    let elementwise = "%0 = main
        %1 = side_row in1
        %2 = side_row_scalar in2
        %3 = plus %1, %2
        %4 = mult %0, %3";
    let products = "%0 = main
        %1 = row_agg.sum %0
        %2 = side_row in1
        %3 = side_row_scalar in2
        %4 = mult %1, %3
        %5 = mult %4, %2";
    let plans = [
        example("row no_agg", true, sides, &format!("{elementwise}\nout %4")),
        example("row full_agg", true, sides, &format!("{elementwise}\nout %4 agg=sum")),
        example("row full_agg", true, sides, &format!("{elementwise}\nout %4 agg=min")),
        example("row col_agg", true, sides, &format!("{elementwise}\nout %4 agg=prod")),
        example("row no_agg_b1", true, sides, &format!("{products}\nout %5")),
        example("row col_agg_b1r", true, sides, &format!("{products}\nout %5 agg=sum")),
        example("row row_agg", true, sides, &format!("{products}\n%6 = row_agg.max %5\nout %6")),
    ];
    let (rows, cols, count) = (20_000, 40, 500);
    let main = scattered(rows, cols, count);
    let sides = [matrix(rows, cols, 1.0, Values::Integers, 8), matrix(rows, 1, 0.5, Values::Integers, 9)];
    for plan in plans {
        let (dense, _) = run(&plan, &[main.to_dense().into(), sides[0].clone().into(), sides[1].clone().into()]);
        for is_sparse in [false, true] {
            let blocks = [main.clone().into(), stored(&sides[0], is_sparse), stored(&sides[1], is_sparse)];
            let (result, counters) = run(&plan, &blocks);
            assert_eq!(counters.rows(), count as u64, "{}", plan.plan);
            let takes_zeros =
                plan.plan.outputs.iter().any(|output| output.agg().is_some_and(|agg| !agg.ignores_zeros()));
            let cells = if takes_zeros { count * cols } else { count };
            assert_eq!(counters.cells(), cells as u64, "{}", plan.plan);
            assert!(counters.genexec_calls() <= 10, "{} calls of {}", counters.genexec_calls(), plan.plan);
            assert!(result == dense, "{}", plan.plan);
        }
    }
}

#[test]
fn products_over_ultra_sparse_inputs_visit_rows_with_non_zeros_alone() {
    let factors: &[ShapeOf] = &[|m, _| (m, 3), |_, n| (n, 3)];
    let (rows, cols, count) = (60_000, 500, 200);
    let main = scattered(rows, cols, count);
    let sides = [matrix(rows, 3, 0.8, Values::Integers, 8), matrix(cols, 3, 0.8, Values::Integers, 9)];
    for (variant, agg) in
        [("no_agg", ""), ("right_mm", ""), ("left_mm", ""), ("full_agg", "agg=sum"), ("full_agg", "agg=min")]
    {
        let body = format!("%0 = main\n%1 = outer_product\n%2 = mult %0, %1\nout %2 {agg}");
        let plan = example(&format!("outer {variant}"), true, factors, &body);
        let blocks = [main.clone().into(), sides[0].clone().into(), stored(&sides[1], true)];
        let (result, counters) = run(&plan, &blocks);
        assert_eq!(counters.cells(), count as u64, "{variant}");
        assert!(counters.rows() <= 2 * count as u64, "{} rows of {variant}", counters.rows());
        let dense = [main.to_dense().into(), sides[0].clone().into(), sides[1].clone().into()];
        assert!(result == run(&plan, &dense).0, "{variant}");
    }
}

/// A plan whose value is the same wherever the main input is zero computes it once.
#[test]
fn plans_with_a_constant_for_zeros_visit_non_zeros_alone() {
    let body = "%0 = main\n%1 = literal 2.0\n%2 = minus %0, %1";
    let main = scattered(1_000_000, 1000, 300);
    for (agg, expected) in [
        ("sum", -2.0 * 1e9 + 300.0),
        ("sumsq", 4.0 * (1e9 - 300.0) + 300.0),
        ("min", -2.0),
        ("max", -1.0),
        ("nnz", 1e9),
        ("prod", f64::INFINITY),
    ] {
        let plan = example("cell full_agg", false, &[], &format!("{body}\nout %2 agg={agg}"));
        let (result, counters) = run(&plan, &[main.clone().into()]);
        assert_eq!(result.get(0, 0), expected, "{agg}");
        assert_eq!(counters.cells(), 300, "{agg}");
    }
    let plan = example("cell row_agg", false, &[], &format!("{body}\nout %2 agg=sum"));
    let (result, counters) = run(&plan, &[main.clone().into()]);
    assert_eq!((result.get(0, 0), result.get(1, 0), counters.cells()), (-2000.0, -1999.0, 300));
    let small = ones(3, 2, &[(1, 1)]);
    let plan = example("cell no_agg", false, &[], &format!("{body}\nout %2"));
    let (result, counters) = run(&plan, &[small.into()]);
    assert_eq!(result.to_dense().values(), [-2.0, -2.0, -2.0, -1.0, -2.0, -2.0]);
    assert_eq!(counters.cells(), 1);
}

/// What is sparse, in which order sides meet and what scalars are decides what may be left out: all of it is looked at anew.
#[test]
fn operators_run_again_on_sparse_inputs_of_other_numbers_of_non_zeros_and_scalars() {
    let sides: &[ShapeOf] = &[FULL, FULL];
    let product = "in3 = scalar
        %0 = main
        %1 = side_cell in1
        %2 = side_cell in2
        %3 = mult %0, %1
        %4 = mult %3, %2
        %5 = scalar in3";
    let sum = "in3 = scalar
        %0 = main
        %1 = side_row in1
        %2 = side_row in2
        %3 = plus %0, %1
        %4 = scalar in3
        %5 = intdiv %3, %4
        %6 = plus %5, %4
        %7 = row_agg.sum %6
        %8 = row_agg.max %2
        %9 = plus %7, %8
        out %9";
    let plans = [
        example("cell full_agg", false, sides, &format!("{product}\n%6 = plus %4, %5\nout %6 agg=sum")),
        example("cell full_agg", false, sides, &format!("{product}\n%6 = max %4, %5\nout %6 agg=max")),
        example("cell no_agg", false, sides, &format!("{product}\n%6 = plus %4, %5\nout %6")),
        example("row row_agg", false, sides, sum),
    ];
    let dense = [0.3, 0.2, 0.5].map(|density| matrix(40, 30, density, Values::Integers, (density * 100.0) as u64));
    let [main, few, many] = &dense;
    for example in &plans {
        let compiled = compile(&example.plan, Isa::detect());
        for formats in (0..8).flat_map(|formats| [formats, formats]) {
            let is_sparse = |number: usize| formats >> number & 1 == 1;
            for (scalar, one, other) in [(2.0, few, many), (2.0, many, few), (0.5, many, few), (-0.0, few, many)] {
                let inputs = [main, one, other].into_iter().enumerate();
                let inputs: Vec<MatrixBlock> = inputs.map(|(number, dense)| stored(dense, is_sparse(number))).collect();
                let run = |compiled: &CompiledCPlan| {
                    let counters = Counters::default();
                    let result = execute(compiled, &inputs, &[scalar], &pools()[1], &counters).unwrap();
                    (bits(&result), counters.cells())
                };
                let anew = run(&compile(&example.plan, Isa::detect()));
                assert_eq!(run(&compiled), anew, "formats {formats:03b}, scalar {scalar}: {}", example.plan);
            }
        }
    }
}

/// An operator that runs again keeps what it found out on inputs that are laid out alike; other dimensions and formats are looked
/// at anew.
#[test]
fn operators_run_again_on_inputs_of_other_dimensions_and_formats() {
    let plans = [gradient(), sum_of_products()];
    for example in &plans {
        let compiled = compile(&example.plan, Isa::detect());
        let runs =
            [(7, 5, false), (7, 5, false), (9, 5, false), (9, 5, true), (9, 3, true), (9, 5, false), (7, 5, true)];
        for (rows, cols, is_sparse) in runs {
            let dense = inputs(example, rows, cols, 0.4, Values::Integers);
            let inputs: Vec<MatrixBlock> = dense.iter().map(|dense| stored(dense, is_sparse)).collect();
            let again = execute(&compiled, &inputs, &[], &pools()[1], &Counters::default()).unwrap();
            assert_eq!(bits(&again), bits(&run(example, &inputs).0), "{rows} x {cols}, {is_sparse}: {}", example.plan);
        }
        let wrong = vec![stored(&matrix(2, 2, 1.0, Values::Integers, 1), false); example.shapes.len()];
        let wrong = [&wrong[..], &[stored(&matrix(3, 4, 1.0, Values::Integers, 1), false)]].concat();
        assert!(execute(&compiled, &wrong, &[], &pools()[1], &Counters::default()).is_err());
    }
}

/// Numbers of rows are those of the main input, even where most rows are empty.
#[test]
fn row_numbers_are_those_of_the_main_input() {
    let body = "%0 = main\n%1 = row_index\n%2 = mult %0, %1";
    let main = ones(9000, 3, &[(2, 0), (7000, 2), (8999, 0)]);
    let cell = example("cell col_agg", true, &[], &format!("{body}\nout %2 agg=sum"));
    let row = example("row col_agg", true, &[], &format!("{body}\nout %2 agg=sum"));
    for plan in [cell, row] {
        let (result, _) = run(&plan, &[main.clone().into()]);
        assert_eq!(result.to_dense().values(), [9001.0, 0.0, 7000.0], "{}", plan.plan);
    }
    let factors: &[ShapeOf] = &[|m, _| (m, 1), |_, n| (n, 1)];
    let left = example("outer left_mm", true, factors, &format!("{body}\nout %2"));
    let (u, v) = (Dense::from_fn(9000, 1, |_, _| 1.0), Dense::zeros(3, 1));
    let (result, _) = run(&left, &[main.into(), u.into(), v.into()]);
    assert_eq!(result.to_dense().values(), [9001.0, 0.0, 7000.0]);
}

/// Few columns of a wide sparse side are laid out, however far apart.
#[test]
fn fixed_columns_and_ranges_of_wide_sparse_sides_are_looked_up() {
    let wide: ShapeOf = |m, _| (m, 1_000_000);
    let cells: Vec<(usize, u32)> =
        (0..5000).flat_map(|row| [(row, 0), (row, 500_001), (row, 999_999 - row as u32 % 2)]).collect();
    let side = ones(5000, 1_000_000, &cells);
    let main = matrix(5000, 2, 0.9, Values::Integers, 4);
    let body = "%0 = main
        %1 = side_row_scalar in1[0]
        %2 = side_row_scalar in1[999999]
        %3 = plus %1, %2
        %4 = mult %0, %3
        out %4 agg=sum";
    let weight = |row: usize| if row.is_multiple_of(2) { 2.0 } else { 1.0 };
    let expected: f64 = (0..5000).map(|row| (main.get(row, 0) + main.get(row, 1)) * weight(row)).sum();
    for main in [stored(&main, false), stored(&main, true)] {
        for variant in ["cell full_agg", "row full_agg"] {
            let plan = example(variant, true, &[wide], body);
            assert_eq!(run(&plan, &[main.clone(), side.clone().into()]).0.get(0, 0), expected, "{variant}");
        }
    }
    let body = "%0 = side_row in1[500000:500002]\nout %0 agg=sum";
    let plan = example("row col_agg_const", false, &[wide], body);
    let (result, counters) = run(&plan, &[main.into(), side.into()]);
    assert_eq!(result.to_dense().values(), [0.0, 5000.0]);
    assert!(counters.genexec_calls() <= 5, "{} calls for pairs of cells", counters.genexec_calls());
}

/// A matrix may be the main input for its number of rows alone: nothing of it is laid out then.
#[test]
fn a_main_input_that_no_node_reads_costs_nothing() {
    let main = scattered(10_000, 1_000_000, 9);
    let body = "%0 = side_row in1[2:4]\n%1 = row_index\n%2 = cbind %0, %1\nout %2";
    let plan = example("row no_agg_const", false, &[|m, _| (m, 5)], body);
    let side = matrix(10_000, 5, 0.5, Values::Integers, 4);
    let (result, counters) = run(&plan, &[main.into(), side.clone().into()]);
    assert!((0..10_000).all(|row| result.get(row, 1) == side.get(row, 3) && result.get(row, 2) == row as f64));
    assert!(counters.genexec_calls() <= 10, "{} calls", counters.genexec_calls());
}

#[test]
fn rows_of_a_million_columns() {
    let cols = 1_000_000;
    let main = matrix(3, cols, 0.3, Values::Integers, 4);
    let vector = matrix(cols, 1, 0.5, Values::Integers, 5);
    let transposed: Vec<f64> = (0..cols)
        .map(|j| {
            (0..3).map(|i| main.get(i, j) * (0..cols).map(|l| main.get(i, l) * vector.get(l, 0)).sum::<f64>()).sum()
        })
        .take(50)
        .collect();
    for is_sparse in [false, true] {
        let (result, _) = run(&gradient(), &[stored(&main, is_sparse), stored(&vector, is_sparse)]);
        assert_eq!(&result.to_dense().values()[..50], transposed);
        let (result, _) = run(&sum_of_products(), &[stored(&main, is_sparse), stored(&main, !is_sparse)]);
        assert_eq!(result.get(0, 0), main.values().iter().map(|x| x * x).sum::<f64>());
    }
}

/// A row with most of the non-zeros is cut where rows may be, and is one unit among others where they may not.
#[test]
fn skewed_rows_are_shared_among_blocks() {
    let mut dense = matrix(600, 4000, 0.002, Values::Integers, 4);
    dense.values_mut()[200 * 4000..300 * 4000].fill(2.0);
    let sides = matrix(600, 4000, 0.5, Values::Integers, 5);
    let (result, counters) = run(&sum_of_products(), &[stored(&dense, true), stored(&sides, true)]);
    let expected: f64 = dense.values().iter().zip(sides.values()).map(|(x, y)| x * y).sum();
    assert_eq!(result.get(0, 0), expected);
    assert!(counters.genexec_calls() >= 40, "{} calls for 400,000 non-zeros", counters.genexec_calls());
    let vector = matrix(4000, 1, 1.0, Values::Integers, 6);
    let product = |is_sparse| run(&gradient(), &[stored(&dense, is_sparse), vector.clone().into()]).0;
    assert!(product(true) == product(false));
}

#[test]
fn a_row_longer_than_a_block_is_cut() {
    let plan = sum_of_products();
    let dense = inputs(&plan, 1, 140_000, 0.95, Values::Integers);
    let expected: f64 = dense[0].values().iter().zip(dense[1].values()).map(|(x, y)| x * y).sum();
    for is_sparse in [false, true] {
        let blocks: Vec<MatrixBlock> = dense.iter().map(|dense| stored(dense, is_sparse)).collect();
        let (result, counters) = run(&plan, &blocks);
        assert_eq!(result.get(0, 0), expected);
        assert!(counters.genexec_calls() > 10);
    }
}

/// Without a sparse entry, a sparse main input is laid out densely: the same bits.
#[test]
fn dense_units_give_the_same_bits_for_all_formats() {
    let body = "%0 = main\n%1 = side_cell in1\n%2 = plus %0, %1\nout %2 agg=sum";
    let rows = "%0 = main\n%1 = side_row in1\n%2 = plus %0, %1\nout %2 agg=sum";
    for plan in [example("cell full_agg", false, &[FULL], body), example("row col_agg", false, &[FULL], rows)] {
        let dense = inputs(&plan, 900, 37, 0.3, Values::Reals);
        let run = |is_sparse: bool| {
            let blocks: Vec<MatrixBlock> = dense.iter().map(|dense| stored(dense, is_sparse)).collect();
            bits(&run(&plan, &blocks).0)
        };
        assert!(run(false) == run(true), "{}", plan.plan);
    }
}

#[test]
fn results_over_non_zeros_are_stored_without_zeros() {
    let full = "%0 = main\n%1 = side_cell in1\n%2 = mult %0, %1\nout %2";
    let rows = "%0 = main\n%1 = side_row in1\n%2 = mult %0, %1\nout %2";
    let scaled = "%0 = main\n%1 = row_agg.sum %0\n%2 = side_row in1[1:9]\n%3 = mult %1, %2\nout %3";
    let plans = [
        (example("cell no_agg", true, &[FULL], full), 0.3, 1),
        (example("row no_agg", true, &[FULL], rows), 0.3, 1),
        (example("row no_agg_const", true, &[FULL], scaled), 0.004, 9),
    ];
    for (plan, density, most_of_each) in plans {
        let dense = inputs(&plan, 50, 60, density, Values::Integers);
        let blocks: Vec<MatrixBlock> = dense.iter().map(|dense| stored(dense, true)).collect();
        let result = run(&plan, &blocks).0;
        let csr = result.layout().sparse().unwrap_or_else(|| panic!("a dense result of {}", plan.plan));
        assert!(csr.values().iter().all(|&value| value != 0.0) && csr.nnz() > 0, "{}", plan.plan);
        assert!(csr.nnz() <= most_of_each * blocks[0].nnz(), "{}", plan.plan);
    }
}

#[test]
fn an_input_in_two_roles_is_an_error() {
    let body = "%0 = main
        %1 = side_vector in1
        %2 = side_row_scalar in1
        %3 = dot_product %0, %1
        %4 = mult %3, %2
        out %4";
    let plan = example("row row_agg", true, &[COLUMN], body);
    let blocks: Vec<MatrixBlock> = inputs(&plan, 5, 5, 1.0, Values::Integers).into_iter().map(Into::into).collect();
    let result = execute(&compile(&plan.plan, Isa::detect()), &blocks, &[], &pools()[0], &Counters::default());
    assert_eq!(result, Err(SkeletonError::Roles { input: CInputId::from_u32(1) }));
}

#[test]
fn a_column_beyond_the_last_is_an_error() {
    for (variant, node) in [("cell full_agg", "side_row_scalar in1[3]"), ("row full_agg", "side_row in1[1:4]")] {
        let plan = example(
            variant,
            true,
            &[|m, _| (m, 3)],
            &format!("%0 = main\n%1 = {node}\n%2 = mult %0, %1\nout %2 agg=sum"),
        );
        let blocks: Vec<MatrixBlock> = inputs(&plan, 5, 3, 1.0, Values::Integers).into_iter().map(Into::into).collect();
        let result = execute(&compile(&plan.plan, Isa::detect()), &blocks, &[], &pools()[0], &Counters::default());
        assert!(matches!(result, Err(SkeletonError::Dimensions { .. })), "{variant}: {result:?}");
    }
}

#[test]
fn calls_serve_thousands_of_cells() {
    let plan = sum_of_products();
    for (rows, cols) in [(100_000, 10), (1000, 1000), (10, 100_000)] {
        for is_sparse in [false, true] {
            let dense = inputs(&plan, rows, cols, 0.3, Values::Integers);
            let blocks: Vec<MatrixBlock> = dense.iter().map(|dense| stored(dense, is_sparse)).collect();
            let (_, counters) = run(&plan, &blocks);
            // Units are cut by the non-zeros of the main input, and have those at which all factors meet.
            let has_all = |&cell: &usize| dense.iter().all(|matrix| matrix.values()[cell] != 0.0);
            let met = (0..rows * cols).filter(has_all).count();
            let (cells, cut) = if is_sparse { (met, blocks[0].nnz()) } else { (rows * cols, rows * cols) };
            assert_eq!(counters.cells(), cells as u64);
            assert!(counters.genexec_calls() <= cut as u64 / 2048, "{} calls", counters.genexec_calls());
        }
    }
}

#[test]
fn calls_of_narrow_row_operators_serve_hundreds_of_rows() {
    let plan = gradient();
    for is_sparse in [false, true] {
        let dense = inputs(&plan, 20_000, 10, 0.2, Values::Integers);
        let blocks: Vec<MatrixBlock> = dense.iter().map(|dense| stored(dense, is_sparse)).collect();
        let (_, counters) = run(&plan, &blocks);
        // Some rows have no non-zeros, but too few to number the others.
        assert_eq!(counters.rows(), 20_000);
        assert!(counters.rows() >= 100 * counters.genexec_calls(), "{} calls", counters.genexec_calls());
    }
}

/// Whether the first cell of a plan's result is NaN, by default and in strict IEEE arithmetic.
fn is_nan(example: &Example, inputs: &[MatrixBlock]) -> [bool; 2] {
    let (compiled, counters, buffers) = (compile(&example.plan, Isa::detect()), Counters::default(), common::buffers());
    let primitives = fuseline_vecprims::primitives(Isa::detect());
    [false, true].map(|strict_ieee| {
        let env = Execution {
            pool: &pools()[0],
            buffers: &buffers,
            counters: &counters,
            primitives,
            strict_ieee,
            strip_bytes: STRIP_BYTES,
        };
        fuseline_skeletons::execute(&compiled, inputs, &[], &env).unwrap().get(0, 0).is_nan()
    })
}

/// A zero of a sparse row annihilates an infinity by default, and makes NaN of it in strict IEEE arithmetic.
#[test]
fn strict_arithmetic_multiplies_the_zeros_of_sparse_rows() {
    let mut product = gradient();
    product.plan.sparse_safe = false;
    let mut main = Dense::zeros(3, 4);
    main.values_mut()[0] = 1.0;
    let infinite = Dense::from_vec(4, 1, vec![2.0, f64::INFINITY, 0.0, 0.0]);
    assert_eq!(is_nan(&product, &[stored(&main, true), infinite.into()]), [false, true]);
    // Wherever the infinity is: at a position of another sparse row, in a column, or in a row of a dense matrix.
    let scaled = "%0 = main\n%1 = side_row in1\n%2 = mult %0, %1\n%3 = row_agg.sum %2\nout %3";
    let scaled = example("row row_agg", false, &[FULL], scaled);
    let side = Dense::from_fn(3, 4, |i, j| if (i, j) == (0, 2) { f64::INFINITY } else { 0.0 });
    for is_sparse in [false, true] {
        assert_eq!(is_nan(&scaled, &[stored(&main, true), stored(&side, is_sparse)]), [false, true]);
    }
}
