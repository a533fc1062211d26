//! The affinity of threads: which processors they run on.
//!
//! A scheduler that lets the threads of an operator begin on one processor, and spreads them some milliseconds later, makes
//! an operator of a millisecond take two, and where such operators follow each other it may never find the time to. Threads
//! that are pinned have a processor each from the start, at the price of waiting where another process has it. Others are
//! [kept apart](keep_apart): who begins block after block on the processor of another thread of its pool moves to one that none of
//! them was seen on, and stays there for a while: else the scheduler would bring it back for the next operator.

use std::cell::RefCell;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

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

/// Where the threads of a pool were last seen.
#[derive(Debug)]
pub struct Placement {
    /// The processor of each thread, [`NOWHERE`] before it was seen.
    seen: Box<[AtomicUsize]>,
    /// Whether one of them is on its way to another processor.
    moves: AtomicBool,
}

/// No processor.
const NOWHERE: usize = usize::MAX;

/// How long a thread stays where it has moved. It waits no longer where another process comes, and moves, which takes some
/// dozens of microseconds, no more often.
const STAY: Duration = Duration::from_millis(20);

/// How long a thread begins blocks on the processor of another one before it moves: for operators that end sooner it does not pay.
const MEETING: Duration = Duration::from_micros(500);

/// How long after a block the next one belongs to the same meeting.
const BETWEEN_BLOCKS: Duration = Duration::from_millis(2);

/// The place of a thread in its pool.
struct Place {
    pool: Arc<Placement>,
    index: usize,
    meeting: Option<Meeting>,
    stay: Option<Stay>,
}

/// From when to when a thread has begun blocks on the processor of another one.
#[derive(Clone, Copy)]
struct Meeting {
    start: Instant,
    last: Instant,
}

/// What ends the stay of a thread where it has moved.
struct Stay {
    until: Instant,
    /// The processors that it may use then.
    allowed: Vec<usize>,
}

thread_local! {
    static PLACE: RefCell<Option<Place>> = const { RefCell::new(None) };
}

impl Placement {
    /// That of a pool of so many threads, where each can have a processor of its own.
    pub fn of_threads(count: usize) -> Option<Arc<Placement>> {
        let has_processors = count > 1 && system::allowed().is_ok_and(|allowed| allowed.len() >= count);
        has_processors.then(|| {
            let seen = (0..count).map(|_| AtomicUsize::new(NOWHERE)).collect();
            Arc::new(Placement { seen, moves: AtomicBool::new(false) })
        })
    }

    /// Makes the current thread the `index`-th of the pool, for good.
    pub fn stay(self: &Arc<Self>, index: usize) {
        PLACE.set(Some(Place { pool: Arc::clone(self), index, meeting: None, stay: None }));
    }

    fn others(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        let others = self.seen.iter().enumerate().filter(move |(other, _)| *other != index);
        others.map(|(_, processor)| processor.load(Ordering::Relaxed))
    }
}

impl Place {
    /// Looks where the thread is, and moves it from where another one is.
    fn look(&mut self) {
        if self.stay.as_ref().is_some_and(|stay| stay.until <= Instant::now()) {
            self.end_stay();
        }
        let here = system::current();
        self.record(here);
        if self.pool.others(self.index).all(|other| other != here) {
            self.meeting = None;
        } else if self.stay.is_none() && self.meet() >= MEETING {
            self.leave();
        }
    }

    /// Lets the thread run where it might before it moved.
    fn end_stay(&mut self) {
        if let Some(stay) = self.stay.take() {
            system::keep_on(&stay.allowed);
        }
    }

    /// Takes down that the thread meets another one now; for how long it has done so.
    fn meet(&mut self) -> Duration {
        let now = Instant::now();
        let goes_on = |meeting: &Meeting| now - meeting.last < BETWEEN_BLOCKS;
        let start = self.meeting.filter(goes_on).map_or(now, |meeting| meeting.start);
        self.meeting = Some(Meeting { start, last: now });
        now - start
    }

    fn record(&self, processor: usize) {
        let seen = &self.pool.seen[self.index];
        // Other threads read it for every block.
        if seen.load(Ordering::Relaxed) != processor {
            seen.store(processor, Ordering::Relaxed);
        }
    }

    /// Moves the thread to a processor that no other one was seen on, unless another one moves.
    #[cold]
    fn leave(&mut self) {
        if self.pool.moves.swap(true, Ordering::Acquire) {
            return;
        }
        let allowed = system::allowed().unwrap_or_default();
        let taken: Vec<usize> = self.pool.others(self.index).collect();
        let free: Vec<usize> = allowed.iter().copied().filter(|processor| !taken.contains(processor)).collect();
        if !free.is_empty() {
            system::keep_on(&free);
            let there = system::current();
            system::keep_on(&[there]);
            self.record(there);
        }
        self.stay = Some(Stay { until: Instant::now() + STAY, allowed });
        self.pool.moves.store(false, Ordering::Release);
    }
}

/// Moves the current thread to another processor where it has met another thread of its pool on this one for a while. Called before
/// each block that kernels and skeletons hand to threads; those outside of pools, and of pools of more than processors, stay.
pub fn keep_apart() {
    PLACE.with_borrow_mut(|place| {
        if let Some(place) = place {
            place.look();
        }
    });
}

/// Starts a thread that may run on all processors, also where the current one is pinned, or stays where it has moved.
///
/// # Errors
/// The operating system refuses it.
pub fn start_anywhere<T: Send + 'static>(
    builder: Builder,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    PLACE.with_borrow_mut(|place| place.as_mut().map(Place::end_stay));
    builder.spawn(move || {
        unpin();
        work()
    })
}

/// Lets the current thread run on all processors again, where it was started by one that is pinned.
fn unpin() {
    if let Some(Processors(processors)) = ALLOWED.get() {
        system::keep_on(processors);
    }
}

#[cfg(target_os = "linux")]
mod system {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
    use std::io;

    /// The processor of the current thread.
    pub(super) fn current() -> usize {
        sched_getcpu()
    }

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

    pub(super) fn current() -> usize {
        super::NOWHERE
    }

    pub(super) fn allowed() -> io::Result<Vec<usize>> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    pub(super) fn keep_on(_: &[usize]) {}
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{
        BETWEEN_BLOCKS, MEETING, Meeting, NOWHERE, PLACE, Placement, Processors, STAY, keep_apart, start_anywhere,
        system, unpin,
    };
    use std::sync::atomic::Ordering;
    use std::thread;
    use std::time::{Duration, Instant};

    /// Has the current thread, a pool's second, leave a processor that the first one has; where it may run then, and after it has
    /// stayed there.
    fn beside(processor: usize) -> [Vec<usize>; 2] {
        let all = system::allowed().expect("Linux tells");
        let placement = Placement::of_threads(2).expect("two processors");
        placement.seen[0].store(processor, Ordering::Relaxed);
        placement.stay(1);
        let while_staying = PLACE.with_borrow_mut(|place| {
            let place = place.as_mut().expect("it has one");
            system::keep_on(&[processor]);
            place.record(system::current());
            system::keep_on(&all);
            place.leave();
            let staying = system::allowed().expect("Linux tells");
            assert_eq!(staying, [placement.seen[1].load(Ordering::Relaxed)]);
            staying
        });
        keep_apart();
        assert_eq!(system::allowed().expect("Linux tells"), while_staying, "it stays");
        thread::sleep(STAY);
        placement.seen[0].store(NOWHERE, Ordering::Relaxed);
        keep_apart();
        [while_staying, system::allowed().expect("Linux tells")]
    }

    #[test]
    fn a_thread_leaves_the_processor_of_another_one_for_a_while() {
        let all = system::allowed().expect("Linux tells");
        for &processor in all.iter().take(2).filter(|_| all.len() > 1) {
            let [staying, afterwards] = thread::spawn(move || beside(processor)).join().expect("no panic");
            assert!(!staying.contains(&processor) && staying.iter().all(|place| all.contains(place)));
            assert_eq!(afterwards, all);
        }
    }

    #[test]
    fn a_thread_that_stays_starts_others_that_may_run_anywhere() {
        let Some(placement) = Placement::of_threads(2) else { return };
        let starts = move || {
            let all = system::allowed().expect("Linux tells");
            placement.stay(1);
            PLACE.with_borrow_mut(|place| place.as_mut().expect("it has one").leave());
            assert_eq!(system::allowed().expect("Linux tells").len(), 1);
            let started = start_anywhere(thread::Builder::new(), || system::allowed().expect("Linux tells"));
            (all, started.expect("a thread").join().expect("no panic"))
        };
        let (all, of_started) = thread::spawn(starts).join().expect("no panic");
        assert_eq!(of_started, all);
    }

    /// A short operator is over before a move would pay, and one after a pause is another one.
    #[test]
    fn a_meeting_takes_a_while_without_a_pause() {
        let Some(placement) = Placement::of_threads(2) else { return };
        let meetings = move || {
            placement.stay(1);
            PLACE.with_borrow_mut(|place| {
                let place = place.as_mut().expect("it has one");
                let mut meets_after = |start: Duration, pause: Duration| {
                    let now = Instant::now();
                    place.meeting = Some(Meeting {
                        start: now.checked_sub(start).expect("a time"),
                        last: now.checked_sub(pause).expect("a time"),
                    });
                    place.meet() >= MEETING
                };
                let at_once = meets_after(Duration::ZERO, Duration::ZERO);
                [at_once, meets_after(MEETING, Duration::ZERO), meets_after(2 * BETWEEN_BLOCKS, BETWEEN_BLOCKS)]
            })
        };
        assert_eq!(thread::spawn(meetings).join().expect("no panic"), [false, true, false]);
    }

    /// Nobody else is where it is, so that it is left free.
    #[test]
    fn a_thread_by_itself_may_run_anywhere() {
        let alone = || {
            let before = system::allowed().expect("Linux tells");
            Placement::of_threads(before.len()).inspect(|placement| placement.stay(0));
            keep_apart();
            (before, system::allowed().expect("Linux tells"))
        };
        let (before, after) = thread::spawn(alone).join().expect("no panic");
        assert_eq!(before, after);
    }

    #[test]
    fn threads_that_are_more_than_processors_are_not_kept_apart() {
        let all = system::allowed().expect("Linux tells").len();
        assert!(Placement::of_threads(1).is_none());
        assert!(Placement::of_threads(all + 1).is_none());
        assert_eq!(Placement::of_threads(all).is_some(), all > 1);
    }

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
