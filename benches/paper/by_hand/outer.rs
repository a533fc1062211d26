//! Operators over an outer product U V' that is computed only where a driver X has non-zeros: sampled products, then
//! what is done with them.

use super::{add_scaled, add_up, dot, four_dots, pieces};
use fuseline::{Csr, Dense};
use fuseline_ir::ops::UnaryOp;
use fuseline_vecprims::{Isa, Tile, TileMut, primitives};
use gemm::Parallelism;
use multiversion::multiversion;
use std::ops::Range;

/// Keeps the logarithm of a zero finite.
pub(crate) const EPSILON: f64 = 1e-15;

/// Rows and columns of the tiles of a dense driver: a tile stays in the second-level cache.
const TILE: (usize, usize) = (128, 512);

/// `sum(X * log(U %*% t(V) + 1e-15))`, sparse.
pub(crate) fn sum_of_logs(x: &Csr, u: &Dense, v: &Dense) -> f64 {
    pieces(x.rows(), |rows| logs_of_rows(x, u, v, rows)).into_iter().sum()
}

fn logs_of_rows(x: &Csr, u: &Dense, v: &Dense, rows: Range<usize>) -> f64 {
    let mut products = Vec::new();
    let mut sum = 0.0;
    for row in rows {
        let (columns, values) = x.row(row);
        products.resize(columns.len(), 0.0);
        sample(columns, u.row(row), v, &mut products);
        sum += weighted_logs(values, &mut products);
    }
    sum
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn sample(columns: &[u32], u: &[f64], v: &Dense, products: &mut [f64]) {
    let ((groups, last), (fours, rest)) = (columns.as_chunks::<4>(), products.as_chunks_mut::<4>());
    for (group, products) in groups.iter().zip(fours) {
        let [c0, c1, c2, c3] = *group;
        *products = four_dots([v.row(c0 as usize), v.row(c1 as usize), v.row(c2 as usize), v.row(c3 as usize)], u);
    }
    for (&column, product) in last.iter().zip(rest) {
        *product = dot(u, v.row(column as usize));
    }
}

/// The sum of `weights * log(cells + 1e-15)`; `cells` are used up.
pub(crate) fn weighted_logs(weights: &[f64], cells: &mut [f64]) -> f64 {
    shift(cells);
    logarithms(cells);
    weighted_sum(weights, cells)
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn shift(cells: &mut [f64]) {
    cells.iter_mut().for_each(|cell| *cell += EPSILON);
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn weighted_sum(weights: &[f64], cells: &[f64]) -> f64 {
    dot(weights, cells)
}

/// The standard library has no vector logarithm: this is our own.
fn logarithms(cells: &mut [f64]) {
    let mut block = [0.0; 512];
    for cells in cells.chunks_mut(block.len()) {
        let out = &mut block[..cells.len()];
        let (from, to) = (Tile::new(cells, cells.len()), TileMut::new(out, cells.len()));
        primitives(Isa::detect()).unary(UnaryOp::Log, 1, cells.len(), from, to);
        cells.copy_from_slice(out);
    }
}

/// `sum(X * log(U %*% t(V) + 1e-15))`, dense: products by tiles.
pub(crate) fn dense_sum_of_logs(x: &Dense, u: &Dense, v: &Dense) -> f64 {
    let of_rows = |rows: Range<usize>| {
        let mut sum = 0.0;
        for_each_tile(rows, u, v, |row, columns, cells| {
            sum += weighted_logs(&x.row(row)[columns], cells);
        });
        sum
    };
    pieces(x.rows(), of_rows).into_iter().sum()
}

/// The tiles' products and logarithms alone: what the operator takes at least.
pub(crate) fn products_and_logs(u: &Dense, v: &Dense) -> f64 {
    let of_rows = |rows: Range<usize>| {
        let mut last = 0.0;
        for_each_tile(rows, u, v, |_, _, cells| {
            logarithms(cells);
            last = cells[0];
        });
        last
    };
    pieces(u.rows(), of_rows).into_iter().sum()
}

/// Visits the rows of all tiles of `U %*% t(V)` within some rows.
fn for_each_tile(rows: Range<usize>, u: &Dense, v: &Dense, mut visit: impl FnMut(usize, Range<usize>, &mut [f64])) {
    let mut tile = vec![0.0; TILE.0 * TILE.1];
    for first_row in rows.clone().step_by(TILE.0) {
        let last_row = rows.end.min(first_row + TILE.0);
        for first_col in (0..v.rows()).step_by(TILE.1) {
            let last_col = v.rows().min(first_col + TILE.1);
            let cols = last_col - first_col;
            multiply(&mut tile, u, first_row..last_row, v, first_col..last_col);
            for (row, cells) in (first_row..last_row).zip(tile.chunks_exact_mut(cols)) {
                visit(row, first_col..last_col, cells);
            }
        }
    }
}

/// Some cells of `U %*% t(V)`, row by row.
fn multiply(tile: &mut [f64], u: &Dense, rows: Range<usize>, v: &Dense, cols: Range<usize>) {
    let rank = u.cols();
    let (height, width) = (rows.len(), cols.len());
    let (u, v) = (&u.values()[rows.start * rank..rows.end * rank], &v.values()[cols.start * rank..cols.end * rank]);
    let stride = |length: usize| isize::try_from(length).expect("tiles are small");
    assert!(tile.len() >= height * width);
    // SAFETY: `tile` has height x width cells, `u` height x rank and `v` width x rank, all of them row by row.
    unsafe {
        gemm::gemm(
            height,
            width,
            rank,
            tile.as_mut_ptr(),
            1,
            stride(width),
            false,
            u.as_ptr(),
            1,
            stride(rank),
            v.as_ptr(),
            stride(rank),
            1,
            0.0,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

/// `((X != 0) * (U %*% t(V))) %*% V`
pub(crate) fn right_update(x: &Csr, u: &Dense, v: &Dense) -> Vec<f64> {
    pieces(x.rows(), |rows| right_rows(x, u, v, rows)).concat()
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn right_rows(x: &Csr, u: &Dense, v: &Dense, rows: Range<usize>) -> Vec<f64> {
    let rank = u.cols();
    let mut out = vec![0.0; rows.len() * rank];
    for (row, sum) in rows.zip(out.chunks_exact_mut(rank)) {
        for &column in x.row(row).0 {
            let v = v.row(column as usize);
            add_scaled(sum, dot(u.row(row), v), v);
        }
    }
    out
}

/// `t((X != 0) * (U %*% t(V))) %*% U`
pub(crate) fn left_update(x: &Csr, u: &Dense, v: &Dense) -> Vec<f64> {
    add_up(pieces(x.rows(), |rows| left_rows(x, u, v, rows)))
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn left_rows(x: &Csr, u: &Dense, v: &Dense, rows: Range<usize>) -> Vec<f64> {
    let rank = u.cols();
    let mut out = vec![0.0; v.rows() * rank];
    for row in rows {
        let u = u.row(row);
        for &column in x.row(row).0 {
            let column = column as usize;
            add_scaled(&mut out[column * rank..(column + 1) * rank], dot(u, v.row(column)), u);
        }
    }
    out
}
