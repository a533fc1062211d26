//! `./x fuzz`: one fuzz target under libFuzzer, by cargo-fuzz.

use crate::cargo::{Cargo, check, root};
use anyhow::{Context, Result, bail};

/// What libFuzzer is told before the user's own arguments, which override it: inputs are short, since the memory that
/// an input may take is measured against a fixed limit.
const DEFAULTS: &[&str] = &["-max_len=1024", "-timeout=10", "-rss_limit_mb=2048"];

/// Runs a target on the kept corpus; new inputs go to a scratch folder. `arguments` are libFuzzer's.
pub(crate) fn run(cargo: &Cargo, target: &str, arguments: &[&str]) -> Result<()> {
    let known = targets()?;
    if !known.iter().any(|known| known == target) {
        bail!("there is no fuzz target {target}; the targets are {}", known.join(" "));
    }
    if !cargo.has_subcommand("fuzz") {
        bail!("cargo-fuzz is not here; install it with: cargo install cargo-fuzz --locked");
    }
    let scratch = root().join("fuzz/target/corpus").join(target);
    std::fs::create_dir_all(&scratch).with_context(|| format!("cannot create {}", scratch.display()))?;
    // The code under test is safe Rust, so no sanitizer watches it; that makes runs twice as fast.
    let mut command = cargo.command(&["fuzz", "run", "--sanitizer", "none", target]);
    command.arg(scratch).arg(root().join("fuzz/corpus").join(target));
    command.arg("--").args(DEFAULTS).args(arguments);
    // cargo-fuzz needs flags that only nightly compilers take without being asked.
    command.env("RUSTC_BOOTSTRAP", "1");
    check("fuzzing", command)
}

/// The names of the targets, by their files.
fn targets() -> Result<Vec<String>> {
    let folder = root().join("fuzz/fuzz_targets");
    let entries = std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let stem = |path: std::path::PathBuf| Some(path.file_stem()?.to_string_lossy().into_owned());
    let mut names: Vec<String> = entries.filter_map(|entry| stem(entry.ok()?.path())).collect();
    names.sort();
    Ok(names)
}
