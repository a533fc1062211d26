//! One expression: what all who compute it give, compared, and their times in turn.

use crate::conditions;
use crate::data::Data;
use crate::loops::{self, Loop};
use crate::operators;
use crate::rounds::{Contender, Times, in_turn};
use crate::scipy::SciPy;
use crate::suite::{Case, Collection};
use crate::values::{are_near, block};
use fuseline::ir::DataType;
use fuseline::{
    BackendKind, CompileOptions, Error, Machine, MatrixBlock, Mode, PreparedScript, ScriptInterface, Session,
};
use std::hint::black_box;

/// All modes, the one that is held against the others first.
const MODES: &[(&str, Mode)] = &[
    ("gen", Mode::Gen),
    ("gen-fa", Mode::GenFuseAll),
    ("gen-fnr", Mode::GenFuseNoRedundancy),
    ("fused", Mode::Fused),
    ("base", Mode::Base),
];
const BY_HAND: &str = "by hand";
const SCIPY: &str = "SciPy";

/// What takes more than this many times as long as the fastest mode runs once.
const HOPELESS: f64 = 3.0;

/// A session of each mode.
pub(crate) fn sessions(machine: &Machine) -> Result<Vec<Session>, Error> {
    let backend = BackendKind::for_measurement();
    let options = CompileOptions { machine: machine.clone(), backend, ..conditions::options() };
    let first = Session::new(options.clone())?;
    let of = |&(_, mode): &(&str, Mode)| first.reconfigured(CompileOptions { mode, ..options.clone() });
    MODES.iter().map(of).collect()
}

/// All who compute expressions, in the order of the table.
pub(crate) fn names() -> Vec<&'static str> {
    MODES.iter().map(|(name, _)| *name).chain([BY_HAND, SCIPY]).collect()
}

/// What an expression takes.
pub(crate) struct Measured {
    /// By the names of all who compute expressions; not all have each.
    pub(crate) seconds: Vec<Option<f64>>,
    /// How many times as long as the best other mode Gen takes, the median of the ratios of rounds.
    pub(crate) ratio: f64,
    /// How many times as long as the loop written by hand it takes.
    pub(crate) over_hand: Option<f64>,
    /// How many times as long as `SciPy` it takes.
    pub(crate) over_scipy: Option<f64>,
    /// The median distance of Gen's times from their median, as a share of it.
    pub(crate) spread: f64,
    pub(crate) are_equal: bool,
    pub(crate) is_kept_apart: bool,
}

impl Measured {
    /// How many times as long basic operators take as Gen.
    pub(crate) fn base_over_gen(&self) -> f64 {
        let seconds = |mode: usize| self.seconds[mode].unwrap_or(f64::NAN);
        seconds(MODES.len() - 1) / seconds(0)
    }
}

/// One who computes an expression.
struct Side<'a> {
    contender: Contender<'a>,
    value: Option<MatrixBlock>,
    /// What the shorter one of the second and the third run takes: what interrupts a run is not to exclude a mode from the
    /// rounds.
    warm: f64,
}

impl<'a> Side<'a> {
    /// One who ran once.
    fn new(mut contender: Contender<'a>, value: Option<MatrixBlock>) -> Self {
        let warm = (contender.seconds)().min((contender.seconds)());
        Side { contender, value, warm }
    }

    /// What runs in the rounds: what takes longer than the bound does not, Gen and loops written by hand always do.
    fn in_rounds(self, bound: f64) -> Contender<'a> {
        let Side { contender, warm, .. } = self;
        let always_runs = [MODES[0].0, BY_HAND].contains(&contender.name.as_str());
        if always_runs || warm <= bound {
            return contender;
        }
        Contender { seconds: Box::new(move || warm), ..contender }
    }
}

pub(crate) fn measure(
    sessions: &[Session],
    collection: &Collection,
    case: &Case,
    data: &Data,
    scipy: Option<&mut SciPy>,
    rounds: usize,
) -> Result<Measured, String> {
    let mut sides = Vec::new();
    for (session, &(name, _)) in sessions.iter().zip(MODES) {
        let script = prepare(session, collection, case, data).map_err(|error| error.render(false))?;
        sides.push(of_mode(name, script).map_err(|error| error.render(false))?);
    }
    let dims = sides[0].value.as_ref().map_or((0, 0), MatrixBlock::dims);
    sides.extend(loops::of(case.name).map(|run| of_loop(run, data)));
    if let Some(scipy) = scipy.filter(|scipy| scipy.has(case.name)) {
        sides.push(of_scipy(case.name, scipy, dims)?);
    }
    let are_equal = sides.iter().all(|side| match (&sides[0].value, &side.value) {
        (Some(one), Some(other)) => are_near(one, other),
        _ => false,
    });
    let times = time(sides, rounds);
    let find = |name: &str| times.iter().find(|times| times.name == name);
    let over = |name: &str| find(name).map(|other| other.speedup_over(&times[0]));
    Ok(Measured {
        seconds: names().into_iter().map(|name| find(name).map(Times::median)).collect(),
        ratio: MODES[1..].iter().filter_map(|(name, _)| over(name)).fold(0.0, f64::max),
        over_hand: over(BY_HAND),
        over_scipy: over(SCIPY),
        spread: times[0].spread(),
        are_equal,
        is_kept_apart: case.is_kept_apart(),
    })
}

/// The plans of all modes, and what their operators took and were expected to take.
pub(crate) fn explanation(
    sessions: &[Session],
    collection: &Collection,
    case: &Case,
    data: &Data,
) -> Result<String, Error> {
    let mut text = String::new();
    for (session, &(name, _)) in sessions.iter().zip(MODES) {
        let mut script = prepare(session, collection, case, data)?;
        text.push_str(&operators::explanation(name, &mut script, true)?);
    }
    Ok(text)
}

fn prepare<'s>(
    session: &'s Session,
    collection: &Collection,
    case: &Case,
    data: &Data,
) -> Result<PreparedScript<'s>, Error> {
    let inputs: Vec<_> = collection.inputs.iter().map(|&name| (name, DataType::MATRIX)).collect();
    let interface = ScriptInterface { inputs: &inputs, outputs: &["R"], ..ScriptInterface::default() };
    let mut script = session.prepare_script("<expression>", case.script, &interface)?;
    for (name, block) in data.blocks() {
        script.bind(name, block.clone())?;
    }
    Ok(script)
}

fn of_mode<'a>(name: &'static str, mut script: PreparedScript<'a>) -> Result<Side<'a>, Error> {
    let outcome = script.execute(&mut std::io::sink())?;
    let value = outcome.variables.get("R").and_then(block);
    let run = move || _ = script.execute(&mut std::io::sink()).expect("it ran before");
    Ok(Side::new(Contender::new(name, run), value))
}

fn of_loop(run: Loop, data: &Data) -> Side<'_> {
    let value = run(data);
    Side::new(Contender::new(BY_HAND, move || _ = black_box(run(data))), Some(value))
}

/// `SciPy` takes the time by itself, so that asking for it counts for nothing.
fn of_scipy<'a>(case: &'static str, scipy: &'a mut SciPy, dims: (usize, usize)) -> Result<Side<'a>, String> {
    let value = scipy.value(case, dims)?;
    let seconds = move || scipy.seconds(case).unwrap_or_else(|error| panic!("{error}"));
    Ok(Side::new(Contender { name: SCIPY.to_owned(), seconds: Box::new(seconds) }, Some(value)))
}

/// The times of all, Gen's first.
fn time(sides: Vec<Side<'_>>, rounds: usize) -> Vec<Times> {
    let modes = sides.iter().take(MODES.len());
    let bound = HOPELESS * modes.map(|side| side.warm).fold(f64::INFINITY, f64::min);
    let mut contenders: Vec<_> = sides.into_iter().map(|side| side.in_rounds(bound)).collect();
    in_turn(&mut contenders, rounds)
}
