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

    /// Compiles several plans, if it can at the same time; the results are in the order of the plans.
    fn compile_all(&self, plans: &[VerifiedCPlan]) -> Vec<Result<CompiledCPlan, BackendError>> {
        plans.iter().map(|plan| self.compile(plan)).collect()
    }

    /// What it has done since it was made.
    fn activity(&self) -> BackendActivity {
        BackendActivity::default()
    }
}

/// What a backend that generates code has done since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackendActivity {
    /// Entry points whose code was generated.
    pub generated: u64,
    /// Entry points whose code was found in a [`CodeStore`].
    pub restored: u64,
    /// Bytes of machine code of both.
    pub code_bytes: u64,
    /// Units that were interpreted while their code was being generated.
    pub interpreted_units: u64,
    /// Time that operators which had begun waited for code.
    pub waited: Duration,
}

/// Keeps generated code for other processes. Whatever is wrong with what it keeps, it finds nothing then.
pub trait CodeStore: Send + Sync + std::fmt::Debug {
    /// The code that was stored under exactly this key.
    fn load(&self, key: &str) -> Option<Vec<u8>>;

    /// Stores code under a key, or does not.
    fn store(&self, key: &str, code: &[u8]);
}
