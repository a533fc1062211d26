//! Fuseline's compiler passes: rewrites, sizes, exploration, selection, CPlan construction.
//!
//! One module per stage; [`pipeline`] shows how a DAG goes through fusion on one screen.
#![forbid(unsafe_code)]

pub mod construct;
pub mod cost;
pub mod explain;
pub mod explore;
pub mod fused;
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
mod zeros;

pub use machine::Machine;
