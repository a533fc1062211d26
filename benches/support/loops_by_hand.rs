//! The threads of loops written by hand: those of rayon's own pool.

use crate::conditions::PINS;
use fuseline_matrix::affinity::Processors;

/// Pins them, as sessions that are compared do with theirs. Before any loop runs.
pub(crate) fn pin() {
    if !PINS {
        return;
    }
    let processors = Processors::allowed().expect("Linux tells the processors of a process");
    let pool = rayon::ThreadPoolBuilder::new().start_handler(|index| processors.pin(index));
    pool.build_global().expect("no loop ran before");
}
