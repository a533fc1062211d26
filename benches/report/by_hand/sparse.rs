//! CSR inputs. Rows of several matrices meet in dense rows that stay in the first-level cache: the cells of one are
//! scattered, another's positions are looked up, and what was scattered is cleared. That takes no branch for a position,
//! and is faster than a merge of sorted columns, unless rows are nearly empty.

use super::{add_up, dense, pieces};
use fuseline::Csr;
use multiversion::multiversion;
use std::ops::Range;

/// `sum(X*Y*Z)`
pub(crate) fn sum_products(x: &Csr, y: &Csr, z: &Csr) -> f64 {
    pieces(x.rows(), |rows| products_of(x, y, z, rows)).into_iter().sum()
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn products_of(x: &Csr, y: &Csr, z: &Csr, rows: Range<usize>) -> f64 {
    let (mut of_x, mut of_both) = (vec![0.0_f64; x.cols()], vec![0.0_f64; x.cols()]);
    let mut sum = 0.0;
    for row in rows {
        scatter(x.row(row), &mut of_x, |value, _| value);
        scatter(y.row(row), &mut of_both, |value, column| value * of_x[column]);
        sum += looked_up(z.row(row), &of_both);
        scatter(x.row(row), &mut of_x, |_, _| 0.0);
        scatter(y.row(row), &mut of_both, |_, _| 0.0);
    }
    sum
}

/// `sum(X^2)`
pub(crate) fn sum_squares(x: &Csr) -> f64 {
    dense::sum_squares(x.values())
}

/// `sum(X*Y)` and `sum(X*Z)`
pub(crate) fn two_sums(x: &Csr, y: &Csr, z: &Csr) -> [f64; 2] {
    let sums = pieces(x.rows(), |rows| two_sums_of(x, y, z, rows));
    sums.into_iter().fold([0.0; 2], |[a, b], [c, d]| [a + c, b + d])
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn two_sums_of(x: &Csr, y: &Csr, z: &Csr, rows: Range<usize>) -> [f64; 2] {
    let mut of_x = vec![0.0_f64; x.cols()];
    let mut sums = [0.0; 2];
    for row in rows {
        scatter(x.row(row), &mut of_x, |value, _| value);
        sums[0] += looked_up(y.row(row), &of_x);
        sums[1] += looked_up(z.row(row), &of_x);
        scatter(x.row(row), &mut of_x, |_, _| 0.0);
    }
    sums
}

#[inline(always)]
fn scatter(row: (&[u32], &[f64]), into: &mut [f64], cell: impl Fn(f64, usize) -> f64) {
    for (&column, &value) in row.0.iter().zip(row.1) {
        into[column as usize] = cell(value, column as usize);
    }
}

/// The dot product of a sparse row with a dense one, over four sums.
#[inline(always)]
fn looked_up(row: (&[u32], &[f64]), dense: &[f64]) -> f64 {
    let ((columns, last_columns), (values, last_values)) = (row.0.as_chunks::<4>(), row.1.as_chunks::<4>());
    let mut sums = [0.0_f64; 4];
    for (columns, values) in columns.iter().zip(values) {
        for lane in 0..4 {
            sums[lane] = values[lane].mul_add(dense[columns[lane] as usize], sums[lane]);
        }
    }
    let last = last_columns.iter().zip(last_values).map(|(&column, value)| value * dense[column as usize]);
    sums.iter().sum::<f64>() + last.sum::<f64>()
}

/// Reads all positions once.
pub(crate) fn read(x: &Csr) -> f64 {
    let columns =
        pieces(x.nnz(), |piece| x.columns()[piece].iter().fold(0_u32, |sum, column| sum.wrapping_add(*column)));
    dense::read(x.values()) + columns.into_iter().map(f64::from).sum::<f64>()
}

/// `t(X) %*% (X %*% V)`, with V of `K` columns.
pub(crate) fn chain<const K: usize>(x: &Csr, v: &[f64]) -> Vec<f64> {
    match K {
        1 => add_up(pieces(x.rows(), |rows| chain_of(x, v, rows))),
        _ => add_up(pieces(x.rows(), |rows| chain_of_columns::<K>(x, v, rows))),
    }
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn chain_of(x: &Csr, v: &[f64], rows: Range<usize>) -> Vec<f64> {
    let mut sums = vec![0.0_f64; x.cols()];
    for row in rows {
        let (columns, values) = x.row(row);
        let product = looked_up((columns, values), v);
        for (&column, &value) in columns.iter().zip(values) {
            let sum = &mut sums[column as usize];
            *sum = product.mul_add(value, *sum);
        }
    }
    sums
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn chain_of_columns<const K: usize>(x: &Csr, v: &[f64], rows: Range<usize>) -> Vec<f64> {
    let v = v.as_chunks::<K>().0;
    let mut sums = vec![[0.0_f64; K]; x.cols()];
    for row in rows {
        let (columns, values) = x.row(row);
        let mut products = [[0.0_f64; K]; 2];
        for (position, (&column, &value)) in columns.iter().zip(values).enumerate() {
            let products = &mut products[position % 2];
            for (product, v) in products.iter_mut().zip(v[column as usize]) {
                *product = value.mul_add(v, *product);
            }
        }
        let products: [f64; K] = std::array::from_fn(|k| products[0][k] + products[1][k]);
        for (&column, &value) in columns.iter().zip(values) {
            for (sum, product) in sums[column as usize].iter_mut().zip(products) {
                *sum = value.mul_add(product, *sum);
            }
        }
    }
    sums.into_iter().flatten().collect()
}
