//! What a search found, as text.

use crate::expression::Expression;
use crate::measure::{BASE, LOSS, Measured};
use std::fmt::Write;

/// What Gen may lose where runs are short, in seconds: the time to start is listed apart.
const STARTUP_SECONDS: f64 = 0.0002;
/// How many times as long as the best mode Gen may take, and the share of expressions of which it may take longer.
const MOSTLY_AT_MOST: f64 = 1.15;
const SHARE_ABOVE: f64 = 0.01;
/// How many times as long as the best mode Gen may take, for any expression.
const AT_MOST: f64 = 1.5;

/// An expression that was drawn, with its times.
pub(crate) struct Case {
    pub(crate) seed: u64,
    pub(crate) number: u64,
    pub(crate) expression: Expression,
    pub(crate) measured: Measured,
}

impl Case {
    pub(crate) fn loses(&self) -> bool {
        self.measured.ratio() > LOSS
    }

    fn is_startup(&self) -> bool {
        is_startup(&self.measured)
    }
}

/// Whether Gen loses no more than starting takes.
pub(crate) fn is_startup(measured: &Measured) -> bool {
    measured.lost_seconds() < STARTUP_SECONDS
}

/// A case in which Gen loses, and its smallest form found.
pub(crate) struct Loss {
    pub(crate) case: Case,
    pub(crate) expression: Expression,
    pub(crate) measured: Measured,
    /// The plan of the smallest form and what its operators take, where it was asked for.
    pub(crate) explanation: Option<String>,
}

impl Loss {
    /// Smaller forms first, larger losses first among those.
    fn rank(&self) -> (bool, usize, i64) {
        (self.case.is_startup(), self.expression.operators(), (-1e6 * self.measured.ratio()) as i64)
    }
}

/// All losses, the smallest form first, those that starting makes up for last.
pub(crate) fn losses_text(losses: &mut [Loss]) -> String {
    losses.sort_by_key(Loss::rank);
    let mut text = String::new();
    for startup in losses.chunk_by(|one, other| one.case.is_startup() == other.case.is_startup()) {
        let title = if startup[0].case.is_startup() { "Lost by less than 0.2 ms" } else { "Lost" };
        let _ = writeln!(text, "{title}: {}\n", startup.len());
        startup.iter().for_each(|loss| text.push_str(&loss_text(loss)));
    }
    text
}

/// The smallest form of an expression for which Gen loses.
pub(crate) fn loss_text(loss: &Loss) -> String {
    let Loss { case, expression, measured, explanation } = loss;
    let mut text = format!(
        "--case {}:{}: {}, reduced from {:.2} times with {} operators\n{}",
        case.seed,
        case.number,
        verdict(measured),
        case.measured.ratio(),
        case.expression.operators(),
        indented(&script_text(expression))
    );
    let _ = writeln!(text, "  # {}", times_text(measured));
    if let Some(explanation) = explanation {
        text.push_str(&indented(explanation));
    }
    text.push('\n');
    text
}

/// How Gen compares with the best other mode.
pub(crate) fn verdict(measured: &Measured) -> String {
    let best = measured.best();
    let spread = measured.spread.map_or("one run".to_owned(), |spread| format!("spread {:.0} %", 100.0 * spread));
    format!("gen takes {:.2} times as long as {} ({spread})", best.ratio, best.mode)
}

/// The script that a user can run: the data, the expression, and its results in files.
pub(crate) fn script_text(expression: &Expression) -> String {
    let names = expression.result_names();
    let writes: String = names.iter().map(|name| format!("write({name}, \"{name}\")\n")).collect();
    expression.data_text() + &expression.text() + &writes
}

/// The times of all modes.
pub(crate) fn times_text(measured: &Measured) -> String {
    let times = measured.modes.iter().map(|time| {
        let above = if time.is_cut { "more than " } else { "" };
        format!("{} {above}{}", time.mode, duration(time.seconds))
    });
    times.collect::<Vec<_>>().join(", ")
}

fn duration(seconds: f64) -> String {
    match seconds {
        1.0.. => format!("{seconds:.2} s"),
        0.1.. => format!("{:.0} ms", 1e3 * seconds),
        0.001.. => format!("{:.2} ms", 1e3 * seconds),
        _ => format!("{:.0} us", 1e6 * seconds),
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

/// Expressions that failed, or whose values differ: bugs.
pub(crate) fn bugs_text(bugs: &[String]) -> String {
    let bugs = bugs.iter().map(|bug| format!("BUG: {bug}\n"));
    bugs.collect()
}

/// What was drawn and how often Gen loses.
pub(crate) struct Summary<'a> {
    pub(crate) cases: &'a [&'a Case],
    pub(crate) bugs: usize,
}

impl Summary<'_> {
    pub(crate) fn text(&self) -> String {
        let Summary { cases, bugs } = self;
        let sparse = cases.iter().filter(|case| case.expression.is_over_sparse_inputs()).count();
        let mut text = format!("{} expressions, {sparse} of them over sparse inputs: ", cases.len());
        text.push_str(&if *bugs == 0 { "values equal\n".to_owned() } else { format!("{bugs} BUGS\n") });
        let bases = cases.iter().filter_map(|case| case.measured.of(BASE).filter(|base| !base.is_cut));
        let logarithms: Vec<f64> = bases.map(|base| base.ratio.recip().ln()).collect();
        let mean = (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp();
        let cut = cases.iter().flat_map(|case| &case.measured.modes).filter(|time| time.is_cut).count();
        let _ = writeln!(text, "base / gen: {mean:.2}, the geometric mean of {}", logarithms.len());
        let _ = writeln!(text, "runs interrupted, whose times are larger and whose values are not known: {cut}");
        for bound in [1.05, LOSS, MOSTLY_AT_MOST, AT_MOST] {
            let _ = writeln!(text, "gen above {bound:.2} of the best mode: {}", self.counts_above(bound));
        }
        if let Some(worst) = cases.iter().max_by(|a, b| a.measured.ratio().total_cmp(&b.measured.ratio())) {
            let _ = writeln!(text, "worst: --case {}:{}, {}", worst.seed, worst.number, verdict(&worst.measured));
        }
        let goal = if self.meets_goal() { "holds" } else { "missed" };
        let share = 100.0 * SHARE_ABOVE;
        let _ = writeln!(
            text,
            "goal, values equal, at most {share} % above {MOSTLY_AT_MOST}, none above {AT_MOST}: {goal}"
        );
        text
    }

    fn above(&self, bound: f64) -> impl Iterator<Item = &&Case> {
        self.cases.iter().filter(move |case| case.measured.ratio() > bound)
    }

    fn counts_above(&self, bound: f64) -> String {
        let startup = self.above(bound).filter(|case| case.is_startup()).count();
        let sparse = self.above(bound).filter(|case| case.expression.is_over_sparse_inputs()).count();
        format!("{} ({sparse} over sparse inputs, {startup} by less than 0.2 ms)", self.above(bound).count())
    }

    /// Whether Gen loses as rarely as it should. What starting makes up for counts, too.
    fn meets_goal(&self) -> bool {
        let share = self.above(MOSTLY_AT_MOST).count() as f64 / self.cases.len() as f64;
        self.bugs == 0 && share <= SHARE_ABOVE && self.above(AT_MOST).next().is_none()
    }
}
