//! What evaluating expressions over little data costs beside the operators themselves.
//!
//! `./x bench overhead`: five operators over 100 x 100, as an expression that was compiled, bound anew and run, and as
//! one that is built anew and evaluated. The same over 2 x 2, where operators have next to nothing to do, is what all
//! else costs.

#[path = "support/host.rs"]
mod host;

use fuseline::ndarray::Array2;
use fuseline::{Error, Matrix, Scalar, Session};
use std::time::Instant;

const CALLS: usize = 20_000;
const WARM_UP: usize = 2_000;
/// What a call is to take at most, without operators.
const GOAL_MICROSECONDS: f64 = 10.0;

fn main() -> Result<(), Error> {
    println!("Microseconds of {CALLS} calls; {}.\n", host::description());
    println!("| | data | median | 99 of 100 | goal |\n|---|---|---|---|---|");
    for size in [100, 2] {
        let goal = if size == 2 { format!("{GOAL_MICROSECONDS}") } else { String::new() };
        for (name, mut seconds) in [("compiled, bound and run", compiled(size)?), ("evaluated anew", anew(size)?)] {
            seconds.sort_by(f64::total_cmp);
            let [median, most] = [50, 99].map(|percent| 1e6 * seconds[percent * (CALLS - 1) / 100]);
            println!("| {name} | {size} x {size} | {median:.1} | {most:.1} | {goal} |");
        }
    }
    Ok(())
}

fn five_operators(x: &Matrix, y: &Matrix, z: &Matrix, v: &Matrix) -> Scalar {
    (x * y - z).dot(v).sum() * 0.5
}

/// The arrays of the expression.
fn data(size: usize) -> [Matrix; 4] {
    let cells =
        |seed: usize, cols: usize| Array2::from_shape_fn((size, cols), |(i, j)| ((i * 31 + j * 17 + seed) % 13) as f64);
    [cells(1, size), cells(2, size), cells(3, size), cells(4, 1)].map(Matrix::from)
}

fn anew(size: usize) -> Result<Vec<f64>, Error> {
    let session = Session::builder().build()?;
    let [x, y, z, v] = data(size);
    timed(|| session.eval(five_operators(&x, &y, &z, &v)))
}

fn compiled(size: usize) -> Result<Vec<f64>, Error> {
    let session = Session::builder().build()?;
    let [x, y, z, v] = ["x", "y", "z", "v"].map(Matrix::symbol);
    let mut program = session.compile(five_operators(&x, &y, &z, &v))?;
    let [x, y, z, v] = data(size);
    let (x, y, z, v) = session.eval((x, y, z, v))?;
    timed(|| program.bind("x", x.clone())?.bind("y", y.clone())?.bind("z", z.clone())?.bind("v", v.clone())?.run())
}

/// Seconds of each call, after calls that are not counted, for which code is generated.
fn timed(mut call: impl FnMut() -> Result<f64, Error>) -> Result<Vec<f64>, Error> {
    for _ in 0..WARM_UP {
        call()?;
    }
    (0..CALLS)
        .map(|_| {
            let start = Instant::now();
            call()?;
            Ok(start.elapsed().as_secs_f64())
        })
        .collect()
}
