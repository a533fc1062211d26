//! The same fusion for expressions built in Rust: `t(X) %*% (X %*% v)` reads X once, and three sums read X and Y once.
//!
//! ```text
//! cargo run --release --example expression
//! ```

use fuseline::{Builder, CompileOptions, Dense, Session};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let session = Session::new(CompileOptions::default())?;
    let builder = Builder::new();
    let x = builder.matrix(Dense::from_fn(100_000, 50, |i, j| ((i * 7 + j * 13) % 10) as f64 / 10.0));
    let y = builder.matrix(Dense::from_fn(100_000, 50, |i, j| ((i + j) % 5) as f64));
    let v = builder.matrix(Dense::from_fn(50, 1, |i, _| i as f64 / 50.0));

    let gradient = x.transpose()?.matmul(&x.matmul(&v)?)?;
    let sums = [x.multiply(&x)?.sum()?, x.multiply(&y)?.sum()?, y.multiply(&y)?.sum()?];

    let values = session.evaluate(&[&gradient, &sums[0], &sums[1], &sums[2]])?;
    println!("gradient: {}", values[0].size());
    for (name, value) in ["sum(X * X)", "sum(X * Y)", "sum(Y * Y)"].iter().zip(&values[1..]) {
        println!("{name} = {}", value.as_f64().ok_or("a sum is a number")?);
    }
    Ok(())
}
