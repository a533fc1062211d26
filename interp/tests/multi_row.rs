//! Row multi-aggregates: several outputs over one scan of the rows give what each of them gives by itself.

mod common;

use common::plans::{Example, example};
use common::{Values, bits, compile, execute, matrix, pools, stored};
use fuseline_ir::cplan::{CNodeId, COutput, CPlan};
use fuseline_ir::ops::AggOp;
use fuseline_matrix::{Csr, Dense, MatrixBlock};
use fuseline_skeletons::{Counters, SkeletonError};
use fuseline_vecprims::Isa;
use std::collections::HashMap;

/// k-means with two clusters: the sum of least distances, the sizes of the clusters, and the sums of their points. Inputs are
/// the points, the transposed centroids and their norms.
fn clusters() -> Example {
    let body = "%0 = main
        %1 = vect_mat_mult %0, in1
        %2 = literal -2.0
        %3 = side_vector in2
        %4 = mult %1, %2
        %5 = plus %4, %3
        %6 = row_agg.min %5
        %7 = le %5, %6
        %8 = row_agg.sum %7
        %9 = div %7, %8
        out %6 agg=sum
        out %9 agg=sum
        out %0 left=%9";
    example("row multi_agg", false, &[|_, n| (n, 2), |_, _| (1, 2)], body)
}

/// Every variant of an output, over rows that are used element-wise.
fn of_cells(agg: AggOp) -> Example {
    let body = format!(
        "%0 = main
        %1 = side_row in1
        %2 = mult %0, %1
        %3 = vect_mat_mult %2, in2
        %4 = row_agg.sum %2
        %5 = cbind %4, %3
        out %2 agg={agg}
        out %4 agg={agg}
        out %3 agg={agg}
        out %5 agg={agg}
        out %2 agg=sum
        out %4 left=%2
        out %2 left=%3
        out %3 left=%2"
    );
    example("row multi_agg", true, &[|m, n| (m, n), |_, n| (n, 3)], &body)
}

/// The same over rows that are multiplied and aggregated alone, so that sparse ones stay sparse.
fn of_products(agg: AggOp) -> Example {
    let body = format!(
        "%0 = main
        %1 = vect_mat_mult %0, in1
        %2 = row_agg.sum %0
        %3 = cbind %2, %1
        out %2 agg={agg}
        out %1 agg={agg}
        out %3 agg={agg}
        out %0 agg=sumsq
        out %2 left=%0
        out %0 left=%1
        out %1 left=%0"
    );
    example("row multi_agg", true, &[|_, n| (n, 3)], &body)
}

/// The plan of one output alone.
fn alone(plan: &CPlan, output: &COutput) -> CPlan {
    let mut used: Vec<CNodeId> = output.operands().to_vec();
    for (id, node) in plan.nodes.iter().rev() {
        if used.contains(&id) {
            used.extend(node.operands());
        }
    }
    let variant = plan.output_variant(output, &plan.shapes()).expect("the plan is well-formed");
    let mut single = CPlan { variant, outputs: vec![], ..plan.clone() };
    single.nodes.clear();
    let mut moved: HashMap<CNodeId, CNodeId> = HashMap::new();
    for (id, node) in plan.nodes.iter().filter(|(id, _)| used.contains(id)) {
        moved.insert(id, single.nodes.push(node.map_operands(|operand| moved[&operand])));
    }
    single.outputs = vec![output.map_operands(|operand| moved[&operand])];
    single
}

fn run(plan: &CPlan, inputs: &[MatrixBlock], pool: usize) -> (MatrixBlock, Counters) {
    let counters = Counters::default();
    let result = execute(&compile(plan, Isa::detect()), inputs, &[], &pools()[pool], &counters);
    (result.unwrap_or_else(|error| panic!("{error}\n{plan}")), counters)
}

/// Checks a plan against those of its outputs, on integers, and that threads change no bit.
fn check(example: &Example, main: &MatrixBlock) {
    let plan = &example.plan;
    let sides = example.shapes.iter().enumerate().skip(1).map(|(position, shape)| {
        let (rows, cols) = shape(main.rows(), main.cols());
        matrix(rows, cols, 0.7, Values::Integers, position as u64).into()
    });
    let inputs: Vec<MatrixBlock> = std::iter::once(main.clone()).chain(sides).collect();
    let (result, _) = run(plan, &inputs, 0);
    let mut expected = Vec::new();
    for output in &plan.outputs {
        expected.extend_from_slice(run(&alone(plan, output), &inputs, 0).0.to_dense().values());
    }
    let context = format!("{} x {}, {plan}", main.rows(), main.cols());
    assert_eq!(result.dims(), (expected.len(), 1), "{context}");
    for (cell, (&x, &y)) in result.to_dense().values().iter().zip(&expected).enumerate() {
        assert!(x == y || x.is_nan() && y.is_nan(), "cell {cell} is {x}, not {y}: {context}");
    }
    for pool in 1..pools().len() {
        assert!(bits(&run(plan, &inputs, pool).0) == bits(&result), "{context}");
    }
}

fn examples() -> Vec<Example> {
    let aggs = AggOp::ALL.iter().copied().filter(|agg| agg.merges());
    aggs.flat_map(|agg| [of_cells(agg), of_products(agg)]).chain([clusters()]).collect()
}

#[test]
fn outputs_are_what_each_is_by_itself() {
    for (rows, cols, density) in [(700, 8, 1.0), (700, 8, 0.3), (3000, 40, 0.002), (9, 300, 0.5), (40, 6, 0.0)] {
        let dense = matrix(rows, cols, density, Values::Integers, 7);
        for example in examples() {
            check(&example, &stored(&dense, false));
            check(&example, &stored(&dense, true));
        }
    }
}

#[test]
fn without_rows_of_one_row_and_without_columns() {
    for (rows, cols) in [(0, 0), (0, 4), (1, 4), (5, 0), (1, 1)] {
        let dense = matrix(rows, cols, 0.7, Values::Integers, 7);
        for example in examples() {
            check(&example, &stored(&dense, false));
            check(&example, &stored(&dense, true));
        }
    }
}

/// Reals in many blocks: the same bits whatever the number of threads and the format of what is laid out densely.
#[test]
fn blocks_merge_in_their_order() {
    let example = clusters();
    let dense = matrix(60_000, 10, 0.9, Values::Reals, 3);
    let sides = [matrix(10, 2, 1.0, Values::Reals, 4), matrix(1, 2, 1.0, Values::Reals, 5)];
    for is_sparse in [false, true] {
        let inputs = [stored(&dense, is_sparse), sides[0].clone().into(), sides[1].clone().into()];
        let (first, counters) = run(&example.plan, &inputs, 0);
        assert_eq!(counters.rows(), 60_000);
        for pool in 1..pools().len() {
            assert!(bits(&run(&example.plan, &inputs, pool).0) == bits(&first));
        }
    }
}

/// One scan serves all outputs: each row is visited once, and rows without non-zeros are not.
#[test]
fn rows_of_zeros_are_not_visited_and_count_in_extremes() {
    let cells: Vec<(usize, usize)> = (0..50).map(|cell| (cell * 199 + 3, cell % 6)).collect();
    let mut dense = Dense::zeros(10_000, 6);
    cells.iter().for_each(|&(row, column)| dense.values_mut()[row * 6 + column] = 2.0);
    let main: MatrixBlock = Csr::from_dense(&dense).into();
    let body = "%0 = main
        %1 = row_agg.sum %0
        %2 = abs %0
        out %1 agg=min
        out %1 agg=sum
        out %2 agg=min
        out %2 agg=prod
        out %2 agg=max
        out %1 left=%2";
    let plan = example("row multi_agg", true, &[], body).plan;
    let (result, counters) = run(&plan, &[main], 1);
    assert_eq!(counters.rows(), 50);
    let sums: Vec<f64> =
        (0..6).map(|column| 4.0 * cells.iter().filter(|cell| cell.1 == column).count() as f64).collect();
    let expected = [&[0.0, 100.0][..], &[0.0; 12], &[2.0; 6], &sums].concat();
    assert_eq!(result.to_dense().values(), expected);
}

/// A product, or all outputs together, may have more cells than memory has addresses.
#[test]
fn outputs_beyond_all_memory_are_errors() {
    let run = |cols: [usize; 2], outputs: &str| {
        let body = format!("%0 = main\n%1 = side_row in1\n{outputs}");
        let plan = example("row multi_agg", false, &[|_, n| (1, n)], &body).plan;
        let inputs = cols.map(|cols| Csr::empty(1, cols).into());
        execute(&compile(&plan, Isa::detect()), &inputs, &[], &pools()[0], &Counters::default())
    };
    let [short, long] = [1 << 29, 1 << 30];
    let product = run([long, long], "out %1 left=%0");
    assert_eq!(product, Err(SkeletonError::TooLarge { rows: long, cols: long }));
    let together = run([long, short], "out %1 left=%0\nout %0 left=%1");
    assert_eq!(together, Err(SkeletonError::TooLarge { rows: 1 << 60, cols: 1 }));
}
