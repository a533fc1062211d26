//! Rewrites of plans, and their canonical form.

use super::{check, constructed, plan, x};
use crate::facts::TemplateLimits;
use crate::testing::Dag;
use fuseline_ir::hop::{HopId, HopOp, NaryOp};
use fuseline_ir::ops::{AggOp, BinaryOp, Direction, UnaryOp};

/// P024: plans do not depend on the order in which aggregates, operands and inputs were written.
#[test]
fn plans_are_canonical() {
    let text = |swap: bool, build: &dyn Fn(&mut Dag, HopId, HopId)| {
        let mut d = Dag::default();
        let (first, second) = (d.read("A", 1000, 100), d.read("B", 1000, 100));
        let (a, b) = if swap { (second, first) } else { (first, second) };
        build(&mut d, a, b);
        let plans = constructed(&d.dag, &TemplateLimits::default());
        assert_eq!(plans.len(), 1);
        plans[0].cplan.to_string()
    };
    type Build = dyn Fn(&mut Dag, HopId, HopId);
    let builds: [&Build; 3] = [
        // Which of two inputs is the main one.
        &|d, a, b| {
            let exp = d.op(UnaryOp::Exp, &[a]);
            let difference = d.op(BinaryOp::Minus, &[exp, b]);
            d.write("o", difference);
        },
        // Two side inputs that only their other uses tell apart.
        &|d, a, b| {
            let z = d.read("Z", 1000, 100);
            let left = d.op(BinaryOp::Pow, &[z, a]);
            let ab = d.mult(a.min(b), a.max(b));
            let sum = d.plus(left, ab);
            d.write("o", sum);
        },
        // The order of aggregates.
        &|d, a, b| {
            let ab = d.mult(a.min(b), a.max(b));
            let (square, total) = if a < b {
                (d.op((AggOp::SumSq, Direction::Full), &[a]), d.sum(ab))
            } else {
                let total = d.sum(ab);
                (d.op((AggOp::SumSq, Direction::Full), &[a]), total)
            };
            d.write("p", total);
            d.write("q", square);
        },
    ];
    for (number, build) in builds.into_iter().enumerate() {
        assert_eq!(text(false, build), text(true, build), "{number}");
    }
}

/// Squares, doubles and counts take the forms that need no intermediate; equal nodes merge after that.
#[test]
fn rewrites_of_plans() {
    check("cell full_agg", &["agg=nnz"], |d| {
        let (x, zero) = (x(d), d.number(0.0));
        let counted = d.op(BinaryOp::NotEqual, &[x, zero]);
        d.sum(counted)
    });
    check("row row_agg", &["row_agg.nnz", "row_agg.sumsq"], |d| {
        let (x, zero) = (x(d), d.number(0.0));
        let counted = d.op(BinaryOp::NotEqual, &[x, zero]);
        let count = d.op((AggOp::Sum, Direction::Row), &[counted]);
        let squares = d.op(UnaryOp::Pow2, &[x]);
        let norms = d.op((AggOp::Sum, Direction::Row), &[squares]);
        d.op(BinaryOp::Div, &[norms, count])
    });
    let merged = plan(|d| {
        let (x, two) = (x(d), d.number(2.0));
        let values = [d.op(BinaryOp::Pow, &[x, two]), d.mult(x, x), d.op(UnaryOp::Pow2, &[x])];
        let doubles = [d.mult(two, x), d.plus(x, x), d.op(UnaryOp::Mult2, &[x])];
        let squares = d.op(HopOp::Nary(NaryOp::Max), &values);
        let doubles = d.op(HopOp::Nary(NaryOp::Min), &doubles);
        d.op(BinaryOp::Minus, &[squares, doubles])
    });
    let text = merged.cplan.to_string();
    assert_eq!((text.matches("mult").count(), text.matches("plus").count()), (1, 1), "{text}");
    assert!(!text.contains("pow2") && !text.contains("literal"), "{text}");
}
