//! Comparisons, truth values, and the products with indicators that are operations of their own.

use super::{Change, Each, Guard, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "negated-equality",
        doc: "Not equal is one comparison, and so is not unequal.",
        each: Each::Of(&[&["eq", "ne"], &["ne", "eq"], &["outer.eq", "outer.ne"], &["outer.ne", "outer.eq"]]),
        patterns: &[("(not ($0 ?x ?y))", "($1 ?x ?y)")],
        ..Rule::PLAIN
    },
    Rule {
        name: "negated-order",
        doc: "Not greater is less or equal, but for NaN.",
        changes: &[Change::NonFinite],
        each: Each::Of(&[
            &["lt", "ge"],
            &["ge", "lt"],
            &["gt", "le"],
            &["le", "gt"],
            &["outer.lt", "outer.ge"],
            &["outer.ge", "outer.lt"],
            &["outer.gt", "outer.le"],
            &["outer.le", "outer.gt"],
        ]),
        patterns: &[("(not ($0 ?x ?y))", "($1 ?x ?y)")],
        ..Rule::PLAIN
    },
    Rule {
        name: "compared-truth-value",
        doc: "B==1 and B!=0 are B where B is a truth value; B==0 and B!=1 are its negation.",
        when: &[Guard::Indicator("b")],
        patterns: &[
            ("(eq ?b ?1)", "?b"),
            ("(ne ?b ?0)", "?b"),
            ("(gt ?b ?0)", "?b"),
            ("(eq ?b ?0)", "(not ?b)"),
            ("(ne ?b ?1)", "(not ?b)"),
        ],
        ..Rule::PLAIN
    },
    Rule {
        name: "step-of-truth-value",
        doc: "Roundings, signs and squares leave truth values as they are.",
        when: &[Guard::Indicator("b")],
        each: Each::Of(&[&["abs"], &["round"], &["floor"], &["ceil"], &["sign"], &["pow2"]]),
        patterns: &[("($0 ?b)", "?b")],
        ..Rule::PLAIN
    },
    Rule {
        name: "logic-of-truth-values",
        doc: "Not not B, B&TRUE and B|FALSE are B.",
        when: &[Guard::Indicator("b")],
        patterns: &[("(not (not ?b))", "?b"), ("(and ?b ?1)", "?b"), ("(or ?b ?0)", "?b")],
        ..Rule::PLAIN
    },
    Rule {
        name: "contradiction",
        doc: "A & !A and A & FALSE are FALSE; A | !A and A | TRUE are TRUE.",
        patterns: &[
            ("(and ?x (not ?x))", "false"),
            ("(or ?x (not ?x))", "true"),
            ("(and ?x ?0)", "false"),
            ("(or ?x ?1)", "true"),
            ("(and ?X (not ?X))", "(matrix 0 (nrow ?X) (ncol ?X))"),
            ("(or ?X (not ?X))", "(matrix 1 (nrow ?X) (ncol ?X))"),
        ],
        ..Rule::PLAIN
    },
    Rule {
        name: "sign",
        doc: "(X>0)-(X<0) is the sign, but for NaN.",
        changes: &[Change::NonFinite],
        patterns: &[("(minus (gt ?x ?0) (lt ?x ?0b))", "(sign ?x)")],
        ..Rule::PLAIN
    },
    Rule {
        name: "positive-part",
        doc: "X*(X>0) is max(X,0).",
        changes: &[Change::SignOfZero, Change::Annihilation],
        patterns: &[("(mult ?x (gt ?x ?0))", "(max ?x 0)"), ("(mult ?x (ge ?x ?0))", "(max ?x 0)")],
        ..Rule::PLAIN
    },
    Rule {
        name: "product-with-own-indicator",
        doc: "X*(X!=0) is X.",
        patterns: &[("(mult ?x (ne ?x ?0))", "?x")],
        ..Rule::PLAIN
    },
    Rule {
        name: "replaced-zeros",
        doc: "X+(X==0)*Y puts Y in the place of zeros.",
        changes: &[Change::SignOfZero, Change::Annihilation],
        patterns: &[("(plus ?x (mult (eq ?x ?0) ?y))", "(replace ?x 0 ?y)")],
        ..Rule::PLAIN
    },
    Rule {
        name: "difference-of-non-zeros",
        doc: "X-Y*(X!=0) and (X!=0)*(X-Y) subtract where X is not zero.",
        changes: &[Change::SignOfZero, Change::Annihilation],
        patterns: &[
            ("(minus ?x (mult (ne ?x ?0) ?y))", "(minus_nz ?x ?y)"),
            ("(mult (ne ?x ?0) (minus ?x ?y))", "(minus_nz ?x ?y)"),
        ],
        ..Rule::PLAIN
    },
    Rule {
        name: "logarithm-of-non-zeros",
        doc: "(X!=0)*log(X) is the logarithm where X is not zero.",
        changes: &[Change::SignOfZero, Change::Annihilation],
        patterns: &[
            ("(mult (ne ?x ?0) (log ?x))", "(log_nz ?x)"),
            ("(mult (ne ?x ?0) (log_base ?x ?y))", "(log_nz_base ?x ?y)"),
        ],
        ..Rule::PLAIN
    },
];
