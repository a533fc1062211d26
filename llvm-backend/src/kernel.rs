//! The kernel of a plan: entry points whose code is generated at the latest when the first unit needs them.

use crate::compiler::{Compiler, ObjectCode, PlanCode, internal};
use crate::jit::{self, Jit, LinkedCode};
use crate::schedule::{Entry, ScratchNeed};
use fuseline_ir::cplan::VerifiedCPlan;
use fuseline_skeletons::abi::{Context, Kernel, Main, NativeKernel, Output, Unit};
use fuseline_skeletons::backend::BackendError;
use std::sync::{Arc, OnceLock};

/// Owns the memory of entry points.
struct CodeOwner {
    scratch: ScratchNeed,
    _code: Arc<LinkedCode>,
}

/// An entry point, once it has code.
type LazyEntry = OnceLock<NativeKernel<CodeOwner>>;

/// A compiled plan.
pub(crate) struct LazyKernel {
    plan: VerifiedCPlan,
    scratch: ScratchNeed,
    dense: Option<LazyEntry>,
    sparse: Option<LazyEntry>,
    compiler: Arc<Compiler>,
    jit: Arc<Jit>,
}

impl std::fmt::Debug for LazyKernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LazyKernel").field("dense", &self.dense).field("sparse", &self.sparse).finish_non_exhaustive()
    }
}

impl LazyKernel {
    /// Links what has been generated of a plan.
    pub(crate) fn new(
        plan: &VerifiedCPlan,
        code: &PlanCode,
        compiler: Arc<Compiler>,
        jit: Arc<Jit>,
    ) -> Result<LazyKernel, BackendError> {
        let lazy = |entry: Entry| code.entries.contains(&entry).then(LazyEntry::new);
        let (dense, sparse) = (lazy(Entry::Dense), lazy(Entry::Sparse));
        let kernel = LazyKernel { plan: plan.clone(), scratch: code.scratch, dense, sparse, compiler, jit };
        for (entry, native) in kernel.link(&code.object)? {
            // The entries of an object are distinct, and the kernel is new.
            let _ = kernel.lazy(entry).map(|lazy| lazy.set(native));
        }
        Ok(kernel)
    }

    fn lazy(&self, entry: Entry) -> Option<&LazyEntry> {
        match entry {
            Entry::Dense => self.dense.as_ref(),
            Entry::Sparse => self.sparse.as_ref(),
        }
    }

    fn link(&self, object: &ObjectCode) -> Result<Vec<(Entry, NativeKernel<CodeOwner>)>, BackendError> {
        let names: Vec<&str> = object.entries.iter().map(|entry| entry.symbol()).collect();
        let (code, addresses) = self.jit.link(&object.bytes, &object.called, &names).map_err(internal)?;
        let code = Arc::new(code);
        let native = |(&entry, address): (&Entry, u64)| {
            let owner = CodeOwner { scratch: self.scratch, _code: Arc::clone(&code) };
            let scratch = |owner: &CodeOwner, rows, max_vector| owner.scratch.values(rows, max_vector);
            let point = Some(jit::entry_point(address));
            let (dense, sparse) = if entry == Entry::Dense { (point, None) } else { (None, point) };
            (entry, jit::kernel(dense, sparse, scratch, owner))
        };
        Ok(object.entries.iter().zip(addresses).map(native).collect())
    }

    /// Generates and links an entry point that `new` left out.
    fn complete(&self, entry: Entry) -> Result<NativeKernel<CodeOwner>, BackendError> {
        let object = self.compiler.generate(&self.plan, entry)?;
        let native = self.link(&object)?.pop();
        native.map(|(_, native)| native).ok_or_else(|| internal("generated code has no entry point"))
    }
}

impl Kernel for LazyKernel {
    fn has_sparse_entry(&self) -> bool {
        self.sparse.is_some()
    }

    fn scratch_len(&self, rows_or_positions: usize, max_vector: usize) -> usize {
        self.scratch.values(rows_or_positions, max_vector)
    }

    /// Runs one unit. The first dense or sparse one may wait for its code.
    ///
    /// # Panics
    /// Where the code of an entry point that was emitted and verified can't be generated: a bug of LLVM or of ours.
    fn genexec(&self, context: &mut Context<'_>, unit: &Unit<'_>, outputs: &mut [Output<'_>]) {
        let entry = match unit.main {
            Main::Dense { .. } => Entry::Dense,
            Main::Sparse { .. } => Entry::Sparse,
        };
        let lazy = self.lazy(entry).expect("skeletons hand out only units that the plan's template and roles allow");
        let generate = || self.complete(entry).unwrap_or_else(|error| panic!("verified code must generate: {error}"));
        lazy.get_or_init(generate).genexec(context, unit, outputs);
    }
}
