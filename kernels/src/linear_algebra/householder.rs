//! The QR decomposition in the form that DML returns: the vectors of the Householder reflections, not their product.

use crate::multiply_add::add_scaled;
use fuseline_ir::ops::math;
use fuseline_matrix::{Dense, MatrixBlock, StopListener};

/// The QR decomposition of an m x n matrix, with k = min(m, n): the product of the reflections
/// `Q_j = I - h_j %*% t(h_j) / h_jj`, where `h_j` is column j of `reflectors`, is the orthogonal Q (m x m) with
/// `matrix = Q_1 %*% ... %*% Q_k %*% triangle`.
#[derive(Clone, Debug)]
pub struct QrFactors {
    /// The vectors of the reflections, zero above the diagonal: m x n.
    pub reflectors: MatrixBlock,
    /// Zero below the diagonal: m x n.
    pub triangle: MatrixBlock,
}

/// The QR decomposition by Householder reflections. A column that is zero from the diagonal on has no reflection: its
/// vector is zero.
pub fn qr(matrix: &MatrixBlock) -> QrFactors {
    let mut triangle = matrix.to_dense().into_owned();
    let (rows, cols) = matrix.dims();
    let mut reflectors = Dense::zeros(rows, cols);
    let stop = StopListener::current();
    for j in 0..rows.min(cols) {
        stop.check();
        let length = length((j..rows).map(|i| triangle.get(i, j)));
        if length == 0.0 {
            continue;
        }
        // The sign that keeps the subtraction below from cancelling.
        let corner = if triangle.get(j, j) > 0.0 { -length } else { length };
        let vector: Vec<f64> =
            (j..rows).map(|i| (triangle.get(i, j) - if i == j { corner } else { 0.0 }) / -corner).collect();
        reflect(&mut triangle, j, &vector);
        for (i, &cell) in (j..rows).zip(&vector) {
            reflectors.values_mut()[i * cols + j] = cell;
            triangle.values_mut()[i * cols + j] = if i == j { corner } else { 0.0 };
        }
    }
    QrFactors { reflectors: reflectors.into(), triangle: triangle.into() }
}

/// The length of a vector, without overflow on the way to it.
fn length(vector: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = vector.clone().fold(0.0, |largest, cell| math::max(largest, cell.abs()));
    if largest == 0.0 || largest.is_infinite() {
        return largest;
    }
    largest * vector.fold(0.0_f64, |sum, cell| (cell / largest).mul_add(cell / largest, sum)).sqrt()
}

/// Applies the reflection of a vector, which starts at row `j`, to the columns after `j`.
fn reflect(matrix: &mut Dense, j: usize, vector: &[f64]) {
    let cols = matrix.cols();
    let mut products = vec![0.0; cols - j - 1];
    for (r, &cell) in vector.iter().enumerate() {
        let row = &matrix.row(j + r)[j + 1..];
        add_scaled(&mut products, cell, row);
    }
    products.iter_mut().for_each(|product| *product /= vector[0]);
    for (r, &cell) in vector.iter().enumerate() {
        let start = (j + r) * cols;
        let row = &mut matrix.values_mut()[start + j + 1..start + cols];
        add_scaled(row, -cell, &products);
    }
}
