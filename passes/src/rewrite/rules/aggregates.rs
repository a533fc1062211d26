//! Aggregates of reorganised, aggregated or squared matrices.

use super::{Changes, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "aggregate-of-transpose",
        doc: "A full aggregate does not see a transpose.",
        changes: Changes::AggregationOrder,
        patterns: &[
            ("(sum.full (t ?X))", "(sum.full ?X)"),
            ("(sumsq.full (t ?X))", "(sumsq.full ?X)"),
            ("(min.full (t ?X))", "(min.full ?X)"),
            ("(max.full (t ?X))", "(max.full ?X)"),
            ("(mean.full (t ?X))", "(mean.full ?X)"),
        ],
    },
    Rule {
        name: "nested-aggregate",
        doc: "An aggregate of row or column aggregates is the full aggregate (not of means: roundings of counts differ).",
        changes: Changes::AggregationOrder,
        patterns: &[
            ("(sum.full (sum.row ?X))", "(sum.full ?X)"),
            ("(sum.full (sum.col ?X))", "(sum.full ?X)"),
            ("(sum.full (sumsq.row ?X))", "(sumsq.full ?X)"),
            ("(sum.full (sumsq.col ?X))", "(sumsq.full ?X)"),
            ("(min.full (min.row ?X))", "(min.full ?X)"),
            ("(min.full (min.col ?X))", "(min.full ?X)"),
            ("(max.full (max.row ?X))", "(max.full ?X)"),
            ("(max.full (max.col ?X))", "(max.full ?X)"),
        ],
    },
    Rule {
        name: "sum-of-squares",
        doc: "A sum of squares is one aggregate, which fuses the multiply-add.",
        changes: Changes::AggregationOrder,
        patterns: &[
            ("(sum.full (pow2 ?X))", "(sumsq.full ?X)"),
            ("(sum.row (pow2 ?X))", "(sumsq.row ?X)"),
            ("(sum.col (pow2 ?X))", "(sumsq.col ?X)"),
        ],
    },
];
