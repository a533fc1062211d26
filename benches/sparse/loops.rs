//! Expressions of the suite as one would write them by hand. Rows are cut into pieces of equal work,
//! since some have a hundred times as many positions as others.

use crate::by_hand::sparse::{Rows, chain_rows, chain_rows_of_columns, looked_up, products, scatter};
use crate::by_hand::{PIECES, add_scaled, add_up, halved_sum, outer, pieces, sparse};
use crate::data::Data;
use fuseline::{Csr, Dense, MatrixBlock};
use multiversion::multiversion;
use rayon::prelude::*;
use std::ops::Range;

/// An expression by hand.
pub(crate) type Loop = fn(&Data) -> MatrixBlock;

/// All of them, by the names of the suite.
pub(crate) const LOOPS: &[(&str, Loop)] = &[
    ("page rank step", page_rank),
    ("Laplacian times vector", laplacian),
    ("label propagation", label_propagation),
    ("difference of graphs", difference),
    ("union of graphs by row", union_by_row),
    ("tf-idf", tf_idf),
    ("BM25", bm25),
    ("cosine to a query", cosine_to_query),
    ("squared error of a factorisation", squared_error),
    ("gradient by users", gradient_by_users),
    ("gradient by items", gradient_by_items),
    ("logarithmic confidence", logarithmic_confidence),
    ("logistic gradient", logistic_gradient),
    ("Hessian times vector", hessian_times_vector),
    ("scaled features", scaled_features),
    ("gradient of factors", gradient_of_factors),
    ("factorisation machine", factorisation_machine),
    ("column variances", column_variances),
    ("sum of three products", sum_of_three_products),
    ("two sums of products", two_sums_of_products),
    ("distance of rows", distance_of_rows),
    ("scaled on both sides", scaled_on_both_sides),
    ("products by column", products_by_column),
];

/// A row takes as long by itself as so many positions.
const POSITIONS_OF_A_ROW: usize = 4;

/// Columns of the dense matrices of the collections.
const LABELS: usize = 8;
const RANK: usize = 10;
const FACTORS: usize = 4;

/// The loop of an expression.
pub(crate) fn of(expression: &str) -> Option<Loop> {
    LOOPS.iter().find(|(name, _)| *name == expression).map(|(_, run)| *run)
}

/// The rows of one of the pieces.
fn rows_of(x: &Csr, piece: usize) -> Range<usize> {
    let work = |row: usize| x.row_offsets()[row] + POSITIONS_OF_A_ROW * row;
    let start = |piece: usize| {
        let before = work(x.rows()) * piece / PIECES;
        let (mut low, mut high) = (0, x.rows());
        while low < high {
            let middle = low.midpoint(high);
            if work(middle) < before { low = middle + 1 } else { high = middle }
        }
        low
    };
    start(piece)..start(piece + 1)
}

/// Works on all pieces in parallel and gives the results in order.
fn by_rows<T: Send>(x: &Csr, work: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
    (0..PIECES).into_par_iter().map(|piece| work(rows_of(x, piece))).collect()
}

/// A dense result to whose columns, or rows, any row of X may add: each thread has one of its own.
fn dense_sums(
    data: &Data,
    x: &Csr,
    (rows, cols): (usize, usize),
    add: impl Fn(Range<usize>, &mut [f64]) + Sync,
) -> Dense {
    let share = PIECES.div_ceil(rayon::current_num_threads());
    let private = (0..PIECES).into_par_iter().with_min_len(share).fold(
        || data.dense_zeros(rows, cols),
        |mut sums, piece| {
            add(rows_of(x, piece), sums.values_mut());
            sums
        },
    );
    let together = private.reduce_with(|mut sums, others| {
        sums.values_mut().iter_mut().zip(others.values()).for_each(|(sum, other)| *sum += other);
        sums
    });
    together.expect("there are pieces")
}

/// A dense result whose rows follow from rows of X.
fn dense_rows(data: &Data, x: &Csr, cols: usize, fill: impl Fn(Range<usize>, &mut [f64]) + Sync) -> MatrixBlock {
    let mut result = data.dense_result(x.rows(), cols);
    let (mut rest, mut parts) = (result.values_mut(), Vec::new());
    for piece in 0..PIECES {
        let rows = rows_of(x, piece);
        let (part, behind) = rest.split_at_mut(rows.len() * cols);
        parts.push((rows, part));
        rest = behind;
    }
    parts.into_par_iter().for_each(|(rows, part)| fill(rows, part));
    result.into()
}

fn column(values: Vec<f64>) -> MatrixBlock {
    Dense::from_vec(values.len(), 1, values).into()
}

fn row(values: Vec<f64>) -> MatrixBlock {
    Dense::from_vec(1, values.len(), values).into()
}

/// The sum of a term for each position of a row, over eight sums.
#[inline(always)]
fn sum_of_terms(row: (&[u32], &[f64]), mut term: impl FnMut(usize, f64) -> f64) -> f64 {
    let ((columns, last_columns), (values, last_values)) = (row.0.as_chunks::<8>(), row.1.as_chunks::<8>());
    let mut sums = [0.0_f64; 8];
    for (columns, values) in columns.iter().zip(values) {
        for lane in 0..8 {
            sums[lane] += term(columns[lane] as usize, values[lane]);
        }
    }
    let last = last_columns.iter().zip(last_values).map(|(&column, &value)| term(column as usize, value));
    halved_sum(sums) + last.sum::<f64>()
}

/// `0.85 * (t(A) %*% (x / d)) + 0.15 / 50000`
fn page_rank(data: &Data) -> MatrixBlock {
    let (a, x, d) = (data.csr("A"), data.dense("x"), data.dense("d"));
    let size = (a.cols(), 1);
    let mut sums = dense_sums(data, a, size, |rows, sums| send_shares(a, x.values(), d.values(), rows, sums));
    sums.values_mut().iter_mut().for_each(|sum| *sum = 0.85 * *sum + 0.15 / 50000.0);
    sums.into()
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn send_shares(a: &Csr, x: &[f64], d: &[f64], rows: Range<usize>, sums: &mut [f64]) {
    let a = Rows::of(a);
    for row in rows {
        let share = x[row] / d[row];
        let (columns, values) = a.row(row);
        for (&column, &value) in columns.iter().zip(values) {
            let sum = &mut sums[column as usize];
            *sum = share.mul_add(value, *sum);
        }
    }
}

/// `d * x - A %*% x`
fn laplacian(data: &Data) -> MatrixBlock {
    let (a, x, d) = (data.csr("A"), data.dense("x"), data.dense("d"));
    dense_rows(data, a, 1, |rows, out| laplacian_rows(a, x.values(), d.values(), rows, out))
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn laplacian_rows(a: &Csr, x: &[f64], d: &[f64], rows: Range<usize>, out: &mut [f64]) {
    let a = Rows::of(a);
    for (row, out) in rows.zip(out) {
        *out = d[row] * x[row] - looked_up(a.row(row), x);
    }
}

/// `0.9 * ((A / d) %*% Y) + 0.1 * Y`
fn label_propagation(data: &Data) -> MatrixBlock {
    let (a, y, d) = (data.csr("A"), data.dense("Y"), data.dense("d"));
    let y = y.values().as_chunks::<LABELS>().0;
    dense_rows(data, a, LABELS, |rows, out| propagate(a, y, d.values(), rows, out.as_chunks_mut().0))
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn propagate(a: &Csr, y: &[[f64; LABELS]], d: &[f64], rows: Range<usize>, out: &mut [[f64; LABELS]]) {
    let a = Rows::of(a);
    for (row, out) in rows.zip(out) {
        let (sums, scale) = (products(a.row(row), y), 0.9 / d[row]);
        for label in 0..LABELS {
            out[label] = scale * sums[label] + 0.1 * y[row][label];
        }
    }
}

/// `sum(abs(A - B))`: rows are nearly empty, so that they are merged.
fn difference(data: &Data) -> MatrixBlock {
    let (a, b) = (data.csr("A"), data.csr("B"));
    let (of_a, of_b) = (Rows::of(a), Rows::of(b));
    let sums = by_rows(a, |rows| rows.map(|row| distance(of_a.row(row), of_b.row(row))).sum::<f64>());
    MatrixBlock::single(sums.iter().sum())
}

/// Advances without a branch that depends on the columns.
fn distance((a_columns, a_values): (&[u32], &[f64]), (b_columns, b_values): (&[u32], &[f64])) -> f64 {
    let (mut a, mut b, mut sum) = (0, 0, 0.0);
    while a < a_columns.len() && b < b_columns.len() {
        let (takes_a, takes_b) = (a_columns[a] <= b_columns[b], b_columns[b] <= a_columns[a]);
        let cell_of_a = if takes_a { a_values[a] } else { 0.0 };
        let cell_of_b = if takes_b { b_values[b] } else { 0.0 };
        sum += (cell_of_a - cell_of_b).abs();
        a += usize::from(takes_a);
        b += usize::from(takes_b);
    }
    sum + a_values[a..].iter().chain(&b_values[b..]).map(|value| value.abs()).sum::<f64>()
}

/// `rowMaxs(max(A, B))`, where no row is full.
fn union_by_row(data: &Data) -> MatrixBlock {
    let (a, b) = (data.csr("A"), data.csr("B"));
    let (of_a, of_b) = (Rows::of(a), Rows::of(b));
    dense_rows(data, a, 1, |rows, out| {
        for (row, out) in rows.zip(out) {
            let values = of_a.row(row).1.iter().chain(of_b.row(row).1);
            *out = values.fold(0.0, |largest, &value| if value > largest { value } else { largest });
        }
    })
}

/// `T * idf`
fn tf_idf(data: &Data) -> MatrixBlock {
    let (t, idf) = (data.csr("T"), data.dense("idf"));
    let mut result = data.values(t.nnz());
    let chunk = t.nnz().div_ceil(PIECES);
    let chunks = t.columns().par_chunks(chunk).zip(t.values().par_chunks(chunk));
    result.par_chunks_mut(chunk).zip(chunks).for_each(|(out, row)| scale_by_column(row, idf.values(), out));
    t.with_values(result).into()
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn scale_by_column(row: (&[u32], &[f64]), factors: &[f64], out: &mut [f64]) {
    for ((&column, &value), out) in row.0.iter().zip(row.1).zip(out) {
        *out = value * factors[column as usize];
    }
}

/// `rowSums(T * 2.2 / (T + 1.2 * (0.25 + 0.75 * l / 100)) * idf)`
fn bm25(data: &Data) -> MatrixBlock {
    let (t, l, idf) = (data.csr("T"), data.dense("l"), data.dense("idf"));
    dense_rows(data, t, 1, |rows, out| bm25_rows(t, l.values(), idf.values(), rows, out))
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn bm25_rows(t: &Csr, l: &[f64], idf: &[f64], rows: Range<usize>, out: &mut [f64]) {
    let t = Rows::of(t);
    for (row, out) in rows.zip(out) {
        let saturation = 1.2 * (0.25 + 0.75 * l[row] / 100.0);
        *out = sum_of_terms(t.row(row), |column, value| value * 2.2 / (value + saturation) * idf[column]);
    }
}

/// `(T %*% q) / (sqrt(rowSums(T ^ 2)) * sqrt(sum(q ^ 2)) + 0.000000001)`
fn cosine_to_query(data: &Data) -> MatrixBlock {
    let (t, q) = (data.csr("T"), data.dense("q"));
    dense_rows(data, t, 1, |rows, out| cosines(t, q.values(), rows, out))
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn cosines(t: &Csr, q: &[f64], rows: Range<usize>, out: &mut [f64]) {
    let length = q.iter().map(|q| q * q).sum::<f64>().sqrt();
    let t = Rows::of(t);
    for (row, out) in rows.zip(out) {
        let squares = sum_of_terms(t.row(row), |_, value| value * value);
        *out = looked_up(t.row(row), q) / (squares.sqrt() * length + 0.000000001);
    }
}

/// A factor of the ratings, row by row.
fn factors(matrix: &Dense) -> &[[f64; RANK]] {
    matrix.values().as_chunks::<RANK>().0
}

#[inline(always)]
fn product(u: &[f64; RANK], v: &[f64; RANK]) -> f64 {
    let mut cells = [0.0; RANK];
    for k in 0..RANK {
        cells[k] = u[k] * v[k];
    }
    halved_sum(cells)
}

/// `sum((S != 0) * (S - U %*% t(V)) ^ 2)`
fn squared_error(data: &Data) -> MatrixBlock {
    let (s, u, v) = (data.csr("S"), data.dense("U"), data.dense("V"));
    MatrixBlock::single(by_rows(s, |rows| squared_error_of(s, factors(&u), factors(&v), rows)).iter().sum())
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn squared_error_of(s: &Csr, u: &[[f64; RANK]], v: &[[f64; RANK]], rows: Range<usize>) -> f64 {
    let mut sum = 0.0;
    let s = Rows::of(s);
    for row in rows {
        sum += sum_of_terms(s.row(row), |column, rating| {
            let error = rating - product(&u[row], &v[column]);
            error * error
        });
    }
    sum
}

/// `((S != 0) * (U %*% t(V)) - S) %*% V + 0.1 * U`
fn gradient_by_users(data: &Data) -> MatrixBlock {
    let (s, u, v) = (data.csr("S"), data.dense("U"), data.dense("V"));
    let (u, v) = (factors(&u), factors(&v));
    dense_rows(data, s, RANK, |rows, out| user_gradients(s, u, v, rows, out.as_chunks_mut().0))
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn user_gradients(s: &Csr, u: &[[f64; RANK]], v: &[[f64; RANK]], rows: Range<usize>, out: &mut [[f64; RANK]]) {
    let s = Rows::of(s);
    for (row, out) in rows.zip(out) {
        let mut sums = [0.0; RANK];
        let (columns, ratings) = s.row(row);
        for (&column, &rating) in columns.iter().zip(ratings) {
            let v = &v[column as usize];
            add_scaled(&mut sums, product(&u[row], v) - rating, v);
        }
        add_scaled(&mut sums, 0.1, &u[row]);
        *out = sums;
    }
}

/// `t((S != 0) * (U %*% t(V)) - S) %*% U`
fn gradient_by_items(data: &Data) -> MatrixBlock {
    let (s, u, v) = (data.csr("S"), data.dense("U"), data.dense("V"));
    let (u, v) = (factors(&u), factors(&v));
    let size = (s.cols(), RANK);
    dense_sums(data, s, size, |rows, sums| item_gradients(s, u, v, rows, sums.as_chunks_mut().0)).into()
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn item_gradients(s: &Csr, u: &[[f64; RANK]], v: &[[f64; RANK]], rows: Range<usize>, sums: &mut [[f64; RANK]]) {
    let s = Rows::of(s);
    for row in rows {
        let (columns, ratings) = s.row(row);
        for (&column, &rating) in columns.iter().zip(ratings) {
            let column = column as usize;
            add_scaled(&mut sums[column], product(&u[row], &v[column]) - rating, &u[row]);
        }
    }
}

/// `sum(S * log(U %*% t(V) + 0.000000000000001))`
fn logarithmic_confidence(data: &Data) -> MatrixBlock {
    let (s, u, v) = (data.csr("S"), data.dense("U"), data.dense("V"));
    let (u, v) = (factors(&u), factors(&v));
    let sums = by_rows(s, |rows| {
        let (mut products, mut sum) = (Vec::new(), 0.0);
        for row in rows {
            let (columns, ratings) = s.row(row);
            products.resize(columns.len(), 0.0);
            sample(columns, &u[row], v, &mut products);
            sum += outer::weighted_logs(ratings, &mut products);
        }
        sum
    });
    MatrixBlock::single(sums.iter().sum())
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn sample(columns: &[u32], u: &[f64; RANK], v: &[[f64; RANK]], products: &mut [f64]) {
    for (&column, cell) in columns.iter().zip(products) {
        *cell = product(u, &v[column as usize]);
    }
}

/// `t(X) %*% (1 / (1 + exp(-(X %*% w))) - y)`
fn logistic_gradient(data: &Data) -> MatrixBlock {
    let (x, w, y) = (data.csr("X"), data.dense("w"), data.dense("y"));
    column(add_up(by_rows(x, |rows| logistic_rows(x, w.values(), y.values(), rows))))
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn logistic_rows(x: &Csr, w: &[f64], y: &[f64], rows: Range<usize>) -> Vec<f64> {
    chain_rows(x, w, rows, |row, product| 1.0 / (1.0 + (-product).exp()) - y[row])
}

/// `t(X) %*% (e ^ 2 * (X %*% v)) + 0.1 * v`
fn hessian_times_vector(data: &Data) -> MatrixBlock {
    let (x, v, e) = (data.csr("X"), data.dense("v"), data.dense("e"));
    let mut sums = add_up(by_rows(x, |rows| hessian_rows(x, v.values(), e.values(), rows)));
    sums.iter_mut().zip(v.values()).for_each(|(sum, v)| *sum += 0.1 * v);
    column(sums)
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn hessian_rows(x: &Csr, v: &[f64], e: &[f64], rows: Range<usize>) -> Vec<f64> {
    chain_rows(x, v, rows, |row, product| e[row] * e[row] * product)
}

/// `t(X / s) %*% ((X / s) %*% v)`: both divisions are by column, so that vectors are divided.
fn scaled_features(data: &Data) -> MatrixBlock {
    let (x, v, s) = (data.csr("X"), data.dense("v"), data.dense("s"));
    let over_s = |values: &[f64]| values.iter().zip(s.values()).map(|(value, s)| value / s).collect::<Vec<_>>();
    column(over_s(&sparse::chain::<1>(x, &over_s(v.values()))))
}

/// `t(X) %*% (e * (X %*% W))`
fn gradient_of_factors(data: &Data) -> MatrixBlock {
    let (x, w, e) = (data.csr("X"), data.dense("W"), data.dense("e"));
    let sums = add_up(by_rows(x, |rows| factor_rows(x, w.values(), e.values(), rows)));
    Dense::from_vec(x.cols(), FACTORS, sums).into()
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn factor_rows(x: &Csr, w: &[f64], e: &[f64], rows: Range<usize>) -> Vec<f64> {
    chain_rows_of_columns::<FACTORS>(x, w, rows, |row, products| {
        let mut scaled = products;
        for cell in &mut scaled {
            *cell *= e[row];
        }
        scaled
    })
}

/// `X %*% w + 0.5 * rowSums((X %*% W) ^ 2 - (X ^ 2) %*% (W ^ 2))`: the squares of a row of W meet the square of a cell
/// of X, so that they are added up before.
fn factorisation_machine(data: &Data) -> MatrixBlock {
    let (x, w, factors) = (data.csr("X"), data.dense("w"), data.dense("W"));
    let factors = factors.values().as_chunks::<FACTORS>().0;
    let squares: Vec<f64> = factors.iter().map(|row| row.iter().map(|cell| cell * cell).sum()).collect();
    dense_rows(data, x, 1, |rows, out| machine_rows(x, w.values(), factors, &squares, rows, out))
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn machine_rows(x: &Csr, w: &[f64], factors: &[[f64; FACTORS]], squares: &[f64], rows: Range<usize>, out: &mut [f64]) {
    let x = Rows::of(x);
    for (row, out) in rows.zip(out) {
        let own = sum_of_terms(x.row(row), |column, value| value * value * squares[column]);
        let pairs: f64 = products(x.row(row), factors).iter().map(|product| product * product).sum();
        let linear = looked_up(x.row(row), w);
        *out = linear + 0.5 * (pairs - own);
    }
}

/// `colSums(X ^ 2) / 50000 - (colSums(X) / 50000) ^ 2`
fn column_variances(data: &Data) -> MatrixBlock {
    let x = data.csr("X");
    let sums = dense_sums(data, x, (x.cols(), 2), |rows, sums| add_moments(x, rows, sums.as_chunks_mut().0));
    let variance = |[sum, squares]: &[f64; 2]| squares / 50000.0 - (sum / 50000.0).powi(2);
    row(sums.values().as_chunks().0.iter().map(variance).collect())
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn add_moments(x: &Csr, rows: Range<usize>, sums: &mut [[f64; 2]]) {
    let x = Rows::of(x);
    for row in rows {
        let (columns, values) = x.row(row);
        for (&column, &value) in columns.iter().zip(values) {
            add_scaled(&mut sums[column as usize], value, &[1.0, value]);
        }
    }
}

/// `sum(X * Y * Z)`, the emptiest first.
fn sum_of_three_products(data: &Data) -> MatrixBlock {
    MatrixBlock::single(sparse::sum_products(data.csr("Z"), data.csr("Y"), data.csr("X")))
}

/// `sum(X * Y)` and `sum(X * Z)`: the emptier ones are spread side by side, so that each position of X meets both.
fn two_sums_of_products(data: &Data) -> MatrixBlock {
    let (x, y, z) = (data.csr("X"), data.csr("Y"), data.csr("Z"));
    let sums = by_rows(x, |rows| two_sums_of(x, y, z, rows));
    row(sums.into_iter().fold([0.0; 2], |[a, b], [c, d]| [a + c, b + d]).to_vec())
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn two_sums_of(x: &Csr, y: &Csr, z: &Csr, rows: Range<usize>) -> [f64; 2] {
    let mut spread = vec![[0.0_f64; 2]; x.cols()];
    let mut sums = [0.0; 2];
    let (x, y, z) = (Rows::of(x), Rows::of(y), Rows::of(z));
    for row in rows {
        for (side, matrix) in [y, z].into_iter().enumerate() {
            let (columns, values) = matrix.row(row);
            columns.iter().zip(values).for_each(|(&column, &value)| spread[column as usize][side] = value);
        }
        add_scaled(&mut sums, 1.0, &products(x.row(row), &spread));
        for &column in y.row(row).0.iter().chain(z.row(row).0) {
            spread[column as usize] = [0.0; 2];
        }
    }
    sums
}

/// `sqrt(rowSums((Y - Z) ^ 2))`
fn distance_of_rows(data: &Data) -> MatrixBlock {
    let (y, z) = (data.csr("Y"), data.csr("Z"));
    dense_rows(data, y, 1, |rows, out| distances(y, z, rows, out))
}

/// The emptier row is spread; what the other one meets of it is cleared, and the rest is added.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn distances(y: &Csr, z: &Csr, rows: Range<usize>, out: &mut [f64]) {
    let mut of_z = vec![0.0_f64; z.cols()];
    let (y, z) = (Rows::of(y), Rows::of(z));
    for (row, out) in rows.zip(out) {
        scatter(z.row(row), &mut of_z, |value, _| value);
        let mut sum = sum_of_terms(y.row(row), |column, value| {
            let distance = value - std::mem::take(&mut of_z[column]);
            distance * distance
        });
        for &column in z.row(row).0 {
            let cell = std::mem::take(&mut of_z[column as usize]);
            sum += cell * cell;
        }
        *out = sum.sqrt();
    }
}

/// `sum((Y * u) * r)`
fn scaled_on_both_sides(data: &Data) -> MatrixBlock {
    let (y, u, r) = (data.csr("Y"), data.dense("u"), data.dense("r"));
    MatrixBlock::single(pieces(y.rows(), |rows| scaled_sum(y, u.values(), r.values(), rows)).iter().sum())
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn scaled_sum(y: &Csr, u: &[f64], r: &[f64], rows: Range<usize>) -> f64 {
    let mut sum = 0.0;
    let y = Rows::of(y);
    for row in rows {
        sum += u[row] * looked_up(y.row(row), r);
    }
    sum
}

/// `colSums(Y * Z)`
fn products_by_column(data: &Data) -> MatrixBlock {
    let (y, z) = (data.csr("Y"), data.csr("Z"));
    dense_sums(data, y, (1, y.cols()), |rows, sums| add_products(y, z, rows, sums)).into()
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn add_products(y: &Csr, z: &Csr, rows: Range<usize>, sums: &mut [f64]) {
    let mut of_y = vec![0.0_f64; y.cols()];
    let (y, z) = (Rows::of(y), Rows::of(z));
    for row in rows {
        scatter(y.row(row), &mut of_y, |value, _| value);
        let (columns, values) = z.row(row);
        for (&column, &value) in columns.iter().zip(values) {
            let column = column as usize;
            sums[column] = value.mul_add(of_y[column], sums[column]);
        }
        scatter(y.row(row), &mut of_y, |_, _| 0.0);
    }
}
