//! What `criterion` keeps of its measurements.

use std::path::Path;

/// The median of the last measurement that is kept in a folder, in seconds.
pub(crate) fn median(folder: &Path) -> f64 {
    let text = std::fs::read_to_string(folder.join("new/estimates.json")).expect("criterion keeps its estimates");
    let estimates: serde_json::Value = serde_json::from_str(&text).expect("estimates are JSON");
    estimates["median"]["point_estimate"].as_f64().expect("the median is a number") * 1e-9
}
