//! Eigenvalues and eigenvectors, of symmetric matrices and of any others.

use super::apart::decomposed;
use super::decompose::{COPIES, check_finite, signs};
use super::{argument, is_symmetric, square};
use crate::KernelError;
use faer::{Side, c64};
use fuseline_matrix::{Dense, MatrixBlock};

/// The eigendecomposition of a square matrix.
#[derive(Clone, Debug)]
pub struct EigenPairs {
    /// The real parts of the eigenvalues, ascending: n x 1.
    pub values: MatrixBlock,
    /// The eigenvectors, one per column: n x n.
    pub vectors: MatrixBlock,
}

/// The eigenvalues and eigenvectors of a square matrix.
///
/// A symmetric matrix has real eigenvalues and orthogonal vectors: `vectors %*% diag(values) %*% t(vectors)`. Of the
/// two signs of a vector it takes the one that makes the cell of largest magnitude positive (the first of equals).
///
/// Other matrices may have pairs of complex eigenvalues `a + b i` and `a - b i`. Both values are then `a`, and the
/// columns of the two are the real and the imaginary part, in this order, of the vector of `a + b i` with b > 0, scaled
/// so that its cell of largest magnitude is real and positive. Every vector has length 1.
///
/// # Errors
/// The matrix is not square, or holds what is not finite.
pub fn eigen(matrix: &MatrixBlock) -> Result<EigenPairs, KernelError> {
    let rows = square("eigen", matrix)?;
    if rows == 0 {
        return Ok(EigenPairs { values: Dense::zeros(0, 1).into(), vectors: Dense::zeros(0, 0).into() });
    }
    check_finite("eigen", matrix)?;
    let cells = matrix.to_dense();
    if is_symmetric(&cells) { symmetric_eigen(&cells) } else { general_eigen(&cells) }
}

fn failed<E>(_: E) -> KernelError {
    argument("eigen", "the iteration does not converge".to_owned())
}

fn symmetric_eigen(cells: &Dense) -> Result<EigenPairs, KernelError> {
    let rows = cells.rows();
    let (pairs, _scratch) = decomposed("eigen", cells, 0, COPIES, |matrix| matrix.self_adjoint_eigen(Side::Lower))?;
    let pairs = pairs.map_err(failed)?;
    let (vectors, values) = (pairs.U(), pairs.S());
    let signs = signs(vectors);
    Ok(EigenPairs {
        values: Dense::from_fn(rows, 1, |i, _| values[i].0).into(),
        vectors: Dense::from_fn(rows, rows, |i, j| signs[j] * vectors[(i, j)].0).into(),
    })
}

fn general_eigen(cells: &Dense) -> Result<EigenPairs, KernelError> {
    let rows = cells.rows();
    let (pairs, _scratch) = decomposed("eigen", cells, 0, COPIES, |matrix| matrix.eigen())?;
    let pairs = pairs.map_err(failed)?;
    let (all_vectors, values) = (pairs.U(), pairs.S());
    let all_values: Vec<c64> = (0..rows).map(|j| c64::new(values[j].re.0, values[j].im.0)).collect();
    // Of a pair the one with the positive imaginary part stands for both.
    let mut order: Vec<usize> = (0..rows).filter(|&j| all_values[j].im >= 0.0).collect();
    order.sort_by(|&i, &j| {
        let (left, right) = (all_values[i], all_values[j]);
        left.re.total_cmp(&right.re).then(left.im.total_cmp(&right.im))
    });
    let (mut values, mut columns) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    for j in order {
        let value = all_values[j];
        let vector =
            normalised((0..rows).map(|i| c64::new(all_vectors[(i, j)].re.0, all_vectors[(i, j)].im.0)).collect());
        values.push(value.re);
        columns.push(vector.iter().map(|cell| cell.re).collect::<Vec<f64>>());
        if value.im > 0.0 {
            values.push(value.re);
            columns.push(vector.iter().map(|cell| cell.im).collect());
        }
    }
    if values.len() != rows {
        return Err(failed(()));
    }
    Ok(EigenPairs {
        values: Dense::from_vec(rows, 1, values).into(),
        vectors: Dense::from_fn(rows, rows, |i, j| columns[j][i]).into(),
    })
}

/// The vector with length 1, whose cell of largest magnitude (the first of equals) is real and positive.
fn normalised(vector: Vec<c64>) -> Vec<c64> {
    let largest = vector.iter().fold(
        c64::new(0.0, 0.0),
        |best, &cell| {
            if cell.norm_sqr() > best.norm_sqr() { cell } else { best }
        },
    );
    let length = vector.iter().map(c64::norm_sqr).sum::<f64>().sqrt();
    let scale = c64::new(largest.re, -largest.im) / (largest.norm_sqr().sqrt() * length);
    vector.into_iter().map(|cell| cell * scale).collect()
}
