//! What the plans are worth that the cost model chooses: the algorithms with these, with those of the heuristics and with
//! hand-coded operators.

use super::Point;
use super::statistics::{Pair, quantile};
use crate::algorithms;
use crate::document::{Part, time};
use crate::rounds::{Contender, Times, in_turn};
use crate::workloads::Scale;
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

/// What was measured of an algorithm.
pub(super) struct Measured {
    name: String,
    times: Vec<Times>,
    /// Of the rounds with the plans for the calibrated machine.
    statistics: Vec<Statistics>,
}

/// On the threads of another session, and the data of the quick form, whatever the form: the section of the algorithms has
/// them on more.
pub(super) fn measure(rounds: usize, threads: &Session, machine: &Machine) -> Vec<Measured> {
    let session = |(name, mode): (&str, Mode)| {
        let defaults = CompileOptions { mode, backend: BackendKind::for_measurement(), ..CompileOptions::default() };
        let machine = if name == CALIBRATED { machine.clone() } else { defaults.machine.clone() };
        threads.reconfigured(CompileOptions { machine, ..defaults }).expect("a session")
    };
    let sessions = MODES.map(session);
    let mut measured = Vec::new();
    algorithms::each(Scale::Quick, |name, prepare| {
        eprintln!("cost model, {name}");
        let mut scripts = sessions.each_ref().map(prepare);
        scripts.iter_mut().for_each(|script| _ = run(script));
        let start = Instant::now();
        run(&mut scripts[0]);
        let enough = (LEAST_SECONDS / start.elapsed().as_secs_f64()).ceil() as usize;
        let rounds = enough.clamp(rounds, MOST_ROUNDS);
        let mut statistics = Vec::new();
        let [calibrated, others @ ..] = &mut scripts;
        let others = MODES[1..].iter().zip(others);
        let mut contenders = vec![Contender::new(CALIBRATED, || statistics.push(run(calibrated)))];
        contenders.extend(others.map(|((name, _), script)| Contender::new(*name, || _ = run(script))));
        let times = in_turn(&mut contenders, rounds);
        drop(contenders);
        measured.push(Measured { name: name.to_owned(), times, statistics });
    });
    measured
}

fn run(script: &mut PreparedScript<'_>) -> Statistics {
    script.execute(&mut std::io::sink()).unwrap_or_else(|error| panic!("{error}")).statistics
}

impl Measured {
    /// The operators, those of one name together, as they ran in the rounds in which the machine did little else.
    pub(super) fn points(&self) -> impl Iterator<Item = Point> {
        let priced = self.statistics[0].heavy_hitters.iter().filter(|(_, hitter)| hitter.predicted_seconds > 0.0);
        let seconds = |operator: &str| {
            let of_round = |statistics: &Statistics| statistics.heavy_hitters[operator].seconds_of_predicted;
            quantile(self.statistics.iter().map(of_round), 0.25)
        };
        priced.map(move |(operator, hitter)| Point {
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
