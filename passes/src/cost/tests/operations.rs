//! Classes of operations, and how rows and indexes count.

use super::*;
use fuseline_ir::ops::{AggOp, Direction};

/// Quotients have a rate of their own, and squares are products.
#[test]
fn quotients_and_squares_are_told_apart() {
    let mut d = Dag::default();
    let (x, y) = (d.read("X", 1000, 10), d.read("Y", 1000, 10));
    let two = d.number(2.0);
    let three = d.number(3.0);
    let quotient = d.op(BinaryOp::Div, &[x, y]);
    let square = d.op(BinaryOp::Pow, &[x, two]);
    let cube = d.op(BinaryOp::Pow, &[x, three]);
    let work = |root: HopId, inputs: &[HopId]| vector_of(&d.dag, None, &[root], inputs).work;
    assert_eq!(work(quotient, &[x, y]).flops_of(OperationClass::Division), BinaryOp::Div.flops() * 1e4);
    assert_eq!(work(square, &[x, two]).flops_of(OperationClass::Arithmetic), 1e4);
    assert_eq!(work(cube, &[x, three]).flops_of(OperationClass::Function), BinaryOp::Pow.flops() * 1e4);
}

/// Square roots are the work of the unit that divides, and what an operation expands to decides on its class.
#[test]
fn the_dearest_step_of_an_operation_decides_on_its_class() {
    let mut d = Dag::default();
    let x = d.read("X", 1000, 10);
    let classes = [
        (UnaryOp::Sqrt, OperationClass::Division),
        (UnaryOp::LogNz, OperationClass::Function),
        (UnaryOp::Round, OperationClass::Arithmetic),
    ];
    for (op, class) in classes {
        let root = d.op(op, &[x]);
        assert_eq!(vector_of(&d.dag, None, &[root], &[x]).work.flops_of(class), op.flops() * 1e4, "{op:?}");
    }
    let remainder = d.op(BinaryOp::Modulus, &[x, x]);
    let work = vector_of(&d.dag, None, &[remainder], &[x]).work;
    assert_eq!(work.flops_of(OperationClass::Division), BinaryOp::Modulus.flops() * 1e4);
}

/// What aggregates by row, or reads a value for each row, goes row by row, and every row fills whole registers.
#[test]
fn operators_over_cells_go_by_rows_where_rows_differ() {
    let mut d = Dag::default();
    let (x, y, w) = (d.read("X", 1000, 3), d.read("Y", 1000, 3), d.read("w", 1000, 1));
    let (product, scaled) = (d.mult(x, y), d.mult(x, w));
    let (total, weighted) = (d.sum(product), d.sum(scaled));
    let by_row = d.op((AggOp::Sum, Direction::Row), &[product]);
    let work = |members: &[HopId], inputs: &[HopId]| vector_of(&d.dag, Some(TemplateType::Cell), members, inputs).work;
    let flat = work(&[product, total], &[x, y]);
    let mut machine = paper().machine;
    machine.lanes = 8;
    machine.start.row = 1e-9;
    assert_eq!(flat.rows, 0.0);
    assert_close(flat.seconds(&machine, 1.0), 6000.0 / 10e9);
    for by_rows in [work(&[product, by_row], &[x, y]), work(&[scaled, weighted], &[x, w])] {
        assert_eq!((by_rows.rows, by_rows.row_values, by_rows.runs), (1000.0, 3.0, 0.0));
        assert_close(by_rows.seconds(&machine, 1.0), 16_000.0 / 10e9 + 1e-6);
    }
    let limits = TemplateLimits::default();
    let both = multi_aggregate_vector(
        &Context::new(&d.dag, &limits),
        TemplateType::MAgg,
        &[total, weighted],
        &[product, scaled, total, weighted],
        &[x, y, w],
    );
    assert_eq!(both.work.rows, 1000.0);
}

/// An index copies a row at a time, and its result decides whether threads share that.
#[test]
fn an_index_is_priced_by_the_rows_of_its_result() {
    let mut d = Dag::default();
    let x = d.read("X", 100_000, 100);
    let ones = [1.0, 50_000.0, 1.0, 2.0].map(|value| d.number(value));
    let part = d.op(HopOp::Index, &[&[x], &ones[..]].concat());
    let vector = vector_of(&d.dag, None, &[part], &[x]);
    assert_eq!((vector.cells, vector.work.flops_of(OperationClass::Reorganization)), (100_000.0, 50_000.0));
    let mut model = paper();
    model.machine.threads = 2;
    model.machine.start = StartCosts { basic: 1e-6, parallel: 9e-6, ..model.machine.start };
    assert_close(terms_of(&model, &d.dag, &[part], &[x]).start, 1e-5);
}

/// A basic operator with a single value needs no memory.
#[test]
fn single_values_have_a_start_of_their_own() {
    let mut d = Dag::default();
    let x = d.read("X", 10, 10);
    let (total, doubled) = (d.sum(x), d.plus(x, x));
    let mut model = paper();
    model.machine.start = StartCosts { basic: 3e-6, scalar: 1e-6, ..model.machine.start };
    let start = |root: HopId| terms_of(&model, &d.dag, &[root], &[x]).start;
    assert_eq!((start(total), start(doubled)), (1e-6, 3e-6));
}

/// What the longer of reading and computing does not hide of the other, where rows are long: P116 where it hides all.
#[test]
fn long_rows_are_read_before_they_are_computed_on() {
    let terms = |cols: u64, overlap: f64| {
        let mut d = Dag::default();
        let (x, v) = (d.read("X", 1000, cols), d.read("v", cols, 1));
        let product = d.matmul(x, v);
        let transposed = d.t(x);
        let root = d.matmul(transposed, product);
        let mut model = paper();
        model.machine.overlap = overlap;
        let operator = operator(Some(TemplateType::Row), &[product, transposed, root], &[x, v]);
        let limits = TemplateLimits::default();
        model.operator_terms(&Context::new(&d.dag, &limits), &operator)
    };
    let hidden = terms(100, 1.0);
    assert_eq!(hidden.exposed, 0.0);
    assert_close(terms(100, 0.25).exposed, 0.75 * hidden.read.min(hidden.compute));
    assert_close(terms(100, 0.0).seconds(), hidden.write + hidden.read + hidden.compute);
    assert_eq!(terms(10, 0.0).exposed, 0.0);
}

/// The second product finds the row of a sparse matrix in the nearest cache.
#[test]
fn a_second_product_visits_non_zeros_again() {
    let mut d = Dag::default();
    let (x, v) = (d.sparse("X", 1000, 100, 1000), d.read("v", 100, 1));
    let product = d.matmul(x, v);
    let transposed = d.t(x);
    let root = d.matmul(transposed, product);
    let work = vector_of(&d.dag, Some(TemplateType::Row), &[product, transposed, root], &[x, v]).work;
    assert_eq!((work.non_zeros, work.non_zeros_again, work.sparse_rows), (1000.0, 1000.0, 1000.0));
}

/// Threads share products by rows, or by a long inner dimension.
#[test]
fn products_are_shared_by_rows() {
    let cells = |rows: u64, inner: u64| {
        let mut d = Dag::default();
        let (x, y) = (d.read("X", rows, inner), d.read("Y", inner, 500));
        let product = d.matmul(x, y);
        vector_of(&d.dag, None, &[product], &[x, y]).cells
    };
    assert!(cells(128, 500) <= BLOCK_CELLS as f64 && cells(129, 500) > BLOCK_CELLS as f64);
    assert!(cells(100, 4096) > BLOCK_CELLS as f64);
}
