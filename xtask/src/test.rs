//! `./x test` and `./x lint`: every check of the repository, the main run of the tests last.

use crate::cargo::{Cargo, check};
use crate::oracles;
use anyhow::{Context, Result, bail};

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

/// Runs all checks, or with a filter the tests that it names. Later steps run even if earlier ones fail.
pub(crate) fn run(cargo: &Cargo, options: &Options) -> Result<()> {
    if options.long {
        oracles::install()?;
    }
    if options.filter.is_some() {
        return run_tests(cargo, options, "tests", &cargo.with_features(&["--workspace"]));
    }
    let steps = [
        lint(cargo),
        cargo.run("documentation tests", &cargo.with_features(&["test", "--quiet", "--workspace", "--doc"])),
        run_tests(cargo, options, "tests without LLVM", &["--package", "fuseline", "--no-default-features"]),
        run_tests(cargo, options, "tests", &cargo.with_features(&["--workspace"])),
    ];
    all(steps)
}

/// Formatting, clippy and documentation, with warnings denied.
pub(crate) fn lint(cargo: &Cargo) -> Result<()> {
    let clippy = cargo.with_features(&["clippy", "--quiet", "--workspace", "--all-targets"]);
    let mut documentation = cargo.command(&cargo.with_features(&["doc", "--quiet", "--workspace", "--no-deps"]));
    documentation.env("RUSTDOCFLAGS", "-D warnings");
    all([
        cargo.run("formatting (cargo fmt mends it)", &["fmt", "--all", "--check", "--", "--files-with-diff"]),
        cargo.run("clippy", &[&clippy[..], &["--", "-D", "warnings"]].concat()),
        check("documentation", documentation),
    ])
}

/// Runs the tests of a selection of packages, by nextest where it is installed.
fn run_tests(cargo: &Cargo, options: &Options, what: &str, selection: &[&str]) -> Result<()> {
    let runner: &[&str] = match (cargo.has_subcommand("nextest"), options.long) {
        (true, false) => &["nextest", "run"],
        (true, true) => &["nextest", "run", "--profile", "long"],
        (false, _) => &["test", "--no-fail-fast", "--lib", "--bins", "--tests"],
    };
    let mut command = cargo.command(&[runner, selection].concat());
    command.args(&options.filter);
    if options.long {
        command.env("FUSELINE_LONG", "1").env("FUSELINE_ORACLES", oracles::folder());
    }
    if let Some(seed) = options.seed {
        command.env("FUSELINE_SEED", seed.to_string());
    }
    check(what, command)
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
