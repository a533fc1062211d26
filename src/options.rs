//! All configuration of a session, as a value.

use crate::error::Error;
use crate::memory::physical_memory;
use fuseline_interp::InterpBackend;
use fuseline_ir::work::STRIP_BYTES;
use fuseline_passes::cost::CostModel;
use fuseline_passes::facts::TemplateLimits;
use fuseline_passes::machine::Machine;
use fuseline_passes::pipeline::OptimizerOptions;
use fuseline_passes::program::ProgramOptions;
use fuseline_passes::rewrite::RewriteOptions;
use fuseline_passes::select::{Enumeration, SearchLimits, SelectPolicy};
use fuseline_runtime::{CodeFolder, EngineOptions, Mode, OptimizerEnvironment};
use fuseline_skeletons::Backend;
use fuseline_vecprims::Isa;
use std::path::PathBuf;
use std::sync::Arc;

/// What executes fused operators.
///
/// ```
/// use fuseline::{BackendKind, Matrix, Session};
///
/// let session = Session::builder().backend(BackendKind::Interp).build()?;
/// assert_eq!(session.eval(Matrix::full(2, 2, 0.5).square().sum())?, 1.0);
/// # Ok::<(), fuseline::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BackendKind {
    /// Machine code from LLVM.
    Llvm,
    /// An interpreter over vector primitives, without any compile time.
    Interp,
    /// The interpreter until LLVM's code is there: runs do not wait for compilation, and results are the same. On a
    /// machine of one thread nothing can happen meanwhile, and this is LLVM.
    Tiered,
}

impl Default for BackendKind {
    /// LLVM with the interpreter meanwhile, where this build has LLVM.
    fn default() -> Self {
        if cfg!(feature = "llvm") { BackendKind::Tiered } else { BackendKind::Interp }
    }
}

impl BackendKind {
    /// What runs code that is finished and nothing else, so that times are those of the code.
    ///
    /// ```
    /// use fuseline::BackendKind;
    ///
    /// assert_ne!(BackendKind::for_measurement(), BackendKind::Tiered);
    /// ```
    pub fn for_measurement() -> Self {
        match BackendKind::default() {
            BackendKind::Tiered => BackendKind::Llvm,
            other => other,
        }
    }
}

/// How hard LLVM works.
///
/// ```
/// use fuseline::{CompileOptions, LlvmLevel, Matrix, Session};
///
/// let session = Session::new(CompileOptions { llvm: LlvmLevel::O3, ..CompileOptions::default() })?;
/// assert_eq!(session.eval(Matrix::full(2, 2, 0.5).square().sum())?, 1.0);
/// # Ok::<(), fuseline::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LlvmLevel {
    /// No passes over the IR: the generator emits what they would make of it.
    #[default]
    Direct,
    /// LLVM's standard pipeline at its first level.
    O1,
    /// At its second.
    O2,
    /// At its third.
    O3,
}

impl LlvmLevel {
    /// Every level, the quickest to generate code first.
    pub const ALL: [LlvmLevel; 4] = [LlvmLevel::Direct, LlvmLevel::O1, LlvmLevel::O2, LlvmLevel::O3];
}

/// Whether generated code calls vector primitives or has them inlined.
///
/// ```
/// use fuseline::{CompileOptions, Matrix, PrimitiveMode, Session};
///
/// let session = Session::new(CompileOptions { primitives: PrimitiveMode::Shared, ..CompileOptions::default() })?;
/// assert_eq!(session.eval(Matrix::full(2, 2, 0.5).square().sum())?, 1.0);
/// # Ok::<(), fuseline::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PrimitiveMode {
    /// By cost.
    #[default]
    Auto,
    /// Calls.
    Shared,
    /// Inline loops.
    Inlined,
}

/// The instruction set of vector code. Results do not depend on it.
///
/// ```
/// use fuseline::{BackendKind, CompileOptions, CpuFeatures, Matrix, Session};
///
/// let x = Matrix::full(100, 1, 0.1);
/// let default = CompileOptions { backend: BackendKind::Interp, ..CompileOptions::default() };
/// let portable = CompileOptions { cpu: CpuFeatures::Portable, ..default.clone() };
/// assert_eq!(Session::new(portable)?.eval(x.sigmoid().sum())?, Session::new(default)?.eval(x.sigmoid().sum())?);
/// # Ok::<(), fuseline::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CpuFeatures {
    /// The best of this machine.
    #[default]
    Native,
    /// AVX-512.
    Avx512,
    /// AVX2 and FMA.
    Avx2,
    /// Whatever every processor has.
    Portable,
}

/// Configuration of a [`crate::Session`].
///
/// ```
/// use fuseline::{CompileOptions, Mode, Session};
///
/// let options = CompileOptions { mode: Mode::GenFuseAll, memory_budget: Some(1 << 30), ..CompileOptions::default() };
/// assert_eq!(Session::new(options)?.options().mode, Mode::GenFuseAll);
/// # Ok::<(), fuseline::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CompileOptions {
    /// How operators are fused.
    pub mode: Mode,
    /// What executes fused operators.
    pub backend: BackendKind,
    /// How hard LLVM works.
    pub llvm: LlvmLevel,
    /// Calls or inline loops.
    pub primitives: PrimitiveMode,
    /// The instruction set.
    pub cpu: CpuFeatures,
    /// Whether compiled operators are kept and found again.
    pub plan_cache: bool,
    /// A folder that keeps machine code and plans for other processes, where `plan_cache` is on; see [`crate::CodeFolder`]. One
    /// that cannot be used is not.
    pub code_folder: Option<PathBuf>,
    /// How fusion plans are enumerated.
    pub enumeration: Enumeration,
    /// Whether [`Mode::GenFuseAll`] and [`Mode::GenFuseNoRedundancy`] leave aggregates that share an input apart, and write
    /// products of low rank that no Outer operator computes, as the paper's heuristics do.
    pub paper_heuristics: bool,
    /// A seed for which any valid plan is drawn in place of the cheapest: an instrument of tests.
    pub random_plans: Option<u64>,
    /// Bytes of a strip of rows, which operators reduce by itself before strips merge: an instrument of tests, since results
    /// depend on it.
    pub strip_bytes: u64,
    /// Whether expressions are simplified.
    pub rewrites: bool,
    /// How programs are simplified across their blocks and functions.
    pub program: ProgramOptions,
    /// Exactly IEEE arithmetic: a zero annihilates only what is known to be finite.
    pub strict_ieee: bool,
    /// Rewrites as if numbers were real: partial results may cancel or overflow that did not as written, or the reverse,
    /// and what NaN and infinities give is open. Without effect under `strict_ieee`.
    pub algebraic: bool,
    /// Threads; 0 takes all of the machine, [`MOST_THREADS`](crate::MOST_THREADS) is the most. Results do not depend on it.
    pub threads: usize,
    /// Whether each thread stays on one processor, on Linux alone: for processors that no other program uses, where they
    /// mostly keep the times of runs below some milliseconds from varying.
    pub pin_threads: bool,
    /// Bytes that runs may hold at a time; an operator that needs more than is left is refused. `None` refuses by the
    /// memory of this machine, or of the container.
    pub memory_budget: Option<u64>,
    /// Bytes that the inputs and the output of an operator may take in a plan: operators that might take more run on the
    /// cluster of `machine`, or are avoided. `None` is `memory_budget` or, without one, the budget of `machine`. Results
    /// depend on it.
    pub plan_memory_budget: Option<u64>,
    /// The machine that plans are made for: unless told otherwise a typical one with the threads and the registers of this one.
    /// Results depend on it.
    pub machine: Machine,
    /// Size floors of templates.
    pub template_limits: TemplateLimits,
    /// Whether the LLVM IR and assembly of operators are kept for inspection.
    pub keep_code: bool,
    /// Folders of functions written in DML: a call of a function that a script does not define finds it in the file
    /// `function.dml` of the first folder that has one, itself or in a folder `builtin` within it, before it is looked up
    /// in Fuseline's own library.
    pub library_folders: Vec<PathBuf>,
}

impl Default for CompileOptions {
    fn default() -> Self {
        CompileOptions {
            mode: Mode::Gen,
            backend: BackendKind::default(),
            llvm: LlvmLevel::Direct,
            primitives: PrimitiveMode::Auto,
            cpu: CpuFeatures::Native,
            plan_cache: true,
            code_folder: None,
            enumeration: Enumeration::default(),
            paper_heuristics: false,
            random_plans: None,
            strip_bytes: STRIP_BYTES,
            rewrites: true,
            program: ProgramOptions::default(),
            strict_ieee: false,
            algebraic: false,
            threads: 0,
            pin_threads: false,
            memory_budget: None,
            plan_memory_budget: None,
            machine: Machine { threads: machine_threads(), ..Machine::typical(Isa::detect().lanes()) },
            template_limits: TemplateLimits::default(),
            keep_code: false,
            library_folders: Vec::new(),
        }
    }
}

/// Idle memory that is kept for reuse.
const IDLE_BYTES: usize = 4 << 30;

impl CompileOptions {
    /// The instruction set that these options mean on this machine.
    pub(crate) fn isa(&self) -> Isa {
        match self.cpu {
            CpuFeatures::Native => Isa::detect(),
            CpuFeatures::Avx512 => Isa::Avx512,
            CpuFeatures::Avx2 => Isa::Avx2,
            CpuFeatures::Portable => Isa::Portable,
        }
    }

    pub(crate) fn threads(&self) -> usize {
        if self.threads > 0 { self.threads } else { machine_threads() }
    }

    /// The folder that keeps code and plans. One that cannot be used, for whatever reason, is as good as none.
    pub(crate) fn open_code_folder(&self) -> Option<Arc<CodeFolder>> {
        let folder = self.code_folder.as_ref().filter(|_| self.plan_cache)?;
        CodeFolder::open(folder).ok().map(Arc::new)
    }

    /// The backend, with this folder of code.
    pub(crate) fn backend(&self, folder: Option<Arc<CodeFolder>>) -> Result<Box<dyn Backend>, Error> {
        match self.backend {
            BackendKind::Interp => Ok(Box::new(self.interpreter())),
            BackendKind::Llvm | BackendKind::Tiered => self.llvm_backend(folder),
        }
    }

    fn interpreter(&self) -> InterpBackend {
        InterpBackend::with_isa(self.isa())
    }

    #[cfg(feature = "llvm")]
    fn llvm_backend(&self, folder: Option<Arc<CodeFolder>>) -> Result<Box<dyn Backend>, Error> {
        use fuseline_llvm_backend::{self as llvm, LlvmBackend, LlvmOptions};
        let mut backend = LlvmBackend::new(LlvmOptions {
            isa: self.isa(),
            prims: match self.primitives {
                PrimitiveMode::Auto => llvm::PrimitiveMode::Auto,
                PrimitiveMode::Shared => llvm::PrimitiveMode::Shared,
                PrimitiveMode::Inlined => llvm::PrimitiveMode::Inlined,
            },
            opt: match self.llvm {
                LlvmLevel::Direct => llvm::LlvmLevel::Direct,
                LlvmLevel::O1 => llvm::LlvmLevel::O1,
                LlvmLevel::O2 => llvm::LlvmLevel::O2,
                LlvmLevel::O3 => llvm::LlvmLevel::O3,
            },
            keep_ir: self.keep_code,
            keep_asm: self.keep_code,
        })?
        .with_threads(self.threads());
        if self.backend == BackendKind::Tiered && machine_threads() > 1 {
            // The other half of the threads runs operators.
            backend = backend.with_interpreter(Box::new(self.interpreter())).with_threads(self.threads().div_ceil(2));
        }
        if let Some(folder) = folder {
            backend = backend.with_store(folder);
        }
        Ok(Box::new(backend))
    }

    #[cfg(not(feature = "llvm"))]
    fn llvm_backend(&self, _: Option<Arc<CodeFolder>>) -> Result<Box<dyn Backend>, Error> {
        let what = "anything: this build has no LLVM (build with the feature llvm22 or llvm19)".to_owned();
        Err(Error::Backend(fuseline_skeletons::BackendError::Unsupported { backend: "llvm", what }))
    }

    pub(crate) fn rewrite_options(&self) -> RewriteOptions {
        RewriteOptions {
            enabled: self.rewrites,
            strict_ieee: self.strict_ieee,
            algebraic: self.algebraic,
            ..RewriteOptions::default()
        }
    }

    /// The machine that plans are made for, with the memory that an operator may take where the user says so.
    fn planned_machine(&self) -> Machine {
        let bytes = self.plan_memory_budget.or(self.memory_budget);
        let memory_budget = bytes.map(|bytes| bytes as f64).or(self.machine.memory_budget);
        Machine { memory_budget, ..self.machine.clone() }
    }

    /// The options of an engine with this folder of plans.
    pub(crate) fn engine_options(&self, code_folder: Option<Arc<CodeFolder>>) -> EngineOptions {
        EngineOptions {
            environment: self.environment(),
            threads: self.threads(),
            pin_threads: self.pin_threads,
            idle_bytes: IDLE_BYTES,
            memory_budget: self.memory_budget.unwrap_or_else(physical_memory),
            strip_bytes: self.strip_bytes,
            code_folder,
        }
    }

    /// Limits of templates as the mode has them: the paper's heuristics know no rows of products of low rank.
    fn template_limits(&self) -> TemplateLimits {
        let limits = TemplateLimits { strict_ieee: self.strict_ieee, ..self.template_limits.clone() };
        let is_heuristic = matches!(self.mode, Mode::GenFuseAll | Mode::GenFuseNoRedundancy);
        if is_heuristic && self.paper_heuristics { TemplateLimits { low_rank: 0, ..limits } } else { limits }
    }

    /// What decides plans, in the order of its text: a fingerprint of it all, threads, memory, cluster.
    ///
    /// ```
    /// use fuseline::CompileOptions;
    ///
    /// let environment = CompileOptions::default().environment().to_string();
    /// assert!(environment.ends_with("no cluster"), "{environment}");
    /// ```
    pub fn environment(&self) -> OptimizerEnvironment {
        OptimizerEnvironment {
            mode: self.mode,
            rewrites: self.rewrite_options(),
            optimizer: OptimizerOptions {
                policy: self.random_plans.map_or(SelectPolicy::CostBased, |seed| SelectPolicy::Random { seed }),
                template_limits: self.template_limits(),
                // Never for `threads`, or results would depend on them.
                model: CostModel::new(self.planned_machine()),
                search_limits: SearchLimits {
                    enumeration: self.enumeration,
                    paper_heuristics: self.paper_heuristics,
                    ..SearchLimits::default()
                },
                ..OptimizerOptions::default()
            },
            strict_ieee: self.strict_ieee,
        }
    }
}

/// The threads of this machine.
pub(crate) fn machine_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fuseline_ir::hop::parse;
    use fuseline_passes::joint::choose;

    /// Two sums over products of matrices of 0.8 MB each that share `X * Y`.
    const SHARED_PRODUCT: &str = r#"
hops {
  %0 = read "X" : f64[1000x100]
  %1 = read "Y" : f64[1000x100]
  %2 = read "Z" : f64[1000x100]
  %3 = read "W" : f64[1000x100]
  %4 = mult %0, %1 : f64[1000x100]
  %5 = mult %4, %2 : f64[1000x100]
  %6 = sum.full %5 : f64
  %7 = mult %4, %3 : f64[1000x100]
  %8 = sum.full %7 : f64
  write "a" %6
  write "b" %8
}
"#;

    /// Members of the largest fused operator under these options.
    fn largest_operator(options: &CompileOptions) -> usize {
        let dags = parse(SHARED_PRODUCT).expect("well-formed");
        let optimizer = options.environment().optimizer;
        let rewrites = RewriteOptions { enabled: false, ..RewriteOptions::default() };
        let chosen = choose(&dags[0].1, &rewrites, &optimizer);
        chosen.planned.plan.covers.iter().map(|cover| cover.members.len()).max().unwrap_or(0)
    }

    /// P096: an explicit budget shapes the plan; without one all products are fused.
    #[test]
    fn an_explicit_memory_budget_changes_the_plan() {
        let default = CompileOptions::default();
        let with = |memory_budget| largest_operator(&CompileOptions { memory_budget, ..default.clone() });
        assert!(with(Some(2_400_000)) < with(None));
        assert_eq!(with(Some(1 << 30)), with(None));
    }

    /// What plans assume goes before what runs are held to, and that before what the machine has.
    #[test]
    fn the_budget_of_plans_comes_first() {
        let machine = Machine { memory_budget: Some(1.0), ..Machine::default() };
        let of_machine = CompileOptions { machine, ..CompileOptions::default() };
        let of_run = CompileOptions { memory_budget: Some(2), ..of_machine.clone() };
        let of_plan = CompileOptions { plan_memory_budget: Some(2_400_000), ..of_run.clone() };
        let budgets = [&of_machine, &of_run, &of_plan].map(|options| options.environment().machine().memory_budget);
        assert_eq!(budgets, [Some(1.0), Some(2.0), Some(2_400_000.0)]);
        assert_eq!(of_plan.engine_options(None).memory_budget, 2);
        let for_plans_alone = CompileOptions { plan_memory_budget: Some(2_400_000), ..CompileOptions::default() };
        assert!(largest_operator(&for_plans_alone) < largest_operator(&CompileOptions::default()));
    }
}
