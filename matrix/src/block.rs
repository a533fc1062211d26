//! A matrix in whichever representation it is stored.

use crate::buffer::BufferPool;
use crate::csr::Csr;
use crate::dense::Dense;
use crate::error::CsrError;
use crate::layout::{Layout, Wide};
use crate::nan::{has_other_nan_in, replace_nan};
use crate::narrow::{Narrow, NarrowCsr, NarrowDense};
use crate::shared::{copy_in, on_threads_for};
use fuseline_ir::{Format, SizeInfo};
use ndarray::{Array2, ArrayView2};
use rayon::ThreadPool;
use std::borrow::Cow;
use std::sync::Arc;

/// A matrix, dense or sparse; cheap to clone. How it is stored is known to this crate alone: others read its
/// [`layout`](MatrixBlock::layout).
#[derive(Clone, Debug)]
pub struct MatrixBlock {
    storage: Storage,
}

#[derive(Clone, Debug)]
enum Storage {
    Wide(Wide),
    /// Values that are held narrow as long as nobody needs them as doubles.
    Narrow(Arc<Narrow>),
}

impl MatrixBlock {
    /// A 1 x 1 matrix.
    pub fn single(value: f64) -> Self {
        Dense::from_vec(1, 1, vec![value]).into()
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        match &self.storage {
            Storage::Wide(wide) => wide.rows(),
            Storage::Narrow(narrow) => narrow.rows(),
        }
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        match &self.storage {
            Storage::Wide(wide) => wide.cols(),
            Storage::Narrow(narrow) => narrow.cols(),
        }
    }

    /// Both dimensions.
    pub fn dims(&self) -> (usize, usize) {
        (self.rows(), self.cols())
    }

    /// How the matrix is stored, as far as plans tell formats apart.
    pub fn format(&self) -> Format {
        match &self.storage {
            Storage::Wide(wide) => wide.format(),
            Storage::Narrow(narrow) => narrow.format(),
        }
    }

    /// Whether both are one matrix in memory.
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.storage, &other.storage) {
            (Storage::Wide(one), Storage::Wide(other)) => one.is_same(other),
            (Storage::Narrow(one), Storage::Narrow(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    /// Whether both read the same cells, and have the same shape: an array that was borrowed twice is one.
    pub fn reads_same(&self, other: &Self) -> bool {
        if self.is_same(other) {
            return true;
        }
        let is_same = |one: &[f64], other: &[f64]| std::ptr::eq(one, other);
        match (&self.storage, &other.storage) {
            (Storage::Wide(Wide::Dense(one)), Storage::Wide(Wide::Dense(other))) => {
                (one.rows(), one.cols()) == (other.rows(), other.cols()) && is_same(one.values(), other.values())
            }
            (Storage::Wide(Wide::Sparse(one)), Storage::Wide(Wide::Sparse(other))) => {
                one.cols() == other.cols()
                    && is_same(one.values(), other.values())
                    && std::ptr::eq(one.columns(), other.columns())
                    && one.row_offsets() == other.row_offsets()
            }
            _ => false,
        }
    }

    /// What there is to read: the cells of a dense matrix, the non-zeros of a sparse one. Narrow values are widened for
    /// good: what is asked for doubles once is asked again.
    pub fn layout(&self) -> Layout<'_> {
        match &self.storage {
            Storage::Wide(wide) => wide.layout(),
            Storage::Narrow(narrow) => narrow.wide().layout(),
        }
    }

    /// The cells of a dense matrix as they are stored, if that is narrower than doubles: for those who widen what they read
    /// part by part.
    pub fn narrow_dense(&self) -> Option<Arc<NarrowDense>> {
        match &self.storage {
            Storage::Narrow(narrow) => narrow.dense(),
            Storage::Wide(_) => None,
        }
    }

    /// The matrix of doubles.
    fn widened(self) -> Self {
        match &self.storage {
            Storage::Narrow(narrow) => narrow.wide().clone().into(),
            Storage::Wide(_) => self,
        }
    }

    /// The cells of a dense matrix that nobody else holds, which is empty afterwards.
    pub fn take_dense(&mut self) -> Option<Dense> {
        match &mut self.storage {
            Storage::Wide(Wide::Dense(dense)) => Some(std::mem::replace(Arc::get_mut(dense)?, Dense::zeros(0, 0))),
            Storage::Narrow(narrow) if narrow.format() == Format::Dense => {
                Arc::get_mut(narrow)?;
                *self = self.clone().widened();
                self.take_dense()
            }
            Storage::Wide(_) | Storage::Narrow(_) => None,
        }
    }

    /// Number of non-zeros; scans a dense matrix.
    pub fn nnz(&self) -> usize {
        match &self.storage {
            Storage::Wide(wide) => wide.nnz(),
            Storage::Narrow(narrow) => narrow.nnz(),
        }
    }

    /// Dimensions and, where it costs nothing to know, the number of non-zeros.
    pub fn size(&self) -> SizeInfo {
        let (rows, cols) = (self.rows() as u64, self.cols() as u64);
        match self.format() {
            Format::Dense => SizeInfo::dims(rows, cols),
            Format::Sparse => SizeInfo::with_nnz(rows, cols, self.nnz() as u64),
        }
    }

    /// The memory of the cells in bytes.
    pub fn bytes(&self) -> usize {
        match &self.storage {
            Storage::Wide(wide) => wide.bytes(),
            Storage::Narrow(narrow) => narrow.bytes(),
        }
    }

    /// The dense form; converts a sparse matrix.
    pub fn to_dense(&self) -> Cow<'_, Dense> {
        self.layout().into_dense()
    }

    /// The sparse form; converts a dense matrix.
    pub fn to_csr(&self) -> Cow<'_, Csr> {
        match self.layout() {
            Layout::Dense(dense) => Cow::Owned(Csr::from_dense(&dense)),
            Layout::Sparse(csr) => csr,
        }
    }

    /// The cell in row `i` and column `j`: for tests and single lookups.
    pub fn get(&self, i: usize, j: usize) -> f64 {
        match &self.storage {
            Storage::Wide(wide) => wide.get(i, j),
            Storage::Narrow(narrow) => narrow.get(i, j),
        }
    }

    /// The format that suits a matrix of this shape and number of non-zeros.
    pub fn best_format(rows: usize, cols: usize, nnz: usize) -> Format {
        Format::suited_to(rows as f64, cols as f64, nnz as f64)
    }

    /// Whether the cells are in memory of another owner, so that they take none of the budget.
    pub fn is_borrowed(&self) -> bool {
        match &self.storage {
            Storage::Wide(wide) => wide.is_borrowed(),
            Storage::Narrow(narrow) => narrow.is_borrowed(),
        }
    }

    /// Checks anew what another owner may have changed since the matrix was made or checked: before each evaluation that
    /// reads it. Inside of a rayon pool, its threads share the work.
    ///
    /// # Errors
    /// The positions of non-zeros do not form a matrix any more.
    pub fn check_borrowed(&self) -> Result<(), CsrError> {
        match &self.storage {
            Storage::Wide(Wide::Sparse(csr)) => csr.check_borrowed(),
            Storage::Wide(Wide::Dense(_)) | Storage::Narrow(_) => Ok(()),
        }
    }

    /// Checks it so by the threads of a pool.
    ///
    /// # Errors
    /// The positions of non-zeros do not form a matrix any more.
    pub fn check_borrowed_on(&self, threads: &ThreadPool) -> Result<(), CsrError> {
        match &self.storage {
            Storage::Wide(Wide::Sparse(csr)) if csr.may_change() => {
                on_threads_for(threads, csr.nnz(), || csr.check_borrowed())
            }
            Storage::Wide(_) | Storage::Narrow(_) => Ok(()),
        }
    }

    /// Copies what another owner may change, to memory of a pool. The threads of another one share the work.
    pub fn detach(&mut self, threads: &ThreadPool, buffers: &Arc<BufferPool>) {
        match &mut self.storage {
            Storage::Wide(Wide::Dense(dense)) if dense.may_change() => {
                let values = copy_in(threads, buffers, dense.values());
                *dense = Arc::new(Dense::from_buffer(dense.rows(), dense.cols(), values));
            }
            Storage::Wide(Wide::Sparse(csr)) if csr.may_change() => Csr::detach(csr, threads, buffers),
            Storage::Wide(_) | Storage::Narrow(_) => {}
        }
    }

    /// Whether it is known that no cell is NaN.
    pub fn is_nan_free(&self) -> bool {
        match &self.storage {
            Storage::Wide(Wide::Dense(dense)) => dense.is_nan_free(),
            Storage::Wide(Wide::Sparse(csr)) => csr.is_nan_free(),
            Storage::Narrow(_) => false,
        }
    }

    /// Puts one and the same NaN into all cells that are NaN. The threads of a pool look for them.
    pub fn unify_nan(&mut self, threads: &ThreadPool) {
        match &mut self.storage {
            Storage::Wide(Wide::Dense(dense)) if !dense.is_nan_free() && has_other_nan_in(threads, dense.values()) => {
                replace_nan(Arc::make_mut(dense).values_mut());
            }
            Storage::Wide(Wide::Sparse(csr)) if !csr.is_nan_free() && has_other_nan_in(threads, csr.values()) => {
                replace_nan(Arc::make_mut(csr).values_mut());
            }
            Storage::Narrow(narrow) if narrow.has_other_nan() => {
                *self = self.clone().widened();
                self.unify_nan(threads);
            }
            Storage::Wide(_) | Storage::Narrow(_) => {}
        }
    }

    /// The matrix, as doubles if these stay in a cache: there narrow values take longer to widen than doubles to read.
    pub(crate) fn wide_if_small(self) -> Self {
        let bytes = self.format().bytes(self.rows() as u64, self.cols() as u64, self.size().nnz.unwrap_or(0));
        if bytes <= CACHED_BYTES { self.widened() } else { self }
    }

    /// The matrix in the format that suits its density.
    pub fn in_best_format(self) -> Self {
        self.in_best_format_in(&BufferPool::new(0))
    }

    /// Whether the matrix is sparse, and a sparse format suits it.
    pub fn stays_sparse(&self) -> bool {
        self.format().is_sparse() && MatrixBlock::best_format(self.rows(), self.cols(), self.nnz()).is_sparse()
    }

    /// The matrix in the format that suits its density; what is converted is in memory of a pool. Inside of a rayon pool, its
    /// threads share the work.
    pub fn in_best_format_in(self, pool: &Arc<BufferPool>) -> Self {
        match &self.storage {
            Storage::Wide(_) if self.stays_sparse() => self,
            Storage::Wide(Wide::Sparse(csr)) => csr.filled_in(pool, csr.values(), 0.0).into(),
            Storage::Wide(Wide::Dense(dense)) => match Csr::from_few_in(pool, dense) {
                Some(csr) => csr.into(),
                None => self,
            },
            Storage::Narrow(narrow) => {
                let nonzeros = narrow.nnz();
                self.in_format_for(nonzeros)
            }
        }
    }

    /// The matrix in the format that suits its number of non-zeros.
    pub(crate) fn in_format_for(self, nonzeros: usize) -> Self {
        // What cannot be numbered is not stored by number.
        let can_be_sparse = u32::try_from(self.cols()).is_ok();
        match MatrixBlock::best_format(self.rows(), self.cols(), nonzeros) {
            format if format == self.format() => self,
            Format::Dense => self.to_dense().into_owned().into(),
            Format::Sparse if can_be_sparse => self.non_zeros(),
            Format::Sparse => self,
        }
    }

    /// The non-zeros of a dense matrix, narrow as long as its cells are.
    fn non_zeros(&self) -> Self {
        match self.narrow_dense() {
            Some(dense) => dense.to_csr().into(),
            None => self.to_csr().into_owned().into(),
        }
    }
}

/// Bytes of doubles that caches hold.
const CACHED_BYTES: u64 = 4 << 20;

impl From<Wide> for MatrixBlock {
    fn from(wide: Wide) -> Self {
        MatrixBlock { storage: Storage::Wide(wide) }
    }
}

impl From<Dense> for MatrixBlock {
    fn from(dense: Dense) -> Self {
        Wide::from(dense).into()
    }
}

/// Without a copy in C order, else with one.
impl From<Array2<f64>> for MatrixBlock {
    fn from(array: Array2<f64>) -> Self {
        Dense::from_ndarray(array).into()
    }
}

/// With a copy.
impl From<ArrayView2<'_, f64>> for MatrixBlock {
    fn from(view: ArrayView2<'_, f64>) -> Self {
        view.to_owned().into()
    }
}

impl From<Csr> for MatrixBlock {
    fn from(csr: Csr) -> Self {
        Wide::from(csr).into()
    }
}

impl From<NarrowDense> for MatrixBlock {
    fn from(dense: NarrowDense) -> Self {
        MatrixBlock { storage: Storage::Narrow(Arc::new(Narrow::of_dense(dense))) }
    }
}

impl From<NarrowCsr> for MatrixBlock {
    fn from(csr: NarrowCsr) -> Self {
        MatrixBlock { storage: Storage::Narrow(Arc::new(Narrow::of_csr(csr))) }
    }
}

/// Equal dimensions and equal cells, whatever the format; NaN differs from everything.
impl PartialEq for MatrixBlock {
    fn eq(&self, other: &Self) -> bool {
        self.dims() == other.dims() && *self.to_dense() == *other.to_dense()
    }
}
