//! Algorithms that turn from memory to computing as classes or centroids become more (figure "hybrid algorithms").

use super::findings::Findings;
use super::setting::Setting;
use super::trend::{knee, over_trend};
use crate::algorithms::data::Source;
use crate::algorithms::workloads::{Algorithm, KMEANS, MLOGREG, Workload, labelled};
use crate::algorithms::{InModes, in_modes, needs};
use crate::document::{Part, time};
use crate::machine::{self, MATRIX_PRODUCT, Rate};
use crate::rounds::Times;
use crate::workload::{BASE, FUSED, GEN, READ, Way};
use fuseline::Mode;

const COLS: usize = 100;
const NUMBERS: [usize; 5] = [2, 4, 8, 16, 32];
const MODES: [Way; 3] = [Way::of(BASE, Mode::Base), Way::of(FUSED, Mode::Fused), Way::of(GEN, Mode::Gen)];
const ITERATIONS: usize = 4;

/// An algorithm with as many classes or centroids as the experiment varies.
struct Series {
    algorithm: &'static Algorithm,
    /// The script for a number of them.
    script: fn(&str, usize) -> String,
    /// Columns of the factors of the products with X.
    columns: fn(usize) -> usize,
}

const SERIES: [Series; 2] = [
    // One class is the base line.
    Series { algorithm: &MLOGREG, script: |script, _| script.to_owned(), columns: |classes| classes - 1 },
    Series { algorithm: &KMEANS, script: |script, k| script.replace("k=5", &format!("k={k}")), columns: |k| k },
];

/// What was measured with one number.
struct Measured {
    name: &'static str,
    columns: usize,
    words: String,
    scans: f64,
    modes: InModes,
}

pub(super) fn run(setting: Option<Setting>, findings: &mut Findings) -> Vec<Part> {
    let mut measured = Vec::new();
    let mut knees = Vec::new();
    if let Some(setting) = setting {
        let rates = machine::measure(setting.rounds);
        for series in &SERIES {
            let rows: Vec<Measured> = NUMBERS.iter().map(|&number| measure(setting, series, number)).collect();
            knees.push(judge(series, &rows, &rates, findings));
            measured.extend(rows);
        }
    }
    sections(&measured, knees)
}

fn measure(setting: Setting, series: &Series, number: usize) -> Measured {
    let Series { algorithm, script, columns } = series;
    let rows = setting.scale.pick([20_000, 50_000, 10_000_000]) as f64;
    // Base has several intermediates of a column for each class.
    let rows = Setting::fitting(rows, 8.0 * (COLS + 6 * NUMBERS[NUMBERS.len() - 1]) as f64) as usize;
    let (words, data) = labelled(&format!("dense, {rows} x {COLS}, k = {number}"), rows, COLS, "1", number);
    eprintln!("{} on {words}", algorithm.name);
    let workload = algorithm.workload(words.clone(), Source::Script(data), setting.long_rounds());
    let workload = workload.with_iterations(ITERATIONS);
    let workload = Workload { script: script(&workload.script, number), ..workload };
    let data = workload.data.generate();
    let scans = needs(&workload, &data).expect("the algorithm says what it needs").scans;
    let modes = in_modes(&workload, &data, &MODES);
    Measured { name: algorithm.name, columns: columns(number), words, scans, modes }
}

impl Measured {
    /// Seconds of a mode for a scan of X.
    fn seconds(&self, mode: &str) -> Option<f64> {
        Some(self.modes.times_of(mode)?.median() / self.scans)
    }
}

/// What a series shows: the columns from which on times grow, where the machine's rates have them, and where they do.
struct Knee {
    name: &'static str,
    predicted: f64,
    measured: f64,
}

fn judge(series: &Series, rows: &[Measured], rates: &[Rate], findings: &mut Findings) -> Knee {
    let points: Vec<(f64, f64)> = rows.iter().filter_map(|row| Some((row.columns as f64, row.seconds(GEN)?))).collect();
    let rate = |name: &str| rates.iter().find(|rate| rate.name == name).map_or(f64::NAN, |rate| rate.per_second);
    // Each cell of X takes 8 bytes, and 4 operations for each column: two products.
    let predicted = 2.0 * rate(MATRIX_PRODUCT) / rate(READ);
    let knee = Knee { name: series.algorithm.name, predicted, measured: knee(&points) };
    let steps = (knee.measured.log2().round() - knee.predicted.log2().round()).abs();
    findings.value("P210", "steps from the knee to that of the roofline", knee.name, steps);
    for (row, over) in rows.iter().zip(over_trend(&points)) {
        let on = format!("{}, {}", row.name, row.words);
        findings.value("P212", "time of Gen over its trend", &on, over);
        findings.value_of("P209", "seconds of Gen for a scan of X", &on, row.seconds(GEN));
        findings.value_of("P209", "speed of Gen over Base", &on, row.modes.slowdown(GEN, BASE).map(f64::recip));
        findings.value("P231", "distance between the models of the modes", &on, row.modes.distance);
        let what = "distance between what the models of the modes say of X";
        findings.value_of("P231", what, &on, row.modes.distance_on_data);
        let peak = |mode| row.modes.first_of(mode).map(|statistics| statistics.memory_peak as f64);
        let over = peak(BASE).zip(peak(GEN)).map(|(base, own)| base / own);
        findings.value_of("P211", "memory of Base over Gen", &on, over);
    }
    knee
}

fn sections(measured: &[Measured], knees: Vec<Knee>) -> Vec<Part> {
    let header =
        ["algorithm", "data", BASE, FUSED, GEN, "spread", "scans", "Gen for a scan", "memory of Base", "of Gen"];
    let rows = measured.iter().map(|row| {
        let seconds = |mode| row.modes.times_of(mode).map_or("-".to_owned(), |times| time(times.median()));
        let memory = |mode| {
            let peak = row.modes.first_of(mode).map(|statistics| statistics.memory_peak as f64 / 1e9);
            peak.map_or("-".to_owned(), |peak| format!("{peak:.2} GB"))
        };
        vec![
            row.name.to_owned(),
            row.words.clone(),
            seconds(BASE),
            seconds(FUSED),
            seconds(GEN),
            format!("{:.0} %", 100.0 * row.modes.times_of(GEN).map_or(0.0, Times::spread)),
            format!("{:.0}", row.scans),
            row.seconds(GEN).map_or("-".to_owned(), time),
            memory(BASE),
            memory(GEN),
        ]
    });
    let knees = knees.into_iter().map(|Knee { name, predicted, measured }| {
        vec![name.to_owned(), format!("{predicted:.1}"), format!("{measured:.1}")]
    });
    vec![
        Part::heading("More classes and centroids"),
        Part::text(
            "MLogreg with k classes, of which one is the base line, and KMeans with k centroids. Scans of X are those that \
             the iterations need. From some number of columns on computing takes longer than reading: the roofline has it \
             where two products with X take as long at the rate of matrix products as X takes to be read; measured it is \
             where a constant and a proportional part meet that fit the times best.",
        ),
        Part::table(&header, rows.collect()),
        Part::table(&["algorithm", "knee by the roofline, columns", "measured"], knees.collect()),
    ]
}
