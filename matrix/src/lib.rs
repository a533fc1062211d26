//! Fuseline's matrices: [`Dense`] and [`Csr`] blocks of doubles, [`MatrixBlock`] that is either,
//! [`Frame`]s of columns of several types, the [`BufferPool`] that recycles the memory of matrices, and readers and
//! writers of file formats in [`io`].
#![forbid(unsafe_code)]

mod block;
pub mod blocks;
mod buffer;
mod csr;
mod dense;
mod frame;
pub mod io;
mod memory;
#[cfg(test)]
mod tests;
mod transpose;

pub use block::MatrixBlock;
pub use buffer::{Buffer, BufferPool, PoolStatistics};
pub use csr::{Csr, CsrError, CsrRows};
pub use dense::Dense;
pub use frame::{Column, Frame, FrameError};
pub use memory::{AllocationFailure, zeros};
