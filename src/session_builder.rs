//! How a session is configured, step by step.

use crate::error::Error;
use crate::options::{BackendKind, CompileOptions};
use crate::session::Session;
use fuseline_passes::machine::Machine;
use fuseline_runtime::Mode;
use std::path::PathBuf;

/// Configures a [`Session`]. The example has all steps but [`options`](SessionBuilder::options).
///
/// ```
/// use fuseline::{BackendKind, Machine, Mode, Session};
///
/// let session = Session::builder()
///     .threads(2)
///     .pin_threads(cfg!(target_os = "linux"))
///     .memory(1 << 30)
///     .plan_memory(1 << 28)
///     .mode(Mode::Gen)
///     .backend(BackendKind::Interp)
///     .code_folder("code")
///     .machine(Machine::default())
///     .strict_ieee(true)
///     .library(["functions".into()])
///     .build()?;
/// assert_eq!(session.options().threads, 2);
/// assert!(session.options().strict_ieee);
/// # Ok::<(), fuseline::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct SessionBuilder {
    options: CompileOptions,
}

impl SessionBuilder {
    /// All options at once, in the place of those that were set before.
    ///
    /// ```
    /// use fuseline::{CompileOptions, Session};
    ///
    /// let options = CompileOptions { rewrites: false, ..CompileOptions::default() };
    /// assert!(!Session::builder().options(options).threads(2).build()?.options().rewrites);
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    pub fn options(mut self, options: CompileOptions) -> Self {
        self.options = options;
        self
    }

    /// Threads; 0, the default, takes all of the machine. Results do not depend on it.
    pub fn threads(mut self, threads: usize) -> Self {
        self.options.threads = threads;
        self
    }

    /// Whether each thread stays on one processor; see [`CompileOptions::pin_threads`].
    pub fn pin_threads(mut self, pin: bool) -> Self {
        self.options.pin_threads = pin;
        self
    }

    /// Bytes that runs may hold at a time; by default the memory of the machine, or of the container.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.options.memory_budget = Some(bytes);
        self
    }

    /// Bytes that the inputs and the output of an operator may take in a plan; see
    /// [`CompileOptions::plan_memory_budget`].
    pub fn plan_memory(mut self, bytes: u64) -> Self {
        self.options.plan_memory_budget = Some(bytes);
        self
    }

    /// How operators are fused; by cost unless told otherwise.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.options.mode = mode;
        self
    }

    /// What executes fused operators: machine code, with the interpreter until it is there, unless told otherwise.
    pub fn backend(mut self, backend: BackendKind) -> Self {
        self.options.backend = backend;
        self
    }

    /// A folder that keeps machine code and plans for other processes; see [`CompileOptions::code_folder`].
    pub fn code_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.options.code_folder = Some(folder.into());
        self
    }

    /// The machine that plans are made for, such as one that was calibrated.
    pub fn machine(mut self, machine: Machine) -> Self {
        self.options.machine = machine;
        self
    }

    /// Whether arithmetic is exactly that of IEEE, at the price of plans that exploit sparsity.
    pub fn strict_ieee(mut self, strict: bool) -> Self {
        self.options.strict_ieee = strict;
        self
    }

    /// Folders of functions written in DML; see [`CompileOptions::library_folders`].
    pub fn library(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        self.options.library_folders = folders.into_iter().collect();
        self
    }

    /// The session.
    ///
    /// # Errors
    /// The backend cannot serve on this machine, or there are no threads, or not that many, or they cannot be pinned.
    pub fn build(self) -> Result<Session, Error> {
        Session::new(self.options)
    }
}
