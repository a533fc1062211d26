//! Timing in turn: all that is compared runs once per round, so that what else the machine does falls on all of it.
//!
//! Ratios are medians of the ratios within rounds; a ratio of two medians would compare rounds in which the memory of a
//! shared machine was fast with rounds in which it was slow.

use std::time::Instant;

/// Something that is timed against others.
pub(crate) struct Contender<'a> {
    pub(crate) name: String,
    /// Runs it once and gives the seconds that it took.
    pub(crate) seconds: Box<dyn FnMut() -> f64 + 'a>,
}

impl<'a> Contender<'a> {
    pub(crate) fn new(name: impl Into<String>, mut run: impl FnMut() + 'a) -> Self {
        let seconds = move || {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64()
        };
        Contender { name: name.into(), seconds: Box::new(seconds) }
    }
}

/// Seconds of a contender, by round.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    pub(crate) name: String,
    pub(crate) seconds: Vec<f64>,
}

impl Times {
    pub(crate) fn median(&self) -> f64 {
        median(self.seconds.clone())
    }

    /// The median distance of a round from the median, as a share of it.
    pub(crate) fn spread(&self) -> f64 {
        let middle = self.median();
        median(self.seconds.iter().map(|seconds| (seconds - middle).abs()).collect()) / middle
    }

    /// How many times as long `other` takes.
    pub(crate) fn speedup_over(&self, other: &Times) -> f64 {
        median(self.speedups_over(other))
    }

    /// How many times as long `other` takes, round by round.
    pub(crate) fn speedups_over(&self, other: &Times) -> Vec<f64> {
        self.seconds.iter().zip(&other.seconds).map(|(own, other)| other / own).collect()
    }
}

/// Times all contenders in so many rounds, in every second one backwards, so that none always runs behind the same other.
pub(crate) fn in_turn(contenders: &mut [Contender<'_>], rounds: usize) -> Vec<Times> {
    in_turn_with(contenders, rounds, 0, || ())
}

/// The same with something else that runs so many times between rounds, evenly.
pub(crate) fn in_turn_with(
    contenders: &mut [Contender<'_>],
    rounds: usize,
    pauses: usize,
    mut pause: impl FnMut(),
) -> Vec<Times> {
    let mut times: Vec<Times> =
        contenders.iter().map(|contender| Times { name: contender.name.clone(), seconds: Vec::new() }).collect();
    for round in 0..rounds {
        for _ in round * pauses / rounds..(round + 1) * pauses / rounds {
            pause();
        }
        let mut time = |(contender, times): (&mut Contender<'_>, &mut Times)| times.seconds.push((contender.seconds)());
        let pairs = contenders.iter_mut().zip(&mut times);
        if round % 2 == 0 { pairs.for_each(&mut time) } else { pairs.rev().for_each(&mut time) }
    }
    times
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
