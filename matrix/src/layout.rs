//! Matrices of doubles, the two representations that kernels read, and how they are read.

use crate::csr::Csr;
use crate::dense::Dense;
use fuseline_ir::Format;
use std::borrow::Cow;
use std::sync::Arc;

/// What a matrix looks like to those who read it. Borrowed where it is stored so, decoded where it is not.
#[derive(Clone, Debug)]
pub enum Layout<'a> {
    /// Every cell, row after row.
    Dense(Cow<'a, Dense>),
    /// The non-zeros, row after row.
    Sparse(Cow<'a, Csr>),
}

impl<'a> Layout<'a> {
    /// The non-zeros of a matrix that is sparse.
    pub fn sparse(self) -> Option<Cow<'a, Csr>> {
        match self {
            Layout::Sparse(csr) => Some(csr),
            Layout::Dense(_) => None,
        }
    }

    /// All cells; converts those of a sparse matrix.
    pub fn into_dense(self) -> Cow<'a, Dense> {
        match self {
            Layout::Dense(dense) => dense,
            Layout::Sparse(csr) => Cow::Owned(csr.to_dense()),
        }
    }

    /// What is read here, lent on.
    pub fn borrowed(&self) -> Layout<'_> {
        match self {
            Layout::Dense(dense) => Layout::Dense(Cow::Borrowed(dense)),
            Layout::Sparse(csr) => Layout::Sparse(Cow::Borrowed(csr)),
        }
    }

    /// The format that is read like this.
    pub fn format(&self) -> Format {
        match self {
            Layout::Dense(_) => Format::Dense,
            Layout::Sparse(_) => Format::Sparse,
        }
    }

    /// Both dimensions.
    pub fn dims(&self) -> (usize, usize) {
        match self {
            Layout::Dense(dense) => (dense.rows(), dense.cols()),
            Layout::Sparse(csr) => (csr.rows(), csr.cols()),
        }
    }

    /// The cell in row `i` and column `j`: for single lookups.
    pub fn get(&self, i: usize, j: usize) -> f64 {
        match self {
            Layout::Dense(dense) => dense.get(i, j),
            Layout::Sparse(csr) => csr.get(i, j),
        }
    }
}

/// A matrix of doubles, dense or sparse; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) enum Wide {
    /// Every cell is stored.
    Dense(Arc<Dense>),
    /// Non-zeros are stored, row after row.
    Sparse(Arc<Csr>),
}

impl Wide {
    pub(crate) fn rows(&self) -> usize {
        self.layout().dims().0
    }

    pub(crate) fn cols(&self) -> usize {
        self.layout().dims().1
    }

    pub(crate) fn format(&self) -> Format {
        self.layout().format()
    }

    /// Whether both are one matrix in memory.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Wide::Dense(one), Wide::Dense(other)) => Arc::ptr_eq(one, other),
            (Wide::Sparse(one), Wide::Sparse(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    pub(crate) fn layout(&self) -> Layout<'_> {
        match self {
            Wide::Dense(dense) => Layout::Dense(Cow::Borrowed(dense)),
            Wide::Sparse(csr) => Layout::Sparse(Cow::Borrowed(csr)),
        }
    }

    /// Number of non-zeros (dense) or stored positions (sparse).
    pub(crate) fn nnz(&self) -> usize {
        match self {
            Wide::Dense(dense) => dense.count_nonzeros(),
            Wide::Sparse(csr) => csr.nnz(),
        }
    }

    /// The memory of the cells in bytes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Wide::Dense(dense) => size_of_val(dense.values()),
            Wide::Sparse(csr) => {
                size_of_val(csr.values()) + size_of_val(csr.columns()) + size_of_val(csr.row_offsets())
            }
        }
    }

    pub(crate) fn get(&self, i: usize, j: usize) -> f64 {
        self.layout().get(i, j)
    }

    /// Whether the cells are in memory of another owner.
    pub(crate) fn is_borrowed(&self) -> bool {
        match self {
            Wide::Dense(dense) => dense.is_borrowed(),
            Wide::Sparse(csr) => csr.is_borrowed(),
        }
    }
}

impl From<Dense> for Wide {
    fn from(dense: Dense) -> Self {
        Wide::Dense(Arc::new(dense))
    }
}

impl From<Csr> for Wide {
    fn from(csr: Csr) -> Self {
        Wide::Sparse(Arc::new(csr))
    }
}
