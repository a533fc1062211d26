//! Factorisation of a sparse matrix of ratings by alternating gradient steps: `X` is compared with `U V'` at its non-zeros
//! alone, and `U V'` is never formed.
//!
//! ```text
//! cargo run --release --example factorisation
//! ```

use fuseline::ndarray::Array2;
use fuseline::{Csr, Error, Matrix, Session};

const USERS: usize = 2_000;
const ITEMS: usize = 1_500;
const RANK: usize = 5;

/// Ratings of hidden rank 2, 1 % of all.
fn ratings() -> Csr {
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for user in 0..USERS {
        for item in (user % 100..ITEMS).step_by(100) {
            columns.push(item as u32);
            values.push(1.0 + (user % 7) as f64 * 0.3 + (item % 5) as f64 * 0.4);
        }
        offsets.push(columns.len());
    }
    Csr::from_parts(USERS, ITEMS, offsets, columns, values)
}

fn main() -> Result<(), Error> {
    let session = Session::builder().build()?;
    let x = Matrix::from(ratings());
    let (u, v) = (Matrix::symbol("U"), Matrix::symbol("V"));
    // Ridge regression of each factor on the other, by one step of steepest descent with the exact step length.
    let known = x.ne(0.0);
    let residual = &known * u.dot(v.t()) - &x;
    let gradient = residual.dot(&v) + 0.1 * &u;
    let along = (&known * gradient.dot(v.t())).square().sum() + 0.1 * gradient.square().sum();
    let updated = &u - &gradient * (gradient.square().sum() / along);
    let error = residual.square().sum() / x.nonzeros();
    let mut users = session.compile((updated, error))?;

    let turned = x.t();
    let known = turned.ne(0.0);
    let residual = &known * v.dot(u.t()) - &turned;
    let gradient = residual.dot(&u) + 0.1 * &v;
    let along = (&known * gradient.dot(u.t())).square().sum() + 0.1 * gradient.square().sum();
    let mut items = session.compile(&v - &gradient * (gradient.square().sum() / along))?;

    let start = |rows: usize| Array2::from_shape_fn((rows, RANK), |(i, j)| 0.3 + ((i * 13 + j * 7) % 10) as f64 / 20.0);
    let mut factors = (Matrix::from(start(USERS)), Matrix::from(start(ITEMS)));
    for iteration in 0..60 {
        let (u, v) = (session.eval(&factors.0)?, session.eval(&factors.1)?);
        let (u, error) = users.bind("U", u)?.bind("V", v.clone())?.run()?;
        let v = items.bind("U", u.clone())?.bind("V", v)?.run()?;
        factors = (u.into(), v.into());
        if iteration % 20 == 0 || iteration == 59 {
            println!("iteration {iteration}: mean squared error {error:.5}");
        }
    }
    Ok(())
}
