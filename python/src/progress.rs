//! Progress of long evaluations on standard error: on terminals, or where a user asks for it.

use crate::session::Evaluator;
use fuseline::Progress;
use std::io::{IsTerminal, Write, stderr};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// What is shorter shows nothing.
const LONG: Duration = Duration::from_secs(1);
/// How often a line is written anew.
const TICK: Duration = Duration::from_millis(250);
/// How often one more line is written where none can be replaced.
const LINE: Duration = Duration::from_secs(5);
/// Ticks without an evaluation after which the thread that watches sleeps until the next one.
const IDLE_TICKS: u32 = 20;

/// An evaluation that is watched as long as this lives.
pub(crate) struct Watched(u64);

/// An evaluation under way.
struct Running {
    id: u64,
    evaluator: &'static Evaluator,
    start: Instant,
    before: Progress,
    /// When a line was written for it last.
    shown: Option<Instant>,
}

#[derive(Default)]
struct Watch {
    running: Vec<Running>,
    next: u64,
    /// The process that has a thread that watches: after a fork the child has none.
    process: u32,
    /// Whether that thread waits for an evaluation.
    is_asleep: bool,
}

static WATCH: Mutex<Watch> = Mutex::new(Watch { running: Vec::new(), next: 0, process: 0, is_asleep: false });
static STARTED: Condvar = Condvar::new();

fn watch() -> MutexGuard<'static, Watch> {
    WATCH.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether standard error is a terminal, where a line can be replaced.
fn is_terminal() -> bool {
    static IS_TERMINAL: OnceLock<bool> = OnceLock::new();
    *IS_TERMINAL.get_or_init(|| stderr().is_terminal())
}

impl Watched {
    /// Watches an evaluation; `None` where nobody wants to see it.
    pub(crate) fn new(evaluator: &'static Evaluator, verbose: Option<bool>) -> Option<Watched> {
        if !verbose.unwrap_or_else(is_terminal) {
            return None;
        }
        // After a fork it may stay locked in the child, for a thread that is not there. One that is busy has something to show.
        let mut watch = WATCH.try_lock().ok()?;
        let id = watch.next;
        watch.next += 1;
        let process = std::process::id();
        if watch.process != process {
            watch.running.clear();
            std::thread::Builder::new().name("fuseline-progress".to_owned()).spawn(show).ok()?;
            (watch.process, watch.is_asleep) = (process, false);
        }
        let before = evaluator.session.progress();
        watch.running.push(Running { id, evaluator, start: Instant::now(), before, shown: None });
        if watch.is_asleep {
            STARTED.notify_one();
        }
        Some(Watched(id))
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let mut watch = watch();
        let position = watch.running.iter().position(|running| running.id == self.0);
        let running = position.map(|position| watch.running.remove(position));
        if running.is_some_and(|running| running.shown.is_some()) && is_terminal() {
            write("\r\x1b[K");
        }
    }
}

/// Shows how far the oldest evaluation is, for as long as the process lives.
fn show() {
    let (mut watch, mut idle) = (watch(), 0);
    loop {
        idle = if watch.running.is_empty() { idle + 1 } else { 0 };
        if idle > IDLE_TICKS {
            watch.is_asleep = true;
            watch = STARTED.wait(watch).unwrap_or_else(PoisonError::into_inner);
            watch.is_asleep = false;
        } else {
            watch = STARTED.wait_timeout(watch, TICK).unwrap_or_else(PoisonError::into_inner).0;
        }
        if let Some(oldest) = watch.running.first_mut() {
            oldest.show();
        }
    }
}

impl Running {
    fn show(&mut self) {
        let is_due = |shown: Instant| is_terminal() || shown.elapsed() >= LINE;
        if self.start.elapsed() < LONG || !self.shown.is_none_or(is_due) {
            return;
        }
        self.shown = Some(Instant::now());
        let line = self.line();
        write(&if is_terminal() { format!("\r\x1b[K{line}") } else { format!("{line}\n") });
    }

    fn line(&self) -> String {
        let Progress { operators, iterations, memory } = self.evaluator.session.progress();
        let mut line = format!("fuseline: {} s", self.start.elapsed().as_secs());
        let counts =
            [("operators", operators - self.before.operators), ("iterations", iterations - self.before.iterations)];
        for (what, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
            line += &format!(", {} {what}", grouped(count));
        }
        line + &format!(", {} MB in use", grouped(memory >> 20))
    }
}

/// A number with its thousands apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join(",")
}

/// Writes on standard error; whoever reads it may be gone.
fn write(text: &str) {
    let mut stderr = stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}
