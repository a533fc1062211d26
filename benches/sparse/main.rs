//! Expressions over sparse matrices that people run, in every mode: `./x bench sparse [--rounds N] [--only TEXT]
//! [--explain] [--kept-apart] [--python PATH] [--calibrate | --machine FILE]`.
//!
//! All modes run in turn, with loops written by hand where there are some, and with `SciPy` where there is a Python
//! that has it; their values are compared. Expressions that are kept apart, a third, are counted but not shown by name:
//! prices and code are not to be fitted to these. `--kept-apart` shows them, and `--only` those whose name contains a
//! text; `--explain` adds the plans of all modes and the times of their operators, measured and expected. Values that differ make the exit status 1. Plans are for a typical machine, or with `--calibrate` for this one
//! as it is measured first.

#[path = "../paper/by_hand/mod.rs"]
#[expect(dead_code, reason = "the report has loops that no expression here needs")]
mod by_hand;
#[path = "../support/conditions.rs"]
mod conditions;
mod data;
#[path = "../support/host.rs"]
mod host;
mod loops;
#[path = "../support/loops_by_hand.rs"]
mod loops_by_hand;
mod measure;
#[path = "../support/operators.rs"]
mod operators;
#[path = "../support/planned_for.rs"]
mod planned_for;
#[path = "../paper/rounds.rs"]
mod rounds;
mod scipy;
mod suite;
mod summary;
mod values;

use conditions::assert_equal_conditions;
use data::Data;
use fuseline::Error;
use loops::LOOPS;
use measure::{Measured, explanation, measure, names, sessions};
use planned_for::PlannedFor;
use scipy::SciPy;
use std::process::ExitCode;
use suite::{Case, SUITE};

/// The median of so many ratios, each with a spread of some percent, is sure to one percent.
const ROUNDS: usize = 101;

struct Options {
    rounds: usize,
    only: Option<String>,
    explains: bool,
    shows_kept_apart: bool,
    python: Option<String>,
    planned_for: PlannedFor,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Options, String> {
        let planned_for = PlannedFor::Typical;
        let mut options =
            Options { rounds: ROUNDS, only: None, explains: false, shows_kept_apart: false, python: None, planned_for };
        let mut arguments = arguments.iter().map(String::as_str);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument {
                "--rounds" => {
                    let text = value()?;
                    let rounds = text.parse().ok().filter(|&rounds: &usize| rounds > 0);
                    options.rounds = rounds.ok_or(format!("{text} is no number of rounds"))?;
                }
                "--only" => options.only = Some(value()?.to_owned()),
                "--explain" => options.explains = true,
                "--kept-apart" => options.shows_kept_apart = true,
                "--python" => options.python = Some(value()?.to_owned()),
                "--calibrate" => options.planned_for = PlannedFor::Calibrated,
                "--machine" => options.planned_for = PlannedFor::File(value()?.into()),
                // Cargo says that this is a benchmark.
                "--bench" => {}
                other => return Err(format!("there is no option {other}")),
            }
        }
        Ok(options)
    }

    fn wants(&self, case: &Case) -> bool {
        self.only.as_ref().is_none_or(|text| case.name.contains(text))
    }
}

fn main() -> ExitCode {
    loops_by_hand::pin();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = Options::parse(&arguments).and_then(|options| run(&options));
    match outcome {
        Ok(are_equal) if are_equal => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("sparse: {message}");
            ExitCode::from(2)
        }
    }
}

/// Runs what is wanted; whether all values are equal.
fn run(options: &Options) -> Result<bool, String> {
    let rendered = |error: Error| error.render(false);
    let mut scipy = scipy(options.python.as_deref())?;
    check_names(LOOPS.iter().map(|(name, _)| *name).chain(scipy.iter().flat_map(SciPy::names)))?;
    let (machine, planned_for) = options.planned_for.machine()?;
    let sessions = sessions(&machine).map_err(rendered)?;
    let mut results = Vec::new();
    print_head();
    for (collection, cases) in SUITE {
        if !cases.iter().any(|case| options.wants(case)) {
            continue;
        }
        let data = Data::make(&sessions[sessions.len() - 1], collection).map_err(rendered)?;
        assert_equal_conditions(&sessions, data.blocks().map(|(_, block)| block));
        if let Some(scipy) = &mut scipy {
            data.blocks().try_for_each(|(name, block)| scipy.give(name, block))?;
        }
        for case in cases.iter().filter(|case| options.wants(case)) {
            let result = measure(&sessions, collection, case, &data, scipy.as_mut(), options.rounds)
                .map_err(|error| format!("{}: {error}", case.name))?;
            if !case.is_kept_apart() || options.shows_kept_apart {
                print_line(&format!("{}: {}", collection.name, case.name), &result);
                if options.explains {
                    println!("\n{}", explanation(&sessions, collection, case, &data).map_err(rendered)?);
                }
            }
            results.push(result);
        }
    }
    println!("\nOn {}, planned for {planned_for}, {} rounds:", host::description(), options.rounds);
    summary::print(&results, scipy.as_ref().map(|scipy| scipy.versions.as_str()));
    Ok(results.iter().all(|result| result.are_equal))
}

/// `SciPy` in the Python that is asked for, or in `python3` if that has it.
fn scipy(python: Option<&str>) -> Result<Option<SciPy>, String> {
    let chosen = python.unwrap_or("python3");
    match (scipy::is_in(chosen), python) {
        (true, _) => SciPy::start(chosen).map(Some),
        (false, Some(python)) => Err(format!("{python} cannot import scipy")),
        (false, None) => Ok(None),
    }
}

/// Whoever has expressions has none that the suite lacks.
fn check_names<'a>(mut names: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let is_known = |name: &str| SUITE.iter().any(|(_, cases)| cases.iter().any(|case| case.name == name));
    names.find(|name| !is_known(name)).map_or(Ok(()), |name| Err(format!("no expression is called {name}")))
}

fn print_head() {
    let names = names();
    println!("| expression | {} | gen / best | gen / by hand | gen / SciPy | spread | values |", names.join(" | "));
    println!("|---|{}---|---|---|---|---|", "---|".repeat(names.len()));
}

fn print_line(name: &str, result: &Measured) {
    let seconds: Vec<String> = result.seconds.iter().map(|seconds| seconds.map_or_else(none, duration)).collect();
    let [by_hand, scipy] =
        [result.over_hand, result.over_scipy].map(|ratio| ratio.map_or_else(none, |ratio| format!("{ratio:.2}")));
    let values = if result.are_equal { "equal" } else { "**differ**" };
    println!(
        "| {name} | {} | {:.2} | {by_hand} | {scipy} | {:.0} % | {values} |",
        seconds.join(" | "),
        result.ratio,
        100.0 * result.spread
    );
}

fn none() -> String {
    "–".to_owned()
}

fn duration(seconds: f64) -> String {
    if seconds < 1e-3 { format!("{:.0} us", 1e6 * seconds) } else { format!("{:.2} ms", 1e3 * seconds) }
}
