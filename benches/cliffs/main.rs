//! A search for cliffs: expressions on which the cost-based plan (Gen) takes longer than another mode.
//!
//! `./x bench cliffs [--seed N] [--count M] [--explain] [--predictions] [--calibrate | --machine FILE]` draws M expressions
//! (100) of a sequence that the seed (1) decides, compares the values of all modes, and times them in turn. Where Gen takes more than
//! 1.1 times as long as the best mode, the expression is reduced as long as half of the excess remains. Expressions are
//! printed with the smallest form first, with `--explain` the plans of these and the times of their operators, measured and
//! predicted, and a summary at the end; standard error shows each as it is found. `--case SEED:NUMBER` measures one expression
//! alone, and prints it whether Gen loses or not. With `--predictions`, a table shows for every kind of operator how its times
//! compare with what the cost model expected, and standard error each of these. Values that differ come before all else, and make the exit status 1.
//!
//! Values may differ by rounding errors: `facts.rs` bounds those of every operator.

mod builder;
#[path = "../support/conditions.rs"]
mod conditions;
mod data;
mod draw;
mod expression;
mod facts;
#[path = "../support/host.rs"]
mod host;
mod measure;
#[path = "../support/operators.rs"]
mod operators;
#[path = "../support/planned_for.rs"]
mod planned_for;
mod predictions;
mod report;
#[path = "../paper/rounds.rs"]
mod rounds;
mod shrink;
mod values;
mod world;

use draw::draw;
use expression::Expression;
use fuseline::Error;
use measure::{Care, MODES, Measured, Runner};
use operators::Prediction;
use planned_for::PlannedFor;
use predictions::predictions_text;
use report::{Case, Loss, Summary, bugs_text, is_startup, loss_text, losses_text, script_text, times_text, verdict};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use world::{World, generator};

/// How long one expression is reduced.
const REDUCTION: Duration = Duration::from_secs(30);

struct Options {
    seed: u64,
    count: u64,
    /// The number of the only case that is wanted.
    case: Option<u64>,
    explain: bool,
    predictions: bool,
    planned_for: PlannedFor,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Options, String> {
        let mut options = Options {
            seed: 1,
            count: 100,
            case: None,
            explain: false,
            predictions: false,
            planned_for: PlannedFor::Typical,
        };
        let mut arguments = arguments.iter().map(String::as_str);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument {
                "--seed" => options.seed = number(value()?)?,
                "--count" => options.count = number(value()?)?,
                "--case" => {
                    let case = value()?;
                    let (seed, case) = case.split_once(':').ok_or(format!("{case} is no case, such as 1:17"))?;
                    (options.seed, options.case) = (number(seed)?, Some(number(case)?));
                }
                "--explain" => options.explain = true,
                "--predictions" => options.predictions = true,
                "--calibrate" => options.planned_for = PlannedFor::Calibrated,
                "--machine" => options.planned_for = PlannedFor::File(value()?.into()),
                // Cargo says that this is a benchmark.
                "--bench" => {}
                other => return Err(format!("there is no option {other}")),
            }
        }
        Ok(options)
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{text} is no number"))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let search = Options::parse(&arguments).and_then(|options| {
        let (machine, planned_for) = options.planned_for.machine()?;
        eprintln!("planning for {planned_for}");
        let runner = Runner::new(&machine).map_err(|error| error.to_string())?;
        Ok(Search { options, runner, bugs: Vec::new(), predictions: Vec::new() })
    });
    match search {
        Ok(mut search) => {
            search.run();
            if search.bugs.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(message) => {
            eprintln!("cliffs: {message}");
            ExitCode::from(2)
        }
    }
}

struct Search {
    options: Options,
    runner: Runner,
    bugs: Vec<String>,
    predictions: Vec<Prediction>,
}

impl Search {
    fn run(&mut self) {
        let Options { seed, count, case, .. } = self.options;
        let numbers = case.map_or(0..count, |number| number..number + 1);
        let (mut won, mut losses) = (Vec::new(), Vec::new());
        for number in numbers {
            match self.case(seed, number) {
                Some(case) if case.loses() => {
                    losses.push(self.loss(case));
                    losses.last().iter().for_each(|loss| eprintln!("{}", loss_text(loss)));
                }
                other => won.extend(other),
            }
        }
        print!("{}", bugs_text(&self.bugs));
        if case.is_some() {
            won.iter().for_each(|case| println!("{}# {}", script_text(&case.expression), times_text(&case.measured)));
        }
        print!("{}", losses_text(&mut losses));
        let cases: Vec<&Case> = won.iter().chain(losses.iter().map(|loss| &loss.case)).collect();
        println!("Seed {seed} on {}:", host::description());
        print!("{}", Summary { cases: &cases, bugs: self.bugs.len() }.text());
        if self.options.predictions {
            print!("{}", predictions_text(&self.predictions));
        }
    }

    /// Draws and measures an expression; `None` where that shows a bug.
    fn case(&mut self, seed: u64, number: u64) -> Option<Case> {
        let mut random = generator(seed, number);
        let expression = draw(&World::draw(&mut random), &mut random);
        let measured = self.measure(&format!("{seed}:{number}"), &expression)?;
        eprintln!("{seed}:{number}: {}", verdict(&measured));
        if self.options.predictions {
            self.predict(&format!("{seed}:{number}"), &expression);
        }
        Some(Case { seed, number, expression, measured })
    }

    /// Holds the times of an expression's operators against what was expected of them.
    fn predict(&mut self, name: &str, expression: &Expression) {
        match self.runner.predictions(expression) {
            Ok(predictions) => {
                predictions.iter().for_each(|(mode, prediction)| eprintln!("  {name} {}", prediction.text(mode)));
                self.predictions.extend(predictions.into_iter().map(|(_, prediction)| prediction));
            }
            Err(error) => self.bug(name, expression, &error.render(false)),
        }
    }

    /// Measures an expression in all modes.
    fn measure(&mut self, name: &str, expression: &Expression) -> Option<Measured> {
        let modes: Vec<&str> = MODES.iter().map(|(name, _)| *name).collect();
        let measured = self.runner.measure(expression, &modes, Care::Case);
        measured.map_err(|bug| self.bug(name, expression, &bug)).ok()
    }

    fn bug(&mut self, name: &str, expression: &Expression, bug: &str) {
        let bug = format!("--case {name}: {bug}\n{}", script_text(expression));
        eprintln!("BUG: {bug}");
        self.bugs.push(bug);
    }

    /// Reduces an expression for which Gen loses to the mode that it loses most to.
    fn loss(&mut self, case: Case) -> Loss {
        let name = format!("{}:{}, reduced", case.seed, case.number);
        let least = f64::midpoint(1.0, case.measured.ratio());
        let may_be_short = is_startup(&case.measured);
        let end = Instant::now() + REDUCTION;
        let best = [case.measured.best().mode];
        let expression = shrink::shrink(case.expression.clone(), &mut |candidate| {
            if Instant::now() > end {
                return false;
            }
            match self.runner.measure(candidate, &best, Care::Trial) {
                Ok(measured) => measured.ratio() >= least && (may_be_short || !is_startup(&measured)),
                Err(bug) => {
                    self.bug(&name, candidate, &bug);
                    false
                }
            }
        });
        // What seemed to lose may have met a slow moment.
        let confirmed = self.measure(&name, &expression).filter(|measured| measured.ratio() >= least);
        let (expression, measured) = match confirmed {
            Some(measured) => (expression, measured),
            None => (case.expression.clone(), case.measured.clone()),
        };
        let explanation = self.options.explain.then(|| self.explanation(&expression));
        Loss { case, expression, measured, explanation }
    }

    fn explanation(&mut self, expression: &Expression) -> String {
        self.runner.explanation(expression).unwrap_or_else(|error: Error| error.render(false))
    }
}
