//! Operator skeletons: the hand-written iteration, blocking, threading, memory and aggregation around generated code
//! (section 2.2, "Runtime Integration"), the genexec ABI between the two, and the [`Backend`] trait.

pub mod abi;
pub mod backend;

pub use backend::{Backend, BackendError, CompileInfo, CompiledCPlan};
