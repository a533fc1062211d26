//! Inputs whose values are narrower than doubles: the same results, and no copy as doubles where operators widen what they
//! read.

use super::{X, interface};
use fuseline::ir::DataType;
use fuseline::{
    BackendKind, CompileOptions, Dense, Mode, NarrowDense, Outcome, RuntimeValue, ScriptInterface, Session,
};
use ndarray::Array2;
use std::sync::Arc;

const V: (&str, DataType) = ("v", DataType::MATRIX);

/// Runs a script on matrices `X` and `v`.
fn run(mode: Mode, text: &str, outputs: &[&str], x: impl Into<RuntimeValue>) -> Outcome {
    let options = CompileOptions { mode, backend: BackendKind::Interp, threads: 2, ..CompileOptions::default() };
    let session = Session::new(options).expect("a session");
    let interface: ScriptInterface<'_> = interface(&[X, V], outputs);
    let mut script = session.prepare_script("<text>", text, &interface).expect("a script");
    let v = Dense::from_fn(40, 1, |i, _| 1.0 / (i + 1) as f64);
    let bound = script.bind("X", x).and_then(|script| script.bind("v", v)).expect("matrices");
    bound.execute(&mut std::io::sink()).expect("a run")
}

fn cell(i: usize, j: usize) -> f32 {
    if (i * 40 + j).is_multiple_of(7) { 0.0 } else { (i * 31 + j * 17) as f32 / 1000.0 }
}

/// Products with columns in kernels, and everything that a skeleton lays out by tiles.
#[test]
fn what_is_read_by_tiles_stays_narrow() {
    let products = "for (i in 1:3) { v = t(X) %*% (X %*% v) / 1e9 }\nY = X";
    let fused = "v = colSums((X - 1.5) * X + X ^ 2)\nY = X";
    for (mode, text) in [(Mode::Base, products), (Mode::Gen, products), (Mode::GenFuseAll, fused)] {
        let array = Arc::new(Array2::from_shape_fn((3000, 40), |(i, j)| cell(i, j)));
        let narrow = NarrowDense::borrow_ndarray(Arc::clone(&array)).expect("an array row after row");
        let outcome = run(mode, text, &["v", "Y"], narrow);
        let wide = run(mode, text, &["v"], Dense::from_fn(3000, 40, |i, j| cell(i, j).into()));
        assert_eq!(outcome.matrix("v").unwrap(), wide.matrix("v").unwrap(), "{mode:?}: {text}");
        let read = outcome.matrix("Y").unwrap();
        assert!(read.narrow_dense().is_some() && read.is_borrowed(), "{mode:?}: {text}");
        drop((outcome, wide));
        assert_eq!(Arc::strong_count(&array), 1, "{mode:?}: {text}");
    }
}

#[test]
fn what_needs_doubles_gets_them_once() {
    let text = "Z = solve(t(X) %*% X + diag(matrix(1, rows=40, cols=1)), v)\nY = X\ns = sum(X)";
    let narrow = NarrowDense::from_vec(40, 40, (0..1600).map(|at| cell(at / 40, at % 40)).collect());
    let outcome = run(Mode::Base, text, &["Y", "Z", "s"], narrow);
    let wide = run(Mode::Base, text, &["Y", "Z", "s"], Dense::from_fn(40, 40, |i, j| cell(i, j).into()));
    for name in ["Y", "Z"] {
        assert_eq!(outcome.matrix(name).unwrap(), wide.matrix(name).unwrap());
    }
    assert_eq!(outcome.scalar("s").unwrap(), wide.scalar("s").unwrap());
    assert!(outcome.matrix("Y").unwrap().narrow_dense().is_none());
}
