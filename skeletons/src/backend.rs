//! What turns CPlans into executable kernels.

use crate::abi::Kernel;
use fuseline_ir::cplan::VerifiedCPlan;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// Why a backend did not compile a plan.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BackendError {
    /// The backend cannot run such plans; the operators stay unfused, and the compile report says so.
    #[error("the {backend} backend does not support {what}")]
    Unsupported {
        /// The backend.
        backend: &'static str,
        /// What it lacks.
        what: String,
    },
    /// The plan exceeds a limit of the backend; treated as `Unsupported`.
    #[error("the plan exceeds a limit of the {backend} backend: {what}")]
    Limit {
        /// The backend.
        backend: &'static str,
        /// Which limit.
        what: String,
    },
    /// A bug.
    #[error("internal error of the {backend} backend: {message}")]
    Internal {
        /// The backend.
        backend: &'static str,
        /// What happened.
        message: String,
    },
}

/// Facts about the compilation of one plan.
#[derive(Clone, Debug, Default)]
pub struct CompileInfo {
    /// Bytes of machine code; 0 when interpreted.
    pub code_bytes: usize,
    /// Time spent.
    pub duration: Duration,
    /// Names of the vector primitives that the code calls, in order of first call.
    pub called_symbols: Vec<String>,
    /// The module as LLVM IR, when asked for.
    pub llvm_ir: Option<String>,
    /// The code as assembly, when asked for.
    pub assembly: Option<String>,
}

/// A plan ready to run.
#[derive(Clone, Debug)]
pub struct CompiledCPlan {
    /// The plan.
    pub plan: VerifiedCPlan,
    /// Its genexec.
    pub kernel: Arc<dyn Kernel>,
    /// Facts about its compilation.
    pub info: CompileInfo,
}

/// A code generator or interpreter for CPlans.
pub trait Backend: Send + Sync + std::fmt::Debug {
    /// The name, as `--backend` knows it.
    fn name(&self) -> &'static str;

    /// Compiles a plan.
    ///
    /// # Errors
    /// [`BackendError::Unsupported`] and [`BackendError::Limit`] leave the plan's operators unfused; the others are
    /// bugs.
    fn compile(&self, plan: &VerifiedCPlan) -> Result<CompiledCPlan, BackendError>;
}
