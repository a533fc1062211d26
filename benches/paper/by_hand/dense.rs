//! Dense inputs: sums of products, and products with a matrix from both sides in one scan of it.

use super::{LANES, add_four_scaled, add_scaled, add_up, dot, four_dots, halved_sum, pieces, transposed};
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

/// `sum(X / rowSums(X) * factors[0] * ...)`, a row of X at a time, which every factor loads and stores: what operations take
/// that hand vectors on in the first-level cache.
pub(crate) fn scaled_rows(x: &[f64], cols: usize, factors: &[f64]) -> f64 {
    pieces(x.len() / cols, |piece| scaled_rows_of(&x[piece.start * cols..piece.end * cols], cols, factors)).iter().sum()
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn scaled_rows_of(x: &[f64], cols: usize, factors: &[f64]) -> f64 {
    let (mut vector, ones) = (vec![0.0; cols], vec![1.0; cols]);
    let mut sum = 0.0;
    for row in x.chunks_exact(cols) {
        let total = dot(row, &ones);
        vector.iter_mut().zip(row).for_each(|(value, cell)| *value = cell / total);
        for factor in factors {
            vector.iter_mut().for_each(|value| *value *= factor);
        }
        sum += dot(&vector, &ones);
    }
    sum
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

/// Adds each row of X to `K` accumulators, with factors that follow from its products with the rows of `vt`. Four rows share
/// each load of both.
#[inline(always)]
fn wide_rows<const K: usize>(
    x: &[f64],
    cols: usize,
    vt: &[f64],
    factors: impl Fn(usize, [f64; K]) -> [f64; K],
) -> Vec<f64> {
    let mut sums = vec![0.0; K * cols];
    let (groups, rows) = (x.chunks_exact(4 * cols), x.len() / cols);
    for (first, row) in (rows / 4 * 4..).zip(groups.remainder().chunks_exact(cols)) {
        let mut products = [0.0; K];
        for (product, v) in products.iter_mut().zip(vt.chunks_exact(cols)) {
            *product = dot(row, v);
        }
        let factors = factors(first, products);
        for (sum, factor) in sums.chunks_exact_mut(cols).zip(factors) {
            add_scaled(sum, factor, row);
        }
    }
    for (group, rows) in groups.enumerate() {
        let rows = [&rows[..cols], &rows[cols..2 * cols], &rows[2 * cols..3 * cols], &rows[3 * cols..]];
        let mut products = [[0.0; K]; 4];
        for (k, v) in vt.chunks_exact(cols).enumerate() {
            let of_rows = four_dots(rows, v);
            for r in 0..4 {
                products[r][k] = of_rows[r];
            }
        }
        for (r, products) in products.iter_mut().enumerate() {
            *products = factors(4 * group + r, *products);
        }
        for (k, sum) in sums.chunks_exact_mut(cols).enumerate() {
            add_four_scaled(sum, [products[0][k], products[1][k], products[2][k], products[3][k]], rows);
        }
    }
    sums
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
