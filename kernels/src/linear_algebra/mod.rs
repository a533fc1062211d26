//! Solvers and decompositions of small and medium matrices, through `faer`, on dense copies and on one thread.
//!
//! Signs that a decomposition leaves open are fixed, so that results can be compared: see [`eigen`] and [`svd`].

mod decompose;
mod eigen;
mod householder;
mod root;

pub use decompose::{LuFactors, ThinSvd, lu, svd};
pub use eigen::{EigenPairs, eigen};
pub use householder::{QrFactors, qr};
pub use root::matrix_root;

use crate::KernelError;
use decompose::eliminate;
use faer::linalg::solvers::{DenseSolveCore, PartialPivLu, Solve, SolveLstsq};
use faer::{MatRef, Side};
use fuseline_matrix::{Dense, MatrixBlock};

/// The solution x (n x k) of `a %*% x = b` for a square `a` (n x n), by LU decomposition with partial pivoting; for an
/// `a` with more rows than columns (m x n), the least-squares solution, by QR decomposition.
///
/// # Errors
/// Numbers of rows that differ, fewer rows than columns, or an `a` whose columns are linearly dependent.
pub fn solve(a: &MatrixBlock, b: &MatrixBlock) -> Result<MatrixBlock, KernelError> {
    let (rows, cols) = a.dims();
    if rows != b.rows() {
        let rule = "the numbers of rows must be equal";
        return Err(KernelError::Shapes { operation: "solve".to_owned(), left: a.dims(), right: b.dims(), rule });
    }
    if rows < cols {
        let problem = format!("a {rows} x {cols} matrix has fewer rows than columns");
        return Err(argument("solve", problem));
    }
    if cols == 0 || b.cols() == 0 {
        return Ok(Dense::zeros(cols, b.cols()).into());
    }
    let (a, b) = (a.to_dense(), b.to_dense());
    let solution = if rows == cols {
        regular_lu("solve", &a)?.solve(view(&b))
    } else {
        let decomposed = view(&a).qr();
        let triangle = decomposed.thin_R();
        if (0..cols).any(|i| triangle[(i, i)] == 0.0) {
            return Err(argument("solve", "the columns of the matrix are linearly dependent".to_owned()));
        }
        decomposed.solve_lstsq(view(&b))
    };
    Ok(dense(solution.as_ref()))
}

/// The inverse of a square matrix, by LU decomposition with partial pivoting.
///
/// # Errors
/// The matrix is not square, or singular.
pub fn inverse(matrix: &MatrixBlock) -> Result<MatrixBlock, KernelError> {
    if square("inv", matrix)? == 0 {
        return Ok(matrix.clone());
    }
    Ok(dense(regular_lu("inv", &matrix.to_dense())?.inverse().as_ref()))
}

/// The determinant of a square matrix; 1 without rows.
///
/// # Errors
/// The matrix is not square.
pub fn determinant(matrix: &MatrixBlock) -> Result<f64, KernelError> {
    let rows = square("det", matrix)?;
    if rows == 0 {
        return Ok(1.0);
    }
    let matrix = matrix.to_dense();
    let determinant = view(&matrix).determinant();
    let is_finite = || matrix.values().iter().all(|cell| cell.is_finite());
    if determinant.is_nan() && is_finite() {
        // A pivot of zero, which faer divides by.
        let (_, factors) = eliminate(&matrix);
        if (0..rows).any(|i| factors[i * rows + i] == 0.0) {
            return Ok(0.0);
        }
    }
    Ok(determinant)
}

/// The lower triangular L with `matrix = L %*% t(L)`, of a symmetric positive definite matrix.
///
/// # Errors
/// The matrix is not square, not symmetric, or not positive definite.
pub fn cholesky(matrix: &MatrixBlock) -> Result<MatrixBlock, KernelError> {
    let rows = symmetric("cholesky", matrix)?;
    if rows == 0 {
        return Ok(matrix.clone());
    }
    let failed = |_| argument("cholesky", "the matrix is not positive definite".to_owned());
    let decomposed = view(&matrix.to_dense()).llt(Side::Lower).map_err(failed)?;
    let lower = decomposed.L();
    if (0..rows).any(|i| !lower[(i, i)].is_finite()) {
        return Err(argument("cholesky", "the matrix is not positive definite".to_owned()));
    }
    Ok(dense(lower))
}

fn argument(operation: &'static str, problem: String) -> KernelError {
    KernelError::Argument { operation, problem }
}

/// The number of rows of a square matrix.
fn square(operation: &'static str, matrix: &MatrixBlock) -> Result<usize, KernelError> {
    match matrix.dims() {
        (rows, cols) if rows == cols => Ok(rows),
        (rows, cols) => Err(argument(operation, format!("a {rows} x {cols} matrix is not square"))),
    }
}

/// Cells opposite each other may differ by this share of the matrix' largest magnitude: rounding of computed matrices.
const SYMMETRY: f64 = 1e-10;

/// The number of rows of a symmetric matrix.
fn symmetric(operation: &'static str, matrix: &MatrixBlock) -> Result<usize, KernelError> {
    let rows = square(operation, matrix)?;
    match asymmetry(&matrix.to_dense()) {
        None => Ok(rows),
        Some(Asymmetry { row, col, below, above }) => {
            let (row, col) = (row + 1, col + 1);
            let problem =
                format!("the matrix is not symmetric: cell ({row}, {col}) is {below}, cell ({col}, {row}) is {above}");
            Err(argument(operation, problem))
        }
    }
}

fn is_symmetric(square: &Dense) -> bool {
    asymmetry(square).is_none()
}

/// Cells opposite each other that differ.
struct Asymmetry {
    row: usize,
    col: usize,
    below: f64,
    above: f64,
}

/// The first two cells of a square matrix opposite each other that differ by more than rounding.
fn asymmetry(square: &Dense) -> Option<Asymmetry> {
    let tolerance = SYMMETRY * square.values().iter().fold(0.0_f64, |largest, cell| largest.max(cell.abs()));
    let places = (0..square.rows()).flat_map(|row| (0..row).map(move |col| (row, col)));
    let pairs =
        places.map(|(row, col)| Asymmetry { row, col, below: square.get(row, col), above: square.get(col, row) });
    pairs.into_iter().find(|pair| (pair.below - pair.above).abs() > tolerance)
}

/// The decomposition of a square matrix that has an inverse.
fn regular_lu(operation: &'static str, matrix: &Dense) -> Result<PartialPivLu<f64>, KernelError> {
    let decomposed = view(matrix).partial_piv_lu();
    let upper = decomposed.U();
    if (0..matrix.rows()).any(|i| upper[(i, i)] == 0.0) {
        return Err(argument(operation, "the matrix is singular".to_owned()));
    }
    Ok(decomposed)
}

fn view(matrix: &Dense) -> MatRef<'_, f64> {
    MatRef::from_row_major_slice(matrix.values(), matrix.rows(), matrix.cols())
}

fn dense(matrix: MatRef<'_, f64>) -> MatrixBlock {
    Dense::from_fn(matrix.nrows(), matrix.ncols(), |i, j| matrix[(i, j)]).into()
}
