//! The same fusion for expressions built in Rust: `t(X) %*% (X %*% v)` reads X once, and three sums read X and Y once.
//!
//! ```text
//! cargo run --release --example expression
//! ```

use fuseline::ndarray::Array2;
use fuseline::{Matrix, Session};

fn main() -> Result<(), fuseline::Error> {
    let session = Session::builder().build()?;
    let x = Matrix::from(Array2::from_shape_fn((100_000, 50), |(i, j)| ((i * 7 + j * 13) % 10) as f64 / 10.0));
    let y = Matrix::from(Array2::from_shape_fn((100_000, 50), |(i, j)| ((i + j) % 5) as f64));
    let v = Matrix::from(Array2::from_shape_fn((50, 1), |(i, _)| i as f64 / 50.0));

    let gradient = x.t().dot(x.dot(&v));
    let (gradient, xx, xy, yy) = session.eval((gradient, (&x * &x).sum(), (&x * &y).sum(), (&y * &y).sum()))?;
    println!("gradient: {}", gradient.size());
    println!("sum(X * X) = {xx}\nsum(X * Y) = {xy}\nsum(Y * Y) = {yy}");
    Ok(())
}
