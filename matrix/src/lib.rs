//! Fuseline's matrices: [`Dense`] and [`Csr`] blocks of doubles, [`NarrowDense`] and [`NarrowCsr`] ones of narrower values,
//! [`MatrixBlock`]s of any of them that are read as one of the first two ([`Layout`]),
//! [`Frame`]s of columns of several types, the [`BufferPool`] that recycles the memory of matrices, and readers and
//! writers of file formats in [`io`].
#![forbid(unsafe_code)]

pub mod affinity;
mod block;
mod borrowed;
mod budget;
mod buffer;
mod collected;
mod columns;
mod csr;
mod dense;
mod error;
mod frame;
mod growing;
pub mod io;
mod layout;
mod memory;
mod nan;
mod narrow;
mod nonzero_bits;
mod pattern;
mod refusal;
pub mod run_context;
mod shared;
mod sparse_row;
mod stored_rows;
pub mod strips;
mod suited;
#[cfg(test)]
mod tests;
mod transpose;

pub use block::MatrixBlock;
pub use borrowed::Borrowed;
pub use budget::{Budget, Exhausted, MemoryKind, Reservation};
pub use buffer::{Buffer, BufferPool, PoolStatistics};
pub use collected::{Collected, Part, Tally, copied_text};
pub use csr::{Csr, CsrRows};
pub use dense::{Dense, count_nonzeros};
pub use error::{BorrowError, CsrError};
pub use frame::{Column, Frame, FrameError};
pub use growing::{Growing, TextBuffer};
pub use layout::Layout;
pub use memory::zeros;
pub use nan::NanWatch;
pub use narrow::{NarrowCells, NarrowCsr, NarrowDense, NarrowValue};
pub use refusal::{AllocationFailure, Refusal};
pub use run_context::{RunContext, SMALLEST_RESERVED, StopFlag, StopListener};
pub use shared::parts_of_columns;
pub use sparse_row::{JoinedCells, SparseRow, ones_if_at_most};
pub use stored_rows::StoredRows;
pub use suited::SuitedRows;
