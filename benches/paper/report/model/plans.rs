//! What the plans are worth that the cost model chooses: the algorithms with these, with those of the heuristics and with
//! hand-coded operators.

use super::Point;
use super::statistics::{Pair, quantile};
use crate::algorithms;
use crate::document::{Part, time};
use crate::rounds::{Contender, Times, in_turn_with};
use crate::workloads::Scale;
use fuseline::calibrate::Calibrator;
use fuseline::{BackendKind, CompileOptions, Machine, Mode, PreparedScript, Session, Statistics};
use std::time::Instant;

/// The plans that are compared; of the first one the operators are held against the cost model.
const CALIBRATED: &str = "Gen, calibrated";
const MODES: [(&str, Mode); 5] = [
    (CALIBRATED, Mode::Gen),
    ("Gen", Mode::Gen),
    ("Gen-FA", Mode::GenFuseAll),
    ("Gen-FNR", Mode::GenFuseNoRedundancy),
    ("Fused", Mode::Fused),
];

/// Short algorithms run in more rounds, until their first plan has taken so many seconds, or in so many rounds.
const LEAST_SECONDS: f64 = 0.2;
const MOST_ROUNDS: usize = 25;
/// In turn with so many rounds of calibration.
const CALIBRATIONS: usize = 2;

/// What was measured of an algorithm.
pub(super) struct Measured {
    name: String,
    times: Vec<Times>,
    /// Of the rounds with the plans for the calibrated machine.
    statistics: Vec<Statistics>,
    /// Of a run on the machine as it was calibrated in turn with these rounds.
    predicted: Statistics,
}

/// Runs the algorithms with the plans for a machine, and calibrates it anew in turn with them: on the data of the quick
/// form, whatever the form, since the section of the algorithms has them on more.
pub(super) fn measure(rounds: usize, calibrator: &mut Calibrator, machine: &Machine) -> Vec<Measured> {
    let sessions = MODES.map(|(name, mode)| {
        let machine = if name == CALIBRATED { machine.clone() } else { Machine::default() };
        session(calibrator, mode, machine)
    });
    let mut measured = Vec::new();
    calibrator.forget();
    algorithms::each(Scale::Quick, |name, prepare| {
        eprintln!("cost model, {name}");
        let scripts = sessions.each_ref().map(prepare);
        let (times, statistics) = alternate(scripts, rounds, calibrator);
        measured.push(Measured { name: name.to_owned(), times, statistics, predicted: Statistics::default() });
    });
    let session = session(calibrator, Mode::Gen, calibrator.finish().machine);
    let mut unpredicted = measured.iter_mut();
    algorithms::each(Scale::Quick, |_, prepare| {
        unpredicted.next().expect("the same algorithms").predicted = run(&mut prepare(&session));
    });
    measured
}

/// A session on the threads of the calibration.
fn session(calibrator: &Calibrator, mode: Mode, machine: Machine) -> Session {
    let backend = BackendKind::for_measurement();
    let options = CompileOptions { mode, machine, backend, ..CompileOptions::default() };
    calibrator.session().reconfigured(options).expect("a session")
}

/// Runs the scripts of [`MODES`] in turn, and keeps the statistics of the first.
fn alternate(
    mut scripts: [PreparedScript<'_>; MODES.len()],
    rounds: usize,
    calibrator: &mut Calibrator,
) -> (Vec<Times>, Vec<Statistics>) {
    scripts.iter_mut().for_each(|script| _ = run(script));
    let start = Instant::now();
    run(&mut scripts[0]);
    let enough = (LEAST_SECONDS / start.elapsed().as_secs_f64()).ceil() as usize;
    let mut statistics = Vec::new();
    let [calibrated, others @ ..] = &mut scripts;
    let others = MODES[1..].iter().zip(others);
    let mut contenders = vec![Contender::new(CALIBRATED, || statistics.push(run(calibrated)))];
    contenders.extend(others.map(|((name, _), script)| Contender::new(*name, || _ = run(script))));
    let pause = || calibrator.round().expect("this machine can be measured");
    let times = in_turn_with(&mut contenders, enough.clamp(rounds, MOST_ROUNDS), CALIBRATIONS, pause);
    drop(contenders);
    (times, statistics)
}

fn run(script: &mut PreparedScript<'_>) -> Statistics {
    script.execute(&mut std::io::sink()).unwrap_or_else(|error| panic!("{error}")).statistics
}

impl Measured {
    /// The operators, those of one name together, as they ran in the rounds in which the machine did little else. Those of
    /// which the plan for the machine as it was meanwhile has other ones are left out.
    pub(super) fn points(&self) -> impl Iterator<Item = Point> {
        let priced = self.predicted.heavy_hitters.iter().filter(|(operator, hitter)| {
            let measured = self.statistics[0].heavy_hitters.get(*operator);
            hitter.predicted > 0 && measured.is_some_and(|measured| measured.predicted == hitter.predicted)
        });
        let seconds = |operator: &str| {
            let of_round = |statistics: &Statistics| statistics.heavy_hitters[operator].seconds_of_predicted;
            quantile(self.statistics.iter().map(of_round), 0.25)
        };
        priced.map(move |(operator, hitter)| Point {
            is_kept_apart: false,
            class: "algorithms".to_owned(),
            operator: operator.clone(),
            text: format!("{} times", hitter.predicted),
            on: self.name.clone(),
            times: Pair {
                predicted: hitter.predicted_seconds / hitter.predicted as f64,
                measured: seconds(operator) / hitter.predicted as f64,
            },
        })
    }
}

pub(super) fn table(measured: &[Measured]) -> Part {
    let header: Vec<&str> = ["algorithm"].into_iter().chain(MODES.map(|(name, _)| name)).chain(["slowdown"]).collect();
    let rows = measured.iter().map(|row| {
        let [own, others @ ..] = &row.times[..] else { return Vec::new() };
        let slowdown = others.iter().map(|other| 1.0 / own.speedup_over(other)).fold(0.0, f64::max);
        let times = row.times.iter().map(|times| time(times.median()));
        [row.name.clone()].into_iter().chain(times).chain([format!("{slowdown:.2}")]).collect()
    });
    Part::table(&header, rows.collect())
}
