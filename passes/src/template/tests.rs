//! Opening, fusing, merging and closing, condition by condition.

use super::*;
use crate::facts::TemplateLimits;
use crate::hops::{column_range, literal_sequence, single_column};
use crate::testing::{self, Dag};
use fuseline_ir::hop::{HopDag, HopOp};
use fuseline_ir::ops::{AggOp, Direction};
use std::collections::BTreeSet;

fn with_context<R>(dag: &HopDag, test: impl FnOnce(&Context<'_>) -> R) -> R {
    let limits = TemplateLimits::default();
    test(&Context::new(dag, &limits))
}

/// P079: outer products have more rows and columns than their factors have ranks.
#[test]
fn products_larger_than_their_rank_open_outer() {
    for (rows, rank, cols, is_outer) in [(200, 5, 200, true), (6, 5, 6, true), (6, 5, 5, false), (5, 5, 6, false)] {
        let mut d = Dag::default();
        let (u, v) = (d.read("U", rows, rank), d.read("V", rank, cols));
        let product = d.matmul(u, v);
        d.write("o", product);
        let open = |limits: &TemplateLimits| OuterTemplate.open(&Context::new(&d.dag, limits), product);
        assert_eq!(open(&TemplateLimits::default()), is_outer, "{rows} x {rank} x {cols}");
        assert!(!open(&TemplateLimits { strict_ieee: true, ..TemplateLimits::default() }));
    }
}

/// P082: any aggregation closes Cell; only those over columns or everything close Row.
#[test]
fn aggregations_close_templates() {
    let mut d = Dag::default();
    let x = d.read("X", 1000, 100);
    let row = d.op((AggOp::Sum, Direction::Row), &[x]);
    let col = d.op((AggOp::Sum, Direction::Col), &[x]);
    let mean = d.op((AggOp::Mean, Direction::Row), &[x]);
    d.write("a", row);
    d.write("b", col);
    d.write("c", mean);
    with_context(&d.dag, |context| {
        assert_eq!(CellTemplate.close(context, row), CloseStatus::ClosedValid);
        assert_eq!(CellTemplate.close(context, col), CloseStatus::ClosedValid);
        assert_eq!(CellTemplate.close(context, mean), CloseStatus::ClosedInvalid);
        assert_eq!(RowTemplate.close(context, row), CloseStatus::OpenValid);
        assert_eq!(RowTemplate.close(context, col), CloseStatus::ClosedValid);
    });
}

/// P082: an Outer operator is valid only where something exploits sparsity.
#[test]
fn outer_operators_need_a_driver() {
    let (dag, product, sum) = testing::outer_plus_dense();
    with_context(&dag, |context| {
        assert_eq!(OuterTemplate.close(context, product), CloseStatus::OpenValid);
        assert_eq!(OuterTemplate.close(context, sum), CloseStatus::OpenInvalid);
    });
    let mut d = Dag::default();
    let (u, v) = (d.read("U", 1000, 10), d.read("V", 10, 1000));
    let product = d.matmul(u, v);
    let total = d.sum(product);
    d.write("s", total);
    with_context(&d.dag, |context| {
        assert_eq!(OuterTemplate.close(context, product), CloseStatus::OpenInvalid);
        assert_eq!(OuterTemplate.close(context, total), CloseStatus::ClosedInvalid);
    });
}

/// Exploration would not find an operator of a template that is left out, and selection would not start one.
#[test]
fn lists_of_templates_have_each_once() {
    let explored: BTreeSet<TemplateType> = TEMPLATES.iter().map(|template| template.ttype()).collect();
    let composed = BTreeSet::from([TemplateType::MAgg]);
    let all: BTreeSet<TemplateType> = TemplateType::ALL.iter().copied().collect();
    assert_eq!(explored, &all - &composed);
    assert_eq!(BTreeSet::from(BY_PREFERENCE), all);
    assert!(TemplateType::ALL.iter().all(|&ttype| of(ttype).ttype() == ttype));
}

#[test]
fn skinny_products_open_row_operators() {
    let mut d = Dag::default();
    let (x, narrow, wide) = (d.read("X", 1000, 100), d.read("A", 100, 10), d.read("B", 100, 64));
    let (one, other) = (d.matmul(x, narrow), d.matmul(x, wide));
    d.write("a", one);
    d.write("b", other);
    with_context(&d.dag, |context| {
        assert!(RowTemplate.open(context, one));
        assert!(!RowTemplate.open(context, other));
    });
}

/// Those of low rank are large, and their right side is not: it is gone through for every unit.
#[test]
fn large_products_of_low_rank_open_row_operators() {
    let opens = |rows: u64, rank: u64, cols: u64| {
        let mut d = Dag::default();
        let (u, v) = (d.read("U", rows, rank), d.read("V", rank, cols));
        let product = d.matmul(u, v);
        d.write("o", product);
        with_context(&d.dag, |context| RowTemplate.open(context, product))
    };
    assert!(opens(1000, 10, 900) && opens(1000, 31, 900) && opens(100, 2, 100_000));
    assert!(!opens(1000, 32, 900) && !opens(1000, 10, 500) && !opens(1000, 31, 10_000) && !opens(1000, 1, 900));
}

#[test]
fn ranges_are_whole_columns_between_literals() {
    let (dag, groups) = testing::mlogreg();
    assert_eq!(column_range(&dag, groups[1]), Some((0, 4)));
    assert_eq!(column_range(&dag, groups[0]), None);
}

/// A single cell is a scalar to other operands; operations on single cells alone stay basic.
#[test]
fn single_cells_are_operands_but_no_results() {
    let mut d = Dag::default();
    let (x, s) = (d.read("X", 1000, 100), d.read("s", 1, 1));
    let product = d.mult(x, s);
    let single = d.mult(s, s);
    d.write("a", product);
    d.write("b", single);
    with_context(&d.dag, |context| {
        assert!(CellTemplate.open(context, product) && RowTemplate.open(context, product));
        assert!(!CellTemplate.open(context, single) && !RowTemplate.open(context, single));
    });
}

/// `t(cumsum(t(X)))` is one chain; where anything else reads its middle it is none.
#[test]
fn cumulative_aggregates_along_rows_open_at_the_inner_transpose() {
    for shared in [false, true] {
        let mut d = Dag::default();
        let x = d.read("X", 1000, 100);
        let xt = d.t(x);
        let sums = d.op(HopOp::Cumulative(AggOp::Sum), &[xt]);
        let result = d.t(sums);
        d.write("a", result);
        if shared {
            d.write("b", sums);
        }
        with_context(&d.dag, |context| {
            assert_eq!(RowTemplate.open(context, xt), !shared);
            assert_eq!(RowTemplate.fuse(context, result, sums), !shared);
            // By themselves they run down the columns, and end an operator.
            let status = if shared { CloseStatus::ClosedValid } else { CloseStatus::OpenInvalid };
            assert_eq!(RowTemplate.close(context, sums), status);
        });
    }
}

/// Columns and sequences open Cell operators where literals say which.
#[test]
fn columns_and_sequences_need_literals() {
    let mut d = Dag::default();
    let (x, s) = (d.read("X", 1000, 100), d.dag.read_scalar("s"));
    let column = d.columns(x, 2, 2);
    let seq = d.seq(1.0, 1.0, 1000);
    let one = d.number(1.0);
    let unknown = d.op(HopOp::DataGen(fuseline_ir::hop::DataGenOp::Seq), &[one, s, one]);
    for (name, hop) in [("a", column), ("b", seq), ("c", unknown)] {
        d.write(name, hop);
    }
    with_context(&d.dag, |context| {
        assert!(CellTemplate.open(context, column) && CellTemplate.open(context, seq));
        assert!(!CellTemplate.open(context, unknown));
    });
    assert_eq!(single_column(&d.dag, column), Some(1));
    assert_eq!(literal_sequence(&d.dag, seq), Some((1.0, 1.0)));
}
