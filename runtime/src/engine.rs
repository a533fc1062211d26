//! The engine: configuration, threads, memory, backend and plan cache, shared by the runs of a session.

use crate::code_folder::CodeFolder;
use crate::environment::{Fingerprint, OptimizerEnvironment};
use crate::error::RuntimeErrorKind;
use crate::plan_cache::PlanCache;
use crate::progress::{Progress, ProgressCounters};
use crate::threads::{Threads, ThreadsError};
use fuseline_kernels::{self as kernels, KernelContext, Primitives};
use fuseline_matrix::{Budget, BufferPool, MatrixBlock, RunContext, StopFlag};
use fuseline_skeletons::{Backend, Counters};
use std::sync::Arc;

/// Configuration of an [`Engine`].
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// What decides plans.
    pub environment: OptimizerEnvironment,
    /// Worker threads.
    pub threads: usize,
    /// Whether each of these stays on one processor.
    pub pin_threads: bool,
    /// Idle bytes that the buffer pool keeps.
    pub idle_bytes: usize,
    /// Bytes that runs may take at a time.
    pub memory_budget: u64,
    /// Bytes of a strip of rows: [`fuseline_ir::work::STRIP_BYTES`] but in tests, since results depend on it.
    pub strip_bytes: u64,
    /// Where plans are kept for other processes.
    pub code_folder: Option<Arc<CodeFolder>>,
}

/// Everything that runs share.
#[derive(Debug)]
pub struct Engine {
    pub(crate) options: EngineOptions,
    /// That of the options' environment.
    pub(crate) fingerprint: Fingerprint,
    pub(crate) backend: Box<dyn Backend>,
    pub(crate) primitives: &'static Primitives,
    pub(crate) threads: Arc<Threads>,
    pub(crate) plan_cache: PlanCache,
    pub(crate) counters: Counters,
    pub(crate) progress: ProgressCounters,
}

impl Engine {
    /// An engine.
    ///
    /// # Errors
    /// The operating system refuses threads, or to pin them.
    pub fn new(
        options: EngineOptions,
        backend: Box<dyn Backend>,
        primitives: &'static Primitives,
        plan_cache: PlanCache,
    ) -> Result<Self, ThreadsError> {
        let buffers = BufferPool::within(Budget::new(options.memory_budget), options.idle_bytes);
        let threads = Threads::new(options.threads, options.pin_threads, buffers, StopFlag::default())?;
        Ok(Engine::on(Arc::new(threads), options, backend, primitives, plan_cache))
    }

    /// An engine on these threads and their memory.
    fn on(
        threads: Arc<Threads>,
        options: EngineOptions,
        backend: Box<dyn Backend>,
        primitives: &'static Primitives,
        plan_cache: PlanCache,
    ) -> Self {
        Engine {
            fingerprint: options.environment.fingerprint(),
            options,
            backend,
            primitives,
            threads,
            plan_cache,
            counters: Counters::default(),
            progress: ProgressCounters::default(),
        }
    }

    /// An engine of another configuration that shares the memory and the request to stop, where that has the same budget,
    /// and for the same number of them, pinned alike, the threads, of this one.
    ///
    /// # Errors
    /// The operating system refuses threads.
    pub fn reconfigured(
        &self,
        options: EngineOptions,
        backend: Box<dyn Backend>,
        primitives: &'static Primitives,
        plan_cache: PlanCache,
    ) -> Result<Self, ThreadsError> {
        if options.memory_budget != self.options.memory_budget {
            return Engine::new(options, backend, primitives, plan_cache);
        }
        let threads_of = |options: &EngineOptions| (options.threads.max(1), options.pin_threads);
        let threads = if threads_of(&options) == threads_of(&self.options) {
            Arc::clone(&self.threads)
        } else {
            let (buffers, stop) = (Arc::clone(self.buffers()), self.interruption().clone());
            Arc::new(Threads::new(options.threads, options.pin_threads, buffers, stop)?)
        };
        Ok(Engine::on(threads, options, backend, primitives, plan_cache))
    }

    /// What programs and their operators are held to.
    pub fn context(&self) -> &RunContext {
        self.threads.context()
    }

    /// What ends the run that finds it raised, at its next block of work; that run lowers it.
    pub fn interruption(&self) -> &StopFlag {
        self.threads.context().stop()
    }

    /// Ends the run when it was interrupted.
    pub(crate) fn check_interruption(&self) -> Result<(), RuntimeErrorKind> {
        if self.interruption().take() { Err(RuntimeErrorKind::Interrupted) } else { Ok(()) }
    }

    /// How far its runs are.
    pub fn progress(&self) -> Progress {
        self.progress.with_memory(self.buffers().budget().held())
    }

    /// The configuration.
    pub fn options(&self) -> &EngineOptions {
        &self.options
    }

    /// The backend.
    pub fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// The plan cache.
    pub fn plan_cache(&self) -> &PlanCache {
        &self.plan_cache
    }

    /// The memory of matrices.
    pub fn buffers(&self) -> &Arc<BufferPool> {
        self.threads.buffers()
    }

    /// The matrix in the format that suits its density.
    pub(crate) fn in_best_format(&self, matrix: MatrixBlock) -> MatrixBlock {
        kernels::in_best_format(&self.kernel_context(), matrix)
    }

    /// What basic operators need.
    pub fn kernel_context(&self) -> KernelContext<'_> {
        KernelContext {
            pool: self.threads.pool(),
            buffers: self.buffers(),
            primitives: self.primitives,
            strict_ieee: self.options.environment.strict_ieee,
            strip_bytes: self.options.strip_bytes,
        }
    }
}
