//! Packages of Debian and its like, for what the commands need besides LLVM and a C++ linker.

use crate::cargo::check;
use anyhow::{Result, bail};
use std::process::{Command, Stdio};

/// Installs packages, or says that somebody must. `what` needs them.
pub(crate) fn install(what: &str, packages: &[&str]) -> Result<()> {
    if !succeeds(&["apt-get", "--version"]) {
        bail!("{what} needs {} (as Debian names it): install it, then run ./x again", packages.join(", "));
    }
    let mut update = Command::new("apt-get");
    update.arg("update");
    check("reading the package lists", update)?;
    let mut command = Command::new("apt-get");
    command
        .args(["install", "--yes", "--no-install-recommends"])
        .args(packages)
        .env("DEBIAN_FRONTEND", "noninteractive");
    check("installing packages", command)
}

/// Whether a command is there and succeeds; what it prints is not shown.
pub(crate) fn succeeds(command: &[&str]) -> bool {
    let status = Command::new(command[0]).args(&command[1..]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
