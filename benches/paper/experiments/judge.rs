//! The judge: what must be measured for a claim of the paper, and the verdict that follows from what was.

use serde::{Deserialize, Serialize};

/// A claim of the paper.
#[derive(Debug)]
pub(crate) struct Claim {
    /// The item of `docs/paper.md` that says what is claimed.
    pub(crate) item: &'static str,
    pub(crate) bounds: &'static [Bound],
}

/// Something that is measured for a claim, and what it must be.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) what: &'static str,
    pub(crate) limit: Limit,
    pub(crate) unit: Unit,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Limit {
    AtLeast(f64),
    AtMost(f64),
    Between(f64, f64),
    /// Shown beside what is asked for.
    Shown,
    /// Nothing to measure: what of Fuseline would be needed.
    Missing(&'static str),
}

/// How values read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Unit {
    /// A ratio.
    Times,
    /// A share of one.
    Share,
    Count,
    Seconds,
    Bytes,
    /// Powers of ten.
    Orders,
    /// A share of one that may be minute.
    Distance,
}

/// What an experiment found out about a bound on some data.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Finding {
    pub(crate) item: String,
    pub(crate) what: String,
    pub(crate) on: String,
    pub(crate) outcome: Outcome,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) enum Outcome {
    #[serde(with = "as_text")]
    Value(f64),
    /// A value that was measured, and the best that could be: what the machine's rates, or a loop written by hand, would give.
    Within {
        #[serde(with = "as_text")]
        value: f64,
        #[serde(with = "as_text")]
        best: f64,
        /// What would give the best.
        by: String,
    },
    /// Why there is no value.
    NotRun(String),
}

/// Values as text: JSON has no numbers for what is infinite or no number.
mod as_text {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// What becomes of a claim.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    Holds,
    /// The bounds that are missed, by how much and where.
    DoesNotHold(String),
    /// The bounds that are missed, where for each of these the best that could be misses it, too.
    OutOfReach(String),
    /// The parts that Fuseline does not have.
    Missing(String),
    /// The bounds that nothing was measured for, or not all of it.
    Open(String),
}

/// A verdict with what it rests on.
#[derive(Debug)]
pub(crate) struct Judgement {
    pub(crate) asked: String,
    pub(crate) measured: String,
    pub(crate) verdict: Verdict,
}

/// Holds what was found out against the bounds of a claim. Findings about other claims are left out.
pub(crate) fn judge(claim: &Claim, findings: &[Finding]) -> Judgement {
    let judged: Vec<JudgedBound> = claim.bounds.iter().map(|bound| JudgedBound::of(claim, bound, findings)).collect();
    let join = |texts: Vec<String>| texts.join("; ");
    let collect = |text: fn(&JudgedBound) -> Option<&String>| join(judged.iter().filter_map(text).cloned().collect());
    let (missed, missing, open) = (
        collect(|bound| bound.missed.as_ref()),
        collect(|bound| bound.missing.as_ref()),
        collect(|bound| bound.open.as_ref()),
    );
    let is_decided = judged.iter().any(|bound| bound.is_decided);
    let is_out_of_reach = judged.iter().all(|bound| bound.missed.is_none() || bound.is_out_of_reach);
    let verdict = match (missed.is_empty(), missing.is_empty(), open.is_empty()) {
        (false, ..) if is_out_of_reach => Verdict::OutOfReach(missed),
        (false, ..) => Verdict::DoesNotHold(missed),
        (_, false, _) => Verdict::Missing(missing),
        (.., false) => Verdict::Open(open),
        _ if is_decided => Verdict::Holds,
        _ => Verdict::Open("nothing that decides it was measured".to_owned()),
    };
    let measured = judged.iter().filter_map(|bound| bound.measured.clone()).collect();
    Judgement { asked: join(claim.bounds.iter().map(Bound::asked).collect()), measured: join(measured), verdict }
}

/// What became of one bound.
#[derive(Default)]
struct JudgedBound {
    measured: Option<String>,
    missed: Option<String>,
    missing: Option<String>,
    open: Option<String>,
    /// Whether values were held against a limit.
    is_decided: bool,
    /// Whether all that miss it could not but miss it.
    is_out_of_reach: bool,
}

/// A value, what it was measured on, and the best that could be there.
struct Measured<'a> {
    value: f64,
    on: &'a str,
    best: Option<(f64, &'a str)>,
}

impl JudgedBound {
    fn of(claim: &Claim, bound: &Bound, findings: &[Finding]) -> JudgedBound {
        let what = bound.what;
        if let Limit::Missing(part) = bound.limit {
            return JudgedBound { missing: Some(format!("{what} ({part})")), ..JudgedBound::default() };
        }
        let own = || findings.iter().filter(|finding| finding.item == claim.item && finding.what == what);
        let mut values: Vec<Measured<'_>> = own().filter_map(Finding::measured).collect();
        // The worst first.
        values.sort_by(|one, other| bound.limit.excess(other.value).total_cmp(&bound.limit.excess(one.value)));
        let reasons: Vec<String> = own().filter_map(Finding::reason).collect();
        let is_shown = bound.limit == Limit::Shown;
        let open = match (values.is_empty(), reasons.is_empty()) {
            _ if is_shown => None,
            (true, true) => Some(format!("{what}: not measured")),
            (_, false) => Some(format!("{what}: {}", reasons.join(", "))),
            (false, true) => None,
        };
        JudgedBound {
            measured: bound.measured(&values),
            missed: bound.missed(&values),
            missing: None,
            open,
            is_decided: !is_shown && !values.is_empty(),
            is_out_of_reach: values.iter().all(|measured| bound.holds(measured) || bound.is_out_of_reach(measured)),
        }
    }
}

impl Finding {
    fn measured(&self) -> Option<Measured<'_>> {
        let (value, best) = match &self.outcome {
            Outcome::Value(value) => (*value, None),
            Outcome::Within { value, best, by } => (*value, Some((*best, by.as_str()))),
            Outcome::NotRun(_) => return None,
        };
        Some(Measured { value, on: &self.on, best })
    }

    /// What it was not measured on, and why.
    fn reason(&self) -> Option<String> {
        match &self.outcome {
            Outcome::Value(_) | Outcome::Within { .. } => None,
            Outcome::NotRun(reason) => Some(format!("not on {} ({reason})", self.on)),
        }
    }
}

impl Bound {
    fn asked(&self) -> String {
        let (what, value) = (self.what, |value| self.unit.text(value));
        match self.limit {
            Limit::AtLeast(least) => format!("{what}: at least {}", value(least)),
            Limit::AtMost(most) => format!("{what}: at most {}", value(most)),
            Limit::Between(least, most) if least == most => format!("{what}: {}", value(least)),
            Limit::Between(least, most) => format!("{what}: {} to {}", value(least), value(most)),
            Limit::Shown => format!("{what}: shown"),
            Limit::Missing(_) => what.to_owned(),
        }
    }

    fn holds(&self, measured: &Measured<'_>) -> bool {
        self.limit.holds(measured.value)
    }

    /// Whether the best that could be misses it, too, and is better than what was measured: else it is not the best.
    fn is_out_of_reach(&self, measured: &Measured<'_>) -> bool {
        let misses = |best: f64| !best.is_nan() && !self.limit.holds(best);
        let is_best = |best: f64| self.limit.excess(best) < self.limit.excess(measured.value);
        !measured.value.is_nan() && measured.best.is_some_and(|(best, _)| misses(best) && is_best(best))
    }

    /// The values of which the first is the worst.
    fn measured(&self, values: &[Measured<'_>]) -> Option<String> {
        let (worst, what) = (values.first()?, self.what);
        let (count, on) = (values.len(), worst.on);
        Some(match (self.limit, count) {
            (_, 1) => format!("{what}: {} on {on}", self.unit.text(worst.value)),
            (Limit::Shown, _) => {
                let least = values.iter().map(|measured| measured.value).fold(f64::INFINITY, f64::min);
                let most = values.iter().map(|measured| measured.value).fold(f64::NEG_INFINITY, f64::max);
                format!("{what}: {} to {} on {count}", self.unit.text(least), self.unit.text(most))
            }
            _ => format!("{what}: {} on {on}, the worst of {count}", self.unit.text(worst.value)),
        })
    }

    /// What is missed: the worst of the values, which comes first, with the best that could be there, and how many others.
    fn missed(&self, values: &[Measured<'_>]) -> Option<String> {
        let missed = values.iter().filter(|measured| !self.holds(measured)).count();
        let (worst, what) = (values.first()?, self.what);
        let best = worst
            .best
            .map_or_else(String::new, |(best, by)| format!(", where {by} would give {}", self.unit.text(best)));
        let others = if values.len() > 1 { format!(" ({missed} of {} miss it)", values.len()) } else { String::new() };
        (missed > 0).then(|| format!("{what} is {} on {}{best}{others}", self.unit.text(worst.value), worst.on))
    }
}

impl Limit {
    fn holds(self, value: f64) -> bool {
        match self {
            Limit::AtLeast(least) => value >= least,
            Limit::AtMost(most) => value <= most,
            Limit::Between(least, most) => (least..=most).contains(&value),
            Limit::Shown | Limit::Missing(_) => true,
        }
    }

    /// How bad a value is: the larger the worse, and no number is the worst.
    fn excess(self, value: f64) -> f64 {
        match self {
            _ if value.is_nan() => f64::INFINITY,
            Limit::AtLeast(_) => -value,
            Limit::AtMost(_) => value,
            Limit::Between(least, most) => (least - value).max(value - most),
            Limit::Shown | Limit::Missing(_) => 0.0,
        }
    }
}

impl Unit {
    pub(crate) fn text(self, value: f64) -> String {
        match self {
            Unit::Times => format!("{}x", digits(value)),
            Unit::Share => format!("{:.1} %", 100.0 * value),
            Unit::Count => format!("{value:.0}"),
            Unit::Seconds if value >= 1.0 => format!("{} s", digits(value)),
            Unit::Seconds => format!("{} ms", digits(value * 1e3)),
            Unit::Bytes if value >= 1e9 => format!("{} GB", digits(value / 1e9)),
            Unit::Bytes => format!("{} MB", digits(value / 1e6)),
            Unit::Distance => format!("{value:.1e}"),
            Unit::Orders => format!("{value:.1} orders of magnitude"),
        }
    }
}

/// Three digits.
fn digits(value: f64) -> String {
    match value.abs() {
        magnitude if magnitude >= 100.0 => format!("{value:.0}"),
        magnitude if magnitude >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

impl Verdict {
    pub(crate) fn text(&self) -> String {
        match self {
            Verdict::Holds => "holds".to_owned(),
            Verdict::DoesNotHold(why) => format!("does not hold, because {why}"),
            Verdict::OutOfReach(why) => format!("cannot hold here, because {why}"),
            Verdict::Missing(parts) => format!("missing: {parts}"),
            Verdict::Open(why) => format!("open: {why}"),
        }
    }
}
