//! Operations that leave their input as it is, negations, and chains of constants.

use super::{Change, Each, Guard, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "multiply-by-one",
        doc: "X*1 and X/1 are X.",
        patterns: &[("(mult ?x ?1)", "?x"), ("(div ?x ?1)", "?x")],
        ..Rule::PLAIN
    },
    Rule {
        name: "multiply-by-minus-one",
        doc: "X*-1 and X/-1 are -X.",
        when: &[Guard::Is("m", -1.0)],
        patterns: &[("(mult ?x ?m)", "(neg ?x)"), ("(div ?x ?m)", "(neg ?x)")],
        ..Rule::PLAIN
    },
    Rule {
        name: "add-zero",
        doc: "X+0 and X-0 are X.",
        changes: &[Change::SignOfZero],
        patterns: &[("(plus ?x ?0)", "?x"), ("(minus ?x ?0)", "?x")],
        ..Rule::PLAIN
    },
    Rule {
        name: "multiply-by-zero",
        doc: "X*0 and X&0 are zero (0/X is left, which is NaN wherever X is zero).",
        changes: &[Change::SignOfZero, Change::Annihilation],
        patterns: &[
            ("(mult ?X ?0)", "(matrix 0 (nrow ?X) (ncol ?X))"),
            ("(and ?X ?0)", "(matrix 0 (nrow ?X) (ncol ?X))"),
        ],
        ..Rule::PLAIN
    },
    Rule { name: "double-negation", doc: "-(-X) is X.", patterns: &[("(neg (neg ?x))", "?x")], ..Rule::PLAIN },
    Rule {
        name: "add-negated",
        doc: "X+(-Y) is X-Y, and X-(-Y) is X+Y.",
        when: &[Guard::Real("y")],
        patterns: &[("(plus ?x (neg ?y))", "(minus ?x ?y)"), ("(minus ?x (neg ?y))", "(plus ?x ?y)")],
        ..Rule::PLAIN
    },
    Rule {
        name: "negated-difference",
        doc: "-(X-Y) is Y-X, and 0-X is -X.",
        changes: &[Change::SignOfZero],
        patterns: &[("(neg (minus ?x ?y))", "(minus ?y ?x)"), ("(minus ?0 ?x)", "(neg ?x)")],
        ..Rule::PLAIN
    },
    Rule {
        name: "negated-factor",
        doc: "Negations leave products and quotients.",
        when: &[Guard::Real("n")],
        patterns: &[
            ("(mult (neg ?n) ?y)", "(neg (mult ?n ?y))"),
            ("(div (neg ?n) ?y)", "(neg (div ?n ?y))"),
            ("(div ?x (neg ?n))", "(neg (div ?x ?n))"),
        ],
        ..Rule::PLAIN
    },
    Rule {
        name: "even-function",
        doc: "Squares and absolute values do not see signs.",
        each: Each::Of(&[&["abs"], &["pow2"], &["cos"], &["cosh"]]),
        patterns: &[("($0 (neg ?x))", "($0 ?x)"), ("($0 (abs ?x))", "($0 ?x)")],
        ..Rule::PLAIN
    },
    Rule {
        name: "constant-terms",
        doc: "Two constants of a sum are one.",
        changes: &[Change::SignOfZero, Change::Rounding],
        when: &[Guard::Integer("a"), Guard::Integer("b")],
        patterns: &[
            ("(plus (plus ?x ?a) ?b)", "(plus ?x (plus ?a ?b))"),
            ("(plus (minus ?x ?a) ?b)", "(plus ?x (minus ?b ?a))"),
            ("(plus (minus ?a ?x) ?b)", "(minus (plus ?a ?b) ?x)"),
            ("(minus (plus ?x ?a) ?b)", "(plus ?x (minus ?a ?b))"),
            ("(minus (minus ?x ?a) ?b)", "(minus ?x (plus ?a ?b))"),
            ("(minus (minus ?a ?x) ?b)", "(minus (minus ?a ?b) ?x)"),
        ],
        ..Rule::PLAIN
    },
    Rule {
        name: "constant-factors",
        doc: "Two constant factors are one.",
        changes: &[Change::Rounding],
        when: &[Guard::Integer("a"), Guard::Integer("b")],
        patterns: &[("(mult (mult ?x ?a) ?b)", "(mult ?x (mult ?a ?b))")],
        ..Rule::PLAIN
    },
    Rule {
        name: "extreme-of-itself",
        doc: "The larger or smaller of X and X is X.",
        each: Each::Of(&[&["min"], &["max"]]),
        patterns: &[("($0 ?x ?x)", "?x")],
        ..Rule::PLAIN
    },
    Rule {
        name: "constant-condition",
        doc: "A choice between X and X is X, and one that is made, for all cells alike, is what it chose.",
        when: &[Guard::Result("a")],
        patterns: &[
            ("(ifelse ?x ?a ?a)", "?a"),
            ("(ifelse ?1 ?a ?y)", "?a"),
            ("(ifelse ?0 ?y ?a)", "?a"),
            ("(ifelse (matrix ?1 ?r ?c) ?a ?y)", "?a"),
            ("(ifelse (matrix ?0 ?r ?c) ?y ?a)", "?a"),
        ],
        ..Rule::PLAIN
    },
];
