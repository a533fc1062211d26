//! Size propagation: types, dimensions and non-zeros of every operator, from those of variables and files; within a DAG,
//! across the blocks of a program, and through its functions (section 2.1: HOP-DAG compilation and recompilation).

mod dag;
mod environment;
mod error;
mod program;
#[cfg(test)]
mod tests;

pub(crate) use dag::size_inputs;
pub use dag::{explain_sizes, propagate_dag, size_variables};
pub use environment::{FileSizes, NoFiles, SizeEnvironment, VariableFacts};
pub use error::{CallSite, InputOrigin, ValidationError};
pub use program::{propagate_constants, propagate_sizes};
