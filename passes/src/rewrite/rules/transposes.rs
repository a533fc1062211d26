//! Transposes and other reorganisations. Transposes move out of operations, where they meet others, aggregates and
//! products, and into them, where inputs may already be transposed.

use super::{Change, Each, Guard, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule { name: "double-transpose", doc: "t(t(X)) is X.", patterns: &[("(t (t ?X))", "?X")], ..Rule::PLAIN },
    Rule { name: "double-reversal", doc: "rev(rev(X)) is X.", patterns: &[("(rev (rev ?X))", "?X")], ..Rule::PLAIN },
    Rule {
        name: "transpose-of-unary",
        doc: "t(f(X)) is f(t(X)).",
        each: Each::Unary,
        patterns: &[("(t ($0 ?X))", "($0 (t ?X))"), ("($0 (t ?X))", "(t ($0 ?X))")],
        ..Rule::PLAIN
    },
    Rule {
        name: "transpose-of-binary",
        doc: "t(X+Y) is t(X)+t(Y), for every element-wise operation; scalars stay.",
        when: &[Guard::Scalar("s")],
        each: Each::Binary,
        patterns: &[
            ("(t ($0 ?X ?Y))", "($0 (t ?X) (t ?Y))"),
            ("(t ($0 ?X ?s))", "($0 (t ?X) ?s)"),
            ("(t ($0 ?s ?X))", "($0 ?s (t ?X))"),
            ("($0 (t ?X) (t ?Y))", "(t ($0 ?X ?Y))"),
            ("($0 (t ?X) ?s)", "(t ($0 ?X ?s))"),
            ("($0 ?s (t ?X))", "(t ($0 ?s ?X))"),
        ],
        ..Rule::PLAIN
    },
    Rule {
        name: "transpose-of-product",
        doc: "t(A%*%B) is t(B)%*%t(A).",
        changes: &[Change::AggregationOrder],
        patterns: &[("(t (matmul ?A ?B))", "(matmul (t ?B) (t ?A))"), ("(matmul (t ?A) (t ?B))", "(t (matmul ?B ?A))")],
        ..Rule::PLAIN
    },
    Rule {
        name: "transpose-of-concatenation",
        doc: "Columns side by side, transposed, are rows below each other.",
        each: Each::Of(&[&["cbind", "rbind"], &["rbind", "cbind"]]),
        patterns: &[("($0 (t ?A) (t ?B))", "(t ($1 ?A ?B))"), ("($0 (t ?A) (t ?B) (t ?C))", "(t ($1 ?A ?B ?C))")],
        ..Rule::PLAIN
    },
    Rule {
        name: "nested-concatenation",
        doc: "cbind(X,cbind(Y,Z)) is cbind(X,Y,Z).",
        each: Each::Of(&[&["cbind"], &["rbind"]]),
        patterns: &[
            ("($0 ?A ($0 ?B ?C))", "($0 ?A ?B ?C)"),
            ("($0 ($0 ?A ?B) ?C)", "($0 ?A ?B ?C)"),
            ("($0 ($0 ?A ?B ?C) ?D)", "($0 ?A ?B ?C ?D)"),
            ("($0 ?A ($0 ?B ?C ?D))", "($0 ?A ?B ?C ?D)"),
        ],
        ..Rule::PLAIN
    },
    Rule {
        name: "reversed-sequence",
        doc: "rev(seq(a,b,i)) runs from its last value to a.",
        when: &[Guard::Integer("a"), Guard::Integer("b"), Guard::Integer("i")],
        patterns: &[("(rev (seq ?a ?b ?i))", "(seq (plus ?a (mult ?i (intdiv (minus ?b ?a) ?i))) ?a (neg ?i))")],
        ..Rule::PLAIN
    },
    Rule {
        name: "reversal-of-unary",
        doc: "rev(f(X)) is f(rev(X)).",
        each: Each::Unary,
        patterns: &[("($0 (rev ?X))", "(rev ($0 ?X))")],
        ..Rule::PLAIN
    },
];
