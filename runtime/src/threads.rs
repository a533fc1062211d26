//! The threads that work is shared among.

use fuseline_matrix::affinity::{Placement, Processors};
use fuseline_matrix::run_context::Abort;
use fuseline_matrix::{BufferPool, RunContext, StopFlag};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use thiserror::Error;

/// Bytes of the stack of a thread: those that programs usually run on.
const STACK_BYTES: usize = 8 << 20;

/// The most threads of a pool. Each has its stack and its signal stack: with many more than processors they mostly look for
/// work at each other, and in the end the mappings of the process run out in the middle of starting one, which ends it.
pub const MOST_THREADS: usize = 1024;

/// Why there are no threads.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ThreadsError {
    /// More than can be served.
    #[error("{count} are more than {MOST_THREADS}")]
    TooMany {
        /// How many were asked for.
        count: usize,
    },
    /// The operating system refuses them.
    #[error("{0}")]
    Refused(#[from] rayon::ThreadPoolBuildError),
    /// The operating system does not say which processors they may be pinned to.
    #[error("they cannot be pinned: {0}")]
    NotPinned(#[source] std::io::Error),
}

/// A pool of threads, one of which may run a program.
#[derive(Debug)]
pub(crate) struct Threads {
    pool: ThreadPool,
    /// The memory of matrices.
    buffers: Arc<BufferPool>,
    /// What programs and their operators are held to.
    context: RunContext,
    has_program: AtomicBool,
    /// Programs that run elsewhere meanwhile.
    outside: AtomicUsize,
}

impl Threads {
    /// So many threads, one at least, whose programs take memory from a pool and end when the flag is raised. Those that are
    /// pinned stay on a processor each, where there are enough; others are kept apart where they begin to share work.
    ///
    /// # Errors
    /// They are too many, or the operating system refuses them, or to pin them.
    pub(crate) fn new(
        count: usize,
        pin: bool,
        buffers: Arc<BufferPool>,
        stop: StopFlag,
    ) -> Result<Threads, ThreadsError> {
        if count > MOST_THREADS {
            return Err(ThreadsError::TooMany { count });
        }
        let processors = pin.then(Processors::allowed).transpose().map_err(ThreadsError::NotPinned)?;
        let placement = if pin { None } else { Placement::of_threads(count) };
        let builder = ThreadPoolBuilder::new().num_threads(count.max(1)).stack_size(STACK_BYTES);
        let context = RunContext::new(Arc::<BufferPool>::clone(&buffers), stop);
        let of_threads = context.clone();
        let builder = builder.start_handler(move |index| {
            of_threads.stay();
            if let Some(processors) = processors {
                processors.pin(index);
            }
            if let Some(placement) = &placement {
                placement.stay(index);
            }
        });
        let pool = builder.thread_name(|index| format!("fuseline-{index}")).build()?;
        Ok(Threads { pool, buffers, context, has_program: AtomicBool::new(false), outside: AtomicUsize::new(0) })
    }

    /// The memory of matrices.
    pub(crate) fn buffers(&self) -> &Arc<BufferPool> {
        &self.buffers
    }

    /// What programs and their operators are held to.
    pub(crate) fn context(&self) -> &RunContext {
        &self.context
    }

    /// Runs a program on one of the threads: an operator of a program outside has to wake one up, and the program to wait
    /// for it, which takes as long as a small operator runs.
    ///
    /// Programs that come while one runs stay where they are. Threads that wait for a part of an operator take up any other
    /// work meanwhile; that must not be a whole program.
    ///
    /// # Errors
    /// Memory that is refused, or a request to stop, outside of operators.
    pub(crate) fn run<T: Send>(&self, program: impl FnOnce() -> T + Send) -> Result<T, Abort> {
        if self.has_program.swap(true, Ordering::Acquire) {
            return self.run_here(program);
        }
        let _end = AtEnd(|| self.has_program.store(false, Ordering::Release));
        self.pool.install(|| self.context.run(program))
    }

    /// Runs a program where it is: its operators ask the pool for threads, each by itself.
    ///
    /// # Errors
    /// Memory that is refused, or a request to stop, outside of operators.
    pub(crate) fn run_here<T>(&self, program: impl FnOnce() -> T) -> Result<T, Abort> {
        self.outside.fetch_add(1, Ordering::Relaxed);
        let _end = AtEnd(|| _ = self.outside.fetch_sub(1, Ordering::Relaxed));
        self.context.run(program)
    }

    /// Runs work where it is that is done before a thread of the pool has woken up: its operators share nothing.
    ///
    /// # Errors
    /// Memory that is refused, or a request to stop, outside of operators.
    pub(crate) fn run_alone<T>(&self, work: impl FnOnce() -> T) -> Result<T, Abort> {
        self.context.alone().run(work)
    }

    /// Lets an operator of a program outside run, if one waits: the program on the pool may hold its only thread. Called
    /// by programs before each of their operators.
    pub(crate) fn give_way(&self) {
        if self.outside.load(Ordering::Relaxed) > 0 {
            self.pool.yield_now();
        }
    }

    /// The threads.
    pub(crate) fn pool(&self) -> &ThreadPool {
        &self.pool
    }
}

/// Does something at its end, even that by a panic.
struct AtEnd<F: Fn()>(F);

impl<F: Fn()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[cfg(test)]
mod tests {
    use super::Threads;
    use fuseline_matrix::run_context::check_stop;
    use fuseline_matrix::{BufferPool, StopFlag};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicBool, Ordering};

    fn threads(count: usize) -> Threads {
        Threads::new(count, false, BufferPool::new(0), StopFlag::default()).expect("threads")
    }

    fn is_inside(threads: &Threads) -> bool {
        threads.pool().current_thread_index().is_some()
    }

    #[test]
    fn one_program_at_a_time_runs_on_the_pool() {
        let threads = threads(2);
        assert!(!is_inside(&threads));
        let second = || std::thread::scope(|scope| scope.spawn(|| threads.run(|| is_inside(&threads))).join());
        let both = threads.run(|| (is_inside(&threads), second().expect("it ends")));
        assert_eq!(both, Ok((true, Ok(false))));
        assert_eq!(threads.run(|| is_inside(&threads)), Ok(true), "the first one has ended");
    }

    /// The first program does not end before the second one, whose operator needs the only thread.
    #[test]
    fn operators_of_other_programs_get_the_only_thread() {
        let threads = threads(1);
        let (has_begun, has_ended) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !has_begun.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
                assert_eq!(threads.run(|| threads.pool().install(|| is_inside(&threads))), Ok(true));
                has_ended.store(true, Ordering::Release);
            });
            let first = threads.run(|| {
                has_begun.store(true, Ordering::Release);
                while !has_ended.load(Ordering::Acquire) {
                    threads.give_way();
                }
            });
            assert_eq!(first, Ok(()));
        });
    }

    #[test]
    fn more_threads_than_any_machine_has_are_refused() {
        for count in [super::MOST_THREADS + 1, 1_000_000, usize::MAX] {
            let threads = Threads::new(count, false, BufferPool::new(0), StopFlag::default());
            let error = threads.expect_err("too many").to_string();
            assert_eq!(error, format!("{count} are more than 1024"));
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn pinned_threads_stay_on_a_processor_each() {
        use rustix::thread::{CpuSet, sched_getaffinity};
        let of_process = sched_getaffinity(None).expect("Linux tells");
        for pin in [false, true] {
            let threads = Threads::new(2, pin, BufferPool::new(0), StopFlag::default()).expect("threads");
            let sets: Vec<CpuSet> = threads.pool().broadcast(|_| sched_getaffinity(None).expect("Linux tells"));
            if pin {
                assert!(sets.iter().all(|set| set.count() == 1));
                assert!(of_process.count() == 1 || sets[0] != sets[1]);
            } else {
                assert!(sets.iter().all(|set| *set == of_process));
            }
        }
    }

    #[test]
    fn a_program_that_panics_leaves_its_place() {
        let threads = threads(1);
        let panicked = catch_unwind(AssertUnwindSafe(|| threads.run(|| panic!("on purpose"))));
        assert!(panicked.is_err());
        assert_eq!(threads.run(|| is_inside(&threads)), Ok(true));
    }

    /// Wherever a program runs, it and the threads that work for it hear the request.
    #[test]
    fn requests_to_stop_are_heard_in_the_pool_and_outside() {
        let threads = threads(2);
        let work = || rayon::join(check_stop, check_stop);
        threads.context().stop().raise();
        assert!(threads.run(work).is_err());
        let outside = || std::thread::scope(|scope| scope.spawn(|| threads.run(check_stop)).join()).expect("it ends");
        assert!(threads.run(outside).expect("it waits").is_err());
        assert!(threads.context().stop().take());
        assert!(threads.run(work).is_ok());
    }
}
