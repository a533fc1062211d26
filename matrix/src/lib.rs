//! Fuseline's matrices: [`Dense`] and [`Csr`] blocks of doubles, [`MatrixBlock`] that is either, the [`BufferPool`]
//! that recycles their memory, and readers and writers of file formats in [`io`].
#![deny(unsafe_code)]

mod block;
mod buffer;
mod csr;
mod dense;
pub mod io;
#[cfg(test)]
mod tests;

pub use block::{MatrixBlock, SPARSITY_TURN_POINT};
pub use buffer::{Buffer, BufferPool, PoolStatistics};
pub use csr::{Csr, CsrError, CsrRows};
pub use dense::Dense;
