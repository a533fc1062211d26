//! The threads that compile.
//!
//! LLVM recurses deeply on long chains of operations, so compilation runs on threads of its own with stacks of 8 MiB.
//! There are as many as there is work for, up to a limit. They end with their owner, who waits for what they are doing,
//! not for what they have yet to begin.

use crate::compiler::Worker;
use crate::target::Target;
use crate::{LlvmOptions, NAME};
use fuseline_skeletons::backend::BackendError;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
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
    is_closed: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What the mutexes guard is valid after every statement.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl CompileThreads {
    /// At most this many threads; none yet.
    pub(crate) fn new(options: LlvmOptions, target: Target, limit: usize) -> CompileThreads {
        CompileThreads { options, target, limit: limit.max(1), shared: Arc::default(), threads: Mutex::default() }
    }

    /// Has a thread do a job, in the order in which jobs come.
    ///
    /// # Errors
    /// The operating system refuses the only thread that would do it.
    pub(crate) fn submit(&self, job: Job) -> Result<(), BackendError> {
        let mut threads = lock(&self.threads);
        let lacks_thread = {
            let mut queue = lock(&self.shared.queue);
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
        std::thread::Builder::new().name("fuseline-llvm".into()).stack_size(STACK_BYTES).spawn(move || {
            let mut worker = Worker::new(options, target);
            while let Some(job) = shared.next() {
                job(&mut worker);
            }
        })
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
}

impl Drop for CompileThreads {
    fn drop(&mut self) {
        let abandoned = {
            let mut queue = lock(&self.shared.queue);
            queue.is_closed = true;
            std::mem::take(&mut queue.jobs)
        };
        drop(abandoned);
        self.shared.changed.notify_all();
        for thread in lock(&self.threads).drain(..) {
            // A job that panics is caught, so there is nothing to learn from how a thread ended.
            let _ = thread.join();
        }
    }
}
