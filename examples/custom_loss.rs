//! A loss of one's own: robust regression by gradient descent, with loss and gradient from one pass over the data.
//!
//! The pseudo-Huber loss is `sum(d^2 * (sqrt(1 + (r / d)^2) - 1))` of the residuals `r = X w - y`; its gradient is
//! `t(X) (r / sqrt(1 + (r / d)^2))`. Both are one fused operator, which reads each row of X once.
//!
//! ```text
//! cargo run --release --example custom_loss
//! ```

use fuseline::ndarray::Array2;
use fuseline::{Error, Matrix, Scalar, Session};

const ROWS: usize = 20_000;
const COLUMNS: usize = 20;

/// The loss of weights and its gradient.
fn loss_and_gradient(x: &Matrix, y: &Matrix, w: &Matrix, delta: f64) -> (Scalar, Matrix) {
    let residual = x.dot(w) - y;
    let bend = ((&residual / delta).square() + 1.0).sqrt();
    ((&bend - 1.0).sum() * (delta * delta), x.t().dot(&residual / &bend))
}

/// Features, and responses of which one in ten is far off.
fn data() -> (Array2<f64>, Array2<f64>) {
    let x = Array2::from_shape_fn((ROWS, COLUMNS), |(i, j)| ((i * 37 + j * 101) % 199) as f64 / 100.0 - 1.0);
    let truth = |j: usize| (j as f64 - 10.0) / 5.0;
    let y = Array2::from_shape_fn((ROWS, 1), |(i, _)| {
        let score: f64 = (0..COLUMNS).map(|j| x[[i, j]] * truth(j)).sum();
        if i % 10 == 0 { score + 50.0 } else { score }
    });
    (x, y)
}

fn main() -> Result<(), Error> {
    let session = Session::builder().build()?;
    let (x, y) = data();
    let (x, y, w) = (Matrix::from(x), Matrix::from(y), Matrix::symbol("w"));
    let mut step = session.compile(loss_and_gradient(&x, &y, &w, 1.0))?;
    let mut weights = Array2::<f64>::zeros((COLUMNS, 1));
    for iteration in 0..=200 {
        let (loss, gradient) = step.bind("w", weights.clone())?.run()?;
        if iteration % 50 == 0 {
            println!("iteration {iteration}: loss {loss:.3}");
        }
        let gradient = gradient.to_dense();
        weights = weights - 1.0 / ROWS as f64 * gradient.view().to_owned();
    }
    println!("the last weight is {:.3}, the true one 1.8", weights[[COLUMNS - 1, 0]]);
    Ok(())
}
