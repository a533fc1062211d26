//! The affinity of threads: which processors they run on.
//!
//! A scheduler that lets the threads of an operator begin on one processor, and spreads them some milliseconds later, makes
//! an operator of a millisecond take two. Threads that are pinned have a processor each from the start, at the price of
//! waiting where another process has it.

use std::io;
use std::sync::OnceLock;

/// The processors that this process may use, as they were when threads were first pinned.
static ALLOWED: OnceLock<Processors> = OnceLock::new();

/// Some processors, one at least.
#[derive(Debug)]
pub struct Processors(Vec<usize>);

impl Processors {
    /// The processors that this process may use.
    ///
    /// # Errors
    /// The operating system does not tell, or is not Linux.
    pub fn allowed() -> io::Result<&'static Processors> {
        if let Some(processors) = ALLOWED.get() {
            return Ok(processors);
        }
        let processors = system::allowed()?;
        if processors.is_empty() {
            return Err(io::Error::from(io::ErrorKind::Unsupported));
        }
        Ok(ALLOWED.get_or_init(|| Processors(processors)))
    }

    /// Keeps the current thread, the `index`-th of its pool, on one of these, in turn.
    pub fn pin(&self, index: usize) {
        system::keep_on(&[self.0[index % self.0.len()]]);
    }
}

/// Lets the current thread run on all processors again, where it was started by one that is pinned.
pub fn unpin() {
    if let Some(Processors(processors)) = ALLOWED.get() {
        system::keep_on(processors);
    }
}

#[cfg(target_os = "linux")]
mod system {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    use std::io;

    pub(super) fn allowed() -> io::Result<Vec<usize>> {
        let set = sched_getaffinity(None)?;
        Ok((0..CpuSet::MAX_CPU).filter(|&processor| set.is_set(processor)).collect())
    }

    /// A thread that may not, since the processors of the process have changed, stays where it is.
    pub(super) fn keep_on(processors: &[usize]) {
        let mut set = CpuSet::new();
        processors.iter().for_each(|&processor| set.set(processor));
        _ = sched_setaffinity(None, &set);
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::io;

    pub(super) fn allowed() -> io::Result<Vec<usize>> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    pub(super) fn keep_on(_: &[usize]) {}
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{Processors, system, unpin};
    use std::thread;

    #[test]
    fn pinned_threads_have_a_processor_and_those_they_start_get_all_back() {
        let all = system::allowed().expect("Linux tells");
        let processors = Processors::allowed().expect("as before");
        for index in [0, 1, 5 * all.len() + 1] {
            let pinned = move || {
                processors.pin(index);
                let started = || {
                    [system::allowed(), {
                        unpin();
                        system::allowed()
                    }]
                };
                let [inherited, unpinned] = thread::spawn(started).join().expect("no panic");
                [system::allowed(), inherited, unpinned].map(|allowed| allowed.expect("Linux tells"))
            };
            let one = vec![all[index % all.len()]];
            assert_eq!(thread::spawn(pinned).join().expect("no panic"), [one.clone(), one, all.clone()]);
        }
    }
}
