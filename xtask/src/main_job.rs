//! `./x run`: trains L2SVM on the Wisconsin breast cancer data, then shows the fusion plan and what fusion brought.

use crate::cargo::{Cargo, check, root};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SCRIPT: &str = "examples/l2svm.dml";

/// The input of the main job, as arguments of the script.
const DATA: &[&str] = &["data=examples/data/breast_cancer.csv"];

/// What is timed: the main job, and the same script on generated data of a size where fusion matters.
const TIMED: &[(&str, &[&str])] =
    &[("Wisconsin breast cancer, 569 x 30", DATA), ("generated, 1000000 x 10", &["rows=1000000", "cols=10"])];

/// Runs per input and mode, of which the fastest counts.
const REPETITIONS: usize = 3;

/// Builds the program and runs the main job.
pub(crate) fn run(cargo: &Cargo) -> Result<()> {
    cargo.run("build", &cargo.with_features(&["build", "--quiet", "--release", "--bin", "fuseline"]))?;
    let fuseline = program()?;
    check("the main job", job(&fuseline, &["run", SCRIPT], DATA))?;
    println!();
    check("explain", job(&fuseline, &["explain", SCRIPT, "--stage", "plan"], DATA))?;
    println!("\nWhole runs in ms, start-up and compilation included, best of {REPETITIONS}:\n");
    println!("{:<34} {:>12} {:>12}", "", "--mode gen", "--mode base");
    for (input, arguments) in TIMED {
        let fused = best_time(&fuseline, "gen", arguments)?;
        let unfused = best_time(&fuseline, "base", arguments)?;
        println!("{input:<34} {:>12.1} {:>12.1}", milliseconds(fused), milliseconds(unfused));
    }
    Ok(())
}

/// The release binary, beside the folder that this program was built into, wherever the target folder is.
fn program() -> Result<PathBuf> {
    let this = std::env::current_exe().context("cannot tell where this program lies")?;
    let target = this.ancestors().nth(2).context("this program does not lie in a target folder")?;
    let program = target.join("release").join(format!("fuseline{}", std::env::consts::EXE_SUFFIX));
    if !program.exists() {
        bail!("cargo built no {}", program.display());
    }
    Ok(program)
}

/// A command of the program, with the script's own arguments at the end.
fn job(fuseline: &Path, command_line: &[&str], script_arguments: &[&str]) -> Command {
    let mut command = Command::new(fuseline);
    command.current_dir(root()).args(command_line).arg("--nvargs").args(script_arguments);
    command
}

fn best_time(fuseline: &Path, mode: &str, script_arguments: &[&str]) -> Result<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..REPETITIONS {
        let mut command = job(fuseline, &["run", SCRIPT, "--mode", mode], script_arguments);
        let start = Instant::now();
        let status = command.stdout(Stdio::null()).status()?;
        best = best.min(start.elapsed());
        if !status.success() {
            bail!("the main job failed in mode {mode} ({status})");
        }
    }
    Ok(best)
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
