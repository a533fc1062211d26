//! Every pattern is found, and only where it may be.

use super::patterns::PATTERNS;
use super::*;
use crate::facts::Context;
use crate::testing::Dag;
use fuseline_ir::hop::{ChainWeight, Expression, Side};
use fuseline_ir::ops::{AggOp, Direction};

/// Reads of the variables of an expression, of shapes that the operator is made for.
fn variable(dag: &mut HopDag, op: &HopOp, name: &str) -> HopId {
    let size = match (op, name) {
        (_, "e" | "s") => return dag.read_scalar(name),
        (HopOp::Fused(FusedOp::OuterAggregate(..)), "U") => SizeInfo::dims(90, 1),
        (HopOp::Fused(FusedOp::OuterAggregate(..)), _) => SizeInfo::dims(1, 70),
        (HopOp::Fused(FusedOp::MatrixChain(_)), "V") => SizeInfo::dims(70, 1),
        (HopOp::Fused(FusedOp::MatrixChain(_)), "Y") => SizeInfo::dims(90, 1),
        (_, "U") => SizeInfo::dims(90, 5),
        (_, "V") => SizeInfo::dims(70, 5),
        _ => SizeInfo::dims(90, 70),
    };
    dag.read_matrix(name, size)
}

/// The names of the variables of an expression.
fn names(expression: &Expression) -> Vec<String> {
    match expression {
        Expression::Variable(name) => vec![name.clone()],
        Expression::Literal(_) => Vec::new(),
        Expression::Operation(_, inputs) => {
            let mut all: Vec<String> = inputs.iter().flat_map(names).collect();
            all.sort();
            all.dedup();
            all
        }
    }
}

/// A DAG of what a pattern replaces, and its root.
fn instance(pattern: &Pattern) -> (HopDag, HopId) {
    let mut dag = HopDag::new();
    let reads: Vec<(String, HopId)> = names(&pattern.expression)
        .into_iter()
        .map(|name| {
            let id = variable(&mut dag, &pattern.operator, &name);
            (name, id)
        })
        .collect();
    let read = |name: &str| reads.iter().find(|(other, _)| other == name).expect("all were read").1;
    let root = pattern.expression.build(&mut dag, &read).expect("the shapes fit");
    dag.write("r", root);
    (dag, root)
}

/// Hand-coded operators, and products that none took the place of.
fn hand_coded(dag: &HopDag) -> Vec<&HopOp> {
    let is_hand_coded = |op: &&HopOp| matches!(op, HopOp::Fused(_) | HopOp::Ternary(_) | HopOp::MatMul);
    dag.hops.values().map(|hop| &hop.op).filter(is_hand_coded).collect()
}

/// The mnemonics of the hand-coded operators.
fn names_of(dag: &HopDag) -> Vec<String> {
    hand_coded(dag).into_iter().map(HopOp::to_string).collect()
}

#[test]
fn every_pattern_is_replaced_by_its_operator() {
    for pattern in PATTERNS.iter() {
        let (dag, root) = instance(pattern);
        let fused = fuse_by_hand(&dag, false);
        assert_eq!(hand_coded(&fused), [&pattern.operator], "{:?}", pattern.expression);
        assert!(fused.verify().is_ok(), "{fused}");
        let result = &fused[fused.outputs[0].hop];
        assert_eq!((result.data_type, result.size.known_dims()), (dag[root].data_type, dag[root].size.known_dims()));
        assert_eq!(fuse_by_hand(&fused, false).to_string(), fused.to_string(), "nothing is left to do");
    }
}

/// Whatever is read by something else is computed anyway.
#[test]
fn patterns_of_which_parts_are_needed_elsewhere_stay() {
    for pattern in PATTERNS.iter() {
        let (dag, root) = instance(pattern);
        for part in dag.hops.keys().filter(|&id| id != root) {
            let hop = &dag[part];
            let is_leaf = matches!(hop.op, HopOp::Read(_) | HopOp::Literal(_));
            let is_cheap = is_transpose(hop) || hop.op == HopOp::Binary(BinaryOp::NotEqual);
            let reads_leaves = hop.inputs.iter().all(|&input| dag[input].inputs.is_empty());
            let mut shared = dag.clone();
            shared.write("part", part);
            let fused = fuse_by_hand(&shared, false);
            let is_replaced = hand_coded(&fused).contains(&&pattern.operator);
            assert_eq!(is_replaced, is_leaf || is_cheap && reads_leaves, "{:?} shares {part}", pattern.expression);
        }
    }
}

#[test]
fn patterns_of_other_shapes_stay() {
    let mut d = Dag::default();
    let (x, v, w) = (d.read("X", 90, 70), d.read("B", 70, 2), d.read("W", 1, 70));
    let transposed = d.t(x);
    let product = d.matmul(x, v);
    let chain = d.matmul(transposed, product);
    let scaled = d.mult(x, w);
    let sum = d.sum(scaled);
    let (u, f) = (d.read("U", 90, 70), d.read("F", 70, 70));
    let factor = d.t(f);
    let wide = d.matmul(u, factor);
    let weighted = d.mult(x, wide);
    for (name, id) in [("two columns", chain), ("a row", sum), ("no narrow factors", weighted)] {
        d.write(name, id);
    }
    let fused = fuse_by_hand(&d.dag, false);
    assert!(!fused.hops.values().any(|hop| matches!(hop.op, HopOp::Fused(_))), "{fused}");
}

#[test]
fn unknown_sizes_keep_what_needs_them() {
    let mut dag = HopDag::new();
    let (x, y) = (dag.read_matrix("X", SizeInfo::UNKNOWN), dag.read_matrix("Y", SizeInfo::UNKNOWN));
    let product = dag.add(BinaryOp::Mult.into(), &[x, y], None).expect("fits");
    let sum = dag.add((AggOp::Sum, Direction::Full).into(), &[product], None).expect("fits");
    let transposed = dag.add(HopOp::Reorg(ReorgOp::Transpose), &[x], None).expect("fits");
    let square = dag.add(HopOp::MatMul, &[transposed, x], None).expect("fits");
    dag.write("sum", sum);
    dag.write("square", square);
    let fused = fuse_by_hand(&dag, false);
    assert_eq!(hand_coded(&fused), [&HopOp::Fused(FusedOp::TransposeSelf(Side::Left))]);
}

/// `sum(X * Y * log(U %*% t(V)))`: the sum of three factors would need the product.
#[test]
fn weighted_operators_come_before_aggregates() {
    let mut d = Dag::default();
    let (x, y) = (d.read("X", 90, 70), d.read("Y", 90, 70));
    let (u, v) = (d.read("U", 90, 5), d.read("V", 70, 5));
    let transposed = d.t(v);
    let product = d.matmul(u, transposed);
    let log = d.op(fuseline_ir::ops::UnaryOp::Log, &[product]);
    let weighted = d.mult(y, log);
    let both = d.mult(x, weighted);
    let sum = d.sum(both);
    d.write("s", sum);
    assert_eq!(names_of(&fuse_by_hand(&d.dag, false)), ["wumm.mult.log", "tak2.full"]);
}

/// `(W / (U %*% H)) %*% t(H)`: the factor is the transpose that is there.
#[test]
fn a_factor_may_be_written_without_a_transpose() {
    let mut d = Dag::default();
    let (w, u, h) = (d.read("W", 90, 70), d.read("U", 90, 5), d.read("H", 5, 70));
    let product = d.matmul(u, h);
    let quotient = d.op(BinaryOp::Div, &[w, product]);
    let transposed = d.t(h);
    let result = d.matmul(quotient, transposed);
    d.write("r", result);
    let fused = fuse_by_hand(&d.dag, false);
    assert_eq!(names_of(&fused), ["wdivmm.right.div"]);
    assert_eq!(fused.hops.values().filter(|hop| is_transpose(hop)).count(), 1);
}

#[test]
fn strict_arithmetic_skips_no_zeros() {
    for (nnz, is_replaced) in [(None, true), (Some(100), false)] {
        let mut dag = HopDag::new();
        let w = dag.read_matrix("W", SizeInfo { nnz, ..SizeInfo::dims(90, 70) });
        let (u, v) = (dag.read_matrix("U", SizeInfo::dims(90, 5)), dag.read_matrix("V", SizeInfo::dims(70, 5)));
        let root = FusedOp::WeightedMultiply.expand(&mut dag, &[w, u, v]).expect("fits");
        dag.write("r", root);
        let names = |strict| names_of(&fuse_by_hand(&dag, strict));
        assert_eq!(names(true) == ["wdivmm.basic"], is_replaced);
        assert_eq!(names(false), ["wdivmm.basic"]);
    }
}

#[test]
fn hand_coded_operators_are_priced_as_generated_ones() {
    let (model, limits) = (crate::cost::CostModel::default(), crate::facts::TemplateLimits::default());
    for op in FusedOp::all() {
        let pattern = PATTERNS.iter().find(|pattern| pattern.operator == HopOp::Fused(op)).expect("each has one");
        let fused = fuse_by_hand(&instance(pattern).0, false);
        let mut predictions = crate::cost::Predictions::new();
        predict(&model, &limits, &fused, &mut predictions);
        let (id, _) = fused.hops.iter().find(|(_, hop)| hop.op == HopOp::Fused(op)).expect("it was replaced");
        let is_priced = predictions[id].is_some_and(|prediction| prediction.seconds > 0.0);
        assert_eq!(is_priced, !matches!(op, FusedOp::OuterAggregate(..)), "{op}");
    }
}

/// A chain reads its matrix once: less than its two products.
#[test]
fn a_chain_costs_less_than_its_products() {
    let mut d = Dag::default();
    let (x, v) = (d.read("X", 100_000, 1000), d.read("v", 1000, 1));
    let (transposed, product) = (d.t(x), d.matmul(x, v));
    let chain = d.matmul(transposed, product);
    d.write("r", chain);
    let (model, limits) = (crate::cost::CostModel::default(), crate::facts::TemplateLimits::default());
    let total = |dag: &HopDag| {
        let mut predictions = model.predict(&Context::new(dag, &limits));
        predict(&model, &limits, dag, &mut predictions);
        dag.hops
            .keys()
            .filter(|&id| !is_transpose(&dag[id]))
            .filter_map(|id| Some(predictions[id]?.seconds))
            .sum::<f64>()
    };
    let fused = fuse_by_hand(&d.dag, false);
    assert_eq!(hand_coded(&fused), [&HopOp::Fused(FusedOp::MatrixChain(ChainWeight::None))]);
    assert!(total(&fused) < 0.75 * total(&d.dag));
}

/// Where generated code competes, only operators of another complexity class take the place of patterns.
#[test]
fn sorted_searches_alone_take_the_place_of_patterns_in_every_mode() {
    for pattern in PATTERNS.iter() {
        let (dag, _) = instance(pattern);
        let is_search = matches!(pattern.operator, HopOp::Fused(FusedOp::OuterAggregate(..)));
        let replaced = search_sorted(&dag);
        assert_eq!(matches!(replaced, Cow::Owned(_)), is_search, "{dag}");
        let has_operator = replaced.hops.values().any(|hop| hop.op == pattern.operator);
        assert_eq!(has_operator, is_search, "{replaced}");
    }
}
