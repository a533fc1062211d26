//! Element-wise operations that have a cheaper form.

use super::{Changes, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "add-to-itself",
        doc: "X+X is X*2.",
        changes: Changes::Nothing,
        patterns: &[("(plus ?x ?x)", "(mult ?x 2)")],
    },
    Rule {
        name: "square",
        doc: "X*X and X^2 are squares: one input, sparse-safe.",
        changes: Changes::Nothing,
        patterns: &[("(mult ?x ?x)", "(pow2 ?x)"), ("(pow ?x ?2)", "(pow2 ?x)")],
    },
    Rule {
        name: "sigmoid",
        doc: "1/(1+exp(-X)) is the logistic function.",
        changes: Changes::Rounding,
        patterns: &[("(div ?1 (plus ?1b (exp (neg ?x))))", "(sigmoid ?x)")],
    },
    Rule {
        name: "one-minus-product",
        doc: "1-X*Y is one fused multiply-add.",
        changes: Changes::Rounding,
        patterns: &[("(minus ?1 (mult ?x ?y))", "(minus1mult ?x ?y)")],
    },
];
