//! How operators run is what was stated before: strips, blocks, private sums, cells and calls of generated code that
//! `explain` gives, from sizes alone, are those that a run counts, from the data (ADR 0044).

use fuseline::ir::DataType;
use fuseline::{
    CompileOptions, Csr, Dense, ExplainStage, MatrixBlock, ScriptInterface, Session, StageCollector, Statistics,
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
    "r = (X / (u + 10)) %*% v",
    "g = t(X ^ 2) %*% u",
    "g = t(X * w) %*% (X %*% v)",
    "r = (X * 2 + X ^ 2) %*% v + rowSums(X)",
    "r = (X * Y) %*% v - rowSums(X * exp(w))",
    "P = (X * w * u) %*% B",
    "Z = X * w / (rowSums(abs(X)) + 1)",
    "r = rowVars(X * u) + rowMaxs(X * w)",
    "c = colSums(X / (rowSums(abs(X)) + 1))",
    "s = sum((X * exp(w)) %*% v)",
    "r = rowMaxs(X * 2 + Y) + u",
    "P = exp(X %*% B)\nG = t(X) %*% (P / rowSums(P))",
    "p = X %*% v\nc = colSums(X * p)",
    "s = sum((X != 0) * (U %*% t(V) - X) ^ 2)",
    "R = (X * (U %*% t(V))) %*% V",
    "L = t(X * (U %*% t(V))) %*% U",
    "W = X * log(abs(U %*% t(V)) + 1)",
    "c = colSums(X * u)\nd = colSums(X / (u + 10))\ns = sum(X * u * 3)",
    "g = t(X) %*% (X %*% v)\nc = colSums(X * (X %*% v))",
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
    let cell = |i: usize, j: usize| if (i * 13 + j).is_multiple_of(step) { ((i + j) % 9) as f64 - 4.5 } else { 0.0 };
    let dense = Dense::from_fn(rows, cols, cell);
    if step == 1 { dense.into() } else { Csr::from_dense(&dense).into() }
}

/// The inputs of scripts, by name.
const INPUTS: &[(&str, DataType)] = &[
    ("X", DataType::MATRIX),
    ("Y", DataType::MATRIX),
    ("u", DataType::MATRIX),
    ("w", DataType::MATRIX),
    ("v", DataType::MATRIX),
    ("B", DataType::MATRIX),
    ("U", DataType::MATRIX),
    ("V", DataType::MATRIX),
];

fn inputs(shape: &Shape) -> [MatrixBlock; 8] {
    let (m, n) = (shape.rows, shape.cols);
    let [y, u, w, v, b, left, right] =
        [(m, n), (m, 1), (1, n), (n, 1), (n, 5), (m, 4), (n, 4)].map(|(m, n)| dense(m, n));
    [main_input(shape), y, u, w, v, b, left, right]
}

/// What runs of fused operators count.
#[derive(Debug, PartialEq)]
struct Counts {
    strips: u64,
    blocks: u64,
    private_sums: u64,
    cells: u64,
    /// Calls of generated code, where sizes say how many.
    calls: Option<u64>,
}

impl Counts {
    /// What was stated of all operators of a script.
    fn stated(schedules: &[ScheduleReport]) -> Counts {
        let sum = |of: fn(&ScheduleReport) -> u64| schedules.iter().map(of).sum();
        Counts {
            strips: sum(|schedule| schedule.strips),
            blocks: sum(|schedule| schedule.blocks),
            private_sums: sum(|schedule| schedule.private_sums),
            cells: sum(|schedule| schedule.cells),
            calls: schedules.iter().map(|schedule| schedule.calls).sum(),
        }
    }

    /// What a run counted.
    fn counted(statistics: &Statistics) -> Counts {
        Counts {
            strips: statistics.strips,
            blocks: statistics.genexec_blocks,
            private_sums: statistics.private_sums,
            cells: statistics.genexec_cells,
            calls: Some(statistics.genexec_calls),
        }
    }
}

/// What was stated of a script's fused operators, and what its run counted.
fn stated_and_counted(session: &Session, text: &str, inputs: &[MatrixBlock]) -> (Vec<ScheduleReport>, Counts) {
    let outputs: Vec<&str> = text.lines().filter_map(|line| line.split_once(" = ")).map(|(name, _)| name).collect();
    let interface = ScriptInterface { inputs: INPUTS, outputs: &outputs, ..ScriptInterface::default() };
    let mut script = session.prepare_script("<text>", text, &interface).expect("the script is right");
    for ((name, _), input) in INPUTS.iter().zip(inputs) {
        script.bind(name, input.clone()).expect("a matrix");
    }
    let mut plans = StageCollector::new(ExplainStage::Plan).expect("plans are data");
    let outcome = script
        .execute_observed(&mut std::io::sink(), &mut |stage| plans.observe("", &stage))
        .unwrap_or_else(|error| panic!("{text}: {error}"));
    let plans = plans.into_document().dags.into_iter().filter_map(|dag| dag.plan);
    let operators = plans.flat_map(|plan| plan.operators);
    let fused = operators.filter(|operator| operator.template.is_some() && operator.rejected.is_none());
    let schedules = fused.map(|operator| operator.schedule.expect("sizes are known")).collect();
    (schedules, Counts::counted(&outcome.statistics))
}

/// What scripts over a shape do otherwise than was stated, and of those that do not the blocks, and the operators whose calls
/// were stated, too.
#[derive(Default)]
struct Outcome {
    problems: Vec<String>,
    blocks: u64,
    operators_with_calls: usize,
    calls: u64,
    strips: u64,
}

fn compare<'a>(scripts: impl IntoIterator<Item = &'a str>, shapes: &[Shape]) -> Outcome {
    let session = Session::new(CompileOptions { threads: 2, ..CompileOptions::default() }).expect("there are threads");
    let scripts: Vec<&str> = scripts.into_iter().collect();
    let mut outcome = Outcome::default();
    for shape in shapes {
        let inputs = inputs(shape);
        for text in &scripts {
            let (schedules, mut counted) = stated_and_counted(&session, text, &inputs);
            let stated = Counts::stated(&schedules);
            if stated.calls.is_none() {
                counted.calls = None;
            }
            if stated != counted {
                let Shape { rows, cols, .. } = shape;
                let problem = format!("{text} over {rows} x {cols}: {stated:?}, but {counted:?}: {schedules:?}");
                outcome.problems.push(problem);
            }
            outcome.blocks += stated.blocks;
            outcome.calls += stated.calls.unwrap_or(0);
            outcome.operators_with_calls += stated.calls.map_or(0, |_| schedules.len());
            outcome.strips = outcome.strips.max(stated.strips);
        }
    }
    outcome
}

#[test]
fn runs_count_what_was_stated() {
    let Outcome { problems, blocks, operators_with_calls, .. } = compare(SCRIPTS.iter().copied(), SHAPES);
    assert!(problems.is_empty(), "what was stated and what runs counted differ:\n{}", problems.join("\n"));
    assert!(blocks > 1000 && operators_with_calls > 70, "{blocks} blocks, {operators_with_calls} operators with calls");
}

#[test]
fn matrices_of_several_strips_count_what_was_stated() {
    let scripts = ["s = sum(X * Y + 1)", "c = colSums(X * Y)", "g = t(X) %*% (X %*% v)"];
    let Outcome { problems, strips, .. } = compare(scripts, &[Shape { rows: 1_100_000, cols: 8, step: 1 }]);
    assert!(problems.is_empty(), "what was stated and what runs counted differ:\n{}", problems.join("\n"));
    assert_eq!(strips, 2);
}

/// Many vectors of a row stay in the nearest cache, so that units have fewer rows, from the same number of operations on in the
/// statement and the run.
#[test]
fn long_chains_over_rows_count_what_was_stated() {
    let calls: Vec<u64> = (10..20)
        .map(|length| {
            let chain = (0..length).fold("X".to_owned(), |chain, _| format!("({chain} * Y + X)"));
            let scripts = [format!("p = {chain} %*% v"), format!("p = max({chain}, X * 2, Y) %*% v")];
            let shape = Shape { rows: 997, cols: 300, step: 1 };
            let outcome = compare(scripts.iter().map(String::as_str), &[shape]);
            assert!(outcome.problems.is_empty(), "{}", outcome.problems.join("\n"));
            assert_eq!(outcome.operators_with_calls, 2);
            outcome.calls
        })
        .collect();
    assert!(calls[9] > 2 * calls[0], "{calls:?}");
}
