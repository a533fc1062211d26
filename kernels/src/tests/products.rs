//! Matrix products.

use super::*;
use crate::{KernelError, TransposedSide, matmul, matmul_transposed_left, matmul_transposed_right, transpose, tsmm};
use fuseline_ir::schedule::product::{Extents, TransposedSparse};

const EXTENTS: [(usize, usize, usize); 22] = [
    (0, 3, 2),
    (3, 0, 2),
    (2, 3, 0),
    (1, 1, 1),
    (1, 50, 70),
    (70, 50, 1),
    (33, 65, 9),
    (200, 31, 40),
    (5, 2000, 3),
    (13, 9001, 11),
    (13, 9001, 17),
    (1, 5000, 1),
    (700, 3, 130),
    (31, 37, 41),
    // Rows that are multiplied one after the other.
    (5000, 2, 2),
    (3001, 10, 4),
    (700, 2, 500),
    (40, 16, 8),
    (40, 500, 2),
    (137, 5000, 9),
    (17, 1, 33),
    // Sums of a transposed left side that no near cache holds.
    (9001, 40, 4),
];

#[test]
fn products_equal_plain_loops() {
    for (m, inner, n) in EXTENTS {
        let (left, right) = (matrix(m, inner, 4, 1), matrix(inner, n, 5, 2));
        let (a, b) = (left.to_dense(), right.to_dense());
        let expected = |i: usize, j: usize| (0..inner).map(|k| a.get(i, k) * b.get(k, j)).sum::<f64>();
        let expected = Dense::from_fn(m, n, expected);
        for a in all_formats(&left) {
            for b in all_formats(&right) {
                assert_cells(&run(|context| matmul(context, &a, &b).unwrap()), m, n, |i, j| expected.get(i, j));
                let transposed = run(|context| transpose(context, &a));
                let product = run(|context| matmul_transposed_left(context, &transposed, &b).unwrap());
                assert_cells(&product, m, n, |i, j| expected.get(i, j));
                let transposed = run(|context| transpose(context, &b));
                let product = run(|context| matmul_transposed_right(context, &a, &transposed).unwrap());
                assert_cells(&product, m, n, |i, j| expected.get(i, j));
            }
        }
    }
}

/// Rows of few terms among many columns: their columns are noted, and come in order.
#[test]
fn sparse_rows_of_wide_products_have_their_columns_in_order() {
    for cols in [65, 4096, 4097, 9001] {
        let left = Dense::from_fn(60, 80, |i, j| if (i * 13 + j * 7) % 29 == 0 { (i + j) as f64 - 60.0 } else { 0.0 });
        let of_row = |j: usize| [j * 31 % cols, j * 977 % cols, cols - 1 - j % cols, j % cols, 64];
        let mut right = Dense::zeros(80, cols);
        for (place, j) in (0..80).flat_map(|i| of_row(i).map(|j| (i * cols + j, j))) {
            right.values_mut()[place] = 1.0 + (j % 5) as f64;
        }
        let expected = |i: usize, j: usize| (0..80).map(|k| left.get(i, k) * right.get(k, j)).sum();
        let (a, b): (MatrixBlock, MatrixBlock) = (Csr::from_dense(&left).into(), Csr::from_dense(&right).into());
        let product = run(|context| matmul(context, &a, &b).unwrap());
        assert_cells(&product, 60, cols, expected);
        let csr = product.to_csr();
        assert!((0..60).all(|i| csr.row(i).0.is_sorted_by(|one, next| one < next)), "{cols} columns");
    }
}

/// Products that select rows or columns have the cells that any product has: in any order, several times, not at all.
#[test]
fn selections_are_products() {
    let selector = |extent: usize, picked: &[usize], one: f64| {
        Csr::from_dense(&Dense::from_fn(picked.len(), extent, |i, j| if picked[i] == j { one } else { 0.0 }))
    };
    for (rows, cols) in [(40, 30), (700, 3), (90, 1), (1, 50)] {
        for block in [matrix(rows, cols, 4, 1), special_matrix(rows, cols, 1), special_matrix(rows, cols, 2)] {
            // Every cell is stored, zeros too.
            let offsets = (0..=rows).map(|row| row * cols).collect();
            let columns = (0..rows * cols).map(|cell| (cell % cols) as u32).collect();
            let stored = Csr::new(rows, cols, offsets, columns, block.to_dense().values().to_vec()).unwrap();
            let formats: Vec<MatrixBlock> = all_formats(&block).into_iter().chain([stored.into()]).collect();
            for one in [1.0, 2.0] {
                let (last_row, last_col) = (rows - 1, cols - 1);
                for picked in [vec![0], vec![last_row, 0, last_row], (0..rows).rev().collect(), (0..rows).collect()] {
                    let by_row: MatrixBlock = selector(rows, &picked, one).into();
                    for format in &formats {
                        let product = run(|context| matmul(context, &by_row, format).unwrap());
                        assert_cells(&product, picked.len(), cols, |i, j| one * block.get(picked[i], j) + 0.0);
                    }
                }
                for picked in [vec![0], vec![last_col, 0, last_col], (0..cols).rev().collect(), (0..cols).collect()] {
                    let by_col: MatrixBlock = selector(cols, &picked, one).transpose().into();
                    for format in &formats {
                        let product = run(|context| matmul(context, format, &by_col).unwrap());
                        assert_cells(&product, rows, picked.len(), |i, j| one * block.get(i, picked[j]) + 0.0);
                    }
                }
            }
        }
    }
}

/// What a zero of a sparse column meets does not count, whatever it is, as with more columns.
#[test]
fn sparse_columns_multiply_as_wider_matrices_do() {
    let (rows, inner) = (700, 90);
    let left = Dense::from_fn(rows, inner, |i, j| match (i * 31 + j * 17) % 7 {
        0 => (i % 11) as f64 * 0.3 - 1.5,
        1 if i % 100 == 3 && j % 2 == 1 => f64::INFINITY,
        2 if i % 100 == 5 && j % 2 == 1 => f64::NAN,
        _ => 0.0,
    });
    let left = MatrixBlock::from(Csr::from_dense(&left));
    let column = |i: usize| if i.is_multiple_of(2) { 0.1 * i as f64 + 0.7 } else { 0.0 };
    let one = MatrixBlock::from(Csr::from_dense(&Dense::from_fn(inner, 1, |i, _| column(i))));
    let two =
        MatrixBlock::from(Csr::from_dense(&Dense::from_fn(inner, 2, |i, j| if j == 0 { column(i) } else { 1.0 })));
    let [one, two] = [one, two].map(|right| run(|context| matmul(context, &left, &right).unwrap()));
    let cells = |block: &MatrixBlock| (0..rows).map(|i| block.get(i, 0).to_bits()).collect::<Vec<_>>();
    assert_eq!(cells(&one), cells(&two));
    assert!((0..rows).all(|i| one.get(i, 0).is_finite()));
}

/// Results of ranges of rows would have too many cells: ranges of columns add to one, or the transpose is multiplied where rows
/// have few non-zeros.
#[test]
fn transposed_products_with_large_results_equal_plain_loops() {
    let (rows, n, k) = (1200, 900, 600);
    let (two, twelve) = (TransposedSparse::Columns(2), TransposedSparse::Columns(12));
    for (per_row, way) in [(2, TransposedSparse::Transposes), (40, two), (200, twelve)] {
        let cell = |i: usize, j: usize| if (i * 7 + j) % n < per_row { (i % 5 + j % 3) as f64 + 1.0 } else { 0.0 };
        let left = Dense::from_fn(rows, n, cell);
        let extents = Extents { rows: n, inner: rows, cols: k };
        assert_eq!(TransposedSparse::of(rows * per_row, extents), way);
        let right = matrix(rows, k, 5, 2).to_dense().into_owned();
        let mut expected = vec![0.0; n * k];
        for (i, j) in (0..rows).flat_map(|i| (0..n).map(move |j| (i, j))).filter(|&(i, j)| left.get(i, j) != 0.0) {
            (0..k).for_each(|column| expected[j * k + column] += left.get(i, j) * right.get(i, column));
        }
        let (left, right) = (Csr::from_dense(&left).into(), right.into());
        let product = run(|context| matmul_transposed_left(context, &left, &right).unwrap());
        assert_cells(&product, n, k, |i, j| expected[i * k + j]);
    }
}

/// So few rows that private sums would have more cells than they: ranges of columns have their own sums.
#[test]
fn transposed_products_of_few_long_rows_equal_plain_loops() {
    let (rows, n, k) = (40, 9000, 16);
    let (left, right) = (matrix(rows, n, 9, 1), matrix(rows, k, 5, 2));
    let (a, b) = (left.to_dense().into_owned(), right.to_dense().into_owned());
    let product = run(|context| matmul_transposed_left(context, &left, &right).unwrap());
    assert_cells(&product, n, k, |i, j| (0..rows).map(|row| a.get(row, i) * b.get(row, j)).sum());
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let (a, b) = (matrix(2, 3, 9, 1), matrix(4, 5, 9, 1));
    alone(false, |context| {
        for product in [matmul, matmul_transposed_left, matmul_transposed_right] {
            assert!(matches!(product(context, &a, &b), Err(KernelError::Shapes { .. })));
        }
    });
}

#[test]
fn products_with_the_own_transpose_equal_plain_loops_and_are_symmetric() {
    for (rows, cols) in [(0, 3), (3, 0), (1, 1), (1, 50), (50, 1), (9, 8), (9, 9), (130, 77), (41, 300), (9001, 13)] {
        let block = matrix(rows, cols, 4, 1);
        let x = block.to_dense();
        for format in all_formats(&block) {
            let product = run(|context| tsmm(context, &format, TransposedSide::Left));
            assert_cells(&product, cols, cols, |i, j| (0..rows).map(|k| x.get(k, i) * x.get(k, j)).sum());
            if rows < 1000 {
                let product = run(|context| tsmm(context, &format, TransposedSide::Right));
                assert_cells(&product, rows, rows, |i, j| (0..cols).map(|k| x.get(i, k) * x.get(j, k)).sum());
            }
        }
    }
    // Numbers whose sums round: the two triangles are the same all the same.
    for cols in [13, 24, 45] {
        let rounding = Dense::from_fn(5000, cols, |i, j| 1.0 / (hash(i, j, 1) + 1) as f64);
        for format in all_formats(&rounding.into()) {
            let product = run(|context| tsmm(context, &format, TransposedSide::Left));
            assert_cells(&product, cols, cols, |i, j| product.get(j, i));
        }
    }
}

/// Rows of a product are summed with and without notes of their columns, and a product that is dense has no rows of its own:
/// densities for all of these, and a matrix in which a row and a column have most of the non-zeros.
#[test]
fn products_of_sparse_matrices_equal_plain_loops_at_any_density() {
    let (rows, cols) = (150, 90);
    let is_skewed = |i: usize, j: usize| i == 3 || j == 5 || hash(i, j, 3).is_multiple_of(80);
    for share in [1000, 60, 12, 3, 0] {
        let is_set = |i, j| if share == 0 { is_skewed(i, j) } else { hash(i, j, 2).is_multiple_of(share) };
        let cell = |i: usize, j: usize| if is_set(i, j) { (hash(i, j, 1) % 7) as f64 - 3.0 } else { 0.0 };
        let x = Dense::from_fn(rows, cols, cell);
        let sparse = MatrixBlock::from(Csr::from_dense(&x));
        let left = run(|context| tsmm(context, &sparse, TransposedSide::Left));
        assert_cells(&left, cols, cols, |i, j| (0..rows).map(|k| x.get(k, i) * x.get(k, j)).sum());
        let right = run(|context| tsmm(context, &sparse, TransposedSide::Right));
        assert_cells(&right, rows, rows, |i, j| (0..cols).map(|k| x.get(i, k) * x.get(j, k)).sum());
        let product = run(|context| matmul(context, &right, &sparse).unwrap());
        assert_cells(&product, rows, cols, |i, j| (0..rows).map(|k| right.get(i, k) * x.get(k, j)).sum());
    }
}

/// With few terms for each cell, with many of them, and with several ranges of rows that have results of their own.
#[test]
fn transposed_products_of_sparse_matrices_equal_plain_loops() {
    for (rows, share) in [(40, 12), (4000, 3), (60_000, 4)] {
        let [x, y] = [(20, 1), (13, 5)].map(|(cols, seed)| {
            let is_set = |i, j| hash(i, j, seed + 1).is_multiple_of(share);
            Dense::from_fn(rows, cols, |i, j| if is_set(i, j) { (hash(i, j, seed) % 7) as f64 - 3.0 } else { 0.0 })
        });
        let [a, b] = [&x, &y].map(|dense| MatrixBlock::from(Csr::from_dense(dense)));
        let product = run(|context| matmul_transposed_left(context, &a, &b).unwrap());
        assert_cells(&product, 20, 13, |i, j| (0..rows).map(|k| x.get(k, i) * y.get(k, j)).sum());
        let square = run(|context| tsmm(context, &a, TransposedSide::Left));
        assert_cells(&square, 20, 20, |i, j| (0..rows).map(|k| x.get(k, i) * x.get(k, j)).sum());
    }
}

/// Rows of the dense matrix one by one, and as columns of its transpose: on both sides of where the one is sooner done.
#[test]
fn a_dense_matrix_times_a_sparse_one_equals_plain_loops() {
    for (rows, inner, cols, share) in
        [(1, 500, 90, 40), (1, 3, 700, 50), (3, 300, 41, 9), (40, 50, 300, 97), (7, 0, 5, 1)]
    {
        let is_set = |i, j| hash(i, j, 2).is_multiple_of(share);
        let x = Dense::from_fn(inner, cols, |i, j| if is_set(i, j) { (hash(i, j, 1) % 7) as f64 - 3.0 } else { 0.0 });
        let y = Dense::from_fn(rows, inner, |i, j| (hash(i, j, 5) % 5) as f64 - 2.0);
        let sparse = MatrixBlock::from(Csr::from_dense(&x));
        let product = run(|context| matmul(context, &y.clone().into(), &sparse).unwrap());
        assert_cells(&product, rows, cols, |i, j| (0..inner).map(|k| y.get(i, k) * x.get(k, j)).sum());
    }
}

/// Rows or columns without non-zeros leave few cells of a product with a dense matrix.
#[test]
fn products_with_few_cells_that_are_not_zero_are_sparse() {
    let x = Dense::from_fn(400, 300, |i, j| if i * 7 == j * 90 { 1.0 + j as f64 } else { 0.0 });
    let sparse = MatrixBlock::from(Csr::from_dense(&x));
    let [a, b] = [(300, 5), (400, 5)].map(|(rows, cols)| Dense::from_fn(rows, cols, |i, j| 1.0 + (i % 5 * j) as f64));
    let (t_a, t_b) = (Dense::from_fn(5, 300, |i, j| a.get(j, i)), Dense::from_fn(5, 400, |i, j| b.get(j, i)));
    let [a, b, t_b] = [a, b, t_b].map(MatrixBlock::from);
    let products = [
        run(|context| matmul(context, &sparse, &a).unwrap()),
        run(|context| crate::transpose(context, &matmul_transposed_left(context, &sparse, &b).unwrap())),
        run(|context| matmul_transposed_left(context, &b, &sparse).unwrap()),
        run(|context| matmul(context, &t_b, &sparse).unwrap()),
    ];
    assert!(products.iter().all(|product| product.format().is_sparse()));
    assert_cells(&products[0], 400, 5, |i, j| (0..300).map(|k| x.get(i, k) * t_a.get(j, k)).sum());
    for product in &products[1..] {
        assert_cells(product, 5, 300, |i, j| (0..400).map(|k| b.get(k, i) * x.get(k, j)).sum());
    }
}

#[test]
fn products_of_sparse_matrices_hold_no_zeros() {
    let (left, right) =
        (dense(1, 2, &[1.0, 1.0]), dense(2, 6, &[1.0, 2.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0]));
    let [left, right] = [left, right].map(|block| MatrixBlock::from(Csr::from_dense(&block.to_dense())));
    let product = run(|context| matmul(context, &left, &right).unwrap());
    assert!(product.format().is_sparse() && product.nnz() == 1 && product.get(0, 1) == 2.0);
}

#[test]
fn strict_products_with_the_own_transpose_keep_what_zeros_would_annihilate() {
    let sparse: MatrixBlock = Csr::from_dense(&Dense::from_vec(1, 3, vec![f64::INFINITY, 0.0, 0.0])).into();
    for strict in [false, true] {
        let product = alone(strict, |context| tsmm(context, &sparse, TransposedSide::Left));
        assert_eq!(product.get(0, 1).is_nan(), strict);
        assert_eq!(product.get(0, 0), f64::INFINITY);
    }
}
