//! What the operators of a run are held to: the memory that they may take, and a request to stop.
//!
//! Whoever allocates a matrix or works on a block of one has no engine at hand, and none is handed down to it: the threads
//! that run operators have a context, and what they call finds it there. Without one, memory is limited by the system alone
//! and nothing stops. Both a refusal and the request unwind, since they are met where nobody could return an error; whoever
//! runs operators makes errors of them ([`caught`]).
//!
//! Small allocations that the system refuses are served from a reserve, where the program has one (`fuseline_allocator`). Who
//! looks at the request to stop finds such a refusal, too, and unwinds with it.

use crate::budget::{Budget, MemoryKind, Reservation};
use crate::refusal::{AllocationFailure, Refusal};
use fuseline_allocator::{forget_refusal, refused_bytes};
use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A request to stop: the payload of an unwinding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Stopped {}

/// Whether to stop. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Asks to stop.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether there is a request, which is then forgotten.
    pub fn take(&self) -> bool {
        self.is_raised() && self.0.swap(false, Ordering::Relaxed)
    }

    /// Whether there is a request.
    #[inline]
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What listens to the requests to stop during one operation, which many threads may share. Once it has heard one, it goes
/// on hearing it: of several runs the first one that ends lowers the flag, and another one that has left out work by then
/// must end, too.
#[derive(Debug, Default)]
pub struct StopListener {
    flag: StopFlag,
    has_heard: AtomicBool,
}

impl StopListener {
    /// A listener to the flag of the thread's context; to one that nobody raises where there is none.
    pub fn current() -> Self {
        let flag = with_current(|context| context.map(|context| context.stop.clone())).unwrap_or_default();
        StopListener { flag, has_heard: AtomicBool::new(false) }
    }

    /// Whether work is to be left out. Then [`StopListener::check`] unwinds.
    #[inline]
    pub fn hears(&self) -> bool {
        if self.flag.is_raised() || refused_bytes().is_some() {
            self.has_heard.store(true, Ordering::Relaxed);
        }
        self.has_heard.load(Ordering::Relaxed)
    }

    /// Unwinds with [`Stopped`], without the message of a panic, where there is a request, or was one that was heard; with
    /// [`AllocationFailure`] where memory was refused. Called for every block of work, and after work that may have been left
    /// out.
    #[inline]
    pub fn check(&self) {
        if self.hears() {
            unwind();
        }
    }
}

/// Where the memory of runs comes from.
pub trait MemorySource: fmt::Debug + Send + Sync {
    /// What all of it is reserved from, idle memory included.
    fn budget(&self) -> &Arc<Budget>;

    /// Gives idle memory back to the system.
    fn give_up(&self);
}

/// What a run is held to.
#[derive(Clone, Debug)]
pub struct RunContext {
    memory: Arc<dyn MemorySource>,
    stop: StopFlag,
    is_alone: bool,
}

thread_local! {
    static CURRENT: RefCell<Option<RunContext>> = const { RefCell::new(None) };
}

fn with_current<T>(read: impl FnOnce(Option<&RunContext>) -> T) -> T {
    CURRENT.with_borrow(|current| read(current.as_ref()))
}

impl RunContext {
    /// Runs that take memory from here, and end when the flag is raised.
    pub fn new(memory: Arc<dyn MemorySource>, stop: StopFlag) -> Self {
        RunContext { memory, stop, is_alone: false }
    }

    /// This context for work that its thread shares with no others, however many blocks it has.
    #[must_use]
    pub fn alone(&self) -> Self {
        RunContext { is_alone: true, ..self.clone() }
    }

    /// What memory is reserved from.
    pub fn budget(&self) -> &Arc<Budget> {
        self.memory.budget()
    }

    /// The request to stop.
    pub fn stop(&self) -> &StopFlag {
        &self.stop
    }

    /// Makes this the thread's context for good.
    pub fn stay(&self) {
        CURRENT.set(Some(self.clone()));
    }

    /// Does something in this context, and ends it with what was refused or asked for.
    ///
    /// # Errors
    /// Memory that is refused, or a request to stop.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> Result<T, Abort> {
        let _restored = Restore(CURRENT.replace(Some(self.clone())));
        caught(work)
    }

    /// Takes bytes out of the budget; idle memory is given up before that fails.
    fn reserve(&self, kind: MemoryKind, bytes: u64) -> Result<Reservation, AllocationFailure> {
        let budget = self.budget();
        let reserved = budget.reserve(kind, bytes).or_else(|_| {
            self.memory.give_up();
            budget.reserve(kind, bytes)
        });
        reserved.map_err(|exhausted| AllocationFailure { bytes, refusal: Refusal::Budget(exhausted) })
    }
}

/// Gives the thread its former context back, even after a panic.
struct Restore(Option<RunContext>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Whether the thread shares its work with no others.
pub fn is_alone() -> bool {
    with_current(|context| context.is_some_and(|context| context.is_alone))
}

/// Why work ended that could not return an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abort {
    /// Memory was refused.
    Memory(AllocationFailure),
    /// Somebody asked for it.
    Stopped,
}

/// Does something, and returns what ended it. Other panics go on.
///
/// # Errors
/// Memory that is refused, or a request to stop.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Abort> {
    // What was being written is dropped with the work, and what it shares with others is behind locks that expect this.
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        if payload.is::<Stopped>() {
            return Abort::Stopped;
        }
        match payload.downcast_ref::<AllocationFailure>() {
            Some(&failure) => {
                // One of the budget leaves what another run has to hear.
                if matches!(failure.refusal, Refusal::System) {
                    forget_refusal();
                }
                Abort::Memory(failure)
            }
            None => resume_unwind(payload),
        }
    })
}

/// What the system refused and the program's reserve served.
fn refusal() -> Option<AllocationFailure> {
    refused_bytes().map(|bytes| AllocationFailure { bytes, refusal: Refusal::System })
}

/// What the system refused and the program's reserve served, which is then forgotten: an error tells it.
pub fn take_refusal() -> Option<AllocationFailure> {
    let refusal = refusal();
    if refusal.is_some() {
        forget_refusal();
    }
    refusal
}

/// Unwinds with [`AllocationFailure`] where the program's reserve served what the system refused. Called after work that
/// looks at no request to stop.
pub fn check_refusal() {
    if let Some(failure) = refusal() {
        failure.unwind();
    }
}

/// Runs of fewer bytes are not reserved: that would take as long as to fill them.
pub const SMALLEST_RESERVED: usize = 16 << 10;

/// Takes bytes out of the budget of the thread's context; nothing where there is none.
///
/// # Errors
/// So many are not left.
pub(crate) fn try_reserve(kind: MemoryKind, bytes: u64) -> Result<Option<Reservation>, AllocationFailure> {
    with_current(|context| context.map(|context| context.reserve(kind, bytes)).transpose())
}

/// Takes bytes out of the budget of the thread's context; nothing where there is none. Unwinds with [`AllocationFailure`]
/// where so many are not left.
pub fn reserve(kind: MemoryKind, bytes: u64) -> Option<Reservation> {
    try_reserve(kind, bytes).unwrap_or_else(|failure| failure.unwind())
}

/// Counts memory that is there already: it is not refused, but what follows may be.
pub fn count(kind: MemoryKind, bytes: u64) -> Option<Reservation> {
    with_current(|context| context.map(|context| context.budget().count(kind, bytes)))
}

/// Gives up the idle memory of the thread's context.
pub(crate) fn give_up_idle() {
    with_current(|context| context.map(|context| context.memory.give_up()));
}

/// Unwinds with [`Stopped`] where the thread's context has a request to stop, with [`AllocationFailure`] where memory was
/// refused. Called for every block of work; loops of short steps keep a [`StopListener`].
pub fn check_stop() {
    let is_raised = with_current(|context| context.is_some_and(|context| context.stop.is_raised()));
    if is_raised || refused_bytes().is_some() {
        unwind();
    }
}

/// Unwinds, unless the thread does so already: then what it leaves is being tidied up.
#[cold]
fn unwind() {
    if !std::thread::panicking() {
        check_refusal();
        resume_unwind(Box::new(Stopped));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Exhausted;
    use crate::{Buffer, BufferPool, Dense, TextBuffer};

    const MIB: u64 = 1 << 20;

    fn pool(limit: u64) -> Arc<BufferPool> {
        BufferPool::within(Budget::new(limit), 64 << 20)
    }

    fn context_of(pool: &Arc<BufferPool>) -> RunContext {
        RunContext::new(Arc::<BufferPool>::clone(pool), StopFlag::default())
    }

    fn context(limit: u64) -> RunContext {
        context_of(&pool(limit))
    }

    #[test]
    fn matrices_are_reserved_where_a_context_is() {
        let context = context(3 * MIB);
        let budget = Arc::clone(context.budget());
        let matrix = context.run(|| Dense::zeros(256, 1024)).expect("it fits");
        assert_eq!(budget.held(), 2 * MIB);
        let refused = context.run(|| matrix.clone()).expect_err("two do not fit");
        let refusal = Refusal::Budget(Exhausted { held: 2 * MIB, limit: 3 * MIB });
        assert_eq!(refused, Abort::Memory(AllocationFailure { bytes: 2 * MIB, refusal }));
        drop(matrix);
        assert_eq!(budget.held(), 0);
        assert_eq!(Dense::zeros(256, 1024).cols(), 1024, "outside of the context nothing is reserved");
        assert_eq!(budget.held(), 0);
    }

    #[test]
    fn idle_buffers_count_until_they_are_given_up() {
        let pool = pool(3 * MIB);
        let (budget, context) = (pool.budget(), context_of(&pool));
        context.run(|| drop(BufferPool::take(&pool, 1 << 18))).expect("it fits");
        assert_eq!(budget.held(), 2 * MIB);
        let larger = context.run(|| Buffer::<f64>::zeroed(3 << 17)).expect("the idle buffer goes");
        assert_eq!((budget.held(), larger.len()), (3 * MIB, 3 << 17));
    }

    /// A clone belongs to the pool of what it was cloned from, wherever that is done.
    #[test]
    fn idle_buffers_hold_no_memory_of_another_budget() {
        let (one, other) = (pool(3 * MIB), context(3 * MIB));
        let buffer = context_of(&one).run(|| BufferPool::take(&one, 1 << 17)).expect("it fits");
        let clone = other.run(|| buffer.clone()).expect("it fits");
        assert_eq!(other.budget().held(), MIB);
        drop(clone);
        assert_eq!(other.budget().held(), 0);
    }

    #[test]
    fn work_is_alone_within_its_context() {
        let context = context(MIB);
        let within = context.run(|| (is_alone(), context.alone().run(is_alone), is_alone()));
        assert_eq!(within, Ok((false, Ok(true), false)));
        assert!(!is_alone());
    }

    #[test]
    fn a_request_ends_work_once() {
        let context = context(MIB);
        assert_eq!(context.run(check_stop), Ok(()));
        context.stop().raise();
        assert_eq!(context.run(check_stop), Err(Abort::Stopped));
        assert_eq!(context.run(|| StopListener::current().check()), Err(Abort::Stopped));
        assert_eq!(context.run(|| Dense::from_fn(1, 1, |_, _| 1.0).rows()), Err(Abort::Stopped));
        assert_eq!(context.run(|| TextBuffer::of_parts(&["text"]).into_string()), Err(Abort::Stopped));
        check_stop();
        assert!(context.stop().take() && !context.stop().take());
        assert_eq!(context.run(check_stop), Ok(()));
    }

    /// A run that ends first lowers the flag of another one that has left out work.
    #[test]
    fn what_has_been_heard_is_heard_on_after_the_request_is_forgotten() {
        let context = context(MIB);
        let listen = || {
            let listener = StopListener::current();
            assert!(!listener.hears());
            context.stop().raise();
            assert!(listener.hears());
            assert!(context.stop().take());
            listener.check();
        };
        assert_eq!(context.run(listen), Err(Abort::Stopped));
        assert_eq!(context.run(|| StopListener::current().check()), Ok(()));
    }

    #[test]
    fn other_panics_leave_the_thread_without_the_context() {
        let context = context(MIB);
        context.stop().raise();
        let panicked = catch_unwind(AssertUnwindSafe(|| context.run(|| resume_unwind(Box::new("on purpose")))));
        assert!(panicked.is_err());
        check_stop();
    }

    /// Threads of a pool hand an unwinding on to the one that waits for them.
    #[test]
    fn requests_pass_through_pools_of_threads() {
        let context = context(MIB);
        let on_start = context.clone();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).start_handler(move |_| on_start.stay()).build();
        let pool = pool.expect("threads");
        context.stop().raise();
        let ended = caught(|| pool.install(|| rayon::join(check_stop, check_stop)));
        assert_eq!(ended.map(|_| ()), Err(Abort::Stopped));
        assert!(context.stop().take());
        pool.install(check_stop);
    }
}
