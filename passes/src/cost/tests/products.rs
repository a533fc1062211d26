//! Products of matrices by themselves and in operators: what they multiply, visit, fetch and move.

use super::*;

/// A dense matrix times a sparse one multiplies the non-zeros alone, as the product of their transposes does.
#[test]
fn products_with_a_sparse_right_side_visit_its_non_zeros() {
    let mut d = Dag::default();
    let (a, x) = (d.read("A", 16, 10_000), d.sparse("X", 10_000, 1000, 100_000));
    let (b, y) = (d.read("B", 10_000, 16), d.sparse("Y", 1000, 10_000, 100_000));
    let product = d.matmul(a, x);
    let t_b = d.t(b);
    let (of_columns, mirrored) = (d.matmul(t_b, x), d.matmul(y, b));
    let work = |id: HopId, inputs: &[HopId]| vector_of(&d.dag, None, &[id], inputs).work;
    let [product, of_columns] = [work(product, &[a, x]), work(of_columns, &[b, x])];
    assert_close(product.flops(), 2.0 * 16.0 * 100_000.0);
    assert_close(product.flops(), work(mirrored, &[y, b]).flops());
    assert_eq!((product.lines, product.non_zeros), (of_columns.lines, of_columns.non_zeros));
    assert_eq!(product.moved - of_columns.moved, 160_000.0, "the left side is transposed");
    assert_eq!(of_columns.moved, 16_000.0, "so is the result");
}

/// Of two sparse matrices non-zeros are multiplied with those of the rows that they begin.
#[test]
fn products_of_sparse_matrices_multiply_what_they_visit() {
    let mut d = Dag::default();
    let (x, y) = (d.sparse("X", 50_000, 20_000, 100_000), d.sparse("Y", 20_000, 40_000, 80_000));
    let product = d.matmul(x, y);
    let work = vector_of(&d.dag, None, &[product], &[x, y]).work;
    assert_close(work.flops(), 2.0 * 100_000.0 * 4.0);
}

/// The work of `t(X) %*% (X %*% V)`, X sparse, as a Row operator.
fn of_two_products(cols: u64) -> Work {
    let mut d = Dag::default();
    let (x, v) = (d.sparse("X", 1000, 100, 1000), d.read("V", 100, cols));
    let product = d.matmul(x, v);
    let transposed = d.t(x);
    let root = d.matmul(transposed, product);
    vector_of(&d.dag, Some(TemplateType::Row), &[product, transposed, root], &[x, v]).work
}

/// The second product finds the row of a sparse matrix in the nearest cache.
#[test]
fn a_second_product_visits_non_zeros_again() {
    let work = of_two_products(1);
    assert_eq!((work.non_zeros, work.non_zeros_again, work.sparse_rows), (1000.0, 1000.0, 1000.0));
}

/// If both have several columns, it visits half of them anew.
#[test]
fn a_second_product_with_several_columns_visits_half_of_the_non_zeros() {
    let work = of_two_products(4);
    assert_eq!((work.non_zeros, work.non_zeros_again), (1500.0, 0.0));
}

/// One row of results is added up, row after row of the right side.
#[test]
fn basic_products_compute_apart_from_reading() {
    let apart = |rows: u64, inner: u64, cols: u64| {
        let mut d = Dag::default();
        let (x, y) = (d.read("X", rows, inner), d.read("Y", inner, cols));
        let product = d.matmul(x, y);
        vector_of(&d.dag, None, &[product], &[x, y]).computes_apart
    };
    assert!(apart(1, 1000, 10));
    assert!(!apart(1, 1000, 1) && !apart(1000, 100, 1) && !apart(1000, 100, 4));
}

/// Products of matrices pack what they read, but not the left side for few columns, nor anything where rows are short;
/// transposed sparse ones merge private results, unless ranges of columns add to one.
#[test]
fn products_move_cells() {
    let mut d = Dag::default();
    let (x, v, y) = (d.read("X", 1000, 30_000), d.read("V", 30_000, 5), d.read("Y", 30_000, 50));
    let (short, few) = (d.read("Z", 1000, 100), d.read("W", 100, 5));
    let moved = |dag: &HopDag, id: HopId| vector_of(dag, None, &[id], &dag[id].inputs).work.moved;
    let (narrow, wide, by_rows) = (d.matmul(x, v), d.matmul(x, y), d.matmul(short, few));
    assert_close(moved(&d.dag, narrow), 0.4 * (150_000.0 + 5000.0));
    assert_close(moved(&d.dag, wide), 0.4 * (30_000_000.0 + 1_500_000.0));
    assert_eq!(moved(&d.dag, by_rows), 0.0);
    let s = d.sparse("S", 2000, 2000, 40_000);
    let transposed = d.t(s);
    let [one, merged] = [1, 10].map(|cols| {
        let factor = d.read(&format!("U{cols}"), 2000, cols);
        d.matmul(transposed, factor)
    });
    assert_close(moved(&d.dag, one), 2.0 * 2000.0);
    let (fewer, factor) = (d.sparse("F", 2000, 2000, 20_000), d.read("u", 2000, 1));
    let transposed = d.t(fewer);
    let single = d.matmul(transposed, factor);
    assert_eq!(moved(&d.dag, single), 0.0);
    // Seven blocks' work, but non-zeros for two results.
    assert_close(moved(&d.dag, merged), 2.0 * 20_000.0);
    let (many, factor) = (d.sparse("N", 2000, 2000, 80_000), d.read("U600", 2000, 600));
    let transposed = d.t(many);
    let wide = d.matmul(transposed, factor);
    assert_eq!(moved(&d.dag, wide), 0.0);
    let more = d.sparse("M", 2000, 2000, 150_000);
    let (transposed, factor) = (d.t(more), d.read("U", 2000, 10));
    let merged = d.matmul(transposed, factor);
    // Non-zeros for seven, in a power of two ranges.
    assert_close(moved(&d.dag, merged), 4.0 * 20_000.0);
}

/// A product with a sparse transpose stores the transpose first, unless it adds up products of rows, as a transpose by itself does;
/// one thread does where it has many columns for its non-zeros.
#[test]
fn transposes_that_products_form_are_stored() {
    let mut d = Dag::default();
    let (x, y) = (d.sparse("X", 500, 100_000, 50_000), d.sparse("Y", 500, 100_000, 50));
    let z = d.sparse("Z", 500, 200, 20_000);
    let (xt, zt) = (d.t(x), d.t(z));
    let (right, left, by_rows) = (d.matmul(y, xt), d.matmul(xt, y), d.matmul(zt, z));
    d.dag.hops[left].size = SizeInfo::with_nnz(100_000, 100_000, 5000);
    let vector = |members: &[HopId], inputs: &[HopId]| vector_of(&d.dag, None, members, inputs);
    let (alone, on_right) = (vector(&[xt], &[x]), vector(&[right], &[y, xt]));
    assert_close(alone.work.moved, 1e5 + 6.0 * 50_000.0);
    assert_close(on_right.work.moved, 1.5e5 + 6.0 * 50_000.0);
    assert!(on_right.work.stored >= alone.work.stored && alone.work.stored == 50_000.0);
    assert!(vector(&[left], &[xt, y]).work.stored >= 50_000.0);
    assert_eq!(vector(&[by_rows], &[zt, z]).work.moved, 0.0);
    assert!(!alone.is_shared && !on_right.is_shared);
    // Of a dense matrix the cells move.
    let mut d = Dag::default();
    let (s, v) = (d.sparse("S", 2000, 300, 20_000), d.read("V", 100, 300));
    let vt = d.t(v);
    let product = d.matmul(s, vt);
    assert_close(vector_of(&d.dag, None, &[product], &[s, vt]).work.moved, 3e4);
}

/// Threads share products by rows, or by a long inner dimension.
#[test]
fn products_are_shared_by_rows() {
    let is_shared = |rows: u64, inner: u64| {
        let mut d = Dag::default();
        let (x, y) = (d.read("X", rows, inner), d.read("Y", inner, 500));
        let product = d.matmul(x, y);
        vector_of(&d.dag, None, &[product], &[x, y]).is_shared
    };
    assert!(!is_shared(128, 500) && is_shared(129, 500));
    assert!(is_shared(100, 4096));
}

/// Tiles of products are multiplied as matrices are, with a factor again, and each of their cells is stored once, which costs
/// less than to begin a product.
#[test]
fn tiles_of_products_are_multiplied_as_a_whole() {
    let mut d = Dag::default();
    let (w, u, v) = (d.sparse("W", 500, 400, 500 * 400), d.read("U", 500, 10), d.read("V", 400, 10));
    let transposed = d.t(v);
    let product = d.matmul(u, transposed);
    let weighted = d.mult(w, product);
    let by_factor = d.matmul(weighted, v);
    let members = [transposed, product, weighted, by_factor];
    let work = vector_of(&d.dag, Some(TemplateType::Outer), &members, &[w, u, v]).work;
    assert_close(work.flops_of(OperationClass::MatrixProduct), 2.0 * 2.0 * 10.0 * 500.0 * 400.0);
    assert_close(work.flops_of(OperationClass::Product), 0.0);
    assert_close(work.runs, 0.4 * 500.0 * 400.0);
}

/// Each non-zero on the left of a product begins a row of a sparse matrix on the right.
#[test]
fn products_of_sparse_matrices_begin_rows_for_non_zeros() {
    let mut d = Dag::default();
    let (x, y) = (d.sparse("X", 200, 100, 2000), d.sparse("Y", 100, 50, 500));
    let product = d.matmul(x, y);
    let work = vector_of(&d.dag, None, &[product], &[x, y]).work;
    assert_eq!((work.sparse_rows, work.non_zeros), (0.55 * (200.0 + 100.0) + 2000.0, 2000.0 + 500.0 + 2000.0 * 5.0));
}

/// And fetches a row of a dense one, if that is wide.
#[test]
fn products_with_wide_rows_fetch_lines_for_non_zeros() {
    let lines = |cols: u64| {
        let mut d = Dag::default();
        let (x, y) = (d.sparse("X", 200, 100, 2000), d.read("Y", 100, cols));
        let product = d.matmul(x, y);
        vector_of(&d.dag, None, &[product], &[x, y]).inputs[1].lines
    };
    // A line is waited for, and those behind it follow.
    assert_eq!([4, 80].map(lines), [2000.0 * (1.0 + 0.3 * 0.5), 2000.0 * (1.0 + 0.3 * 10.0)]);
}

/// A transposed sparse matrix of few non-zeros times a wide one is that of the transpose, which is formed: threads share the rows of
/// the result, and lines are fetched of the right side. One thread adds up a narrow one.
#[test]
fn wide_products_of_few_non_zeros_form_the_transpose() {
    let mut d = Dag::default();
    let (x, wide, narrow) = (d.sparse("X", 2000, 3000, 4000), d.read("W", 2000, 200), d.read("V", 2000, 40));
    let transposed = d.t(x);
    let [of_wide, of_narrow] = [wide, narrow].map(|right| {
        let product = d.matmul(transposed, right);
        vector_of(&d.dag, None, &[product], &[transposed, right])
    });
    assert_eq!((of_wide.work.lines, of_wide.inputs[1].lines), (0.0, 4000.0 * (1.0 + 0.3 * 25.0)));
    assert_eq!((of_narrow.work.lines, of_narrow.inputs[1].lines), (2.0 * 4000.0 * (1.0 + 0.3 * 5.0), 0.0));
    assert!(of_wide.work.moved > 0.0 && of_narrow.work.moved == 0.0);
    // Rows of the result begin, and those of X where it is read as it lies.
    assert_eq!([of_wide.work.runs, of_narrow.work.runs], [3000.0, 2000.0]);
    assert_close(of_wide.work.sparse_rows / of_narrow.work.sparse_rows, 1.5);
    assert!(of_wide.is_shared && !of_narrow.is_shared);
}

/// A part of a product of a matrix with itself is copied.
#[test]
fn symmetric_products_compute_less() {
    let mut d = Dag::default();
    let (x, y) = (d.read("X", 1000, 100), d.read("Y", 1000, 100));
    let transposed = d.t(x);
    let (gram, product) = (d.matmul(transposed, x), d.matmul(transposed, y));
    let [gram, product] = [(gram, x), (product, y)]
        .map(|(root, right)| vector_of(&d.dag, None, &[root], &[transposed, right]).work.flops());
    assert_close(gram / product, 0.8);
}
