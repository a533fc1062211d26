//! Valid programs, and running them in this process.
//!
//! The programs are the features of the language's tests, and `mutations/programs`, which read and write files.

use crate::files;
use crate::tally::Verdict;
use crate::{HANGS_AT_WORK, HANGS_WAITING, names_line};
use fuseline::{BackendKind, CompileOptions, Error, Interrupter, Mode, Session, Variables};
use rustix::time::{ClockId, clock_gettime};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// A run is asked to stop after this time, and must do so within what is left until it hangs.
const UNTIL_STOPPED: Duration = Duration::from_secs(3);

/// Between looks at the time of the processor.
const LOOK: Duration = Duration::from_millis(50);

/// A valid program.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) arguments: Vec<(String, String)>,
}

impl Program {
    /// Whether it reads or writes files.
    pub(crate) fn has_files(&self) -> bool {
        self.text.contains("read(") || self.text.contains("write(")
    }

    /// Writes the files that programs read into the folder that they run in.
    pub(crate) fn write_inputs(&self, folder: &Path) {
        if !self.text.contains("read(") {
            return;
        }
        for file in files::inputs() {
            file.write(folder);
        }
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// All programs, in order.
pub(crate) fn programs() -> Vec<Program> {
    let folders = ["tests/language/features", "tests/mutations/programs"];
    let mut programs: Vec<Program> = folders.iter().flat_map(|folder| programs_of(&root().join(folder))).collect();
    // Paths that only hold where the repository lies are of no use to a process in another folder.
    programs.retain(|program| !program.text.contains("tests/language"));
    programs.sort_by(|one, other| one.path.cmp(&other.path));
    programs
}

fn programs_of(folder: &Path) -> Vec<Program> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let program = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.expect("folders can be read").path();
        let text = std::fs::read_to_string(&path).expect("programs are text");
        let arguments = text
            .lines()
            .next()
            .and_then(|header| header.strip_prefix("# test: prints"))
            .unwrap_or_default()
            .split_whitespace()
            .filter_map(|option| option.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        // What the program prints stands behind it.
        let program = text.split_once("\n#> ").map_or(text.as_str(), |(program, _)| program);
        Program { path: path.display().to_string(), text: format!("{program}\n"), arguments }
    };
    entries.map(program).collect()
}

/// How programs are run: in every mode, and on the backends of this build.
pub(crate) const CONFIGURATIONS: &[(Mode, BackendKind)] = &[
    (Mode::Gen, BackendKind::Interp),
    (Mode::Base, BackendKind::Interp),
    (Mode::Fused, BackendKind::Interp),
    (Mode::GenFuseNoRedundancy, BackendKind::Interp),
    #[cfg(feature = "llvm")]
    (Mode::Gen, BackendKind::Tiered),
    #[cfg(feature = "llvm")]
    (Mode::GenFuseAll, BackendKind::Llvm),
];

/// A session that refuses what a small machine would refuse.
pub(crate) fn session((mode, backend): (Mode, BackendKind)) -> Session {
    let options = CompileOptions {
        mode,
        backend,
        threads: 2,
        memory_budget: Some(128 << 20),
        library_folders: vec![root().join("tests/language/library")],
        ..CompileOptions::default()
    };
    Session::new(options).expect("two threads")
}

/// Runs a program; gives the message of its error, none where it was interrupted.
pub(crate) fn run(
    session: &Session,
    path: &str,
    text: &str,
    arguments: &[(String, String)],
) -> Result<(), Option<String>> {
    let arguments: Vec<(&str, &str)> = arguments.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let outcome = session
        .compile_script(path, text, &arguments)
        .and_then(|script| session.run(&script.for_effects(), Variables::new(), &mut std::io::sink()));
    match outcome {
        Ok(_) => Ok(()),
        Err(Error::Interrupted) => Err(None),
        Err(error) => Err(Some(error.render(false))),
    }
}

/// Runs programs in a session that all of them share, each with a limit of time.
pub(crate) struct Runner {
    configuration: (Mode, BackendKind),
    session: Arc<Session>,
}

impl Runner {
    pub(crate) fn new(configuration: (Mode, BackendKind)) -> Self {
        Runner { configuration, session: Arc::new(session(configuration)) }
    }

    pub(crate) fn run(&mut self, program: &Program, text: &str) -> Verdict {
        let (sender, receiver) = channel();
        let interrupter = self.session.interrupter();
        let (session, path, text) = (Arc::clone(&self.session), program.path.clone(), text.to_owned());
        let arguments = program.arguments.clone();
        let job = move || {
            let result = catch_unwind(AssertUnwindSafe(|| run(&session, &path, &text, &arguments)));
            // Nobody listens any more where this took too long.
            let _ = sender.send(result.map_err(|payload| panic_message(&*payload)));
        };
        // The stack of a program's first thread.
        std::thread::Builder::new().stack_size(8 << 20).spawn(job).expect("a thread");
        let result = match receiver.recv_timeout(UNTIL_STOPPED) {
            Err(RecvTimeoutError::Timeout) => {
                Interrupter::interrupt(&interrupter);
                until_hanging(&receiver, HANGS_AT_WORK - UNTIL_STOPPED)
            }
            result => result,
        };
        match result {
            Ok(Ok(Ok(()))) => Verdict::Fine,
            Ok(Ok(Err(None))) => Verdict::Stopped,
            Ok(Ok(Err(Some(message)))) if names_line(&message) => Verdict::Refused(message),
            Ok(Ok(Err(Some(message)))) => Verdict::Wrong(format!("names no place: {message}")),
            Ok(Err(message)) => {
                *self = Runner::new(self.configuration);
                Verdict::Wrong(format!("panicked: {message}"))
            }
            Err(_) => {
                *self = Runner::new(self.configuration);
                Verdict::Wrong("hangs, and does not stop when it is asked to".to_owned())
            }
        }
    }
}

/// What comes within so much time of the processor, unless all wait.
pub(crate) fn until_hanging<T>(receiver: &Receiver<T>, at_work: Duration) -> Result<T, RecvTimeoutError> {
    let (begin, worked_before) = (Instant::now(), processor_time());
    loop {
        let result = receiver.recv_timeout(LOOK);
        let has_time = processor_time() - worked_before <= at_work && begin.elapsed() <= HANGS_WAITING;
        if !matches!(result, Err(RecvTimeoutError::Timeout)) || !has_time {
            return result;
        }
    }
}

/// The time of the processor that this process has taken, on all threads.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).expect("time does not run backwards")
}

/// The message of a panic.
pub(crate) fn panic_message(payload: &(dyn std::any::Any + Send)) -> String {
    match (payload.downcast_ref::<String>(), payload.downcast_ref::<&str>()) {
        (Some(text), _) => text.clone(),
        (_, Some(text)) => (*text).to_owned(),
        _ => "a payload that is no text".to_owned(),
    }
}
