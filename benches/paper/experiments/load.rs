//! What else the machine does while experiments run.

use crate::algorithms::processor_time;
use std::time::Instant;

/// Since a moment.
pub(super) struct Load {
    start: Instant,
    /// Seconds of all processors: those that were busy, and those of this program among them.
    busy: Option<f64>,
    own: f64,
}

impl Load {
    pub(super) fn begin() -> Load {
        Load { start: Instant::now(), busy: busy_seconds(), own: processor_time() }
    }

    /// The sentence that says how much of the processors others took since; nothing where the system does not count.
    pub(super) fn of_others(&self) -> String {
        let processors = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        let Some(busy) = busy_seconds().zip(self.busy).map(|(now, before)| now - before) else { return String::new() };
        let others = (busy - (processor_time() - self.own)) / (processors * self.start.elapsed().as_secs_f64());
        format!(" Meanwhile other programs took {:.0} % of the processors.", 100.0 * others.clamp(0.0, 1.0))
    }
}

/// Seconds that processors did anything for anyone, where the system counts them.
fn busy_seconds() -> Option<f64> {
    /// Counts in a second: what Linux shows to programs.
    const TICKS: f64 = 100.0;
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    let counts: Vec<f64> = text.lines().next()?.split_whitespace().skip(1).filter_map(|it| it.parse().ok()).collect();
    // User, nice and system; then idle and waiting for devices.
    Some(counts.get(..3)?.iter().sum::<f64>() / TICKS)
}
