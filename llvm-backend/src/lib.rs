//! Fuseline's code generator: CPlans to LLVM IR to machine code in memory (section 2.2 and section 5 of the paper).
//!
//! A plan takes four steps. `schedule` decides which element-wise operations become one loop and which nodes call a
//! shared vector primitive, and gives every value a place. `emit` writes that down as LLVM IR with explicit vectors:
//! blocks of 32 lanes, 4 registers on AVX-512 and 8 on AVX2; calls become a table where there are many. `compiler` has
//! LLVM generate an object file. `jit` links it into memory, where it lives until the plan is dropped.
//!
//! Plans with an entry point for dense and one for sparse units are compiled for dense ones; both are emitted and
//! verified, but `kernel` has the sparse one generated when its first unit arrives. [`CompileInfo`] tells of what was
//! generated at once. Where texts are kept ([`LlvmOptions::keep_ir`], [`LlvmOptions::keep_asm`]), that is both.
//!
//! Several plans compile at once ([`LlvmBackend::with_threads`]). Code that another process generated is linked instead
//! of generated ([`LlvmBackend::with_store`]). An interpreter may run units while their code is generated
//! ([`LlvmBackend::with_interpreter`]).
//!
//! Every combination of [`LlvmOptions`] computes the same bits as the interpreter.

mod compiler;
mod emit;
mod jit;
mod kernel;
mod machinery;
#[cfg(all(feature = "llvm22-static", target_os = "linux", target_env = "gnu"))]
mod random;
mod schedule;
mod target;
mod threads;

pub use compiler::LlvmLevel;
pub use schedule::PrimitiveMode;
pub use threads::finish_compilation;

use fuseline_ir::cplan::VerifiedCPlan;
use fuseline_skeletons::backend::{Backend, BackendActivity, BackendError, CodeStore, CompileInfo, CompiledCPlan};
use fuseline_vecprims::Isa;
use kernel::LazyKernel;
use machinery::{Activity, Machinery};
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use target::Target;

/// The backend's name.
const NAME: &str = "llvm";

/// How plans are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LlvmOptions {
    /// The instruction set of loops and vector primitives.
    pub isa: Isa,
    /// Inline loops or calls of shared primitives.
    pub prims: PrimitiveMode,
    /// How hard LLVM works.
    pub opt: LlvmLevel,
    /// Keep the LLVM IR of every plan.
    pub keep_ir: bool,
    /// Keep the assembly of every plan.
    pub keep_asm: bool,
}

impl Default for LlvmOptions {
    /// The widest instruction set of this machine, and everything by cost.
    fn default() -> Self {
        LlvmOptions {
            isa: Isa::detect(),
            prims: PrimitiveMode::Auto,
            opt: LlvmLevel::Direct,
            keep_ir: false,
            keep_asm: false,
        }
    }
}

impl LlvmOptions {
    /// Whether compilation leaves texts besides code.
    fn keeps_text(self) -> bool {
        self.keep_ir || self.keep_asm
    }
}

/// The backend that compiles CPlans to machine code.
pub struct LlvmBackend {
    options: LlvmOptions,
    threads: usize,
    store: Option<Arc<dyn CodeStore>>,
    interpreter: Option<Box<dyn Backend>>,
    activity: Arc<Activity>,
    machinery: OnceLock<Result<Arc<Machinery>, BackendError>>,
}

impl std::fmt::Debug for LlvmBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LlvmBackend").field("options", &self.options).finish_non_exhaustive()
    }
}

impl LlvmBackend {
    /// A backend with these options, that compiles one plan at a time and keeps nothing for other processes.
    ///
    /// # Errors
    /// [`BackendError::Unsupported`] where this machine lacks the instruction set, or code is generated for none such:
    /// AVX2 is the least.
    pub fn new(options: LlvmOptions) -> Result<LlvmBackend, BackendError> {
        if !options.isa.is_available() || !Target::serves(options.isa) {
            let what = format!("the instruction set {} on this machine", options.isa);
            return Err(BackendError::Unsupported { backend: NAME, what });
        }
        Ok(LlvmBackend {
            options,
            threads: 1,
            store: None,
            interpreter: None,
            activity: Arc::default(),
            machinery: OnceLock::new(),
        })
    }

    /// A backend that compiles up to this many plans at once.
    pub fn with_threads(self, threads: usize) -> LlvmBackend {
        LlvmBackend { threads, ..self }
    }

    /// The backend with a store of code, which is looked up before code is generated. Where texts are kept it is not. What the
    /// store finds is run: it is trusted as [`CodeStore`] says.
    pub fn with_store(self, store: Arc<dyn CodeStore>) -> LlvmBackend {
        LlvmBackend { store: Some(store), ..self }
    }

    /// The backend with another one beside it, whose kernels run units while their code is being generated, so that compilation
    /// does not wait for LLVM. Where texts are kept it does.
    pub fn with_interpreter(self, interpreter: Box<dyn Backend>) -> LlvmBackend {
        LlvmBackend { interpreter: Some(interpreter), ..self }
    }

    /// The options.
    pub fn options(&self) -> LlvmOptions {
        self.options
    }

    fn machinery(&self) -> Result<&Arc<Machinery>, BackendError> {
        let make = || {
            let activity = Arc::clone(&self.activity);
            Machinery::new(self.options, self.threads, self.store.clone(), activity).map(Arc::new)
        };
        self.machinery.get_or_init(make).as_ref().map_err(Clone::clone)
    }

    /// A kernel whose code may be on its way.
    fn start(&self, plan: &VerifiedCPlan) -> Result<LazyKernel, BackendError> {
        let interpreter = self.interpreter.as_ref().filter(|_| !self.options.keeps_text());
        let meanwhile = interpreter.map(|interpreter| interpreter.compile(plan)).transpose()?;
        LazyKernel::start(plan, self.machinery()?, meanwhile)
    }

    /// What is known of a plan when its compilation need not be waited for any longer.
    fn finish(&self, kernel: &LazyKernel) -> Result<CompileInfo, BackendError> {
        let code = if kernel.has_interpreter() { kernel.ready() } else { Some(kernel.wait()?) };
        Ok(code.map_or_else(CompileInfo::default, |code| CompileInfo {
            code_bytes: code.object.code_bytes,
            called_symbols: code.object.called.clone(),
            llvm_ir: code.object.llvm_ir.clone(),
            assembly: code.object.assembly.clone(),
            ..CompileInfo::default()
        }))
    }
}

impl Backend for LlvmBackend {
    fn name(&self) -> &'static str {
        NAME
    }

    fn compile(&self, plan: &VerifiedCPlan) -> Result<CompiledCPlan, BackendError> {
        let compiled = self.compile_all(std::slice::from_ref(plan)).pop();
        compiled.unwrap_or_else(|| Err(compiler::internal("a plan without a result")))
    }

    fn compile_all(&self, plans: &[VerifiedCPlan]) -> Vec<Result<CompiledCPlan, BackendError>> {
        let start = Instant::now();
        let kernels: Vec<Result<LazyKernel, BackendError>> = plans.iter().map(|plan| self.start(plan)).collect();
        let finish = |(kernel, plan): (Result<LazyKernel, BackendError>, &VerifiedCPlan)| {
            let kernel = kernel?;
            // Its code is waited for before the time is taken.
            let info = self.finish(&kernel)?;
            let info = CompileInfo { duration: start.elapsed(), ..info };
            Ok(CompiledCPlan::new(plan.clone(), Arc::new(kernel), info))
        };
        kernels.into_iter().zip(plans).map(finish).collect()
    }

    fn activity(&self) -> BackendActivity {
        self.activity.so_far()
    }
}
