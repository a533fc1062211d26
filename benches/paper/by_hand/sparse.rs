//! CSR inputs. Rows of several matrices meet in dense rows that stay in the first-level cache: the cells of one are
//! scattered, another's positions are looked up, and what was scattered is cleared. That takes no branch for a position,
//! and is faster than a merge of sorted columns, unless rows are nearly empty.

use super::{add_scaled, add_up, dense, pieces};
use fuseline::Csr;
use multiversion::multiversion;
use std::ops::Range;

/// A matrix as loops read it: where its parts lie is found once.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    offsets: &'a [usize],
    columns: &'a [u32],
    values: &'a [f64],
}

impl<'a> Rows<'a> {
    pub(crate) fn of(x: &'a Csr) -> Self {
        Rows { offsets: x.row_offsets(), columns: x.columns(), values: x.values() }
    }

    /// Columns and values of a row.
    #[inline(always)]
    pub(crate) fn row(self, row: usize) -> (&'a [u32], &'a [f64]) {
        let range = self.offsets[row]..self.offsets[row + 1];
        (&self.columns[range.clone()], &self.values[range])
    }
}

/// `sum(X*Y*Z)`
pub(crate) fn sum_products(x: &Csr, y: &Csr, z: &Csr) -> f64 {
    pieces(x.rows(), |rows| products_of(x, y, z, rows)).into_iter().sum()
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn products_of(x: &Csr, y: &Csr, z: &Csr, rows: Range<usize>) -> f64 {
    let (mut of_x, mut of_both) = (vec![0.0_f64; x.cols()], vec![0.0_f64; x.cols()]);
    let mut sum = 0.0;
    let (x, y, z) = (Rows::of(x), Rows::of(y), Rows::of(z));
    for row in rows {
        scatter(x.row(row), &mut of_x, |value, _| value);
        scatter(y.row(row), &mut of_both, |value, column| value * of_x[column]);
        sum += looked_up(z.row(row), &of_both);
        scatter(x.row(row), &mut of_x, |_, _| 0.0);
        scatter(y.row(row), &mut of_both, |_, _| 0.0);
    }
    sum
}

/// `sum(X*Y*Z)` as code does it that asks for single cells: each is found by binary search.
pub(crate) fn sum_products_by_search(x: &Csr, y: &Csr, z: &Csr) -> f64 {
    pieces(x.rows(), |rows| searched_products_of(x, y, z, rows)).into_iter().sum()
}

fn searched_products_of(x: &Csr, y: &Csr, z: &Csr, rows: Range<usize>) -> f64 {
    let cell = |(columns, values): (&[u32], &[f64]), column: &u32| {
        columns.binary_search(column).map_or(0.0, |position| values[position])
    };
    let mut sum = 0.0;
    for row in rows {
        let (columns, values) = x.row(row);
        for (column, value) in columns.iter().zip(values) {
            sum += value * cell(y.row(row), column) * cell(z.row(row), column);
        }
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
    let (x, y, z) = (Rows::of(x), Rows::of(y), Rows::of(z));
    for row in rows {
        scatter(x.row(row), &mut of_x, |value, _| value);
        sums[0] += looked_up(y.row(row), &of_x);
        sums[1] += looked_up(z.row(row), &of_x);
        scatter(x.row(row), &mut of_x, |_, _| 0.0);
    }
    sums
}

#[inline(always)]
pub(crate) fn scatter(row: (&[u32], &[f64]), into: &mut [f64], cell: impl Fn(f64, usize) -> f64) {
    for (&column, &value) in row.0.iter().zip(row.1) {
        into[column as usize] = cell(value, column as usize);
    }
}

/// The dot product of a sparse row with a dense one, over four sums.
#[inline(always)]
pub(crate) fn looked_up(row: (&[u32], &[f64]), dense: &[f64]) -> f64 {
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
    chain_rows(x, v, rows, |_, product| product)
}

/// Adds some rows of X up, with factors that follow from their products with v.
#[inline(always)]
pub(crate) fn chain_rows(x: &Csr, v: &[f64], rows: Range<usize>, factor: impl Fn(usize, f64) -> f64) -> Vec<f64> {
    let mut sums = vec![0.0_f64; x.cols()];
    let x = Rows::of(x);
    for row in rows {
        let (columns, values) = x.row(row);
        let factor = factor(row, looked_up((columns, values), v));
        for (&column, &value) in columns.iter().zip(values) {
            let sum = &mut sums[column as usize];
            *sum = factor.mul_add(value, *sum);
        }
    }
    sums
}

/// The products of a sparse row with the columns of V, over two sums each.
#[inline(always)]
pub(crate) fn products<const K: usize>(row: (&[u32], &[f64]), v: &[[f64; K]]) -> [f64; K] {
    let ((columns, last_columns), (values, last_values)) = (row.0.as_chunks::<2>(), row.1.as_chunks::<2>());
    let mut sums = [[0.0_f64; K]; 2];
    for (columns, values) in columns.iter().zip(values) {
        for lane in 0..2 {
            add_scaled(&mut sums[lane], values[lane], &v[columns[lane] as usize]);
        }
    }
    let [mut products, others] = sums;
    for (&column, &value) in last_columns.iter().zip(last_values) {
        add_scaled(&mut products, value, &v[column as usize]);
    }
    add_scaled(&mut products, 1.0, &others);
    products
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn chain_of_columns<const K: usize>(x: &Csr, v: &[f64], rows: Range<usize>) -> Vec<f64> {
    chain_rows_of_columns::<K>(x, v, rows, |_, products| products)
}

/// Adds some rows of X up in `K` sums, with factors that follow from their products with the columns of V.
#[inline(always)]
pub(crate) fn chain_rows_of_columns<const K: usize>(
    x: &Csr,
    v: &[f64],
    rows: Range<usize>,
    factors: impl Fn(usize, [f64; K]) -> [f64; K],
) -> Vec<f64> {
    let v = v.as_chunks::<K>().0;
    let mut sums = vec![[0.0_f64; K]; x.cols()];
    let x = Rows::of(x);
    for row in rows {
        let (columns, values) = x.row(row);
        let factors = factors(row, products((columns, values), v));
        for (&column, &value) in columns.iter().zip(values) {
            for (sum, factor) in sums[column as usize].iter_mut().zip(factors) {
                *sum = value.mul_add(factor, *sum);
            }
        }
    }
    sums.into_iter().flatten().collect()
}
