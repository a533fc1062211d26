//! Common factors and sums of sums: equal for real numbers. In floating point the terms may cancel, overflow or meet an
//! infinity before they are combined, or after, so these rules are off unless asked for. One direction alone: products
//! of sums are never expanded.

use super::{Change, Each, Guard, Rule};

const ALGEBRAIC: &[Change] = &[Change::Magnitude, Change::NonFinite];

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "factor-of-itself",
        doc: "X+Y*X is X*(1+Y).",
        changes: ALGEBRAIC,
        patterns: &[
            ("(plus ?x (mult ?y ?x))", "(mult ?x (plus 1 ?y))"),
            ("(minus ?x (mult ?y ?x))", "(mult ?x (minus 1 ?y))"),
            ("(minus (mult ?y ?x) ?x)", "(mult ?x (minus ?y 1))"),
        ],
        ..Rule::PLAIN
    },
    Rule {
        name: "common-factor",
        doc: "X*Y+X*Z is X*(Y+Z), and X/Z+Y/Z is (X+Y)/Z.",
        changes: ALGEBRAIC,
        when: &[Guard::SameShape("y", "z")],
        each: Each::Of(&[&["plus"], &["minus"]]),
        patterns: &[
            ("($0 (mult ?x ?y) (mult ?x ?z))", "(mult ?x ($0 ?y ?z))"),
            ("($0 (div ?y ?x) (div ?z ?x))", "(div ($0 ?y ?z) ?x)"),
        ],
    },
    Rule {
        name: "common-factor-of-products",
        doc: "A%*%B + A%*%C is A%*%(B+C).",
        changes: ALGEBRAIC,
        each: Each::Of(&[&["plus"], &["minus"]]),
        patterns: &[
            ("($0 (matmul ?A ?B) (matmul ?A ?C))", "(matmul ?A ($0 ?B ?C))"),
            ("($0 (matmul ?B ?A) (matmul ?C ?A))", "(matmul ($0 ?B ?C) ?A)"),
        ],
        ..Rule::PLAIN
    },
    Rule {
        name: "scalar-out-of-product",
        doc: "(A*s)%*%B is (A%*%B)*s.",
        changes: ALGEBRAIC,
        when: &[Guard::Scalar("s")],
        patterns: &[
            ("(matmul (mult ?A ?s) ?B)", "(mult (matmul ?A ?B) ?s)"),
            ("(matmul ?A (mult ?B ?s))", "(mult (matmul ?A ?B) ?s)"),
        ],
        ..Rule::PLAIN
    },
    Rule {
        name: "sum-of-sum",
        doc: "sum(X+Y) is sum(X)+sum(Y).",
        changes: ALGEBRAIC,
        when: &[Guard::SameShape("X", "Y")],
        each: Each::Of(&[
            &["sum.full", "plus"],
            &["sum.full", "minus"],
            &["sum.row", "plus"],
            &["sum.row", "minus"],
            &["sum.col", "plus"],
            &["sum.col", "minus"],
        ]),
        patterns: &[("($0 ($1 ?X ?Y))", "($1 ($0 ?X) ($0 ?Y))")],
    },
    Rule {
        name: "sum-with-scalar",
        doc: "sum(X+s) is sum(X)+s*length(X).",
        changes: ALGEBRAIC,
        when: &[Guard::Scalar("s")],
        each: Each::Of(&[
            &["sum.full", "plus", "length"],
            &["sum.full", "minus", "length"],
            &["sum.row", "plus", "ncol"],
            &["sum.row", "minus", "ncol"],
            &["sum.col", "plus", "nrow"],
            &["sum.col", "minus", "nrow"],
        ]),
        patterns: &[("($0 ($1 ?X ?s))", "($1 ($0 ?X) (mult ?s ($2 ?X)))")],
    },
    Rule {
        name: "sum-with-vector",
        doc: "sum(X+v) is sum(X)+sum(v)*ncol(X), as each column of X has v added; the same of rows.",
        changes: ALGEBRAIC,
        when: &[Guard::OneColumn("V"), Guard::SameRows("X", "V"), Guard::OneRow("W"), Guard::SameColumns("X", "W")],
        each: Each::Of(&[&["plus"], &["minus"]]),
        patterns: &[
            ("(sum.full ($0 ?X ?V))", "($0 (sum.full ?X) (mult (sum.full ?V) (ncol ?X)))"),
            ("(sum.full ($0 ?V ?X))", "($0 (mult (sum.full ?V) (ncol ?X)) (sum.full ?X))"),
            ("(sum.full ($0 ?X ?W))", "($0 (sum.full ?X) (mult (sum.full ?W) (nrow ?X)))"),
            ("(sum.full ($0 ?W ?X))", "($0 (mult (sum.full ?W) (nrow ?X)) (sum.full ?X))"),
        ],
    },
    Rule {
        name: "factor-out-of-sum",
        doc: "sum(X*s) is sum(X)*s; row sums let go of columns, column sums of rows.",
        changes: ALGEBRAIC,
        when: &[Guard::Scalar("s"), Guard::OneColumn("V"), Guard::OneRow("W")],
        each: Each::Of(&[&["mult"], &["div"]]),
        patterns: &[
            ("(sum.full ($0 ?X ?s))", "($0 (sum.full ?X) ?s)"),
            ("(sum.row ($0 ?X ?s))", "($0 (sum.row ?X) ?s)"),
            ("(sum.col ($0 ?X ?s))", "($0 (sum.col ?X) ?s)"),
            ("(sum.row ($0 ?X ?V))", "($0 (sum.row ?X) ?V)"),
            ("(sum.col ($0 ?X ?W))", "($0 (sum.col ?X) ?W)"),
        ],
    },
    Rule {
        name: "sum-of-product",
        doc: "Row sums of A%*%B are A%*%rowSums(B), column sums colSums(A)%*%B, the sum the product of both.",
        changes: ALGEBRAIC,
        patterns: &[
            ("(sum.row (matmul ?A ?B))", "(matmul ?A (sum.row ?B))"),
            ("(sum.col (matmul ?A ?B))", "(matmul (sum.col ?A) ?B)"),
            ("(sum.full (matmul ?A ?B))", "(as.scalar (matmul (sum.col ?A) (sum.row ?B)))"),
        ],
        ..Rule::PLAIN
    },
    Rule {
        name: "squared-distance",
        doc: "sum((X-U%*%V)^2) is sum(X^2)-2*sum(X*(U%*%V))+sum((t(U)%*%U)*(V%*%t(V))): no cell of U%*%V but where X has \
              one.",
        changes: ALGEBRAIC,
        patterns: &[(
            "(sumsq.full (minus ?X (matmul ?U ?V)))",
            "(plus (minus (sumsq.full ?X) (mult 2 (sum.full (mult ?X (matmul ?U ?V))))) \
             (sum.full (mult (matmul (t ?U) ?U) (matmul ?V (t ?V)))))",
        )],
        when: &[Guard::SameRows("X", "U"), Guard::SameColumns("X", "V")],
        ..Rule::PLAIN
    },
    Rule {
        name: "sum-of-cumulative-sum",
        doc: "colSums(cumsum(X)) weights each row by the number of rows from it on.",
        changes: ALGEBRAIC,
        patterns: &[
            ("(sum.col (cumulative.sum ?X))", "(sum.col (mult ?X (seq (nrow ?X) 1 -1)))"),
            ("(sum.full (cumulative.sum ?X))", "(sum.full (mult ?X (seq (nrow ?X) 1 -1)))"),
        ],
        ..Rule::PLAIN
    },
    Rule {
        name: "zero-columns-into-product",
        doc: "cbind(X%*%V, 0) is X%*%cbind(V, 0) where X is finite.",
        changes: ALGEBRAIC,
        patterns: &[("(cbind (matmul ?X ?V) (matrix ?0 ?r ?c))", "(matmul ?X (cbind ?V (matrix 0 (nrow ?V) ?c)))")],
        ..Rule::PLAIN
    },
];
