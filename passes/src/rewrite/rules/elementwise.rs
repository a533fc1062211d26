//! Element-wise operations that have a cheaper form.

use super::{Change, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule { name: "add-to-itself", doc: "X+X is X*2.", patterns: &[("(plus ?x ?x)", "(mult ?x 2)")], ..Rule::PLAIN },
    Rule {
        name: "square",
        doc: "X*X and X^2 are squares: one input, sparse-safe.",
        patterns: &[("(mult ?x ?x)", "(pow2 ?x)"), ("(pow ?x ?2)", "(pow2 ?x)")],
        ..Rule::PLAIN
    },
    Rule {
        name: "absolute-product",
        doc: "abs(X)*abs(Y) is abs(X*Y).",
        patterns: &[("(mult (abs ?x) (abs ?y))", "(abs (mult ?x ?y))")],
        ..Rule::PLAIN
    },
    Rule {
        name: "sigmoid",
        doc: "1/(1+exp(X)) is the logistic function of -X.",
        changes: &[Change::Rounding, Change::Underflow],
        patterns: &[("(div ?1 (plus ?1b (exp ?x)))", "(sigmoid (neg ?x))")],
        ..Rule::PLAIN
    },
    Rule {
        name: "sigmoid-of-exponentials",
        doc: "exp(X)/(1+exp(X)) is the logistic function, but where exp(X) overflows.",
        changes: &[Change::Magnitude, Change::NonFinite],
        patterns: &[("(div (exp ?x) (plus ?1 (exp ?x)))", "(sigmoid ?x)")],
        ..Rule::PLAIN
    },
    Rule {
        name: "sigmoid-derivative",
        doc: "X*(1-X) is one operation.",
        patterns: &[("(mult ?x (minus ?1 ?x))", "(sprop ?x)")],
        ..Rule::PLAIN
    },
    Rule {
        name: "one-minus-product",
        doc: "1-X*Y is one fused multiply-add.",
        changes: &[Change::Rounding],
        patterns: &[("(minus ?1 (mult ?x ?y))", "(minus1mult ?x ?y)")],
        ..Rule::PLAIN
    },
];
