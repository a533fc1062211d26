//! Fuseline's code generator: CPlans to LLVM IR to machine code in memory (section 2.2 and section 5 of the paper).
//!
//! A plan takes four steps. `schedule` decides which element-wise operations become one loop and which nodes call a
//! shared vector primitive, and gives every value a place. `emit` writes that down as LLVM IR with explicit vectors:
//! blocks of 32 lanes, 4 registers on AVX-512 and 8 on AVX2. `compiler` has LLVM generate an object file. `jit` links
//! it into memory, where it lives until the plan is dropped.
//!
//! Every combination of [`LlvmOptions`] computes the same bits as the interpreter.

mod compiler;
mod emit;
mod jit;
mod schedule;
mod target;

pub use compiler::LlvmOpt;
pub use schedule::PrimMode;

use compiler::{Compiler, internal};
use fuseline_ir::cplan::VerifiedCPlan;
use fuseline_skeletons::backend::{Backend, BackendError, CompileInfo, CompiledCPlan};
use fuseline_vecprims::Isa;
use jit::{Jit, LinkedCode};
use schedule::{Entry, ScratchNeed};
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
    compiler: Compiler,
    jit: Arc<Jit>,
}

impl std::fmt::Debug for LlvmBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LlvmBackend").field("options", &self.options).finish_non_exhaustive()
    }
}

/// Owns the memory of a plan's code.
struct CodeOwner {
    scratch: ScratchNeed,
    _code: LinkedCode,
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
        Ok(LlvmBackend { options, compiler: Compiler::start(options, target)?, jit: Arc::new(jit) })
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
        let object = self.compiler.compile(plan)?;
        let names: Vec<&str> = object.entries.iter().map(|entry| entry.symbol()).collect();
        let (code, addresses) = self.jit.link(&object.bytes, &object.called, &names).map_err(internal)?;
        let entry = |wanted: Entry| {
            let index = object.entries.iter().position(|&entry| entry == wanted)?;
            Some(jit::entry_point(addresses[index]))
        };
        let owner = CodeOwner { scratch: object.scratch, _code: code };
        let scratch = |owner: &CodeOwner, rows, max_vector| owner.scratch.values(rows, max_vector);
        let kernel = jit::kernel(entry(Entry::Dense), entry(Entry::Sparse), scratch, owner);
        let info = CompileInfo {
            code_bytes: object.code_bytes,
            duration: start.elapsed(),
            called_symbols: object.called,
            llvm_ir: object.llvm_ir,
            assembly: object.assembly,
        };
        Ok(CompiledCPlan { plan: plan.clone(), kernel: Arc::new(kernel), info })
    }
}
