//! Which operators may skip the zeros of their main input.

use super::{constructed, plan, weighted};
use crate::construct::CoverInput;
use crate::facts::TemplateLimits;
use crate::testing::Dag;
use fuseline_ir::hop::{HopId, HopOp, NaryOp};
use fuseline_ir::memo::TemplateType;
use fuseline_ir::ops::{BinaryOp, TernaryOp, UnaryOp};

/// P067: which operations with a literal are zero at zero (the "binary sparse-safe" operations), for Cell and Outer.
#[test]
fn operations_with_literals_are_sparse_safe_where_they_keep_zeros() {
    let cases = [
        (BinaryOp::Pow, 2.5, true),
        (BinaryOp::Pow, -1.0, false),
        (BinaryOp::Pow, 0.0, false),
        (BinaryOp::Max, -1.0, true),
        (BinaryOp::Max, 0.0, true),
        (BinaryOp::Max, 0.5, false),
        (BinaryOp::Min, 1.0, true),
        (BinaryOp::Min, 0.0, true),
        (BinaryOp::Min, -0.5, false),
        (BinaryOp::Equal, 3.0, true),
        (BinaryOp::Equal, 0.0, false),
        (BinaryOp::NotEqual, 0.0, true),
        (BinaryOp::NotEqual, 3.0, false),
        (BinaryOp::Greater, 0.0, true),
        (BinaryOp::Greater, -1.0, false),
        (BinaryOp::Less, 0.0, true),
        (BinaryOp::GreaterEqual, 1.0, true),
        (BinaryOp::GreaterEqual, 0.0, false),
        (BinaryOp::Plus, 0.0, true),
        (BinaryOp::Minus, 0.0, true),
        (BinaryOp::Plus, 1.0, false),
        (BinaryOp::Xor, 0.0, true),
        (BinaryOp::Xor, 1.0, false),
        (BinaryOp::IntDiv, 3.0, true),
        (BinaryOp::Modulus, 3.0, true),
        (BinaryOp::LogNzBase, 2.0, true),
        (BinaryOp::MinusNz, 2.0, true),
        (BinaryOp::BitwAnd, 7.0, true),
        (BinaryOp::Div, 0.0, true),
    ];
    for (op, literal, safe) in cases {
        let cell = plan(|d| {
            let s = d.sparse("S", 1000, 900, 500);
            let number = d.number(literal);
            let kept = d.op(op, &[s, number]);
            let twice = d.op(UnaryOp::Abs, &[kept]);
            d.sum(twice)
        });
        assert_eq!(cell.cplan.sparse_safe, safe, "{op} {literal}");
        let mut d = Dag::default();
        let (s, _, _, product) = weighted(&mut d);
        let number = d.number(literal);
        let weighted = d.mult(s, product);
        let kept = d.op(op, &[weighted, number]);
        let total = d.sum(kept);
        d.write("o", total);
        let plans = constructed(&d.dag, &TemplateLimits::default());
        let outer = plans.iter().find(|plan| plan.cover.template == TemplateType::Outer);
        let outer = outer.unwrap_or_else(|| panic!("{op} {literal}: no Outer plan"));
        assert_eq!((&outer.cover.roots[..], outer.cplan.sparse_safe), (&[total][..], safe), "{op} {literal}");
    }
}

/// P067: other operations at zero, by default and under strict IEEE (where zero times infinity is no zero).
#[test]
fn sparse_safety_of_other_operations() {
    let safe = |strict: bool, build: &dyn Fn(&mut Dag, HopId, HopId) -> HopId| {
        let mut d = Dag::default();
        let (s, y) = (d.sparse("S", 1000, 100, 500), d.read("Y", 1000, 100));
        let cells = build(&mut d, s, y);
        let total = d.sum(cells);
        d.write("o", total);
        let plans = constructed(&d.dag, &TemplateLimits { strict_ieee: strict, ..TemplateLimits::default() });
        assert_eq!(plans.len(), 1);
        plans[0].cplan.sparse_safe && plans[0].inputs[0] == CoverInput::Hop(s)
    };
    type Build = dyn Fn(&mut Dag, HopId, HopId) -> HopId;
    let cases: [(&Build, bool, bool); 9] = [
        (&|d, s, y| d.mult(s, y), true, false),
        (&|d, s, y| d.op(BinaryOp::And, &[y, s]), true, true),
        (&|d, s, y| d.op(BinaryOp::MinusNz, &[s, y]), true, true),
        (&|d, s, y| d.op(BinaryOp::Modulus, &[s, y]), true, false),
        (&|d, s, y| d.op(BinaryOp::Modulus, &[y, s]), false, false),
        (
            &|d, s, y| {
                let one = d.number(1.0);
                d.op(TernaryOp::Replace, &[s, one, y])
            },
            true,
            true,
        ),
        (
            &|d, s, y| {
                let zero = d.number(0.0);
                d.op(TernaryOp::Replace, &[s, zero, y])
            },
            false,
            false,
        ),
        (
            &|d, s, y| {
                let zero = d.number(0.0);
                d.op(TernaryOp::IfElse, &[s, y, zero])
            },
            true,
            true,
        ),
        (
            &|d, s, _| {
                let zero = d.number(0.0);
                d.op(HopOp::Nary(NaryOp::Max), &[s, zero, s])
            },
            true,
            true,
        ),
    ];
    for (number, (build, default, strict)) in cases.into_iter().enumerate() {
        assert_eq!((safe(false, build), safe(true, build)), (default, strict), "case {number}");
    }
}

/// The cell of a column that a cell of the same matrix is weighted with need not be zero where that is.
#[test]
fn columns_of_the_driver_are_not_zero_with_its_cells() {
    let plan = plan(|d| {
        let s = d.sparse("S", 1000, 100, 500);
        let column = d.columns(s, 1, 1);
        let sum = d.plus(s, column);
        d.sum(sum)
    });
    assert!(!plan.cplan.sparse_safe);
}
