//! k-means: distances, assignments, and the new centres from one program.
//!
//! ```text
//! cargo run --release --example kmeans
//! ```

use fuseline::ndarray::{Array2, s};
use fuseline::{Axis, Error, Matrix, Session};

const ROWS: usize = 30_000;
const CLUSTERS: usize = 4;

/// Points around four corners.
fn points() -> Array2<f64> {
    let corners = [[0.0, 0.0], [5.0, 0.0], [0.0, 5.0], [5.0, 5.0]];
    Array2::from_shape_fn((ROWS, 2), |(i, j)| {
        let noise = ((i * 7919 + j * 104_729) % 1000) as f64 / 500.0 - 1.0;
        corners[i % 4][j] + noise
    })
}

fn main() -> Result<(), Error> {
    let session = Session::builder().build()?;
    let points = points();
    let first = points.slice(s![..CLUSTERS, ..]).to_owned();
    let (x, centres) = (Matrix::from(points), Matrix::symbol("C"));
    // The square of each row is the same for all centres, and does not matter for which is nearest.
    let distances = -2.0 * x.dot(centres.t()) + centres.square().sum_over(Axis::Columns).t();
    let nearest = distances.min_over(Axis::Columns);
    let belongs = distances.le(&nearest);
    let belongs = &belongs / belongs.sum_over(Axis::Columns);
    let moved = belongs.t().dot(&x) / belongs.sum_over(Axis::Rows).t();
    let inertia = nearest.sum() + x.sum_squares();
    let mut step = session.compile((moved, inertia))?;

    let mut current = session.eval(Matrix::from(first))?;
    for iteration in 0..10 {
        let (centres, inertia) = step.bind("C", current)?.run()?;
        println!("iteration {iteration}: inertia {inertia:.1}");
        current = centres;
    }
    println!("centres: {:.2?}", current.to_dense().values());
    Ok(())
}
