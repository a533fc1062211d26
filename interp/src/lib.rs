//! Fuseline's reference implementations, without LLVM and without unsafe code: [`InterpBackend`] interprets CPlans tile
//! by tile over the vector primitives, and [`oracle`] evaluates HOP DAGs cell by cell with rigorous error bounds.
#![forbid(unsafe_code)]

pub mod oracle;
mod tile;

pub use tile::InterpBackend;
