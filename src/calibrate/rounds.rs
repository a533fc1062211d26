//! Repeated measurements in alternating rounds.

use std::fmt;
use std::time::Instant;

/// A run of a probe lasts at least this long, so that the clock and the scheduler do not count.
const LEAST_SECONDS: f64 = 8e-3;

/// What repeated measurements gave. As in the example of [`calibrate()`](super::calibrate).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The median.
    pub median: f64,
    /// The lower quartile, and the upper one.
    pub quartiles: [f64; 2],
    /// Distance of the upper from the lower quartile, relative to the median.
    pub spread: f64,
}

impl Sample {
    /// Of some values, at least one.
    pub(super) fn of(mut values: Vec<f64>) -> Sample {
        values.sort_by(f64::total_cmp);
        let at = |quarter: usize| values[(values.len() - 1) * quarter / 4];
        let quartiles = [at(1), at(3)];
        Sample { median: at(2), quartiles, spread: (at(3) - at(1)) / at(2).abs().max(f64::MIN_POSITIVE) }
    }

    /// The quartile of the shorter times, of which whatever else the machine does is no part.
    ///
    /// ```
    /// use fuseline::calibrate::Sample;
    ///
    /// let sample = Sample { median: 4.0, quartiles: [3.0, 5.0], spread: 0.5 };
    /// assert_eq!((sample.seconds(), sample.rate(), sample.to_string()), (3.0, 5.0, "4.00 (50%)".to_owned()));
    /// ```
    pub fn seconds(&self) -> f64 {
        self.quartiles[0]
    }

    /// The quartile of the higher rates, which belong to the shorter times. As in the example of [`Sample::seconds`].
    pub fn rate(&self) -> f64 {
        self.quartiles[1]
    }

    /// In another unit.
    pub(super) fn scaled(self, factor: f64) -> Sample {
        Sample { median: self.median * factor, quartiles: self.quartiles.map(|quartile| quartile * factor), ..self }
    }
}

/// Prints the median and the spread in percent: `31.2 (4%)`.
impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:.2} ({:.0}%)", self.median, 100.0 * self.spread))
    }
}

/// Something to measure.
pub(super) struct Probe<'a> {
    /// What it is.
    pub(super) name: String,
    /// The unit of the result.
    pub(super) unit: &'static str,
    /// The result, given the seconds that one run took.
    pub(super) result: Box<dyn Fn(f64) -> f64 + 'a>,
    /// One run.
    pub(super) run: Box<dyn FnMut() + 'a>,
}

impl<'a> Probe<'a> {
    /// A rate of so many bytes or floating-point operations per run, in billions per second.
    pub(super) fn rate(name: &str, unit: &'static str, work: f64, run: impl FnMut() + 'a) -> Self {
        Probe { name: name.to_owned(), unit, result: Box::new(move |seconds| work / seconds / 1e9), run: Box::new(run) }
    }

    fn seconds(&mut self, repeats: usize) -> f64 {
        let start = Instant::now();
        for _ in 0..repeats {
            (self.run)();
        }
        start.elapsed().as_secs_f64() / repeats as f64
    }
}

/// What is measured in turn, round after round: how often each probe runs in a round, and what it gave.
#[derive(Debug)]
pub(super) struct Rounds {
    repeats: Vec<usize>,
    values: Vec<Vec<f64>>,
}

impl Rounds {
    /// Finds how often each of these probes runs in a round.
    pub(super) fn new(probes: &mut [Probe<'_>]) -> Self {
        let repeats = probes.iter_mut().map(|probe| {
            // The first run warms up.
            probe.seconds(1);
            (LEAST_SECONDS / probe.seconds(1).max(1e-9)).ceil().clamp(1.0, 1e6) as usize
        });
        Rounds { repeats: repeats.collect(), values: vec![Vec::new(); probes.len()] }
    }

    /// One round of the same probes.
    pub(super) fn add(&mut self, probes: &mut [Probe<'_>]) {
        for ((probe, &repeats), values) in probes.iter_mut().zip(&self.repeats).zip(&mut self.values) {
            let seconds = probe.seconds(repeats);
            values.push((probe.result)(seconds));
        }
    }

    /// Forgets the rounds so far, but for how often each probe runs.
    pub(super) fn forget(&mut self) {
        self.values.iter_mut().for_each(Vec::clear);
    }

    /// What each probe gave in all rounds, at least one.
    pub(super) fn samples(&self) -> Vec<Sample> {
        self.values.iter().cloned().map(Sample::of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_medians_with_quartiles() {
        let sample = Sample::of(vec![9.0, 1.0, 4.0, 6.0, 5.0]);
        assert_eq!(sample, Sample { median: 5.0, quartiles: [4.0, 6.0], spread: 0.4 });
        assert_eq!((sample.seconds(), sample.rate()), (4.0, 6.0));
        assert_eq!(sample.scaled(10.0).to_string(), "50.00 (40%)");
    }

    #[test]
    fn probes_take_turns() {
        let order = std::cell::RefCell::new(Vec::new());
        let slow = |name: char| {
            let order = &order;
            move || {
                order.borrow_mut().push(name);
                std::thread::sleep(std::time::Duration::from_secs_f64(LEAST_SECONDS));
            }
        };
        let mut probes = ['a', 'b'].map(|name| Probe::rate("", "", 1.0, slow(name)));
        let mut rounds = Rounds::new(&mut probes);
        rounds.add(&mut probes);
        rounds.add(&mut probes);
        assert_eq!(rounds.samples().len(), 2);
        rounds.forget();
        rounds.add(&mut probes);
        assert_eq!(rounds.samples().len(), 2);
        assert!(rounds.samples().iter().all(|sample| sample.spread == 0.0));
        drop(probes);
        assert_eq!(order.into_inner().into_iter().collect::<String>(), "aabbababab");
    }
}
