//! Runs the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// What a finished run left.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    /// What a successful run printed; nothing may stand on standard error.
    #[track_caller]
    pub(crate) fn quiet(self) -> String {
        assert_eq!(self.stderr, "");
        self.success().stdout
    }

    /// A successful run.
    #[track_caller]
    pub(crate) fn success(self) -> Finished {
        assert_eq!(self.status, Some(0), "{}{}", self.stdout, self.stderr);
        self
    }

    /// The message of a run that failed as runs must: exit status 1, one message on standard error, no panic.
    #[track_caller]
    pub(crate) fn message(self) -> String {
        assert_eq!(self.status, Some(1), "{}{}", self.stdout, self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        let starts = |line: &&str| line.to_lowercase().starts_with("error");
        assert_eq!(self.stderr.lines().filter(starts).count(), 1, "one message: {}", self.stderr);
        self.stderr
    }
}

/// Runs `fuseline` with these arguments in a folder.
#[track_caller]
pub(crate) fn run_in(folder: &Path, arguments: &[&str]) -> Finished {
    // Runs do not depend on what was calibrated or compiled here before, and leave nothing here.
    let cache = Some(folder.join("cache")).filter(|made_by_a_test| made_by_a_test.exists());
    let output = Command::new(env!("CARGO_BIN_EXE_fuseline"))
        .current_dir(folder)
        .args(arguments)
        .env("XDG_CACHE_HOME", cache.unwrap_or_else(|| "/dev/null".into()))
        .output()
        .expect("the program starts");
    Finished {
        status: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("output is UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("messages are UTF-8"),
    }
}

/// Runs `fuseline` in the root of the repository.
#[track_caller]
pub(crate) fn fuseline(arguments: &[&str]) -> Finished {
    run_in(Path::new(env!("CARGO_MANIFEST_DIR")), arguments)
}

/// A folder for one test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Folder(tempfile::tempdir().expect("there is room for a folder"))
    }

    /// A folder with one file.
    pub(crate) fn with(name: &str, text: impl AsRef<[u8]>) -> Self {
        let folder = Folder::new();
        folder.write(name, text);
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).expect("the folder is ours");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The names of the files in a folder within, in order.
    #[cfg(feature = "llvm")]
    pub(crate) fn list(&self, name: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("ours").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Runs `fuseline` in this folder.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> Finished {
        run_in(self.0.path(), arguments)
    }

    /// Runs a script.
    #[track_caller]
    pub(crate) fn script(&self, text: &str, options: &[&str]) -> Finished {
        self.write("script.dml", text);
        self.run(&[&["run", "script.dml"], options].concat())
    }
}

/// Runs a script in a folder of its own.
#[track_caller]
pub(crate) fn script(text: &str, options: &[&str]) -> Finished {
    Folder::new().script(text, options)
}

/// The backends of this build.
pub(crate) const BACKENDS: &[&str] = if cfg!(feature = "llvm") { &["interp", "llvm", "tiered"] } else { &["interp"] };
