//! Aggregates of reorganised, aggregated, squared or scaled matrices, and products that are aggregates.

use super::{Change, Each, Guard, Rule};

/// Row and column form of every aggregate.
const ROWS_AND_COLUMNS: Each = Each::Of(&[
    &["sum.row", "sum.col"],
    &["sum.col", "sum.row"],
    &["sumsq.row", "sumsq.col"],
    &["sumsq.col", "sumsq.row"],
    &["min.row", "min.col"],
    &["min.col", "min.row"],
    &["max.row", "max.col"],
    &["max.col", "max.row"],
    &["mean.row", "mean.col"],
    &["mean.col", "mean.row"],
    &["var.row", "var.col"],
    &["var.col", "var.row"],
    &["nnz.row", "nnz.col"],
    &["nnz.col", "nnz.row"],
]);

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "aggregate-of-transpose",
        doc: "A full aggregate does not see how cells are arranged.",
        changes: &[Change::AggregationOrder],
        each: Each::Of(&[
            &["sum.full"],
            &["sumsq.full"],
            &["min.full"],
            &["max.full"],
            &["mean.full"],
            &["var.full"],
            &["nnz.full"],
        ]),
        patterns: &[("($0 (t ?X))", "($0 ?X)"), ("($0 (rev ?X))", "($0 ?X)"), ("($0 (matrix ?X ?r ?c))", "($0 ?X)")],
        ..Rule::PLAIN
    },
    Rule {
        name: "rows-of-transpose",
        doc: "Row aggregates of a transpose are column aggregates, and the reverse.",
        changes: &[Change::AggregationOrder],
        each: ROWS_AND_COLUMNS,
        patterns: &[("($0 (t ?X))", "(t ($1 ?X))")],
        ..Rule::PLAIN
    },
    Rule {
        name: "columns-of-reversed-rows",
        doc: "Column aggregates do not see the order of rows; row aggregates come in their order.",
        changes: &[Change::AggregationOrder],
        each: Each::Of(&[
            &["sum.col", "sum.row"],
            &["sumsq.col", "sumsq.row"],
            &["min.col", "min.row"],
            &["max.col", "max.row"],
            &["mean.col", "mean.row"],
            &["nnz.col", "nnz.row"],
        ]),
        patterns: &[("($0 (rev ?X))", "($0 ?X)"), ("($1 (rev ?X))", "(rev ($1 ?X))")],
        ..Rule::PLAIN
    },
    Rule {
        name: "nested-aggregate",
        doc: "An aggregate of row or column aggregates is the full aggregate (not of means, of which roundings differ, nor \
              of products, which overflow in another order).",
        changes: &[Change::AggregationOrder],
        each: Each::Of(&[
            &["sum.full", "sum.row", "sum.full"],
            &["sum.full", "sum.col", "sum.full"],
            &["sum.full", "sumsq.row", "sumsq.full"],
            &["sum.full", "sumsq.col", "sumsq.full"],
            &["sum.full", "nnz.row", "nnz.full"],
            &["sum.full", "nnz.col", "nnz.full"],
            &["min.full", "min.row", "min.full"],
            &["min.full", "min.col", "min.full"],
            &["max.full", "max.row", "max.full"],
            &["max.full", "max.col", "max.full"],
        ]),
        patterns: &[("($0 ($1 ?X))", "($2 ?X)")],
        ..Rule::PLAIN
    },
    Rule {
        name: "sum-of-squares",
        doc: "A sum of squares is one aggregate, which fuses the multiply-add.",
        changes: &[Change::AggregationOrder],
        each: Each::Of(&[&["full"], &["row"], &["col"]]),
        patterns: &[
            ("(sum.$0 (pow2 ?X))", "(sumsq.$0 ?X)"),
            ("(sumsq.$0 (neg ?X))", "(sumsq.$0 ?X)"),
            ("(sumsq.$0 (abs ?X))", "(sumsq.$0 ?X)"),
        ],
        ..Rule::PLAIN
    },
    Rule {
        name: "count-of-non-zeros",
        doc: "A sum of X!=0 counts.",
        each: Each::Of(&[&["full"], &["row"], &["col"]]),
        patterns: &[("(sum.$0 (ne ?X ?0))", "(nnz.$0 ?X)")],
        ..Rule::PLAIN
    },
    Rule {
        name: "aggregate-of-negation",
        doc: "A negation leaves sums; the smallest of -X is the negated largest of X.",
        changes: &[Change::SignOfZero],
        each: Each::Of(&[
            &["sum.full", "sum.full"],
            &["sum.row", "sum.row"],
            &["sum.col", "sum.col"],
            &["mean.full", "mean.full"],
            &["mean.row", "mean.row"],
            &["mean.col", "mean.col"],
            &["min.full", "max.full"],
            &["min.row", "max.row"],
            &["min.col", "max.col"],
            &["max.full", "min.full"],
            &["max.row", "min.row"],
            &["max.col", "min.col"],
        ]),
        patterns: &[("($0 (neg ?X))", "(neg ($1 ?X))")],
        ..Rule::PLAIN
    },
    Rule {
        name: "constant-factor-of-sum",
        doc: "A constant factor of magnitude 1 or more leaves a sum, which overflows no earlier without it.",
        changes: &[Change::AggregationOrder, Change::Rounding, Change::Underflow, Change::SignOfZero],
        when: &[Guard::AtLeastOne("s")],
        each: Each::Of(&[&["full"], &["row"], &["col"]]),
        patterns: &[("(sum.$0 (mult ?X ?s))", "(mult (sum.$0 ?X) ?s)")],
    },
    Rule {
        name: "positive-factor-of-extreme",
        doc: "A positive constant factor leaves minimum and maximum, as rounding keeps the order.",
        changes: &[Change::SignOfZero],
        when: &[Guard::Positive("s")],
        each: Each::Of(&[&["min.full"], &["min.row"], &["min.col"], &["max.full"], &["max.row"], &["max.col"]]),
        patterns: &[("($0 (mult ?X ?s))", "(mult ($0 ?X) ?s)")],
    },
    Rule {
        name: "extreme-of-extremes",
        doc: "The largest of the larger cells is the larger of both largest: sparse rows need not be joined for it.",
        changes: &[Change::SignOfZero],
        when: &[Guard::SameRows("X", "Y"), Guard::SameColumns("X", "Y")],
        each: Each::Of(&[
            &["min.full", "min"],
            &["min.row", "min"],
            &["min.col", "min"],
            &["max.full", "max"],
            &["max.row", "max"],
            &["max.col", "max"],
        ]),
        patterns: &[("($0 ($1 ?X ?Y))", "($1 ($0 ?X) ($0 ?Y))")],
    },
    Rule {
        name: "product-with-ones",
        doc: "X%*%1 sums rows, 1%*%X sums columns.",
        changes: &[Change::AggregationOrder],
        when: &[Guard::Is("n", 1.0), Guard::Columns("r", "X"), Guard::Rows("c", "X")],
        patterns: &[
            ("(matmul ?X (matrix ?1 ?r ?n))", "(sum.row ?X)"),
            ("(matmul (matrix ?1 ?n ?c) ?X)", "(sum.col ?X)"),
        ],
        ..Rule::PLAIN
    },
    Rule {
        name: "sum-without-empty-rows",
        doc: "Empty rows or columns add nothing to a sum.",
        changes: &[Change::AggregationOrder],
        when: &[Guard::Text("rows", "rows"), Guard::Text("columns", "cols")],
        patterns: &[
            ("(sum.full (removeEmpty:margin ?X ?rows))", "(sum.full ?X)"),
            ("(sum.full (removeEmpty:margin ?X ?columns))", "(sum.full ?X)"),
            ("(sumsq.full (removeEmpty:margin ?X ?rows))", "(sumsq.full ?X)"),
            ("(sumsq.full (removeEmpty:margin ?X ?columns))", "(sumsq.full ?X)"),
            ("(sum.col (removeEmpty:margin ?X ?rows))", "(sum.col ?X)"),
            ("(sum.row (removeEmpty:margin ?X ?columns))", "(sum.row ?X)"),
        ],
        ..Rule::PLAIN
    },
];
