//! Whole DAGs before and after.

use super::super::{RewriteOptions, explain_rewrites, rewrite, rewrite_with_report, simplify};
use super::rules::Random;
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::{DataGenOp, Function, Hop, HopDag, HopId, HopOp, NaryOp, ReorgOp, Span};
use fuseline_ir::ops::{AggOp, BinaryOp, Direction, TernaryOp, UnaryOp};
use fuseline_ir::types::{DataType, Value};
use std::time::Instant;

/// One line per operator: `%2 b(*) %0 %1`.
fn lines(dag: &HopDag) -> Vec<String> {
    let line = |(id, hop): (HopId, &Hop)| {
        let inputs: String = hop.inputs.iter().map(|input| format!(" {input}")).collect();
        format!("{id} {}{inputs}", hop.op.label())
    };
    dag.hops.iter().map(line).collect()
}

fn add(dag: &mut HopDag, op: impl Into<HopOp>, inputs: &[HopId]) -> HopId {
    dag.add(op.into(), inputs, None).expect("the inputs of this test fit")
}

fn matrix(dag: &mut HopDag, name: &str) -> HopId {
    dag.read_matrix(name, SizeInfo::dims(100, 10))
}

fn rewritten(dag: &HopDag) -> Vec<String> {
    lines(&rewrite(dag, &RewriteOptions::default()))
}

#[test]
fn common_subexpressions_merge_whatever_the_order_of_inputs() {
    let mut dag = HopDag::new();
    let (x, y) = (matrix(&mut dag, "X"), matrix(&mut dag, "Y"));
    let a = add(&mut dag, BinaryOp::Mult, &[x, y]);
    let y2 = matrix(&mut dag, "Y");
    let b = add(&mut dag, BinaryOp::Mult, &[y2, x]);
    let c = add(&mut dag, BinaryOp::Div, &[a, b]);
    dag.write("c", c);
    assert_eq!(rewritten(&dag), ["%0 TRead X", "%1 TRead Y", "%2 b(*) %0 %1", "%3 b(/) %2 %2"]);
}

#[test]
fn constants_fold_with_dml_types() {
    let mut dag = HopDag::new();
    let (two, three) = (dag.literal(Value::I64(2)), dag.literal(Value::I64(3)));
    let six = add(&mut dag, BinaryOp::Mult, &[two, three]);
    let half = add(&mut dag, BinaryOp::Div, &[six, two]);
    let text = dag.literal(Value::Str("r = ".into()));
    let joined = add(&mut dag, HopOp::Concat, &[text, half]);
    dag.write("n", six);
    dag.write("text", joined);
    assert_eq!(rewritten(&dag), ["%0 LIT 6", "%1 LIT r = 3.0"]);
}

#[test]
fn dead_operators_go_and_outputs_keep_their_names() {
    let mut dag = HopDag::new();
    let x = matrix(&mut dag, "X");
    add(&mut dag, UnaryOp::Exp, &[x]);
    let once = add(&mut dag, HopOp::Reorg(ReorgOp::Transpose), &[x]);
    let twice = add(&mut dag, HopOp::Reorg(ReorgOp::Transpose), &[once]);
    dag.write("A", twice);
    dag.write("B", x);
    let result = rewrite(&dag, &RewriteOptions::default());
    assert_eq!(lines(&result), ["%0 TRead X"]);
    let outputs: Vec<(&str, u32)> = result.outputs.iter().map(|out| (out.name.as_str(), out.hop.as_u32())).collect();
    assert_eq!(outputs, [("A", 0), ("B", 0)]);
}

#[test]
fn sum_of_squares_of_a_difference() {
    // sum((X - Y)^2) + 0: the inner loop of many losses.
    let mut dag = HopDag::new();
    let (x, y) = (matrix(&mut dag, "X"), matrix(&mut dag, "Y"));
    let difference = add(&mut dag, BinaryOp::Minus, &[x, y]);
    let two = dag.literal(Value::I64(2));
    let square = add(&mut dag, BinaryOp::Pow, &[difference, two]);
    let sum = add(&mut dag, (AggOp::Sum, Direction::Full), &[square]);
    let zero = dag.literal(Value::I64(0));
    let loss = add(&mut dag, BinaryOp::Plus, &[zero, sum]);
    dag.write("loss", loss);
    assert_eq!(rewritten(&dag), ["%0 TRead X", "%1 TRead Y", "%2 b(-) %0 %1", "%3 ua(RCsq+) %2"]);
    let explained = explain_rewrites(&dag, &RewriteOptions::default());
    let rules: Vec<&str> = explained.lines().take(4).collect();
    assert_eq!(rules, ["add-zero 1", "square 1", "sum-of-squares 1", "operators 8 -> 4"]);
}

#[test]
fn a_product_with_another_consumer_stays() {
    // P = X*Y is needed anyway, so 1-P is cheaper than 1-X*Y in one operator.
    let mut dag = HopDag::new();
    let (x, y) = (matrix(&mut dag, "X"), matrix(&mut dag, "Y"));
    let product = add(&mut dag, BinaryOp::Mult, &[x, y]);
    let one = dag.literal(Value::I64(1));
    let rest = add(&mut dag, BinaryOp::Minus, &[one, product]);
    dag.write("R", rest);
    assert_eq!(rewritten(&dag), ["%0 TRead X", "%1 TRead Y", "%2 b(1-*) %0 %1"]);
    dag.write("P", product);
    assert_eq!(rewritten(&dag).last().map(String::as_str), Some("%4 b(-) %3 %2"));
}

#[test]
fn a_transpose_dies_when_all_of_its_aggregates_turn() {
    let mut dag = HopDag::new();
    let x = matrix(&mut dag, "X");
    let transposed = add(&mut dag, HopOp::Reorg(ReorgOp::Transpose), &[x]);
    let sum = add(&mut dag, (AggOp::Sum, Direction::Full), &[transposed]);
    let min = add(&mut dag, (AggOp::Min, Direction::Full), &[transposed]);
    dag.write("a", sum);
    dag.write("b", min);
    assert_eq!(rewritten(&dag), ["%0 TRead X", "%1 ua(RC+) %0", "%2 ua(RCmin) %0"]);
}

#[test]
fn strict_ieee_keeps_roundings_and_signs_of_zeros() {
    let mut dag = HopDag::new();
    let (x, y) = (matrix(&mut dag, "X"), matrix(&mut dag, "Y"));
    let product = add(&mut dag, BinaryOp::Mult, &[x, y]);
    let one = dag.literal(Value::F64(1.0));
    let rest = add(&mut dag, BinaryOp::Minus, &[one, product]);
    let zero = dag.literal(Value::F64(0.0));
    let sum = add(&mut dag, BinaryOp::Plus, &[rest, zero]);
    dag.write("R", sum);
    let strict = RewriteOptions { strict_ieee: true, ..RewriteOptions::default() };
    assert_eq!(lines(&rewrite(&dag, &strict)), lines(&dag));
    assert_eq!(rewrite(&dag, &RewriteOptions::default()).hops.len(), 3);
}

#[test]
fn disabled_rewrites_leave_the_dag() {
    let mut dag = HopDag::new();
    let x = matrix(&mut dag, "X");
    let negated = add(&mut dag, UnaryOp::Neg, &[x]);
    let twice = add(&mut dag, UnaryOp::Neg, &[negated]);
    dag.write("A", twice);
    let off = RewriteOptions { enabled: false, ..RewriteOptions::default() };
    assert_eq!(lines(&rewrite(&dag, &off)), lines(&dag));
}

#[test]
fn types_and_shapes_guard_the_rules() {
    let mut dag = HopDag::new();
    let flag = dag.literal(Value::Bool(true));
    let x = dag.read_scalar("x");
    let less = add(&mut dag, BinaryOp::Less, &[x, flag]);
    let one = dag.literal(Value::I64(1));
    // A truth value times one is a number; `-` of one is a number too.
    let product = add(&mut dag, BinaryOp::Mult, &[less, one]);
    dag.write("p", product);
    // A 1 x 1 matrix of one is no literal: its product with a column has the column's shape.
    let (single, column) = (dag.read_matrix("S", SizeInfo::dims(1, 1)), dag.read_matrix("c", SizeInfo::dims(9, 1)));
    let scaled = add(&mut dag, BinaryOp::Mult, &[single, column]);
    dag.write("q", scaled);
    assert_eq!(lines(&rewrite(&dag, &RewriteOptions::default())), lines(&dag));
}

#[test]
fn ranges_between_variables_keep_their_extents() {
    // exp(X)[a:b, c:d], with the size that the values of the bounds gave.
    let mut dag = HopDag::new();
    let x = dag.read_matrix("X", SizeInfo::dims(1000, 100));
    let bounds = ["a", "b", "c", "d"].map(|name| dag.read_scalar(name));
    let exp = add(&mut dag, UnaryOp::Exp, &[x]);
    let inputs = [&[exp], &bounds[..]].concat().into();
    let size = SizeInfo::dims(10, 7);
    let range = dag.push(Hop { op: HopOp::Index, inputs, data_type: DataType::MATRIX, size, span: None });
    dag.write("r", range);
    let rewritten = rewrite(&dag, &RewriteOptions::default());
    let range = rewritten.hops.values().find(|hop| hop.op == HopOp::Index).expect("the range stays");
    assert_eq!(rewritten[range.inputs[0]].op, HopOp::Read("X".into()), "{rewritten}");
    assert_eq!(range.size, size);
}

fn print(dag: &mut HopDag, value: HopId) -> HopId {
    let effect = add(dag, HopOp::Parameterized { function: Function::Print, names: Vec::new() }, &[value]);
    dag.effects.push(effect);
    effect
}

#[test]
fn effects_and_random_numbers_stay_apart_and_in_order() {
    let mut dag = HopDag::new();
    let text = dag.literal(Value::Str("same".into()));
    print(&mut dag, text);
    let five = dag.literal(Value::I64(5));
    let bounds = [dag.literal(Value::F64(0.0)), dag.literal(Value::F64(1.0)), dag.literal(Value::I64(-1))];
    let uniform = dag.literal(Value::Str("uniform".into()));
    let arguments = [five, five, bounds[0], bounds[1], bounds[1], bounds[2], uniform];
    let first = add(&mut dag, HopOp::DataGen(DataGenOp::Rand), &arguments);
    let second = add(&mut dag, HopOp::DataGen(DataGenOp::Rand), &arguments);
    let twice = add(&mut dag, BinaryOp::Plus, &[first, first]);
    let difference = add(&mut dag, BinaryOp::Minus, &[twice, second]);
    print(&mut dag, text);
    dag.write("D", difference);
    let result = rewrite(&dag, &RewriteOptions::default());
    let kinds: Vec<String> = result.hops.values().map(|hop| hop.op.label()).filter(|l| !l.starts_with("LIT")).collect();
    assert_eq!(kinds[1..], ["dg(rand)", "dg(rand)", "b(*)", "b(-)", kinds[0].as_str()]);
    assert_eq!(result.effects.len(), 2);
    assert!(result.effects[0] < result.effects[1]);
}

#[test]
fn spans_survive() {
    let span = |start| Some(Span { source: 0, start, end: start + 1 });
    let mut dag = HopDag::new();
    let x = matrix(&mut dag, "X");
    let a = dag.add(UnaryOp::Exp.into(), &[x], span(10)).expect("fits");
    let b = dag.add(UnaryOp::Exp.into(), &[x], span(20)).expect("fits");
    let product = dag.add(BinaryOp::Mult.into(), &[a, b], span(30)).expect("fits");
    dag.write("P", product);
    let result = rewrite(&dag, &RewriteOptions::default());
    let spans: Vec<Option<Span>> = result.hops.values().map(|hop| hop.span).collect();
    assert_eq!(spans, [None, span(10), span(30)]);
    assert_eq!(result[result.outputs[0].hop].op, UnaryOp::Pow2.into());
}

/// A chain of `exp(x) + x` and the like over two variables.
fn chain(length: usize) -> HopDag {
    let mut dag = HopDag::new();
    let (x, y) = (matrix(&mut dag, "X"), matrix(&mut dag, "Y"));
    let mut last = x;
    for step in 0..length {
        last = match step % 5 {
            0 => add(&mut dag, BinaryOp::Plus, &[last, y]),
            1 => add(&mut dag, BinaryOp::Mult, &[last, last]),
            2 => add(&mut dag, UnaryOp::Neg, &[last]),
            3 => add(&mut dag, TernaryOp::PlusMult, &[x, last, y]),
            _ => add(&mut dag, UnaryOp::Abs, &[last]),
        };
    }
    dag.write("result", last);
    dag
}

#[test]
fn long_chains_need_no_stack() {
    let result = rewrite(&chain(100_000), &RewriteOptions::default());
    assert_eq!(result.hops.len(), 100_002);
    let (saturated, report) = rewrite_with_report(&chain(1_500), &RewriteOptions::default());
    assert_eq!(saturated.hops.len(), 1_502);
    assert_eq!(report.applied, [("square", 300)]);
}

#[test]
fn an_ordinary_block_is_rewritten_within_milliseconds() {
    let dag = chain(100);
    let best = (0..5).map(|_| {
        let start = Instant::now();
        assert_eq!(rewrite(&dag, &RewriteOptions::default()).hops.len(), 102);
        start.elapsed()
    });
    let best = best.min().expect("five rounds");
    // The goal is 10 ms in release builds; the bound leaves room for loaded machines.
    assert!(best.as_millis() < 100, "{best:?}");
}

/// All empty matrices of one shape are one value, with products of itself by itself: the rules must leave it alone.
#[test]
fn products_of_empty_matrices_stay_few() {
    let mut dag = HopDag::new();
    let x = dag.read_matrix("X", SizeInfo { nnz: Some(0), ..SizeInfo::dims(3, 32) });
    let s = dag.read_scalar("s");
    let sums = add(&mut dag, (AggOp::Sum, Direction::Row), &[x]);
    let scaled = add(&mut dag, BinaryOp::Mult, &[s, sums]);
    let squared = add(&mut dag, BinaryOp::Mult, &[scaled, scaled]);
    let doubled = add(&mut dag, BinaryOp::Plus, &[squared, squared]);
    dag.write("result", doubled);
    let (result, report) = rewrite_with_report(&dag, &RewriteOptions::default());
    let applied: usize = report.applied.iter().map(|(_, count)| count).sum();
    assert!(applied < 30, "{report:?}");
    // The row sums are as empty, and of that shape.
    assert_eq!(lines(&result), ["%0 TRead X", "%1 ua(R+) %0"]);
}

/// A random DAG with many chances for rules.
fn random_dag(random: &mut Random) -> HopDag {
    let mut dag = HopDag::new();
    let mut hops = vec![matrix(&mut dag, "X"), matrix(&mut dag, "Y")];
    hops.extend([dag.literal(Value::I64(0)), dag.literal(Value::I64(1)), dag.literal(Value::F64(2.0))]);
    for _ in 0..30 {
        let (a, b) = (hops[random.below(hops.len())], hops[random.below(hops.len())]);
        let op: HopOp = match random.below(6) {
            0 => BinaryOp::Plus.into(),
            1 => BinaryOp::Mult.into(),
            2 => BinaryOp::Minus.into(),
            3 => UnaryOp::Neg.into(),
            4 => (AggOp::Sum, Direction::Full).into(),
            _ => HopOp::Reorg(ReorgOp::Transpose),
        };
        let inputs = if matches!(op, HopOp::Binary(_)) { vec![a, b] } else { vec![a] };
        // Shapes that do not fit are left out.
        if let Ok(hop) = dag.add(op, &inputs, None) {
            hops.push(hop);
        }
    }
    for (number, &hop) in hops.iter().rev().take(3).enumerate() {
        dag.write(&format!("out{number}"), hop);
    }
    dag
}

#[test]
fn random_dags_get_cheaper_deterministically_and_keep_their_shapes() {
    let mut random = Random(5);
    for _ in 0..200 {
        let dag = random_dag(&mut random);
        let (result, report) = rewrite_with_report(&dag, &RewriteOptions::default());
        assert!(report.cost.1 <= report.cost.0, "{report}");
        assert_eq!(lines(&result), lines(&rewrite(&dag, &RewriteOptions::default())));
        for (before, after) in dag.outputs.iter().zip(&result.outputs) {
            let (before, after) = (&dag[before.hop], &result[after.hop]);
            assert_eq!((before.data_type, before.size.known_dims()), (after.data_type, after.size.known_dims()));
        }
    }
}

/// A mean of a known number of cells is a sum and a quotient, so that the sum fuses; means of rows stay.
#[test]
fn means_become_sums() {
    for (direction, count) in [(Direction::Full, Some(6.0)), (Direction::Col, Some(3.0)), (Direction::Row, None)] {
        for known in [true, false] {
            let mut dag = HopDag::new();
            let x = dag.read_matrix("X", if known { SizeInfo::dims(3, 2) } else { SizeInfo::UNKNOWN });
            let mean = dag.add((AggOp::Mean, direction).into(), &[x], None).expect("a mean");
            dag.write("m", mean);
            let result = rewrite(&dag, &RewriteOptions::default());
            let output = &result[result.outputs[0].hop];
            match count.filter(|_| known) {
                Some(count) => {
                    assert_eq!(output.op, BinaryOp::Div.into());
                    assert_eq!(result[output.inputs[0]].op, (AggOp::Sum, direction).into());
                    assert_eq!(result.literal_f64(output.inputs[1]), Some(count));
                }
                None => assert_eq!(output.op, (AggOp::Mean, direction).into()),
            }
            assert_eq!((output.data_type, output.size), (dag[mean].data_type, dag[mean].size));
        }
    }
}

/// `U %*% cbind(V, 0)` is an operand of the element-wise chain around it, `cbind(U %*% V, 0)` is none: simplification, which
/// does not know what is fused, leaves that to the search. What pays in any case it does.
#[test]
fn simplification_moves_no_product() {
    let mut dag = HopDag::new();
    let (u, v) = (dag.read_matrix("U", SizeInfo::dims(20000, 100)), dag.read_matrix("V", SizeInfo::dims(100, 950)));
    let [zero, rows, cols] = [0, 100, 50].map(|value| dag.literal(Value::I64(value)));
    let zeros = add(&mut dag, HopOp::DataGen(DataGenOp::Matrix), &[zero, rows, cols]);
    let wide = add(&mut dag, HopOp::Nary(NaryOp::Cbind), &[v, zeros]);
    let product = add(&mut dag, HopOp::MatMul, &[u, wide]);
    let square = add(&mut dag, BinaryOp::Mult, &[product, product]);
    let sum = add(&mut dag, (AggOp::Sum, Direction::Full), &[square]);
    dag.write("l", sum);
    let options = RewriteOptions::default();
    let labels = |dag: &HopDag| -> Vec<String> {
        dag.hops
            .values()
            .filter(|hop| hop.op == HopOp::MatMul || hop.op == HopOp::Nary(NaryOp::Cbind))
            .map(|hop| hop.op.label())
            .collect()
    };
    let simplified = simplify(&dag, &options);
    assert_eq!(labels(&simplified), ["n(cbind)", "ba(+*)"]);
    assert_eq!(simplified[simplified.outputs[0].hop].op, (AggOp::SumSq, Direction::Full).into());
    assert_eq!(labels(&rewrite(&dag, &options)), ["ba(+*)", "n(cbind)"]);
}

/// Means of no cells are NaN, not the zeros that no non-zeros seem to promise.
#[test]
fn means_of_no_cells_are_not_empty() {
    let mut dag = HopDag::new();
    let x = dag.read_matrix("X", SizeInfo::with_nnz(3, 0, 0));
    let means = add(&mut dag, (AggOp::Mean, Direction::Row), &[x]);
    dag.write("m", means);
    assert_eq!(rewritten(&dag).last().map(String::as_str), Some("%1 ua(Rmean) %0"));
}
