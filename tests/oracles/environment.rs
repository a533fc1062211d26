//! Where the oracles are: in a Python environment that `./x test --long` makes, besides Java and R on the machine.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the Python environment.
pub(crate) fn folder() -> PathBuf {
    std::env::var_os("FUSELINE_ORACLES")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target/oracles"), PathBuf::from)
}

/// Runs a driver of `tests/oracles/drivers` with an argument.
///
/// # Panics
/// It fails, or the environment is not there.
pub(crate) fn run_python(driver: &str, argument: &Path) {
    run_python_in(Path::new(env!("CARGO_MANIFEST_DIR")), driver, argument);
}

/// Does the same in another working directory.
pub(crate) fn run_python_in(directory: &Path, driver: &str, argument: &Path) {
    let python = folder().join("bin/python");
    assert!(python.exists(), "{} is missing: ./x test --long installs the oracles", python.display());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracles/drivers").join(driver);
    let output = Command::new(&python).arg(&script).arg(argument).current_dir(directory).output();
    let output = output.expect("python starts");
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{driver} failed:\n{messages}");
}
