//! Fused operators read their inputs once and write no intermediates: bounds on the bytes that runs read and allocate,
//! which runs without fusion exceed.

use fuseline::ir::DataType;
use fuseline::ir::hop::{HopDag, HopId, HopOp};
use fuseline::{
    BackendKind, CompileOptions, CompileStage, Csr, Dense, ExplainStage, MatrixBlock, Mode, ScriptInterface, Session,
    StagePrinter, Statistics,
};
use fuseline_passes::pipeline::Stage;

/// What scalars and the cells of multi-aggregates take that basic operators take out of 1 x 1 matrices and columns of
/// sums.
const SCALARS: u64 = 256;

/// A script with its inputs, and what a run may take that makes a single pass.
struct Claim<'a> {
    text: &'a str,
    outputs: &'a [&'a str],
    inputs: &'a [(&'a str, &'a MatrixBlock)],
    /// The fused operator, of which one runs.
    operator: &'a str,
    /// Cells, or non-zeros, that the operator visits.
    cells: u64,
    /// Bytes read of what belongs to rows, cells or non-zeros.
    read: u64,
    /// Bytes read with each call of generated code, of what all rows share.
    read_by_call: u64,
    /// Fewer bytes than these are allocated: those of the smallest intermediate.
    allocated: u64,
}

/// What a run did.
struct Run {
    statistics: Statistics,
    /// Bytes of the inputs of all operators that are not fused, each as often as an operator takes it.
    basic: u64,
}

impl Run {
    /// Bytes that operators read, fused or not.
    fn read(&self) -> u64 {
        self.statistics.genexec_bytes_read + self.basic
    }
}

fn dense(rows: usize, cols: usize) -> MatrixBlock {
    Dense::from_fn(rows, cols, |i, j| ((i * 7 + j * 3) % 11) as f64 - 4.5).into()
}

/// A matrix of which one cell in so many is not zero, in each row some.
fn csr(rows: usize, cols: usize, step: usize) -> MatrixBlock {
    let cell = |i: usize, j: usize| if (i * 13 + j).is_multiple_of(step) { ((i + j) % 9) as f64 - 4.5 } else { 0.0 };
    Csr::from_dense(&Dense::from_fn(rows, cols, cell)).into()
}

fn bytes(block: &MatrixBlock) -> u64 {
    block.bytes() as u64
}

fn non_zeros(block: &MatrixBlock) -> u64 {
    block.nnz() as u64
}

/// Bytes of so many values.
fn values(count: u64) -> u64 {
    8 * count
}

/// Bytes of so many non-zeros with their columns.
fn stored_non_zeros(count: u64) -> u64 {
    12 * count
}

fn run(claim: &Claim<'_>, mode: Mode, backend: BackendKind) -> Run {
    let options = CompileOptions { mode, backend, threads: 1, ..CompileOptions::default() };
    let session = Session::new(options).expect("there are threads");
    let inputs: Vec<(&str, DataType)> = claim.inputs.iter().map(|(name, _)| (*name, DataType::MATRIX)).collect();
    let interface = ScriptInterface { inputs: &inputs, outputs: claim.outputs, ..ScriptInterface::default() };
    let mut script = session.prepare_script("<text>", claim.text, &interface).expect("the script is right");
    for (name, block) in claim.inputs {
        script.bind(name, (*block).clone()).expect("a matrix");
    }
    let mut executed = Vec::new();
    let mut observe = |stage: CompileStage<'_>| match stage {
        CompileStage::Sized(_) => executed.push(HopDag::new()),
        CompileStage::Rewritten(dag, _) | CompileStage::Fusion(Stage::Replaced(dag)) => {
            *executed.last_mut().expect("a DAG has sizes first") = dag.clone();
        }
        _ => {}
    };
    let outcome = script.execute_observed(&mut std::io::sink(), &mut observe).expect("the script runs");
    Run { statistics: outcome.statistics, basic: executed.iter().map(basic_bytes).sum() }
}

/// Bytes of the matrices that the basic operators of a DAG take.
fn basic_bytes(dag: &HopDag) -> u64 {
    let basic = dag.hops.values().filter(|hop| !matches!(hop.op, HopOp::SpoofOp { .. } | HopOp::Shape(_)));
    let taken = basic.flat_map(|hop| hop.inputs.iter().copied());
    let bytes_of = |id: HopId| if dag[id].is_matrix() { dag[id].size.bytes().expect("sizes are known") } else { 0 };
    taken.map(bytes_of).sum()
}

/// Holds runs with fusion to a claim, and sees that one without fusion breaks each part of it.
fn check(claim: &Claim<'_>) {
    let single_passes =
        [BackendKind::Interp, BackendKind::for_measurement()].map(|backend| check_fused(claim, backend));
    let base = run(claim, Mode::Base, BackendKind::Interp);
    let what = format!("{} without fusion: {:#?}", claim.text, base.statistics);
    assert!(base.statistics.fused_operators.is_empty(), "{what}");
    assert!(base.read() > single_passes[0] + SCALARS, "{} of {} bytes read by {what}", base.read(), single_passes[0]);
    assert!(base.statistics.bytes_allocated >= claim.allocated, "bytes allocated by {what}");
}

/// Holds a run with fusion to a claim. Gives the bytes that a single pass reads.
fn check_fused(claim: &Claim<'_>, backend: BackendKind) -> u64 {
    let run = run(claim, Mode::Gen, backend);
    let statistics = &run.statistics;
    let what = format!("{} on {backend:?}: {statistics:#?}", claim.text);
    let operators = statistics.fused_operators.iter().map(|(name, count)| (name.as_str(), *count));
    assert_eq!(operators.collect::<Vec<_>>(), [(claim.operator, 1)], "{what}");
    assert_eq!(statistics.genexec_cells, claim.cells, "cells of {what}");
    let single_pass = claim.read + statistics.genexec_calls * claim.read_by_call;
    assert_eq!(statistics.genexec_bytes_read, single_pass, "bytes read by {what}");
    assert!(run.read() <= single_pass + SCALARS, "{} bytes read by basic operators of {what}", run.basic);
    assert!(statistics.bytes_allocated < claim.allocated, "bytes allocated by {what}");
    single_pass
}

/// Rows enough for a value of each to take more than the buffers of units.
const ROWS: usize = 200_000;
const COLS: usize = 20;
const CELLS: u64 = (ROWS * COLS) as u64;

/// One cell in so many of sparse matrices is not zero.
const STEP: usize = 5;

/// P001: a product of three matrices is summed up by one operator that reads each of them once.
#[test]
fn sums_of_products_read_each_factor_once() {
    let (x, y, z) = (dense(ROWS, COLS), dense(ROWS, COLS), dense(ROWS, COLS));
    let claim = Claim {
        text: "s = sum(X * Y * Z)",
        outputs: &["s"],
        inputs: &[("X", &x), ("Y", &y), ("Z", &z)],
        operator: "cell full_agg",
        cells: CELLS,
        read: bytes(&x) + bytes(&y) + bytes(&z),
        read_by_call: 0,
        allocated: bytes(&x),
    };
    check(&claim);
}

/// P001 of a sparse matrix: no more is read of the dense ones than the cells at its non-zeros.
#[test]
fn sums_of_sparse_products_read_non_zeros_alone() {
    let (x, y, z) = (csr(ROWS, COLS, STEP), dense(ROWS, COLS), dense(ROWS, COLS));
    let count = non_zeros(&x);
    let claim = Claim {
        text: "s = sum(X * Y * Z)",
        outputs: &["s"],
        inputs: &[("X", &x), ("Y", &y), ("Z", &z)],
        operator: "cell full_agg",
        cells: count,
        read: stored_non_zeros(count) + 2 * values(count),
        read_by_call: 0,
        allocated: values(count),
    };
    check(&claim);
}

/// P117: products of factors are computed where two sparse matrices meet, and nowhere else.
#[test]
fn products_of_factors_visit_what_sparse_matrices_have_in_common() {
    let (rows, cols) = (2000, 300);
    let (x, y, u, v) = (csr(rows, cols, 5), csr(rows, cols, 7), dense(rows, 4), dense(cols, 4));
    let common = |i: usize, j: usize| x.get(i, j) != 0.0 && y.get(i, j) != 0.0;
    let count = (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j))).filter(|&(i, j)| common(i, j)).count() as u64;
    let texts = ["R = (X * Y) * (U %*% t(V))", "R = sum(X * Y * log(abs(U %*% t(V)) + 1))"];
    for (text, operator) in texts.into_iter().zip(["outer no_agg", "outer full_agg"]) {
        for backend in [BackendKind::Interp, BackendKind::for_measurement()] {
            let inputs = [("X", &x), ("Y", &y), ("U", &u), ("V", &v)];
            let claim = Claim {
                text,
                outputs: &["R"],
                inputs: &inputs,
                operator,
                cells: count,
                read: 0,
                read_by_call: 0,
                allocated: 0,
            };
            let statistics = run(&claim, Mode::GenFuseAll, backend).statistics;
            let what = format!("{text} on {backend:?}: {statistics:#?}");
            assert_eq!(statistics.fused_operators.keys().map(String::as_str).collect::<Vec<_>>(), [operator], "{what}");
            assert_eq!(statistics.genexec_cells, count, "cells of {what}");
        }
    }
}

/// P002: `t(X) %*% (X %*% v)` is computed row by row, in one scan of X, without the column between its products.
#[test]
fn products_with_a_matrix_and_its_transpose_scan_it_once() {
    let (x, v) = (dense(ROWS, COLS), dense(COLS, 1));
    let claim = Claim {
        text: "g = t(X) %*% (X %*% v)",
        outputs: &["g"],
        inputs: &[("X", &x), ("v", &v)],
        operator: "row col_agg_t",
        cells: CELLS,
        read: bytes(&x),
        read_by_call: bytes(&v),
        allocated: values(ROWS as u64),
    };
    check(&claim);
}

/// P002 of a sparse matrix: a value of v meets each of its non-zeros.
#[test]
fn products_with_a_sparse_matrix_and_its_transpose_scan_it_once() {
    let (x, v) = (csr(ROWS, COLS, STEP), dense(COLS, 1));
    let count = non_zeros(&x);
    let claim = Claim {
        text: "g = t(X) %*% (X %*% v)",
        outputs: &["g"],
        inputs: &[("X", &x), ("v", &v)],
        operator: "row col_agg_t",
        cells: count,
        read: stored_non_zeros(count) + values(count),
        read_by_call: 0,
        allocated: values(ROWS as u64),
    };
    check(&claim);
}

/// P003: three sums over two matrices are one operator that reads both once.
#[test]
fn sums_that_share_matrices_read_each_once() {
    let (x, y) = (dense(ROWS, COLS), dense(ROWS, COLS));
    let claim = Claim {
        text: "a = sum(X ^ 2)\nb = sum(X * Y)\nc = sum(Y ^ 2)",
        outputs: &["a", "b", "c"],
        inputs: &[("X", &x), ("Y", &y)],
        operator: "magg full_agg",
        cells: CELLS,
        read: bytes(&x) + bytes(&y),
        read_by_call: 0,
        allocated: bytes(&x),
    };
    check(&claim);
}

/// The paper's expression (2), for five classes, of the first four of which P has the columns that are read.
const EXPRESSION_2: &str = "Q = P[, 1:4] * (X %*% v)\nH = t(X) %*% (Q - P[, 1:4] * rowSums(Q))";

/// P034: expression (2) makes a single pass over X, and has none of six intermediates: `X %*% v`, the range of P, Q,
/// the sums of its rows, their product with the range, and the difference. The smallest has a value for each row.
#[test]
fn expression_2_makes_a_single_pass() {
    let (x, v, p) = (dense(ROWS, COLS), dense(COLS, 4), dense(ROWS, 5));
    let claim = Claim {
        text: EXPRESSION_2,
        outputs: &["H"],
        inputs: &[("X", &x), ("v", &v), ("P", &p)],
        operator: "row col_agg_b1_t",
        cells: CELLS,
        read: bytes(&x) + values(4 * ROWS as u64),
        read_by_call: bytes(&v),
        allocated: values(ROWS as u64),
    };
    check(&claim);
}

/// P034 of a sparse matrix: a row of v meets each of its non-zeros.
#[test]
fn expression_2_makes_a_single_pass_over_non_zeros() {
    let (x, v, p) = (csr(ROWS, COLS, STEP), dense(COLS, 4), dense(ROWS, 5));
    let count = non_zeros(&x);
    let claim = Claim {
        text: EXPRESSION_2,
        outputs: &["H"],
        inputs: &[("X", &x), ("v", &v), ("P", &p)],
        operator: "row col_agg_b1_t",
        cells: count,
        read: stored_non_zeros(count) + values(4 * count) + values(4 * ROWS as u64),
        read_by_call: 0,
        allocated: values(ROWS as u64),
    };
    check(&claim);
}

/// P036: of the five row vectors of expression (2) one is a range of P, which is read where it lies. The interpreter
/// computes the others into memory; machine code leaves what its loops share in registers, and says how many it has.
#[test]
fn expression_2_has_five_row_vectors() {
    let (x, v, p) = (dense(ROWS, COLS), dense(COLS, 4), dense(ROWS, 5));
    for backend in [BackendKind::Interp, BackendKind::for_measurement()] {
        let session = Session::new(CompileOptions { backend, ..CompileOptions::default() }).expect("there are threads");
        let inputs = [("X", &x), ("v", &v), ("P", &p)];
        let types = inputs.map(|(name, _)| (name, DataType::MATRIX));
        let interface = ScriptInterface { inputs: &types, outputs: &["H"], ..ScriptInterface::default() };
        let mut script = session.prepare_script("<text>", EXPRESSION_2, &interface).expect("the script is right");
        for (name, block) in inputs {
            script.bind(name, block.clone()).expect("a matrix");
        }
        let (mut operators, mut plans) = (Vec::new(), StagePrinter::new(ExplainStage::Cplan));
        let mut code = StagePrinter::new(ExplainStage::Llvm);
        let mut observe = |stage: CompileStage<'_>| {
            plans.observe(&stage);
            code.observe(&stage);
            if let CompileStage::Operator(_, compiled) = &stage {
                operators.push((compiled.plan().row_buffers(), compiled.buffers()));
            }
        };
        script.execute_observed(&mut std::io::sink(), &mut observe).expect("the script runs");
        let [(stated, buffers)] = &operators[..] else { panic!("one operator, not {operators:?}") };
        assert_eq!((stated.computed(), stated.rows_of_sides(), stated.count()), (4, 1, 5));
        // Fused loops leave vectors in registers, how many depends on these.
        let is_right = if backend == BackendKind::Interp { *buffers == 4 } else { (1..4).contains(buffers) };
        assert!(is_right, "{backend:?}: {buffers}");
        assert!(plans.take().contains("cplan row col_agg_b1_t sparse_safe=true ring=5 {"));
        let code = code.take();
        assert!(code.contains(&format!(", {buffers} of 5 row vectors in memory\n")), "{code}");
    }
}
