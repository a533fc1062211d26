//! The session that evaluates: one for the process, made when it is first needed, and others where options are set.

use crate::capture;
use crate::error::exception;
use crate::progress::Watched;
use fuseline::{BackendKind, CompileOptions, Error, Interrupter, Mode, RuntimeValue, Session, Statistics};
use pyo3::prelude::*;
use std::cell::RefCell;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// What a user may choose.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Options {
    pub(crate) threads: Option<usize>,
    pub(crate) memory: Option<u64>,
    pub(crate) mode: Option<String>,
    pub(crate) backend: Option<String>,
    pub(crate) strict_ieee: Option<bool>,
}

impl Options {
    const DEFAULT: Options = Options { threads: None, memory: None, mode: None, backend: None, strict_ieee: None };
}

/// A session, with what Ctrl-C raises.
pub(crate) struct Evaluator {
    pub(crate) session: Session,
    interrupter: Interrupter,
}

/// The evaluator of some options in a process: after a fork the threads of a session are those of the parent, so that the
/// child makes its own.
struct Made {
    options: Options,
    process: u32,
    evaluator: &'static Evaluator,
}

/// Evaluators live as long as the process: a handler of a signal may look at one at any time.
static MADE: Mutex<Vec<Made>> = Mutex::new(Vec::new());

thread_local! {
    /// The options of this thread, and whether it shows progress.
    static OPTIONS: RefCell<(Options, Option<bool>)> = const { RefCell::new((Options::DEFAULT, None)) };
}

/// Sets the options of this thread.
pub(crate) fn set(options: Options, verbose: Option<bool>) {
    OPTIONS.set((options, verbose));
}

/// The evaluator of the options that hold in this thread.
pub(crate) fn current() -> PyResult<&'static Evaluator> {
    let process = std::process::id();
    OPTIONS.with_borrow(|(options, _)| {
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        made.retain(|made| made.process == process);
        if let Some(found) = made.iter().find(|made| made.options == *options) {
            return Ok(found.evaluator);
        }
        let session = new_session(options, made.first().map(|made| &made.evaluator.session))?;
        let interrupter = session.interrupter();
        let evaluator: &'static Evaluator = Box::leak(Box::new(Evaluator { session, interrupter }));
        made.push(Made { options: options.clone(), process, evaluator });
        Ok(evaluator)
    })
}

fn new_session(options: &Options, first: Option<&Session>) -> PyResult<Session> {
    let compile = compile_options(options)?;
    let session = match first {
        Some(first) => first.reconfigured(compile),
        None => Session::new(compile),
    };
    session.map_err(|error| exception(&error))
}

fn compile_options(options: &Options) -> PyResult<CompileOptions> {
    let value = pyo3::exceptions::PyValueError::new_err::<String>;
    let mut compile = CompileOptions::for_user();
    compile.mode = match options.mode.as_deref() {
        None => compile.mode,
        Some("base") => Mode::Base,
        Some("fused") => Mode::Fused,
        Some("gen") => Mode::Gen,
        Some("gen-fa") => Mode::GenFuseAll,
        Some("gen-fnr") => Mode::GenFuseNoRedundancy,
        Some(other) => {
            let modes = "\"base\", \"fused\", \"gen\", \"gen-fa\" or \"gen-fnr\"";
            return Err(value(format!("mode is {modes}, not \"{other}\"")));
        }
    };
    compile.backend = match options.backend.as_deref() {
        None => compile.backend,
        Some("llvm") => BackendKind::Llvm,
        Some("interp") => BackendKind::Interp,
        Some("tiered") => BackendKind::Tiered,
        Some(other) => return Err(value(format!("backend is \"llvm\", \"interp\" or \"tiered\", not \"{other}\""))),
    };
    compile.threads = options.threads.unwrap_or_else(threads_of_environment);
    compile.memory_budget = options.memory;
    compile.strict_ieee = options.strict_ieee.unwrap_or(false);
    Ok(compile)
}

/// The threads that the environment grants, as it does to the libraries beside this one: 0 for all of the machine.
fn threads_of_environment() -> usize {
    let variables = ["FUSELINE_NUM_THREADS", "OMP_NUM_THREADS"];
    let number = |variable: &str| std::env::var(variable).ok()?.parse().ok();
    variables.into_iter().find_map(number).unwrap_or(0)
}

/// The threads that computations take where no option says how many.
pub(crate) fn default_threads() -> usize {
    match threads_of_environment() {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        granted => granted,
    }
}

/// What SIGINT raises while the main thread computes; null when it does not.
static INTERRUPTED: AtomicPtr<Interrupter> = AtomicPtr::new(std::ptr::null_mut());
/// The handler of SIGINT before.
static EARLIER: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);

extern "C" fn interrupt(signal: libc::c_int) {
    // SAFETY: the pointer is null or that of an interrupter that lives as long as the process.
    if let Some(interrupter) = unsafe { INTERRUPTED.load(Ordering::Acquire).as_ref() } {
        interrupter.interrupt();
    }
    let earlier = EARLIER.load(Ordering::Acquire);
    if earlier != libc::SIG_DFL && earlier != libc::SIG_IGN {
        // SAFETY: `Interruptible` keeps handlers of one argument alone.
        unsafe { std::mem::transmute::<usize, extern "C" fn(libc::c_int)>(earlier)(signal) };
    }
}

/// Ctrl-C ends a computation of the main thread as long as this lives; Python hears of it, too.
struct Interruptible(libc::sigaction);

impl Interruptible {
    /// `None` where Python does not handle the signal, or a handler is installed that wants to know more of it.
    fn new(evaluator: &'static Evaluator) -> Option<Self> {
        // SAFETY: all-zero is a valid action, and all structures outlive the calls.
        let earlier = unsafe {
            let mut earlier: libc::sigaction = std::mem::zeroed();
            libc::sigaction(libc::SIGINT, std::ptr::null(), &raw mut earlier);
            earlier
        };
        let takes_one_argument = earlier.sa_flags & libc::SA_SIGINFO == 0;
        if !takes_one_argument || [libc::SIG_DFL, libc::SIG_IGN].contains(&earlier.sa_sigaction) {
            return None;
        }
        EARLIER.store(earlier.sa_sigaction, Ordering::Release);
        INTERRUPTED.store((&raw const evaluator.interrupter).cast_mut(), Ordering::Release);
        let ours = libc::sigaction { sa_sigaction: interrupt as extern "C" fn(libc::c_int) as usize, ..earlier };
        // SAFETY: the handler touches atomics alone, and then is the one before.
        unsafe { libc::sigaction(libc::SIGINT, &raw const ours, std::ptr::null_mut()) };
        Some(Interruptible(earlier))
    }
}

impl Drop for Interruptible {
    fn drop(&mut self) {
        // SAFETY: the action was that of the process before.
        unsafe { libc::sigaction(libc::SIGINT, &raw const self.0, std::ptr::null_mut()) };
        INTERRUPTED.store(std::ptr::null_mut(), Ordering::Release);
    }
}

/// Whether this is the thread that Python's handlers of signals run in.
fn is_main_thread() -> bool {
    // SAFETY: neither call has a precondition.
    unsafe { libc::getpid() == libc::gettid() }
}

/// Does work of a session with Python detached, which reads these values. Ctrl-C ends it with what Python makes of the signal;
/// where that is nothing, the work is done again.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    evaluator: &'static Evaluator,
    values: impl Fn() -> Vec<RuntimeValue>,
    mut work: impl FnMut(&Session) -> Result<T, Error> + Send,
) -> PyResult<T> {
    loop {
        let reading = capture::freeze(py, &values)?;
        let verbose = OPTIONS.with_borrow(|(_, verbose)| *verbose);
        let result = py.detach(|| {
            let _watched = Watched::new(evaluator, verbose);
            let _interruptible = is_main_thread().then(|| Interruptible::new(evaluator));
            work(&evaluator.session)
        });
        capture::thaw(py, reading);
        match result {
            Err(Error::Interrupted) => py.check_signals()?,
            Err(error) => return Err(exception(&error)),
            Ok(value) => return Ok(value),
        }
    }
}

thread_local! {
    /// What the last evaluation of this thread did.
    static LAST: RefCell<Statistics> = RefCell::new(Statistics::default());
}

/// Notes what an evaluation did.
pub(crate) fn note(statistics: Statistics) {
    LAST.set(statistics);
}

/// What the last evaluation of this thread did, as JSON.
pub(crate) fn last_statistics() -> String {
    LAST.with_borrow(|statistics| serde_json::to_string(statistics).unwrap_or_else(|_| "{}".to_owned()))
}
