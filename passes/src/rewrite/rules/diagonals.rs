//! Diagonals: traces, diagonals of products, and diagonal matrices as scalings.

use super::{Change, Each, Guard, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "diagonal-of-diagonal",
        doc: "The diagonal of a diagonal matrix is its column, which also sums to the same.",
        changes: &[Change::AggregationOrder],
        when: &[Guard::OneColumn("V")],
        patterns: &[
            ("(diag (diag ?V))", "?V"),
            ("(sum.full (diag ?V))", "(sum.full ?V)"),
            ("(sumsq.full (diag ?V))", "(sumsq.full ?V)"),
            ("(t (diag ?V))", "(diag ?V)"),
        ],
        ..Rule::PLAIN
    },
    Rule {
        name: "diagonal-of-transpose",
        doc: "A transpose has the same diagonal.",
        when: &[Guard::Square("X")],
        patterns: &[("(diag (t ?X))", "(diag ?X)")],
        ..Rule::PLAIN
    },
    Rule {
        name: "diagonal-of-product",
        doc: "diag(A%*%B) is rowSums(A*t(B)), so the trace of A%*%B is sum(A*t(B)).",
        changes: &[Change::AggregationOrder],
        when: &[Guard::SquareProduct("A", "B")],
        patterns: &[("(diag (matmul ?A ?B))", "(sum.row (mult ?A (t ?B)))")],
        ..Rule::PLAIN
    },
    Rule {
        name: "diagonal-of-element-wise",
        doc: "The diagonal of a sum or product needs only the diagonals of its inputs.",
        when: &[Guard::Square("X"), Guard::SameShape("X", "Y"), Guard::Scalar("s")],
        each: Each::Of(&[&["plus"], &["minus"], &["mult"], &["div"]]),
        patterns: &[
            ("(diag ($0 ?X ?Y))", "($0 (diag ?X) (diag ?Y))"),
            ("(diag ($0 ?X ?s))", "($0 (diag ?X) ?s)"),
            ("(diag ($0 ?s ?X))", "($0 ?s (diag ?X))"),
        ],
        ..Rule::PLAIN
    },
    Rule {
        name: "product-with-diagonal-matrix",
        doc: "diag(v)%*%X scales rows, X%*%diag(v) columns.",
        changes: &[Change::SignOfZero, Change::Annihilation],
        when: &[Guard::OneColumn("V"), Guard::SameRows("V", "X"), Guard::OneColumn("W"), Guard::Conform("Y", "W")],
        patterns: &[("(matmul (diag ?V) ?X)", "(mult ?X ?V)"), ("(matmul ?Y (diag ?W))", "(mult ?Y (t ?W))")],
        ..Rule::PLAIN
    },
    Rule {
        name: "scaled-diagonal-matrix",
        doc: "diag(v)*s is diag(v*s), and diag(v)*diag(w) is diag(v*w).",
        changes: &[Change::SignOfZero, Change::Annihilation],
        when: &[Guard::SameShape("V", "W"), Guard::Scalar("s")],
        patterns: &[
            ("(mult (diag ?V) ?s)", "(diag (mult ?V ?s))"),
            ("(mult (diag ?V) (diag ?W))", "(diag (mult ?V ?W))"),
        ],
        ..Rule::PLAIN
    },
];
