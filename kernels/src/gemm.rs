//! The general dense matrix product: the `gemm` crate for blocks, and vector primitives for what that crate would sum in an
//! order of the machine's.
//!
//! The bits of a product follow from its shape alone. The inner dimension is cut into slabs; within a slab each cell is one
//! chain of fused multiply-adds from `+0.0` on, in order, and the slabs of a cell are added up in order. For slabs of at most
//! [`SLAB`] values the crate sums so on every processor: its blocks of the inner dimension are of 512 values or more,
//! whatever the caches. It does not for inner dimensions of one or two, for single rows and columns, and for up to 256 cells
//! whose operands both lie along the inner dimension, which it sums in lanes of the registers at hand; and without
//! fused multiply-adds in hardware it rounds twice. These products run on primitives. The crate is called on one
//! thread for each block of the product.

use fuseline_ir::schedule::product::{Extents, FEW_COLUMNS};
use fuseline_matrix::Dense;
use fuseline_matrix::run_context::check_stop;
use fuseline_vecprims::{Primitives, Tile, TileMut};
use std::borrow::Cow;
use std::ops::{Range, RangeInclusive};

/// Values of the inner dimension that are summed at most before the sum is added to the output.
const SLAB: usize = 512;

/// Products of at most so many cells run on primitives.
const FEW_CELLS: usize = 256;

/// Inner dimensions up to this run on primitives.
const SHORTEST: usize = 2;

/// Sums on the way to the output take at most about so many cells.
const SCRATCH_CELLS: usize = 4096;

/// A dense operand, or a part of one, by its strides in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strided<'a> {
    values: &'a [f64],
    row_stride: usize,
    col_stride: usize,
}

impl<'a> Strided<'a> {
    pub(crate) fn of(matrix: &'a Dense) -> Self {
        Strided { values: matrix.values(), row_stride: matrix.cols(), col_stride: 1 }
    }

    /// Rows of values, `row_stride` apart.
    pub(crate) fn rows(values: &'a [f64], row_stride: usize) -> Self {
        Strided { values, row_stride, col_stride: 1 }
    }

    pub(crate) fn transposed(self) -> Self {
        Strided { row_stride: self.col_stride, col_stride: self.row_stride, ..self }
    }

    /// The part that begins in this row and column.
    pub(crate) fn starting_at(self, row: usize, col: usize) -> Self {
        let start = row * self.row_stride + col * self.col_stride;
        Strided { values: self.values.get(start..).unwrap_or_default(), ..self }
    }

    /// A `rows` x `cols` matrix whose rows lie in order, copied where they do not.
    fn in_rows(self, rows: usize, cols: usize) -> RowByRow<'a> {
        if self.col_stride == 1 {
            return RowByRow { values: Cow::Borrowed(self.values), stride: self.row_stride };
        }
        let mut values = vec![0.0; rows * cols];
        for col in 0..cols {
            let cells = self.values[col * self.col_stride..].iter().step_by(self.row_stride.max(1));
            values[col..].iter_mut().step_by(cols).zip(cells).for_each(|(to, &from)| *to = from);
        }
        RowByRow { values: values.into(), stride: cols }
    }

    /// Whether columns lie row after row, and these on pages of their own: a few rows of them are a few lines of each page.
    fn lies_apart(&self) -> bool {
        self.row_stride == 1 && self.col_stride * size_of::<f64>() >= PAGE_BYTES
    }

    /// Copies of the columns of such a matrix, one behind the other.
    fn gathered(self, rows: usize, cols: usize, copies: &mut Vec<f64>) -> Strided<'_> {
        copies.clear();
        copies.reserve(rows * cols);
        self.values.chunks(self.col_stride).take(cols).for_each(|column| copies.extend_from_slice(&column[..rows]));
        Strided::rows(copies, rows).transposed()
    }

    /// Whether all cells of a `rows` x `cols` matrix lie within the values.
    fn holds(&self, rows: usize, cols: usize) -> bool {
        rows == 0
            || cols == 0
            || last_cell([rows, cols], [self.row_stride, self.col_stride]).is_some_and(|last| last < self.values.len())
    }
}

/// Rows of a matrix, `stride` values apart, each in order.
struct RowByRow<'a> {
    values: Cow<'a, [f64]>,
    stride: usize,
}

/// Where the last of so many rows and columns lies, at these distances from each other; `None` beyond what can be counted.
fn last_cell(dims: [usize; 2], strides: [usize; 2]) -> Option<usize> {
    let [row, col] = [0, 1].map(|axis| (dims[axis] - 1).checked_mul(strides[axis]));
    row?.checked_add(col?)
}

/// The factors of a product.
#[derive(Clone, Copy, Debug)]
struct Factors<'a> {
    left: Strided<'a>,
    right: Strided<'a>,
}

impl Factors<'_> {
    /// The part that begins in this row of the product, in this column of it, and with this one of the values of a sum.
    fn starting_at(self, row: usize, col: usize, inner: usize) -> Self {
        Factors { left: self.left.starting_at(row, inner), right: self.right.starting_at(inner, col) }
    }

    /// Whether all cells that a product reads lie within the values.
    fn cover(&self, Extents { rows, inner, cols }: Extents) -> bool {
        self.left.holds(rows, inner) && self.right.holds(inner, cols)
    }
}

/// A place for a product: rows of values, `stride` apart.
#[derive(Debug)]
pub(crate) struct Output<'a> {
    values: &'a mut [f64],
    stride: usize,
}

impl<'a> Output<'a> {
    pub(crate) fn new(values: &'a mut [f64], stride: usize) -> Self {
        Output { values, stride }
    }

    /// Whether a `rows` x `cols` product, neither of them 0, lies within the values and no two of its cells are the same.
    fn covers(&self, rows: usize, cols: usize) -> bool {
        self.stride >= cols && last_cell([rows, cols], [self.stride, 1]).is_some_and(|last| last < self.values.len())
    }
}

/// Writes `left %*% right` to `out`.
pub(crate) fn gemm_into(
    primitives: &Primitives,
    mut out: Output<'_>,
    extents: Extents,
    left: Strided<'_>,
    right: Strided<'_>,
) {
    if extents.inner == 0 {
        out.values.chunks_mut(out.stride.max(1)).take(extents.rows).for_each(|row| row[..extents.cols].fill(0.0));
    }
    slab_by_slab(primitives, &mut out, extents, Factors { left, right }, false);
}

/// Adds `left %*% right` to what `out` holds.
pub(crate) fn gemm_add(
    primitives: &Primitives,
    mut out: Output<'_>,
    extents: Extents,
    left: Strided<'_>,
    right: Strided<'_>,
) {
    slab_by_slab(primitives, &mut out, extents, Factors { left, right }, true);
}

/// The product of each slab is written or added in turn.
fn slab_by_slab(primitives: &Primitives, out: &mut Output<'_>, extents: Extents, factors: Factors<'_>, adds: bool) {
    let Extents { rows, inner, cols } = extents;
    if rows == 0 || cols == 0 {
        return;
    }
    assert!(out.covers(rows, cols), "the output covers the product");
    assert!(factors.cover(extents), "operands cover the product");
    let on_primitives = is_left_to_primitives(extents);
    let mut copies = Vec::new();
    for slab in slabs(inner) {
        check_stop();
        let (adds, extents) = (adds || slab.start > 0, Extents { rows, inner: slab.len(), cols });
        let factors = factors.starting_at(0, 0, slab.start);
        if on_primitives {
            with_primitives(primitives, out, extents, factors, adds);
            continue;
        }
        let is_gathered = factors.left.lies_apart() && extents.inner >= GATHERED_PAGES && GATHERED_COLS.contains(&cols);
        let most_cells = if is_gathered { GATHERED_CELLS * cols } else { MOST_AT_ONCE };
        for (rows, cols) in parts(extents, most_cells / extents.inner) {
            check_stop();
            let values = &mut out.values[rows.start * out.stride + cols.start..];
            let factors = factors.starting_at(rows.start, cols.start, 0);
            let extents = Extents { rows: rows.len(), cols: cols.len(), ..extents };
            let left = match is_gathered {
                true => factors.left.gathered(extents.rows, extents.inner, &mut copies),
                false => factors.left,
            };
            with_library(&mut Output::new(values, out.stride), extents, Factors { left, ..factors }, adds);
        }
    }
}

/// Even slabs, so that none of many is of one or two values.
fn slabs(inner: usize) -> impl Iterator<Item = Range<usize>> {
    even_ranges(inner, SLAB)
}

/// Even ranges of at most so many values.
fn even_ranges(length: usize, most: usize) -> impl Iterator<Item = Range<usize>> {
    let count = length.div_ceil(most);
    let start = move |range: usize| (length / count) * range + (length % count).min(range);
    (0..count).map(move |range| start(range)..start(range + 1))
}

/// Multiply-adds of a call of the library at most: some 20 ms, in which no request to stop is heard.
const MOST_AT_ONCE: usize = 1 << 28;

/// Cells of the left side that are copied for a product with few columns where they lie apart: they stay in a core's caches.
const GATHERED_CELLS: usize = 1 << 16;

/// Columns for which such cells are copied: for more the library does so itself, and products with fewer do not come here but for
/// those of few cells, which parts are not to be.
const GATHERED_COLS: RangeInclusive<usize> = FEW_COLUMNS + 1..=64;

/// Pages that are read side by side from which on cells are copied: memory follows fewer by itself.
const GATHERED_PAGES: usize = 64;

/// Bytes of a page, the smallest that there is.
const PAGE_BYTES: usize = 4096;

/// Columns that a part of a product has where it has not all of them, but for evenness.
const PART_COLS: usize = 1024;

/// The rows and columns of the parts that the library makes of the product of a slab, each in one call of at most so many cells:
/// so many that it sums all of them in order, as it would those of the whole.
fn parts(Extents { rows, cols, .. }: Extents, most_cells: usize) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
    let most_cols = (most_cells / rows).max(PART_COLS).min(cols);
    let most_rows = (most_cells / most_cols).max(1);
    even_ranges(cols, most_cols)
        .flat_map(move |cols| even_ranges(rows, most_rows).map(move |rows| (rows, cols.clone())))
}

/// Whether the library would not sum each cell in order.
fn is_left_to_primitives(Extents { rows, inner, cols }: Extents) -> bool {
    rows == 1 || cols == 1 || inner <= SHORTEST || rows * cols <= FEW_CELLS || !library_fuses()
}

#[cfg(target_arch = "x86_64")]
fn library_fuses() -> bool {
    is_x86_feature_detected!("fma")
}

#[cfg(not(target_arch = "x86_64"))]
fn library_fuses() -> bool {
    cfg!(target_arch = "aarch64")
}

/// The product of one slab, on vector primitives.
fn with_primitives(
    primitives: &Primitives,
    out: &mut Output<'_>,
    Extents { rows, inner, cols }: Extents,
    factors: Factors<'_>,
    adds: bool,
) {
    let (left, right) = (factors.left.in_rows(rows, inner), factors.right.in_rows(inner, cols));
    let step = if adds { (SCRATCH_CELLS / cols).max(1) } else { rows };
    let mut sums = vec![0.0; if adds { step.min(rows) * cols } else { 0 }];
    for first in (0..rows).step_by(step) {
        let count = step.min(rows - first);
        let left = Tile::new(&left.values[first * left.stride..], left.stride);
        let right = Tile::new(&right.values, right.stride);
        let (out, stride) = (&mut out.values[first * out.stride..], out.stride);
        if !adds {
            out.chunks_mut(stride).take(count).for_each(|row| row[..cols].fill(0.0));
            primitives.mat_mult_add(count, inner, cols, left, right, TileMut::new(out, stride));
            continue;
        }
        let sums = &mut sums[..count * cols];
        sums.fill(0.0);
        primitives.mat_mult_add(count, inner, cols, left, right, TileMut::new(sums, cols));
        for (out, sums) in out.chunks_mut(stride).zip(sums.chunks(cols)) {
            out.iter_mut().zip(sums).for_each(|(out, sum)| *out += sum);
        }
    }
}

/// The product of one slab, by the library.
fn with_library(out: &mut Output<'_>, extents: Extents, factors: Factors<'_>, adds: bool) {
    let Extents { rows, inner, cols } = extents;
    assert!(out.covers(rows, cols), "the output covers the product");
    assert!(factors.cover(extents), "operands cover the product");
    let Factors { left, right } = factors;
    // SAFETY: the first assertion says that the last cell written lies within `out`, the second that the last cell
    // read of either operand lies within its slice, and strides are not negative. `out` is a unique borrow, so it
    // overlaps neither operand.
    unsafe {
        gemm::gemm(
            rows,
            cols,
            inner,
            out.values.as_mut_ptr(),
            1,
            out.stride as isize,
            adds,
            left.values.as_ptr(),
            left.col_stride as isize,
            left.row_stride as isize,
            right.values.as_ptr(),
            right.col_stride as isize,
            right.row_stride as isize,
            if adds { 1.0 } else { 0.0 },
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Extents, FEW_CELLS, MOST_AT_ONCE, Output, PART_COLS, SLAB, Strided, gemm_add, gemm_into, parts, slabs,
    };
    use crate::tests::hash;
    use fuseline_matrix::Dense;
    use fuseline_vecprims::{Isa, primitives};

    /// A cell of a product as its contract has it: chains of fused multiply-adds, slab by slab.
    fn cell(before: Option<f64>, inner: usize, left: impl Fn(usize) -> f64, right: impl Fn(usize) -> f64) -> f64 {
        let sums = slabs(inner).map(|slab| slab.fold(0.0, |sum, k| left(k).mul_add(right(k), sum)));
        before.into_iter().chain(sums).reduce(|sum, slab| sum + slab).unwrap_or(0.0)
    }

    /// Numbers with digits in all places, so that every order of sums gives other bits.
    fn noise(rows: usize, cols: usize, seed: usize) -> Dense {
        Dense::from_fn(rows, cols, |i, j| (hash(i, j, seed) as f64).mul_add(1.0 / 30_001.0, -1.0))
    }

    /// A matrix as it is, or the transpose of its transpose.
    fn strided<'a>(matrix: &'a Dense, transpose: &'a Dense, is_transposed: bool) -> Strided<'a> {
        if is_transposed { Strided::of(transpose).transposed() } else { Strided::of(matrix) }
    }

    fn check(Extents { rows, inner, cols }: Extents) {
        let (left, right) = (noise(rows, inner, 1), noise(inner, cols, 2));
        let (left_back, right_back) =
            (Dense::from_fn(inner, rows, |k, i| left.get(i, k)), Dense::from_fn(cols, inner, |j, k| right.get(k, j)));
        let (extents, stride) = (Extents { rows, inner, cols }, cols + 2);
        let product = |before: Option<&Dense>| {
            Dense::from_fn(rows, cols, |i, j| {
                cell(before.map(|before| before.get(i, j)), inner, |k| left.get(i, k), |k| right.get(k, j))
            })
        };
        let once = product(None);
        let twice = product(Some(&once));
        for isa in Isa::available() {
            for (transposed_left, transposed_right) in [(false, false), (false, true), (true, false), (true, true)] {
                let a = strided(&left, &left_back, transposed_left);
                let b = strided(&right, &right_back, transposed_right);
                let mut out = vec![1.5; rows * stride];
                gemm_into(primitives(isa), Output::new(&mut out, stride), extents, a, b);
                let assert_cells = |out: &[f64], expected: &Dense| {
                    for (place, &value) in out.iter().enumerate() {
                        let (i, j) = (place / stride, place % stride);
                        let expected = if j < cols { expected.get(i, j) } else { 1.5 };
                        let place =
                            format!("{rows} x {inner} x {cols} at {i}, {j} ({transposed_left}, {transposed_right})");
                        assert_eq!(value.to_bits(), expected.to_bits(), "{isa}: {place}: {value} is not {expected}");
                    }
                };
                assert_cells(&out, &once);
                gemm_add(primitives(isa), Output::new(&mut out, stride), extents, a, b);
                assert_cells(&out, &twice);
            }
        }
    }

    /// Each way through the library and past it: single rows and columns, outer products, few cells and more of them,
    /// whole blocks of registers and parts of them, one slab and several.
    #[test]
    fn every_cell_is_summed_in_order_slab_by_slab() {
        let cells =
            [(1, 1), (1, 40), (40, 1), (2, 2), (3, 5), (12, 10), (16, 16), (17, 16), (24, 24), (33, 70), (70, 9)];
        for (rows, cols) in cells {
            for inner in [0, 1, 2, 3, 7, 64, 129, SLAB, SLAB + 1, 2 * SLAB + 3] {
                check(Extents { rows, inner, cols });
            }
        }
        for (rows, cols) in [(300, 2), (2, 300), (200, 130)] {
            for inner in [2, 5, SLAB, SLAB + 77] {
                check(Extents { rows, inner, cols });
            }
        }
    }

    /// Of a product that is made in parts, cells of all of them.
    #[test]
    fn parts_sum_alike() {
        let extents = Extents { rows: 2000, inner: 100, cols: 1500 };
        let (left, right) = (noise(extents.rows, extents.inner, 1), noise(extents.inner, extents.cols, 2));
        assert_eq!(parts(extents, MOST_AT_ONCE / extents.inner).count(), 2);
        let mut out = vec![0.0; extents.rows * extents.cols];
        let output = Output::new(&mut out, extents.cols);
        gemm_into(primitives(Isa::detect()), output, extents, Strided::of(&left), Strided::of(&right));
        for place in (0..out.len()).step_by(9973) {
            let (i, j) = (place / extents.cols, place % extents.cols);
            let expected = cell(None, extents.inner, |k| left.get(i, k), |k| right.get(k, j));
            assert_eq!(out[place].to_bits(), expected.to_bits(), "{i}, {j}");
        }
    }

    /// Where rows of the left side lie on pages of their own, and the product has few columns, parts of them are copied.
    #[test]
    fn gathered_rows_sum_alike() {
        for (rows, inner, cols) in [(1500, 100, 9), (1031, 513, 64), (700, 63, 17)] {
            let (left, right) = (noise(inner, rows, 1), noise(inner, cols, 2));
            assert!(Strided::of(&left).transposed().lies_apart());
            let mut out = vec![0.0; rows * cols];
            let extents = Extents { rows, inner, cols };
            let sides = (Strided::of(&left).transposed(), Strided::of(&right));
            gemm_into(primitives(Isa::detect()), Output::new(&mut out, cols), extents, sides.0, sides.1);
            for (place, sum) in out.iter().enumerate() {
                let (i, j) = (place / cols, place % cols);
                let expected = cell(None, inner, |k| left.get(k, i), |k| right.get(k, j));
                assert_eq!(sum.to_bits(), expected.to_bits(), "{extents:?}: {i}, {j}");
            }
        }
    }

    #[test]
    fn parts_cover_a_product_and_are_large_and_short() {
        for (rows, cols) in [(2, 300), (200, 200), (2, 10_000_000), (10_000_000, 2), (100_000, 100_000), (513, 1025)] {
            for inner in [3, 77, SLAB] {
                let mut cells = 0;
                let whole = Extents { rows, inner, cols };
                for (part_rows, part_cols) in parts(whole, MOST_AT_ONCE / whole.inner.max(1)) {
                    let (height, width) = (part_rows.len(), part_cols.len());
                    assert!(height * width * inner <= MOST_AT_ONCE, "{whole:?}: {height} x {width}");
                    assert!(height > 1 && width > 1 && height * width > FEW_CELLS, "{whole:?}: {height} x {width}");
                    assert!(width == cols || width >= PART_COLS / 2, "{whole:?}: {width}");
                    cells += height * width;
                }
                assert_eq!(cells, rows * cols);
            }
        }
    }

    #[test]
    fn slabs_are_even() {
        for inner in [0, 1, 512, 513, 1000, 1025, 100_000] {
            let lengths: Vec<usize> = slabs(inner).map(|slab| slab.len()).collect();
            assert_eq!(lengths.iter().sum::<usize>(), inner);
            assert!(lengths.iter().all(|&length| length <= SLAB && length + 1 >= lengths[0]), "{inner}: {lengths:?}");
            assert!(lengths.len() < 2 || lengths.iter().all(|&length| length > 2));
        }
    }
}
