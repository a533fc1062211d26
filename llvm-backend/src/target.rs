//! The machine that code is generated for: processor name, features, and machine-code emitters per level.

use fuseline_vecprims::Isa;
use inkwell::OptimizationLevel;
use inkwell::targets::{
    CodeModel, InitializationConfig, RelocMode, Target as LlvmTarget, TargetMachine, TargetMachineOptions,
};
use std::sync::{Once, OnceLock};

/// A processor as LLVM names it, restricted to one instruction set.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// The processor.
    pub(crate) cpu: String,
    /// Features beyond the processor's.
    pub(crate) features: String,
    /// Bits of a vector register.
    pub(crate) vector_bits: u32,
}

/// Name and features of this machine; asking costs 0.1 ms, so ask once.
fn host() -> &'static (String, String) {
    static HOST: OnceLock<(String, String)> = OnceLock::new();
    HOST.get_or_init(|| {
        let text = |string: inkwell::support::LLVMString| string.to_str().unwrap_or_default().to_owned();
        (text(TargetMachine::get_host_cpu_name()), text(TargetMachine::get_host_cpu_features()))
    })
}

/// Makes LLVM know this machine's processor family, the only one that a static build has; the linker needs it too.
fn initialize() {
    static INITIALIZE: Once = Once::new();
    INITIALIZE.call_once(|| INITIALIZE_FAMILY(&InitializationConfig::default()));
}

#[cfg(target_arch = "aarch64")]
const INITIALIZE_FAMILY: fn(&InitializationConfig) = LlvmTarget::initialize_aarch64;

#[cfg(not(target_arch = "aarch64"))]
const INITIALIZE_FAMILY: fn(&InitializationConfig) = LlvmTarget::initialize_x86;

impl Target {
    /// Whether code is generated for an instruction set.
    pub(crate) fn serves(isa: Isa) -> bool {
        cfg!(target_arch = "x86_64") && isa != Isa::Portable
    }

    /// The target for an instruction set; `None` where the code generator has none.
    ///
    /// AVX2 is x86-64-v3 and nothing more, so that no AVX-512 instruction slips in on machines that have both.
    pub(crate) fn new(isa: Isa) -> Option<Target> {
        if !Target::serves(isa) {
            return None;
        }
        initialize();
        match isa {
            Isa::Avx512 => {
                let (cpu, features) = host().clone();
                Some(Target { cpu, features, vector_bits: 512 })
            }
            Isa::Avx2 => Some(Target { cpu: "x86-64-v3".into(), features: String::new(), vector_bits: 256 }),
            Isa::Portable => None,
        }
    }

    /// Doubles per vector register.
    pub(crate) fn lanes(&self) -> u32 {
        self.vector_bits / 64
    }

    /// The processor family, operating system and calling convention.
    pub(crate) fn triple(&self) -> String {
        TargetMachine::get_default_triple().as_str().to_string_lossy().into_owned()
    }

    /// An emitter of machine code.
    pub(crate) fn machine(&self, level: OptimizationLevel) -> Result<TargetMachine, String> {
        let triple = TargetMachine::get_default_triple();
        let target = LlvmTarget::from_triple(&triple).map_err(|message| message.to_string())?;
        let options = TargetMachineOptions::new()
            .set_cpu(&self.cpu)
            .set_features(&self.features)
            .set_level(level)
            .set_reloc_mode(RelocMode::PIC)
            .set_code_model(CodeModel::Default);
        target
            .create_target_machine_from_options(&triple, options)
            .ok_or_else(|| format!("LLVM has no target machine for {}", self.cpu))
    }
}
