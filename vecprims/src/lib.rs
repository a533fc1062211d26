//! Fuseline's SIMD vector primitives, shared by all generated operators.
//!
//! Generated code calls primitives by symbol ([`symbols`], [`Primitive`]); interpreters and basic kernels call them
//! through the safe methods of [`Primitives`]. Each algorithm is written once in `body`, over registers (`vector`) and
//! over the scalar references of the op table (`kernel`), and compiled once per instruction set (`table`). Every
//! instruction set gives the same bits; the execution contract in `ARCHITECTURE.md` says which.

#![allow(
    clippy::needless_range_loop,
    reason = "several register arrays move in lockstep, and iterators would hide which lanes meet"
)]

mod body;
mod family;
mod isa;
mod kernel;
mod panels;
mod primitive;
mod safe;
mod table;
mod tile;
mod vector;

pub use family::ArgKind;
pub use isa::Isa;
pub use panels::{PANEL, Panels};
pub use primitive::{Form, Primitive, math_symbol, primitive_names, signature, symbols};
pub use table::{Primitives, primitives};
pub use tile::{CsrTile, Operand, Tile, TileMut};

/// Whether a dense vector times a matrix of so many columns adds up scaled rows, a register of columns at a time (rule 6). Of
/// fewer columns each gives a dot product.
pub fn adds_up_rows(cols: usize) -> bool {
    cols >= 3
}

/// The most values of a chain of fused multiply-adds, where such a product adds up several: of more, roundings would add up.
pub const CHAIN: usize = 1024;
