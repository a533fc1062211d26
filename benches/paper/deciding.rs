//! Rounds until these tell on which side of a limit a ratio of times lies: a median of few rounds on a shared machine is off by
//! more than what is asked for. They go on whichever side they are on so far.

use crate::rounds::{Contender, Times, in_turn};
use std::time::Instant;

/// Ranks on either side of the middle one of `n` values between which the median of what they are drawn from lies with a
/// probability of nine tenths, divided by the root of `n`: those of a binomial distribution.
const HALF_WIDTH: f64 = 0.82;

/// [`in_turn`], so many rounds at a time, until these decide, or some seconds have passed.
pub(crate) fn in_turn_until(
    contenders: &mut [Contender<'_>],
    rounds: usize,
    most_seconds: f64,
    are_decided: impl Fn(&[Times]) -> bool,
) -> Vec<Times> {
    let start = Instant::now();
    let mut times = in_turn(contenders, rounds);
    while start.elapsed().as_secs_f64() < most_seconds && !are_decided(&times) {
        for (times, more) in times.iter_mut().zip(in_turn(contenders, rounds)) {
            times.seconds.extend(more.seconds);
        }
    }
    times
}

/// Whether the rounds leave open on which side of a limit lies how many times as long `other` takes.
pub(crate) fn is_undecided(own: &Times, other: &Times, limit: f64) -> bool {
    let mut speedups = own.speedups_over(other);
    speedups.sort_by(f64::total_cmp);
    let (middle, distance) = ((speedups.len() - 1) as f64 / 2.0, HALF_WIDTH * (speedups.len() as f64).sqrt());
    let (low, high) = ((middle - distance).floor().max(0.0) as usize, (middle + distance).ceil() as usize);
    (speedups[low]..=speedups[high.min(speedups.len() - 1)]).contains(&limit)
}
