//! The threads that compile.
//!
//! LLVM recurses deeply on long chains of operations, so compilation runs on threads of its own with stacks of 8 MiB.
//! There are as many as there is work for, up to a limit. They end with their owner, who waits for what they are doing,
//! not for what they have yet to begin.

use crate::compiler::Worker;
use crate::target::Target;
use crate::{LlvmOptions, NAME};
use fuseline_matrix::affinity::start_anywhere;
use fuseline_skeletons::backend::BackendError;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;

/// The stack of a thread.
const STACK_BYTES: usize = 8 << 20;

/// What a thread does; it must not own the threads.
pub(crate) type Job = Box<dyn FnOnce(&mut Worker) + Send>;

/// The owner of the threads.
pub(crate) struct CompileThreads {
    options: LlvmOptions,
    target: Target,
    limit: usize,
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// Threads that wait for a job.
    idle: usize,
    /// Threads that have not let go of LLVM yet.
    alive: usize,
    is_closed: bool,
}

/// The threads of all owners, each with the process that started them: a fork does not have them.
static STARTED: Mutex<Vec<(u32, Weak<Shared>)>> = Mutex::new(Vec::new());

fn note(shared: &Arc<Shared>) {
    let mut started = lock(&STARTED);
    started.retain(|(_, shared)| shared.strong_count() > 0);
    started.push((std::process::id(), Arc::downgrade(shared)));
}

/// Waits for what is being compiled in this process, and compiles nothing more: for a process that ends while it has
/// sessions. LLVM's constants go when it does, and it must not be at work then. No handler of `atexit` is early enough,
/// since constants come with the first function that needs them.
pub fn finish_compilation() {
    let started = std::mem::take(&mut *lock(&STARTED));
    for (_, shared) in started.into_iter().filter(|(process, _)| *process == std::process::id()) {
        if let Some(shared) = shared.upgrade() {
            shared.close();
            shared.wait_for_end();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What the mutexes guard is valid after every statement.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl CompileThreads {
    /// At most this many threads; none yet.
    pub(crate) fn new(options: LlvmOptions, target: Target, limit: usize) -> CompileThreads {
        let shared = Arc::default();
        note(&shared);
        CompileThreads { options, target, limit: limit.max(1), shared, threads: Mutex::default() }
    }

    /// Has a thread do a job, in the order in which jobs come.
    ///
    /// # Errors
    /// The operating system refuses the only thread that would do it, or the process ends.
    pub(crate) fn submit(&self, job: Job) -> Result<(), BackendError> {
        let mut threads = lock(&self.threads);
        let lacks_thread = {
            let mut queue = lock(&self.shared.queue);
            if queue.is_closed {
                return Err(BackendError::Memory { backend: NAME, bytes: STACK_BYTES as u64 });
            }
            queue.jobs.push_back(job);
            queue.jobs.len() > queue.idle
        };
        if lacks_thread && threads.len() < self.limit {
            match self.start() {
                Ok(thread) => threads.push(thread),
                Err(_) if threads.is_empty() => {
                    return Err(BackendError::Memory { backend: NAME, bytes: STACK_BYTES as u64 });
                }
                // Those that there are will come to it.
                Err(_) => {}
            }
        }
        self.shared.changed.notify_one();
        Ok(())
    }

    fn start(&self) -> std::io::Result<JoinHandle<()>> {
        let (options, target) = (self.options, self.target.clone());
        let shared = Arc::clone(&self.shared);
        let alive = Alive::new(shared);
        let thread = std::thread::Builder::new().name("fuseline-llvm".into()).stack_size(STACK_BYTES);
        start_anywhere(thread, move || {
            // The worker goes before what tells of it.
            let Alive(shared) = &alive;
            let mut worker = Worker::new(options, target);
            while let Some(job) = shared.next() {
                job(&mut worker);
            }
        })
    }
}

/// A thread that may have something of LLVM.
struct Alive(Arc<Shared>);

impl Alive {
    fn new(shared: Arc<Shared>) -> Self {
        lock(&shared.queue).alive += 1;
        Alive(shared)
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        lock(&self.0.queue).alive -= 1;
        self.0.changed.notify_all();
    }
}

impl Shared {
    /// Waits for a job; none when the queue is closed.
    fn next(&self) -> Option<Job> {
        let mut queue = lock(&self.queue);
        loop {
            if queue.is_closed {
                return None;
            }
            if let Some(job) = queue.jobs.pop_front() {
                return Some(job);
            }
            queue.idle += 1;
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.idle -= 1;
        }
    }

    /// Has the threads end after what they are doing.
    fn close(&self) {
        let abandoned = {
            let mut queue = lock(&self.queue);
            queue.is_closed = true;
            std::mem::take(&mut queue.jobs)
        };
        drop(abandoned);
        self.changed.notify_all();
    }

    fn wait_for_end(&self) {
        let mut queue = lock(&self.queue);
        while queue.alive > 0 {
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for CompileThreads {
    fn drop(&mut self) {
        self.shared.close();
        for thread in lock(&self.threads).drain(..) {
            // A job that panics is caught, so there is nothing to learn from how a thread ended.
            let _ = thread.join();
        }
    }
}
