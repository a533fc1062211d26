//! How operators run is what was stated before: strips, blocks and private sums that `explain` gives, from sizes alone, are
//! those that a run counts, from the data (ADR 0044).

use fuseline::{
    CompileOptions, Csr, Dense, ExplainStage, MatrixBlock, RuntimeValue, Session, StageCollector, Variables,
};
use fuseline_passes::explain::report::ScheduleReport;

/// Scripts over X (m x n) with other inputs: Y of its size, u a column, w a row, v (n x 1), B (n x 5), U (m x 4) and
/// V (n x 4).
const SCRIPTS: &[&str] = &[
    "s = sum(X * Y + 1)",
    "s = sum(X * Y)",
    "s = sum(abs(X) + 3)",
    "s = sum(X * Y * u)",
    "s = sum(X * w)",
    "r = rowSums(X * Y * 2)",
    "r = rowSums((X + 1) * Y)",
    "c = colSums(X * Y)",
    "c = colSums(X * Y + u)",
    "c = colMaxs(X * u * 2)",
    "Z = X * Y + u",
    "Z = exp(X) * w - 1",
    "Z = X * Y * 3 - Y",
    "Z = sqrt(abs(X) * 3)",
    "a = sum(X ^ 2)\nb = sum(X * Y)\nc = max(X * Y)",
    "g = t(X) %*% (X %*% v)",
    "g = t(X) %*% (u * (X %*% v) - u)",
    "g = t(X) %*% (X %*% B)",
    "Z = X / rowSums(abs(X) + 1)",
    "r = rowMaxs(X * 2 + Y) + u",
    "P = exp(X %*% B)\nG = t(X) %*% (P / rowSums(P))",
    "p = X %*% v\nc = colSums(X * p)",
    "s = sum((X != 0) * (U %*% t(V) - X) ^ 2)",
    "R = (X * (U %*% t(V))) %*% V",
    "L = t(X * (U %*% t(V))) %*% U",
    "W = X * log(abs(U %*% t(V)) + 1)",
];

struct Shape {
    rows: usize,
    cols: usize,
    /// Of how many cells of X one is not zero.
    step: usize,
}

const SHAPES: &[Shape] = &[
    Shape { rows: 3, cols: 4, step: 1 },
    Shape { rows: 2000, cols: 300, step: 1 },
    Shape { rows: 40_000, cols: 3, step: 1 },
    Shape { rows: 40, cols: 20_000, step: 1 },
    Shape { rows: 6000, cols: 500, step: 20 },
    Shape { rows: 40_000, cols: 100, step: 50 },
];

fn dense(rows: usize, cols: usize) -> MatrixBlock {
    Dense::from_fn(rows, cols, |i, j| ((i * 7 + j * 3) % 11) as f64 - 4.5).into()
}

/// Cells of which no row has none.
fn main_input(shape: &Shape) -> MatrixBlock {
    let &Shape { rows, cols, step } = shape;
    let cell = |i: usize, j: usize| if (i * 13 + j) % step == 0 { ((i + j) % 9) as f64 - 4.5 } else { 0.0 };
    let dense = Dense::from_fn(rows, cols, cell);
    if step == 1 { dense.into() } else { Csr::from_dense(&dense).into() }
}

fn variables(shape: &Shape) -> Variables {
    let (m, n) = (shape.rows, shape.cols);
    let sides = [("Y", m, n), ("u", m, 1), ("w", 1, n), ("v", n, 1), ("B", n, 5), ("U", m, 4), ("V", n, 4)];
    let sides = sides.map(|(name, rows, cols)| (name.to_owned(), RuntimeValue::Matrix(dense(rows, cols))));
    let mut variables = Variables::from(sides);
    variables.insert("X".to_owned(), RuntimeValue::Matrix(main_input(shape)));
    variables
}

#[test]
fn runs_count_what_was_stated() {
    let session = Session::new(CompileOptions { threads: 2, ..CompileOptions::default() }).expect("there are threads");
    let mut stated_blocks = 0;
    for shape in SHAPES {
        let variables = variables(shape);
        for text in SCRIPTS {
            let script = session.compile_script("<text>", text, &[]).expect("the script is right");
            let mut plans = StageCollector::new(ExplainStage::Plan).expect("plans are data");
            let outcome = session
                .run_observed(&script, variables.clone(), &mut std::io::sink(), &mut |stage| plans.observe("", stage))
                .unwrap_or_else(|error| panic!("{text}: {error}"));
            let dags = plans.into_document().dags;
            let operators = dags.iter().filter_map(|dag| dag.plan.as_ref()).flat_map(|plan| &plan.operators);
            let schedules: Vec<&ScheduleReport> = operators
                .filter(|operator| operator.template.is_some() && operator.rejected.is_none())
                .map(|operator| operator.schedule.as_ref().expect("sizes are known"))
                .collect();
            let stated = [
                schedules.iter().map(|schedule| schedule.strips).sum::<u64>(),
                schedules.iter().map(|schedule| schedule.blocks).sum(),
                schedules.iter().map(|schedule| schedule.private_sums).sum(),
            ];
            let counted = &outcome.statistics;
            let counted = [counted.strips, counted.genexec_blocks, counted.private_sums];
            let Shape { rows, cols, .. } = shape;
            assert_eq!(stated, counted, "strips, blocks, private sums of {text} over {rows} x {cols}: {schedules:#?}");
            stated_blocks += stated[1];
        }
    }
    assert!(stated_blocks > 1000, "{stated_blocks} blocks");
}
