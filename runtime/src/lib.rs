//! Executes programs: walks their statement blocks, compiles each block's DAG for the sizes it meets (dynamic
//! recompilation, section 2.1), runs basic operators on `kernels` and fused operators on `skeletons`, and owns the plan
//! cache between them.
#![forbid(unsafe_code)]

mod block_cache;
mod code_folder;
mod compiled_dag;
mod compiler;
mod dag_executor;
mod engine;
mod environment;
mod error;
mod evaluation;
mod files;
mod format;
mod kept_dag;
mod kept_plans;
mod map;
mod memory;
mod operators;
mod place;
mod plan_cache;
mod program_executor;
mod progress;
mod scalar_block;
mod scalars;
mod sketches;
mod statistics;
mod threads;
mod tokenize;
mod transform;
mod value;

pub use block_cache::CompiledBlocks;
pub use code_folder::{CodeFolder, CodeFolderError};
pub use compiled_dag::CompiledDag;
pub use compiler::{CompileStage, Observer, compile_dag};
pub use engine::{Engine, EngineOptions};
pub use environment::{Fingerprint, Mode, OptimizerEnvironment};
pub use error::{CallSite, ErrorContext, ListError, RuntimeError, RuntimeErrorKind};
pub use evaluation::Evaluator;
pub use files::MetadataSizes;
pub use format::FormatError;
pub use kept_plans::simplify_dags;
pub use map::MapError;
pub use plan_cache::{CacheAnswer, PlanCache};
pub use program_executor::{Executable, run_program};
pub use progress::Progress;
pub use statistics::{HeavyHitter, HitRate, Statistics};
pub use threads::{MOST_THREADS, ThreadsError};
pub use tokenize::TokenizeError;
pub use transform::TransformError;
pub use value::{List, ListElement, RuntimeValue, Variables};
