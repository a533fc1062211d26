//! Tests of the text form and the verifier of HOP DAGs.

use super::*;
use crate::text::testing::Random;
use crate::types::Element;
use expect_test::{Expect, expect};

/// Every operation, with representatives for the open ones.
fn operations(random: &mut Random) -> Vec<HopOp> {
    let mut all: Vec<HopOp> = vec![
        HopOp::Read(random.name()),
        HopOp::Literal(random.value()),
        HopOp::MatMul,
        HopOp::Index,
        HopOp::LeftIndex,
        HopOp::Concat,
        HopOp::Item(random.below(3)),
        HopOp::SpoofOp { operator: OperatorId::from_u32(3), template: random.pick(TemplateType::ALL) },
    ];
    all.extend(UnaryOp::ALL.iter().copied().map(HopOp::Unary));
    all.extend(BinaryOp::ALL.iter().copied().map(HopOp::Binary));
    all.extend(FusedOp::all().into_iter().map(HopOp::Fused));
    all.extend(TernaryOp::ALL.iter().copied().map(HopOp::Ternary));
    all.extend(NaryOp::ALL.iter().copied().map(HopOp::Nary));
    all.extend(ReorgOp::ALL.iter().copied().map(HopOp::Reorg));
    all.extend(DataGenOp::ALL.iter().copied().map(HopOp::DataGen));
    all.extend(ShapeOp::ALL.iter().copied().map(HopOp::Shape));
    all.extend(CastOp::ALL.iter().copied().map(HopOp::Cast));
    for &op in AggOp::ALL {
        all.extend(Direction::ALL.iter().map(|&direction| HopOp::AggUnary(op, direction)));
    }
    for &function in Function::ALL {
        let names = (0..random.below(3)).map(|_| random.name()).collect();
        all.push(HopOp::Parameterized { function, names });
    }
    all
}

/// A DAG with every operation in random order; types and sizes need not fit.
pub(crate) fn random_dag(random: &mut Random) -> HopDag {
    let mut dag = HopDag::new();
    dag.read_matrix("X", SizeInfo { rows: None, cols: Some(random.next()), nnz: Some(7) });
    let mut operations = operations(random);
    while !operations.is_empty() {
        let op = operations.swap_remove(random.below(operations.len()));
        let count = (0..9).find(|&count| verify::arity_error(&op, count).is_none()).expect("some arity fits");
        let inputs = (0..count).map(|_| HopId::from_u32(random.below(dag.hops.len()) as u32)).collect();
        let element = random.pick(Element::ALL);
        let data_type = random.pick(&[
            DataType::MATRIX,
            DataType::Matrix(element),
            DataType::F64,
            DataType::I64,
            DataType::BOOL,
            DataType::STR,
            DataType::List,
            DataType::Frame,
            DataType::Unknown,
        ]);
        let extent = |random: &mut Random| random.chance().then(|| random.next());
        let size = SizeInfo { rows: extent(random), cols: extent(random), nnz: extent(random) };
        let size = if data_type.is_matrix() { size } else { SizeInfo::UNKNOWN };
        dag.push(Hop { op, inputs, data_type, size, span: None });
    }
    let some = |random: &mut Random| HopId::from_u32(random.below(dag.hops.len()) as u32);
    let names: Vec<(String, HopId)> = (0..3).map(|_| (random.name(), some(random))).collect();
    let effects = (0..2).map(|_| some(random)).collect();
    let cover = FusionCover {
        template: random.pick(TemplateType::ALL),
        roots: (0..random.below(3)).map(|_| some(random)).collect(),
        members: (0..random.below(5)).map(|_| some(random)).collect(),
    };
    for (name, hop) in names {
        dag.write(&name, hop);
    }
    HopDag { effects, covers: vec![cover], ..dag }
}

fn same_op(left: &HopOp, right: &HopOp) -> bool {
    match (left, right) {
        // Texts do not keep the payload of a NaN.
        (HopOp::Literal(Value::F64(l)), HopOp::Literal(Value::F64(r))) if l.is_nan() => r.is_nan(),
        (HopOp::Literal(l), HopOp::Literal(r)) => l.same_bits(r),
        _ => left == right,
    }
}

#[test]
fn printed_dags_read_back() {
    for seed in 0..40 {
        let mut random = Random(seed);
        let (name, dag) = (random.name(), random_dag(&mut random));
        let text = dag.display_named(&name).to_string();
        let parsed = parse(&text).unwrap_or_else(|errors| panic!("seed {seed}: {errors}\n{text}"));
        let [(parsed_name, parsed)] = parsed.as_slice() else { panic!("seed {seed}: one DAG was printed") };
        assert_eq!(*parsed_name, name, "seed {seed}");
        assert_eq!(parsed.display_named(&name).to_string(), text, "seed {seed}");
        for (id, hop) in &dag.hops {
            let read = &parsed[id];
            assert!(same_op(&read.op, &hop.op) && read.inputs == hop.inputs, "seed {seed}, {id}");
            assert_eq!((read.data_type, read.size), (hop.data_type, hop.size), "seed {seed}, {id}");
        }
        assert_eq!((&parsed.outputs, &parsed.effects), (&dag.outputs, &dag.effects), "seed {seed}");
        assert_eq!(parsed.covers, dag.covers, "seed {seed}");
    }
}

#[test]
fn damaged_texts_give_errors_or_dags_that_print_stably() {
    for seed in 0..400 {
        let mut random = Random(seed);
        let dag = random_dag(&mut random);
        let text = random.damaged(&dag.to_string());
        for (name, dag) in parse(&text).unwrap_or_default() {
            // The verifier must survive whatever parses.
            let _ = dag.verify();
            let printed = dag.display_named(&name).to_string();
            let again = parse(&printed).unwrap_or_else(|errors| panic!("seed {seed}: {errors}\n{printed}"));
            assert_eq!(again[0].1.display_named(&name).to_string(), printed, "seed {seed}");
        }
    }
}

#[test]
fn ids_are_renumbered_and_comments_dropped() {
    let text = r#"
        # the loss
        hops @loss {
          %7 = read "X" : f64[?x10]   # unknown rows
          %3 = sumsq.full %7 : f64
          write "s" %3
          cover cell roots(%3) members(%3)
        }"#;
    let dags = parse(text).expect("well-formed");
    expect![[r#"
        hops @loss {
          %0 = read "X" : f64[?x10]
          %1 = sumsq.full %0 : f64
          write "s" %1
          cover cell roots(%1) members(%1)
        }"#]]
    .assert_eq(&dags[0].1.display_named(&dags[0].0).to_string());
}

fn check_parse_errors(text: &str, expected: &Expect) {
    let errors = parse(text).expect_err("ill-formed");
    expected.assert_eq(&errors.to_string());
}

#[test]
fn all_errors_are_reported_with_their_places() {
    check_parse_errors(
        r#"hops {
  %0 = read X : f64[?x?]
  %1 = exp %0 : f64[?x?]
  %2 = plus %1 : f64[?x?]
  %3 = frobnicate %2 : f64
  %4 = matmul %9, %8 : f64[1x1]
  %5 = literal 1.0 : f32
  %5 = literal "a : str
  %6 = literal 1 : i64
  %6 = literal 2 : i64
  %7 = nrow %6 : i64 extra
  %8 = exp x=%6 : f64
  %9 = read "Y" : f64[3*4]
  write "a" %6
  write "a" %6
  effect
  cover blob roots(%6) members(%6)
"#,
        &expect![[r#"
            2:13: expected the name of a variable, found `X`
            5:8: `frobnicate` is no operation
            6:15: %9 is not defined before its use
            7:22: `f32` is no type
            8:16: the text has no closing quote
            10:3: %6 is defined twice
            11:22: expected the end of the line, found `extra`
            12:14: the operation takes no named arguments
            13:23: expected dimensions such as `100x?`
            15:9: the variable `a` is written twice
            16:9: expected an operator such as `%0` at the end of the line
            17:9: expected a template, found `blob`
            17:35: expected `}` at the end of the DAG"#]],
    );
}

#[test]
fn wrong_numbers_of_inputs_are_parse_errors() {
    check_parse_errors(
        r#"hops {
  %0 = read "X" : f64[?x?]
  %1 = plus %0 : f64[?x?]
  %2 = cbind : f64[?x?]
  %3 = fread header=%0 : f64[?x?]
  %4 = time %0 : i64
}"#,
        &expect![[r#"
            3:13: expected 2 inputs, found 1
            4:8: expected at least 1 input, found 0
            5:21: expected 2 inputs, found 1
            6:13: expected 0 inputs, found 1"#]],
    );
}

fn check_verifier_errors(dag: &HopDag, expected: &Expect) {
    let errors = dag.verify().expect_err("the DAG is ill-formed");
    expected.assert_eq(&errors.to_string());
}

#[test]
fn well_formed_dags_pass_the_verifier() {
    let mut dag = HopDag::new();
    let x = dag.read_matrix("X", SizeInfo::with_nnz(100, 10, 50));
    let v = dag.read_matrix("v", SizeInfo::dims(10, 1));
    let product = dag.add(HopOp::MatMul, &[x, v], None).expect("the shapes fit");
    let sum = dag.add(HopOp::AggUnary(AggOp::Sum, Direction::Full), &[product], None).expect("a matrix");
    let print = HopOp::Parameterized { function: Function::Print, names: Vec::new() };
    let print = dag.add(print, &[sum], None).expect("a scalar");
    dag.write("s", sum);
    dag.effects.push(print);
    dag.covers.push(FusionCover { template: TemplateType::Row, roots: vec![sum], members: vec![product, sum] });
    assert_eq!(dag.verify(), Ok(()));
    assert_eq!(dag.into_verified().expect("verified").into_inner().hops.len(), 5);
}

/// `outer(X, X, "*")`, cell by cell, has no more non-zeros than cells.
#[test]
fn an_outer_product_of_equal_matrices_has_no_more_non_zeros_than_cells() {
    let mut dag = HopDag::new();
    let x = dag.read_matrix("X", SizeInfo::with_nnz(20, 10, 50));
    let product = dag.add(HopOp::Outer(BinaryOp::Mult), &[x, x], None).expect("the shapes fit");
    assert_eq!(dag[product].size, SizeInfo::with_nnz(20, 10, 200));
}

#[test]
fn matrices_of_other_elements_than_doubles_are_read_and_refused() {
    let text = "hops {
  %0 = read \"X\" : f32[10x4]
  %1 = read \"Y\" : f64[10x4]
  %2 = plus %1, %0 : f64[10x4]
  %3 = exp %1 : u8[10x4]
}";
    let parsed = parse(text).expect("well-formed text");
    let [(_, dag)] = parsed.as_slice() else { panic!("one DAG") };
    assert_eq!(dag.to_string(), text);
    check_verifier_errors(
        dag,
        &expect![[r#"
            %0: matrices of f32 are stored, not computed with
            %2: + cannot take input 2: matrices of f32 are stored, not computed with
            %3: matrices of u8 are stored, not computed with
            %3: the type is matrix.u8, but the operation gives matrix"#]],
    );
    check_parse_errors("hops {\n%0 = read \"X\" : f16[10x4]\n}", &expect!["2:17: `f16` is no type of cells"]);
    check_parse_errors("hops {\n%0 = read \"X\" : matrix.f32\n}", &expect!["2:17: `matrix.f32` is no type"]);
}

#[test]
fn the_verifier_reports_every_broken_rule() {
    let text = r#"hops {
      %0 = read "X" : f64[10x4, nnz=41]
      %1 = read "v" : f64[3x1]
      %2 = matmul %0, %1 : f64[10x1]
      %3 = t %0 : f64[10x4]
      %4 = sum.full %0 : f64[1x1]
      %5 = literal 1 : f64
      %6 = print %5 : bool
      %7 = t %0 : f64[4x?]
      write "y" %2
      effect %5
      effect %5
      cover cell roots(%2, %3) members(%3, %2)
      cover magg roots(%4) members()
    }"#;
    let (_, mut dag) = parse(text).expect("well-formed text").remove(0);
    check_verifier_errors(
        &dag,
        &expect![[r#"
            %0: more non-zeros than cells in [10x4, nnz=41]
            %2: %*%: the shapes [10x4] and [3x1] do not fit: the columns of the left must be as many as the rows of the right
            %3: the size is [10x4], but the operation gives [4x10, nnz=41]
            %4: the type is matrix, but the operation gives f64
            %5: the type is f64, but the operation gives i64
            effect %5: the operator has no effect
            effect %5: the operator has no effect
            effect %5: the effect is listed twice
            %6: the effect is not listed
            cover 0: the members do not ascend
            cover 0: the cover has one root, not 2
            cover 1: the root %4 is no member"#]],
    );
    let far = HopId::from_u32(99);
    dag = HopDag::new();
    let op = HopOp::Unary(UnaryOp::Exp);
    dag.hops.push(Hop {
        op,
        inputs: Inputs::from_slice(&[far]),
        data_type: DataType::F64,
        size: SizeInfo::dims(1, 1),
        span: None,
    });
    dag.outputs =
        vec![HopOutput { name: "a".to_owned(), hop: far }, HopOutput { name: "a".to_owned(), hop: HopId::from_u32(0) }];
    dag.effects = vec![far];
    dag.covers = vec![FusionCover { template: TemplateType::Cell, roots: vec![far], members: vec![far] }];
    check_verifier_errors(
        &dag,
        &expect![[r#"
            %0: the input %99 does not precede its user
            %0: a size [1x1] without a matrix
            write "a": %99 does not exist
            write "a": the variable is written twice
            effect %99: the operator does not exist
            cover 0: %99 does not exist"#]],
    );
}

/// Each input of a ternary operation must fit what the others have become, not only the first of them.
#[test]
fn ternary_inputs_fit_each_other() {
    let mut dag = HopDag::new();
    let [single, matrix, long] = [("s", 1, 1), ("X", 3, 2), ("v", 2, 1)]
        .map(|(name, rows, cols)| dag.read_matrix(name, SizeInfo { rows: Some(rows), cols: Some(cols), nnz: None }));
    assert!(dag.add(HopOp::Ternary(TernaryOp::PlusMult), &[single, matrix, long], None).is_err());
    let column = dag.read_matrix("w", SizeInfo { rows: Some(3), cols: Some(1), nnz: None });
    let fits = dag.add(HopOp::Ternary(TernaryOp::PlusMult), &[single, column, matrix], None).unwrap();
    assert_eq!(dag[fits].size.known_dims(), Some((3, 2)));
}

/// A matrix (upper case) or number (lower case) for each input of a hand-coded operator on 9 x 7 cells, of rank 2.
fn inputs_of_fused(dag: &mut HopDag, op: FusedOp) -> Vec<HopId> {
    let read = |&name: &&str| {
        let size = match (op, name) {
            (_, "e") => return dag.read_scalar(name),
            (FusedOp::OuterAggregate(..), "U") => SizeInfo::dims(9, 1),
            (FusedOp::OuterAggregate(..), _) => SizeInfo::dims(1, 7),
            (FusedOp::MatrixChain(_), "V") => SizeInfo::dims(7, 1),
            (FusedOp::MatrixChain(_), "Y") => SizeInfo::dims(9, 1),
            (_, "U") => SizeInfo::dims(9, 2),
            (_, "V") => SizeInfo::dims(7, 2),
            _ => SizeInfo::dims(9, 7),
        };
        dag.read_matrix(name, size)
    };
    op.inputs().iter().map(read).collect()
}

#[test]
fn hand_coded_operators_have_definitions_that_fit_and_names_that_read_back() {
    let mut names = std::collections::BTreeSet::new();
    for op in FusedOp::all() {
        let mut dag = HopDag::new();
        let inputs = inputs_of_fused(&mut dag, op);
        let root = op.expand(&mut dag, &inputs).unwrap_or_else(|error| panic!("{op}: {error}"));
        let fused = dag.add(HopOp::Fused(op), &inputs, None).unwrap_or_else(|error| panic!("{op}: {error}"));
        assert_eq!((dag[fused].data_type, dag[fused].size), (dag[root].data_type, dag[root].size), "{op}");
        dag.write("r", fused);
        let (_, read) = parse(&dag.to_string()).expect("the text form reads back").remove(0);
        assert_eq!(read.to_string(), dag.to_string());
        assert!(read.verify().is_ok());
        assert!(names.insert(op.to_string()), "{op} is the name of one operator");
        assert!(dag.add(HopOp::Fused(op), &inputs[1..], None).is_err(), "{op} counts its inputs");
    }
}
