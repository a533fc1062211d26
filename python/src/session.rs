//! The session that evaluates: one for the process, made when it is first needed, and others where options are set.

use crate::capture;
use crate::error::exception;
use crate::progress::Watched;
use fuseline::{BackendKind, CompileOptions, Error, Interrupter, Mode, RuntimeValue, Session, Statistics};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use std::cell::RefCell;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// What a user may choose.
#[pyclass(frozen, module = "fuseline._native")]
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Options {
    #[pyo3(get)]
    threads: Option<usize>,
    memory: Option<u64>,
    mode: Option<String>,
    backend: Option<String>,
    strict_ieee: Option<bool>,
    /// Whether progress is shown.
    verbose: Option<bool>,
}

#[pymethods]
impl Options {
    #[new]
    #[pyo3(signature = (threads, memory, mode, backend, strict_ieee, verbose))]
    fn new(
        threads: Option<usize>,
        memory: Option<u64>,
        mode: Option<String>,
        backend: Option<String>,
        strict_ieee: Option<bool>,
        verbose: Option<bool>,
    ) -> Options {
        Options { threads, memory, mode, backend, strict_ieee, verbose }
    }

    /// These options, where one is left out that of `outer`.
    fn within(&self, outer: &Options) -> PyResult<Options> {
        let Options { threads, memory, mode, backend, strict_ieee, verbose } = self.clone();
        let options = Options {
            threads: threads.or(outer.threads),
            memory: memory.or(outer.memory),
            mode: mode.or_else(|| outer.mode.clone()),
            backend: backend.or_else(|| outer.backend.clone()),
            strict_ieee: strict_ieee.or(outer.strict_ieee),
            verbose: verbose.or(outer.verbose),
        };
        evaluator(&options).map(|_| options)
    }

    /// These options with another number of threads.
    #[pyo3(signature = (threads))]
    fn with_threads(&self, threads: Option<usize>) -> Options {
        Options { threads, ..self.clone() }
    }
}

impl Options {
    /// Whether both ask for the same computations.
    fn compute_as(&self, other: &Options) -> bool {
        let Options { threads, memory, mode, backend, strict_ieee, verbose: _ } = self;
        (threads, memory, strict_ieee) == (&other.threads, &other.memory, &other.strict_ieee)
            && (mode, backend) == (&other.mode, &other.backend)
    }
}

/// The `ContextVar` of the options that hold: those of a thread, or of a task in it.
pub(crate) fn variable(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static VARIABLE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let made = VARIABLE.get_or_try_init(py, || {
        let default = PyDict::new(py);
        default.set_item("default", Options::default().into_pyobject(py)?)?;
        let class = py.import("contextvars")?.getattr("ContextVar")?;
        class.call(("fuseline.options",), Some(&default)).map(Bound::unbind)
    })?;
    Ok(made.bind(py))
}

/// The options that hold.
fn options(py: Python<'_>) -> PyResult<Bound<'_, Options>> {
    Ok(variable(py)?.call_method0(intern!(py, "get"))?.cast_into::<Options>()?)
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

/// The evaluator of the options that hold.
pub(crate) fn current(py: Python<'_>) -> PyResult<&'static Evaluator> {
    evaluator(options(py)?.get())
}

/// The evaluator of some options.
fn evaluator(options: &Options) -> PyResult<&'static Evaluator> {
    let process = std::process::id();
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    made.retain(|made| made.process == process);
    if let Some(found) = made.iter().find(|made| made.options.compute_as(options)) {
        return Ok(found.evaluator);
    }
    let session = new_session(options, made.first().map(|made| &made.evaluator.session))?;
    let interrupter = session.interrupter();
    let evaluator: &'static Evaluator = Box::leak(Box::new(Evaluator { session, interrupter }));
    made.push(Made { options: options.clone(), process, evaluator });
    Ok(evaluator)
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
    compile.pin_threads = does_environment_pin();
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

/// Whether the environment has threads stay on a processor each. What it says of the threads of `OpenMP` does not count: these may have
/// bound the thread that asks, and with it all that it starts.
fn does_environment_pin() -> bool {
    let is_set = |value: String| ["1", "true"].iter().any(|set| value.trim().eq_ignore_ascii_case(set));
    cfg!(target_os = "linux") && std::env::var("FUSELINE_PIN_THREADS").is_ok_and(is_set)
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
    let verbose = options(py)?.get().verbose;
    loop {
        let reading = capture::freeze(py, &values)?;
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
