//! Fuseline: linear algebra, fused and compiled.
//!
//! A [`Session`] compiles and runs DML scripts and expressions. It finds the cheapest way to fuse their operators,
//! compiles the fused operators to machine code, and runs them over dense and sparse matrices.
//!
//! ```
//! use fuseline::{CompileOptions, Session, Variables};
//!
//! let session = Session::new(CompileOptions::default())?;
//! let script = session.compile_script("<text>", "X = rand(rows=100, cols=10, seed=1)\ns = sum(X * X + 1)", &[])?;
//! let outcome = session.run(&script, Variables::new(), &mut std::io::stdout())?;
//! assert!(outcome.variables["s"].as_f64().unwrap() > 1000.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod calibrate;
mod error;
mod evaluator;
pub mod explain;
mod expression;
mod functions;
pub mod generate;
mod library;
mod located;
mod memory;
mod options;
mod prepared;
mod session;
mod session_builder;
mod user;

pub use error::Error;
pub use explain::{BlocksPrinter, ExplainStage, StageCollector, StagePrinter};
pub use expression::{
    Axis, Compiled, CompiledExprs, Expr, ExprError, Iteration, Matrix, Operand, OperandOf, Outputs, Place, Scalar,
    cbind, rbind, where_,
};
pub use functions::ScriptFunctions;
pub use fuseline_ir as ir;
pub use fuseline_lang::{Argument, read_script};
pub use fuseline_matrix::run_context::{Abort, caught};
pub use fuseline_matrix::{
    AllocationFailure, BorrowError, Borrowed, Column, Csr, CsrError, Dense, Frame, Layout, MatrixBlock, NarrowCsr,
    NarrowDense, NarrowValue, io,
};
pub use fuseline_passes::machine::Machine;
pub use fuseline_passes::program::ProgramOptions;
pub use fuseline_passes::select::Enumeration;
pub use fuseline_runtime::{
    CodeFolder, CodeFolderError, CompileStage, Fingerprint, List, ListElement, MOST_THREADS, Mode,
    OptimizerEnvironment, Progress, RuntimeValue, Statistics, Variables,
};
pub use library::script_library;
pub use ndarray;
pub use options::{BackendKind, CompileOptions, CpuFeatures, LlvmLevel, PrimitiveMode};
pub use prepared::{PreparedScript, ScriptInterface};
pub use session::{Interrupter, Outcome, Script, Session, finish_compilation};
pub use session_builder::SessionBuilder;
pub use sprs;
pub use user::{calibrated_machine, calibration_file, code_folder};

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The examples of the guide are tests, too.
#[cfg(doctest)]
mod guide {
    #[doc = include_str!("../docs/guide/src/first-fusion.md")]
    struct FirstFusion;
    #[doc = include_str!("../docs/guide/src/compiled.md")]
    struct Compiled;
    #[doc = include_str!("../docs/guide/src/plans.md")]
    struct Plans;
    #[doc = include_str!("../docs/guide/src/sparse.md")]
    struct Sparse;
    #[doc = include_str!("../docs/guide/src/scripts.md")]
    struct Scripts;
    #[doc = include_str!("../docs/guide/src/performance.md")]
    struct Performance;
}
