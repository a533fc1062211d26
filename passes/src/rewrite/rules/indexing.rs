//! Ranges: of everything, of what need not be computed as a whole, and ranges that are replaced.

use super::{Change, Each, Guard, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "whole-range",
        doc: "X[1:nrow(X),1:ncol(X)] is X, and what replaces all of X is the result.",
        when: &[Guard::Rows("r", "X"), Guard::Columns("c", "X"), Guard::SameShape("X", "Y")],
        patterns: &[
            ("(index ?X ?1 ?r ?1b ?c)", "?X"),
            ("(index ?X ?1 (nrow ?X) ?1b (ncol ?X))", "?X"),
            ("(leftindex ?X ?Y ?1 ?r ?1b ?c)", "?Y"),
        ],
        ..Rule::PLAIN
    },
    Rule {
        name: "both-columns",
        doc: "A matrix of two columns, both replaced, is made of these.",
        when: &[Guard::Rows("r", "X"), Guard::Columns("c", "X"), Guard::Is("c", 2.0)],
        patterns: &[("(leftindex (leftindex ?X ?A ?1 ?r ?1b ?1c) ?B ?1d ?r ?c ?c)", "(cbind ?A ?B)")],
        ..Rule::PLAIN
    },
    Rule {
        name: "both-rows",
        doc: "A matrix of two rows, both replaced, is made of these.",
        when: &[Guard::Rows("r", "X"), Guard::Columns("c", "X"), Guard::Is("r", 2.0)],
        patterns: &[("(leftindex (leftindex ?X ?A ?1 ?1b ?1c ?c) ?B ?r ?r ?1d ?c)", "(rbind ?A ?B)")],
        ..Rule::PLAIN
    },
    Rule {
        name: "range-of-product",
        doc: "(X%*%Y)[i,j] is X[i,]%*%Y[,j].",
        changes: &[Change::AggregationOrder],
        when: &[Guard::SomeColumns("X")],
        patterns: &[(
            "(index (matmul ?X ?Y) ?a ?b ?c ?d)",
            "(matmul (index ?X ?a ?b 1 (ncol ?X)) (index ?Y 1 (nrow ?Y) ?c ?d))",
        )],
        ..Rule::PLAIN
    },
    Rule {
        name: "range-of-transpose",
        doc: "t(X)[i,j] is t(X[j,i]).",
        patterns: &[("(index (t ?X) ?a ?b ?c ?d)", "(t (index ?X ?c ?d ?a ?b))")],
        ..Rule::PLAIN
    },
    Rule {
        name: "range-of-unary",
        doc: "A range of f(X) needs f of the range alone.",
        each: Each::Unary,
        patterns: &[("(index ($0 ?X) ?a ?b ?c ?d)", "($0 (index ?X ?a ?b ?c ?d))")],
        ..Rule::PLAIN
    },
    Rule {
        name: "range-of-binary",
        doc: "A range of X+Y needs the ranges of X and Y alone.",
        when: &[Guard::SameShape("X", "Y"), Guard::Scalar("s")],
        each: Each::Of(&[&["plus"], &["minus"], &["mult"], &["div"]]),
        patterns: &[
            ("(index ($0 ?X ?Y) ?a ?b ?c ?d)", "($0 (index ?X ?a ?b ?c ?d) (index ?Y ?a ?b ?c ?d))"),
            ("(index ($0 ?X ?s) ?a ?b ?c ?d)", "($0 (index ?X ?a ?b ?c ?d) ?s)"),
            ("(index ($0 ?s ?X) ?a ?b ?c ?d)", "($0 ?s (index ?X ?a ?b ?c ?d))"),
        ],
        ..Rule::PLAIN
    },
    Rule {
        name: "range-of-row-aggregates",
        doc: "Some of the row aggregates need some of the rows.",
        when: &[Guard::SomeColumns("X"), Guard::SomeRows("Y")],
        each: Each::Of(&[&["sum"], &["sumsq"], &["min"], &["max"], &["mean"], &["nnz"]]),
        patterns: &[
            ("(index ($0.row ?X) ?a ?b ?1 ?1b)", "($0.row (index ?X ?a ?b 1 (ncol ?X)))"),
            ("(index ($0.col ?Y) ?1 ?1b ?c ?d)", "($0.col (index ?Y 1 (nrow ?Y) ?c ?d))"),
        ],
        ..Rule::PLAIN
    },
];
