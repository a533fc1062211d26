//! Trains the support vector machine of `examples/l2svm.dml` from Rust, and tells which fused operators ran.
//!
//! ```text
//! cargo run --release --example l2svm
//! ```

use fuseline::{CompileOptions, Session, Variables};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/l2svm.dml");
    let text = std::fs::read_to_string(path)?;
    let session = Session::new(CompileOptions::default())?;
    let script = session.compile_script(path, &text, &[("rows", "100000"), ("cols", "10"), ("maxiter", "5")])?;

    let outcome = session.run(&script, Variables::new(), &mut std::io::stdout())?;

    let weights = outcome.variables["w"].size().rows.ok_or("the model is a matrix")?;
    println!("the model has {weights} weights");
    for (operator, count) in &outcome.statistics.fused_operators {
        println!("fused operator {operator}: {count} runs");
    }
    Ok(())
}
