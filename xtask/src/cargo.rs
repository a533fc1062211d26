//! Runs cargo with the features of the LLVM that `./x` found.

use anyhow::{Context, Result, bail};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The variable in which `./x` names the cargo feature of the LLVM that it found.
const FEATURE_VARIABLE: &str = "FUSELINE_LLVM_FEATURE";

/// How this machine builds Fuseline.
#[derive(Clone, Debug)]
pub(crate) struct Cargo {
    /// Arguments that choose the version of LLVM.
    features: &'static [&'static str],
    /// The version of LLVM as a feature of the crate that binds it.
    backend_feature: &'static str,
}

impl Cargo {
    /// Reads [`FEATURE_VARIABLE`]; unset means LLVM 22, the default feature.
    pub(crate) fn from_environment() -> Result<Self> {
        let (features, backend_feature): (&[_], _) = match std::env::var(FEATURE_VARIABLE).as_deref() {
            Err(_) | Ok("llvm22") => (&[], "fuseline-llvm-backend/default"),
            Ok("llvm19") => {
                (&["--no-default-features", "--features", "llvm19,fuseline/cli"], "fuseline-llvm-backend/llvm19")
            }
            Ok(other) => bail!("{FEATURE_VARIABLE} is llvm22 or llvm19, not {other}"),
        };
        Ok(Cargo { features, backend_feature })
    }

    /// The feature by which the crate that binds LLVM is built where `fuseline` itself goes without it.
    pub(crate) fn backend_feature(&self) -> &'static str {
        self.backend_feature
    }

    /// Whether the LLVM that was found is the one that can be linked statically.
    pub(crate) fn links_llvm_22(&self) -> bool {
        self.features.is_empty()
    }

    /// Puts the feature arguments behind a cargo command's own.
    pub(crate) fn with_features<'a>(&self, arguments: &[&'a str]) -> Vec<&'a str> {
        arguments.iter().chain(self.features).copied().collect()
    }

    /// Runs cargo with exactly these arguments. `what` names the step in the error.
    pub(crate) fn run(&self, what: &str, arguments: &[&str]) -> Result<()> {
        check(what, self.command(arguments))
    }

    /// A cargo command in the root of the repository.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(root()).args(arguments);
        command
    }

    /// Whether cargo has this subcommand installed.
    pub(crate) fn has_subcommand(&self, name: &str) -> bool {
        let status = self.command(&[name, "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    }
}

/// Runs a command after printing it, and fails if it does.
pub(crate) fn check(what: &str, mut command: Command) -> Result<()> {
    let arguments: Vec<_> = command.get_args().map(|argument| argument.to_string_lossy()).collect();
    let program = PathBuf::from(command.get_program());
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    eprintln!("x: {name} {}", arguments.join(" "));
    let status = command.status().with_context(|| format!("cannot start {}", program.display()))?;
    if !status.success() {
        bail!("{what} failed ({status})");
    }
    Ok(())
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let xtask = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().expect("xtask is a folder of the repository").to_owned()
}
