//! `./x test` and `./x lint`: every check of the repository, the main run of the tests last.

use crate::cargo::{Cargo, check, root};
use crate::oracles;
use crate::pages;
use crate::python;
use crate::release;
use crate::timing::Timing;
use anyhow::{Context, Result, bail};
use std::fs;

/// What `./x test` was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    long: bool,
    seed: Option<u64>,
    filter: Option<String>,
}

impl Options {
    /// Reads the arguments behind `test`.
    pub(crate) fn parse(arguments: &[&str]) -> Result<Self> {
        let mut options = Options::default();
        let mut arguments = arguments.iter();
        while let Some(&argument) = arguments.next() {
            match argument {
                "--long" => options.long = true,
                "--seed" => {
                    let seed = arguments.next().context("--seed needs a number")?;
                    options.seed = Some(seed.parse().with_context(|| format!("--seed needs a number, not {seed}"))?);
                }
                flag if flag.starts_with('-') => bail!("test has no option {flag}; see ./x help"),
                filter if options.filter.is_none() => options.filter = Some(filter.to_owned()),
                more => bail!("test takes one filter; {more} is a second one"),
            }
        }
        Ok(options)
    }
}

/// Runs all checks, or with a filter the tests that it names, and prints how long each took. Later steps run even if
/// earlier ones fail.
pub(crate) fn run(cargo: &Cargo, options: &Options) -> Result<()> {
    let mut timing = Timing::begin();
    let result = run_steps(cargo, options, &mut timing);
    eprint!("{}", timing.report());
    result
}

fn run_steps(cargo: &Cargo, options: &Options, timing: &mut Timing) -> Result<()> {
    if options.long {
        timing.step("oracles", oracles::install)?;
    }
    if options.filter.is_some() {
        return run_tests(cargo, options, timing, "tests", &cargo.with_features(&["--workspace"]));
    }
    let documentation_tests = cargo.with_features(&["test", "--quiet", "--workspace", "--doc"]);
    let steps = [
        run_lint(cargo, timing),
        timing.step("documentation tests", || cargo.run("documentation tests", &documentation_tests)),
        run_tests(cargo, options, timing, "tests without LLVM", &without_llvm(cargo, options)),
        timing.step("tests of the Python package", || python::test_module(cargo, options.long, options.seed)),
        run_tests(cargo, options, timing, "tests", &cargo.with_features(&["--workspace"])),
        if options.long { run_release_checks(cargo, timing) } else { Ok(()) },
    ];
    all(steps)
}

/// What a release needs, pages as their commands write them among it.
fn run_release_checks(cargo: &Cargo, timing: &mut Timing) -> Result<()> {
    all([
        timing.step("examples in the documentation", || release::examples(cargo)),
        timing.step("packages", || release::packages(cargo)),
        timing.step("interface", || release::interface(cargo)),
        timing.step("columns of pages", || pages::columns(cargo)),
    ])
}

/// The suites of the package `fuseline` that users of a build without LLVM would miss: all that they can type. The others
/// run the interpreter beside LLVM, and run without it in `--long`.
const SUITES_WITHOUT_LLVM: &[&str] = &["--test", "cli"];

/// The tests of these suites that would meet other code than with LLVM: not those of files, memory and requests to stop,
/// nor those in which backends are compared.
const TESTS_WITHOUT_LLVM: &str = "package(fuseline) & \
    not test(/^(formats|generate|interrupt|limits|machines|memory|streams|systemds)::/)";

/// Selects the tests of the package `fuseline` without LLVM. For nextest the whole workspace is named, and the crate that
/// binds LLVM keeps its version, so that every other crate is built as it is for the tests with LLVM: once.
fn without_llvm(cargo: &Cargo, options: &Options) -> Vec<&'static str> {
    if has_nextest(cargo) {
        let selection = [
            "--workspace",
            "--no-default-features",
            "--features",
            "fuseline/cli",
            "--features",
            cargo.backend_feature(),
        ];
        let (suites, tests): (&[_], _) =
            if options.long { (&[], "package(fuseline)") } else { (SUITES_WITHOUT_LLVM, TESTS_WITHOUT_LLVM) };
        [&selection[..], suites, &["--filterset", tests]].concat()
    } else {
        vec!["--package", "fuseline", "--no-default-features", "--features", "cli"]
    }
}

/// Formatting, clippy and documentation, with warnings denied.
pub(crate) fn lint(cargo: &Cargo) -> Result<()> {
    run_lint(cargo, &mut Timing::begin())
}

fn run_lint(cargo: &Cargo, timing: &mut Timing) -> Result<()> {
    let formatting = ["fmt", "--all", "--check", "--", "--files-with-diff"];
    let clippy = cargo.with_features(&["clippy", "--quiet", "--workspace", "--all-targets"]);
    let clippy = [&clippy[..], &["--", "-D", "warnings"]].concat();
    // With the examples, dependencies have the features that they have for clippy, and need not be checked again.
    let documentation = ["doc", "--quiet", "--workspace", "--no-deps", "--lib", "--bins", "--examples"];
    let mut documentation = cargo.command(&cargo.with_features(&documentation));
    documentation.env("RUSTDOCFLAGS", "-D warnings");
    all([
        timing.step("formatting", || cargo.run("formatting (cargo fmt mends it)", &formatting)),
        timing.step("clippy", || cargo.run("clippy", &clippy)),
        timing.step("documentation", || check("documentation", documentation)),
    ])
}

/// Runs the tests of a selection of packages, by nextest where it is installed.
fn run_tests(cargo: &Cargo, options: &Options, timing: &mut Timing, what: &str, selection: &[&str]) -> Result<()> {
    let profile = if options.long { "long" } else { "default" };
    let runner: &[&str] = if has_nextest(cargo) {
        &["nextest", "run", "--profile", profile]
    } else {
        &["test", "--no-fail-fast", "--lib", "--bins", "--tests"]
    };
    let mut command = cargo.command(&[runner, selection].concat());
    command.args(&options.filter);
    if options.long {
        command.env("FUSELINE_LONG", "1").env("FUSELINE_ORACLES", oracles::folder());
    }
    if let Some(seed) = options.seed {
        command.env("FUSELINE_SEED", seed.to_string());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), std::path::PathBuf::from);
    let report = root().join(target).join("nextest").join(profile).join("junit.xml");
    let _ = fs::remove_file(&report); // a run that stops before its tests leaves an old one, if there is one
    let result = timing.step(what, || check(what, command));
    match fs::read_to_string(&report) {
        Ok(text) => all([result, timing.add_suites(what, &text)]),
        Err(_) => result,
    }
}

fn has_nextest(cargo: &Cargo) -> bool {
    cargo.has_subcommand("nextest")
}

/// Succeeds if all did; else names all that failed.
fn all(steps: impl IntoIterator<Item = Result<()>>) -> Result<()> {
    let failures: Vec<String> = steps.into_iter().filter_map(Result::err).map(|error| format!("{error:#}")).collect();
    if failures.is_empty() { Ok(()) } else { bail!("{}", failures.join("; ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_come_in_any_order() {
        let options = Options::parse(&["memo", "--seed", "7", "--long"]).unwrap();
        assert_eq!(options, Options { long: true, seed: Some(7), filter: Some("memo".into()) });
    }

    #[test]
    fn wrong_options_are_named() {
        for (arguments, expected) in [
            (&["--fast"][..], "no option --fast"),
            (&["--seed"], "--seed needs a number"),
            (&["--seed", "x"], "not x"),
            (&["a", "b"], "b is a second one"),
        ] {
            let message = Options::parse(arguments).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn all_failures_are_named() {
        assert!(all([Ok(()), Ok(())]).is_ok());
        let message = all([Ok(()), Err(anyhow::anyhow!("one")), Err(anyhow::anyhow!("two"))]).unwrap_err().to_string();
        assert_eq!(message, "one; two");
    }
}
