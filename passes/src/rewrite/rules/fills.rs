//! Matrices of one value, empty ones among them: they are scalars to whatever combines or aggregates them.

use super::{Change, Each, Guard, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "empty",
        doc: "A matrix without non-zeros is generated.",
        changes: &[Change::SignOfZero, Change::Annihilation],
        when: &[Guard::Empty("X")],
        patterns: &[("?X", "(matrix 0 (nrow ?X) (ncol ?X))")],
        ..Rule::PLAIN
    },
    Rule {
        name: "fill-as-operand",
        doc: "A matrix of one value is a scalar to an element-wise operation.",
        when: &[Guard::Scalar("s"), Guard::Result("X"), Guard::Positive("r"), Guard::Positive("c")],
        each: Each::Binary,
        patterns: &[("($0 ?X (matrix ?s ?r ?c))", "($0 ?X ?s)"), ("($0 (matrix ?s ?r ?c) ?X)", "($0 ?s ?X)")],
        ..Rule::PLAIN
    },
    Rule {
        name: "unary-of-fill",
        doc: "A function of a matrix of one value is one of the value.",
        when: &[Guard::Scalar("s")],
        each: Each::Unary,
        patterns: &[("($0 (matrix ?s ?r ?c))", "(matrix ($0 (as.double ?s)) ?r ?c)")],
        ..Rule::PLAIN
    },
    Rule {
        name: "binary-of-fill",
        doc: "An operation of a matrix of one value and a scalar is one of the value.",
        when: &[Guard::Scalar("s"), Guard::Scalar("a")],
        each: Each::Binary,
        patterns: &[
            ("($0 (matrix ?s ?r ?c) ?a)", "(matrix ($0 (as.double ?s) (as.double ?a)) ?r ?c)"),
            ("($0 ?a (matrix ?s ?r ?c))", "(matrix ($0 (as.double ?a) (as.double ?s)) ?r ?c)"),
        ],
        ..Rule::PLAIN
    },
    Rule {
        name: "sum-of-fill",
        doc: "The sum of equal cells is their number times the value.",
        changes: &[Change::AggregationOrder, Change::Rounding, Change::SignOfZero],
        when: &[Guard::Scalar("s"), Guard::Positive("r"), Guard::Positive("c")],
        patterns: &[
            ("(sum.full (matrix ?s ?r ?c))", "(mult ?s (as.double (mult ?r ?c)))"),
            ("(sum.row (matrix ?s ?r ?c))", "(matrix (mult ?s (as.double ?c)) ?r 1)"),
            ("(sum.col (matrix ?s ?r ?c))", "(matrix (mult ?s (as.double ?r)) 1 ?c)"),
        ],
        ..Rule::PLAIN
    },
    Rule {
        name: "extreme-of-fill",
        doc: "The smallest and the largest of equal cells is their value.",
        when: &[Guard::Scalar("s"), Guard::Positive("r"), Guard::Positive("c")],
        each: Each::Of(&[&["min"], &["max"]]),
        patterns: &[
            ("($0.full (matrix ?s ?r ?c))", "(as.double ?s)"),
            ("($0.row (matrix ?s ?r ?c))", "(matrix ?s ?r 1)"),
            ("($0.col (matrix ?s ?r ?c))", "(matrix ?s 1 ?c)"),
        ],
        ..Rule::PLAIN
    },
    Rule {
        name: "reorganised-fill",
        doc: "A matrix of one value looks the same from all sides.",
        when: &[Guard::Scalar("s")],
        patterns: &[("(t (matrix ?s ?r ?c))", "(matrix ?s ?c ?r)"), ("(rev (matrix ?s ?r ?c))", "(matrix ?s ?r ?c)")],
        ..Rule::PLAIN
    },
    Rule {
        name: "range-of-fill",
        doc: "A range of equal cells is as many of them.",
        when: &[
            Guard::Scalar("s"),
            Guard::Positive("r"),
            Guard::Positive("c"),
            Guard::Integer("a"),
            Guard::Integer("b"),
            Guard::Integer("d"),
            Guard::Integer("e"),
        ],
        patterns: &[(
            "(index (matrix ?s ?r ?c) ?a ?b ?d ?e)",
            "(matrix ?s (plus (minus ?b ?a) 1) (plus (minus ?e ?d) 1))",
        )],
        ..Rule::PLAIN
    },
];
