//! CPlans of known covers, variant by variant.

mod canonical;
mod sparse_safety;
mod variants;

use super::*;
use crate::cost::CostModel;
use crate::explore::explore;
use crate::facts::TemplateLimits;
use crate::select::{SearchLimits, SelectPolicy, select};
use crate::template::TEMPLATES;
use crate::testing::Dag;
use fuseline_ir::cplan::{CNode, Variant};
use fuseline_ir::hop::HopDag;
use fuseline_ir::ops::{AggOp, BinaryOp, Direction, UnaryOp};

fn plans(dag: &HopDag) -> Vec<ConstructedPlan> {
    constructed(dag, &TemplateLimits::default())
}

fn only(dag: &HopDag) -> ConstructedPlan {
    let mut plans = plans(dag);
    assert_eq!(plans.len(), 1);
    plans.remove(0)
}

fn constructed(dag: &HopDag, limits: &TemplateLimits) -> Vec<ConstructedPlan> {
    let context = Context::new(dag, limits);
    let memo = explore(&context, TEMPLATES);
    let plan = select(&context, &memo, SelectPolicy::FuseAll, &CostModel::default(), &SearchLimits::default());
    let (plans, rejected) = construct(&context, &plan.covers);
    assert!(rejected.is_empty(), "{rejected:?}");
    plans
}

/// The only fused operator of an expression.
fn plan(build: impl FnOnce(&mut Dag) -> HopId) -> ConstructedPlan {
    let mut d = Dag::default();
    let output = build(&mut d);
    d.write("o", output);
    let mut plans = constructed(&d.dag, &TemplateLimits::default());
    assert_eq!(plans.len(), 1, "{}", d.dag);
    plans.remove(0)
}

/// Whether the only plan begins with this header and contains these nodes.
#[track_caller]
fn check(header: &str, nodes: &[&str], build: impl FnOnce(&mut Dag) -> HopId) {
    let text = plan(build).cplan.to_string();
    assert!(text.starts_with(&format!("cplan {header} ")), "{text}");
    for node in nodes {
        assert!(text.contains(node), "no `{node}` in\n{text}");
    }
}

fn x(d: &mut Dag) -> HopId {
    d.read("X", 1000, 100)
}

fn weighted(d: &mut Dag) -> (HopId, HopId, HopId, HopId) {
    let (w, u, v) = (d.sparse("S", 1000, 900, 500), d.read("U", 1000, 10), d.read("V", 900, 10));
    let vt = d.t(v);
    let product = d.matmul(u, vt);
    (w, u, v, product)
}

/// P024: plans that differ in the order of operands are equal values.
#[test]
fn permuted_operands_give_equal_plans() {
    let build = |permuted: bool| {
        let mut d = Dag::default();
        let (x, y, z) = (d.read("X", 1000, 100), d.read("Y", 1000, 100), d.read("z", 1000, 1));
        let exp = d.op(UnaryOp::Exp, &[y]);
        let half = d.number(0.5);
        let (scaled, product) = if permuted {
            let scaled = d.mult(half, exp);
            (scaled, d.mult(z, x))
        } else {
            let scaled = d.mult(exp, half);
            (scaled, d.mult(x, z))
        };
        let sum = if permuted { d.plus(product, scaled) } else { d.plus(scaled, product) };
        d.write("o", sum);
        only(&d.dag).cplan
    };
    assert_eq!(build(false), build(true));
}

/// Literals are baked in; scalars of the run time are inputs, after the matrices.
#[test]
fn literals_are_constants_and_scalars_are_inputs() {
    let mut d = Dag::default();
    let s = d.dag.read_scalar("s");
    let (x, y) = (d.read("X", 1000, 100), d.read("Y", 1000, 100));
    let two = d.number(2.5);
    let a = d.mult(x, s);
    let b = d.mult(a, two);
    let c = d.plus(b, y);
    d.write("o", c);
    let plan = only(&d.dag);
    assert_eq!(plan.inputs, [x, y, s].map(CoverInput::Hop));
    assert_eq!(plan.cplan.scalars().count(), 1);
    assert_eq!(plan.cplan.nodes.values().filter(|node| matches!(node, CNode::Literal(_))).count(), 1);
}

/// Shared operators become one node.
#[test]
fn common_subexpressions_are_computed_once() {
    let mut d = Dag::default();
    let (x, y) = (d.read("X", 1000, 100), d.read("Y", 1000, 100));
    let (one, other) = (d.mult(x, y), d.mult(y, x));
    let sum = d.plus(one, other);
    let total = d.sum(sum);
    d.write("o", total);
    let plan = only(&d.dag);
    let products = plan.cplan.nodes.values().filter(|node| matches!(node, CNode::Binary(BinaryOp::Mult, ..))).count();
    assert_eq!(products, 1);
}

/// Row sums of squares and of products need no intermediate.
#[test]
fn row_sums_become_sums_of_squares_and_dot_products() {
    let mut d = Dag::default();
    let (x, y, v) = (d.read("X", 1000, 100), d.read("Y", 1000, 100), d.read("v", 100, 1));
    let squares = d.op(UnaryOp::Pow2, &[x]);
    let norms = d.op((AggOp::Sum, Direction::Row), &[squares]);
    let xy = d.mult(x, y);
    let dots = d.op((AggOp::Sum, Direction::Row), &[xy]);
    let xv = d.matmul(x, v);
    let sum = d.plus(norms, dots);
    let output = d.plus(sum, xv);
    d.write("o", output);
    let plan = only(&d.dag).cplan;
    let nodes: Vec<CNode> = plan.nodes.values().copied().collect();
    assert!(nodes.iter().any(|node| matches!(node, CNode::RowAgg(AggOp::SumSq, _))));
    assert_eq!(nodes.iter().filter(|node| matches!(node, CNode::DotProduct(..))).count(), 2);
    assert_eq!(plan.template(), fuseline_ir::memo::TemplateType::Row);
}

/// An inner product reads its left operand through the transpose.
#[test]
fn an_inner_product_of_an_expression_is_a_cell_operator() {
    let mut d = Dag::default();
    let (x, y, z) = (d.read("x", 1000, 1), d.read("y", 1000, 1), d.read("z", 1000, 1));
    let xt = d.t(x);
    let yz = d.mult(y, z);
    let product = d.matmul(xt, yz);
    d.write("o", product);
    let plan = only(&d.dag);
    assert_eq!(plan.cplan.variant, Variant::Cell(fuseline_ir::cplan::CellType::FullAgg));
    assert!(plan.inputs.contains(&CoverInput::Hop(x)) && !plan.inputs.contains(&CoverInput::Hop(xt)));
}

/// P067: whatever the aggregate, the operator runs over the non-zeros; extremes and products take one zero for the rest.
#[test]
fn every_aggregate_of_zeros_is_sparse_safe() {
    for &op in AggOp::ALL.iter().filter(|op| op.merges()) {
        for (filled, safe) in [(false, true), (true, false)] {
            let mut d = Dag::default();
            let (x, y) = (d.sparse("X", 1000, 100, 500), d.read("Y", 1000, 100));
            let cells = if filled { d.plus(x, y) } else { d.mult(x, y) };
            let total = d.op((op, Direction::Full), &[cells]);
            d.write("o", total);
            assert_eq!(only(&d.dag).cplan.sparse_safe, safe, "{op}");
        }
    }
}

/// P067: what a zero of the driver gives decides, operation by operation.
#[test]
fn sparse_safety_follows_the_values_at_zero() {
    let safe = |build: &dyn Fn(&mut Dag, HopId, HopId) -> HopId| {
        let mut d = Dag::default();
        let (x, y) = (d.sparse("X", 1000, 100, 500), d.read("Y", 1000, 100));
        let cells = build(&mut d, x, y);
        let total = d.sum(cells);
        d.write("o", total);
        let plan = only(&d.dag);
        plan.cplan.sparse_safe && plan.inputs[0] == CoverInput::Hop(x)
    };
    assert!(safe(&|d, x, y| d.op(BinaryOp::Div, &[x, y])));
    assert!(!safe(&|d, x, y| d.op(BinaryOp::Div, &[y, x])));
    assert!(!safe(&|d, x, y| d.plus(x, y)));
    assert!(!safe(&|d, x, _| d.op(UnaryOp::Exp, &[x])));
    assert!(safe(&|d, x, y| {
        let zero = d.number(0.0);
        let positive = d.op(BinaryOp::Greater, &[x, zero]);
        d.mult(y, positive)
    }));
    assert!(!safe(&|d, x, y| {
        let zero = d.number(0.0);
        let equal = d.op(BinaryOp::GreaterEqual, &[x, zero]);
        d.mult(y, equal)
    }));
}

/// A vector that a product takes whole and a difference takes cell by cell is two inputs.
#[test]
fn an_input_that_is_read_in_two_ways_is_two_inputs() {
    let mut d = Dag::default();
    let (x, v) = (d.read("X", 500, 500), d.read("v", 500, 1));
    let product = d.matmul(x, v);
    let difference = d.op(BinaryOp::Minus, &[product, v]);
    d.write("o", difference);
    let plan = only(&d.dag);
    assert_eq!(plan.inputs, [x, v, v].map(CoverInput::Hop));
    let reads = |node: &&CNode| matches!(node, CNode::SideVector(_) | CNode::SideRowScalar(..));
    let read: Vec<_> = plan.cplan.nodes.values().filter(reads).filter_map(CNode::input).collect();
    assert_eq!(read.len(), 2);
    assert_ne!(read[0], read[1]);
}

/// The zeros of `t(X)` are not where those of `X` are: a transpose in a Cell operator is just another side input.
#[test]
fn a_transpose_of_the_driver_is_not_zero_with_it() {
    let mut d = Dag::default();
    let (x, y) = (d.sparse("X", 1000, 1000, 5000), d.read("Y", 1000, 1000));
    let difference = d.op(BinaryOp::Minus, &[x, y]);
    let transposed = d.t(x);
    let product = d.mult(difference, transposed);
    d.write("o", product);
    assert!(plans(&d.dag).iter().all(|plan| !plan.cplan.sparse_safe || plan.inputs[0] != CoverInput::Hop(x)));
}
