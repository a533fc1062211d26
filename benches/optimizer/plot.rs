//! Plans costed as bars: `docs/optimizer.svg`.

use super::{Measured, report};
use crate::bars::{self, Bar, Group};
use fuseline_passes::select::Enumeration;

/// Bars on a logarithmic scale, by algorithm and kind of enumeration that costs plans.
pub(crate) fn bars(measured: &[Measured]) -> String {
    let kinds = Enumeration::ALL.iter().filter(|kind| **kind != Enumeration::Exact);
    let series: Vec<String> = kinds.map(|kind| kind.mnemonic().to_owned()).collect();
    let groups: Vec<Group> = measured
        .iter()
        .map(|row| Group {
            name: row.workload.name.to_owned(),
            bars: row.searches[..series.len()]
                .iter()
                .map(|searched| {
                    Some(Bar { length: searched.costed().max(1.0).log10(), label: report::count(searched) })
                })
                .collect(),
        })
        .collect();
    bars::plot("Plans costed by algorithm and enumeration, logarithmic", &series, &groups)
}
