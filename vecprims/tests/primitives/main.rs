//! Every primitive of every instruction set of this machine against the rules of the execution contract, bit for bit.

mod data;
mod elementwise;
mod extents;
mod naive;
mod panels;
mod products;
mod reductions;
#[cfg(target_arch = "x86_64")]
mod registers;
mod sparse;
mod sweep;
mod symbols;
mod windows;
