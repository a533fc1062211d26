//! What turns CPlans into executable kernels.

use crate::abi::{Context, Kernel, Output, Unit, UnitSize};
use crate::known::LastKnown;
use fuseline_ir::cplan::VerifiedCPlan;
use fuseline_ir::work::NARROW_ROW;
use fuseline_matrix::{AllocationFailure, Refusal};
use std::borrow::Cow;
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
    /// The system refuses the memory that compiling a plan may take; treated as `Unsupported`.
    #[error("the {backend} backend needs {bytes} bytes to compile a plan, which the system refuses")]
    Memory {
        /// The backend.
        backend: &'static str,
        /// The bytes.
        bytes: u64,
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

impl BackendError {
    /// Unwinds with this error where a unit that has begun cannot go on.
    ///
    /// # Panics
    /// Always: memory that the system refuses ends the operator with an error, everything else is a bug.
    pub fn unwind(&self) -> ! {
        match *self {
            BackendError::Memory { bytes, .. } => AllocationFailure { bytes, refusal: Refusal::System }.unwind(),
            _ => panic!("verified code must generate: {self}"),
        }
    }
}

/// A plan ready to run. Its kernel runs through [`execute`](crate::execute) alone, which hands out units that fit the plan:
/// native kernels rely on that.
///
/// ```compile_fail,E0616
/// fn out_of_reach(compiled: &fuseline_skeletons::CompiledCPlan) -> &dyn fuseline_skeletons::abi::Kernel {
///     &*compiled.kernel
/// }
/// ```
#[derive(Clone, Debug)]
pub struct CompiledCPlan {
    plan: VerifiedCPlan,
    /// What units of sparse rows run, if that is not the plan itself.
    sparse_form: Option<Box<VerifiedCPlan>>,
    kernel: Arc<dyn Kernel>,
    label: String,
    last_known: Arc<LastKnown>,
    /// Facts about its compilation.
    pub info: CompileInfo,
}

impl CompiledCPlan {
    /// A plan with its genexec.
    pub fn new(plan: VerifiedCPlan, kernel: Arc<dyn Kernel>, info: CompileInfo) -> Self {
        let label = format!("{} {}", plan.variant.template(), plan.variant.mnemonic());
        let sparse_form = match plan.sparse_form() {
            Some(Cow::Owned(form)) => Some(Box::new(form)),
            Some(Cow::Borrowed(_)) | None => None,
        };
        CompiledCPlan { plan, sparse_form, kernel, label, last_known: Arc::default(), info }
    }

    /// The form of the plan that units of sparse rows run, if that is not the plan itself.
    pub fn sparse_form(&self) -> Option<&VerifiedCPlan> {
        self.sparse_form.as_deref()
    }

    /// The template and the variant: what executions are counted as.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The plan.
    pub fn plan(&self) -> &VerifiedCPlan {
        &self.plan
    }

    /// Whether there is an entry for units with a sparse main input: [`Kernel::has_sparse_entry`].
    pub fn has_sparse_entry(&self) -> bool {
        self.kernel.has_sparse_entry()
    }

    /// The scratch values that a unit needs: [`Kernel::scratch_len`].
    pub fn scratch_len(&self, unit: UnitSize) -> usize {
        self.kernel.scratch_len(unit)
    }

    /// How many row vectors, or tiles of cells, scratch memory has room for: where the longest vector has a value more,
    /// a unit needs so many more values for each of its rows. What is there for narrow rows alone does not count.
    pub fn buffers(&self) -> usize {
        let scratch = |longest| self.scratch_len(UnitSize { rows: 1, positions: 0, longest });
        let line = 8;
        (scratch(NARROW_ROW + 2 * line) - scratch(NARROW_ROW + line)) / line
    }

    /// Runs the plan on one unit.
    ///
    /// # Safety
    /// Context, unit and outputs must have the extents that the plan reads and writes, as [`crate::abi`] says.
    pub unsafe fn genexec(&self, context: &mut Context<'_>, unit: &Unit<'_>, outputs: &mut [Output<'_>]) {
        self.kernel.genexec(context, unit, outputs);
    }

    /// The kernel, for those who lay units out.
    pub(crate) fn kernel(&self) -> &dyn Kernel {
        &*self.kernel
    }

    /// What was found out when the plan last ran.
    pub(crate) fn last_known(&self) -> &LastKnown {
        &self.last_known
    }
}

/// A code generator or interpreter for CPlans.
pub trait Backend: Send + Sync + std::fmt::Debug {
    /// The name, as `--backend` knows it.
    fn name(&self) -> &'static str;

    /// Compiles a plan.
    ///
    /// # Errors
    /// [`BackendError::Unsupported`], [`BackendError::Limit`] and [`BackendError::Memory`] leave the plan's operators
    /// unfused; the others are bugs.
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

/// Keeps generated code for other processes. What it finds is run: a store must give back nothing but what was stored
/// under the key, by this user. Whatever is wrong with what it keeps, it finds nothing then.
pub trait CodeStore: Send + Sync + std::fmt::Debug {
    /// The code that was stored under exactly this key.
    fn load(&self, key: &str) -> Option<Vec<u8>>;

    /// Stores code under a key, or does not.
    fn store(&self, key: &str, code: &[u8]);
}
