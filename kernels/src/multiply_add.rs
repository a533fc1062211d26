//! Loops of multiply-adds, compiled for several instruction sets, of which the best of the machine is taken: where the
//! compiler may not take it for granted that there is an instruction, each multiply-add is a call, which gives the same
//! bits in many times the time.

use fuseline_matrix::{Csr, SparseRow};
use multiversion::multiversion;
use std::ops::Range;

/// Adds `factor` times the values to those of `sums`.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
pub(crate) fn add_scaled(sums: &mut [f64], factor: f64, values: &[f64]) {
    sums.iter_mut().zip(values).for_each(|(sum, &value)| *sum = factor.mul_add(value, *sum));
}

/// Adds `factor` times the values to the sums in these columns.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
pub(crate) fn add_scaled_at(sums: &mut [f64], factor: f64, columns: &[u32], values: &[f64]) {
    for (&j, &value) in columns.iter().zip(values) {
        let sum = &mut sums[j as usize];
        *sum = factor.mul_add(value, *sum);
    }
}

/// Rows of a sparse matrix: where each ends, and what lies at its positions. For loops that would ask the matrix where its
/// memory is for each of them.
#[derive(Clone, Copy)]
pub(crate) struct SparseRows<'a> {
    pub(crate) offsets: &'a [usize],
    pub(crate) columns: &'a [u32],
    pub(crate) values: &'a [f64],
}

impl<'a> SparseRows<'a> {
    /// All rows of a matrix.
    pub(crate) fn of(csr: &'a Csr) -> Self {
        SparseRows { offsets: csr.row_offsets(), columns: csr.columns(), values: csr.values() }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Where one lies.
    pub(crate) fn positions(&self, row: usize) -> Range<usize> {
        self.offsets[row]..self.offsets[row + 1]
    }
}

/// Adds multiples of rows to the sums in their columns: `factors[n]` times row `rows[n]`, from its position `starts[n]` on.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
pub(crate) fn add_scaled_rows_at(
    sums: &mut [f64],
    factors: &[f64],
    rows: &[u32],
    starts: &[u32],
    from: &SparseRows<'_>,
) {
    for ((&factor, &row), &start) in factors.iter().zip(rows).zip(starts) {
        let row = row as usize;
        let positions = from.offsets[row] + start as usize..from.offsets[row + 1];
        for (&j, &value) in from.columns[positions.clone()].iter().zip(&from.values[positions]) {
            let sum = &mut sums[j as usize];
            *sum = factor.mul_add(value, *sum);
        }
    }
}

/// Adds the products of all values of one row with those of another one to the sums in rows of `cols`: with `is_upper`, where
/// the two are the same row, those on and above the diagonal.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
pub(crate) fn add_row_products(
    sums: &mut [f64],
    cols: usize,
    left: SparseRow<'_>,
    right: SparseRow<'_>,
    is_upper: bool,
) {
    for (place, (&i, &factor)) in left.columns.iter().zip(left.values).enumerate() {
        let sums = &mut sums[i as usize * cols..][..cols];
        let first = if is_upper { place } else { 0 };
        for (&j, &value) in right.columns[first..].iter().zip(&right.values[first..]) {
            let sum = &mut sums[j as usize];
            *sum = factor.mul_add(value, *sum);
        }
    }
}

/// The sum of the values times the factors in these columns, but for factors of zero.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
pub(crate) fn dot_nonzeros(factors: &[f64], columns: &[u32], values: &[f64]) -> f64 {
    let mut sum = 0.0;
    for (&j, &value) in columns.iter().zip(values) {
        let factor = factors[j as usize];
        // Nobody could foretell a branch.
        sum = std::hint::select_unpredictable(factor == 0.0, sum, value.mul_add(factor, sum));
    }
    sum
}

/// The cells behind the `first` ones of `from, from + by, ...`.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
pub(crate) fn progression(cells: &mut [f64], first: usize, from: f64, by: f64) {
    cells.iter_mut().zip(first..).for_each(|(cell, i)| *cell = (i as f64).mul_add(by, from));
}

/// Replaces numbers between 0 and 1 by those as far between `from` and `to`.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
pub(crate) fn spread(cells: &mut [f64], from: f64, to: f64) {
    cells.iter_mut().for_each(|cell| *cell = cell.mul_add(to - from, from));
}
