//! Expressions in every mode: first their values, then times in turn.

use crate::conditions::{self, assert_equal_conditions};
use crate::data::Data;
use crate::expression::Expression;
use crate::operators::{self, Prediction, operators_of};
use crate::rounds::{Contender, Times, in_turn};
use crate::values::difference;
use fuseline::ir::DataType;
use fuseline::{
    BackendKind, CompileOptions, Error, Machine, Mode, PreparedScript, ScriptInterface, Session, Variables,
};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) const GEN: &str = "gen";
pub(crate) const BASE: &str = "base";

/// All modes, the one that is held against the others first.
pub(crate) const MODES: &[(&str, Mode)] = &[
    (GEN, Mode::Gen),
    ("gen-fa", Mode::GenFuseAll),
    ("gen-fnr", Mode::GenFuseNoRedundancy),
    ("fused", Mode::Fused),
    (BASE, Mode::Base),
];

/// How long a run may take, its compilation included. One that takes longer is interrupted.
const LIMIT: Duration = Duration::from_secs(3);
/// Modes that take more than this many times as long as the fastest do not take part in the rounds, except Gen where it
/// takes no longer than [`LONG_SECONDS`].
const HOPELESS: f64 = 3.0;
const LONG_SECONDS: f64 = 0.5;
/// Gen loses where it takes longer than another mode by this ratio.
pub(crate) const LOSS: f64 = 1.1;
const ROUNDS: usize = 3;
/// More rounds decide where the first ones say that Gen takes longer by this ratio.
const DOUBT: f64 = 1.05;
/// The ratio from which on the first rounds are enough to reduce an expression.
const CLEAR: f64 = 2.0;
const DECIDING_ROUNDS: usize = 9;
/// Rounds that decide where runs are shorter than this.
const SHORT_SECONDS: f64 = 0.002;
const ROUNDS_OF_SHORT: usize = 31;
/// Runs whose operators are held against what was expected of them.
const ROUNDS_OF_PREDICTIONS: u32 = 5;

/// How sure times are to be.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Care {
    /// More rounds where Gen seems to lose by little: for expressions that may be reduced further.
    Trial,
    /// More rounds where Gen seems to lose.
    Case,
}

/// What a mode takes.
#[derive(Clone, Debug)]
pub(crate) struct ModeTime {
    pub(crate) mode: &'static str,
    pub(crate) seconds: f64,
    /// Whether the run was interrupted, so that it would have taken longer than that.
    pub(crate) is_cut: bool,
    /// How many times as long Gen takes.
    pub(crate) ratio: f64,
}

/// The times of all modes.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) modes: Vec<ModeTime>,
    /// The median distance of Gen's times from their median, as a share of it; `None` where it ran once.
    pub(crate) spread: Option<f64>,
}

impl Measured {
    pub(crate) fn of(&self, mode: &str) -> Option<&ModeTime> {
        self.modes.iter().find(|time| time.mode == mode)
    }

    /// The mode that Gen compares worst with.
    pub(crate) fn best(&self) -> &ModeTime {
        let others = self.modes.iter().filter(|time| time.mode != GEN);
        others.max_by(|a, b| a.ratio.total_cmp(&b.ratio)).expect("Gen is compared with something")
    }

    /// How many times as long as the best other mode Gen takes.
    pub(crate) fn ratio(&self) -> f64 {
        self.best().ratio
    }

    /// By how much Gen takes longer than the best other mode.
    pub(crate) fn lost_seconds(&self) -> f64 {
        self.of(GEN).expect("Gen always runs").seconds - self.best().seconds
    }
}

/// A mode with its script, which ran.
struct Run<'s> {
    mode: &'static str,
    script: PreparedScript<'s>,
    seconds: f64,
    is_cut: bool,
}

/// Sessions of all modes, and the data.
pub(crate) struct Runner {
    sessions: Vec<(&'static str, Session)>,
    data: Data,
}

impl Runner {
    pub(crate) fn new(machine: &Machine) -> Result<Runner, Error> {
        let backend = BackendKind::for_measurement();
        let options = CompileOptions { machine: machine.clone(), backend, ..conditions::options() };
        let first = Session::new(options.clone())?;
        let session = |&(name, mode): &(&'static str, Mode)| {
            Ok((name, first.reconfigured(CompileOptions { mode, ..options.clone() })?))
        };
        let sessions: Vec<(&str, Session)> = MODES.iter().map(session).collect::<Result<_, Error>>()?;
        assert_equal_conditions(sessions.iter().map(|(_, session)| session), std::iter::empty());
        Ok(Runner { sessions, data: Data::within(&first)? })
    }

    /// Runs an expression in Gen and some other modes.
    ///
    /// # Errors
    /// A mode fails, or its values are unlike those of the modes before it.
    pub(crate) fn measure(&mut self, expression: &Expression, others: &[&str], care: Care) -> Result<Measured, String> {
        let mut runs: Vec<Run<'_>> = Vec::new();
        let mut reference: Option<(&str, Variables)> = None;
        for (mode, session) in self.sessions.iter().filter(|(mode, _)| *mode == GEN || others.contains(mode)) {
            let failed = |error: Error| format!("{mode} fails: {}", error.render(false));
            let mut script = prepared(session, &mut self.data, expression).map_err(failed)?;
            let (first_seconds, values) = first_run(session, &mut script).map_err(failed)?;
            let is_cut = values.is_none();
            // Gen runs again in any case: the first to run finds its inputs and all memory cold.
            let is_known = is_cut || first_seconds > LONG_SECONDS && *mode != GEN;
            let seconds = if is_known { first_seconds } else { warm_run(&mut script) };
            runs.push(Run { mode, script, seconds, is_cut });
            match (&reference, values) {
                (Some((other, expected)), Some(values)) => {
                    if let Some(difference) = difference(expression, expected, &values) {
                        return Err(format!("values of {other} and {mode} differ: {difference}"));
                    }
                }
                (None, Some(values)) => reference = Some((mode, values)),
                (_, None) => {}
            }
        }
        drop(reference);
        let measured = measured(&mut runs, ROUNDS);
        let is_clear = care == Care::Trial && measured.ratio() >= CLEAR;
        if is_clear || measured.ratio() <= DOUBT {
            return Ok(measured);
        }
        let is_short = measured.best().seconds < SHORT_SECONDS;
        Ok(self::measured(&mut runs, if is_short { ROUNDS_OF_SHORT } else { DECIDING_ROUNDS }))
    }

    /// What the operators of Gen and Base, which between them have every kind, took and were expected to take.
    pub(crate) fn predictions(&mut self, expression: &Expression) -> Result<Vec<(&'static str, Prediction)>, Error> {
        let mut predictions = Vec::new();
        for (mode, session) in self.sessions.iter().filter(|(mode, _)| [GEN, BASE].contains(mode)) {
            let mut script = prepared(session, &mut self.data, expression)?;
            script.execute(&mut std::io::sink())?;
            let operators = operators_of(&mut script, ROUNDS_OF_PREDICTIONS)?;
            predictions.extend(operators.into_iter().map(|operator| (*mode, operator)));
        }
        Ok(predictions)
    }

    /// The plan of Gen, and what the operators of every mode took and were expected to take.
    pub(crate) fn explanation(&mut self, expression: &Expression) -> Result<String, Error> {
        let mut text = String::new();
        for (mode, session) in &self.sessions {
            let mut script = prepared(session, &mut self.data, expression)?;
            text.push_str(&operators::explanation(mode, &mut script, *mode == GEN)?);
        }
        Ok(text)
    }
}

/// The script of an expression with its inputs.
fn prepared<'s>(session: &'s Session, data: &mut Data, expression: &Expression) -> Result<PreparedScript<'s>, Error> {
    let inputs: Vec<_> = expression.inputs().map(|input| (input.name, DataType::MATRIX)).collect();
    let names = expression.result_names();
    let outputs: Vec<&str> = names.iter().map(String::as_str).collect();
    let interface = ScriptInterface { inputs: &inputs, outputs: &outputs, ..ScriptInterface::default() };
    let mut script = session.prepare_script("<expression>", &expression.text(), &interface)?;
    for input in expression.inputs() {
        script.bind(input.name, data.block(input)?)?;
    }
    Ok(script)
}

/// The seconds of a run that compiles, and its results where it ends within [`LIMIT`].
fn first_run(session: &Session, script: &mut PreparedScript<'_>) -> Result<(f64, Option<Variables>), Error> {
    let (end, ended) = channel::<()>();
    let interrupter = session.interrupter();
    let watch = thread::spawn(move || {
        if ended.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
            interrupter.interrupt();
        }
    });
    let start = Instant::now();
    let outcome = script.execute(&mut std::io::sink());
    let seconds = start.elapsed().as_secs_f64();
    drop(end);
    watch.join().expect("the watch does not panic");
    // A request that came after the end is not for the next run.
    session.engine().interruption().take();
    match outcome {
        Ok(outcome) => Ok((seconds, Some(outcome.variables))),
        Err(Error::Interrupted) => Ok((seconds, None)),
        Err(error) => Err(error),
    }
}

/// The seconds of a run that compiles nothing, the shorter one of two: what interrupts a run is not to exclude a mode from
/// the rounds.
fn warm_run(script: &mut PreparedScript<'_>) -> f64 {
    let mut seconds = || {
        let start = Instant::now();
        run_again(script);
        start.elapsed().as_secs_f64()
    };
    seconds().min(seconds())
}

fn run_again(script: &mut PreparedScript<'_>) {
    script.execute(&mut std::io::sink()).expect("it ran before");
}

/// Times in so many rounds what is not much slower than the fastest; Gen always, if it was not interrupted.
fn measured(runs: &mut [Run<'_>], rounds: usize) -> Measured {
    let finished = runs.iter().filter(|run| !run.is_cut).map(|run| run.seconds);
    let bound = HOPELESS * finished.fold(f64::INFINITY, f64::min);
    let gen_run = |run: &Run<'_>| run.mode == GEN;
    let takes_part =
        |run: &&mut Run<'_>| !run.is_cut && (run.seconds <= bound || gen_run(run) && run.seconds <= LONG_SECONDS);
    let contender = |run| {
        let Run { mode, script, .. }: &mut Run<'_> = run;
        Contender::new(*mode, move || run_again(script))
    };
    let mut contenders: Vec<Contender<'_>> = runs.iter_mut().filter(takes_part).map(contender).collect();
    let times = in_turn(&mut contenders, rounds);
    drop(contenders);
    let find = |mode: &str| times.iter().find(|times| times.name == mode);
    let seconds = |run: &Run<'_>| find(run.mode).map_or(run.seconds, Times::median);
    let gen_seconds = runs.iter().find(|run| gen_run(run)).map_or(f64::INFINITY, seconds);
    let time = |run: &Run<'_>| {
        let ratio = match (find(run.mode), find(GEN)) {
            (Some(times), Some(gen_times)) => times.speedup_over(gen_times),
            _ => gen_seconds / seconds(run),
        };
        ModeTime { mode: run.mode, seconds: seconds(run), is_cut: run.is_cut, ratio }
    };
    Measured { modes: runs.iter().map(time).collect(), spread: find(GEN).map(Times::spread) }
}
