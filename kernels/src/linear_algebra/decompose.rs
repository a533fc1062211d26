//! Decompositions with several factors: singular values, LU.

use super::apart::decomposed;
use super::lanes::Lane;
use super::lu::Elimination;
use super::{argument, square};
use crate::KernelError;
use faer::MatRef;
use fuseline_matrix::{Dense, MatrixBlock};

/// Copies of a matrix that the library makes for its singular values or eigenvalues, beside the results.
pub(super) const COPIES: u64 = 5;

/// The thin singular value decomposition `left %*% values %*% t(right)` of an m x n matrix, with k = min(m, n).
#[derive(Clone, Debug)]
pub struct ThinSvd {
    /// The left singular vectors: m x k.
    pub left: MatrixBlock,
    /// The singular values, descending, as a diagonal matrix: k x k.
    pub values: MatrixBlock,
    /// The right singular vectors: n x k.
    pub right: MatrixBlock,
}

/// The singular values and vectors of a matrix. Of the two signs of a pair of vectors it takes the one that makes the
/// left vector's cell of largest magnitude positive (the first of equals).
///
/// # Errors
/// The matrix holds what is not finite.
pub fn svd(matrix: &MatrixBlock) -> Result<ThinSvd, KernelError> {
    let (rows, cols) = matrix.dims();
    let rank = rows.min(cols);
    if rank == 0 {
        let [left, values, right] = [rows, 0, cols].map(|rows| Dense::zeros(rows, 0).into());
        return Ok(ThinSvd { left, values, right });
    }
    check_finite("svd", matrix)?;
    let failed = |_| argument("svd", "the iteration does not converge".to_owned());
    let (factors, _scratch) = decomposed("svd", &matrix.to_dense(), 0, COPIES, |matrix| matrix.thin_svd())?;
    let factors = factors.map_err(failed)?;
    let (left, values, right) = (factors.U(), factors.S(), factors.V());
    let signs = signs(left);
    Ok(ThinSvd {
        left: Dense::from_fn(rows, rank, |i, j| signs[j] * left[(i, j)].0).into(),
        values: Dense::from_fn(rank, rank, |i, j| if i == j { values[i].0 } else { 0.0 }).into(),
        right: Dense::from_fn(cols, rank, |i, j| signs[j] * right[(i, j)].0).into(),
    })
}

/// The decomposition `permutation %*% matrix = lower %*% upper` of a square matrix.
#[derive(Clone, Debug)]
pub struct LuFactors {
    /// The permutation matrix: n x n.
    pub permutation: MatrixBlock,
    /// Lower triangular, with ones on the diagonal: n x n.
    pub lower: MatrixBlock,
    /// Upper triangular: n x n.
    pub upper: MatrixBlock,
}

/// The LU decomposition of a square matrix, with partial pivoting.
///
/// # Errors
/// The matrix is not square.
pub fn lu(matrix: &MatrixBlock) -> Result<LuFactors, KernelError> {
    let rows = square("lu", matrix)?;
    if rows == 0 {
        return Ok(LuFactors { permutation: matrix.clone(), lower: matrix.clone(), upper: matrix.clone() });
    }
    let Elimination { origin, factors, .. } = Elimination::of(&matrix.to_dense());
    Ok(LuFactors {
        permutation: Dense::from_fn(rows, rows, |i, j| indicator(origin[i] == j)).into(),
        lower: Dense::from_fn(rows, rows, |i, j| if i > j { factors.get(i, j) } else { indicator(i == j) }).into(),
        upper: Dense::from_fn(rows, rows, |i, j| if i <= j { factors.get(i, j) } else { 0.0 }).into(),
    })
}

fn indicator(is_one: bool) -> f64 {
    f64::from(u8::from(is_one))
}

pub(super) fn check_finite(operation: &'static str, matrix: &MatrixBlock) -> Result<(), KernelError> {
    let is_finite = matrix.to_dense().values().iter().all(|cell| cell.is_finite());
    if is_finite { Ok(()) } else { Err(argument(operation, "the matrix holds cells that are not finite".to_owned())) }
}

/// Per column the sign of its cell of largest magnitude, the first of equals.
pub(super) fn signs(vectors: MatRef<'_, Lane>) -> Vec<f64> {
    (0..vectors.ncols()).map(|j| sign((0..vectors.nrows()).map(|i| vectors[(i, j)].0))).collect()
}

/// The sign of the cell of largest magnitude, the first of equals.
fn sign(cells: impl Iterator<Item = f64>) -> f64 {
    let largest = cells.fold(0.0_f64, |best, cell| if cell.abs() > best.abs() { cell } else { best });
    if largest < 0.0 { -1.0 } else { 1.0 }
}
