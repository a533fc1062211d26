//! Fuseline's intermediate representations: inert data, their text forms and verifiers.
//!
//! Four levels, each printable, parsable and testable alone: [`program`] (statement blocks), [`hop`] (operator DAGs
//! with sizes), [`cplan`] (fused operators, independent of backends); LLVM IR is the fourth and lives in the backend.
//! Beside them: [`ops`], the one table of element-wise operations (a crate of its own, so that primitives are not
//! compiled anew with every change here), [`template`], the templates of fused operators, [`memo`], the paper's memo
//! table of partial fusion plans (section 3.1), [`builtins`], the signatures of DML's functions, [`cell_function`],
//! what `map` applies, [`work`], facts of how operators cut their work, and [`schedule`], how a
//! fused operator runs.
//!
//! This crate knows no other of ours but the table: no e-graph, no LLVM, no threads, no matrix contents.
#![forbid(unsafe_code)]

pub mod builtins;
pub mod cell_function;
pub mod cplan;
pub mod hop;
pub mod memo;
pub mod program;
pub mod schedule;
pub mod size;
pub mod template;
pub mod text;
pub mod types;
mod verifier;
pub mod work;

pub use fuseline_ops as ops;
pub use size::{Format, SizeInfo};
pub use template::{Space, TemplateType};
pub use text::{ParseError, ParseErrors};
pub use types::{DataType, Element, ScalarType, Value};
pub use verifier::{VerifierError, VerifierErrors};
