//! Matrix products of special matrices, and aggregates that are products. (Chains of products are ordered by dynamic programming, not by rules.)

use super::{Change, Each, Guard, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "weighted-sum",
        doc: "colSums(X*v) is t(v)%*%X, rowSums(X*w) is X%*%t(w).",
        changes: &[Change::AggregationOrder],
        when: &[Guard::OneColumn("V"), Guard::SameRows("X", "V"), Guard::OneRow("W"), Guard::SameColumns("X", "W")],
        patterns: &[("(sum.col (mult ?X ?V))", "(matmul (t ?V) ?X)"), ("(sum.row (mult ?X ?W))", "(matmul ?X (t ?W))")],
        ..Rule::PLAIN
    },
    Rule {
        name: "negated-product",
        doc: "(-A)%*%B and A%*%(-B) are -(A%*%B); the minus stays where it has fewest cells.",
        changes: &[Change::SignOfZero],
        patterns: &[
            ("(matmul (neg ?A) ?B)", "(neg (matmul ?A ?B))"),
            ("(matmul ?A (neg ?B))", "(neg (matmul ?A ?B))"),
            ("(neg (matmul ?A ?B))", "(matmul (neg ?A) ?B)"),
            ("(neg (matmul ?A ?B))", "(matmul ?A (neg ?B))"),
        ],
        ..Rule::PLAIN
    },
    Rule {
        name: "constant-out-of-product",
        doc: "A constant factor of magnitude 1 or more leaves a product, which overflows no earlier without it.",
        changes: &[Change::Rounding, Change::Underflow, Change::AggregationOrder, Change::SignOfZero],
        when: &[Guard::AtLeastOne("s")],
        patterns: &[
            ("(matmul (mult ?A ?s) ?B)", "(mult (matmul ?A ?B) ?s)"),
            ("(matmul ?A (mult ?B ?s))", "(mult (matmul ?A ?B) ?s)"),
        ],
        ..Rule::PLAIN
    },
    Rule {
        name: "repeated-vector",
        doc: "A column times a row of ones repeats it, which broadcasting does by itself.",
        when: &[Guard::Result("x"), Guard::OneColumn("V"), Guard::OneRow("W")],
        changes: &[Change::SignOfZero],
        each: Each::Of(&[
            &["plus"],
            &["minus"],
            &["mult"],
            &["div"],
            &["min"],
            &["max"],
            &["eq"],
            &["ne"],
            &["lt"],
            &["le"],
            &["gt"],
            &["ge"],
        ]),
        patterns: &[
            ("($0 ?x (matmul ?V (matrix ?1 ?r ?c)))", "($0 ?x ?V)"),
            ("($0 ?x (matmul (matrix ?1 ?r ?c) ?W))", "($0 ?x ?W)"),
            ("($0 (matmul ?V (matrix ?1 ?r ?c)) ?x)", "($0 ?V ?x)"),
            ("($0 (matmul (matrix ?1 ?r ?c) ?W) ?x)", "($0 ?W ?x)"),
        ],
    },
    Rule {
        name: "outer-operation",
        doc: "A column, repeated, with a row is an outer operation.",
        when: &[Guard::OneColumn("V"), Guard::OneRow("W"), Guard::Columns("c", "W")],
        changes: &[Change::SignOfZero],
        each: Each::Of(&[&["eq"], &["ne"], &["lt"], &["le"], &["gt"], &["ge"], &["plus"], &["minus"]]),
        patterns: &[("($0 (matmul ?V (matrix ?1 ?r ?c)) ?W)", "(outer.$0 ?V ?W)")],
    },
    Rule {
        name: "product-with-single-cell",
        doc: "A product with a 1 x 1 matrix is one with a scalar.",
        changes: &[Change::SignOfZero],
        when: &[Guard::Single("Y"), Guard::OneRow("X"), Guard::OneColumn("Z")],
        patterns: &[("(matmul ?Y ?X)", "(mult ?X (as.scalar ?Y))"), ("(matmul ?Z ?Y)", "(mult ?Z (as.scalar ?Y))")],
        ..Rule::PLAIN
    },
    Rule {
        name: "product-with-zero-columns",
        doc: "X%*%cbind(V, 0) is cbind(X%*%V, 0).",
        changes: &[Change::SignOfZero, Change::Annihilation],
        patterns: &[("(matmul ?X (cbind ?V (matrix ?0 ?r ?c)))", "(cbind (matmul ?X ?V) (matrix 0 (nrow ?X) ?c))")],
        ..Rule::PLAIN
    },
    Rule {
        name: "product-of-concatenation",
        doc: "cbind(X%*%A, X%*%B) reads X once: X%*%cbind(A,B). The same of rows.",
        changes: &[Change::AggregationOrder],
        patterns: &[
            ("(cbind (matmul ?X ?A) (matmul ?X ?B))", "(matmul ?X (cbind ?A ?B))"),
            ("(rbind (matmul ?A ?X) (matmul ?B ?X))", "(matmul (rbind ?A ?B) ?X)"),
        ],
        ..Rule::PLAIN
    },
    Rule {
        name: "product-of-blocks",
        doc: "Columns side by side times rows below each other is the sum of the blocks' products.",
        changes: &[Change::AggregationOrder],
        when: &[
            Guard::SameRows("A", "B"),
            Guard::Conform("A", "C"),
            Guard::SameColumns("C", "D"),
            Guard::SameColumns("E", "F"),
            Guard::SameRows("E", "G"),
            Guard::SameColumns("G", "H"),
        ],
        patterns: &[
            ("(matmul (cbind ?A ?B) (rbind ?C ?D))", "(plus (matmul ?A ?C) (matmul ?B ?D))"),
            ("(matmul (t (rbind ?E ?F)) (rbind ?G ?H))", "(plus (matmul (t ?E) ?G) (matmul (t ?F) ?H))"),
        ],
        ..Rule::PLAIN
    },
];
