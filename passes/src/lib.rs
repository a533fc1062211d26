//! Fuseline's compiler passes: rewrites, sizes, exploration, selection, CPlan construction.
//!
//! One module per stage, and some for what stages share; [`pipeline`] shows how a DAG goes through fusion on one screen.
//! Modules use those that stand before them in the order of `tests/edges/modules.rs` alone.
#![forbid(unsafe_code)]

mod blocks;
pub mod construct;
pub mod cost;
pub mod cover;
pub mod explain;
pub mod explore;
pub mod facts;
mod fold;
pub mod fused;
mod hops;
pub mod joint;
pub mod liveness;
pub mod machine;
pub mod memory;
pub mod partition;
pub mod pipeline;
pub mod program;
pub mod replace;
pub mod rewrite;
pub mod select;
pub mod size;
pub mod sketch;
pub mod template;
#[cfg(test)]
mod testing;
mod union_find;
mod walk;
mod zeros;

pub use machine::Machine;
