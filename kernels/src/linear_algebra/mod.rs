//! Solvers and decompositions of small and medium matrices, on dense copies and on one thread.
//!
//! Eliminations are ours, with the products of this crate; eigenvalues, singular values and least squares go through
//! `faer` with registers of one width (`lanes`), so that no result depends on the machine.
//! Signs that a decomposition leaves open are fixed, so that results can be compared: see [`eigen`] and [`svd`].

mod apart;
mod cholesky;
mod decompose;
mod eigen;
mod householder;
mod lanes;
mod lu;
mod root;

pub use cholesky::cholesky;
pub use decompose::{LuFactors, ThinSvd, lu, svd};
pub use eigen::{EigenPairs, eigen};
pub use householder::{QrFactors, qr};
pub use root::matrix_root;

use crate::KernelError;
use faer::linalg::solvers::SolveLstsq;
use faer::{Mat, MatRef};
use fuseline_matrix::{Dense, MatrixBlock};
use lanes::Lane;
use lu::Elimination;

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
    if rows == cols {
        return Ok(regular("solve", &a)?.solve(&b).into());
    }
    let right = lanes_of(&b);
    let (solution, _scratch) = apart::decomposed("solve", &a, b.cols(), LEAST_SQUARES_COPIES, move |matrix| {
        let factors = matrix.qr();
        let triangle = factors.thin_R();
        (0..cols).all(|i| triangle[(i, i)].0 != 0.0).then(|| factors.solve_lstsq(right))
    })?;
    match solution {
        Some(solution) => Ok(dense(solution.as_ref()).into()),
        None => Err(argument("solve", "the columns of the matrix are linearly dependent".to_owned())),
    }
}

/// The inverse of a square matrix, by LU decomposition with partial pivoting.
///
/// # Errors
/// The matrix is not square, or singular.
pub fn inverse(matrix: &MatrixBlock) -> Result<MatrixBlock, KernelError> {
    let rows = square("inv", matrix)?;
    if rows == 0 {
        return Ok(matrix.clone());
    }
    let identity = Dense::from_fn(rows, rows, |i, j| f64::from(u8::from(i == j)));
    Ok(regular("inv", &matrix.to_dense())?.solve(&identity).into())
}

/// The determinant of a square matrix; 1 without rows.
///
/// # Errors
/// The matrix is not square.
pub fn determinant(matrix: &MatrixBlock) -> Result<f64, KernelError> {
    square("det", matrix)?;
    let matrix = matrix.to_dense();
    let eliminated = Elimination::of(&matrix);
    // Beside a pivot of zero others may have overflowed.
    if eliminated.is_singular() && matrix.values().iter().all(|cell| cell.is_finite()) {
        return Ok(0.0);
    }
    Ok(eliminated.determinant())
}

/// Copies of a matrix that the library makes for least squares.
const LEAST_SQUARES_COPIES: u64 = 3;

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

/// The elimination of a square matrix that has an inverse.
fn regular(operation: &'static str, matrix: &Dense) -> Result<Elimination, KernelError> {
    let eliminated = Elimination::of(matrix);
    if eliminated.is_singular() {
        return Err(argument(operation, "the matrix is singular".to_owned()));
    }
    Ok(eliminated)
}

/// A copy for `faer`.
fn lanes_of(matrix: &Dense) -> Mat<Lane> {
    Mat::from_fn(matrix.rows(), matrix.cols(), |i, j| Lane::new(matrix.get(i, j)))
}

fn dense(matrix: MatRef<'_, Lane>) -> Dense {
    Dense::from_fn(matrix.nrows(), matrix.ncols(), |i, j| matrix[(i, j)].0)
}
