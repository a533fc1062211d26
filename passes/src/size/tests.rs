//! Tests of size propagation.

use super::dag::Literals;
use super::*;
use crate::testing::nested_loops;
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::{DataGenOp, Function as Builtin, HopDag, HopId, HopOp, ReorgOp, ShapeOp, Span};
use fuseline_ir::ops::{AggOp, BinaryOp, Direction, TernaryOp, UnaryOp};
use fuseline_ir::program::{Call, Function, Parameter, Predicate, Program, StatementBlock};
use fuseline_ir::types::{DataType, Value};

fn add(dag: &mut HopDag, op: impl Into<HopOp>, inputs: &[HopId]) -> HopId {
    dag.add(op.into(), inputs, None).expect("the inputs of this test fit")
}

fn unknown_matrix(dag: &mut HopDag, name: &str) -> HopId {
    dag.read_matrix(name, SizeInfo::UNKNOWN)
}

fn matrix(rows: u64, cols: u64) -> VariableFacts {
    VariableFacts::matrix(SizeInfo::dims(rows, cols))
}

fn basic(build: impl FnOnce(&mut HopDag)) -> StatementBlock {
    let mut dag = HopDag::new();
    build(&mut dag);
    StatementBlock::Basic(dag)
}

/// `target = op(source)` on matrices.
fn assign(target: &'static str, op: impl Into<HopOp>, source: &'static str) -> StatementBlock {
    basic(|dag| {
        let x = unknown_matrix(dag, source);
        let result = add(dag, op, &[x]);
        dag.write(target, result);
    })
}

fn condition(build: impl FnOnce(&mut HopDag) -> HopId) -> Predicate {
    let mut dag = HopDag::new();
    let value = build(&mut dag);
    dag.write(Predicate::VALUE, value);
    Predicate { prelude: Vec::new(), dag }
}

/// A condition that only run time knows.
fn some_condition() -> Predicate {
    condition(|dag| {
        let (c, zero) = (dag.read_scalar("c"), dag.literal(Value::I64(0)));
        add(dag, BinaryOp::Greater, &[c, zero])
    })
}

fn run(body: Vec<StatementBlock>, inputs: &SizeEnvironment) -> Result<(Program, SizeEnvironment), ValidationError> {
    let mut program = Program { body, ..Program::default() };
    let end = propagate_sizes(&mut program, inputs, &NoFiles)?;
    Ok((program, end))
}

fn size_of(environment: &SizeEnvironment, name: &str) -> String {
    environment.get(name).expect("the variable is set").size.to_string()
}

#[test]
fn a_dag_gets_sizes_and_non_zeros_of_its_variables() {
    let mut dag = HopDag::new();
    let (x, y) = (unknown_matrix(&mut dag, "X"), unknown_matrix(&mut dag, "Y"));
    let product = add(&mut dag, BinaryOp::Mult, &[x, y]);
    let sums = add(&mut dag, (AggOp::Sum, Direction::Row), &[product]);
    let filled = add(&mut dag, UnaryOp::Exp, &[product]);
    let environment: SizeEnvironment =
        [("X", VariableFacts::matrix(SizeInfo::with_nnz(100, 10, 70))), ("Y", matrix(100, 10))].into_iter().collect();
    propagate_dag(&mut dag, &environment).expect("fits");
    assert_eq!(dag[product].size, SizeInfo::with_nnz(100, 10, 70));
    assert_eq!(dag[sums].size, SizeInfo::with_nnz(100, 1, 70));
    assert_eq!(dag[filled].size, SizeInfo::dims(100, 10));
}

/// A table counts each of its pairs in one cell: the matrix that selects rows has one non-zero in each.
#[test]
fn tables_have_as_many_non_zeros_as_pairs() {
    let mut dag = HopDag::new();
    let positions = unknown_matrix(&mut dag, "positions");
    let (one, rows, cols) = (dag.literal(Value::F64(1.0)), dag.literal(Value::I64(50)), dag.literal(Value::I64(1000)));
    let names = vec!["dim1".to_owned(), "dim2".to_owned()];
    let table = |names: &[String]| HopOp::Parameterized { function: Builtin::Table, names: names.to_vec() };
    let sized = add(&mut dag, table(&names), &[positions, one, one, rows, cols]);
    let small = add(&mut dag, table(&names), &[one, positions, one, one, rows]);
    let open = add(&mut dag, table(&[]), &[one, positions, positions]);
    assert_eq!(dag[sized].size, SizeInfo { nnz: None, ..SizeInfo::dims(50, 1000) });
    propagate_dag(&mut dag, &[("positions", matrix(80, 1))].into_iter().collect()).expect("fits");
    assert_eq!(dag[sized].size, SizeInfo::with_nnz(50, 1000, 80));
    assert_eq!(dag[small].size, SizeInfo::with_nnz(1, 50, 50));
    assert_eq!(dag[open].size, SizeInfo { rows: None, cols: None, nnz: Some(80) });
}

#[test]
fn shapes_become_literals_so_that_generated_matrices_have_sizes() {
    // w = matrix(0, ncol(X), 1)
    let mut dag = HopDag::new();
    let x = unknown_matrix(&mut dag, "X");
    let (zero, one) = (dag.literal(Value::I64(0)), dag.literal(Value::I64(1)));
    let cols = add(&mut dag, HopOp::Shape(ShapeOp::Ncol), &[x]);
    let w = add(&mut dag, HopOp::DataGen(DataGenOp::Matrix), &[zero, cols, one]);
    assert_eq!(dag[w].size, SizeInfo { rows: None, cols: Some(1), nnz: Some(0) });
    propagate_dag(&mut dag, &[("X", matrix(100, 10))].into_iter().collect()).expect("fits");
    assert_eq!(dag[cols].op, HopOp::Literal(Value::I64(10)));
    assert_eq!(dag[w].size, SizeInfo::with_nnz(10, 1, 0));
}

#[test]
fn known_scalars_become_literals_only_where_a_size_hangs_on_them() {
    // A = matrix(0, rows=n-1, cols=2); B = X * n; C = X[i, ]
    let mut dag = HopDag::new();
    let x = unknown_matrix(&mut dag, "X");
    let (n, one, two) = (dag.read_scalar("n"), dag.literal(Value::I64(1)), dag.literal(Value::I64(2)));
    let rows = add(&mut dag, BinaryOp::Minus, &[n, one]);
    let a = add(&mut dag, HopOp::DataGen(DataGenOp::Matrix), &[one, rows, two]);
    let b = add(&mut dag, BinaryOp::Mult, &[x, n]);
    let c = add(&mut dag, HopOp::Index, &[x, n, n, one, two]);
    for (name, hop) in [("A", a), ("B", b), ("C", c)] {
        dag.write(name, hop);
    }
    let environment = [("X", matrix(9, 2)), ("n", VariableFacts::scalar(Value::I64(7)))].into_iter().collect();
    propagate_dag(&mut dag, &environment).expect("fits");
    let output = |index: usize| &dag[dag.outputs[index].hop];
    assert_eq!(output(0).size.known_dims(), Some((6, 2)));
    assert_eq!(dag.literal_value(output(0).inputs[1]), Some(&Value::I64(6)));
    // The product keeps the variable, and so does the index, whose size is known without its value.
    assert_eq!(dag[output(1).inputs[1]].op, HopOp::Read("n".into()));
    assert_eq!(dag[output(2).inputs[1]].op, HopOp::Read("n".into()));
    assert_eq!(output(2).size.known_dims(), Some((1, 2)));
}

#[test]
fn of_ranges_the_values_give_the_size_alone() {
    // A = X[from:to, ]; B = seq(from, to); C = X[, 1:to]; D = seq(1, to), whose increment hangs on the sign
    let mut dag = HopDag::new();
    let x = unknown_matrix(&mut dag, "X");
    let (from, to, one) = (dag.read_scalar("from"), dag.read_scalar("to"), dag.literal(Value::I64(1)));
    let [rows, cols] = [ShapeOp::Nrow, ShapeOp::Ncol].map(|shape| add(&mut dag, HopOp::Shape(shape), &[x]));
    let a = add(&mut dag, HopOp::Index, &[x, from, to, one, cols]);
    let b = add(&mut dag, HopOp::DataGen(DataGenOp::Seq), &[from, to, one]);
    let c = add(&mut dag, HopOp::Index, &[x, one, rows, one, to]);
    let (down, is_down) = (dag.literal(Value::I64(-1)), add(&mut dag, BinaryOp::Greater, &[one, to]));
    let increment = add(&mut dag, TernaryOp::IfElse, &[is_down, down, one]);
    let d = add(&mut dag, HopOp::DataGen(DataGenOp::Seq), &[one, to, increment]);
    for (name, hop) in [("A", a), ("B", b), ("C", c), ("D", d)] {
        dag.write(name, hop);
    }
    let sized = |first: i64, last: i64| {
        let scalar = |value| VariableFacts::scalar(Value::I64(value));
        let environment = [("X", matrix(20, 12)), ("from", scalar(first)), ("to", scalar(last))].into_iter().collect();
        let mut sized = dag.clone();
        propagate_dag(&mut sized, &environment).map(|()| sized)
    };
    let sizes = |dag: &HopDag| dag.outputs.iter().map(|output| dag[output.hop].size.to_string()).collect::<Vec<_>>();
    let bounds = |dag: &HopDag, output: usize, positions: [usize; 2]| {
        positions.map(|position| dag.literal_f64(dag[dag.outputs[output].hop].inputs[position]))
    };
    let middle = sized(3, 9).expect("within X");
    assert_eq!(sizes(&middle), ["[7x12]", "[7x1]", "[20x9]", "[9x1]"]);
    assert_eq!([bounds(&middle, 0, [1, 2]), bounds(&middle, 1, [0, 1])], [[None; 2]; 2]);
    // Where all but one are known without values, the size tells the last.
    assert_eq!(bounds(&middle, 2, [3, 4]), [Some(1.0), Some(9.0)]);
    assert_eq!(bounds(&middle, 3, [1, 2]), [Some(9.0), Some(1.0)]);
    // No operator holds a value that nothing uses.
    assert_eq!(middle.to_string(), sized(3, 9).expect("within X").to_string());
    assert!(!middle.to_string().contains("literal 3"), "{middle}");
    // What covers all of X says so.
    let mut whole = HopDag::new();
    let x = unknown_matrix(&mut whole, "X");
    let bounds = ["a", "b", "c", "d"].map(|name| whole.read_scalar(name));
    let range = add(&mut whole, HopOp::Index, &[&[x], &bounds[..]].concat());
    whole.write("A", range);
    let values = [("a", 1), ("b", 20), ("c", 1), ("d", 11)];
    let scalars = values.map(|(name, value)| (name, VariableFacts::scalar(Value::I64(value))));
    propagate_dag(&mut whole, &scalars.into_iter().chain([("X", matrix(20, 12))]).collect()).expect("within X");
    let literals = whole[whole.outputs[0].hop].inputs[1..].iter().map(|&bound| whole.literal_f64(bound));
    assert_eq!(literals.collect::<Vec<_>>(), [Some(1.0), Some(20.0), None, None]);
    // The values decide whether a range exists.
    assert!(sized(15, 21).expect_err("X has 20 rows").to_string().contains("[15:21, 1:12] lies outside"));
    assert!(sized(0, 6).is_err());
}

#[test]
fn non_zeros_hang_on_no_value() {
    // matrix(n, rows=n, cols=2) and read(path, nnz=n): other values of the same size have other cells.
    let mut dag = HopDag::new();
    let (n, two, path) = (dag.read_scalar("n"), dag.literal(Value::I64(2)), dag.literal(Value::Str("f".into())));
    let filled = add(&mut dag, HopOp::DataGen(DataGenOp::Matrix), &[n, n, two]);
    let names = vec!["rows".to_owned(), "nnz".to_owned()];
    let read = add(&mut dag, HopOp::Parameterized { function: Builtin::Read, names }, &[path, n, n]);
    dag.write("A", filled);
    dag.write("B", read);
    propagate_dag(&mut dag, &[("n", VariableFacts::scalar(Value::I64(3)))].into_iter().collect()).expect("fits");
    let size = |output: usize| dag[dag.outputs[output].hop].size;
    assert_eq!(size(0), SizeInfo::dims(3, 2));
    assert_eq!(size(1), SizeInfo { rows: Some(3), cols: None, nnz: None });
}

#[test]
fn errors_say_where_and_what() {
    let mut dag = HopDag::new();
    let (x, y) = (unknown_matrix(&mut dag, "X"), unknown_matrix(&mut dag, "Y"));
    let transposed = add(&mut dag, HopOp::Reorg(ReorgOp::Transpose), &[y]);
    let span = Some(Span { source: 0, start: 5, end: 12 });
    dag.add(HopOp::MatMul, &[x, transposed], span).expect("unknown sizes fit");
    let before = dag.hops.values().map(|hop| hop.size).collect::<Vec<_>>();
    let environment = [("X", matrix(100, 10)), ("Y", matrix(10, 4))].into_iter().collect();
    let error = propagate_dag(&mut dag, &environment).expect_err("10 columns against 4 rows");
    assert_eq!(error.span, span);
    let text = error.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("[100x10] and [4x10]"), "{text}");
    assert_eq!(lines[1..], ["  input 1: variable `X` [100x10]", "  input 2: result of `t` [4x10]"]);
    // The DAG is as before.
    assert_eq!(dag.hops.values().map(|hop| hop.size).collect::<Vec<_>>(), before);
}

#[test]
fn constants_cross_blocks() {
    // n = ncol(X) * 2 in one block, w = matrix(0, n, 1) in another.
    let first = basic(|dag| {
        let x = unknown_matrix(dag, "X");
        let two = dag.literal(Value::I64(2));
        let cols = add(dag, HopOp::Shape(ShapeOp::Ncol), &[x]);
        let n = add(dag, BinaryOp::Mult, &[cols, two]);
        dag.write("n", n);
    });
    let second = basic(|dag| {
        let (zero, n, one) = (dag.literal(Value::I64(0)), dag.read_scalar("n"), dag.literal(Value::I64(1)));
        let w = add(dag, HopOp::DataGen(DataGenOp::Matrix), &[zero, n, one]);
        dag.write("w", w);
    });
    let (_, end) = run(vec![first, second], &[("X", matrix(100, 10))].into_iter().collect()).expect("fits");
    assert_eq!(end.get("n"), Some(&VariableFacts::scalar(Value::I64(20))));
    assert_eq!(size_of(&end, "w"), "[20x1, nnz=0]");
}

#[test]
fn branches_join() {
    let transpose = HopOp::Reorg(ReorgOp::Transpose);
    let branch = |predicate| StatementBlock::If {
        predicate,
        then_body: vec![assign("A", transpose.clone(), "X"), assign("B", UnaryOp::Abs, "X")],
        else_body: vec![assign("A", UnaryOp::Abs, "X"), assign("B", UnaryOp::Exp, "X")],
        span: None,
    };
    let inputs: SizeEnvironment = [("X", VariableFacts::matrix(SizeInfo::with_nnz(5, 3, 4)))].into_iter().collect();
    let (_, end) = run(vec![branch(some_condition())], &inputs).expect("fits");
    assert_eq!(size_of(&end, "A"), "[?x?, nnz=4]");
    assert_eq!(size_of(&end, "B"), "[5x3]");
    // nrow(X) > 3 is known to hold: only the first branch counts.
    let known = condition(|dag| {
        let (x, three) = (unknown_matrix(dag, "X"), dag.literal(Value::I64(3)));
        let rows = add(dag, HopOp::Shape(ShapeOp::Nrow), &[x]);
        add(dag, BinaryOp::Greater, &[rows, three])
    });
    let (_, end) = run(vec![branch(known)], &inputs).expect("fits");
    assert_eq!(size_of(&end, "A"), "[3x5, nnz=4]");
}

#[test]
fn loops_lose_what_changes_in_them() {
    // while (c) { A = cbind(A, X); X = abs(X); S = exp(X) }
    let grow = basic(|dag| {
        let (a, x) = (unknown_matrix(dag, "A"), unknown_matrix(dag, "X"));
        let wider = add(dag, HopOp::Nary(fuseline_ir::hop::NaryOp::Cbind), &[a, x]);
        dag.write("A", wider);
    });
    let body = vec![grow, assign("X", UnaryOp::Abs, "X"), assign("S", UnaryOp::Exp, "A")];
    let repeat = StatementBlock::While { predicate: some_condition(), body, span: None };
    let inputs = [("A", matrix(5, 1)), ("X", VariableFacts::matrix(SizeInfo::with_nnz(5, 3, 2)))].into_iter().collect();
    let (program, end) = run(vec![repeat], &inputs).expect("fits");
    assert_eq!(size_of(&end, "A"), "[5x?]");
    assert_eq!(size_of(&end, "X"), "[5x3, nnz=2]");
    assert_eq!(size_of(&end, "S"), "[5x?]");
    // The body itself is annotated for all iterations, not for the first.
    let StatementBlock::While { body, .. } = &program.body[0] else { panic!("the loop stays") };
    let StatementBlock::Basic(dag) = &body[0] else { panic!("the block stays") };
    assert_eq!(dag[HopId::from_u32(0)].size, SizeInfo { rows: Some(5), cols: None, nnz: None });
}

#[test]
fn constants_that_change_in_a_loop_are_no_constants() {
    // i = 1; for (j in 1:3) { i = i + 1; W = matrix(0, i, j) }
    let start = basic(|dag| {
        let one = dag.literal(Value::I64(1));
        dag.write("i", one);
    });
    let body = basic(|dag| {
        let (i, j, one) = (dag.read_scalar("i"), dag.read_scalar("j"), dag.literal(Value::I64(1)));
        let next = add(dag, BinaryOp::Plus, &[i, one]);
        let w = add(dag, HopOp::DataGen(DataGenOp::Matrix), &[one, next, j]);
        dag.write("i", next);
        dag.write("W", w);
    });
    let literal = |value| condition(|dag| dag.literal(Value::I64(value)));
    let repeat = StatementBlock::For {
        variable: "j".into(),
        from: literal(1),
        to: literal(3),
        by: None,
        body: vec![body],
        parallel: false,
        span: None,
    };
    let (_, end) = run(vec![start, repeat], &SizeEnvironment::new()).expect("fits");
    assert_eq!(end.get("i"), Some(&VariableFacts::of_type(DataType::I64)));
    assert_eq!(end.get("j"), Some(&VariableFacts::of_type(DataType::I64)));
    assert_eq!(size_of(&end, "W"), "[?x?]");
}

fn parameter(name: &str) -> Parameter {
    Parameter { name: name.into(), data_type: DataType::MATRIX }
}

/// `target = name(X = argument)`.
fn call(name: &str, argument: &str, target: &str) -> StatementBlock {
    let mut arguments = HopDag::new();
    let x = unknown_matrix(&mut arguments, argument);
    arguments.write("X", x);
    let targets = vec![Some(target.to_owned())];
    StatementBlock::Call(Call { function: name.into(), arguments, targets, span: None })
}

fn function(name: &str, body: Vec<StatementBlock>) -> (String, Function) {
    let (parameters, results) = (vec![parameter("X")], vec![parameter("R")]);
    (name.to_owned(), Function { name: name.into(), parameters, results, body, span: None })
}

#[test]
fn functions_are_analysed_per_signature() {
    let gram = basic(|dag| {
        let x = unknown_matrix(dag, "X");
        let transposed = add(dag, HopOp::Reorg(ReorgOp::Transpose), &[x]);
        let product = add(dag, HopOp::MatMul, &[transposed, x]);
        dag.write("R", product);
    });
    let mut program = Program {
        functions: [function("gram", vec![gram])].into_iter().collect(),
        body: vec![call("gram", "A", "G"), call("gram", "B", "H")],
        ..Program::default()
    };
    let inputs = [("A", matrix(9, 4)), ("B", matrix(9, 6))].into_iter().collect();
    let end = propagate_sizes(&mut program, &inputs, &NoFiles).expect("fits");
    assert_eq!((size_of(&end, "G"), size_of(&end, "H")), ("[4x4]".into(), "[6x6]".into()));
    // The function's own blocks hold for both calls.
    let StatementBlock::Basic(dag) = &program.functions["gram"].body[0] else { panic!("the block stays") };
    assert_eq!(dag[HopId::from_u32(0)].size, SizeInfo { rows: Some(9), cols: None, nnz: None });
}

#[test]
fn recursion_ends() {
    // f(X) { R = X; if (c) { X = rbind(X, X); R = f(X) } }: a new signature at every depth.
    let double = basic(|dag| {
        let x = unknown_matrix(dag, "X");
        let twice = add(dag, HopOp::Nary(fuseline_ir::hop::NaryOp::Rbind), &[x, x]);
        dag.write("X", twice);
    });
    let again = StatementBlock::If {
        predicate: some_condition(),
        then_body: vec![double, call("f", "X", "R")],
        else_body: vec![],
        span: None,
    };
    let mut program = Program {
        functions: [function("f", vec![assign("R", UnaryOp::Abs, "X"), again])].into_iter().collect(),
        body: vec![call("f", "A", "B")],
        ..Program::default()
    };
    let inputs = [("A", matrix(2, 3))].into_iter().collect();
    let end = propagate_sizes(&mut program, &inputs, &NoFiles).expect("fits");
    assert_eq!(size_of(&end, "B"), "[?x?]");
}

#[test]
fn files_have_sizes() {
    struct OneFile;
    impl FileSizes for OneFile {
        fn size(&self, path: &str) -> Option<SizeInfo> {
            (path == "data/X.csv").then_some(SizeInfo::with_nnz(50, 4, 120))
        }
    }
    let read = basic(|dag| {
        let path = dag.literal(Value::Str("data/".into()));
        let name = dag.literal(Value::Str("X.csv".into()));
        let path = add(dag, HopOp::Concat, &[path, name]);
        let x = add(dag, HopOp::Parameterized { function: Builtin::Read, names: Vec::new() }, &[path]);
        dag.write("X", x);
    });
    let with_arguments = basic(|dag| {
        let (path, rows) = (dag.literal(Value::Str("other".into())), dag.literal(Value::I64(8)));
        let names = vec!["rows".to_owned()];
        let y = add(dag, HopOp::Parameterized { function: Builtin::Read, names }, &[path, rows]);
        dag.write("Y", y);
    });
    let mut program = Program { body: vec![read, with_arguments], ..Program::default() };
    let end = propagate_sizes(&mut program, &SizeEnvironment::new(), &OneFile).expect("fits");
    assert_eq!(size_of(&end, "X"), "[50x4, nnz=120]");
    assert_eq!(size_of(&end, "Y"), "[8x?]");
}

#[test]
fn work_does_not_multiply_with_each_level_of_loops() {
    for wanted in [Literals::OfSizes, Literals::Everywhere] {
        let visits = |depth: usize| {
            let mut program = nested_loops(depth);
            super::program::walk(&mut program, &mut SizeEnvironment::new(), &NoFiles, wanted).expect("fits")
        };
        let (some, twice) = (visits(30), visits(60));
        assert!(some <= 30 * 16, "{some} DAGs for 30 levels");
        assert!(twice <= 2 * some, "{some} DAGs for 30 levels, {twice} for 60");
    }
}
