//! Classes of operations, and how rows and indexes count.

use super::*;
use crate::sketch::{InputSketches, SparsityEstimates};
use fuseline_ir::ops::{AggOp, BinaryOp, Direction, TernaryOp, UnaryOp};

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

/// What aggregates by row, or reads a value for each row, goes row by row, and every row fills whole registers unless rows are
/// narrow: these are one run, beside loops that aggregate, and repeat what belongs to rows.
#[test]
fn operators_over_cells_go_by_rows_where_rows_differ() {
    let mut machine = paper().machine;
    machine.lanes = 8;
    machine.start.row = 1e-9;
    for (cols, row_values, filled) in [(3, 0.0, 3.0), (33, 33.0, 40.0)] {
        let mut d = Dag::default();
        let (x, y, w) = (d.read("X", 1000, cols), d.read("Y", 1000, cols), d.read("w", 1000, 1));
        let (product, scaled) = (d.mult(x, y), d.mult(x, w));
        let (total, weighted) = (d.sum(product), d.sum(scaled));
        let by_row = d.op((AggOp::Sum, Direction::Row), &[product]);
        let work =
            |members: &[HopId], inputs: &[HopId]| vector_of(&d.dag, Some(TemplateType::Cell), members, inputs).work;
        let flat = work(&[product, total], &[x, y]);
        assert_eq!(flat.rows, 0.0);
        assert_close(flat.seconds(&machine, 1.0), 2000.0 * cols as f64 / 10e9);
        for (by_rows, loops) in [(work(&[product, by_row], &[x, y]), 1.0), (work(&[scaled, weighted], &[x, w]), 2.0)] {
            let looped = if row_values == 0.0 { loops * 1000.0 * cols as f64 } else { 0.0 };
            assert_eq!((by_rows.rows, by_rows.row_values(), by_rows.runs), (1000.0, row_values, 0.0));
            assert_eq!(by_rows.row_cells, looped);
            assert_close(by_rows.seconds(&machine, 1.0), (2000.0 * filled + looped) / 10e9 + 1e-6);
        }
    }
    let mut d = Dag::default();
    let (x, y, w) = (d.read("X", 1000, 3), d.read("Y", 1000, 3), d.read("w", 1000, 1));
    let (product, scaled) = (d.mult(x, y), d.mult(x, w));
    let (total, weighted) = (d.sum(product), d.sum(scaled));
    let limits = TemplateLimits::default();
    let both = Operator {
        template: Some(TemplateType::MAgg),
        roots: vec![total, weighted].into(),
        members: vec![product, scaled, total, weighted].into(),
        inputs: vec![x, y, w].into(),
    };
    let both = cost_vector(&Context::new(&d.dag, &limits), &both).unwrap();
    assert_eq!(both.work.rows, 1000.0);
}

/// A column of a wider matrix is read by its stride, unless the operator aggregates.
#[test]
fn a_single_column_is_one_run() {
    let mut d = Dag::default();
    let (x, y) = (d.read("X", 1000, 2), d.read("y", 1000, 1));
    let [first, last] = [1.0, 1000.0].map(|value| d.number(value));
    let column = d.op(HopOp::Index, &[x, first, last, first, first]);
    let scaled = d.mult(column, y);
    let total = d.sum(scaled);
    let rows = |members: &[HopId]| vector_of(&d.dag, Some(TemplateType::Cell), members, &[x, y, first, last]).work.rows;
    assert_eq!((rows(&[column, scaled]), rows(&[column, scaled, total])), (0.0, 1000.0));
}

/// An index copies a row at a time, and its result decides whether threads share that.
#[test]
fn an_index_is_priced_by_the_rows_of_its_result() {
    let mut d = Dag::default();
    let x = d.read("X", 100_000, 100);
    let ones = [1.0, 50_000.0, 1.0, 2.0].map(|value| d.number(value));
    let part = d.op(HopOp::Index, &[&[x], &ones[..]].concat());
    let vector = vector_of(&d.dag, None, &[part], &[x]);
    assert_eq!(vector.input(), 8.0 * 50_000.0 * 9.0, "two columns, in two cache lines at most");
    let exponential = d.op(HopOp::Unary(UnaryOp::Exp), &[part]);
    let fused = vector_of(&d.dag, Some(TemplateType::Row), &[part, exponential], &[x]);
    assert_eq!(fused.input(), vector.input());
    assert_eq!((vector.is_shared, vector.work.flops_of(OperationClass::Reorganization)), (true, 50_000.0));
    let mut model = paper();
    model.machine.threads = 2;
    model.machine.start = StartCosts { basic: 1e-6, parallel: 9e-6, ..model.machine.start };
    assert_close(terms_of(&model, &d.dag, &[part], &[x]).start, 1e-5);
}

/// A batch of a sparse matrix costs what its rows have.
#[test]
fn an_index_visits_the_rows_of_its_range() {
    let mut d = Dag::default();
    let x = d.sparse("X", 100_000, 100, 500_000);
    let range = [1.0, 1000.0, 1.0, 100.0].map(|value| d.number(value));
    let part = d.op(HopOp::Index, &[&[x], &range[..]].concat());
    let vector = vector_of(&d.dag, None, &[part], &[x]);
    assert_eq!((vector.work.sparse_rows, vector.work.non_zeros), (1000.0, 5000.0));
}

/// Appended columns are copied by the parts of rows, however wide.
#[test]
fn appended_columns_are_priced_by_parts_of_rows() {
    let mut d = Dag::default();
    let (x, w) = (d.read("X", 1000, 50), d.read("w", 1000, 1));
    let both = d.op(HopOp::Nary(fuseline_ir::hop::NaryOp::Cbind), &[x, w]);
    let work = vector_of(&d.dag, None, &[both], &[x, w]).work;
    assert_eq!((work.flops_of(OperationClass::Reorganization), work.flops()), (2000.0, 2000.0));
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

/// What the longer of reading and computing does not hide of the other, where rows are dense: P116 where it hides all.
#[test]
fn rows_are_read_before_they_are_computed_on() {
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
}

/// Of two operators that read the same, the one that computes less is the cheaper one.
#[test]
fn what_overlaps_is_not_free() {
    let mut d = Dag::default();
    let x = d.read("X", 1000, 1000);
    let (sum, twice) = (d.sum(x), d.plus(x, x));
    let total = d.sum(twice);
    let mut model = paper();
    model.machine.exposed = 0.1;
    let short = terms_of(&model, &d.dag, &[sum], &[x]);
    let long = terms_of(&model, &d.dag, &[twice, total], &[x]);
    assert!(short.read == long.read && long.compute < long.read, "both wait for memory");
    assert_close(long.seconds() - short.seconds(), 0.1 * (long.compute - short.compute));
}

/// Where two sparse matrices meet, the aggregate takes in what is left of both, in a fused operator as in a basic one: so
/// writing the product first never saves anything.
#[test]
fn aggregates_take_in_what_is_left_where_sparse_inputs_meet() {
    let mut d = Dag::default();
    let (x, y) = (d.sparse("X", 1000, 1000, 100_000), d.sparse("Y", 1000, 1000, 10_000));
    let product = d.mult(x, y);
    let total = d.sum(product);
    let fused = vector_of(&d.dag, Some(TemplateType::Cell), &[product, total], &[x, y]);
    let (multiplied, summed) =
        (vector_of(&d.dag, None, &[product], &[x, y]), vector_of(&d.dag, None, &[total], &[product]));
    assert!(fused.work.flops() <= multiplied.work.flops() + summed.work.flops());
    let model = CostModel::default();
    let apart = terms_of(&model, &d.dag, &[product], &[x, y]).seconds()
        + terms_of(&model, &d.dag, &[total], &[product]).seconds();
    assert!(terms_of(&model, &d.dag, &[product, total], &[x, y]).seconds() < apart);
}

/// Right sides beyond the caches of a core are read anew, and sums read and written, for each unit, which has at most
/// eight long rows, and as many in all of even blocks; below they are not.
#[test]
fn rows_go_through_what_outgrows_the_caches_of_a_core() {
    const ROWS: u64 = 100;
    let read_and_swept = |cols: u64, is_transposed: bool| {
        let mut d = Dag::default();
        let x = d.read("X", ROWS, cols);
        let doubled = d.plus(x, x);
        let (right, members) = if is_transposed {
            let u = d.read("U", ROWS, 4);
            let transposed = d.t(doubled);
            let root = d.matmul(transposed, u);
            (u, vec![doubled, transposed, root])
        } else {
            let v = d.read("V", cols, 4);
            let root = d.matmul(doubled, v);
            (v, vec![doubled, root])
        };
        let mut model = paper();
        model.machine.caches[1].size = 1e5;
        let operator = operator(Some(TemplateType::Row), &members, &[x, right]);
        let limits = TemplateLimits::default();
        let context = Context::new(&d.dag, &limits);
        let once = (ROWS * cols * 8 + if is_transposed { ROWS } else { cols } * 32) as f64 / 32e9;
        (model.operator_terms(&context, &operator).read, once)
    };
    for is_transposed in [false, true] {
        // Eight blocks keep sums to themselves, which are filled and merged.
        let merged = |bytes: f64| if is_transposed { 8.0 * bytes * (1.0 / 16e9 + 1.0 / 32e9) } else { 0.0 };
        let (read, once) = read_and_swept(3000, is_transposed);
        assert_close(read, once + merged(3000.0 * 32.0));
        let (read, once) = read_and_swept(4000, is_transposed);
        let bytes = 4000.0 * 32.0;
        let sweep = bytes / 32e9 + if is_transposed { bytes / 16e9 } else { 0.0 };
        let units = if is_transposed { ROWS.div_ceil(8) } else { ROWS.div_ceil(7) };
        assert_close(read, once + merged(bytes) + (units - 1) as f64 * sweep);
    }
}

/// Basic operators go by non-zeros where kernels do: of one matrix beside scalars, whatever becomes of its zeros, and of two
/// that are joined; not beside a dense matrix, even where that does not matter.
#[test]
fn basic_operators_go_by_non_zeros() {
    let mut d = Dag::default();
    let (s, t) = (d.sparse("S", 1000, 1000, 10_000), d.sparse("T", 1000, 1000, 20_000));
    let (dense, two) = (d.read("X", 1000, 1000), d.number(2.0));
    let share = |dag: &HopDag, id: HopId| vector_of(dag, None, &[id], &dag[id].inputs).sparsity;
    let exponential = d.op(UnaryOp::Exp, &[s]);
    let comparison = d.op(BinaryOp::LessEqual, &[s, two]);
    let (joined, filled) = (d.op(BinaryOp::Max, &[s, t]), d.plus(s, dense));
    let chosen = d.op(TernaryOp::IfElse, &[s, two, two]);
    let beside = [d.op(TernaryOp::IfElse, &[s, dense, two]), d.op(BinaryOp::Pow, &[dense, s]), filled];
    assert_eq!([exponential, comparison, chosen, joined].map(|id| share(&d.dag, id)), [0.01, 0.01, 0.01, 0.03]);
    assert_eq!(beside.map(|id| share(&d.dag, id)), [1.0; 3]);
}

/// A result that has all non-zeros of the sparse matrix that it is computed of shares their positions, and writes its values; one
/// with others writes both.
#[test]
fn results_of_one_pattern_write_values_alone() {
    const NON_ZEROS: u64 = 10_000;
    let mut d = Dag::default();
    let (s, t) = (d.sparse("S", 1000, 1000, NON_ZEROS), d.sparse("T", 1000, 1000, NON_ZEROS));
    let (u, dense) = (d.read("u", 1000, 1), d.read("X", 1000, 1000));
    let scaled = d.op(BinaryOp::Div, &[s, u]);
    let root_of = d.op(UnaryOp::Sqrt, &[s]);
    let chosen = d.mult(s, dense);
    let (sum, met, filled) = (d.plus(s, t), d.mult(s, t), d.plus(s, dense));
    let output = |id: HopId| vector_of(&d.dag, None, &[id], &d.dag[id].inputs).output;
    let size = |id: HopId| d.dag[id].size.bytes().expect("sizes are known") as f64;
    assert_eq!([scaled, root_of, chosen].map(output), [8.0 * NON_ZEROS as f64; 3]);
    assert_eq!([sum, met, filled].map(output), [sum, met, filled].map(size));
    for template in [TemplateType::Cell, TemplateType::Row] {
        let doubled = vector_of(&d.dag, Some(template), &[scaled], &[s, u]).output;
        assert_eq!(doubled, 8.0 * NON_ZEROS as f64, "{template:?}");
    }
}

/// Of a sparse result of an operator over all cells non-zeros are told from zeros; what goes by non-zeros computes these alone, at
/// positions that are there. Either writes no other cells.
#[test]
fn sparse_results_of_all_cells_are_compacted() {
    let mut d = Dag::default();
    let (s, dense) = (d.sparse("S", 1000, 1000, 10_000), d.read("X", 1000, 1000));
    let least = d.op(BinaryOp::Min, &[s, dense]);
    d.dag.hops[least].size = SizeInfo::with_nnz(1000, 1000, 10_000);
    let product = d.mult(s, dense);
    let size = |id: HopId| d.dag[id].size.bytes().expect("sizes are known") as f64;
    let vector = |template, id| vector_of(&d.dag, template, &[id], &[s, dense]);
    for template in [None, Some(TemplateType::Cell), Some(TemplateType::Row)] {
        let (all, some) = (vector(template, least), vector(template, product));
        assert_close(all.output, size(least));
        assert_close(some.output, 8.0 * 10_000.0);
        assert!(all.work.compacted > some.work.compacted, "cells are told from zeros: {template:?}");
    }
}

/// Results of operations on two sparse matrices are stored wherever either has a position; fused operators go again only through
/// what is left out of it then.
#[test]
fn joined_results_are_stored_with_their_zeros() {
    let mut d = Dag::default();
    let (x, y) = (d.sparse("X", 1000, 1000, 10_000), d.sparse("Y", 1000, 1000, 20_000));
    let sum = d.plus(x, y);
    for kept in [29_800, 30_000, 100] {
        d.dag.hops[sum].size = SizeInfo::with_nnz(1000, 1000, kept);
        let moved = |template| vector_of(&d.dag, template, &[sum], &[x, y]).work.moved;
        assert_close(moved(Some(TemplateType::Cell)), 30_000.0 - kept as f64);
        assert_close(moved(None) - moved(Some(TemplateType::Cell)), kept as f64);
    }
}

/// Rows of several sparse matrices are combined where non-zeros are visited, and read one by one where they are laid out for all
/// cells.
#[test]
fn rows_that_are_laid_out_are_not_combined() {
    let mut d = Dag::default();
    let (x, y) = (d.sparse("X", 1000, 1000, 10_000), d.sparse("Y", 1000, 1000, 20_000));
    let (one, two) = (d.number(1.0), d.number(2.0));
    let (filled, doubled) = (d.plus(x, one), d.mult(x, two));
    let (all, some) = (d.plus(filled, y), d.plus(doubled, y));
    let work = |members: &[HopId]| vector_of(&d.dag, Some(TemplateType::Cell), members, &[x, y]).work;
    let [all, some] = [work(&[filled, all]), work(&[doubled, some])];
    assert_eq!([all.joined, all.met, all.combined_rows], [0.0; 3]);
    assert!(all.laid_out == 2e6 && all.non_zeros == 30_000.0);
    assert!(some.joined == 30_000.0 && some.combined_rows > 0.0);
}

/// Values that are rounded to zero are left out, by basic and by fused operators.
#[test]
fn what_makes_zeros_stores_a_pattern_of_its_own() {
    let mut d = Dag::default();
    let x = d.sparse("X", 1000, 1000, 10_000);
    let (rounded, roots) = (d.op(UnaryOp::Round, &[x]), d.op(UnaryOp::Sqrt, &[x]));
    let (zero, half) = (d.number(0.0), d.number(0.5));
    let [any, above] = [zero, half].map(|bound| d.op(BinaryOp::Greater, &[x, bound]));
    let stored = |template, member: HopId| vector_of(&d.dag, template, &[member], &[x]).work.stored;
    for template in [None, Some(TemplateType::Cell)] {
        assert_eq!([rounded, above].map(|member| stored(template, member)), [10_000.0; 2], "{template:?}");
        assert_eq!([roots, any].map(|member| stored(template, member)), [0.0; 2], "{template:?}");
    }
}

/// What is multiplied with a vector of questions loses non-zeros, whether the operator asks itself or another one did.
#[test]
fn products_with_questions_store_a_pattern_of_their_own() {
    let mut d = Dag::default();
    let (x, c) = (d.sparse("X", 1000, 1000, 10_000), d.read("c", 1, 1000));
    let half = d.number(0.5);
    let asked = d.op(BinaryOp::Less, &[c, half]);
    let (chosen, scaled) = (d.mult(x, asked), d.mult(x, c));
    let stored =
        |template, members: &[HopId], inputs: &[HopId]| vector_of(&d.dag, template, members, inputs).work.stored;
    let cell = Some(TemplateType::Cell);
    assert_eq!([stored(None, &[chosen], &[x, asked]), stored(cell, &[chosen], &[x, asked])], [10_000.0; 2]);
    assert_eq!(stored(cell, &[asked, chosen], &[x, c]), 10_000.0);
    assert_eq!([stored(None, &[scaled], &[x, c]), stored(cell, &[scaled], &[x, c])], [0.0; 2]);
}

/// Values of rows are given to non-zeros, which asks for no columns, and those of columns are looked up, which asks for no rows. What a
/// fused operator looks up it stores nowhere.
#[test]
fn vectors_beside_non_zeros_are_given_or_looked_up() {
    let mut d = Dag::default();
    let x = d.sparse("X", 1000, 200, 10_000);
    let (r, c) = (d.read("r", 1000, 1), d.read("c", 1, 200));
    let (by_row, by_column) = (d.mult(x, r), d.mult(x, c));
    let both = d.mult(by_row, c);
    let work = |template, members: &[HopId], inputs: &[HopId]| {
        let work = vector_of(&d.dag, template, members, inputs).work;
        [work.non_zeros, work.sparse_rows, work.spread, work.spread_rows]
    };
    let cell = Some(TemplateType::Cell);
    assert_eq!(work(None, &[by_row], &[x, r]), [0.0, 0.35 * 1000.0, 10_000.0, 1000.0]);
    assert_eq!(work(cell, &[by_row], &[x, r]), [0.0, 0.35 * 1000.0, 10_000.0, 1000.0]);
    assert_eq!(work(None, &[by_column], &[x, c]), [10_000.0, 0.0, 0.0, 0.0]);
    assert_eq!(work(cell, &[by_column], &[x, c]), [7500.0, 0.0, 0.0, 0.0]);
    assert_eq!(work(cell, &[by_row, both], &[x, r, c]), [7500.0, 0.35 * 1000.0, 10_000.0, 1000.0]);
}

/// Rows of fewer cells than a cache line take longer to store, each of them, and longer ones do not.
#[test]
fn rows_below_a_cache_line_are_stored_one_by_one() {
    let moved = |cols: u64| {
        let mut d = Dag::default();
        let x = d.read("X", 1000, cols);
        let sums = d.op((AggOp::Sum, Direction::Row), &[x]);
        let scaled = d.op(BinaryOp::Div, &[x, sums]);
        vector_of(&d.dag, Some(TemplateType::Row), &[sums, scaled], &[x]).work.moved
    };
    assert_eq!([2, 7, 8, 16, 100].map(moved), [3000.0, 3000.0, 0.0, 0.0, 0.0]);
}

/// What an operator reads has the same price whether it is the transpose of something or was read.
#[test]
fn transposed_sides_that_were_stored_are_fetched_from() {
    let mut d = Dag::default();
    let (x, u) = (d.sparse("X", 200, 100, 2000), d.read("u", 200, 1));
    let (v, r) = (d.read("v", 100, 1), d.read("r", 1, 100));
    let turned = d.t(r);
    let priced = [v, turned].map(|right| {
        let product = d.matmul(x, right);
        let scaled = d.mult(product, u);
        let vector = vector_of(&d.dag, Some(TemplateType::Row), &[product, scaled], &[x, right, u]);
        (vector.inputs[1].lines, vector.work.non_zeros)
    });
    assert_eq!(priced, [(2000.0 * (1.0 + 0.3 / 8.0 * 1.0), 0.9 * 2000.0); 2]);
}

/// What has another value than zero elsewhere is computed for the non-zeros, and these are brought to their places then.
#[test]
fn results_that_are_filled_are_stored_twice() {
    let mut d = Dag::default();
    let x = d.sparse("X", 1000, 1000, 10_000);
    let (one, two) = (d.number(1.0), d.number(2.0));
    let (scaled, filled) = (d.mult(x, two), d.plus(x, one));
    let twice = |member: HopId| {
        let vector = vector_of(&d.dag, Some(TemplateType::Cell), &[member], &[x]);
        (vector.copied, vector.work.non_zeros, vector.work.sparse_rows)
    };
    assert_eq!(twice(scaled), (0.0, 0.0, 0.0));
    let (copied, non_zeros, rows) = twice(filled);
    assert_eq!((copied, non_zeros), (80_000.0, 10_000.0));
    assert!(rows > 900.0, "{rows}");
}

/// What visits non-zeros for their columns looks up the value of one vector there, and each further vector's takes time.
#[test]
fn further_row_vectors_are_looked_up() {
    let mut d = Dag::default();
    let (x, r, q) = (d.sparse("X", 1000, 100, 10_000), d.read("r", 1, 100), d.read("q", 1, 100));
    let scaled = d.mult(x, r);
    let twice = d.mult(scaled, q);
    let looked_up = |members: &[HopId], inputs: &[HopId]| {
        vector_of(&d.dag, Some(TemplateType::Cell), members, inputs).work.looked_up
    };
    assert_eq!(looked_up(&[scaled], &[x, r]), 0.0);
    assert_eq!(looked_up(&[scaled, twice], &[x, r, q]), 10_000.0);
}

/// Computing hides writing where it takes longer than reading: none of it in the paper's model (P116).
#[test]
fn computation_hides_writes() {
    let mut d = Dag::default();
    let x = d.read("X", 1000, 1000);
    let (exponentials, doubled) = (d.op(UnaryOp::Exp, &[x]), d.plus(x, x));
    let terms = |root: HopId, hidden_write: f64, flops: f64| {
        let mut model = paper();
        model.machine.hidden_write = hidden_write;
        model.machine.compute = ComputeRates::uniform(flops);
        terms_of(&model, &d.dag, &[root], &[x])
    };
    let shown = terms(exponentials, 0.0, 10e9);
    assert!(shown.compute > shown.read + shown.write, "{shown:?}");
    assert_close(shown.seconds(), shown.write + shown.compute);
    assert_close(terms(exponentials, 0.5, 10e9).seconds(), 0.5 * shown.write + shown.compute);
    assert_close(terms(exponentials, 1.0, 10e9).seconds(), shown.compute);
    // Reading and writing take turns.
    let read = terms(doubled, 1.0, 1e12);
    assert_close(read.seconds(), read.write + read.read);
    let between = terms(doubled, 1.0, 2e9);
    assert!(between.compute > between.read && between.compute < between.read + between.write, "{between:?}");
    assert_close(between.seconds(), between.write + between.read);
}

/// The least or the largest value of a row of cells takes longer to find than the sum.
#[test]
fn extremes_of_rows_take_longer_than_sums() {
    let rows = |cols: u64| {
        let mut d = Dag::default();
        let (x, y) = (d.read("X", 1000, cols), d.read("Y", 1000, cols));
        let product = d.mult(x, y);
        [AggOp::Sum, AggOp::Min, AggOp::Max].map(|op| {
            let root = d.op((op, Direction::Row), &[product]);
            vector_of(&d.dag, Some(TemplateType::Cell), &[product, root], &[x, y]).work.rows
        })
    };
    assert_eq!(rows(16), [1000.0, 3500.0, 3500.0]);
    assert_eq!(rows(15), [1000.0; 3], "narrow rows are one run");
}

/// A value for each row keeps registers from being filled with the cells of several rows.
#[test]
fn values_for_each_row_leave_registers_unfilled() {
    let mut d = Dag::default();
    let (x, y, w) = (d.read("X", 1000, 10), d.read("Y", 1000, 10), d.read("w", 1000, 1));
    let (beside, within) = (d.mult(x, w), d.mult(x, y));
    let sums = d.op((AggOp::Sum, Direction::Row), &[x]);
    let shares = d.op(BinaryOp::Div, &[x, sums]);
    let total = d.sum(shares);
    let row = vector_of(&d.dag, Some(TemplateType::Row), &[sums, shares, total], &[x]).work;
    let basic = [(beside, w), (within, y)].map(|(root, other)| vector_of(&d.dag, None, &[root], &[x, other]).work);
    let values = [basic[0], basic[1], row].map(|work| work.row_values());
    assert_eq!(values, [10.0, 0.0, 10.0]);
    let machine = Machine { lanes: 8, ..paper().machine };
    assert_close(basic[0].seconds(&machine, 1.0), 16_000.0 / 10e9);
    assert_close(basic[1].seconds(&machine, 1.0), 10_000.0 / 10e9);
    // Sums go by rows anyway, so that the quotients alone are more.
    let quotients = BinaryOp::Div.flops() * 1000.0 / 10e9;
    let filled = Machine { lanes: 1, ..machine.clone() };
    assert_close(row.seconds(&machine, 1.0) - row.seconds(&filled, 1.0), 6.0 * quotients);
}

/// Blocks of an Outer operator hold fewer non-zeros the wider its factors are.
#[test]
fn wide_factors_make_work_for_several_threads() {
    let is_shared = |rank: u64| {
        let mut d = Dag::default();
        let (x, u, v) = (d.sparse("X", 500, 500, 25_000), d.read("U", 500, rank), d.read("V", 500, rank));
        let transposed = d.t(v);
        let product = d.matmul(u, transposed);
        let weighted = d.mult(x, product);
        let sum = d.sum(weighted);
        let members = [transposed, product, weighted, sum];
        vector_of(&d.dag, Some(TemplateType::Outer), &members, &[x, u, v]).is_shared
    };
    assert_eq!([4, 80].map(is_shared), [false, true]);
}

/// Products read through transposes, and what gives a value for each row does nothing else with it.
#[test]
fn rows_of_sparse_matrices_are_begun_where_they_lie() {
    let mut d = Dag::default();
    let (x, w, v) = (d.sparse("X", 1000, 100, 2000), d.read("W", 1000, 4), d.read("v", 100, 1));
    let transposed = d.t(x);
    let (wide, by_vector) = (d.matmul(transposed, w), d.matmul(x, v));
    let (sums, all) = (d.op((AggOp::Sum, Direction::Row), &[x]), d.sum(x));
    let rows = |root: HopId, inputs: &[HopId]| vector_of(&d.dag, None, &[root], inputs).work.sparse_rows;
    assert_eq!(rows(wide, &[transposed, w]), 550.0);
    assert_eq!([rows(by_vector, &[x, v]), rows(sums, &[x]), rows(all, &[x])], [550.0, 500.0, 0.0]);
}

/// A non-zero fetches the row of a wide right side in its column, or adds to that of sums: lines are read, or read and written.
#[test]
fn row_operators_over_sparse_rows_fetch_rows_that_lie_far_apart() {
    let mut d = Dag::default();
    let (x, w, u) = (d.sparse("X", 1000, 5000, 20_000), d.read("W", 1000, 16), d.read("U", 5000, 16));
    let few = d.read("F", 1000, 4);
    let square = d.mult(x, x);
    let transposed = d.t(square);
    let sums = [w, few].map(|right| d.matmul(transposed, right));
    let rows = d.matmul(square, u);
    let turned = d.t(w);
    let turned_sums = d.matmul(turned, square);
    let by_column = d.op((AggOp::Sum, Direction::Col), &[square]);
    let vector = |members: &[HopId], inputs: &[HopId]| vector_of(&d.dag, Some(TemplateType::Row), members, inputs);
    let added = |members: &[HopId], inputs: &[HopId]| vector(members, inputs).work.lines.round();
    let (wide, narrow) = (20_000.0 * (1.0 + 0.3 * 2.0), 20_000.0 * (1.0 + 0.3 * 0.5));
    assert_eq!(added(&[square, transposed, sums[0]], &[x, w]), 2.0 * wide);
    assert_eq!(added(&[square, transposed, sums[1]], &[x, few]), 2.0 * narrow);
    assert_eq!(added(&[square, rows], &[x, u]), 0.0);
    // The rows of the other factor, whichever is transposed; a sum by column is a cell.
    assert_eq!(added(&[square, turned, turned_sums], &[x, w]), 2.0 * wide);
    assert_eq!(added(&[square, by_column], &[x]), 2.0 * 20_000.0);
    assert_eq!(vector(&[square, rows], &[x, u]).inputs[1].lines.round(), wide);
}

/// The transpose of a vector is a copy of it.
#[test]
fn transposed_vectors_are_copied() {
    let mut d = Dag::default();
    let (v, x) = (d.read("v", 1000, 1), d.read("X", 100, 10));
    let flops = [v, x].map(|input| {
        let transposed = d.t(input);
        vector_of(&d.dag, None, &[transposed], &[input]).work.flops()
    });
    assert_eq!(flops, [0.0, 1000.0]);
}

/// The nearer a matrix is, the sooner its cells are fetched.
#[test]
fn cells_are_gathered_from_where_a_matrix_lies() {
    let mut machine = paper().machine;
    machine.sparse.gather = 8e-9;
    machine.caches[2].capacity = 1e6;
    machine.caches[2].reach = 1e6;
    machine.caches[2].bandwidth.read *= 4.0;
    assert_close(machine.gather_time(1e6), 2e-9);
    assert_close(machine.gather_time(2e6), 8e-9);
}

/// Sums of rows that lie far apart are read and written; those of the columns of a sparse matrix are, too.
#[test]
fn sums_by_column_fetch_lines_for_non_zeros() {
    let mut d = Dag::default();
    let (x, w) = (d.sparse("X", 200, 100, 2000), d.read("W", 200, 8));
    let (transposed, sums) = (d.t(x), d.op((AggOp::Sum, Direction::Col), &[x]));
    let product = d.matmul(transposed, w);
    let square = d.mult(x, x);
    let squares = d.op((AggOp::Max, Direction::Col), &[square]);
    let lines = |template, members: &[HopId], inputs: &[HopId]| {
        let work = vector_of(&d.dag, template, members, inputs).work;
        (work.lines.round(), work.line_bytes)
    };
    assert_eq!(lines(None, &[product], &[transposed, w]), (2.0 * 2000.0 * 1.3, 6400.0));
    assert_eq!(lines(None, &[sums], &[x]), (2.0 * 2000.0, 800.0));
    assert_eq!(lines(Some(TemplateType::Cell), &[square, squares], &[x]), (2.0 * 2000.0, 800.0));
}

/// A row vector is fetched from for each non-zero, wherever it is read by position.
#[test]
fn row_vectors_fetch_lines_for_non_zeros() {
    let mut d = Dag::default();
    let (x, r, u) = (d.sparse("X", 200, 100, 2000), d.read("r", 1, 100), d.read("u", 200, 1));
    let (scaled, by_row) = (d.mult(x, r), d.mult(x, u));
    let [sums, row_sums] = [scaled, by_row].map(|value| d.op((AggOp::Sum, Direction::Row), &[value]));
    for template in [None, Some(TemplateType::Cell), Some(TemplateType::Row)] {
        let [with_row, with_column] = [(scaled, sums, r), (by_row, row_sums, u)].map(|(value, sums, vector)| {
            let members: &[HopId] = if template.is_none() { &[value] } else { &[value, sums] };
            vector_of(&d.dag, template, members, &[x, vector]).inputs[1].lines
        });
        assert_eq!((with_row, with_column), (2000.0, 0.0), "{template:?}");
    }
    // Of a square matrix a column may be read by row, and turned by column: by what reads it.
    let mut s = Dag::default();
    let (x, c) = (s.sparse("X", 100, 100, 2000), s.read("c", 100, 1));
    let root = s.op(UnaryOp::Sqrt, &[c]);
    let turned = s.t(root);
    for (vector, by, lines) in [(root, vec![root], 0.0), (turned, vec![root, turned], 2000.0)] {
        let value = s.op(BinaryOp::Div, &[x, vector]);
        let total = s.sum(value);
        for template in [TemplateType::Cell, TemplateType::Row] {
            let members = [by.clone(), vec![value, total]].concat();
            assert_eq!(vector_of(&s.dag, Some(template), &members, &[x, c]).inputs[1].lines, lines, "{template:?}");
        }
    }
    // Where rows meet at one position in a hundred, the others are not asked for.
    let y = d.sparse("Y", 200, 100, 200);
    let met = d.mult(y, scaled);
    let total = d.op((AggOp::Sum, Direction::Full), &[met]);
    let limits = TemplateLimits::default();
    let estimates = SparsityEstimates::new(&d.dag, &InputSketches::new());
    let context = Context::with_estimates(&d.dag, &limits, estimates);
    let operator = operator(Some(TemplateType::Cell), &[scaled, met, total], &[x, r, y]);
    let vector = cost_vector(&context, &operator).expect("the operator is possible");
    assert_eq!(vector.inputs.iter().find(|read| read.id == r).map(|read| read.lines.round()), Some(20.0));
}

/// Row operators take a moment for each operation on a row of few values, products but for their runs excepted; of fewer yet,
/// which are one run, a loop repeats what belongs to rows. Each aggregate is a loop over what it takes in.
#[test]
fn operations_on_narrow_rows_take_a_moment_each() {
    let work = |cols: u64| {
        let mut d = Dag::default();
        let x = d.read("X", 1000, cols);
        let sums = d.op((AggOp::Sum, Direction::Row), &[x]);
        let shares = d.op(BinaryOp::Div, &[x, sums]);
        let totals = d.op((AggOp::Sum, Direction::Col), &[shares]);
        vector_of(&d.dag, Some(TemplateType::Row), &[sums, shares, totals], &[x]).work
    };
    let (narrowest, narrow, wide) = (work(7), work(16), work(17));
    assert_eq!([narrowest.narrow, narrow.narrow, wide.narrow], [0.0, 3000.0, 0.0]);
    assert_eq!([narrowest.row_cells, narrow.row_cells, wide.row_cells], [3.0 * 7000.0, 2.0 * 16_000.0, 2.0 * 17_000.0]);
    assert_eq!(wide.flops_of(OperationClass::Arithmetic), 2.0 * 17_000.0);
    let machine = Machine { start: StartCosts { narrow: 1e-6, ..paper().machine.start }, ..paper().machine };
    assert_close(narrow.seconds(&machine, 1.0) - narrow.seconds(&paper().machine, 1.0), 3e-3);
}

/// Cells that are laid out or compacted take several passes over cells in the nearest cache.
#[test]
fn cells_that_are_laid_out_or_compacted_take_passes() {
    let machine = Machine::typical(8);
    let seconds = |count: fn(&mut Work)| {
        let mut work = Work::default();
        count(&mut work);
        work.seconds(&machine, 1.0)
    };
    let pass = seconds(|work| work.row_cells = 1e6);
    assert_close(seconds(|work| work.laid_out = 1e6), 4.0 * pass);
    assert_close(seconds(|work| work.compacted = 1e6), 4.8 * pass);
}
