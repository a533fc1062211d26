//! Multinomial logistic regression: probabilities and gradient from one pass over the data.
//!
//! ```text
//! cargo run --release --example multinomial_regression
//! ```

use fuseline::ndarray::Array2;
use fuseline::{Axis, Error, Matrix, Session};

const ROWS: usize = 20_000;
const COLUMNS: usize = 10;
const CLASSES: usize = 3;

/// Features, and for each row a 1 at its class.
fn data() -> (Array2<f64>, Array2<f64>) {
    let x = Array2::from_shape_fn((ROWS, COLUMNS), |(i, j)| ((i * 31 + j * j * 17) % 97) as f64 / 48.0 - 1.0);
    let class = |i: usize| {
        let score = |k: usize| -> f64 { (0..COLUMNS).map(|j| x[[i, j]] * ((j + 3 * k) % 5) as f64).sum() };
        (0..CLASSES).max_by(|&one, &other| score(one).total_cmp(&score(other))).unwrap_or(0)
    };
    let y = Array2::from_shape_fn((ROWS, CLASSES), |(i, k)| f64::from(class(i) == k));
    (x, y)
}

fn main() -> Result<(), Error> {
    let session = Session::builder().build()?;
    let (x, y) = data();
    let (x, y, w) = (Matrix::from(x), Matrix::from(y), Matrix::symbol("W"));
    let scores = x.dot(&w);
    let shifted = &scores - scores.max_over(Axis::Columns);
    let exponentials = shifted.exp();
    let totals = exponentials.sum_over(Axis::Columns);
    let probabilities = &exponentials / &totals;
    let loss = (totals.ln().sum() - (&y * &shifted).sum()) / x.rows();
    let updated = &w - x.t().dot(&probabilities - &y) * 2.0 / x.rows();
    let right = scores.ge(scores.max_over(Axis::Columns)) * &y;
    let mut step = session.compile((updated, loss, right.sum() / x.rows()))?;

    let mut weights = session.eval(Matrix::full(COLUMNS, CLASSES, 0.0))?;
    for iteration in 0..=200 {
        let (updated, loss, accuracy) = step.bind("W", weights)?.run()?;
        if iteration % 50 == 0 {
            println!("iteration {iteration}: loss {loss:.4}, accuracy {accuracy:.3}");
        }
        weights = updated;
    }
    Ok(())
}
