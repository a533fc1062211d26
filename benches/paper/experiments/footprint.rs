//! The instruction footprint of chains of row operations.

use super::findings::Findings;
use super::setting::Setting;
use crate::document::Part;
use crate::footprint::{Measured, measure, section};

/// The number of operations that the others are held against, and the most that the paper has.
const FEW: usize = 10;
const MOST: usize = 128;
/// From here on the paper has inlined code leave the cache.
const MANY: usize = 100;

pub(super) fn run(setting: Option<Setting>, findings: &mut Findings) -> Vec<Part> {
    let measured = setting.map_or_else(Vec::new, |setting| measure(setting.scale, setting.rounds.min(5)));
    let few = measured.iter().find(|row| row.operations == FEW).map(Measured::shared_nanoseconds);
    for row in &measured {
        let on = format!("n = {}", row.operations);
        if row.operations >= MANY {
            let what = "time of shared over inlined code, from 100 operations on";
            let best = (Some(row.by_hand_over_inlined()), "a loop by hand over vectors in the first-level cache");
            findings.value_within("P179a", what, &on, Some(row.shared_over_inlined()), best);
        }
        findings.value("P179b", "vectors that a thread holds", &on, row.shared_buffers() as f64);
        if (FEW + 1..=MOST).contains(&row.operations) {
            let ratio = few.map(|few| row.shared_nanoseconds() / few);
            findings.value_of("P179c", "time per operation over that of 10 operations", &on, ratio);
        }
    }
    section(&measured)
}
