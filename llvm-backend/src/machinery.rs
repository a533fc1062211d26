//! What all plans of a backend share: the compile threads, the linker, and the store of code. Made when the first plan
//! comes, so that a program that compiles none does not pay for it.

use crate::compiler::{ObjectCode, code_bytes, internal, reserve};
use crate::jit::Jit;
use crate::schedule::Entry;
use crate::target::Target;
use crate::threads::CompileThreads;
use crate::{LlvmOptions, NAME};
use fuseline_ir::cplan::CPlan;
use fuseline_skeletons::backend::{BackendActivity, BackendError, CodeStore};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Threads, linker and store.
pub(crate) struct Machinery {
    pub(crate) options: LlvmOptions,
    pub(crate) threads: CompileThreads,
    pub(crate) jit: Arc<Jit>,
    pub(crate) store: Option<KeyedStore>,
    pub(crate) activity: Arc<Activity>,
}

impl Machinery {
    pub(crate) fn new(
        options: LlvmOptions,
        threads: usize,
        store: Option<Arc<dyn CodeStore>>,
        activity: Arc<Activity>,
    ) -> Result<Machinery, BackendError> {
        reserve()?;
        let target = Target::new(options.isa).ok_or_else(|| internal("a target that was there is gone"))?;
        let jit = Jit::new(fuseline_vecprims::symbols(options.isa).into_iter().collect()).map_err(internal)?;
        // Texts are made together with code.
        let store = store.filter(|_| !options.keeps_text());
        let store = store.map(|store| KeyedStore { store, toolchain: toolchain(options, &target) });
        let threads = CompileThreads::new(options, target, threads);
        Ok(Machinery { options, threads, jit: Arc::new(jit), store, activity })
    }
}

/// Counters that the threads of a backend share.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    generated: AtomicU64,
    restored: AtomicU64,
    code_bytes: AtomicU64,
    interpreted_units: AtomicU64,
    waited_nanoseconds: AtomicU64,
}

impl Activity {
    pub(crate) fn count_generated(&self, object: &ObjectCode) {
        self.generated.fetch_add(object.entries.len() as u64, Ordering::Relaxed);
        self.code_bytes.fetch_add(object.code_bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn count_restored(&self, object: &ObjectCode) {
        self.restored.fetch_add(object.entries.len() as u64, Ordering::Relaxed);
        self.code_bytes.fetch_add(object.code_bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn count_interpreted(&self) {
        self.interpreted_units.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_wait(&self, duration: Duration) {
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.waited_nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    pub(crate) fn so_far(&self) -> BackendActivity {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        BackendActivity {
            generated: count(&self.generated),
            restored: count(&self.restored),
            code_bytes: count(&self.code_bytes),
            interpreted_units: count(&self.interpreted_units),
            waited: Duration::from_nanos(count(&self.waited_nanoseconds)),
        }
    }
}

/// A store of code with what decides the bytes of an object besides the plan.
///
/// An object is kept as a line with the names of the primitives that it calls, and the object file. It names nothing
/// else of this process and finds its memory through its arguments, so that it serves any other.
#[derive(Clone)]
pub(crate) struct KeyedStore {
    store: Arc<dyn CodeStore>,
    toolchain: String,
}

impl KeyedStore {
    fn key(&self, plan: &CPlan, entries: &[Entry]) -> String {
        let symbols: Vec<&str> = entries.iter().map(|entry| entry.symbol()).collect();
        format!("{}\n{}\n{plan}", self.toolchain, symbols.join(" "))
    }

    /// The code of these entry points of a plan, if there is any that can be read.
    pub(crate) fn load(&self, plan: &CPlan, entries: &[Entry]) -> Option<ObjectCode> {
        let kept = self.store.load(&self.key(plan, entries))?;
        let end = kept.iter().position(|&byte| byte == b'\n')?;
        let (names, bytes) = (std::str::from_utf8(&kept[..end]).ok()?, kept[end + 1..].to_vec());
        let called = names.split_whitespace().map(str::to_owned).collect();
        let code_bytes = code_bytes(&bytes)?;
        Some(ObjectCode { entries: entries.to_vec(), bytes, code_bytes, called, llvm_ir: None, assembly: None })
    }

    /// Keeps the code of entry points of a plan.
    pub(crate) fn keep(&self, plan: &CPlan, object: &ObjectCode) {
        let mut kept = object.called.join(" ").into_bytes();
        kept.push(b'\n');
        kept.extend_from_slice(&object.bytes);
        self.store.store(&self.key(plan, &object.entries), &kept);
    }
}

/// What decides the code of a plan besides the plan: our sources, LLVM, the processor and the options.
fn toolchain(options: LlvmOptions, target: &Target) -> String {
    let (major, minor, patch) = inkwell::support::get_llvm_version();
    let LlvmOptions { isa, prims, opt, .. } = options;
    let mut features: Vec<&str> = target.features.split(',').filter(|feature| !feature.is_empty()).collect();
    features.sort_unstable();
    features.dedup();
    [
        format!("{NAME} {} {}", env!("CARGO_PKG_VERSION"), env!("FUSELINE_SOURCES")),
        format!("llvm {major}.{minor}.{patch} {}", target.triple()),
        format!("cpu {} {}", target.cpu, features.join(",")),
        format!("isa {isa} prims {prims:?} opt {opt:?}"),
    ]
    .join("\n")
}
