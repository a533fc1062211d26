//! The scripts that tell the rates of the compiler and of fused operators.

use super::CELL_BYTES;
use super::hardware::cache_bytes;
use fuseline_passes::cost::BLOCK_CELLS;

/// Multiplications and additions of the polynomial of [`arithmetic_script`].
const CHAIN: usize = 24;
/// All operations per cell: the last product and the sum, too.
pub(super) const OPERATIONS: usize = CHAIN + 2;
/// Columns of the matrix of short rows.
pub(super) const SHORT: usize = 8;
/// Fused operators on a tiny matrix, over cells.
pub(super) const TINY_CELLS: [&str; 4] =
    ["s = sum(X * X * (X + i))", "Y = X * i + X / 2", "R = colSums(X * X * i)", "m = max(abs(X - i))"];
/// Fused operators on a tiny matrix, over its rows, of which there are some.
pub(super) const TINY_ROWS: [&str; 4] = [
    "v = rowSums(X / (rowSums(X) + i))",
    "S = X / (rowSums(X) + i)",
    "V = t(X) %*% (X / (rowSums(X) + i))",
    "C = colSums(X / (rowMaxs(X) + i))",
];
/// Dimensions of tiny matrices.
pub(super) const TINY: [usize; 2] = [4, 4];
pub(super) const TALL: [usize; 2] = [100, 8];
/// Columns, and non-zeros of a row on average, of a sparse matrix of short rows.
const FEW_COLUMNS: usize = 64;
pub(super) const FEW_NON_ZEROS: usize = 5;
/// Rows, columns, and non-zeros of each row of a sparse matrix.
pub(super) const MANY_ROWS: usize = 2000;
const MANY_COLUMNS: usize = 1000;
pub(super) const MANY_NON_ZEROS: usize = 100;
/// Rows and columns of a sparse matrix, non-zeros of each row, and columns of the factors that it is multiplied with.
pub(super) const SIDE: usize = 4000;
pub(super) const FACTOR_NON_ZEROS: usize = 20;
pub(super) const RANK: usize = 48;
/// Rows, columns and non-zeros of each row of a sparse matrix that is multiplied with a dense one, cell by cell.
pub(super) const GATHERED_ROWS: usize = 5000;
const GATHERED_COLUMNS: usize = 1000;
pub(super) const GATHERED: usize = 10;
/// Values of a long row.
pub(super) const LONG: usize = 250;
/// Columns of a matrix that the cache which cores share holds in part.
pub(super) const FOUND_COLUMNS: usize = 1000;
/// Columns of a matrix of narrow rows, which are no whole registers.
pub(super) const NARROW: usize = 10;
/// Operations of [`arithmetic_rows_script`] on a cell.
pub(super) const ROW_OPERATIONS: usize = 3;
/// Loops of [`arithmetic_rows_script`] over the cells of a row.
pub(super) const ROW_LOOPS: usize = 2;
/// How often each operator over more than a few rows runs.
const FEW: usize = 4;
/// How often each other one runs.
const REPEATS: usize = 20;

/// A sum of products of tiny matrices.
pub(super) fn tiny_script() -> String {
    format!("X = rand(rows=4, cols=4, seed=1)\nfor (i in 1:{REPEATS}) {{\n  {}\n}}\n", TINY_CELLS[0])
}

/// Operators on a tiny matrix of these dimensions as scripts have them: a few, each so many times, after one, never fused,
/// that runs over some megabytes. What starting takes is not in the caches then, which is several times as long as running
/// the same operator again and again. Each is in a block of its own, so that none is fused with the others.
pub(super) fn after_others(operators: &[&str], [rows, cols]: [usize; 2], times: usize) -> String {
    let blocks: String = operators.iter().map(|operator| format!("  if (i > 0) {{\n    {operator}\n  }}\n")).collect();
    format!(
        "X = rand(rows={rows}, cols={cols}, seed=1)\nZ = rand(rows=2000, cols=500, seed=2)\n\
         for (i in 1:{REPEATS}) {{\n  if (i > 0) {{\n    other = cumsum(Z)\n  }}\n{}}}\n",
        blocks.repeat(times)
    )
}

/// A sum over so many blocks of cells, each time after others on tiny matrices that one thread does: meanwhile those that
/// wait for work have gone to sleep, as they mostly have in scripts.
pub(super) fn block_script(blocks: usize, others: usize) -> String {
    let rows = BLOCK_CELLS * blocks / 64;
    let others = "  Z = Z %*% Z\n".repeat(others);
    format!(
        "X = rand(rows={rows}, cols=64, seed=1)\nZ = rand(rows=4, cols=4, max=0.25, seed=2)\n\
         for (i in 1:{REPEATS}) {{\n{others}  s = sum(X * (X + i))\n}}\n"
    )
}

/// Two products with a matrix of short rows, in one pass over them.
pub(super) fn short_rows_script(rows: usize) -> String {
    chain_script(&format!("rand(rows={rows}, cols={SHORT}, seed=1)"), rows, SHORT)
}

/// Sums of the short rows of two matrices' product, cell by cell.
pub(super) fn cell_rows_script(rows: usize) -> String {
    format!("X = rand(rows={rows}, cols={SHORT}, seed=1)\nfor (i in 1:{REPEATS}) {{\n  r = rowSums(X * (X + i))\n}}\n")
}

/// The products with rows of few non-zeros.
pub(super) fn sparse_rows_script(rows: usize) -> String {
    let sparsity = FEW_NON_ZEROS as f64 / FEW_COLUMNS as f64;
    chain_script(&format!("rand(rows={rows}, cols={FEW_COLUMNS}, sparsity={sparsity}, seed=1)"), rows, FEW_COLUMNS)
}

/// A product with rows of many non-zeros, each times a value of its row: one that is given, or one that another walk through
/// these finds.
pub(super) fn many_non_zeros_script(value: &str) -> String {
    let sparsity = MANY_NON_ZEROS as f64 / MANY_COLUMNS as f64;
    format!(
        "X = rand(rows={MANY_ROWS}, cols={MANY_COLUMNS}, sparsity={sparsity}, seed=1)\n\
         u = rand(rows={MANY_ROWS}, cols=1, seed=3)\nw = rand(rows={MANY_COLUMNS}, cols=1, seed=2)\n\
         for (i in 1:{REPEATS}) {{\n  v = (X * {value}) %*% w\n}}\n"
    )
}

/// The sum of the products of non-zeros and cells of a dense matrix beyond the caches, each time after an operator that
/// reads all of it, so that the cells of the time before are gone.
pub(super) fn gathered_script() -> String {
    let sparsity = GATHERED as f64 / GATHERED_COLUMNS as f64;
    format!(
        "X = rand(rows={GATHERED_ROWS}, cols={GATHERED_COLUMNS}, sparsity={sparsity}, seed=1)\n\
         Y = rand(rows={GATHERED_ROWS}, cols={GATHERED_COLUMNS}, seed=2)\n\
         for (i in 1:{FEW}) {{\n  other = rowMaxs(Y)\n  if (i > 0) {{\n    s = sum(X * Y)\n  }}\n}}\n"
    )
}

/// The sum of the products of non-zeros and rows of factors, twice after an operator that takes these from the nearest
/// caches.
pub(super) fn factors_script() -> String {
    let sparsity = FACTOR_NON_ZEROS as f64 / SIDE as f64;
    let again = "  if (i > 0) {\n    s = sum(X * (U %*% t(V)))\n  }\n";
    format!(
        "X = rand(rows={SIDE}, cols={SIDE}, sparsity={sparsity}, seed=1)\n\
         U = rand(rows={SIDE}, cols={RANK}, seed=2)\nV = rand(rows={SIDE}, cols={RANK}, seed=3)\n\
         Z = rand(rows=2000, cols=500, seed=4)\n\
         for (i in 1:{FEW}) {{\n  if (i > 0) {{\n    other = cumsum(Z)\n  }}\n{again}{again}}}\n"
    )
}

/// The rows of a matrix of half the cache that threads share, which is not measured beyond some size.
pub(super) fn half_cache_rows() -> usize {
    const MOST_BYTES: f64 = 64e6;
    ((cache_bytes()[2] / 2.0).min(MOST_BYTES) / (CELL_BYTES * FOUND_COLUMNS as f64)).ceil() as usize
}

/// Reads a matrix that is found in a cache in part, each time after an operator over matrices of its size: scripts mostly have
/// several in play.
pub(super) fn found_script(rows: usize) -> String {
    format!(
        "X = rand(rows={rows}, cols={FOUND_COLUMNS}, seed=1)\nZ = rand(rows={rows}, cols={FOUND_COLUMNS}, seed=4)\n\
         for (i in 1:{FEW}) {{\n  if (i > 0) {{\n    other = rev(Z)\n  }}\n\
         \x20 if (i > 0) {{\n    s = sum(X * (X + i))\n  }}\n}}\n"
    )
}

/// Writes a matrix of half the cache that threads share, each time after an operator over matrices of its size.
pub(super) fn written_script(rows: usize) -> String {
    format!(
        "X = rand(rows={rows}, cols={FOUND_COLUMNS}, seed=1)\nfor (i in 1:{FEW}) {{\n\
         \x20 if (i > 0) {{\n    other = rev(X)\n  }}\n  if (i > 0) {{\n    D = X * 2\n  }}\n}}\n"
    )
}

/// Operations on rows one after the other, in the caches of a core.
pub(super) fn arithmetic_rows_script(rows: usize, cols: usize) -> String {
    format!(
        "X = rand(rows={rows}, cols={cols}, seed=1)\n\
         for (i in 1:{REPEATS}) {{\n  v = colSums(X * (rowMaxs(X) + i))\n}}\n"
    )
}

fn chain_script(x: &str, rows: usize, cols: usize) -> String {
    format!(
        "X = {x}\nv = rand(rows={cols}, cols=1, seed=2)\n\
         for (i in 1:{REPEATS}) {{\n  v = t(X) %*% (X %*% v) / {rows}\n}}\n"
    )
}

/// The sum of a polynomial, by Horner's rule.
pub(super) fn arithmetic_script() -> String {
    let rows = BLOCK_CELLS / 64;
    let polynomial = (1..CHAIN / 2).fold("(X * 0.5 + 0.25)".to_owned(), |inner, _| format!("({inner} * X + 0.5)"));
    format!("X = rand(rows={rows}, cols=64, seed=1)\nfor (i in 1:{REPEATS}) {{\n  s = sum({polynomial} * i)\n}}\n")
}
