//! The six algorithms on data of several sizes, in all modes (the paper's section 5.4).

use super::claims::{SLOWDOWN, most_of};
use super::findings::{Best, Findings};
use super::setting::Setting;
use super::trend::geometric_mean;
use crate::algorithms::data::Source;
use crate::algorithms::workloads::{
    ALS_CG, AUTOENCODER, Algorithm, GLM, KMEANS, L2SVM, MLOGREG, Needs, Workload, labelled, rated,
};
use crate::algorithms::{FUSE_ALL, InModes, MODES, NO_REDUNDANCY, in_modes, needs};
use crate::document::{Part, time};
use crate::rounds::Times;
use crate::workload::{BASE, FUSE_ALL_OF_THE_PAPER, FUSED, GEN, NO_REDUNDANCY_OF_THE_PAPER, Way};
use crate::workloads::Scale;
use fuseline::generate::{Kind, Specification};
use fuseline::{Mode, Statistics};

/// An algorithm on some data, with the modes that can run it there.
struct Experiment {
    /// The item of the paper's row.
    item: &'static str,
    workload: Workload,
    modes: Vec<Way>,
    on: On,
}

/// What the data is.
#[derive(Clone, Copy, PartialEq)]
enum On {
    /// So many rows of ten columns.
    Dense(usize),
    Airline,
    Mnist,
    /// A square of ratings.
    Ratings,
    /// More ratings than the modes without sparse operators can run on.
    ManyRatings,
    LikeRatings,
    Images,
}

/// What was measured.
struct Measured {
    item: &'static str,
    name: &'static str,
    words: String,
    on: On,
    modes: InModes,
    needs: Option<Needs>,
}

/// The modes that keep to the non-zeros.
const SPARSE_MODES: &[Way] = &[Way::of(FUSED, Mode::Fused), Way::of(GEN, Mode::Gen)];

/// Gen once more, in a session of its own: how far two runs of the same plans are apart in these rounds.
const AGAIN: Way = Way::of("Gen, again", Mode::Gen);

/// The heuristics of the paper, which make no multi-aggregates and know no Row operators of products of low rank.
const OF_THE_PAPER: [Way; 2] = [
    Way::of_the_paper(FUSE_ALL_OF_THE_PAPER, Mode::GenFuseAll),
    Way::of_the_paper(NO_REDUNDANCY_OF_THE_PAPER, Mode::GenFuseNoRedundancy),
];

/// The data-intensive algorithms: items of synthetic and of real data, and bytes that a row of ten columns takes in Base.
const DATA_INTENSIVE: [(&Algorithm, usize, &str, &str, f64); 4] = [
    (&L2SVM, 2, "P197", "P198", 150.0),
    (&MLOGREG, 5, "P199", "P200", 350.0),
    (&GLM, 2, "P201", "P202", 200.0),
    (&KMEANS, 2, "P203", "P203", 250.0),
];

pub(super) fn run(setting: Option<Setting>, findings: &mut Findings) -> Vec<Part> {
    let mut measured: Vec<Measured> = Vec::new();
    if let Some(setting) = setting {
        for experiment in experiments(setting, findings) {
            measured.push(measure(experiment));
        }
    }
    for row in &measured {
        of_all(row, findings);
        match row.on {
            On::Dense(_) | On::Airline | On::Mnist => data_intensive(row, findings),
            On::Ratings | On::ManyRatings | On::LikeRatings => factorization(row, findings),
            On::Images => autoencoder(row, findings),
        }
    }
    summaries(&measured, findings);
    sections(&measured)
}

/// All experiments of a scale; those of others are said not to be run.
fn experiments(setting: Setting, findings: &mut Findings) -> Vec<Experiment> {
    let mut all = Vec::new();
    for (algorithm, classes, synthetic, real, bytes) in DATA_INTENSIVE {
        const ROWS: [usize; 4] = [100_000, 1_000_000, 10_000_000, 100_000_000];
        let (least, most) = setting.scale.pick([(100_000, 100_000), (1_000_000, 10_000_000), (1_000_000, usize::MAX)]);
        let is_run = |rows: usize| (least..=most).contains(&rows) && Setting::fits(bytes * rows as f64);
        let largest = ROWS.into_iter().filter(|&rows| is_run(rows)).max();
        for rows in ROWS {
            if is_run(rows) {
                let mut experiment = dense(setting, algorithm, classes, rows, synthetic);
                experiment.modes.extend(OF_THE_PAPER.first().filter(|_| Some(rows) == largest));
                all.push(experiment);
            } else if rows >= least {
                let is_fitting = Setting::fits(bytes * rows as f64);
                let reason = if is_fitting { "the full scale has it" } else { "Base does not fit into memory" };
                not_run(findings, synthetic, algorithm, rows, reason);
            }
        }
        all.extend(look_alikes(setting, algorithm, real));
    }
    all.extend(factorizations(setting));
    all.extend(autoencoders(setting, findings));
    all
}

fn not_run(findings: &mut Findings, item: &str, algorithm: &Algorithm, rows: usize, reason: &str) {
    let on = format!("{rows} x 10");
    findings.not_run(item, "time of Gen over the best other mode", &on, reason);
    if rows == 100_000_000 {
        findings.not_run("P204", &format!("speed of Gen over Fused, {}", algorithm.name), &on, reason);
    }
}

fn dense(setting: Setting, algorithm: &Algorithm, classes: usize, rows: usize, item: &'static str) -> Experiment {
    let (words, data) = labelled(&format!("dense, {rows} x 10"), rows, 10, "1", classes);
    let iterations = match (setting.scale, rows) {
        (Scale::Quick, _) | (Scale::Full, ..=10_000_000) => None,
        (Scale::Default, ..=1_000_000) | (Scale::Full, _) => Some(4),
        (Scale::Default, _) => Some(2),
    };
    let workload = algorithm.workload(words, Source::Script(data), setting.long_rounds());
    Experiment { item, workload: limited(workload, iterations), modes: MODES.to_vec(), on: On::Dense(rows) }
}

/// With fewer iterations, where these are limited: more would show the same, in more time.
fn limited(workload: Workload, iterations: Option<usize>) -> Workload {
    let Some(iterations) = iterations else { return workload };
    let on = format!("{}, {iterations} iterations", workload.on);
    Workload { on, ..workload }.with_iterations(iterations)
}

/// Data like that of the paper, as much of it as the scale and the memory allow.
fn look_alikes(setting: Setting, algorithm: &Algorithm, item: &'static str) -> [Experiment; 2] {
    let of = |on, kind, scale, name: &str, labels, iterations| {
        let specification = Specification { scale, ..Specification::new(kind) };
        let source = Source::LookAlike(specification, labels);
        let workload = algorithm.workload(name.to_owned(), source, setting.long_rounds());
        Experiment { item, workload: limited(workload, iterations), modes: MODES.to_vec(), on }
    };
    let (of_airline, of_mnist) = (setting.scale.pick([None, Some(4), None]), setting.scale.pick([None, Some(8), None]));
    [
        of(On::Airline, Kind::Airline78, airline_scale(setting), "Airline78", "Y = Y", of_airline),
        of(On::Mnist, Kind::Mnist, mnist_scale(setting), "Mnist", "Y = 1 + (Y > 5)", of_mnist),
    ]
}

/// Of 14.5 million rows, each with some 350 bytes in all.
fn airline_scale(setting: Setting) -> f64 {
    const ROWS: f64 = 14_462_943.0;
    Setting::fitting(setting.scale.pick([0.005, 0.05, 1.0]) * ROWS, 3.0 * 350.0) / ROWS
}

/// Of 60000 rows, of which the paper has 135 times as many, each with some 2400 bytes.
fn mnist_scale(setting: Setting) -> f64 {
    const ROWS: f64 = 60_000.0;
    Setting::fitting(setting.scale.pick([0.05, 0.5, 135.0]) * ROWS, 3.0 * 2400.0) / ROWS
}

fn factorizations(setting: Setting) -> Vec<Experiment> {
    let iterations = setting.scale.pick([20, 2, 20]);
    let of = |item, on, (words, source): (String, Source), modes: &[Way]| {
        let workload = ALS_CG.workload(format!("{words}, {iterations} iterations"), source, setting.long_rounds());
        Experiment { item, workload: workload.with_iterations(iterations), modes: modes.to_vec(), on }
    };
    let ratings = |size| {
        let (words, data) = rated(size);
        (words, Source::Script(data))
    };
    let alike = |kind, scale: f64| {
        let specification = Specification { scale, ..Specification::new(kind) };
        (kind.name().to_owned(), Source::LookAlike(specification, "Y = Y"))
    };
    let square = setting.scale.pick([(1_000, 1_000), (10_000, 10_000), (10_000, 10_000)]);
    let mut all = vec![of("P213", On::Ratings, ratings(square), &[MODES.as_slice(), &OF_THE_PAPER].concat())];
    if setting.scale.pick([false, true, true]) {
        all.push(of("P213", On::ManyRatings, ratings((100_000, 10_000)), SPARSE_MODES));
    }
    if setting.scale.pick([false, false, true]) {
        all.push(of("P213", On::ManyRatings, ratings((1_000_000, 10_000)), SPARSE_MODES));
    }
    all.push(of("P214", On::LikeRatings, alike(Kind::Netflix, setting.scale.pick([0.02, 0.1, 1.0])), SPARSE_MODES));
    all.push(of("P214", On::LikeRatings, alike(Kind::Amazon, setting.scale.pick([0.01, 0.05, 1.0])), SPARSE_MODES));
    all
}

fn autoencoders(setting: Setting, findings: &mut Findings) -> Vec<Experiment> {
    let of = |words: String, source| Experiment {
        item: "P217",
        workload: AUTOENCODER.workload(words, source, setting.long_rounds()),
        modes: MODES.to_vec(),
        on: On::Images,
    };
    const SIZES: [(usize, usize); 4] = [(600, 1_000), (1_000, 10_000), (10_000, 10_000), (100_000, 10_000)];
    let sizes = &SIZES[setting.scale.pick([0..1, 1..2, 1..4])];
    for (rows, cols) in SIZES.iter().filter(|size| *size > &sizes[sizes.len() - 1]) {
        let on = format!("dense, {rows} x {cols}");
        findings.not_run("P217", "speed of Gen over Fused", &on, "the full scale has it");
    }
    let dense = sizes.iter().map(|&(rows, cols)| {
        let (words, data) = labelled(&format!("dense, {rows} x {cols}"), rows, cols, "1", 2);
        of(words, Source::Script(data))
    });
    // The paper has a million of them.
    let specification =
        Specification { scale: setting.scale.pick([0.02, 0.1, 16.875]), ..Specification::new(Kind::Mnist) };
    dense.chain([of("Mnist".to_owned(), Source::LookAlike(specification, "Y = Y"))]).collect()
}

fn measure(experiment: Experiment) -> Measured {
    let Experiment { item, workload, modes, on } = experiment;
    eprintln!("{} on {}", workload.name, workload.on);
    let data = workload.data.generate();
    let stated = data.words("X");
    let words =
        if workload.on.starts_with(&stated) { workload.on.clone() } else { format!("{} ({stated})", workload.on) };
    let needs = needs(&workload, &data);
    let modes = [modes, vec![AGAIN]].concat();
    Measured { item, name: workload.name, words, on, modes: in_modes(&workload, &data, &modes), needs }
}

impl Measured {
    fn words(&self) -> String {
        format!("{}, {}", self.name, self.words)
    }

    /// How many times as long Gen takes as the fastest of some other modes that can run it.
    fn slowdown(&self, others: &[&str]) -> Option<f64> {
        others.iter().filter_map(|other| self.modes.slowdown(GEN, other)).reduce(f64::max)
    }

    fn over_best(&self) -> Option<f64> {
        self.slowdown(&[BASE, FUSED, FUSE_ALL, NO_REDUNDANCY])
    }

    fn over_heuristics(&self) -> Option<f64> {
        self.slowdown(&[FUSE_ALL, NO_REDUNDANCY])
    }

    /// Records how many times as long Gen takes as something, with what the same plans give where that is no more beyond what
    /// is asked than they differ from themselves.
    fn record_slowdown(&self, item: &str, what: &str, slowdown: Option<f64>, findings: &mut Findings) {
        let apart = self.modes.slowdown(GEN, AGAIN.name).map(|ratio| ratio.max(1.0 / ratio));
        let is_within = |apart: &f64| slowdown <= most_of(item, what).map(|most| most * apart);
        let best = (apart.filter(is_within), "the same plans, run again beside,");
        findings.value_within(item, what, &self.words(), slowdown, best);
    }

    /// How many times as fast Gen is as another mode.
    fn speed(&self, other: &str) -> Option<f64> {
        self.modes.slowdown(GEN, other).map(f64::recip)
    }

    /// The busy threads of Gen over those of Base if threads were idle for no longer than in any mode: statements that all
    /// modes run alike leave threads idle for as long in each, which is the larger a share the faster the rest is.
    fn most_busy_over_base(&self) -> Option<f64> {
        let threads = rayon::current_num_threads() as f64;
        let idle = |mode| Some((threads - self.modes.busy_threads(mode)?) * self.modes.times_of(mode)?.median());
        let least = MODES.iter().filter_map(|way| idle(way.name)).reduce(f64::min)?;
        Some((threads - least / self.modes.times_of(GEN)?.median()) / self.modes.busy_threads(BASE)?)
    }

    /// How many times as fast as a mode scanning X and computing at the machine's rates would be.
    fn at_the_rates(&self, mode: &str) -> Best<'static> {
        let least = self.needs.and_then(|needs| self.modes.bounds(needs));
        let speed = least.zip(self.modes.times_of(mode)).map(|((_, least), times)| times.median() / least);
        (speed, "scanning and computing at the machine's rates")
    }

    /// The modes that take no more time than Gen, which is one of them.
    fn fastest_modes(&self) -> impl Iterator<Item = &'static str> {
        MODES.iter().map(|way| way.name).filter(|name| self.modes.slowdown(name, GEN).is_some_and(|ratio| ratio <= 1.0))
    }

    /// A counter of a mode's first run over that of another's.
    fn ratio(&self, name: &str, over: &str, counter: fn(&Statistics) -> u64) -> Option<f64> {
        let of = |name| self.modes.first_of(name).map(|statistics| counter(statistics) as f64);
        Some(of(name)? / of(over)?)
    }
}

/// Executions of all operators.
fn operators(statistics: &Statistics) -> u64 {
    statistics.heavy_hitters.values().map(|hitter| hitter.count).sum()
}

/// Executions of fused operators whose names start with a template.
fn fused(statistics: &Statistics, template: &str) -> u64 {
    let operators = statistics.fused_operators.iter().filter(|(name, _)| name.starts_with(template));
    operators.map(|(_, count)| count).sum()
}

fn of_all(row: &Measured, findings: &mut Findings) {
    let words = row.words();
    findings.value("P231", "distance between the models of the modes", &words, row.modes.distance);
    let what = "distance between what the models of the modes say of X";
    findings.value_of("P231", what, &words, row.modes.distance_on_data);
    findings.value_of("P230", "speed of Gen over Fused on algorithms", &words, row.speed(FUSED));
    row.record_slowdown("P205", "time of Gen over the better heuristic", row.over_heuristics(), findings);
    let allocated = row.ratio(GEN, BASE, |statistics| statistics.bytes_allocated);
    findings.value_of("P208", "bytes allocated by Gen over Base", &words, allocated);
    findings.value_of("P208", "operators run by Gen over Base", &words, row.ratio(GEN, BASE, operators));
    let busy = row.modes.busy_threads(GEN).zip(row.modes.busy_threads(BASE)).map(|(own, base)| own / base);
    let most = (row.most_busy_over_base(), "no more idle time than that of any mode, in the time of Gen,");
    findings.value_within("P208", "busy threads of Gen over Base", &words, busy, most);
    let peak = row.ratio(BASE, GEN, |statistics| statistics.memory_peak);
    findings.value_of("P211", "memory of Base over Gen", &words, peak);
    let peak = row.modes.first_of(GEN).map(|statistics| statistics.memory_peak as f64);
    findings.value_of("P219", "memory of Gen at its peak", &words, peak);
}

fn data_intensive(row: &Measured, findings: &mut Findings) {
    row.record_slowdown(row.item, "time of Gen over the best other mode", row.over_best(), findings);
    findings.value_of(row.item, "speed of Gen over Fused", &row.words(), row.speed(FUSED));
}

fn factorization(row: &Measured, findings: &mut Findings) {
    let (words, over_fused) = (row.words(), row.modes.slowdown(GEN, FUSED));
    row.record_slowdown("P216", "time of Gen over Fused", over_fused, findings);
    if row.on == On::LikeRatings {
        row.record_slowdown("P214", "time of Gen over Fused", over_fused, findings);
    }
    for other in [FUSE_ALL_OF_THE_PAPER, NO_REDUNDANCY_OF_THE_PAPER, BASE, FUSE_ALL, NO_REDUNDANCY] {
        findings.value_of("P213", &format!("time of {other} over Gen"), &words, row.speed(other));
    }
    for heuristic in [FUSE_ALL_OF_THE_PAPER, NO_REDUNDANCY_OF_THE_PAPER] {
        let outer = row.ratio(heuristic, GEN, |statistics| fused(statistics, "outer"));
        let what = format!("Outer operators that {heuristic} runs for each of Gen");
        findings.value_of("P215", &what, &words, outer);
        let allocated = row.ratio(heuristic, GEN, |statistics| statistics.bytes_allocated);
        findings.value_of("P215", &format!("bytes allocated by {heuristic} over Gen"), &words, allocated);
    }
}

fn autoencoder(row: &Measured, findings: &mut Findings) {
    let words = row.words();
    let alone = |mode| (row.modes.products_alone(mode), "matrix products alone");
    findings.value_within("P217", "speed of Gen over Fused", &words, row.speed(FUSED), alone(FUSED));
    row.record_slowdown("P217", "time of Gen over the better heuristic", row.over_heuristics(), findings);
    findings.value_within("P218", "speed of Gen over Base", &words, row.speed(BASE), alone(BASE));
}

/// What several rows together show.
fn summaries(measured: &[Measured], findings: &mut Findings) {
    let largest = largest_dense(measured);
    for row in &largest {
        let words = row.words();
        let what = format!("speed of Gen over Fused, {}", row.name);
        findings.value_within("P204", &what, &words, row.speed(FUSED), row.at_the_rates(FUSED));
        let (over, _) = row.at_the_rates(GEN);
        findings.value_of("P204", "time of Gen over scanning and computing at the machine's rates", &words, over);
    }
    for heuristic in [FUSE_ALL_OF_THE_PAPER, FUSE_ALL] {
        let speeds = largest.iter().filter_map(|row| Some((row.speed(heuristic)?, row.at_the_rates(heuristic).0?)));
        let (speeds, best): (Vec<f64>, Vec<f64>) = speeds.unzip();
        let on = format!("{} algorithms", speeds.len());
        let what = format!("speed of Gen over {heuristic}, mean of the largest dense data");
        let best = (Some(geometric_mean(best.into_iter())), "scanning and computing at the machine's rates");
        if !speeds.is_empty() {
            findings.value_within("P205", &what, &on, Some(geometric_mean(speeds.into_iter())), best);
        }
    }
    let heuristics: Vec<f64> = measured.iter().filter_map(|row| row.modes.slowdown(FUSE_ALL, NO_REDUNDANCY)).collect();
    if !heuristics.is_empty() {
        let share = heuristics.iter().filter(|slowdown| **slowdown <= 1.0).count() as f64 / heuristics.len() as f64;
        let on = format!("{} rows", heuristics.len());
        findings.value("P206", "share of the rows in which Gen-FA is no slower than Gen-FNR", &on, share);
    }
    clusters(measured, findings);
}

/// Of each data-intensive algorithm, the row of the most dense data.
fn largest_dense(measured: &[Measured]) -> Vec<&Measured> {
    let rows = |row: &&Measured| if let On::Dense(rows) = row.on { rows } else { 0 };
    let of = |algorithm: &Algorithm| measured.iter().filter(|row| row.name == algorithm.name).max_by_key(rows);
    DATA_INTENSIVE.iter().filter_map(|(algorithm, ..)| of(algorithm)).collect()
}

/// How k-means is fused over narrow and over wide data.
fn clusters(measured: &[Measured], findings: &mut Findings) {
    let of = |on: On| measured.iter().find(|row| row.name == KMEANS.name && row.on == on);
    let (Some(narrow), Some(wide)) = (of(On::Airline), of(On::Mnist)) else { return };
    let for_each_iteration = |row: &Measured, mode: &str, template: &str| {
        // The sums of squares, and the assignment at the end, are no iterations.
        let iterations = row.needs?.scans - 2.0;
        Some(fused(row.modes.first_of(mode)?, template) as f64 / iterations)
    };
    let whole = for_each_iteration(narrow, GEN, "row multi_agg");
    findings.value_of("P207", "Row multi-aggregates in an iteration, narrow data", &narrow.words(), whole);
    let more = |of_wide: &str, of_narrow: &str| {
        Some(for_each_iteration(wide, of_wide, "")? - for_each_iteration(narrow, of_narrow, "")?)
    };
    let what = "fused operators in an iteration of wide data beyond narrow data";
    let of_fastest = wide.fastest_modes().filter_map(|wide| more(wide, GEN)).reduce(f64::max);
    let best = (of_fastest, "the most of any mode that takes no more time");
    findings.value_within("P207", what, &wide.words(), more(GEN, GEN), best);
    findings.value_of("P207", "time of Gen over the best other mode, wide data", &wide.words(), wide.over_best());
    let placed = wide.speed(NO_REDUNDANCY);
    findings.value_of(
        "P207",
        "time of Gen-FNR, which writes intermediates, over Gen, wide data",
        &wide.words(),
        placed,
    );
}

fn sections(measured: &[Measured]) -> Vec<Part> {
    vec![
        Part::heading("Algorithms"),
        Part::text(
            "The script library as the paper's table 2 configures it, data in memory: runs of prepared scripts, without \
             compilation, the modes in turn, planned for a typical machine. Models are compared: *distance* is that of the \
             furthest cell from the first mode's, as a share of the largest, and *on X* that of the products of X with them \
             where they are weights. *Slowdown* is the largest ratio of Gen's time \
             to that of another mode. Modes without a time are not asked for, since their dense intermediates are too large, \
             or end with an error. Data like the paper's (`fuseline generate`) is as large as stated.",
        ),
        times(measured),
        Part::text(summary(measured)),
        Part::text(
            "What the first run of each mode counts: executions of operators, of these fused ones, bytes of matrices \
             allocated, the most memory at a time, and processors that were busy on average in the timed runs:",
        ),
        counters(measured),
    ]
}

fn times(measured: &[Measured]) -> Part {
    let modes = MODES.map(|way| way.name);
    let header: Vec<&str> = ["algorithm", "data"]
        .into_iter()
        .chain(modes)
        .chain(["spread", "slowdown", "Fused / Gen", "distance", "on X"])
        .collect();
    let rows = measured.iter().map(|row| {
        let seconds = |name| row.modes.times_of(name).map_or("-".to_owned(), |times| time(times.median()));
        let ratio = |ratio: Option<f64>| ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
        let distance = |distance: Option<f64>| distance.map_or("-".to_owned(), |distance| format!("{distance:.1e}"));
        let spread = format!("{:.0} %", 100.0 * row.modes.times_of(GEN).map_or(0.0, Times::spread));
        let cells = [row.name.to_owned(), row.words.clone()].into_iter().chain(modes.map(seconds));
        let ratios = [
            spread,
            ratio(row.over_best()),
            ratio(row.speed(FUSED)),
            distance(Some(row.modes.distance)),
            distance(row.modes.distance_on_data),
        ];
        cells.chain(ratios).collect()
    });
    Part::table(&header, rows.collect())
}

/// Gen against the best of the other modes, over all rows.
fn summary(measured: &[Measured]) -> String {
    let mut slowdowns: Vec<(f64, String)> =
        measured.iter().filter_map(|row| Some((row.over_best()?, row.words()))).collect();
    slowdowns.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let mean = geometric_mean(slowdowns.iter().map(|(slowdown, _)| *slowdown));
    let slow: Vec<String> = slowdowns
        .iter()
        .filter(|(slowdown, _)| *slowdown > SLOWDOWN)
        .map(|(slowdown, words)| format!("{slowdown:.2} ({words})"))
        .collect();
    let Some((worst, words)) = slowdowns.first() else { return "Nothing was measured.".to_owned() };
    let listed = if slow.is_empty() { String::new() } else { format!(": {}", slow.join(", ")) };
    format!(
        "Gen's time over that of the best other mode: {mean:.2} in the geometric mean of {} rows, {worst:.2} at worst \
         ({words}), and above {SLOWDOWN} in {} rows{listed}.",
        slowdowns.len(),
        slow.len()
    )
}

fn counters(measured: &[Measured]) -> Part {
    let header = ["algorithm", "data", "mode", "operators", "fused", "allocated", "memory", "busy processors"];
    let rows = measured.iter().flat_map(|row| {
        row.modes.first.iter().filter(|(mode, _)| *mode != AGAIN.name).map(|(mode, statistics)| {
            vec![
                row.name.to_owned(),
                row.words.clone(),
                (*mode).to_owned(),
                operators(statistics).to_string(),
                fused(statistics, "").to_string(),
                gigabytes(statistics.bytes_allocated),
                gigabytes(statistics.memory_peak),
                row.modes.busy_threads(mode).map_or("-".to_owned(), |busy| format!("{busy:.2}")),
            ]
        })
    });
    Part::table(&header, rows.collect())
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.2} GB", bytes as f64 / 1e9)
}
