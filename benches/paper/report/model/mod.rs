//! The cost model against measurement: predicted and measured times of operators, on the machine as it is calibrated in
//! turn with them.

mod operators;
mod orders;
mod plans;
mod scatter;
mod statistics;

use crate::document::{Part, time};
use crate::workload::{Data, prepared};
use crate::workloads::Scale;
use fuseline::calibrate::Calibrator;
use fuseline::{BackendKind, CompileOptions, Machine, Mode, PreparedScript, Session, Statistics};
use fuseline_passes::program::ProgramOptions;
use operators::{Family, families, kept_apart};
use statistics::{Pair, quantile, rank_correlation};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Instant;

/// The operators of a family take turns within a round until this many seconds have passed, or so many times.
const LEAST_SECONDS: f64 = 20e-3;
const MOST_TURNS: usize = 20;
/// Turns before those that are timed.
const WARMING: usize = 2;
/// Before every so many operators another one runs over some megabytes: in programs the small ones find hardly anything of
/// what they need in the nearest caches, and take several times as long as again and again.
const FEW: usize = 4;
const OTHER: &str = "R = sum(rowMaxs(abs(Z)))";
const OTHERS_DATA: &str = "Z = rand(rows=2000, cols=500, seed=2)";
/// How many operators the table of the worst predictions lists.
const WORST: usize = 25;

/// The operators of one script, which runs in every round.
struct Script<'a> {
    family: &'a Family,
    mode: Mode,
    text: &'static str,
    data: &'a Data,
    prepared: PreparedScript<'a>,
    /// By the name of the operator.
    measured: BTreeMap<String, Rounds>,
}

/// The seconds of an operator by round and turn.
type Rounds = Vec<Vec<f64>>;

/// An operator with both times.
struct Point {
    /// Whether nothing was fitted to it.
    is_kept_apart: bool,
    class: String,
    operator: String,
    text: String,
    on: String,
    times: Pair,
}

/// What was measured of operators, of the plans of expressions, and of those of the algorithms.
#[derive(Default)]
pub(super) struct Measured {
    points: Vec<Point>,
    orders: Vec<orders::Measured>,
    plans: Vec<plans::Measured>,
}

pub(super) fn measure(scale: Scale, rounds: usize) -> Measured {
    let mut calibrator = Calibrator::new().expect("this machine can be measured");
    let (mut points, machine) = measure_operators(scale, rounds, &mut calibrator);
    let orders = orders::measure(rounds.min(5), &calibrator, &machine);
    let plans = plans::measure(rounds.min(5), &mut calibrator, &machine);
    points.extend(plans.iter().flat_map(plans::Measured::points));
    write_points(&points).expect("the figures can be written");
    Measured { points, orders, plans }
}

pub(super) fn section(measured: &Measured) -> Vec<Part> {
    let Measured { points, orders, plans } = measured;
    vec![
        Part::heading("The cost model against measurement"),
        Part::text(
            "What the cost model predicts of operators, planning for this machine as it is calibrated in turn with them, \
             beside what they take, compiled beforehand: expressions of every template over shapes, densities and ranks, \
             fused as far as possible, basic operators, and the operators of the algorithms, those of one name together, \
             in turn with a calibration of their own. As in programs, operators run after others: those over the same \
             matrices in turn, forwards and backwards, and after every few of them one over some megabytes, so that code \
             and small matrices are mostly not in the nearest caches. The median of the turns counts, and of the rounds, \
             as in calibration, the lower quartile. *ratio* is predicted over measured time; the error is its distance \
             from 1.",
        ),
        fit(points.iter().filter(|point| !point.is_kept_apart)),
        Part::text("Operators that nothing was fitted to, over other shapes and with other expressions:"),
        fit(points.iter().filter(|point| point.is_kept_apart)),
        scatter::plot(points),
        Part::text("The operators whose predictions are furthest off, in either direction:"),
        worst(points),
        Part::heading("Plans of one expression"),
        Part::text(
            "Whether prices order the plans of an expression: those of the modes and three valid ones drawn at random, all \
             run in turn, planned for this machine as it was calibrated just now. A *pair* is two plans of an expression whose \
             times differ by more than 10 %; it is ordered right if the one that takes less time is the cheaper one.",
        ),
        orders::table(orders),
        Part::heading("Plans by the cost model"),
        Part::text(
            "The algorithms with the plans that the cost model chooses for this machine as it was calibrated just now, and \
             for the default machine, the heuristics' plans, and hand-coded operators, in turn: medians. *slowdown* is the \
             largest ratio of the time of *Gen, calibrated* to that of another one.",
        ),
        plans::table(plans),
    ]
}

/// Writes what the tables sum up, a line per operator, into the target folder.
fn write_points(points: &[Point]) -> std::io::Result<()> {
    let mut lines = "apart\tclass\toperator\texpression\ton\tpredicted seconds\tmeasured seconds\n".to_owned();
    for Point { is_kept_apart, class, operator, text, on, times } in points {
        let Pair { predicted, measured } = times;
        let text = text.replace('\n', "; ");
        writeln!(lines, "{is_kept_apart}\t{class}\t{operator}\t{text}\t{on}\t{predicted:e}\t{measured:e}")
            .expect("a string grows");
    }
    std::fs::write(concat!(env!("CARGO_TARGET_TMPDIR"), "/model.tsv"), lines)
}

/// Measures all operators and the machine in turn, then asks for the prices on that machine.
fn measure_operators(scale: Scale, rounds: usize, calibrator: &mut Calibrator) -> (Vec<Point>, Machine) {
    let fitted = families(scale);
    let fitted_count = fitted.len();
    let families: Vec<Family> = fitted.into_iter().chain(kept_apart()).collect();
    let data: Vec<Data> = families.iter().map(|family| Data::generate(&family.data)).collect();
    let sessions = Sessions::on(calibrator.session(), &Machine::default());
    let mut scripts = Vec::new();
    for (family, data) in families.iter().zip(&data) {
        scripts
            .push(family.expressions().map(|(mode, text)| Script::new(&sessions, family, data, mode, text)).collect());
    }
    let others_data = Data::generate(OTHERS_DATA);
    let mut other = prepared(sessions.of(Mode::Base), "others", OTHER, &others_data);
    for round in 0..2 * rounds {
        eprintln!("cost model, round {round}");
        calibrator.round().expect("this machine can be measured");
        scripts.iter_mut().for_each(|family: &mut Vec<Script<'_>>| in_turn(family, &mut other, round));
    }
    let machine = calibrator.finish().machine;
    let sessions = Sessions::on(calibrator.session(), &machine);
    let numbered = scripts.iter().enumerate().flat_map(|(number, family)| family.iter().map(move |it| (number, it)));
    let points = numbered.flat_map(|(number, script)| script.points(&sessions, number >= fitted_count));
    (points.collect(), machine)
}

/// Sessions on the threads of another one that plan for the same machine, one that fuses everything and one that fuses
/// nothing.
struct Sessions([Session; 2]);

impl Sessions {
    fn on(threads: &Session, machine: &Machine) -> Sessions {
        let options = |mode| options(mode, machine.clone());
        Sessions([Mode::GenFuseAll, Mode::Base].map(|mode| threads.reconfigured(options(mode)).expect("a session")))
    }

    fn of(&self, mode: Mode) -> &Session {
        self.0.iter().find(|session| session.options().mode == mode).expect("both modes are there")
    }
}

/// What is written is what runs.
fn options(mode: Mode, machine: Machine) -> CompileOptions {
    CompileOptions {
        mode,
        machine,
        backend: BackendKind::for_measurement(),
        rewrites: false,
        program: ProgramOptions::NONE,
        ..CompileOptions::default()
    }
}

fn run(script: &mut PreparedScript<'_>) -> Statistics {
    script.execute(&mut std::io::sink()).unwrap_or_else(|error| panic!("{error}")).statistics
}

impl<'a> Script<'a> {
    /// Compiles a script and runs it once.
    fn new(sessions: &'a Sessions, family: &'a Family, data: &'a Data, mode: Mode, text: &'static str) -> Script<'a> {
        let mut prepared = prepared(sessions.of(mode), &family.on, text, data);
        run(&mut prepared);
        Script { family, mode, text, data, prepared, measured: BTreeMap::new() }
    }

    /// Runs the script in a turn of a round and keeps what its operators took.
    fn turn(&mut self, round: usize) {
        for (name, hitter) in run(&mut self.prepared).heavy_hitters {
            let rounds = self.measured.entry(name).or_default();
            rounds.resize_with(round + 1, Vec::new);
            rounds[round].push(hitter.seconds / hitter.count as f64);
        }
    }
}

/// Runs the scripts of a family one after the other until they have taken long enough, each in other turns after another
/// operator; the first turns bring the matrices back to the caches.
fn in_turn(scripts: &mut [Script<'_>], other: &mut PreparedScript<'_>, round: usize) {
    for _ in 0..WARMING {
        scripts.iter_mut().for_each(|script| _ = run(&mut script.prepared));
    }
    let start = Instant::now();
    for turn in 0..MOST_TURNS {
        let mut number = turn;
        let mut visit = |script: &mut Script<'_>| {
            if number.is_multiple_of(FEW) {
                run(other);
            }
            number += 1;
            script.turn(round);
        };
        // Every second time backwards, so that none always runs after the same one.
        if turn % 2 == 0 {
            scripts.iter_mut().for_each(&mut visit);
        } else {
            scripts.iter_mut().rev().for_each(&mut visit);
        }
        if start.elapsed().as_secs_f64() > LEAST_SECONDS {
            break;
        }
    }
}

impl Script<'_> {
    /// The priced operators, with what the cost model of these sessions' machine predicts.
    fn points(&self, sessions: &Sessions, is_kept_apart: bool) -> Vec<Point> {
        let Script { family, mode, text, data, .. } = self;
        let statistics = run(&mut prepared(sessions.of(*mode), &family.on, text, data));
        let priced = statistics.heavy_hitters.iter().filter(|(_, hitter)| hitter.predicted_seconds > 0.0);
        priced
            .map(|(operator, hitter)| Point {
                is_kept_apart,
                class: class(operator, &family.on),
                operator: operator.clone(),
                text: (*text).to_owned(),
                on: family.on.clone(),
                times: Pair {
                    predicted: hitter.predicted_seconds / hitter.predicted as f64,
                    measured: undisturbed(&self.measured[operator]),
                },
            })
            .collect()
    }
}

/// The seconds of an operator in a turn, in the rounds in which the machine did little else: what calibration counts, too.
fn undisturbed(rounds: &Rounds) -> f64 {
    quantile(rounds.iter().map(|turns| quantile(turns.iter().copied(), 0.5)), 0.25)
}

/// The template of a fused operator with the format of its main input, or that it is a basic one.
fn class(operator: &str, on: &str) -> String {
    let format = if on.contains("sparse") { "sparse" } else { "dense" };
    match operator.strip_prefix("spoof(").and_then(|name| name.strip_suffix(')')) {
        Some("outer") => "outer".to_owned(),
        Some(template) => format!("{template}, {format}"),
        None => format!("basic, {format}"),
    }
}

/// Errors by class, and of all.
fn fit<'a>(points: impl Iterator<Item = &'a Point>) -> Part {
    let (mut classes, mut all): (BTreeMap<String, Vec<Pair>>, Vec<Pair>) = Default::default();
    for point in points {
        all.push(point.times);
        classes.entry(point.class.clone()).or_default().push(point.times);
    }
    let rows = classes.into_iter().chain([("all".to_owned(), all)]).filter(|(_, pairs)| !pairs.is_empty());
    let rows = rows.map(|(class, pairs)| {
        let ratio = |share: f64| format!("{:.2}", quantile(pairs.iter().map(|pair| pair.ratio()), share));
        vec![
            class,
            pairs.len().to_string(),
            format!("{:.0} %", 100.0 * quantile(pairs.iter().map(|pair| pair.error()), 0.5)),
            ratio(0.25),
            ratio(0.5),
            ratio(0.75),
            format!("{:.3}", rank_correlation(&pairs)),
        ]
    });
    let header =
        ["class", "operators", "median error", "ratio, lower quartile", "median", "upper quartile", "rank correlation"];
    Part::table(&header, rows.collect())
}

fn worst(points: &[Point]) -> Part {
    let distance = |point: &&Point| point.times.ratio().ln().abs();
    let mut points: Vec<&Point> = points.iter().collect();
    points.sort_by(|one, other| distance(other).total_cmp(&distance(one)));
    let rows = points.into_iter().take(WORST).map(|point| {
        vec![
            point.operator.clone(),
            point.text.replace('\n', "; "),
            point.on.clone(),
            time(point.times.predicted),
            time(point.times.measured),
            format!("{:.2}", point.times.ratio()),
        ]
    });
    Part::table(&["operator", "expression", "on", "predicted", "measured", "ratio"], rows.collect())
}
