//! What all expressions together show: Gen against the other modes, loops written by hand, and `SciPy`.

use crate::measure::Measured;

/// How many times as long as the best mode Gen may take for nearly all expressions, how many may take longer, and how
/// many times as long it may take for any of them.
const MOSTLY_AT_MOST: f64 = 1.05;
const FEW: usize = 2;
const AT_MOST: f64 = 1.15;

/// The share of the speed of a loop written by hand that Gen must reach, and for how many of them.
const OF_BY_HAND: f64 = 0.9;
const LOOPS_REACHED: usize = 10;

/// How many times as long as `SciPy` Gen may take.
const OF_SCIPY: f64 = 1.0;

/// Prints it all; `scipy` names the versions, if there is one.
pub(crate) fn print(results: &[Measured], scipy: Option<&str>) {
    against_modes("all", results.iter());
    against_modes("not kept apart", results.iter().filter(|result| !result.is_kept_apart));
    against_modes("kept apart", results.iter().filter(|result| result.is_kept_apart));
    against_loops(results);
    match scipy {
        Some(versions) => against_scipy(results, versions),
        None => println!("SciPy is left out: python3 cannot import it; --python names another Python"),
    }
}

fn against_modes<'r>(what: &str, results: impl Iterator<Item = &'r Measured>) {
    let results: Vec<&Measured> = results.collect();
    if results.is_empty() {
        return;
    }
    let above = |bound: f64| results.iter().filter(|result| result.ratio > bound).count();
    let worst = largest(results.iter().map(|result| result.ratio));
    let over_base = |result: &&Measured| result.base_over_gen().ln();
    let mean = (results.iter().map(over_base).sum::<f64>() / results.len() as f64).exp();
    let is_met = above(MOSTLY_AT_MOST) <= FEW && worst <= AT_MOST;
    println!(
        "{what}: {} expressions, base / gen {mean:.2} (geometric mean), gen above {MOSTLY_AT_MOST} of the best mode {}, \
         above {AT_MOST} {}, worst {worst:.2}: {}",
        results.len(),
        above(MOSTLY_AT_MOST),
        above(AT_MOST),
        verdict(is_met)
    );
}

fn against_loops(results: &[Measured]) {
    let reaches = |result: &Measured| result.over_hand.is_some_and(|ratio| 1.0 / ratio >= OF_BY_HAND);
    let (all, reached) = (Count::of(results, |result| result.over_hand.is_some()), Count::of(results, reaches));
    let worst = largest(results.iter().filter_map(|result| result.over_hand));
    println!(
        "by hand: gen reaches {OF_BY_HAND} of the speed of {reached} of {all} loops, {LOOPS_REACHED} are wanted; \
         gen / by hand at most {worst:.2}: {}",
        verdict(reached.all >= LOOPS_REACHED)
    );
}

fn against_scipy(results: &[Measured], versions: &str) {
    let is_slower = |result: &Measured| result.over_scipy.is_some_and(|ratio| ratio > OF_SCIPY);
    let (all, slower) = (Count::of(results, |result| result.over_scipy.is_some()), Count::of(results, is_slower));
    let worst = largest(results.iter().filter_map(|result| result.over_scipy));
    println!(
        "{versions}: gen is slower for {slower} of {all} expressions, gen / SciPy at most {worst:.2}; {} have no form \
         there: {}",
        Count::of(results, |result| result.over_scipy.is_none()),
        verdict(slower.all == 0)
    );
}

/// A number of expressions, and how many of them are kept apart.
struct Count {
    all: usize,
    kept_apart: usize,
}

impl Count {
    fn of(results: &[Measured], is_counted: impl Fn(&Measured) -> bool) -> Count {
        let counted = || results.iter().filter(|result| is_counted(result));
        Count { all: counted().count(), kept_apart: counted().filter(|result| result.is_kept_apart).count() }
    }
}

impl std::fmt::Display for Count {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} ({} kept apart)", self.all, self.kept_apart)
    }
}

fn largest(ratios: impl Iterator<Item = f64>) -> f64 {
    ratios.fold(0.0, f64::max)
}

fn verdict(is_met: bool) -> &'static str {
    if is_met { "holds" } else { "does not hold" }
}
