//! The square root of a matrix.

use super::eigen::{EigenPairs, eigen};
use super::{argument, inverse, is_symmetric, square};
use crate::KernelError;
use crate::multiply_add::add_scaled;
use fuseline_matrix::{Dense, MatrixBlock};

/// Eigenvalues above this share of the largest one, below zero, count as zero: rounding of computed matrices.
const NEGATIVE: f64 = 1e-12;

/// The iteration for a matrix without enough eigenvectors squares its error in each step.
const MAX_STEPS: usize = 100;

/// The principal square root: the matrix whose square is the given one, with eigenvalues that are not negative. For a
/// symmetric matrix it is symmetric.
///
/// # Errors
/// The matrix is not square, holds what is not finite, or has no such root, as where an eigenvalue is negative.
pub fn matrix_root(matrix: &MatrixBlock) -> Result<MatrixBlock, KernelError> {
    if square("sqrtMatrix", matrix)? == 0 {
        return Ok(matrix.clone());
    }
    let cells = matrix.to_dense();
    if cells.values().iter().any(|cell| !cell.is_finite()) {
        return Err(argument("sqrtMatrix", "the matrix holds cells that are not finite".to_owned()));
    }
    if is_symmetric(&cells) {
        let EigenPairs { values, vectors } = eigen(matrix)?;
        let (roots, vectors) = (roots_of(&values)?, vectors.to_dense());
        let transposed = Dense::from_fn(vectors.cols(), vectors.rows(), |i, j| vectors.get(j, i));
        return Ok(product(&with_scaled_columns(&vectors, &roots), &transposed).into());
    }
    match through_vectors(matrix, &cells)? {
        Some(root) => Ok(root.into()),
        None => Ok(iterated(&cells)?.into()),
    }
}

fn roots_of(values: &MatrixBlock) -> Result<Vec<f64>, KernelError> {
    let values = values.to_dense();
    let largest = values.values().iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    let roots = values.values().iter().map(|&value| match value {
        value if value >= 0.0 => Ok(value.sqrt()),
        value if value >= -NEGATIVE * largest => Ok(0.0),
        value => Err(argument("sqrtMatrix", format!("the matrix has the eigenvalue {value}, and so no real root"))),
    });
    roots.collect()
}

/// The root through eigenvectors, where there are enough of them and they are real: its square tells.
fn through_vectors(matrix: &MatrixBlock, cells: &Dense) -> Result<Option<Dense>, KernelError> {
    let EigenPairs { values, vectors } = eigen(matrix)?;
    let (Ok(roots), Ok(back)) = (roots_of(&values), inverse(&vectors)) else { return Ok(None) };
    let root = product(&with_scaled_columns(&vectors.to_dense(), &roots), &back.to_dense());
    Ok(Some(root).filter(|root| is_root(root, cells)))
}

fn no_root() -> KernelError {
    argument("sqrtMatrix", "the matrix has no real root, or none that can be found".to_owned())
}

/// The iteration of Denman and Beavers: `Y = (Y + inv(Z)) / 2`, `Z = (Z + inv(Y)) / 2` from the matrix and the identity.
fn iterated(cells: &Dense) -> Result<Dense, KernelError> {
    let mut y = cells.clone();
    let mut z = Dense::from_fn(cells.rows(), cells.rows(), |i, j| f64::from(u8::from(i == j)));
    for _ in 0..MAX_STEPS {
        let [y_inverse, z_inverse] = [&y, &z].map(|matrix| inverse(&matrix.clone().into()).map_err(|_| no_root()));
        let (y_inverse, z_inverse) = (y_inverse?, z_inverse?);
        let next = halfway(&y, &z_inverse.to_dense());
        z = halfway(&z, &y_inverse.to_dense());
        let change = largest_difference(&next, &y);
        y = next;
        if change <= 4.0 * f64::EPSILON * largest(&y) {
            break;
        }
    }
    if is_root(&y, cells) { Ok(y) } else { Err(no_root()) }
}

/// Whether the square of a matrix is the other one, up to rounding.
fn is_root(root: &Dense, cells: &Dense) -> bool {
    largest_difference(&product(root, root), cells) <= 1e-10 * largest(cells)
}

fn with_scaled_columns(matrix: &Dense, scales: &[f64]) -> Dense {
    Dense::from_fn(matrix.rows(), matrix.cols(), |i, j| matrix.get(i, j) * scales[j])
}

fn product(left: &Dense, right: &Dense) -> Dense {
    let mut result = Dense::zeros(left.rows(), right.cols());
    let width = right.cols();
    for (i, out) in result.values_mut().chunks_exact_mut(width).enumerate() {
        left.row(i).iter().enumerate().for_each(|(k, &factor)| add_scaled(out, factor, right.row(k)));
    }
    result
}

fn halfway(x: &Dense, y: &Dense) -> Dense {
    Dense::from_fn(x.rows(), x.cols(), |i, j| 0.5 * (x.get(i, j) + y.get(i, j)))
}

fn largest(matrix: &Dense) -> f64 {
    matrix.values().iter().fold(0.0, |largest, cell| largest.max(cell.abs()))
}

fn largest_difference(x: &Dense, y: &Dense) -> f64 {
    x.values().iter().zip(y.values()).fold(0.0, |largest, (x, y)| largest.max((x - y).abs()))
}
