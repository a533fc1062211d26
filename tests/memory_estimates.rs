//! Memory estimates against what operators take: no output takes more than its estimate, and less by no more than a
//! stated factor (P015).

use fuseline::ir::DataType;
use fuseline::ir::hop::HopDag;
use fuseline::{
    BackendKind, CompileOptions, CompileStage, Csr, Dense, MatrixBlock, Mode, ScriptInterface, Session, Statistics,
};
use fuseline_passes::memory::estimate_memory;
use fuseline_passes::pipeline::Stage;

/// Estimates are what outputs take.
const EXACT: f64 = 1.0;
/// Chance decides, or a few cells of sums are zero, too.
const CLOSE: f64 = 1.25;
/// Every position counts that may hold a non-zero: data decide how many do.
const BOUND: f64 = 100.0;

/// Scripts that assign Y, and by which factor the estimate may exceed its bytes. X, D are dense and S, T sparse (600 x
/// 400), H has a few non-zeros (20000 x 5000), u, l are columns of 600 and 20000, v, b of 400 and 5000, w is a row of
/// 400, and B (400 x 30), G (5000 x 30), L (20000 x 3), U (600 x 4) and V (400 x 4) are dense, C is sparse (400 x 500),
/// and k has eight classes.
const SCRIPTS: &[(&str, f64)] = &[
    // Element-wise operators.
    ("Y = X + D", EXACT),
    ("Y = X > 2", EXACT),
    ("Y = X * S", EXACT),
    ("Y = S * 2", EXACT),
    ("Y = S ^ 2", EXACT),
    ("Y = S + 1", EXACT),
    ("Y = abs(S)", EXACT),
    ("Y = exp(S)", EXACT),
    ("Y = S * u", EXACT),
    ("Y = S / u", EXACT),
    ("Y = S * w", EXACT),
    ("Y = S == 0", EXACT),
    ("Y = S != 0", EXACT),
    ("Y = S + T", CLOSE),
    ("Y = S - T * 2", CLOSE),
    ("Y = round(S)", CLOSE),
    ("Y = S * T", BOUND),
    ("Y = max(S, T)", BOUND),
    ("Y = S * (X > 0)", BOUND),
    ("Y = ifelse(S > 0, X, 0)", BOUND),
    ("Y = replace(target=S, pattern=1, replacement=0)", BOUND),
    ("Y = outer(u, w, \"*\")", EXACT),
    ("Y = abs(H) + H", 2.0),
    ("Y = H * (l > 0)", BOUND),
    // Reorganisation.
    ("Y = t(X)", EXACT),
    ("Y = t(S)", EXACT),
    ("Y = rev(S)", EXACT),
    ("Y = diag(u)", EXACT),
    ("Y = order(target=X, by=1)", EXACT),
    ("Y = matrix(X, rows=400, cols=600)", EXACT),
    ("Y = matrix(S, rows=400, cols=600)", EXACT),
    ("Y = matrix(S, rows=240000, cols=1)", EXACT),
    ("Y = matrix(H, rows=5000, cols=20000)", EXACT),
    ("Y = cbind(X, D)", EXACT),
    ("Y = cbind(S, T)", EXACT),
    ("Y = cbind(S, X)", EXACT),
    ("Y = cbind(S, u)", EXACT),
    ("Y = rbind(S, T)", EXACT),
    ("Y = rbind(H, H)", EXACT),
    ("Y = X[, 5:20]", EXACT),
    ("Y = S[1:100, ]", BOUND),
    ("Y = S[, 1:100]", BOUND),
    ("Y = H[1:10, ]", BOUND),
    ("Y = X\nY[1:10, 1:10] = D[1:10, 1:10]", EXACT),
    ("Y = S\nY[1:10, 1:10] = D[1:10, 1:10]", BOUND),
    // Products.
    ("Y = X %*% B", EXACT),
    ("Y = S %*% B", EXACT),
    ("Y = S %*% v", EXACT),
    ("Y = t(X) %*% X", EXACT),
    ("Y = t(S) %*% X", EXACT),
    ("Y = u %*% w", EXACT),
    ("Y = S %*% C", BOUND),
    ("Y = t(S) %*% T", BOUND),
    ("Y = H %*% G", BOUND),
    ("Y = t(H) %*% L", BOUND),
    ("Y = t(l) %*% H", BOUND),
    ("Y = H %*% diag(b)", BOUND),
    ("Y = diag(l) %*% H", BOUND),
    // Aggregates.
    ("Y = rowSums(S)", EXACT),
    ("Y = colSums(S)", EXACT),
    ("Y = rowMaxs(S)", EXACT),
    ("Y = colMaxs(X)", EXACT),
    ("Y = cumsum(X)", EXACT),
    ("Y = cumsum(S)", EXACT),
    ("Y = rowSums(H)", EXACT),
    ("Y = colSums(H)", BOUND),
    ("Y = colMeans(H)", BOUND),
    ("Y = colMaxs(H)", BOUND),
    ("Y = colSums(H * 2)", BOUND),
    // Generated matrices.
    ("Y = matrix(0, rows=600, cols=400)", EXACT),
    ("Y = matrix(0, rows=2000, cols=4000)", EXACT),
    ("Y = matrix(1, rows=600, cols=400)", EXACT),
    ("Y = seq(1, 10000)", EXACT),
    ("Y = sample(10000, 5000)", EXACT),
    ("Y = table(seq(1, 600), k, 600, 8)", EXACT),
    ("Y = rand(rows=600, cols=400, seed=1)", EXACT),
    ("Y = rand(rows=600, cols=400, sparsity=0, seed=1)", EXACT),
    ("Y = rand(rows=600, cols=400, sparsity=0.001, seed=1)", CLOSE),
    ("Y = rand(rows=600, cols=400, sparsity=0.01, seed=1)", CLOSE),
    ("Y = rand(rows=600, cols=400, sparsity=0.1, seed=1)", CLOSE),
    ("Y = rand(rows=600, cols=400, sparsity=0.3, seed=1)", CLOSE),
    ("Y = rand(rows=600, cols=400, sparsity=0.395, seed=1)", CLOSE),
    ("Y = rand(rows=600, cols=400, sparsity=0.5, seed=1)", EXACT),
    ("Y = rand(rows=600, cols=400, sparsity=0.1, pdf=\"normal\", seed=1)", CLOSE),
    ("Y = rand(rows=600, cols=400, sparsity=0.1, seed=1) * 2", CLOSE),
    ("Y = t(rand(rows=600, cols=400, sparsity=0.1, seed=1))", CLOSE),
    ("Y = cbind(rand(rows=600, cols=400, sparsity=0.1, seed=1), S)", CLOSE),
    // Fused operators, in mode `gen`.
    ("Y = exp(X * 2) + D * u", EXACT),
    ("Y = X / rowSums(X)", EXACT),
    ("Y = S * X * D", EXACT),
    ("Y = (S != 0) * (U %*% t(V))", EXACT),
    ("Y = t(X) %*% (X %*% v)", EXACT),
    ("Y = t(S) %*% (S %*% v)", EXACT),
    ("Y = t(S) %*% (S %*% B)", EXACT),
    ("Y = rowSums(X * D + 1)", EXACT),
    ("Y = colSums(S * X)", EXACT),
    ("Y = t(H) %*% (H %*% b)", EXACT),
    ("Y = t(H) %*% (H %*% G)", BOUND),
];

fn dense(rows: usize, cols: usize) -> MatrixBlock {
    Dense::from_fn(rows, cols, |i, j| ((i * 7 + j * 3) % 11) as f64 - 4.5).into()
}

/// A matrix of which one cell in so many is not zero.
fn csr(rows: usize, cols: usize, step: usize) -> MatrixBlock {
    let cell = |i: usize, j: usize| if (i * 13 + j).is_multiple_of(step) { ((i + j) % 9) as f64 - 4.5 } else { 0.0 };
    Csr::from_dense(&Dense::from_fn(rows, cols, cell)).into()
}

/// A large matrix of two hundred non-zeros.
fn almost_empty() -> MatrixBlock {
    let (rows, per_row) = (20_000, 100);
    let row_offsets = (0..=rows).map(|row: usize| row.div_ceil(per_row)).collect();
    let columns = (0..rows.div_ceil(per_row)).map(|position| (position * 23) as u32).collect();
    Csr::from_parts(rows, 5000, row_offsets, columns, vec![1.5; rows.div_ceil(per_row)]).into()
}

fn inputs() -> [(&'static str, MatrixBlock); 17] {
    let classes = Dense::from_fn(600, 1, |i, _| (i % 8 + 1) as f64).into();
    [
        ("X", dense(600, 400)),
        ("D", dense(600, 400)),
        ("S", csr(600, 400, 50)),
        ("T", csr(600, 400, 37)),
        ("H", almost_empty()),
        ("u", dense(600, 1)),
        ("l", dense(20_000, 1)),
        ("v", dense(400, 1)),
        ("b", dense(5000, 1)),
        ("w", dense(1, 400)),
        ("B", dense(400, 30)),
        ("G", dense(5000, 30)),
        ("L", dense(20_000, 3)),
        ("U", dense(600, 4)),
        ("V", dense(400, 4)),
        ("C", csr(400, 500, 50)),
        ("k", classes),
    ]
}

/// What was estimated of an output, and what became of it.
struct Measured {
    estimate: u64,
    output: MatrixBlock,
    statistics: Statistics,
}

fn measure(text: &str, inputs: &[(&str, MatrixBlock)], mode: Mode) -> Measured {
    let options = CompileOptions { mode, backend: BackendKind::Interp, threads: 1, ..CompileOptions::default() };
    let session = Session::new(options).expect("there is a thread");
    let types: Vec<(&str, DataType)> = inputs.iter().map(|(name, _)| (*name, DataType::MATRIX)).collect();
    let interface = ScriptInterface { inputs: &types, outputs: &["Y"], ..ScriptInterface::default() };
    let mut script = session.prepare_script("<text>", text, &interface).expect("the script is right");
    for (name, block) in inputs {
        script.bind(name, block.clone()).expect("a matrix");
    }
    let mut executed = HopDag::new();
    let mut observe = |stage: CompileStage<'_>| match stage {
        CompileStage::Rewritten(dag, _) | CompileStage::Fusion(Stage::Replaced(dag)) => executed = dag.clone(),
        _ => {}
    };
    let outcome = script.execute_observed(&mut std::io::sink(), &mut observe).expect("the script runs");
    let output = executed.outputs.iter().find(|output| output.name == "Y").expect("Y is assigned");
    let estimate = estimate_memory(&executed)[output.hop].output.expect("sizes are known");
    Measured { estimate, output: outcome.matrix("Y").expect("a matrix").clone(), statistics: outcome.statistics }
}

/// From so many bytes on the budget counts memory.
const COUNTED: u64 = 16 << 10;

#[test]
fn outputs_take_what_was_estimated() {
    let inputs = inputs();
    let mut wrong = Vec::new();
    for &(text, factor) in SCRIPTS {
        for mode in [Mode::Base, Mode::Gen] {
            let Measured { estimate, output, statistics } = measure(text, &inputs, mode);
            let bytes = output.bytes() as u64;
            let is_bound = bytes <= estimate;
            let is_close = estimate as f64 <= factor * bytes as f64;
            // Sparse outputs may share the positions of inputs.
            let counts = output.format().is_sparse() || bytes < COUNTED || bytes <= statistics.memory_peak;
            if !(is_bound && is_close && counts) {
                let (format, peak) = (output.format(), statistics.memory_peak);
                wrong.push(format!(
                    "{text} ({mode:?}): {estimate} bytes estimated, {bytes} taken ({format:?}), {peak} reserved at most"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// However often random values are drawn, they are no more than was estimated.
#[test]
fn no_draw_exceeds_its_estimate() {
    let mut closest = 0.0_f64;
    for (rows, cols, sparsity) in [(1000, 100, 0.001), (50, 40, 0.01), (1, 5000, 0.2), (300, 300, 0.1)] {
        for seed in 0..200 {
            let text = format!("Y = rand(rows={rows}, cols={cols}, sparsity={sparsity}, seed={seed})");
            let Measured { estimate, output, .. } = measure(&text, &[], Mode::Gen);
            assert!(output.bytes() as u64 <= estimate, "{text}: {} of {estimate} bytes", output.bytes());
            closest = closest.max(output.nnz() as f64 / (f64::from(rows * cols) * sparsity));
        }
    }
    assert!(closest > 1.05, "some draw more than their mean: {closest}");
}
