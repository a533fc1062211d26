//! How much of a matrix is stored.

use super::Context;
use fuseline_ir::hop::HopId;
use fuseline_ir::work::CELL_BYTES;
use fuseline_ir::{Format, SizeInfo};

/// Bytes of a scalar.
pub(crate) const SCALAR_BYTES: f64 = CELL_BYTES as f64;

/// Bytes of a matrix as stored; 0 for scalars and where unknown.
pub fn bytes(size: &SizeInfo) -> f64 {
    size.bytes().unwrap_or(0) as f64
}

/// How a value is expected to be stored: [`Context`] keeps one per operator, since every price looks them up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Storage {
    /// Its format.
    pub format: Format,
    /// Its [`bytes`].
    pub bytes: f64,
    /// The share of non-zeros that a sparse format exploits; 1 for dense matrices.
    pub sparsity: f64,
    /// The non-zeros of a sparse format; 0 for dense matrices.
    pub non_zeros: f64,
    /// The rows of a sparse format; 0 for dense matrices.
    pub rows: f64,
}

impl Storage {
    /// The storage of a value of this size.
    pub fn of(size: &SizeInfo) -> Self {
        let (format, bytes) = (size.format(), bytes(size));
        match format {
            Format::Dense => Storage { format, bytes, sparsity: 1.0, non_zeros: 0.0, rows: 0.0 },
            Format::Sparse => {
                let (sparsity, rows) = (size.sparsity(), size.rows.unwrap_or(0) as f64);
                Storage { format, bytes, sparsity, non_zeros: cells(size) * sparsity, rows }
            }
        }
    }
}

/// Bytes of an operator's value as it is stored.
pub fn bytes_of(context: &Context<'_>, id: HopId) -> f64 {
    context.storage(id).bytes
}

pub(crate) fn cells(size: &SizeInfo) -> f64 {
    size.cells().unwrap_or(0) as f64
}

/// The share of non-zeros that a sparse format exploits; 1 for dense matrices.
pub(crate) fn sparsity(context: &Context<'_>, id: HopId) -> f64 {
    context.storage(id).sparsity
}

/// The rows of a matrix in a sparse format; zero for a dense one.
pub(crate) fn stored_rows(context: &Context<'_>, id: HopId) -> f64 {
    context.storage(id).rows
}

/// The non-zeros of a matrix in a sparse format; zero for a dense one.
pub(crate) fn stored_non_zeros(context: &Context<'_>, id: HopId) -> f64 {
    context.storage(id).non_zeros
}
