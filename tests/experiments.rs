//! The judge of `./x bench paper`: verdicts follow from bounds and from what was measured, and nothing holds that was not.
//! No timing is a test.

#[allow(dead_code)]
#[path = "../benches/paper/experiments/claims.rs"]
mod claims;
#[allow(dead_code)]
#[path = "../benches/paper/deciding.rs"]
mod deciding;
#[allow(dead_code)]
#[path = "../benches/paper/experiments/judge.rs"]
mod judge;
#[allow(dead_code)]
#[path = "../benches/paper/rounds.rs"]
mod rounds;
#[path = "../benches/paper/experiments/trend.rs"]
mod trend;

use claims::{CLAIMS, says};
use deciding::{in_turn_until, is_undecided};
use judge::{Bound, Claim, Finding, Limit, Outcome, Unit, Verdict, judge};
use rounds::{Contender, Times};
use std::collections::BTreeSet;
use trend::{geometric_mean, knee, over_trend};

const fn bound(what: &'static str, limit: Limit) -> Bound {
    Bound { what, limit, unit: Unit::Times }
}

/// A claim with every kind of bound that values are held against.
const CLAIM: Claim = Claim {
    item: "P1",
    bounds: &[
        bound("speed", Limit::AtLeast(2.0)),
        bound("time", Limit::AtMost(1.05)),
        bound("share", Limit::Between(0.9, 1.1)),
        bound("memory", Limit::Shown),
    ],
};

const MISSING: Claim =
    Claim { item: "P2", bounds: &[bound("speed", Limit::AtLeast(2.0)), bound("disk", Limit::Missing("no files"))] };

fn found(item: &str, what: &str, on: &str, outcome: Outcome) -> Finding {
    Finding { item: item.to_owned(), what: what.to_owned(), on: on.to_owned(), outcome }
}

fn value(what: &str, on: &str, value: f64) -> Finding {
    found("P1", what, on, Outcome::Value(value))
}

/// What keeps to all bounds of [`CLAIM`].
fn good() -> Vec<Finding> {
    vec![value("speed", "a", 2.0), value("speed", "b", 3.0), value("time", "a", 1.05), value("share", "a", 1.0)]
}

fn with(finding: Finding) -> Vec<Finding> {
    good().into_iter().chain([finding]).collect()
}

#[track_caller]
fn reason(claim: &Claim, findings: &[Finding]) -> String {
    match judge(claim, findings).verdict {
        Verdict::DoesNotHold(reason) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn bounds_that_are_kept_hold() {
    let judgement = judge(&CLAIM, &good());
    assert_eq!(judgement.verdict, Verdict::Holds);
    assert!(judgement.measured.starts_with("speed: 2.00x on a, the worst of 2; time: 1.05x on a"), "{judgement:?}");
    assert_eq!(judgement.asked, "speed: at least 2.00x; time: at most 1.05x; share: 0.90x to 1.10x; memory: shown");
}

#[test]
fn a_missed_bound_decides_and_names_its_worst_row() {
    let findings = [value("speed", "c", 1.5), value("speed", "d", 1.2)].into_iter().chain(good()).collect::<Vec<_>>();
    assert_eq!(reason(&CLAIM, &findings), "speed is 1.20x on d (2 of 4 miss it)");
    assert_eq!(reason(&CLAIM, &with(value("time", "c", 1.06))), "time is 1.06x on c (1 of 2 miss it)");
    for outside in [0.89, 1.11] {
        assert!(reason(&CLAIM, &with(value("share", "c", outside))).starts_with("share is"));
    }
    // Whatever else is open or missing.
    let unmeasured = [value("speed", "c", 1.5)];
    assert_eq!(reason(&CLAIM, &unmeasured), "speed is 1.50x on c");
    let missing = [found("P2", "speed", "c", Outcome::Value(1.5))];
    assert_eq!(reason(&MISSING, &missing), "speed is 1.50x on c");
}

fn within(what: &str, on: &str, value: f64, best: f64) -> Finding {
    found("P1", what, on, Outcome::Within { value, best, by: "a loop".to_owned() })
}

/// A claim is out of reach where the best that could be misses it wherever it is missed, and nowhere else.
#[test]
fn what_no_loop_reaches_cannot_hold() {
    let out_of_reach = with(within("speed", "c", 1.5, 1.9));
    let reason_of = "speed is 1.50x on c, where a loop would give 1.90x (1 of 3 miss it)";
    assert_eq!(judge(&CLAIM, &out_of_reach).verdict, Verdict::OutOfReach(reason_of.to_owned()));
    assert!(reason(&CLAIM, &with(within("speed", "c", 1.5, 2.0))).ends_with("would give 2.00x (1 of 3 miss it)"));
    assert!(reason(&CLAIM, &with(within("speed", "c", 1.5, f64::NAN))).contains("NaN"));
    let and_another = |other: Finding| out_of_reach.iter().cloned().chain([other]).collect::<Vec<_>>();
    // Another row, or another bound, that is missed without need.
    for other in [value("speed", "d", 1.9), within("speed", "d", 1.9, 2.1), value("time", "d", 1.1)] {
        assert!(matches!(judge(&CLAIM, &and_another(other)).verdict, Verdict::DoesNotHold(_)));
    }
    // A best that was surpassed is none.
    for surpassed in
        [within("speed", "c", 1.9, 1.5), within("speed", "c", f64::NAN, 1.5), within("speed", "c", 1.5, 1.5)]
    {
        assert!(matches!(judge(&CLAIM, &with(surpassed)).verdict, Verdict::DoesNotHold(_)));
    }
    // What is reached all the same holds.
    assert_eq!(judge(&CLAIM, &with(within("speed", "c", 2.0, 1.5))).verdict, Verdict::Holds);
}

#[test]
fn what_is_no_number_misses_every_bound() {
    for what in ["speed", "time", "share"] {
        let findings = with(value(what, "broken", f64::NAN));
        assert!(reason(&CLAIM, &findings).contains("NaNx on broken"), "{what}");
    }
}

#[test]
fn nothing_measured_never_holds() {
    assert!(matches!(judge(&CLAIM, &[]).verdict, Verdict::Open(_)));
    // One bound without a value is enough, and values that are shown decide nothing.
    for what in ["speed", "time", "share"] {
        let findings: Vec<Finding> = good().into_iter().filter(|finding| finding.what != what).collect();
        assert_eq!(judge(&CLAIM, &findings).verdict, Verdict::Open(format!("{what}: not measured")));
    }
    const SHOWN: Claim = Claim { item: "P1", bounds: &[bound("memory", Limit::Shown)] };
    assert!(matches!(judge(&SHOWN, &[value("memory", "a", 1.0)]).verdict, Verdict::Open(_)));
    assert!(matches!(judge(&Claim { item: "P1", bounds: &[] }, &good()).verdict, Verdict::Open(_)));
}

#[test]
fn values_of_other_claims_and_bounds_do_not_count() {
    let others = [found("P3", "speed", "a", Outcome::Value(9.0)), value("speed of others", "a", 9.0)];
    assert!(matches!(judge(&CLAIM, &others).verdict, Verdict::Open(_)));
}

#[test]
fn what_was_left_out_keeps_a_claim_open() {
    let findings = with(found("P1", "speed", "10^8", Outcome::NotRun("another scale".to_owned())));
    assert_eq!(judge(&CLAIM, &findings).verdict, Verdict::Open("speed: not on 10^8 (another scale)".to_owned()));
}

#[test]
fn missing_parts_are_named() {
    let findings = [found("P2", "speed", "a", Outcome::Value(3.0))];
    assert_eq!(judge(&MISSING, &findings).verdict, Verdict::Missing("disk (no files)".to_owned()));
    assert_eq!(judge(&MISSING, &[]).verdict, Verdict::Missing("disk (no files)".to_owned()));
}

#[test]
fn every_item_of_the_evaluation_has_a_claim_and_words() {
    let items: BTreeSet<&str> = CLAIMS.iter().map(|claim| claim.item).collect();
    assert_eq!(items.len(), CLAIMS.len(), "an item is there twice");
    let numbers = (160..=234).map(|number| format!("P{number}"));
    for item in numbers.chain(["P179a", "P179b", "P179c"].map(str::to_owned)) {
        assert!(items.contains(item.as_str()), "{item} has no claim");
        assert!(says(&item).is_some(), "docs/paper.md does not say what {item} is");
    }
}

#[test]
fn every_claim_asks_for_something_that_decides_it() {
    for Claim { item, bounds } in CLAIMS {
        assert!(bounds.iter().any(|bound| bound.limit != Limit::Shown), "{item} asks for nothing");
        let names: BTreeSet<&str> = bounds.iter().map(|bound| bound.what).collect();
        assert_eq!(names.len(), bounds.len(), "{item} asks twice for the same");
    }
}

#[test]
fn knees_are_found_where_times_begin_to_grow() {
    for expected in [4.0, 8.0, 16.0] {
        let points = [2.0, 4.0, 8.0, 16.0, 32.0].map(|number: f64| (number, 3.0 * (number / expected).max(1.0)));
        assert!((knee(&points) / expected - 1.0).abs() < 1e-9, "{expected}: {}", knee(&points));
    }
}

#[test]
fn outliers_stand_out_from_the_trend() {
    let line = [2.0, 4.0, 8.0, 16.0, 32.0].map(|number| (number, 1.0 + 0.5 * number));
    assert!(over_trend(&line).iter().all(|ratio| (ratio - 1.0).abs() < 1e-9));
    let mut bent = line;
    bent[2].1 *= 2.0;
    let worst = over_trend(&bent).into_iter().fold(0.0, f64::max);
    assert!(worst > 1.4, "{worst}");
}

#[test]
fn ratios_have_geometric_means() {
    assert!((geometric_mean([0.5, 8.0].into_iter()) - 2.0).abs() < 1e-12);
}

fn times(seconds: impl IntoIterator<Item = f64>) -> Times {
    Times { name: String::new(), seconds: seconds.into_iter().collect() }
}

/// P165: a median of few rounds is not held against a limit that lies within its bounds.
#[test]
fn more_rounds_decide_what_few_leave_open() {
    let (own, other) = ([1.0; 9], [0.99, 1.0, 1.01, 1.03, 1.0, 1.05, 0.98, 1.0, 1.01]);
    let is_open = |cycles: usize, limit: f64| {
        let repeated = |seconds: [f64; 9]| times(seconds.into_iter().cycle().take(9 * cycles));
        is_undecided(&repeated(own), &repeated(other), limit)
    };
    assert_eq!([0.97, 1.02, 1.06].map(|limit| is_open(1, limit)), [false, true, false]);
    assert_eq!([0.97, 1.02, 1.06].map(|limit| is_open(9, limit)), [false; 3]);
}

#[test]
fn rounds_end_when_nothing_is_open_or_time_is_up() {
    let run = |most_seconds, enough: usize| {
        let mut contenders = [Contender::new("one", || ()), Contender::new("other", || ())];
        in_turn_until(&mut contenders, 3, most_seconds, |times| times[1].seconds.len() >= enough)
    };
    assert!(run(1e9, 7).iter().all(|times| times.seconds.len() == 9));
    assert!(run(0.0, 7).iter().all(|times| times.seconds.len() == 3));
}
