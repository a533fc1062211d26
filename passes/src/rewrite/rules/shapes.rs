//! What vectors, single cells and scalars make simpler, and questions of shape.

use super::{Change, Each, Guard, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "aggregate-of-one-cell-each",
        doc: "Column aggregates of one row, and row aggregates of one column, are its cells.",
        changes: &[Change::SignOfZero],
        when: &[Guard::OneRow("R"), Guard::OneColumn("C"), Guard::Single("S")],
        each: Each::Of(&[&["sum"], &["mean"], &["min"], &["max"], &["prod"]]),
        patterns: &[("($0.col ?R)", "?R"), ("($0.row ?C)", "?C"), ("($0.full ?S)", "(as.scalar ?S)")],
    },
    Rule {
        name: "squares-of-one-cell-each",
        doc: "Column sums of the squares of one row are squares.",
        when: &[Guard::OneRow("R"), Guard::OneColumn("C"), Guard::Single("S")],
        patterns: &[
            ("(sumsq.col ?R)", "(pow2 ?R)"),
            ("(sumsq.row ?C)", "(pow2 ?C)"),
            ("(sumsq.full ?S)", "(pow2 (as.scalar ?S))"),
        ],
        ..Rule::PLAIN
    },
    Rule {
        name: "aggregate-of-vector",
        doc: "A full aggregate is the only cell of a vector's aggregate.",
        changes: &[Change::AggregationOrder],
        when: &[Guard::OneColumn("C"), Guard::OneRow("R")],
        each: Each::Of(&[&["sum"], &["sumsq"], &["mean"], &["min"], &["max"], &["nnz"]]),
        patterns: &[("(as.scalar ($0.col ?C))", "($0.full ?C)"), ("(as.scalar ($0.row ?R))", "($0.full ?R)")],
    },
    Rule {
        name: "cumulation-of-one-row",
        doc: "The running aggregates of one row are its cells.",
        changes: &[Change::SignOfZero],
        when: &[Guard::OneRow("R")],
        each: Each::Of(&[&["sum"], &["prod"], &["min"], &["max"]]),
        patterns: &[("(cumulative.$0 ?R)", "?R")],
    },
    Rule {
        name: "reorganised-single-cell",
        doc: "A single cell looks the same from all sides, and one row upside down.",
        when: &[Guard::Single("S"), Guard::OneRow("R")],
        patterns: &[("(t ?S)", "?S"), ("(diag ?S)", "?S"), ("(rev ?R)", "?R")],
        ..Rule::PLAIN
    },
    Rule {
        name: "reshaped-to-itself",
        doc: "A reshape to the same dimensions is its input; one of a vector to the other direction is a transpose.",
        when: &[
            Guard::Rows("r", "X"),
            Guard::Columns("c", "X"),
            Guard::OneColumn("C"),
            Guard::Rows("n", "C"),
            Guard::OneRow("R"),
            Guard::Columns("m", "R"),
        ],
        patterns: &[("(matrix ?X ?r ?c)", "?X"), ("(matrix ?C ?1 ?n)", "(t ?C)"), ("(matrix ?R ?m ?1)", "(t ?R)")],
        ..Rule::PLAIN
    },
    Rule {
        name: "concatenation-of-one",
        doc: "One matrix alone is not concatenated.",
        each: Each::Of(&[&["cbind"], &["rbind"]]),
        patterns: &[("($0 ?X)", "?X")],
        ..Rule::PLAIN
    },
    Rule {
        name: "cast-back",
        doc: "A cast of what has the type, and one after the other way round, are nothing.",
        when: &[Guard::Single("S")],
        patterns: &[
            ("(as.scalar (as.matrix ?s))", "?s"),
            ("(as.matrix (as.scalar ?S))", "?S"),
            ("(as.scalar ?s)", "?s"),
            ("(as.double ?s)", "?s"),
            ("(as.integer ?s)", "?s"),
            ("(as.logical ?s)", "?s"),
            ("(as.matrix ?X)", "?X"),
        ],
        ..Rule::PLAIN
    },
    Rule {
        name: "scalar-of-fill",
        doc: "The only cell of a matrix of one value is the value.",
        when: &[Guard::Is("r", 1.0), Guard::Is("c", 1.0)],
        patterns: &[("(as.scalar (matrix ?s ?r ?c))", "(as.double ?s)")],
        ..Rule::PLAIN
    },
    Rule {
        name: "scalar-of-unary",
        doc: "The scalar of f(X) is f of the scalar of X.",
        each: Each::Unary,
        patterns: &[("(as.scalar ($0 ?X))", "(as.double ($0 (as.scalar ?X)))")],
        ..Rule::PLAIN
    },
    Rule {
        name: "scalar-of-binary",
        doc: "The scalar of X+Y is the sum of the scalars of X and Y.",
        each: Each::Of(&[&["plus"], &["minus"], &["mult"], &["div"], &["min"], &["max"], &["pow"]]),
        patterns: &[("(as.scalar ($0 ?x ?y))", "($0 (as.scalar ?x) (as.scalar ?y))")],
        ..Rule::PLAIN
    },
    Rule {
        name: "single-cell-as-operand",
        doc: "A 1 x 1 matrix is a scalar to an element-wise operation.",
        when: &[Guard::Single("S")],
        each: Each::Of(&[&["plus"], &["minus"], &["mult"], &["div"]]),
        patterns: &[("($0 ?X ?S)", "($0 ?X (as.scalar ?S))"), ("($0 ?S ?X)", "($0 (as.scalar ?S) ?X)")],
        ..Rule::PLAIN
    },
    Rule {
        name: "shape-of-transpose",
        doc: "A transpose has as many rows as its input has columns.",
        patterns: &[("(nrow (t ?X))", "(ncol ?X)"), ("(ncol (t ?X))", "(nrow ?X)")],
        ..Rule::PLAIN
    },
    Rule {
        name: "shape-of-product",
        doc: "A product has the rows of the left and the columns of the right.",
        patterns: &[("(nrow (matmul ?X ?Y))", "(nrow ?X)"), ("(ncol (matmul ?X ?Y))", "(ncol ?Y)")],
        ..Rule::PLAIN
    },
    Rule {
        name: "shape-of-unary",
        doc: "A function of cells has the shape of its input.",
        each: Each::Unary,
        patterns: &[("(nrow ($0 ?X))", "(nrow ?X)"), ("(ncol ($0 ?X))", "(ncol ?X)")],
        ..Rule::PLAIN
    },
];
