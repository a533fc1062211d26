//! Values that are held narrower than doubles, as they are in files, and widened exactly where they are read.
//!
//! Operators never make them. Those that read a matrix part by part widen the parts, which stay in the cache; for all others
//! the matrix is widened as a whole, once, and its narrow values go.

use crate::borrowed::Borrowed;
use crate::csr::{Csr, nonzeros_of};
use crate::dense::{Dense, count_nonzeros};
use crate::error::{BorrowError, CsrError};
use crate::layout::Wide;
use crate::memory::Memory;
use crate::pattern::Pattern;
use crate::shared::each;
use bytemuck::{Pod, cast_slice};
use fuseline_ir::Format;
use ndarray::{ArrayBase, Data, Ix2};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// A type of values that takes less memory than a double, which holds each of them exactly.
pub trait NarrowValue: Pod + PartialEq + Into<f64> + Send + Sync + sealed::Held {}

impl NarrowValue for f32 {}
impl NarrowValue for i32 {}
impl NarrowValue for u8 {}

mod sealed {
    use super::{Memory, NarrowValues};

    /// What [`NarrowValues`] hold.
    pub trait Held: Sized + 'static {
        #[doc(hidden)]
        #[expect(private_interfaces, reason = "nobody else implements or calls it")]
        fn held(values: Memory<Self>) -> NarrowValues;
    }
}

/// A run of values of one narrow type.
#[derive(Clone, Debug)]
pub(crate) enum NarrowValues {
    F32(Memory<f32>),
    I32(Memory<i32>),
    U8(Memory<u8>),
}

impl sealed::Held for f32 {
    #[expect(private_interfaces, reason = "nobody else implements or calls it")]
    fn held(values: Memory<f32>) -> NarrowValues {
        NarrowValues::F32(values)
    }
}

impl sealed::Held for i32 {
    #[expect(private_interfaces, reason = "nobody else implements or calls it")]
    fn held(values: Memory<i32>) -> NarrowValues {
        NarrowValues::I32(values)
    }
}

impl sealed::Held for u8 {
    #[expect(private_interfaces, reason = "nobody else implements or calls it")]
    fn held(values: Memory<u8>) -> NarrowValues {
        NarrowValues::U8(values)
    }
}

/// Does something with the values, whatever their type.
macro_rules! with_values {
    ($values:expr, $typed:ident => $work:expr) => {
        match $values {
            NarrowValues::F32($typed) => $work,
            NarrowValues::I32($typed) => $work,
            NarrowValues::U8($typed) => $work,
        }
    };
}

/// Values that one thread widens at a time.
const WIDENED_AT_ONCE: usize = 1 << 16;

impl NarrowValues {
    fn len(&self) -> usize {
        with_values!(self, values => values.len())
    }

    fn bytes(&self) -> usize {
        with_values!(self, values => size_of_val(&values[..]))
    }

    fn is_borrowed(&self) -> bool {
        with_values!(self, values => values.is_borrowed())
    }

    fn get(&self, position: usize) -> f64 {
        with_values!(self, values => values[position].into())
    }

    fn count_nonzeros(&self) -> usize {
        with_values!(self, values => count_nonzeros(values))
    }

    /// Whether a NaN, once it is widened, has other bits than the one that stands for all.
    fn has_other_nan(&self) -> bool {
        let NarrowValues::F32(values) = self else { return false };
        values.iter().any(|value| value.is_nan() && value.to_bits() != f32::NAN.to_bits())
    }

    /// Writes the doubles of consecutive values, from this one on.
    fn widen(&self, start: usize, out: &mut [f64]) {
        with_values!(self, values => widen(&values[start..start + out.len()], out));
    }

    /// All doubles. Inside of a rayon pool, its threads share the work.
    fn widened(&self) -> Memory<f64> {
        let mut wide = Memory::zeroed(self.len());
        let parts = wide.chunks_mut(WIDENED_AT_ONCE).enumerate().collect();
        each(parts, |(part, out)| self.widen(part * WIDENED_AT_ONCE, out));
        wide
    }
}

fn widen<T: NarrowValue>(values: &[T], out: &mut [f64]) {
    out.iter_mut().zip(values).for_each(|(out, &value)| *out = value.into());
}

/// Cells of a [`NarrowDense`].
#[derive(Clone, Copy, Debug)]
pub enum NarrowCells<'a> {
    /// Single precision.
    F32(&'a [f32]),
    /// Integers.
    I32(&'a [i32]),
    /// Bytes.
    U8(&'a [u8]),
}

/// A dense matrix of narrow values: cell (i, j) at `i * cols + j`.
#[derive(Clone, Debug)]
pub struct NarrowDense {
    rows: usize,
    cols: usize,
    values: NarrowValues,
}

impl NarrowDense {
    /// A matrix of these values, row after row, without copying.
    ///
    /// # Panics
    /// The number of values is not `rows * cols`.
    pub fn from_vec<T: NarrowValue>(rows: usize, cols: usize, values: Vec<T>) -> Self {
        let len = values.len();
        assert!(rows.checked_mul(cols) == Some(len), "a {rows} x {cols} matrix does not have {len} cells");
        NarrowDense::from_memory(rows, cols, values.into())
    }

    pub(crate) fn from_memory<T: NarrowValue>(rows: usize, cols: usize, values: Memory<T>) -> Self {
        debug_assert_eq!(rows.checked_mul(cols), Some(values.len()));
        NarrowDense { rows, cols, values: T::held(values) }
    }

    /// A matrix that reads the cells of a shared `ndarray` matrix where they are.
    ///
    /// # Errors
    /// The array does not lie in row-major order.
    pub fn borrow_ndarray<S>(array: Arc<ArrayBase<S, Ix2>>) -> Result<Self, BorrowError>
    where
        S: Data<Elem: NarrowValue> + 'static,
        ArrayBase<S, Ix2>: Send + Sync,
    {
        let (rows, cols) = array.dim();
        if !array.is_standard_layout() {
            return Err(BorrowError::Order);
        }
        let values: Borrowed<S::Elem> = Borrowed::new(array, |array| cast_slice(array.as_slice().unwrap_or_default()))?;
        Ok(NarrowDense::from_memory(rows, cols, values.into()))
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The cell in row `i` and column `j`: for single lookups.
    pub fn get(&self, i: usize, j: usize) -> f64 {
        assert!(j < self.cols, "column {j} of {}", self.cols);
        self.values.get(i * self.cols + j)
    }

    /// Consecutive cells, in row-major order, as they are stored.
    pub fn cells(&self, cells: Range<usize>) -> NarrowCells<'_> {
        match &self.values {
            NarrowValues::F32(values) => NarrowCells::F32(&values[cells]),
            NarrowValues::I32(values) => NarrowCells::I32(&values[cells]),
            NarrowValues::U8(values) => NarrowCells::U8(&values[cells]),
        }
    }

    /// Writes the doubles of consecutive cells, in row-major order from cell number `start` on.
    pub fn widen(&self, start: usize, out: &mut [f64]) {
        self.values.widen(start, out);
    }

    /// Writes the doubles of some columns of a row, which count from `first_col`.
    pub fn widen_columns(&self, i: usize, first_col: usize, columns: &[u32], out: &mut [f64]) {
        let row = i * self.cols + first_col..(i + 1) * self.cols;
        with_values!(&self.values, values => {
            let row = &values[row];
            out.iter_mut().zip(columns).for_each(|(out, &column)| *out = row[column as usize].into());
        });
    }

    /// All cells as doubles.
    pub fn widened(&self) -> Dense {
        Dense::from_memory(self.rows, self.cols, self.values.widened())
    }

    /// The non-zeros.
    pub(crate) fn to_csr(&self) -> NarrowCsr {
        with_values!(&self.values, values => {
            let (pattern, values) = nonzeros_of(self.rows, self.cols, values);
            NarrowCsr::of_pattern(self.cols, pattern, values)
        })
    }
}

/// A sparse matrix of narrow values, else as [`Csr`].
#[derive(Clone, Debug)]
pub struct NarrowCsr {
    cols: usize,
    pattern: Arc<Pattern>,
    values: NarrowValues,
}

impl NarrowCsr {
    /// A matrix from its parts.
    ///
    /// # Errors
    /// The parts do not form a matrix.
    pub fn new<T: NarrowValue>(
        rows: usize,
        cols: usize,
        row_offsets: Vec<usize>,
        columns: Vec<u32>,
        values: Vec<T>,
    ) -> Result<Self, CsrError> {
        if u32::try_from(cols).is_err() {
            return Err(CsrError::TooManyColumns { cols });
        }
        let pattern = Pattern::checked(rows, cols, row_offsets.into(), columns.into(), values.len())?;
        Ok(NarrowCsr::of_pattern(cols, pattern, values.into()))
    }

    /// A matrix with one value for each of these positions.
    pub(crate) fn of_pattern<T: NarrowValue>(cols: usize, pattern: Pattern, values: Memory<T>) -> Self {
        NarrowCsr { cols, pattern: Arc::new(pattern), values: T::held(values) }
    }

    /// Number of stored positions.
    pub fn nnz(&self) -> usize {
        self.values.len()
    }

    /// The non-zeros as doubles, at the positions of this matrix, which both share.
    pub fn widened(&self) -> Csr {
        Csr::of_pattern(self.cols, Arc::clone(&self.pattern), self.values.widened().into())
    }
}

/// A matrix of narrow values.
#[derive(Clone)]
enum Stored {
    Dense(Arc<NarrowDense>),
    Sparse(Arc<NarrowCsr>),
}

impl Stored {
    fn values(&self) -> &NarrowValues {
        match self {
            Stored::Dense(dense) => &dense.values,
            Stored::Sparse(csr) => &csr.values,
        }
    }

    fn widened(&self) -> Wide {
        match self {
            Stored::Dense(dense) => dense.widened().into(),
            Stored::Sparse(csr) => csr.widened().into(),
        }
    }
}

impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stored::Dense(dense) => fmt::Debug::fmt(dense, f),
            Stored::Sparse(csr) => fmt::Debug::fmt(csr, f),
        }
    }
}

/// A matrix of narrow values until somebody asks for the doubles: from then on it is one of doubles.
///
/// So no operator of a loop widens what another one has widened before, and the memory of both forms is taken only while one
/// becomes the other.
pub(crate) struct Narrow {
    rows: usize,
    cols: usize,
    format: Format,
    stored: Mutex<Option<Stored>>,
    wide: OnceLock<Wide>,
}

impl Narrow {
    fn new(rows: usize, cols: usize, format: Format, stored: Stored) -> Self {
        Narrow { rows, cols, format, stored: Mutex::new(Some(stored)), wide: OnceLock::new() }
    }

    pub(crate) fn of_dense(dense: NarrowDense) -> Self {
        Narrow::new(dense.rows, dense.cols, Format::Dense, Stored::Dense(Arc::new(dense)))
    }

    pub(crate) fn of_csr(csr: NarrowCsr) -> Self {
        Narrow::new(csr.pattern.rows(), csr.cols, Format::Sparse, Stored::Sparse(Arc::new(csr)))
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn cols(&self) -> usize {
        self.cols
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    fn lock(&self) -> MutexGuard<'_, Option<Stored>> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The narrow values, as long as there are any.
    fn stored(&self) -> Option<Stored> {
        self.lock().clone()
    }

    /// The cells of a dense matrix, as long as they are narrow.
    pub(crate) fn dense(&self) -> Option<Arc<NarrowDense>> {
        match self.stored()? {
            Stored::Dense(dense) => Some(dense),
            Stored::Sparse(_) => None,
        }
    }

    /// The matrix of doubles, which takes the place of the narrow values.
    pub(crate) fn wide(&self) -> &Wide {
        // Not within the lock: who waits for other threads of a pool may run what asks for the same matrix.
        if let Some(stored) = self.stored() {
            let wide = stored.widened();
            self.wide.get_or_init(|| wide);
            *self.lock() = None;
        }
        self.wide.get().expect("narrow values go when there are doubles")
    }

    /// The memory of the cells in bytes.
    pub(crate) fn bytes(&self) -> usize {
        match self.stored() {
            Some(Stored::Dense(dense)) => dense.values.bytes(),
            Some(Stored::Sparse(csr)) => csr.values.bytes() + csr.pattern.bytes(),
            None => self.wide().bytes(),
        }
    }

    /// Number of non-zeros (dense) or stored positions (sparse).
    pub(crate) fn nnz(&self) -> usize {
        match self.stored() {
            Some(Stored::Dense(dense)) => dense.values.count_nonzeros(),
            Some(Stored::Sparse(csr)) => csr.nnz(),
            None => self.wide().nnz(),
        }
    }

    pub(crate) fn get(&self, i: usize, j: usize) -> f64 {
        match self.stored() {
            Some(Stored::Dense(dense)) => dense.get(i, j),
            Some(Stored::Sparse(csr)) => csr.pattern.position(i, j).map_or(0.0, |position| csr.values.get(position)),
            None => self.wide().get(i, j),
        }
    }

    pub(crate) fn is_borrowed(&self) -> bool {
        self.stored().map_or_else(|| self.wide().is_borrowed(), |stored| stored.values().is_borrowed())
    }

    /// Whether a NaN has other bits than the one that stands for all.
    pub(crate) fn has_other_nan(&self) -> bool {
        self.stored().is_none_or(|stored| stored.values().has_other_nan())
    }
}

impl fmt::Debug for Narrow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.stored() {
            Some(stored) => fmt::Debug::fmt(&stored, f),
            None => fmt::Debug::fmt(self.wide(), f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Budget, BufferPool, Layout, MatrixBlock, RunContext, StopFlag};
    use ndarray::{Array2, ShapeBuilder};
    use rayon::ThreadPoolBuilder;

    /// 3 x 2, with a zero in each row, and the same doubles.
    fn example() -> (NarrowDense, Dense) {
        let values = [0.0_f32, 0.1, f32::MAX, 0.0, -f32::MIN_POSITIVE, -0.0];
        (NarrowDense::from_vec(3, 2, values.to_vec()), Dense::from_vec(3, 2, values.map(f64::from).to_vec()))
    }

    fn bits(values: &[f64]) -> Vec<u64> {
        values.iter().map(|value| value.to_bits()).collect()
    }

    /// Whether the values are narrow still.
    fn is_narrow(block: &MatrixBlock) -> bool {
        block.narrow_dense().is_some()
    }

    #[test]
    fn questions_are_answered_without_widening() {
        let (narrow, wide) = example();
        let block = MatrixBlock::from(narrow.clone());
        assert_eq!((block.dims(), block.format(), block.nnz(), block.bytes()), ((3, 2), Format::Dense, 3, 6 * 4));
        assert_eq!(block.size(), MatrixBlock::from(wide.clone()).size());
        assert_eq!((block.get(0, 1), block.get(2, 0)), (f64::from(0.1_f32), -f64::from(f32::MIN_POSITIVE)));
        assert!(!block.is_borrowed() && block.is_same(&block.clone()) && !block.is_same(&narrow.into()));
        assert!(format!("{block:?}").contains("F32([0.0, 0.1, "), "{block:?}");
        assert!(is_narrow(&block));
        let csr = NarrowCsr::new(2, 9, vec![0, 2, 3], vec![1, 8, 0], vec![7_u8, 255, 1]).unwrap();
        let block = MatrixBlock::from(csr);
        assert_eq!((block.dims(), block.format(), block.nnz()), ((2, 9), Format::Sparse, 3));
        assert_eq!((block.size().nnz, block.bytes()), (Some(3), 3 + 3 * 4 + 3 * 8));
        assert_eq!([(0, 8), (0, 0), (1, 0)].map(|(i, j)| block.get(i, j)), [255.0, 0.0, 1.0]);
        assert!(format!("{block:?}").contains("U8([7, 255, 1])"), "{block:?}");
    }

    #[test]
    fn every_value_of_every_type_is_widened_exactly() {
        let floats = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, f32::MIN_POSITIVE / 2.0, f32::MAX];
        let widened = |block: MatrixBlock| bits(block.to_dense().values());
        let block = NarrowDense::from_vec(2, 3, floats.to_vec()).into();
        assert_eq!(widened(block), bits(&floats.map(f64::from)));
        let integers = [i32::MIN, i32::MAX, 0, -1];
        let block = NarrowDense::from_vec(1, 4, integers.to_vec()).into();
        assert_eq!(widened(block), bits(&integers.map(f64::from)));
        let bytes: Vec<u8> = (0..=255).collect();
        let expected: Vec<f64> = bytes.iter().map(|&byte| byte.into()).collect();
        assert_eq!(widened(NarrowDense::from_vec(16, 16, bytes).into()), bits(&expected));
        for (rows, cols) in [(0, 0), (0, 5), (5, 0)] {
            let block = MatrixBlock::from(NarrowDense::from_vec(rows, cols, Vec::<f32>::new()));
            assert_eq!((block.dims(), block.nnz(), block.bytes()), ((rows, cols), 0, 0));
            assert_eq!(block, Dense::zeros(rows, cols).into());
        }
    }

    /// Of all who hold the matrix, and of them alone the first pays.
    #[test]
    fn doubles_take_the_place_of_narrow_values() {
        let (narrow, wide) = example();
        let block = MatrixBlock::from(narrow);
        let other = block.clone();
        let cells = |block: &MatrixBlock| match block.layout() {
            Layout::Dense(cells) => cells.values().as_ptr(),
            Layout::Sparse(_) => unreachable!("the matrix is dense"),
        };
        assert_eq!(cells(&block), cells(&other));
        assert!(!is_narrow(&block) && !is_narrow(&other) && block.is_same(&other));
        assert_eq!((other.bytes(), other.nnz(), other.get(1, 0)), (6 * 8, 3, wide.get(1, 0)));
        assert_eq!(other, wide.into());
    }

    #[test]
    fn narrow_matrices_equal_those_of_doubles() {
        let (narrow, wide) = example();
        let csr = Csr::from_dense(&wide);
        let parts = (csr.row_offsets().to_vec(), csr.columns().to_vec());
        let values = csr.values().iter().map(|&value| value as f32).collect();
        let narrow_csr = NarrowCsr::new(3, 2, parts.0, parts.1, values).unwrap();
        assert_eq!(narrow_csr.widened(), csr);
        let blocks: [fn(&NarrowDense, &NarrowCsr) -> MatrixBlock; 2] =
            [|dense, _| dense.clone().into(), |_, csr| csr.clone().into()];
        for make in blocks {
            for other in blocks {
                assert_eq!(make(&narrow, &narrow_csr), other(&narrow, &narrow_csr));
            }
            assert_eq!(make(&narrow, &narrow_csr), wide.clone().into());
            assert_eq!(make(&narrow, &narrow_csr), csr.clone().into());
            assert_eq!(*make(&narrow, &narrow_csr).to_csr(), csr);
            assert_eq!(*make(&narrow, &narrow_csr).to_dense(), wide);
        }
        let other = NarrowDense::from_vec(2, 3, vec![0.0_f32; 6]);
        assert!(MatrixBlock::from(narrow) != other.into());
    }

    #[test]
    fn formats_suit_the_density_and_stay_narrow() {
        let with = |nonzeros: usize| {
            let values = (0..100).map(|cell| u8::from(cell < nonzeros)).collect();
            MatrixBlock::from(NarrowDense::from_vec(10, 10, values)).in_best_format()
        };
        assert_eq!((with(29).format(), with(30).format()), (Format::Sparse, Format::Dense));
        assert_eq!((with(29).bytes(), with(30).bytes()), (29 * 5 + 11 * 8, 100));
        let full = NarrowCsr::new(1, 3, vec![0, 3], vec![0, 1, 2], vec![1_u8, 2, 3]).unwrap();
        let full = MatrixBlock::from(full).in_best_format();
        assert_eq!((full.format(), full), (Format::Dense, Dense::from_vec(1, 3, vec![1.0, 2.0, 3.0]).into()));
    }

    #[test]
    fn cells_are_taken_from_their_only_owner() {
        let (narrow, wide) = example();
        let mut block = MatrixBlock::from(narrow.clone());
        let other = block.clone();
        assert!(block.take_dense().is_none() && is_narrow(&block));
        drop(other);
        assert_eq!(block.take_dense(), Some(wide));
        let mut sparse = MatrixBlock::from(narrow.to_csr());
        assert!(sparse.take_dense().is_none());
    }

    #[test]
    fn every_nan_becomes_the_same() {
        let (other_nan, pool) = (f32::from_bits(0xffc0_1234), ThreadPoolBuilder::new().num_threads(1).build().unwrap());
        let mut block = MatrixBlock::from(NarrowDense::from_vec(1, 2, vec![other_nan, 1.5]));
        block.unify_nan(&pool);
        assert_eq!(bits(block.to_dense().values()), bits(&[f64::NAN, 1.5]));
        let mut block = MatrixBlock::from(NarrowDense::from_vec(1, 2, vec![f32::NAN, 1.5]));
        block.unify_nan(&pool);
        assert!(is_narrow(&block), "there is nothing to change");
        assert_eq!(bits(block.to_dense().values()), bits(&[f64::NAN, 1.5]));
    }

    #[test]
    fn arrays_are_borrowed_where_they_are() {
        let array = Arc::new(Array2::from_shape_fn((2, 3), |(i, j)| (i * 3 + j) as f32));
        let block = MatrixBlock::from(NarrowDense::borrow_ndarray(Arc::clone(&array)).unwrap());
        assert!(block.is_borrowed() && Arc::strong_count(&array) == 2);
        assert_eq!(block, Dense::from_fn(2, 3, |i, j| (i * 3 + j) as f64).into());
        assert!(!block.is_borrowed() && Arc::strong_count(&array) == 1, "doubles are ours");
        let columns = Arc::new(Array2::<i32>::zeros((2, 3).f()));
        assert_eq!(NarrowDense::borrow_ndarray(columns).err(), Some(BorrowError::Order));
    }

    #[test]
    fn parts_are_widened_alone() {
        let narrow = NarrowDense::from_vec(2, 4, (0..8).map(|value| value * -3).collect());
        let mut out = [f64::NAN; 3];
        narrow.widen(3, &mut out);
        assert_eq!(out, [-9.0, -12.0, -15.0]);
        narrow.widen_columns(1, 1, &[0, 2], &mut out[..2]);
        assert_eq!(out, [-15.0, -21.0, -15.0]);
    }

    #[test]
    fn the_budget_counts_what_the_values_take() {
        const CELLS: usize = 1 << 20;
        let budget = Budget::new(16 * CELLS as u64);
        let context = RunContext::new(BufferPool::within(Arc::clone(&budget), 0), StopFlag::default());
        let held = context.run(|| {
            let narrow = NarrowDense::from_memory(1, CELLS, Memory::<f32>::zeroed(CELLS));
            let block = MatrixBlock::from(narrow);
            let narrow = budget.held();
            drop(block.to_dense());
            (narrow, budget.held())
        });
        assert_eq!(held, Ok((4 * CELLS as u64, 8 * CELLS as u64)));
        assert_eq!((budget.held(), budget.peak()), (0, 12 * CELLS as u64), "both forms while one becomes the other");
    }

    /// Threads that ask at once, outside of a pool and within, get one matrix.
    #[test]
    fn threads_share_the_doubles() {
        let block = MatrixBlock::from(NarrowDense::from_vec(1000, 300, (0..300_000).collect::<Vec<i32>>()));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let addresses: Vec<usize> = std::thread::scope(|scope| {
            let address = || block.to_dense().values().as_ptr().addr();
            let threads = [0, 1, 2, 3].map(|thread| {
                let pool = &pool;
                scope.spawn(move || if thread % 2 == 0 { pool.install(address) } else { address() })
            });
            threads.map(|thread| thread.join().unwrap()).to_vec()
        });
        assert!(addresses.iter().all(|&address| address == addresses[0]));
        assert_eq!(block, Dense::from_fn(1000, 300, |i, j| (i * 300 + j) as f64).into());
    }
}
