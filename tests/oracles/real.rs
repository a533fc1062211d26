//! Real sparse matrices: discretised differential equations and ratings of films, which two Python packages bring.
//! `SciPy` computes what people compute of them; every mode must agree with it, and all tiers of a mode in every bit.

use crate::environment::run_python;
use crate::long::is_long;
use fuseline::ir::DataType;
use fuseline::{BackendKind, CompileOptions, CpuFeatures, MatrixBlock, Mode, ScriptInterface, Session, Variables};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Expressions over A, by the names that the driver gives them.
const EXPRESSIONS: &[(&str, &str)] = &[
    ("squares", "R = as.matrix(sum(A ^ 2))"),
    ("product", "R = A %*% x"),
    ("left product", "R = t(u) %*% A"),
    ("chain", "R = t(A) %*% (A %*% x)"),
    ("degrees", "R = rowSums(A != 0)"),
    ("column norms", "R = colSums(abs(A))"),
    ("normalised", "R = (A / (rowSums(abs(A)) + 1)) %*% x"),
    ("logarithms", "R = as.matrix(sum(A * log(abs(A) + 1)))"),
    ("factorisation", "R = as.matrix(sum(A * (U %*% t(V))))"),
    ("residuals", "R = ((A != 0) * (U %*% t(V)) - A) %*% V"),
    ("squared residuals", "R = as.matrix(sum(((A != 0) * (U %*% t(V)) - A) ^ 2))"),
    ("difference", "R = rowSums((A * t(x) - A * 0.5) ^ 2)"),
    ("three factors", "R = as.matrix(sum(A * (A * t(x)) * (A != 0)))"),
    ("row extremes", "R = rowMaxs(A + A * t(x))"),
];

/// Vectors and factors of small fractions, as the driver makes them.
const OPERANDS: &str = "x = (seq(0, ncol(A) - 1) * 7 %% 13 - 6) / 4\nu = (seq(0, nrow(A) - 1) * 5 %% 13 - 6) / 4\n\
    V = (seq(0, ncol(A) - 1) %*% matrix(\"3 5 7\", rows=1, cols=3) %% 13 - 6) / 4\n\
    U = (seq(0, nrow(A) - 1) %*% matrix(\"7 9 11\", rows=1, cols=3) %% 13 - 6) / 4\n";

/// How far results may be from those of `SciPy`, as a share of the largest: sums of some hundred thousand terms, whose
/// order differs.
const TOLERANCE: f64 = 1e-10;

const MODES: [Mode; 5] = [Mode::Base, Mode::Fused, Mode::Gen, Mode::GenFuseAll, Mode::GenFuseNoRedundancy];

#[test]
fn real_matrices_give_what_scipy_computes() {
    if !is_long() {
        return;
    }
    let folder = tempfile::tempdir().expect("there is room for a folder");
    run_python("real_matrices.py", folder.path());
    let entries = fs::read_dir(folder.path()).expect("the folder is readable");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("entries are readable").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "mtx"));
    files.sort();
    assert_eq!(files.len(), 9, "{files:?}");
    for file in files {
        let expected = fs::read_to_string(file.with_extension("json")).expect("the driver writes results");
        let expected: BTreeMap<String, Vec<f64>> = serde_json::from_str(&expected).expect("numbers by name");
        let matrix = read(&file);
        assert!(matrix.format().is_sparse() && matrix.nnz() > 0, "{}", file.display());
        for (name, script) in EXPRESSIONS {
            check(&format!("{name} of {}", file.display()), script, &matrix, &expected[*name]);
        }
    }
}

fn read(file: &Path) -> MatrixBlock {
    let session = Session::new(CompileOptions::default()).expect("a session");
    let script = format!("A = read(\"{}\")", file.display());
    let script = session.compile_script("read.dml", &script, &[]).unwrap_or_else(|error| panic!("{error}"));
    let outcome =
        session.run(&script, Variables::new(), &mut std::io::sink()).unwrap_or_else(|error| panic!("{error}"));
    outcome.matrix("A").expect("a matrix").clone()
}

/// Checks all modes against the expected cells, and all tiers of a mode against each other.
fn check(what: &str, script: &str, matrix: &MatrixBlock, expected: &[f64]) {
    let largest = expected.iter().fold(0.0_f64, |largest, cell| largest.max(cell.abs()));
    for mode in MODES {
        let mut first: Option<Vec<u64>> = None;
        for options in tiers(mode) {
            let cells = run(script, matrix, options.clone());
            assert_eq!(cells.len(), expected.len(), "{what}, {mode:?}");
            let error = cells.iter().zip(expected).map(|(cell, other)| (cell - other).abs()).fold(0.0, f64::max);
            assert!(error <= TOLERANCE * largest, "{what}, {mode:?}: {error} off, where cells reach {largest}");
            let bits: Vec<u64> = cells.into_iter().map(f64::to_bits).collect();
            let first = first.get_or_insert_with(|| bits.clone());
            assert!(
                *first == bits,
                "{what}, {mode:?}: other bits by {:?} {:?} {}",
                options.backend,
                options.cpu,
                options.threads
            );
        }
    }
}

/// Backends, instruction sets and numbers of threads.
fn tiers(mode: Mode) -> Vec<CompileOptions> {
    let of = |backend, cpu, threads| CompileOptions { mode, backend, cpu, threads, ..CompileOptions::default() };
    let compiled = BackendKind::for_measurement();
    vec![
        of(BackendKind::Interp, CpuFeatures::Native, 1),
        of(BackendKind::Interp, CpuFeatures::Portable, 3),
        of(compiled, CpuFeatures::Native, 1),
        of(compiled, CpuFeatures::Native, 4),
        of(compiled, CpuFeatures::Avx2, 3),
        of(compiled, CpuFeatures::Portable, 4),
    ]
}

fn run(script: &str, matrix: &MatrixBlock, options: CompileOptions) -> Vec<f64> {
    let session = Session::new(options).expect("a session of this machine");
    let interface =
        ScriptInterface { inputs: &[("A", DataType::MATRIX)], outputs: &["R"], ..ScriptInterface::default() };
    let text = format!("{OPERANDS}{script}");
    let mut script = session.prepare_script("real.dml", &text, &interface).unwrap_or_else(|error| panic!("{error}"));
    let outcome = script.bind("A", matrix.clone()).expect("A").execute(&mut std::io::sink());
    let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
    outcome.matrix("R").expect("a matrix").to_dense().values().to_vec()
}
