//! Decompositions with several factors: singular values, LU.

use super::{argument, dense, square, view};
use crate::KernelError;
use crate::multiply_add::add_scaled;
use faer::MatRef;
use fuseline_matrix::{Dense, MatrixBlock};

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
        let empty = |rows| Dense::zeros(rows, 0).into();
        return Ok(ThinSvd { left: empty(rows), values: empty(0), right: empty(cols) });
    }
    check_finite("svd", matrix)?;
    let failed = |_| argument("svd", "the iteration does not converge".to_owned());
    let decomposed = view(&matrix.to_dense()).thin_svd().map_err(failed)?;
    let (left, values, right) = (decomposed.U(), decomposed.S(), decomposed.V());
    let signs = signs(left);
    Ok(ThinSvd {
        left: Dense::from_fn(rows, rank, |i, j| signs[j] * left[(i, j)]).into(),
        values: Dense::from_fn(rank, rank, |i, j| if i == j { values[i] } else { 0.0 }).into(),
        right: Dense::from_fn(cols, rank, |i, j| signs[j] * right[(i, j)]).into(),
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
    let matrix = matrix.to_dense();
    let decomposed = view(&matrix).partial_piv_lu();
    let permuted = |origin: &[usize]| Dense::from_fn(rows, rows, |i, j| f64::from(u8::from(origin[i] == j))).into();
    let upper = decomposed.U();
    if (0..rows).any(|i| upper[(i, i)] == 0.0 || !upper[(i, i)].is_finite()) {
        // A pivot of zero, which faer divides by.
        let (origin, factors) = eliminate(&matrix);
        let factor = |i: usize, j: usize| factors[i * rows + j];
        let lower = |i, j| if i > j { factor(i, j) } else { f64::from(u8::from(i == j)) };
        return Ok(LuFactors {
            permutation: permuted(&origin),
            lower: Dense::from_fn(rows, rows, lower).into(),
            upper: Dense::from_fn(rows, rows, |i, j| if i <= j { factor(i, j) } else { 0.0 }).into(),
        });
    }
    let (origin, _) = decomposed.P().arrays();
    Ok(LuFactors { permutation: permuted(origin), lower: dense(decomposed.L()), upper: dense(upper) })
}

/// Gaussian elimination with partial pivoting that passes over columns without a pivot: for each row of the result the
/// row that it was, and both factors in one square, row by row.
pub(super) fn eliminate(matrix: &Dense) -> (Vec<usize>, Vec<f64>) {
    let n = matrix.rows();
    let (mut origin, mut cells): (Vec<usize>, _) = ((0..n).collect(), matrix.values().to_vec());
    for k in 0..n {
        let larger = |best: usize, i: usize| if cells[i * n + k].abs() > cells[best * n + k].abs() { i } else { best };
        let pivot = (k + 1..n).fold(k, larger);
        if cells[pivot * n + k] == 0.0 {
            continue;
        }
        if pivot != k {
            origin.swap(k, pivot);
            (0..n).for_each(|j| cells.swap(k * n + j, pivot * n + j));
        }
        for i in k + 1..n {
            let factor = cells[i * n + k] / cells[k * n + k];
            cells[i * n + k] = factor;
            let (above, below) = cells.split_at_mut(i * n);
            add_scaled(&mut below[k + 1..n], -factor, &above[k * n + k + 1..(k + 1) * n]);
        }
    }
    (origin, cells)
}

pub(super) fn check_finite(operation: &'static str, matrix: &MatrixBlock) -> Result<(), KernelError> {
    let is_finite = matrix.to_dense().values().iter().all(|cell| cell.is_finite());
    if is_finite { Ok(()) } else { Err(argument(operation, "the matrix holds cells that are not finite".to_owned())) }
}

/// Per column the sign of its cell of largest magnitude, the first of equals.
pub(super) fn signs(vectors: MatRef<'_, f64>) -> Vec<f64> {
    let sign = |j: usize| {
        let larger = |best: f64, i: usize| {
            let cell = vectors[(i, j)];
            if cell.abs() > best.abs() { cell } else { best }
        };
        if (0..vectors.nrows()).fold(0.0, larger) < 0.0 { -1.0 } else { 1.0 }
    };
    (0..vectors.ncols()).map(sign).collect()
}
