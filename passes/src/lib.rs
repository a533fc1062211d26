//! Fuseline's compiler passes: rewrites, sizes, exploration, selection, CPlan construction.

pub mod memory;
pub mod rewrite;
pub mod size;
pub mod construct;
pub mod cost;
pub mod explain;
pub mod explore;
pub mod machine;
pub mod partition;
pub mod pipeline;
pub mod replace;
pub mod select;
pub mod template;
mod zeros;

pub use machine::Machine;
