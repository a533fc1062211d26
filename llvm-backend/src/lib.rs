//! Fuseline's code generator: CPlans to LLVM IR to machine code in memory (section 2.2 and section 5 of the paper).
//!
//! A plan takes four steps. `schedule` decides which element-wise operations become one loop and which nodes call a
//! shared vector primitive, and gives every value a place. `emit` writes that down as LLVM IR with explicit vectors:
//! blocks of 32 lanes, 4 registers on AVX-512 and 8 on AVX2. `compiler` has LLVM generate an object file. `jit` links
//! it into memory, where it lives until the plan is dropped.
//!
//! Plans with an entry point for dense and one for sparse units are compiled for dense ones; both are emitted and
//! verified, but `kernel` has the sparse one generated when its first unit arrives. [`CompileInfo::code_bytes`] counts
//! what was generated at once. Where texts are kept ([`LlvmOptions::keep_ir`], [`LlvmOptions::keep_asm`]), both are.
//!
//! Every combination of [`LlvmOptions`] computes the same bits as the interpreter.

mod compiler;
mod emit;
mod jit;
mod kernel;
mod schedule;
mod target;

pub use compiler::LlvmOpt;
pub use schedule::PrimMode;

use compiler::{Compiler, internal};
use fuseline_ir::cplan::VerifiedCPlan;
use fuseline_skeletons::backend::{Backend, BackendError, CompileInfo, CompiledCPlan};
use fuseline_vecprims::Isa;
use jit::Jit;
use kernel::LazyKernel;
use std::sync::Arc;
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
    pub prims: PrimMode,
    /// How hard LLVM works.
    pub opt: LlvmOpt,
    /// Keep the LLVM IR of every plan.
    pub keep_ir: bool,
    /// Keep the assembly of every plan.
    pub keep_asm: bool,
}

impl Default for LlvmOptions {
    /// The widest instruction set of this machine, and everything by cost.
    fn default() -> Self {
        LlvmOptions { isa: Isa::detect(), prims: PrimMode::Auto, opt: LlvmOpt::Direct, keep_ir: false, keep_asm: false }
    }
}

/// The backend that compiles CPlans to machine code.
pub struct LlvmBackend {
    options: LlvmOptions,
    compiler: Arc<Compiler>,
    jit: Arc<Jit>,
}

impl std::fmt::Debug for LlvmBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LlvmBackend").field("options", &self.options).finish_non_exhaustive()
    }
}

impl LlvmBackend {
    /// A backend with these options.
    ///
    /// # Errors
    /// [`BackendError::Unsupported`] where this machine lacks the instruction set, or code is generated for none such:
    /// AVX2 is the least.
    pub fn new(options: LlvmOptions) -> Result<LlvmBackend, BackendError> {
        let unsupported = || BackendError::Unsupported {
            backend: NAME,
            what: format!("the instruction set {} on this machine", options.isa),
        };
        let target = Target::new(options.isa).filter(|_| options.isa.is_available()).ok_or_else(unsupported)?;
        let jit = Jit::new(fuseline_vecprims::symbols(options.isa).into_iter().collect()).map_err(internal)?;
        Ok(LlvmBackend { options, compiler: Arc::new(Compiler::start(options, target)?), jit: Arc::new(jit) })
    }

    /// The options.
    pub fn options(&self) -> LlvmOptions {
        self.options
    }
}

impl Backend for LlvmBackend {
    fn name(&self) -> &'static str {
        NAME
    }

    fn compile(&self, plan: &VerifiedCPlan) -> Result<CompiledCPlan, BackendError> {
        let start = Instant::now();
        let code = self.compiler.compile(plan)?;
        let kernel = LazyKernel::new(plan, &code, Arc::clone(&self.compiler), Arc::clone(&self.jit))?;
        let info = CompileInfo {
            code_bytes: code.object.code_bytes,
            duration: start.elapsed(),
            called_symbols: code.called,
            llvm_ir: code.object.llvm_ir,
            assembly: code.object.assembly,
        };
        Ok(CompiledCPlan { plan: plan.clone(), kernel: Arc::new(kernel), info })
    }
}
