//! A backend that interprets CPlans tile by tile over the vector primitives: each node computes its value for a whole
//! unit before the next node does, which is what the execution contract says every backend's result must equal. It is
//! the build without LLVM, and the tier that runs while LLVM compiles.

mod element;
mod frame;
mod kernel;
mod output;
mod value;

use fuseline_ir::cplan::VerifiedCPlan;
use fuseline_skeletons::{Backend, BackendError, CompileInfo, CompiledCPlan};
use fuseline_vecprims::{Isa, primitives};
use kernel::InterpKernel;
use std::sync::Arc;
use std::time::Instant;

/// The interpreting backend. It runs every verified plan and compiles nothing.
#[derive(Clone, Copy, Debug)]
pub struct InterpBackend {
    isa: Isa,
}

impl InterpBackend {
    /// A backend over the widest primitives of this machine.
    pub fn new() -> Self {
        InterpBackend { isa: Isa::detect() }
    }

    /// A backend over the primitives of one instruction set, which this machine must have. Results are the same bits.
    pub fn with_isa(isa: Isa) -> Self {
        InterpBackend { isa }
    }
}

impl Default for InterpBackend {
    fn default() -> Self {
        InterpBackend::new()
    }
}

impl Backend for InterpBackend {
    fn name(&self) -> &'static str {
        "interp"
    }

    fn compile(&self, plan: &VerifiedCPlan) -> Result<CompiledCPlan, BackendError> {
        let start = Instant::now();
        if !self.isa.is_available() {
            return Err(BackendError::Unsupported { backend: self.name(), what: format!("{} here", self.isa) });
        }
        let kernel = Arc::new(InterpKernel::new(plan, primitives(self.isa)));
        let info = CompileInfo { duration: start.elapsed(), ..CompileInfo::default() };
        Ok(CompiledCPlan::new(plan.clone(), kernel, info))
    }
}
