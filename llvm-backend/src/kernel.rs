//! The kernel of a plan: entry points whose code is generated at the latest when the first unit needs them.
//!
//! Nine tenths of the time go into generating machine code, and few operators ever see both dense and sparse units. So
//! a plan's compilation emits and verifies all its entry points, but generates code for the first alone. Where there is
//! an interpreter to run units meanwhile, nobody waits for either: by the execution contract the results are the same
//! bits, so a kernel may change from one to the other between any two units.

use crate::compiler::{ObjectCode, Worker, entries, internal, schedules};
use crate::jit::{self, Jit, LinkedCode};
use crate::machinery::{KeyedStore, Machinery};
use crate::schedule::{Entry, ScratchNeed};
use fuseline_ir::cplan::VerifiedCPlan;
use fuseline_skeletons::abi::{Context, Kernel, Main, NativeKernel, Output, Unit, UnitSize};
use fuseline_skeletons::backend::{BackendError, CompiledCPlan};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// Owns the memory of entry points.
struct CodeOwner {
    scratch: ScratchNeed,
    _code: LinkedCode,
}

/// Linked entry points.
#[derive(Debug)]
pub(crate) struct Code {
    native: NativeKernel<CodeOwner>,
    /// The object that was linked, without its bytes.
    pub(crate) object: ObjectCode,
}

/// The code of one entry point, or of both, that is there, on its way, or not asked for yet.
#[derive(Debug)]
struct LazyCode {
    entries: Vec<Entry>,
    code: OnceLock<Result<Code, BackendError>>,
    is_requested: AtomicBool,
}

/// A compiled plan.
pub(crate) struct LazyKernel {
    plan: VerifiedCPlan,
    scratch: ScratchNeed,
    first: Arc<LazyCode>,
    dense: Option<Arc<LazyCode>>,
    sparse: Option<Arc<LazyCode>>,
    meanwhile: Option<Meanwhile>,
    machinery: Arc<Machinery>,
}

/// Runs units whose code is on its way.
struct Meanwhile {
    compiled: CompiledCPlan,
    /// The most scratch that it would have needed for any unit so far.
    scratch: AtomicUsize,
}

impl Meanwhile {
    /// Another compilation of the same plan.
    fn new(compiled: CompiledCPlan, plan: &VerifiedCPlan) -> Result<Meanwhile, BackendError> {
        if compiled.plan() != plan {
            return Err(internal("the interpreter gave another plan than it got"));
        }
        Ok(Meanwhile { compiled, scratch: AtomicUsize::new(0) })
    }

    fn genexec(&self, context: &mut Context<'_>, unit: &Unit<'_>, outputs: &mut [Output<'_>]) {
        let needed = self.scratch.load(Ordering::Relaxed);
        if context.scratch.len() >= needed {
            return self.run(context, unit, outputs);
        }
        // The unit was prepared before it was known that it has no code: the first of its entry point.
        let mut scratch = vec![0.0; needed];
        let mut context = Context { scalars: context.scalars, scratch: &mut scratch };
        self.run(&mut context, unit, outputs);
    }

    fn run(&self, context: &mut Context<'_>, unit: &Unit<'_>, outputs: &mut [Output<'_>]) {
        // SAFETY: the plan is the same, so what was laid out for this kernel fits that one; there is scratch for both.
        unsafe { self.compiled.genexec(context, unit, outputs) }
    }

    fn scratch_len(&self, unit: UnitSize) -> usize {
        let needed = self.compiled.scratch_len(unit);
        if needed > self.scratch.load(Ordering::Relaxed) {
            self.scratch.fetch_max(needed, Ordering::Relaxed);
        }
        needed
    }
}

impl std::fmt::Debug for LazyKernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LazyKernel").field("dense", &self.dense).field("sparse", &self.sparse).finish_non_exhaustive()
    }
}

impl LazyKernel {
    /// A kernel whose first entry point has code, or will have: all of them where texts are kept.
    ///
    /// # Errors
    /// The plan exceeds a limit, or there is no thread to compile it.
    pub(crate) fn start(
        plan: &VerifiedCPlan,
        machinery: &Arc<Machinery>,
        meanwhile: Option<CompiledCPlan>,
    ) -> Result<LazyKernel, BackendError> {
        let scheduled = schedules(plan, &entries(plan), machinery.options.prims)?;
        let scratch = ScratchNeed::largest(scheduled.iter().map(|schedule| ScratchNeed::new(&schedule.slots)));
        let together = if machinery.options.keeps_text() { scheduled.len() } else { 1 };
        let groups = scheduled.chunks(together).map(|group| Arc::new(LazyCode::new(group.iter().map(|s| s.entry))));
        let groups: Vec<Arc<LazyCode>> = groups.collect();
        let code_of = |entry| groups.iter().find(|group| group.entries.contains(&entry)).cloned();
        let kernel = LazyKernel {
            plan: plan.clone(),
            scratch,
            first: Arc::clone(&groups[0]),
            dense: code_of(Entry::Dense),
            sparse: code_of(Entry::Sparse),
            meanwhile: meanwhile.map(|compiled| Meanwhile::new(compiled, plan)).transpose()?,
            machinery: Arc::clone(machinery),
        };
        let later = groups.iter().skip(1).flat_map(|group| group.entries.iter().copied()).collect();
        kernel.request(&kernel.first, later)?;
        Ok(kernel)
    }

    /// The code of the first entry point, once it is there.
    pub(crate) fn wait(&self) -> Result<&Code, BackendError> {
        self.first.code.wait().as_ref().map_err(Clone::clone)
    }

    /// The code of the first entry point, if it is there.
    pub(crate) fn ready(&self) -> Option<&Code> {
        self.first.code.get()?.as_ref().ok()
    }

    /// Whether units need not wait for code.
    pub(crate) fn has_interpreter(&self) -> bool {
        self.meanwhile.is_some()
    }

    /// Whether code is on its way, or will not come.
    fn awaits_code(&self) -> bool {
        let is_missing = |lazy: &Arc<LazyCode>| lazy.code.get().is_none_or(Result::is_err);
        let is_awaited = |lazy: &Arc<LazyCode>| lazy.is_requested.load(Ordering::Acquire) && is_missing(lazy);
        [&self.dense, &self.sparse].into_iter().flatten().any(is_awaited)
    }

    /// Finds the code of entry points in the store, or asks a thread for it. Emits and verifies `later` ones with them.
    /// Gives whether this is the first request.
    fn request(&self, lazy: &Arc<LazyCode>, later: Vec<Entry>) -> Result<bool, BackendError> {
        if lazy.is_requested.swap(true, Ordering::AcqRel) {
            return Ok(false);
        }
        let Machinery { threads, jit, store, activity, .. } = &*self.machinery;
        if let Some(code) = store.as_ref().and_then(|store| restored(store, &self.plan, lazy, jit, self.scratch)) {
            activity.count_restored(&code.object);
            // Nobody else sets what was requested here.
            let _ = lazy.code.set(Ok(code));
            return Ok(true);
        }
        // None of what the job holds leads to the threads: they must not have to wait for themselves.
        let (plan, requested, scratch) = (self.plan.clone(), lazy, self.scratch);
        let lazy = Arc::clone(requested);
        let (jit, store, activity) = (Arc::clone(jit), store.clone(), Arc::clone(activity));
        let job = Box::new(move |worker: &mut Worker| {
            let generate = || -> Result<Code, BackendError> {
                let object = worker.compile(&plan, &lazy.entries, &later)?;
                if let Some(store) = store {
                    store.keep(&plan, &object);
                }
                activity.count_generated(&object);
                link(&jit, object, scratch).map_err(internal)
            };
            // A panic leaves nothing behind but the context of its own plan.
            let code = catch_unwind(AssertUnwindSafe(generate));
            let code = code.unwrap_or_else(|_| Err(internal(format!("a panic while compiling\n{}", &*plan))));
            let _ = lazy.code.set(code);
        });
        threads.submit(job).inspect_err(|error| {
            // Nobody shall wait for what nobody does.
            let _ = requested.code.set(Err(error.clone()));
        })?;
        Ok(true)
    }

    fn lazy(&self, entry: Entry) -> &Arc<LazyCode> {
        let lazy = match entry {
            Entry::Dense => &self.dense,
            Entry::Sparse => &self.sparse,
        };
        lazy.as_ref().expect("skeletons hand out only units that the plan's template and roles allow")
    }

    /// The code for a unit; none where it is on its way and an interpreter runs units meanwhile.
    fn code(&self, entry: Entry) -> Option<&Code> {
        let lazy = self.lazy(entry);
        let code = match lazy.code.get() {
            Some(code) => code,
            None => {
                let start = Instant::now();
                let is_first = match self.request(lazy, Vec::new()) {
                    Ok(is_first) => is_first,
                    Err(BackendError::Memory { .. }) if self.meanwhile.is_some() => return None,
                    Err(error) => error.unwind(),
                };
                if self.meanwhile.is_some() && lazy.code.get().is_none() {
                    return None;
                }
                let code = lazy.code.wait();
                if is_first {
                    self.machinery.activity.count_wait(start.elapsed());
                }
                code
            }
        };
        match code {
            Ok(code) => Some(code),
            // What can be interpreted needs no code.
            Err(BackendError::Memory { .. }) if self.meanwhile.is_some() => None,
            Err(error) => error.unwind(),
        }
    }
}

impl LazyCode {
    fn new(entries: impl Iterator<Item = Entry>) -> LazyCode {
        LazyCode { entries: entries.collect(), code: OnceLock::new(), is_requested: AtomicBool::new(false) }
    }
}

/// Links what the store has. What does not link is as good as not there.
fn restored(
    store: &KeyedStore,
    plan: &VerifiedCPlan,
    lazy: &LazyCode,
    jit: &Arc<Jit>,
    scratch: ScratchNeed,
) -> Option<Code> {
    link(jit, store.load(plan, &lazy.entries)?, scratch).ok()
}

fn link(jit: &Arc<Jit>, object: ObjectCode, scratch: ScratchNeed) -> Result<Code, String> {
    let names: Vec<&str> = object.entries.iter().map(|entry| entry.symbol()).collect();
    let (code, addresses) = jit.link(&object.bytes, &object.called, &names)?;
    let point = |entry: Entry| {
        let place = object.entries.iter().position(|&known| known == entry)?;
        Some(jit::entry_point(addresses[place]))
    };
    let owner = CodeOwner { scratch, _code: code };
    let values = |owner: &CodeOwner, unit| owner.scratch.values(unit);
    let native = jit::kernel(point(Entry::Dense), point(Entry::Sparse), values, owner);
    Ok(Code { native, object: ObjectCode { bytes: Vec::new(), ..object } })
}

impl Kernel for LazyKernel {
    fn has_sparse_entry(&self) -> bool {
        self.sparse.is_some()
    }

    fn scratch_len(&self, unit: UnitSize) -> usize {
        let own = self.scratch.values(unit);
        match &self.meanwhile {
            Some(meanwhile) => {
                let other = meanwhile.scratch_len(unit);
                // What no code will use is kept out of the way: scratch memory stays in the cache.
                if self.awaits_code() { own.max(other) } else { own }
            }
            None => own,
        }
    }

    /// Runs one unit. The first dense or sparse one may wait for its code, or not find it yet.
    ///
    /// # Panics
    /// Where the code of an entry point that was emitted and verified can't be generated: a bug of LLVM or of ours. Unwinds
    /// where the system refuses the memory for generating it, and nothing interprets the unit.
    fn genexec(&self, context: &mut Context<'_>, unit: &Unit<'_>, outputs: &mut [Output<'_>]) {
        let entry = match unit.main {
            Main::Dense { .. } => Entry::Dense,
            Main::Sparse { .. } => Entry::Sparse,
        };
        match (self.code(entry), &self.meanwhile) {
            (Some(code), _) => code.native.genexec(context, unit, outputs),
            (None, Some(meanwhile)) => {
                self.machinery.activity.count_interpreted();
                meanwhile.genexec(context, unit, outputs);
            }
            (None, None) => unreachable!("without an interpreter units wait for their code"),
        }
    }
}
