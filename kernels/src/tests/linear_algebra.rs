//! Solvers and decompositions, checked by what defines them: residuals, orthogonality, triangles, known values.

use super::*;
use crate::{cholesky, determinant, eigen, inverse, lu, matrix_root, qr, solve, svd};
use fuseline_matrix::Dense;

/// Numbers between -1 and 1 without a pattern.
fn noise(rows: usize, cols: usize, seed: usize) -> Dense {
    Dense::from_fn(rows, cols, |i, j| hash(i, j, seed) as f64 / 32_768.0 - 1.0)
}

fn product(left: &Dense, right: &Dense) -> Dense {
    assert_eq!(left.cols(), right.rows());
    Dense::from_fn(left.rows(), right.cols(), |i, j| (0..left.cols()).map(|k| left.get(i, k) * right.get(k, j)).sum())
}

fn transposed(matrix: &Dense) -> Dense {
    Dense::from_fn(matrix.cols(), matrix.rows(), |i, j| matrix.get(j, i))
}

fn identity(rows: usize) -> Dense {
    Dense::from_fn(rows, rows, |i, j| f64::from(u8::from(i == j)))
}

fn owned(block: &MatrixBlock) -> Dense {
    block.to_dense().into_owned()
}

/// Equal up to rounding of about as many operations as there are rows.
fn assert_close(actual: &Dense, expected: &Dense, scale: f64) {
    assert_eq!((actual.rows(), actual.cols()), (expected.rows(), expected.cols()));
    let tolerance = 1e-13 * scale * (actual.rows().max(actual.cols()) as f64 + 1.0);
    for (at, (actual, expected)) in actual.values().iter().zip(expected.values()).enumerate() {
        assert!((actual - expected).abs() <= tolerance, "cell {at}: {actual} is not {expected} within {tolerance}");
    }
}

/// A well-conditioned symmetric matrix with positive and negative eigenvalues.
fn symmetric(rows: usize, seed: usize) -> Dense {
    let half = noise(rows, rows, seed);
    Dense::from_fn(rows, rows, |i, j| half.get(i, j) + half.get(j, i))
}

fn positive_definite(rows: usize, seed: usize) -> Dense {
    let factor = noise(rows, rows, seed);
    let gram = product(&factor, &transposed(&factor));
    Dense::from_fn(rows, rows, |i, j| gram.get(i, j) + f64::from(u8::from(i == j)))
}

#[test]
fn square_systems_are_solved() {
    for (rows, cols) in [(1, 1), (2, 1), (7, 3), (40, 5), (130, 1)] {
        let a = Dense::from_fn(rows, rows, |i, j| noise(rows, rows, 1).get(i, j) + if i == j { 8.0 } else { 0.0 });
        let b = noise(rows, cols, 2);
        for format in all_formats(&a.clone().into()) {
            let x = owned(&solve(&format, &b.clone().into()).unwrap());
            assert_close(&product(&a, &x), &b, 10.0);
            let inverted = owned(&inverse(&format).unwrap());
            assert_close(&product(&inverted, &a), &identity(rows), 10.0);
        }
    }
}

#[test]
fn the_residual_of_least_squares_is_orthogonal_to_the_columns() {
    for (rows, cols) in [(2, 1), (9, 4), (200, 17)] {
        let (a, b) = (noise(rows, cols, 3), noise(rows, 2, 4));
        let x = owned(&solve(&a.clone().into(), &b.clone().into()).unwrap());
        let predicted = product(&a, &x);
        let residual = Dense::from_fn(rows, 2, |i, j| b.get(i, j) - predicted.get(i, j));
        assert_close(&product(&transposed(&a), &residual), &Dense::zeros(cols, 2), rows as f64);
    }
}

#[test]
fn systems_without_a_unique_solution_are_refused() {
    let message = |a: &MatrixBlock, b: &MatrixBlock| solve(a, b).unwrap_err().to_string();
    let ones = dense(2, 1, &[1.0, 1.0]);
    assert_eq!(message(&dense(2, 2, &[1.0, 2.0, 2.0, 4.0]), &ones), "solve: the matrix is singular");
    let dependent = dense(3, 2, &[0.0, 2.0, 0.0, 4.0, 0.0, 1.0]);
    assert_eq!(message(&dependent, &dense(3, 1, &[1.0; 3])), "solve: the columns of the matrix are linearly dependent");
    assert_eq!(message(&dense(2, 3, &[1.0; 6]), &ones), "solve: a 2 x 3 matrix has fewer rows than columns");
    let rule = "solve: a 3 x 2 matrix and a 2 x 1 matrix do not fit: the numbers of rows must be equal";
    assert_eq!(message(&dependent, &ones), rule);
    assert_eq!(inverse(&dense(2, 2, &[0.0; 4])).unwrap_err().to_string(), "inv: the matrix is singular");
    assert_eq!(inverse(&dense(1, 2, &[1.0; 2])).unwrap_err().to_string(), "inv: a 1 x 2 matrix is not square");
}

#[test]
fn determinants_have_their_known_values() {
    let value = |rows, cells: &[f64]| determinant(&dense(rows, rows, cells)).unwrap();
    assert_eq!(value(1, &[-3.0]), -3.0);
    assert_eq!(value(2, &[0.0, 1.0, 1.0, 0.0]), -1.0);
    assert_eq!(value(2, &[1.0, 2.0, 2.0, 4.0]), 0.0);
    assert!((value(3, &[2.0, -1.0, 0.0, -1.0, 2.0, -1.0, 0.0, -1.0, 2.0]) - 4.0).abs() < 1e-14);
    assert_eq!(value(0, &[]), 1.0);
    assert!(value(2, &[f64::NAN, 1.0, 1.0, 1.0]).is_nan());
    assert!(value(2, &[0.0, 1.0, f64::NAN, 1.0]).is_nan(), "below a zero");
}

#[test]
fn cholesky_gives_a_lower_factor() {
    let known = dense(3, 3, &[4.0, 12.0, -16.0, 12.0, 37.0, -43.0, -16.0, -43.0, 98.0]);
    let expected = Dense::from_vec(3, 3, vec![2.0, 0.0, 0.0, 6.0, 1.0, 0.0, -8.0, 5.0, 3.0]);
    assert_close(&owned(&cholesky(&known).unwrap()), &expected, 10.0);
    for rows in [1, 5, 60] {
        let matrix = positive_definite(rows, 5);
        let lower = owned(&cholesky(&matrix.clone().into()).unwrap());
        assert!((0..rows).all(|i| (i + 1..rows).all(|j| lower.get(i, j) == 0.0)));
        assert_close(&product(&lower, &transposed(&lower)), &matrix, rows as f64);
    }
    let message = |cells: &[f64]| cholesky(&dense(2, 2, cells)).unwrap_err().to_string();
    assert_eq!(message(&[1.0, 2.0, 2.0, 1.0]), "cholesky: the matrix is not positive definite");
    assert_eq!(message(&[f64::NAN, 2.0, 2.0, 1.0]), "cholesky: the matrix is not positive definite");
    let expected = "cholesky: the matrix is not symmetric: cell (2, 1) is 3, cell (1, 2) is 2";
    assert_eq!(message(&[9.0, 2.0, 3.0, 9.0]), expected);
}

#[test]
fn eigenvalues_ascend_and_vectors_are_orthonormal() {
    for rows in [1, 2, 3, 8, 33, 90] {
        let matrix = symmetric(rows, 6);
        let result = eigen(&matrix.clone().into()).unwrap();
        let (values, vectors) = (owned(&result.values), owned(&result.vectors));
        assert!(values.values().is_sorted(), "{:?}", values.values());
        assert_close(&product(&transposed(&vectors), &vectors), &identity(rows), 1.0);
        let scaled = Dense::from_fn(rows, rows, |i, j| vectors.get(i, j) * values.get(j, 0));
        assert_close(&product(&scaled, &transposed(&vectors)), &matrix, rows as f64);
    }
    let result = eigen(&dense(2, 2, &[2.0, 1.0, 1.0, 2.0])).unwrap();
    assert_close(&owned(&result.values), &Dense::from_vec(2, 1, vec![1.0, 3.0]), 1.0);
    let half = 0.5_f64.sqrt();
    let vectors = owned(&result.vectors);
    assert!((vectors.get(0, 1) - half).abs() < 1e-14 && (vectors.get(1, 1) - half).abs() < 1e-14);
    let message = |block: &MatrixBlock| eigen(block).unwrap_err().to_string();
    let expected = "eigen: the matrix holds cells that are not finite";
    assert_eq!(message(&dense(2, 2, &[f64::NAN, 1.0, 1.0, 4.0])), expected);
    assert_eq!(message(&dense(1, 2, &[1.0; 2])), "eigen: a 1 x 2 matrix is not square");
}

/// `A V = V D` for the block diagonal D of the values, where pairs of equal ones may be those of a rotation.
#[test]
fn any_square_matrix_has_real_and_imaginary_parts_of_eigenvectors() {
    for rows in [2, 3, 5, 24, 61] {
        for format in all_formats(&noise(rows, rows, 10).into()) {
            let (matrix, result) = (owned(&format), eigen(&format).unwrap());
            let (values, vectors) = (owned(&result.values), owned(&result.vectors));
            assert!(values.values().is_sorted(), "{:?}", values.values());
            let image = product(&matrix, &vectors);
            let column = |of: &Dense, j: usize| (0..rows).map(|i| of.get(i, j)).collect::<Vec<f64>>();
            let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
            let mut j = 0;
            while j < rows {
                let (value, real) = (values.get(j, 0), column(&vectors, j));
                let (width, imaginary, part) = if j + 1 < rows && values.get(j + 1, 0) == value {
                    let imaginary = column(&vectors, j + 1);
                    // A (x + y i) = (a + b i) (x + y i): the part b follows from A y = b x + a y.
                    let turned: Vec<f64> = (0..rows).map(|i| image.get(i, j + 1) - value * imaginary[i]).collect();
                    let part = dot(&turned, &real) / dot(&real, &real);
                    assert!(part > 0.0, "the imaginary part {part}");
                    (2, imaginary, part)
                } else {
                    (1, vec![0.0; rows], 0.0)
                };
                assert!((dot(&real, &real) + dot(&imaginary, &imaginary) - 1.0).abs() < 1e-12);
                for i in 0..rows {
                    let expected = value * real[i] - part * imaginary[i];
                    assert!((image.get(i, j) - expected).abs() < 1e-11, "{rows}: column {j}");
                }
                let largest = (0..rows)
                    .map(|i| (real[i].hypot(imaginary[i]), i))
                    .fold((0.0, 0), |best, next| if next.0 > best.0 * (1.0 + 1e-12) { next } else { best });
                assert!(real[largest.1] > 0.0 && imaginary[largest.1].abs() < 1e-12);
                j += width;
            }
        }
    }
    // A rotation, and a matrix with one eigenvector only.
    let turn = eigen(&dense(2, 2, &[0.0, 1.0, -1.0, 0.0])).unwrap();
    assert_close(&owned(&turn.values), &Dense::zeros(2, 1), 1.0);
    let shear = eigen(&dense(2, 2, &[2.0, 1.0, 0.0, 2.0])).unwrap();
    assert_close(&owned(&shear.values), &Dense::from_vec(2, 1, vec![2.0, 2.0]), 1.0);
}

#[test]
fn the_square_of_a_root_is_the_matrix() {
    let shifted = |rows: usize| {
        let noise = noise(rows, rows, 11);
        Dense::from_fn(rows, rows, |i, j| noise.get(i, j) + if i == j { rows as f64 } else { 0.0 })
    };
    let turn = Dense::from_vec(2, 2, vec![0.0, 1.0, -1.0, 0.0]);
    let shear = Dense::from_vec(2, 2, vec![4.0, 1.0, 0.0, 4.0]);
    let projection = Dense::from_vec(2, 2, vec![0.0, 1.0, 0.0, 1.0]);
    let rank_one = Dense::from_vec(2, 2, vec![1.0, 2.0, 2.0, 4.0]);
    for matrix in [positive_definite(7, 12), shifted(9), turn, shear, projection, rank_one, Dense::zeros(3, 3)] {
        let root = owned(&matrix_root(&matrix.clone().into()).unwrap());
        assert_close(&product(&root, &root), &matrix, 100.0);
    }
    assert_eq!(matrix_root(&dense(0, 0, &[])).unwrap().dims(), (0, 0));
    let message = |cells: &[f64]| matrix_root(&dense(2, 2, cells)).unwrap_err().to_string();
    assert_eq!(message(&[-4.0, 0.0, 0.0, 1.0]), "sqrtMatrix: the matrix has the eigenvalue -4, and so no real root");
    let none = "sqrtMatrix: the matrix has no real root, or none that can be found";
    assert_eq!(message(&[0.0, 1.0, 0.0, 0.0]), none);
    assert_eq!(message(&[-1.0, 1.0, 0.0, -2.0]), none);
    assert_eq!(message(&[f64::NAN; 4]), "sqrtMatrix: the matrix holds cells that are not finite");
}

#[test]
fn singular_values_descend_and_vectors_are_orthonormal() {
    for (rows, cols) in [(1, 1), (1, 6), (6, 1), (9, 4), (4, 9), (70, 31)] {
        let matrix = noise(rows, cols, 7);
        let rank = rows.min(cols);
        let result = svd(&matrix.clone().into()).unwrap();
        let (left, values, right) = (owned(&result.left), owned(&result.values), owned(&result.right));
        assert!((1..rank).all(|i| values.get(i - 1, i - 1) >= values.get(i, i)));
        assert_close(&product(&transposed(&left), &left), &identity(rank), 1.0);
        assert_close(&product(&transposed(&right), &right), &identity(rank), 1.0);
        assert_close(&product(&product(&left, &values), &transposed(&right)), &matrix, rows as f64);
    }
    let result = svd(&dense(2, 2, &[0.0, -3.0, 2.0, 0.0])).unwrap();
    assert_close(&owned(&result.values), &Dense::from_vec(2, 2, vec![3.0, 0.0, 0.0, 2.0]), 1.0);
    assert_eq!(svd(&dense(0, 3, &[])).unwrap().right.dims(), (3, 0));
}

#[test]
fn lu_factors_are_triangles() {
    for rows in [1, 2, 9, 50] {
        let matrix = noise(rows, rows, 8);
        let result = lu(&matrix.clone().into()).unwrap();
        let (permutation, lower, upper) = (owned(&result.permutation), owned(&result.lower), owned(&result.upper));
        for i in 0..rows {
            assert_eq!(lower.get(i, i), 1.0);
            assert!((i + 1..rows).all(|j| lower.get(i, j) == 0.0 && upper.get(j, i) == 0.0));
        }
        assert_close(&product(&lower, &upper), &product(&permutation, &matrix), rows as f64);
    }
}

#[test]
fn qr_gives_reflections_that_restore_the_matrix() {
    for (rows, cols) in [(1, 1), (1, 4), (5, 1), (4, 4), (12, 5), (5, 12)] {
        let mut matrix = noise(rows, cols, 9);
        matrix.values_mut()[0] = 0.0;
        let result = qr(&matrix.clone().into());
        let (reflectors, triangle) = (owned(&result.reflectors), owned(&result.triangle));
        assert!((0..rows).all(|i| (0..i.min(cols)).all(|j| triangle.get(i, j) == 0.0)));
        let mut restored = triangle;
        for j in (0..rows.min(cols)).rev().filter(|&j| reflectors.get(j, j) != 0.0) {
            let reflection = Dense::from_fn(rows, rows, |i, k| {
                f64::from(u8::from(i == k)) - reflectors.get(i, j) * reflectors.get(k, j) / reflectors.get(j, j)
            });
            assert_close(&product(&reflection, &transposed(&reflection)), &identity(rows), 1.0);
            restored = product(&reflection, &restored);
        }
        assert_close(&restored, &matrix, rows as f64);
    }
}

#[test]
fn singular_matrices_have_factors_and_the_determinant_zero() {
    for (n, cells) in
        [(3, vec![0.0; 9]), (2, vec![0.0, 1.0, 0.0, 2.0]), (3, vec![0.0, 0.0, 1.0, 0.0, 0.0, 2.0, 1.0, 2.0, 3.0])]
    {
        let a: MatrixBlock = Dense::from_vec(n, n, cells).into();
        assert_eq!(determinant(&a).expect("a square matrix"), 0.0, "{a:?}");
        let factors = lu(&a).expect("a square matrix");
        let (p, l, u) = (factors.permutation.to_dense(), factors.lower.to_dense(), factors.upper.to_dense());
        assert_eq!(product(&p, &a.to_dense()).values(), product(&l, &u).values(), "{a:?}");
    }
}
