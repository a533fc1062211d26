//! Expressions built in Rust: values, places in errors, programs that are found again, and data that is not copied.

use fuseline::ir::hop::HopOp;
use fuseline::ir::ops::{AggOp, BinaryOp, Direction, UnaryOp};
use fuseline::ir::{DataType, SizeInfo, Value};
use fuseline::ndarray::{Array2, ShapeBuilder, array};
use fuseline::sprs::CsMatI;
use fuseline::{
    Axis, BackendKind, Csr, Error, ExplainStage, Expr, Layout, Matrix, MatrixBlock, Mode, Operand, RuntimeValue,
    Scalar, Session, cbind, rbind, where_,
};
use std::borrow::Cow;
use std::sync::Arc;

fn session() -> Session {
    Session::builder().threads(2).build().expect("a session")
}

fn values(block: &MatrixBlock) -> Vec<f64> {
    block.to_dense().values().to_vec()
}

fn sample() -> Matrix {
    Matrix::from(array![[1.0, -2.0, 0.5], [0.25, 3.0, -0.75]])
}

#[test]
fn operators_take_values_and_references_of_all_kinds() {
    let session = session();
    let (x, s) = (sample(), Scalar::from(2.0));
    let all = [
        &x + &x,
        x.clone() + &x,
        &x + x.clone(),
        x.clone() + x.clone(),
        &x * 2.0,
        2.0 * &x,
        x.clone() * &s,
        &s * &x,
        s.clone() * x.clone(),
    ];
    let expected: Vec<f64> = [1.0, -2.0, 0.5, 0.25, 3.0, -0.75].iter().map(|value| 2.0 * value).collect();
    for result in session.eval(&all[..]).unwrap() {
        assert_eq!(values(&result), expected);
    }
    let mut y = x.clone();
    y += 1.0;
    y *= &x;
    y -= x.clone();
    y /= 2.0;
    let square = session.eval(&y).unwrap();
    assert_eq!(values(&square)[1], 2.0);
    assert_eq!(session.eval(-(1.0 - &s) % 0.75).unwrap(), 0.25);
}

/// Every element-wise operation of THE op table gives what the table says.
#[test]
fn operations_are_those_of_the_table() {
    let session = session();
    let numbers = [0.0, 0.5, 1.0, 2.0, -1.5];
    let x = Expr::from(Matrix::from(Array2::from_shape_vec((1, 5), numbers.to_vec()).unwrap()));
    let y = Expr::from(Matrix::from(array![[2.0, 0.5, -1.0, 3.0, 2.0]]));
    for &op in UnaryOp::ALL {
        let result = session.eval(Expr::apply(op, &[&x])).unwrap();
        let fuseline::RuntimeValue::Matrix(result) = result else { panic!("{op:?} gives a matrix") };
        let expected = numbers.map(|number| op.eval(number));
        close(&values(&result), &expected, op.mnemonic());
    }
    for &op in BinaryOp::ALL {
        let result = session.eval(Expr::apply(op, &[&x, &y])).unwrap();
        let fuseline::RuntimeValue::Matrix(result) = result else { panic!("{op:?} gives a matrix") };
        let others = [2.0, 0.5, -1.0, 3.0, 2.0];
        let expected: Vec<f64> = numbers.iter().zip(others).map(|(&one, other)| op.eval(one, other)).collect();
        close(&values(&result), &expected, op.mnemonic());
    }
}

fn close(actual: &[f64], expected: &[f64], name: &str) {
    for (actual, expected) in actual.iter().zip(expected) {
        let is_close = (actual - expected).abs() <= 1e-14 * expected.abs() || actual.is_nan() && expected.is_nan();
        assert!(is_close || actual == expected, "{name}: {actual} in place of {expected}");
    }
}

#[test]
fn reductions_and_shapes() {
    let session = session();
    let x = sample();
    let (sums, means, total, largest) =
        session.eval((x.sum_over(Axis::Rows), x.mean_over(Axis::Columns), x.sum_squares(), x.max())).unwrap();
    assert_eq!(values(&sums), [1.25, 1.0, -0.25]);
    assert_eq!(sums.dims(), (1, 3));
    assert_eq!(means.dims(), (2, 1));
    assert_eq!(largest, 3.0);
    assert!((total - 14.875).abs() < 1e-12);
    let parts = [x.slice(0..1, ..), x.slice(1.., 1..=2), cbind(&[&x, &x]), rbind(&[&x, &x]), x.t()];
    let dims: Vec<_> = session.eval(&parts[..]).unwrap().iter().map(MatrixBlock::dims).collect();
    assert_eq!(dims, [(1, 3), (1, 2), (2, 6), (4, 3), (3, 2)]);
    let clipped = session.eval(where_(&x.lt(0.0), 0.0, &x)).unwrap();
    assert_eq!(values(&clipped), [1.0, 0.0, 0.5, 0.25, 3.0, 0.0]);
}

#[test]
fn misfits_are_told_with_the_places_of_all_that_takes_part() {
    let x = sample();
    let line_of_w = line!() + 1;
    let w = Matrix::from(array![[1.0], [2.0]]);
    let line_of_product = line!() + 1;
    let product = x.dot(&w);
    let later = (&product + 1.0).sum() * 2.0;
    let error = session().eval(&later).unwrap_err();
    let Error::Expression(told) = &error else { panic!("a misfit, not {error}") };
    assert_eq!(told.place.to_string(), format!("{}:{line_of_product}:21", file!()));
    let text = error.to_string();
    assert!(text.contains("2x3") && text.contains("2x1"), "{text}");
    assert!(text.contains(&format!("{}:{line_of_w}:", file!())), "{text}");
}

#[test]
fn what_is_built_wrong_is_told_by_every_way_to_run_it() {
    let wrong = sample() + Matrix::from(array![[1.0, 2.0]]);
    let session = session();
    assert!(matches!(session.eval(&wrong), Err(Error::Expression(_))));
    assert!(matches!(session.compile(&wrong), Err(Error::Expression(_))));
    assert!(matches!(session.explain(&wrong, ExplainStage::Plan), Err(Error::Expression(_))));
    assert!(matches!(session.eval(sample().slice(1..5, ..)), Err(Error::Expression(_))));
}

#[test]
fn an_expression_keeps_its_value() {
    let session = session();
    let x = sample();
    let sum = x.sum();
    let (_, first) = session.eval_with_statistics(&sum).unwrap();
    let (_, second) = session.eval_with_statistics(&sum).unwrap();
    assert_eq!((first.dags_optimized, second.dags_optimized), (1, 0));
    assert!(sum.as_expr().known_value().is_some());
    assert_eq!(session.eval(sum * 2.0).unwrap(), 4.0);
}

/// Expressions that differ in numbers alone, or are built anew, are one program.
#[test]
fn programs_are_found_again() {
    let session = session();
    let score = |scale: f64, shift: f64| (sample() * scale + shift).sum();
    let (_, first) = session.eval_with_statistics(score(0.3, 7.0)).unwrap();
    assert_eq!(first.dags_optimized, 1);
    for (scale, shift) in [(0.3, 7.0), (0.4, -3.0), (123.0, 1e-9)] {
        let (value, again) = session.eval_with_statistics(score(scale, shift)).unwrap();
        assert_eq!(again.dags_optimized, 0);
        assert!((value - (2.0 * scale + 6.0 * shift)).abs() < 1e-9);
    }
    // Where a number decides what becomes of zeros it is part of the program.
    let (_, compared) = session.eval_with_statistics(sample().gt(0.3).sum()).unwrap();
    let (_, other) = session.eval_with_statistics(sample().gt(0.4).sum()).unwrap();
    assert_eq!((compared.dags_optimized, other.dags_optimized), (1, 1));
    // A range that moves is one program.
    let (_, first) = session.eval_with_statistics(sample().slice(0..1, ..).sum()).unwrap();
    let (_, moved) = session.eval_with_statistics(sample().slice(1..2, ..).sum()).unwrap();
    assert_eq!((first.dags_optimized, moved.dags_optimized), (1, 0));
}

#[test]
fn compiled_expressions_take_values_for_their_symbols() {
    let session = session();
    let (x, rate) = (Matrix::symbol("X"), Scalar::symbol("rate"));
    let mut compiled = session.compile((&x * &rate, x.sum())).unwrap();
    assert!(matches!(compiled.run(), Err(Error::UnboundInput(_))));
    assert!(matches!(compiled.bind("Y", 1.0), Err(Error::NoSuchInput { .. })));
    assert!(matches!(compiled.bind("X", 1.0), Err(Error::InputType { .. })));
    compiled.bind("rate", 0.25).unwrap();
    for rows in [2, 5, 3] {
        let (scaled, sum) = compiled.bind("X", Array2::from_elem((rows, 3), 2.0)).unwrap().run().unwrap();
        assert_eq!(scaled.dims(), (rows, 3));
        assert_eq!(sum, 6.0 * rows as f64);
    }
    compiled.bind("rate", 4.0).unwrap();
    compiled.run().unwrap();
    assert_eq!(compiled.statistics().dags_optimized, 0);
    assert!(matches!(session.eval(&x), Err(Error::UnboundInput(name)) if name == "X"));
}

/// What depends on no symbol is computed when an expression is compiled, and not in each run.
#[test]
fn constants_are_computed_once() {
    let session = session();
    let (x, w) = (Matrix::from(Array2::from_elem((200, 20), 0.5)), Matrix::symbol("w"));
    let gram = x.t().dot(&x);
    let centred = &x - x.mean_over(Axis::Rows);
    let mut compiled = session.compile((gram.dot(&w), centred.dot(&w).sum())).unwrap();
    assert!(gram.as_expr().known_value().is_some());
    assert!(centred.as_expr().known_value().is_none(), "it is fused with what reads it");
    let (product, total) = compiled.bind("w", Array2::from_elem((20, 1), 1.0)).unwrap().run().unwrap();
    assert_eq!((product.get(0, 0), total), (1000.0, 0.0));
}

/// A matrix without non-zeros has plans of its own, which serve no other.
#[test]
fn plans_of_empty_matrices_serve_these_alone() {
    let session = session();
    let sum = |nonzeros: usize| {
        let offsets = (0..=3).map(|row: usize| row.min(nonzeros)).collect();
        let csr = Csr::from_parts(3, 3, offsets, (0..nonzeros as u32).collect(), vec![5.0; nonzeros]);
        let x = Matrix::from(csr);
        session.eval((x.sum_over(Axis::Columns), (&x + 1.0).ln().sum(), x.t().dot(&x).sum())).unwrap()
    };
    for nonzeros in [0, 1, 2, 0, 1, 3, 0] {
        let (sums, logarithms, products) = sum(nonzeros);
        let count = nonzeros as f64;
        assert_eq!(values(&sums).iter().sum::<f64>(), 5.0 * count, "{nonzeros} non-zeros");
        assert!((logarithms - count * 6.0_f64.ln()).abs() < 1e-12, "{nonzeros} non-zeros: {logarithms}");
        assert_eq!(products, 25.0 * count, "{nonzeros} non-zeros");
    }
}

/// Names of symbols are those of whoever binds them: variables of programs are others.
#[test]
fn symbols_may_have_any_name() {
    let session = session();
    let (x, y) = (sample(), Matrix::symbol("in0"));
    let mut compiled = session.compile((&x + &y, Matrix::symbol("symbol0") * &x)).unwrap();
    compiled.bind("in0", array![[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]).unwrap();
    let (sum, product) = compiled.bind("symbol0", array![[2.0], [0.0]]).unwrap().run().unwrap();
    assert_eq!((values(&sum)[0], values(&product)[0], values(&product)[3]), (2.0, 2.0, 0.0));
}

#[test]
fn many_threads_share_a_session_and_its_expressions() {
    let session = session();
    let x = sample();
    let shared = (&x * &x).sum();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (session, x, shared) = (&session, &x, &shared);
            scope.spawn(move || {
                for round in 0..20 {
                    let scale = f64::from(thread * 20 + round);
                    assert_eq!(session.eval((x * scale).sum()).unwrap(), 2.0 * scale);
                    assert!((session.eval(shared).unwrap() - 14.875).abs() < 1e-12);
                }
            });
        }
    });
}

#[test]
fn arrays_and_sparse_matrices_are_read_where_they_lie() {
    let array = Arc::new(Array2::from_elem((30, 20), 1.5));
    let x = Matrix::borrow_ndarray(&array).unwrap();
    let Some(fuseline::RuntimeValue::Matrix(block)) = x.as_expr().known_value() else { panic!("a matrix") };
    let Layout::Dense(Cow::Borrowed(dense)) = block.layout() else { panic!("dense") };
    assert_eq!(dense.values().as_ptr(), array.as_ptr());
    let given = Array2::from_elem((30, 20), 1.5);
    let address = given.as_ptr();
    let Some(fuseline::RuntimeValue::Matrix(block)) = Matrix::from(given).as_expr().known_value() else {
        panic!("a matrix")
    };
    let Layout::Dense(Cow::Borrowed(dense)) = block.layout() else { panic!("dense") };
    assert_eq!(dense.values().as_ptr(), address);
    let turned = Arc::new(Array2::<f64>::zeros((30, 20).f()));
    assert!(Matrix::borrow_ndarray(&turned).is_err());
    assert_eq!(session().eval(Matrix::from((*turned).clone()).sum()).unwrap(), 0.0);

    let sparse = Arc::new(CsMatI::<f64, u32, usize>::eye(10));
    let s = Matrix::borrow_sprs(&sparse).unwrap();
    let Some(fuseline::RuntimeValue::Matrix(block)) = s.as_expr().known_value() else { panic!("a matrix") };
    let csr = block.to_csr();
    assert_eq!(csr.values().as_ptr(), sparse.data().as_ptr());
    assert_eq!(csr.columns().as_ptr(), sparse.indices().as_ptr());
    assert_eq!(session().eval((&s * 2.0).sum()).unwrap(), 20.0);
}

#[test]
fn graphs_that_are_deeper_than_any_stack_are_dropped() {
    let mut x = sample();
    for _ in 0..300_000 {
        x += 1.0;
    }
    drop(x);
}

/// The parts of a graph that a loop has built are computed one after the other, as one program.
#[test]
fn loops_of_the_host_are_one_program() {
    let session = session();
    let (x, y) = (sample(), Matrix::from(array![[1.0], [2.0]]));
    let mut w = Matrix::from(array![[0.1], [0.2], [0.3]]);
    let mut velocity = Matrix::full(3, 1, 0.0);
    for _ in 0..2_000 {
        velocity = 0.9 * &velocity - 0.01 * x.t().dot(x.dot(&w) - &y);
        w = &w + &velocity;
    }
    let (result, statistics) = session.eval_with_statistics(&w).unwrap();
    assert!(statistics.operators_priced < 1_000, "the last part alone: {}", statistics.operators_priced);
    // The system has more unknowns than equations: the residual vanishes.
    let residual = session.eval((x.dot(Matrix::from(result)) - &y).abs().max()).unwrap();
    assert!(residual < 1e-9, "{residual}");
}

fn number(value: f64) -> Expr {
    Expr::value(Value::F64(value))
}

const STEPS: f64 = 1000.0;

/// The power method until it settles: the vector, its last change and the number of steps.
fn power_method(gram: &Expr) -> Vec<Expr> {
    let start = Expr::from(Matrix::from(array![[1.0], [1.0], [1.0]]));
    Expr::while_loop(&[start, number(1.0), number(0.0)], |state| {
        let [v, change, count] = state else { panic!("three values") };
        let product = Expr::apply(HopOp::MatMul, &[gram, v]);
        let square = Expr::apply(BinaryOp::Mult, &[&product, &product]);
        let length = Expr::apply(HopOp::AggUnary(AggOp::Sum, Direction::Full), &[&square]);
        let next = Expr::apply(BinaryOp::Div, &[&product, &Expr::apply(UnaryOp::Sqrt, &[&length])]);
        let moved = Expr::apply(UnaryOp::Abs, &[&Expr::apply(BinaryOp::Minus, &[&next, v])]);
        let moved = Expr::apply(HopOp::AggUnary(AggOp::Max, Direction::Full), &[&moved]);
        let is_moving = Expr::apply(BinaryOp::Greater, &[change, &number(1e-12)]);
        let goes_on = Expr::apply(BinaryOp::And, &[&is_moving, &Expr::apply(BinaryOp::Less, &[count, &number(STEPS)])]);
        (goes_on, vec![next, moved, Expr::apply(BinaryOp::Plus, &[count, &number(1.0)])])
    })
}

fn power_method_by_hand(gram: &Array2<f64>) -> (Vec<f64>, f64) {
    let (mut v, mut change, mut count) = (vec![1.0; 3], 1.0, 0.0);
    while change > 1e-12 && count < STEPS {
        let product: Vec<f64> = (0..3).map(|i| (0..3).map(|j| gram[[i, j]] * v[j]).sum()).collect();
        let length = product.iter().map(|x| x * x).sum::<f64>().sqrt();
        let next: Vec<f64> = product.iter().map(|x| x / length).collect();
        change = next.iter().zip(&v).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
        (v, count) = (next, count + 1.0);
    }
    (v, count)
}

/// A loop reads a product that is the same in every iteration and is read after it, too.
#[test]
fn loops_run_in_the_engine() {
    let a = array![[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]];
    let (v, count) = power_method_by_hand(&a.t().dot(&a));
    assert!((10.0..STEPS).contains(&count));
    for backend in [BackendKind::Interp, BackendKind::Llvm] {
        let Ok(session) = Session::builder().threads(2).backend(backend).build() else { continue };
        let matrix = Matrix::from(a.clone());
        let gram = Expr::from(matrix.t().dot(&matrix));
        let results = power_method(&gram);
        let total = Expr::apply(HopOp::AggUnary(AggOp::Sum, Direction::Full), &[&gram]);
        let value = session.eval([Expr::apply(BinaryOp::Plus, &[&results[2], &total])]).unwrap()[0].as_f64().unwrap();
        // The last bits of a product decide when it settles.
        assert!((value - (count + a.t().dot(&a).sum())).abs() <= 2.0, "{value} and {count}");
        // It has not to run again for the values that it also left.
        let Some(RuntimeValue::Matrix(left)) = results[0].known_value() else { panic!("it ran for all") };
        close(&values(&left), &v, "the vector");
    }
}

#[test]
fn loops_that_differ_in_where_they_start_are_one_program() {
    let session = session();
    let doubled = |start: f64| {
        let below = |x: &Expr| Expr::apply(BinaryOp::Less, &[x, &number(100.0)]);
        Expr::while_loop(&[number(start)], |state| {
            (below(&state[0]), vec![Expr::apply(BinaryOp::Mult, &[&state[0], &number(3.0)])])
        })
    };
    let (values, first) = session.eval_with_statistics(&doubled(1.0)[..]).unwrap();
    assert_eq!((values[0].as_f64(), first.dags_optimized), (Some(243.0), 4));
    let (values, statistics) = session.eval_with_statistics(&doubled(5.0)[..]).unwrap();
    assert_eq!((values[0].as_f64(), statistics.dags_optimized), (Some(135.0), 0));
}

#[test]
fn loops_that_do_not_fit_are_told() {
    let session = session();
    let told = |left: &[Expr]| {
        let results = Expr::while_loop(&[number(1.0)], |state| {
            (Expr::apply(BinaryOp::Less, &[&state[0], &number(2.0)]), left.to_vec())
        });
        session.eval(&results[..]).unwrap_err().to_string()
    };
    let matrix = Expr::from(sample());
    assert!(told(&[matrix]).contains("an iteration of a loop needs a number as input 1, not matrix"), "types");
    assert!(told(&[]).contains("an iteration of a loop takes 1 inputs, not 0"), "numbers");
    let misfit = Expr::from(sample().dot(sample()));
    assert!(told(&[misfit]).contains("tests/expressions.rs"), "places");
}

/// A misfit with a value that changes is told with its place, and not once sizes are forgotten.
#[test]
fn misfits_within_loops_are_told_with_their_places() {
    let rows = Expr::from(Matrix::from(array![[1.0, 2.0, 3.0]]));
    let results = Expr::while_loop(&[Expr::from(sample().t())], |state| {
        let product = Expr::apply(HopOp::MatMul, &[&state[0], &rows]);
        (number(1.0), vec![product])
    });
    let error = session().eval(&results[..]).unwrap_err().to_string();
    assert!(error.contains("[3x2]") && error.contains("tests/expressions.rs"), "{error}");
}

/// Symbols of loops are no others, whatever these are called.
#[test]
fn symbols_may_be_called_like_those_of_loops() {
    let session = session();
    let below = |x: &Expr| Expr::apply(BinaryOp::Less, &[x, &number(10.0)]);
    for name in (0..50).map(|count| format!("state{count}")) {
        let step = Expr::symbol(&name, DataType::F64, SizeInfo::UNKNOWN);
        let results = Expr::while_loop(&[number(0.0)], |state| {
            (below(&state[0]), vec![Expr::apply(BinaryOp::Plus, &[&state[0], &step])])
        });
        let mut compiled = session.compile(&results[..]).unwrap();
        let values = compiled.bind(&name, 4.0).unwrap().run().unwrap();
        assert_eq!(values[0].as_f64(), Some(12.0));
    }
}

/// Loops that are built on each other are dropped without recursion.
#[test]
fn chains_of_loops_are_dropped() {
    let mut x = number(1.0);
    for _ in 0..200_000 {
        let more = |x: &Expr| Expr::apply(BinaryOp::Less, &[x, &number(0.0)]);
        x = Expr::while_loop(&[x], |state| (more(&state[0]), state.to_vec())).remove(0);
    }
    assert_eq!(x.depth(), 200_000);
}

#[test]
fn decompositions_give_their_results() {
    let session = session();
    let a = Matrix::from(array![[4.0, 1.0], [1.0, 3.0]]);
    let (values, vectors) = a.eigen();
    let back = vectors.dot(values.diagonal()).dot(vectors.t());
    let (u, s, v) = a.svd();
    let (distance, other) = session.eval(((&a - back).abs().max(), (&a - u.dot(s).dot(v.t())).abs().max())).unwrap();
    assert!(distance < 1e-12 && other < 1e-12, "{distance} {other}");
    let solved = a.solve(&Matrix::from(array![[1.0], [2.0]]));
    assert!(session.eval((a.dot(solved) - Matrix::from(array![[1.0], [2.0]])).abs().max()).unwrap() < 1e-12);
}

/// Every mode and backend gives the same values.
#[test]
fn modes_agree() {
    let build = || {
        let x = Matrix::from(Array2::from_shape_fn((40, 30), |(i, j)| ((i * 7 + j * 3) % 11) as f64 - 5.0));
        let w = Matrix::from(Array2::from_shape_fn((30, 1), |(i, _)| i as f64 / 30.0));
        (x.t().dot(x.dot(&w).sigmoid()), (&x * &x).sum(), x.abs().max_over(Axis::Columns))
    };
    let expected = session().eval(build()).unwrap();
    for mode in [Mode::Base, Mode::Fused, Mode::GenFuseAll, Mode::GenFuseNoRedundancy] {
        for backend in [BackendKind::default(), BackendKind::Interp] {
            let session = Session::builder().threads(2).mode(mode).backend(backend).build().unwrap();
            let result = session.eval(build()).unwrap();
            close(&values(&result.0), &values(&expected.0), "gradient");
            assert_eq!((result.1, values(&result.2)), (expected.1, values(&expected.2)));
        }
    }
}

#[test]
fn untyped_expressions() {
    let x = Expr::symbol("X", DataType::MATRIX, SizeInfo::dims(2, 3));
    let sums = Expr::apply((fuseline::ir::ops::AggOp::Sum, Direction::Row), &[&x]);
    assert_eq!(sums.size().known_dims(), Some((2, 1)));
    assert!(sums.is_symbolic() && sums.depth() == 1);
    let place = fuseline::Place::Rust(std::panic::Location::caller());
    assert!(3.5.into_expr(place).known_value().is_some());
}
