//! Dense inputs: sums of products, and products with a matrix from both sides in one scan of it.

use super::{LANES, add_scaled, add_up, dot, pieces, transposed};
use multiversion::multiversion;

/// `sum(X*Y*Z)`
pub(crate) fn sum_products(x: &[f64], y: &[f64], z: &[f64]) -> f64 {
    pieces(x.len(), |piece| products_of(&x[piece.clone()], &y[piece.clone()], &z[piece])).into_iter().sum()
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn products_of(x: &[f64], y: &[f64], z: &[f64]) -> f64 {
    let (x, y, z) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>(), z.as_chunks::<LANES>());
    let mut lanes = [0.0_f64; LANES];
    for ((x, y), z) in x.0.iter().zip(y.0).zip(z.0) {
        for lane in 0..LANES {
            lanes[lane] = (x[lane] * y[lane]).mul_add(z[lane], lanes[lane]);
        }
    }
    let rest = x.1.iter().zip(y.1).zip(z.1).map(|((x, y), z)| x * y * z);
    lanes.iter().sum::<f64>() + rest.sum::<f64>()
}

/// `sum(X^2)`
pub(crate) fn sum_squares(x: &[f64]) -> f64 {
    pieces(x.len(), |piece| squares_of(&x[piece])).into_iter().sum()
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn squares_of(x: &[f64]) -> f64 {
    dot(x, x)
}

/// `sum(X*Y)` and `sum(X*Z)`
pub(crate) fn two_sums(x: &[f64], y: &[f64], z: &[f64]) -> [f64; 2] {
    let sums = pieces(x.len(), |piece| two_sums_of(&x[piece.clone()], &y[piece.clone()], &z[piece]));
    sums.into_iter().fold([0.0; 2], |[a, b], [c, d]| [a + c, b + d])
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn two_sums_of(x: &[f64], y: &[f64], z: &[f64]) -> [f64; 2] {
    let (x, y, z) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>(), z.as_chunks::<LANES>());
    let mut lanes = [[0.0_f64; LANES]; 2];
    for ((x, y), z) in x.0.iter().zip(y.0).zip(z.0) {
        for lane in 0..LANES {
            lanes[0][lane] = x[lane].mul_add(y[lane], lanes[0][lane]);
            lanes[1][lane] = x[lane].mul_add(z[lane], lanes[1][lane]);
        }
    }
    let rest = [dot(x.1, y.1), dot(x.1, z.1)];
    [0, 1].map(|sum| lanes[sum].iter().sum::<f64>() + rest[sum])
}

/// All values once: what reading takes.
pub(crate) fn read(values: &[f64]) -> f64 {
    pieces(values.len(), |piece| sum_of(&values[piece])).into_iter().sum()
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn sum_of(values: &[f64]) -> f64 {
    let (blocks, rest) = values.as_chunks::<LANES>();
    let mut lanes = [0.0_f64; LANES];
    for block in blocks {
        for lane in 0..LANES {
            lanes[lane] += block[lane];
        }
    }
    lanes.iter().chain(rest).sum()
}

/// `t(X) %*% (X %*% V)`, with V of `K` columns, a row of X after the other.
pub(crate) fn chain<const K: usize>(x: &[f64], cols: usize, v: &[f64]) -> Vec<f64> {
    let vt = transposed(v, K, cols);
    let rows = x.len() / cols;
    let sums = pieces(rows, |piece| {
        let x = &x[piece.start * cols..piece.end * cols];
        match cols {
            10 => narrow_chain::<10, K>(x, &vt),
            _ => wide_chain::<K>(x, cols, &vt),
        }
    });
    transposed(&add_up(sums), cols, K)
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn wide_chain<const K: usize>(x: &[f64], cols: usize, vt: &[f64]) -> Vec<f64> {
    wide_rows::<K>(x, cols, vt, |_, products| products)
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn narrow_chain<const COLS: usize, const K: usize>(x: &[f64], vt: &[f64]) -> Vec<f64> {
    narrow_rows::<COLS, K>(x, vt, |_, products| products)
}

/// Expression (2) of the paper with `K` classes, the inner loop of MLogreg: `Q = P[, 1:K] * (X %*% V)` and
/// `t(X) %*% (Q - P[, 1:K] * rowSums(Q))`, where P has `K + 1` columns.
pub(crate) fn expression_2<const K: usize>(x: &[f64], cols: usize, v: &[f64], p: &[f64]) -> Vec<f64> {
    let vt = transposed(v, K, cols);
    let rows = x.len() / cols;
    let sums = pieces(rows, |piece| {
        let (x, p) = (&x[piece.start * cols..piece.end * cols], &p[piece.start * (K + 1)..piece.end * (K + 1)]);
        match cols {
            10 => narrow_expression_2::<10, K>(x, &vt, p),
            _ => wide_expression_2::<K>(x, cols, &vt, p),
        }
    });
    transposed(&add_up(sums), cols, K)
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn wide_expression_2<const K: usize>(x: &[f64], cols: usize, vt: &[f64], p: &[f64]) -> Vec<f64> {
    wide_rows::<K>(x, cols, vt, |row, products| weighted(&p[row * (K + 1)..], products))
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn narrow_expression_2<const COLS: usize, const K: usize>(x: &[f64], vt: &[f64], p: &[f64]) -> Vec<f64> {
    narrow_rows::<COLS, K>(x, vt, |row, products| weighted(&p[row * (K + 1)..], products))
}

#[inline(always)]
fn weighted<const K: usize>(p: &[f64], products: [f64; K]) -> [f64; K] {
    let (mut q, mut sum) = ([0.0; K], 0.0);
    for k in 0..K {
        q[k] = p[k] * products[k];
        sum += q[k];
    }
    for k in 0..K {
        q[k] -= p[k] * sum;
    }
    q
}

/// A sum in which the compiler finds registers: the upper half is added to the lower one until one cell is left.
#[inline(always)]
fn halved_sum<const COLS: usize>(mut cells: [f64; COLS]) -> f64 {
    let mut width = COLS;
    while width > 1 {
        let half = width.div_ceil(2);
        for j in half..width {
            cells[j - half] += cells[j];
        }
        width = half;
    }
    cells[0]
}

/// Rows of X that share each load of `vt` and of the sums.
const ROWS: usize = 4;

/// Adds each row of X to `K` accumulators, with factors that follow from its products with the rows of `vt`: four rows at a
/// time, and the last ones alone.
#[inline(always)]
fn wide_rows<const K: usize>(
    x: &[f64],
    cols: usize,
    vt: &[f64],
    factors: impl Fn(usize, [f64; K]) -> [f64; K],
) -> Vec<f64> {
    let mut sums = vec![0.0; K * cols];
    let mut next = 0;
    while next + ROWS <= x.len() / cols {
        group_of_rows::<K, ROWS>(x, cols, vt, next, &factors, &mut sums);
        next += ROWS;
    }
    while next < x.len() / cols {
        group_of_rows::<K, 1>(x, cols, vt, next, &factors, &mut sums);
        next += 1;
    }
    sums
}

#[inline(always)]
fn group_of_rows<const K: usize, const R: usize>(
    x: &[f64],
    cols: usize,
    vt: &[f64],
    first: usize,
    factors: &impl Fn(usize, [f64; K]) -> [f64; K],
    sums: &mut [f64],
) {
    let mut rows = [x; R];
    for r in 0..R {
        rows[r] = &x[(first + r) * cols..(first + r + 1) * cols];
    }
    let mut weights = [[0.0; K]; R];
    let products = products_of_rows::<K, R>(rows, cols, vt);
    for r in 0..R {
        weights[r] = factors(first + r, products[r]);
    }
    for k in 0..K {
        let (sums, last_sums) = sums[k * cols..(k + 1) * cols].as_chunks_mut::<8>();
        for (chunk, sum) in sums.iter_mut().enumerate() {
            for r in 0..R {
                let row = &rows[r][chunk * 8..chunk * 8 + 8];
                for lane in 0..8 {
                    sum[lane] = weights[r][k].mul_add(row[lane], sum[lane]);
                }
            }
        }
        for (column, sum) in (cols - cols % 8..).zip(last_sums) {
            for r in 0..R {
                *sum = weights[r][k].mul_add(rows[r][column], *sum);
            }
        }
    }
}

/// The products of some rows with those of `vt`, eight lanes each.
#[inline(always)]
fn products_of_rows<const K: usize, const R: usize>(rows: [&[f64]; R], cols: usize, vt: &[f64]) -> [[f64; K]; R] {
    let mut lanes = [[[0.0_f64; 8]; K]; R];
    for start in (0..cols - cols % 8).step_by(8) {
        for k in 0..K {
            let v = &vt[k * cols + start..k * cols + start + 8];
            for r in 0..R {
                let row = &rows[r][start..start + 8];
                for lane in 0..8 {
                    lanes[r][k][lane] = row[lane].mul_add(v[lane], lanes[r][k][lane]);
                }
            }
        }
    }
    let mut products = [[0.0; K]; R];
    for r in 0..R {
        for k in 0..K {
            products[r][k] = halved_sum(lanes[r][k]);
            for column in cols - cols % 8..cols {
                products[r][k] = rows[r][column].mul_add(vt[k * cols + column], products[r][k]);
            }
        }
    }
    products
}

/// As [`wide_rows`], with a number of columns that the compiler knows, so that accumulators stay in registers.
#[inline(always)]
fn narrow_rows<const COLS: usize, const K: usize>(
    x: &[f64],
    vt: &[f64],
    factors: impl Fn(usize, [f64; K]) -> [f64; K],
) -> Vec<f64> {
    let vt: [[f64; COLS]; K] = std::array::from_fn(|k| std::array::from_fn(|j| vt[k * COLS + j]));
    let mut sums = [[0.0_f64; COLS]; K];
    for (r, row) in x.as_chunks::<COLS>().0.iter().enumerate() {
        let mut products = [0.0; K];
        for (product, v) in products.iter_mut().zip(&vt) {
            let mut cells = [0.0; COLS];
            for j in 0..COLS {
                cells[j] = row[j] * v[j];
            }
            *product = halved_sum(cells);
        }
        let factors = factors(r, products);
        for (sum, factor) in sums.iter_mut().zip(factors) {
            add_scaled(sum, factor, row);
        }
    }
    sums.into_iter().flatten().collect()
}
