//! Plans of each variant and node, from the smallest expression that has it.

use super::{check, constructed, plan, weighted, x};
use crate::construct::{CoverInput, construct};
use crate::cost::CostModel;
use crate::explore::explore;
use crate::facts::{Context, TemplateLimits};
use crate::select::{SearchLimits, SelectPolicy, select};
use crate::template::TEMPLATES;
use crate::testing::Dag;
use fuseline_ir::cplan::CNode;
use fuseline_ir::hop::{DataGenOp, HopId, HopOp, NaryOp, ReorgOp};
use fuseline_ir::memo::TemplateType;
use fuseline_ir::ops::{AggOp, BinaryOp, Direction, TernaryOp, UnaryOp};

/// P046 to P053: each Row variant, by the length of what leaves it.
#[test]
fn row_variants() {
    check("row no_agg", &["row_agg.sum %0", "div %0"], |d| {
        let x = x(d);
        let sums = d.op((AggOp::Sum, Direction::Row), &[x]);
        d.op(BinaryOp::Div, &[x, sums])
    });
    check("row no_agg_b1", &["vect_mat_mult"], |d| {
        let (x, b) = (x(d), d.read("B", 100, 4));
        let product = d.matmul(x, b);
        d.op(UnaryOp::Exp, &[product])
    });
    check("row no_agg_const", &["side_row in1[2:5]"], |d| {
        let x = x(d);
        let range = d.columns(x, 3, 5);
        d.op(UnaryOp::Exp, &[range])
    });
    check("row no_agg_const", &["cbind %0, "], |d| {
        let x = x(d);
        let sums = d.op((AggOp::Var, Direction::Row), &[x]);
        d.op(HopOp::Nary(NaryOp::Cbind), &[x, sums])
    });
    check("row row_agg", &["row_agg.mean"], |d| {
        let x = x(d);
        let exp = d.op(UnaryOp::Exp, &[x]);
        d.op((AggOp::Mean, Direction::Row), &[exp])
    });
    check("row col_agg", &["agg=max"], |d| {
        let x = x(d);
        let sums = d.op((AggOp::Sum, Direction::Row), &[x]);
        let shares = d.op(BinaryOp::Div, &[x, sums]);
        d.op((AggOp::Max, Direction::Col), &[shares])
    });
    check("row col_agg_b1r", &["vect_mat_mult", "agg=prod"], |d| {
        let (x, b) = (x(d), d.read("B", 100, 4));
        let product = d.matmul(x, b);
        d.op((AggOp::Prod, Direction::Col), &[product])
    });
    check("row col_agg_const", &["side_row in1[0:2]", "agg=nnz"], |d| {
        let x = x(d);
        let range = d.columns(x, 1, 2);
        d.op((AggOp::Nnz, Direction::Col), &[range])
    });
    check("row full_agg", &["row_agg.min", "agg=sum"], |d| {
        let x = x(d);
        let minima = d.op((AggOp::Min, Direction::Row), &[x]);
        d.sum(minima)
    });
    check("row col_agg_t", &["left=%0"], |d| {
        let (x, v) = (x(d), d.read("v", 100, 1));
        let (xt, xv) = (d.t(x), d.matmul(x, v));
        d.matmul(xt, xv)
    });
    check("row col_agg_b1_t", &["left=%0"], |d| {
        let (x, b) = (x(d), d.read("B", 100, 4));
        let (xt, xb) = (d.t(x), d.matmul(x, b));
        d.matmul(xt, xb)
    });
    check("row col_agg_b1", &["exp", "left="], |d| {
        let (x, p) = (x(d), d.read("P", 1000, 4));
        let exp = d.op(UnaryOp::Exp, &[p]);
        let pt = d.t(exp);
        d.matmul(pt, x)
    });
}

/// Every row aggregate, cumulative aggregates along rows, and operations of any number of operands.
#[test]
fn row_nodes() {
    for &op in AggOp::ALL {
        check("row no_agg", &[&format!("row_agg.{op}")], |d| {
            let x = x(d);
            let aggregate = d.op((op, Direction::Row), &[x]);
            d.op(BinaryOp::Minus, &[x, aggregate])
        });
    }
    for op in AggOp::ALL.iter().copied().filter(|op| op.is_cumulative()) {
        check("row no_agg", &[&format!("row_cumulative.{op} %0")], |d| {
            let x = x(d);
            let xt = d.t(x);
            let sums = d.op(HopOp::Cumulative(op), &[xt]);
            d.t(sums)
        });
    }
    check("row row_agg", &["min", "row_agg.sum", "side_row_scalar in1[6]"], |d| {
        let (x, y) = (x(d), d.read("y", 1000, 1));
        let column = d.columns(x, 7, 7);
        let least = d.op(HopOp::Nary(NaryOp::Min), &[x, column, y, x]);
        d.op((AggOp::Sum, Direction::Row), &[least]);
        let sums = d.op((AggOp::Sum, Direction::Row), &[least]);
        d.op(UnaryOp::Exp, &[sums])
    });
    check("row row_agg", &["side_row_scalar", "side_vector", "pow"], |d| {
        let (x, u, v) = (x(d), d.read("u", 1000, 1), d.read("v", 1, 100));
        let outer = d.op(HopOp::Outer(BinaryOp::Pow), &[u, v]);
        let sum = d.plus(x, outer);
        let sums = d.op((AggOp::Sum, Direction::Row), &[sum]);
        d.op(UnaryOp::Exp, &[sums])
    });
}

/// The rows of the matrix are the operator's, even where nothing but columns of it is read (and no other matrix is).
#[test]
fn a_matrix_read_by_columns_alone_is_main_and_side_input() {
    let plan = plan(|d| {
        let x = x(d);
        let (one, other) = (d.columns(x, 1, 1), d.columns(x, 4, 4));
        d.mult(one, other)
    });
    assert_eq!(plan.inputs, [plan.inputs[0]; 2]);
    assert!(!plan.cplan.nodes.values().any(|node| *node == CNode::Main));
    assert!(plan.cplan.sparse_safe, "a row of zeros has zeros in every column");
}

/// P054 to P059: Cell variants with every aggregate that merges.
#[test]
fn cell_variants() {
    for op in AggOp::ALL.iter().copied().filter(|op| op.merges()) {
        for (direction, variant) in
            [(Direction::Full, "full_agg"), (Direction::Row, "row_agg"), (Direction::Col, "col_agg")]
        {
            check(&format!("cell {variant}"), &["exp %0", &format!("agg={op}")], |d| {
                let x = x(d);
                let exp = d.op(UnaryOp::Exp, &[x]);
                d.op((op, direction), &[exp])
            });
        }
    }
}

/// Every element-wise operation of the table fuses.
#[test]
fn cell_operations() {
    for &op in UnaryOp::ALL {
        check("cell no_agg", &[], |d| {
            let x = x(d);
            let abs = d.op(UnaryOp::Abs, &[x]);
            d.op(op, &[abs])
        });
    }
    for &op in BinaryOp::ALL {
        check("cell no_agg", &[op.mnemonic()], |d| {
            let (x, y) = (x(d), d.read("Y", 1000, 100));
            let abs = d.op(UnaryOp::Abs, &[x]);
            d.op(op, &[abs, y])
        });
    }
    for &op in TernaryOp::ALL {
        check("cell no_agg", &[op.mnemonic()], |d| {
            let (x, y, s) = (x(d), d.read("y", 1000, 1), d.dag.read_scalar("s"));
            let abs = d.op(UnaryOp::Abs, &[x]);
            d.op(op, &[abs, y, s])
        });
    }
}

/// Columns, sequences, outer operations, single cells and biases are scalars of a cell.
#[test]
fn cell_operands() {
    check("cell no_agg", &["side_row_scalar in1[4]"], |d| {
        let (x, p) = (x(d), d.read("P", 1000, 9));
        let column = d.columns(p, 5, 5);
        d.mult(x, column)
    });
    check("cell no_agg", &["row_index", "plusmult"], |d| {
        let x = x(d);
        let seq = d.seq(1.0, 0.5, 1000);
        d.mult(x, seq)
    });
    check("cell full_agg", &["side_row_scalar", "side_col_scalar", "lt"], |d| {
        let (x, u, v) = (x(d), d.read("u", 1000, 1), d.read("v", 1, 100));
        let outer = d.op(HopOp::Outer(BinaryOp::Less), &[u, v]);
        let product = d.mult(x, outer);
        d.sum(product)
    });
    check("cell no_agg", &["plus", "in3 = scalar"], |d| {
        let (x, y, z, c) = (x(d), d.read("Y", 1000, 100), d.read("z", 1, 100), d.read("c", 1, 1));
        let zc = d.plus(z, c);
        d.op(HopOp::Nary(NaryOp::Plus), &[x, y, zc, c])
    });
    check("cell no_agg", &["side_col_scalar"], |d| {
        let (x, b) = (x(d), d.read("b", 20, 1));
        let cols = d.dag.literal(fuseline_ir::Value::I64(100));
        let bias = d.op(HopOp::DataGen(DataGenOp::Expand), &[b, cols]);
        let sum = d.plus(x, bias);
        d.op(UnaryOp::Abs, &[sum])
    });
}

#[test]
fn a_single_cell_is_a_scalar_input() {
    let plan = plan(|d| {
        let (x, c) = (x(d), d.read("c", 1, 1));
        let product = d.mult(x, c);
        d.sum(product)
    });
    assert!(matches!(plan.inputs[..], [CoverInput::Hop(_), CoverInput::Scalar(_)]), "{:?}", plan.inputs);
}

/// A multi-aggregate of any number of aggregates, inner products among them; the left operand is read as it is.
#[test]
fn multi_aggregates() {
    let mut d = Dag::default();
    let (x, y) = (d.read("x", 500_000, 1), d.read("y", 500_000, 1));
    let xt = d.t(x);
    let dot = d.matmul(xt, y);
    d.write("dot", dot);
    for (number, &op) in AggOp::ALL.iter().filter(|op| op.merges()).enumerate() {
        let aggregate = d.op((op, Direction::Full), &[x]);
        d.write(&format!("s{number}"), aggregate);
    }
    let plans = constructed(&d.dag, &TemplateLimits::default());
    let [plan] = &plans[..] else { panic!("{} plans", plans.len()) };
    assert_eq!(plan.cplan.outputs.len(), 7);
    assert_eq!(plan.inputs, [x, y].map(CoverInput::Hop));
    for (&root, &output) in plan.cover.roots.iter().zip(&plan.outputs) {
        let agg = plan.cplan.outputs[output as usize].agg();
        assert_eq!(agg, Some(if let HopOp::AggUnary(op, _) = d.dag[root].op { op } else { AggOp::Sum }));
    }
}

/// P061 to P065: Outer variants; a factor `X != 0` is 1 where the operator looks and disappears.
#[test]
fn outer_variants() {
    check("outer no_agg", &["log"], |d| {
        let (s, _, _, product) = weighted(d);
        let log = d.op(UnaryOp::Log, &[product]);
        d.mult(s, log)
    });
    for op in AggOp::ALL.iter().copied().filter(|op| op.merges()) {
        check("outer full_agg sparse_safe=true", &[&format!("agg={op}")], |d| {
            let (s, _, _, product) = weighted(d);
            let cells = d.mult(s, product);
            d.op((op, Direction::Full), &[cells])
        });
    }
    let nonzero = |d: &mut Dag, s: HopId, product: HopId| {
        let zero = d.number(0.0);
        let pattern = d.op(BinaryOp::NotEqual, &[s, zero]);
        d.mult(product, pattern)
    };
    let right = plan(|d| {
        let (s, _, v, product) = weighted(d);
        let cells = nonzero(d, s, product);
        d.matmul(cells, v)
    });
    assert_eq!(right.cplan.nodes.values().copied().collect::<Vec<_>>(), [CNode::OuterProduct]);
    check("outer left_mm", &["minus"], |d| {
        let (s, u, _, product) = weighted(d);
        let (cells, s2) = (nonzero(d, s, product), s);
        let difference = d.op(BinaryOp::Minus, &[cells, s2]);
        let cells = d.mult(difference, s);
        let transposed = d.t(cells);
        d.matmul(transposed, u)
    });
    check("outer full_agg", &["in3 = matrix", "side_row_scalar", "div"], |d| {
        let (s, _, _, product) = weighted(d);
        let y = d.read("y", 1000, 1);
        let scaled = d.mult(product, y);
        let cells = d.op(BinaryOp::Div, &[s, scaled]);
        d.sum(cells)
    });
}

/// Without a driver an Outer operator runs over all cells of a matrix that the product meets, if it ends in an aggregate.
/// Under fuse-all, too, there is none that stores a value for each cell, or whose product meets no matrix: a Row operator
/// computes that by row.
#[test]
fn outer_operators_without_a_driver_meet_a_matrix_and_aggregate() {
    let templates = |build: &dyn Fn(&mut Dag, HopId, HopId) -> HopId, policy: SelectPolicy| {
        let mut d = Dag::default();
        let (s, _, _, product) = weighted(&mut d);
        let root = build(&mut d, s, product);
        d.write("o", root);
        let limits = TemplateLimits::default();
        let context = Context::new(&d.dag, &limits);
        let memo = explore(&context, TEMPLATES);
        let plan = select(&context, &memo, policy, &CostModel::default(), &SearchLimits::default());
        let (plans, rejected) = construct(&context, &plan.covers);
        assert!(rejected.is_empty(), "{rejected:?}");
        assert!(plans.iter().all(|plan| !plan.cplan.sparse_safe));
        plans.iter().map(|plan| plan.cover.template).collect::<Vec<_>>()
    };
    let cells = |d: &mut Dag, s: HopId, product: HopId| {
        let exp = d.op(UnaryOp::Exp, &[product]);
        d.plus(exp, s)
    };
    let total = |d: &mut Dag, s: HopId, product: HopId| {
        let sum = cells(d, s, product);
        d.sum(sum)
    };
    let alone = |d: &mut Dag, _: HopId, product: HopId| {
        let exp = d.op(UnaryOp::Exp, &[product]);
        d.sum(exp)
    };
    for policy in [SelectPolicy::FuseAll, SelectPolicy::FuseNoRedundancy, SelectPolicy::CostBased] {
        assert_eq!(templates(&total, policy), [TemplateType::Outer], "{policy:?}");
        assert_eq!(templates(&cells, policy), [TemplateType::Row], "{policy:?}");
        assert_eq!(templates(&alone, policy), [TemplateType::Row], "{policy:?}");
    }
}

/// A transpose of anything but the left of a product over rows is no part of a Row operator; reversed rows are none at all.
#[test]
fn other_reorganisations_are_not_read_through() {
    let mut d = Dag::default();
    let x = x(&mut d);
    let rev = d.op(HopOp::Reorg(ReorgOp::Rev), &[x]);
    let exp = d.op(UnaryOp::Exp, &[rev]);
    let total = d.sum(exp);
    d.write("o", total);
    let plans = constructed(&d.dag, &TemplateLimits::default());
    assert!(plans.iter().all(|plan| !plan.cover.members.contains(&rev)));
    assert_eq!(plans[0].inputs, [CoverInput::Hop(rev)]);
}

/// The transpose of a computed column is a row of a Cell operator; what it is computed from is read as rows, and the
/// same column may be read as it is, too.
#[test]
fn transposed_columns_are_rows() {
    let transposed = plan(|d| {
        let (x, a, b) = (d.read("X", 500, 500), d.read("a", 500, 1), d.read("b", 500, 1));
        let column = d.mult(a, b);
        let row = d.t(column);
        let sum = d.plus(x, column);
        let product = d.mult(sum, row);
        d.sum(product)
    });
    let text = transposed.cplan.to_string();
    assert!(text.starts_with("cplan cell full_agg"), "{text}");
    assert_eq!((text.matches("side_row_scalar").count(), text.matches("side_col_scalar").count()), (2, 2), "{text}");
    let turned = transposed.inputs.iter().filter(|input| matches!(input, CoverInput::Transpose(_))).count();
    assert_eq!(turned, 2, "{:?}", transposed.inputs);
}

/// No Row operator reads a column as a row: the cells of the column belong to other rows.
#[test]
fn transposed_columns_are_no_rows_of_row_operators() {
    let mut d = Dag::default();
    let (x, a) = (d.read("X", 500, 500), d.read("a", 500, 1));
    let column = d.op(UnaryOp::Exp, &[a]);
    let row = d.t(column);
    let sum = d.plus(x, row);
    let sums = d.op((AggOp::Var, Direction::Row), &[sum]);
    let output = d.op(BinaryOp::Div, &[sum, sums]);
    d.write("o", output);
    let plans = constructed(&d.dag, &TemplateLimits::default());
    assert!(plans.iter().any(|plan| plan.cover.template == TemplateType::Row));
    for plan in plans.iter().filter(|plan| plan.cover.template == TemplateType::Row) {
        assert!(!plan.cover.members.contains(&row));
    }
}

/// Both operands of an inner product are fused, the left one below its transpose.
#[test]
fn both_operands_of_an_inner_product_fuse() {
    check("cell full_agg", &["exp", "log", "mult"], |d| {
        let (x, y) = (d.read("x", 5000, 1), d.read("y", 5000, 1));
        let (exp, log) = (d.op(UnaryOp::Exp, &[x]), d.op(UnaryOp::Log, &[y]));
        let row = d.t(exp);
        d.matmul(row, log)
    });
}

/// The transposed factor of a product over rows is read through there alone; what else reads the transpose of a square
/// matrix reads that.
#[test]
fn a_transposed_factor_is_an_input_to_other_members() {
    for factor in [false, true] {
        let plan = plan(|d| {
            let x = d.sparse("X", 500, 500, 900);
            let xt = d.t(x);
            let sums = d.op((AggOp::Sum, Direction::Row), &[if factor { x } else { xt }]);
            let exp = d.op(UnaryOp::Abs, &[sums]);
            d.matmul(xt, exp)
        });
        assert_eq!(plan.cplan.inputs.len(), if factor { 1 } else { 2 }, "{}", plan.cplan);
        assert!(factor || plan.cplan.nodes.values().any(|node| matches!(node, CNode::SideRow(..))), "{}", plan.cplan);
    }
}
