//! Generated operators beside hand-coded ones, on every pattern of these.

use super::findings::Findings;
use super::setting::Setting;
use crate::document::Part;
use crate::patterns::{measure, section};

pub(super) fn run(setting: Option<Setting>, findings: &mut Findings) -> Vec<Part> {
    let measured = setting.map_or_else(Vec::new, |setting| measure(setting.scale, setting.rounds, |_| true));
    for pattern in &measured {
        let on = format!("{}, {}", pattern.name, pattern.on);
        findings.value("P161", "hand-coded operators that Fused runs", &on, pattern.hand_coded as f64);
        findings.value("P230", "speed of Gen over Fused on patterns of hand-coded operators", &on, pattern.share());
    }
    section(&measured)
}
