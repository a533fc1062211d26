//! Expressions over sparse matrices that people run, in every mode: `./x bench sparse [--rounds N] [--only TEXT]
//! [--kept-apart]`.
//!
//! All modes run in turn, and their values are compared. Expressions that are kept apart, a third, are counted but not shown
//! by name: prices and code are not to be fitted to these. `--kept-apart` shows them, and `--only` those whose name contains
//! a text. Values that differ make the exit status 1.

#[path = "../support/host.rs"]
mod host;
#[path = "../report/rounds.rs"]
mod rounds;
mod suite;

use fuseline::ir::DataType;
use fuseline::{
    BackendKind, CompileOptions, Error, Layout, MatrixBlock, Mode, PreparedScript, RuntimeValue, ScriptInterface,
    Session, Variables,
};
use rounds::{Contender, Times, in_turn};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;
use suite::{Case, Collection, SUITE};

/// All modes, the one that is held against the others first.
const MODES: &[(&str, Mode)] = &[
    ("gen", Mode::Gen),
    ("gen-fa", Mode::GenFuseAll),
    ("gen-fnr", Mode::GenFuseNoRedundancy),
    ("fused", Mode::Fused),
    ("base", Mode::Base),
];

/// How many times as long as the best mode Gen may take for nearly all expressions, how many may take longer, and how many
/// times as long it may take for any of them.
const MOSTLY_AT_MOST: f64 = 1.05;
const FEW: usize = 2;
const AT_MOST: f64 = 1.15;

/// Modes that take more than this many times as long as the fastest run once.
const HOPELESS: f64 = 3.0;

/// How far values of modes may differ, as a share of the largest one.
const TOLERANCE: f64 = 1e-9;

struct Options {
    rounds: usize,
    only: Option<String>,
    shows_kept_apart: bool,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Options, String> {
        let mut options = Options { rounds: 9, only: None, shows_kept_apart: false };
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
                "--kept-apart" => options.shows_kept_apart = true,
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
    let sessions = sessions().map_err(rendered)?;
    let mut results = Vec::new();
    println!("| expression | {} | gen / best | spread | values |", names().join(" | "));
    println!("|---|{}---|---|---|", "---|".repeat(MODES.len()));
    for (collection, cases) in SUITE {
        if !cases.iter().any(|case| options.wants(case)) {
            continue;
        }
        let data = data(&sessions[MODES.len() - 1], collection).map_err(rendered)?;
        for case in cases.iter().filter(|case| options.wants(case)) {
            let result = measure(&sessions, collection, case, &data, options.rounds)
                .map_err(|error| format!("{}: {}", case.name, error.render(false)))?;
            if !case.is_kept_apart() || options.shows_kept_apart {
                println!("{}", result.line(&format!("{}: {}", collection.name, case.name)));
            }
            results.push(result);
        }
    }
    println!("\nOn {}, {} rounds:", host::description(), options.rounds);
    summarize("all", results.iter());
    summarize("not kept apart", results.iter().filter(|result| !result.is_kept_apart));
    summarize("kept apart", results.iter().filter(|result| result.is_kept_apart));
    Ok(results.iter().all(|result| result.are_equal))
}

fn names() -> Vec<&'static str> {
    MODES.iter().map(|(name, _)| *name).collect()
}

/// A session of each mode.
fn sessions() -> Result<Vec<Session>, Error> {
    let first = Session::new(CompileOptions::default())?;
    let backend = BackendKind::for_measurement();
    let of =
        |&(_, mode): &(&str, Mode)| first.reconfigured(CompileOptions { mode, backend, ..CompileOptions::default() });
    MODES.iter().map(of).collect()
}

/// The matrices of a collection.
fn data(session: &Session, collection: &Collection) -> Result<BTreeMap<&'static str, MatrixBlock>, Error> {
    let script = session.compile_script(collection.name, collection.script, &[])?;
    let outcome = session.run(&script, Variables::new(), &mut std::io::sink())?;
    collection.inputs.iter().map(|&name| Ok((name, outcome.matrix(name)?.clone()))).collect()
}

/// What an expression takes in each mode.
struct Measured {
    seconds: Vec<f64>,
    /// How many times as long as the best other mode Gen takes, the median of the ratios of rounds.
    ratio: f64,
    /// The median distance of Gen's times from their median, as a share of it.
    spread: f64,
    are_equal: bool,
    is_kept_apart: bool,
}

impl Measured {
    fn line(&self, name: &str) -> String {
        let seconds: Vec<String> = self.seconds.iter().map(|&seconds| duration(seconds)).collect();
        let values = if self.are_equal { "equal" } else { "**differ**" };
        format!("| {name} | {} | {:.2} | {:.0} % | {values} |", seconds.join(" | "), self.ratio, 100.0 * self.spread)
    }
}

fn measure(
    sessions: &[Session],
    collection: &Collection,
    case: &Case,
    data: &BTreeMap<&'static str, MatrixBlock>,
    rounds: usize,
) -> Result<Measured, Error> {
    let inputs: Vec<_> = collection.inputs.iter().map(|&name| (name, DataType::MATRIX)).collect();
    let interface = ScriptInterface { inputs: &inputs, outputs: &["R"], ..ScriptInterface::default() };
    let (mut scripts, mut values, mut warm) = (Vec::new(), Vec::new(), Vec::new());
    for session in sessions {
        let mut script = session.prepare_script("<expression>", case.script, &interface)?;
        for (&name, block) in data {
            script.bind(name, block.clone())?;
        }
        let outcome = script.execute(&mut std::io::sink())?;
        values.push(outcome.variables.get("R").cloned());
        let start = Instant::now();
        script.execute(&mut std::io::sink())?;
        warm.push(start.elapsed().as_secs_f64());
        scripts.push(script);
    }
    let bound = HOPELESS * warm.iter().copied().fold(f64::INFINITY, f64::min);
    let are_equal = values.windows(2).all(|pair| match pair {
        [Some(one), Some(other)] => are_near(one, other),
        _ => false,
    });
    let run_again = |script: &mut PreparedScript<'_>| {
        script.execute(&mut std::io::sink()).expect("it ran before");
    };
    let mut contenders = Vec::new();
    for ((script, &(name, _)), &seconds) in scripts.iter_mut().zip(MODES).zip(&warm) {
        if name == MODES[0].0 || seconds <= bound {
            contenders.push(Contender::new(name, move || run_again(script)));
        }
    }
    let times = in_turn(&mut contenders, rounds);
    let find = |name: &str| times.iter().find(|times| times.name == name);
    let ratio = times[1..].iter().map(|other| other.speedup_over(&times[0])).fold(0.0, f64::max);
    let seconds = MODES.iter().zip(&warm).map(|((name, _), &warm)| find(name).map_or(warm, Times::median));
    let (seconds, spread) = (seconds.collect(), times[0].spread());
    Ok(Measured { seconds, ratio, spread, are_equal, is_kept_apart: case.is_kept_apart() })
}

/// Whether two results are equal but for rounding.
fn are_near(one: &RuntimeValue, other: &RuntimeValue) -> bool {
    match (one, other) {
        (RuntimeValue::Matrix(one), RuntimeValue::Matrix(other)) => {
            // A cell that differs is stored in one of the two at least.
            one.dims() == other.dims() && has_stored_cells_of(one, other) && has_stored_cells_of(other, one)
        }
        (one, other) => match (one.as_f64(), other.as_f64()) {
            (Some(one), Some(other)) => (one - other).abs() <= TOLERANCE * one.abs(),
            _ => false,
        },
    }
}

/// Whether the stored cells of one matrix are near those of another one.
fn has_stored_cells_of(matrix: &MatrixBlock, stored: &MatrixBlock) -> bool {
    let near = |row: usize, col: usize, value: f64, largest: f64| {
        let cell = matrix.get(row, col);
        (value - cell).abs() <= TOLERANCE * largest || value.to_bits() == cell.to_bits()
    };
    let largest = |values: &[f64]| values.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    match stored.layout() {
        Layout::Dense(dense) => {
            let (largest, cols) = (largest(dense.values()), dense.cols());
            dense.values().iter().enumerate().all(|(cell, &value)| near(cell / cols, cell % cols, value, largest))
        }
        Layout::Sparse(csr) => {
            let largest = largest(csr.values());
            (0..csr.rows()).all(|row| {
                let (columns, values) = csr.row(row);
                columns.iter().zip(values).all(|(&col, &value)| near(row, col as usize, value, largest))
            })
        }
    }
}

/// What a part of the suite shows.
fn summarize<'r>(what: &str, results: impl Iterator<Item = &'r Measured>) {
    let results: Vec<&Measured> = results.collect();
    if results.is_empty() {
        return;
    }
    let above = |bound: f64| results.iter().filter(|result| result.ratio > bound).count();
    let worst = results.iter().map(|result| result.ratio).fold(0.0, f64::max);
    let over_base = |result: &&Measured| (result.seconds[MODES.len() - 1] / result.seconds[0]).ln();
    let mean = (results.iter().map(over_base).sum::<f64>() / results.len() as f64).exp();
    let holds = above(MOSTLY_AT_MOST) <= FEW && worst <= AT_MOST;
    println!(
        "{what}: {} expressions, base / gen {mean:.2} (geometric mean), gen above {MOSTLY_AT_MOST} of the best mode {}, \
         above {AT_MOST} {}, worst {worst:.2}: {}",
        results.len(),
        above(MOSTLY_AT_MOST),
        above(AT_MOST),
        if holds { "holds" } else { "does not hold" }
    );
}

fn duration(seconds: f64) -> String {
    if seconds < 1e-3 { format!("{:.0} us", 1e6 * seconds) } else { format!("{:.2} ms", 1e3 * seconds) }
}
