//! The expressions that `./x bench cliffs` draws: equal ones for equal seeds, valid in every form, and with values and
//! rounding errors within what is known of them. No timing is a test.

#[path = "../benches/cliffs/builder.rs"]
mod builder;
#[path = "../benches/cliffs/draw.rs"]
mod draw;
#[allow(dead_code)]
#[path = "../benches/cliffs/expression.rs"]
mod expression;
#[path = "../benches/cliffs/facts.rs"]
mod facts;
#[path = "../benches/cliffs/shrink.rs"]
mod shrink;
#[path = "../benches/cliffs/values.rs"]
mod values;
#[path = "../benches/cliffs/world.rs"]
mod world;

use draw::draw;
use expression::{Aggregate, Binary, Direction, Expression, Op, Unary};
use facts::Shape;
use fuseline::{CompileOptions, MatrixBlock, Mode, RuntimeValue, Session, Variables};
use std::collections::BTreeSet;
use values::difference;
use world::{World, generator};

/// Expressions of each test that runs none of them.
const MANY: u64 = 1_000;

fn drawn(seed: u64, number: u64) -> Expression {
    let mut random = generator(seed, number);
    draw(&World::draw(&mut random), &mut random)
}

/// The expression of a number over matrices that are small, so that running it takes no time.
fn drawn_small(number: u64) -> Expression {
    let mut random = generator(7, number);
    let world = World::draw(&mut random);
    let small = |extent: usize| 2 + extent % 97 % 23;
    draw(&World { rows: small(world.rows), cols: small(world.cols + 5), ..world }, &mut random)
}

/// All statements of a script.
fn script(expression: &Expression) -> String {
    expression.data_text() + &expression.text()
}

fn run(session: &Session, expression: &Expression) -> Variables {
    let text = script(expression);
    let compiled = session.compile_script("<expression>", &text, &[]);
    let compiled = compiled.unwrap_or_else(|error| panic!("{error}\n{text}"));
    let outcome = session.run(&compiled, Variables::new(), &mut std::io::sink());
    outcome.unwrap_or_else(|error| panic!("{error}\n{text}")).variables
}

fn session(mode: Mode) -> Session {
    Session::new(CompileOptions { mode, ..CompileOptions::default() }).expect("a session")
}

#[test]
fn seeds_decide_expressions() {
    let scripts = |seed| (0..MANY).map(|number| script(&drawn(seed, number))).collect::<Vec<_>>();
    let first = scripts(1);
    assert_eq!(first, scripts(1));
    let all: BTreeSet<String> = first.into_iter().chain(scripts(2)).collect();
    assert!(all.len() as u64 > 2 * MANY * 9 / 10, "{} of {} expressions differ", all.len(), 2 * MANY);
}

/// Fails where the expressions of a seed change, so that `--case` would repeat another one: on another machine, or with
/// another version of a generator of random numbers.
#[test]
fn expressions_are_those_that_they_were() {
    expect_test::expect![[r#"
        U = rand(rows=20000, cols=16, min=0.1, max=1, sparsity=1, seed=85)
        X = rand(rows=20000, cols=100000, min=0.1, max=1, sparsity=0.001, seed=88)
        Y = rand(rows=20000, cols=100000, min=-1, max=1, sparsity=0.001, seed=89)
        r = rand(rows=1, cols=100000, min=0.1, max=1, sparsity=1, seed=114)
        s1 = Y * r
        R1 = t(s1 * s1) %*% (s1 %*% (t(X) %*% U))
    "#]]
    .assert_eq(&script(&drawn(1, 0)));
    let operators: Vec<usize> = (0..20).map(|number| drawn(2, number).operators()).collect();
    expect_test::expect!["[8, 4, 7, 8, 4, 14, 14, 16, 4, 6, 17, 4, 15, 9, 12, 3, 6, 10, 4, 5]"]
        .assert_eq(&format!("{operators:?}"));
}

#[test]
fn everything_drawn_is_valid_and_starts_at_a_large_matrix() {
    for number in 0..MANY {
        let expression = drawn(1, number);
        let text = script(&expression);
        assert!(expression.facts().is_some(), "{number}:\n{text}");
        assert!((1..=3).contains(&expression.results.len()), "{number}:\n{text}");
        assert!(expression.operators() <= 40, "{number}:\n{text}");
        let cells = expression.inputs().map(|input| input.rows * input.cols).max();
        assert!(cells >= Some(1_000_000), "{number}:\n{text}");
    }
}

#[test]
fn every_operator_and_kind_of_input_is_drawn() {
    let expressions: Vec<Expression> = (0..MANY).map(|number| drawn(1, number)).collect();
    let has = |op: Op| expressions.iter().any(|expression| expression.nodes.iter().any(|node| node.op == op));
    let unary = [Unary::Abs, Unary::Exp, Unary::Log, Unary::Round, Unary::Sigmoid, Unary::Sign, Unary::Sqrt];
    let binary = [
        Binary::Plus,
        Binary::Minus,
        Binary::Mult,
        Binary::Div,
        Binary::Power,
        Binary::Min,
        Binary::Max,
        Binary::NotEqual,
        Binary::Greater,
        Binary::LessEqual,
    ];
    let aggregates = [Aggregate::Sum, Aggregate::Mean, Aggregate::Min, Aggregate::Max];
    let of_rows_and_cols = aggregates
        .map(|aggregate| [Direction::Row, Direction::Col].map(|direction| Op::Aggregate(aggregate, direction)));
    let ops =
        unary.map(Op::Unary).into_iter().chain(binary.map(Op::Binary)).chain(of_rows_and_cols.into_iter().flatten());
    for op in ops.chain([Op::Product, Op::Transpose, Op::Aggregate(Aggregate::Sum, Direction::Full)]) {
        assert!(has(op), "{op:?} is not drawn");
    }
    let share = |holds: &dyn Fn(&Expression) -> bool| {
        expressions.iter().filter(|expression| holds(expression)).count() as f64 / MANY as f64
    };
    let sparse = share(&Expression::is_over_sparse_inputs);
    assert!((0.4..0.9).contains(&sparse), "{sparse} of all are over sparse inputs");
    let several = share(&|expression| expression.inputs().filter(|input| input.is_sparse()).count() > 1);
    assert!(several > 0.1, "{several} of all are over several sparse inputs");
    let shared = share(&|expression| expression.text().contains("s1"));
    assert!(shared > 0.2, "{shared} of all have shared parts");
}

#[test]
fn values_are_as_is_known_and_equal_in_every_mode() {
    let [base, other] = [Mode::Base, Mode::Gen].map(session);
    for number in 0..300 {
        let expression = drawn_small(number);
        let values = run(&base, &expression);
        let facts = expression.facts().expect("it is valid");
        for (name, &result) in expression.result_names().iter().zip(&expression.results) {
            let block = match &values[name] {
                RuntimeValue::Matrix(block) => block.clone(),
                scalar => MatrixBlock::from(fuseline::Dense::from_vec(1, 1, vec![scalar.as_f64().expect("a number")])),
            };
            let (rows, cols) = block.dims();
            let expected = match facts[result].shape {
                Shape::Scalar => (1, 1),
                Shape::Matrix { rows, cols } => (rows, cols),
            };
            assert_eq!((rows, cols), expected, "{name} of {number}\n{}", script(&expression));
            let (low, high) = (facts[result].low - facts[result].error, facts[result].high + facts[result].error);
            for value in block.to_dense().values() {
                assert!((low..=high).contains(value), "{name} of {number} has {value}\n{}", script(&expression));
            }
        }
        let difference = difference(&expression, &values, &run(&other, &expression));
        assert_eq!(difference, None, "{number}\n{}", script(&expression));
    }
}

#[test]
fn values_that_differ_are_found() {
    let (mut found, session) = (0, session(Mode::Base));
    for number in 0..50 {
        let expression = drawn_small(number);
        let values = run(&session, &expression);
        let mut wrong = values.clone();
        for name in expression.result_names() {
            let changed = match &values[&name] {
                RuntimeValue::Matrix(block) => {
                    let mut cells = block.to_dense().into_owned();
                    let last = cells.values().len() - 1;
                    cells.values_mut()[last] += 1e-3;
                    cells.into()
                }
                scalar => (scalar.as_f64().expect("a number") + 1e-3).into(),
            };
            wrong.insert(name, changed);
        }
        assert_eq!(difference(&expression, &values, &values), None);
        found += u32::from(difference(&expression, &values, &wrong).is_some());
    }
    assert!(found >= 45, "{found} of 50 wrong values were found");
}

#[test]
fn smaller_forms_are_smaller_and_valid() {
    let session = session(Mode::Base);
    for number in 0..100 {
        let expression = drawn_small(number);
        for candidate in shrink::candidates(&expression) {
            assert!(candidate.facts().is_some(), "{number}:\n{}", script(&candidate));
            assert!(candidate.operators() < expression.operators(), "{number}:\n{}", script(&candidate));
        }
        // The facts of a form and the compiler agree on what is valid.
        if let Some(candidate) = shrink::candidates(&expression).last() {
            run(&session, candidate);
        }
    }
}

#[test]
fn what_matters_alone_remains() {
    let (mut found, mut operators) = (0, 0);
    let is_wanted = |expression: &Expression| {
        let scales = |node: &expression::Node| node.op == Op::Binary(Binary::Div);
        expression.nodes.iter().any(scales) && expression.nodes.iter().any(|node| node.op == Op::Product)
    };
    for number in 0..MANY {
        let expression = drawn(3, number);
        if is_wanted(&expression) {
            let shrunk = shrink::shrink(expression, &mut |candidate| is_wanted(candidate));
            assert!(is_wanted(&shrunk));
            found += 1;
            operators += shrunk.operators();
        }
    }
    assert!(found > MANY / 10, "{found} expressions divide and have products");
    let mean = operators as f64 / found as f64;
    assert!(mean < 3.5, "expressions are reduced to {mean} operators of two that are wanted");
}
