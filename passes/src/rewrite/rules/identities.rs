//! Operations that leave their input as it is.

use super::{Changes, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "multiply-by-one",
        doc: "X*1 and X/1 are X.",
        changes: Changes::Nothing,
        patterns: &[("(mult ?x ?1)", "?x"), ("(div ?x ?1)", "?x")],
    },
    Rule {
        name: "add-zero",
        doc: "X+0 and X-0 are X.",
        changes: Changes::SignOfZero,
        patterns: &[("(plus ?x ?0)", "?x"), ("(minus ?x ?0)", "?x")],
    },
    Rule {
        name: "double-negation",
        doc: "-(-X) is X.",
        changes: Changes::Nothing,
        patterns: &[("(neg (neg ?x))", "?x")],
    },
    Rule {
        name: "double-transpose",
        doc: "t(t(X)) is X.",
        changes: Changes::Nothing,
        patterns: &[("(t (t ?X))", "?X")],
    },
];
