//! A script that is prepared once and runs many times on matrices in memory: trains a ridge regression, then predicts
//! for batches of new rows. Only the first batch compiles anything.
//!
//! ```text
//! cargo run --release --example prepared
//! ```

use fuseline::{CompileOptions, DataType, Dense, ScriptInterface, Session};
use std::error::Error;

const TRAIN: &str = "
# Conjugate gradients on the normal equations.
w = matrix(0, rows=ncol(X), cols=1)
r = t(X) %*% y
p = r
rr = sum(r * r)
for (i in 1:ncol(X)) {
    q = t(X) %*% (X %*% p) + lambda * p
    step = rr / sum(p * q)
    w = w + step * p
    r = r - step * q
    before = rr
    rr = sum(r * r)
    p = r + rr / before * p
}
";

const PREDICT: &str = "
predicted = X %*% w
error = sqrt(mean((predicted - y) ^ 2))
";

/// Rows of five features, and what the model has to find in them.
fn batch(rows: usize, first: usize) -> (Dense, Dense) {
    let feature = |i: usize, j: usize| (((first + i) * (j + 3) * 7919) % 1000) as f64 / 1000.0;
    let x = Dense::from_fn(rows, 5, feature);
    let y = Dense::from_fn(rows, 1, |i, _| (0..5).map(|j| feature(i, j) * (j as f64 - 2.0)).sum());
    (x, y)
}

fn main() -> Result<(), Box<dyn Error>> {
    let session = Session::new(CompileOptions::default())?;
    let data = [("X", DataType::MATRIX), ("y", DataType::MATRIX)];

    let inputs = [data[0], data[1], ("lambda", DataType::F64)];
    let interface = ScriptInterface { inputs: &inputs, outputs: &["w"], ..ScriptInterface::default() };
    let mut train = session.prepare_script("train", TRAIN, &interface)?;
    let (x, y) = batch(10_000, 0);
    train.bind("X", x)?.bind("y", y)?.bind("lambda", 1e-6)?;
    let model = train.execute(&mut std::io::stdout())?.matrix("w")?.clone();

    let inputs = [data[0], data[1], ("w", DataType::MATRIX)];
    let interface = ScriptInterface { inputs: &inputs, outputs: &["predicted", "error"], ..ScriptInterface::default() };
    let mut predict = session.prepare_script("predict", PREDICT, &interface)?;
    predict.bind("w", model)?;
    for first in [10_000, 20_000, 30_000] {
        let (x, y) = batch(1_000, first);
        let outcome = predict.bind("X", x)?.bind("y", y)?.execute(&mut std::io::stdout())?;
        println!(
            "rows {first}..{}: root mean square error {:.1e}, {} DAGs compiled",
            first + outcome.matrix("predicted")?.rows(),
            outcome.scalar("error")?,
            outcome.statistics.dags_optimized,
        );
    }
    Ok(())
}
