//! How basic products of matrices run: which loop takes them, and how its work is cut. These are functions of shapes alone,
//! which kernels act on and the cost model prices.

use crate::work::{MAX_PARTIALS, block_rows, even_blocks, partial_ranges, weight_in_cells};

/// Columns that are few: products of a matrix with its own transpose, and of narrow cells, with at most so many on the right run on
/// vector primitives.
pub const FEW_COLUMNS: usize = 8;

/// Columns on the right up to which `t(A) %*% B` adds up products of rows where its cells stay in the nearest caches: it reads
/// A as it lies, once. With more, packed blocks make up for what they move. Measured with AVX-512.
const ROW_PRODUCT_COLUMNS: usize = 24;

/// Columns of B up to which `A %*% B` adds up scaled rows of B, row after row of A, for the same reason, where B has few rows.
const ADDED_COLUMNS: usize = 32;

/// Rows of such a B, at most: it stays in the nearest caches, and each sum is one chain, as it is in packed blocks.
const ADDED_ROWS: usize = 512;

/// Columns of a B of more rows, at most.
const ADDED_FAR_COLUMNS: usize = 16;

/// Cells of such a B, at most: it stays in the second-level cache. Measured with AVX-512.
const ADDED_FAR_CELLS: usize = 1 << 17;

/// Rows of a B of two columns, at most: `A %*% B` has a dot product of a row with each of them then. Measured with AVX-512.
const TWO_COLUMNS_ROWS: usize = 8192;

/// Rows that `A %*% B` takes at once: their sums stay in registers together.
const ROWS_AT_ONCE: usize = 8;

/// Rows of at most so many values are short.
pub const SHORT_ROW: usize = 16;

/// Rows of at most so many values are short whatever the columns: packed blocks would pass over the product twice.
const SHORTEST_ROW: usize = 2;

/// The inner dimension from which on a product of few cells is a sum of private parts, one for each range of the inner
/// dimension, since these are worth their merge.
pub const LONG_INNER: usize = 4096;

/// Cells of such a product, at most: 2 MiB for each part.
pub const PRIVATE_CELLS: usize = 1 << 18;

/// Rows of a block of a product of few rows, and of one with a matrix's own transpose.
pub const BLOCK_ROWS: usize = 128;

/// Blocks that products of more than a few rows have at least.
const FEWEST_BLOCKS: usize = 4;

/// Cells of the result of a block, about: packing the right side for each block is cheap beside the product then.
const PACKED_CELLS: usize = 1 << 18;

/// Cells of a result that are filled in the time that a non-zero takes to reach its row of one that no near cache holds. Ranges
/// of rows with results of their own, which are added up, too, have one of these for each non-zero at most.
const CELLS_PER_FAR_NON_ZERO: usize = 4;

/// The results that ranges of rows have all the same where ranges of columns would be a single one.
const FEW_RESULTS: usize = 2;

/// Cells of the result of a range of columns, about: they stay in the second-level cache.
const NEAR_CELLS: usize = 1 << 15;

/// Cells of the result of a range of columns, at most, where ranges of rows would do: 1 MiB, a second-level cache.
const FAR_CELLS: usize = 1 << 17;

/// Cells of the left side for each of the result from which on `t(A) %*% B` adds up a result that no near cache holds. Measured
/// with AVX-512.
const CELLS_PER_FAR_SUM: usize = 64;

/// The fewest non-zeros that a row has in a range of columns, on average: to find fewer takes longer than to add them.
const FEWEST_IN_RANGE: usize = 16;

/// Terms of a cell of `t(A) %*% B` of two sparse matrices, on average, from which on a dense result is expected: two cells of a
/// hundred have none where columns are independent.
const TERMS_OF_CELL: usize = 4;

/// The fewest non-zeros of a range of rows whose transpose is worth a thread of its own.
const TRANSPOSED_NON_ZEROS: usize = 1 << 15;

/// The fewest non-zeros that a column has in such a range, on average: fewer take longer to put together than to sort.
const TRANSPOSED_RUN: usize = 4;

/// The fewest columns of the result of a range of columns of the left side: parts of rows, which lie apart, take longer to read
/// than to add them to fewer.
const FEWEST_BY_RANGE: usize = 16;

/// The fewest columns of a result for which a sparse left side is transposed: to bring a non-zero to its place takes as long as to add
/// about so many products. Measured with AVX-512.
const FEWEST_WHEN_TRANSPOSED: usize = 64;

/// The fewest cells of a result that is worth ranges of columns: of fewer, 4 MiB, both results of ranges of rows stay in a last
/// cache while they are added up, which takes less than to read the left side in parts. Measured with AVX-512.
const FEWEST_CELLS_BY_RANGE: usize = 1 << 19;

/// What a product extends over: its rows and columns, and the dimension that it sums over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extents {
    /// Rows of the result.
    pub rows: usize,
    /// The dimension that is summed over.
    pub inner: usize,
    /// Columns of the result.
    pub cols: usize,
}

impl Extents {
    /// Whether the result stays in the second-level cache while it is added up.
    pub fn has_near_sums(self) -> bool {
        self.rows.saturating_mul(self.cols) <= NEAR_CELLS
    }

    /// How many even ranges of its rows the result has, each of which stays in that cache.
    pub fn near_ranges(self) -> usize {
        even_blocks(self.rows.saturating_mul(self.cols), NEAR_CELLS)
    }
}

/// The loop that computes a product of dense matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProductLoop {
    /// Each row of one side times the single column of the other.
    Dots,
    /// The rows of the right side, each scaled by a value of the single row on the left, are added up.
    ScaledRows,
    /// Row after row, of few values or with few columns: each value times a row of the right side, or a dot product with each of two
    /// columns.
    ShortRows,
    /// `t(A) %*% B` with few columns: the products of the rows of both are added up.
    RowProducts,
    /// Blocks of packed rows and columns.
    Packed,
}

impl ProductLoop {
    /// Of `A %*% B`.
    pub fn plain(extents: Extents) -> Self {
        match extents {
            Extents { rows: 1, cols, .. } if cols > 1 => ProductLoop::ScaledRows,
            Extents { cols: 1, .. } => ProductLoop::Dots,
            _ if has_short_rows(extents) => ProductLoop::ShortRows,
            _ => ProductLoop::Packed,
        }
    }

    /// Of `t(A) %*% B`.
    pub fn with_transposed_left(extents: Extents) -> Self {
        match extents {
            Extents { cols, .. } if cols <= FEW_COLUMNS => ProductLoop::RowProducts,
            Extents { inner, cols, .. } if cols <= ROW_PRODUCT_COLUMNS => {
                let is_small = extents.has_near_sums() || inner >= CELLS_PER_FAR_SUM * cols;
                if is_small { ProductLoop::RowProducts } else { ProductLoop::Packed }
            }
            // A column that is transposed is a row.
            Extents { rows: 1, .. } => ProductLoop::ScaledRows,
            _ => ProductLoop::Packed,
        }
    }

    /// Of `A %*% t(B)`.
    pub fn with_transposed_right(extents: Extents) -> Self {
        match extents {
            // A row times a transpose is the matrix times the row as a column.
            Extents { rows: 1, .. } | Extents { cols: 1, .. } => ProductLoop::Dots,
            _ if has_short_rows(extents) => ProductLoop::ShortRows,
            _ => ProductLoop::Packed,
        }
    }
}

/// Whether rows of the left side are multiplied one after the other. Few long ones would leave threads without work.
fn has_short_rows(Extents { rows, inner, cols }: Extents) -> bool {
    let most = match cols {
        2 => TWO_COLUMNS_ROWS,
        3..=ADDED_FAR_COLUMNS => ADDED_FAR_CELLS / cols,
        _ if cols <= ADDED_COLUMNS => ADDED_ROWS,
        _ => SHORTEST_ROW,
    };
    (1..=most).contains(&inner) && (inner < LONG_INNER || rows >= BLOCK_ROWS)
}

/// Rows of a block of a product that goes row after row.
pub fn short_block_rows(Extents { rows, inner, cols }: Extents) -> usize {
    block_rows(rows, inner.saturating_mul(cols)).next_multiple_of(ROWS_AT_ONCE)
}

/// How a product in packed blocks is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackedBlocks {
    /// Each block computes this many rows of the result.
    Rows(usize),
    /// So many ranges of the inner dimension each have a result of their own, and these are added up.
    Inner(usize),
}

impl PackedBlocks {
    /// Of a product of these extents. Products of few rows are cut all the same, so that threads have something to share.
    pub fn of(Extents { rows, inner, cols }: Extents) -> Self {
        if rows.saturating_mul(cols) <= PRIVATE_CELLS && inner >= LONG_INNER {
            return PackedBlocks::Inner(partial_ranges(inner, rows + cols));
        }
        let few = rows.div_ceil(FEWEST_BLOCKS).next_multiple_of(64).max(BLOCK_ROWS);
        PackedBlocks::Rows((PACKED_CELLS / cols.max(1)).clamp(64, 1024).min(few))
    }

    /// How many blocks there are of a product of so many rows.
    pub fn count(self, rows: usize) -> usize {
        match self {
            PackedBlocks::Rows(height) => rows.div_ceil(height),
            PackedBlocks::Inner(ranges) => ranges,
        }
    }
}

/// How `t(A) %*% B` over a sparse A runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransposedSparse {
    /// So many ranges of rows each add the products of their rows to a result of their own.
    Adds(usize),
    /// So many ranges of columns of A, which are rows of the result, each go over all rows of A: results of ranges of rows would
    /// have too many cells.
    Columns(usize),
    /// A is transposed, and each row of the result added up by itself: rows of A have too few non-zeros for ranges of columns.
    Transposes,
}

impl TransposedSparse {
    /// Of rows with so many non-zeros; `extents` are those of the product.
    pub fn of(non_zeros: usize, extents: Extents) -> Self {
        let ranges = TransposedSparse::ranges(non_zeros, extents);
        let cells = extents.rows.saturating_mul(extents.cols);
        let few = ranges.min(FEW_RESULTS);
        let few_pay = pay(non_zeros, few, cells);
        let paying = ranges.min(non_zeros.checked_div(cells).unwrap_or(ranges));
        let per_row = non_zeros.checked_div(extents.inner).unwrap_or(0);
        let has_ranges = extents.cols >= FEWEST_BY_RANGE && !(few_pay && cells < FEWEST_CELLS_BY_RANGE);
        let most = if has_ranges { (per_row / FEWEST_IN_RANGE).min(MAX_PARTIALS) } else { 1 };
        // Ranges that no second-level cache holds are no nearer than the results of two ranges of rows.
        let most = if few_pay && cells.div_ceil(most.max(1)) > FAR_CELLS { 1 } else { most };
        match cells.div_ceil(NEAR_CELLS).min(most).max(1) {
            _ if ranges == 1 && few_pay => TransposedSparse::Adds(1),
            _ if paying > 1 => TransposedSparse::Adds(1 << paying.ilog2()),
            // Threads would have nothing to share.
            1 if few_pay => TransposedSparse::Adds(few),
            1 if is_worth_transposing(extents) => TransposedSparse::Transposes,
            columns => TransposedSparse::Columns(columns),
        }
    }

    /// Whether threads share the work.
    pub fn is_shared(self) -> bool {
        !matches!(self, TransposedSparse::Adds(1) | TransposedSparse::Columns(1))
    }

    /// The ranges of rows among which the products, or the cells of the result, are enough for so many; or a few if beginning the
    /// rows, and fetching the cells that their non-zeros add to, are enough for these.
    fn ranges(non_zeros: usize, Extents { rows, inner, cols }: Extents) -> usize {
        let of_row = non_zeros.checked_div(inner).unwrap_or(0);
        let cells = rows.saturating_mul(cols).div_ceil(inner.max(1));
        let all = partial_ranges(inner, of_row.saturating_mul(cols).max(cells));
        all.max(partial_ranges(inner, weight_in_cells(of_row + 1).saturating_mul(cols)).min(FEW_RESULTS))
    }
}

/// The results of so many cells that ranges of rows with so many non-zeros have all the same, so that threads have something to
/// share.
pub(super) fn few_results(non_zeros: usize, cells: usize) -> usize {
    if pay(non_zeros, FEW_RESULTS, cells) { FEW_RESULTS } else { 1 }
}

/// Whether a product with a transposed sparse matrix is sooner added up row by row of the result, once that is transposed: no near
/// cache holds the result.
fn is_worth_transposing(extents: Extents) -> bool {
    extents.cols >= FEWEST_WHEN_TRANSPOSED && !extents.has_near_sums() && u32::try_from(extents.inner).is_ok()
}

/// Whether so many non-zeros, which reach their cells in no near cache, take longer than so many results take to fill.
fn pay(non_zeros: usize, results: usize, cells: usize) -> bool {
    results.saturating_mul(cells) <= CELLS_PER_FAR_NON_ZERO.saturating_mul(non_zeros)
}

/// Whether `t(A) %*% B` of two sparse matrices adds up products of rows, of so many terms, without forming the transpose: results
/// of ranges of rows stay in a core's caches, and terms fall into most of their cells.
pub fn adds_row_products(terms: usize, cells: usize) -> bool {
    (1..=PRIVATE_CELLS).contains(&cells) && terms >= TERMS_OF_CELL.saturating_mul(cells)
}

/// Ranges of rows of a sparse matrix of so many columns that are transposed each by itself, at most.
pub fn transposed_ranges(non_zeros: usize, cols: usize) -> usize {
    (non_zeros / TRANSPOSED_NON_ZEROS.max(cols.saturating_mul(TRANSPOSED_RUN))).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extents(rows: usize, inner: usize, cols: usize) -> Extents {
        Extents { rows, inner, cols }
    }

    #[test]
    fn loops_follow_from_shapes() {
        let plain = |extent: (usize, usize, usize)| ProductLoop::plain(extents(extent.0, extent.1, extent.2));
        use ProductLoop::*;
        assert_eq!([(1, 9, 9), (9, 9, 1), (1, 9, 1)].map(plain), [ScaledRows, Dots, Dots]);
        let short = [(9, 2, 99), (9, 4095, 2), (128, 8192, 2), (128, 8192, 16), (9, 512, 17), (9, 512, 32)];
        assert_eq!(short.map(plain), [ShortRows; 6]);
        let packed = [(128, 8193, 2), (127, 4096, 2), (128, 8193, 16), (9, 513, 17), (9, 3, 33), (9, 0, 9)];
        assert_eq!(packed.map(plain), [Packed; 6]);
        let wide = [(1_000_000, 8), (4096, 8), (2048, 16), (2049, 16)].map(|(rows, cols)| extents(rows, 2, cols));
        assert_eq!(wide.map(ProductLoop::with_transposed_left), [RowProducts, RowProducts, RowProducts, Packed]);
        let far = [(1023, 16), (1024, 16), (1_000_000, 25)].map(|(inner, cols)| extents(2049, inner, cols));
        assert_eq!(far.map(ProductLoop::with_transposed_left), [Packed, RowProducts, Packed]);
        let left = [(9, 24), (1, 24), (1, 25), (9, 25)].map(|(rows, cols)| extents(rows, 2, cols));
        assert_eq!(left.map(ProductLoop::with_transposed_left), [RowProducts, RowProducts, ScaledRows, Packed]);
        let right = [(1, 9), (9, 1), (9, 9)].map(|(rows, cols)| extents(rows, 2, cols));
        assert_eq!(right.map(ProductLoop::with_transposed_right), [Dots, Dots, ShortRows]);
    }

    #[test]
    fn products_of_few_cells_are_cut_along_a_long_inner_dimension() {
        assert_eq!(PackedBlocks::of(extents(512, LONG_INNER, 512)), PackedBlocks::Inner(16));
        assert_eq!(PackedBlocks::of(extents(512, LONG_INNER - 1, 512)), PackedBlocks::Rows(128));
        assert_eq!(PackedBlocks::of(extents(513, LONG_INNER, 512)), PackedBlocks::Rows(192));
        assert_eq!(PackedBlocks::Rows(128).count(129), 2);
    }

    #[test]
    fn ranges_of_rows_have_as_many_results_as_their_non_zeros_pay_for() {
        let of = |cols| TransposedSparse::of(2_000_000, extents(100_000, 20_000, cols));
        assert_eq!([1, 4, 8, 15, 16, 24].map(of), [16, 4, 2, 2, 2, 2].map(TransposedSparse::Adds));
        // Twelve ranges of columns, of which each stays in a second-level cache, are better than two results.
        let of = |rows| TransposedSparse::of(2_000_000, extents(rows, 10_000, 16));
        assert_eq!([98_304, 98_305].map(of), [TransposedSparse::Columns(12), TransposedSparse::Adds(2)]);
        assert_eq!(TransposedSparse::of(400, extents(1600, 16, 1)), TransposedSparse::Adds(1));
        // Short rows take more to begin than to multiply.
        let of = |inner| TransposedSparse::of(2 * inner, extents(2000, inner, 1));
        assert_eq!([10_000, 20_000].map(of), [TransposedSparse::Adds(1), TransposedSparse::Adds(2)]);
        let few =
            [100_000, 50_000, 49_999].map(|non_zeros| TransposedSparse::of(non_zeros, extents(100_000, 100_000, 1)));
        assert_eq!(few, [TransposedSparse::Adds(2), TransposedSparse::Adds(2), TransposedSparse::Columns(1)]);
    }

    #[test]
    fn ranges_of_columns_add_to_one_result_where_those_of_rows_would_be_large() {
        assert_eq!(TransposedSparse::of(1000, extents(10, 100_000, 1)), TransposedSparse::Adds(2));
        assert_eq!(TransposedSparse::of(1000, extents(100_000, 100_000, 1)), TransposedSparse::Columns(1));
        let wide = extents(100_000, 20_000, 16);
        assert_eq!(
            [0, 200_000, 2_000_000].map(|non_zeros| TransposedSparse::of(non_zeros, wide)),
            [TransposedSparse::Columns(1), TransposedSparse::Columns(1), TransposedSparse::Adds(2)]
        );
        // Two results of 320,000 cells stay near enough, unless there is too little to add to them.
        let of = |non_zeros, cols| TransposedSparse::of(non_zeros, extents(20_000, 2000, cols));
        assert_eq!([of(400_000, 16), of(400_000, 32)], [TransposedSparse::Adds(2), TransposedSparse::Columns(12)]);
        assert_eq!(TransposedSparse::of(40_000, extents(9000, 40, 16)), TransposedSparse::Columns(5));
    }

    /// From 64 columns on a transposed non-zero is worth its way, if the result is far and rows have few for ranges of columns.
    #[test]
    fn wide_results_of_few_non_zeros_are_those_of_the_transpose() {
        let of = |non_zeros, rows, cols| TransposedSparse::of(non_zeros, extents(rows, 2000, cols));
        let ways = [TransposedSparse::Columns(1), TransposedSparse::Transposes, TransposedSparse::Columns(2)];
        assert_eq!([of(4000, 2000, 63), of(4000, 2000, 64)], ways[..2]);
        assert_eq!([of(4000, 512, 64), of(4000, 513, 64)], ways[..2]);
        assert_eq!([of(63_999, 20_000, 64), of(64_000, 20_000, 64)], ways[1..]);
        let longest = u32::MAX as usize;
        let of_long = |inner| TransposedSparse::of(4000, extents(2000, inner, 64));
        assert_eq!([of_long(longest + 1), of_long(longest)], ways[..2]);
    }
}
